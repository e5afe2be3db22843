//! Conditions that evaluation at random points decides, for users who ask for it.
//!
//! Problem: canonical forms can be far larger than the terms, and a proof by them ends in a limit.
//! `norm::probable` compares all open conditions at once, with a bound on the chance that it errs. That
//! the optimized kernel is defined wherever the reference is must be shown as always.
//!
//! Forms get little time before, since evaluation is cheap, and all of it after, where evaluation says nothing.
//!
//! Sound: but for the chance that the answer names. Unequal values prove nothing, and are no
//! refutation.

use rayon::prelude::*;

use super::elements::Condition;
use super::judge::{Judge, prove_all};
use super::prove::{Proof, Prover};
use super::ruling::Ruling;
use super::types::{Chance, Options};
use crate::norm::{self, probable};
use crate::sim::UnknownKind;
use crate::spec::limits;
use crate::term::TermId;

/// Work of a comparison by forms before evaluation is tried.
const FORM_WORK: u64 = 1 << 18;

/// Conditions that share a scratch.
const CHUNK: usize = 64;

/// The bound on the work of a comparison in the first round.
pub(super) fn first_work(work: Option<u64>, options: &Options) -> Option<u64> {
    match options.probabilistic {
        true => Some(work.unwrap_or(u64::MAX).min(FORM_WORK)),
        false => work,
    }
}

/// Proves what it can of what is open.
pub(super) fn settle(
    judge: &Judge<'_>,
    conditions: &[Condition],
    rulings: &mut [Ruling],
    chance: &mut Option<Chance>,
) {
    if !judge.options.probabilistic || judge.late() {
        return;
    }
    let all = conditions.iter().zip(rulings.iter()).enumerate();
    let open = all.filter(|(_, (c, r))| c.only.is_none() && r.is_open());
    let open: Vec<(usize, &Condition)> = open.map(|(i, (c, _))| (i, c)).collect();
    let pairs: Vec<(TermId, TermId)> = open.iter().flat_map(|(_, c)| c.pairs.clone()).collect();
    if pairs.is_empty() {
        return;
    }
    let limits = norm::Limits {
        deadline: judge.options.limits.deadline,
        stopped: limits::stopped,
        ..norm::Limits::default()
    };
    let Some(answer) = probable::equal(judge.store, &pairs, &limits) else {
        return;
    };
    let mut at = 0;
    let mut equal = Vec::new();
    for (i, c) in open {
        let n = c.pairs.len();
        if answer.equal[at..at + n].iter().all(|e| *e) {
            equal.push((i, c));
        }
        at += n;
    }
    let proved: Vec<(usize, Ruling)> = equal
        .par_chunks(CHUNK)
        .flat_map_iter(|chunk| {
            let limits = judge.options.limits;
            let mut prover = Prover::new(judge.store, limits);
            let rule = |(i, c): &(usize, &Condition)| {
                let proof = prove_all(c, |a, b| match a == b && !judge.store.is_loose(a) {
                    true => Proof::Yes {
                        positive_logarithms: false,
                    },
                    false => prover.defined(a, b),
                });
                let ruling = match proof {
                    Ok(positive_logarithms) => Ruling::Probable {
                        positive_logarithms,
                    },
                    Err(failure) => Ruling::Deferred(failure),
                };
                (*i, ruling)
            };
            chunk.iter().map(rule).collect::<Vec<_>>()
        })
        .collect();
    let mut any = false;
    for (i, ruling) in proved {
        any |= !ruling.is_open();
        rulings[i] = ruling;
    }
    if any {
        let before = chance.map_or(f64::NEG_INFINITY, |c| c.error);
        *chance = Some(Chance {
            elements: 0,
            points: answer.points.max(chance.map_or(0, |c| c.points)),
            error: (before.exp2() + answer.error.exp2()).log2(),
        });
    }
}

/// Tries forms again without the bound that made room for evaluation.
pub(super) fn retry_exactly(judge: &Judge<'_>, conditions: &[Condition], rulings: &mut [Ruling]) {
    if !judge.options.probabilistic || judge.late() {
        return;
    }
    let whole = Judge {
        work: None,
        ..*judge
    };
    rulings
        .par_iter_mut()
        .zip(conditions)
        .filter(|(r, c)| {
            let too_large = match r {
                Ruling::Deferred((proof, ..)) => *proof == Proof::TooLarge,
                Ruling::Open(u, at) => u.kind == UnknownKind::Limit && at.is_some(),
                _ => false,
            };
            too_large && c.only.is_none()
        })
        .for_each(|(r, c)| {
            let mut prover = Prover::new(judge.store, judge.options.limits);
            *r = whole.prove(c, &mut prover);
        });
}

impl Chance {
    /// What the answer takes for granted.
    pub(super) fn assumption(&self) -> String {
        let s = if self.elements == 1 { "" } else { "s" };
        format!(
            "{} element{s} are equal at {} random points modulo primes of 61 bits: the chance that one of \
             them differs all the same is at most {}",
            self.elements,
            self.points,
            self.bound()
        )
    }
}
