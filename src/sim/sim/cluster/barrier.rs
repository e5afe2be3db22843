//! The barrier of a cluster.
//!
//! A thread arrives once in each phase, and waits for the end of the phase in which it arrived: that comes when all
//! threads of the cluster that have not exited have arrived. What an arrival with `.release` published, those acquire
//! that wait; `.relaxed` orders execution alone. `.aligned` takes all lanes of a warp that have not exited.
//!
//! Source: PTX ISA 9.0, section 9.7.13.3 (`barrier.cluster`). A second arrival without a wait between is undefined there,
//! as is a wait without an arrival: both are `barrier-misuse`. An arrival with no wait before the thread
//! exits is nothing that the manual forbids.
//!
//! Sound: a waiter acquires only from arrivals of the phase that it waits for, each of which was published before the
//! phase ended.

use std::sync::Arc;

use crate::kernel::Pc;

use super::super::clock::{EventId, Snapshot};
use super::super::mbarrier::heads::Head;

mod exec;

/// Lanes of a warp in the barrier.
#[derive(Clone, Copy, Debug, Default, Hash)]
struct Of {
    /// Those that have arrived in the phase.
    arrived: u32,
    /// Those that wait for its end.
    waiting: u32,
    /// Those that arrived in a phase that is over, and have not waited for it yet.
    free: u32,
}

/// The barrier of one cluster.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct ClusterBarrier {
    of: Vec<Of>,
    /// What arrivals of this phase released, and of the one before.
    released: Vec<Arc<Snapshot>>,
    before: Vec<Arc<Snapshot>>,
    /// What fences before relaxed arrivals of this phase released, and of the one before.
    fenced: Vec<Head>,
    fenced_before: Vec<Head>,
    /// Objects that are published with this phase, and with the one before.
    inits: Vec<EventId>,
    made: Vec<EventId>,
    /// How many phases are over.
    pub(super) over: u64,
    /// Where each warp arrived last.
    at: Vec<Option<Pc>>,
}

impl ClusterBarrier {
    /// One of a cluster of so many warps.
    pub(crate) fn new(warps: usize) -> ClusterBarrier {
        ClusterBarrier {
            of: vec![Of::default(); warps],
            at: vec![None; warps],
            ..ClusterBarrier::default()
        }
    }
}
