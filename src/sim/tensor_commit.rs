//! `tcgen05.commit`, and what becomes of arrivals that nobody waits for.
//!
//! Source: PTX ISA 9.0, section 9.7.16.12: the mbarrier counts an arrival when all operations of the
//! thread so far are over.
//!
//! Compilers commit to several mbarriers one after the other, wait on one of them, and invalidate
//! all. By the letter of the manual the arrival on another may come after that. There is nothing left
//! that it could wait for: the operations are the same, and they are over. So where an mbarrier is
//! invalidated, the commits of a thread between two of its products count as one, which the report
//! says; for anything else they do not.

use rustc_hash::FxHashMap;

use crate::answer::AssumptionKind;
use crate::kernel::{Addr, Pc, Space, Src};

use super::Tid;
use super::UnknownKind;
use super::clock::Actor;
use super::machine::{Machine, SHARED, Stop};
use super::place::Target;
use super::step::Under;
use super::value::Val;
use super::warp::lanes;

/// Commits that track the same operations.
#[derive(Clone, Debug, Default)]
pub(super) struct Commits {
    /// Those of each thread since its last product.
    since: FxHashMap<Tid, Vec<Actor>>,
    /// For each mbarrier the commits to it, each with those before it that track the same.
    to: FxHashMap<u64, Vec<(Actor, Vec<Actor>)>>,
}

impl Commits {
    /// A thread issued a product: its commits so far track less than those that follow.
    pub(super) fn product(&mut self, by: Tid) {
        self.since.remove(&by);
    }

    fn commit(&mut self, by: Tid, at: u64, agent: Actor) {
        let since = self.since.entry(by).or_default();
        if !since.is_empty() {
            self.to.entry(at).or_default().push((agent, since.clone()));
        }
        since.push(agent);
    }
}

impl Machine<'_> {
    /// `tcgen05.commit`: the mbarrier counts an arrival when all products of the thread are over.
    pub(super) fn tensor_commit(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        space: Space,
        addr: Addr,
        multicast: Option<Src>,
    ) -> Result<(), Stop> {
        let v = self.src(w, addr.base, lane);
        let mut space = space;
        // Compilers give a shared address of 32 bits where a generic one is written.
        let p = self.src_prov(w, addr.base, lane);
        if let (Space::Generic, Val::Conc(_)) = (space, v)
            && self.prov.landing(p, Space::Shared).is_ok()
        {
            space = Space::Shared;
            self.found
                .assumptions
                .insert(AssumptionKind::Machine.says(
                    "tcgen05.commit without a state space takes an address of shared memory",
                ));
        }
        let mut to = self.targets(w, 1 << lane, pc, space, addr, &Under::none())?;
        self.check(w, pc, &mut to, 8, true);
        let [t] = &to[..] else {
            return Err(Stop::Finding);
        };
        if t.region != SHARED || t.cond.is_some() {
            self.unknown_object(w, lane, pc);
            return Err(Stop::Finding);
        }
        let slots = match multicast {
            None => vec![t.off],
            Some(mask) => self.commit_places((w, lane, pc), mask, t.off)?,
        };
        let agents = self.order.clocks.fork(w as u32);
        let tid = self.tids(w, 1 << lane)[0];
        let mut ended = self.tensor.products.remove(&tid).unwrap_or_default();
        let now = self.order.clocks.stamp(w as u32);
        ended.retain(|(who, mask)| !self.order.clocks.all_settled(*who, *mask, now));
        // A commit is a synchronous operation (section 9.7.16.6.1): later ones of its thread come after it.
        ended.push((agents, 1 << lane));
        let own = Actor(agents.0 + lane as u32);
        let carried = self.tensor.carried.get(&tid).cloned();
        for off in slots {
            let place = Target { off, ..*t };
            self.touch_object(w, pc, &[place], Some(agents))?;
            self.tensor.commits.commit(tid, off as u64, own);
            self.arrive_after(w, lane, pc, off as u64, &ended, carried.clone())?;
        }
        self.tensor.products.insert(tid, ended);
        Ok(())
    }

    /// The same place of the CTAs that a mask names.
    fn commit_places(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        mask: Src,
        off: i64,
    ) -> Result<Vec<i64>, Stop> {
        let mask = (self.tensor_word(w, lane, pc, mask)? & 0xffff) as u32;
        if mask >> self.team.size() != 0 {
            let size = self.team.size();
            let site = self.site(pc, w, 1 << lane, "commits to it");
            self.defect(super::DefectKind::OutOfBounds, vec![site], || {
                format!(
                    "the mask {mask:#x} of a commit names CTAs that the cluster, of {size}, has not"
                )
            });
            return Err(Stop::Finding);
        }
        let own = self.team.local(off);
        let peers = lanes(mask).filter_map(|rank| self.team.peer(w, rank as u32));
        Ok(peers.map(|number| self.team.slot(number) + own).collect())
    }

    /// A lane invalidates an mbarrier: the arrivals of commits on it have come if those of others that
    /// track the same have.
    pub(super) fn settle_commits(&mut self, w: usize, lane: usize, at: u64) {
        let me = Tid(self.warps[w].first + lane as u32);
        let all = self.tensor.commits.to.remove(&at).unwrap_or_default();
        let now = self.order.clocks.stamp(w as u32);
        for (agent, others) in all {
            let clocks = &mut self.order.clocks;
            if !clocks.ordered(agent, now, me)
                && others.iter().any(|other| clocks.ordered(*other, now, me))
            {
                clocks.join_by(agent, me);
                self.found.assumptions.insert(AssumptionKind::Machine.says("commits of a thread between two of its tcgen05.mma have all arrived when one of them \
                     has been waited for and their mbarriers are invalidated"));
            }
        }
    }

    fn unknown_object(&mut self, w: usize, lane: usize, pc: Pc) {
        let site = self.site(pc, w, 1 << lane, "commits to it");
        self.unknown(UnknownKind::UnsupportedInstruction, vec![site], || {
            "an mbarrier at this address is not supported".into()
        });
    }
}
