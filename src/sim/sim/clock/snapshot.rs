//! What a release carries: the clock of a thread or warp at one moment.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{Lanes, RankShape, Tick};

/// The clock of a thread, or of all live lanes of a warp, when it released.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When it was taken.
    pub(super) tick: u32,
    /// The floor at that time.
    pub(super) floor: u32,
    /// The warp that released.
    pub(super) warp: u32,
    /// What was known of each warp as a whole.
    pub(super) base: Lanes,
    /// What was known of the lanes of the own warp.
    pub(super) own: [u32; 32],
    /// What was known of single threads.
    pub(super) full: Option<Arc<[u32]>>,
    /// What was known of threads that had exited, where not all threads know the same.
    pub(super) columns: Vec<(u32, u32)>,
    /// Exits that were waited for, where not all threads know the same.
    pub(super) exits: Option<Arc<Lanes>>,
    /// The same in each layer of the clocks.
    pub(super) layers: Vec<Arc<Snapshot>>,
}

impl Hash for Snapshot {
    fn hash<H: Hasher>(&self, h: &mut H) {
        let Snapshot {
            tick,
            floor,
            warp,
            base,
            own,
            full,
            columns,
            exits,
            layers,
        } = self;
        let ticks = |all: &[u32], h: &mut H| all.iter().for_each(|t| Tick(*t).hash(h));
        ticks(&[*tick, *floor], h);
        warp.hash(h);
        ticks(base, h);
        ticks(own, h);
        full.is_some().hash(h);
        full.iter().for_each(|full| ticks(full, h));
        let columns = columns.iter().map(|(t, at)| (*t, Tick(*at)));
        columns.for_each(|column| column.hash(h));
        exits.hash(h);
        layers.hash(h);
    }
}

impl Snapshot {
    /// Up to which stamp a thread was known that was live then, floor apart.
    pub(super) fn of(&self, u: u32, shape: RankShape) -> u32 {
        let s = u >> shape.shift;
        let mut k = self.base[s as usize];
        if s == self.warp {
            k = k.max(self.own[(u & (shape.width() - 1)) as usize]);
        }
        match &self.full {
            Some(f) => k.max(f[u as usize]),
            None => k,
        }
    }

    /// Up to which stamp a thread was known that had exited then.
    pub(super) fn column(&self, u: u32) -> u32 {
        let found = self.columns.binary_search_by_key(&u, |c| c.0);
        found.map_or(0, |i| self.columns[i].1)
    }
}
