//! `volta check`: are the two kernels equivalent?
//!
//! The driver is the pipeline: parse and lower both kernels, resolve their launches and bindings
//! into one table of arrays, run the CTAs that are asked for and those that they are compared with
//! (`grid::scope`), discharge what the runs left open, and decide only when both runs are clean, which is the type that [`decide::decide`] takes.
//!
//! Verdicts rank as the contract says: an input error, a defect of either kernel, a
//! counterexample, any open question, and only then a proof.

use std::sync::Arc;
use std::time::Instant;

use crate::alone::bound;
use crate::answer::{
    self, Command, Determinism, ErrorKind, Failure, Finding, Outputs, Part, Report, Sides,
    UnknownKind, Values, Verdict,
};
use crate::asked::{Answered, Question};
use crate::bits;
use crate::cases;
use crate::certificate::{self, Draft};
use crate::decide::{self, bounds};
use crate::explain::{self, Counterexample, Decision};
use crate::explore;
use crate::formula;
use crate::found::findings::{Found, Moments, take_defects};
use crate::found::launches::{self, Ran, ran};
use crate::grid::prepared::Runs;
use crate::grid::sequence::Ended;
use crate::grid::{Subject, scope, select};
use crate::input::{self, Files, Lowered, Written};
use crate::kernel::Kernel;
use crate::rounding::confirm::{Confirmed, confirm};
use crate::rounding::measure::measure;
use crate::rounding::range::range;
use crate::rounding::schedules::of_pair;
use crate::rounding::shadow::Shadow;
use crate::rounding::warn::warnings;
use crate::sim::{self, Clean, Outcome, Side};
use crate::spec::{
    Arrays, Domain, KernelSpec, Layers, Limits, Numbered, Options, Resolved, Setup, Which,
};
use crate::term::ArrayId;
use crate::{norm, sass, trial, work};

/// Compares two kernels, or a kernel with a formula, as the layers of settings say.
pub fn check(layers: Layers, files: &Files) -> Result<Report, Failure> {
    check_prepared(layers, files, None)
}

/// The same, where the reference may have been run for another check.
pub fn check_prepared(
    layers: Layers,
    files: &Files,
    prepared: Option<&Runs>,
) -> Result<Report, Failure> {
    check_among(layers, files, prepared, None)
}

/// Which two of some kernels a pair is, each of which is run once for all pairs.
#[derive(Clone, Copy, Debug)]
pub struct Among {
    /// Their numbers.
    pub pair: [u32; 2],
    /// How many kernels there are.
    pub of: u32,
}

/// Compares one output of a kernel, by the name of its array, with a formula of it; the others are left out.
pub fn check_output(layers: Layers, files: &Files, output: &str) -> Result<Report, Failure> {
    checked((layers, files), None, None, Some(output))
}

/// The same of two of several kernels that are compared by their bits.
pub fn check_among(
    layers: Layers,
    files: &Files,
    prepared: Option<&Runs>,
    among: Option<Among>,
) -> Result<Report, Failure> {
    checked((layers, files), prepared, among, None)
}

fn checked(
    (layers, files): (Layers, &Files),
    prepared: Option<&Runs>,
    among: Option<Among>,
    output: Option<&str>,
) -> Result<Report, Failure> {
    counted(layers, || judged((layers, files), prepared, among, output))
}

fn judged(
    (layers, files): (Layers, &Files),
    prepared: Option<&Runs>,
    among: Option<Among>,
    output: Option<&str>,
) -> Result<Report, Failure> {
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
        .map(|&side| input::launches(layers, side, files));
    let specs: Vec<Vec<KernelSpec>> = specs.collect::<Result<_, _>>()?;
    let specs = specs.concat();
    let limits = options.limits(start);
    let alone = [
        (options.rounding > 0, "--rounding"),
        (options.certificate, "--certificate"),
    ];
    if options.certificate && (formula.is_some() || options.bits) {
        let message =
            "a certificate is of two kernels over the reals: neither --formula nor --bits has one";
        return Err(Failure::new(ErrorKind::Usage, message));
    }
    for (_, flag) in alone.into_iter().filter(|(asked, _)| *asked) {
        one_launch_each(&specs, flag)?;
    }

    let (lowered, mut setup) = bound(&specs, &options.map, files)?;
    let parsed = Instant::now();
    if let Some(output) = output {
        // An array of which no part is selected is compared nowhere.
        let others = setup.arrays.0.iter_mut().filter(|a| a.name != output);
        others.for_each(|a| a.only = Some(Arc::from([])));
    }

    if options.bits {
        let same = lowered.iter().all(|l| l.is_one(&lowered[0]));
        if formula.is_some() {
            let message = "bits are those of two kernels: a formula is about real numbers";
            return Err(Failure::new(ErrorKind::Usage, message));
        }
        one_launch_each(&specs, "--bits")?;
        for (i, k) in setup.kernels.iter_mut().enumerate() {
            let pair = among.map_or([0, 1], |a| a.pair);
            k.mode.domain = Domain::Words {
                numbered: Numbered {
                    code: if same { pair[0].min(pair[1]) } else { pair[i] },
                    run: among.map(|a| a.pair[i]),
                    of: among.map_or(2, |a| a.of),
                },
                unfolded: false,
            };
        }
    }
    let built = options.sass.as_ref().map(|target| {
        let both = lowered.iter().zip(&setup.kernels);
        let numbered = both.filter_map(|(l, k)| Some((&l.kernel, k.mode.words()?)));
        sass::pair(&numbered.collect::<Vec<_>>(), target.as_deref())
    });
    let asked = Asked {
        formula: formula.as_ref(),
        built,
        specs: &specs,
        lowered: &lowered,
        options: &options,
        limits,
        times: (start, parsed),
        prepared,
    };
    cases::answer(&Question {
        setup: &setup,
        lowered: &lowered,
        limits,
        may_remember: !options.bits,
        look: |case: &Setup, _: bool| asked.compared(case),
    })
}

/// An error where something is asked of launches of a sequence that only a launch alone can be asked.
pub(crate) fn one_launch_each(specs: &[KernelSpec], flag: &str) -> Result<(), Failure> {
    match specs.iter().all(|s| s.step.is_none()) {
        true => Ok(()),
        false => Err(Failure::new(
            ErrorKind::Usage,
            format!("{flag} is not built for launches in a sequence"),
        )),
    }
}

/// Writes that are equal over the reals only, by different instructions, are a race; an open question where a limit kept
/// the numbers from being run again with how they were made.
pub(crate) fn take_real_equal(outcome: &mut Outcome, forgotten: bool) {
    let races = take_defects(outcome, |k| k == sim::WarningKind::RealEqualRace);
    match forgotten {
        false => outcome.defects.extend(races),
        true => {
            let open = races.into_iter().map(|f| f.of(UnknownKind::Limit));
            outcome.unknowns.extend(open);
        }
    }
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
    /// Where references are kept that were run.
    prepared: Option<&'a Runs>,
    /// What the assembler made of the kernels, if that was asked.
    built: Option<sass::Pair>,
}

/// A pair that was run, with what is left to be decided of it.
struct Simulated<'a> {
    found: Found<'a>,
    /// An integer of the formula may be beyond the type of its element.
    beyond: bool,
    /// Something that differs by rounding alone stands for one number.
    merged: bool,
    /// Rounding may turn a test over.
    flips: bool,
    coverage: [decide::Coverage; 2],
    rounding: Option<answer::Rounding>,
    /// What the launches of each side that has some wrote.
    launches: Vec<(Which, Ended)>,
    ended: Instant,
}

impl Simulated<'_> {
    /// Says that nothing is proved where an integer of the formula may leave the type of its element.
    fn add_beyond(&mut self, decision: &Decision) {
        if self.beyond && decision.verdict == explain::Verdict::Equivalent {
            let message = "an integer of the formula may be beyond the type of its element, which no kernel can write: \
                           say with --assume in which range the inputs lie, or limit it with min and max";
            let open = Finding::new(Part::Reference, UnknownKind::Undecided, message);
            self.found.unknown.push(open);
        }
    }

    /// Measures what rounding does to the outputs.
    fn measure(
        &mut self,
        subjects: &[Subject<'_>],
        (shadow, deterministic): (&Shadow, Sides<Determinism>),
        options: &Options,
    ) {
        let mut rounding = measure(subjects, shadow, (options.rounding, options.seed));
        rounding.deterministic = deterministic;
        self.found.warnings.extend(warnings(&rounding));
        self.rounding = Some(rounding);
    }

    /// True if bits of computed numbers decide something of which the runs did not remember enough. What is decided
    /// whatever rounding turns over is.
    fn needs_trees(&self, is_decided: bool) -> bool {
        self.merged || self.flips && !is_decided || self.found.unknown.iter().any(is_loose)
    }
}

impl Found<'_> {
    /// Adds what the reads at places that data choose come to.
    fn add_bounds(
        &mut self,
        [reference, optimized]: [&[Ran]; 2],
        arrays: &Arrays,
        [a, b]: [&Clean; 2],
        options: &decide::Options,
    ) {
        // A formula has no launches, and its reads are not listed as those of a kernel are.
        if !reference.is_empty() {
            let left_out = bounds::left_out(a, arrays, options);
            self.note(launches::unknowns(reference, &left_out));
        }
        let settled = bounds::settle(a, b, arrays, (options.seed, &options.limits));
        let outcome = Outcome {
            defects: settled.defects,
            unknowns: settled.unknowns,
            assumptions: settled.assumptions,
            ..Outcome::default()
        };
        self.add(optimized, &outcome);
    }
}

impl Asked<'_> {
    /// Runs and compares the pair.
    fn compared(&self, setup: &Setup) -> Result<Answered, Failure> {
        let deciding = decide::Options {
            limits: self.limits,
            exact_constants: self.options.exact_constants,
            masks_are_infinite: self.options.masks_are_infinite,
            probabilistic: self.options.probabilistic,
            ..decide::Options::default()
        };
        let subjects = self.subjects(setup, &deciding);
        let sides = self.sides(&subjects);
        let launches = ran(self.specs, self.lowered, setup);
        let ran = self.sides(&launches);
        // A formula has no launches.
        let optimized_ran = ran.last().copied().unwrap_or_default();
        let (mut simulated, [reference, optimized]) = self.simulated(&ran, self.run(&sides)?);
        let stats = [reference.stats, optimized.stats];
        let clean = [reference.into_clean(true), optimized.into_clean(true)];
        let mut draft = None;
        let (mut decision, tried) = match clean {
            [Ok(reference), Ok(optimized)] => {
                let both = match ran[..] {
                    [reference, optimized] => [reference, optimized],
                    _ => [&[], optimized_ran],
                };
                let clean = [&reference, &optimized];
                let found = &mut simulated.found;
                found.add_bounds(both, &setup.arrays, clean, &deciding);
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
                    let shadow = (self.options.rounding > 0).then(|| {
                        let shadow = Shadow::new(&reference, &setup.arrays);
                        (
                            shadow,
                            of_pair(&subjects, self.lowered, [&reference, &optimized]),
                        )
                    });
                    draft = self
                        .options
                        .certificate
                        .then(|| Draft::new([&reference, &optimized], &setup.arrays));
                    let d = explain::decide(reference, optimized, &setup.arrays, &deciding);
                    simulated.found.add_decision(&d);
                    simulated.add_beyond(&d);
                    let proved = d.verdict == explain::Verdict::Equivalent;
                    if proved && !self.is_sequence() && self.limits.reached().is_none() {
                        simulated.found.warnings.extend(range(&subjects, &stats));
                    }
                    if let Some((shadow, bits)) = shadow.filter(|_| d.counterexample.is_none()) {
                        simulated.measure(&subjects, (&shadow, bits), self.options);
                    }
                    let tried = self.tried_again(&sides, optimized_ran, &simulated, &d);
                    (Some(d), tried)
                }
            }
            [Ok(reference), Err(optimized)]
                if simulated.found.defects.is_empty() && !self.options.bits =>
            {
                let tried = trial::run(&sides, &reference, &optimized, optimized_ran);
                (None, tried)
            }
            _ => (None, None),
        };
        let told_apart = tried.and_then(|t| simulated.found.add_trial(t));
        let example = decision.as_mut().and_then(|d| d.counterexample.take());
        let example = example.or(told_apart).map(|mut e| {
            e.message.push_str(&writers(&simulated.launches, &e));
            e
        });
        let refuted =
            example.and_then(|e| self.confirmed(&subjects, &stats, e, &mut simulated.found));
        simulated.found.miss(&launches);
        let [whatever, otherwise] = [true, false].map(|d| simulated.needs_trees(d));
        let mut report = self.report(setup, simulated, decision, refuted);
        if let Some(built) = &self.built {
            built.tell(&mut report);
        }
        if self.options.certificate {
            let kernels: Vec<&Kernel> = self.lowered.iter().map(|l| &l.kernel).collect();
            report.certificate = Some(certificate::of(draft, &report, setup, &kernels));
        }
        let is_open = matches!(report.verdict, Verdict::Unknown | Verdict::Defective);
        Ok(Answered {
            report: Some(report),
            forgot: if is_open { otherwise } else { whatever },
        })
    }

    /// The launches as they are run, in the order of their specifications.
    fn subjects<'s>(&'s self, setup: &'s Setup, deciding: &'s decide::Options) -> Vec<Subject<'s>> {
        let subject = |i: usize| Subject {
            kernel: self.lowered[i].run_by(&setup.kernels[i].mode),
            resolved: &setup.kernels[i],
            side: match self.specs[i].which {
                Which::Optimized => Side::Optimized,
                Which::Reference | Which::Kernel => Side::Reference,
            },
            arrays: &setup.arrays,
            deciding,
            without_values: false,
        };
        (0..self.specs.len()).map(subject).collect()
    }

    /// Something of each launch, by the sides.
    fn sides<'s, T>(&self, each: &'s [T]) -> Vec<&'s [T]> {
        let which = |s: &KernelSpec| s.which;
        let (mut out, mut rest) = (Vec::new(), each);
        for side in self.specs.chunk_by(|a, b| which(a) == which(b)) {
            let (own, others) = rest.split_at(side.len());
            out.push(own);
            rest = others;
        }
        out
    }

    /// Whether a side is launches one after the other.
    fn is_sequence(&self) -> bool {
        self.specs.iter().any(|s| s.step.is_some())
    }

    /// Compares the bits that two runs leave.
    fn same_bits(
        &self,
        runs: [Clean; 2],
        setup: &Setup,
        options: &decide::Options,
    ) -> bits::Decided {
        let launches = self.lowered.iter().zip(&setup.kernels);
        let numbered = launches.filter_map(|(l, k)| Some((k.mode.words()?.code, &l.kernel)));
        let pair = bits::Pair {
            kernels: numbered.collect(),
            arrays: &setup.arrays,
            options,
            contracts_alike: self.options.contracts_alike,
            settled: self.built.as_ref().map(|b| &b.settled),
        };
        bits::decide(runs, &pair)
    }

    /// Runs the kernels where they are compared, and expands the formula there.
    fn run(&self, sides: &[&[Subject]]) -> Result<scope::Scope, Failure> {
        match (self.formula, sides) {
            (None, &[reference, optimized]) => {
                Ok(scope::run([reference, optimized], self.prepared))
            }
            (Some(written), &[launches]) => {
                scope::against(launches, |wanted| self.expanded(written, launches, wanted))
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
        launches: &[Subject],
        wanted: Option<&select::Elements>,
    ) -> Result<Outcome, Failure> {
        let is_wanted = |array: ArrayId, off: u64, bytes: u64| {
            wanted.is_none_or(|w| {
                let list = w.get(&array).map_or(&[][..], |list| list);
                let next = list.partition_point(|r| r.1 <= off);
                list.get(next).is_some_and(|r| r.0 < off + bytes)
            })
        };
        let of: Vec<(&Kernel, &Resolved)> =
            launches.iter().map(|l| (l.kernel, l.resolved)).collect();
        let of = (&of[..], &self.options.sizes);
        let mut out = formula::expand(&written.formula, of, &is_wanted, self.limits)
            .map_err(|troubles| input::wrong(&written.source, &troubles))?;
        if let Some(launch) = launches.first() {
            bounds::note_premises(&mut out, launch.arrays);
        }
        Ok(out)
    }

    /// What the runs found, and what each left.
    fn simulated<'r>(
        &self,
        ran: &[&[Ran<'r>]],
        scope: scope::Scope,
    ) -> (Simulated<'r>, [Outcome; 2]) {
        let ended = Instant::now();
        let mut found = Found::default();
        let mut ended_sides: Vec<(Which, Ended)> = Vec::new();
        let (mut merged, mut flips, mut beyond) = (false, false, false);
        let mut sides = ran.iter().zip(self.sides(self.lowered));
        let mut formula = self.formula;
        let runs = scope.kernels.map(|mut side| {
            let next = match formula.take() {
                Some(_) => None,
                None => sides.next(),
            };
            let Some((launches, lowered)) = next else {
                beyond |= side.outcome.beyond;
                found.add_formula(&side.outcome);
                return side.outcome;
            };
            merged |= side.outcome.store.has_merged();
            flips |= side.outcome.store.has_flips();
            found.add_side((launches, lowered), &mut side, self.options.strict);
            let outcome = std::mem::take(&mut side.outcome);
            ended_sides.extend(launches.first().map(|l| (l.spec.which, side)));
            outcome
        });
        found.compare_rounds(self.options.precision);
        let simulated = Simulated {
            found,
            beyond,
            merged,
            flips,
            coverage: scope.coverage,
            rounding: None,
            launches: ended_sides,
            ended,
        };
        (simulated, runs)
    }

    /// Tries known inputs where rounding, or bits of computed numbers, leave a decision open; the decision has taken
    /// the runs, so that they are made once more.
    fn tried_again(
        &self,
        sides: &[&[Subject]],
        optimized_ran: &[Ran],
        simulated: &Simulated,
        decision: &Decision,
    ) -> Option<trial::Refuted> {
        let &[reference, optimized] = sides else {
            return None;
        };
        let unknown = &simulated.found.unknown;
        // Where numbers remember how they were made, nothing more can be known of all inputs.
        let remembers = |s: &Subject| s.resolved.mode.made_by().is_some();
        let is_last = reference.iter().all(remembers) || !simulated.needs_trees(false);
        let loose = !unknown.is_empty() && unknown.iter().all(is_loose);
        if !(decision.by_rounding || loose) || !is_last || self.limits.reached().is_some() {
            return None;
        }
        let [a, b] = scope::run([reference, optimized], self.prepared).kernels;
        let a = a.outcome.into_clean(true).ok()?;
        let b = b.outcome.into_clean(true).ok()?;
        trial::run(sides, &a, &b, optimized_ran)
    }

    /// A counterexample with what the machine says of it, if it is one: an input on which the reference has a defect
    /// leaves the pair open.
    fn confirmed(
        &self,
        subjects: &[Subject<'_>],
        stats: &[sim::Stats],
        example: Counterexample,
        found: &mut Found<'_>,
    ) -> Option<answer::Counterexample> {
        // One launch alone is run on numbers.
        let confirmed = match self.limits.reached() {
            None if !self.is_sequence() => confirm(subjects, stats, &example),
            _ => Confirmed::Unknown,
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
        let moments = Moments {
            read: self.times,
            ran: simulated.ended,
        };
        let mut report = Report {
            verdict,
            values: Some(values),
            counterexample,
            outputs: Outputs::Compared(outputs.iter().map(Into::into).collect()),
            probabilistic: chance.as_ref().map(Into::into),
            rounding: simulated.rounding,
            ..found.report((Command::Check, self.options), setup, moments)
        };
        if let Some(f) = self.formula {
            let formula = f.source.text.clone();
            report.reference = Some(answer::Subject::Formula { formula });
        }
        report.stats.decision = counts;
        report
    }
}

/// Which launches of sequences wrote the element that differs, in words.
fn writers(sides: &[(Which, Ended)], c: &Counterexample) -> String {
    let named = |(which, ended): &(Which, Ended)| {
        let launch = ended.writer(c.array, c.offset)?;
        let side = match which {
            Which::Optimized => "optimized kernel",
            Which::Reference | Which::Kernel => "reference",
        };
        Some(format!("launch {launch} of the {side}"))
    };
    let named: Vec<String> = sides.iter().filter_map(named).collect();
    match named.is_empty() {
        true => String::new(),
        false => format!("; {} wrote it last", named.join(" and ")),
    }
}

/// True if it is open because of the bits of a computed number.
fn is_loose(unknown: &Finding<UnknownKind>) -> bool {
    unknown.kind == UnknownKind::BitsOfRounded
}

/// Answers a question within the budget that was given; the answer says what it took, and what of it is denied.
pub(crate) fn counted<R: AsMut<Report>>(
    layers: Layers,
    answer: impl FnOnce() -> Result<R, Failure>,
) -> Result<R, Failure> {
    let options = layers.options()?;
    let (answer, spent) = work::within(options.budget, answer);
    let mut answer = answer?;
    let report = answer.as_mut();
    report.allow(&options.allow);
    report.deny(&options.deny);
    let stats = &mut report.stats;
    (stats.work, stats.runs) = (spent.units, explore::counts(&spent.runs));
    stats.rules = norm::rule_counts(&spent.applied);
    Ok(answer)
}

impl Found<'_> {
    /// Adds what is not known of a formula.
    fn add_formula(&mut self, outcome: &Outcome) {
        self.assume(&outcome.assumptions);
        let unknowns = outcome.unknowns.iter();
        self.unknown.extend(unknowns.map(|u| Finding {
            count: u.count,
            ..Finding::new(Part::Reference, u.kind, &u.message)
        }));
    }

    /// What known inputs show stands for all that is open; the input, if it tells outputs apart.
    fn add_trial(&mut self, tried: trial::Refuted) -> Option<Counterexample> {
        self.warnings.push(trial::note(&self.unknown));
        self.unknown.clear();
        match tried {
            trial::Refuted::Defects(entries) => {
                self.defects.extend(entries);
                None
            }
            trial::Refuted::Differs(example, assumed) => {
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
}
