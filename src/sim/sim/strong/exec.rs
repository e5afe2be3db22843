//! Strong accesses, as they are followed.

use crate::sim::limits::LIMITS;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::kernel::{Access, Op, Pc, Scope, Sem};
use crate::sim::at::site;
use crate::sim::machine::{Core, Machine, Synchronisation};
use crate::sim::plain::Class;
use crate::sim::race::AccessKind;
use crate::sim::region::RegionId;
use crate::sim::strong::location::Key;
use crate::sim::val::Val;
use crate::sim::warp::LANES;
use crate::sim::{DefectKind, Tid, UnknownKind};

use super::{At, Event, Head, Strong, Trouble, hold, location};

/// Adds a pair.
pub(super) fn note(to: &mut BTreeMap<(Pc, Pc), Trouble>, new: Trouble) {
    to.entry((new.earlier.0, new.later.0))
        .and_modify(|t| t.count += 1)
        .or_insert(new);
}

impl Synchronisation {
    /// The stamp of a thread now.
    pub(in crate::sim) fn at_now(&self, t: Tid) -> At {
        let clocks = &self.order.clocks;
        At {
            who: t,
            at: clocks.stamp(clocks.shape().warp(t)),
        }
    }

    /// Does what a thread did happen before what another does now?
    pub(in crate::sim) fn knows(&self, t: Tid, earlier: At) -> bool {
        self.order.clocks.ordered(earlier.who.into(), earlier.at, t)
    }

    /// What the `fence.sc` that come before a write of a thread know.
    pub(super) fn sequential(&mut self, t: Tid) -> Vec<Head> {
        let size = self.strong.fences.len() as u64 * u64::from(self.order.clocks.shape().threads());
        if size > LIMITS.fence_words {
            self.strong.coarse = true;
            return Vec::new();
        }
        let mut out = Vec::new();
        for (at, head) in &self.strong.fences {
            if at.who == t || self.knows(t, *at) {
                location::add_head(&mut out, head.clone());
            }
        }
        out
    }

    /// What a write of a thread releases.
    pub(super) fn released(&mut self, e: &Event) -> Vec<Head> {
        if matches!(e.sem, Sem::Release | Sem::AcqRel | Sem::Sc) {
            let known = self.order.clocks.release(e.who);
            return vec![Head {
                from: e.who,
                scope: e.scope,
                known,
            }];
        }
        let mut heads = self.strong.fenced.get(&e.who).cloned().unwrap_or_default();
        heads
            .iter_mut()
            .for_each(|h| h.scope = h.scope.min(e.scope));
        heads
    }
}

impl Core<'_> {
    /// True if a scope of one thread holds another one.
    pub(in crate::sim) fn holds(&self, scope: Scope, a: Tid, b: Tid) -> bool {
        let number = |t: Tid| self.fixed.team.number(t.0 as usize / LANES) as u32;
        let (x, y) = (number(a), number(b));
        match scope {
            Scope::Cta => x == y,
            Scope::Cluster => x / self.fixed.team.size() == y / self.fixed.team.size(),
            Scope::Gpu | Scope::Sys => true,
        }
    }

    /// What a thread learns of heads by an acquire of a scope.
    pub(super) fn heard(&self, t: Tid, heads: &[Head], scope: Scope) -> Vec<Head> {
        let hears = |h: &&Head| self.holds(scope, t, h.from) && self.holds(h.scope, h.from, t);
        heads.iter().filter(hears).cloned().collect()
    }

    /// What a store or atomic is given, if it is known.
    fn operand(&self, t: Tid, pc: Pc, i: usize) -> Option<u64> {
        let src = match &self.inst(pc).op {
            Op::St { srcs, .. } => srcs.get(i).copied().flatten(),
            Op::Atom { srcs, .. } => srcs.get(i).copied(),
            _ => None,
        }?;
        match self.src(t.0 as usize / LANES, src, t.0 as usize % LANES) {
            Val::Conc(v) => Some(v),
            _ => None,
        }
    }
}

impl Machine<'_> {
    /// Strong accesses are followed.
    pub(in crate::sim) fn follow_strong(&mut self, plan: &hold::Plan) {
        self.sync.fences.present = true;
        self.sync.strong =
            Strong::following(self.core.fixed.kernel, &plan.awaits, plan.first.clone());
        for (pc, class) in (0u32..).zip(&mut self.core.threads.classes) {
            if self.sync.strong.held.stops(Pc(pc)) {
                *class = Class::General;
            }
        }
    }

    /// True for a pair of strong accesses that was looked at word by word.
    pub(in crate::sim) fn is_followed(&self, f: &crate::sim::race::Finding) -> bool {
        let (a, b) = (f.earlier.pc, f.later.pc);
        let by_thread = |pc: Pc| {
            let op = &self.core.inst(pc).op;
            matches!(op, Op::Ld { .. } | Op::St { .. } | Op::Atom { .. })
        };
        let strong = f.earlier.kind.strong() && f.later.kind.strong();
        strong
            && self.core.access_bytes(a) == self.core.access_bytes(b)
            && by_thread(a)
            && by_thread(b)
            && !self.sync.strong.conditional
    }

    fn acquire_heads(&mut self, t: Tid, heads: &[Head], scope: Scope) {
        for h in self.core.heard(t, heads, scope) {
            self.sync.order.clocks.acquire_known(t, &h.known);
        }
    }

    /// A thread executes a fence.
    pub(in crate::sim) fn strong_fence(&mut self, t: Tid, sem: Sem, scope: Scope) {
        let before = self.sync.at_now(t);
        if sem == Sem::Sc {
            *self.sync.strong.sequential.entry(t).or_default() += 1;
            self.acquire_sequential(t, scope);
        }
        if sem != Sem::Release {
            let seen = self.sync.strong.seen.get(&t).cloned().unwrap_or_default();
            self.acquire_heads(t, &seen, scope);
            if scope >= Scope::Gpu {
                self.sync.strong.seen.remove(&t);
            }
        }
        if sem != Sem::Acquire {
            let known = self.sync.order.clocks.release(t);
            let head = Head {
                from: t,
                scope,
                known,
            };
            if sem == Sem::Sc {
                self.sync.strong.fences.push((before, head.clone()));
            }
            let last = self.sync.strong.fenced.entry(t).or_default();
            last.retain(|h| h.scope > scope);
            last.push(head);
        }
    }

    /// A `fence.sc` comes after each other one that comes before a strong write which a strong read before this
    /// fence observed: the other way round, the read would come before what it observed.
    fn acquire_sequential(&mut self, t: Tid, scope: Scope) {
        let observed = std::mem::take(&mut self.sync.strong.observed);
        for (at, heads) in &observed {
            if at.who == t || self.sync.knows(t, *at) {
                self.acquire_heads(t, heads, scope);
            }
        }
        self.sync.strong.observed = observed;
    }

    /// What a read observes: learned at once if it acquires, else by the next fence.
    pub(super) fn observe(&mut self, e: &Event, heads: &[Head]) {
        let heard = self.core.heard(e.who, heads, e.scope);
        if matches!(e.sem, Sem::Acquire | Sem::AcqRel | Sem::Sc) {
            self.acquire_heads(e.who, &heard, e.scope);
        }
        let seen = self.sync.strong.seen.entry(e.who).or_default();
        for h in heard {
            if !seen.iter().any(|s| Arc::ptr_eq(&s.known, &h.known)) {
                seen.push(h);
            }
        }
    }

    /// Turns what is open between strong accesses into findings.
    pub(in crate::sim) fn report_strong(&mut self) {
        let contended = std::mem::take(&mut self.sync.strong.contended);
        for ((t, _), words) in contended.into_iter().filter(|(_, words)| words.len() > 1) {
            let all: Vec<(Key, Pc)> = words.into_iter().collect();
            let why = "no fence.sc separates this thread's updates of two words, so that others \
                       may see them in another order";
            self.sync
                .open_pair(all[0].0, (all[0].1, t), (all[1].1, t), why);
        }
        let narrow = std::mem::take(&mut self.sync.strong.narrow);
        let troubles = std::mem::take(&mut self.sync.strong.troubles);
        let kinds = narrow.into_values().map(|t| (t, true));
        for (t, narrow) in kinds.chain(troubles.into_values().map(|t| (t, false))) {
            let place = self.core.place(t.key.region, t.key.off, 4);
            let at = |(pc, who): (Pc, Tid)| {
                let (w, lane) = (who.0 as usize / LANES, who.0 as usize % LANES);
                site(pc, w, 1 << lane, format!("accesses {place}"))
            };
            let sites = vec![at(t.earlier), at(t.later)];
            let message = format!("strong accesses of {place}: {}", t.why);
            match narrow {
                true => {
                    self.core
                        .found
                        .defect_counted(DefectKind::DataRace, t.count, sites, || message)
                }
                false => {
                    self.core
                        .found
                        .unknown(UnknownKind::NondeterministicValue, sites, || message);
                }
            }
        }
    }

    /// The words of a strong access by one lane, one after the other.
    pub(in crate::sim) fn strong_event(
        &mut self,
        t: Tid,
        (pc, access): (Pc, &Access),
        (region, off): (RegionId, u64),
        (elem, count): (u32, u32),
        kind: AccessKind,
    ) {
        // A volatile access is relaxed, of the system.
        let (sem, scope) = match access.volatile {
            true => (Sem::Relaxed, Scope::Sys),
            false => (access.sem, access.scope),
        };
        for i in 0..count {
            let e = Event {
                who: t,
                pc,
                key: Key {
                    region,
                    off: off + u64::from(i * elem),
                },
                bytes: elem,
                kind,
                sem,
                scope,
                operand: self.core.operand(t, pc, i as usize),
            };
            self.at_location(&e);
        }
    }
}
