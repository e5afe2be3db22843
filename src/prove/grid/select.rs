//! The CTAs of a grid that write given elements.
//!
//! The problem: what one CTA of a kernel writes may be the work of several CTAs of the other one,
//! at other places of its grid. Addresses do not depend on input data where a kernel can be run at
//! all, so a run shows which bytes a CTA writes; which CTAs to run is a guess that only costs time.
//! The guess: the first byte that a CTA writes is an affine function of its index, as it is for
//! tiles of any shape, whose steps are those from CTA 0 to its neighbours. When a guess fails, the
//! rest of the grid is tried in order.
//!
//! Sound: the answer is complete only when every byte was found in plain writes of a CTA, so that
//! another writer would race with it, or when all CTAs were run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::{Covered, Subject, cover};
use crate::sim::footprint::union;
use crate::sim::race::AccessKind;
use crate::sim::{Noting, Program};
use crate::spec::{Arrays, Origin, Role};
use crate::term::{ArrayId, TermStore};

use crate::term::left::cut;
use crate::work;

/// Most CTAs that are run in search of writers.
const MAX_TRIED: usize = 1 << 14;
/// CTAs that are run at once: the same on every machine, so that the same ones are chosen.
const AT_ONCE: usize = 8;

/// Bytes of arrays, as disjoint intervals in order.
pub type Elements = BTreeMap<ArrayId, Vec<(u64, u64)>>;

/// What is compared of the bytes that an outcome wrote.
pub fn elements(covered: &Covered, arrays: &Arrays) -> Elements {
    let mut out = covered.outcome.wrote();
    out.retain(|&array, _| {
        let a = &arrays[array];
        a.role != Some(Role::Scratch) && matches!(a.origin, Origin::Pointer | Origin::Global)
    });
    out
}

/// The bytes of either.
pub fn both(a: Elements, b: Elements) -> Elements {
    let mut out = a;
    for (array, list) in b {
        let there = out.entry(array).or_default();
        there.extend(list);
        *there = union(std::mem::take(there));
    }
    out
}

/// The bytes of `a` that are not in `b`.
pub fn without(a: &Elements, b: &Elements) -> Elements {
    let none = Vec::new();
    let mut out = Elements::new();
    for (&array, list) in a {
        let gone = b.get(&array).unwrap_or(&none);
        let mut rest = Vec::new();
        let mut i = 0;
        for &(start, end) in list {
            while i < gone.len() && gone[i].1 <= start {
                i += 1;
            }
            let (mut at, mut j) = (start, i);
            while j < gone.len() && gone[j].0 < end {
                if at < gone[j].0 {
                    rest.push((at, gone[j].0));
                }
                at = at.max(gone[j].1);
                j += 1;
            }
            if at < end {
                rest.push((at, end));
            }
        }
        if !rest.is_empty() {
            out.insert(array, rest);
        }
    }
    out
}

/// Drops what an outcome wrote outside of some elements.
pub fn restrict(covered: &mut Covered, elements: &Elements, arrays: &Arrays) {
    let outcome = &mut covered.outcome;
    let store: &mut TermStore = &mut outcome.store;
    for (array, writes) in &mut outcome.writes {
        let a = &arrays[*array];
        if a.role == Some(Role::Scratch) {
            continue;
        }
        let kept = elements.get(array).into_iter().flatten();
        let mut parts = Vec::new();
        for &(lo, hi) in kept {
            parts.extend(cut(store, writes, lo, hi));
        }
        *writes = parts.into_iter().collect();
    }
}

/// What one CTA writes.
struct Tried {
    rank: u64,
    writes: Elements,
    /// Some of it by other than plain writes, which other CTAs may add to.
    shared: bool,
}

struct Search<'a> {
    subject: &'a Subject<'a>,
    program: Arc<Program>,
    wanted: &'a Elements,
    missing: Elements,
    tried: FxHashSet<u64>,
    chosen: BTreeSet<u64>,
    shared: bool,
}

/// The CTAs that write `wanted`, and those of `given`; the flag says that no other CTA does.
pub fn covering<'a>(
    subject: &'a Subject<'a>,
    wanted: &'a Elements,
    given: Option<u64>,
) -> (Covered, bool) {
    let count = subject.resolved.launch.ctas();
    let mut search = Search {
        subject,
        program: subject.program(),
        wanted,
        missing: wanted.clone(),
        tried: FxHashSet::default(),
        chosen: given.into_iter().collect(),
        shared: false,
    };
    let complete = search.run(count, given);
    let mut ranks: Vec<u64> = search.chosen.into_iter().collect();
    if ranks.is_empty() {
        // A kernel that writes nothing of it is still run once.
        ranks.push(0);
    }
    (cover(subject, &ranks), complete)
}

impl Search<'_> {
    fn done(&self) -> bool {
        self.missing.is_empty() && !self.shared
    }

    fn try_all(&mut self, ranks: impl IntoIterator<Item = u64>) -> Vec<Tried> {
        let new: Vec<u64> = ranks
            .into_iter()
            .filter(|r| self.tried.insert(*r))
            .collect();
        let subject = self.subject;
        let limits = subject.limits(subject.deciding.limits.memory);
        let mut with_values = Noting {
            accesses: Some(FxHashSet::default()),
            ..Noting::default()
        };
        with_values.known.program = Some(self.program.clone());
        let mut noting = with_values.clone();
        noting.known.without_values = true;
        let tried: Vec<Tried> = work::side_by_side(new.par_iter(), |&rank| {
            let mut outcome = subject.run(rank, &limits, &noting);
            let mut accesses = outcome.footprint.accesses();
            // A write that only numbers exclude is none.
            if outcome.without_values && accesses.iter().any(|a| a.conditional) {
                outcome = subject.run(rank, &limits, &with_values);
                accesses = outcome.footprint.accesses();
            }
            let mut writes = Elements::new();
            let mut shared = false;
            for a in accesses {
                if a.kind.writes() {
                    shared |= a.kind != AccessKind::Write;
                    writes.entry(a.array).or_default().extend(a.bytes);
                }
            }
            for list in writes.values_mut() {
                *list = union(std::mem::take(list));
            }
            Tried {
                rank,
                writes,
                shared,
            }
        });
        for t in &tried {
            let rest = without(self.wanted, &t.writes);
            if rest != *self.wanted {
                self.chosen.insert(t.rank);
                self.missing = without(&self.missing, &t.writes);
                self.shared |= t.shared;
            }
        }
        tried
    }

    /// True if nothing that was not found is written by any CTA.
    fn run(&mut self, count: u64, given: Option<u64>) -> bool {
        let launch = &self.subject.resolved.launch;
        let [x, y, z] = launch.grid.map(u64::from);
        let steps = [(1, x), (x, y), (x.saturating_mul(y), z)];
        let near = steps.iter().filter(|s| s.1 > 1).map(|s| s.0);
        let first = self.try_all(std::iter::once(0).chain(near).chain(given));
        let start = |t: &Tried, a: ArrayId| t.writes.get(&a).and_then(|l| l.first()).map(|i| i.0);
        while !self.done() && !self.over(count) {
            let Some((&array, list)) = self.missing.first_key_value() else {
                break;
            };
            let Some(&(byte, _)) = list.first() else {
                break;
            };
            let at = |rank: u64| first.iter().find(|t| t.rank == rank);
            let Some((base, origin)) = at(0).and_then(|t| Some((start(t, array)?, t))) else {
                break;
            };
            let last = origin.writes[&array].last().map_or(base, |i| i.1);
            let span = (last - base) as i128;
            let mut slopes = [0i128; 3];
            for (slope, &(step, n)) in slopes.iter_mut().zip(&steps) {
                if n > 1
                    && let Some(s) = at(step).and_then(|t| start(t, array))
                {
                    *slope = s as i128 - base as i128;
                }
            }
            let guess = |rank: u64| {
                let [a, b, c] = launch.with_cta(rank).cta.map(i128::from);
                base as i128 + a * slopes[0] + b * slopes[1] + c * slopes[2]
            };
            let mut close: Vec<(i128, u64)> = (0..count.min(super::MAX_CTAS))
                .filter(|r| !self.tried.contains(r))
                .map(|r| (byte as i128 - guess(r), r))
                .filter(|(d, _)| (0..span.max(1)).contains(d))
                .collect();
            close.sort_unstable();
            let close: Vec<u64> = close.into_iter().take(AT_ONCE).map(|c| c.1).collect();
            let before = self.missing.clone();
            if close.is_empty() {
                break;
            }
            self.try_all(close);
            if self.missing == before {
                break;
            }
        }
        let mut next = 0;
        while !self.done() && next < count && !self.over(count) {
            let end = count.min(next + AT_ONCE as u64);
            self.try_all(next..end);
            next = end;
        }
        self.done() || self.tried.len() as u64 == count
    }

    fn over(&self, count: u64) -> bool {
        let tried = self.tried.len();
        tried as u64 == count || tried >= MAX_TRIED || self.subject.late()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(list: &[(u64, u64)]) -> Elements {
        [(ArrayId(0), list.to_vec())].into_iter().collect()
    }

    #[test]
    fn differences() {
        let a = of(&[(0, 8), (16, 32)]);
        assert_eq!(
            without(&a, &of(&[(4, 20), (24, 28)])),
            of(&[(0, 4), (20, 24), (28, 32)])
        );
        assert_eq!(without(&a, &of(&[(0, 40)])), Elements::new());
        assert_eq!(without(&a, &Elements::new()), a);
        assert_eq!(both(of(&[(0, 4)]), of(&[(4, 8)])), of(&[(0, 8)]));
    }
}
