//! Launches that may start early, as instructions let them and wait for them.

use crate::answer::AssumptionKind;
use crate::kernel::Pc;
use crate::sim::at::site;
use crate::sim::limits::LIMITS;
use crate::sim::machine::{Machine, Synchronisation};
use crate::sim::race::AccessKind;
use crate::sim::region::RegionId;
use crate::sim::warp::{LANES, lanes};
use crate::sim::{DefectKind, Tid, UnknownKind};
use crate::term::ArrayId;

impl Synchronisation {
    /// `griddepcontrol.wait`.
    pub(in crate::sim) fn grid_wait(&mut self, w: usize, exec: u32) {
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
    pub(in crate::sim) fn grid_launch(&mut self, w: usize, exec: u32) {
        let early = self.dependents.too_early(&self.order.clocks, w, exec);
        self.dependents.early |= early != 0;
    }
}

impl Machine<'_> {
    /// Lanes access an array; says what is wrong if launches before may still run.
    pub(in crate::sim) fn before_grid_wait(
        &mut self,
        (region, array): (RegionId, ArrayId),
        (w, mask, pc): (usize, u32, Pc),
        (offs, bytes): (&[u64; LANES], u64),
        (kind, conditional): (AccessKind, bool),
    ) {
        let early = self
            .sync
            .dependents
            .too_early(&self.sync.order.clocks, w, mask);
        let left = self.core.fixed.bindings.left.clone();
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
                self.sync.dependents.places.insert((pc, array));
                continue;
            };
            let place = self.core.place(region, at, self.core.access_bytes(pc));
            let what = match kind.writes() {
                true => "written",
                false => "read",
            };
            let missing = match self.sync.dependents.wait {
                Some(wait) => format!(
                    "griddepcontrol.wait (line {}) has to come before, in this thread or by a barrier",
                    self.core.line(wait)
                ),
                None => "griddepcontrol.wait before it is missing".to_string(),
            };
            let text = format!("{place} is {what} before griddepcontrol.wait");
            let site = site(pc, w, 1 << lane, text);
            let message = || {
                format!(
                    "{place} is written by launch {launch} and {what} by this one, which may start once launch {launch} has \
                     called griddepcontrol.launch_dependents, if the host asked for programmatic launch: {missing}"
                )
            };
            match conditional {
                true => self
                    .core
                    .found
                    .unknown(UnknownKind::Undecided, vec![site], message),
                false => self.core.defect(DefectKind::DataRace, vec![site], message),
            }
        }
    }

    /// What a kernel with `griddepcontrol` takes for granted of the launches around it.
    pub(in crate::sim) fn report_dependents(&mut self) {
        if !self.sync.dependents.on() {
            return;
        }
        let mut says = Vec::new();
        let places = std::mem::take(&mut self.sync.dependents.places);
        let mut named: Vec<String> = places
            .iter()
            .take(LIMITS.dependent_places)
            .map(|&(pc, array)| {
                format!(
                    "`{}` in line {}",
                    self.core.fixed.arrays[array].name,
                    self.core.line(pc)
                )
            })
            .collect();
        if places.len() > LIMITS.dependent_places {
            named.push(format!("{} more", places.len() - LIMITS.dependent_places));
        }
        if let Some(wait) = self.sync.dependents.wait {
            says.push(format!(
                "the launches before this one whose writes it reads are over at griddepcontrol.wait (line {})",
                self.core.line(wait)
            ));
        }
        if !named.is_empty() {
            says.push(format!(
                "no launch before this one that may still run writes what this one accesses, or reads what it writes, before \
                 griddepcontrol.wait ({})",
                named.join(", ")
            ));
        }
        if let Some(trigger) = self.sync.dependents.trigger {
            says.push(format!(
                "no launch after this one that starts at griddepcontrol.launch_dependents (line {}) touches what this one \
                 writes, or writes what it reads, before griddepcontrol.wait",
                self.core.line(trigger)
            ));
        }
        let kind = AssumptionKind::Machine;
        self.core
            .found
            .assumptions
            .extend(says.into_iter().map(|s| kind.says(s)));
    }
}
