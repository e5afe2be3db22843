//! Bits of bases above their alignment: which a run asks for, and runs in which they are known.
//!
//! The problem: a kernel that exchanges bits of an absolute address (`a ^ (a >> 3 & 0x70)`, `a & 1023`) may be right
//! wherever its memory lies, and no linear form says so. A base that is *pinned* lies at a known residue modulo a
//! power of two; it is then aligned to that power, but for the residue, and every rule for bits below an alignment
//! holds as it stands, because those bits are the ones of the number.
//!
//! Sound: a run with a pinned base is one for all layouts in which the base has that residue. All residues together
//! are all layouts.
//!
//! Only variables of shared memory are pinned: those alone are laid out by an assembler that promises no more than
//! their declared alignment.

use crate::sim::limits::LIMITS;
use std::collections::BTreeMap;

use crate::kernel::Space;

use super::provenance::{BaseId, Piece, Prov, Provenances};

mod exec;

/// Where some bases lie: each at a residue modulo two to a number of bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pins(pub BTreeMap<BaseId, (u8, u64)>);

/// What a run asks for, by base.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// How many of the lowest bits.
    pub bits: BTreeMap<BaseId, u8>,
    /// The bits that the declaration, or an assumption of the run, leaves no choice for.
    pub known: BTreeMap<BaseId, u8>,
}

impl Asked {
    /// Adds what another run of the same CTA asks for.
    pub(crate) fn extend(&mut self, other: Asked) {
        let all = [(&mut self.bits, other.bits), (&mut self.known, other.known)];
        for (mine, others) in all {
            for (base, bits) in others {
                let old = mine.entry(base).or_default();
                *old = bits.max(*old);
            }
        }
    }
}

impl Pins {
    /// These, and whatever else was asked for, all at residue 0; `None` if that is nothing more.
    pub(crate) fn extended(&self, asked: &Asked) -> Option<Pins> {
        let mut more = self.clone();
        for (&base, &bits) in &asked.bits {
            let pin = more.0.entry(base).or_default();
            pin.0 = pin.0.max(bits);
        }
        (more != *self).then_some(more)
    }

    /// All combinations of residues, the one with all of them 0 first; `None` if they are too many.
    pub(crate) fn cases(&self, asked: &Asked) -> Option<Vec<Pins>> {
        let mut all = vec![Pins::default()];
        for (&base, &(bits, _)) in &self.0 {
            let known = asked.known.get(&base).map_or(0, |k| *k.min(&bits));
            let count = 1usize << (bits - known);
            if all.len() * count > LIMITS.pinned_cases {
                return None;
            }
            let with = |pins: &Pins, i: usize| {
                let mut pins = pins.clone();
                pins.0.insert(base, (bits, (i as u64) << known));
                pins
            };
            all = (all.iter())
                .flat_map(|p| (0..count).map(move |i| with(p, i)))
                .collect();
        }
        Some(all)
    }
}

impl Provenances {
    /// Notes that a bit of a linear value above its alignment would decide something.
    pub(crate) fn ask(&mut self, of: Prov, bit: u8) {
        if bit >= LIMITS.pinned_bits {
            return;
        }
        let mut wanted = Vec::new();
        for &(id, c) in self.terms(of).unwrap_or(&[]) {
            let root = self.base(id).rounded.map_or(id, |r| r.0);
            let b = self.base(root);
            let bits = (bit + 1).saturating_sub(c.trailing_zeros() as u8);
            if b.space == Space::Shared && bits > b.align {
                wanted.push((root, bits));
            }
        }
        for (id, bits) in wanted {
            let old = self.asked.entry(id).or_default();
            *old = bits.max(*old);
        }
    }

    /// Notes that runs of bits begin or end above the alignment of what they are of.
    pub(crate) fn ask_for(&mut self, pieces: &[Piece]) {
        for p in pieces.iter().filter(|p| !p.of.is_lost()) {
            match p.low + p.len {
                end if end <= LIMITS.pinned_bits => self.ask(p.of, end - 1),
                _ if p.low > 0 => self.ask(p.of, p.low - 1),
                _ => {}
            }
        }
    }

    /// The number of low bits that the declaration of a base makes known.
    pub(crate) fn declared(&self, id: BaseId) -> u8 {
        self.declared
            .get(&id)
            .copied()
            .unwrap_or(self.base(id).align)
    }

    /// Notes that a base is taken for aligned by an assumption that the run lists.
    pub(crate) fn assume_aligned(&mut self, id: BaseId, bits: u8) {
        let old = self.assumed.entry(id).or_default();
        *old = bits.max(*old);
    }
}
