//! Signs and zeros of what may be special, and where it is.
//!
//! The problem: the sign of a product, of a quotient by 0 and of a root's operand decides which infinity there is, or
//! that there is no number. A comparison with 0 looks at the value where the term is a real, and nowhere else.

use num_traits::Signed;

use super::cond::Cond;
use super::{Extended, LAST_ZERO, Lift};
use crate::term::{ArrayId, ICmp, RCmp, Term, TermId};

impl Lift<'_> {
    /// Where a term is an infinity.
    pub(super) fn infinite(&mut self, x: Extended) -> Option<Cond> {
        self.or(x.neg, x.pos)
    }

    /// Where a term is not a real.
    pub(super) fn special(&mut self, x: Extended) -> Option<Cond> {
        let infinite = self.infinite(x)?;
        self.or(infinite, x.undefined)
    }

    /// Where a term is 0.
    pub(super) fn zero_of(&self, x: Extended) -> Cond {
        match x.is_plain() && self.store.is_zero(x.value) {
            true => Cond::Always,
            false => x.zero,
        }
    }

    /// True for what is not below 0, and 0 nowhere but where it is known to be.
    pub(super) fn is_above(&self, x: &Extended) -> bool {
        let positive = match self.store.get(x.value) {
            // The logarithm of e, by which a formula's exponentials are powers of 2.
            Term::Elem {
                array: ArrayId::CONSTANTS,
                ..
            } => true,
            _ => (self.store.as_const(x.value)).is_some_and(|c| !c.is_negative()),
        };
        x.positive || positive && x.is_plain()
    }

    /// Where a term is 0.
    pub(super) fn is_zero(&mut self, x: Extended) -> Option<Cond> {
        if self.is_above(&x) {
            let special = self.special(x)?;
            let (real, zero) = (self.not(special)?, self.zero_of(x));
            return self.and(real, zero);
        }
        self.compared(RCmp::Eq, x)
    }

    /// A comparison of a value with 0 where the term is a real.
    pub(super) fn compared(&mut self, op: RCmp, x: Extended) -> Option<Cond> {
        let zero = self.store.integer(0);
        let value = self.guarded(x)?;
        let p = self.rcmp(op, value, zero);
        let holds = self.cond(p)?;
        let special = self.special(x)?;
        let real = self.not(special)?;
        self.and(real, holds)
    }

    /// Where a term is below 0, minus infinity with it.
    pub(super) fn is_negative(&mut self, x: Extended) -> Option<Cond> {
        if self.is_above(&x) {
            return Some(x.neg);
        }
        let below = self.compared(RCmp::Lt, x)?;
        self.or(below, x.neg)
    }

    /// A comparison of terms that have a value on every input.
    pub(super) fn rcmp(&mut self, op: RCmp, a: TermId, b: TermId) -> TermId {
        let t = self.store.rcmp(op, a, b);
        self.defined.insert(t);
        t
    }

    /// The sign of the zero that a value is, true for minus: an unknown of its own, unless the term cannot be -0.
    pub(super) fn sign_of_zero(&mut self, x: Extended) -> Option<Cond> {
        if x.positive || self.store.has_clear_sign(x.value) {
            return Some(Cond::Never);
        }
        let i = self.zeros.insert_full(x.value).0 as u32;
        self.unknown(LAST_ZERO - i)
    }

    pub(super) fn unknown(&mut self, serial: u32) -> Option<Cond> {
        let bit = self.store.fresh(1, serial);
        let one = self.store.bits(1, 1);
        let p = self.store.icmp(ICmp::Eq, bit, one);
        self.cond(p)
    }
}
