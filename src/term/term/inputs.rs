//! Finds the terms of input elements again without hashing.
//!
//! The problem: a kernel reads the same elements of its inputs again and again, mostly in order,
//! and a lookup in the hash table of the store is a cache miss each time. Elements are dense in
//! their offset, so for each array and type a flat table from index to term stands in front.
//!
//! What stands in a flat table is in no other. A table only grows as far as its use justifies, so a
//! few scattered offsets cost nothing: those are strays, which are hashed like other terms.

/// Entries by which a table may outgrow what is used of it.
const SLACK: usize = 1 << 12;

/// One array read as one type.
#[derive(Clone, Debug, Default)]
struct Dense {
    key: u64,
    used: usize,
    /// Term ids plus 1; 0 where none is known.
    ids: Vec<u32>,
}

/// The tables of a store.
#[derive(Clone, Debug, Default)]
pub(super) struct Inputs {
    tables: Vec<Dense>,
    /// Where the table of a key was found last, by the low bits of the mixed key.
    last: [u8; RECENT],
    strays: bool,
}

/// Tables that are found without a search: a kernel reads a few arrays in turn.
const RECENT: usize = 16;

/// Most tables; types of further arrays are always hashed.
const MOST: usize = 64;

#[inline]
fn slot(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60) as usize
}

impl Inputs {
    /// The index of an element of `bytes` bytes in its table, if it has one.
    #[inline]
    pub(super) fn index(off: u64, bytes: u64) -> Option<usize> {
        let whole = bytes.is_power_of_two() && off & (bytes - 1) == 0;
        (whole && off < 1 << 40).then(|| (off >> bytes.trailing_zeros()) as usize)
    }

    #[inline]
    fn table(&mut self, key: u64) -> Option<&mut Dense> {
        let slot = slot(key);
        let mut i = self.last[slot] as usize;
        if self.tables.get(i).is_none_or(|t| t.key != key) {
            i = self.tables.iter().position(|t| t.key == key)?;
            self.last[slot] = i as u8;
        }
        self.tables.get_mut(i)
    }

    /// The id that was kept for an index.
    #[inline]
    pub(super) fn get(&mut self, key: u64, index: usize) -> Option<u32> {
        let id = *self.table(key)?.ids.get(index)?;
        id.checked_sub(1)
    }

    /// The same, without a trace.
    pub(super) fn peek(&self, key: u64, index: usize) -> Option<u32> {
        let table = self.tables.iter().find(|t| t.key == key)?;
        table.ids.get(index)?.checked_sub(1)
    }

    /// True if some element was not kept.
    #[inline]
    pub(super) fn has_strays(&self) -> bool {
        self.strays
    }

    /// Keeps an id; false if the element is a stray.
    pub(super) fn keep(&mut self, key: u64, index: usize, id: u32) -> bool {
        let kept = self.try_keep(key, index, id).is_some();
        self.strays |= !kept;
        kept
    }

    fn try_keep(&mut self, key: u64, index: usize, id: u32) -> Option<()> {
        if self.table(key).is_none() {
            if self.tables.len() == MOST {
                return None;
            }
            self.last[slot(key)] = self.tables.len() as u8;
            self.tables.push(Dense {
                key,
                ..Dense::default()
            });
        }
        let t = self.table(key)?;
        if index >= t.ids.len() {
            if index > 4 * t.used + SLACK {
                return None;
            }
            t.ids.resize(index + 1, 0);
        }
        t.used += (t.ids[index] == 0) as usize;
        t.ids[index] = id + 1;
        Some(())
    }

    /// Memory in bytes.
    pub(super) fn footprint(&self) -> u64 {
        self.tables
            .iter()
            .map(|t| t.ids.capacity() as u64 * 4)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_and_tables_stay_proportionate() {
        let mut t = Inputs::default();
        for key in 0..MOST as u64 + 3 {
            for i in 0..100 {
                t.keep(key, i, key as u32 * 1000 + i as u32);
            }
        }
        for key in 0..MOST as u64 + 3 {
            let known = (key < MOST as u64).then_some(key as u32 * 1000 + 7);
            assert_eq!(t.get(key, 7), known);
            assert_eq!(t.get(key, 100), None);
        }
        let before = t.footprint();
        assert!(!t.keep(3, 1 << 30, 5) && t.has_strays());
        assert_eq!(t.get(3, 1 << 30), None);
        assert_eq!(t.footprint(), before);
        assert_eq!(Inputs::index(6, 4), None);
        assert_eq!(Inputs::index(8, 4), Some(2));
        assert_eq!(Inputs::index(9, 0), None);
    }

    #[test]
    fn an_element_is_one_term_however_it_is_found() {
        use crate::scalar::Fmt;
        use crate::term::{ArrayId, TermStore};
        let mut s = TermStore::new();
        let at = |s: &mut TermStore, i: u64| s.elem(ArrayId(0), Fmt::F32, 4 * i);
        let stray = at(&mut s, 5000);
        assert!(s.inputs.has_strays());
        for i in 0..2000 {
            at(&mut s, i);
        }
        // Now there is room for it, and it is where it was.
        at(&mut s, 5001);
        assert_eq!(at(&mut s, 5000), stray);
        let ids: Vec<_> = (0..2000).map(|i| at(&mut s, i)).collect();
        assert_eq!(ids, (1..2001).map(crate::term::TermId).collect::<Vec<_>>());
        let mut other = TermStore::new();
        at(&mut other, 5001);
        let map = other.import(&s);
        assert_eq!((s.len(), other.len()), (2002, 2002));
        assert_eq!(at(&mut other, 5000), map[stray.0 as usize]);
        assert_eq!(map, other.import(&s));
    }
}
