//! What all launches that were run found, as one report.
//!
//! Problem: each launch has a report, and the answer is about all of them. What is said of a place once is said: findings
//! of one kind whose places one finding names already are more of the same, so that the list does not grow by launch.

use crate::answer::{Finding, Kind, Report, Site};
use crate::found::join;

/// Adds what another launch found to the report of those before it, whose launch the rest of the report stays about.
pub(super) fn join(all: &mut Report, mut other: Report) {
    // The question says these of all launches together, or replaces them.
    other.verdict = all.verdict;
    other.scope = all.scope.clone();
    other.kernel = all.kernel.clone();
    other.reference = all.reference.clone();
    other.optimized = all.optimized.clone();
    other.values = None;
    other.counterexample = None;
    findings(&mut all.defects, std::mem::take(&mut other.defects));
    findings(&mut all.warnings, std::mem::take(&mut other.warnings));
    findings(&mut all.unknown, std::mem::take(&mut other.unknown));
    join::join(all, other);
}

/// Adds findings; those of a kind whose places, or words where they have none, are known are counted.
pub(super) fn findings<K: Kind + PartialEq + Copy>(
    all: &mut Vec<Finding<K>>,
    more: Vec<Finding<K>>,
) {
    for f in more {
        let alike = |old: &&mut Finding<K>| {
            old.kind == f.kind
                && old.kernel == f.kernel
                && match f.sites.is_empty() {
                    true => old.sites.is_empty() && old.message == f.message,
                    false => covers(&old.sites, &f.sites),
                }
        };
        match all.iter_mut().find(alike) {
            Some(old) => old.count = old.count.max(f.count),
            None => all.push(f),
        }
    }
}

/// Whether every place of one list is in another one.
fn covers(known: &[Site], sites: &[Site]) -> bool {
    let place = |s: &Site| (s.line, s.column);
    sites
        .iter()
        .all(|s| known.iter().any(|k| place(k) == place(s)))
}
