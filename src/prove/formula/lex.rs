//! The lexical grammar of formulas: names, numbers, signs, comments.
//!
//! Source: the section "Formulas" of the command-line contract. A number ends before `..`, so that `0..n` is
//! a range and not the number `0.`; what is no token is one error, and the rest is still read.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_till, take_while, take_while_m_n, take_while1};
use nom::combinator::{not, opt, peek, recognize};
use nom::sequence::{delimited, pair, preceded, terminated};
use nom::{IResult, Parser};

use super::error::{Problem, Trouble};
use crate::diag::Span;

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// A name that may be a keyword or a function.
    Word(&'t str),
    /// A name in backquotes.
    Quoted(&'t str),
    /// An unsigned number.
    Number(&'t str),
    /// A sign.
    Sign(&'static str),
    /// What stands behind the last token.
    End,
}

/// The signs, longer ones before those that they begin with.
const SIGNS: [&str; 23] = [
    "..", "==", "!=", "<=", ">=", "<", ">", "=", "+", "-", "*", "/", "%", "^", "(", ")", "[", "]",
    ",", ":", ";", "{", "}",
];

type Lexed<'t, T> = IResult<&'t str, T>;

fn blanks(input: &str) -> Lexed<'_, &str> {
    let mut rest = input;
    loop {
        let (next, _) = take_while(char::is_whitespace).parse(rest)?;
        let comment: Lexed<'_, &str> = preceded(tag("#"), take_till(|c| c == '\n')).parse(next);
        match comment {
            Ok((after, _)) => rest = after,
            Err(_) => return Ok((next, "")),
        }
    }
}

fn digits(input: &str) -> Lexed<'_, &str> {
    take_while1(|c: char| c.is_ascii_digit()).parse(input)
}

fn exponent(input: &str) -> Lexed<'_, &str> {
    let sign = opt(alt((tag("+"), tag("-"))));
    recognize((alt((tag("e"), tag("E"))), sign, digits)).parse(input)
}

/// Digits behind a point that does not begin `..`.
fn fraction(input: &str) -> Lexed<'_, &str> {
    let point = terminated(tag("."), peek(not(tag("."))));
    let some = take_while(|c: char| c.is_ascii_digit());
    recognize(pair(point, some)).parse(input)
}

fn number(input: &str) -> Lexed<'_, Token<'_>> {
    let whole = (digits, opt(fraction), opt(exponent));
    let part = (tag("."), digits, opt(exponent));
    let text = alt((recognize(whole), recognize(part)));
    text.map(Token::Number).parse(input)
}

fn word(input: &str) -> Lexed<'_, Token<'_>> {
    let first = take_while_m_n(1, 1, |c: char| c.is_ascii_alphabetic() || c == '_');
    let more = take_while(|c: char| c.is_ascii_alphanumeric() || c == '_');
    recognize(pair(first, more)).map(Token::Word).parse(input)
}

fn quoted(input: &str) -> Lexed<'_, Token<'_>> {
    let inside = take_while1(|c: char| c != '`' && c != '\n');
    delimited(tag("`"), inside, tag("`"))
        .map(Token::Quoted)
        .parse(input)
}

fn sign(input: &str) -> Lexed<'_, Token<'_>> {
    let found = SIGNS.iter().find(|s| input.starts_with(**s));
    match found {
        Some(s) => Ok((&input[s.len()..], Token::Sign(s))),
        None => Err(nom::Err::Error(nom::error::Error::new(
            input,
            nom::error::ErrorKind::Char,
        ))),
    }
}

/// The tokens of a text with their places, `End` last, and what is no token.
pub(super) fn lex(text: &str) -> (Vec<(Token<'_>, Span)>, Vec<Trouble>) {
    let place = |rest: &str| (text.len() - rest.len()) as u32;
    let (mut tokens, mut troubles) = (Vec::new(), Vec::new());
    let mut rest = text;
    loop {
        rest = blanks(rest).map_or(rest, |(after, _)| after);
        let start = place(rest);
        let Some(first) = rest.chars().next() else {
            tokens.push((Token::End, Span::new(start, start)));
            return (tokens, troubles);
        };
        match alt((number, word, quoted, sign)).parse(rest) {
            Ok((after, token)) => {
                tokens.push((token, Span::new(start, place(after))));
                rest = after;
            }
            Err(_) => {
                rest = &rest[first.len_utf8()..];
                let span = Span::new(start, place(rest));
                let problem = match first {
                    '`' => Problem::OpenQuote,
                    other => Problem::NoToken { character: other },
                };
                troubles.push(Trouble::new(problem, span));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let (tokens, troubles) = lex(text);
        assert_eq!(troubles.len(), 0, "{text}");
        tokens.into_iter().map(|t| t.0).collect()
    }

    #[test]
    fn numbers_end_before_a_range() {
        use Token::*;
        assert_eq!(tokens("0..n"), [Number("0"), Sign(".."), Word("n"), End]);
        assert_eq!(tokens("1.5e-3"), [Number("1.5e-3"), End]);
        assert_eq!(tokens("2.e"), [Number("2."), Word("e"), End]);
        assert_eq!(tokens(".5"), [Number(".5"), End]);
    }

    #[test]
    fn comments_and_quotes() {
        use Token::*;
        assert_eq!(
            tokens("a # b\n`sum` <= c"),
            [Word("a"), Quoted("sum"), Sign("<="), Word("c"), End]
        );
        assert_eq!(lex("a ? b `c").1.len(), 2);
    }
}
