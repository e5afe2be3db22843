//! `volta lift`: what a kernel computes, as formulas.
//!
//! Problem: from the values of all elements of an output, as terms, back to a line of mathematics. The way: the launch
//! is run as for a `check`, at every size that was asked for; the canonical forms of the elements become trees
//! (`elements`, `canon`, `tree`); all trees of an output are one family, which is generalised to one expression
//! (`unify`, with `linear` for indices and `region` for ranges and guards); known expressions get their names
//! (`rules`); `print` writes the grammar of `--formula`. Then the text is parsed, expanded and decided against the
//! kernel at each size, by the code of `check`.
//!
//! Sound: everything before that decision is a guess, and nothing is claimed of a formula that is not proved. So
//! no rule here has to be right for a verdict to be. Between the sizes that were run nothing is proved, and
//! the answer says so. The source of the problem is "Verified lifting of deep learning operators"; this differs in that
//! the formula is read off the values and not searched for.
//!
//! Not claimed: that a formula is the shortest one, or that there is none where this says `unknown`.

use std::rc::Rc;
use std::slice::from_ref;
use std::time::{Duration, Instant};

use indexmap::IndexSet;

mod canon;
mod columns;
mod elements;
mod expr;
mod extremum;
mod guards;
mod linear;
mod numbers;
mod places;
mod print;
mod region;
pub mod rules;
mod tree;
mod unify;

use elements::Output;
use expr::Expr;
use linear::{Linear, Material};
use print::Names;
use tree::{Forest, Q};
use unify::{Family, Unifier};

use crate::alone::{Alone, asked};
use crate::answer::{Command, ErrorKind, Finding, Lifted, Outputs, Part, UnknownKind};
use crate::check::{self, Found, assumptions, limits, times};
use crate::decide;
use crate::grid::sequence::Ended;
use crate::input::Files;
use crate::instances;
use crate::report::{self, Answer, AtSize, Failure, Report, Verdict};
use crate::sim::Outcome;
use crate::spec::{self, Layers, Options, Settings, Setup, Sizes};
use crate::term::ArrayId;

/// Elements that a formula may name: one that has more spells the kernel out.
const MAX_READS: usize = 48;

/// A launch that was run.
struct Run {
    options: Options,
    setup: Setup,
    outcome: Outcome,
    /// The answer, with what is known before anything is lifted.
    report: Report,
}

/// The formulas of a kernel, from its runs at some sizes.
pub fn lift(instances: &[Vec<Settings>], files: &Files) -> Result<Answer, Failure> {
    let mut runs = Vec::new();
    for settings in instances {
        let layers: Vec<&Settings> = settings.iter().collect();
        runs.push(run(Layers(&layers), files));
    }
    let sizes: Vec<Sizes> = instances
        .iter()
        .map(|i| Layers(&i.iter().collect::<Vec<_>>()).sizes())
        .collect();
    let good = runs.iter().all(|r| r.as_ref().is_ok_and(|r| r.is_open()));
    let results: Vec<Result<Report, Failure>> = match good {
        false => runs.into_iter().map(|r| r.map(|r| r.report)).collect(),
        true => {
            let runs: Vec<Run> = runs.into_iter().collect::<Result<_, _>>()?;
            settled(runs, instances, &sizes, files)
        }
    };
    let mut parts = sizes
        .into_iter()
        .zip(results)
        .map(|(sizes, result)| AtSize {
            sizes,
            result: result.map(Answer::from),
        });
    match instances.len() {
        1 => match parts.next() {
            Some(one) => one.result,
            None => Err(Failure::new(ErrorKind::Internal, "an instance was lost")),
        },
        _ => instances::merge("lift", parts.collect()),
    }
}

impl Run {
    /// What the run has left of its time.
    fn time_left(&self) -> Duration {
        /// So much there is in any case, for an answer that says that time is over.
        const LEAST: Duration = Duration::from_millis(100);
        let spent = Duration::try_from_secs_f64(self.report.stats.seconds.total);
        let left = self
            .options
            .timeout
            .saturating_sub(spent.unwrap_or_default());
        left.max(LEAST)
    }

    /// True if nothing is wrong with the run itself.
    fn is_open(&self) -> bool {
        self.report.defects.is_empty() && self.report.unknown.is_empty()
    }
}

/// Runs the kernel at one size.
fn run(layers: Layers, files: &Files) -> Result<Run, Failure> {
    let start = Instant::now();
    let options = layers.options()?;
    let limits = limits(&options, start);
    let alone = Alone::read(layers, None, files)?;
    let parsed = Instant::now();
    let deciding = decide::Options {
        limits,
        ..decide::Options::default()
    };
    let side = Ended::from(asked(&alone.subject(&deciding)));
    let simulated = Instant::now();
    let launches = alone.ran();
    let mut found = Found::default();
    found.add_side(&launches, from_ref(&alone.lowered), &side);
    found.add(&launches, &side.outcome);
    for ran in &launches {
        let missing = ran.missing(&found.unknown);
        found.unknown.extend(missing);
    }
    let described = vec![report::launches::describe(&launches, &side)];
    let verdict = match found.defects.is_empty() {
        false => Verdict::Defective,
        true => Verdict::Unknown,
    };
    let mut report = Report {
        verdict,
        defects: found.defects,
        warnings: found.warnings,
        unknown: found.unknown,
        assumptions: assumptions(alone.setup.assumptions.clone(), found.assumptions),
        outputs: Outputs::Lifted(Vec::new()),
        ..report::begin(Command::Lift, described, &options)
    };
    report.stats.seconds = times(start, parsed, simulated);
    report.deny(&options.deny);
    let outcome = side.outcome;
    Ok(Run {
        options,
        setup: alone.setup,
        outcome,
        report,
    })
}

/// A formula of an output, or why there is none.
struct Line {
    array: ArrayId,
    name: String,
    /// Texts in the order in which they are to be tried.
    texts: Result<Vec<String>, String>,
}

/// Lifts the runs together, and proves what came out at each size.
fn settled(
    runs: Vec<Run>,
    instances: &[Vec<Settings>],
    sizes: &[Sizes],
    files: &Files,
) -> Vec<Result<Report, Failure>> {
    let mut reports: Vec<Report> = runs.iter().map(|r| r.report.clone()).collect();
    let left: Vec<Duration> = runs.iter().map(Run::time_left).collect();
    let lines = lines(runs, sizes);
    let resisting: Vec<&Line> = lines.iter().filter(|l| l.texts.is_err()).collect();
    if lines.is_empty() || !resisting.is_empty() {
        for r in &mut reports {
            unlifted(r, &lines);
        }
        return reports.into_iter().map(Ok).collect();
    }
    let rounds = lines
        .iter()
        .filter_map(|l| l.texts.as_ref().ok())
        .map(Vec::len)
        .max();
    let mut last = Vec::new();
    for round in 0..rounds.unwrap_or(0) {
        let text = |l: &Line| {
            let texts = l.texts.as_deref().unwrap_or_default();
            texts
                .get(round)
                .or(texts.last())
                .cloned()
                .unwrap_or_default()
        };
        let formula: Vec<String> = lines.iter().map(text).collect();
        let checked = instances
            .iter()
            .zip(&left)
            .map(|(i, &left)| proved(i, &formula.join("; "), left, files));
        let checked: Vec<Result<Report, Failure>> = checked.collect();
        let is_last = round + 1 == rounds.unwrap_or(0);
        let is_proved = |r: &Result<Report, Failure>| {
            r.as_ref().is_ok_and(|r| r.verdict == Verdict::Equivalent)
        };
        if is_last || checked.iter().all(is_proved) {
            let at = checked.iter().zip(sizes).filter(|(c, _)| is_proved(c));
            let at: Vec<Sizes> = at.map(|(_, s)| s.clone()).collect();
            last = checked
                .into_iter()
                .zip(reports)
                .map(|(c, r)| Ok(answered(c, r, (&lines, &formula), &at)))
                .collect();
            break;
        }
    }
    last
}

/// Decides a formula at one size.
fn proved(
    settings: &[Settings],
    formula: &str,
    left: Duration,
    files: &Files,
) -> Result<Report, Failure> {
    let mut layers = settings.to_vec();
    for s in &mut layers {
        s.optimized = s.kernel.take();
    }
    layers.push(Settings {
        formula: Some(formula.to_string()),
        timeout: Some(left.as_secs_f64()),
        ..Settings::default()
    });
    let layers: Vec<&Settings> = layers.iter().collect();
    check::check(Layers(&layers), files)
}

/// The answer at one size to what a check of the formulas found.
fn answered(
    checked: Result<Report, Failure>,
    own: Report,
    (lines, formula): (&[Line], &[String]),
    sizes: &[Sizes],
) -> Report {
    let mut out = own;
    let refused = |why: &str| {
        let message = format!(
            "a formula was found but not proved: {why}: {}",
            formula.join("; ")
        );
        Finding::new(Part::Kernel, UnknownKind::Undecided, message)
    };
    match checked {
        Err(failure) => {
            let why = failure
                .diagnostics
                .first()
                .map_or(String::new(), |d| d.message.clone());
            out.unknown.push(refused(&why));
        }
        Ok(report) if report.verdict == Verdict::Equivalent => {
            out.verdict = Verdict::Lifted;
            out.assumptions = report.assumptions;
            out.stats.decision = report.stats.decision;
            out.stats.seconds.decide += report.stats.seconds.total;
            out.stats.seconds.total += report.stats.seconds.total;
            let proved_at = sizes.iter().map(|s| s.0.clone()).collect::<Vec<_>>();
            let lifted = lines.iter().zip(formula).map(|(l, f)| Lifted {
                name: l.name.clone(),
                formula: f.clone(),
                proved_at: proved_at.clone(),
                conjectured: sizes.len() > 1,
            });
            out.outputs = Outputs::Lifted(lifted.collect());
        }
        Ok(report) => {
            let why = match report.unknown.first() {
                Some(f) => f.message.clone(),
                None => "at some input it has another value".to_string(),
            };
            out.verdict = Verdict::Unknown;
            out.unknown.push(refused(&why));
        }
    }
    out
}

/// Says which outputs were lifted, and which not.
fn unlifted(report: &mut Report, lines: &[Line]) {
    if lines.is_empty() {
        let message = "the kernel writes no array that could have a formula";
        let kind = UnknownKind::NothingToCompare;
        report
            .unknown
            .push(Finding::new(Part::Kernel, kind, message));
    }
    for l in lines {
        if let Err(why) = &l.texts {
            let message = format!("{} has no formula: {why}", l.name);
            let kind = UnknownKind::NotLifted;
            report
                .unknown
                .push(Finding::new(Part::Kernel, kind, message));
        }
    }
    for l in lines {
        if let Ok(texts) = &l.texts {
            let text = texts.first().cloned().unwrap_or_default();
            let message = format!("{} seems to be this, which was not proved: {text}", l.name);
            report
                .unknown
                .push(Finding::new(Part::Kernel, UnknownKind::NotLifted, message));
        }
    }
}

/// The formula of each output, from all runs.
fn lines(runs: Vec<Run>, sizes: &[Sizes]) -> Vec<Line> {
    let mut forest = Forest::default();
    let mut constants: IndexSet<Q> = IndexSet::new();
    let arrays: Vec<Vec<spec::Array>> = runs.iter().map(|r| r.setup.arrays.0.clone()).collect();
    let taken = taken(&runs[0]);
    let left = runs.iter().map(Run::time_left).max().unwrap_or_default();
    let deadline = Instant::now().checked_add(left);
    let mut lifted: Vec<Vec<Output>> = Vec::new();
    let mut resisting: Vec<(ArrayId, String)> = Vec::new();
    for run in runs {
        let limits = limits(&run.options, Instant::now());
        let (outputs, open) = elements::outputs(
            run.outcome,
            &run.setup.arrays,
            &limits,
            (&mut forest, &mut constants),
        );
        lifted.push(outputs);
        resisting.extend(open);
    }
    let mut out: Vec<Line> = Vec::new();
    for (array, why) in resisting {
        if out.iter().all(|l| l.array != array) {
            out.push(Line {
                array,
                name: arrays[0][array.0 as usize].name.clone(),
                texts: Err(why),
            });
        }
    }
    let joint = Joint {
        sizes,
        arrays: &arrays,
        taken: &taken,
        deadline,
    };
    let all: Vec<ArrayId> = lifted[0].iter().map(|o| o.array).collect();
    for array in all
        .into_iter()
        .filter(|a| out.iter().all(|l| l.array != *a))
        .collect::<Vec<_>>()
    {
        let of = |outputs: &Vec<Output>| outputs.iter().position(|o| o.array == array);
        let mut each = Vec::new();
        for outputs in &lifted {
            if let Some(i) = of(outputs) {
                each.push(&outputs[i]);
            }
        }
        let texts = match each.len() == lifted.len() {
            true => joint.texts(array, &each, &mut forest, &constants),
            false => Err("it is not written at every size".into()),
        };
        let name = arrays[0][array.0 as usize].name.clone();
        out.push(Line { array, name, texts });
    }
    out.sort_by_key(|l| l.array);
    out
}

/// Names of scalars and sizes, which no index may have.
fn taken(run: &Run) -> Vec<String> {
    let numbers = run.setup.kernels[0].numbers.iter().map(|n| n.label.clone());
    let scalars = run
        .setup
        .arrays
        .0
        .iter()
        .filter(|a| a.origin == spec::Origin::Scalar);
    numbers
        .chain(scalars.map(|a| a.name.clone()))
        .chain(run.options.sizes.0.keys().cloned())
        .chain(run.setup.arrays.0.iter().map(|a| a.name.clone()))
        .collect()
}

/// All sizes together.
struct Joint<'a> {
    sizes: &'a [Sizes],
    /// The arrays at each size.
    arrays: &'a [Vec<spec::Array>],
    taken: &'a [String],
    /// When to give up.
    deadline: Option<Instant>,
}

impl Joint<'_> {
    fn texts(
        &self,
        array: ArrayId,
        outputs: &[&Output],
        forest: &mut Forest,
        constants: &IndexSet<Q>,
    ) -> Result<Vec<String>, String> {
        let info = &self.arrays[0][array.0 as usize];
        let rank = info.shape.len();
        if self
            .arrays
            .iter()
            .any(|a| a[array.0 as usize].shape.len() != rank)
        {
            return Err("its number of dimensions depends on the size".into());
        }
        let named: Vec<String> = self.sizes[0].0.keys().cloned().collect();
        // Sizes that do not vary explain nothing.
        let varies = |name: &String| {
            let mut values = self.sizes.iter().map(|s| s.0.get(name));
            let first = values.next();
            values.any(|v| Some(v) != first)
        };
        let mut family = Family::new();
        for (output, sizes) in outputs.iter().zip(self.sizes) {
            for (at, tree) in &output.elements {
                let env: Vec<i64> = at
                    .iter()
                    .copied()
                    .chain(sizes.0.values().copied())
                    .collect();
                family.push((Rc::from(env), *tree));
            }
        }
        let scope = rank + named.len();
        let varying = |v: &usize| varies(&named[v - rank]);
        let sizes: Vec<usize> = (rank..scope).filter(varying).collect();
        let extents = self.extents(rank, &sizes);
        let mut unifier = Unifier {
            forest,
            material: Material {
                vars: (0..rank).chain(sizes.iter().copied()).collect(),
                sizes,
                divisors: self.divisors(),
                deadline: self.deadline,
            },
            scope,
            extents: extents.clone(),
        };
        let letters = [
            "i", "j", "k", "l", "m", "n", "p", "q", "r", "s", "t", "u", "v", "w",
        ];
        let mut free = letters
            .iter()
            .map(|l| l.to_string())
            .filter(|l| !self.taken.contains(l));
        let mut vars: Vec<String> = free.by_ref().take(rank).collect();
        vars.extend(named);
        let names = Names {
            arrays: self.arrays[0].iter().map(|a| a.name.clone()).collect(),
            vars,
            taken: self.taken.to_vec(),
            constants: constants.iter().cloned().collect(),
            scalars: self.arrays[0]
                .iter()
                .map(|a| a.origin == spec::Origin::Scalar)
                .collect(),
            extents,
        };
        let indices: Vec<usize> = (0..rank).collect();
        let text = |e: Expr| {
            let e = rules::named(e);
            match e.reads() > MAX_READS {
                true => Err("its formula would spell elements out".to_string()),
                false => Ok(names.definition(&info.name, &indices, &e)),
            }
        };
        let classes = unifier.classes(&family);
        let mut out = unifier.indices_of_extrema(&family, (&names, &info.name, &indices));
        // Few elements may be what most are where a sum has one summand or none.
        if let ([_, .., most], true) = (&*classes, classes.len() > 1) {
            out.extend(unifier.tree(most).and_then(&text));
        }
        match unifier.guarded(&family).and_then(text) {
            Ok(t) => out.push(t),
            Err(why) if out.is_empty() => return Err(why),
            Err(_) => {}
        }
        Ok(out)
    }

    /// Extents as expressions of the sizes.
    fn extents(&self, rank: usize, sizes: &[usize]) -> Vec<Vec<Linear>> {
        let material = Material {
            vars: sizes.to_vec(),
            sizes: sizes.to_vec(),
            divisors: self.divisors(),
            deadline: self.deadline,
        };
        let envs: Vec<Vec<i64>> = self
            .sizes
            .iter()
            .map(|s| {
                vec![0; rank]
                    .into_iter()
                    .chain(s.0.values().copied())
                    .collect()
            })
            .collect();
        let of = |array: usize, d: usize| {
            let rows: Vec<(&[i64], i64)> = envs
                .iter()
                .zip(self.arrays)
                .map(|(e, a)| (&e[..], a[array].shape.get(d).map_or(0, |&n| n as i64)))
                .collect();
            material.fit(&rows).unwrap_or(Linear::number(i64::MAX))
        };
        let arrays = self.arrays[0].iter().enumerate();
        arrays
            .map(|(i, a)| (0..a.shape.len()).map(|d| of(i, d)).collect())
            .collect()
    }

    /// Numbers that an index may be divided by: extents, and small powers of 2.
    fn divisors(&self) -> Vec<i64> {
        let mut out: Vec<i64> = Vec::new();
        for a in self.arrays.iter().flatten() {
            out.extend(a.shape.iter().map(|&n| n as i64));
        }
        out.extend([2, 4, 8, 16, 32]);
        out.retain(|&n| n > 1);
        out.sort_unstable();
        out.dedup();
        out
    }
}
