//! `volta slack`: which synchronising operations does a kernel need, and for what?
//!
//! Problem: a barrier that nothing needs costs time, and one that something needs looks the same. Each place of a
//! synchronising operation that the launch executes is left out of the run, all its executions together, and the kernel is
//! judged again as `race` does: what appears then is what it is for. Then as many as can go at once are
//! found greedily, in the order of the program and in its reverse, and that set is judged as a whole.
//!
//! Sound: `spare` is said where the kernel without the operation is still clean, has no new warning of the
//! kinds that `--strict` makes defects, and leaves the same value in every output, as terms or as `check` decides. What is
//! open without it is `unjudged`. It is said of this launch alone: another size may need what this one does
//! not.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::alone::{Alone, asked};
use crate::answer::{self, Command, Slack, State, Synchronisation};
use crate::check::{limits, take_defects};
use crate::decide::{self, Coverage};
use crate::explain;
use crate::grid::{Covered, Subject};
use crate::input::Files;
use crate::kernel::synchronisation::{Without, synchronises};
use crate::kernel::{Kernel, Op, Pc, Scope};
use crate::race::race;
use crate::report::launches;
use crate::report::{Failure, Report, Verdict};
use crate::sim::{Outcome, WarningKind, Writes};
use crate::spec::Layers;
use crate::term::ArrayId;

/// A kernel with its launch.
struct Asked {
    alone: Alone,
    deciding: decide::Options,
}

/// A place of a synchronising operation: one instruction of the text, at each place where calls were expanded.
struct Place {
    op: &'static str,
    at: Vec<Pc>,
    /// False if nothing can be said without it.
    can_go: bool,
}

/// What a kernel is without some operations.
enum Judged {
    /// As it was.
    Same,
    /// This appears.
    Breaks(answer::Breaks),
    /// Open.
    Open,
}

/// Asks of one kernel which of its synchronising operations it needs.
pub fn slack(layers: Layers, files: &Files) -> Result<Report, Failure> {
    let start = Instant::now();
    let options = layers.options()?;
    let mut report = race(layers, files)?;
    let limits = limits(&options, start);
    let asked = Asked {
        alone: Alone::read(layers, None, files)?,
        deciding: decide::Options {
            limits,
            ..decide::Options::default()
        },
    };
    let whole = asked.run(&asked.alone.lowered.kernel);
    report.slack = Some(asked.slack(whole, report.verdict));
    report.command = Command::Slack;
    report.stats.seconds.total = start.elapsed().as_secs_f64();
    Ok(report)
}

impl Asked {
    /// Runs the kernel, or what is left of it, as `race` does.
    fn run(&self, kernel: &Kernel) -> Covered {
        let whole = self.alone.subject(&self.deciding);
        let mut covered = asked(&Subject { kernel, ..whole });
        let store = &covered.outcome.store;
        let needs_trees = store.has_merged() || store.has_flips();
        if needs_trees && self.deciding.limits.reached().is_none() {
            let mut resolved = whole.resolved.clone();
            resolved.launch.trees = Some(0);
            covered = asked(&Subject {
                kernel,
                resolved: &resolved,
                ..whole
            });
        }
        let races = take_defects(&mut covered.outcome, |k| k == WarningKind::RealEqualRace);
        covered.outcome.defects.extend(races);
        covered
    }

    /// The places of synchronising operations that the launch executes, in the order of the text.
    fn places(&self, executed: &[u64]) -> Vec<Place> {
        let kernel = &self.alone.lowered.kernel;
        let several = self.alone.setup.kernels[0].launch.ctas() > 1;
        let mut all: BTreeMap<u32, Place> = BTreeMap::new();
        for (i, inst) in kernel.insts.iter().enumerate() {
            let Some((op, without)) = synchronises(&inst.op) else {
                continue;
            };
            if executed.get(i).is_none_or(|n| *n == 0) {
                continue;
            }
            let pc = Pc(i as u32);
            let other = kernel.other_half(pc);
            if let Some(Some(first)) = other.filter(|o| o.is_some_and(|o| o < pc)) {
                // Both halves are one place, that of the first.
                if let Some(place) = all.get_mut(&kernel.span(first).start) {
                    place.op = "barrier.cluster";
                    place.at.push(pc);
                    continue;
                }
            }
            let place = all.entry(kernel.span(pc).start).or_insert(Place {
                op,
                at: Vec::new(),
                can_go: true,
            });
            place.at.push(pc);
            // Each CTA is run alone, and what a fence orders for the others is not looked at.
            let beyond = match inst.op {
                Op::Fence { scope, .. } => several && !matches!(scope, Scope::Cta),
                _ => false,
            };
            place.can_go &= without != Without::Unknown && !beyond && other != Some(None);
        }
        all.into_values().collect()
    }

    /// Judges each place alone, and as many as can go at once.
    fn slack(&self, whole: Covered, verdict: Verdict) -> Slack {
        let places = self.places(&whole.outcome.executed);
        let mut sync: Vec<Synchronisation> = Vec::new();
        for place in &places {
            let judged = match (place.can_go, verdict) {
                (true, Verdict::Clean) => self.judged(&whole.outcome, &place.at),
                _ => Judged::Open,
            };
            let kernel = &self.alone.lowered.kernel;
            let (state, breaks) = match judged {
                Judged::Same => (State::Spare, None),
                Judged::Breaks(finding) => (State::Needed, Some(finding)),
                Judged::Open => (State::Unjudged, None),
            };
            sync.push(Synchronisation {
                site: answer::Site::new(&kernel.source, kernel.span(place.at[0]), place.op),
                op: place.op.to_string(),
                state,
                breaks,
            });
        }
        let spare: Vec<usize> = (0..sync.len())
            .filter(|&i| sync[i].state == State::Spare)
            .collect();
        Slack {
            together: self.together(&whole.outcome, &places, &spare),
            sync,
        }
    }

    /// A set of places that can go at once, found greedily from either end.
    fn together(&self, whole: &Outcome, places: &[Place], spare: &[usize]) -> Vec<usize> {
        let greedy = |order: &mut dyn Iterator<Item = usize>| {
            let (mut set, mut at): (Vec<usize>, Vec<Pc>) = (Vec::new(), Vec::new());
            for i in order {
                let mut more = at.clone();
                more.extend(&places[i].at);
                // One alone was judged before.
                if set.is_empty() || matches!(self.judged(whole, &more), Judged::Same) {
                    set.push(i);
                    at = more;
                }
            }
            set.sort_unstable();
            set
        };
        let first = greedy(&mut spare.iter().copied());
        if first.len() == spare.len() {
            return first;
        }
        let last = greedy(&mut spare.iter().rev().copied());
        if last.len() > first.len() {
            last
        } else {
            first
        }
    }

    /// What the kernel is without the operations at some places.
    fn judged(&self, whole: &Outcome, places: &[Pc]) -> Judged {
        if self.deciding.limits.reached().is_some() {
            return Judged::Open;
        }
        let Some(kernel) = self.alone.lowered.kernel.without(places) else {
            return Judged::Open;
        };
        let covered = self.run(&kernel);
        let outcome = &covered.outcome;
        let ran = self.alone.ran();
        let defects = launches::defects(&ran, &outcome.defects);
        if let Some(defect) = defects.into_iter().next() {
            return Judged::Breaks(answer::Breaks::Defect(Box::new(defect)));
        }
        if !outcome.unknowns.is_empty() || !outcome.by_schedule.is_empty() {
            return Judged::Open;
        }
        let strict = |o: &Outcome| {
            let all = launches::warnings(&ran, &o.warnings).into_iter();
            all.filter(|w| w.kind.is_strict()).collect::<Vec<_>>()
        };
        let old: Vec<answer::WarningKind> = strict(whole).iter().map(|w| w.kind).collect();
        let now = strict(outcome);
        let count = |all: &[answer::WarningKind], kind| all.iter().filter(|k| **k == kind).count();
        let kinds: Vec<answer::WarningKind> = now.iter().map(|w| w.kind).collect();
        let more = |kind| count(&kinds, kind) > count(&old, kind);
        let new = now.into_iter().find(|w| more(w.kind));
        if let Some(warning) = new {
            return Judged::Breaks(answer::Breaks::Warning(Box::new(warning)));
        }
        match self.same_values(whole, covered) {
            true => Judged::Same,
            false => Judged::Open,
        }
    }

    /// True if every output still has the value that it had.
    fn same_values(&self, whole: &Outcome, without: Covered) -> bool {
        let compared = |a: &ArrayId| decide::goal::is_compared(&self.alone.setup.arrays[*a]);
        let mut store = whole.store.clone();
        let map = store.import(&without.outcome.store);
        let old = whole.writes.iter().filter(|(a, _)| compared(a));
        let new = without.outcome.writes.iter().filter(|(a, _)| compared(a));
        let new: BTreeMap<ArrayId, Writes> = new
            .map(|(&a, writes)| {
                let image = writes.iter().map(|(&off, t)| (off, map[t.0 as usize]));
                (a, image.collect())
            })
            .collect();
        if old.clone().count() == new.len() && old.clone().all(|(a, w)| new.get(a) == Some(w)) {
            return true;
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
        let again = self
            .run(&self.alone.lowered.kernel)
            .outcome
            .into_clean(true);
        let (Ok(a), Ok(b)) = (again, without.outcome.into_clean(true)) else {
            return false;
        };
        let decision = explain::decide(a, b, &self.alone.setup.arrays, &options);
        decision.verdict == explain::Verdict::Equivalent
    }
}
