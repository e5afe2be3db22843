//! Operands of instructions: registers, constants, addresses, vectors, predicate pairs.
//!
//! Source: PTX ISA 9.0, section 6, and the forms of addresses that ptxas takes.

use super::expr::{conditional, conditional_from, lone_number, symbol_expr};
use super::token::*;
use crate::ptx::error::ParseErrorKind;
use crate::ptx::instr::{Address, Base, Component, Offset, Operand, OperandKind};
use crate::ptx::lex::{self, Literal};
use crate::ptx::names::Name;
use crate::ptx::pool::List;

/// The bytes of which one stands behind an operand.
const ENDS: &[u8; 5] = b",;]})";

/// One operand.
pub(super) fn operand(i: Input<'_>) -> Parsed<'_, Operand> {
    let kind = alt((named, address, vector, negated, constant));
    map(spanned(kind), |(kind, span)| Operand { kind, span }).parse(i)
}

/// One operand of `call`, where `(` opens a list of arguments, not an expression.
pub(super) fn call_operand(i: Input<'_>) -> Parsed<'_, Operand> {
    let group = map(spanned(group), |(kind, span)| Operand { kind, span });
    let (rest, operand) = alt((group, operand)).parse(i)?;
    // An expression behind `(` would read as a list when it is printed; none is an operand of `call`.
    match operand.kind {
        OperandKind::Expr(_) => missing(rest, "`,` or `;`"),
        _ => Ok((rest, operand)),
    }
}

/// Operands up to `close`; there may be none.
fn operand_list<'a>(close: u8, what: &'static str) -> impl Rule<'a, List<Operand>> {
    let listed = terminated(operands(operand), expect(what, symbol(close)));
    gathered(alt((symbol(close), value((), listed))))
}

/// `(a, b)`
fn group(i: Input<'_>) -> Parsed<'_, OperandKind> {
    let list = deeper(operand_list(b')', "`,` or `)`"));
    map(preceded(symbol(b'('), list), OperandKind::Group).parse(i)
}

/// `{a, b}` or `{a, b}|p`
fn vector(i: Input<'_>) -> Parsed<'_, OperandKind> {
    let list = deeper(operand_list(b'}', "`,` or `}`"));
    let pred = opt(preceded(symbol(b'|'), half));
    let vector = |(elements, pred)| match pred {
        Some(pred) => OperandKind::VectorPair { elements, pred },
        None => OperandKind::Vector(elements),
    };
    map(preceded(symbol(b'{'), pair(list, pred)), vector).parse(i)
}

/// The right side of `p|q`.
fn half(i: Input<'_>) -> Parsed<'_, Option<Name>> {
    name_or_sink("a predicate register or `_`").parse(i)
}

/// A number or an expression that does not begin with a name.
fn constant(i: Input<'_>) -> Parsed<'_, OperandKind> {
    let number = |number| match number {
        Literal::Int(int) => OperandKind::Int(int),
        Literal::Float(float) => OperandKind::Float(float),
    };
    let begins = alt((ahead(b"+-~!("), number_ahead));
    let expression = map(preceded(begins, conditional), OperandKind::Expr);
    expect("an operand", alt((map(lone_number, number), expression))).parse(i)
}

/// `!p`, `-r` or `-r.h1`
fn negated(i: Input<'_>) -> Parsed<'_, OperandKind> {
    let plain = || verify(identifier, |text: &str| !matches!(text, "WARP_SZ" | "_"));
    let whole = || interned(terminated(token(plain()), ahead(ENDS)));
    let part = interned(terminated(plain(), peek(byte(b'.'))));
    let part = preceded(symbol(b'-'), pair(part, component));
    let negated = |(base, component)| OperandKind::NegComponent { base, component };
    alt((
        map(part, negated),
        map(preceded(symbol(b'-'), whole()), OperandKind::Neg),
        map(preceded(symbol(b'!'), whole()), OperandKind::Not),
    ))
    .parse(i)
}

/// What begins with an identifier.
fn named(i: Input<'_>) -> Parsed<'_, OperandKind> {
    preceded(next(lex::starts_identifier), alt((sink, placed))).parse(i)
}

/// `_` or `_|p`
fn sink(i: Input<'_>) -> Parsed<'_, OperandKind> {
    let first = None;
    let sink = |second| match second {
        Some(second) => OperandKind::Pair { first, second },
        None => OperandKind::Sink,
    };
    let second = opt(preceded(symbol(b'|'), half));
    map(preceded(keyword("_"), second), sink).parse(i)
}

/// A name with what belongs to it, or an expression that begins with one.
fn placed<'a>(i: Input<'a>) -> Parsed<'a, OperandKind> {
    let (rest, (place, span)) = spanned(place).parse(i)?;
    let base = match place {
        Base::Name(name) => name,
        Base::Component { base, component } => {
            return Ok((rest, OperandKind::Component { base, component }));
        }
        Base::Element { base, index } => return Ok((rest, OperandKind::Element { base, index })),
        Base::Absent => return mismatch(),
    };
    let text = i.slice(span);
    let bar = token(terminated(byte(b'|'), not(byte(b'|'))));
    let pair = |second| OperandKind::Pair {
        first: Some(base),
        second,
    };
    let symbol = |rest: Input<'a>| Ok((rest, symbol_expr(i, base, span)));
    let sum = |rest: Input<'a>| {
        let first = symbol_expr(i, base, span);
        conditional_from(Some(first)).parse(rest)
    };
    let expression = alt((
        preceded((given(text == "WARP_SZ"), ahead(ENDS)), symbol),
        preceded((given(text == "generic"), ahead(b"(")), |_| conditional(i)),
        preceded(ahead(b"+-*/%<>=!&^|?"), sum),
    ));
    // A register is no constant; what follows it is another operand whose comma is missing.
    let constant = given(!text.starts_with('%'));
    alt((
        map(preceded(bar, half), pair),
        map(preceded(constant, expression), OperandKind::Expr),
        success(OperandKind::Name(base)),
    ))
    .parse(rest)
}

/// `name`, `name.x` or `name[i]`.
fn place(i: Input<'_>) -> Parsed<'_, Base> {
    let (rest, base) = expect("a name", Inlined(name)).parse(i)?;
    let component = preceded((ahead(b"."), adjacent_word), component);
    let index = added(deeper(operand));
    let index = delimited(symbol(b'['), index, mark("`]`"));
    alt((
        map(component, |component| Base::Component { base, component }),
        map(index, |index| Base::Element { base, index }),
        success(Base::Name(base)),
    ))
    .parse(rest)
}

/// That a word follows. On another line a dot begins a directive, and a semicolon is missing.
fn adjacent_word(i: Input<'_>) -> Parsed<'_, ()> {
    preceded(given(!i.gap().contains('\n')), value((), peek(dotted))).parse(i)
}

/// `.x`
fn component(i: Input<'_>) -> Parsed<'_, Component> {
    let (rest, word) = token(preceded(byte(b'.'), text(opt(lexeme(lex::word))))).parse(i)?;
    let component = match ("xyzw".find(word), "rgba".find(word)) {
        (Some(at), _) if word.len() == 1 => Component::Xyzw(at as u8),
        (_, Some(at)) if word.len() == 1 => Component::Rgba(at as u8),
        _ => Component::Other(i.intern(word)),
    };
    Ok((rest, component))
}

/// `[base + offset, rest...]`
fn address(i: Input<'_>) -> Parsed<'_, OperandKind> {
    let address = preceded(ahead(b"["), deeper(added(bracketed)));
    map(address, OperandKind::Address).parse(i)
}

fn bracketed<'a>(i: Input<'a>) -> Parsed<'a, Address> {
    let begins = peek(verify(identifier, |text: &str| text != "WARP_SZ"));
    let base = opt(preceded(begins, place));
    let (rest, base) = preceded(symbol(b'['), base).parse(i)?;
    let minus = |i: Input<'a>| fail(i, ParseErrorKind::MinusInAddress, i.span(1));
    let sum = alt((
        preceded(ahead(b"-"), minus),
        preceded(symbol(b'+'), offset),
        success(Offset::None),
    ));
    let alone = preceded(given(base.is_none()), offset);
    let (rest, offset) = alt((alone, sum)).parse(rest)?;
    let more = preceded(symbol(b','), operand_list(b']', "`,` or `]`"));
    let close = value(List::EMPTY, mark("`]`"));
    let unified = |i: Input<'a>| preceded(given(i.gap().is_empty()), word("unified")).parse(i);
    let (rest, (list, unified)) = (alt((more, close)), opt(unified)).parse(rest)?;
    let address = Address {
        base: base.unwrap_or(Base::Absent),
        offset,
        rest: list,
        unified: unified.is_some(),
    };
    Ok((rest, address))
}

fn offset<'a>(i: Input<'a>) -> Parsed<'a, Offset> {
    let (rest, number) = opt(spanned(lone_number)).parse(i)?;
    match number {
        Some((Literal::Int(int), _)) => Ok((rest, Offset::Imm(int.value()))),
        Some((Literal::Float(_), span)) => {
            let (expected, found) = ("an integer", format!("`{}`", i.slice(span)));
            fail(rest, ParseErrorKind::Expected { expected, found }, span)
        }
        None => {
            let absent = preceded(ahead(b"],"), |i: Input<'a>| missing(i, "an address"));
            alt((absent, map(conditional, Offset::Expr))).parse(rest)
        }
    }
}
