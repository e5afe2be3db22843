//! Comparisons of integers that what holds of all inputs decides.
//!
//! Problem: `table[i]` against `i >= 0 ? table[i] : 0`: wherever the reference is defined, its read is inside of the table,
//! so that the guard says nothing. The way: each premise that compares a linear form of one integer with a number gives
//! that integer a range; a comparison whose sides have ranges that do not meet, or meet in one way only, is decided.
//!
//! Sound: a range is taken from a premise only where its bits are the integer that the form is, for every value that the
//! ranges so far leave, and a comparison is decided only where that is true of both of its sides.
//!
//! Not claimed: anything of several integers in one premise.

use rustc_hash::FxHashMap;

use super::conditions::{Span, meet};
use super::facts::compared;
use super::gather::Index;
use super::{Term, TermId, TermStore};

/// Ranges of integers as two's complement, beside what the shape of their terms says.
#[derive(Clone, Debug, Default)]
pub struct Ranges(FxHashMap<TermId, Span>);

impl Ranges {
    /// The range of an integer.
    pub fn of(&self, store: &TermStore, t: TermId) -> Span {
        let own = store.integer_range(t);
        self.0.get(&t).map_or(own, |r| meet(*r, own))
    }

    /// True if no value is left of some integer.
    pub fn is_empty(&self, store: &TermStore) -> bool {
        self.0.keys().any(|&t| {
            let (lo, hi) = self.of(store, t);
            hi < lo
        })
    }

    /// Adds the range of an integer.
    pub fn add(&mut self, t: TermId, range: Span) {
        let old = self.0.get(&t).map_or(range, |r| meet(*r, range));
        self.0.insert(t, old);
    }

    /// True if the bits of a form are the integer that it is.
    fn fits(&self, store: &TermStore, index: &Index) -> bool {
        index.fits.iter().all(|f| {
            let range = f.value.interval(|t| self.of(store, t));
            range.is_some_and(|(lo, hi)| f.lo <= lo && hi <= f.hi)
        })
    }
}

impl TermStore {
    /// The ranges that follow from conditions which all hold.
    pub fn ranges_of(&mut self, conds: &[TermId]) -> Ranges {
        let mut out = Ranges::default();
        for &c in conds {
            for c in self.conjuncts(Some(c)) {
                let Some((t, (least, most))) = self.bounded(c) else {
                    continue;
                };
                let Some(index) = self.linear(t).filter(|i| out.fits(self, i)) else {
                    continue;
                };
                // k * x + c lies in least..=most.
                let &[(x, k)] = &index.linear.terms[..] else {
                    continue;
                };
                let c = index.linear.constant;
                let (low, high) = (least - c, most - c);
                let (low, high) = match k > 0 {
                    true => (low, high),
                    false => (-high, -low),
                };
                let k = k.abs();
                out.add(x, (-(-low).div_euclid(k), high.div_euclid(k)));
            }
        }
        out
    }

    /// What a comparison of integers is for every input whose integers lie in some ranges.
    pub fn decided_in(&mut self, cond: TermId, ranges: &Ranges) -> Option<bool> {
        let Term::ICmp(op, a, b) = self.get(cond) else {
            return None;
        };
        let [x, y] = [a, b].map(|t| {
            let index = self.linear(t).filter(|i| ranges.fits(self, i));
            match index {
                Some(i) => i.linear.interval(|t| ranges.of(self, t)),
                None => Some(ranges.of(self, t)),
            }
        });
        compared(op, x?, y?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::eval::{Inputs, Mode, Value, evaluate};
    use crate::term::{ArrayId, BitsOp, ICmp};

    /// For every integer that the premises allow, a comparison that they decide is what was decided.
    #[test]
    fn what_premises_decide_is_so() {
        let ids = ArrayId(0);
        let ops = [ICmp::Eq, ICmp::SLt, ICmp::SLe, ICmp::ULt, ICmp::ULe];
        let mut decided = 0;
        for (scale, shift, last, is_signed) in [
            (4u64, 0u64, 12u64, true),
            (4, 8, 28, true),
            (12, 0, 40, true),
            (4, 0, 12, false),
            (u64::MAX, 3, 5, true),
            (8, 0u64.wrapping_sub(16), 64, true),
        ] {
            let mut s = TermStore::new();
            let i = s.bytes(ids, 0, 32);
            let wide = match is_signed {
                true => s.sign_extend(i, 64),
                false => s.zero_extend(i, 64),
            };
            let (k, c, last) = (s.bits(64, scale), s.bits(64, shift), s.bits(64, last));
            let product = s.bits_op(BitsOp::Mul, wide, k);
            let at = s.bits_op(BitsOp::Add, product, c);
            let premise = s.icmp(ICmp::ULe, at, last);
            let mut conds = Vec::new();
            for n in [-4i64, -2, -1, 0, 1, 2, 3, 4, 5, 10, 11, 0xffff] {
                let n32 = s.bits(32, n as u64 & 0xffff_ffff);
                let n64 = s.bits(64, n as u64);
                for op in ops {
                    conds.extend([
                        s.icmp(op, i, n32),
                        s.icmp(op, n32, i),
                        s.icmp(op, wide, n64),
                    ]);
                    conds.push(s.icmp(op, product, n64));
                }
            }
            let ranges = s.ranges_of(&[premise]);
            let said: Vec<Option<bool>> = conds.iter().map(|&c| s.decided_in(c, &ranges)).collect();
            for v in (-20i64..20).chain([i64::from(i32::MIN), i64::from(i32::MAX), 1 << 30]) {
                let mut inputs = Inputs::default();
                inputs.set(ids, 0, 4, v as u64 & 0xffff_ffff);
                let roots: Vec<TermId> =
                    [premise].into_iter().chain(conds.iter().copied()).collect();
                let at = evaluate(&s, &roots, &inputs, Mode::exact(64));
                if at[0] != Value::Bool(true) {
                    continue;
                }
                for (is, said) in at[1..].iter().zip(&said) {
                    if let Some(b) = said {
                        decided += 1;
                        assert_eq!(*is, Value::Bool(*b), "index {v}, times {scale}");
                    }
                }
            }
        }
        assert!(decided > 1_000, "{decided}");
    }
}
