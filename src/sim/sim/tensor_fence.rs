//! `tcgen05.fence`: what a thread had done at the fence before a synchronisation, and what it knew at the one after it.
//!
//! Problem: of two operations on tensor memory that a synchronisation of threads orders, say whether the fences stand where
//! they belong: one after the first operation and before the synchronisation, one after the synchronisation and before the
//! second operation (PTX ISA 9.0, sections 9.7.16.6.3 and 9.7.16.6.4). Their numbers do not say so: a fence may stand
//! before the wait, or behind the arrival.
//!
//! How: a fence draws a tick of its own, which publishes nothing, so that what its thread releases afterwards tells of
//! the fence and what it released before does not. A fence after a synchronisation remembers what its thread knew.
//!
//! Fences carry an order over a relaxed synchronisation too, for operations on tensor memory and nothing else: that is a
//! layer of the clocks ([`Layer::TensorMemory`]), in which all questions here are asked.
//!
//! Sound: operations that happen before each other stay so, and a missing fence is a warning.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Tid;
use super::clock::{Actor, Clocks, Snapshot, Tick};
use crate::sim::state::recorded;

mod exec;

/// `tcgen05.fence::before_thread_sync` of a thread.
#[derive(Clone, Copy, Debug, Hash)]
struct Before {
    number: u64,
    at: Tick,
}

/// `tcgen05.fence::after_thread_sync` of a thread.
#[derive(Clone, Debug, Hash)]
struct After {
    at: Tick,
    snap: Arc<Snapshot>,
}

/// The fences of all threads.
#[derive(Clone, Debug, Default)]
pub(super) struct TensorFences {
    /// All of a thread, in order, as long as its warp did anything between them.
    before: FxHashMap<Tid, Vec<Before>>,
    /// The last one of a thread, which knows all that those before it knew.
    after: FxHashMap<Tid, After>,
}

recorded!(TensorFences {  } tables { before, after });

impl TensorFences {
    /// The first fence of a thread after an operation of this number.
    fn first(&self, a: Tid, number: u64) -> Option<Tick> {
        let all = self.before.get(&a)?;
        let i = all.partition_point(|f| f.number <= number);
        all.get(i).map(|f| f.at)
    }

    /// Whether what this actor did happened before the last fence of a thread after a synchronisation.
    pub(super) fn knew(&self, clocks: &Clocks, b: Tid, who: Actor, at: Tick) -> bool {
        let Some(a) = self.after.get(&b) else {
            return false;
        };
        let snaps = std::slice::from_ref(&a.snap);
        if clocks.is_agent(who) {
            return clocks.joins(who).any(|(t, k)| match t == b {
                true => k < a.at,
                false => clocks.known_in(snaps, t, k),
            });
        }
        who.0 == b.0 || clocks.known_in(snaps, Tid(who.0), at)
    }

    /// Whether the first fence of a thread after an operation comes before what another thread does now.
    pub(super) fn published(&self, clocks: &Clocks, a: Tid, number: u64, b: Tid) -> bool {
        self.first(a, number)
            .is_some_and(|at| clocks.ordered(Actor(a.0), at, b))
    }

    /// What is missing for an operation of thread `a` to be executed before one of thread `b`, both in one pipeline.
    pub(super) fn pipeline_lacks(
        &self,
        clocks: &Clocks,
        (a, number): (Tid, u64),
        b: Tid,
    ) -> Option<&'static str> {
        let Some(at) = self.first(a, number) else {
            return Some("tcgen05.fence::before_thread_sync is missing after the first");
        };
        if self.knew(clocks, b, Actor(a.0), at) && a != b {
            return None;
        }
        Some(match clocks.ordered(Actor(a.0), at, b) {
            true => "tcgen05.fence::after_thread_sync is missing before the second",
            false => {
                "a synchronisation after tcgen05.fence::before_thread_sync of the first thread and before \
                 tcgen05.fence::after_thread_sync of the second is missing between them"
            }
        })
    }
}
