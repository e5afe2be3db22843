//! From runs to proved formulas, each output for itself.
//!
//! An output has texts by one way after the other: from canonical forms first, then as the kernel computes it. Each
//! text is decided against the kernel, at every size, as `check --formula` does; the first that is proved at all of
//! them is the formula. Where each output has one, all are decided together once more, since that is what a reader
//! gives back. What one output reads may say where others may read, so that what leaves an array alone is decided together
//! with the others too. An output that resists leaves the verdict `unknown`, with the formulas of the others.

use std::time::{Duration, Instant};

use indexmap::IndexSet;

use super::Run;
use super::elements::{Output, Sample, Terms, Way};
use super::joint::Joint;
use super::tree::{Forest, Q};
use crate::answer::{
    Assumption, DecisionCounts, Failure, Finding, Lifted, Outputs, Part, Report, UnknownKind,
    Verdict,
};
use crate::check;
use crate::input::Files;
use crate::spec::launch::Selection;
use crate::spec::{Array, Layers, Limits, Origin, Settings, Setup, Sizes, limits};
use crate::term::ArrayId;
use crate::work;

/// So much time there is in any case, for an answer that says that time is over.
const LEAST: Duration = Duration::from_millis(100);

/// The weight of a formula above which a lighter one is looked for.
const LONG: usize = 40;
/// What each further variable of a sum weighs: a product of two sums is lighter than one sum over both.
const VARIABLE: usize = 16;

/// How much there is to read: letters, and variables of sums.
fn weight(text: &str) -> usize {
    let head = |sum: &str| sum.split(':').next().map_or(0, |h| h.matches(',').count());
    text.len() + VARIABLE * text.split("sum(").skip(1).map(head).sum::<usize>()
}

/// An output with what is known of it.
struct Line {
    array: ArrayId,
    name: String,
    /// Texts that were decided, and not proved.
    tried: Vec<String>,
    /// The first of them that failed only since places that data choose may lie outside.
    unbounded: Option<String>,
    state: State,
}

enum State {
    /// Why there is no formula so far, by the first way that said so; none where nothing was tried.
    Open(Option<Finding<UnknownKind>>),
    /// The formula that is proved at all sizes.
    Proved(String),
}

/// Why a text is not proved.
struct Refusal {
    text: String,
    /// Nothing is open but whether places that data choose lie inside.
    is_place: bool,
}

/// A proof of formulas at one size.
#[derive(Default)]
struct Proof {
    assumptions: Vec<Assumption>,
    decision: Option<DecisionCounts>,
    seconds: f64,
}

/// What all attempts share.
struct Lifting<'a> {
    instances: &'a [Vec<Settings>],
    files: &'a Files,
    sizes: &'a [Sizes],
    setups: Vec<Setup>,
    terms: Vec<Terms>,
    memory: Vec<Option<u64>>,
    /// What each size has left of its time.
    left: Vec<Duration>,
    forest: Forest,
    constants: IndexSet<Q>,
    lines: Vec<Line>,
    /// What the proofs rest on, for each size.
    proofs: Vec<Proof>,
}

/// Lifts the runs together, and proves what comes out at each size.
pub(super) fn settled(
    runs: Vec<Run>,
    instances: &[Vec<Settings>],
    sizes: &[Sizes],
    files: &Files,
) -> Vec<Result<Report, Failure>> {
    let mut reports: Vec<Report> = runs.iter().map(|r| r.report.clone()).collect();
    let mut lifting = Lifting::of(runs, instances, sizes, files);
    for way in [Way::Canonical, Way::Written] {
        for sample in [Sample::Few, Sample::Many] {
            lifting.attempt(way, sample);
        }
    }
    lifting.shorten();
    lifting.bounded_together();
    let whole = lifting.together();
    let texts = lifting.lines.iter().filter_map(Line::formula);
    let texts: Vec<String> = texts.map(str::to_string).collect();
    for (i, report) in reports.iter_mut().enumerate() {
        lifting.tell(report, i);
        if let Err(why) = &whole {
            report.unknown.push(refused(&why.text, &texts.join("; ")));
        }
        let is_whole = whole.is_ok() && lifting.lines.iter().all(|l| l.formula().is_some());
        if is_whole && !lifting.lines.is_empty() {
            report.verdict = Verdict::Lifted;
        }
    }
    reports.into_iter().map(Ok).collect()
}

impl Line {
    fn formula(&self) -> Option<&str> {
        match &self.state {
            State::Proved(text) => Some(text),
            State::Open(_) => None,
        }
    }

    fn is_open(&self) -> bool {
        self.formula().is_none()
    }

    /// True if there is a formula that a person may write more shortly.
    fn is_long(&self) -> bool {
        self.formula().is_some_and(|text| weight(text) >= LONG)
    }

    /// The formula, or what lacks nothing but that places lie inside.
    fn candidate(&self) -> Option<String> {
        self.formula()
            .map(str::to_string)
            .or_else(|| self.unbounded.clone())
    }

    /// Notes why an attempt failed: what is said in the end is of canonical forms, which tell what a value is made of.
    fn failed(&mut self, way: Way, why: Finding<UnknownKind>) {
        if way == Way::Canonical || matches!(self.state, State::Open(None)) {
            self.state = State::Open(Some(why));
        }
    }
}

fn unlifted(name: &str, why: &str) -> Finding<UnknownKind> {
    let message = format!("{name} has no formula: {why}");
    let kind = match limits::ends_with(why) {
        true => UnknownKind::Limit,
        false => UnknownKind::NotLifted,
    };
    Finding::new(Part::Kernel, kind, message)
}

fn refused(why: &str, formula: &str) -> Finding<UnknownKind> {
    let message = format!("a formula was found but not proved: {why}: {formula}");
    Finding::new(Part::Kernel, UnknownKind::Undecided, message)
}

impl<'a> Lifting<'a> {
    fn of(
        runs: Vec<Run>,
        instances: &'a [Vec<Settings>],
        sizes: &'a [Sizes],
        files: &'a Files,
    ) -> Self {
        let left = runs.iter().map(Run::time_left).collect();
        let memory = runs.iter().map(|r| r.options.memory_limit).collect();
        let mut constants: IndexSet<Q> = IndexSet::new();
        let (mut setups, mut terms) = (Vec::new(), Vec::new());
        for run in runs {
            let arrays = &run.setup.arrays;
            terms.push(Terms::of(run.outcome, arrays, &mut constants));
            setups.push(run.setup);
        }
        let mut lines: Vec<Line> = Vec::new();
        for of in &terms {
            let resisting = of.resisting.iter().map(|(a, why)| (*a, Some(why.clone())));
            let open = of.arrays().map(|a| (a, None));
            for (array, why) in resisting.chain(open) {
                if lines.iter().all(|l| l.array != array) {
                    let name = setups[0].arrays[array].name.clone();
                    lines.push(Line {
                        array,
                        tried: Vec::new(),
                        unbounded: None,
                        state: State::Open(why.map(|why| unlifted(&name, &why))),
                        name,
                    });
                }
            }
        }
        lines.sort_by_key(|l| l.array);
        Lifting {
            instances,
            files,
            sizes,
            proofs: setups.iter().map(|_| Proof::default()).collect(),
            setups,
            terms,
            memory,
            left,
            forest: Forest::default(),
            constants,
            lines,
        }
    }

    /// Finds texts by one way for the outputs that are open, and decides them.
    fn attempt(&mut self, way: Way, sample: Sample) {
        /// What an attempt may take of the time that is left, with others after it.
        const SHARE: u32 = 2;
        let is_last = (way, sample) == (Way::Written, Sample::Many);
        if sample == Sample::Few && !self.terms.iter().any(Terms::has_many) {
            return;
        }
        let share = if is_last { 1 } else { SHARE };
        let ends: Vec<Duration> = self.left.iter().map(|l| *l / share).collect();
        let started = Instant::now();
        let units = work::share(share as usize);
        let (found, _) = work::within(units, || self.texts((way, sample), &ends, &Line::is_open));
        for i in 0..self.left.len() {
            self.spend(i, started);
        }
        for (i, texts) in found {
            let texts = match texts {
                Ok(texts) => texts,
                Err(why) => {
                    let finding = unlifted(&self.lines[i].name, &why);
                    self.lines[i].failed(way, finding);
                    continue;
                }
            };
            for text in texts {
                if self.lines[i].tried.contains(&text) {
                    continue;
                }
                let name = self.lines[i].name.clone();
                match self.proved(&text, Some(&name)) {
                    Ok(()) => {
                        self.lines[i].state = State::Proved(text);
                        break;
                    }
                    Err(why) => {
                        let line = &mut self.lines[i];
                        line.failed(way, refused(&why.text, &text));
                        if why.is_place && line.unbounded.is_none() {
                            line.unbounded = Some(text.clone());
                        }
                        line.tried.push(text);
                    }
                }
            }
        }
    }

    /// A canonical form multiplies out, and one term decides what stands in front of a sum. Where the text of what the
    /// kernel computes is shorter, and proved, it is the formula.
    fn shorten(&mut self) {
        let how = (Way::Written, Sample::Many);
        let ends: Vec<Duration> = self.left.iter().map(|l| *l / 4).collect();
        let started = Instant::now();
        let (found, _) = work::within(work::share(4), || self.texts(how, &ends, &Line::is_long));
        for i in 0..self.left.len() {
            self.spend(i, started);
        }
        for (i, texts) in found {
            let name = self.lines[i].name.clone();
            for text in texts.unwrap_or_default() {
                let known = self.lines[i].formula().map_or(0, weight);
                if weight(&text) < known && self.proved(&text, Some(&name)).is_ok() {
                    self.lines[i].state = State::Proved(text);
                }
            }
        }
    }

    /// The texts of each output of which that is asked, by the number of its line.
    fn texts(
        &mut self,
        how: (Way, Sample),
        ends: &[Duration],
        asked: &dyn Fn(&Line) -> bool,
    ) -> Vec<(usize, Result<Vec<String>, String>)> {
        let open: Vec<ArrayId> = self
            .lines
            .iter()
            .filter(|l| asked(l))
            .map(|l| l.array)
            .collect();
        let mut lifted: Vec<Vec<Output>> = Vec::new();
        let mut resisting: Vec<(ArrayId, String)> = Vec::new();
        for (i, terms) in self.terms.iter().enumerate() {
            let limits = Limits {
                deadline: Instant::now().checked_add(ends[i]),
                memory: self.memory[i],
            };
            let is_open = |a: ArrayId| open.contains(&a);
            let arrays = &self.setups[i].arrays;
            let (outputs, errors) = terms.trees(how, &is_open, (arrays, &limits), &mut self.forest);
            lifted.push(outputs);
            resisting.extend(errors);
        }
        let longest = ends.iter().max();
        let limits = Limits {
            deadline: longest.and_then(|e| Instant::now().checked_add(*e)),
            memory: None,
        };
        let arrays: Vec<Vec<Array>> = self.setups.iter().map(|s| s.arrays.0.clone()).collect();
        let taken = self.taken();
        let joint = Joint {
            sizes: self.sizes,
            arrays: &arrays,
            taken: &taken,
            is_part: self.is_part(),
        };
        let mut out = Vec::new();
        for (i, line) in self.lines.iter().enumerate() {
            if !open.contains(&line.array)
                || self
                    .terms
                    .iter()
                    .all(|t| t.arrays().all(|a| a != line.array))
            {
                continue;
            }
            let each: Vec<&Output> = lifted
                .iter()
                .filter_map(|outputs| outputs.iter().find(|o| o.array == line.array))
                .collect();
            let why = resisting.iter().find(|r| r.0 == line.array);
            let texts = match (why, each.len() == lifted.len()) {
                (Some((_, why)), _) => Err(why.clone()),
                (None, false) => Err("it is not written at every size".into()),
                (None, true) => {
                    let forest = &mut self.forest;
                    let texts = || joint.texts(line.array, &each, forest, &self.constants);
                    limits.guarded(texts).unwrap_or_else(|why| Err(why.into()))
                }
            };
            out.push((i, texts));
        }
        out
    }

    /// True if the launch does not run all CTAs.
    fn is_part(&self) -> bool {
        self.setups
            .iter()
            .flat_map(|s| &s.kernels)
            .any(|k| k.selection != Selection::All)
    }

    /// Names of scalars and sizes, which no index may have.
    fn taken(&self) -> Vec<String> {
        let setup = &self.setups[0];
        let numbers = setup.kernels[0].numbers.iter().map(|n| n.label.clone());
        let arrays = || setup.arrays.0.iter();
        let scalars = arrays().filter(|a| a.origin == Origin::Scalar);
        numbers
            .chain(scalars.map(|a| a.name.clone()))
            .chain(self.sizes.iter().flat_map(|s| s.0.keys().cloned()))
            .chain(arrays().map(|a| a.name.clone()))
            .collect()
    }

    /// Takes what went by from the time of a size.
    fn spend(&mut self, size: usize, since: Instant) {
        let spent = since.elapsed();
        self.left[size] = self.left[size].saturating_sub(spent);
        self.proofs[size].seconds += spent.as_secs_f64();
    }

    /// Decides formulas together of which some lack nothing but that places lie inside.
    fn bounded_together(&mut self) {
        let texts: Option<Vec<String>> = self.lines.iter().map(Line::candidate).collect();
        let Some(texts) = texts else { return };
        let is_open = |l: &Line| l.formula().is_none();
        if texts.len() > 1
            && self.lines.iter().any(is_open)
            && self.proved(&texts.join("; "), None).is_ok()
        {
            for (line, text) in self.lines.iter_mut().zip(texts) {
                line.state = State::Proved(text);
            }
        }
    }

    /// Decides all formulas together, where each output has one.
    fn together(&mut self) -> Result<(), Refusal> {
        let texts: Option<Vec<&str>> = self.lines.iter().map(Line::formula).collect();
        match texts {
            Some(texts) if texts.len() > 1 => {
                let text = texts.join("; ");
                self.proved(&text, None)
            }
            _ => Ok(()),
        }
    }

    /// Decides formulas at each size: of one output, or of all.
    fn proved(&mut self, formula: &str, output: Option<&str>) -> Result<(), Refusal> {
        let mut proofs = Vec::new();
        for (i, settings) in self.instances.iter().enumerate() {
            let started = Instant::now();
            let checked = decided(settings, formula, self.left[i], (self.files, output));
            self.spend(i, started);
            match checked {
                Ok(report) if report.verdict == Verdict::Equivalent => proofs.push(report),
                Ok(report) => {
                    let place =
                        |f: &Finding<UnknownKind>| f.kind == UnknownKind::DataDependentAddress;
                    let is_place = report.defects.is_empty()
                        && !report.unknown.is_empty()
                        && report.unknown.iter().all(place);
                    let text = match report.unknown.first() {
                        Some(f) => f.message.clone(),
                        None => "at some input it has another value".to_string(),
                    };
                    return Err(Refusal { text, is_place });
                }
                Err(failure) => {
                    let first = failure.diagnostics.first();
                    let text = first.map_or(String::new(), |d| d.message.clone());
                    let is_place = false;
                    return Err(Refusal { text, is_place });
                }
            }
        }
        for (proof, report) in self.proofs.iter_mut().zip(proofs) {
            Assumption::unite(&mut proof.assumptions, report.assumptions);
            proof.decision = report.stats.decision.or(proof.decision.take());
        }
        Ok(())
    }

    /// Says at one size which outputs were lifted, and which not.
    fn tell(&self, report: &mut Report, size: usize) {
        if self.lines.is_empty() {
            let message = "the kernel writes no array that could have a formula";
            let kind = UnknownKind::NothingToCompare;
            report
                .unknown
                .push(Finding::new(Part::Kernel, kind, message));
        }
        let proved_at: Vec<_> = self.sizes.iter().map(|s| s.0.clone()).collect();
        let mut lifted = Vec::new();
        for l in &self.lines {
            match &l.state {
                State::Proved(formula) => lifted.push(Lifted {
                    name: l.name.clone(),
                    formula: formula.clone(),
                    proved_at: proved_at.clone(),
                    conjectured: self.sizes.len() > 1,
                }),
                State::Open(why) => report.unknown.extend(why.clone()),
            }
        }
        if !lifted.is_empty() {
            let proof = &self.proofs[size];
            report.assumptions.clone_from(&proof.assumptions);
            report.stats.decision.clone_from(&proof.decision);
        }
        let spent = self.proofs[size].seconds;
        report.stats.seconds.decide += spent;
        report.stats.seconds.total += spent;
        report.outputs = Outputs::Lifted(lifted);
    }
}

/// Decides a formula at one size: of one output, or of all.
fn decided(
    settings: &[Settings],
    formula: &str,
    left: Duration,
    (files, output): (&Files, Option<&str>),
) -> Result<Report, Failure> {
    let mut layers = settings.to_vec();
    for s in &mut layers {
        s.optimized = s.kernel.take();
    }
    layers.push(Settings {
        formula: Some(formula.to_string()),
        timeout: Some(left.max(LEAST).as_secs_f64()),
        ..Settings::default()
    });
    let layers: Vec<&Settings> = layers.iter().collect();
    match output {
        Some(output) => check::check_output(Layers(&layers), files, output),
        None => check::check(Layers(&layers), files),
    }
}
