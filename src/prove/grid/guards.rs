//! Accesses of different CTAs under conditions that data decide about.
//!
//! Problem: CTAs that write where data choose, or under guards, may touch the same bytes, and do so for some inputs only.
//! The way: of each element the conditions of all accesses that any CTA made to it are kept; two CTAs do not meet there if
//! every write of one excludes every access of the other ([`TermStore::excludes`]). Memory is then what the later CTA
//! wrote where its conditions hold, and what was there elsewhere.
//!
//! A pair that is not excluded is a race if an input is found on which both happen and, of two writes, the values differ.
//!
//! Sound: no access under a condition is left out ([`Outcome::guards`](crate::sim::Outcome)), and one without a condition
//! meets every other. Not claimed: that CTAs meet which are not told apart here.

use std::collections::BTreeMap;

use crate::sim::guarded::Guard;
use crate::term::enumerate::Cases;
use crate::term::{ArrayId, TermId, TermStore};

/// Bytes of the widest access.
const WIDEST: u64 = 256;
/// Pairs of conditions that are looked at.
const MOST: u64 = 1 << 20;

/// Terms times cases that are looked at.
const ENUMERATED: u64 = 1 << 24;

/// The conditions of accesses, by array and first byte.
#[derive(Debug, Default)]
pub(super) struct Guards {
    of: BTreeMap<(ArrayId, u64), Vec<Guard>>,
    pairs: u64,
    cases: Cases,
}

impl Guards {
    /// The conditions of one CTA; terms become what `m` says.
    pub(super) fn new(guards: Vec<Guard>, m: impl Fn(TermId) -> TermId) -> Guards {
        let mut out = Guards::default();
        for mut g in guards {
            g.cond = m(g.cond);
            out.of.entry((g.array, g.off)).or_default().push(g);
        }
        out
    }

    /// Adds those of another CTA.
    pub(super) fn extend(&mut self, other: Guards) {
        for (at, list) in other.of {
            let own = self.of.entry(at).or_default();
            for g in list {
                if !own.contains(&g) {
                    own.push(g);
                }
            }
        }
    }

    /// The accesses that touch `start..end`.
    fn touching(&self, array: ArrayId, start: u64, end: u64) -> impl Iterator<Item = &Guard> {
        let near = (array, start.saturating_sub(WIDEST))..(array, end);
        let all = self.of.range(near).flat_map(|(_, list)| list);
        all.filter(move |g| g.off + u64::from(g.bytes) > start)
    }

    /// The conditions under which `start..end` is written; `None` if some write is of a part of it.
    pub(super) fn writes(&self, array: ArrayId, start: u64, end: u64) -> Option<Vec<TermId>> {
        let all = self.touching(array, start, end).filter(|g| g.writes);
        all.map(|g| g.covers(start, end).then_some(g.cond))
            .collect()
    }

    /// Accesses of both that some input may make meet in `start..end`, of which one writes.
    pub(super) fn meet(
        &mut self,
        other: &Guards,
        store: &TermStore,
        array: ArrayId,
        (start, end): (u64, u64),
    ) -> Option<[Guard; 2]> {
        let mine: Vec<Guard> = self.touching(array, start, end).cloned().collect();
        for theirs in other.touching(array, start, end) {
            for g in mine.iter().filter(|g| g.writes || theirs.writes) {
                if !theirs.covers(g.off, g.off + 1) && !g.covers(theirs.off, theirs.off + 1) {
                    continue;
                }
                self.pairs += 1;
                let apart = self.pairs <= MOST
                    && (store.excludes(g.cond, theirs.cond)
                        || self.cases.work < ENUMERATED
                            && store.never(&[g.cond, theirs.cond], &mut self.cases));
                if !apart {
                    return Some([g.clone(), theirs.clone()]);
                }
            }
        }
        None
    }
}
