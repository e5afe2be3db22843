//! The search for an input on which the goals of one element differ.

use super::climb;
use super::patterns;
use super::witness::{Checked, DifferingInput, Hunt};
use crate::decide::goal::Pairs;
use crate::decide::limits::{CLIMB, SEARCHES};
use crate::number::random::Random;
use crate::spec::{Arrays, Limits};
use crate::term::TermStore;
use crate::work;

/// Patterns that come before those of special integers.
const BEFORE_CODES: usize = 40;

/// What may be spent on one search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Terms and edges evaluated in doubles.
    pub steps: u64,
    /// When to stop.
    pub deadline: Option<std::time::Instant>,
    /// Make small differences larger: worth it for what nothing else decides.
    pub climb: bool,
}

/// What a search found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    /// A counterexample.
    pub found: Option<DifferingInput>,
    /// Candidates tried.
    pub tried: u64,
    /// What the candidates say that tell nothing apart.
    pub seen: Seen,
}

/// What executions say of sides that they do not tell apart.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// On some input the values seem to differ, but by no more than rounding explains.
    pub within_rounding: bool,
    /// Inputs of a thorough search on which both sides are numbers.
    pub inputs: u64,
    /// The largest difference in doubles, relative to numbers above 1.
    pub apart: f64,
}

/// Searches for an input that tells some pair apart.
pub(crate) fn search(
    store: &TermStore,
    pairs: &Pairs,
    arrays: &Arrays,
    seed: u64,
    budget: Budget,
) -> Search {
    let mut out = Search::default();
    let limits = Limits {
        deadline: budget.deadline,
        memory: None,
    };
    // What is prepared may take longer than a candidate, and there may be a search for each of many pairs.
    if limits.reached().is_some() {
        return out;
    }
    let mut hunt = Hunt::new(store, pairs, arrays);
    work::spend(hunt.cone.size() as u64);
    let near = patterns::thresholds(store, &hunt.cone);
    let mut random = Random(seed);
    let mut left = budget.steps;
    let (mut rigorous, mut undefined, mut first) = (0, 0, true);
    let mut close = 0f64;
    let mut starts: Vec<(f64, Vec<u64>)> = Vec::new();
    let mut patterns = patterns::patterns(hunt.cells(), near.len());
    let codes = patterns::codes(store, &hunt.cone, hunt.cells());
    let after = patterns.len().min(BEFORE_CODES);
    patterns.splice(after..after, codes);
    for pattern in patterns {
        let cost = hunt.cone.size() as u64;
        let late = limits.reached().is_some();
        if (left < cost && !first) || late || rigorous >= SEARCHES.checks {
            break;
        }
        first = false;
        left = left.saturating_sub(cost);
        work::spend(cost);
        let values = patterns::candidate(hunt.cells(), pattern, &near, &mut random);
        out.tried += 1;
        let executed = hunt.in_doubles(&values).unwrap_or_default();
        let difference = match executed.is_empty() {
            true => 0.0,
            false => hunt.difference_of(&executed),
        };
        if budget.climb && !executed.is_empty() {
            if let Some(apart) = hunt.apart(&executed) {
                out.seen.inputs += 1;
                out.seen.apart = out.seen.apart.max(apart);
            }
            let score = hunt.score_of(&executed);
            if score >= CLIMB.least && score.is_finite() {
                starts.push((score, values.clone()));
                starts.sort_by(|a, b| b.0.total_cmp(&a.0));
                starts.truncate(CLIMB.starts);
            }
        }
        if difference < SEARCHES.seen {
            out.seen.within_rounding |= difference > SEARCHES.noise;
            continue;
        }
        if difference == f64::INFINITY {
            undefined += 1;
            if undefined > SEARCHES.undefined {
                continue;
            }
        }
        // What rounding explained once explains what is closer, most likely.
        if rigorous >= SEARCHES.eager && difference <= close {
            out.seen.within_rounding = true;
            continue;
        }
        rigorous += 1;
        match hunt.check(&values) {
            Checked::Apart(_) => {
                out.found = hunt.found(&values);
                if out.found.is_some() {
                    return out;
                }
            }
            Checked::Close => {
                out.seen.within_rounding = true;
                close = close.max(difference);
            }
            Checked::No => {}
        }
    }
    let limits = Limits {
        deadline: budget.deadline,
        memory: None,
    };
    for (_, values) in starts {
        out.found = climb::climb(&mut hunt, values, &mut random, &mut left, limits);
        if out.found.is_some() {
            break;
        }
    }
    out
}
