//! The second round: rounded constants read as what they stand for.
//!
//! The problem: 0.35355338 is not the root of 1/8, and a kernel that multiplies by it is not the one
//! that divides by the root. Read as the number that was meant, and with the functions that a
//! compiler has expanded put back by their names, both are the same. The readings come from what
//! the first round left open and hold for the whole pair: where one of them loses a proof that the
//! first round found, none of them counts.

use rayon::prelude::*;

use super::constants::Readings;
use super::elements::{Condition, Pairs};
use super::idioms::Idioms;
use super::judge::{Judge, prove_all};
use super::probable;
use super::prove::{Proof, Prover};
use super::renaming::Reuse;
use super::ruling::Ruling;
use super::types::*;
use crate::term::{TermId, TermStore};

/// Conditions that are tried in advance, and the number of conditions that makes this worth it.
const PROBES: usize = 2;
const WORTH_PROBING: usize = 64;

/// Work of a comparison in the second round of such a pair.
const NAMED_WORK: u64 = 1 << 22;

/// Terms in which expanded functions have their names and rounded constants are read as what they
/// stand for.
struct Reread {
    store: TermStore,
    roots: Vec<TermId>,
    idioms: Idioms,
    readings: Readings,
}

impl Reread {
    /// Reads the roots anew; the readings come from those that are `open`. `None` if there is
    /// nothing to read.
    fn of(store: &TermStore, roots: &[TermId], open: impl Fn(usize) -> bool) -> Option<Reread> {
        let idioms = Idioms::of(store, roots);
        let mut named = TermStore::new();
        let roots = idioms.apply(store, roots, &mut named);
        let asked = roots.iter().enumerate().filter(|&(k, _)| open(k));
        let asked: Vec<TermId> = asked.map(|(_, &t)| t).collect();
        let readings = Readings::of(&named, &asked);
        if readings.is_empty() && idioms.is_empty() {
            return None;
        }
        let mut store = TermStore::new();
        let roots = readings.apply(&named, &roots, &mut store);
        Some(Reread {
            store,
            roots,
            idioms,
            readings,
        })
    }
}

impl Judge<'_> {
    /// Whether a sample of conditions says that those which resist wait for the second round.
    ///
    /// A search costs more than a thousand proofs. Where all that the sample leaves open is proved
    /// once rounded constants are read as what they stand for, so is the rest, most likely, and
    /// nothing has to be searched. This orders the work only: what stays open is searched last.
    pub(super) fn patient(&self, conditions: &[Condition], reuse: &Reuse<'_, '_>) -> bool {
        if self.options.exact_constants || conditions.len() < WORTH_PROBING {
            return false;
        }
        let mut open = reuse.unproved().unwrap_or_else(|| self.probe(conditions));
        open.truncate(PROBES);
        let pairs = open.iter().flat_map(|c| &c.pairs);
        let roots: Vec<TermId> = pairs.flat_map(|&(a, b)| [a, b]).collect();
        if roots.is_empty() || self.late() {
            return false;
        }
        let Some(reread) = Reread::of(self.store, &roots, |_| true) else {
            return false;
        };
        let mut prover = Prover::bounded(&reread.store, self.options.limits, Some(NAMED_WORK));
        let mut pairs = reread.roots.chunks_exact(2);
        pairs.all(|p| matches!(prover.implied(p[0], p[1]), Proof::Yes { .. }))
    }

    /// What a sample of conditions leaves open.
    fn probe<'c>(&self, conditions: &'c [Condition]) -> Vec<&'c Condition> {
        let differs = |c: &&Condition| c.only.is_none() && c.pairs.iter().any(|(a, b)| a != b);
        let forward = conditions.iter().filter(differs).take(1);
        let backward = conditions.iter().rev().filter(differs).take(PROBES - 1);
        let work = Some(self.work.unwrap_or(NAMED_WORK));
        let probes: Vec<&Condition> = forward.chain(backward).collect();
        let open = probes.into_par_iter().filter(|c| {
            let mut prover = Prover::bounded(self.store, self.options.limits, work);
            prove_all(c, |a, b| prover.implied(a, b)).is_err()
        });
        open.collect()
    }

    /// Tries again with rounded constants read as what they stand for.
    pub(super) fn second(
        &self,
        conditions: &[Condition],
        rulings: &mut [Ruling],
        decision: &mut Decision,
    ) {
        let roots = |keep: fn(&Ruling) -> bool| -> Vec<TermId> {
            let kept = conditions.iter().zip(rulings.iter());
            let kept = kept.filter(|(c, r)| c.only.is_none() && keep(r));
            kept.flat_map(|(c, _)| &c.pairs)
                .flat_map(|&(a, b)| [a, b])
                .collect()
        };
        // Equal terms stay equal however their constants are read.
        let differing: fn(&Ruling) -> bool = |r| !matches!(r, Ruling::Identical);
        let all = roots(differing);
        // Readings come from what is open; what is proved must stay so under them.
        let mut open = Vec::with_capacity(all.len());
        for (c, r) in conditions.iter().zip(rulings.iter()) {
            if c.only.is_none() && differing(r) {
                open.extend(std::iter::repeat_n(r.is_open(), 2 * c.pairs.len()));
            }
        }
        let Some(reread) = Reread::of(self.store, &all, |k| open[k]) else {
            return;
        };
        let (store, read) = (&reread.store, &reread.roots);
        let mut at = 0;
        let mut again: Vec<(usize, Condition)> = Vec::new();
        for (i, (c, r)) in conditions.iter().zip(rulings.iter()).enumerate() {
            if c.only.is_some() || !differing(r) {
                continue;
            }
            let pairs: Pairs = (0..c.pairs.len())
                .map(|k| (read[at + 2 * k], read[at + 2 * k + 1]))
                .collect();
            at += 2 * pairs.len();
            again.push((i, Condition { pairs, ..c.clone() }));
        }
        // What has no name after all, or is not the function, is left to the search for witnesses.
        let judge = Judge {
            store,
            work: probable::first_work(self.work.map(|_| NAMED_WORK), self.options),
            ..*self
        };
        let all: Vec<&Condition> = again.iter().map(|(_, c)| c).collect();
        let reuse = judge.reuse(&all);
        let size = judge.chunk_size(all.iter().copied());
        let results: Vec<Vec<(usize, Ruling)>> = again
            .par_chunks(size)
            .enumerate()
            .map(|(n, chunk)| {
                let mut prover = Prover::bounded(store, self.options.limits, judge.work);
                let mut known = reuse.known();
                let rule = |(k, (i, c)): (usize, &(usize, Condition))| {
                    let k = n * size + k;
                    let ruling = match known.proof(k) {
                        Some(found) => found.into(),
                        None => judge.prove(c, &mut prover),
                    };
                    ruling.remember(k, &mut known);
                    (*i, ruling)
                };
                chunk.iter().enumerate().map(rule).collect()
            })
            .collect();
        let (places, mut results): (Vec<usize>, Vec<Ruling>) =
            results.into_iter().flatten().unzip();
        let mut chance = decision.chance;
        let again: Vec<Condition> = again.into_iter().map(|(_, c)| c).collect();
        probable::settle(&judge, &again, &mut results, &mut chance);
        let results: Vec<(usize, Ruling)> = places.into_iter().zip(results).collect();
        let lost = results
            .iter()
            .any(|(i, r)| r.is_open() && !rulings[*i].is_open());
        let won = results
            .iter()
            .any(|(i, r)| !r.is_open() && rulings[*i].is_open());
        if lost || !won {
            return;
        }
        // What stays open keeps its failure in the store that everybody knows.
        for (i, r) in results.into_iter().filter(|(_, r)| !r.is_open()) {
            rulings[i] = r;
        }
        decision.chance = chance;
        decision.assumptions.extend(reread.idioms.assumptions());
        decision.assumptions.extend(reread.readings.assumptions());
    }
}
