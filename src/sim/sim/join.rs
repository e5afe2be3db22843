//! What several runs of one launch come to.
//!
//! The problem: a CTA is run again for another order of its atomics, another division of its lanes, another residue of an
//! address, another way at a branch. Whatever one of these runs finds is true of the kernel, so that the answer has all of
//! it. What is joined alike is joined here, once, field by field; what the runs leave in memory is compared by those that
//! asked for them, or chosen by the way that an input goes ([`ways`](super::ways)).
//!
//! Sound: [`Outcome`] is taken apart without a rest, so that a new field does not compile before it has its rule.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::answer::Assumption;
use crate::term::left::{self, Opaque, piece_bytes, read};
use crate::term::{ArrayId, Serials, TermId};

use super::gather::Gathers;
use super::guarded::Guard;
use super::{Conditional, Obligation, Outcome, Writes, merge_finding};

/// What of another run has no rule that is the same for all: what it left, in the terms of the whole.
#[derive(Debug, Default)]
pub struct Memories {
    /// The written pieces of each array.
    pub writes: BTreeMap<ArrayId, Writes>,
    /// What the terms of the run became.
    pub terms: Vec<TermId>,
}

impl Memories {
    /// What a run left, whose terms became others.
    pub fn new(writes: &BTreeMap<ArrayId, Writes>, terms: Vec<TermId>) -> Memories {
        let moved = |w: &Writes| -> Writes {
            w.iter()
                .map(|(&off, t)| (off, terms[t.0 as usize]))
                .collect()
        };
        Memories {
            writes: writes.iter().map(|(&a, w)| (a, moved(w))).collect(),
            terms,
        }
    }
}

/// Whether fresh symbols of two runs with one number are one symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symbols {
    /// They are: the runs are told apart by what depends on the schedule, which has a finding of its own.
    Shared,
    /// They are not.
    Apart,
}

impl Outcome {
    /// Takes in all that another run of the same launch found, and gives what it left.
    pub fn join(&mut self, other: Outcome, symbols: Symbols) -> Memories {
        let Outcome {
            store,
            writes,
            defects,
            warnings,
            unknowns,
            by_schedule,
            obligations,
            conditionals,
            gathers,
            assumptions,
            stats,
            executed,
            taken,
            footprint,
            waits_late,
            reads_foreign,
            opaque,
            guards,
            fresh,
            first_fresh,
            narrow,
            beyond,
            tracked,
            without_values,
            // Runs on numbers are one execution each, which the whole shows.
            memory: _,
            // The choices that a run made are those of its own order.
            steps: _,
            // The order of execution is asked for of one run.
            trace: _,
        } = other;
        let serials = match symbols {
            Symbols::Shared => Serials::default(),
            Symbols::Apart => Serials {
                from: first_fresh,
                by: self.fresh,
            },
        };
        let terms = self.store.import_shifted(&store, serials);
        let at = |t: TermId| terms[t.0 as usize];
        self.fresh = match symbols {
            Symbols::Shared => self.fresh.max(fresh),
            Symbols::Apart => self.fresh.wrapping_add(fresh),
        };
        merge_all(&mut self.defects, defects);
        merge_all(&mut self.warnings, warnings);
        merge_all(&mut self.unknowns, unknowns);
        merge_all(&mut self.by_schedule, by_schedule);
        let moved = obligations.into_iter().map(|o| Obligation {
            equal: (at(o.equal.0), at(o.equal.1)),
            ..o
        });
        unite(&mut self.obligations, moved, |o| o.equal);
        let moved = conditionals.into_iter().map(|c| Conditional {
            cond: at(c.cond),
            values: c.values.into_iter().map(at).collect(),
            ..c
        });
        unite(&mut self.conditionals, moved, |c| c.cond);
        let mut all = Gathers::default();
        for g in std::mem::take(&mut self.gathers) {
            all.note(g);
        }
        for g in gathers {
            all.note(g.moved(at, None));
        }
        self.gathers = all.into_list();
        Assumption::unite(&mut self.assumptions, assumptions);
        self.stats.add(&stats);
        add_counts(&mut self.executed, &executed);
        self.taken.add(&taken);
        self.footprint.join(footprint);
        self.waits_late |= waits_late;
        self.reads_foreign |= reads_foreign;
        let moved = opaque.into_iter().map(|o| Opaque {
            words: o.words.into_iter().map(at).collect(),
            ..o
        });
        self.opaque.extend(moved);
        self.guards = self.guards.take().zip(guards).map(|(all, more)| {
            let moved = |g: Guard| Guard {
                cond: at(g.cond),
                ..g
            };
            with_guards(all, more.into_iter().map(moved))
        });
        self.narrow.small |= narrow.small;
        self.narrow.terms.extend(narrow.terms.into_iter().map(at));
        self.beyond |= beyond;
        self.tracked.extend(tracked);
        self.without_values |= without_values;
        Memories::new(&writes, terms)
    }

    /// The elements that another run leaves otherwise, with what both leave; `None` where one alone writes it. These are
    /// the terms of elements: whether they are equal is another question.
    pub fn differing<'m>(
        &'m self,
        other: &'m Memories,
        is_asked: impl Fn(ArrayId) -> bool + 'm,
    ) -> impl Iterator<Item = (ArrayId, u64, Option<(TermId, TermId)>)> + 'm {
        let both = [&self.writes, &other.writes];
        let elements = |all: &'m BTreeMap<ArrayId, Writes>| {
            all.iter()
                .flat_map(|(&a, w)| w.keys().map(move |&off| (a, off)))
        };
        let all: BTreeSet<(ArrayId, u64)> = both.into_iter().flat_map(elements).collect();
        let asked = all.into_iter().filter(move |(a, _)| is_asked(*a));
        asked.filter_map(move |(a, off)| {
            match both.map(|all| all.get(&a).and_then(|w| w.get(&off)).copied()) {
                [Some(x), Some(y)] if x == y => None,
                [x, y] => Some((a, off, x.zip(y))),
            }
        })
    }

    /// Lets memory be what another run left where a condition holds, under which that run was made.
    pub(super) fn leave_under(&mut self, cond: TermId, theirs: Memories) {
        for (array, pieces) in theirs.writes {
            let ours = self.writes.remove(&array).unwrap_or_default();
            let joined = self.chosen(cond, pieces, ours);
            self.writes.insert(array, joined);
        }
    }

    /// The pieces of an array that two runs left, one of them under a condition. A run that did not write an element
    /// does not go where the other one writes it, which what the other one left says by the condition of its store.
    fn chosen(&mut self, cond: TermId, theirs: Writes, ours: Writes) -> Writes {
        let store = &mut self.store;
        let not = store.not(cond);
        let mut ends: Vec<u64> = Vec::with_capacity(2 * (theirs.len() + ours.len()));
        for (&off, &t) in theirs.iter().chain(&ours) {
            ends.extend([off, off + piece_bytes(store, t)]);
        }
        ends.sort_unstable();
        ends.dedup();
        let mut out = Writes::new();
        for part in ends.windows(2) {
            let (lo, hi) = (part[0], part[1]);
            let both = [read(store, &theirs, lo, hi), read(store, &ours, lo, hi)];
            match both {
                [Some(y), Some(x)] if x != y => {
                    let (y, x) = (store.taken_under(cond, y), store.taken_under(not, x));
                    let z = store.select(cond, y, x);
                    left::write(store, &mut out, lo, z);
                }
                [Some(one), _] | [None, Some(one)] => left::write(store, &mut out, lo, one),
                [None, None] => {}
            }
        }
        out
    }
}

fn merge_all<K: PartialEq>(list: &mut Vec<super::Finding<K>>, found: Vec<super::Finding<K>>) {
    found.into_iter().for_each(|f| merge_finding(list, f));
}

/// Adds what is not there yet; only what has one key can be the same.
fn unite<T: PartialEq, K: Hash + Eq>(
    all: &mut Vec<T>,
    more: impl Iterator<Item = T>,
    key: impl Fn(&T) -> K,
) {
    let mut known: FxHashMap<K, Vec<usize>> = FxHashMap::default();
    for (i, t) in all.iter().enumerate() {
        known.entry(key(t)).or_default().push(i);
    }
    for t in more {
        let same = known.entry(key(&t)).or_default();
        if !same.iter().any(|&i| all[i] == t) {
            same.push(all.len());
            all.push(t);
        }
    }
}

/// The guards of two runs, each once.
fn with_guards(mut all: Vec<Guard>, more: impl Iterator<Item = Guard>) -> Vec<Guard> {
    // There may be one for each thread and element.
    let mut known: FxHashSet<Guard> = all.iter().cloned().collect();
    all.extend(more.filter(|g| known.insert(g.clone())));
    all
}

/// Adds how often instructions were executed.
pub fn add_counts(all: &mut Vec<u64>, more: &[u64]) {
    all.resize(all.len().max(more.len()), 0);
    for (all, more) in all.iter_mut().zip(more) {
        *all += more;
    }
}

#[cfg(test)]
mod tests;
