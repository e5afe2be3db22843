//! What one CTA touches in the arrays of the launch, for races between CTAs.
//!
//! Nothing orders the threads of different CTAs but the end of the kernel (PTX ISA 9.0, section
//! 8), so two CTAs need no clocks: it is enough to know which bytes each touched, by which
//! instruction, and in which way. Bytes are kept as bitmaps, one for each instruction and array,
//! and come back as intervals. That costs a bit for four bytes however often they are touched.
//!
//! Reads are kept only of arrays that some CTA of the launch writes, which the caller finds out;
//! of the threads none is kept: a second run with a [`Watch`] names one.
//!
//! Not claimed: anything about the order of the accesses of one CTA, which `shadow` is about.

use std::collections::hash_map::Entry;

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::race::AccessKind;
use super::warp::{LANES, lanes};
use super::{Step, Tid};
use crate::kernel::Pc;
use crate::term::ArrayId;

/// Bytes that a word of a fine bitmap stands for.
const WORD: u64 = 64;
/// Words of a page.
const PAGE: usize = 64;

/// What a run notes beyond its outcome.
#[derive(Clone, Debug, Default)]
pub struct Noting {
    /// Writes of arrays are noted, and reads of these.
    pub accesses: Option<FxHashSet<ArrayId>>,
    /// An access whose thread is wanted.
    pub watch: Option<Watch>,
    /// The order of execution is noted.
    pub trace: bool,
    /// On numbers: what CTAs before this one left.
    pub memory: Option<super::numbers::Memory>,
    /// What is known before the first run.
    pub known: super::knowledge::Knowledge,
}

/// The first time that a watched access was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The thread.
    pub thread: Tid,
    /// What it did before.
    pub around: Vec<Step>,
}

/// An access whose thread is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    /// The array.
    pub array: ArrayId,
    /// A byte that is touched.
    pub off: u64,
    /// The instruction.
    pub pc: Pc,
}

/// A set of bytes, in units of one or four.
#[derive(Clone, Debug, Default)]
struct Bitmap {
    pages: Vec<(u64, Box<[u64; PAGE]>)>,
    index: FxHashMap<u64, u32>,
    last: Option<(u64, u32)>,
}

impl Bitmap {
    fn page(&mut self, page: u64) -> &mut [u64; PAGE] {
        let at = match self.last {
            Some((p, at)) if p == page => at,
            _ => {
                let next = self.pages.len() as u32;
                let at = *self.index.entry(page).or_insert(next);
                if at == next {
                    self.pages.push((page, Box::new([0; PAGE])));
                }
                self.last = Some((page, at));
                at
            }
        };
        &mut self.pages[at as usize].1
    }

    /// Adds units.
    #[inline]
    fn add(&mut self, first: u64, count: u64) {
        for unit in first..first + count {
            let page = self.page(unit / (WORD * PAGE as u64));
            let word = &mut page[(unit / WORD) as usize % PAGE];
            *word |= 1 << (unit % WORD);
        }
    }

    /// The units as intervals, in order.
    fn intervals(&self, unit: u64, out: &mut Vec<(u64, u64)>) {
        let mut order: Vec<&(u64, Box<[u64; PAGE]>)> = self.pages.iter().collect();
        order.sort_unstable_by_key(|p| p.0);
        let mut open: Option<(u64, u64)> = None;
        for (page, words) in order {
            for (i, &word) in words.iter().enumerate() {
                let base = (page * PAGE as u64 + i as u64) * WORD;
                let mut at = 0;
                while at < WORD {
                    let rest = word >> at;
                    if rest == 0 {
                        break;
                    }
                    at += rest.trailing_zeros() as u64;
                    let run = (word >> at).trailing_ones() as u64;
                    let (start, end) = ((base + at) * unit, (base + at + run) * unit);
                    match &mut open {
                        Some((_, e)) if *e == start => *e = end,
                        _ => out.extend(open.replace((start, end))),
                    }
                    at += run;
                }
            }
        }
        out.extend(open);
    }

    /// Adds the units of another one.
    fn join(&mut self, other: &Bitmap) {
        for (page, words) in &other.pages {
            for (all, more) in self.page(*page).iter_mut().zip(words.iter()) {
                *all |= more;
            }
        }
    }

    fn footprint(&self) -> u64 {
        self.pages.len() as u64 * (PAGE as u64 * 8 + 32)
    }
}

/// Bytes that one instruction touched in one array.
#[derive(Clone, Debug)]
struct Touched {
    kind: AccessKind,
    words: Bitmap,
    bytes: Bitmap,
    /// Size of the elements that were accessed.
    elem: u32,
}

/// An element that a CTA wrote again with another value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The array.
    pub array: ArrayId,
    /// First byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
}

/// Bytes that one instruction touched in one array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The array.
    pub array: ArrayId,
    /// The instruction.
    pub pc: Pc,
    /// What it did.
    pub kind: AccessKind,
    /// True if input data decides whether it happens.
    pub conditional: bool,
    /// Size of the elements in bytes.
    pub elem: u32,
    /// The bytes, as disjoint intervals in order.
    pub bytes: Vec<(u64, u64)>,
}

/// Everything that a CTA touched.
#[derive(Clone, Debug, Default)]
pub struct Footprint {
    reads: Option<FxHashSet<ArrayId>>,
    touched: FxHashMap<(ArrayId, Pc, bool), Touched>,
    changed: IndexMap<(ArrayId, u64), Change>,
    watch: Option<Watch>,
    seen: Option<Seen>,
}

impl Footprint {
    /// An empty one that notes what is asked for.
    pub fn new(noting: &Noting) -> Footprint {
        Footprint {
            reads: noting.accesses.clone(),
            watch: noting.watch,
            ..Footprint::default()
        }
    }

    /// Is anything noted?
    #[inline]
    pub fn on(&self) -> bool {
        self.reads.is_some() || self.watch.is_some()
    }

    /// Lanes of `mask` access `size` bytes each, in elements of `elem` bytes; `first` is the rank
    /// of lane 0.
    pub fn add(
        &mut self,
        (array, pc): (ArrayId, Pc),
        (kind, conditional): (AccessKind, bool),
        (elem, size): (u32, u64),
        (first, mask): (u32, u32),
        offsets: &[u64; LANES],
    ) {
        if let Some(w) = self.watch
            && (w.array, w.pc) == (array, pc)
            && self.seen.is_none()
        {
            let mut hit = lanes(mask).filter(|&l| {
                let at = offsets[l];
                (at..at + size).contains(&w.off)
            });
            self.seen = hit.next().map(|l| Seen {
                thread: Tid(first + l as u32),
                around: Vec::new(),
            });
        }
        let Some(reads) = &self.reads else { return };
        if !kind.writes() && !reads.contains(&array) {
            return;
        }
        let key = (array, pc, conditional);
        let t = self.touched.entry(key).or_insert_with(|| Touched {
            kind,
            words: Bitmap::default(),
            bytes: Bitmap::default(),
            elem,
        });
        let mut done: Option<u64> = None;
        for lane in lanes(mask) {
            let off = offsets[lane];
            if done == Some(off) {
                continue;
            }
            done = Some(off);
            if off.is_multiple_of(4) && size.is_multiple_of(4) {
                t.words.add(off / 4, size / 4);
            } else {
                t.bytes.add(off, size);
            }
        }
    }

    /// An element that the CTA wrote is written with another value.
    pub fn change(&mut self, change: Change) {
        let key = (change.array, change.start);
        let old = self.changed.entry(key).or_insert(change);
        old.end = old.end.max(change.end);
    }

    /// Adds what another run of the CTA touched.
    pub fn join(&mut self, other: Footprint) {
        let Footprint {
            reads,
            touched,
            changed,
            watch: _,
            seen,
        } = other;
        if let (Some(all), Some(more)) = (&mut self.reads, reads) {
            all.extend(more);
        }
        for (key, t) in touched {
            match self.touched.entry(key) {
                Entry::Vacant(e) => {
                    e.insert(t);
                }
                Entry::Occupied(mut e) => {
                    e.get_mut().words.join(&t.words);
                    e.get_mut().bytes.join(&t.bytes);
                }
            }
        }
        changed.into_values().for_each(|c| self.change(c));
        self.seen = self.seen.take().or(seen);
    }

    /// The elements that were written with several values.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.changed.values()
    }

    /// The watched access.
    pub fn seen(&self) -> Option<&Seen> {
        self.seen.as_ref()
    }

    /// The watched access, if what its thread did before is still to be added.
    #[inline]
    pub fn just_seen(&mut self) -> Option<&mut Seen> {
        self.seen.as_mut().filter(|s| s.around.is_empty())
    }

    /// Memory that it takes, in bytes.
    pub fn footprint(&self) -> u64 {
        let each = self.touched.values();
        each.map(|t| t.words.footprint() + t.bytes.footprint())
            .sum()
    }

    /// What was touched, by array and instruction.
    pub fn accesses(&self) -> Vec<Access> {
        let mut out: Vec<Access> = self
            .touched
            .iter()
            .map(|(&(array, pc, conditional), t)| {
                let mut bytes = Vec::new();
                t.words.intervals(4, &mut bytes);
                t.bytes.intervals(1, &mut bytes);
                Access {
                    array,
                    pc,
                    kind: t.kind,
                    conditional,
                    elem: t.elem,
                    bytes: union(bytes),
                }
            })
            .collect();
        out.sort_unstable_by_key(|a| (a.array, a.pc, a.conditional));
        out
    }
}

/// Intervals as disjoint ones in order; neighbours become one.
pub fn union(mut list: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    list.sort_unstable();
    let mut out: Vec<(u64, u64)> = Vec::with_capacity(list.len());
    for (start, end) in list {
        match out.last_mut() {
            Some((_, e)) if start <= *e => *e = end.max(*e),
            _ => out.push((start, end)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(f: &mut Footprint, array: u32, pc: u32, kind: AccessKind, size: u64, places: &[u64]) {
        let mut offsets = [0; LANES];
        offsets[..places.len()].copy_from_slice(places);
        let mask = ((1u64 << places.len()) - 1) as u32;
        let (array, pc) = (ArrayId(array), Pc(pc));
        f.add((array, pc), (kind, false), (4, size), (0, mask), &offsets);
    }

    fn noting(reads: &[u32]) -> Noting {
        Noting {
            accesses: Some(reads.iter().map(|&a| ArrayId(a)).collect()),
            ..Noting::default()
        }
    }

    fn noted(places: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut f = Footprint::new(&noting(&[]));
        for &(off, size) in places {
            add(&mut f, 0, 3, AccessKind::Write, size, &[off]);
        }
        let list = f.accesses();
        assert_eq!(list.len(), 1);
        list[0].bytes.clone()
    }

    #[test]
    fn neighbours_are_one_interval() {
        assert_eq!(noted(&[(0, 4), (4, 8), (16, 4)]), [(0, 12), (16, 20)]);
        assert_eq!(
            noted(&[(2, 1), (3, 1), (4, 4), (1 << 39, 16)]),
            [(2, 8), (1 << 39, (1 << 39) + 16)]
        );
        let far: Vec<(u64, u64)> = (0..5000).map(|i| (i * 4, 4)).collect();
        assert_eq!(noted(&far), [(0, 20000)]);
    }

    #[test]
    fn reads_of_other_arrays_are_not_kept() {
        let mut f = Footprint::new(&noting(&[1]));
        for a in [0, 1] {
            add(&mut f, a, 0, AccessKind::Read, 4, &[8]);
        }
        let arrays: Vec<ArrayId> = f.accesses().iter().map(|a| a.array).collect();
        assert_eq!(arrays, [ArrayId(1)]);
    }

    #[test]
    fn a_watch_names_the_thread() {
        let watch = Watch {
            array: ArrayId(0),
            off: 9,
            pc: Pc(2),
        };
        let mut f = Footprint::new(&Noting {
            watch: Some(watch),
            ..Noting::default()
        });
        assert!(f.on());
        add(&mut f, 0, 1, AccessKind::Read, 4, &[0, 4, 8, 12]);
        assert!(f.seen().is_none());
        add(&mut f, 0, 2, AccessKind::Read, 4, &[0, 4, 8, 12]);
        assert_eq!(f.seen().map(|s| s.thread), Some(Tid(2)));
    }
}
