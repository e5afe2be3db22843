//! Orders that hold under a condition, beside the exact one.
//!
//! Problem: some edges of happens-before count for some questions alone. An arrival at an mbarrier without a scope orders
//! nothing for another CTA by the manual, yet compilers rely on it for asynchronous copies; a fence that is restricted to
//! shared memory orders no access of global memory; `tcgen05.fence` orders accesses of tensor memory.
//!
//! How: each such condition is a layer, a clock of its own that sees every edge of the exact one and, beside these, its
//! own. Stamps are drawn alike in all of them, so that a stamp means one moment everywhere. A kernel without such operations
//! has no layer.
//!
//! Source: PTX ISA 9.3, sections 8.5 (scope), 8.8 (release and acquire patterns), 9.7.14.4 (`.sync_restrict`) and
//! 9.7.17.6.3 (`tcgen05.fence`).
//!
//! Sound: no edge of a layer enters the exact order, and an edge of one layer enters no other. What a layer orders and the
//! exact order does not is for the caller to judge.

use std::sync::Arc;

use super::agent::Seen;
use super::{Clocks, EventId, RankShape, Snapshot};
use crate::sim::Tid;

/// What a layer takes for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// An operation on an mbarrier without a scope reaches the whole cluster.
    DefaultScope,
    /// Accesses of tensor memory are what is asked about.
    TensorMemory,
    /// Accesses of the shared memory of a CTA are.
    SharedOf(u32),
}

/// Whether a wait hears an arrival, or the end of an asynchronous operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// Both reach each other.
    Exact,
    /// They do if no scope is the cluster.
    ByDefault,
    /// One of them is outside of the scope of the other.
    No,
}

impl Clocks {
    /// Clocks with these layers, before anything happened.
    pub fn with_layers(shape: RankShape, layers: impl IntoIterator<Item = Layer>) -> Clocks {
        let layers = layers.into_iter().map(|l| (l, Clocks::new(shape)));
        Clocks {
            layers: layers.collect(),
            ..Clocks::new(shape)
        }
    }

    /// True if there is any.
    #[inline]
    pub fn has_layers(&self) -> bool {
        !self.layers.is_empty()
    }

    /// True if there is such a layer.
    pub fn has(&self, layer: Layer) -> bool {
        self.layers.iter().any(|(l, _)| *l == layer)
    }

    /// The clocks of a layer; these, if there is no such layer.
    pub fn seen_in(&self, layer: Layer) -> &Clocks {
        let own = self.layers.iter().find(|(l, _)| *l == layer);
        own.map_or(self, |(_, c)| c)
    }

    /// What is done in the exact order is done in each layer.
    pub(super) fn in_layers(&mut self, mut f: impl FnMut(usize, &mut Clocks)) {
        for (i, (_, c)) in self.layers.iter_mut().enumerate() {
            f(i, c);
        }
    }

    /// A thread acquires what was released, as far as it hears it; in a layer alone if one is named.
    pub fn acquire_heard(&mut self, t: Tid, snap: &Snapshot, heard: Heard, only: Option<Layer>) {
        match (heard, only) {
            (Heard::Exact, None) => self.acquire(t, snap),
            (Heard::Exact, Some(layer)) => self.acquire_in(layer, t, snap),
            (Heard::ByDefault, None) => self.acquire_in(Layer::DefaultScope, t, snap),
            (Heard::ByDefault, Some(_)) | (Heard::No, _) => {}
        }
    }

    fn acquire_in(&mut self, layer: Layer, t: Tid, snap: &Snapshot) {
        let mut all = self.layers.iter_mut().enumerate();
        if let Some((i, (_, c))) = all.find(|(_, (l, _))| *l == layer) {
            c.acquire(t, snap.layer(i));
        }
    }

    /// Lanes of a warp see an event that says of the agents of the whole cluster what `far` says, and of those of their
    /// own CTA that they are over; in a layer alone if one is named.
    pub fn observe_heard(
        &mut self,
        event: EventId,
        (warp, mask): (u32, u32),
        far: Heard,
        only: Option<Layer>,
    ) {
        let at = self.now();
        let seen = |far: bool| if far { Seen::Far } else { Seen::Near };
        let exact = seen(far == Heard::Exact);
        let see = |layer: Option<Layer>, agents: &mut super::Agents| {
            let seen = match layer {
                Some(Layer::DefaultScope) => seen(far != Heard::No),
                _ => exact,
            };
            let counts = only.is_none() || layer == only;
            let seen = if counts { seen } else { Seen::Looked };
            agents.observe(event, (warp, mask), at, seen);
        };
        see(None, &mut self.agents);
        for (layer, c) in &mut self.layers {
            see(Some(*layer), &mut c.agents);
        }
    }

    /// Lanes of a warp see that an event has come, and take no order of data from it.
    pub fn look(&mut self, event: EventId, warp: u32, mask: u32) {
        let at = self.now();
        self.agents.observe(event, (warp, mask), at, Seen::Looked);
        self.in_layers(|_, c| c.agents.observe(event, (warp, mask), at, Seen::Looked));
    }
}

impl Snapshot {
    /// What was released in a layer.
    pub(super) fn layer(&self, i: usize) -> &Snapshot {
        self.layers.get(i).map_or(self, |s| s)
    }
}

/// What each of several released in a layer.
pub(super) fn in_layer(snaps: &[Arc<Snapshot>], i: usize) -> Vec<Arc<Snapshot>> {
    let of = |s: &Arc<Snapshot>| s.layers.get(i).unwrap_or(s).clone();
    snaps.iter().map(of).collect()
}
