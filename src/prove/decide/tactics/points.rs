//! Elements that evaluation at random points decides, for users who ask for it.
//!
//! Problem: canonical forms can be far larger than the terms, and a proof by them ends in a limit.
//! `norm::probable` compares all open goals at once, with a bound on the chance that it errs. That
//! the optimized kernel is defined wherever the reference is must be shown as always.
//!
//! Forms get little time before, since evaluation is cheap, and all of it after, where evaluation says nothing.
//!
//! Sound: but for the chance that the answer names. Unequal values prove nothing, and are no
//! refutation.

use rayon::prelude::*;

use super::FORMS;
use crate::decide::asked::Pair;
use crate::decide::goal::Condition;
use crate::decide::limits::ROUNDS;
use crate::decide::options::Options;
use crate::decide::prove::{By, Proof, Proved, Prover, conjunction};
use crate::decide::ruling::{Chance, Ruling, Rulings, Why};
use crate::norm::{self, probable};
use crate::spec::limits;
use crate::term::TermId;
use crate::work;

/// The bound on the work of a comparison by forms before points are tried.
pub(crate) fn first_work(work: Option<u64>, options: &Options) -> Option<u64> {
    match options.probabilistic {
        true => Some(work.unwrap_or(u64::MAX).min(ROUNDS.before_points)),
        false => work,
    }
}

/// Proves what it can of what is open.
pub(crate) fn settle(pair: &Pair<'_>, conditions: &[Condition], rulings: &mut Rulings) {
    if !pair.options.probabilistic || pair.late() {
        return;
    }
    let all = conditions.iter().zip(rulings.of.iter()).enumerate();
    let open = all.filter(|(_, (c, r))| c.only.is_none() && r.is_open());
    let open: Vec<(usize, &Condition)> = open.map(|(i, (c, _))| (i, c)).collect();
    let pairs: Vec<(TermId, TermId)> = open.iter().flat_map(|(_, c)| c.pairs.clone()).collect();
    if pairs.is_empty() {
        return;
    }
    let limits = norm::Limits {
        deadline: pair.options.limits.deadline,
        stopped: limits::stopped,
        ..norm::Limits::default()
    };
    let Some(answer) = probable::equal(pair.store, &pairs, &limits) else {
        return;
    };
    let mut equal = answer.equal.iter();
    let mut agrees = |c: &Condition| {
        let goals: Vec<&bool> = equal.by_ref().take(c.pairs.len()).collect();
        goals.into_iter().all(|e| *e)
    };
    let equal: Vec<(usize, &Condition)> = open.into_iter().filter(|(_, c)| agrees(c)).collect();
    let chunks = equal.par_chunks(ROUNDS.points_chunk);
    let defined: Vec<Vec<(usize, Ruling)>> = work::side_by_side(chunks, |chunk| {
        let mut prover = Prover::new(pair.store, pair.options.limits);
        let rule = |(i, c): &(usize, &Condition)| {
            let loose = |t| pair.store.is_loose(t);
            let defined = conjunction(&c.pairs, |a, b| match a == b {
                _ if loose(a) || loose(b) => Proof::Loose,
                true => Proof::Yes(Proved::TERMS),
                false => prover.defined(By::POINTS, a, b),
            });
            (*i, defined.map_or_else(Ruling::Deferred, Ruling::Proved))
        };
        chunk.iter().map(rule).collect()
    });
    let mut any = false;
    for (i, ruling) in defined.into_iter().flatten() {
        any |= !ruling.is_open();
        rulings.of[i] = ruling;
    }
    if any {
        let before = rulings.chance.map_or(f64::NEG_INFINITY, |c| c.error);
        rulings.chance = Some(Chance {
            elements: 0,
            points: answer.points.max(rulings.chance.map_or(0, |c| c.points)),
            error: (before.exp2() + answer.error.exp2()).log2(),
        });
    }
}

/// Tries forms again without the bound that made room for evaluation.
pub(crate) fn retry_exactly(pair: &Pair<'_>, conditions: &[Condition], rulings: &mut [Ruling]) {
    if !pair.options.probabilistic || pair.late() {
        return;
    }
    let too_large = |r: &Ruling| match r {
        Ruling::Deferred((proof, ..)) => *proof == Proof::TooLarge,
        Ruling::Open(Why::Failed { failure, .. }) => failure.0 == Proof::TooLarge,
        _ => false,
    };
    let again = rulings.iter_mut().zip(conditions);
    let again = again.filter(|(r, c)| too_large(r) && c.only.is_none());
    let again: Vec<(&mut Ruling, &Condition)> = again.collect();
    work::side_by_side(again.into_par_iter(), |(r, c)| {
        let mut prover = Prover::new(pair.store, pair.options.limits);
        *r = pair.rule(c, &[FORMS, super::SPLITS], &mut prover);
    });
}
