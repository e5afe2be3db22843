//! The lexical grammar: blanks, identifiers, words after dots, strings and literals.
//!
//! Source: PTX ISA 9.0, sections 4.1 to 4.5. Bytes are read in place and nothing is allocated. What
//! a token is depends on where it stands (`.2d` is a modifier, `.5` a float), so there is no token
//! list: the parser asks for what may stand where it is. Lines that begin with `#` are blank, as
//! the preprocessor's line markers are.

use nom::bytes::complete::{tag, take_till, take_until, take_while, take_while1};
use nom::character::complete::one_of;
use nom::combinator::{opt, recognize};
use nom::error::{ErrorKind, ParseError as NomError};
use nom::sequence::pair;
use nom::{Err, IResult, Parser};

use super::expr::{Float, Int};

const SPACE: u8 = 1;
const START: u8 = 2;
const CONTINUE: u8 = 4;
const WORD: u8 = 8;

/// Classes of the 256 bytes.
const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphanumeric() || b == b'_' {
            class[byte] |= CONTINUE | WORD;
        }
        if b.is_ascii_alphabetic() || b == b'_' || b == b'$' || b == b'%' {
            class[byte] |= START;
        }
        if b == b'$' {
            class[byte] |= CONTINUE;
        }
        if b == b' ' || (b >= b'\t' && b <= b'\r') {
            class[byte] |= SPACE;
        }
        byte += 1;
    }
    class
};

fn is(byte: u8, class: u8) -> bool {
    CLASS[byte as usize] & class != 0
}

/// Whether an identifier may begin with this byte.
pub(crate) fn starts_identifier(byte: u8) -> bool {
    is(byte, START)
}

/// A literal that is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl NomError<&[u8]> for Malformed {
    fn from_error_kind(_: &[u8], _: ErrorKind) -> Self {
        Malformed("not a number")
    }

    fn append(_: &[u8], _: ErrorKind, other: Self) -> Self {
        other
    }
}

type Lexed<'a, T> = IResult<&'a [u8], T, Malformed>;

/// Number of bytes that mean nothing at the start of `input`: blanks, comments and, where
/// `line_start` says that only blanks stand before on the line, `#` lines. `Err` holds the offset of a comment
/// that does not end. Zeros after the last line are blank too: NVRTC counts the end of its string.
pub(crate) fn blanks(input: &[u8], line_start: bool) -> Result<usize, usize> {
    let mut at = 0;
    let mut line_start = line_start;
    loop {
        while let Some(&byte) = input.get(at)
            && is(byte, SPACE)
        {
            line_start |= byte == b'\n';
            at += 1;
        }
        let rest = &input[at..];
        let skipped = match rest {
            [b'/', b'/', ..] => end_of_line(rest),
            [b'/', b'*', ..] => block_comment(rest).ok_or(at)?,
            [b'#', ..] if line_start => end_of_line(rest),
            [0, ..] if rest.iter().all(|&b| b == 0) => rest.len(),
            _ => return Ok(at),
        };
        at += skipped;
    }
}

/// Offset of the end of the line.
pub(crate) fn end_of_line(input: &[u8]) -> usize {
    let line: IResult<&[u8], &[u8]> = take_till(|b| b == b'\n')(input);
    line.map_or(input.len(), |(_, line)| line.len())
}

/// Length of the comment that begins here, if it ends.
fn block_comment(input: &[u8]) -> Option<usize> {
    let closed: IResult<&[u8], &[u8]> = take_until(&b"*/"[..])(&input[2..]);
    closed.ok().map(|(_, text)| text.len() + 4)
}

/// Length of the identifier at the start of `input`, or 0. A lone `_` is the sink and counts.
pub(crate) fn identifier(input: &[u8]) -> usize {
    let Some(&first) = input.first() else {
        return 0;
    };
    if !is(first, START) {
        return 0;
    }
    let mut len = 1;
    while len < input.len() && is(input[len], CONTINUE) {
        len += 1;
    }
    if len == 1 && matches!(first, b'$' | b'%') {
        return 0;
    }
    len
}

/// Length of the word after a dot, `::` parts included, or 0.
pub(crate) fn word(input: &[u8]) -> usize {
    let mut len = 0;
    loop {
        let start = len;
        while len < input.len() && is(input[len], WORD) {
            len += 1;
        }
        if len == start {
            // A `::` that nothing follows is not part of the word.
            return start.saturating_sub(2);
        }
        if !input[len..].starts_with(b"::") {
            return len;
        }
        len += 2;
    }
}

/// Length of an identifier or of any other character, or 0 at the end.
pub(crate) fn any(input: &[u8]) -> usize {
    match (identifier(input), input) {
        (0, [_, rest @ ..]) => 1 + rest.iter().take_while(|b| **b & 0xc0 == 0x80).count(),
        (len, _) => len,
    }
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Literal {
    Int(Int),
    Float(Float),
}

/// Whether a number begins here.
pub(crate) fn starts_number(input: &[u8]) -> bool {
    match input {
        [first, ..] if first.is_ascii_digit() => true,
        [b'.', second, ..] => second.is_ascii_digit(),
        _ => false,
    }
}

/// The number at the start of `input`, and its length.
pub(crate) fn number(input: &[u8]) -> Result<(Literal, usize), Malformed> {
    let parsed = match input {
        [b'0', b'x' | b'X', digits @ ..] => radix(digits, 16),
        [b'0', b'b' | b'B', digits @ ..] => radix(digits, 2),
        [b'0', b'f' | b'F', digits @ ..] => exact(digits, 8),
        [b'0', b'd' | b'D', digits @ ..] => exact(digits, 16),
        _ => decimal(input),
    };
    match parsed {
        Ok((rest, _)) if rest.first().is_some_and(|&next| is(next, CONTINUE)) => {
            Err(Malformed("a letter or digit that does not belong here"))
        }
        Ok((rest, literal)) => Ok((literal, input.len() - rest.len())),
        Err(Err::Error(malformed) | Err::Failure(malformed)) => Err(malformed),
        Err(Err::Incomplete(_)) => Err(Malformed("not a number")),
    }
}

fn refuse<'a, T>(reason: &'static str) -> Lexed<'a, T> {
    Err(Err::Failure(Malformed(reason)))
}

/// `1F` or `101` behind `0x` or `0b`, with an optional `U`.
fn radix(input: &[u8], radix: u32) -> Lexed<'_, Literal> {
    let digits = take_while1(|b| char::from(b).is_digit(radix));
    let (rest, (digits, suffix)) = pair(digits, opt(tag(&b"U"[..]))).parse(input)?;
    integer(rest, digits, radix, suffix.is_some())
}

/// `3F800000` behind `0f` or `3FF0000000000000` behind `0d`: `len` hexadecimal digits.
fn exact(input: &[u8], len: usize) -> Lexed<'_, Literal> {
    let (rest, digits) = take_while(|b: u8| b.is_ascii_hexdigit())(input)?;
    match value(digits, 16).filter(|_| digits.len() == len) {
        Some(bits) if len == 8 => Ok((rest, Literal::Float(Float::F32(bits as u32)))),
        Some(bits) => Ok((rest, Literal::Float(Float::F64(bits)))),
        None if len == 8 => refuse("`0f` takes 8 hexadecimal digits"),
        None => refuse("`0d` takes 16 hexadecimal digits"),
    }
}

/// Decimal and octal integers, and floats.
fn decimal(input: &[u8]) -> Lexed<'_, Literal> {
    let digit = |b: u8| b.is_ascii_digit();
    let (rest, digits) = take_while(digit)(input)?;
    if !matches!(rest.first(), Some(b'.' | b'e' | b'E')) {
        let (rest, suffix) = opt(tag(&b"U"[..])).parse(rest)?;
        let octal = digits.len() > 1 && digits[0] == b'0';
        return integer(rest, digits, if octal { 8 } else { 10 }, suffix.is_some());
    }
    let exponent = (one_of("eE"), opt(one_of("+-")), take_while1(digit));
    let fraction = pair(tag(&b"."[..]), take_while(digit));
    let (rest, text) = recognize((opt(fraction), opt(exponent))).parse(rest)?;
    let text = std::str::from_utf8(&input[..digits.len() + text.len()]);
    match text.ok().and_then(|text| text.parse::<f64>().ok()) {
        Some(float) if float.is_finite() => {
            Ok((rest, Literal::Float(Float::Decimal(float.to_bits()))))
        }
        Some(_) => refuse("a float too big for 64 bits"),
        None => refuse("not a float"),
    }
}

fn integer<'a>(rest: &'a [u8], digits: &[u8], radix: u32, suffix: bool) -> Lexed<'a, Literal> {
    if digits.iter().any(|&b| !char::from(b).is_digit(radix)) {
        return refuse("a digit that is not octal after a leading 0");
    }
    let Some(bits) = value(digits, radix) else {
        return refuse("an integer too big for 64 bits");
    };
    let unsigned = suffix || bits > i64::MAX as u64;
    Ok((rest, Literal::Int(Int { bits, unsigned })))
}

/// The value of digits, if it fits.
fn value(digits: &[u8], radix: u32) -> Option<u64> {
    let digits = std::str::from_utf8(digits).ok()?;
    u64::from_str_radix(digits, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(text: &str) -> Option<(u64, bool)> {
        match number(text.as_bytes()) {
            Ok((Literal::Int(int), len)) if len == text.len() => Some((int.bits, int.unsigned)),
            _ => None,
        }
    }

    fn float(text: &str) -> Option<Float> {
        match number(text.as_bytes()) {
            Ok((Literal::Float(float), len)) if len == text.len() => Some(float),
            _ => None,
        }
    }

    #[test]
    fn integers_in_every_base() {
        assert_eq!(int("0"), Some((0, false)));
        assert_eq!(int("017"), Some((15, false)));
        assert_eq!(int("0x1fU"), Some((31, true)));
        assert_eq!(int("0B101"), Some((5, false)));
        assert_eq!(int("9223372036854775807"), Some((i64::MAX as u64, false)));
        assert_eq!(int("9223372036854775808"), Some((1 << 63, true)));
        assert_eq!(int("18446744073709551615"), Some((u64::MAX, true)));
        for bad in [
            "18446744073709551616",
            "08",
            "0x",
            "0b2",
            "12a",
            "1UU",
            "0xfg",
        ] {
            assert_eq!(int(bad), None, "{bad}");
        }
    }

    #[test]
    fn floats_in_every_form() {
        let decimal = |value: f64| Some(Float::Decimal(value.to_bits()));
        assert_eq!(float(".5"), decimal(0.5));
        assert_eq!(float("5."), decimal(5.0));
        assert_eq!(float("1e3"), decimal(1000.0));
        assert_eq!(float("1.5E-3"), decimal(0.0015));
        assert_eq!(float("08.5"), decimal(8.5));
        assert_eq!(float("0f3F800000"), Some(Float::F32(0x3f80_0000)));
        assert_eq!(
            float("0D3ff0000000000000"),
            Some(Float::F64(1.0f64.to_bits()))
        );
        for bad in [
            "1e",
            "1.e+",
            "0f3F80000",
            "0f3F8000000",
            "0d3FF",
            "1e999",
            ".",
            "1.5x",
        ] {
            assert_eq!(float(bad), None, "{bad}");
        }
    }

    #[test]
    fn blanks_skip_comments_and_line_markers() {
        assert_eq!(blanks(b" // x\n\t/* y\n */ a", false), Ok(16));
        assert_eq!(blanks(b"\n # 1 \"x\"\nb", false), Ok(10));
        assert_eq!(blanks(b"\n\0\0", false), Ok(3));
        assert_eq!(blanks(b"\n\0\0a", false), Ok(1));
        assert_eq!(blanks(b"# 1\nb", true), Ok(4));
        assert_eq!(blanks(b"#b", false), Ok(0));
        assert_eq!(blanks(b" /* never", false), Err(1));
        assert_eq!(blanks(b"//", false), Ok(2));
    }

    #[test]
    fn identifiers_and_words() {
        assert_eq!(identifier(b"%rd4, "), 4);
        assert_eq!(identifier(b"$L__BB0_2:"), 9);
        assert_eq!(identifier(b"_"), 1);
        assert_eq!(identifier(b"%"), 0);
        assert_eq!(identifier(b"$ x"), 0);
        assert_eq!(identifier(b"4a"), 0);
        assert_eq!(identifier(b""), 0);
        assert_eq!(word(b"mbarrier::complete_tx::bytes.x"), 28);
        assert_eq!(word(b"2d.v4"), 2);
        assert_eq!(word(b"L:"), 1);
        assert_eq!(word(b"a:: b"), 1);
        assert_eq!(word(b""), 0);
    }
}
