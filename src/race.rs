//! `volta race`: is this kernel free of races, deadlocks and memory errors?
//!
//! The first half of the pipeline of `check`: parse, lower, resolve, run one CTA or the whole grid,
//! and discharge what the runs left open.

use std::time::Instant;

use crate::answer::{self, Command, Finding};
use crate::check::{Found, assumptions, limits, make_strict, ran, take_defects, times};
use crate::decide;
use crate::grid::{self, Subject};
use crate::input::{self, Files};
use crate::report::precision::{Rounds, precision};
use crate::report::{self, Failure, Report, Verdict};
use crate::sim::{Side, WarningKind};
use crate::spec::launch::Selection;
use crate::spec::{self, Layers, Which};

/// Looks at one kernel as the layers of settings say.
pub fn race(layers: Layers, files: &Files) -> Result<Report, Failure> {
    let start = Instant::now();
    let options = layers.options()?;
    let spec = input::spec(layers, Which::Kernel, files, None)?;
    let limits = limits(&options, start);

    let lowered = input::lower(files, &spec)?;
    let kernels = [(&lowered.kernel, &spec)];
    let mut setup = spec::resolve(&kernels, &[]).map_err(|e| Failure::of_spec(&e, &kernels))?;
    let parsed = Instant::now();

    let deciding = decide::Options {
        limits,
        ..decide::Options::default()
    };
    let run = |setup: &spec::Setup| {
        let resolved = &setup.kernels[0];
        let subject = Subject {
            kernel: &lowered.kernel,
            resolved,
            side: Side::Reference,
            arrays: &setup.arrays,
            deciding: &deciding,
        };
        match resolved.selection {
            Selection::All => grid::all(&subject),
            Selection::Given => grid::cover(&subject, &[resolved.launch.rank()]),
        }
    };
    let mut covered = run(&setup);
    // Bits of computed numbers decide something: again, with numbers that remember how they were made.
    let store = &covered.outcome.store;
    if (store.has_merged() || store.has_flips()) && limits.reached().is_none() {
        setup.kernels[0].launch.trees = Some(0);
        covered = run(&setup);
    }
    let resolved = &setup.kernels[0];
    // A race is about bits; what is equal over the reals is none only where a warp stores it at once.
    let races = take_defects(&mut covered.outcome, |k| k == WarningKind::RealEqualRace);
    covered.outcome.defects.extend(races);
    let simulated = Instant::now();
    if options.strict {
        let strict = make_strict(&mut covered.outcome);
        covered.outcome.defects.extend(strict);
    }
    let ran = ran(&spec, &lowered, resolved);
    // Nor is an output that differs from run to run.
    let by_schedule = std::mem::take(&mut covered.outcome.by_schedule);
    let mut found = Found::default();
    found.add(ran, &lowered, &covered.outcome);
    let places = decide::bounds::assumed(&covered.outcome, &setup.arrays);
    found.assumptions.extend(places);
    found.warnings.extend(ran.partial(&covered));
    found.warnings.extend(ran.thin(&covered.outcome));
    let noted = ran.unknowns(&by_schedule).into_iter();
    found.warnings.extend(noted.map(|u| {
        Finding::new(u.kernel, answer::WarningKind::Note, u.message).at(u.sites)
    }));
    let missing = ran.missing(&found.unknown);
    found.unknown.extend(missing);
    let verdict = match (found.defects.is_empty(), found.unknown.is_empty()) {
        (false, _) => Verdict::Defective,
        (true, false) => Verdict::Unknown,
        (true, true) => Verdict::Clean,
    };
    let mut report = Report {
        verdict,
        defects: found.defects,
        warnings: found.warnings,
        unknown: found.unknown,
        assumptions: assumptions(setup.assumptions, found.assumptions),
        looked: ran.looked(&covered.outcome),
        precision: precision(&[Rounds::of(ran, &covered.outcome)], options.precision).0,
        ..report::begin(Command::Race, vec![ran.describe(&covered)], &options)
    };
    report.stats.seconds = times(start, parsed, simulated);
    report.deny(&options.deny);
    Ok(report)
}
