//! The second round: rounded constants read as what they stand for.
//!
//! The problem: 0.35355338 is not the root of 1/8, and a kernel that multiplies by it is not the one
//! that divides by the root. Read as the number that was meant, and with the functions that a
//! compiler has expanded put back by their names, both are the same. The readings come from what
//! the first round left open and hold for the whole pair: where one of them loses a proof that the
//! first round found, none of them counts.

use std::iter::repeat_n;

use rayon::prelude::*;

use super::canon::{Canon, SIGN_WORK};
use super::constants::Readings;
use super::elements::{Condition, Pairs};
use super::idioms::Idioms;
use super::judge::{Judge, prove_all};
use super::probable;
use super::prove::{Proof, Prover};
use super::ruling::Ruling;
use super::types::*;
use crate::special::{Survey, faces};
use crate::spec::Limits;
use crate::term::{TermId, TermStore};

/// Number of elements that makes it worth it to try some in advance.
const WORTH_PROBING: u64 = 64;

/// Work of a comparison in the second round of such a pair.
const NAMED_WORK: u64 = 1 << 22;

/// Terms in which expanded functions have their names, infinities are conditions, and rounded constants
/// are read as what they stand for.
struct Reread {
    store: TermStore,
    /// For each pair of roots the pairs that say the same.
    pairs: Vec<Pairs>,
    idioms: Idioms,
    readings: Readings,
    /// The terms were made without special values.
    of_reals: bool,
}

/// What a rereading may take for granted.
#[derive(Clone, Copy)]
struct How<'l> {
    /// Constants and functions stay what they are.
    exact: bool,
    limits: &'l Limits,
}

/// The pairs, with each its number of times, of terms that stand two by two.
fn in_pairs(terms: &[TermId], lengths: impl Iterator<Item = usize>) -> Vec<Pairs> {
    let (pairs, _) = terms.as_chunks::<2>();
    let mut pairs = pairs.iter().map(|&[a, b]| (a, b));
    lengths.map(|n| pairs.by_ref().take(n).collect()).collect()
}

impl Reread {
    /// Reads pairs of roots anew; the readings come from those that are `open`. `None` if there is nothing to read.
    fn of(
        store: &TermStore,
        roots: &[TermId],
        how: How<'_>,
        open: impl Fn(usize) -> bool,
    ) -> Option<Reread> {
        let exact = how.exact;
        let idioms = match exact {
            true => Idioms::default(),
            false => Idioms::of(store, roots),
        };
        let mut named = TermStore::new();
        let mut roots = idioms.apply(store, roots, &mut named);
        let mut lengths = vec![1; roots.len() / 2];
        let is_special = {
            let mut canon = Canon::bounded(&named, how.limits, Some(SIGN_WORK));
            let mut survey = Survey::default();
            let reads = |&t: &TermId| survey.reads(&named, t, &mut canon);
            roots.iter().any(reads)
        };
        if is_special {
            let mut lifted = TermStore::new();
            let mut canon = Canon::bounded(&named, how.limits, Some(SIGN_WORK));
            let found = faces::without(&named, &roots, &mut lifted, &mut canon);
            // What has no form is nothing that can be proved.
            let never = (lifted.bool(false), lifted.bool(true));
            let pairs = found.into_iter();
            let pairs: Vec<Pairs> = pairs
                .map(|p| p.unwrap_or_else(|| [never].into()))
                .collect();
            lengths = pairs.iter().map(|p| p.len()).collect();
            roots = pairs
                .into_iter()
                .flatten()
                .flat_map(|(a, b)| [a, b])
                .collect();
            named = lifted;
        }
        let readings = match exact {
            true => Readings::default(),
            false => {
                let asked = in_pairs(&roots, lengths.iter().copied())
                    .into_iter()
                    .enumerate();
                let asked = asked.filter(|&(k, _)| open(k)).flat_map(|(_, p)| p);
                let asked: Vec<TermId> = asked.flat_map(|(a, b)| [a, b]).collect();
                Readings::of(&named, &asked)
            }
        };
        if readings.is_empty() && idioms.is_empty() && !is_special {
            return None;
        }
        let mut store = TermStore::new();
        let roots = readings.apply(&named, &roots, &mut store);
        Some(Reread {
            store,
            pairs: in_pairs(&roots, lengths.into_iter()),
            idioms,
            readings,
            of_reals: is_special,
        })
    }
}

impl Reread {
    /// A prover of its pairs.
    fn prover(&self, limits: Limits, work: Option<u64>) -> Prover<'_> {
        match self.of_reals {
            true => Prover::of_reals(&self.store, limits, work),
            false => Prover::bounded(&self.store, limits, work),
        }
    }
}

impl Judge<'_> {
    /// Whether conditions that resist wait for the second round, by the first and the last of those that differ.
    ///
    /// A search costs more than a thousand proofs. Where all that the sample leaves open is proved
    /// once rounded constants are read as what they stand for, so is the rest, most likely, and
    /// nothing has to be searched. This orders the work only: what stays open is searched last.
    pub(super) fn is_patient(&self, conditions: &[Condition]) -> bool {
        let elements: u64 = conditions.iter().map(Condition::elements).sum();
        if self.options.exact_constants || elements < WORTH_PROBING {
            return false;
        }
        let differs = |c: &&Condition| c.only.is_none() && c.pairs.iter().any(|(a, b)| a != b);
        let mut differing = conditions.iter().filter(differs);
        let probes = differing.next().into_iter().chain(differing.next_back());
        let work = Some(self.work.unwrap_or(NAMED_WORK));
        let is_open = |c: &&Condition| {
            let mut prover = Prover::bounded(self.store, self.options.limits, work);
            prove_all(c, |a, b| prover.implied(a, b)).is_err()
        };
        let roots = probes.filter(is_open).flat_map(|c| &c.pairs);
        let roots: Vec<TermId> = roots.flat_map(|&(a, b)| [a, b]).collect();
        self.is_proved_anew(&roots)
    }

    /// Whether pairs of roots, if there are any, are proved once they are read anew.
    fn is_proved_anew(&self, roots: &[TermId]) -> bool {
        if roots.is_empty() || self.late() {
            return false;
        }
        let how = How {
            exact: false,
            limits: &self.options.limits,
        };
        let Some(reread) = Reread::of(self.store, roots, how, |_| true) else {
            return false;
        };
        let mut prover = reread.prover(self.options.limits, Some(NAMED_WORK));
        let mut pairs = reread.pairs.iter().flatten();
        pairs.all(|&(a, b)| matches!(prover.implied(a, b), Proof::Yes { .. }))
    }

    /// Tries again with rounded constants read as what they stand for.
    pub(super) fn second(
        &self,
        conditions: &[Condition],
        rulings: &mut [Ruling],
        decision: &mut Decision,
    ) {
        // Equal terms stay equal however their constants are read.
        let asked = conditions.iter().zip(rulings.iter()).enumerate();
        let asked = asked.filter(|(_, (c, r))| c.only.is_none() && !matches!(r, Ruling::Identical));
        let asked: Vec<(usize, &Condition)> = asked.map(|(i, (c, _))| (i, c)).collect();
        let pairs = asked.iter().flat_map(|(_, c)| &c.pairs);
        let all: Vec<TermId> = pairs.flat_map(|&(a, b)| [a, b]).collect();
        // Readings come from what is open; what is proved must stay so under them.
        let open = asked.iter();
        let open = open.flat_map(|(i, c)| repeat_n(rulings[*i].is_open(), c.pairs.len()));
        let open: Vec<bool> = open.collect();
        let how = How {
            exact: self.options.exact_constants,
            limits: &self.options.limits,
        };
        let Some(reread) = Reread::of(self.store, &all, how, |k| open[k]) else {
            return;
        };
        let store = &reread.store;
        let mut read = reread.pairs.iter();
        let anew = |(i, c): (usize, &Condition)| {
            let pairs = read.by_ref().take(c.pairs.len()).flatten().copied();
            let pairs = pairs.collect();
            let whole = None;
            (
                i,
                Condition {
                    pairs,
                    whole,
                    ..c.clone()
                },
            )
        };
        let again: Vec<(usize, Condition)> = asked.into_iter().map(anew).collect();
        // What has no name after all, or is not the function, is left to the search for witnesses.
        let judge = Judge {
            store,
            work: probable::first_work(self.work.map(|_| NAMED_WORK), self.options),
            ..*self
        };
        let all: Vec<&Condition> = again.iter().map(|(_, c)| c).collect();
        let size = judge.chunk_size(all.iter().copied());
        let results: Vec<Vec<(usize, Ruling)>> = again
            .par_chunks(size)
            .map(|chunk| {
                let mut prover = reread.prover(self.options.limits, judge.work);
                let rule = |(i, c): &(usize, Condition)| (*i, judge.prove(c, &mut prover));
                chunk.iter().map(rule).collect()
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
