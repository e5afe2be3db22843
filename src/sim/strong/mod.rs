//! Strong accesses: who learns what from whom by flags, counters and locks.
//!
//! Problem: threads order their accesses by writing and reading words that several of them access. Source: PTX ISA
//! 9.0, sections 8.7 to 8.9. A release pattern is a fence and a strong write after it, or a releasing write; an
//! acquire pattern is a strong read and a fence after it, or an acquiring read; read-modify-writes carry on what
//! they overwrite. Where a read observes a write, the first synchronises with the second if the scopes of fences
//! and accesses hold both threads. A write that was observed comes before what follows its observation, even
//! where nothing before the write does.
//!
//! One schedule is run: all threads go as far as they get without a step whose place in the order matters, and
//! then one such step is made. [`hold`] has these steps: loops that wait ([`crate::kernel::awaits`]) are one step
//! each, made as late as possible, and read-modify-writes whose old value is used are made one at a time, in each
//! order. [`location`] looks at what else an access of one word could have observed: what another order of its
//! writes, or an earlier or later write, would change is a finding.
//!
//! Soundness: the knowledge that a waiting thread gains is what every write gives that it may have observed, so
//! that an order which only some execution has is none. Pairs of strong accesses that neither happens-before nor a
//! choice of the driver orders stay findings.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::kernel::awaits::{Awaits, awaits};
use crate::kernel::{Access, AtomOp, Kernel, Op, Pc, Scope, Sem};

use super::clock::{Known, Tick, join};
use super::machine::{Machine, RegionId};
use super::plain::Class;
use super::race::Kind;
use super::value::Val;
use super::warp::LANES;
use super::{DefectKind, Tid, UnknownKind};

pub mod explore;
pub mod hold;
pub mod location;
mod relay;
mod update;

pub use location::{Key, Location};

/// Words of the clocks of fences that are looked through for one write.
const MAX_SEQUENTIAL: u64 = 1 << 22;

/// A thread and a stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The thread.
    pub who: Tid,
    /// The stamp.
    pub at: Tick,
}

/// What a release publishes: to whom.
#[derive(Clone, Debug)]
pub struct Head {
    /// The thread that releases.
    pub from: Tid,
    /// The scope in which it does.
    pub scope: Scope,
    /// What was known.
    pub known: Known,
}

/// Two accesses of strong kinds whose order is open.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// The earlier access of the run, and its thread.
    pub earlier: (Pc, Tid),
    /// The later one.
    pub later: (Pc, Tid),
    /// The word.
    pub key: Key,
    /// Why it matters.
    pub why: &'static str,
    /// How often.
    pub count: u64,
}

/// What flags, counters and locks have published.
#[derive(Debug, Default)]
pub struct Strong {
    /// True where strong accesses are followed.
    pub on: bool,
    /// Loops that wait.
    pub awaits: Arc<Awaits>,
    /// What each thread had done at its last fences, by scope.
    fenced: FxHashMap<Tid, Vec<Head>>,
    /// What the strong reads of each thread saw since its last fence.
    seen: FxHashMap<Tid, Vec<Head>>,
    /// The words that strong accesses touch.
    pub locations: BTreeMap<Key, Location>,
    /// Pairs whose order is open.
    pub troubles: BTreeMap<(Pc, Pc), Trouble>,
    /// Pairs of which one has a scope that does not hold the other's thread.
    pub narrow: BTreeMap<(Pc, Pc), Trouble>,
    /// Each `fence.sc`: when, in which scope, and what its thread knew.
    fences: Vec<(At, Head)>,
    /// Each strong read of a write that such fences come before: what they know.
    pub observed: Vec<(At, Vec<Head>)>,
    /// There were too many fences to follow what they order, so that nothing is a race for certain.
    pub coarse: bool,
    /// How many `fence.sc` each thread has executed.
    pub sequential: FxHashMap<Tid, u32>,
    /// The words that a thread updates, between two such fences, at a place that was chosen among unordered ones.
    pub contended: BTreeMap<(Tid, u32), BTreeMap<Key, Pc>>,
    /// Some strong access happens under a condition on data, so that its word was not looked at.
    pub conditional: bool,
    /// A read gave an old value that a `fence.sc` on either side may exclude.
    pub doubtful: bool,
    /// Lanes that are held, and the choices so far.
    pub held: hold::Held,
}

impl Strong {
    /// Strong accesses are followed, and these choices made first.
    pub fn following(kernel: &Kernel, awaits: &Arc<Awaits>, plan: Vec<u32>) -> Strong {
        Strong {
            on: true,
            held: hold::Held::new(kernel, awaits, plan),
            awaits: awaits.clone(),
            ..Strong::default()
        }
    }
}

/// Adds a pair.
fn note(to: &mut BTreeMap<(Pc, Pc), Trouble>, new: Trouble) {
    to.entry((new.earlier.0, new.later.0))
        .and_modify(|t| t.count += 1)
        .or_insert(new);
}

/// True if threads of a kernel may order each other by strong accesses.
pub fn concerns(kernel: &Kernel) -> bool {
    let orders = |sem: Sem| !matches!(sem, Sem::Weak | Sem::Relaxed);
    let (mut fences, mut observes) = (false, false);
    for inst in &kernel.insts {
        match &inst.op {
            Op::Fence { .. } => fences = true,
            Op::Ld { access, .. } => {
                fences |= orders(access.sem);
                observes |= access.volatile || access.sem != Sem::Weak;
            }
            Op::St { access, .. } => fences |= orders(access.sem),
            Op::Atom { access, dsts, .. } => {
                fences |= orders(access.sem);
                observes |= !dsts.is_empty();
            }
            _ => {}
        }
    }
    fences && observes || waits(kernel)
}

/// True if threads of a kernel look at what their atomics found, so that their order may matter.
pub fn counts(kernel: &Kernel) -> bool {
    crate::kernel::usage::results_used(kernel).contains(&true)
}

/// True if threads of a kernel wait in loops.
pub fn waits(kernel: &Kernel) -> bool {
    !awaits(kernel).by_access.is_empty()
}

/// A strong access of one lane.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The thread.
    pub who: Tid,
    /// The instruction.
    pub pc: Pc,
    /// The word.
    pub key: Key,
    /// Its size in bytes.
    pub bytes: u32,
    /// What is done.
    pub kind: Kind,
    /// With which semantics.
    pub sem: Sem,
    /// In which scope.
    pub scope: Scope,
    /// What it gives to memory, as far as it is known.
    pub operand: Option<u64>,
}

impl Event {
    /// True if a read-modify-write leaves memory as it was whatever it holds.
    pub fn is_idle(&self) -> bool {
        let Kind::Atomic { op, .. } = self.kind else {
            return false;
        };
        self.operand == Some(0) && matches!(op, AtomOp::Add | AtomOp::Or | AtomOp::Xor)
    }
}

impl Machine<'_> {
    /// The stamp of a thread now.
    pub(super) fn at_now(&self, t: Tid) -> At {
        let clocks = &self.order.clocks;
        At {
            who: t,
            at: clocks.stamp(clocks.shape().warp(t)),
        }
    }

    /// Does what a thread did happen before what another does now?
    pub(super) fn knows(&self, t: Tid, earlier: At) -> bool {
        self.order.clocks.ordered(earlier.who.into(), earlier.at, t)
    }

    /// True if a scope of one thread holds another one.
    pub(super) fn holds(&self, scope: Scope, a: Tid, b: Tid) -> bool {
        let number = |t: Tid| self.team.number(t.0 as usize / LANES) as u32;
        let (x, y) = (number(a), number(b));
        match scope {
            Scope::Cta => x == y,
            Scope::Cluster => x / self.team.size() == y / self.team.size(),
            Scope::Gpu | Scope::Sys => true,
        }
    }

    /// Strong accesses are followed.
    pub(super) fn follow_strong(&mut self, plan: &hold::Plan) {
        self.fences.present = true;
        self.strong = Strong::following(self.kernel, &plan.awaits, plan.first.clone());
        for (pc, class) in (0u32..).zip(&mut self.classes) {
            if self.strong.held.stops(Pc(pc)) {
                *class = Class::General;
            }
        }
    }

    /// True for a pair of strong accesses that was looked at word by word.
    pub(super) fn is_followed(&self, f: &super::race::Finding) -> bool {
        let (a, b) = (f.earlier.pc, f.later.pc);
        let by_thread = |pc: Pc| {
            let op = &self.inst(pc).op;
            matches!(op, Op::Ld { .. } | Op::St { .. } | Op::Atom { .. })
        };
        let strong = f.earlier.kind.strong() && f.later.kind.strong();
        strong
            && self.access_bytes(a) == self.access_bytes(b)
            && by_thread(a)
            && by_thread(b)
            && !self.strong.conditional
    }

    /// What a thread learns of heads by an acquire of a scope.
    fn heard(&self, t: Tid, heads: &[Head], scope: Scope) -> Vec<Head> {
        let hears = |h: &&Head| self.holds(scope, t, h.from) && self.holds(h.scope, h.from, t);
        heads.iter().filter(hears).cloned().collect()
    }

    fn acquire_heads(&mut self, t: Tid, heads: &[Head], scope: Scope) {
        for h in self.heard(t, heads, scope) {
            self.order.clocks.acquire_known(t, &h.known);
        }
    }

    /// A thread executes a fence.
    pub(super) fn strong_fence(&mut self, t: Tid, sem: Sem, scope: Scope) {
        let before = self.at_now(t);
        if sem == Sem::Sc {
            *self.strong.sequential.entry(t).or_default() += 1;
            self.acquire_sequential(t, scope);
        }
        if sem != Sem::Release {
            let seen = self.strong.seen.get(&t).cloned().unwrap_or_default();
            self.acquire_heads(t, &seen, scope);
            if scope >= Scope::Gpu {
                self.strong.seen.remove(&t);
            }
        }
        if sem != Sem::Acquire {
            let known = self.order.clocks.release(t);
            let head = Head {
                from: t,
                scope,
                known,
            };
            if sem == Sem::Sc {
                self.strong.fences.push((before, head.clone()));
            }
            let last = self.strong.fenced.entry(t).or_default();
            last.retain(|h| h.scope > scope);
            last.push(head);
        }
    }

    /// A `fence.sc` comes after each other one that comes before a strong write which a strong read before this
    /// fence observed: the other way round, the read would come before what it observed.
    fn acquire_sequential(&mut self, t: Tid, scope: Scope) {
        let observed = std::mem::take(&mut self.strong.observed);
        for (at, heads) in &observed {
            if at.who == t || self.knows(t, *at) {
                self.acquire_heads(t, heads, scope);
            }
        }
        self.strong.observed = observed;
    }

    /// What the `fence.sc` that come before a write of a thread know.
    fn sequential(&mut self, t: Tid) -> Vec<Head> {
        let size = self.strong.fences.len() as u64 * u64::from(self.order.clocks.shape().threads());
        if size > MAX_SEQUENTIAL {
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
    fn released(&mut self, e: &Event) -> Vec<Head> {
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

    /// What a read observes: learned at once if it acquires, else by the next fence.
    fn observe(&mut self, e: &Event, heads: &[Head]) {
        let heard = self.heard(e.who, heads, e.scope);
        if matches!(e.sem, Sem::Acquire | Sem::AcqRel | Sem::Sc) {
            self.acquire_heads(e.who, &heard, e.scope);
        }
        let seen = self.strong.seen.entry(e.who).or_default();
        for h in heard {
            if !seen.iter().any(|s| Arc::ptr_eq(&s.known, &h.known)) {
                seen.push(h);
            }
        }
    }

    /// Turns what is open between strong accesses into findings.
    pub(super) fn report_strong(&mut self) {
        let contended = std::mem::take(&mut self.strong.contended);
        for ((t, _), words) in contended.into_iter().filter(|(_, words)| words.len() > 1) {
            let all: Vec<(Key, Pc)> = words.into_iter().collect();
            let why = "no fence.sc separates this thread's updates of two words, so that others \
                       may see them in another order";
            self.open_pair(all[0].0, (all[0].1, t), (all[1].1, t), why);
        }
        let narrow = std::mem::take(&mut self.strong.narrow);
        let troubles = std::mem::take(&mut self.strong.troubles);
        let kinds = narrow.into_values().map(|t| (t, true));
        for (t, narrow) in kinds.chain(troubles.into_values().map(|t| (t, false))) {
            let place = self.place(t.key.region, t.key.off, 4);
            let site = |m: &Self, (pc, who): (Pc, Tid)| {
                let (w, lane) = (who.0 as usize / LANES, who.0 as usize % LANES);
                m.site(pc, w, 1 << lane, format!("accesses {place}"))
            };
            let sites = vec![site(self, t.earlier), site(self, t.later)];
            let message = format!("strong accesses of {place}: {}", t.why);
            match narrow {
                true => self.defect_counted(DefectKind::DataRace, t.count, sites, || message),
                false => {
                    self.unknown(UnknownKind::NondeterministicValue, sites, || message);
                }
            }
        }
    }

    /// The words of a strong access by one lane, one after the other.
    pub(super) fn strong_event(
        &mut self,
        t: Tid,
        (pc, access): (Pc, &Access),
        (region, off): (RegionId, u64),
        (elem, count): (u32, u32),
        kind: Kind,
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
                operand: self.operand(t, pc, i as usize),
            };
            self.at_location(&e);
        }
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
