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
//! Fences carry an order over a relaxed synchronisation too, for operations on tensor memory and nothing else: what a
//! thread has waited for without acquiring it is *heard* by its next fence after that wait.
//!
//! Sound: operations that happen before each other stay so, and a missing fence is a warning. What is heard is asked for
//! by operations on tensor memory alone, and only events and fences that the wait itself told of are.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Tid;
use super::clock::{Actor, Clocks, EventId, Snapshot, Tick};
use super::machine::Machine;
use super::warp::lanes;

/// `tcgen05.fence::before_thread_sync` of a thread.
#[derive(Clone, Copy, Debug)]
struct Before {
    number: u64,
    at: Tick,
}

/// `tcgen05.fence::after_thread_sync` of a thread.
#[derive(Clone, Debug)]
struct After {
    at: Tick,
    floor: Tick,
    snap: Arc<Snapshot>,
}

/// What a relaxed wait tells of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Told {
    /// The end of operations.
    Event(EventId),
    /// A fence before a relaxed arrival.
    Fence(Tid, Tick),
}

/// Something heard by a thread at a fence.
#[derive(Clone, Copy, Debug)]
struct Heard {
    by: Tid,
    at: Tick,
    what: Told,
}

/// The fences of all threads.
#[derive(Clone, Debug, Default)]
pub(super) struct TensorFences {
    /// All of a thread, in order, as long as its warp did anything between them.
    before: FxHashMap<Tid, Vec<Before>>,
    /// The last one of a thread, which knows all that those before it knew.
    after: FxHashMap<Tid, After>,
    /// What relaxed waits told each thread since its last fence.
    told: FxHashMap<Tid, Vec<Told>>,
    heard: Vec<Heard>,
}

impl TensorFences {
    /// The first fence of a thread after an operation of this number.
    fn first(&self, a: Tid, number: u64) -> Option<Tick> {
        let all = self.before.get(&a)?;
        let i = all.partition_point(|f| f.number <= number);
        all.get(i).map(|f| f.at)
    }

    /// True if a thread has heard of what `is` says.
    fn heard(&self, clocks: &Clocks, b: Tid, is: impl Fn(&Told) -> bool) -> bool {
        let told =
            |h: &&Heard| is(&h.what) && (h.by == b || clocks.ordered(Actor(h.by.0), h.at, b));
        self.heard.iter().any(|h| told(&h))
    }

    /// Whether what this actor did happened before the last fence of a thread after a synchronisation.
    fn knew(&self, clocks: &Clocks, b: Tid, who: Actor, at: Tick) -> bool {
        let Some(a) = self.after.get(&b) else {
            return false;
        };
        let snaps = std::slice::from_ref(&a.snap);
        if clocks.is_agent(who) {
            return clocks.joins(who).any(|(t, k)| match t == b {
                true => k < a.at,
                false => k < a.floor || clocks.known_in(snaps, t, k),
            }) || self.heard_end(clocks, b, who);
        }
        who.0 == b.0 || at < a.floor || clocks.known_in(snaps, Tid(who.0), at)
    }

    /// Whether a thread has heard that an agent is over.
    pub(super) fn heard_end(&self, clocks: &Clocks, b: Tid, who: Actor) -> bool {
        self.heard(clocks, b, |told| match *told {
            Told::Event(e) => clocks.ends_with(who, e),
            Told::Fence(a, at) => clocks.joins(who).any(|(t, k)| t == a && k < at),
        })
    }

    /// Whether the first fence of a thread after an operation comes before what another thread does now.
    pub(super) fn published(&self, clocks: &Clocks, a: Tid, number: u64, b: Tid) -> bool {
        let Some(at) = self.first(a, number) else {
            return false;
        };
        clocks.ordered(Actor(a.0), at, b) || self.heard_fence(clocks, b, a, at)
    }

    fn heard_fence(&self, clocks: &Clocks, b: Tid, a: Tid, at: Tick) -> bool {
        self.heard(clocks, b, |told| match *told {
            Told::Fence(t, k) => t == a && at <= k,
            Told::Event(_) => false,
        })
    }

    /// Whether the last fence of a thread knew of an operation, or of the fence after it that published it.
    pub(super) fn received(&self, clocks: &Clocks, b: Tid, (who, at): (Actor, Tick)) -> bool {
        self.knew(clocks, b, who, at)
    }

    /// A thread has waited for a phase without acquiring it: its next `tcgen05.fence::after_thread_sync` hears of the
    /// phase's end, and of the fences before the relaxed arrivals at it.
    pub(super) fn relaxed_wait(&mut self, t: Tid, told: &[Told]) {
        self.told.entry(t).or_default().extend_from_slice(told);
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
        if self.knew(clocks, b, Actor(a.0), at) && a != b || self.heard_fence(clocks, b, a, at) {
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

impl Machine<'_> {
    /// `tcgen05.fence`.
    pub(super) fn tensor_fence(&mut self, w: usize, mask: u32, after: bool) {
        let number = self.tensor.count();
        let clocks = &mut self.order.clocks;
        let at = clocks.mark();
        for lane in lanes(mask) {
            let t = Tid(self.warps[w].first + lane as u32);
            let fences = &mut self.tensor.fences;
            if !after {
                let all = fences.before.entry(t).or_default();
                // With nothing between, the earlier fence says more.
                if all.last().is_none_or(|f| f.number <= number) {
                    let number = number + 1;
                    all.push(Before { number, at });
                }
                continue;
            }
            for what in fences.told.remove(&t).unwrap_or_default() {
                fences.heard.push(Heard { by: t, at, what });
            }
            let (floor, snap) = (clocks.floor(), Arc::new(clocks.snapshot(t)));
            fences.after.insert(t, After { at, floor, snap });
        }
    }

    /// The last `tcgen05.fence::before_thread_sync` of a lane that arrives without releasing.
    pub(super) fn tensor_relaxed_arrival(&self, w: usize, lane: usize) -> Option<Told> {
        let t = Tid(self.warps[w].first + lane as u32);
        let last = self.tensor.fences.before.get(&t)?.last()?;
        Some(Told::Fence(t, last.at))
    }
}
