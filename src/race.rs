//! `volta race`: is this kernel free of races, deadlocks and memory errors?
//!
//! The first half of the pipeline of `check`: parse, lower, resolve, run one CTA or the whole grid,
//! and discharge what the runs left open.

use std::time::Instant;

use crate::answer::Command;
use crate::any;
use crate::check::{Found, assumptions, limits, make_strict, ran, take_defects, times};
use crate::decide;
use crate::grid::{self, Subject};
use crate::input::{self, Files, Lowered};
use crate::report::precision::{Rounds, precision};
use crate::report::{self, Failure, Report, Verdict};
use crate::rounding::schedules::same_bits;
use crate::sim::{Side, WarningKind};
use crate::spec::launch::Selection;
use crate::spec::{self, KernelSpec, Layers, Limits, Options, Setup, Which};
use crate::{cases, trial};

/// Looks at one kernel as the layers of settings say.
pub fn race(layers: Layers, files: &Files) -> Result<Report, Failure> {
    let start = Instant::now();
    let options = layers.options()?;
    if options.any {
        return any::race(layers, files);
    }
    let spec = input::spec(layers, Which::Kernel, files, None)?;
    let limits = limits(&options, start);

    let lowered = input::lower(files, &spec)?;
    let setup = spec::resolve(&[(&lowered.kernel, &spec)], &[])?;
    let parsed = Instant::now();

    let looked = Looked {
        options: &options,
        spec: &spec,
        lowered: &lowered,
        limits,
        times: (start, parsed),
    };
    let mut report = looked.judged(&mut setup.clone());
    report = cases::each(&setup, report, |case| Ok(looked.judged(&mut case.clone())))?;
    report.deny(&options.deny);
    Ok(report)
}

/// A kernel that is looked at, apart from the bindings.
struct Looked<'a> {
    options: &'a Options,
    spec: &'a KernelSpec,
    lowered: &'a Lowered,
    limits: Limits,
    /// When it began, and when the file was read.
    times: (Instant, Instant),
}

impl Looked<'_> {
    /// The answer.
    fn judged(&self, setup: &mut Setup) -> Report {
        let Looked {
            options,
            spec,
            lowered,
            limits,
            times: (start, parsed),
        } = *self;
        let deciding = decide::Options {
            limits,
            ..decide::Options::default()
        };
        // Whether bits depend on the schedule is a question of values.
        let without_values = !options.deterministic;
        let run = |setup: &spec::Setup| {
            let subject = subject(lowered, setup, &deciding, without_values);
            match subject.resolved.selection {
                Selection::All => grid::all(&subject),
                Selection::Given => grid::cover(&subject, &[subject.resolved.launch.rank()]),
            }
        };
        let mut covered = run(setup);
        // Bits of computed numbers decide something: again, with numbers that remember how they were made.
        let store = &covered.outcome.store;
        if (store.has_merged() || store.has_flips()) && limits.reached().is_none() {
            setup.kernels[0].launch.trees = Some(0);
            covered = run(setup);
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
        let ran = ran(spec, lowered, resolved);
        let mut found = Found::default();
        found.add(ran, lowered, &covered.outcome);
        let places = decide::bounds::assumed(&covered.outcome, &setup.arrays);
        found.assumptions.extend(places);
        found.warnings.extend(ran.partial(&covered));
        found.warnings.extend(ran.thin(&covered.outcome));
        let (tried, shown) = trial::alone(setup, &covered.outcome, limits, |s| run(s).outcome);
        found.defects.extend(ran.defects(&shown));
        if tried > 0 && shown.is_empty() {
            found.warnings.push(trial::proves_nothing(tried));
        }
        let impossible = decide::bounds::impossible(&covered.outcome, &setup.arrays);
        found.unknown.extend(ran.unknowns(&impossible));
        let missing = ran.missing(&found.unknown);
        found.unknown.extend(missing);
        let verdict = match (found.defects.is_empty(), found.unknown.is_empty()) {
            (false, _) => Verdict::Defective,
            (true, false) => Verdict::Unknown,
            (true, true) => Verdict::Clean,
        };
        let determinism = options.deterministic.then(|| {
            let subject = subject(lowered, setup, &deciding, without_values);
            same_bits(&subject, ran, &covered.outcome, verdict)
        });
        let mut report = Report {
            verdict,
            deterministic: determinism.as_ref().map(|d| d.answer),
            determinism,
            defects: found.defects,
            warnings: found.warnings,
            unknown: found.unknown,
            assumptions: assumptions(setup.assumptions.clone(), found.assumptions),
            looked: ran.looked(&covered.outcome),
            precision: precision(&[Rounds::of(ran, &covered.outcome)], options.precision).0,
            ..report::begin(Command::Race, vec![ran.describe(&covered)], options)
        };
        report.stats.seconds = times(start, parsed, simulated);
        report
    }
}

/// The kernel with its launch.
fn subject<'a>(
    lowered: &'a Lowered,
    setup: &'a Setup,
    deciding: &'a decide::Options,
    without_values: bool,
) -> Subject<'a> {
    Subject {
        kernel: &lowered.kernel,
        resolved: &setup.kernels[0],
        side: Side::Reference,
        arrays: &setup.arrays,
        deciding,
        without_values,
    }
}
