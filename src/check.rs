//! `volta check`: are the two kernels equivalent?
//!
//! The driver is the pipeline: parse and lower both kernels, resolve their launches and bindings
//! into one table of arrays, run the CTAs that are asked for and those that they are compared with
//! (`grid::scope`), discharge what the runs left open, and decide only when both runs are clean, which is the type that [`decide::decide`] takes.
//!
//! Verdicts rank as the contract says: an input error, a defect of either kernel, a
//! counterexample, any open question, and only then a proof.

use std::time::Instant;

use rayon::prelude::*;

use crate::answer::{
    self, Assumption, Command, DefectKind, ErrorKind, Finding, Outputs, Part, UnknownKind, Values,
    WarningKind,
};
use crate::bits;
use crate::decide::{self, bounds};
use crate::explain::{self, Counterexample, Decision};
use crate::formula;
use crate::grid::{Subject, scope, select};
use crate::input::{self, Files, Lowered, Written};
use crate::kernel::Kernel;
use crate::report::precision::{Rounds, precision};
use crate::report::{self, Described, Failure, Ran, Report, Verdict};
use crate::rounding::confirm::{Confirmed, confirm};
use crate::rounding::measure::measure;
use crate::rounding::shadow::Shadow;
use crate::rounding::warn::warnings;
use crate::sim::{self, Clean, Outcome, Side};
use crate::spec::{self, KernelSpec, Layers, Limits, Options, Resolved, Setup, Which};
use crate::term::ArrayId;
use crate::{cases, trial};

/// Compares two kernels, or a kernel with a formula, as the layers of settings say.
pub fn check(layers: Layers, files: &Files) -> Result<Report, Failure> {
    let start = Instant::now();
    let options = layers.options()?;
    let formula = match layers.formula()? {
        Some(text) => Some(Written::read(&text)?),
        None => None,
    };
    let sides: &[Which] = match formula {
        Some(_) => &[Which::Optimized],
        None => &[Which::Reference, Which::Optimized],
    };
    let specs = sides
        .iter()
        .map(|&side| input::spec(layers, side, files, None));
    let specs: Vec<KernelSpec> = specs.collect::<Result<_, _>>()?;
    let limits = limits(&options, start);

    let lowered = specs.par_iter().map(|spec| input::lower(files, spec));
    let lowered: Vec<Result<Lowered, Failure>> = lowered.collect();
    let lowered: Vec<Lowered> = lowered.into_iter().collect::<Result<_, _>>()?;
    let kernels = lowered.iter().zip(&specs);
    let kernels: Vec<(&Kernel, &KernelSpec)> = kernels.map(|(l, s)| (&l.kernel, s)).collect();
    let mut setup = spec::resolve(&kernels, &options.map)?;
    let parsed = Instant::now();

    if options.bits {
        let same = is_one_kernel(&lowered);
        if formula.is_some() {
            let message = "bits are those of two kernels: a formula is about real numbers";
            return Err(Failure::new(ErrorKind::Usage, message));
        }
        for (i, k) in setup.kernels.iter_mut().enumerate() {
            k.launch.words = Some(if same { 0 } else { i as u32 });
        }
    }
    let asked = Asked {
        formula: formula.as_ref(),
        specs: &specs,
        lowered: &lowered,
        options: &options,
        limits,
        times: (start, parsed),
    };
    let report = asked.judged(&mut setup.clone())?;
    cases::each(&setup, report, |case| asked.judged(&mut case.clone()))
}

/// True if all of them are one entry of one text.
fn is_one_kernel(all: &[Lowered]) -> bool {
    let text = |l: &Lowered| (l.kernel.source.text.clone(), l.kernel.name.clone());
    all.iter().all(|l| text(l) == text(&all[0]))
}

/// A pair that is compared, apart from the bindings.
struct Asked<'a> {
    /// The reference, if it is no kernel.
    formula: Option<&'a Written>,
    /// The kernels, a reference that is one first.
    specs: &'a [KernelSpec],
    lowered: &'a [Lowered],
    options: &'a Options,
    limits: Limits,
    /// When it began, and when the files were read.
    times: (Instant, Instant),
}

/// A pair that was run, with what is left to be decided of it.
struct Simulated {
    found: Found,
    kernels: Vec<Described>,
    precision: answer::Precision,
    /// Something that differs by rounding alone stands for one number.
    merged: bool,
    /// Rounding may turn a test over.
    flips: bool,
    coverage: [decide::Coverage; 2],
    looked: Vec<answer::coverage::Looked>,
    rounding: Option<answer::Rounding>,
    ended: Instant,
}

impl Simulated {
    /// Measures what rounding does to the outputs.
    fn measure(&mut self, subjects: &[Subject<'_>], shadow: &Shadow, options: &Options) {
        let rounding = measure(subjects, shadow, (options.rounding, options.seed));
        self.found.warnings.extend(warnings(&rounding));
        self.rounding = Some(rounding);
    }

    /// True if bits of computed numbers decide something of which the runs did not remember enough. What is decided
    /// whatever rounding turns over is.
    fn needs_trees(&self, is_decided: bool) -> bool {
        self.merged || self.flips && !is_decided || self.found.unknown.iter().any(is_loose)
    }
}

impl Found {
    /// Adds what the reads at places that data choose come to.
    fn add_bounds(&mut self, asked: &Asked<'_>, setup: &Setup, [a, b]: [&Clean; 2]) {
        let settled = bounds::settle(a, b, &setup.arrays, decide::Options::default().seed);
        let outcome = Outcome {
            defects: settled.defects,
            unknowns: settled.unknowns,
            assumptions: settled.assumptions,
            ..Outcome::default()
        };
        // The optimized kernel is the only one beside a formula.
        let last = asked.lowered.len() - 1;
        let ran = ran(
            &asked.specs[last],
            &asked.lowered[last],
            &setup.kernels[last],
        );
        self.add(ran, &asked.lowered[last], &outcome);
    }
}

impl Asked<'_> {
    /// The answer, with as much of how numbers were made as it takes.
    fn judged(&self, setup: &mut Setup) -> Result<Report, Failure> {
        let (report, needs_trees) = self.compared(setup)?;
        if !needs_trees || self.options.bits || self.limits.reached().is_some() {
            return Ok(report);
        }
        // Bits of computed numbers decide something: again, with numbers that remember how they were made.
        let same = is_one_kernel(self.lowered);
        for (i, k) in setup.kernels.iter_mut().enumerate() {
            k.launch.trees = Some(if same { 0 } else { i as u32 });
        }
        Ok(self.compared(setup)?.0)
    }

    /// Runs and compares the pair; true with it if bits of computed numbers decide something of which the
    /// runs did not remember enough.
    fn compared(&self, setup: &Setup) -> Result<(Report, bool), Failure> {
        let deciding = decide::Options {
            limits: self.limits,
            exact_constants: self.options.exact_constants,
            probabilistic: self.options.probabilistic,
            ..decide::Options::default()
        };
        let subject = |i: usize| Subject {
            kernel: &self.lowered[i].kernel,
            resolved: &setup.kernels[i],
            side: match self.specs[i].which {
                Which::Optimized => Side::Optimized,
                Which::Reference | Which::Kernel => Side::Reference,
            },
            arrays: &setup.arrays,
            deciding: &deciding,
            without_values: false,
        };
        let subjects: Vec<Subject> = (0..self.specs.len()).map(subject).collect();
        let (mut simulated, [reference, optimized]) = self.simulated(setup, self.run(&subjects)?);
        let stats = [reference.stats, optimized.stats];
        let clean = [reference.into_clean(true), optimized.into_clean(true)];
        let (mut decision, tried) = match clean {
            [Ok(reference), Ok(optimized)] => {
                simulated
                    .found
                    .add_bounds(self, setup, [&reference, &optimized]);
                let [a, b] = simulated.coverage;
                let deciding = decide::Options {
                    reference: a,
                    optimized: b,
                    ..deciding
                };
                if self.options.bits {
                    let d = self.same_bits([reference, optimized], setup, &deciding);
                    simulated.found.add_decision(&d.decision);
                    simulated.found.add_sites(d.sites);
                    (Some(d.decision), None)
                } else {
                    let shadow =
                        (self.options.rounding > 0).then(|| Shadow::new(&reference, &setup.arrays));
                    let d = explain::decide(reference, optimized, &setup.arrays, &deciding);
                    simulated.found.add_decision(&d);
                    if let Some(shadow) = shadow.filter(|_| d.counterexample.is_none()) {
                        simulated.measure(&subjects, &shadow, self.options);
                    }
                    let tried = self.tried_again(&subjects, &simulated, &d);
                    (Some(d), tried)
                }
            }
            [Ok(reference), Err(optimized)]
                if simulated.found.defects.is_empty() && !self.options.bits =>
            {
                (None, self.tried(&subjects, &reference, &optimized))
            }
            _ => (None, None),
        };
        let told_apart = tried.and_then(|t| simulated.found.add_trial(t));
        let example = decision.as_mut().and_then(|d| d.counterexample.take());
        let example = example.or(told_apart);
        let refuted =
            example.and_then(|e| self.confirmed(&subjects, &stats, e, &mut simulated.found));
        for (i, lowered) in self.lowered.iter().enumerate() {
            let ran = ran(&self.specs[i], lowered, &setup.kernels[i]);
            let missing = ran.missing(&simulated.found.unknown);
            simulated.found.unknown.extend(missing);
        }
        let [whatever, otherwise] = [true, false].map(|d| simulated.needs_trees(d));
        let report = self.report(setup, simulated, decision, refuted);
        let is_open = matches!(report.verdict, Verdict::Unknown | Verdict::Defective);
        Ok((report, if is_open { otherwise } else { whatever }))
    }

    /// Compares the bits that two runs leave.
    fn same_bits(
        &self,
        runs: [Clean; 2],
        setup: &Setup,
        options: &decide::Options,
    ) -> bits::Decided {
        let last = self.lowered.len() - 1;
        let pair = bits::Pair {
            kernels: [&self.lowered[0].kernel, &self.lowered[last].kernel],
            arrays: &setup.arrays,
            options,
            contracts_alike: self.options.contracts_alike,
        };
        bits::decide(runs, &pair)
    }

    /// Runs the kernels where they are compared, and expands the formula there.
    fn run(&self, subjects: &[Subject]) -> Result<scope::Scope, Failure> {
        match (self.formula, subjects) {
            (None, [reference, optimized]) => Ok(scope::run(&[*reference, *optimized])),
            (Some(written), [kernel]) => {
                scope::against(kernel, |wanted| self.expanded(written, kernel, wanted))
            }
            _ => Err(Failure::new(
                ErrorKind::Internal,
                "a check is of two kernels, or of one and a formula",
            )),
        }
    }

    /// The elements of the formula: all, or those that are asked for.
    fn expanded(
        &self,
        written: &Written,
        kernel: &Subject,
        wanted: Option<&select::Elements>,
    ) -> Result<Outcome, Failure> {
        let is_wanted = |array: ArrayId, off: u64, bytes: u64| {
            wanted.is_none_or(|w| {
                let list = w.get(&array).map_or(&[][..], |list| list);
                let next = list.partition_point(|r| r.1 <= off);
                list.get(next).is_some_and(|r| r.0 < off + bytes)
            })
        };
        let of = (kernel.kernel, kernel.resolved, &self.options.sizes);
        formula::expand(&written.formula, of, &is_wanted, self.limits)
            .map_err(|troubles| input::wrong(&written.source, &troubles))
    }

    /// What the runs found, and what each left.
    fn simulated(&self, setup: &Setup, scope: scope::Scope) -> (Simulated, [Outcome; 2]) {
        let ended = Instant::now();
        let mut found = Found::default();
        let (mut kernels, mut rounds) = (Vec::new(), Vec::new());
        let (mut merged, mut flips) = (false, false);
        let mut looked = Vec::new();
        let mut i = 0;
        let mut formula = self.formula;
        let runs = scope.kernels.map(|covered| {
            if formula.take().is_some() {
                found.add_formula(&covered.outcome);
                return covered.outcome;
            }
            let ran = ran(&self.specs[i], &self.lowered[i], &setup.kernels[i]);
            kernels.push(ran.describe(&covered));
            found.warnings.extend(ran.partial(&covered));
            found.warnings.extend(ran.thin(&covered.outcome));
            looked.extend(ran.looked(&covered.outcome));
            let mut outcome = covered.outcome;
            merged |= outcome.store.has_merged();
            flips |= outcome.store.has_flips();
            // What `--strict` makes defects leaves the values known, so that they are still compared.
            let strict = match self.options.strict {
                true => make_strict(&mut outcome),
                false => Vec::new(),
            };
            found.add(ran, &self.lowered[i], &outcome);
            found.defects.extend(ran.defects(&strict));
            rounds.push(Rounds::of(ran, &outcome));
            i += 1;
            outcome
        });
        let (precision, narrower) = precision(&rounds, self.options.precision);
        found.warnings.extend(narrower);
        let simulated = Simulated {
            found,
            kernels,
            precision,
            merged,
            flips,
            coverage: scope.coverage,
            looked,
            rounding: None,
            ended,
        };
        (simulated, runs)
    }

    /// Tries known inputs on a pair.
    fn tried(
        &self,
        subjects: &[Subject<'_>],
        reference: &Clean,
        optimized: &Outcome,
    ) -> Option<trial::Found> {
        let subjects: &[Subject; 2] = subjects.try_into().ok()?;
        let ran = ran(&self.specs[1], &self.lowered[1], subjects[1].resolved);
        trial::run(*subjects, reference, optimized, ran)
    }

    /// The same where rounding, or bits of computed numbers, leave a decision open; the decision has taken
    /// the runs, so that they are made once more.
    fn tried_again(
        &self,
        subjects: &[Subject<'_>],
        simulated: &Simulated,
        decision: &Decision,
    ) -> Option<trial::Found> {
        let subjects: &[Subject; 2] = subjects.try_into().ok()?;
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

    /// A counterexample with what the machine says of it, if it is one: an input on which the reference has a defect
    /// leaves the pair open.
    fn confirmed(
        &self,
        subjects: &[Subject<'_>],
        stats: &[sim::Stats],
        example: Counterexample,
        found: &mut Found,
    ) -> Option<answer::Counterexample> {
        let confirmed = match self.limits.reached() {
            None => confirm(subjects, stats, &example),
            Some(_) => Confirmed::Unknown,
        };
        let machine = match confirmed {
            Confirmed::Ran(machine) => Some(machine),
            Confirmed::Unknown => None,
            Confirmed::Undefined(defect) => {
                let message = format!(
                    "on the input that tells the kernels apart ({}) the reference has a defect: {defect}",
                    example.message
                );
                let kind = UnknownKind::Undefined;
                found.unknown.push(Finding::new(Part::Pair, kind, message));
                return None;
            }
        };
        Some(answer::Counterexample {
            machine,
            ..example.into()
        })
    }

    /// The answer, by the rank of what was found.
    fn report(
        &self,
        setup: &Setup,
        simulated: Simulated,
        decision: Option<Decision>,
        counterexample: Option<answer::Counterexample>,
    ) -> Report {
        let found = simulated.found;
        let verdict = match &decision {
            _ if !found.defects.is_empty() => Verdict::Defective,
            _ if counterexample.is_some() => Verdict::NotEquivalent,
            Some(d) if d.verdict == explain::Verdict::Equivalent && found.unknown.is_empty() => {
                Verdict::Equivalent
            }
            _ => Verdict::Unknown,
        };
        let proved = decision.as_ref().map(|d| d.verdict) == Some(explain::Verdict::Equivalent);
        let counts = decision.as_ref().map(|d| (&d.counts).into());
        let chance = decision.as_ref().and_then(|d| d.chance);
        let outputs = decision.map_or_else(Vec::new, |d| d.outputs);
        let values = match &counterexample {
            Some(_) => Values::Different,
            None if proved && found.unknown.is_empty() => Values::Equal,
            None => Values::Unknown,
        };
        let (start, parsed) = self.times;
        let mut report = Report {
            verdict,
            values: Some(values),
            defects: found.defects,
            warnings: found.warnings,
            unknown: found.unknown,
            counterexample,
            outputs: Outputs::Compared(outputs.iter().map(Into::into).collect()),
            probabilistic: chance.as_ref().map(Into::into),
            assumptions: assumptions(setup.assumptions.clone(), found.assumptions),
            precision: simulated.precision,
            looked: simulated.looked,
            rounding: simulated.rounding,
            ..report::begin(Command::Check, simulated.kernels, self.options)
        };
        if let Some(f) = self.formula {
            let formula = f.source.text.clone();
            report
                .subjects
                .put(Part::Reference, answer::Subject::Formula { formula });
        }
        report.stats.decision = counts;
        report.stats.seconds = times(start, parsed, simulated.ended);
        report.deny(&self.options.deny);
        report
    }
}

/// True if it is open because of the bits of a computed number.
fn is_loose(unknown: &Finding<UnknownKind>) -> bool {
    unknown.kind == UnknownKind::BitsOfRounded
}

/// What the answer rests on: that of the bindings first, each once.
pub(crate) fn assumptions(mut first: Vec<Assumption>, then: Vec<Assumption>) -> Vec<Assumption> {
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
pub(crate) fn times(start: Instant, parsed: Instant, simulated: Instant) -> answer::Seconds {
    let now = Instant::now();
    answer::Seconds {
        parse: (parsed - start).as_secs_f64(),
        simulate: (simulated - parsed).as_secs_f64(),
        decide: (now - simulated).as_secs_f64(),
        total: (now - start).as_secs_f64(),
    }
}

/// A kernel that was run.
pub(crate) fn ran<'a>(
    spec: &'a KernelSpec,
    lowered: &'a Lowered,
    resolved: &'a Resolved,
) -> Ran<'a> {
    Ran {
        spec,
        kernel: &lowered.kernel,
        launch: &resolved.launch,
        resolved,
    }
}

/// Takes the warnings that `--strict` makes defects out of an outcome, as defects.
pub(crate) fn make_strict(outcome: &mut Outcome) -> Vec<sim::Finding<DefectKind>> {
    take_defects(outcome, |k| k.named().is_strict())
}

/// Takes the warnings of some kinds out of an outcome, as data races.
pub(crate) fn take_defects(
    outcome: &mut Outcome,
    kinds: impl Fn(sim::WarningKind) -> bool,
) -> Vec<sim::Finding<DefectKind>> {
    let warnings = std::mem::take(&mut outcome.warnings);
    let (defects, warnings) = warnings.into_iter().partition(|w| kinds(w.kind));
    outcome.warnings = warnings;
    let defect = |w: sim::Finding<sim::WarningKind>| sim::Finding {
        kind: DefectKind::DataRace,
        message: w.message,
        count: w.count,
        sites: w.sites,
    };
    let defects: Vec<_> = defects;
    defects.into_iter().map(defect).collect()
}

/// Everything that the runs and the decision found, in the order of the kernels.
#[derive(Default)]
pub(crate) struct Found {
    pub defects: Vec<Finding<DefectKind>>,
    pub warnings: Vec<Finding<WarningKind>>,
    pub unknown: Vec<Finding<UnknownKind>>,
    pub assumptions: Vec<Assumption>,
}

impl Found {
    /// Adds the findings of one run.
    pub fn add(&mut self, ran: Ran, lowered: &Lowered, outcome: &Outcome) {
        self.warnings.extend(lowered.warnings.iter().cloned());
        self.defects.extend(ran.defects(&outcome.defects));
        self.warnings.extend(ran.warnings(&outcome.warnings));
        self.unknown.extend(ran.unknowns(&outcome.unknowns));
        for a in &outcome.assumptions {
            if !self.assumptions.contains(a) {
                self.assumptions.push(a.clone());
            }
        }
    }

    /// Adds what is not known of a formula.
    fn add_formula(&mut self, outcome: &Outcome) {
        self.assumptions.extend(outcome.assumptions.iter().cloned());
        self.unknown
            .extend(outcome.unknowns.iter().map(|u| Finding {
                count: u.count,
                ..Finding::new(Part::Reference, u.kind, &u.message)
            }));
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

    /// Where elements that stay open differ first.
    fn add_sites(&mut self, sites: Vec<answer::Site>) {
        let order = [UnknownKind::DifferentOrder, UnknownKind::Contraction];
        if let Some(u) = self.unknown.iter_mut().find(|u| order.contains(&u.kind)) {
            u.sites = sites;
        }
    }

    fn add_decision(&mut self, d: &Decision) {
        let warnings = d.warnings.iter();
        let warning = |(k, m): &(sim::WarningKind, String)| Finding::new(Part::Pair, k.named(), m);
        self.warnings.extend(warnings.map(warning));
        let unknown = d.unknowns.iter().map(|u| Finding {
            difference: u.difference.clone(),
            count: u.count,
            ..Finding::new(Part::Pair, u.kind, &u.message)
        });
        self.unknown.extend(unknown);
        for a in &d.assumptions {
            if !self.assumptions.contains(a) {
                self.assumptions.push(a.clone());
            }
        }
    }
}
