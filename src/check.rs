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
use crate::explain::{self, Counterexample, Decision};
use crate::grid::{Subject, scope};
use crate::input::{self, Files, Lowered};
use crate::report::precision::{Precision, Rounds};
use crate::report::{Entry, Failure, KernelReport, Kind, Ran, Report, Times, Verdict};
use crate::sim::{self, Clean, DefectKind, Outcome, Side, UnknownKind, WarningKind};
use crate::spec::{self, KernelSpec, Layers, Limits, Options, Resolved, Setup, Which};
use crate::trial;

/// Compares two kernels as the layers of settings say.
pub fn check(layers: Layers, files: &Files) -> Result<Report, Failure> {
    let start = Instant::now();
    let options = layers.options()?;
    let specs = [
        input::spec(layers, Which::Reference, files, None)?,
        input::spec(layers, Which::Optimized, files, None)?,
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

/// A pair that was run, with what is left to be decided of it.
struct Simulated {
    found: Found,
    kernels: Vec<KernelReport>,
    precision: Precision,
    /// Something that differs by rounding alone stands for one number.
    merged: bool,
    /// Rounding may turn a test over.
    flips: bool,
    coverage: [decide::Coverage; 2],
    ended: Instant,
}

impl Simulated {
    /// True if bits of computed numbers decide something of which the runs did not remember enough. What is decided
    /// whatever rounding turns over is.
    fn needs_trees(&self, is_decided: bool) -> bool {
        self.merged || self.flips && !is_decided || self.found.unknown.iter().any(is_loose)
    }
}

impl Asked<'_> {
    /// Runs and compares the pair; true with it if bits of computed numbers decide something of which the
    /// runs did not remember enough.
    fn compared(&self, setup: &Setup) -> (Report, bool) {
        let deciding = decide::Options {
            limits: self.limits,
            exact_constants: self.options.exact_constants,
            probabilistic: self.options.probabilistic,
            ..decide::Options::default()
        };
        let subject = |(i, side): (usize, Side)| Subject {
            kernel: &self.lowered[i].kernel,
            resolved: &setup.kernels[i],
            side,
            arrays: &setup.arrays,
            deciding: &deciding,
        };
        let subjects = [(0, Side::Reference), (1, Side::Optimized)].map(subject);
        let (mut simulated, [reference, optimized]) = self.simulated(setup, scope::run(&subjects));
        let clean = [reference.into_clean(true), optimized.into_clean(true)];
        let (decision, tried) = match clean {
            [Ok(reference), Ok(optimized)] => {
                let [a, b] = simulated.coverage;
                let deciding = decide::Options {
                    reference: a,
                    optimized: b,
                    ..deciding
                };
                let d = explain::decide(reference, optimized, &setup.arrays, &deciding);
                simulated.found.add_decision(&d);
                let tried = self.tried_again(&subjects, &simulated, &d);
                (Some(d), tried)
            }
            [Ok(reference), Err(optimized)] if simulated.found.defects.is_empty() => {
                (None, self.tried(&subjects, &reference, &optimized))
            }
            _ => (None, None),
        };
        let told_apart = tried.and_then(|t| simulated.found.add_trial(t));
        for (i, lowered) in self.lowered.iter().enumerate() {
            let ran = ran(&self.specs[i], lowered, &setup.kernels[i]);
            let missing = ran.missing(&simulated.found.unknown);
            simulated.found.unknown.extend(missing);
        }
        let [whatever, otherwise] = [true, false].map(|d| simulated.needs_trees(d));
        let report = self.report(setup, simulated, decision, told_apart);
        let is_open = matches!(report.verdict, Verdict::Unknown | Verdict::Defective);
        (report, if is_open { otherwise } else { whatever })
    }

    /// What the runs found, and what each left.
    fn simulated(&self, setup: &Setup, scope: scope::Scope) -> (Simulated, [Outcome; 2]) {
        let ended = Instant::now();
        let mut found = Found::default();
        let (mut kernels, mut rounds) = (Vec::new(), Vec::new());
        let (mut merged, mut flips) = (false, false);
        let mut i = 0;
        let runs = scope.kernels.map(|covered| {
            let ran = ran(&self.specs[i], &self.lowered[i], &setup.kernels[i]);
            kernels.push(ran.describe(&covered));
            found.warnings.extend(ran.partial(&covered));
            let mut outcome = covered.outcome;
            merged |= outcome.store.has_merged();
            flips |= outcome.store.has_flips();
            if self.options.strict {
                make_strict(&mut outcome);
            }
            found.add(ran, &self.lowered[i], &outcome);
            rounds.push(Rounds::of(ran, &outcome));
            i += 1;
            outcome
        });
        let precision = Precision::new(&rounds, self.options.precision);
        found.warnings.extend(precision.notes());
        let simulated = Simulated {
            found,
            kernels,
            precision,
            merged,
            flips,
            coverage: scope.coverage,
            ended,
        };
        (simulated, runs)
    }

    /// Tries known inputs on a pair.
    fn tried(
        &self,
        subjects: &[Subject<'_>; 2],
        reference: &Clean,
        optimized: &Outcome,
    ) -> Option<trial::Found> {
        let ran = ran(&self.specs[1], &self.lowered[1], subjects[1].resolved);
        trial::run(*subjects, reference, optimized, ran)
    }

    /// The same where rounding, or bits of computed numbers, leave a decision open; the decision has taken
    /// the runs, so that they are made once more.
    fn tried_again(
        &self,
        subjects: &[Subject<'_>; 2],
        simulated: &Simulated,
        decision: &Decision,
    ) -> Option<trial::Found> {
        let unknown = &simulated.found.unknown;
        // Where numbers remember how they were made, nothing more can be known of all inputs.
        let is_last = subjects[0].resolved.launch.trees.is_some() || !simulated.needs_trees(false);
        let loose = !unknown.is_empty() && unknown.iter().all(is_loose);
        if !(decision.by_rounding || loose) || !is_last || self.limits.reached().is_some() {
            return None;
        }
        let [reference, optimized] = scope::run(subjects).kernels;
        let reference = reference.outcome.into_clean(true).ok()?;
        let optimized = optimized.outcome.into_clean(true).ok()?;
        self.tried(subjects, &reference, &optimized)
    }

    /// The answer, by the rank of what was found.
    fn report(
        &self,
        setup: &Setup,
        simulated: Simulated,
        decision: Option<Decision>,
        told_apart: Option<Counterexample>,
    ) -> Report {
        let found = simulated.found;
        let verdict = match &decision {
            _ if !found.defects.is_empty() => Verdict::Defective,
            _ if told_apart.is_some() => Verdict::NotEquivalent,
            Some(d) if d.verdict == explain::Verdict::NotEquivalent => Verdict::NotEquivalent,
            Some(d) if d.verdict == explain::Verdict::Equivalent && found.unknown.is_empty() => {
                Verdict::Equivalent
            }
            _ => Verdict::Unknown,
        };
        let chance = decision.as_ref().and_then(|d| d.chance);
        let (outputs, counterexample, counts) = match decision {
            Some(d) => (d.outputs, d.counterexample.or(told_apart), Some(d.counts)),
            None => (Vec::new(), told_apart, None),
        };
        let (start, parsed) = self.times;
        Report {
            command: "check",
            verdict,
            kernels: simulated.kernels,
            defects: found.defects,
            warnings: found.warnings,
            unknown: found.unknown,
            counterexample,
            outputs,
            assumptions: assumptions(setup.assumptions.clone(), found.assumptions),
            precision: simulated.precision,
            chance,
            counts,
            times: times(start, parsed, simulated.ended),
        }
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
        | WarningKind::UnusedRead
        | WarningKind::OrderedByValue
        | WarningKind::MissingFence => true,
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

    /// What known inputs show stands for all that is open; the input, if it tells outputs apart.
    fn add_trial(&mut self, tried: trial::Found) -> Option<Counterexample> {
        self.warnings.push(trial::note(&self.unknown));
        self.unknown.clear();
        match tried {
            trial::Found::Defects(entries) => {
                self.defects.extend(entries);
                None
            }
            trial::Found::Differs(example, assumed) => {
                self.assumptions.extend(assumed);
                Some(*example)
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
