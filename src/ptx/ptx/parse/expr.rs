//! Constant expressions, with the precedence of C.
//!
//! Source: PTX ISA 9.0, section 4.5.4. A chain of operators of one precedence is a loop, so that
//! its length does not matter; what recurses (parentheses, prefixes, `?:`) counts as nesting.

use crate::diag::Span;
use crate::ptx::error::ParseErrorKind;
use crate::ptx::expr::{Binary, Expr, ExprKind, Float, Unary};
use crate::ptx::lex::Literal;
use crate::ptx::names::Name;
use crate::ptx::pool::{Id, List};

use super::token::*;
use crate::ptx::ast::Dim;

/// A number with an optional minus that is a whole expression: a comma, bracket or semicolon follows.
pub(super) fn lone_number(i: Input<'_>) -> Parsed<'_, Literal> {
    let signed = spanned(pair(opt(symbol(b'-')), literal));
    let (rest, ((minus, literal), span)) = terminated(signed, ahead(b",;]})")).parse(i)?;
    let number = match (minus, literal) {
        (None, literal) => literal,
        (Some(()), Literal::Int(int)) => Literal::Int(int.negated()),
        (Some(()), Literal::Float(Float::Decimal(bits))) => {
            Literal::Float(Float::Decimal(bits ^ 1 << 63))
        }
        _ => return fail(rest, ParseErrorKind::SignedExactFloat, span),
    };
    Ok((rest, number))
}

/// A constant expression.
pub(super) fn expression(i: Input<'_>) -> Parsed<'_, Id<Expr>> {
    let node = |(number, span)| Expr {
        kind: ExprKind::from(number),
        span,
    };
    alt((added(map(spanned(lone_number), node)), conditional)).parse(i)
}

/// `a ? b : c` or less.
pub(super) fn conditional(i: Input<'_>) -> Parsed<'_, Id<Expr>> {
    conditional_from(None).parse(i)
}

/// `a ? b : c` or less, of which the `first` primary expression may be read already.
pub(super) fn conditional_from<'a>(first: Option<Id<Expr>>) -> impl Rule<'a, Id<Expr>> {
    deeper(move |i| {
        let branches = separated_pair(conditional, mark("`:`"), conditional);
        let (rest, condition) = operators(i, first, 1)?;
        let (rest, branches) = opt(preceded(symbol(b'?'), branches)).parse(rest)?;
        let Some((then, otherwise)) = branches else {
            return Ok((rest, condition));
        };
        let kind = ExprKind::Conditional(condition, then, otherwise);
        Ok((rest, joined(rest, kind, condition, otherwise)))
    })
}

/// Operators of two operands that bind at least as tightly as `weakest`.
fn operators<'a>(i: Input<'a>, first: Option<Id<Expr>>, weakest: u8) -> Parsed<'a, Id<Expr>> {
    let (rest, left) = match first {
        Some(first) => (i, first),
        None => unary(i)?,
    };
    // A tighter operator on the right is a level of the grammar, of which there are ten.
    let step = |i: Input<'a>| {
        let (i, op) = token(verify(operator, |op| op.precedence() >= weakest)).parse(i)?;
        let (i, right) = operators(i, None, op.precedence() + 1)?;
        Ok((i, (op, right)))
    };
    let join = |left, (op, right)| joined(i, ExprKind::Binary(op, left, right), left, right);
    fold_many0(step, || left, join).parse(rest)
}

fn operator(i: Input<'_>) -> Parsed<'_, Binary> {
    use Binary::*;
    // One that begins with another stands before it.
    let long = [Shl, Shr, Le, Ge, Eq, Ne, LogicalAnd, LogicalOr];
    let short = [Mul, Div, Rem, Add, Sub, Lt, Gt, And, Xor, Or];
    let spelled = |op: Binary| value(op, spelled(op.text()));
    alt((alt(long.map(spelled)), alt(short.map(spelled)))).parse(i)
}

fn unary(i: Input<'_>) -> Parsed<'_, Id<Expr>> {
    alt((prefixed, parenthesised, number, named)).parse(i)
}

/// `-a`, `(.s64) a` and the like.
fn prefixed(i: Input<'_>) -> Parsed<'_, Id<Expr>> {
    let signed = value(Unary::CastS64, word("s64"));
    let cast = alt((signed, value(Unary::CastU64, word("u64"))));
    let op = alt((
        value(Unary::Plus, symbol(b'+')),
        value(Unary::Minus, symbol(b'-')),
        value(Unary::Not, symbol(b'!')),
        value(Unary::Complement, symbol(b'~')),
        delimited(symbol(b'('), cast, mark("`)`")),
    ));
    let (rest, ((op, operand), span)) = spanned(pair(op, deeper(unary))).parse(i)?;
    let kind = i.state.module.borrow()[operand].kind;
    if matches!(kind, ExprKind::Float(Float::F32(_) | Float::F64(_))) {
        return fail(rest, ParseErrorKind::SignedExactFloat, span);
    }
    let kind = ExprKind::Unary(op, operand);
    Ok((rest, rest.add(Expr { kind, span })))
}

/// `(expression)`
fn parenthesised(i: Input<'_>) -> Parsed<'_, Id<Expr>> {
    delimited(symbol(b'('), conditional, mark("`)`")).parse(i)
}

/// A number or `mask(symbol)`.
fn number(i: Input<'_>) -> Parsed<'_, Id<Expr>> {
    let (rest, (literal, span)) = spanned(literal).parse(i)?;
    let kind = ExprKind::from(literal);
    let mask = rest.add(Expr { kind, span });
    if matches!(kind, ExprKind::Int(_))
        && let (behind, Some(of)) = opt(parenthesised).parse(rest)?
    {
        let (kind, span) = (ExprKind::Masked { mask, of }, i.to(behind));
        return Ok((behind, rest.add(Expr { kind, span })));
    }
    Ok((rest, mask))
}

/// A symbol or `generic(symbol)`.
fn named(i: Input<'_>) -> Parsed<'_, Id<Expr>> {
    let (rest, (name, span)) = spanned(expect("a constant expression", name)).parse(i)?;
    if i.slice(span) == "generic"
        && let (behind, Some(of)) = opt(parenthesised).parse(rest)?
    {
        let (kind, span) = (ExprKind::Generic(of), i.to(behind));
        return Ok((behind, rest.add(Expr { kind, span })));
    }
    Ok((rest, symbol_expr(i, name, span)))
}

/// `WARP_SZ` or another symbol.
pub(super) fn symbol_expr(i: Input<'_>, name: Name, span: Span) -> Id<Expr> {
    let kind = match i.slice(span) {
        "WARP_SZ" => ExprKind::WarpSize,
        _ => ExprKind::Symbol(name),
    };
    i.add(Expr { kind, span })
}

/// An expression from its first to its last part.
pub(super) fn joined(i: Input<'_>, kind: ExprKind, first: Id<Expr>, last: Id<Expr>) -> Id<Expr> {
    let span_of = |id: Id<Expr>| i.state.module.borrow()[id].span;
    let span = span_of(first).to(span_of(last));
    i.add(Expr { kind, span })
}

impl From<Literal> for ExprKind {
    fn from(literal: Literal) -> Self {
        match literal {
            Literal::Int(int) => ExprKind::Int(int),
            Literal::Float(float) => ExprKind::Float(float),
        }
    }
}

/// `[4][]`
pub(super) fn dims(i: Input<'_>) -> Parsed<'_, List<Dim>> {
    let size = terminated(expression, mark("`]`"));
    let dim = alt((value(None, symbol(b']')), map(size, Some)));
    let dims = many1(preceded(symbol(b'['), dim));
    map(opt(stored(dims)), Option::unwrap_or_default).parse(i)
}
