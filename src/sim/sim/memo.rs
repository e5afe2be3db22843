//! A small memory of conversions that were just made.
//!
//! The problem: kernels read the same halves of the same words again and again, and each time a
//! field is cut out, looked up in the term store and read as a number: three hashes for what was
//! known a moment ago. This is a direct-mapped cache in front of them, keyed by what is asked.
//!
//! Terms never change their meaning, so an entry never becomes wrong; a collision only forgets.

use crate::kernel::Fmt;
use crate::sim::limits::LIMITS;
use crate::term::TermId;

/// The cache; empty until it is first used.
#[derive(Clone, Debug, Default)]
pub(super) struct Memo {
    slots: Vec<(u64, u32)>,
    /// Entries that others have replaced since the cache has this size.
    forgotten: usize,
}

/// The real that bits denote in a format.
#[inline]
pub(super) fn number(fmt: Fmt, bits: TermId) -> u64 {
    1 << 62 | (fmt as u64) << 32 | bits.0 as u64
}

/// A field of bits.
#[inline]
pub(super) fn field(bits: TermId, low: u8, width: u8) -> u64 {
    2 << 62 | (low as u64) << 40 | (width as u64) << 32 | bits.0 as u64
}

impl Memo {
    #[inline]
    fn slot(&self, key: u64) -> usize {
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        hash as usize & self.slots.len().wrapping_sub(1)
    }

    /// The term that was kept for a key.
    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<TermId> {
        let (k, t) = self.slots.get(self.slot(key))?;
        (*k == key).then_some(TermId(*t))
    }

    /// Keeps a term.
    #[inline]
    pub(super) fn keep(&mut self, key: u64, t: TermId) {
        let size = self.slots.len();
        if size == 0 || self.forgotten > 2 * size && size < LIMITS.memo_slots {
            self.slots = vec![
                (0, 0);
                if size == 0 {
                    LIMITS.memo_first
                } else {
                    4 * size
                }
            ];
            self.forgotten = 0;
        }
        let i = self.slot(key);
        self.forgotten += (self.slots[i].0 != 0) as usize;
        self.slots[i] = (key, t.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_questions_apart_and_collisions_forget() {
        let mut m = Memo::default();
        assert_eq!(m.get(field(TermId(1), 0, 16)), None);
        let mut keys = Vec::new();
        for i in 0..3000u32 {
            keys.push(field(TermId(i), 0, 16));
            keys.push(field(TermId(i), 16, 16));
            keys.push(number(Fmt::F16, TermId(i)));
            keys.push(number(Fmt::Bf16, TermId(i)));
        }
        for (i, &k) in keys.iter().enumerate() {
            m.keep(k, TermId(i as u32));
        }
        let mut kept = 0;
        for (i, &k) in keys.iter().enumerate() {
            if let Some(t) = m.get(k) {
                assert_eq!(t, TermId(i as u32));
                kept += 1;
            }
        }
        assert!(kept > 1000);
    }
}
