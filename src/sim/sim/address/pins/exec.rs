//! Bits of bases, as an instruction asks for them.

use std::collections::BTreeMap;

use crate::kernel::Space;
use crate::sim::address::provenance::BaseId;
use crate::sim::machine::Spaces;
use crate::sim::region::SHARED;

use super::{Asked, Pins};

/// Bytes between variables of shared memory that are laid out again.
const GAP: u64 = 16;

impl Spaces {
    /// Lays the variables of shared memory out again, with the pinned ones at their residues.
    pub(crate) fn pin(&mut self, pins: &Pins) {
        if pins.0.is_empty() {
            return;
        }
        let mut at_place: BTreeMap<u64, Vec<BaseId>> = BTreeMap::new();
        for (i, b) in self.prov.bases.iter().enumerate() {
            if b.space == Space::Shared {
                at_place.entry(b.number).or_default().push(BaseId(i as u32));
            }
        }
        let mut end = 0;
        for (old, ids) in at_place {
            let of = |id: &BaseId| pins.0.get(id).copied();
            let align = ids.iter().map(|id| self.prov.base(*id).align).max();
            let (bits, residue) = match ids.iter().filter_map(of).max() {
                Some((bits, residue)) => (bits.max(align.unwrap_or(0)), residue),
                None => (align.unwrap_or(0), 0),
            };
            let new = u64::next_multiple_of(end, 1 << bits) + residue;
            let mut size = 0;
            for id in ids {
                let (align, b) = (
                    self.prov.base(id).align,
                    &mut self.prov.bases[id.0 as usize],
                );
                b.number = new;
                size = size.max(b.size.unwrap_or(0));
                if pins.0.contains_key(&id) {
                    b.align = bits;
                    self.prov.declared.insert(id, align);
                }
            }
            self.moved.push((old, new));
            end = new + size + GAP;
        }
        let shared = &mut self.regions[SHARED.0 as usize];
        shared.extent = shared.extent.map(|e| e.max(end));
    }

    /// Where the variable lies in this run whose address would be a number.
    #[inline]
    pub(crate) fn moved_to(&self, at: u64) -> u64 {
        match self.moved.iter().find(|m| m.0 == at) {
            Some(&(_, new)) => new,
            None => at,
        }
    }

    /// The address that a byte of shared memory would have if nothing had been laid out again.
    pub(crate) fn unmoved(&self, off: u64) -> u64 {
        match self.moved.iter().rev().find(|m| m.1 <= off) {
            Some(&(old, new)) => old + (off - new),
            None => off,
        }
    }

    /// What this run asks for of bases above their alignment.
    pub(crate) fn asked(&mut self) -> Asked {
        let bits = std::mem::take(&mut self.prov.asked);
        let mut known: BTreeMap<BaseId, u8> = self.prov.declared.clone();
        for &id in bits.keys() {
            known.entry(id).or_insert(self.prov.base(id).align);
        }
        for (&id, &bits) in &self.prov.assumed {
            let old = known.entry(id).or_default();
            *old = bits.max(*old);
        }
        Asked { bits, known }
    }
}
