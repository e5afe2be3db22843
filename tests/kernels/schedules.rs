//! Random schedules against round robin, on every kernel of `kernels/`: the same outcome where
//! nothing is wrong, and a defect where something is.

use std::collections::BTreeSet;

use rayon::prelude::*;

use volta::input::Files;
use volta::sim::{self, Outcome, Side};
use volta::spec::{self, Limits};
use volta::{decide, explain, grid, work};

use super::launched::{Case, cases};

/// Larger runs say no more.
const MOST_INSTRUCTIONS: u64 = 150_000;
const SEEDS: u64 = 2;

fn kinds(o: &Outcome) -> BTreeSet<String> {
    o.defects.iter().map(|d| format!("{:?}", d.kind)).collect()
}

/// What is wrong with the outcome of a schedule, by that of another.
fn differs(case: &Case) -> Option<String> {
    let setup = spec::resolve(&[(&case.kernel, &case.spec)], &[]).ok()?;
    let resolved = &setup.kernels[0];
    let limits = Limits {
        deadline: None,
        memory: None,
    };
    // Where bits of computed numbers decide, numbers have to remember how they were made.
    let run = |seed: Option<u64>, side, trees: bool| {
        let made_by = trees.then_some(0);
        let inputs = sim::Inputs {
            kernel: &case.kernel,
            launch: &resolved.launch,
            mode: resolved.mode.over(spec::Domain::Reals { made_by }),
            bindings: &resolved.bindings,
            arrays: &resolved.arrays,
            side,
            limits: &limits,
        };
        let mut noting = sim::Noting::default();
        noting.known.schedule = seed;
        let mut o = sim::run_noting(&inputs, &noting);
        let options = decide::Options::default();
        grid::discharge(&mut o, &resolved.arrays, &options);
        o
    };
    let plain = run(None, Side::Reference, false);
    if plain.stats.thread_instructions > MOST_INSTRUCTIONS {
        return None;
    }
    let (expected, unsure) = (kinds(&plain), !plain.unknowns.is_empty());
    for seed in 0..SEEDS {
        let shuffled = run(Some(seed), Side::Optimized, false);
        let found = kinds(&shuffled);
        // Beyond a race what is read depends on the schedule, so other defects may follow or not.
        if found.is_empty() != expected.is_empty() {
            return Some(format!(
                "{expected:?} by round robin, {found:?} by seed {seed}"
            ));
        }
        if !expected.is_empty() {
            continue;
        }
        if unsure == shuffled.unknowns.is_empty() {
            return Some(format!(
                "only one of round robin and seed {seed} is unknown"
            ));
        }
        // What is unknown may depend on the schedule.
        if unsure {
            continue;
        }
        let verdict = |shuffled: Outcome, trees| {
            let a = run(None, Side::Reference, trees).into_clean(true).ok()?;
            let b = shuffled.into_clean(true).ok()?;
            let decision = explain::decide(a, b, &resolved.arrays, &decide::Options::default());
            let nothing = decision.counts.conditions == 0;
            (!nothing).then_some(decision.verdict)
        };
        let verdict = match verdict(shuffled, false) {
            Some(explain::Verdict::Unknown) => {
                verdict(run(Some(seed), Side::Optimized, true), true)
            }
            v => v,
        };
        // What a schedule may change between CTAs is nothing that one CTA could tell.
        let is_right = |v| match v {
            explain::Verdict::Equivalent => true,
            explain::Verdict::Unknown => case.is_unknown,
            _ => false,
        };
        if verdict.is_some_and(|v| !is_right(v)) {
            return Some(format!("{verdict:?} by seed {seed}"));
        }
    }
    None
}

#[test]
fn random_schedules_find_what_round_robin_finds() {
    let files = Files::new();
    let cases = cases(&files);
    assert!(cases.len() > 200);
    let why = work::each(cases.par_iter(), |c| {
        differs(c).map(|why| format!("{}: {why}", c.name))
    });
    let wrong: Vec<String> = why.into_iter().flatten().collect();
    let (count, all) = (wrong.len(), cases.len());
    assert!(count == 0, "{count} of {all} differ:\n{}", wrong.join("\n"));
}
