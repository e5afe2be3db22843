//! Order by fences and strong accesses: release and acquire patterns that a run observed.
//!
//! The problem: a thread publishes data with `st data; fence; st.relaxed flag` (or an atomic, a
//! release store, a lock), another takes it with `ld.relaxed flag; fence; ld data`. Source: PTX ISA
//! 9.0, sections 8.7 to 8.9: release pattern, acquire pattern, synchronises-with, and that a
//! read-modify-write carries on what it overwrites.
//!
//! How this differs: edges are those of the one schedule that is run. Whether a flag is seen is a
//! matter of the schedule, so the strong accesses that make an edge are themselves reported
//! as [`Conflict::Strong`](super::race::Conflict) if nothing else orders them, and the answer is
//! `unknown` at best. What the edges are good for: accesses under a lock or behind a flag are not
//! called races. `volatile` accesses are plain in a kernel without fences; in one with fences
//! they are the flags.
//!
//! Soundness: an edge without a report would hide a race of another schedule. Atomics whose old
//! value is unused commute silently, so they never acquire.

use crate::sim::limits::LIMITS;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::kernel::{Access, Kernel, Op, Sem};
use crate::sim::state::recorded;

use super::Tid;
use super::clock::{Clocks, Snapshot};
use super::race::AccessKind;
use super::region::RegionId;

/// What fences and flags have published.
#[derive(Clone, Debug, Default)]
pub(super) struct Fences {
    /// False for a kernel without fences: nothing is recorded.
    pub present: bool,
    /// What each thread had done at its last fence.
    last: FxHashMap<Tid, Arc<Snapshot>>,
    /// What the strong reads of each thread saw since its last fence.
    seen: FxHashMap<Tid, Vec<Arc<Snapshot>>>,
    /// What strong writes have published at each four-byte word.
    words: FxHashMap<(RegionId, u64), Vec<Arc<Snapshot>>>,
}

recorded!(Fences { present } tables { last, seen, words });

fn orders(sem: Sem) -> bool {
    matches!(sem, Sem::Acquire | Sem::Release | Sem::AcqRel | Sem::Sc)
}

impl Fences {
    /// Nothing published yet.
    pub(super) fn new(kernel: &Kernel) -> Fences {
        let fences = |op: &Op| match op {
            Op::Fence { .. } => true,
            Op::Ld { access, .. } | Op::St { access, .. } | Op::Atom { access, .. } => {
                orders(access.sem)
            }
            _ => false,
        };
        Fences {
            present: kernel.insts.iter().any(|i| fences(&i.op)),
            ..Fences::default()
        }
    }

    /// What a load or store is to the race rule.
    pub(super) fn kind(&self, access: &Access, write: bool) -> AccessKind {
        let strong = access.sem != Sem::Weak || self.present && access.volatile;
        match (strong, write) {
            (false, false) => AccessKind::Read,
            (false, true) => AccessKind::Write,
            (true, false) => AccessKind::StrongRead,
            (true, true) => AccessKind::StrongWrite,
        }
    }

    /// A thread executes a fence.
    pub(super) fn fence(&mut self, clocks: &mut Clocks, t: Tid) {
        self.acquire_seen(clocks, t);
        let snap = clocks.publish(t);
        self.last.insert(t, snap);
    }

    fn acquire_seen(&mut self, clocks: &mut Clocks, t: Tid) {
        for snap in self.seen.remove(&t).unwrap_or_default() {
            clocks.acquire(t, &snap);
        }
    }

    /// A strong access of the words from `off` on; `used` says that an atomic's old value is.
    pub(super) fn access(
        &mut self,
        clocks: &mut Clocks,
        t: Tid,
        (region, off, bytes): (RegionId, u64, u32),
        (kind, sem): (AccessKind, Sem),
    ) {
        if !self.present {
            return;
        }
        let reads = matches!(
            kind,
            AccessKind::StrongRead | AccessKind::Atomic { used: true, .. }
        );
        let exchanges = matches!(kind, AccessKind::Atomic { .. });
        let words = off / 4..(off + u64::from(bytes)).div_ceil(4);
        if reads {
            let list = self.seen.entry(t).or_default();
            for word in words.clone() {
                for snap in self.words.get(&(region, word)).into_iter().flatten() {
                    if list.len() < LIMITS.releases && !list.iter().any(|s| Arc::ptr_eq(s, snap)) {
                        list.push(snap.clone());
                    }
                }
            }
            if matches!(sem, Sem::Acquire | Sem::AcqRel | Sem::Sc) {
                self.acquire_seen(clocks, t);
            }
        }
        if !kind.writes() {
            return;
        }
        let released = match sem {
            Sem::Release | Sem::AcqRel | Sem::Sc => Some(clocks.publish(t)),
            _ => self.last.get(&t).cloned(),
        };
        for word in words {
            let list = self.words.entry((region, word)).or_default();
            if !exchanges {
                list.clear();
            }
            if let Some(snap) = &released
                && list.len() < LIMITS.releases
                && !list.iter().any(|s| Arc::ptr_eq(s, snap))
            {
                list.push(snap.clone());
            }
        }
    }
}
