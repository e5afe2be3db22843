//! One round of tactics over elements, in parallel and in order.
//!
//! Elements are decided in chunks whose size depends on nothing but their number and their terms, so
//! that the result is the same for any number of threads. Each chunk has a scratch of its own, in
//! which what its elements share is normalised once; so there are few chunks, and little work is one.

use rayon::prelude::*;

use crate::{progress, work};

use super::asked::Pair;
use super::goal::Condition;
use super::limits::ROUNDS;
use super::prove::{Proof, Prover};
use super::ruling::{Ruling, Why};
use super::tactic::Tactic;
use super::{names, tactics};

impl Pair<'_> {
    pub(crate) fn late(&self) -> bool {
        self.options.limits.reached().is_some()
    }

    /// The ruling of what comes too late.
    pub(crate) fn out_of_time(&self) -> Ruling {
        let what = self.options.limits.reached();
        Ruling::Open(Why::Limit(what.unwrap_or("the time limit was reached")))
    }

    fn prover(&self) -> Prover<'_> {
        let limits = self.options.limits;
        match self.of_reals {
            true => Prover::of_reals(self.store, limits, self.work),
            false => Prover::bounded(self.store, limits, self.work),
        }
    }

    /// Number of elements of a chunk.
    pub(crate) fn chunk_size<'c>(
        &self,
        conditions: impl ExactSizeIterator<Item = &'c Condition>,
    ) -> usize {
        let count = conditions.len();
        let pairs = conditions.flat_map(|c| &c.pairs);
        let open = pairs.filter(|(a, b)| a != b).flat_map(|&(a, b)| [a, b]);
        let work = self.store.cone_size(open) + count;
        let chunks = (work / ROUNDS.chunk_work).clamp(1, ROUNDS.chunks);
        count.div_ceil(chunks).clamp(1, ROUNDS.chunk)
    }

    /// Tries tactics that need no search on every element; where sums are named, the first list alone, and on nothing
    /// that has no names.
    pub(crate) fn round(&self, conditions: &[Condition], lists: &[&[&dyn Tactic]]) -> Vec<Ruling> {
        let Some(bounds) = self.names else {
            return self.round_of(conditions, lists);
        };
        let rulings = match names::named(self, conditions, bounds) {
            Some((store, named)) => {
                let store = &store;
                Pair { store, ..*self }.round_of(&named, &lists[..1])
            }
            None => Vec::new(),
        };
        // What stays open is open in the store that everybody knows.
        let open = |c: &Condition| match (c.only, c.pairs.iter().find(|(a, b)| a != b)) {
            (Some(only), _) => Ruling::Open(Why::OneSided(only)),
            (None, Some(&(a, b))) => Ruling::Deferred((Proof::Differs, a, b)),
            (None, None) => self.rule(c, &lists[..1], &mut self.prover()),
        };
        let mut rulings = rulings.into_iter();
        let each = conditions.iter().map(|c| match rulings.next() {
            Some(r @ Ruling::Proved(_)) => r,
            _ => open(c),
        });
        each.collect()
    }

    fn round_of(&self, conditions: &[Condition], lists: &[&[&dyn Tactic]]) -> Vec<Ruling> {
        let size = self.chunk_size(conditions.iter());
        let chunk = |chunk: &[Condition]| -> Vec<Ruling> {
            let mut prover = self.prover();
            let rulings = chunk.iter().map(|c| self.rule(c, lists, &mut prover));
            let rulings = rulings.collect();
            progress::add(chunk.iter().map(Condition::elements).sum());
            rulings
        };
        let rulings = work::side_by_side(conditions.par_chunks(size), chunk);
        rulings.into_iter().flatten().collect()
    }

    /// Tries lists of tactics on one element, the next one where the one before finds no difference.
    pub(crate) fn rule(
        &self,
        c: &Condition,
        lists: &[&[&dyn Tactic]],
        prover: &mut Prover<'_>,
    ) -> Ruling {
        if let Some(only) = c.only {
            return Ruling::Open(Why::OneSided(only));
        }
        let mut first = None;
        for list in lists {
            if self.late() && c.pairs.iter().any(|(a, b)| a != b) {
                return self.out_of_time();
            }
            match tactics::all(prover, list, &c.pairs) {
                Ok(proved) => return Ruling::Proved(proved),
                Err(failure) if matches!(failure.0, Proof::Differs | Proof::Pole(_)) => {
                    first.get_or_insert(failure);
                }
                Err(failure) => return Ruling::Deferred(*first.get_or_insert(failure)),
            }
        }
        match first {
            Some(failure) => Ruling::Deferred(failure),
            None => self.out_of_time(),
        }
    }
}
