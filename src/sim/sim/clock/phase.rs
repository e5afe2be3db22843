//! Joins of many: what all arrivals of a phase released, and the events that end agents.
//!
//! A phase of an mbarrier publishes what each of its arrivals published. Most of these are plain
//! vectors, so their maximum is made once and acquired by every waiter.

use std::sync::Arc;

use super::{Actor, Clocks, EventId, Heard, Snapshot, Tick, lanes, layer};
use crate::sim::Tid;

impl Clocks {
    /// One snapshot that says what all of them say, if none of them speaks of exited threads.
    pub fn merged(&self, snaps: &[Arc<Snapshot>]) -> Option<Arc<Snapshot>> {
        let first = snaps.first()?;
        let plain = |s: &Arc<Snapshot>| s.columns.is_empty() && s.exits.is_none();
        if self.exits.any() || !snaps.iter().all(plain) {
            return None;
        }
        let layers = self.layers.iter().enumerate();
        let layers = layers.map(|(i, (_, c))| c.merged(&layer::in_layer(snaps, i)));
        let layers = layers.collect::<Option<Vec<_>>>()?;
        let full: Vec<u32> = (0..self.shape.threads)
            .map(|u| snaps.iter().map(|s| s.of(u, self.shape)).max().unwrap_or(0))
            .collect();
        Some(Arc::new(Snapshot {
            tick: first.tick,
            floor: first.floor,
            warp: first.warp,
            base: self.shape.none(),
            own: [0; 32],
            full: Some(full.into()),
            columns: Vec::new(),
            exits: None,
            layers,
        }))
    }

    /// The lanes of a warp acquire what was released.
    pub fn acquire_lanes(&mut self, warp: u32, mask: u32, snaps: &[Arc<Snapshot>]) {
        for lane in lanes(mask) {
            let t = self.shape.tid(warp, lane);
            for s in snaps {
                self.acquire(t, s);
            }
        }
    }

    /// Lanes of a warp acquire what was released together.
    pub fn acquire_warp(&mut self, warp: u32, mask: u32, snaps: &[Arc<Snapshot>]) {
        let whole = |s: &Arc<Snapshot>| {
            s.full.is_none() && s.columns.is_empty() && s.exits.is_none() && s.own == [0; 32]
        };
        let all = self.live[warp as usize] & !mask == 0;
        if !all || self.exits.any() || !snaps.iter().all(whole) {
            return self.acquire_lanes(warp, mask, snaps);
        }
        self.in_layers(|i, c| c.acquire_warp(warp, mask, &layer::in_layer(snaps, i)));
        for lane in lanes(mask) {
            self.apart.takes(self.shape.tid(warp, lane).0, self.now);
        }
        let warps = self.shape.warps() as usize;
        let own = &mut self.base[warp as usize * warps..][..warps];
        for snap in snaps {
            for (k, known) in own.iter_mut().zip(&snap.base) {
                *k = (*k).max(*known);
            }
        }
    }

    /// Has a thread acquired anything from one of these warps?
    pub fn heard_of(&self, t: Tid, mut warps: std::ops::Range<usize>) -> bool {
        let own = (self.shape.warp(t) * self.shape.warps()) as usize;
        let full = self.full[t.0 as usize].as_ref();
        let width = self.shape.width() as usize;
        self.floor > 0
            || warps.any(|w| {
                let each = full.map(|f| &f[w * width..(w + 1) * width]);
                self.base[own + w] > 0 || each.is_some_and(|f| f.iter().any(|&k| k > 0))
            })
    }

    /// Does one of the snapshots know the access?
    pub fn known_in(&self, snaps: &[Arc<Snapshot>], who: Tid, at: Tick) -> bool {
        snaps
            .iter()
            .any(|s| at.0 < s.floor.max(s.of(who.0, self.shape)))
    }

    /// Has anyone observed the end of the agent?
    pub fn observed(&self, who: Actor) -> bool {
        self.agents.joins(who).next().is_some()
    }

    /// A new event, which nobody has observed.
    pub fn new_event(&mut self) -> EventId {
        self.in_layers(|_, c| {
            c.new_event();
        });
        self.agents.new_event()
    }

    /// The agents of the mask end with the event.
    pub fn join_event(&mut self, base: Actor, mask: u32, event: EventId) {
        self.in_layers(|_, c| c.join_event(base, mask, event));
        self.agents.join_event(base, mask, event);
    }

    /// Has the thread, or one that it knows of, observed the event?
    pub fn event_known(&self, event: EventId, t: Tid) -> bool {
        self.agents
            .observers(event)
            .any(|(who, at)| who == t || self.ordered(who.into(), at, t))
    }

    /// Who observed an event, and when.
    pub fn observers(&self, event: EventId) -> impl Iterator<Item = (Tid, Tick)> + '_ {
        self.agents.observers(event)
    }

    /// Lanes of a warp observe an event.
    pub fn observe(&mut self, event: EventId, warp: u32, mask: u32) {
        self.observe_heard(event, (warp, mask), Heard::Exact, None);
    }
}
