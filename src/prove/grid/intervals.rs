//! Byte ranges with a value each, disjoint and in order.

use std::collections::BTreeMap;

/// A map from bytes to values, as disjoint ranges.
#[derive(Clone, Debug)]
pub struct Intervals<V> {
    map: BTreeMap<u64, (u64, V)>,
}

impl<V> Default for Intervals<V> {
    fn default() -> Self {
        Intervals {
            map: BTreeMap::new(),
        }
    }
}

impl<V: Copy + Eq> Intervals<V> {
    /// The parts of `lo..hi` that have a value, in order.
    pub fn overlaps(&self, lo: u64, hi: u64) -> impl Iterator<Item = (u64, u64, V)> + '_ {
        let before = self.map.range(..lo).next_back();
        let before = before.filter(move |(_, (end, _))| *end > lo);
        let inside = self.map.range(lo..hi.max(lo));
        before
            .into_iter()
            .chain(inside)
            .map(move |(&start, &(end, v))| {
                let (start, end) = (start.max(lo), end.min(hi));
                (start, end, v)
            })
    }

    /// The parts of `lo..hi` that have no value, in order.
    pub fn gaps(&self, lo: u64, hi: u64) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        let mut at = lo;
        for (start, end, _) in self.overlaps(lo, hi) {
            if at < start {
                out.push((at, start));
            }
            at = end;
        }
        if at < hi {
            out.push((at, hi));
        }
        out
    }

    /// Gives the parts of `lo..hi` that have no value this one.
    pub fn fill(&mut self, lo: u64, hi: u64, v: V) {
        for (start, end) in self.gaps(lo, hi) {
            match self.map.range_mut(..=start).next_back() {
                Some((_, (e, w))) if *e == start && *w == v => *e = end,
                _ => {
                    self.map.insert(start, (end, v));
                }
            }
        }
    }

    /// All ranges, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64, V)> + '_ {
        self.map.iter().map(|(&start, &(end, v))| (start, end, v))
    }

    /// True if no byte has a value.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn against_single_bytes() {
        // A small generator is enough to meet every way in which two ranges can lie.
        let mut state = 7u64;
        let mut next = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 33) % n
        };
        for _ in 0..200 {
            let mut ranges = Intervals::default();
            let mut bytes = [None; 40];
            for v in 0..8u8 {
                let lo = next(36);
                let hi = lo + 1 + next(4);
                ranges.fill(lo, hi, v / 2);
                for b in &mut bytes[lo as usize..hi as usize] {
                    b.get_or_insert(v / 2);
                }
                let mut seen = [None; 40];
                for (start, end, v) in ranges.iter() {
                    assert!(start < end);
                    for s in &mut seen[start as usize..end as usize] {
                        assert_eq!(s.replace(v), None);
                    }
                }
                assert_eq!(seen, bytes);
                let (lo, hi) = (next(20), 20 + next(20));
                let covered: u64 = ranges.overlaps(lo, hi).map(|(a, b, _)| b - a).sum();
                let open: u64 = ranges.gaps(lo, hi).iter().map(|(a, b)| b - a).sum();
                assert_eq!(covered + open, hi - lo);
            }
        }
    }
}
