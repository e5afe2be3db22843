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
use crate::sim::state::recorded;
use crate::term::TermId;

use super::clock::{Actor, Carried, EventId, Snapshot, Tick};
use super::race::AccessKind;
use heads::{Head, Published};
use hints::Less;
use party::{Issued, Party};

mod exec;

mod end;
pub(super) mod heads;
pub(super) mod hints;
mod learned;
mod party;
mod spectator;
mod wait;

const WORD: NumTy = NumTy::Int(IntTy {
    width: 64,
    signed: false,
});

/// Operations on an object never race with each other, and do with plain accesses of it.
pub(super) const TOUCH: AccessKind = AccessKind::Atomic {
    op: AtomOp::Add,
    ty: WORD,
    used: false,
    operand: None,
};

/// One phase.
#[derive(Clone, Debug, Hash)]
struct Phase {
    arrivals: Vec<Party>,
    released: Vec<Head>,
    /// What those knew whose arrivals come later than they were issued, or may release nothing to a waiter.
    known: Vec<Arc<Snapshot>>,
    /// What the issuers of products knew that are over when it ends, each with the number of its CTA.
    carried: Vec<(u32, Arc<Carried>)>,
    /// Operations that delay the end of the phase without being arrivals of their own.
    delays: Vec<Party>,
    waits: Vec<Party>,
    event: EventId,
    /// Copies count bytes of it, so that it can end long after its last arrival.
    counts: bool,
    /// What it published, from its end on.
    published: Option<Arc<Published>>,
}

/// An object.
#[derive(Clone, Debug, Hash)]
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

impl Object {
    /// True if nothing has counted in it yet.
    fn is_new(&self) -> bool {
        self.number == 0
            && self.pending == self.expected
            && self.bytes == 0
            && self.waiters.is_empty()
    }
}

#[derive(Clone, Copy, Debug, Hash)]
struct Waiter {
    w: usize,
    lane: usize,
    phase: u64,
}

/// All objects of a CTA.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    at: FxHashMap<u64, Object>,
    /// Where objects were that were invalidated.
    ended: rustc_hash::FxHashSet<u64>,
    /// States that arrivals returned: the object, its serial content, the phase.
    states: FxHashMap<TermId, (u64, TermId, u64)>,
    polls: FxHashMap<Pc, crate::kernel::poll::Poll>,
    /// Phases that ended with operations that order only themselves, and what their issuers knew.
    learned: Vec<(EventId, Vec<Arc<Snapshot>>)>,
    met: learned::Meetings,
    overtaken: Vec<spectator::Overtaken>,
    /// The operation that lanes execute now.
    issued: Option<Issued>,
}

recorded!(Objects { learned, met, overtaken, issued } 
    tables { at, ended }
    beside { states: "of terms", polls: "said of the text" });

impl Objects {
    /// True if the CTA has objects.
    #[inline]
    pub(super) fn any(&self) -> bool {
        !self.at.is_empty()
    }
}
