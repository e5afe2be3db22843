//! What the launches before left in memory, as pieces of terms.
//!
//! The problem: a launch of a sequence reads what those before it wrote. Each run builds terms in a store of its own,
//! so what it reads is copied from the store of what was left, piece by piece and only where it is read: a CTA of many
//! reads little of a large buffer.
//!
//! Sound: a copy is the term itself, with its special values, its encoding and the way in which it was made, so that nothing
//! is taken of a value between two launches that would not be taken inside one kernel.

use std::collections::BTreeMap;

use super::overflow::Narrow;
use super::{ArrayId, Copied, Sort, TermId, TermStore};

/// The final content of the written bytes of one array, in address order: byte offset to the bits written there.
/// Pieces have at most eight bytes and do not overlap.
pub type Pieces = BTreeMap<u64, TermId>;

/// Words of memory that together stand for something, and what the simulator says of it: a tensor map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// The words in their order.
    pub words: Vec<TermId>,
    /// What they say.
    pub says: Vec<u64>,
}

/// The bytes of each array that a launch wrote, as ranges from and to.
pub type Wrote = BTreeMap<ArrayId, Vec<(u64, u64)>>;

/// What launches left.
#[derive(Debug, Default)]
pub struct Left {
    /// The terms of the pieces.
    pub store: TermStore,
    /// What was written to each array.
    pub pieces: BTreeMap<ArrayId, Pieces>,
    /// What was brought to formats that hold less.
    pub narrow: Narrow,
    /// Number of fresh symbols so far.
    pub fresh: u32,
    /// What some of the pieces stand for.
    pub opaque: Vec<Opaque>,
    /// Launches that may still run when the next one starts, and which bytes of each array they wrote.
    pub running: Vec<(u32, Wrote)>,
}

/// Where what was left is copied to.
#[derive(Debug)]
pub struct Copy<'a> {
    /// The terms.
    pub store: &'a mut TermStore,
    /// What was copied.
    pub copied: &'a mut Copied,
    /// What was brought to formats that hold less.
    pub narrow: &'a mut Narrow,
}

/// The size of a piece in bytes.
pub fn piece_bytes(store: &TermStore, t: TermId) -> u64 {
    match store.sort(t) {
        Sort::Bits(w) => (u64::from(w) / 8).max(1),
        _ => 1,
    }
}

/// The pieces that touch `lo..hi`, as offsets with their end.
pub fn touching(store: &TermStore, pieces: &Pieces, lo: u64, hi: u64) -> Vec<(u64, u64, TermId)> {
    let near = pieces.range(lo.saturating_sub(7)..hi);
    near.map(|(&off, &t)| (off, off + piece_bytes(store, t), t))
        .filter(|p| p.1 > lo)
        .collect()
}

/// The parts of the pieces that lie in `lo..hi`.
pub fn cut(store: &mut TermStore, pieces: &Pieces, lo: u64, hi: u64) -> Vec<(u64, TermId)> {
    let mut out = Vec::new();
    for (start, end, t) in touching(store, pieces, lo, hi) {
        let (a, b) = (start.max(lo), end.min(hi));
        let part = store.extract(t, (a - start) as u8 * 8, (b - a) as u8 * 8);
        out.push((a, part));
    }
    out
}

/// The bits of `lo..hi`, if all of it was written.
pub fn read(store: &mut TermStore, pieces: &Pieces, lo: u64, hi: u64) -> Option<TermId> {
    let parts = cut(store, pieces, lo, hi);
    let mut at = lo;
    for &(off, t) in &parts {
        if off != at {
            return None;
        }
        at += piece_bytes(store, t);
    }
    let terms: Vec<TermId> = parts.into_iter().map(|p| p.1).collect();
    (at == hi && !terms.is_empty()).then(|| store.concat(&terms))
}

/// Puts bits in the place of what is there.
pub fn write(store: &mut TermStore, pieces: &mut Pieces, lo: u64, t: TermId) {
    let hi = lo + piece_bytes(store, t);
    for (start, end, old) in touching(store, pieces, lo, hi) {
        pieces.remove(&start);
        if start < lo {
            let part = store.extract(old, 0, (lo - start) as u8 * 8);
            pieces.insert(start, part);
        }
        if end > hi {
            let part = store.extract(old, (hi - start) as u8 * 8, (end - hi) as u8 * 8);
            pieces.insert(hi, part);
        }
    }
    pieces.insert(lo, t);
}

impl Left {
    /// The pieces that touch a range of an array, as offsets with their end.
    pub fn touching(&self, array: ArrayId, lo: u64, hi: u64) -> Vec<(u64, u64, TermId)> {
        let pieces = self.pieces.get(&array);
        pieces.map_or(Vec::new(), |p| touching(&self.store, p, lo, hi))
    }

    /// True if something was written to an array.
    pub fn has(&self, array: ArrayId) -> bool {
        self.pieces.get(&array).is_some_and(|p| !p.is_empty())
    }

    /// True if a term of another store has as many bits as a piece.
    pub fn is_as_wide(&self, piece: TermId, other: &TermStore, t: TermId) -> bool {
        self.store.sort(piece) == other.sort(t)
    }

    /// Lets another store know what holds of all inputs.
    pub fn premises(&self, into: &mut Copy) {
        for &p in &self.store.premises {
            let p = self.piece(p, into);
            if !into.store.premises.contains(&p) {
                into.store.premises.push(p);
            }
        }
    }

    /// A piece in another store.
    pub fn piece(&self, t: TermId, into: &mut Copy) -> TermId {
        let Copy {
            store,
            copied,
            narrow,
        } = into;
        narrow.small |= self.narrow.small;
        store.import_one(&self.store, t, copied, |old, new| {
            if self.narrow.terms.contains(&old) {
                narrow.terms.insert(new);
            }
        })
    }

    /// The bits of at most eight bytes of an array, of which `found` are the pieces, in another store; `initial` gives
    /// bytes that no launch wrote, of which some may be unknown.
    pub fn bits(
        &self,
        found: &[(u64, u64, TermId)],
        (lo, hi): (u64, u64),
        into: &mut Copy,
        mut initial: impl FnMut(&mut TermStore, u64, u64) -> Option<TermId>,
    ) -> Option<TermId> {
        let (mut parts, mut at) = (Vec::new(), lo);
        for &(start, end, t) in found {
            let (a, b) = (start.max(lo), end.min(hi));
            if at < a {
                parts.push(initial(into.store, at, a - at)?);
            }
            let t = self.piece(t, into);
            parts.push(
                into.store
                    .extract(t, (a - start) as u8 * 8, (b - a) as u8 * 8),
            );
            at = b;
        }
        if at < hi {
            parts.push(initial(into.store, at, hi - at)?);
        }
        Some(into.store.concat(&parts))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Writes of known bytes against an array of bytes.
        #[test]
        fn pieces_are_memory(
            writes in proptest::collection::vec((0u64..24, 1u64..9, any::<u64>()), 0..12),
            (lo, len) in (0u64..24, 1u64..9),
        ) {
            let mut memory = [0xeeu8; 40];
            let mut left = Left::default();
            for (at, bytes, value) in writes {
                let value = value & (u64::MAX >> (64 - 8 * bytes));
                let t = left.store.bits(8 * bytes as u8, value);
                let pieces = left.pieces.entry(ArrayId(0)).or_default();
                write(&mut left.store, pieces, at, t);
                memory[at as usize..][..bytes as usize]
                    .copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
            }
            let found = left.touching(ArrayId(0), lo, lo + len);
            let (mut store, mut copied, mut narrow) = Default::default();
            let mut into = Copy {
                store: &mut store,
                copied: &mut copied,
                narrow: &mut narrow,
            };
            let initial = |s: &mut TermStore, _, n: u64| {
                Some(s.bits(8 * n as u8, 0xeeee_eeee_eeee_eeee & (u64::MAX >> (64 - 8 * n))))
            };
            let t = left.bits(&found, (lo, lo + len), &mut into, initial);
            let want = memory[lo as usize..][..len as usize].iter().rev();
            let want = want.fold(0u64, |v, b| v << 8 | u64::from(*b));
            prop_assert_eq!(t.and_then(|t| store.as_bits(t)), Some(want));
        }
    }
}
