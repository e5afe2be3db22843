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
use crate::kernel::{AtomOp, Kernel, Op, Pc, Scope, Sem};
use crate::sim::state::recorded;

use super::Tid;
use super::clock::{Known, Tick, join};
use super::race::AccessKind;

pub use location::{Key, Location};

mod exec;

pub mod explore;
pub mod hold;
pub mod location;
mod relay;
mod update;

/// A thread and a stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct At {
    /// The thread.
    pub who: Tid,
    /// The stamp.
    pub at: Tick,
}

/// What a release publishes: to whom.
#[derive(Clone, Debug, Hash)]
pub struct Head {
    /// The thread that releases.
    pub from: Tid,
    /// The scope in which it does.
    pub scope: Scope,
    /// What was known.
    pub known: Known,
}

/// Two accesses of strong kinds whose order is open.
#[derive(Clone, Debug, Hash)]
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
#[derive(Clone, Debug, Default)]
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

recorded!(Strong { on, locations, troubles, narrow, fences, observed, coarse, contended, conditional, doubtful, held } 
    tables { fenced, seen, sequential }
    beside { awaits: "said of the text" });

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
    pub kind: AccessKind,
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
        let AccessKind::Atomic { op, .. } = self.kind else {
            return false;
        };
        self.operand == Some(0) && matches!(op, AtomOp::Add | AtomOp::Or | AtomOp::Xor)
    }
}
