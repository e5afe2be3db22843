//! Synchronisations in which a thread takes part itself.
//!
//! The problem: a thread that did something is followed by another one because it arrived at a barrier, or because it met
//! its own warp and a lane of that arrived. For happens-before both are one. A generic read before an asynchronous write of
//! the same bytes is handed over by the first, while order inside a warp alone was seen to fail on machines.
//!
//! How: of each thread the ticks are kept at which it released, or met others than its warp, and the last one at which it
//! acquired. Ticks are those of [`Clocks`](super::Clocks), so that a release after an access is the first one above its
//! stamp. Nothing is kept where nobody asks.

use std::hash::{Hash, Hasher};

use super::{Actor, Clocks, Tick};
use crate::sim::Tid;

/// When threads released and acquired.
#[derive(Clone, Debug, Default)]
pub(super) struct Apart {
    /// Of all threads, of each warp, of each thread: when they released.
    all: Vec<u32>,
    warps: Vec<Vec<u32>>,
    threads: Vec<Vec<u32>>,
    /// When each thread last acquired, and when all did.
    taken: Vec<u32>,
    all_taken: u32,
}

impl Hash for Apart {
    fn hash<H: Hasher>(&self, h: &mut H) {
        let Apart {
            all,
            warps,
            threads,
            taken,
            all_taken,
        } = self;
        let lists = warps.iter().chain(threads);
        for list in lists.chain([all, taken, &vec![*all_taken]]) {
            list.len().hash(h);
            list.iter().for_each(|t| Tick(*t).hash(h));
        }
    }
}

impl Apart {
    fn on(&self) -> bool {
        !self.threads.is_empty()
    }

    /// A thread releases.
    pub(super) fn thread(&mut self, t: u32, now: u32) {
        if self.on() {
            self.threads[t as usize].push(now);
        }
    }

    /// A warp releases.
    pub(super) fn warp(&mut self, w: u32, now: u32) {
        if self.on() {
            self.warps[w as usize].push(now);
        }
    }

    /// All live threads release and acquire.
    pub(super) fn everyone(&mut self, now: u32) {
        if self.on() {
            self.all.push(now);
            self.all_taken = now;
        }
    }

    /// A thread acquires.
    pub(super) fn takes(&mut self, t: u32, now: u32) {
        if self.on() {
            self.taken[t as usize] = now;
        }
    }
}

impl Clocks {
    /// From now on [`Clocks::handed_over`] is asked.
    pub fn keep_apart(&mut self) {
        self.apart.warps = vec![Vec::new(); self.shape.warps() as usize];
        self.apart.threads = vec![Vec::new(); self.shape.threads as usize];
        self.apart.taken = vec![0; self.shape.threads as usize];
    }

    /// Whether a thread released by itself after an access, and `later` follows that release; one of its own warp, or the
    /// thread itself, only if it acquired from others since.
    pub fn handed_over(&self, who: Tid, at: Tick, later: Tid) -> bool {
        let first = |all: &[u32]| all.get(all.partition_point(|&k| k <= at.0)).copied();
        let warp = self.shape.warp(who);
        let released = [
            first(&self.apart.all),
            self.apart.warps.get(warp as usize).and_then(|w| first(w)),
            self.apart
                .threads
                .get(who.0 as usize)
                .and_then(|t| first(t)),
        ];
        let Some(released) = released.into_iter().flatten().min() else {
            return false;
        };
        let taken = self.apart.taken.get(later.0 as usize).copied();
        let taken = taken.unwrap_or(0).max(self.apart.all_taken);
        let own = warp == self.shape.warp(later);
        (!own || taken >= released) && self.ordered(Actor(who.0), Tick(released - 1), later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::clock::RankShape;

    #[test]
    fn a_lane_that_arrives_for_its_warp_hands_over_what_it_did_itself() {
        let mut c = Clocks::new(RankShape::new(64).expect("a CTA"));
        c.keep_apart();
        let [elected, lane, producer] = [Tid(0), Tid(1), Tid(32)];
        let read = c.stamp(0);
        c.warp_sync(0, u32::MAX);
        let released = c.publish(elected);
        c.acquire(producer, &released);
        assert!(c.ordered(lane.into(), read, producer));
        assert!(c.handed_over(elected, read, producer));
        assert!(!c.handed_over(lane, read, producer));
        // In its own warp, only what comes back from others counts.
        assert!(c.ordered(lane.into(), read, elected) && !c.handed_over(elected, read, elected));
    }

    #[test]
    fn a_barrier_hands_over_what_all_did() {
        let mut c = Clocks::new(RankShape::new(32).expect("a CTA"));
        c.keep_apart();
        let read = c.stamp(0);
        c.warp_sync(0, u32::MAX);
        assert!(c.ordered(Actor(1), read, Tid(0)) && !c.handed_over(Tid(1), read, Tid(0)));
        let none = c.shape().none();
        c.rendezvous(&[0], &[], &none);
        assert!(c.handed_over(Tid(1), read, Tid(0)) && c.handed_over(Tid(0), read, Tid(0)));
    }
}
