//! The rules of the normaliser, as data: what each rewrites, under which condition, and why.
//!
//! A rule holds wherever its left side has a value: the right side has one there, and it is the same.

use std::sync::LazyLock;

use super::*;
use crate::term::RCmp;

mod analytic;
mod orders;

/// A rule with both of its sides over operands.
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) pattern: &'static str,
    pub(super) result: &'static str,
    /// Empty for a rule that holds for all reals.
    pub(super) condition: &'static str,
    pub(super) because: &'static str,
    pub(super) sides: fn(&mut Build, &Operands) -> (TermId, TermId),
}

/// The operands of a rule: any terms, positive ones, an integer and other numbers.
pub(super) struct Operands {
    x: TermId,
    y: TermId,
    z: TermId,
    /// The integer.
    n: TermId,
    /// x^2 + 1.
    p: TermId,
    /// 2^y.
    q: TermId,
    zero: TermId,
    one: TermId,
    two: TermId,
}

impl Operands {
    pub(super) fn of(b: &mut Build, [x, y, z]: [TermId; 3], n: i64) -> Operands {
        Operands {
            x,
            y,
            z,
            n: b.q(n, 1),
            p: b.square_plus_one(x),
            q: b.pow2(y),
            zero: b.q(0, 1),
            one: b.q(1, 1),
            two: b.q(2, 1),
        }
    }
}

impl Build {
    pub(super) fn square_plus_one(&mut self, x: TermId) -> TermId {
        let (one, p) = (self.q(1, 1), self.mul(x, x));
        self.add(p, one)
    }

    fn neg(&mut self, x: TermId) -> TermId {
        self.s.neg(x)
    }

    pub(super) fn pow2(&mut self, x: TermId) -> TermId {
        self.fun(Fun::Exp2, x)
    }

    fn select(&mut self, (op, x, y): (RCmp, TermId, TermId), a: TermId, b: TermId) -> TermId {
        let p = self.s.rcmp(op, x, y);
        self.s.select(p, a, b)
    }
}

/// The registry.
pub(super) static RULES: LazyLock<Vec<&'static Rule>> =
    LazyLock::new(|| analytic::RULES.iter().chain(orders::RULES).collect());
