//! The sign that one float gives to another.
//!
//! The problem: `copysign` and `.xorsign.abs` take the sign bit of an operand. Zero has two
//! encodings, and which of them a computed zero has is no function of the real: `neg` of 0 is -0, and
//! so is 0 times a negative number. As long as the magnitude is zero wherever the operand is, nobody
//! can tell; a magnitude of 1 there is 1 or -1.
//!
//! `roundf` is trunc(x + copysign(1/2, x)): there the sum at 0 is 1/2 or -1/2, and what is left of it
//! is a zero. Such sums are remembered, and their truncations are those of the real.
//!
//! Source: PTX ISA 9.0, sections 9.7.3.10 (`copysign`) and 9.7.3.11 to 9.7.3.12 (`.xorsign.abs`).
//!
//! Sound: the sign is that of the real only where the operand is known not to be zero, to have a
//! clear sign bit, or to make the magnitude zero with it; elsewhere it is the sign bit itself,
//! which is that of an input, or opaque.

use crate::sim::limits::LIMITS;
use num_traits::{One, Signed, Zero};

use crate::kernel::Fmt;
use crate::sim::val::Val;
use crate::sim::value::Values;
use crate::term::rebuild::is_zero_at_zero_of;
use crate::term::{ICmp, RCmp, Term, TermId};

impl Values {
    /// The sum of two values, as it is when it is truncated: remembered under `t`.
    ///
    /// match trunc(x + copysign(c, x)), c < 1 / result trunc(x + (x < 0 ? -c : c)) / because at 0 both
    /// are a zero.
    pub fn note_sum(&mut self, t: TermId, a: TermId, b: TermId) {
        for (x, y) in [(a, b), (b, a)] {
            if let Some(&(of, plain)) = self.halves.numbers.get(&y)
                && of == x
            {
                let sum = self.store.add(x, plain);
                self.halves.sums.insert(t, sum);
            }
        }
    }

    /// What a number is truncated as.
    pub fn truncated(&self, t: TermId) -> TermId {
        self.halves.sums.get(&t).copied().unwrap_or(t)
    }

    /// True if some number was given a sign that is open at zero.
    pub fn has_halves(&self) -> bool {
        !self.halves.numbers.is_empty()
    }
}

impl Values {
    /// A magnitude with the sign of a value.
    pub(super) fn copysign(&mut self, fmt: Fmt, v: Val, magnitude: TermId) -> TermId {
        let p = self.sign(fmt, v, magnitude);
        let t = self.signed(p, magnitude);
        let s = &mut self.store;
        if matches!(s.get(p), Term::ICmp(..))
            && s.as_const(magnitude).is_some_and(|c| c < &One::one())
        {
            let x = self.real(v, fmt);
            let s = &mut self.store;
            let zero = s.integer(0);
            let p = s.rcmp(RCmp::Lt, x, zero);
            let plain = self.signed(p, magnitude);
            self.halves.numbers.insert(t, (x, plain));
        }
        t
    }

    /// True if the sign bit of a value is set, which a number of this magnitude gets.
    pub(super) fn sign(&mut self, fmt: Fmt, v: Val, magnitude: TermId) -> TermId {
        if let Val::Conc(bits) = v {
            return self.store.bool(bits >> (fmt.bits() - 1) & 1 == 1);
        }
        let x = self.real(v, fmt);
        let s = &mut self.store;
        if s.has_clear_sign(x) {
            return s.bool(false);
        }
        let bounds = s.bounds(x);
        let nonzero = bounds.lo.is_some_and(|b| b.is_positive())
            || bounds.hi.is_some_and(|b| b.is_negative());
        // What stands below a change of sign, or is multiplied by a constant, is zero where it is.
        let mut at = x;
        let factor = |t| s.as_const(t).is_some_and(|c| !c.is_zero());
        loop {
            at = match s.get(at) {
                Term::Neg(y) => y,
                Term::Mul(c, y) | Term::Mul(y, c) if factor(c) => y,
                _ => break,
            };
        }
        if nonzero || is_zero_at_zero_of(s, magnitude, at, LIMITS.sign_terms) == Some(true) {
            let zero = s.integer(0);
            return s.rcmp(RCmp::Lt, x, zero);
        }
        let width = fmt.bits() as u8;
        let bits = self.bits(v, width);
        let s = &mut self.store;
        let bit = s.extract(bits, width - 1, 1);
        let one = s.bits(1, 1);
        s.icmp(ICmp::Eq, bit, one)
    }

    /// The magnitude with a minus sign where `negative` holds.
    pub(super) fn signed(&mut self, negative: TermId, magnitude: TermId) -> TermId {
        let s = &mut self.store;
        let n = s.neg(magnitude);
        s.select(negative, n, magnitude)
    }
}
