//! Debugging directives: `.file`, `.loc`, `.section` and sources in intermediate languages.
//!
//! Source: PTX ISA 9.0, section 11.5; of 9.4, 11.5.5 and 11.5.6. None of them has a semicolon; in a section, a line ends where
//! the next token cannot continue it.

use std::cell::RefCell;

use super::expr::joined;
use super::recover::any_token;
use super::token::*;
use crate::ptx::ast::{File, Inlined, Loc, Section, SectionLine};
use crate::ptx::error::ParseErrorKind;
use crate::ptx::expr::{Binary, Expr, ExprKind, Int};
use crate::ptx::instr::{Operand, OperandKind};
use crate::ptx::lex;
use crate::ptx::names::Name;
use crate::ptx::pool::Id;
use crate::ptx::words::Type;

/// `.file 1 "x.cu", timestamp, size`
pub(super) fn file(i: Input<'_>) -> Parsed<'_, Id<File>> {
    let comma = || symbol(b',');
    let time = integer64("a time stamp");
    let stat = separated_pair(time, expect("`,`", comma()), integer64("a file size"));
    let index = integer("the index of the file");
    let path = expect("the path of the file in quotes", string);
    let parts = preceded(word("file"), (index, path, opt(preceded(comma(), stat))));
    added(map(parts, |(index, path, stat)| File { index, path, stat })).parse(i)
}

/// `.loc 1 2 3, function_name L+4, inlined_at 1 2 3`
pub(super) fn loc(i: Input<'_>) -> Parsed<'_, Id<Loc>> {
    let parts = preceded(word("loc"), (place, opt(preceded(symbol(b','), inlined))));
    let loc = |((file, line, column), inlined)| Loc {
        file,
        line,
        column,
        inlined,
    };
    added(map(parts, loc)).parse(i)
}

/// The index of a file, a line and a column.
pub(super) fn place(i: Input<'_>) -> Parsed<'_, (u32, u32, u32)> {
    let file = integer("the index of a file");
    (file, integer("a line number"), integer("a column")).parse(i)
}

/// `function_name L+4, inlined_at 1 2 3`
fn inlined(i: Input<'_>) -> Parsed<'_, Inlined> {
    let label = expect("the label of the function's name", section_name);
    let function = preceded(expect("`function_name`", keyword("function_name")), label);
    let offset = below("an offset", 1 << 63);
    let offset = opt(preceded(symbol(b'+'), offset));
    let inlined_at = (mark("`,`"), expect("`inlined_at`", keyword("inlined_at")));
    let parts = (function, offset, preceded(inlined_at, place));
    let inlined = |(function, offset, (file, line, column))| Inlined {
        function,
        offset: Option::<i64>::unwrap_or_default(offset),
        file,
        line,
        column,
    };
    map(parts, inlined).parse(i)
}

/// A name, which may begin with a dot.
fn section_name(i: Input<'_>) -> Parsed<'_, Name> {
    let (rest, (_, span)) = spanned(token(pair(opt(byte(b'.')), identifier))).parse(i)?;
    Ok((rest, i.intern(i.slice(span))))
}

/// `.section .debug_info { ... }`
pub(super) fn section(i: Input<'_>) -> Parsed<'_, Id<Section>> {
    let name = expect("the name of the section", section_name);
    let (open, name) = preceded(word("section"), name).parse(i)?;
    let line = preceded(not(alt((ahead(b"}"), value((), eof)))), section_line);
    let lines = preceded(mark("`{`"), stored(many0(line)));
    let (rest, lines) = terminated(lines, closed(open)).parse(open)?;
    Ok((rest, rest.add(Section { name, lines })))
}

/// The brace that closes the one at `open`.
fn closed<'a>(open: Input<'a>) -> impl Rule<'a, ()> {
    let missing = move |i: Input<'a>| fail(i, ParseErrorKind::Unclosed, open.span(1));
    alt((symbol(b'}'), missing))
}

/// `.nv_intermediate_source_section { .code_block { ... .source_begin text .source_end } }`: the text
/// between the braces as it stands. What is between `.source_begin` and a line that begins with
/// `.source_end` is of another language, whose braces, quotes and comments mean nothing here.
pub(super) fn intermediate_source<'a>(i: Input<'a>) -> Parsed<'a, Name> {
    let (start, _) = word("nv_intermediate_source_section").parse(i)?;
    let open = RefCell::new(vec![start]);
    let opening = |i: Input<'a>| {
        let (rest, ()) = symbol(b'{').parse(i)?;
        open.borrow_mut().push(i);
        Ok((rest, ()))
    };
    let closing = |i: Input<'a>| {
        let inner = given(open.borrow().len() > 1);
        let (rest, ()) = preceded(inner, symbol(b'}')).parse(i)?;
        open.borrow_mut().pop();
        Ok((rest, ()))
    };
    let other = alt((value((), string), other_language, any_token));
    let other = preceded(not(ahead(b"}")), other);
    let inside = many0_count(alt((opening, closing, other)));
    let (rest, _) = preceded(mark("`{`"), inside).parse(start)?;
    let innermost = open.borrow().last().copied().unwrap_or(start);
    let (rest, ()) = closed(innermost).parse(rest)?;
    Ok((rest, rest.intern(i.slice(start.to(rest)))))
}

/// From `.source_begin` to behind `.source_end`.
fn other_language<'a>(i: Input<'a>) -> Parsed<'a, ()> {
    let line = lexeme(|rest: &[u8]| rest.len().min(lex::end_of_line(rest) + 1));
    let blank = take_while(|byte| matches!(byte, b' ' | b'\t'));
    let end = token(preceded(blank, dotted_of(&["source_end"])));
    // What follows is all of the other language, and no PTX to be read on.
    let unclosed = |_: Input<'a>| fail(i.at_stop(), ParseErrorKind::UnclosedSource, i.span(13));
    let text = alt((value((), many_till(line, end)), unclosed));
    preceded(dotted_of(&["source_begin"]), text).parse(i)
}

fn section_line(i: Input<'_>) -> Parsed<'_, SectionLine> {
    let types = [Type::B8, Type::B16, Type::B32, Type::B64];
    let typed = |word: &str| types.into_iter().find(|ty| ty.text() == word);
    let values = gathered(operands(section_value));
    let label = expect("a label, `.b8`, `.b16`, `.b32` or `.b64`", section_name);
    let label = terminated(label, mark("`:`"));
    let data = pair(token(map_opt(dotted, typed)), values);
    let data = map(data, |(ty, values)| SectionLine::Data { ty, values });
    alt((data, map(label, SectionLine::Label))).parse(i)
}

/// A number, a label, `label+number` or `label-label`.
fn section_value(i: Input<'_>) -> Parsed<'_, Operand> {
    let negative = preceded(symbol(b'-'), expect("an integer", int_literal));
    let integer = alt((map(negative, Int::negated), section_integer));
    let integer = map(integer, OperandKind::Int);
    let (rest, (kind, span)) = spanned(alt((integer, section_sum))).parse(i)?;
    Ok((rest, Operand { kind, span }))
}

/// What is no number.
fn section_sum(i: Input<'_>) -> Parsed<'_, OperandKind> {
    let label = || expect("a number or a label", section_name);
    let add = value(Binary::Add, symbol(b'+'));
    let op = alt((add, value(Binary::Sub, symbol(b'-'))));
    let (rest, ((name, span), op)) = pair(spanned(label()), opt(op)).parse(i)?;
    let Some(op) = op else {
        return Ok((rest, OperandKind::Name(name)));
    };
    let kind = ExprKind::Symbol(name);
    let left = rest.add(Expr { kind, span });
    let number = map(section_integer, ExprKind::Int);
    let right = alt((number, map(label(), ExprKind::Symbol)));
    let right = map(spanned(right), |(kind, span)| Expr { kind, span });
    let (rest, right) = added(right).parse(rest)?;
    let sum = joined(rest, ExprKind::Binary(op, left, right), left, right);
    Ok((rest, OperandKind::Expr(sum)))
}

fn section_integer(i: Input<'_>) -> Parsed<'_, Int> {
    preceded(number_ahead, expect("an integer", int_literal)).parse(i)
}
