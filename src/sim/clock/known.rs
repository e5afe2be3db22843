//! Clocks as vectors of one word for each thread, as one CTA hands them to another.
//!
//! A CTA counts its own stamps, so what its threads did is told to others as a vector: below which
//! stamp each of its threads is known. Within the CTA such a vector is acquired like any release.

use std::sync::Arc;

use super::{Clocks, MAX_WARPS, Snapshot};
use crate::sim::Tid;

/// Below which stamp each thread of a CTA is known.
pub type Known = Arc<[u32]>;

impl Clocks {
    /// A thread releases; what it knows then of each thread of the CTA.
    pub fn release(&mut self, t: Tid) -> Known {
        let snap = self.publish(t);
        let of = |u: u32| match self.exits.exited_by(u, snap.tick) {
            true => {
                let all = self.exits.column(u);
                all.map_or(0, |c| c.uniform_at(snap.tick))
                    .max(snap.column(u))
            }
            false => snap.floor.max(snap.of(u, self.shape)),
        };
        (0..self.shape.threads).map(of).collect()
    }

    /// A thread acquires what was released in this CTA.
    pub fn acquire_known(&mut self, t: Tid, known: &Known) {
        // At tick 0 no thread had exited, so that the vector speaks for those that have since.
        let snap = Snapshot {
            tick: 0,
            floor: 0,
            warp: self.shape.warp(t),
            base: [0; MAX_WARPS],
            own: [0; 32],
            full: Some(known.clone()),
            columns: Vec::new(),
            exits: None,
        };
        self.acquire(t, &snap);
    }
}
