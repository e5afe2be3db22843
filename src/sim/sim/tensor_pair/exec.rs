//! Allocation, release and its end, as a warp of each CTA of a pair comes to them.

use crate::answer::AssumptionKind;
use crate::kernel::{Pc, TensorOp};
use crate::sim::DefectKind;
use crate::sim::at::site;
use crate::sim::clock::Actor;
use crate::sim::machine::{Machine, Tasks};
use crate::sim::step::Flow;
use crate::sim::stop::Stop;

use super::Half;

impl Tasks {
    /// Where the columns begin that the other CTA of the pair was given.
    pub(in crate::sim) fn tensor_given(&self, partner: Option<usize>) -> Option<usize> {
        self.tensor.half.get(partner?)?.first
    }

    /// What a warp waits for, for a report of a deadlock.
    pub(in crate::sim) fn tensor_waits(&self, w: usize) -> Option<String> {
        let half = self.tensor.half.iter().find(|h| h.w == w)?;
        let name = half.name;
        Some(format!(
            "waits in {name} for a warp of the other CTA of its pair"
        ))
    }
}

impl Machine<'_> {
    /// The warp of the other CTA of the pair that waits in the operation that a warp comes to.
    pub(in crate::sim) fn tensor_partner(
        &mut self,
        w: usize,
        pc: Pc,
    ) -> Result<Option<usize>, Stop> {
        let Some(peer) = self
            .core
            .fixed
            .team
            .peer(w, self.core.fixed.team.rank(w) ^ 1)
        else {
            let site = site(pc, w, u32::MAX, "is executed");
            self.core.defect(DefectKind::OutOfBounds, vec![site], || {
                "the cluster has no other CTA for a pair: .cta_group::2 takes two".into()
            });
            return Err(Stop::Finding);
        };
        let of_peer = |h: &Half| self.core.fixed.team.number(h.w) == peer;
        Ok(self.tasks.tensor.half.iter().position(of_peer))
    }

    /// A warp has done its half of an operation: it waits for its partner, or lets that go on.
    pub(in crate::sim) fn tensor_meet(
        &mut self,
        (w, pc): (usize, Pc),
        op: &TensorOp,
        columns: Option<u64>,
        given: Option<(Actor, usize)>,
        partner: Option<usize>,
    ) -> Result<Flow, Stop> {
        let name = op.name();
        let same = |i: &usize| self.tasks.tensor.half[*i].name == name;
        let Some(i) = partner.filter(same) else {
            self.tasks.tensor.half.push(Half {
                w,
                name,
                columns,
                first: given.map(|g| g.1),
                agents: given.map(|g| g.0),
            });
            self.core.threads.warps[w].blocked |= self.core.threads.warps[w].live;
            return Ok(Flow::Set);
        };
        let other = self.tasks.tensor.half.remove(i);
        let live = self.core.threads.warps[other.w].live;
        for lane in crate::sim::warp::lanes(live) {
            self.core.threads.warps[other.w].pc[lane] += 1;
        }
        self.core.threads.warps[other.w].blocked &= !live;
        if other.columns != columns {
            let site = site(pc, w, u32::MAX, "is executed");
            self.core.defect(DefectKind::BarrierMisuse, vec![site], || {
                format!("{name}: the CTAs of a pair name different numbers of columns")
            });
            return Err(Stop::Finding);
        }
        if let (Some(one), Some((two, _))) = (other.agents, given) {
            let clocks = &mut self.sync.order.clocks;
            let event = clocks.new_event();
            for agents in [one, two] {
                clocks.join_event(agents, u32::MAX, event);
            }
            for w in [other.w, w] {
                clocks.observe(event, w as u32, u32::MAX);
            }
            self.core.found.assumptions.insert(AssumptionKind::Machine.says(
                "tcgen05.alloc of a pair of CTAs returns in neither of them before it has allocated in both",
            ));
        }
        Ok(Flow::Next)
    }
}
