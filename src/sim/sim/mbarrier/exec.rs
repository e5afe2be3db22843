//! Operations on `mbarrier` objects.

use std::sync::Arc;

use crate::kernel::{AsyncOp, Pc, Scoped, Src};
use crate::sim::at::{LaneAt, site};
use crate::sim::clock::{Actor, Carried, Layer, Tick};
use crate::sim::machine::{Core, Machine, Synchronisation, Tasks};
use crate::sim::mbarrier::heads::Head;
use crate::sim::mbarrier::party::Party;
use crate::sim::mbarrier::{Object, Phase};
use crate::sim::race::{Conflict, SameWrite};
use crate::sim::region::SHARED;
use crate::sim::stop::Stop;
use crate::sim::val::Val;
use crate::sim::warp::LANES;
use crate::sim::{DefectKind, Site, Tid, WarningKind};
use crate::term::TermId;

use super::WORD;
use super::hints::Less;

const LIMIT: u64 = (1 << 20) - 1;

/// An object was overwritten while it was in use.
const OVERWRITTEN: &str = "it was used, and its bytes were overwritten without mbarrier.inval";

impl Synchronisation {
    pub(super) fn new_phase(&mut self) -> Phase {
        Phase {
            arrivals: Vec::new(),
            released: Vec::new(),
            known: Vec::new(),
            carried: Vec::new(),
            delays: Vec::new(),
            waits: Vec::new(),
            event: self.order.clocks.new_event(),
            counts: false,
            published: None,
        }
    }
}

impl Tasks {
    /// An object of which a phase counts bytes and nobody has seen its end, and who was part of it.
    pub(in crate::sim) fn unseen_bytes(&self) -> Option<(u64, Option<(Pc, Tid)>)> {
        let unseen = |o: &Object| {
            let before = o.before.iter().filter(|b| b.waits.is_empty());
            let phase = before.chain([&o.now]).find(|p| p.counts)?;
            let party = phase.delays.first().or(phase.arrivals.first());
            Some(party.map(|p| (p.pc, Tid(p.base + p.mask.trailing_zeros()))))
        };
        let all = self.objects.at.iter();
        let found = all.filter_map(|(at, o)| Some((*at, unseen(o)?)));
        found.min_by_key(|(at, _)| *at)
    }

    /// A state stands for the phase that an object is in.
    fn note_state(&mut self, at: u64, state: TermId) {
        if let Some(o) = self.objects.at.get(&at) {
            let phase = (at, o.content, o.number);
            self.objects.states.insert(state, phase);
        }
    }
}

impl Core<'_> {
    /// Puts bits that no thread knows where an object is.
    fn put_fresh(&mut self, at: u64) -> TermId {
        let content = self.values.fresh_bits(64);
        let region = &mut self.memory.regions[SHARED.0 as usize];
        region.store(&mut self.values, at, 8, Val::Bits(content));
        content
    }

    pub(super) fn object_misused(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        at: u64,
        why: &str,
    ) -> Stop {
        let place = self.place(SHARED, at, 8);
        let site = site(pc, w, 1 << lane, format!("uses the mbarrier {place}"));
        self.defect(DefectKind::BarrierMisuse, vec![site], || {
            format!("mbarrier {place}: {why}")
        });
        Stop::Finding
    }

    /// An object is used outside of its lifetime.
    fn object_outlived(&mut self, w: usize, lane: usize, pc: Pc, at: u64, why: &str) -> Stop {
        let place = self.place(SHARED, at, 8);
        let site = site(pc, w, 1 << lane, format!("uses the mbarrier {place}"));
        self.defect(DefectKind::Lifetime, vec![site], || {
            format!("mbarrier {place}: {why}")
        });
        Stop::Finding
    }

    /// Lanes of one `mbarrier.init` make the same object with the same count, as shipped kernels do: equal writes. True
    /// if two of them do.
    pub(in crate::sim) fn made_alike(
        &mut self,
        (w, pc): (usize, Pc),
        count: Src,
        c: &SameWrite,
    ) -> bool {
        if !c.within || c.otherwise != Conflict::Race || c.earlier.pc != c.later.pc {
            return false;
        }
        let lane = |t: Tid| t.0 as usize % LANES;
        let lanes = [lane(c.earlier.thread), lane(c.later.thread)];
        let [x, y] = lanes.map(|l| self.src(w, count, l).known());
        if x.is_none() || x != y {
            return false;
        }
        let place = self.place(SHARED, c.offset, 8);
        let sites = lanes.map(|l| site(pc, w, 1 << l, format!("makes the mbarrier {place}")));
        self.found
            .warn(WarningKind::SameValueWrite, sites.into(), || {
                format!(
                    "mbarrier {place} is made by threads that nothing orders, with the same count"
                )
            });
        true
    }

    /// An object that nobody used is made anew, or written over, as shipped kernels do.
    fn not_invalidated(&mut self, w: usize, lane: usize, pc: Pc, at: u64) {
        let place = self.place(SHARED, at, 8);
        let site = site(pc, w, 1 << lane, format!("makes the mbarrier {place}"));
        self.found.warn(WarningKind::MissingInval, vec![site], || {
            format!(
                "mbarrier {place}, which nobody used, is initialised again without mbarrier.inval"
            )
        });
    }

    pub(super) fn number(&mut self, w: usize, lane: usize, pc: Pc, s: Src) -> Result<u64, Stop> {
        let v = self.src(w, s, lane);
        match self.values.of_bits_plain(v, 32) {
            Val::Conc(n) => Ok(n),
            v => {
                self.data_dependent_branch(w, 1 << lane, pc, v);
                Err(Stop::Finding)
            }
        }
    }

    pub(super) fn object_unordered(
        &mut self,
        (w, mask, pc): (usize, u32, Pc),
        at: u64,
        other: Party,
        why: &str,
    ) -> Stop {
        let place = self.place(SHARED, at, 8);
        let first = site(other.pc, other.base as usize / LANES, other.mask, "is here");
        let sites = vec![first, site(pc, w, mask, "is here")];
        self.defect(DefectKind::BarrierMisuse, sites, || {
            format!("mbarrier {place}: {why}")
        });
        Stop::Finding
    }
}

impl Machine<'_> {
    /// When all threads have exited: what was used must not have been written over before it was invalidated.
    pub(in crate::sim) fn check_objects(&mut self) {
        let mut used: Vec<(u64, TermId, Pc, Tid)> = Vec::new();
        for (at, o) in &self.tasks.objects.at {
            let before = o.before.iter().chain([&o.now]);
            let mut parties =
                before.flat_map(|p| p.arrivals.iter().chain(&p.delays).chain(&p.waits));
            if let Some(p) = parties.next() {
                let thread = Tid(p.base + p.mask.trailing_zeros());
                used.push((*at, o.content, p.pc, thread));
            }
        }
        used.sort_by_key(|u| u.0);
        for (at, content, pc, thread) in used {
            let now = self.core.memory.regions[SHARED.0 as usize].load(
                &mut self.core.values,
                at,
                WORD,
                pc.0,
            );
            if now != Val::Bits(content) {
                let (w, lane) = (thread.0 as usize / LANES, thread.0 as usize % LANES);
                self.core.object_outlived(w, lane, pc, at, OVERWRITTEN);
            }
        }
    }

    /// `cp.async.mbarrier.arrive` in a kernel that has no `cp.async`: it arrives after nothing, yet compilers publish stores
    /// by it. That is told, and believed.
    fn bare_copy_arrival(&mut self, w: usize, lane: usize, pc: Pc, at: u64) -> bool {
        if self.sync.patterns.copies {
            return false;
        }
        let place = self.core.place(SHARED, at, 8);
        let site = site(pc, w, 1 << lane, format!("arrives at {place}"));
        self.core.found.warn(WarningKind::CopyArrival, vec![site], || {
            format!(
                "mbarrier {place}: cp.async.mbarrier.arrive in a kernel without cp.async publishes by the letter nothing that \
                 its thread stored: mbarrier.arrive is missing"
            )
        });
        true
    }

    /// The object at an address, if it is one and nobody wrote over it.
    pub(super) fn live_object(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        at: u64,
    ) -> Result<(), Stop> {
        let Some(content) = self.tasks.objects.at.get(&at).map(|o| o.content) else {
            if self.tasks.objects.ended.contains(&at) {
                let why = "it is used after mbarrier.inval";
                return Err(self.core.object_outlived(w, lane, pc, at, why));
            }
            let why = "mbarrier.init is missing before its use";
            return Err(self.core.object_misused(w, lane, pc, at, why));
        };
        let v = self.core.load_one(LaneAt { w, lane, pc }, SHARED, at, WORD);
        if v != Val::Bits(content) {
            let why = "its bytes were overwritten, and it is used again";
            return Err(self.core.object_outlived(w, lane, pc, at, why));
        }
        Ok(())
    }

    /// Anything but a wait.
    pub(in crate::sim) fn object_step(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        at: u64,
        op: &AsyncOp,
    ) -> Result<(), Stop> {
        let who = LaneAt { w, lane, pc };
        if let AsyncOp::Init { count, .. } = op {
            return self.make_object(who, at, *count);
        }
        self.live_object(w, lane, pc, at)?;
        match op {
            AsyncOp::Inval { .. } => {
                self.tasks.objects.at.remove(&at);
                self.tasks.objects.ended.insert(at);
                self.core.put_fresh(at);
            }
            AsyncOp::Bytes {
                bytes, complete, ..
            } => {
                let n = self.core.number(w, lane, pc, *bytes)? as i64;
                let stamp = self.sync.order.clocks.stamp(w as u32);
                match complete {
                    true => self.in_phase(w, lane, pc, at)?,
                    false => self.delay(w, lane, pc, at, stamp)?,
                }
                self.count_bytes(w, lane, pc, at, if *complete { -n } else { n })?;
                self.finish_phase(at)?;
            }
            AsyncOp::CopyArrive { counted, .. } => {
                let stamp = self.publish_copies(who, at);
                if *counted {
                    self.arrive(who, at, 1, stamp)?;
                    self.finish_phase(at)?;
                } else {
                    self.delay(w, lane, pc, at, stamp)?;
                }
            }
            AsyncOp::Arrive {
                count,
                expect,
                drop,
                release,
                reach,
                incomplete,
                dst,
                ..
            } => {
                let n = match count {
                    Some(s) => self.core.number(w, lane, pc, *s)?,
                    None => 1,
                };
                if let Some(s) = expect {
                    let bytes = self.core.number(w, lane, pc, *s)? as i64;
                    self.count_bytes(w, lane, pc, at, bytes)?;
                }
                if let Some(d) = dst {
                    let state = self.core.values.fresh_bits(64);
                    self.tasks.note_state(at, state);
                    self.core.set(w, *d, lane, Val::Bits(state));
                }
                let stamp = self.publish_arrival(who, at, *release, *reach);
                self.arrive(who, at, n, stamp)?;
                if *drop && let Some(o) = self.tasks.objects.at.get_mut(&at) {
                    o.expected = o.expected.saturating_sub(n);
                }
                let over = self.finish_phase(at)?;
                if over && *incomplete {
                    let why = "an arrival with .noComplete completes its phase";
                    return Err(self.core.object_misused(w, lane, pc, at, why));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// `mbarrier.init`.
    fn make_object(
        &mut self,
        LaneAt { w, lane, pc }: LaneAt,
        at: u64,
        count: Src,
    ) -> Result<(), Stop> {
        let n = self.core.number(w, lane, pc, count)?;
        if n == 0 || n > LIMIT {
            let why = "its count must be from 1 to 2^20 - 1";
            return Err(self.core.object_misused(w, lane, pc, at, why));
        }
        // An object lives until it is invalidated, or its bytes are used for something else.
        let old = self.tasks.objects.at.get(&at);
        if let Some((content, is_new)) = old.map(|o| (o.content, o.is_new())) {
            let held = self.core.load_one(LaneAt { w, lane, pc }, SHARED, at, WORD);
            if !is_new {
                let why = match held == Val::Bits(content) {
                    true => "it was used, and is initialised again without mbarrier.inval",
                    false => OVERWRITTEN,
                };
                return Err(self.core.object_outlived(w, lane, pc, at, why));
            }
            self.core.not_invalidated(w, lane, pc, at);
        }
        let fresh = Object {
            content: self.core.put_fresh(at),
            expected: n,
            pending: n,
            bytes: 0,
            number: 0,
            now: self.sync.new_phase(),
            before: None,
            waiters: Vec::new(),
        };
        self.tasks.objects.at.insert(at, fresh);
        self.tasks.objects.ended.remove(&at);
        let crate::sim::order::Order {
            proxies, clocks, ..
        } = &mut self.sync.order;
        proxies.made(clocks, (w, lane), pc, at);
        Ok(())
    }

    /// Publishes the copies of a thread, and nothing else that it did, by an arrival that counts after them; gives the
    /// time of the arrival.
    fn publish_copies(&mut self, LaneAt { w, lane, pc }: LaneAt, at: u64) -> Tick {
        let blocks = self.tasks.copies[w].under_way(lane);
        if let Some(o) = self.tasks.objects.at.get_mut(&at) {
            for base in blocks {
                let clocks = &mut self.sync.order.clocks;
                clocks.join_event(base, 1 << lane, o.now.event);
            }
        }
        let stamp = self.sync.order.clocks.stamp(w as u32);
        let t = Tid(self.core.threads.warps[w].first + lane as u32);
        let snap = self.sync.order.clocks.publish(t);
        let bare = self.bare_copy_arrival(w, lane, pc, at);
        let cta = self.core.fixed.team.number(w) as u32;
        if let Some(o) = self.tasks.objects.at.get_mut(&at) {
            if bare {
                o.now.released.push(Head {
                    snap: snap.clone(),
                    cta,
                    reach: Scoped::Unsaid,
                    only: None,
                });
            }
            o.now.known.push(snap);
        }
        self.sync.weak.arrives(t, pc, at, Less::Copies);
        stamp
    }

    /// Publishes what a thread did to those that its arrival reaches; gives the time of the arrival.
    fn publish_arrival(
        &mut self,
        LaneAt { w, lane, pc }: LaneAt,
        at: u64,
        release: bool,
        reach: Scoped,
    ) -> Tick {
        let t = Tid(self.core.threads.warps[w].first + lane as u32);
        // What is stamped now happens before what acquires the release that follows.
        let stamp = self.sync.order.clocks.stamp(w as u32);
        let snap = self.sync.order.clocks.publish(t);
        let cta = self.core.fixed.team.number(w) as u32;
        let heard_by_all = release && !self.sync.order.clocks.has(Layer::DefaultScope);
        let less = match release {
            true => (self.core.fixed.team.many()).then_some(Less::Scope(reach)),
            false if self.sync.patterns.released(t, cta, reach).next().is_some() => {
                Some(Less::Scope(reach))
            }
            false => Some(Less::Relaxed),
        };
        if let Some(less) = less {
            self.sync.weak.arrives(t, pc, at, less);
        }
        if let Some(o) = self.tasks.objects.at.get_mut(&at) {
            if !heard_by_all {
                o.now.known.push(snap.clone());
            }
            match release {
                true => o.now.released.push(Head {
                    snap,
                    cta,
                    reach,
                    only: None,
                }),
                false => {
                    let fenced = self.sync.patterns.released(t, cta, reach);
                    o.now.released.extend(fenced);
                }
            }
        }
        stamp
    }

    /// What a lane counts must be of this phase in every schedule.
    fn in_phase(&mut self, w: usize, lane: usize, pc: Pc, at: u64) -> Result<(), Stop> {
        if let Some(p) = self.too_early(w, lane, at) {
            let why = "nothing orders a count of bytes after the end of the phase before: which phase it \
                       counts for depends on the schedule";
            return Err(self.core.object_unordered((w, 1 << lane, pc), at, p, why));
        }
        Ok(())
    }

    /// A bulk copy that is over counts its bytes, and ends with the phase.
    pub(in crate::sim) fn complete_bytes(
        &mut self,
        LaneAt { w, lane, pc }: LaneAt,
        at: u64,
        bytes: u64,
        agents: Actor,
    ) -> Result<(), Stop> {
        self.live_object(w, lane, pc, at)?;
        self.in_phase(w, lane, pc, at)?;
        let t = Tid(self.core.threads.warps[w].first + lane as u32);
        let snap = self.sync.order.clocks.publish(t);
        if let Some(o) = self.tasks.objects.at.get_mut(&at) {
            let clocks = &mut self.sync.order.clocks;
            clocks.join_event(agents, 1 << lane, o.now.event);
            o.now.known.push(snap);
            o.now.counts = true;
        }
        self.count_bytes(w, lane, pc, at, -(bytes as i64))?;
        self.finish_phase(at)?;
        Ok(())
    }

    fn count_bytes(&mut self, w: usize, lane: usize, pc: Pc, at: u64, n: i64) -> Result<(), Stop> {
        let Some(o) = self.tasks.objects.at.get_mut(&at) else {
            return Ok(());
        };
        o.bytes += n;
        if o.bytes.unsigned_abs() > LIMIT {
            let why = "more than 2^20 - 1 bytes are pending";
            return Err(self.core.object_misused(w, lane, pc, at, why));
        }
        Ok(())
    }

    fn arrive(
        &mut self,
        LaneAt { w, lane, pc }: LaneAt,
        at: u64,
        n: u64,
        stamp: Tick,
    ) -> Result<(), Stop> {
        let early = self.too_early(w, lane, at);
        let party = self.party(w, lane, pc, stamp);
        let Some(o) = self.tasks.objects.at.get_mut(&at) else {
            return Ok(());
        };
        if n == 0 || n > o.pending {
            let why = "more arrivals than its phase takes";
            return Err(self.core.object_misused(w, lane, pc, at, why));
        }
        o.pending -= n;
        party.join(&mut o.now.arrivals);
        if let Some(p) = early {
            let why = "nothing orders an arrival after those of the phase before: which phase it \
                       counts for depends on the schedule";
            return Err(self.core.object_unordered((w, 1 << lane, pc), at, p, why));
        }
        let Some(found) = self.unseen(w, lane, at) else {
            return Ok(());
        };
        let settled = self.before_is_settled(at);
        let (sites, message) = self.arrives_unseen((w, lane, pc), at, found);
        if settled {
            // No thread can take that phase for one that it waits for, as compilers have it that arrive first to begin with.
            self.core.found.warn(WarningKind::Note, sites, || {
                format!("{message}; every thread knows by a barrier that it has ended")
            });
            return Ok(());
        }
        self.core
            .defect(DefectKind::BarrierMisuse, sites, || message);
        Err(Stop::Finding)
    }

    /// True if every thread knows that the phase before the current one has ended.
    fn before_is_settled(&self, at: u64) -> bool {
        let clocks = &self.sync.order.clocks;
        let before = self
            .tasks
            .objects
            .at
            .get(&at)
            .and_then(|o| o.before.as_ref());
        let settled = |p: &Party| clocks.all_settled(Actor(p.base), p.mask, p.at);
        before.is_some_and(|b| !b.counts && b.delays.is_empty() && b.arrivals.iter().all(settled))
    }

    /// A thread arrives for a phase, and no wait has seen the end of the one before.
    fn arrives_unseen(
        &self,
        (w, lane, pc): (usize, usize, Pc),
        at: u64,
        (last, wait): (Party, Option<Party>),
    ) -> (Vec<Site>, String) {
        let place = self.core.place(SHARED, at, 8);
        let number = self.tasks.objects.at.get(&at).map_or(0, |o| o.number);
        let before = number.saturating_sub(1);
        let site_of = |p: Party, text: String| site(p.pc, p.base as usize / LANES, p.mask, text);
        let mut sites = vec![site_of(last, format!("arrives for phase {before}"))];
        let here = format!("arrives for phase {number}");
        sites.push(site(pc, w, 1 << lane, here));
        let seen = format!("sees phase {before}, but nothing orders that before the arrival");
        sites.extend(wait.map(|p| site_of(p, seen)));
        let message = format!(
            "mbarrier {place}: an arrival for phase {number}, and no wait has seen the end of phase {before} before it: a \
             wait for phase {before} must have returned true before the next arrival"
        );
        (sites, message)
    }

    /// The phase waits for copies of a lane without counting them: the count goes up now and
    /// down when they end.
    fn delay(&mut self, w: usize, lane: usize, pc: Pc, at: u64, stamp: Tick) -> Result<(), Stop> {
        if let Some(p) = self.too_early(w, lane, at) {
            let why = "nothing orders it after the arrivals of the phase before: which phase it \
                       delays depends on the schedule";
            return Err(self.core.object_unordered((w, 1 << lane, pc), at, p, why));
        }
        let party = self.party(w, lane, pc, stamp);
        if let Some(o) = self.tasks.objects.at.get_mut(&at) {
            o.now.delays.push(party);
        }
        Ok(())
    }

    /// `tcgen05.commit`: an arrival of a lane when all these agents have ended, whose accesses of
    /// the object are the last one's.
    pub(in crate::sim) fn arrive_after(
        &mut self,
        LaneAt { w, lane, pc }: LaneAt,
        at: u64,
        agents: &[(Actor, u32)],
        carried: Option<Arc<Carried>>,
    ) -> Result<(), Stop> {
        self.live_object(w, lane, pc, at)?;
        let stamp = self.sync.order.clocks.stamp(w as u32);
        let t = Tid(self.core.threads.warps[w].first + lane as u32);
        let snap = self.sync.order.clocks.publish(t);
        if let Some(o) = self.tasks.objects.at.get_mut(&at) {
            for (who, mask) in agents {
                let clocks = &mut self.sync.order.clocks;
                clocks.join_event(*who, *mask, o.now.event);
            }
            o.now.known.push(snap);
            let cta = self.core.fixed.team.number(w) as u32;
            o.now.carried.extend(carried.map(|c| (cta, c)));
        }
        self.arrive(LaneAt { w, lane, pc }, at, 1, stamp)?;
        self.finish_phase(at)?;
        Ok(())
    }
}
