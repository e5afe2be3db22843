//! Comparisons of sums of integers of which facts say enough that nothing wraps.
//!
//! Problem: a row of a jagged array is left where `j >= end - start` or where `start + j >= end`: one condition, spelled as the
//! compiler likes. The way: what is added on either side is brought to the side on which it is positive.
//!
//! Sound: both sides are the integers that their bits are as two's complement, before and after, since the ranges of
//! what they are made of leave no room to wrap. Not claimed: anything about comparisons without signs.

use super::gather::Linear;
use super::{BitsOp, ICmp, Term, TermId, TermStore};

impl TermStore {
    /// A signed comparison with each summand on the side where it is positive; `None` if it is so already, or integers
    /// may wrap.
    pub(super) fn compared_sums(
        &mut self,
        op: ICmp,
        w: u8,
        a: TermId,
        b: TermId,
    ) -> Option<TermId> {
        let is_sum = |t: TermId| {
            let sum = matches!(
                self.get(t),
                Term::BitsSum(_) | Term::BitsOp(BitsOp::Add, ..)
            );
            sum || self.as_bits(t).is_none() && self.extended(t).is_some()
        };
        let signed = matches!(op, ICmp::SLt | ICmp::SLe);
        if !signed || self.facts.is_empty() || !is_sum(a) && !is_sum(b) {
            return None;
        }
        let [a_form, b_form] = [a, b].map(|t| self.linear(t));
        let (a_form, b_form) = (a_form?, b_form?);
        if !a_form.fits.is_empty() || !b_form.fits.is_empty() {
            return None;
        }
        let apart = b_form.linear.checked_plus(&-1, &a_form.linear)?;
        let side = |sign: i128| {
            let mut out = Linear::number((apart.constant * sign).max(0));
            let mine = apart.terms.iter().filter(|t| t.1.signum() == sign);
            out.terms = mine.map(|&(t, k)| (t, k * sign)).collect();
            out
        };
        let (left, right) = (self.sum_of(w, &side(-1))?, self.sum_of(w, &side(1))?);
        ((left, right) != (a, b)).then(|| self.compare_node(op, w, left, right))
    }

    /// A sum of integers as bits of a width; `None` if it may wrap.
    fn sum_of(&mut self, w: u8, sum: &Linear) -> Option<TermId> {
        let (lo, hi) = sum.interval(|t| self.integer_range(t))?;
        let half = 1i128 << (w - 1);
        if lo < -half || half <= hi || sum.terms.iter().any(|t| self.width(t.0) > w) {
            return None;
        }
        let mut out = self.bits(w, sum.constant as u64);
        for &(t, k) in &sum.terms {
            let (wide, by) = (self.sign_extend(t, w), self.bits(w, k as u64));
            let product = self.bits_op(BitsOp::Mul, wide, by);
            out = self.bits_op(BitsOp::Add, out, product);
        }
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::ArrayId;
    use crate::term::eval::{Inputs, Mode, Value, evaluate};
    use crate::term::facts::{Elements, Facts};

    /// Spellings of one comparison of two bounds and a number are one term, and say what they do on every content.
    #[test]
    fn a_comparison_has_one_spelling() {
        let ends = ArrayId(0);
        let s = &mut TermStore::new();
        let mut facts = Facts::default();
        let e = facts.about(Elements::new(ends, 32, Some(2)));
        (e.lo, e.hi) = (0, 6);
        s.facts = std::sync::Arc::new(facts);
        let [start, end] = [0, 4].map(|at| s.bytes(ends, at, 32));
        let minus = s.bits(32, u32::MAX.into());
        let negated = s.bits_op(BitsOp::Mul, start, minus);
        let count = s.bits_op(BitsOp::Add, end, negated);
        for j in [-1i64, 0, 1, 3] {
            let n = s.bits(32, j as u64 & 0xffff_ffff);
            let place = s.bits_op(BitsOp::Add, start, n);
            for op in [ICmp::SLt, ICmp::SLe] {
                let (short, long) = (s.icmp(op, n, count), s.icmp(op, place, end));
                assert_eq!(short, long, "{op:?} {j}");
                for c in 0..49u64 {
                    let mut inputs = Inputs::default();
                    inputs.set(ends, 0, 4, c % 7);
                    inputs.set(ends, 4, 4, c / 7);
                    let (a, b) = (j + (c % 7) as i64, (c / 7) as i64);
                    let says = if op == ICmp::SLt { a < b } else { a <= b };
                    let found = evaluate(s, &[short], &inputs, Mode::exact(64));
                    assert_eq!(found, [Value::Bool(says)]);
                }
            }
        }
    }
}
