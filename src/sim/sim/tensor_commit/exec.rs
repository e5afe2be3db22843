//! Commits and arrivals that nobody waits for, as they are made and told.

use crate::answer::AssumptionKind;
use crate::kernel::{Addr, Pc, Space, Src};
use crate::sim::at::{LaneAt, site, tids};
use crate::sim::clock::Actor;
use crate::sim::machine::{Core, Machine};
use crate::sim::place::Target;
use crate::sim::region::SHARED;
use crate::sim::step::Under;
use crate::sim::stop::Stop;
use crate::sim::val::Val;
use crate::sim::warp::lanes;
use crate::sim::{Tid, UnknownKind};

impl Core<'_> {
    /// The same place of the CTAs that a mask names.
    fn commit_places(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        mask: Src,
        off: i64,
    ) -> Result<Vec<i64>, Stop> {
        let mask = (self.tensor_word(w, lane, pc, mask)? & 0xffff) as u32;
        if mask >> self.fixed.team.size() != 0 {
            let size = self.fixed.team.size();
            let site = site(pc, w, 1 << lane, "commits to it");
            self.defect(crate::sim::DefectKind::OutOfBounds, vec![site], || {
                format!(
                    "the mask {mask:#x} of a commit names CTAs that the cluster, of {size}, has not"
                )
            });
            return Err(Stop::Finding);
        }
        let own = self.fixed.team.local(off);
        let peers = lanes(mask).filter_map(|rank| self.fixed.team.peer(w, rank as u32));
        Ok(peers
            .map(|number| self.fixed.team.slot(number) + own)
            .collect())
    }

    fn unknown_object(&mut self, w: usize, lane: usize, pc: Pc) {
        let site = site(pc, w, 1 << lane, "commits to it");
        self.found
            .unknown(UnknownKind::UnsupportedInstruction, vec![site], || {
                "an mbarrier at this address is not supported".into()
            });
    }
}

impl Machine<'_> {
    /// `tcgen05.commit`: the mbarrier counts an arrival when all products of the thread are over.
    pub(in crate::sim) fn tensor_commit(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        space: Space,
        addr: Addr,
        multicast: Option<Src>,
    ) -> Result<(), Stop> {
        let v = self.core.src(w, addr.base, lane);
        let mut space = space;
        // Compilers give a shared address of 32 bits where a generic one is written.
        let p = self.core.src_prov(w, addr.base, lane);
        if let (Space::Generic, Val::Conc(_)) = (space, v)
            && self.core.memory.prov.landing(p, Space::Shared).is_ok()
        {
            space = Space::Shared;
            self.core
                .found
                .assumptions
                .insert(AssumptionKind::Machine.says(
                    "tcgen05.commit without a state space takes an address of shared memory",
                ));
        }
        let mut to =
            self.core
                .targets(LaneAt { w, lane, pc }.alone(), space, addr, &Under::none())?;
        self.check(w, pc, &mut to, 8, true);
        let [t] = &to[..] else {
            return Err(Stop::Finding);
        };
        if t.region != SHARED || t.cond.is_some() {
            self.core.unknown_object(w, lane, pc);
            return Err(Stop::Finding);
        }
        let slots = match multicast {
            None => vec![t.off],
            Some(mask) => self.core.commit_places((w, lane, pc), mask, t.off)?,
        };
        let agents = self.sync.order.clocks.fork(w as u32);
        let tid = tids(w, 1 << lane)[0];
        let mut ended = self.tasks.tensor.products.remove(&tid).unwrap_or_default();
        let now = self.sync.order.clocks.stamp(w as u32);
        ended.retain(|(who, mask)| !self.sync.order.clocks.all_settled(*who, *mask, now));
        // A commit is a synchronous operation (section 9.7.16.6.1): later ones of its thread come after it.
        ended.push((agents, 1 << lane));
        let own = Actor(agents.0 + lane as u32);
        let carried = self.tasks.tensor.carried.get(&tid).cloned();
        for off in slots {
            let place = Target { off, ..*t };
            self.touch_object(w, pc, &[place], Some(agents))?;
            self.tasks.tensor.commits.commit(tid, off as u64, own);
            self.arrive_after(LaneAt { w, lane, pc }, off as u64, &ended, carried.clone())?;
        }
        self.tasks.tensor.products.insert(tid, ended);
        Ok(())
    }

    /// A lane invalidates an mbarrier: the arrivals of commits on it have come if those of others that
    /// track the same have.
    pub(in crate::sim) fn settle_commits(&mut self, w: usize, lane: usize, at: u64) {
        let me = Tid(self.core.threads.warps[w].first + lane as u32);
        let all = self.tasks.tensor.commits.to.remove(&at).unwrap_or_default();
        let now = self.sync.order.clocks.stamp(w as u32);
        for (agent, others) in all {
            let clocks = &mut self.sync.order.clocks;
            if !clocks.ordered(agent, now, me)
                && others.iter().any(|other| clocks.ordered(*other, now, me))
            {
                clocks.join_by(agent, me);
                self.core.found.assumptions.insert(AssumptionKind::Machine.says("commits of a thread between two of its tcgen05.mma have all arrived when one of them \
                     has been waited for and their mbarriers are invalidated"));
            }
        }
    }
}
