//! Constant expressions, with the precedence of C.
//!
//! Source: PTX ISA 9.0, section 4.5.4. A chain of operators of one precedence is a loop, so that
//! its length does not matter; what recurses (parentheses, prefixes, `?:`) counts as nesting.

use super::{Parsed, Parser, error};
use crate::diag::Span;
use crate::ptx::error::ParseErrorKind;
use crate::ptx::expr::{Binary, Expr, ExprKind, Float, Int, Unary};
use crate::ptx::lex::{self, Literal};
use crate::ptx::pool::Id;

/// A number with its sign, when nothing else belongs to the expression.
#[derive(Clone, Copy)]
pub(super) enum Signed {
    Int(Int),
    Float(Float),
}

impl Parser<'_> {
    pub(super) fn add_expr(&mut self, kind: ExprKind, span: Span) -> Id<Expr> {
        self.module.pools.add(Expr { kind, span })
    }

    /// A number with an optional minus that is a whole expression: a comma, bracket or
    /// semicolon follows. `None`, and nothing taken, if it is not.
    pub(super) fn lone_number(&mut self) -> Parsed<Option<(Signed, Span)>> {
        let before = (self.at, self.end);
        let start = self.start();
        let negative = self.eat(b'-');
        if !lex::starts_number(self.rest()) {
            (self.at, self.end) = before;
            return Ok(None);
        }
        let literal = self.literal("a number")?;
        let span = self.since(start);
        if !matches!(self.peek(), b',' | b';' | b']' | b'}' | b')') {
            (self.at, self.end) = before;
            return Ok(None);
        }
        let number = match literal {
            Literal::Int(int) if negative => Signed::Int(int.negated()),
            Literal::Int(int) => Signed::Int(int),
            Literal::Float(float) if !negative => Signed::Float(float),
            Literal::Float(Float::Decimal(bits)) => Signed::Float(Float::Decimal(bits ^ 1 << 63)),
            Literal::Float(_) => return Err(error(ParseErrorKind::SignedExactFloat, span)),
        };
        Ok(Some((number, span)))
    }

    /// A constant expression.
    pub(super) fn expression(&mut self) -> Parsed<Id<Expr>> {
        if let Some((number, span)) = self.lone_number()? {
            let kind = match number {
                Signed::Int(int) => ExprKind::Int(int),
                Signed::Float(float) => ExprKind::Float(float),
            };
            return Ok(self.add_expr(kind, span));
        }
        self.conditional(None)
    }

    /// `a ? b : c` or less. `first` is the primary expression that is read already.
    pub(super) fn conditional(&mut self, first: Option<Id<Expr>>) -> Parsed<Id<Expr>> {
        self.deeper(|p| {
            let condition = p.operators(first, 1)?;
            if !p.eat(b'?') {
                return Ok(condition);
            }
            let then = p.conditional(None)?;
            p.expect(b':', "`:`")?;
            let otherwise = p.conditional(None)?;
            let span = p.span_of(condition).to(p.span_of(otherwise));
            Ok(p.add_expr(ExprKind::Conditional(condition, then, otherwise), span))
        })
    }

    fn span_of(&self, id: Id<Expr>) -> Span {
        self.module[id].span
    }

    /// Operators of two operands that bind at least as tightly as `weakest`.
    fn operators(&mut self, first: Option<Id<Expr>>, weakest: u8) -> Parsed<Id<Expr>> {
        let mut left = match first {
            Some(first) => first,
            None => self.unary()?,
        };
        while let Some((op, len)) = self.peek_operator()
            && op.precedence() >= weakest
        {
            self.take(len);
            // A tighter operator on the right is a level of the grammar, of which there are ten.
            let right = self.operators(None, op.precedence() + 1)?;
            let span = self.span_of(left).to(self.span_of(right));
            left = self.add_expr(ExprKind::Binary(op, left, right), span);
        }
        Ok(left)
    }

    fn peek_operator(&self) -> Option<(Binary, usize)> {
        Some(match self.rest() {
            [b'<', b'<', ..] => (Binary::Shl, 2),
            [b'>', b'>', ..] => (Binary::Shr, 2),
            [b'<', b'=', ..] => (Binary::Le, 2),
            [b'>', b'=', ..] => (Binary::Ge, 2),
            [b'=', b'=', ..] => (Binary::Eq, 2),
            [b'!', b'=', ..] => (Binary::Ne, 2),
            [b'&', b'&', ..] => (Binary::LogicalAnd, 2),
            [b'|', b'|', ..] => (Binary::LogicalOr, 2),
            [b'*', ..] => (Binary::Mul, 1),
            [b'/', ..] => (Binary::Div, 1),
            [b'%', ..] => (Binary::Rem, 1),
            [b'+', ..] => (Binary::Add, 1),
            [b'-', ..] => (Binary::Sub, 1),
            [b'<', ..] => (Binary::Lt, 1),
            [b'>', ..] => (Binary::Gt, 1),
            [b'&', ..] => (Binary::And, 1),
            [b'^', ..] => (Binary::Xor, 1),
            [b'|', ..] => (Binary::Or, 1),
            _ => return None,
        })
    }

    fn unary(&mut self) -> Parsed<Id<Expr>> {
        let start = self.start();
        let op = match self.peek() {
            b'+' => Unary::Plus,
            b'-' => Unary::Minus,
            b'!' => Unary::Not,
            b'~' => Unary::Complement,
            b'(' => return self.parenthesised(),
            _ => return self.primary(),
        };
        self.take(1);
        self.prefixed(op, start)
    }

    fn prefixed(&mut self, op: Unary, start: u32) -> Parsed<Id<Expr>> {
        let operand = self.deeper(Self::unary)?;
        let exact = matches!(
            self.module[operand].kind,
            ExprKind::Float(Float::F32(_) | Float::F64(_))
        );
        let span = self.since(start);
        if exact {
            return Err(error(ParseErrorKind::SignedExactFloat, span));
        }
        Ok(self.add_expr(ExprKind::Unary(op, operand), span))
    }

    /// `(expression)`, `(.s64) operand` or `(.u64) operand`.
    fn parenthesised(&mut self) -> Parsed<Id<Expr>> {
        let start = self.start();
        self.take(1);
        let cast = match self.peek_word() {
            "s64" => Some(Unary::CastS64),
            "u64" => Some(Unary::CastU64),
            _ => None,
        };
        if let Some(op) = cast {
            self.take(4);
            self.expect(b')', "`)`")?;
            return self.prefixed(op, start);
        }
        let inner = self.conditional(None)?;
        self.expect(b')', "`)`")?;
        Ok(inner)
    }

    /// A number, symbol, `generic(symbol)` or `mask(symbol)`.
    fn primary(&mut self) -> Parsed<Id<Expr>> {
        let start = self.start();
        if lex::starts_number(self.rest()) {
            let kind = match self.literal("a number")? {
                Literal::Int(int) => ExprKind::Int(int),
                Literal::Float(float) => ExprKind::Float(float),
            };
            let span = self.since(start);
            let number = self.add_expr(kind, span);
            if self.peek() != b'(' || !matches!(kind, ExprKind::Int(_)) {
                return Ok(number);
            }
            let of = self.argument()?;
            let span = self.since(start);
            return Ok(self.add_expr(ExprKind::Masked { mask: number, of }, span));
        }
        let (name, span) = self.identifier("a constant expression")?;
        if self.peek() == b'(' && self.module.text(name) == "generic" {
            let of = self.argument()?;
            let span = self.since(start);
            return Ok(self.add_expr(ExprKind::Generic(of), span));
        }
        let kind = match self.module.text(name) {
            "WARP_SZ" => ExprKind::WarpSize,
            _ => ExprKind::Symbol(name),
        };
        Ok(self.add_expr(kind, span))
    }

    /// `(expression)` behind `generic` or a mask.
    fn argument(&mut self) -> Parsed<Id<Expr>> {
        self.take(1);
        let inner = self.conditional(None)?;
        self.expect(b')', "`)`")?;
        Ok(inner)
    }
}
