//! Tokens, the combinators that all rules share, and the words for what is missing.
//!
//! This and the combinators of nom are what rules are written with, so the other files of the grammar
//! take them all from here.
//!
//! A lexeme is the bytes alone; a token is a lexeme with the blanks behind it. A rule that only looks
//! ahead uses lexemes.

pub(super) use nom::branch::alt;
pub(super) use nom::bytes::complete::{take_till, take_while};
pub(super) use nom::character::complete::{digit1, one_of};
pub(super) use nom::combinator::{eof, map, map_opt, not, opt, peek, success, value, verify};
pub(super) use nom::multi::{fold_many0, many_till, many0, many0_count, many1, separated_list1};
pub(super) use nom::sequence::{delimited, pair, preceded, separated_pair, terminated};
pub(super) use nom::{Err, Input as _, Parser};

use super::MAX_DEPTH;
pub(super) use super::input::*;
use crate::diag::{Span, nearest};
use crate::ptx::ast::{Pool, Pools};
use crate::ptx::error::ParseErrorKind;
use crate::ptx::expr::Int;
use crate::ptx::instr::Operand;
use crate::ptx::lex::{self, Literal};
use crate::ptx::names::Name;
use crate::ptx::pool::{Id, List};

// Lexemes.

/// As many bytes as `len` says, one at least.
#[inline(always)]
pub(super) fn lexeme<'a>(len: impl Fn(&'a [u8]) -> usize) -> impl Rule<'a, ()> {
    Inlined(move |i: Input<'a>| match len(i.bytes()) {
        0 => mismatch(),
        len => Ok((i.take_from(len), ())),
    })
}

/// The text of a lexeme.
#[inline(always)]
pub(super) fn text<'a, T>(mut lexeme: impl Rule<'a, T>) -> impl Rule<'a, &'a str> {
    Inlined(move |i: Input<'a>| {
        let (rest, _) = lexeme.parse(i)?;
        Ok((rest, i.slice(i.to(rest))))
    })
}

/// One byte.
#[inline(always)]
pub(super) fn byte<'a>(wanted: u8) -> impl Rule<'a, ()> {
    lexeme(move |rest| usize::from(rest.first() == Some(&wanted)))
}

/// Bytes that are spelled so, whatever follows.
pub(super) fn spelled<'a>(text: &'static str) -> impl Rule<'a, ()> {
    lexeme(move |rest| text.len() * usize::from(rest.starts_with(text.as_bytes())))
}

/// Bytes that are spelled so, and are as many as `len` says.
#[inline(always)]
fn exactly<'a>(text: &'static str, len: fn(&'a [u8]) -> usize) -> impl Rule<'a, ()> {
    let found = move |rest: &'a [u8]| rest.starts_with(text.as_bytes()) && len(rest) == text.len();
    lexeme(move |rest| text.len() * usize::from(found(rest)))
}

/// A word after a dot, without the dot.
#[inline(always)]
pub(super) fn dotted(i: Input<'_>) -> Parsed<'_, &str> {
    preceded(byte(b'.'), text(lexeme(lex::word))).parse(i)
}

/// One of some words after a dot.
pub(super) fn dotted_of<'a>(words: &'static [&'static str]) -> impl Rule<'a, &'static str> {
    map_opt(dotted, |found| {
        words.iter().find(|word| **word == found).copied()
    })
}

/// An identifier, a lone `_` too.
#[inline(always)]
pub(super) fn identifier(i: Input<'_>) -> Parsed<'_, &str> {
    text(lexeme(lex::identifier)).parse(i)
}

/// That a byte of some kind comes next, which is not taken.
#[inline(always)]
pub(super) fn next<'a>(kind: impl Fn(u8) -> bool) -> impl Rule<'a, ()> {
    Inlined(move |i: Input<'a>| match i.bytes() {
        [next, ..] if kind(*next) => Ok((i, ())),
        _ => mismatch(),
    })
}

/// That one of some bytes comes next.
#[inline(always)]
pub(super) fn ahead<'a, const N: usize>(bytes: &'static [u8; N]) -> impl Rule<'a, ()> {
    next(|byte| bytes.contains(&byte))
}

/// Whether a condition holds, whatever the text.
#[inline(always)]
pub(super) fn given<'a>(holds: bool) -> impl Rule<'a, ()> {
    Inlined(move |i| match holds {
        true => Ok((i, ())),
        false => mismatch(),
    })
}

// Tokens.

/// A lexeme and the blanks behind it.
#[inline(always)]
pub(super) fn token<'a, T>(lexeme: impl Rule<'a, T>) -> impl Rule<'a, T> {
    terminated(lexeme, Inlined(blanks))
}

/// A punctuation mark of one byte.
#[inline(always)]
pub(super) fn symbol<'a>(wanted: u8) -> impl Rule<'a, ()> {
    token(byte(wanted))
}

/// The mark that `quoted` holds between its quotes, which must stand here.
pub(super) fn mark<'a>(quoted: &'static str) -> impl Rule<'a, ()> {
    expect(quoted, symbol(quoted.as_bytes()[1]))
}

/// `.word`
pub(super) fn word<'a>(wanted: &'static str) -> impl Rule<'a, ()> {
    token(preceded(byte(b'.'), exactly(wanted, lex::word)))
}

/// An identifier that is this word.
pub(super) fn keyword<'a>(wanted: &'static str) -> impl Rule<'a, ()> {
    token(exactly(wanted, lex::identifier))
}

/// An identifier; a lone `_` is none.
#[inline(always)]
pub(super) fn name(i: Input<'_>) -> Parsed<'_, Name> {
    let named = lexeme(|rest| match lex::identifier(rest) {
        1 if rest[0] == b'_' => 0,
        len => len,
    });
    interned(token(text(named))).parse(i)
}

/// A name, or the `_` that stands for none.
pub(super) fn name_or_sink<'a>(what: &'static str) -> impl Rule<'a, Option<Name>> {
    alt((value(None, keyword("_")), map(expect(what, name), Some)))
}

/// A number without sign or operators.
pub(super) fn literal(i: Input<'_>) -> Parsed<'_, Literal> {
    let (i, ()) = number_ahead(i)?;
    match lex::number(i.bytes()) {
        Ok((literal, len)) => value(literal, blanks).parse(i.take_from(len)),
        Err(lex::Malformed(reason)) => {
            let belongs = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'.';
            let span = i.span(i.bytes().iter().take_while(belongs).count());
            fail(i, ParseErrorKind::Number { reason }, span)
        }
    }
}

/// That a number comes next.
pub(super) fn number_ahead(i: Input<'_>) -> Parsed<'_, ()> {
    given(lex::starts_number(i.bytes())).parse(i)
}

/// An integer without sign.
pub(super) fn int_literal(i: Input<'_>) -> Parsed<'_, Int> {
    let int = |literal| match literal {
        Literal::Int(int) => Some(int),
        Literal::Float(_) => None,
    };
    map_opt(literal, int).parse(i)
}

/// A plain integer below 2^64.
pub(super) fn integer64<'a>(what: &'static str) -> impl Rule<'a, u64> {
    map(expect(what, int_literal), |int| int.bits)
}

/// A plain integer below 2^32.
pub(super) fn integer<'a>(what: &'static str) -> impl Rule<'a, u32> {
    below(what, 1 << 32)
}

/// A plain integer below the limit of its type.
pub(super) fn below<'a, T: TryFrom<u64>>(what: &'static str, limit: u64) -> impl Rule<'a, T> {
    move |i| {
        let (rest, (value, span)) = spanned(integer64(what)).parse(i)?;
        match T::try_from(value) {
            Ok(value) => Ok((rest, value)),
            Err(_) => fail(rest, ParseErrorKind::OutOfRange { what, limit }, span),
        }
    }
}

/// A string in quotes, of which there are no escapes.
pub(super) fn string(i: Input<'_>) -> Parsed<'_, Name> {
    alt((interned(token(quoted)), unterminated)).parse(i)
}

/// A string, without its quotes.
pub(super) fn quoted(i: Input<'_>) -> Parsed<'_, &str> {
    let body = take_till(|byte| matches!(byte, b'"' | b'\n'));
    map(delimited(byte(b'"'), body, byte(b'"')), Input::piece).parse(i)
}

/// A string that its line ends before it does.
fn unterminated(i: Input<'_>) -> Parsed<'_, Name> {
    let line = token(preceded(byte(b'"'), opt(lexeme(lex::end_of_line))));
    let (rest, (_, span)) = spanned(line).parse(i)?;
    fail(rest, ParseErrorKind::UnterminatedString, span)
}

/// The end of a statement. A missing semicolon is shown behind the last token, as the next one
/// usually stands on another line.
pub(super) fn semicolon(i: Input<'_>) -> Parsed<'_, ()> {
    match expect("`,` or `;`", symbol(b';')).parse(i) {
        Err(Err::Failure(Problem(Some(mut broken)))) if i.gap().contains('\n') => {
            broken.0.span = Span::new(i.end, i.end + 1);
            Err(Err::Failure(Problem(Some(broken))))
        }
        ended => ended,
    }
}

/// `<10>`
pub(super) fn count(i: Input<'_>) -> Parsed<'_, Option<u32>> {
    let close = mark("`>`");
    opt(delimited(symbol(b'<'), integer("a number of names"), close)).parse(i)
}

// Combinators.

/// A rule with its bytes.
#[inline(always)]
pub(super) fn spanned<'a, T>(mut rule: impl Rule<'a, T>) -> impl Rule<'a, (T, Span)> {
    Inlined(move |i: Input<'a>| {
        let (rest, found) = rule.parse(i)?;
        Ok((rest, (found, i.to(rest))))
    })
}

/// What a rule yields, made into something that needs the module.
#[inline(always)]
pub(super) fn build<'a, T, U>(
    mut rule: impl Rule<'a, T>,
    make: impl Fn(Input<'a>, T) -> U,
) -> impl Rule<'a, U> {
    Inlined(move |i| {
        let (rest, found) = rule.parse(i)?;
        Ok((rest, make(rest, found)))
    })
}

/// A text, as a name.
#[inline(always)]
pub(super) fn interned<'a>(rule: impl Rule<'a, &'a str>) -> impl Rule<'a, Name> {
    build(rule, Input::intern)
}

/// A node, stored.
#[inline(always)]
pub(super) fn added<'a, T>(rule: impl Rule<'a, T>) -> impl Rule<'a, Id<T>>
where
    Pools: Pool<T>,
{
    build(rule, Input::add)
}

/// Nodes, stored as a list.
pub(super) fn stored<'a, T: Copy>(rule: impl Rule<'a, Vec<T>>) -> impl Rule<'a, List<T>>
where
    Pools: Pool<T>,
{
    build(rule, |i, mut nodes| {
        i.state.module.borrow_mut().pools.drain(&mut nodes, 0)
    })
}

/// One or more of something, with commas between.
pub(super) fn list<'a, T: Copy>(item: impl Rule<'a, T>) -> impl Rule<'a, List<T>>
where
    Pools: Pool<T>,
{
    stored(separated_list1(symbol(b','), item))
}

/// One or more operands, with commas between, on the stack of operands.
#[inline(always)]
pub(super) fn operands<'a>(item: impl Rule<'a, Operand>) -> impl Rule<'a, Vec<()>> {
    let push = |i: Input<'a>, operand| i.state.operands.borrow_mut().push(operand);
    separated_list1(symbol(b','), build(item, push))
}

/// The list of the operands that a rule leaves on the stack.
#[inline(always)]
pub(super) fn gathered<'a, T>(mut rule: impl Rule<'a, T>) -> impl Rule<'a, List<Operand>> {
    Inlined(move |i: Input<'a>| {
        let from = i.state.operands.borrow().len();
        let (rest, _) = rule.parse(i)?;
        let pools = &mut i.state.module.borrow_mut().pools;
        let list = pools.drain(&mut i.state.operands.borrow_mut(), from);
        Ok((rest, list))
    })
}

/// Something that nests in itself, one level deeper.
#[inline(always)]
pub(super) fn deeper<'a, T>(mut rule: impl Rule<'a, T>) -> impl Rule<'a, T> {
    Inlined(move |i: Input<'a>| {
        let depth = &i.state.depth;
        if depth.get() == MAX_DEPTH {
            return fail(i, ParseErrorKind::TooDeep { limit: MAX_DEPTH }, i.span(1));
        }
        depth.set(depth.get() + 1);
        let result = rule.parse(i);
        depth.set(depth.get() - 1);
        result
    })
}

// What is missing.

/// A rule that must match here; `what` says what is missing if it does not.
#[inline(always)]
pub(super) fn expect<'a, T>(what: &'static str, mut rule: impl Rule<'a, T>) -> impl Rule<'a, T> {
    Inlined(move |i| match rule.parse(i) {
        Err(Err::Error(_)) => missing(i, what),
        result => result,
    })
}

/// The failure that something else should stand here.
#[cold]
pub(super) fn missing<'a, T>(i: Input<'a>, expected: &'static str) -> Parsed<'a, T> {
    let (found, span) = found(i);
    fail(i, ParseErrorKind::Expected { expected, found }, span)
}

/// The token that comes next, in words.
pub(super) fn found(i: Input<'_>) -> (String, Span) {
    let (rest, next) = (i.bytes(), i.text().chars().next());
    let dot = usize::from(next == Some('.'));
    let len = match (lex::identifier(rest), dot + lex::word(&rest[dot..])) {
        (0, 0) => next.map_or(0, char::len_utf8),
        (0, len) | (len, _) => len,
    };
    const SHOWN: usize = 40;
    let text = &i.text()[..len];
    let words = match next {
        None => "the end of the text".to_string(),
        Some(c) if c.is_control() => format!("the control character {}", c.escape_default()),
        Some(_) if text.len() > SHOWN => format!("`{}...`", &text[..SHOWN]),
        Some(_) => format!("`{text}`"),
    };
    (words, i.span(len))
}

/// The failure that a directive does not exist, or not here, where these are `known`.
pub(super) fn unknown_directive<'a, T>(
    place: &'static str,
    known: &'static str,
) -> impl Rule<'a, T> {
    move |i| {
        let (_, name) = map(opt(dotted), Option::unwrap_or_default).parse(i)?;
        let kind = ParseErrorKind::UnknownDirective {
            name: name.to_string(),
            place,
            nearest: nearest(name, known.split(' ')),
        };
        fail(i, kind, i.span(1 + name.len()))
    }
}
