//! `volta steps`: is each step of an operator that is optimised still what the naive kernel is?
//!
//! Every step is compared with the naive kernel, so that no claim rests on a chain of steps, and with the step before, which
//! tells a step that makes a fault from one that inherits it. Sizes run side by side, the steps of one size one after
//! the other, so that the naive kernel is run once for each size.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rayon::prelude::*;

use crate::answer::gate::{EntryResult, GateReport, ManifestCommand, Place};
use crate::answer::{
    Answer, Command, Failure, Kind, OneStep, Part, Schema, Steps, Verdict, schema,
};
use crate::check::check_prepared;
use crate::diag::foreign::visible;
use crate::grid::prepared::Runs;
use crate::input::Files;
use crate::spec::{Layers, Settings, Sizes, limits};
use crate::{instances, work};

mod file;

use file::{Instance, Plan};

/// The results of a file of steps.
#[derive(Clone, Debug)]
pub struct StepsReport {
    /// Every comparison.
    pub checks: GateReport,
    /// Each step at each size, in the order of the file.
    pub rows: Vec<Row>,
    /// The naive kernel and the steps, each with its line.
    pub kernels: Vec<(String, u32)>,
}

/// A step at one size.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its place among the kernels.
    pub step: usize,
    /// What the names of sizes stand for.
    pub sizes: Sizes,
    /// The comparison with the naive kernel, by its place among all.
    pub naive: usize,
    /// The comparison with the step before.
    pub before: Option<usize>,
    /// The step whose fault it inherits.
    pub inherited: Option<usize>,
}

/// Runs a file of steps, with settings above those of the file. `progress` is called with the number of comparisons that
/// are done, of all, and the name of the one that was done last.
pub fn steps(
    path: &Path,
    over: &Settings,
    files: &Files,
    progress: &(dyn Fn(usize, usize, &str) + Sync),
) -> Result<StepsReport, Failure> {
    let plan = Plan::read(path)?;
    let runs = Runs::within(limits::process());
    let pairs: Vec<[usize; 2]> = (1..plan.kernels.len())
        .flat_map(|i| [[0, i], [i - 1, i]].into_iter().take(i.min(2)))
        .collect();
    let (done, last) = (AtomicUsize::new(0), Mutex::new(()));
    let all = pairs.len() * plan.instances.len();
    let at_size = |instance: &Instance| {
        let compare = |&pair: &[usize; 2]| {
            let start = Instant::now();
            let result = plan.compare(instance, pair, over, (files, &runs));
            let entry = plan.entry(instance, pair, (start, result));
            let _guard = last.lock();
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, all, &entry.name);
            entry
        };
        pairs.iter().map(compare).collect()
    };
    let sizes: Vec<Vec<EntryResult>> = work::each(plan.instances.par_iter(), at_size);
    let mut checks: Vec<EntryResult> = sizes.into_iter().flatten().collect();
    let answers = checks.iter_mut().filter_map(|e| e.result.as_mut().ok());
    instances::unite(answers.collect());
    for entry in &mut checks {
        entry.why = why(&entry.result);
        entry.ok = entry.why.is_none();
    }
    let mut rows = Vec::new();
    for step in 1..plan.kernels.len() {
        for (i, instance) in plan.instances.iter().enumerate() {
            let find = |pair| pairs.iter().position(|p| *p == pair);
            let at = |pair| find(pair).map(|at| i * pairs.len() + at);
            let is = |pair, verdict| {
                let result = at(pair).and_then(|at| checks[at].result.as_ref().ok());
                result.is_some_and(|a| a.report.verdict == verdict)
            };
            let is_wrong = |k: usize| is([0, k], Verdict::NotEquivalent);
            let inherits =
                |k: &usize| *k > 1 && is([k - 1, *k], Verdict::Equivalent) && is_wrong(k - 1);
            let root = (1..=step).rev().find(|k| !inherits(k));
            rows.push(Row {
                step,
                sizes: instance.sizes.clone(),
                naive: at([0, step]).unwrap_or(0),
                before: at([step - 1, step]).filter(|_| step > 1),
                inherited: root.filter(|&k| k < step && is_wrong(step)),
            });
        }
    }
    Ok(StepsReport {
        checks: GateReport {
            command: ManifestCommand::Steps,
            entries: checks,
            ledger: Vec::new(),
            stats: false,
        },
        rows,
        kernels: plan.kernels,
    })
}

impl Plan {
    /// Compares two of the kernels, by their places.
    fn compare(
        &self,
        instance: &Instance,
        [reference, optimized]: [usize; 2],
        over: &Settings,
        (files, runs): (&Files, &Runs),
    ) -> Result<Answer, Failure> {
        let pair = Settings {
            reference: Some(instance.sides[reference].clone()),
            optimized: Some(instance.sides[optimized].clone()),
            sizes: instance.sizes.clone(),
            ..Settings::default()
        };
        let mut given = instance.given.clone();
        // What is said of a parameter that only the naive kernel has says nothing of two steps.
        given.iter_mut().for_each(|s| s.is_default = reference > 0);
        let layers = [&given[0], &given[1], &pair, over];
        let report = check_prepared(Layers(&layers), files, Some(runs));
        report.map(Answer::of).map_err(|mut failure| {
            // An error in the text of a kernel has its own place.
            let is_placed = !failure.sites().is_empty();
            if let Some(first) = failure.diagnostics.first_mut().filter(|_| !is_placed) {
                let at = match failure.which {
                    Some(Part::Reference) => reference,
                    _ => optimized,
                };
                let (name, line) = &self.kernels[at];
                let file = visible(&self.source.name);
                first.message = format!("{file}:{line}: `{name}`: {}", first.message);
            }
            failure
        })
    }

    fn entry(
        &self,
        instance: &Instance,
        [reference, optimized]: [usize; 2],
        (start, result): (Instant, Result<Answer, Failure>),
    ) -> EntryResult {
        let [(against, _), (name, line)] = [reference, optimized].map(|i| &self.kernels[i]);
        let sizes = match instance.sizes.is_empty() {
            true => String::new(),
            false => format!(" ({})", instance.sizes),
        };
        EntryResult {
            name: format!("{name}{sizes} against {against}"),
            manifest: Place {
                file: self.source.name.clone(),
                line: *line,
            },
            command: Command::Check,
            expect: Verdict::Equivalent.name().to_string(),
            ok: false,
            why: None,
            time: start.elapsed(),
            peak: None,
            result,
        }
    }
}

/// Why a step is not right.
fn why(result: &Result<Answer, Failure>) -> Option<String> {
    let report = match result {
        Ok(answer) => &answer.report,
        Err(failure) => return Some(failure.message().to_string()),
    };
    if report.verdict != Verdict::Equivalent {
        let [is, must] = [report.verdict, Verdict::Equivalent].map(Verdict::name);
        return Some(format!("{is} instead of {must}"));
    }
    let denied: Vec<&str> = report.denied.iter().map(|k| k.name()).collect();
    (!denied.is_empty()).then(|| format!("{} is denied", denied.join(", ")))
}

impl StepsReport {
    /// The exit status of the contract.
    pub fn exit(&self) -> u8 {
        self.checks.exit()
    }

    /// The object of the contract.
    pub fn answer(&self) -> Steps {
        let entries = &self.checks.entries;
        let verdicts = entries
            .iter()
            .map(|e| Some(e.result.as_ref().ok()?.report.verdict));
        let verdicts: Option<Vec<Verdict>> = verdicts.collect();
        let steps = self.rows.iter().map(|row| {
            let (name, line) = self.kernels[row.step].clone();
            let naive = &entries[row.naive];
            let before = row.before.map(|at| &entries[at]);
            OneStep {
                name,
                line,
                sizes: row.sizes.0.clone(),
                seconds: self.time(row).as_secs_f64(),
                naive: naive.answer(),
                before: before.map(EntryResult::answer),
                inherited: row.inherited.map(|i| self.kernels[i].0.clone()),
            }
        });
        Steps {
            schema: Schema::V2,
            volta: schema::version(),
            command: ManifestCommand::Steps,
            verdict: verdicts.and_then(|all| all.into_iter().max_by_key(|v| v.rank())),
            steps: steps.collect(),
        }
    }

    /// The time that the comparisons of a step took.
    pub fn time(&self, row: &Row) -> std::time::Duration {
        let both = [Some(row.naive), row.before].into_iter().flatten();
        both.map(|at| self.checks.entries[at].time).sum()
    }
}
