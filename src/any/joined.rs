//! What all launches that were run found, as one report.
//!
//! Problem: each launch has a report, and the answer is about all of them. What is said of a place once is said: findings
//! of one kind whose places one finding names already are more of the same, so that the list does not grow by launch.
//!
//! Every field of a report is named here, so that a new one does not compile before it is decided what becomes of it.

use crate::answer::precision::Rounding;
use crate::answer::{Finding, Kind, Report, Sides, Site, coverage};

/// Adds what another launch found to the report of those before it, whose launch the rest of the report stays about.
pub(super) fn join(all: &mut Report, other: Report) {
    let Report {
        schema: _,
        volta: _,
        command: _,
        // The question decides these for all launches together.
        verdict: _,
        values: _,
        sizes: _,
        instances: _,
        scope: _,
        denied: _,
        outputs: _,
        // Which launch and bindings it was, which the answer replaces or leaves as those of the first one.
        subjects: _,
        inputs: _,
        // Of other questions.
        slack: _,
        classes: _,
        sass: _,
        counterexample: _,
        probabilistic: _,
        deterministic: _,
        determinism: _,
        rounding: _,
        certificate: _,
        defects,
        warnings,
        unknown,
        assumptions,
        precision,
        stats,
        looked,
    } = other;
    findings(&mut all.defects, defects);
    findings(&mut all.warnings, warnings);
    findings(&mut all.unknown, unknown);
    for said in assumptions {
        if !all.assumptions.contains(&said) {
            all.assumptions.push(said);
        }
    }
    each(
        &mut all.precision.kernels,
        precision.kernels,
        |all, other| {
            for r in other {
                let known = |old: &Rounding| {
                    (&old.format, &old.kind, &old.from) == (&r.format, &r.kind, &r.from)
                        && covers(&old.sites, &r.sites)
                };
                if !all.iter().any(known) {
                    all.push(r);
                }
            }
        },
    );
    // Times are those of the whole question, and so is its work.
    each(&mut all.stats.kernels, stats.kernels, |all, other| {
        all.thread_instructions += other.thread_instructions;
        all.warp_instructions += other.warp_instructions;
        all.barrier_arrivals += other.barrier_arrivals;
        all.warp_syncs += other.warp_syncs;
        all.accesses += other.accesses;
        all.terms += other.terms;
    });
    for l in looked {
        let known =
            |old: &coverage::Looked| old.kernel == l.kernel && old.at == l.at && old.thin == l.thin;
        if !all.looked.iter().any(known) {
            all.looked.push(l);
        }
    }
}

fn each<T>(all: &mut Sides<T>, other: Sides<T>, mut join: impl FnMut(&mut T, T)) {
    let pairs = [
        (&mut all.kernel, other.kernel),
        (&mut all.reference, other.reference),
        (&mut all.optimized, other.optimized),
    ];
    for (all, other) in pairs {
        match (all, other) {
            (Some(all), Some(other)) => join(all, other),
            (all @ None, other) => *all = other,
            (Some(_), None) => {}
        }
    }
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
