//! `clusterlaunchcontrol`: a cluster takes over the work of one whose launch it cancels.
//!
//! A request cancels the launch of a cluster that does not run yet, or fails; which, depends on the schedule. Its response
//! is written as by a bulk copy, 16 bytes to one CTA or to the same place of each, and an mbarrier there counts them.
//! Source: PTX ISA 9.0, sections 9.7.13.17 and 9.7.13.18.
//!
//! How: one schedule is run, with both outcomes in it, and the report says which: the first cluster of the grid cancels
//! those that follow, all but the last one where there are three, until its requests fail; those of the last one fail at
//! once ([`Launch::cancelled`](crate::spec::Launch)). A response is no number: only `query_cancel` reads it.
//!
//! Not claimed: other distributions of the clusters over those that run, and requests where all CTAs run together.

use crate::answer::AssumptionKind;
use crate::answer::kinds::ONE_SCHEDULE;
use crate::kernel::{Addr, ClusterOp, Pc, Space, Src};
use crate::sim::at::{LaneAt, site};
use crate::sim::state::recorded;
use crate::term::TermId;

use super::super::clock::Actor;
use super::super::machine::Machine;
use super::super::place::Target;
use super::super::proxy::Through;
use super::super::race::AccessKind;
use super::super::region::SHARED;
use super::super::step::Under;
use super::super::stop::Stop;
use super::super::val::Val;
use super::super::{DefectKind, Tid, UnknownKind};

/// Bytes of a response.
const BYTES: u32 = 16;

/// What a request came to.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Response {
    /// The first CTA of the cluster that was cancelled.
    pub(super) first: Option<[u32; 3]>,
}

/// Requests so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    made: u64,
    /// Responses, by the lower half of what was written.
    responses: rustc_hash::FxHashMap<TermId, Response>,
    /// The request that failed.
    failed: Option<Pc>,
    /// The agent that wrote its response to the CTA that asked.
    told: Option<Actor>,
}

recorded!(Requests { made, failed, told } tables { responses });

impl Machine<'_> {
    /// `clusterlaunchcontrol.try_cancel`.
    pub(super) fn cancel_launch(
        &mut self,
        w: usize,
        exec: u32,
        pc: Pc,
        op: &ClusterOp,
    ) -> Result<(), Stop> {
        let &ClusterOp::Cancel {
            space,
            to,
            object,
            all,
        } = op
        else {
            return Ok(());
        };
        if self.core.fixed.mode.together {
            self.core.unsupported(
                w,
                exec,
                pc,
                "a request to cancel a launch where all CTAs run together",
            );
            return Err(Stop::Finding);
        }
        self.core.threads.effects += 1;
        for lane in super::super::warp::lanes(exec) {
            let response = self.request(w, lane, pc)?;
            let failed = response.first.is_none();
            let ranks = match all {
                true => (0..self.core.fixed.team.size()).collect(),
                false => vec![self.core.fixed.team.rank(w)],
            };
            let low = self.core.values.fresh_bits(64);
            let high = self.core.values.fresh_bits(64);
            self.sync.requests.responses.insert(low, response);
            for rank in ranks {
                let agents = self.respond((w, lane, pc), (space, to, object), rank, [low, high])?;
                if failed && rank == self.core.fixed.team.rank(w) {
                    self.sync.requests.told = Some(Actor(agents.0 + lane as u32));
                }
            }
        }
        Ok(())
    }

    /// What the next request of the cluster comes to.
    fn request(&mut self, w: usize, lane: usize, pc: Pc) -> Result<Response, Stop> {
        let cta = self.core.fixed.team.cta(w);
        let first = self
            .core
            .fixed
            .launch
            .cancelled(cta, self.sync.requests.made);
        self.sync.requests.made += 1;
        self.core
            .found
            .assumptions
            .insert(AssumptionKind::Scheduling.says(ONE_SCHEDULE));
        if let (None, Some(before)) = (first, self.sync.requests.failed) {
            let sites = vec![
                site(before, w, 1 << lane, "fails"),
                site(pc, w, 1 << lane, "is executed after it"),
            ];
            let me = Tid(self.core.threads.warps[w].first + lane as u32);
            let clocks = &self.sync.order.clocks;
            let at = clocks.stamp(w as u32);
            if self
                .sync
                .requests
                .told
                .is_some_and(|who| clocks.ordered(who, at, me))
            {
                self.core.defect(DefectKind::BarrierMisuse, sites, || {
                    "clusterlaunchcontrol.try_cancel after a response that said that nothing is left to cancel, which \
                     the thread had waited for"
                        .into()
                });
                return Err(Stop::Finding);
            }
            self.core.found.unknown(UnknownKind::Undefined, sites, || {
                "clusterlaunchcontrol.try_cancel after a request that failed: if the CTA has seen that, the manual leaves it \
                 open"
                    .into()
            });
        }
        if first.is_none() {
            self.sync.requests.failed = Some(pc);
        }
        Ok(Response { first })
    }

    /// Writes the response to a CTA of the cluster, whose mbarrier counts it.
    fn respond(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        (space, to, object): (Space, Addr, Addr),
        rank: u32,
        halves: [TermId; 2],
    ) -> Result<Actor, Stop> {
        let agents = self.sync.order.clocks.fork(w as u32);
        let slot = self
            .core
            .fixed
            .team
            .peer(w, rank)
            .map(|n| self.core.fixed.team.slot(n));
        let mut places = Vec::with_capacity(2);
        for (addr, bytes) in [(to, BYTES), (object, 8)] {
            let mut found =
                self.core
                    .targets(LaneAt { w, lane, pc }.alone(), space, addr, &Under::none())?;
            for t in found.iter_mut().filter(|t| t.region == SHARED) {
                t.off = slot.unwrap_or(0) + self.core.fixed.team.local(t.off);
            }
            self.check(w, pc, &mut found, bytes, true);
            match found[..] {
                [t] if t.region == SHARED && t.cond.is_none() => places.push(t),
                _ => {
                    self.core
                        .unsupported(w, 1 << lane, pc, "a response at this address");
                    return Err(Stop::Finding);
                }
            }
        }
        let (near, object): (Target, Target) = (places[0], places[1]);
        let seen = self.check_refill((w, lane, pc), SHARED, (near.off as u64, u64::from(BYTES)));
        self.sync.order.agent = Some(agents);
        self.sync.order.through = Through::Bulk;
        let found = self.order_accesses((w, pc), &[near], (4, BYTES / 4), AccessKind::Write, false);
        self.sync.order.through = Through::Thread;
        self.sync.order.agent = None;
        for (_, c) in &found? {
            self.sync.add_race(c.otherwise, c);
        }
        if !seen {
            return Err(Stop::Finding);
        }
        for (i, half) in halves.into_iter().enumerate() {
            let region = &mut self.core.memory.regions[SHARED.0 as usize];
            let at = near.off as u64 + 8 * i as u64;
            region.store(&mut self.core.values, at, 8, Val::Bits(half));
        }
        self.touch_object(w, pc, &[object], Some(agents))?;
        self.complete_bytes(
            LaneAt { w, lane, pc },
            object.off as u64,
            u64::from(BYTES),
            agents,
        )?;
        Ok(agents)
    }

    /// The response that a register holds.
    pub(super) fn response(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        from: Src,
    ) -> Result<Response, Stop> {
        let v = self.core.src(w, from, lane);
        let known = match self.core.values.of_bits_plain(v, 64) {
            Val::Bits(t) => self.sync.requests.responses.get(&t).copied(),
            _ => None,
        };
        known.ok_or_else(|| {
            let site = site(pc, w, 1 << lane, "is executed");
            self.core
                .found
                .unknown(UnknownKind::Undefined, vec![site], || {
                    "what clusterlaunchcontrol.query_cancel reads is not a response of try_cancel"
                        .into()
                });
            Stop::Finding
        })
    }

    /// An index of the first CTA of the cluster that was cancelled; of a request that failed, it may be anything.
    pub(super) fn first_cancelled(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        from: Src,
        dimension: u8,
    ) -> Result<Val, Stop> {
        let response = self.response(w, lane, pc, from)?;
        Ok(match response.first {
            Some(first) => Val::Conc(u64::from(first[usize::from(dimension)])),
            None => Val::Bits(self.core.values.fresh_bits(32)),
        })
    }
}
