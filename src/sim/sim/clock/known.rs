//! Clocks as vectors of one word for each thread.
//!
//! What several threads release by one word is the maximum of what each of them knows. Such a vector is acquired like
//! any release.

use std::sync::Arc;

use super::{Clocks, Snapshot};
use crate::sim::Tid;

/// Below which stamp each thread is known.
pub type Known = Arc<[u32]>;

impl Clocks {
    /// A thread releases; what it knows then of each thread.
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

    /// A thread acquires what was released.
    pub fn acquire_known(&mut self, t: Tid, known: &Known) {
        // At tick 0 no thread had exited, so that the vector speaks for those that have since.
        let snap = Snapshot {
            tick: 0,
            floor: 0,
            warp: self.shape.warp(t),
            base: self.shape.none(),
            own: [0; 32],
            full: Some(known.clone()),
            columns: Vec::new(),
            exits: None,
            layers: Vec::new(),
        };
        self.acquire(t, &snap);
    }
}

/// What is known by one or the other.
pub fn join(a: &Known, b: &Known) -> Known {
    match Arc::ptr_eq(a, b) {
        true => a.clone(),
        false => a.iter().zip(b.iter()).map(|(x, y)| *x.max(y)).collect(),
    }
}
