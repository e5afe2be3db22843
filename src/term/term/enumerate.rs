//! Conditions that no input satisfies, by all values of what they choose by.
//!
//! Problem: ranks of a compaction (`popc(ballot(p) & below)`), places of a sort and offsets of sorted experts are integers made
//! of choices: two threads write to different places whatever is chosen, but no literal of their conditions says so. The
//! way: the integers and truths below the conditions that are made of nothing else here (elements of arrays of which facts
//! leave few values, comparisons of data) take each of their values, and the conditions are computed for all of them at once.
//!
//! Source: ROBDD-free model checking by truth tables; how this differs: small integers stand beside truths.
//!
//! Sound in the direction of `true`: values that facts forbid are left out, and all others are tried together, also those that
//! no input has together. Not claimed: that an input exists where the answer is `false`.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::{ArrayId, Term, TermId, TermStore, sext};

/// Values of one integer.
const VALUES: i128 = 16;
/// Values of all of them together.
const MOST: usize = 1 << 12;
/// Terms below the conditions.
const TERMS: usize = 1 << 11;

/// Values that are computed in the time in which one term is walked.
const WALK: u64 = 16;

/// Values that are kept for further questions.
const KEPT: usize = 1 << 22;

/// What a term is in each case.
type Row = Vec<u64>;

/// Cases that were looked at.
#[derive(Clone, Debug, Default)]
pub struct Cases {
    /// What is chosen by, with its values.
    leaves: Vec<(TermId, Row)>,
    /// What terms are in each case.
    rows: FxHashMap<TermId, Row>,
    /// Terms that were walked, and values that were computed or compared.
    pub work: u64,
}

impl Cases {
    fn count(&self) -> usize {
        self.leaves.iter().map(|l| l.1.len()).product()
    }

    /// Adds what is chosen by; all that was known is forgotten if something is new or there is too much of it.
    fn add(&mut self, new: Vec<(TermId, Row)>) {
        let known = |l: &(TermId, Row)| self.leaves.iter().any(|k| k.0 == l.0);
        if new.iter().all(known) && self.rows.len() * self.count() <= KEPT {
            return;
        }
        let own = std::mem::replace(&mut self.leaves, new);
        for l in own {
            let is_new = self.leaves.iter().all(|k| k.0 != l.0);
            if is_new && self.count() * l.1.len() <= MOST {
                self.leaves.push(l);
            }
        }
        self.rows.clear();
        let (count, mut each) = (self.count(), 1);
        self.work += (count * self.leaves.len()) as u64;
        for (t, values) in &self.leaves {
            let n = values.len();
            let row = (0..count).map(|i| values[i / each % n]);
            self.rows.insert(*t, row.collect());
            each *= n;
        }
    }
}

impl TermStore {
    /// True only if no input satisfies all of these conditions.
    pub fn never(&self, conds: &[TermId], cases: &mut Cases) -> bool {
        let all = self.down_to_choices(conds);
        cases.work += WALK * all.as_ref().map_or(TERMS, Vec::len) as u64;
        let Some(all) = all else {
            return false;
        };
        let made = self.made_of_choices(&all);
        let Some(leaves) = self.choices(conds, &made) else {
            return false;
        };
        cases.add(leaves);
        let count = cases.count();
        for &t in &all {
            if !cases.rows.contains_key(&t) && made.get(&t) == Some(&true) {
                cases.work += count as u64;
                // What leaves do not reach is below a leaf.
                if let Some(row) = self.row(t, &cases.rows, count) {
                    cases.rows.insert(t, row);
                }
            }
        }
        let Cases { leaves, rows, work } = cases;
        let known: Option<Vec<&Row>> = conds.iter().map(|c| rows.get(c)).collect();
        *work += count as u64;
        known.is_some_and(|k| {
            (0..count).all(|i| k.iter().any(|r| r[i] == 0) || !self.allowed(leaves, rows, i))
        })
    }

    /// The terms below conditions down to comparisons of what is no integer, in order; `None` if they are too many.
    fn down_to_choices(&self, conds: &[TermId]) -> Option<Vec<TermId>> {
        let mut seen: FxHashSet<TermId> = FxHashSet::default();
        let mut open = conds.to_vec();
        while let Some(t) = open.pop() {
            let stops = matches!(
                self.get(t),
                Term::RCmp(..) | Term::Is(..) | Term::Overflows(..)
            );
            if seen.insert(t) && !stops {
                self.children(t, |c| open.push(c));
            }
            if seen.len() > TERMS {
                return None;
            }
        }
        let mut all: Vec<TermId> = seen.into_iter().collect();
        all.sort_unstable();
        Some(all)
    }

    /// Which terms are made of choices; children stand before their parents.
    fn made_of_choices(&self, all: &[TermId]) -> FxHashMap<TermId, bool> {
        let mut made: FxHashMap<TermId, bool> = FxHashMap::default();
        for &t in all {
            let mut below = true;
            self.children(t, |c| below &= made.get(&c).copied().unwrap_or(false));
            let is = match self.get(t) {
                // A comparison of something else is a choice itself.
                Term::RCmp(..) | Term::Is(..) | Term::Overflows(..) | Term::ICmp(..) => true,
                Term::Bytes { .. } => self.few(t).is_some(),
                term => term.is_of_words() && below,
            };
            made.insert(t, is);
        }
        made
    }

    /// The values of an element of which facts leave few.
    fn few(&self, t: TermId) -> Option<Row> {
        let (lo, hi) = self.integer_range(t);
        let mask = u64::MAX >> (64 - self.width(t).clamp(1, 64));
        (hi - lo < VALUES).then(|| (lo..=hi).map(|v| v as u64 & mask).collect())
    }

    /// What is chosen by, with its values; `None` if they are too many together, or a condition is made of something else.
    fn choices(
        &self,
        conds: &[TermId],
        made: &FxHashMap<TermId, bool>,
    ) -> Option<Vec<(TermId, Row)>> {
        let is_made = |t: TermId| made.get(&t) == Some(&true);
        let mut out: Vec<(TermId, Row)> = Vec::new();
        let mut seen: FxHashSet<TermId> = FxHashSet::default();
        let (mut open, mut count) = (conds.to_vec(), 1usize);
        while let Some(t) = open.pop() {
            if !seen.insert(t) {
                continue;
            }
            if !is_made(t) {
                return None;
            }
            let values = match self.get(t) {
                Term::Bytes { .. } => self.few(t),
                Term::RCmp(..) | Term::Is(..) | Term::Overflows(..) => Some(vec![0, 1]),
                Term::ICmp(_, x, y) if !is_made(x) || !is_made(y) => Some(vec![0, 1]),
                _ => None,
            };
            match values {
                Some(values) => {
                    count = count.checked_mul(values.len()).filter(|&n| n <= MOST)?;
                    out.push((t, values));
                }
                None => self.children(t, |c| open.push(c)),
            }
        }
        out.sort_unstable_by_key(|l| l.0);
        Some(out)
    }

    /// What a term is in each case, of what its children are.
    fn row(&self, t: TermId, rows: &FxHashMap<TermId, Row>, count: usize) -> Option<Row> {
        let (mut of, mut all): (SmallVec<[&Row; 4]>, bool) = (SmallVec::new(), true);
        self.children(t, |c| match rows.get(&c) {
            Some(row) => of.push(row),
            None => all = false,
        });
        let one = |i: usize| self.fold_word(t, |k, _| Some(of[k][i]));
        all.then(|| (0..count).map(one).collect())?
    }

    /// Whether the facts about elements allow a case.
    fn allowed(&self, leaves: &[(TermId, Row)], rows: &FxHashMap<TermId, Row>, i: usize) -> bool {
        let mut of: Vec<(ArrayId, u64, i128)> = Vec::new();
        for (t, _) in leaves {
            if let Term::Bytes { array, off, width } = self.get(*t) {
                let bytes = u64::from(width / 8).max(1);
                let whole = self.facts.of(array).is_some_and(|e| e.width == width);
                if whole && !array.is_place() && off.is_multiple_of(bytes) {
                    of.push((array, off / bytes, sext(rows[t][i], width).into()));
                }
            }
        }
        of.sort_unstable();
        of.chunk_by(|a, b| a.0 == b.0).all(|group| {
            let values: Vec<(u64, i128)> = group.iter().map(|g| (g.1, g.2)).collect();
            self.facts.of(group[0].0).is_none_or(|e| e.allow(&values))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::eval::{Inputs, Mode, Value, evaluate};
    use crate::term::facts::Elements;
    use crate::term::{BitsOp, ICmp};

    const KEYS: ArrayId = ArrayId(0);

    /// Conditions about ranks among three integers: what is said never to hold does not, on any content, and two ranks that
    /// differ whatever the content is are told apart.
    #[test]
    fn ranks_exclude_each_other_on_all_contents() {
        let mut s = TermStore::new();
        let mut facts = crate::term::facts::Facts::default();
        let e = facts.about(Elements::new(KEYS, 8, Some(3)));
        (e.lo, e.hi) = (0, 2);
        s.facts = std::sync::Arc::new(facts);
        let keys: Vec<TermId> = (0..3).map(|i| s.bytes(KEYS, i, 8)).collect();
        let mut ranks = Vec::new();
        for (i, &mine) in keys.iter().enumerate() {
            let mut rank = s.bits(8, 0);
            for (j, &other) in keys.iter().enumerate().filter(|k| k.0 != i) {
                let below = s.icmp(if j < i { ICmp::ULe } else { ICmp::ULt }, other, mine);
                let one = s.of_bool(8, below);
                rank = s.bits_op(BitsOp::Add, rank, one);
            }
            ranks.push(rank);
        }
        let mut conds = Vec::new();
        for &r in &ranks {
            for v in 0..4 {
                let v = s.bits(8, v);
                conds.push(s.icmp(ICmp::Eq, r, v));
            }
        }
        let (mut said, mut missed) = (0, 0);
        let cases = &mut Cases::default();
        for &a in &conds {
            for &b in &conds {
                let never = s.never(&[a, b], cases);
                let happens = (0..27u64).any(|c| {
                    let mut inputs = Inputs::default();
                    (0..3).for_each(|i| inputs.set(KEYS, i, 1, c / 3u64.pow(i as u32) % 3));
                    let at = evaluate(&s, &[a, b], &inputs, Mode::exact(64));
                    at == [Value::Bool(true), Value::Bool(true)]
                });
                assert!(!(never && happens));
                said += usize::from(never);
                missed += usize::from(!never && !happens);
            }
        }
        assert!(said > 0 && missed == 0, "{said} said, {missed} missed");
    }
}
