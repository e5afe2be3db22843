//! Arrivals and waits at the barriers of clusters.

use crate::kernel::{ClusterOp, Pc, Scoped};
use crate::sim::at::site;
use crate::sim::machine::Machine;
use crate::sim::step::Flow;
use crate::sim::stop::Stop;
use crate::sim::warp::lanes;
use crate::sim::{DefectKind, Tid};

use super::Of;

impl Machine<'_> {
    /// The cluster of a warp, and the rank of the warp among those of the cluster.
    fn in_cluster(&self, w: usize) -> (usize, usize) {
        let of = self.cluster_warps();
        (w / of, w % of)
    }

    /// Warps of a cluster.
    fn cluster_warps(&self) -> usize {
        self.core.threads.warps.len() / self.sync.cluster_barriers.len()
    }

    /// `barrier.cluster.arrive` and `barrier.cluster.wait`.
    pub(crate) fn cluster_barrier(
        &mut self,
        w: usize,
        exec: u32,
        pc: Pc,
        op: &ClusterOp,
    ) -> Result<Flow, Stop> {
        let aligned = match op {
            ClusterOp::Arrive { aligned, .. } | ClusterOp::Wait { aligned } => *aligned,
            _ => return Ok(Flow::Next),
        };
        if aligned && self.core.threads.warps[w].live & !exec != 0 {
            self.core
                .unaligned(w, exec, self.core.threads.warps[w].live & !exec, pc)?;
        }
        self.core.threads.effects += 1;
        match op {
            ClusterOp::Arrive { release, .. } => {
                self.cluster_arrive(w, exec, pc, *release)?;
                Ok(Flow::Next)
            }
            _ => self.cluster_wait(w, exec, pc),
        }
    }

    fn cluster_arrive(&mut self, w: usize, exec: u32, pc: Pc, release: bool) -> Result<(), Stop> {
        let (c, i) = self.in_cluster(w);
        let of = self.sync.cluster_barriers[c].of[i];
        let again = (of.arrived | of.free) & exec;
        if again != 0 {
            let why =
                "barrier.cluster.arrive is executed twice without barrier.cluster.wait between";
            return Err(self.cluster_misused(w, again, pc, why));
        }
        if release {
            let clocks = &mut self.sync.order.clocks;
            let all = clocks.live(w as u32) & !exec == 0;
            let snaps: Vec<_> = match all {
                true => vec![clocks.publish_warp(w as u32)],
                false => lanes(exec)
                    .map(|l| clocks.publish(Tid(self.core.threads.warps[w].first + l as u32)))
                    .collect(),
            };
            self.sync.cluster_barriers[c].released.extend(snaps);
        } else {
            let cta = self.core.fixed.team.number(w) as u32;
            for t in lanes(exec).map(|l| Tid(self.core.threads.warps[w].first + l as u32)) {
                let heads = self.sync.patterns.released(t, cta, Scoped::Cluster);
                self.sync.cluster_barriers[c].fenced.extend(heads);
            }
        }
        let published = self.sync.inits.published(w, exec);
        self.sync.cluster_barriers[c].inits.extend(published);
        self.sync.cluster_barriers[c].of[i].arrived |= exec;
        self.sync.cluster_barriers[c].at[i] = Some(pc);
        self.cluster_complete(c);
        Ok(())
    }

    fn cluster_wait(&mut self, w: usize, exec: u32, pc: Pc) -> Result<Flow, Stop> {
        let (c, i) = self.in_cluster(w);
        let of = &mut self.sync.cluster_barriers[c].of[i];
        let stray = exec & !(of.arrived | of.free);
        if stray != 0 {
            let why = "barrier.cluster.wait is executed without barrier.cluster.arrive before it";
            return Err(self.cluster_misused(w, stray, pc, why));
        }
        let over = exec & of.free;
        of.free &= !over;
        of.waiting |= exec & !over;
        self.core.threads.warps[w].jump(exec, pc.0);
        self.core.threads.warps[w].blocked |= exec & !over;
        self.cluster_pass(c, w, over);
        Ok(Flow::Set)
    }

    /// Lanes see the end of the phase before.
    fn cluster_pass(&mut self, c: usize, w: usize, mask: u32) {
        if mask == 0 {
            return;
        }
        let clocks = &mut self.sync.order.clocks;
        clocks.acquire_warp(w as u32, mask, &self.sync.cluster_barriers[c].before);
        let cta = self.core.fixed.team.number(w) as u32;
        for t in lanes(mask).map(|l| Tid(self.core.threads.warps[w].first + l as u32)) {
            for h in &self.sync.cluster_barriers[c].fenced_before {
                h.heard_by(clocks, (t, cta), Scoped::Cluster, None);
            }
        }
        for e in &self.sync.cluster_barriers[c].made {
            clocks.observe(*e, w as u32, mask);
        }
        let over = self.sync.cluster_barriers[c].over;
        self.sync.lifetimes.started(w, mask, over);
        for lane in lanes(mask) {
            self.core.threads.warps[w].pc[lane] += 1;
        }
        self.core.threads.warps[w].blocked &= !mask;
    }

    /// Ends the phase if all threads that have not exited have arrived.
    pub(crate) fn cluster_complete(&mut self, c: usize) {
        let n = self.cluster_warps();
        let all = |i: usize, of: &Of| self.core.threads.warps[c * n + i].live & !of.arrived == 0;
        let barrier = &self.sync.cluster_barriers[c];
        let mut each = barrier.of.iter().enumerate();
        if !each.all(|(i, of)| all(i, of)) || barrier.of.iter().all(|of| of.arrived == 0) {
            return;
        }
        let barrier = &mut self.sync.cluster_barriers[c];
        barrier.over += 1;
        barrier.before = std::mem::take(&mut barrier.released);
        barrier.fenced_before = std::mem::take(&mut barrier.fenced);
        barrier.made = std::mem::take(&mut barrier.inits);
        let mut woken = Vec::new();
        for (i, of) in barrier.of.iter_mut().enumerate() {
            woken.push((c * n + i, of.waiting));
            of.free = of.arrived & !of.waiting;
            (of.arrived, of.waiting) = (0, 0);
        }
        for (w, mask) in woken {
            self.cluster_pass(c, w, mask);
        }
    }

    /// The number of the phase in which lanes of a warp arrive next.
    pub(in crate::sim::cluster) fn next_phase(&self, w: usize, mask: u32) -> u64 {
        let (c, i) = self.in_cluster(w);
        let barrier = &self.sync.cluster_barriers[c];
        barrier.over + 1 + u64::from(barrier.of[i].arrived & mask != 0)
    }

    /// Threads of a warp exited: those that waited only for them go on.
    pub(crate) fn exit_cluster(&mut self, w: usize) {
        let (c, _) = self.in_cluster(w);
        self.cluster_complete(c);
    }

    /// What a lane waits for, and who is missing, for a report of a deadlock.
    pub(crate) fn cluster_waits(&self, w: usize, lane: usize) -> Option<String> {
        let (c, i) = self.in_cluster(w);
        let barrier = &self.sync.cluster_barriers[c];
        if barrier.of[i].waiting >> lane & 1 == 0 {
            return None;
        }
        let n = self.cluster_warps();
        let late = |(j, of): (usize, &Of)| {
            (self.core.threads.warps[c * n + j].live & !of.arrived).count_ones()
        };
        let missing: u32 = barrier.of.iter().enumerate().map(late).sum();
        Some(format!(
            "waits at the barrier of the cluster: {missing} threads have not arrived"
        ))
    }

    fn cluster_misused(&mut self, w: usize, mask: u32, pc: Pc, why: &str) -> Stop {
        let (c, i) = self.in_cluster(w);
        let before = self.sync.cluster_barriers[c].at[i];
        let first = before.map(|at| site(at, w, mask, "arrives"));
        let here = site(pc, w, mask, "is executed");
        let sites = first.into_iter().chain([here]).collect();
        self.core
            .defect(DefectKind::BarrierMisuse, sites, || why.into());
        Stop::Finding
    }
}
