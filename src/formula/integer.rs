//! Integer expressions: subscripts, ranges, and comparisons of integers.
//!
//! `/` and `%` round down here. What does not depend on data is a machine integer of 64 bits, and a result beyond
//! that is an error; what does is a real that is an integer.

use super::ast::{Expr, ExprId, Func, MulOp};
use super::build::{Builder, Built, Stop, Truth};
use super::error::Problem;
use super::resolve::Meaning;
use super::symbols::Scalar;
use crate::sim::UnknownKind;
use crate::spec::ElemTy;
use crate::term::{Fun, TermId};

/// An integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Int {
    Known(i64),
    /// A real that is an integer on every input.
    Term(TermId),
}

impl Builder<'_> {
    /// True for an expression of indices, sizes and integer arrays.
    pub(super) fn is_integer(&self, e: ExprId) -> bool {
        let program = self.program;
        let both = |list: &[ExprId]| list.iter().all(|&e| self.is_integer(e));
        match self.formula().expr(e) {
            Expr::Number { integer, .. } => *integer,
            Expr::Name(_) => match program.meanings.get(&e) {
                Some(Meaning::Var(_)) => true,
                Some(&Meaning::Scalar(s)) => matches!(
                    program.symbols.scalars[s].value,
                    Scalar::Int(_) | Scalar::IntSymbol(..)
                ),
                Some(Meaning::Array(_) | Meaning::Helper(_)) | None => false,
            },
            Expr::Read { .. } => match program.meanings.get(&e) {
                Some(&Meaning::Array(a)) => {
                    let elem = program.symbols.arrays[a].array.elem;
                    matches!(elem, Some(ElemTy::Int { .. }))
                }
                _ => false,
            },
            Expr::Neg(a) => self.is_integer(*a),
            Expr::Power(a, n) => *n >= 0 && self.is_integer(*a),
            Expr::Sum(terms) => terms.iter().all(|t| self.is_integer(t.1)),
            Expr::Product(factors) => factors.iter().all(|f| self.is_integer(f.1)),
            Expr::Call(Func::Abs | Func::Max | Func::Min, args) => both(args),
            Expr::If(_, yes, no) => both(&[*yes, *no]),
            Expr::Infinity
            | Expr::Pi
            | Expr::Call(..)
            | Expr::Reduce { .. }
            | Expr::Compare(..)
            | Expr::Not(_)
            | Expr::And(_)
            | Expr::Or(_) => false,
        }
    }

    /// The integer that an expression is.
    pub(super) fn integer(&mut self, e: ExprId) -> Built<Int> {
        if !self.is_integer(e) {
            let what = "only indices, sizes, integers and integer arrays make one".to_string();
            return self.wrong(Problem::NotInteger { what }, e);
        }
        let formula = self.formula();
        match formula.expr(e) {
            Expr::Number { value, .. } => match i64::try_from(value.to_integer()) {
                Ok(v) => Ok(Int::Known(v)),
                Err(_) => self.overflow(e),
            },
            Expr::Name(_) => self.named_integer(e),
            Expr::Neg(a) => {
                let a = self.integer(*a)?;
                self.combine(e, Int::Known(0), a, Op::Sub)
            }
            Expr::Sum(terms) => {
                let mut out = Int::Known(0);
                for &(minus, t) in terms {
                    let t = self.integer(t)?;
                    out = self.combine(e, out, t, if minus { Op::Sub } else { Op::Add })?;
                }
                Ok(out)
            }
            Expr::Product(factors) => {
                let mut out = self.integer(factors[0].1)?;
                for &(op, f) in &factors[1..] {
                    let f = self.integer(f)?;
                    let op = match op {
                        MulOp::Times => Op::Mul,
                        MulOp::Over => Op::Div,
                        MulOp::Rem => Op::Rem,
                    };
                    out = self.combine(e, out, f, op)?;
                }
                Ok(out)
            }
            Expr::Power(a, n) => {
                let a = self.integer(*a)?;
                let mut out = Int::Known(1);
                for _ in 0..*n {
                    out = self.combine(e, out, a, Op::Mul)?;
                }
                Ok(out)
            }
            Expr::Call(f, args) => {
                let mut out = self.integer(args[0])?;
                if *f == Func::Abs {
                    let minus = self.combine(e, Int::Known(0), out, Op::Sub)?;
                    out = self.combine(e, out, minus, Op::Max)?;
                }
                let op = if *f == Func::Min { Op::Min } else { Op::Max };
                for &a in &args[1..] {
                    let a = self.integer(a)?;
                    out = self.combine(e, out, a, op)?;
                }
                Ok(out)
            }
            Expr::If(cond, yes, no) => match self.truth(*cond)? {
                Truth::Known(true) => self.integer(*yes),
                Truth::Known(false) => self.integer(*no),
                Truth::Term(p) => {
                    let (a, b) = (self.integer(*yes)?, self.integer(*no)?);
                    let (a, b) = (self.of_integer(a), self.of_integer(b));
                    Ok(Int::Term(self.store.select(p, a, b)))
                }
            },
            // What is left is an element of an integer array.
            _ => {
                let t = self.real(e)?;
                Ok(self.as_known(t))
            }
        }
    }

    fn overflow<T>(&self, e: ExprId) -> Built<T> {
        let at = self.at(e);
        self.wrong(Problem::Overflow { at }, e)
    }

    fn named_integer(&mut self, e: ExprId) -> Built<Int> {
        match self.program.meanings.get(&e) {
            Some(Meaning::Var(v)) => Ok(Int::Known(self.env[v.0 as usize])),
            Some(&Meaning::Scalar(s)) => {
                let symbol = &self.program.symbols.scalars[s];
                match symbol.value {
                    Scalar::Int(v) => Ok(Int::Known(v)),
                    _ => {
                        let name = symbol.name.clone();
                        self.wrong(Problem::NoValue { name }, e)
                    }
                }
            }
            _ => self.overflow(e),
        }
    }

    /// A term, as a number if it is one.
    fn as_known(&self, t: TermId) -> Int {
        let value = self.store.as_const(t).filter(|v| v.is_integer());
        let value = value.and_then(|v| i64::try_from(v.to_integer()).ok());
        value.map_or(Int::Term(t), Int::Known)
    }

    fn combine(&mut self, e: ExprId, a: Int, b: Int, op: Op) -> Built<Int> {
        if let (Int::Known(a), Int::Known(b)) = (a, b) {
            if matches!(op, Op::Div | Op::Rem) && b == 0 {
                let at = self.at(e);
                return self.wrong(Problem::DivisionByZero { at }, e);
            }
            return match op.known(a, b) {
                Some(v) => Ok(Int::Known(v)),
                None => self.overflow(e),
            };
        }
        let (x, y) = (self.of_integer(a), self.of_integer(b));
        let s = &mut self.store;
        let t = match op {
            Op::Add => s.add(x, y),
            Op::Sub => s.sub(x, y),
            Op::Mul => s.mul(x, y),
            Op::Max => s.max(x, y),
            Op::Min => s.min(x, y),
            Op::Div | Op::Rem => {
                // A denominator that data choose may be 0.
                let Int::Known(1..) = b else {
                    let message =
                        "the formula divides integers by what is not known to be positive";
                    return Err(Stop::Unknown(UnknownKind::Undefined, message.to_string()));
                };
                let q = s.div(x, y);
                let q = s.fun(Fun::Floor, q);
                match op {
                    Op::Div => q,
                    _ => {
                        let p = s.mul(q, y);
                        s.sub(x, p)
                    }
                }
            }
        };
        Ok(self.as_known(t))
    }
}

/// Operations on integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Max,
    Min,
}

impl Op {
    /// The result if it fits; the denominator is not 0.
    fn known(self, a: i64, b: i64) -> Option<i64> {
        match self {
            Op::Add => a.checked_add(b),
            Op::Sub => a.checked_sub(b),
            Op::Mul => a.checked_mul(b),
            // Rounded down for either sign of the denominator.
            Op::Div => {
                let q = a.checked_div(b)?;
                Some(q - i64::from(a % b != 0 && (a < 0) != (b < 0)))
            }
            Op::Rem => {
                let r = a.checked_rem(b)?;
                Some(if r != 0 && (r < 0) != (b < 0) {
                    r + b
                } else {
                    r
                })
            }
            Op::Max => Some(a.max(b)),
            Op::Min => Some(a.min(b)),
        }
    }
}
