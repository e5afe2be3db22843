//! Bounds of whole numbers, by propagation.
//!
//! Problem: that a product of sizes stays in its word mostly follows from the bounds of its factors, which elimination is
//! slow to combine. Each fact is a sum that is at least 0; what its other terms are at most bounds each term, an atom or a
//! product (`cta*ntid`, below a size), and the bounds of two halves of a product bound it. A few sweeps over all facts are made, no fixed point is asked
//! for. Sound in one direction: what lies in the bounds is not claimed to be reached. Where facts exclude each other a
//! bound may be empty, and then everything holds that is asked of them.

use rustc_hash::FxHashMap;

use super::limits::{MAX_DEGREE, MAX_SWEEPS};
use super::linear::{Atom, Monomial, Poly};

/// A lowest and a highest number.
type Range = (i128, i128);

/// What is known of atoms, as far as some number of facts.
#[derive(Default)]
pub(super) struct Bounds {
    of: FxHashMap<Monomial, Range>,
    facts: usize,
}

/// The product of two ranges; `None` beyond what can be counted.
fn times(a: Range, b: Range) -> Option<Range> {
    let ends = [
        a.0.checked_mul(b.0)?,
        a.0.checked_mul(b.1)?,
        a.1.checked_mul(b.0)?,
        a.1.checked_mul(b.1)?,
    ];
    Some((*ends.iter().min()?, *ends.iter().max()?))
}

impl Bounds {
    /// Takes in facts that were added.
    pub(super) fn learn(&mut self, facts: &[Poly], most: &dyn Fn(&[Atom]) -> Option<i128>) {
        if self.facts == facts.len() {
            return;
        }
        self.facts = facts.len();
        for _ in 0..MAX_SWEEPS {
            let mut tighter = false;
            for f in facts {
                tighter |= self.tighten(f, most);
            }
            if !tighter {
                return;
            }
        }
    }

    /// The lowest number that a sum can be, if that is known.
    pub(super) fn lowest(&self, p: &Poly, most: &dyn Fn(&[Atom]) -> Option<i128>) -> Option<i128> {
        let terms = p.terms.iter();
        let mut all = terms.map(|(m, c)| Some(self.scaled(m, *c, most)?.0));
        all.try_fold(0i128, |sum, low| sum.checked_add(low?))
    }

    fn scaled(&self, m: &[Atom], c: i128, most: &dyn Fn(&[Atom]) -> Option<i128>) -> Option<Range> {
        let (low, high) = self.product(m, most)?;
        let ends = (low.checked_mul(c)?, high.checked_mul(c)?);
        Some((ends.0.min(ends.1), ends.0.max(ends.1)))
    }

    /// What a product can be: for each part of it, the least of what is known of it and of what each way to split it gives.
    fn product(&self, m: &[Atom], most: &dyn Fn(&[Atom]) -> Option<i128>) -> Option<Range> {
        if m.len() > 2 * MAX_DEGREE {
            return None;
        }
        let mut parts: Vec<Option<Range>> = vec![Some((1, 1))];
        for part in 1..1usize << m.len() {
            let own = m.iter().enumerate().filter(|(i, _)| part >> i & 1 == 1);
            let own: Monomial = own.map(|(_, a)| *a).collect();
            let mut best = self.of.get(&own).copied();
            // The lowest atom is on one side, so that each split is looked at once.
            let lowest = part & part.wrapping_neg();
            let mut side = (part - 1) & part;
            while side > 0 {
                if side & lowest != 0
                    && let (Some(x), Some(y)) = (parts[side], parts[part & !side])
                    && let Some(r) = times(x, y)
                {
                    best = Some(best.map_or(r, |b| (b.0.max(r.0), b.1.min(r.1))));
                }
                side = (side - 1) & part;
            }
            parts.push(best.map(|(low, high)| (low, most(&own).map_or(high, |n| high.min(n)))));
        }
        parts.pop()?
    }

    /// Whether a fact bounds one of its terms further.
    fn tighten(&mut self, f: &Poly, most: &dyn Fn(&[Atom]) -> Option<i128>) -> bool {
        let highs: Vec<(&Monomial, i128, Option<i128>)> = f
            .terms
            .iter()
            .map(|(m, c)| (m, *c, self.scaled(m, *c, most).map(|r| r.1)))
            .collect();
        let unknown = highs.iter().filter(|h| h.2.is_none()).count();
        let known = highs.iter().filter_map(|h| h.2);
        let Some(sum) = known.map(Some).try_fold(0i128, |s, h| s.checked_add(h?)) else {
            return false;
        };
        let mut tighter = false;
        for (m, c, high) in highs {
            if m.is_empty() {
                continue;
            }
            // The other terms are at most this.
            let rest = match (high, unknown) {
                (Some(h), 0) => sum.checked_sub(h),
                (None, 1) => Some(sum),
                _ => None,
            };
            let Some(rest) = rest else { continue };
            let range = self
                .of
                .entry(m.clone())
                .or_insert((i128::MIN >> 1, i128::MAX >> 1));
            match c > 0 {
                true => {
                    let low = -rest.div_euclid(c);
                    tighter |= low > range.0;
                    range.0 = range.0.max(low);
                }
                false => {
                    let high = rest.div_euclid(-c);
                    tighter |= high < range.1;
                    range.1 = range.1.min(high);
                }
            }
        }
        tighter
    }
}
