//! Operations of asynchronous agents, each to the file of its technique.
//!
//! Source: PTX ISA 9.0, sections 9.7.13.4, 9.7.13.15, 9.7.14.4, 9.7.15 and 9.7.16.

use crate::kernel::{AsyncOp, Pc};
use crate::sim::at::{At, site};

use super::DefectKind;
use super::clock::Actor;
use super::machine::{Core, Machine};
use super::mbarrier::TOUCH;
use super::place::Target;
use super::proxy::Through;
use super::race::AccessKind;
use super::region::SHARED;
use super::step::{Flow, Under};
use super::stop::Stop;

impl Core<'_> {
    /// A collective that takes all lanes of a warp.
    pub(super) fn whole_warp(&mut self, w: usize, exec: u32, pc: Pc) -> Result<(), Stop> {
        if exec == u32::MAX {
            return Ok(());
        }
        let mut sites = vec![site(pc, w, exec, "execute it")];
        let absent = self.threads.warps[w].live & !exec;
        if absent != 0 {
            let at = Pc(self.threads.warps[w].pc[absent.trailing_zeros() as usize]);
            sites.push(site(at, w, absent, "do not"));
        }
        let name = self.collective_name(pc);
        self.defect(DefectKind::BarrierMisuse, sites, || {
            format!("{name} is executed by a part of a warp: all 32 lanes must execute it together")
        });
        Err(Stop::Finding)
    }
}

impl Machine<'_> {
    /// An operation of an asynchronous agent.
    pub(super) fn asynchronous(
        &mut self,
        w: usize,
        mask: u32,
        exec: u32,
        pc: Pc,
        op: &AsyncOp,
    ) -> Result<Flow, Stop> {
        if let AsyncOp::Cluster(op) = op {
            return self.cluster_op(w, exec, pc, op);
        }
        if op.effects().gathers && !matches!(op, AsyncOp::Wait { .. }) {
            self.core.whole_warp(w, exec, pc)?;
            self.note_meeting(w, exec);
        }
        match op {
            AsyncOp::ProxyFence { shared, global } => {
                let order = &mut self.sync.order;
                let of = (*shared, *global);
                order.proxies.fence(&order.clocks, (w, exec), of);
            }
            AsyncOp::InitFence => {
                let order = &mut self.sync.order;
                order.proxies.fence_inits(&order.clocks, w, exec);
                self.sync.publish_inits(w, exec);
            }
            AsyncOp::Registers { count, more } => {
                return self.set_registers(w, pc, (*count, *more));
            }
            AsyncOp::WgmmaFence => self.wgmma_fence(w),
            AsyncOp::WgmmaCommit => self.wgmma_commit(w),
            AsyncOp::WgmmaWait { pending } => return Ok(self.wgmma_wait(w, *pending)),
            AsyncOp::Wgmma(m) => self.wgmma(w, pc, m)?,
            AsyncOp::Tensor(op) => return self.tensor_op(w, exec, pc, op),
            AsyncOp::Bulk(op) => self.bulk_op(w, exec, pc, op)?,
            AsyncOp::WmmaLoad { dsts, from } => self.wmma_load(w, pc, (dsts, from))?,
            AsyncOp::WmmaStore { srcs, to } => self.wmma_store(w, pc, (srcs, to))?,
            AsyncOp::WmmaMma(m) => self.wmma_mma(w, pc, m)?,
            _ => {
                let Some((space, addr)) = op.object() else {
                    return Ok(Flow::Next);
                };
                let none = Under::none();
                let mut targets = self.core.targets(At { w, exec, pc }, space, addr, &none)?;
                self.check(w, pc, &mut targets, 8, true);
                let known = |t: &Target| t.region == SHARED && t.cond.is_none();
                if targets.len() != exec.count_ones() as usize || !targets.iter().all(known) {
                    self.core
                        .unsupported(w, exec, pc, "an mbarrier at this address");
                    return Err(Stop::Finding);
                }
                let kind = match op {
                    AsyncOp::Init { .. } | AsyncOp::Inval { .. } => AccessKind::Write,
                    _ => TOUCH,
                };
                if let AsyncOp::Inval { .. } = op {
                    for t in &targets {
                        self.settle_commits(w, t.lane, t.off as u64);
                    }
                }
                self.sync.order.through = Through::Object;
                let conflicts = match op {
                    AsyncOp::Init { .. } => self.order_inits((w, exec, pc), &targets),
                    _ => self.order_accesses((w, pc), &targets, (8, 1), kind, false),
                };
                self.sync.order.through = Through::Thread;
                let conflicts = conflicts?;
                for (_, c) in &conflicts {
                    if let AsyncOp::Init { count, .. } = op
                        && self.core.made_alike((w, pc), *count, c)
                    {
                        continue;
                    }
                    self.sync.add_race(c.otherwise, c);
                }
                if let AsyncOp::Wait { .. } = op {
                    self.core.threads.warps[w].jump(mask & !exec, pc.0 + 1);
                    self.core.threads.warps[w].jump(exec, pc.0);
                    for t in targets {
                        self.object_wait(w, t.lane, pc, t.off as u64, op)?;
                    }
                    return Ok(Flow::Set);
                }
                self.issue_together(w, exec);
                for t in targets {
                    self.object_step(w, t.lane, pc, t.off as u64, op)?;
                }
            }
        }
        Ok(Flow::Next)
    }

    /// Operations on mbarriers access them; those of an agent are its own.
    pub(super) fn touch_object(
        &mut self,
        w: usize,
        pc: Pc,
        targets: &[Target],
        agents: Option<Actor>,
    ) -> Result<(), Stop> {
        self.sync.order.agent = agents;
        self.sync.order.through = Through::Object;
        let found = self.order_accesses((w, pc), targets, (8, 1), TOUCH, false);
        self.sync.order.agent = None;
        self.sync.order.through = Through::Thread;
        for (_, c) in &found? {
            self.sync.add_race(c.otherwise, c);
        }
        Ok(())
    }
}
