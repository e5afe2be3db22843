//! `volta race`: is this kernel free of races, deadlocks and memory errors?
//!
//! The first half of the pipeline of `check`: parse, lower, resolve, run one CTA, and discharge
//! what the run left open.

use std::time::Instant;

use crate::check::{Found, assumptions, limits, make_strict, ran, times};
use crate::equiv;
use crate::input::{self, Files};
use crate::report::{Failure, Report, Verdict};
use crate::sim::{self, Side};
use crate::spec::{self, Layers, Resolved, Which};

/// Looks at one kernel as the layers of settings say.
pub fn race(layers: Layers, files: &Files) -> Result<Report, Failure> {
    let start = Instant::now();
    let options = layers.options()?;
    let spec = layers.kernel(Which::Kernel)?;
    let limits = limits(&options, start);

    let lowered = input::lower(files, &spec)?;
    let setup = spec::resolve(&[(&lowered.kernel, &spec)], &[])?;
    let parsed = Instant::now();

    let resolved = &setup.kernels[0];
    let Resolved {
        launch,
        bindings,
        arrays,
    } = resolved;
    let mut outcome = sim::run(
        &lowered.kernel,
        launch,
        bindings,
        arrays,
        Side::Reference,
        &limits,
    );
    let simulated = Instant::now();

    let deciding = equiv::Options {
        limits,
        ..equiv::Options::default()
    };
    equiv::discharge(&mut outcome, &setup.arrays, &deciding);
    if options.strict {
        make_strict(&mut outcome);
    }
    let ran = ran(&spec, &lowered, resolved);
    let mut found = Found::default();
    found.add(ran, &lowered, &outcome);
    let verdict = match (found.defects.is_empty(), found.unknown.is_empty()) {
        (false, _) => Verdict::Defective,
        (true, false) => Verdict::Unknown,
        (true, true) => Verdict::Clean,
    };
    Ok(Report {
        command: "race",
        verdict,
        kernels: vec![ran.describe(outcome.stats, outcome.store.len())],
        defects: found.defects,
        warnings: found.warnings,
        unknown: found.unknown,
        counterexample: None,
        outputs: Vec::new(),
        assumptions: assumptions(setup.assumptions, found.assumptions),
        counts: None,
        times: times(start, parsed, simulated),
    })
}
