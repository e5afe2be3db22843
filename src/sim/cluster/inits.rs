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

use crate::kernel::{AsyncOp, ClusterOp, Kernel, Pc};

use super::super::Tid;
use super::super::clock::{Actor, Clocks, EventId};
use super::super::machine::{Machine, Stop};
use super::super::place::Target;
use super::super::race::{Kind, SameWrite};

/// An initialisation.
#[derive(Clone, Copy, Debug)]
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

impl Machine<'_> {
    /// Lanes make objects at these places.
    pub(crate) fn order_inits(
        &mut self,
        (w, exec, pc): (usize, u32, Pc),
        targets: &[Target],
    ) -> Result<Vec<(usize, SameWrite)>, Stop> {
        if !self.inits.on {
            return self.order_accesses(w, pc, targets, (8, 1), Kind::Write, false);
        }
        let agents = self.order.clocks.fork(w as u32);
        self.order.agent = Some(agents);
        let found = self.order_accesses(w, pc, targets, (8, 1), Kind::Write, false);
        self.order.agent = None;
        self.order.clocks.join(agents, exec);
        let open = targets.iter().map(|t| Init {
            w,
            lane: t.lane,
            agents,
            at: t.off as u64,
        });
        self.inits.open.extend(open);
        found
    }

    /// Lanes execute `fence.mbarrier_init`.
    pub(crate) fn publish_inits(&mut self, w: usize, exec: u32) {
        if !self.inits.on {
            return;
        }
        let event = self.order.clocks.new_event();
        let (mine, rest): (Vec<Init>, Vec<Init>) = std::mem::take(&mut self.inits.open)
            .into_iter()
            .partition(|i| i.w == w && exec >> i.lane & 1 == 1);
        self.inits.open = rest;
        for i in mine {
            let clocks = &mut self.order.clocks;
            clocks.join_event(i.agents, 1 << i.lane, event);
            self.inits.events.insert(i.at, event);
        }
        let fenced = self.inits.fenced.entry(w).or_default();
        fenced.push((exec, event));
    }
}
