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

use std::slice::from_ref;
use std::time::{Duration, Instant};

mod canon;
mod columns;
mod digits;
mod elements;
mod expr;
mod extremum;
mod guards;
mod joint;
mod linear;
mod numbers;
mod places;
mod print;
mod region;
pub mod rules;
mod settle;
mod shared;
mod slots;
mod tree;
mod unify;

use crate::alone::{Alone, asked};
use crate::answer::{Command, Failure, Outputs, Report, Verdict};
use crate::decide;
use crate::explore;
use crate::found::findings::{Found, Moments};
use crate::grid::sequence::Ended;
use crate::input::Files;
use crate::norm;
use crate::sim::Outcome;
use crate::spec::{Layers, Options, Settings, Setup, Sizes};
use crate::work;

/// A launch that was run.
struct Run {
    options: Options,
    setup: Setup,
    outcome: Outcome,
    /// The answer, with what is known before anything is lifted.
    report: Report,
}

/// The formulas of a kernel, from its runs at some sizes: the sizes, and the answers at each of them.
pub fn lift(instances: &[Vec<Settings>], files: &Files) -> Result<Results, Failure> {
    let budget = match instances.first() {
        Some(first) => Layers(&first.iter().collect::<Vec<_>>()).options()?.budget,
        None => None,
    };
    let (results, spent) = work::within(budget, || lifted(instances, files));
    let (sizes, mut results) = results?;
    // What formulas of all sizes took is not that of one of them.
    for report in results.iter_mut().flatten() {
        report.stats.work = spent.units;
        report.stats.runs = explore::counts(&spent.runs);
        report.stats.rules = norm::rule_counts(&spent.applied);
    }
    Ok((sizes, results))
}

/// The sizes and the answers at each of them.
pub type Results = (Vec<Sizes>, Vec<Result<Report, Failure>>);

fn lifted(instances: &[Vec<Settings>], files: &Files) -> Result<Results, Failure> {
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
            settle::settled(runs, instances, &sizes, files)
        }
    };
    Ok((sizes, results))
}

impl Run {
    /// What the run has left of its time.
    fn time_left(&self) -> Duration {
        /// So much there is in any case, for an answer that says that time is over.
        const LEAST: Duration = Duration::from_millis(100);
        let spent = Duration::try_from_secs_f64(self.report.stats.seconds.total);
        /// More than anybody waits, where a budget takes the place of time.
        const ENDLESS: Duration = Duration::from_secs(u32::MAX as u64);
        let all = self.options.timeout.unwrap_or(ENDLESS);
        let left = all.saturating_sub(spent.unwrap_or_default());
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
    let limits = options.limits(start);
    let alone = Alone::read(layers, None, files)?;
    let parsed = Instant::now();
    let deciding = decide::Options {
        limits,
        ..decide::Options::default()
    };
    let side = Ended::from(asked(&alone.subject(&deciding)));
    let moments = Moments {
        read: (start, parsed),
        ran: Instant::now(),
    };
    let launches = alone.ran();
    let mut found = Found::default();
    found.describe(&launches, &side);
    found.told(&launches, from_ref(&alone.lowered), &side);
    found.add(&launches, &side.outcome);
    found.miss(&launches);
    let verdict = match found.defects.is_empty() {
        false => Verdict::Defective,
        true => Verdict::Unknown,
    };
    let mut report = Report {
        verdict,
        outputs: Outputs::Lifted(Vec::new()),
        ..found.report((Command::Lift, &options), &alone.setup, moments)
    };
    report.allow(&options.allow);
    report.deny(&options.deny);
    let outcome = side.outcome;
    Ok(Run {
        options,
        setup: alone.setup,
        outcome,
        report,
    })
}
