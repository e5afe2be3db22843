//! Loads that race, as they are taken to reach nothing.

use std::sync::Arc;

use crate::kernel::{Op, Pc};
use crate::sim::Tid;
use crate::sim::machine::Machine;
use crate::sim::memory::RegionKind;
use crate::sim::place::Target;
use crate::sim::plain::Class;
use crate::sim::race::{AccessKind, Conflict, Finding as Race, Report};
use crate::sim::val::Val;
use crate::sim::warp::lanes;

use super::{Ended, Foreign, Unused};

impl Machine<'_> {
    /// Takes loads to be of no use.
    pub(in crate::sim) fn take_unused(&mut self, unused: &Unused, foreign: &Option<Arc<Foreign>>) {
        self.conditions.unused = Unused {
            foreign: foreign.clone(),
            ..unused.clone()
        };
        let foreign = self.conditions.unused.foreign.iter().flat_map(|f| &f.loads);
        for pc in self.conditions.unused.loads.keys().chain(foreign) {
            self.core.threads.classes[pc.0 as usize] = Class::General;
            self.sync.order.report.apart.insert(*pc);
        }
    }

    /// The value of a load that is of no use.
    pub(in crate::sim) fn unused_value(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        width: u8,
    ) -> Val {
        let thread = Tid(self.core.threads.warps[w].first + lane as u32);
        self.conditions
            .unused_serials
            .insert(self.core.values.fresh, (pc, thread));
        Val::Bits(self.core.values.fresh_bits(width))
    }

    /// The lanes whose loads, of so many bytes each, are taken to be of no use.
    pub(in crate::sim) fn unused_lanes(
        &self,
        (w, exec, pc): (usize, u32, Pc),
        targets: &[Target],
        bytes: u32,
    ) -> u32 {
        if !self.conditions.unused.has(pc) {
            return 0;
        }
        let foreign = self.conditions.unused.foreign.iter();
        let foreign = foreign.filter(|f| f.loads.contains(&pc)).flat_map(|f| {
            let rank = self.core.fixed.launch.rank();
            targets.iter().filter(move |t| {
                let bytes = (t.off as u64, t.off as u64 + u64::from(bytes));
                match self.core.memory.regions[t.region.0 as usize].kind {
                    RegionKind::Array(a) => f.writes(a, bytes, rank),
                    RegionKind::Shared | RegionKind::Local | RegionKind::Param => false,
                }
            })
        });
        let foreign = foreign.fold(0, |mask, t| mask | 1 << t.lane);
        let thread = |lane: usize| Tid(self.core.threads.warps[w].first + lane as u32);
        let unused = lanes(exec).filter(|&lane| self.conditions.unused.of(pc, thread(lane)));
        unused.fold(foreign, |mask, lane| mask | 1 << lane)
    }

    /// What a trial needs to know of this run.
    pub(in crate::sim) fn ended(&mut self) -> Ended {
        // What a loop waits for is of use, though no condition shows it: the loop stands for every number of looks.
        let waits = match self.sync.order.report.is_empty() {
            true => Arc::default(),
            false => self.awaits(),
        };
        // What else the shadow found is no race: it is open or a warning, in each run.
        let races = |report: &Report| {
            let is_race = |r: &&Race| {
                let conflict = self.core.weakened(r);
                matches!(conflict, Some(Conflict::Race | Conflict::Conditional))
            };
            report.findings().filter(is_race).cloned().collect()
        };
        let report = &self.sync.order.report;
        let is_load = |r: &Race| {
            let of = |p: &crate::sim::race::Party| {
                let is_look = waits.by_access.contains_key(&p.pc);
                !p.agent
                    && !is_look
                    && !p.kind.writes()
                    && matches!(self.core.inst(p.pc).op, Op::Ld { .. })
            };
            // Another one that data decide about is found again.
            r.conflict == Conflict::Conditional || of(&r.earlier) || of(&r.later)
        };
        let held = self.sync.order.held.as_ref().map(|h| &h.report);
        let own: Vec<Race> = races(report);
        let of_held: Vec<Race> = held.map(races).unwrap_or_default();
        let all = own.iter().chain(&of_held).all(is_load) && !own.is_empty();
        let decided = own.iter().filter(|r| r.conflict == Conflict::Conditional);
        let pairs = decided.map(|r| [r.earlier.pc, r.later.pc]);
        let readers = report.readers().iter().copied();
        let readers = readers.filter(|r| matches!(self.core.inst(r.0).op, Op::Ld { .. }));
        let is_before = |r: &Race| {
            let (load, store) = (
                &self.core.inst(r.earlier.pc).op,
                &self.core.inst(r.later.pc).op,
            );
            r.conflict == Conflict::Race
                && !r.earlier.agent
                && !r.later.agent
                && matches!((r.earlier.kind, load), (AccessKind::Read, Op::Ld { .. }))
                && matches!((r.later.kind, store), (AccessKind::Write, Op::St { .. }))
        };
        Ended {
            before: own.iter().all(is_before),
            races: own.len(),
            pairs: pairs.collect(),
            made: self.sync.order.by_value.holds(),
            racing: all.then(|| readers.collect()),
            unknowns: std::mem::take(&mut self.conditions.unused_serials),
        }
    }
}
