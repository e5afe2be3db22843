//! The launches of one side, one after the other.
//!
//! The problem: a side is a list of launches that share memory. Each starts after the one before has ended, so that
//! nothing of one is unordered with anything of another: races are looked for inside each, and each runs on what those
//! before it left. A kernel alone is a list of one. A launch with `griddepcontrol` is programmatic: it may start once the
//! one before has let it, so that what it accesses before it waits is compared with what those wrote that may still run.
//!
//! What a launch left is kept as terms ([`Left`]); an element that no launch wrote is what it was before the first one. Findings
//! carry the number of their launch.
//!
//! Sound: after a launch that has a defect or is open in some way, memory may hold something else than its terms say, so
//! that the launches after it are not run, and the side as a whole is no precondition of a comparison.
//!
//! Not claimed: launches of several streams, which overlap in time.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::answer::Assumption;
use crate::kernel::Op;
use crate::sim::gather::Gather;
use crate::sim::{Finding, Outcome, WarningKind};
use crate::spec::Resolved;
use crate::term::left::{Copy, Opaque, write};
use crate::term::{ArrayId, Copied, Left, TermId};

use super::select::Elements;
use super::{Covered, Subject, all};

/// What the launches of one side come to.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// What all of them leave, and every finding.
    pub outcome: Outcome,
    /// Each of those that were run, its findings and its memory left out.
    pub launches: Vec<Covered>,
}

impl From<Covered> for Ended {
    fn from(mut only: Covered) -> Ended {
        only.wrote = only.outcome.wrote();
        let executed = std::mem::take(&mut only.outcome.executed);
        let rest = Outcome {
            stats: only.outcome.stats,
            waits_late: only.outcome.waits_late,
            taken: std::mem::take(&mut only.outcome.taken),
            executed,
            ..Outcome::default()
        };
        Ended {
            outcome: std::mem::replace(&mut only.outcome, rest),
            launches: vec![only],
        }
    }
}

impl Ended {
    /// True if all CTAs of all launches were run.
    pub fn whole(&self) -> bool {
        self.launches.iter().all(|l| l.whole)
    }

    /// The last launch that wrote a byte of an array, where there are several.
    pub fn writer(&self, array: ArrayId, off: u64) -> Option<usize> {
        let wrote = |l: &Covered| {
            let list = l.wrote.get(&array).map_or(&[][..], Vec::as_slice);
            list.iter().any(|r| (r.0..r.1).contains(&off))
        };
        let last = self.launches.iter().rposition(wrote);
        last.filter(|_| self.launches.len() > 1)
    }

    /// Takes what the launches so far leave, for the next one to run on; its terms come back with it.
    fn leave(&mut self) -> Left {
        let all = &mut self.outcome;
        Left {
            store: std::mem::take(&mut all.store),
            pieces: std::mem::take(&mut all.writes),
            narrow: std::mem::take(&mut all.narrow),
            fresh: all.fresh,
            opaque: std::mem::take(&mut all.opaque),
            running: Vec::new(),
        }
    }

    /// The launches that may still run when the next one starts, if that is programmatic: the last one if it let its
    /// dependents start, and those before it that it had not waited for then.
    fn running(&self, of: &[Subject]) -> Vec<(u32, Elements)> {
        let mut running = Vec::new();
        for (number, launch) in self.launches.iter().enumerate().rev() {
            let insts = &of[number].kernel.insts;
            let done = |wanted: fn(&Op) -> bool| {
                let mut counted = insts.iter().zip(&launch.outcome.executed);
                counted.any(|(i, n)| wanted(&i.op) && *n > 0)
            };
            if done(|op| matches!(op, Op::GridLaunch)) {
                running.push((number as u32, launch.wrote.clone()));
                if !launch.outcome.waits_late {
                    break;
                }
                continue;
            }
            // It has ended, and without a wait of its own it may have started before those before it had.
            let waits = insts.iter().any(|i| matches!(i.op, Op::GridWait));
            if !waits || done(|op| matches!(op, Op::GridWait)) {
                break;
            }
        }
        running
    }

    /// Adds a launch that ran on what those before it left.
    fn then(&mut self, before: &Left, next: Covered) {
        let number = self.launches.len() as u32;
        let mut next = Ended::from(next);
        next.outcome.belongs_to(number);
        self.launches.append(&mut next.launches);
        let (all, mut new) = (&mut self.outcome, next.outcome);
        all.defects.append(&mut new.defects);
        all.warnings.append(&mut new.warnings);
        all.unknowns.append(&mut new.unknowns);
        all.by_schedule.append(&mut new.by_schedule);
        Assumption::unite(&mut all.assumptions, std::mem::take(&mut new.assumptions));
        all.stats.add(&new.stats);
        all.opaque = std::mem::take(&mut new.opaque);
        // What nobody wrote since is still there.
        let Outcome {
            store,
            narrow,
            writes,
            ..
        } = &mut new;
        let mut copied = Copied::default();
        let mut into = Copy {
            store,
            copied: &mut copied,
            narrow,
        };
        for (&array, pieces) in &before.pieces {
            let new = std::mem::take(writes.entry(array).or_default());
            let mut there = crate::sim::Writes::new();
            for (&off, &t) in pieces {
                if !new.contains_key(&off) || !before.is_as_wide(t, into.store, new[&off]) {
                    let t = before.piece(t, &mut into);
                    there.insert(off, t);
                }
            }
            for (off, t) in new {
                write(into.store, &mut there, off, t);
            }
            writes.insert(array, there);
        }
        let mut gathers: Vec<Gather> = Vec::new();
        for g in std::mem::take(&mut all.gathers) {
            let terms: Vec<TermId> = g.terms().collect();
            let moved = terms.into_iter().map(|t| (t, before.piece(t, &mut into)));
            let moved: FxHashMap<TermId, TermId> = moved.collect();
            gathers.push(g.moved(|t| moved[&t], None));
        }
        for o in &before.opaque {
            let words = o
                .words
                .iter()
                .map(|t| before.piece(*t, &mut into))
                .collect();
            let says = o.says.clone();
            let kept = Opaque { words, says };
            if !all.opaque.contains(&kept) {
                all.opaque.push(kept);
            }
        }
        before.premises(&mut into);
        gathers.append(&mut new.gathers);
        all.gathers = gathers;
        all.store = new.store;
        all.writes = new.writes;
        all.narrow = new.narrow;
        all.fresh = before.fresh + new.fresh;
    }
}

/// Says that launches were not run, since what the one before them left is not known.
fn skipped(first: usize, all: usize) -> Finding<WarningKind> {
    let which = match all - first {
        1 => format!("launch {first} was"),
        _ => format!("launches {first} to {} were", all - 1),
    };
    Finding::new(
        WarningKind::Note,
        format!(
            "{which} not run, since what launch {} leaves is not known",
            first - 1
        ),
    )
}

/// Runs the launches of one side.
pub fn run(launches: &[Subject]) -> Ended {
    let mut ended: Option<Ended> = None;
    for (i, subject) in launches.iter().enumerate() {
        // What a launch leaves is read by the next one, so that only the last one needs no values.
        let subject = &Subject {
            without_values: subject.without_values && i + 1 == launches.len(),
            ..*subject
        };
        let Some(so_far) = &mut ended else {
            let mut first = Ended::from(all(subject));
            if launches.len() > 1 {
                first.outcome.belongs_to(0);
            }
            ended = Some(first);
            continue;
        };
        if !so_far.outcome.is_settled() {
            so_far.outcome.warnings.push(skipped(i, launches.len()));
            break;
        }
        let mut left = so_far.leave();
        left.running = so_far.running(launches);
        let left = Arc::new(left);
        let mut resolved: Resolved = subject.resolved.clone();
        resolved.bindings.left = Some(left.clone());
        let next = all(&Subject {
            resolved: &resolved,
            ..*subject
        });
        so_far.then(&left, next);
    }
    ended.unwrap_or_default()
}
