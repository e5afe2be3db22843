//! Equations of integers, solved for what is not known.
//!
//! Problem: `j == y`, `j - y == 0` and `y + 1 == j + 1` are one condition, and a compiler writes whichever
//! its loop makes cheapest. An equation of bit vectors with a constant is brought to the form `x = d`.
//! Every step is an equivalence modulo 2^w.
//!
//! What is not claimed: equations between two unknown terms have no form but that of a difference of 0.

use super::view::{BitsOp, Term};
use super::{TermId, TermStore};

/// Steps of one solution.
const MAX_STEPS: usize = 16;

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the bits.
fn inverse(c: u64) -> u64 {
    let mut x = c;
    for _ in 0..6 {
        x = x.wrapping_mul(2u64.wrapping_sub(c.wrapping_mul(x)));
    }
    x
}

impl TermStore {
    /// An equation with a constant, solved for what is not known.
    ///
    /// match `x + c = d`; result `x = d - c`; because addition modulo 2^w has an inverse; likewise
    /// `x ^ c = d`, and `x * c = d` with an odd c, which has an inverse modulo 2^w.
    ///
    /// match `x - y = 0`, `x ^ y = 0`; result `x = y`; because only equal numbers have no difference.
    pub(super) fn solved(&mut self, w: u8, mut a: TermId, mut b: TermId) -> (TermId, TermId) {
        let keep = u64::MAX >> (64 - w.clamp(1, 64) as u32);
        for _ in 0..MAX_STEPS {
            if self.as_bits(a).is_some() {
                std::mem::swap(&mut a, &mut b);
            }
            let Some(d) = self.as_bits(b) else { break };
            let Term::BitsOp(op, x, y) = self.get(a) else {
                break;
            };
            let known = match (self.as_bits(x), self.as_bits(y)) {
                (None, Some(c)) => Some((x, c)),
                (Some(c), None) => Some((y, c)),
                _ => None,
            };
            let (rest, d) = match (op, known) {
                (BitsOp::Add, Some((x, c))) => (x, d.wrapping_sub(c) & keep),
                (BitsOp::Xor, Some((x, c))) => (x, (d ^ c) & keep),
                (BitsOp::Mul, Some((x, c))) if c & 1 == 1 => (x, d.wrapping_mul(inverse(c)) & keep),
                (BitsOp::Xor, None) if d == 0 => return (x, y),
                (BitsOp::Add, None) if d == 0 => {
                    return match (self.negative(keep, x), self.negative(keep, y)) {
                        (Some(x), _) => (x, y),
                        (_, Some(y)) => (x, y),
                        _ => (a, b),
                    };
                }
                _ => break,
            };
            (a, b) = (rest, self.bits(w, d));
        }
        (a, b)
    }

    /// What a term is the negative of.
    fn negative(&self, minus_one: u64, t: TermId) -> Option<TermId> {
        match self.get(t) {
            Term::BitsOp(BitsOp::Mul, x, k) if self.as_bits(k) == Some(minus_one) => Some(x),
            Term::BitsOp(BitsOp::Mul, k, x) if self.as_bits(k) == Some(minus_one) => Some(x),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::term::eval::{Inputs, Mode, Value, evaluate};
    use crate::term::{ArrayId, ICmp};

    const MODE: Mode = Mode::exact(64);

    #[test]
    fn differences_of_equal_numbers_are_one_condition() {
        let mut s = TermStore::new();
        let (x, y) = (s.bytes(ArrayId(0), 0, 32), s.bytes(ArrayId(0), 4, 32));
        let (minus, one, seven) = (s.bits(32, u64::MAX), s.bits(32, 1), s.bits(32, 7));
        let zero = s.bits(32, 0);
        let plain = s.icmp(ICmp::Eq, x, seven);
        let n = s.bits_op(BitsOp::Mul, x, minus);
        let left = s.bits_op(BitsOp::Add, n, seven);
        let right = s.bits_op(BitsOp::Add, x, one);
        let eight = s.bits(32, 8);
        assert_eq!(s.icmp(ICmp::Eq, left, zero), plain);
        assert_eq!(s.icmp(ICmp::Eq, eight, right), plain);
        let both = s.bits_op(BitsOp::Add, n, y);
        assert_eq!(s.icmp(ICmp::Eq, both, zero), s.icmp(ICmp::Eq, x, y));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

        /// An equation holds where its numbers are equal.
        #[test]
        fn solutions_are_those_of_the_equation(
            steps in proptest::collection::vec((0u8..5, any::<u8>()), 0..6),
            wide in any::<bool>(),
            x in any::<u8>(),
            y in any::<u8>(),
            d in any::<u8>(),
        ) {
            let w = if wide { 16 } else { 8 };
            let mut s = TermStore::new();
            let mut t = s.bytes(ArrayId(0), 0, w);
            let other = s.bytes(ArrayId(0), 2, w);
            for (op, c) in steps {
                let op = match op {
                    0 | 1 => BitsOp::Add,
                    2 => BitsOp::Xor,
                    _ => BitsOp::Mul,
                };
                let k = match c {
                    0..40 => other,
                    c => s.bits(w, c as u64 | (c as u64) << 9),
                };
                t = s.bits_op(op, t, k);
            }
            // Mostly an equation that holds.
            let mut inputs = Inputs::default();
            inputs.set(ArrayId(0), 0, 2, x as u64 * 259);
            inputs.set(ArrayId(0), 2, 2, y as u64 * 257);
            let value = evaluate(&s, &[t], &inputs, MODE);
            let Value::Bits(v) = value[0] else {
                return Err(TestCaseError::fail("bits"));
            };
            let d = match d {
                0..100 => s.bits(w, 0),
                100..220 => s.bits(w, v),
                d => s.bits(w, d as u64),
            };
            let p = s.icmp(ICmp::Eq, t, d);
            let found = evaluate(&s, &[p, d], &inputs, MODE);
            prop_assert_eq!(&found[0], &Value::Bool(found[1] == Value::Bits(v)));
        }
    }
}
