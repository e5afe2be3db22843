//! What follows an error: it is recorded, and a rule that matches anything moves to where reading can
//! go on.

use std::cell::Cell;

use super::MAX_ERRORS;
use super::token::*;
use crate::diag::Span;
use crate::ptx::error::{ParseError, ParseErrorKind};
use crate::ptx::lex;

/// A rule whose failure is recorded; `resume` then moves to where reading goes on.
#[inline(always)]
pub(super) fn recovered<'a, T>(
    mut rule: impl Rule<'a, T>,
    resume: impl Fn(&ParseErrorKind, Input<'a>) -> Parsed<'a, ()>,
) -> impl Rule<'a, Option<T>> {
    move |i| match rule.parse(i) {
        Ok((rest, found)) => Ok((rest, Some(found))),
        Err(Err::Failure(problem)) => {
            let Some((error, at)) = problem.0.map(|broken| *broken) else {
                return mismatch();
            };
            let kind = error.kind.clone();
            let (rest, ()) = resume(&kind, report(at, error))?;
            Ok((rest, None))
        }
        Err(error) => Err(error),
    }
}

/// Records an error; at the limit, the rest of the text is given up.
pub(super) fn report(i: Input<'_>, reported: ParseError) -> Input<'_> {
    i.state.operands.borrow_mut().clear();
    let mut errors = i.state.errors.borrow_mut();
    let last = errors.last().map(|last| &last.kind);
    if i.input_len() == 0 && last == Some(&ParseErrorKind::UnterminatedComment) {
        // What is missing is inside the comment.
        return i;
    }
    let span = reported.span;
    errors.push(reported);
    if errors.len() < MAX_ERRORS {
        return i;
    }
    let kind = ParseErrorKind::TooMany;
    errors.push(ParseError { kind, span });
    i.at_stop()
}

/// Moves behind the end of a broken statement: behind the next `;`, or before a `}` that ends
/// the scope, or before a function at the start of a line.
pub(super) fn recover<'a>(i: Input<'a>) -> Parsed<'a, ()> {
    let open = Cell::new(0usize);
    let opening = |i: Input<'a>| {
        let (rest, ()) = symbol(b'{').parse(i)?;
        open.set(open.get() + 1);
        Ok((rest, ()))
    };
    let closing = |i: Input<'a>| {
        // A brace that is followed by more of a statement closes a vector.
        let (behind, ()) = byte(b'}').parse(i)?;
        let blank = lex::blanks(behind.bytes(), false).unwrap_or(0);
        let vector = ahead(b",;|)]").parse(behind.take_from(blank)).is_ok();
        if open.get() == 0 && !vector {
            return mismatch();
        }
        open.set(open.get().saturating_sub(1));
        symbol(b'}').parse(i)
    };
    let other = not(alt((ahead(b";}"), function_start)));
    let other = preceded(other, alt((value((), token(quoted)), any_token)));
    let skipped = many0_count(alt((opening, closing, other)));
    let (rest, _) = (skipped, opt(symbol(b';'))).parse(i)?;
    Ok((rest, ()))
}

/// Moves to the body or the semicolon behind a broken header.
pub(super) fn skip_to_body(i: Input<'_>) -> Parsed<'_, ()> {
    let end = alt((ahead(b"{;}"), function_start));
    let (rest, _) = many0_count(preceded(not(end), any_token)).parse(i)?;
    Ok((rest, ()))
}

/// Some token of no interest.
pub(super) fn any_token(i: Input<'_>) -> Parsed<'_, ()> {
    value((), token(lexeme(lex::any))).parse(i)
}

/// That a function begins here, first on its line; nothing is taken.
fn function_start(i: Input<'_>) -> Parsed<'_, ()> {
    let (_, _) = dotted_of(&["entry", "func", "visible", "extern", "weak"]).parse(i)?;
    let line = i.slice(Span::new(0, i.at)).rsplit('\n').next();
    given(line.is_some_and(|line| line.trim_ascii().is_empty())).parse(i)
}
