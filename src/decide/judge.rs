//! Rulings on conditions, in parallel and in order.
//!
//! Conditions are decided in chunks whose size depends on nothing but their number. Once a chunk
//! holds a refutation later chunks are skipped, and what they may have found is dropped: the result
//! is the same for any number of threads.
//!
//! Three rounds, each for what the one before left open. First every condition is tried by its form,
//! and the first few of a chunk that resist are searched for a witness and tried by cases: that
//! refutes most wrong kernels at once. Then all conditions are tried again with rounded constants
//! read as what they stand for; that counts only if it loses no proof, so that every constant has
//! one reading in the whole pair. Last come the searches for what is still open, within bounds.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::elements::{Condition, Pairs};
use super::idioms::Idioms;
use super::prove::{Proof, Prover};
use super::ruling::{Failure, Ruling, tally};
use super::types::*;
use super::{difference, explain, probable, text, witness};
use crate::progress;
use crate::sim::UnknownKind;
use crate::spec::Arrays;
use crate::term::{TermId, TermStore};

/// Terms and edges that a quick search and a thorough one may evaluate, and the number of thorough
/// ones.
const QUICK_STEPS: u64 = 2_000_000;
const STEPS: u64 = 50_000_000;
const SEARCHES: usize = 2;

/// Conditions of a chunk that stay open after a search before the others wait for the last round,
/// and before that round gives the others up.
const FIRST_SEARCHES: usize = 2;
const LAST_SEARCHES: usize = 8;

/// Chunks of the last round.
const LAST_CHUNKS: usize = 8;

/// Terms and edges that are worth a chunk of their own, and the largest number of chunks that
/// work, rather than the number of conditions, asks for: enough for many cores.
const CHUNK_WORK: usize = 25_000;
const MAX_CHUNKS: usize = 48;

/// The rulings of one chunk, up to and including the first refutation.
struct Chunk {
    rulings: Vec<Ruling>,
    candidates: u64,
}

/// Proves every pair of a condition; the flag says that arguments of logarithms are taken to be
/// positive. The failure is the first that says more than a doubt about definedness.
pub(super) fn prove_all(
    c: &Condition,
    mut prove: impl FnMut(TermId, TermId) -> Proof,
) -> Result<bool, Failure> {
    let mut logarithms = false;
    let mut failure = None;
    for &(a, b) in &c.pairs {
        match prove(a, b) {
            Proof::Yes {
                positive_logarithms,
            } => logarithms |= positive_logarithms,
            p @ Proof::Undefined(_) => failure = failure.or(Some((p, a, b))),
            p => return Err((p, a, b)),
        }
    }
    failure.map_or(Ok(logarithms), Err)
}

/// The judge of a pair: the store with both kernels, and what everybody needs to know.
pub(super) struct Judge<'a> {
    pub(super) store: &'a TermStore,
    pub(super) arrays: &'a Arrays,
    pub(super) options: &'a Options,
    /// A bound on the work of a comparison in the first round.
    pub(super) work: Option<u64>,
}

/// Terms of a pair in which functions are looked for before the first round.
const MAX_NAMED: usize = 200_000;

/// Work of a comparison whose terms have functions in them that a compiler has expanded.
const EXPANDED_WORK: u64 = 1 << 18;

/// Terms and edges that a search for a witness of such a pair may evaluate.
const NAMED_STEPS: u64 = 8_000_000;

/// The bound on the work of a comparison in the first round.
///
/// The polynomials of an expanded function, one put into the other, make canonical forms that
/// take seconds and tell nothing; by its name the function is decided at once, in the second
/// round.
pub(super) fn first_work(store: &TermStore, conditions: &[Condition]) -> Option<u64> {
    if store.len() > MAX_NAMED {
        return None;
    }
    let pairs = conditions.iter().flat_map(|c| &c.pairs);
    let differing = pairs.filter(|(a, b)| a != b);
    let roots: Vec<TermId> = differing.flat_map(|&(a, b)| [a, b]).collect();
    let found = !roots.is_empty() && !Idioms::of(store, &roots).is_empty();
    found.then_some(EXPANDED_WORK)
}

impl Judge<'_> {
    /// Decides all conditions.
    pub(super) fn all(&self, conditions: &[Condition], decision: &mut Decision) {
        let mut rulings = self.first(conditions, decision);
        let refuted = matches!(rulings.last(), Some(Ruling::Refuted(..)));
        if !refuted {
            probable::settle(self, conditions, &mut rulings, &mut decision.chance);
        }
        if !refuted && rulings.iter().any(Ruling::is_open) {
            if !self.late() {
                self.second(conditions, &mut rulings, decision);
            }
            probable::retry_exactly(self, conditions, &mut rulings);
            self.last(conditions, &mut rulings, decision);
            if !matches!(rulings.last(), Some(Ruling::Refuted(..))) {
                self.named(conditions, &mut rulings, decision);
            }
        }
        let last = rulings.len().saturating_sub(1);
        if let Some(Ruling::Refuted(example, found)) = rulings.last_mut()
            && let Some(c) = conditions.get(last)
        {
            self.present(c, example, found.take());
        }
        tally(conditions, rulings, decision, |pair| {
            difference::between(self.store, self.arrays, self.options, pair)
        });
    }

    /// Searches for witnesses, and proofs by cases, of what no form has decided.
    fn last(&self, conditions: &[Condition], rulings: &mut Vec<Ruling>, decision: &mut Decision) {
        let waiting: Vec<(usize, Failure)> = rulings
            .iter()
            .enumerate()
            .filter_map(|(i, r)| match r {
                Ruling::Deferred(failure) => Some((i, *failure)),
                _ => None,
            })
            .collect();
        let size = waiting.len().div_ceil(LAST_CHUNKS).max(1);
        let chunks: Vec<Vec<(usize, Ruling, u64)>> = waiting
            .par_chunks(size)
            .map(|chunk| {
                let mut prover = Prover::new(self.store, self.options.limits);
                let mut failed = 0;
                let mut rule = |(i, failure): &(usize, Failure)| {
                    let (c, failure, mut tried) = (&conditions[*i], *failure, 0);
                    let ruling = if failed == LAST_SEARCHES {
                        self.undecided(c, failure, false)
                    } else {
                        self.search(c, failure, &mut prover, QUICK_STEPS, &mut tried)
                    };
                    failed += ruling.is_open() as usize;
                    (*i, ruling, tried)
                };
                chunk.iter().map(&mut rule).collect()
            })
            .collect();
        for (i, ruling, tried) in chunks.into_iter().flatten() {
            decision.counts.candidates += tried;
            rulings[i] = ruling;
        }
        let mut left = SEARCHES;
        for (i, c) in conditions.iter().enumerate() {
            match rulings.get(i) {
                Some(Ruling::Refuted(..)) => {
                    rulings.truncate(i + 1);
                    return;
                }
                Some(Ruling::Open(..)) if left > 0 && c.only.is_none() && !self.late() => left -= 1,
                _ => continue,
            }
            let found = self.witness(c, STEPS, &mut decision.counts.candidates).0;
            if let Some(found) = found {
                rulings.truncate(i);
                rulings.push(found);
                return;
            }
        }
    }

    /// Searches once more where functions that a compiler has expanded stand by their names.
    ///
    /// An evaluation with known error ends at the bits of a rounded number, which such an expansion
    /// takes apart; by its name the function has an error bound. That the expansion is the
    /// function becomes an assumption of the refutation, as it is of a proof.
    fn named(&self, conditions: &[Condition], rulings: &mut Vec<Ruling>, decision: &mut Decision) {
        let open = |(i, c): &(usize, &Condition)| {
            c.only.is_none() && matches!(rulings.get(*i), Some(Ruling::Open(..)))
        };
        let open: Vec<(usize, &Condition)> = conditions
            .iter()
            .enumerate()
            .filter(open)
            .take(SEARCHES)
            .collect();
        for (i, c) in open {
            if self.late() {
                return;
            }
            let roots: Vec<TermId> = c.pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
            let idioms = Idioms::of(self.store, &roots);
            if idioms.is_empty() {
                continue;
            }
            let mut store = TermStore::new();
            let roots = idioms.apply(self.store, &roots, &mut store);
            let pairs: Pairs = roots.chunks_exact(2).map(|p| (p[0], p[1])).collect();
            let judge = Judge {
                store: &store,
                work: None,
                ..*self
            };
            let c = Condition {
                pairs,
                whole: None,
                ..c.clone()
            };
            let candidates = &mut decision.counts.candidates;
            if let Some(Ruling::Refuted(mut example, found)) =
                judge.witness(&c, NAMED_STEPS, candidates).0
            {
                judge.present(&c, &mut example, found);
                rulings.truncate(i);
                rulings.push(Ruling::Refuted(example, None));
                decision.assumptions.extend(idioms.assumptions());
                return;
            }
        }
    }

    /// The rulings in order, up to and including the first refutation.
    fn first(&self, conditions: &[Condition], decision: &mut Decision) -> Vec<Ruling> {
        let refuted = AtomicUsize::new(usize::MAX);
        let size = self.chunk_size(conditions.iter());
        // Only what resists asks. One thread finds the answer alone: were others to help, one of them could
        // come to wait for itself.
        let patient = LazyLock::new(|| self.is_patient(conditions));
        let elements = conditions.iter().map(Condition::elements).sum();
        progress::begin(progress::Stage::Decide, elements);
        let chunks: Vec<Option<Chunk>> = conditions
            .par_chunks(size)
            .enumerate()
            .map(|(i, c)| {
                if refuted.load(Ordering::Relaxed) < i {
                    return None;
                }
                let chunk = self.chunk(c, || *patient);
                progress::add(c.iter().map(Condition::elements).sum());
                if let Some(Ruling::Refuted(..)) = chunk.rulings.last() {
                    refuted.fetch_min(i, Ordering::Relaxed);
                }
                Some(chunk)
            })
            .collect();
        let kept = refuted.load(Ordering::Relaxed).saturating_add(1);
        let mut out = Vec::with_capacity(conditions.len());
        for chunk in chunks.into_iter().take(kept).flatten() {
            decision.counts.candidates += chunk.candidates;
            out.extend(chunk.rulings);
        }
        out
    }

    /// Proof without a search for a witness.
    pub(super) fn prove(&self, c: &Condition, prover: &mut Prover<'_>) -> Ruling {
        if self.late() {
            return self.out_of_time(c);
        }
        let failure = match prove_all(c, |a, b| prover.implied(a, b)) {
            Ok(positive_logarithms) => {
                return Ruling::SameForm {
                    positive_logarithms,
                };
            }
            Err(failure) => failure,
        };
        if failure.0 == Proof::Differs
            && let Ok(positive_logarithms) = prove_all(c, |a, b| prover.implied_by_cases(a, b))
        {
            return Ruling::ByCases {
                positive_logarithms,
            };
        }
        Ruling::Deferred(failure)
    }

    /// Number of conditions of a chunk. Each chunk has a scratch of its own, in which what its
    /// conditions share is normalised once; so there are few chunks, and little work is one chunk.
    pub(super) fn chunk_size<'c>(
        &self,
        conditions: impl ExactSizeIterator<Item = &'c Condition>,
    ) -> usize {
        let count = conditions.len();
        let pairs = conditions.flat_map(|c| &c.pairs);
        let open = pairs.filter(|(a, b)| a != b).flat_map(|&(a, b)| [a, b]);
        let work = self.store.cone_size(open) + count;
        let chunks = (work / CHUNK_WORK).clamp(1, MAX_CHUNKS);
        count.div_ceil(chunks).clamp(1, 1024)
    }

    /// Rules on conditions; `patient` says whether what resists waits for the second round.
    fn chunk(&self, conditions: &[Condition], patient: impl Fn() -> bool) -> Chunk {
        let mut prover = Prover::bounded(self.store, self.options.limits, self.work);
        let mut out = Chunk {
            rulings: Vec::with_capacity(conditions.len()),
            candidates: 0,
        };
        let mut failed = 0;
        for c in conditions {
            let mut ruling = self.form(c, &mut prover);
            if let Ruling::Deferred(failure) = &ruling
                && failed < FIRST_SEARCHES
                && !patient()
            {
                let (failure, tried) = (*failure, &mut out.candidates);
                ruling = self.search(c, failure, &mut prover, QUICK_STEPS, tried);
                failed += ruling.is_open() as usize;
            }
            let last = matches!(ruling, Ruling::Refuted(..));
            out.rulings.push(ruling);
            if last {
                break;
            }
        }
        out
    }

    pub(super) fn name(&self, c: &Condition) -> String {
        text::element(self.arrays, c.array, c.off, c.bytes as u64)
    }

    pub(super) fn open(&self, c: &Condition, kind: UnknownKind, what: &str) -> Ruling {
        let unresolved = Unresolved {
            kind,
            message: format!("{}: {what}", self.name(c)),
            count: 1,
            difference: None,
        };
        Ruling::Open(unresolved, None)
    }

    fn out_of_time(&self, c: &Condition) -> Ruling {
        let what = self.options.limits.reached();
        let what = what.unwrap_or("the time limit was reached");
        self.open(
            c,
            UnknownKind::Limit,
            &format!("{what} before it was decided"),
        )
    }

    pub(super) fn late(&self) -> bool {
        self.options.limits.reached().is_some()
    }

    /// Decides one condition by what needs no search.
    fn form(&self, c: &Condition, prover: &mut Prover<'_>) -> Ruling {
        if let Some(only) = c.only {
            return self.one_sided(c, only);
        }
        let plain = |&(a, b): &(TermId, TermId)| a == b && !self.store.is_loose(a);
        if c.pairs.iter().all(plain) {
            return Ruling::Identical;
        }
        if self.late() {
            return self.out_of_time(c);
        }
        match prove_all(c, |a, b| prover.implied(a, b)) {
            Ok(positive_logarithms) => Ruling::SameForm {
                positive_logarithms,
            },
            Err(failure) => Ruling::Deferred(failure),
        }
    }

    /// Decides a condition that its form does not: by a witness, else by cases.
    fn search(
        &self,
        c: &Condition,
        failure: Failure,
        prover: &mut Prover<'_>,
        steps: u64,
        candidates: &mut u64,
    ) -> Ruling {
        if self.late() {
            return self.out_of_time(c);
        }
        let (refuted, within_rounding) = self.witness(c, steps, candidates);
        if let Some(refuted) = refuted {
            return refuted;
        }
        // What a quick search does not refute is worth a proof by cases.
        if !within_rounding
            && failure.0 == Proof::Differs
            && let Ok(positive_logarithms) = prove_all(c, |a, b| prover.implied_by_cases(a, b))
        {
            return Ruling::ByCases {
                positive_logarithms,
            };
        }
        self.undecided(c, failure, within_rounding)
    }

    /// A refutation by an input, and whether one was found that rounding may explain.
    fn witness(&self, c: &Condition, steps: u64, candidates: &mut u64) -> (Option<Ruling>, bool) {
        let mut terms = c.pairs.iter().flat_map(|&(a, b)| [a, b]);
        if terms.any(|t| self.store.is_loose(t)) {
            return (None, false);
        }
        let budget = witness::Budget {
            steps,
            deadline: self.options.limits.deadline,
            climb: steps > QUICK_STEPS,
        };
        let search = witness::search(self.store, &c.pairs, self.arrays, self.options.seed, budget);
        *candidates += search.tried;
        let refuted = search.found.map(|found| {
            let example = Box::new(self.counterexample(c, &found));
            Ruling::Refuted(example, Some(Box::new(found)))
        });
        (refuted, search.within_rounding)
    }

    fn undecided(&self, c: &Condition, (failure, a, b): Failure, within_rounding: bool) -> Ruling {
        let why = explain::unresolved(self.store, self.arrays, failure, (a, b), within_rounding);
        match self.open(c, why.kind, &why.text) {
            Ruling::Open(u, _) if why.differs => Ruling::Open(u, Some((a, b))),
            ruling => ruling,
        }
    }
}
