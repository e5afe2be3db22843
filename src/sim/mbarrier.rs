//! Barriers in shared memory: `mbarrier` objects, their phases, and who waits for them.
//!
//! An object counts arrivals and bytes. When none are pending, its phase ends: the waiters of the
//! phase acquire what every arrival released, observe the end of the copies that it tracked,
//! and go on. A wait blocks until its phase is over, which stands for every number of polls
//! before that; `kernel::poll` says whether a loop does nothing but poll.
//!
//! One schedule stands for all only if it does not matter when anyone polls or arrives, so
//! beside what the manual forbids these are findings:
//!
//! * an arrival that nothing orders after all arrivals of the phase before: it could have counted
//!   for that one;
//! * a wait on a parity whose phase before has not surely ended: the wait could take it for its own;
//! * a phase that can end before a waiter of the one before has looked: it would miss it.
//!
//! Source: PTX ISA 9.0, section 9.7.13.15. The state of a phase is a fresh symbol.
//!
//! Not claimed: objects of other CTAs; results of polls that do not loop.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::kernel::{AsyncOp, AtomOp, IntTy, NumTy, Op, Pc, WaitFor};
use crate::term::TermId;

use super::access::Target;
use super::clock::{Actor, EventId, Snapshot, Tick};
use super::machine::{Machine, SHARED, Stop};
use super::race::Kind;
use super::step::{Flow, Under};
use super::value::Val;
use super::warp::{LANES, lanes};
use super::{DefectKind, Tid, UnknownKind};

const LIMIT: u64 = (1 << 20) - 1;
const WORD: NumTy = NumTy::Int(IntTy {
    width: 64,
    signed: false,
});
/// Operations on an object never race with each other, and do with plain accesses of it.
const TOUCH: Kind = Kind::Atomic {
    op: AtomOp::Add,
    ty: WORD,
    used: false,
};

/// Arrivals or waits of lanes of a warp.
#[derive(Clone, Copy, Debug)]
struct Party {
    base: u32,
    mask: u32,
    at: Tick,
    pc: Pc,
}

/// One phase.
#[derive(Clone, Debug)]
struct Phase {
    arrivals: Vec<Party>,
    released: Vec<Arc<Snapshot>>,
    waits: Vec<Party>,
    event: EventId,
    /// Something in it neither releases nor acquires.
    relaxed: bool,
}

/// An object.
#[derive(Clone, Debug)]
struct Object {
    /// What its bytes hold while nobody overwrites them.
    content: TermId,
    expected: u64,
    pending: u64,
    bytes: i64,
    number: u64,
    now: Phase,
    before: Option<Phase>,
    waiters: Vec<Waiter>,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    w: usize,
    lane: usize,
    phase: u64,
}

/// All objects of a CTA.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    at: FxHashMap<u64, Object>,
    /// States that arrivals returned: the object, its serial content, the phase.
    states: FxHashMap<TermId, (u64, TermId, u64)>,
    polls: FxHashMap<Pc, crate::kernel::poll::Poll>,
}

impl Machine<'_> {
    /// An operation of an asynchronous agent.
    pub fn asynchronous(
        &mut self,
        w: usize,
        mask: u32,
        exec: u32,
        pc: Pc,
        op: &AsyncOp,
    ) -> Result<Flow, Stop> {
        if op.gathers() && !matches!(op, AsyncOp::Wait { .. }) {
            self.whole_warp(w, exec, pc)?;
        }
        match op {
            AsyncOp::ProxyFence => {
                let Self { order, .. } = self;
                order.proxies.fence(&order.clocks, w, exec);
            }
            AsyncOp::WgmmaFence => self.wgmma_fence(w),
            AsyncOp::WgmmaCommit => self.wgmma_commit(w),
            AsyncOp::WgmmaWait { pending } => return Ok(self.wgmma_wait(w, *pending)),
            AsyncOp::Wgmma(m) => self.wgmma(w, pc, m)?,
            AsyncOp::WmmaLoad(m) => self.wmma_load(w, pc, m)?,
            AsyncOp::WmmaStore(m) => self.wmma_store(w, pc, m)?,
            AsyncOp::WmmaMma(m) => self.wmma_mma(w, pc, m)?,
            _ => {
                let Some((space, addr)) = op.object() else {
                    return Ok(Flow::Next);
                };
                let none = Under::none();
                let mut targets = self.targets(w, exec, pc, space, addr, &none)?;
                self.check(w, pc, &mut targets, 8, true);
                let known = |t: &Target| t.region == SHARED && t.cond.is_none();
                if targets.len() != exec.count_ones() as usize || !targets.iter().all(known) {
                    self.unsupported(w, exec, pc, "an mbarrier at this address");
                    return Err(Stop::Finding);
                }
                let kind = match op {
                    AsyncOp::Init { .. } | AsyncOp::Inval { .. } => Kind::Write,
                    _ => TOUCH,
                };
                let conflicts = self.order_accesses(w, pc, &targets, (8, 1), kind, false)?;
                for (_, c) in &conflicts {
                    self.add_race(c.otherwise, c);
                }
                if let AsyncOp::Wait { .. } = op {
                    self.warps[w].jump(mask & !exec, pc.0 + 1);
                    self.warps[w].jump(exec, pc.0);
                    for t in targets {
                        self.object_wait(w, t.lane, pc, t.off as u64, op)?;
                    }
                    return Ok(Flow::Set);
                }
                for t in targets {
                    self.object_step(w, t.lane, pc, t.off as u64, op)?;
                }
            }
        }
        Ok(Flow::Next)
    }

    /// A collective that takes all lanes of a warp.
    pub fn whole_warp(&mut self, w: usize, exec: u32, pc: Pc) -> Result<(), Stop> {
        if exec == u32::MAX {
            return Ok(());
        }
        let mut sites = vec![self.site(pc, w, exec, "execute it")];
        let absent = self.warps[w].live & !exec;
        if absent != 0 {
            let at = Pc(self.warps[w].pc[absent.trailing_zeros() as usize]);
            sites.push(self.site(at, w, absent, "do not"));
        }
        self.defect(DefectKind::BarrierMisuse, sites, || {
            "a matrix instruction is executed by a part of a warp: all 32 lanes must execute it \
             together"
                .into()
        });
        Err(Stop::Finding)
    }

    fn object_misused(&mut self, w: usize, lane: usize, pc: Pc, at: u64, why: &str) -> Stop {
        let place = self.place(SHARED, at, 8);
        let site = self.site(pc, w, 1 << lane, format!("uses the mbarrier {place}"));
        self.defect(DefectKind::BarrierMisuse, vec![site], || {
            format!("mbarrier {place}: {why}")
        });
        Stop::Finding
    }

    fn number(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        s: crate::kernel::Src,
    ) -> Result<u64, Stop> {
        let v = self.src(w, s, lane);
        match self.values.of_bits_plain(v, 32) {
            Val::Conc(n) => Ok(n),
            v => {
                self.data_dependent_branch(w, 1 << lane, pc, v);
                Err(Stop::Finding)
            }
        }
    }

    fn new_phase(&mut self) -> Phase {
        Phase {
            arrivals: Vec::new(),
            released: Vec::new(),
            waits: Vec::new(),
            event: self.order.clocks.new_event(),
            relaxed: false,
        }
    }

    /// The object at an address, if it is one and nobody wrote over it.
    fn live_object(&mut self, w: usize, lane: usize, pc: Pc, at: u64) -> Result<(), Stop> {
        let Some(content) = self.objects.at.get(&at).map(|o| o.content) else {
            return Err(self.object_misused(
                w,
                lane,
                pc,
                at,
                "mbarrier.init is missing before its use",
            ));
        };
        let v = self.load_one(w, lane, pc, SHARED, at, WORD);
        if v != Val::Bits(content) {
            return Err(self.object_misused(w, lane, pc, at, "its bytes were overwritten"));
        }
        Ok(())
    }

    /// Anything but a wait.
    fn object_step(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        at: u64,
        op: &AsyncOp,
    ) -> Result<(), Stop> {
        if let AsyncOp::Init { count, .. } = op {
            let n = self.number(w, lane, pc, *count)?;
            if n == 0 || n > LIMIT {
                return Err(self.object_misused(
                    w,
                    lane,
                    pc,
                    at,
                    "its count must be from 1 to 2^20 - 1",
                ));
            }
            let content = self.fresh_bits(64);
            self.regions[SHARED.0 as usize].store(&mut self.values, at, 8, Val::Bits(content));
            let now = self.new_phase();
            let fresh = Object {
                content,
                expected: n,
                pending: n,
                bytes: 0,
                number: 0,
                now,
                before: None,
                waiters: Vec::new(),
            };
            self.objects.at.insert(at, fresh);
            return Ok(());
        }
        self.live_object(w, lane, pc, at)?;
        match op {
            AsyncOp::Inval { .. } => {
                self.objects.at.remove(&at);
                let junk = self.fresh_bits(64);
                self.regions[SHARED.0 as usize].store(&mut self.values, at, 8, Val::Bits(junk));
            }
            AsyncOp::Bytes {
                bytes, complete, ..
            } => {
                let n = self.number(w, lane, pc, *bytes)? as i64;
                self.count_bytes(w, lane, pc, at, if *complete { -n } else { n })?;
                self.finish_phase(at)?;
            }
            AsyncOp::CopyArrive { counted, .. } => {
                let blocks = self.copies[w].under_way(lane);
                if let Some(o) = self.objects.at.get_mut(&at) {
                    for base in blocks {
                        let clocks = &mut self.order.clocks;
                        clocks.join_event(base, 1 << lane, o.now.event);
                    }
                }
                if *counted {
                    let stamp = self.order.clocks.stamp(w as u32);
                    self.arrive(w, lane, pc, at, 1, stamp)?;
                    self.finish_phase(at)?;
                }
            }
            AsyncOp::Arrive {
                count,
                expect,
                drop,
                release,
                incomplete,
                dst,
                ..
            } => {
                let n = match count {
                    Some(s) => self.number(w, lane, pc, *s)?,
                    None => 1,
                };
                if let Some(s) = expect {
                    let bytes = self.number(w, lane, pc, *s)? as i64;
                    self.count_bytes(w, lane, pc, at, bytes)?;
                }
                if let Some(d) = dst {
                    let state = self.fresh_bits(64);
                    if let Some(o) = self.objects.at.get(&at) {
                        self.objects.states.insert(state, (at, o.content, o.number));
                    }
                    self.set(w, *d, lane, Val::Bits(state));
                }
                let t = Tid(self.warps[w].first + lane as u32);
                // What is stamped now happens before what acquires the release that follows.
                let stamp = self.order.clocks.stamp(w as u32);
                if *release {
                    let snap = self.order.clocks.publish(t);
                    if let Some(o) = self.objects.at.get_mut(&at) {
                        o.now.released.push(snap);
                    }
                } else if let Some(o) = self.objects.at.get_mut(&at) {
                    o.now.relaxed = true;
                }
                self.arrive(w, lane, pc, at, n, stamp)?;
                if *drop && let Some(o) = self.objects.at.get_mut(&at) {
                    o.expected = o.expected.saturating_sub(n);
                }
                let over = self.finish_phase(at)?;
                if over && *incomplete {
                    let why = "an arrival with .noComplete completes its phase";
                    return Err(self.object_misused(w, lane, pc, at, why));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn count_bytes(&mut self, w: usize, lane: usize, pc: Pc, at: u64, n: i64) -> Result<(), Stop> {
        let Some(o) = self.objects.at.get_mut(&at) else {
            return Ok(());
        };
        o.bytes += n;
        if o.bytes.unsigned_abs() > LIMIT {
            return Err(self.object_misused(
                w,
                lane,
                pc,
                at,
                "more than 2^20 - 1 bytes are pending",
            ));
        }
        Ok(())
    }

    fn arrive(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        at: u64,
        n: u64,
        stamp: Tick,
    ) -> Result<(), Stop> {
        let clocks = &self.order.clocks;
        let me = Tid(self.warps[w].first + lane as u32);
        let Some(o) = self.objects.at.get_mut(&at) else {
            return Ok(());
        };
        let early = o.before.as_ref().and_then(|b| {
            let waited = b
                .waits
                .iter()
                .any(|p| p.base == self.warps[w].first && p.mask >> lane & 1 == 1);
            if waited {
                return None;
            }
            let apart = |p: &&Party| clocks.unordered(Actor(p.base), p.mask, p.at, me).is_some();
            b.arrivals.iter().find(apart).map(|p| (*p, b.relaxed))
        });
        if n == 0 || n > o.pending {
            let why = "more arrivals than its phase takes";
            return Err(self.object_misused(w, lane, pc, at, why));
        }
        o.pending -= n;
        let base = self.warps[w].first;
        match o.now.arrivals.last_mut() {
            Some(p) if (p.base, p.at, p.pc) == (base, stamp, pc) => p.mask |= 1 << lane,
            _ => o.now.arrivals.push(Party {
                base,
                mask: 1 << lane,
                at: stamp,
                pc,
            }),
        }
        if let Some((p, relaxed)) = early {
            let why = "nothing orders an arrival after those of the phase before: which phase it \
                       counts for depends on the schedule";
            return Err(self.object_unordered(w, 1 << lane, pc, at, p, relaxed, why));
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn object_unordered(
        &mut self,
        w: usize,
        mask: u32,
        pc: Pc,
        at: u64,
        other: Party,
        relaxed: bool,
        why: &str,
    ) -> Stop {
        let place = self.place(SHARED, at, 8);
        let first = self.site(other.pc, other.base as usize / LANES, other.mask, "is here");
        let sites = vec![first, self.site(pc, w, mask, "is here")];
        let message = || format!("mbarrier {place}: {why}");
        if relaxed {
            self.unknown(UnknownKind::NondeterministicValue, sites, message);
        } else {
            self.defect(DefectKind::BarrierMisuse, sites, message);
        }
        Stop::Finding
    }

    /// Ends the phase if nothing is pending: its waiters go on.
    fn finish_phase(&mut self, at: u64) -> Result<bool, Stop> {
        let over = |o: &Object| o.pending == 0 && o.bytes == 0;
        if !self.objects.at.get(&at).is_some_and(over) {
            return Ok(false);
        }
        let next = self.new_phase();
        let clocks = &self.order.clocks;
        let Some(o) = self.objects.at.get_mut(&at) else {
            return Ok(false);
        };
        let mut done = std::mem::replace(&mut o.now, next);
        if let Some(all) = clocks.merged(&done.released) {
            done.released = vec![all];
        }
        // Whoever waited for the phase before must have looked before this one can end.
        let late = o.before.as_ref().and_then(|b| {
            let missed = |p: &Party, l: usize| {
                let t = Tid(p.base + l as u32);
                let arrived = |a: &Party| a.base == p.base && a.mask >> l & 1 == 1;
                !done.arrivals.iter().any(arrived) && !clocks.known_in(&done.released, t, p.at)
            };
            let found = b.waits.iter().find_map(|p| {
                let l = lanes(p.mask).find(|l| missed(p, *l))?;
                Some(Party { mask: 1 << l, ..*p })
            })?;
            let last = done.arrivals.last().copied().unwrap_or(found);
            Some((found, last, b.relaxed || done.relaxed))
        });
        o.before = Some(done);
        o.number += 1;
        o.pending = o.expected;
        let number = o.number;
        let (go, stay): (Vec<Waiter>, Vec<Waiter>) =
            o.waiters.iter().partition(|x| x.phase < number);
        o.waiters = stay;
        if let Some((wait, last, relaxed)) = late {
            let why = "its next phase can end before a thread has seen that this one has: the \
                       wait would miss it";
            let w = last.base as usize / LANES;
            return Err(self.object_unordered(w, last.mask, last.pc, at, wait, relaxed, why));
        }
        for x in go {
            let pc = Pc(self.warps[x.w].pc[x.lane]);
            self.warps[x.w].blocked &= !(1 << x.lane);
            self.observe_phase(x.w, x.lane, pc, at);
        }
        Ok(true)
    }

    /// A wait on the phase before the current one is over.
    fn observe_phase(&mut self, w: usize, lane: usize, pc: Pc, at: u64) {
        let Op::Async(op) = &self.inst(pc).op else {
            return;
        };
        let AsyncOp::Wait { dst, acquire, .. } = &**op else {
            return;
        };
        self.set(w, *dst, lane, Val::Conc(1));
        self.warps[w].pc[lane] = pc.0 + 1;
        let clocks = &mut self.order.clocks;
        let Some(b) = self.objects.at.get_mut(&at).and_then(|o| o.before.as_mut()) else {
            return;
        };
        if *acquire {
            clocks.acquire_lanes(w as u32, 1 << lane, &b.released);
            clocks.observe(b.event, w as u32, 1 << lane);
        } else {
            b.relaxed = true;
        }
        let (base, stamp) = (self.warps[w].first, clocks.stamp(w as u32));
        match b.waits.last_mut() {
            Some(p) if (p.base, p.at, p.pc) == (base, stamp, pc) => p.mask |= 1 << lane,
            _ => b.waits.push(Party {
                base,
                mask: 1 << lane,
                at: stamp,
                pc,
            }),
        }
    }

    /// `mbarrier.test_wait` and `mbarrier.try_wait`.
    fn object_wait(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        at: u64,
        op: &AsyncOp,
    ) -> Result<(), Stop> {
        let AsyncOp::Wait { until, dst, .. } = op else {
            return Ok(());
        };
        self.live_object(w, lane, pc, at)?;
        let (number, content) = match self.objects.at.get(&at) {
            Some(o) => (o.number, o.content),
            None => return Ok(()),
        };
        let phase = match until {
            WaitFor::Parity(s) => {
                let parity = self.number(w, lane, pc, *s)?;
                if parity > 1 {
                    return Err(self.object_misused(w, lane, pc, at, "a parity is 0 or 1"));
                }
                // Of the current phase and the one before, the one with this parity.
                let this = number & 1 == parity;
                if this {
                    self.check_early(w, lane, pc, at)?;
                }
                if this {
                    Some(number)
                } else {
                    number.checked_sub(1)
                }
            }
            WaitFor::State(s) => {
                let v = self.src(w, *s, lane);
                let found = match self.values.of_bits_plain(v, 64) {
                    Val::Bits(t) => self.objects.states.get(&t).copied(),
                    _ => None,
                };
                match found {
                    Some((a, c, n)) if (a, c) == (at, content) => {
                        if n + 1 < number {
                            let why = "the state is older than the phase before the current one";
                            return Err(self.object_misused(w, lane, pc, at, why));
                        }
                        Some(n)
                    }
                    _ => {
                        let why = "the operand is not a state that an arrival at it returned";
                        return Err(self.object_misused(w, lane, pc, at, why));
                    }
                }
            }
        };
        let Some(phase) = phase else {
            // A fresh object counts as just past a phase of parity 1.
            self.set(w, *dst, lane, Val::Conc(1));
            self.warps[w].pc[lane] = pc.0 + 1;
            return self.note_poll(w, lane, pc);
        };
        self.note_poll(w, lane, pc)?;
        if phase < number {
            self.observe_phase(w, lane, pc, at);
        } else {
            self.warps[w].blocked |= 1 << lane;
            if let Some(o) = self.objects.at.get_mut(&at) {
                o.waiters.push(Waiter { w, lane, phase });
            }
        }
        Ok(())
    }

    /// The phase before the one that a lane waits for must surely be over.
    fn check_early(&mut self, w: usize, lane: usize, pc: Pc, at: u64) -> Result<(), Stop> {
        let clocks = &self.order.clocks;
        let me = Tid(self.warps[w].first + lane as u32);
        let Some(b) = self.objects.at.get(&at).and_then(|o| o.before.as_ref()) else {
            return Ok(());
        };
        let mine = |p: &Party| p.base == self.warps[w].first && p.mask >> lane & 1 == 1;
        if b.waits.iter().any(mine) {
            return Ok(());
        }
        let apart = |p: &&Party| clocks.unordered(Actor(p.base), p.mask, p.at, me).is_some();
        let Some(p) = b.arrivals.iter().find(apart).copied() else {
            return Ok(());
        };
        let relaxed = b.relaxed;
        let why = "nothing orders the end of the phase before this wait, which has the parity of \
                   an earlier one: the wait can be over too early";
        Err(self.object_unordered(w, 1 << lane, pc, at, p, relaxed, why))
    }

    /// A poll that decides more than whether to poll again has a result that depends on the
    /// schedule.
    fn note_poll(&mut self, w: usize, lane: usize, pc: Pc) -> Result<(), Stop> {
        let kernel = self.kernel;
        let polls = self
            .objects
            .polls
            .entry(pc)
            .or_insert_with(|| crate::kernel::poll::poll(kernel, pc));
        if let Some(again) = polls {
            let warp = &self.warps[w];
            let same = |(r, v): &(crate::kernel::RegId, u64)| warp.get(*r, lane) == Val::Conc(*v);
            if again.iter().all(same) {
                return Ok(());
            }
        }
        let site = self.site(pc, w, 1 << lane, "polls");
        self.unknown(UnknownKind::NondeterministicValue, vec![site], || {
            "the result of a poll decides more than whether to poll again".into()
        });
        Err(Stop::Finding)
    }

    /// What a lane waits for, for a deadlock report.
    pub fn object_waits(&self, w: usize, lane: usize) -> Option<String> {
        let found = self.objects.at.iter().find_map(|(at, o)| {
            let mine = |x: &&Waiter| (x.w, x.lane) == (w, lane);
            o.waiters.iter().find(mine).map(|x| (*at, x.phase, o))
        });
        let (at, phase, o) = found?;
        let place = self.place(SHARED, at, 8);
        Some(format!(
            "waits for phase {phase} of mbarrier {place}: {} arrivals and {} bytes are missing",
            o.pending, o.bytes
        ))
    }
}
