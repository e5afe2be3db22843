//! Whether the CTAs of a grid run together or each alone.
//!
//! The problem: a CTA that waits for another one gets nowhere alone, and accesses that fences and flags order look
//! unordered. Running all CTAs together follows both, at the price of one run for each order of the steps that
//! matter. Kernels with loops that wait run together at once; those that only have the means to order CTAs do so
//! where running each CTA alone leaves something open.
//!
//! Sound: both are complete on their own; which one answers is a matter of what it can decide.

use crate::sim::gang::{self, Grid};
use crate::sim::strong::{concerns, waits};
use crate::spec::Launch;

use super::select::Elements;
use super::{Covered, Subject, discharge};

/// Runs the CTAs of these ranks together, where that is needed and they are the whole grid, else `alone`.
pub fn or_alone(
    subject: &Subject,
    ranks: &[u64],
    alone: impl Fn(&Subject, &[u64]) -> Covered,
) -> Covered {
    let launch = &subject.resolved.launch;
    let whole = ranks.len() as u64 == launch.ctas() && ranks.len() as u64 <= gang::MAX_TOGETHER;
    let terms = !launch.numbers && launch.words.is_none() && launch.trees.is_none();
    if !whole || !terms || !concerns(subject.kernel) {
        return alone(subject, ranks);
    }
    if waits(subject.kernel) {
        return together(subject, ranks).unwrap_or_else(|| alone(subject, ranks));
    }
    let each = alone(subject, ranks);
    if each.outcome.unknowns.is_empty() || !each.outcome.defects.is_empty() {
        return each;
    }
    let decided =
        |c: &Covered| !c.outcome.defects.is_empty() || c.outcome.unknowns.is_empty();
    together(subject, ranks).filter(decided).unwrap_or(each)
}

fn together(subject: &Subject, ranks: &[u64]) -> Option<Covered> {
    let r = subject.resolved;
    let launches: Vec<Launch> = ranks.iter().map(|&rank| r.launch.with_cta(rank)).collect();
    let limits = subject.limits(subject.deciding.limits.memory);
    let grid = Grid {
        kernel: subject.kernel,
        launches: &launches,
        bindings: &r.bindings,
        arrays: &r.arrays,
        side: subject.side,
        limits: &limits,
    };
    let mut outcome = gang::run_together(&grid)?;
    discharge(&mut outcome, subject.arrays, subject.deciding);
    Some(Covered {
        terms: outcome.store.len() as u64,
        outcome,
        ctas: ranks.iter().map(|&rank| subject.cta(rank)).collect(),
        whole: true,
        wrote: Elements::new(),
    })
}
