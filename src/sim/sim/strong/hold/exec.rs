//! Warps that are held before a step, as they come and go on.

use crate::sim::limits::LIMITS;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::kernel::awaits::{Await, Awaits, awaits};
use crate::kernel::bodies::successors;
use crate::kernel::operands::uses;
use crate::kernel::{BarKind, Op, Pc, RegId, Sem};
use crate::sim::Tid;
use crate::sim::address::provenance::Prov;
use crate::sim::machine::{Core, Machine, Synchronisation, Threads};
use crate::sim::memory::extend;
use crate::sim::step::{UNCONDITIONAL, Under};
use crate::sim::stop::Stop;
use crate::sim::strong::At;
use crate::sim::strong::location::{Key, Observed};
use crate::sim::strong::relay::Told;
use crate::sim::strong::update::{Snapshot, after};
use crate::sim::val::Val;
use crate::sim::warp::{LANES, lanes};

use super::{Choice, Class, Ready, Waiting};

/// A register of a lane, what it holds and what that carries.
type Saved = (RegId, Val, Prov);

impl Threads {
    fn saved(&self, (w, lane): (usize, usize), r: RegId) -> Saved {
        let warp = &self.warps[w];
        (r, warp.get(r, lane), warp.prov(r, lane))
    }

    /// Each warp had several turns, and all of them ended in loops that only wait.
    pub(crate) fn all_wait(&self, turns: u32) -> bool {
        turns as usize
            > LIMITS.waiting_weight as usize * LIMITS.waiting_turns * (self.warps.len() + 1)
    }
}

impl Synchronisation {
    /// An old value is doubtful if its reader executed a `fence.sc` before, and another thread one after it made or
    /// saw a write that the reader misses, or after such a thread is known to have: if that fence is the first of
    /// the two, the old value is excluded (PTX ISA, 8.9.3 to 8.9.5), and which is first is not looked into.
    fn note_doubt(&mut self, key: &Key, observed: Option<usize>, t: Tid) {
        let strong = &self.strong;
        let Some(l) = strong.locations.get(key) else {
            return;
        };
        let fenced = strong.sequential.get(&t).is_some_and(|n| *n > 0);
        let later = observed.map_or(0, |i| i + 1);
        if !fenced || later >= l.writes.len() || strong.doubtful {
            return;
        }
        let saw = |i: usize| l.reads.iter().filter(move |r| r.after > i).map(|r| r.by);
        let doubtful = strong.fences.iter().any(|(fence, head)| {
            let before = |a: At| match a.who == fence.who {
                true => a.at <= fence.at,
                false => a.at.0 < head.known[a.who.0 as usize],
            };
            let missed = l.writes.iter().enumerate().skip(later);
            let mut missed = missed.map(|(i, w)| before(w.by) || saw(i).any(before));
            fence.who != t && missed.any(|m| m)
        });
        self.strong.doubtful = doubtful;
    }
}

impl Core<'_> {
    /// True if a loop around an instruction reads by a strong load, so that it may go on until another thread writes.
    fn polls_in_loop(&self, pc: Pc) -> bool {
        let kernel = self.fixed.kernel;
        let polls = |op: &Op| match op {
            Op::Ld { access, .. } => access.volatile || access.sem != Sem::Weak,
            _ => false,
        };
        if !kernel.insts.iter().any(|i| polls(&i.op)) {
            return false;
        }
        let n = kernel.insts.len();
        let mut from: Vec<Vec<u32>> = vec![Vec::new(); n];
        for at in 0..n as u32 {
            for to in successors(kernel, Pc(at)) {
                if let Some(f) = from.get_mut(to as usize) {
                    f.push(at);
                }
            }
        }
        let met = |next: &dyn Fn(u32) -> Vec<u32>| {
            let (mut seen, mut work) = (vec![false; n], vec![pc.0]);
            while let Some(at) = work.pop() {
                for to in next(at).into_iter().filter(|t| (*t as usize) < n) {
                    if !std::mem::replace(&mut seen[to as usize], true) {
                        work.push(to);
                    }
                }
            }
            seen
        };
        let after = met(&|at| successors(kernel, Pc(at)));
        let before = met(&|at| from[at as usize].clone());
        let insts = kernel.insts.iter().zip(after.iter().zip(&before));
        let mut around = insts.filter(|(_, (a, b))| **a && **b);
        around.any(|(inst, _)| polls(&inst.op))
    }

    /// Puts what a lane held before a look ahead where it was.
    fn put_back(&mut self, (w, lane): (usize, usize), saved: Vec<Saved>) {
        for (r, v, p) in saved {
            self.set(w, r, lane, v);
            self.set_prov(w, r, 1 << lane, p);
        }
    }

    /// What a step leaves in its word.
    pub(crate) fn after_step(&self, (w, lane): (usize, usize), pc: Pc, v: u64) -> Option<u64> {
        let number = |v| match v {
            Val::Conc(n) => Some(n),
            _ => None,
        };
        match &self.inst(pc).op {
            Op::Atom {
                access,
                op,
                srcs,
                cas,
                ..
            } => {
                let b = number(self.src(w, *srcs.first()?, lane));
                let c = cas.and_then(|c| number(self.src(w, c, lane)));
                after(*op, access.ty, v, b, c)
            }
            _ => Some(v),
        }
    }

    /// Puts what an access read where it reads to.
    fn set_result(&mut self, at: (usize, usize), pc: Pc, v: u64) {
        self.set_read(at, pc, Val::Conc(v));
    }

    pub(in crate::sim::strong) fn set_read(&mut self, (w, lane): (usize, usize), pc: Pc, v: Val) {
        let (dst, ty) = match &self.inst(pc).op {
            Op::Ld { dsts, access, .. } => (dsts.first().copied().flatten(), access.ty),
            Op::Atom { dsts, access, .. } => (dsts.first().copied(), access.ty),
            _ => return,
        };
        let Some(d) = dst else { return };
        let width = self.width(d);
        let read = match v {
            Val::Conc(v) => Val::Conc(v & u64::MAX >> (64 - ty.bits())),
            v => v,
        };
        let v = extend(&mut self.values, read, ty, width);
        self.set(w, d, lane, v);
    }
}

impl Machine<'_> {
    /// Lanes come to an instruction at which they are held; false if they need not be.
    pub(crate) fn hold(&mut self, w: usize, mask: u32, exec: u32, pc: Pc, under: &Under) -> bool {
        let held = &self.sync.strong.held;
        if !self.sync.strong.on || !held.stops(pc) || held.granted.is_some() || under.mask != 0 {
            return false;
        }
        self.core.threads.warps[w].jump(mask & !exec, pc.0 + 1);
        self.core.threads.warps[w].jump(exec, pc.0);
        self.core.threads.warps[w].blocked |= exec;
        self.core.threads.warps[w].held |= exec;
        let new = lanes(exec).map(|lane| Waiting { w, lane, pc });
        self.sync.strong.held.waiting.extend(new);
        true
    }

    /// The word that a lane is held at, and its size.
    pub(crate) fn held_at(&mut self, w: usize, lane: usize, pc: Pc) -> Option<(Key, u32)> {
        let (access, addr, packed) = match &self.core.inst(pc).op {
            Op::Ld { access, addr, .. } => (*access, *addr, 1),
            Op::Atom {
                access,
                addr,
                lanes,
                srcs,
                ..
            } if srcs.len() == 1 => (*access, *addr, u32::from(*lanes)),
            Op::St {
                access, addr, srcs, ..
            } if srcs.len() == 1 => (*access, *addr, 1),
            _ => return None,
        };
        let bytes = access.ty.bits() / 8 * packed;
        let who = (w, 1 << lane, pc);
        let targets = self
            .all_targets(who, access.space, addr, &UNCONDITIONAL, bytes)
            .ok()?;
        match targets[..] {
            [t] if t.cond.is_none() && t.off >= 0 && bytes <= 8 => Some((
                Key {
                    region: t.region,
                    off: t.off as u64,
                },
                bytes,
            )),
            _ => None,
        }
    }

    /// What a lane that is held can do.
    pub(crate) fn judge(&mut self, w: usize, lane: usize, pc: Pc) -> Ready {
        let waits = self.sync.strong.awaits.by_access.contains_key(&pc);
        let reads = matches!(self.core.inst(pc).op, Op::Ld { .. });
        let Some((key, bytes)) = self.held_at(w, lane, pc) else {
            return match (waits, reads) {
                (true, _) => Ready::Open,
                (false, true) => Ready::Reads,
                (false, false) => Ready::Updates,
            };
        };
        if !waits {
            return match reads {
                true => Ready::Reads,
                false => Ready::Updates,
            };
        }
        let Some(v) = self.core.word_at(key, bytes, pc) else {
            return Ready::Open;
        };
        let Some(passes) = self.ends_wait((w, lane), pc, v) else {
            return Ready::Open;
        };
        let new = self.core.after_step((w, lane), pc, v);
        let mask = u64::MAX >> (64 - 8 * bytes);
        match (new.map(|n| n & mask == v & mask), passes) {
            (Some(true), true) => match self.sync.strong.awaits.by_access[&pc].is_used {
                true => Ready::Chooses,
                false => Ready::Reads,
            },
            (Some(true), false) => Ready::No,
            (Some(false), true) => Ready::Updates,
            // A round that changes memory is more than waiting.
            (Some(false), false) | (None, _) => Ready::Open,
        }
    }

    /// The loops of the kernel that wait, looked for when they are first asked for.
    pub(in crate::sim) fn awaits(&mut self) -> Arc<Awaits> {
        if !self.sync.strong.on && self.sync.strong.awaits.by_access.is_empty() {
            self.sync.strong.awaits = Arc::new(awaits(self.core.fixed.kernel));
        }
        self.sync.strong.awaits.clone()
    }

    /// For how many turns in a row, that did nothing, the last one of them ended in a loop that only waits.
    pub(crate) fn turns_in_waits(&mut self, pc: Pc, idle: u32, before: u32) -> u32 {
        let awaits = self.awaits();
        let mut all = awaits.by_access.iter();
        let waits = all.any(|(access, wait)| *access == pc || wait.body.contains(&pc.0));
        match idle > 0 {
            true if waits => before + LIMITS.waiting_weight,
            true if self.core.polls_in_loop(pc) => before + 1,
            _ => 0,
        }
    }

    /// What is made of an old value up to the next instruction with an effect: where that is, and what is live there.
    pub(crate) fn class_of(&mut self, (w, lane): (usize, usize), pc: Pc, v: u64) -> Option<Class> {
        let awaits = self.sync.strong.awaits.clone();
        let live = awaits.live.as_ref()?;
        let mut saved: Vec<Saved> = Vec::new();
        let mut save = |threads: &Threads, r: RegId| {
            if !saved.iter().any(|s| s.0 == r) {
                saved.push(threads.saved((w, lane), r));
            }
        };
        self.core
            .inst(pc)
            .op
            .defs(&mut |r| save(&self.core.threads, r));
        self.core.set_result((w, lane), pc, v);
        let mut at = Pc(pc.0 + 1);
        let mut ended = None;
        for _ in 0..LIMITS.waiting_walk {
            let inst = self.core.inst(at);
            let known = inst
                .guard
                .is_none_or(|g| self.core.threads.warps[w].symbolic(g.reg) >> lane & 1 == 0);
            let jumps = matches!(inst.op, Op::Bra { .. });
            if !known || !jumps && !inst.op.is_pure() {
                ended = Some(at).filter(|_| known);
                break;
            }
            inst.op.defs(&mut |r| save(&self.core.threads, r));
            match self.core.step_alone((w, lane), at) {
                Some(to) => at = to,
                None => break,
            }
        }
        let mut out: Option<Class> = ended.map(|at| (at, Vec::new()));
        for &(r, ..) in &saved {
            if let Some((at, regs)) = &mut out
                && live.before(at.0, r)
            {
                let held = match self.core.threads.warps[w].get(r, lane) {
                    // Bits that nobody looks at are alike.
                    Val::Conc(v) => Val::Conc(v & awaits.demanded[r.0 as usize]),
                    v => v,
                };
                regs.push((r, held));
            }
        }
        self.core.put_back((w, lane), saved);
        if let Some((_, regs)) = &mut out {
            regs.sort_unstable_by_key(|r| r.0.0);
        }
        out
    }

    /// Does a value end the loop that waits at an instruction? `None` if that is not known.
    pub(crate) fn ends_wait(&mut self, (w, lane): (usize, usize), pc: Pc, v: u64) -> Option<bool> {
        let awaits = self.sync.strong.awaits.clone();
        let wait = awaits.by_access.get(&pc)?;
        let mut told = None;
        let read = Some((pc, v));
        let mut out = self.in_body((w, lane), Pc(pc.0 + 1), wait, read, &mut told);
        // A load that delays the next try must not wait for something else.
        let mut inner = wait.inner.iter();
        if out == Some(true) && !inner.all(|i| self.ends_wait((w, lane), Pc(*i), v) == Some(true)) {
            out = None;
        }
        let relays = !wait.relay.is_empty();
        if out == Some(false) && relays && !self.others_go_round((w, lane), wait, told) {
            out = None;
        }
        out
    }

    /// Walks a body from an instruction on, with what an access read and what the thread that looks has told, and puts back
    /// what that wrote: true if the body is left, false if it leads back.
    pub(in crate::sim::strong) fn in_body(
        &mut self,
        (w, lane): (usize, usize),
        from: Pc,
        wait: &Await,
        read: Option<(Pc, u64)>,
        told: &mut Option<Told>,
    ) -> Option<bool> {
        let mut written: FxHashSet<RegId> = FxHashSet::default();
        for at in wait.body.iter().chain(&wait.polls) {
            self.core.inst(Pc(*at)).op.defs(&mut |r| {
                written.insert(r);
            });
        }
        // A first look is no poll.
        if let Some((pc, _)) = read {
            self.core.inst(pc).op.defs(&mut |r| {
                written.insert(r);
            });
        }
        let save = |r: &RegId| self.core.threads.saved((w, lane), *r);
        let saved: Vec<Saved> = written.iter().map(save).collect();
        if let Some((pc, v)) = read {
            self.core.set_result((w, lane), pc, v);
        }
        let out = self.walk_body((w, lane), (from, read.map(|r| r.0)), wait, told);
        self.core.put_back((w, lane), saved);
        out
    }

    /// Walks a body, for who looks there from behind the access on: true if it is left, false if it leads back.
    fn walk_body(
        &mut self,
        (w, lane): (usize, usize),
        (from, look): (Pc, Option<Pc>),
        wait: &Await,
        told: &mut Option<Told>,
    ) -> Option<bool> {
        let mut at = from;
        for _ in 0..LIMITS.waiting_walk {
            if wait.polls.contains(&at.0) {
                // It must look at the same word again, and who is told does not look.
                let Some(pc) = look else { return Some(false) };
                let again = at == pc || self.held_at(w, lane, at) == self.held_at(w, lane, pc);
                return again.then_some(false);
            }
            if wait.inner.contains(&at.0) {
                let same = self.held_at(w, lane, at) == self.held_at(w, lane, look?);
                return same.then_some(false);
            }
            if !wait.body.contains(&at.0) {
                return Some(true);
            }
            let inst = self.core.inst(at);
            if wait.silent.contains(&at.0) {
                // Both ways lead back; a clock may have been asked.
                at.0 += 1;
                continue;
            }
            if let Some(g) = inst.guard
                && self.core.threads.warps[w].symbolic(g.reg) >> lane & 1 == 1
            {
                return None;
            }
            if wait.relay.contains(&at.0) {
                self.relay((w, lane), at, told)?;
                at.0 += 1;
                continue;
            }
            if matches!(inst.op, Op::Fence { .. }) {
                at.0 += 1;
                continue;
            }
            if let Op::Bar {
                kind: BarKind::RedBool { dst, src, .. },
                ..
            } = inst.op
            {
                // The others vote for what this thread finds.
                let Val::Conc(v) = self.core.truth(w, src, lane) else {
                    return None;
                };
                self.core.set(w, dst, lane, Val::Conc(v));
                at.0 += 1;
                continue;
            }
            at = self.core.step_alone((w, lane), at)?;
        }
        None
    }

    /// The registers that a loop that waits depends on.
    pub(crate) fn snapshot_of(&self, (w, lane): (usize, usize), pc: Pc) -> Option<Snapshot> {
        let awaits = self.sync.strong.awaits.clone();
        let mut all: FxHashSet<RegId> = FxHashSet::default();
        for at in awaits.by_access.get(&pc)?.body.iter().chain([&pc.0]) {
            let inst = self.core.inst(Pc(*at));
            // What differs between threads beside their registers.
            if matches!(inst.op, Op::Special { .. }) {
                return None;
            }
            uses(inst, |r| {
                all.insert(r);
            });
        }
        let mut all: Vec<RegId> = all.into_iter().collect();
        all.sort_unstable_by_key(|r| r.0);
        Some(
            all.iter()
                .map(|r| (*r, self.core.threads.warps[w].get(*r, lane)))
                .collect(),
        )
    }

    /// Does a value end the loop of a lane that had these registers? Another lane computes it.
    pub(crate) fn would_end(
        &mut self,
        by: (usize, usize),
        pc: Pc,
        of: &Snapshot,
        v: u64,
    ) -> Option<bool> {
        let (w, lane) = by;
        let save = |(r, _): &(RegId, Val)| self.core.threads.saved(by, *r);
        let saved: Vec<Saved> = of.iter().map(save).collect();
        for (r, v) in of {
            self.core.set(w, *r, lane, *v);
        }
        let out = self.ends_wait(by, pc, v);
        self.core.put_back(by, saved);
        out
    }

    /// True for a look that only delays a try of the same word which comes next: whatever it sees, the try comes
    /// to the word, waits there, and what the thread learns it learns there.
    pub(crate) fn only_delays(&mut self, w: usize, lane: usize, pc: Pc) -> bool {
        let wait = self.sync.strong.awaits.by_access.get(&pc);
        let Some(tries) = wait.and_then(|a| a.delays) else {
            return false;
        };
        let word = self.held_at(w, lane, pc);
        word.is_some() && word == self.held_at(w, lane, tries)
    }

    /// Chooses which of several values a read gives, and keeps the last write that an old one misses.
    fn choose_value(&mut self, (key, pc): (Key, Pc), who: Tid, n: usize) -> usize {
        let at = self.sync.strong.held.steps.choices.len();
        let last = self.sync.strong.locations[&key].writes.last();
        if let Some((by, pc)) = last.map(|w| (w.by.who, w.pc)) {
            let (cta, thread) = self.core.fixed.team.split_tid(by);
            let write = Choice {
                taken: 0,
                of: 1,
                cta,
                thread,
                pc,
            };
            self.sync.strong.held.steps.missed.insert(at, write);
        }
        self.choose(&vec![(pc, who); n])
    }

    /// Makes the step that a lane is held at; what it does is known.
    pub(crate) fn grant(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        ready: Ready,
    ) -> Result<(), Stop> {
        let t = Tid((w * LANES + lane) as u32);
        let who = t;
        self.core.threads.warps[w].blocked &= !(1 << lane);
        self.core.threads.warps[w].held &= !(1 << lane);
        let reads = matches!(self.core.inst(pc).op, Op::Ld { .. });
        let waits = self
            .sync
            .strong
            .awaits
            .by_access
            .get(&pc)
            .map(|a| a.is_used);
        // A read that is in no loop goes on with whatever it reads.
        let waits = waits.or(reads.then_some(true));
        let in_loop = self.sync.strong.awaits.by_access.contains_key(&pc);
        let waits = waits.filter(|_| !self.only_delays(w, lane, pc));
        let (mut observed, mut enabled, mut value) = (None, false, None::<Val>);
        if let (Some(is_used), Some((key, bytes))) = (waits, self.held_at(w, lane, pc)) {
            let mut passes = |m: &mut Self, v: u64| match in_loop {
                true => m.ends_wait((w, lane), pc, v),
                false => Some(true),
            };
            if ready == Ready::Updates {
                let last = self
                    .sync
                    .strong
                    .locations
                    .get(&key)
                    .and_then(|l| l.writes.last());
                enabled = match last.map(|w| w.before) {
                    Some(Some(v)) => passes(self, v) == Some(false),
                    _ => false,
                };
            } else if !in_loop && let Some(ends) = self.settle_read((t, key, bytes, pc)) {
                let i = match ends.len() {
                    1 => 0,
                    n => self.choose_value((key, pc), who, n),
                };
                (value, observed) = (ends[i].0, Some(ends[i].1));
                self.sync.note_doubt(&key, ends[i].1, t);
            } else {
                match self.settle_wait((t, key, bytes, pc), is_used, &mut passes) {
                    Observed::Writes(ends) => {
                        let i = match ends.len() {
                            1 => 0,
                            n => self.choose(&vec![(pc, who); n]),
                        };
                        (value, observed) = (ends[i].0.map(Val::Conc), Some(ends[i].1));
                        self.sync.note_doubt(&key, ends[i].1, t);
                    }
                    Observed::Open(n) => {
                        let l = &self.sync.strong.locations[&key];
                        let w = &l.writes[n - 1];
                        let earlier = (w.pc, w.by.who);
                        let why = "the thread that waits may go on after one of several writes";
                        self.sync.open_pair(key, earlier, (pc, who), why);
                    }
                }
            }
        }
        let held = &mut self.sync.strong.held;
        held.granted = Some((who, pc));
        held.idle = ready != Ready::Updates;
        held.observed = observed;
        held.enabled = enabled;
        let done = self.execute(w, 1 << lane, 1 << lane, pc, &UNCONDITIONAL);
        self.sync.strong.held.granted = None;
        self.sync.strong.held.idle = false;
        self.sync.strong.held.observed = None;
        if let Some(v) = value {
            self.core.set_read((w, lane), pc, v);
        }
        self.core.threads.warps[w].pc[lane] = pc.0 + 1;
        done.map(|_| ())
    }
}
