//! Objects that `fence.mbarrier_init` publishes.
//!
//! The problem: `mbarrier.init; fence.mbarrier_init.release.cluster; barrier.cluster.arrive.relaxed;` and a
//! `barrier.cluster.wait` make the object known to the cluster, though the barrier releases nothing else: the fence
//! makes a release pattern of the arrival, for the initialisation alone.
//!
//! Source: PTX ISA 9.0, section 9.7.13.4 (`fence.mbarrier_init`), whose example is this pattern.
//!
//! How: where a kernel arrives at a barrier of the cluster with `.relaxed`, an initialisation is an agent that its thread
//! observes at once, so that it is ordered like any access of that thread; a fence of the thread lets it end with an
//! event too, which those observe that wait for a phase in which the thread arrived after the fence.
//!
//! Sound: the event says nothing of other accesses of the thread, and the fence is one of the thread that made
//! the object.

use rustc_hash::FxHashMap;

use crate::kernel::{AsyncOp, ClusterOp, Kernel};
use crate::sim::state::recorded;

use super::super::Tid;
use super::super::clock::{Actor, Clocks, EventId};

mod exec;

/// An initialisation.
#[derive(Clone, Copy, Debug, Hash)]
struct Init {
    w: usize,
    lane: usize,
    agents: Actor,
    at: u64,
}

/// The initialisations of a kernel that arrives with `.relaxed`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inits {
    on: bool,
    /// Those of which no fence came yet.
    open: Vec<Init>,
    /// What the fences of lanes of a warp published.
    fenced: FxHashMap<usize, Vec<(u32, EventId)>>,
    /// The event with which an object was published.
    events: FxHashMap<u64, EventId>,
}

recorded!(Inits { on, open } tables { fenced, events });

impl Inits {
    /// None yet.
    pub(crate) fn new(kernel: &Kernel) -> Inits {
        let relaxed = |op: &AsyncOp| match op {
            AsyncOp::Cluster(op) => matches!(**op, ClusterOp::Arrive { release: false, .. }),
            _ => false,
        };
        Inits {
            on: kernel.any_async(relaxed),
            ..Inits::default()
        }
    }

    /// What lanes of a warp published that arrive now.
    pub(crate) fn published(&mut self, w: usize, mask: u32) -> Vec<EventId> {
        let all = self.fenced.get(&w).into_iter().flatten();
        all.filter(|f| f.0 & mask != 0).map(|f| f.1).collect()
    }

    /// Does a thread know that an object was made, by an event?
    pub(crate) fn known(&self, clocks: &Clocks, reader: Tid, at: u64) -> bool {
        let event = self.events.get(&at);
        event.is_some_and(|e| clocks.event_known(*e, reader))
    }
}
