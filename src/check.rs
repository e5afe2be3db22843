//! `volta check`: are the two kernels equivalent?
//!
//! The driver is the pipeline: parse and lower both kernels, resolve their launches and bindings
//! into one table of arrays, run the CTAs that are asked for and those that they are compared with
//! (`grid::scope`), discharge what the runs left open, and decide only when both runs are clean, which is the type that [`decide::decide`] takes.
//!
//! Verdicts rank as the contract says: an input error, a defect of either kernel, a
//! counterexample, any open question, and only then a proof.

use std::time::Instant;

use crate::decide;
use crate::explain::{self, Decision};
use crate::grid::{Subject, scope};
use crate::input::{self, Files, Lowered};
use crate::report::precision::{Precision, Rounds};
use crate::report::{Entry, Failure, Kind, Ran, Report, Times, Verdict};
use crate::sim::{self, Clean, DefectKind, Outcome, Side, UnknownKind, WarningKind};
use crate::spec::{self, KernelSpec, Layers, Limits, Options, Resolved, Setup, Which};
use crate::trial;

/// Compares two kernels as the layers of settings say.
pub fn check(layers: Layers, files: &Files) -> Result<Report, Failure> {
    let start = Instant::now();
    let options = layers.options()?;
    let specs = [
        layers.kernel(Which::Reference)?,
        layers.kernel(Which::Optimized)?,
    ];
    let limits = limits(&options, start);

    let (reference, optimized) = rayon::join(
        || input::lower(files, &specs[0]),
        || input::lower(files, &specs[1]),
    );
    let lowered = [reference?, optimized?];
    let pair = [
        (&lowered[0].kernel, &specs[0]),
        (&lowered[1].kernel, &specs[1]),
    ];
    let mut setup = spec::resolve(&pair, &options.map)?;
    let parsed = Instant::now();

    let asked = Asked {
        specs: &specs,
        lowered: &lowered,
        options: &options,
        limits,
        times: (start, parsed),
    };
    let (report, needs_trees) = asked.compared(&setup);
    if !needs_trees || limits.reached().is_some() {
        return Ok(report);
    }
    // Bits of computed numbers decide something: again, with numbers that remember how they were made.
    let text = |l: &Lowered| (l.kernel.source.text.clone(), l.kernel.name.clone());
    let same = text(&lowered[0]) == text(&lowered[1]);
    for (i, k) in setup.kernels.iter_mut().enumerate() {
        k.launch.trees = Some(if same { 0 } else { i as u32 });
    }
    Ok(asked.compared(&setup).0)
}

/// A pair that is compared, apart from the bindings.
struct Asked<'a> {
    specs: &'a [KernelSpec; 2],
    lowered: &'a [Lowered; 2],
    options: &'a Options,
    limits: Limits,
    /// When it began, and when the files were read.
    times: (Instant, Instant),
}

impl Asked<'_> {
    /// Runs and compares the pair; true with it if bits of computed numbers decide something of which the
    /// runs did not remember enough.
    fn compared(&self, setup: &Setup) -> (Report, bool) {
        let Asked {
            specs,
            lowered,
            options,
            limits,
            times: (start, parsed),
        } = *self;
        let mut deciding = decide::Options {
            limits,
            exact_constants: options.exact_constants,
            probabilistic: options.probabilistic,
            ..decide::Options::default()
        };
        let running = deciding;
        let subject = |i: usize, side| Subject {
            kernel: &lowered[i].kernel,
            resolved: &setup.kernels[i],
            side,
            arrays: &setup.arrays,
            deciding: &running,
        };
        let scope = scope::run(&[subject(0, Side::Reference), subject(1, Side::Optimized)]);
        let simulated = Instant::now();
        [deciding.reference, deciding.optimized] = scope.coverage;

        let mut found = Found::default();
        let mut kernels = Vec::new();
        let mut clean = Vec::new();
        let mut rounds = Vec::new();
        let (mut merged, mut flips) = (false, false);
        for (i, covered) in scope.kernels.into_iter().enumerate() {
            let ran = ran(&specs[i], &lowered[i], &setup.kernels[i]);
            kernels.push(ran.describe(&covered));
            found.warnings.extend(ran.partial(&covered));
            let mut outcome = covered.outcome;
            merged |= outcome.store.has_merged();
            flips |= outcome.store.has_flips();
            if options.strict {
                make_strict(&mut outcome);
            }
            found.add(ran, &lowered[i], &outcome);
            rounds.push(Rounds::of(ran, &outcome));
            clean.push(outcome.into_clean(true));
        }
        let precision = Precision::new(&rounds, options.precision);
        found.warnings.extend(precision.notes());
        let attempt = |reference: &Clean, optimized: &Outcome| {
            let subjects = [subject(0, Side::Reference), subject(1, Side::Optimized)];
            let ran = ran(&specs[1], &lowered[1], &setup.kernels[1]);
            trial::run(subjects, reference, optimized, ran)
        };
        let mut tried = match &clean[..] {
            [Ok(reference), Err(optimized)] if found.defects.is_empty() => {
                attempt(reference, optimized)
            }
            _ => None,
        };
        let mut decision = None;
        if let (Some(Ok(optimized)), Some(Ok(reference))) = (clean.pop(), clean.pop()) {
            let d = explain::decide(reference, optimized, &setup.arrays, &deciding);
            found.add_decision(&d);
            // Where numbers remember how they were made, nothing more can be known of all inputs.
            let remembers = setup.kernels[0].launch.trees.is_some();
            let is_last = remembers || !merged && !flips && !found.unknown.iter().any(is_loose);
            let loose = !found.unknown.is_empty() && found.unknown.iter().all(is_loose);
            if (d.by_rounding || loose) && is_last && limits.reached().is_none() {
                let again = scope::run(&[subject(0, Side::Reference), subject(1, Side::Optimized)]);
                let [reference, optimized] = again.kernels;
                if let (Ok(reference), Ok(optimized)) = (
                    reference.outcome.into_clean(true),
                    optimized.outcome.into_clean(true),
                ) {
                    tried = attempt(&reference, &optimized);
                }
            }
            decision = Some(d);
        }
        let mut told_apart = None;
        if let Some(t) = tried {
            found.warnings.push(trial::note(&found.unknown));
            found.unknown.clear();
            match t {
                trial::Found::Defects(entries) => found.defects.extend(entries),
                trial::Found::Differs(example, assumed) => {
                    found.assumptions.extend(assumed);
                    told_apart = Some(*example);
                }
            }
        }
        for i in [0, 1] {
            let ran = ran(&specs[i], &lowered[i], &setup.kernels[i]);
            let missing = ran.missing(&found.unknown);
            found.unknown.extend(missing);
        }
        let verdict = match &decision {
            _ if !found.defects.is_empty() => Verdict::Defective,
            _ if told_apart.is_some() => Verdict::NotEquivalent,
            Some(d) if d.verdict == explain::Verdict::NotEquivalent => Verdict::NotEquivalent,
            Some(d) if d.verdict == explain::Verdict::Equivalent && found.unknown.is_empty() => {
                Verdict::Equivalent
            }
            _ => Verdict::Unknown,
        };
        // What holds whatever rounding turns over needs no numbers that remember.
        let is_open = matches!(verdict, Verdict::Unknown | Verdict::Defective);
        let needs_trees = merged || flips && is_open || found.unknown.iter().any(is_loose);
        let chance = decision.as_ref().and_then(|d| d.chance);
        let (outputs, counterexample, counts) = match decision {
            Some(d) => (d.outputs, d.counterexample.or(told_apart), Some(d.counts)),
            None => (Vec::new(), told_apart, None),
        };
        let report = Report {
            command: "check",
            verdict,
            kernels,
            defects: found.defects,
            warnings: found.warnings,
            unknown: found.unknown,
            counterexample,
            outputs,
            assumptions: assumptions(setup.assumptions.clone(), found.assumptions),
            precision,
            chance,
            counts,
            times: times(start, parsed, simulated),
        };
        (report, needs_trees)
    }
}

/// True if it is open because of the bits of a computed number.
fn is_loose(unknown: &Entry) -> bool {
    unknown.kind == UnknownKind::BitsOfRounded.name()
}

/// What the answer rests on: that of the bindings first, each once.
pub(crate) fn assumptions(mut first: Vec<String>, then: Vec<String>) -> Vec<String> {
    for a in then {
        if !first.contains(&a) {
            first.push(a);
        }
    }
    first
}

/// The limits of a run that started at `start`.
pub(crate) fn limits(options: &Options, start: Instant) -> Limits {
    Limits {
        deadline: start.checked_add(options.timeout),
        memory: options.memory_limit,
    }
}

/// Times of the stages from the moments between them, the last stage ending now.
pub(crate) fn times(start: Instant, parsed: Instant, simulated: Instant) -> Times {
    let now = Instant::now();
    Times {
        parse: parsed - start,
        simulate: simulated - parsed,
        decide: now - simulated,
        total: now - start,
    }
}

/// A kernel that was run.
pub(crate) fn ran<'a>(spec: &KernelSpec, lowered: &'a Lowered, resolved: &'a Resolved) -> Ran<'a> {
    Ran {
        which: spec.which,
        kernel: &lowered.kernel,
        launch: &resolved.launch,
        resolved,
    }
}

/// Under `--strict`, unordered writes of equal values are data races.
pub(crate) fn make_strict(outcome: &mut Outcome) {
    make_defects(outcome, is_strict);
}

/// Makes data races of the warnings of some kinds.
pub(crate) fn make_defects(outcome: &mut Outcome, kinds: impl Fn(WarningKind) -> bool) {
    let warnings = std::mem::take(&mut outcome.warnings);
    for w in warnings {
        if kinds(w.kind) {
            outcome.defects.push(sim::Finding {
                kind: DefectKind::DataRace,
                message: w.message,
                count: w.count,
                sites: w.sites,
            });
        } else {
            outcome.warnings.push(w);
        }
    }
}

/// True for warnings that `--strict` makes defects.
fn is_strict(kind: WarningKind) -> bool {
    match kind {
        WarningKind::SameValueWrite
        | WarningKind::RealEqualWrite
        | WarningKind::RealEqualRace
        | WarningKind::UnusedRead => true,
        WarningKind::WriteToInput
        | WarningKind::UninitializedRead
        | WarningKind::UnknownOpcode
        | WarningKind::Residual
        | WarningKind::Note => false,
    }
}

/// Everything that the runs and the decision found, in the order of the kernels.
#[derive(Default)]
pub(crate) struct Found {
    pub defects: Vec<Entry>,
    pub warnings: Vec<Entry>,
    pub unknown: Vec<Entry>,
    pub assumptions: Vec<String>,
}

impl Found {
    /// Adds the findings of one run.
    pub fn add(&mut self, ran: Ran, lowered: &Lowered, outcome: &Outcome) {
        self.warnings.extend(lowered.warnings.iter().cloned());
        self.defects.extend(ran.entries(&outcome.defects));
        self.warnings.extend(ran.entries(&outcome.warnings));
        self.unknown.extend(ran.entries(&outcome.unknowns));
        for a in &outcome.assumptions {
            if !self.assumptions.contains(a) {
                self.assumptions.push(a.clone());
            }
        }
    }

    fn add_decision(&mut self, d: &Decision) {
        let entry = |kind, message: &String, count| Entry {
            kernel: None,
            kind,
            message: message.clone(),
            count,
            sites: Vec::new(),
            difference: None,
        };
        let warnings = d.warnings.iter().map(|(k, m)| entry(k.name(), m, 1));
        self.warnings.extend(warnings);
        let unknown = d.unknowns.iter().map(|u| Entry {
            difference: u.difference.clone(),
            ..entry(u.kind.name(), &u.message, u.count)
        });
        self.unknown.extend(unknown);
        for a in &d.assumptions {
            if !self.assumptions.contains(a) {
                self.assumptions.push(a.clone());
            }
        }
    }
}
