//! `volta slack`: which synchronising operations does a kernel need, and for what?
//!
//! Problem: a barrier that nothing needs costs time, and one that something needs looks the same. Each place of a
//! synchronising operation that the launch executes is left out of the run, all its executions together, and the kernel is
//! judged again as `race` does: what appears then is what it is for. Then as many as can go at once are
//! found, all of them or greedily, in the order of the program and in its reverse, and that set is judged as a whole.
//!
//! Sound: `spare` is said where `race` still calls the kernel clean without the operation, has no new warning of the
//! kinds that `--strict` makes defects, and every output keeps its value, as terms or as `check` decides. What is
//! open without it is `unjudged`, with what is open. It is said of this launch alone: another size may need what this one does
//! not. Of every launch (`--any`) values are not asked: an order that is left out takes edges away from happens-before,
//! and where no two accesses that conflict lose theirs, each read sees the write that it saw.
//!
//! Values are computed only for what is free of races without the operation, since most operations are needed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use rayon::prelude::*;

use crate::alone::{Alone, asked};
use crate::answer::{
    self, Breaks, Command, Failure, Finding, Part, Report, State, Synchronisation, UnknownKind,
    Verdict,
};
use crate::asked::{Made, Remembers};
use crate::check::{counted, take_real_equal};
use crate::decide::{self, Coverage};
use crate::explain;
use crate::explore::{Stage, refined};
use crate::found::launches;
use crate::grid::{Covered, Subject};
use crate::input::{self, Files};
use crate::kernel::synchronisation::synchronises;
use crate::kernel::{Inst, Kernel, Op, Pc, Scope};
use crate::race::race;
use crate::sim::join::Memories;
use crate::sim::{self, Outcome};
use crate::spec::manifest::Settings;
use crate::spec::{Domain, Layers, Which};
use crate::term::ArrayId;
use crate::work;

/// A kernel with its launch, as it is.
struct Asked<'a> {
    layers: Layers<'a>,
    files: &'a Files,
    kernel: Kernel,
    deciding: decide::Options,
    any: bool,
    /// The report of the kernel as it is.
    report: &'a Report,
}

/// A place of a synchronising operation: one instruction of the text, or both halves of a barrier of a cluster.
struct SyncSite {
    op: &'static str,
    /// The first of its instructions.
    pc: Pc,
    /// Where its instructions begin in the text.
    at: Vec<u32>,
    /// Nothing can be said without it, and why.
    fixed: Option<&'static str>,
    /// The halves do not stand side by side, so that other halves may belong to them.
    is_split: bool,
}

/// What a kernel is without some operations.
enum Judged {
    /// As it was.
    Same,
    /// This appears.
    Breaks(Breaks),
    /// Open.
    Open(Finding<UnknownKind>),
}

/// The values that the kernel as it is leaves.
struct Whole {
    alone: Alone,
    covered: Covered,
}

/// Asks of one kernel which of its synchronising operations it needs.
pub fn slack(layers: Layers, files: &Files) -> Result<Report, Failure> {
    counted(layers, || judged(layers, files))
}

fn judged(layers: Layers, files: &Files) -> Result<Report, Failure> {
    let start = Instant::now();
    let options = layers.options()?;
    let mut report = race(layers, files)?;
    let limits = options.limits(start);
    let asked = Asked {
        layers,
        files,
        kernel: kernel(layers, files)?,
        deciding: decide::Options {
            limits,
            ..decide::Options::default()
        },
        any: options.any,
        report: &report,
    };
    let (sync, together) = asked.slack()?;
    report.sync = Some(sync);
    report.together = Some(together);
    report.every_launch = Some(options.any);
    report.command = Command::Slack;
    report.stats.seconds.total = start.elapsed().as_secs_f64();
    Ok(report)
}

/// The kernel as it is written.
fn kernel(layers: Layers, files: &Files) -> Result<Kernel, Failure> {
    // What is said of sizes has no meaning for the text.
    let mut own: Vec<Settings> = layers.0.iter().map(|&s| s.clone()).collect();
    own.iter_mut().for_each(|s| s.assume.clear());
    let own: Vec<&Settings> = own.iter().collect();
    let spec = input::spec(Layers(&own), Which::Kernel, files, None)?;
    Ok(input::lower(files, &spec)?.kernel)
}

fn open(kind: UnknownKind, message: impl Into<String>) -> Judged {
    Judged::Open(Finding::new(Part::Kernel, kind, message))
}

/// Runs the kernel of a launch as `race` does, with values or without.
fn run(alone: &Alone, deciding: &decide::Options, without_values: bool) -> Covered {
    let launch = Launched {
        alone,
        deciding,
        without_values,
    };
    let (mut covered, forgotten) = refined(&launch, false, &mut [&mut Made]);
    take_real_equal(&mut covered.outcome, forgotten);
    covered
}

/// A launch, which is run again with numbers that remember how they were made where bits of them decide something.
struct Launched<'a> {
    alone: &'a Alone,
    deciding: &'a decide::Options,
    without_values: bool,
}

impl Stage for Launched<'_> {
    type Knowledge = bool;
    /// With it, whether numbers did not remember how they were made whose bits decide something.
    type Ran = (Covered, bool);

    fn run(&self, made: &bool) -> (Covered, bool) {
        let whole = self.alone.subject(self.deciding);
        let mut resolved = whole.resolved.clone();
        if *made {
            resolved.mode.domain = Domain::Reals { made_by: Some(0) };
        }
        let covered = asked(&Subject {
            kernel: self.alone.lowered.run_by(&resolved.mode),
            resolved: &resolved,
            without_values: self.without_values,
            ..whole
        });
        let store = &covered.outcome.store;
        let forgotten = !made && (store.has_merged() || store.has_flips());
        (covered, forgotten)
    }

    fn ended(&self, why: String) -> (Covered, bool) {
        let mut out = Covered::default();
        let limit = sim::Finding::new(UnknownKind::Limit, why);
        out.outcome.unknowns.push(limit);
        (out, false)
    }
}

impl Remembers for Launched<'_> {
    fn made(known: &mut bool) -> &mut bool {
        known
    }

    fn asks(&self, (_, forgotten): &(Covered, bool)) -> bool {
        *forgotten && self.deciding.limits.reached().is_none()
    }
}

impl Asked<'_> {
    /// Where the instructions that the launch executes begin in the text; `None` if that is not known.
    fn executed(&self) -> Option<BTreeSet<u32>> {
        if self.any {
            return None;
        }
        let alone = Alone::read(self.layers, None, self.files).ok()?;
        let outcome = run(&alone, &self.deciding, true).outcome;
        let complete = outcome.unknowns.is_empty() && outcome.defects.is_empty();
        let kernel = alone.lowered.run_by(&alone.setup.kernels[0].mode);
        let executed = outcome.executed.iter().zip(&kernel.spans);
        let executed = executed.filter(|(n, _)| **n > 0);
        complete.then(|| executed.map(|(_, span)| span.start).collect())
    }

    /// The places of synchronising operations that the launch executes, in the order of the text.
    fn places(&self) -> Vec<SyncSite> {
        let kernel = &self.kernel;
        let executed = self.executed();
        let halves: BTreeMap<Pc, Pc> = kernel.halves().into_iter().collect();
        let waits: BTreeSet<Pc> = halves.values().copied().collect();
        let mut all: BTreeMap<u32, SyncSite> = BTreeMap::new();
        for (i, inst) in kernel.insts.iter().enumerate() {
            let pc = Pc(i as u32);
            let start = kernel.span(pc).start;
            let Some((op, _)) = synchronises(&inst.op) else {
                continue;
            };
            if waits.contains(&pc) || executed.as_ref().is_some_and(|e| !e.contains(&start)) {
                continue;
            }
            let other = halves.get(&pc);
            let place = all.entry(start).or_insert_with(|| SyncSite {
                op: if other.is_some() {
                    "barrier.cluster"
                } else {
                    op
                },
                pc,
                at: vec![start],
                fixed: fixed(inst, other.is_some()),
                is_split: false,
            });
            if let Some(&wait) = other {
                place.at.push(kernel.span(wait).start);
                place.is_split |= wait.0 != pc.0 + 1;
            }
        }
        all.into_values().collect()
    }

    /// Judges each place alone, and as many as can go at once.
    fn slack(&self) -> Result<(Vec<Synchronisation>, Vec<usize>), Failure> {
        let places = self.places();
        let is_clean = self.report.verdict == Verdict::Clean;
        let mut judged: Vec<Judged> =
            work::side_by_side(places.par_iter(), |place| match place.fixed {
                Some(why) => open(UnknownKind::UnsupportedInstruction, why),
                None if is_clean => self.cleared(place),
                None => self.unclean(),
            });
        let any_same = judged.iter().any(|j| matches!(j, Judged::Same));
        let whole = match any_same && !self.any {
            true => Some(self.whole()?),
            false => None,
        };
        if let Some(whole) = &whole {
            let again = judged.par_iter_mut().zip(&places);
            work::side_by_side(again, |(judged, place)| {
                if matches!(judged, Judged::Same) {
                    *judged = self.same_values(whole, &place.at);
                }
            });
        }
        let sync: Vec<Synchronisation> = places
            .iter()
            .zip(judged)
            .map(|(place, judged)| self.said(place, judged))
            .collect();
        let spare: Vec<usize> = (0..sync.len())
            .filter(|&i| sync[i].state == State::Spare)
            .collect();
        let together = self.together(whole.as_ref(), &places, &spare);
        Ok((sync, together))
    }

    fn said(&self, place: &SyncSite, judged: Judged) -> Synchronisation {
        let (state, breaks, why) = match judged {
            Judged::Same => (State::Spare, None, None),
            Judged::Breaks(finding) => (State::Needed, Some(finding), None),
            Judged::Open(why) => (State::Unjudged, None, Some(Box::new(why))),
        };
        let kernel = &self.kernel;
        Synchronisation {
            site: answer::Site::new(&kernel.source, kernel.span(place.pc), place.op),
            op: place.op.to_string(),
            state,
            breaks,
            why,
        }
    }

    /// Why nothing is said of a kernel that is not clean as it is.
    fn unclean(&self) -> Judged {
        match self.report.unknown.first() {
            Some(unknown) => Judged::Open(unknown.clone()),
            None => open(
                UnknownKind::Undecided,
                "the kernel is defective with all of its operations",
            ),
        }
    }

    /// A set of places that can go at once: all, or found greedily from either end.
    fn together(&self, whole: Option<&Whole>, places: &[SyncSite], spare: &[usize]) -> Vec<usize> {
        let can_go = |set: &[usize]| {
            // One alone was judged before.
            let at: Vec<u32> = set.iter().flat_map(|&i| places[i].at.clone()).collect();
            set.len() < 2
                || match (self.judged(&at), whole) {
                    (Judged::Same, None) => true,
                    (Judged::Same, Some(whole)) => {
                        matches!(self.same_values(whole, &at), Judged::Same)
                    }
                    (Judged::Breaks(_) | Judged::Open(_), _) => false,
                }
        };
        if can_go(spare) {
            return spare.to_vec();
        }
        let greedy = |order: &mut dyn Iterator<Item = usize>| {
            let mut set: Vec<usize> = Vec::new();
            for i in order {
                set.push(i);
                if !can_go(&set) {
                    set.pop();
                }
            }
            set.sort_unstable();
            set
        };
        let first = greedy(&mut spare.iter().copied());
        let last = greedy(&mut spare.iter().rev().copied());
        if last.len() > first.len() {
            last
        } else {
            first
        }
    }

    /// What the kernel is without one place, values apart.
    fn cleared(&self, place: &SyncSite) -> Judged {
        match self.judged(&place.at) {
            Judged::Breaks(_) if place.is_split => open(
                UnknownKind::Undecided,
                "the halves of a barrier of the cluster stand apart, and without these two others may not meet theirs",
            ),
            judged => judged,
        }
    }

    /// The settings without the operations at some places, in the time that is left.
    fn without(&self, places: &[u32]) -> Settings {
        let left = self.deciding.limits.deadline;
        let left = left.map(|d| d.saturating_duration_since(Instant::now()));
        Settings {
            without: places.to_vec(),
            timeout: left.map(|l| l.as_secs_f64()),
            ..Settings::default()
        }
    }

    /// What the kernel is without the operations at some places, values apart.
    fn judged(&self, places: &[u32]) -> Judged {
        if let Some(limit) = self.deciding.limits.reached() {
            return open(UnknownKind::Limit, limit);
        }
        let without = self.without(places);
        let layers: Vec<&Settings> = self.layers.0.iter().copied().chain([&without]).collect();
        let report = match race(Layers(&layers), self.files) {
            Ok(report) => report,
            Err(failure) => return open(UnknownKind::Undecided, failure.message()),
        };
        if let Some(defect) = report.defects.into_iter().next() {
            return Judged::Breaks(Breaks::Defect(Box::new(defect)));
        }
        if let Some(unknown) = report.unknown.into_iter().next() {
            return Judged::Open(unknown);
        }
        let count = |all: &[Finding<answer::WarningKind>], kind| {
            all.iter().filter(|w| w.kind == kind).count()
        };
        let is_new = |w: &Finding<answer::WarningKind>| {
            w.kind.is_strict()
                && count(&report.warnings, w.kind) > count(&self.report.warnings, w.kind)
        };
        if let Some(new) = report.warnings.iter().find(|w| is_new(w)) {
            return Judged::Breaks(Breaks::Warning(Box::new(new.clone())));
        }
        Judged::Same
    }

    /// The kernel as it is, run with values.
    fn whole(&self) -> Result<Whole, Failure> {
        let alone = Alone::read(self.layers, None, self.files)?;
        let covered = run(&alone, &self.deciding, false);
        Ok(Whole { alone, covered })
    }

    /// Whether every output keeps the value that it had.
    fn same_values(&self, whole: &Whole, places: &[u32]) -> Judged {
        if let Some(limit) = self.deciding.limits.reached() {
            return open(UnknownKind::Limit, limit);
        }
        let left_out = self.without(places);
        let layers: Vec<&Settings> = self.layers.0.iter().copied().chain([&left_out]).collect();
        let alone = match Alone::read(Layers(&layers), None, self.files) {
            Ok(alone) => alone,
            Err(failure) => return open(UnknownKind::Undecided, failure.message()),
        };
        let without = run(&alone, &self.deciding, false);
        let ran = alone.ran();
        for outcome in [&without.outcome, &whole.covered.outcome] {
            let opened = outcome.unknowns.iter().chain(&outcome.by_schedule).cloned();
            let opened: Vec<_> = opened.collect();
            if let Some(unknown) = launches::unknowns(&ran, &opened).into_iter().next() {
                return Judged::Open(unknown);
            }
        }
        self.compared(whole, without)
    }

    /// Compares what two clean runs leave.
    fn compared(&self, whole: &Whole, without: Covered) -> Judged {
        if same_terms(whole, &without.outcome) {
            return Judged::Same;
        }
        let coverage = match without.whole {
            true => Coverage::WholeGrid,
            false => Coverage::SelectedCtas,
        };
        let options = decide::Options {
            reference: coverage,
            optimized: coverage,
            ..self.deciding
        };
        let again = whole.covered.outcome.clone().into_clean(true);
        let (Ok(a), Ok(b)) = (again, without.outcome.into_clean(true)) else {
            return open(
                UnknownKind::Undecided,
                "a run with values is not clean, so that they are not compared",
            );
        };
        let decision = explain::decide(a, b, &whole.alone.setup.arrays, &options);
        if decision.verdict == explain::Verdict::Equivalent {
            return Judged::Same;
        }
        let differs = decision.counterexample.map(|c| c.message);
        let why = differs.or(decision.unknowns.into_iter().next().map(|u| u.message));
        open(
            UnknownKind::Undecided,
            format!(
                "the values are not shown to be the same: {}",
                why.unwrap_or_default()
            ),
        )
    }
}

/// Why nothing can be said without an operation.
fn fixed(inst: &Inst, is_pair: bool) -> Option<&'static str> {
    match &inst.op {
        Op::Fence {
            scope: Scope::Sys, ..
        } => Some("no launch shows the order that the host and other devices see"),
        Op::Async(_) if !is_pair && Kernel::is_half(&inst.op) => {
            Some("the text has no other half of this barrier of the cluster beside it")
        }
        _ => None,
    }
}

/// True if two runs leave the same terms in every output that is compared.
fn same_terms(whole: &Whole, without: &Outcome) -> bool {
    let arrays = &whole.alone.setup.arrays;
    let compared = |a: ArrayId| decide::goal::is_compared(&arrays[a]);
    let outcome = &whole.covered.outcome;
    let terms = outcome.store.clone().import(&without.store);
    let left = Memories::new(&without.writes, terms);
    outcome.differing(&left, compared).next().is_none()
}
