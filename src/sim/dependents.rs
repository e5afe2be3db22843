//! Programmatic dependent launch: a grid that starts before those it depends on have ended.
//!
//! The problem: a launch that the host asks to be programmatic may start once every CTA of the launch before has executed
//! `griddepcontrol.launch_dependents` or ended. Until a thread knows that `griddepcontrol.wait` has returned, the launch
//! before may still run: whatever it writes must not be read or written (PTX ISA 9.3, section 9.7.14.13).
//!
//! How: the launches before are an agent that whoever waits observes the end of; happens-before carries that on. An
//! access that does not follow it is compared with what those launches wrote that may still run
//! ([`Left::running`](crate::term::Left)).
//!
//! Sound: `griddepcontrol.wait` is the only thing that promises the end of the launch before, and what follows anyone's wait by
//! happens-before is excused, nothing else. That a write before the wait does not meet a read of a launch that still runs,
//! and all of this in a launch that is looked at alone, are assumptions with their places.

use std::collections::BTreeSet;

use crate::answer::AssumptionKind;
use crate::kernel::{Kernel, Op, Pc};
use crate::term::ArrayId;

use super::clock::{Actor, Clocks, Tick};
use super::machine::{Machine, RegionId};
use super::race::Kind;
use super::warp::{LANES, lanes};
use super::{DefectKind, Tid, UnknownKind};

/// Most places that the assumption names.
const MOST_PLACES: usize = 8;

/// What a run knows of the launches before it.
#[derive(Debug, Default)]
pub(super) struct Dependents {
    /// Stands for the launches before; none in a kernel without `griddepcontrol`.
    before: Option<Actor>,
    /// Lanes of each warp that are known to follow a wait.
    after: Vec<u32>,
    wait: Option<Pc>,
    trigger: Option<Pc>,
    /// Some thread let dependents start before it had waited itself.
    pub early: bool,
    /// The arrays that instructions access before a wait.
    places: BTreeSet<(Pc, ArrayId)>,
}

impl Dependents {
    /// Nothing is known yet.
    pub(super) fn new(kernel: &Kernel, clocks: &mut Clocks) -> Dependents {
        let at = |wanted: fn(&Op) -> bool| {
            let found = kernel.insts.iter().position(|i| wanted(&i.op));
            found.map(|i| Pc(i as u32))
        };
        let wait = at(|op| matches!(op, Op::GridWait));
        let trigger = at(|op| matches!(op, Op::GridLaunch));
        Dependents {
            before: (wait.is_some() || trigger.is_some()).then(|| clocks.fork(0)),
            after: vec![0; clocks.shape().warps() as usize],
            wait,
            trigger,
            ..Dependents::default()
        }
    }

    /// True in a kernel with `griddepcontrol`.
    #[inline]
    pub(super) fn on(&self) -> bool {
        self.before.is_some()
    }

    /// Lanes of a warp that do not follow a wait.
    fn too_early(&mut self, clocks: &Clocks, w: usize, mask: u32) -> u32 {
        let Some(before) = self.before else {
            return 0;
        };
        let late = |l: &usize| clocks.ordered(before, Tick(1), Tid((w * LANES + l) as u32));
        let unsure = mask & !self.after[w];
        self.after[w] |= lanes(unsure).filter(late).fold(0, |m, l| m | 1 << l);
        mask & !self.after[w]
    }
}

impl Machine<'_> {
    /// `griddepcontrol.wait`.
    pub(super) fn grid_wait(&mut self, w: usize, exec: u32) {
        let Some(before) = self.dependents.before else {
            return;
        };
        for lane in lanes(exec) {
            let tid = Tid((w * LANES + lane) as u32);
            if self.dependents.after[w] >> lane & 1 == 0 {
                self.order.clocks.join_by(before, tid);
            }
        }
        self.dependents.after[w] |= exec;
    }

    /// `griddepcontrol.launch_dependents`.
    pub(super) fn grid_launch(&mut self, w: usize, exec: u32) {
        let early = self.dependents.too_early(&self.order.clocks, w, exec);
        self.dependents.early |= early != 0;
    }

    /// Lanes access an array; says what is wrong if launches before may still run.
    pub(super) fn before_grid_wait(
        &mut self,
        (region, array): (RegionId, ArrayId),
        (w, mask, pc): (usize, u32, Pc),
        (offs, bytes): (&[u64; LANES], u64),
        (kind, conditional): (Kind, bool),
    ) {
        let early = self.dependents.too_early(&self.order.clocks, w, mask);
        let left = self.bindings.left.clone();
        for lane in lanes(early) {
            let (from, to) = (offs[lane], offs[lane] + bytes);
            let met = left
                .iter()
                .flat_map(|left| &left.running)
                .find_map(|(n, wrote)| {
                    let mut all = wrote.get(&array).into_iter().flatten();
                    let met = all.find(|r| r.0 < to && from < r.1);
                    met.map(|r| (*n, r.0.max(from)))
                });
            let Some((launch, at)) = met else {
                self.dependents.places.insert((pc, array));
                continue;
            };
            let place = self.place(region, at, self.access_bytes(pc));
            let what = match kind.writes() {
                true => "written",
                false => "read",
            };
            let missing = match self.dependents.wait {
                Some(wait) => format!(
                    "griddepcontrol.wait (line {}) has to come before, in this thread or by a barrier",
                    self.line(wait)
                ),
                None => "griddepcontrol.wait before it is missing".to_string(),
            };
            let text = format!("{place} is {what} before griddepcontrol.wait");
            let site = self.site(pc, w, 1 << lane, text);
            let message = || {
                format!(
                    "{place} is written by launch {launch} and {what} by this one, which may start once launch {launch} has \
                     called griddepcontrol.launch_dependents, if the host asked for programmatic launch: {missing}"
                )
            };
            match conditional {
                true => self.unknown(UnknownKind::Undecided, vec![site], message),
                false => self.defect(DefectKind::DataRace, vec![site], message),
            }
        }
    }

    /// What a kernel with `griddepcontrol` takes for granted of the launches around it.
    pub(super) fn report_dependents(&mut self) {
        if !self.dependents.on() {
            return;
        }
        let mut says = Vec::new();
        let places = std::mem::take(&mut self.dependents.places);
        let mut named: Vec<String> = places
            .iter()
            .take(MOST_PLACES)
            .map(|&(pc, array)| format!("`{}` in line {}", self.arrays[array].name, self.line(pc)))
            .collect();
        if places.len() > MOST_PLACES {
            named.push(format!("{} more", places.len() - MOST_PLACES));
        }
        if let Some(wait) = self.dependents.wait {
            says.push(format!(
                "the launches before this one whose writes it reads are over at griddepcontrol.wait (line {})",
                self.line(wait)
            ));
        }
        if !named.is_empty() {
            says.push(format!(
                "no launch before this one that may still run writes what this one accesses, or reads what it writes, before \
                 griddepcontrol.wait ({})",
                named.join(", ")
            ));
        }
        if let Some(trigger) = self.dependents.trigger {
            says.push(format!(
                "no launch after this one that starts at griddepcontrol.launch_dependents (line {}) touches what this one \
                 writes, or writes what it reads, before griddepcontrol.wait",
                self.line(trigger)
            ));
        }
        let kind = AssumptionKind::Machine;
        self.found
            .assumptions
            .extend(says.into_iter().map(|s| kind.says(s)));
    }
}
