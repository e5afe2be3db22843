//! Tensor maps that a kernel writes itself, and the fences of their proxy.
//!
//! The problem: a copy of a box reads its map through a proxy of its own, whatever wrote the map: `tensormap.replace`,
//! stores, vectors of them. It sees the map only if a `fence.proxy.tensormap::generic.release` after the writes, or the
//! `tensormap.cp_fenceproxy` that makes them, happens before a `::generic.acquire` of these 128 bytes, and that before the
//! copy (PTX ISA 9.3, section 9.7.14.4).
//!
//! Sound: as for the async proxy, a pair that is found lies on the way, and where none is found there is none. Parameters
//! and constant memory are not written by a kernel.

use super::super::Tid;
use super::super::clock::{Actor, Clocks, Tick};
use super::super::region::RegionId;
use super::super::warp::LANES;
use super::{PAGE, Proxies, Through, Written};
use crate::sim::tensor_map::MAP_BYTES;

/// What is missing between the writes of a map and its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum MapStep {
    /// No fence releases the writes.
    Release,
    /// No fence acquires the map.
    Acquire,
    /// Neither is there.
    Both,
    /// Both are there, and the release does not happen before the acquire.
    Order,
    /// The async proxy wrote the map.
    Bulk,
}

impl Proxies {
    /// Lanes release the tensor maps that they know.
    pub(in crate::sim) fn release_maps(&mut self, clocks: &Clocks, w: usize, mask: u32) {
        if self.on {
            self.number += 1;
            self.map_releases.add(self.number, clocks, w, mask);
        }
    }

    /// Lanes acquire the tensor map at a place.
    pub(in crate::sim) fn acquire_map(
        &mut self,
        clocks: &Clocks,
        (w, mask): (usize, u32),
        place: (RegionId, u64),
    ) {
        if self.on {
            self.number += 1;
            let fences = self.map_acquires.entry(place).or_default();
            fences.add(self.number, clocks, w, mask);
        }
    }

    /// A write of the map at a place that the proxy of tensor maps may not see when a thread uses it, and what is missing.
    pub(in crate::sim) fn unseen_map(
        &self,
        clocks: &Clocks,
        reader: Tid,
        (region, from): (RegionId, u64),
    ) -> Option<(Written, MapStep)> {
        let mut last = None;
        for at in from / 4..(from + MAP_BYTES).div_ceil(4) {
            let page = self.pages.get(&(region, at / PAGE));
            let Some(word) = page.map(|p| &p[(at % PAGE) as usize]) else {
                continue;
            };
            if word.by == Through::Bulk {
                return Some((*word, MapStep::Bulk));
            }
            let write = (word.number, word.who);
            if word.number == 0 || last == Some(write) {
                continue;
            }
            last = Some(write);
            // What is not even ordered is a race that the shadow finds, and says more.
            if !clocks.ordered(word.actor(), Tick(word.tick), reader) {
                continue;
            }
            if let Some(step) = self.missing_of_map(clocks, reader, (region, from), word) {
                return Some((*word, step));
            }
        }
        None
    }

    /// Whether a thread, or one that it follows, has acquired the map at a place.
    pub(in crate::sim) fn acquired_map(
        &self,
        clocks: &Clocks,
        reader: Tid,
        place: (RegionId, u64),
    ) -> bool {
        let all = self.map_acquires.get(&place);
        let mut all = all.into_iter().flat_map(|fences| &fences.by);
        all.any(|(who, all)| {
            let known = |f: &super::Fenced| clocks.ordered(Actor(*who), f.tick, reader);
            *who == reader.0 || all.iter().any(known)
        })
    }

    fn missing_of_map(
        &self,
        clocks: &Clocks,
        reader: Tid,
        place: (RegionId, u64),
        word: &Written,
    ) -> Option<MapStep> {
        // The acquires before the use, with when and by whom.
        let all = self.map_acquires.get(&place);
        let all = all.into_iter().flat_map(|fences| &fences.by);
        let all = all.flat_map(|(who, all)| all.iter().map(move |f| (*who, f)));
        let before = |&(who, f): &(u32, &super::Fenced)| {
            let late = f.number > word.number;
            late && (who == reader.0 || clocks.ordered(Actor(who), f.tick, reader))
        };
        let acquires: Vec<_> = all.filter(before).collect();
        let warp = |who: u32| who / LANES as u32;
        let mut released = word.published;
        // The lanes of a warp execute tensormap.cp_fenceproxy together.
        let of_own = |&(who, a): &(u32, &super::Fenced)| {
            warp(who) == warp(word.who)
                || word.tick < a.floor.0
                || clocks.covers(&a.snap, word.who, word.tick)
        };
        if word.published && acquires.iter().any(of_own) {
            return None;
        }
        for (by, release) in self.map_releases.after(clocks, word) {
            released = true;
            let after = |&(who, a): &(u32, &super::Fenced)| match who == by {
                true => a.number > release.number,
                false => release.tick < a.floor || clocks.covers(&a.snap, by, release.tick.0),
            };
            if acquires.iter().any(after) {
                return None;
            }
        }
        Some(match (released, acquires.is_empty()) {
            (false, true) => MapStep::Both,
            (false, false) => MapStep::Release,
            (true, true) => MapStep::Acquire,
            (true, false) => MapStep::Order,
        })
    }
}
