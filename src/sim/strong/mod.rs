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
//! writes, or an earlier or later write, would change is a finding. `between` finds plain accesses of different
//! CTAs that nothing orders.
//!
//! Soundness: the knowledge that a waiting thread gains is what every write gives that it may have observed, so
//! that an order which only some execution has is none. Pairs of strong accesses that neither happens-before nor a
//! choice of the driver orders stay findings.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::kernel::awaits::{Await, awaits};
use crate::kernel::{Access, AtomOp, Kernel, Op, Pc, Scope, Sem};

use super::Tid;
use super::clock::{Known, Tick};
use super::machine::{Machine, RegionId};
use super::race::Kind;
use super::value::Val;
use super::warp::LANES;

pub mod between;
pub mod hold;
pub mod location;

pub use location::{Key, Location};

/// What is known of the threads of each CTA.
pub type Vectors = BTreeMap<u32, Known>;

/// Adds what is known by `b`.
pub fn join(a: &mut Vectors, b: &Vectors) {
    for (cta, theirs) in b {
        match a.get_mut(cta) {
            None => {
                a.insert(*cta, theirs.clone());
            }
            Some(ours) if Arc::ptr_eq(ours, theirs) => {}
            Some(ours) => {
                if ours.iter().zip(theirs.iter()).any(|(x, y)| x < y) {
                    *ours = ours.iter().zip(theirs.iter()).map(|(x, y)| *x.max(y)).collect();
                }
            }
        }
    }
}

/// A thread of the grid.
pub type Who = (u32, Tid);

/// A thread and a stamp of its CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The thread.
    pub who: Who,
    /// The stamp.
    pub at: Tick,
}

/// What a thread learned of other CTAs.
#[derive(Clone, Debug)]
struct Learned {
    who: Tid,
    at: Tick,
    vectors: Arc<Vectors>,
}

/// What a release publishes: to whom.
#[derive(Clone, Debug)]
pub struct Head {
    /// The CTA of the thread that releases.
    pub from: u32,
    /// The scope holds the whole grid.
    pub wide: bool,
    /// What was known.
    pub vectors: Arc<Vectors>,
}

/// Two accesses of strong kinds whose order is open.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// The earlier access of the run, and its thread.
    pub earlier: (Pc, Who),
    /// The later one.
    pub later: (Pc, Who),
    /// The word.
    pub key: Key,
    /// Why it matters.
    pub why: &'static str,
    /// How often.
    pub count: u64,
}

/// What flags, counters and locks of a grid have published.
#[derive(Debug, Default)]
pub struct Strong {
    /// True where the CTAs run together and strong accesses are followed.
    pub on: bool,
    /// The CTA that runs, by its place among those that run together.
    pub cta: u32,
    /// Which CTA of the launch each of them is.
    pub ranks: Vec<u64>,
    /// Loops that wait.
    pub awaits: Arc<BTreeMap<Pc, Await>>,
    learned: Vec<Vec<Learned>>,
    /// What each thread had done at its last fence: any scope, and one that holds the grid.
    fenced: FxHashMap<Who, [Option<Arc<Vectors>>; 2]>,
    /// What the strong reads of each thread saw since its last fence.
    seen: FxHashMap<Who, Vec<Head>>,
    /// The words that strong accesses touch.
    pub locations: BTreeMap<Key, Location>,
    /// Plain accesses of arrays by CTA.
    pub between: between::Between,
    /// Findings.
    pub troubles: BTreeMap<(Pc, Pc), Trouble>,
    /// Lanes that are held, and the choices so far.
    pub held: hold::Held,
}

impl Strong {
    /// For CTAs that run together.
    pub fn together(kernel: &Kernel, ranks: Vec<u64>, plan: Vec<u32>) -> Strong {
        Strong {
            on: true,
            awaits: Arc::new(awaits(kernel)),
            learned: vec![Vec::new(); ranks.len()],
            ranks,
            held: hold::Held::new(kernel, plan),
            ..Strong::default()
        }
    }

    /// Adds a pair whose order is open.
    pub fn trouble(&mut self, key: Key, earlier: (Pc, Who), later: (Pc, Who), why: &'static str) {
        self.troubles
            .entry((earlier.0, later.0))
            .and_modify(|t| t.count += 1)
            .or_insert(Trouble {
                earlier,
                later,
                key,
                why,
                count: 1,
            });
    }
}

/// True if a scope holds all CTAs of the grid.
pub fn is_wide(scope: Scope) -> bool {
    matches!(scope, Scope::Gpu | Scope::Sys)
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
    fences && observes || !awaits(kernel).is_empty()
}

/// True if threads of a kernel wait in loops.
pub fn waits(kernel: &Kernel) -> bool {
    !awaits(kernel).is_empty()
}

/// A strong access of one lane.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The lane.
    pub who: Who,
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
    /// A thread of the CTA that runs, in the grid.
    pub fn who(&self, t: Tid) -> Who {
        (self.strong.cta, t)
    }

    /// The stamp of a thread now.
    pub fn at_now(&self, t: Tid) -> At {
        let clocks = &self.order.clocks;
        At {
            who: self.who(t),
            at: clocks.stamp(clocks.shape().warp(t)),
        }
    }

    /// Does what a thread of the grid did happen before what a thread of the CTA that runs does now?
    pub fn knows(&self, t: Tid, earlier: At) -> bool {
        let clocks = &self.order.clocks;
        let (cta, who) = earlier.who;
        if cta == self.strong.cta {
            return clocks.ordered(who.into(), earlier.at, t);
        }
        let log = self.strong.learned.get(self.strong.cta as usize);
        log.into_iter().flatten().rev().any(|l| {
            let known = l.vectors.get(&cta).and_then(|v| v.get(who.0 as usize));
            known.is_some_and(|k| earlier.at.0 < *k)
                && (l.who == t || clocks.ordered(l.who.into(), l.at, t))
        })
    }


    /// A thread releases.
    fn release_now(&mut self, t: Tid) -> Arc<Vectors> {
        let cta = self.strong.cta;
        let own = self.order.clocks.release(t);
        let mut out = Vectors::from([(cta, own)]);
        let clocks = &self.order.clocks;
        for l in self.strong.learned.get(cta as usize).into_iter().flatten() {
            if l.who == t || clocks.ordered(l.who.into(), l.at, t) {
                join(&mut out, &l.vectors);
            }
        }
        Arc::new(out)
    }

    /// A thread acquires.
    fn acquire_now(&mut self, t: Tid, vectors: &Arc<Vectors>) {
        let cta = self.strong.cta;
        if let Some(own) = vectors.get(&cta) {
            self.order.clocks.acquire_known(t, own);
        }
        let at = self.at_now(t).at;
        if vectors.keys().all(|c| *c == cta) {
            return;
        }
        if let Some(log) = self.strong.learned.get_mut(cta as usize) {
            let clocks = &self.order.clocks;
            if log.len() >= 64 {
                // What everyone knows is one entry.
                let mut all = Vectors::new();
                log.retain(|l| {
                    let settled = clocks.settled(l.who.into(), l.at);
                    if settled {
                        join(&mut all, &l.vectors);
                    }
                    !settled
                });
                let floor = Learned {
                    who: Tid(0),
                    at: Tick(0),
                    vectors: Arc::new(all),
                };
                log.insert(0, floor);
            }
            log.push(Learned {
                who: t,
                at,
                vectors: vectors.clone(),
            });
        }
    }

    /// What a read in a scope learns of heads, if an acquire of that scope follows.
    fn heard(&self, heads: &[Head], scope: Scope) -> Vec<Head> {
        let cta = self.strong.cta;
        let hears = |h: &&Head| h.from == cta || h.wide && is_wide(scope);
        heads.iter().filter(hears).cloned().collect()
    }

    fn acquire_heads(&mut self, t: Tid, heads: &[Head], scope: Scope) {
        for h in self.heard(heads, scope) {
            self.acquire_now(t, &h.vectors);
        }
    }

    /// A thread executes a fence.
    pub fn strong_fence(&mut self, t: Tid, sem: Sem, scope: Scope) {
        let who = self.who(t);
        if sem != Sem::Release {
            let seen = self.strong.seen.get(&who).cloned().unwrap_or_default();
            self.acquire_heads(t, &seen, scope);
            if is_wide(scope) {
                self.strong.seen.remove(&who);
            }
        }
        if sem != Sem::Acquire {
            let now = self.release_now(t);
            let last = self.strong.fenced.entry(who).or_default();
            last[0] = Some(now.clone());
            if is_wide(scope) {
                last[1] = Some(now);
            }
        }
    }

    /// What a write of a thread releases.
    fn released(&mut self, e: &Event) -> Vec<Head> {
        let from = e.who.0;
        if matches!(e.sem, Sem::Release | Sem::AcqRel | Sem::Sc) {
            let vectors = self.release_now(e.who.1);
            return vec![Head {
                from,
                wide: is_wide(e.scope),
                vectors,
            }];
        }
        let Some([any, wide]) = self.strong.fenced.get(&e.who).cloned() else {
            return Vec::new();
        };
        let of = |v: Option<Arc<Vectors>>, wide| v.map(|vectors| Head { from, wide, vectors });
        let both = [of(any, false), of(wide, true).filter(|_| is_wide(e.scope))];
        both.into_iter().flatten().collect()
    }

    /// What a read observes: learned at once if it acquires, else by the next fence.
    fn observe(&mut self, e: &Event, heads: &[Head]) {
        let heard = self.heard(heads, e.scope);
        if matches!(e.sem, Sem::Acquire | Sem::AcqRel | Sem::Sc) {
            self.acquire_heads(e.who.1, &heard, e.scope);
        }
        let seen = self.strong.seen.entry(e.who).or_default();
        for h in heard {
            if !seen.iter().any(|s| Arc::ptr_eq(&s.vectors, &h.vectors)) {
                seen.push(h);
            }
        }
    }

    /// The words of a strong access by one lane, one after the other.
    pub fn strong_event(
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
                who: self.who(t),
                pc,
                key: self.key(region, off + u64::from(i * elem)),
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
