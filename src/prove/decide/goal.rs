//! From what both kernels wrote to verification conditions, one for each element.
//!
//! An element that only one kernel writes is compared with its initial content: what an initialiser
//! says, else a symbol of its own; in an array that is bound `out:` there is no initial content, so that the kernels differ.
//! Encodings of reals in one format are compared as reals, everything else as bits, after packed
//! pieces have been cut where either side has a seam.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use num_integer::gcd;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::limits::TACTICS;
use super::options::{Coverage, Options};
use crate::kernel::Fmt;
use crate::sim::{Side, Writes};
use crate::spec::pointers::Pointer;
use crate::spec::{Array, Arrays, ElemTy, Origin, Role};
use crate::term::{ArrayId, Sort, Term, TermId, TermStore};

/// Pairs of terms that must all be equal: the reference's, the optimized kernel's.
pub(crate) use crate::special::faces::Pairs;

/// One element that a kernel writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Element {
    /// The array.
    pub array: ArrayId,
    /// Byte offset of the element.
    pub off: u64,
    /// Size of the element in bytes.
    pub bytes: u8,
    /// Its bits after each run, each in the store of its kernel.
    pub content: [TermId; 2],
    /// The only kernel that writes the element (or some of its bytes), where that matters.
    pub only: Option<Only>,
}

/// One element that must be equal, in a store that holds both kernels.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    /// The array.
    pub array: ArrayId,
    /// Byte offset of the element.
    pub off: u64,
    /// Size of the element in bytes.
    pub bytes: u8,
    /// Element type for texts.
    pub ty: Option<ElemTy>,
    /// What must be equal.
    pub pairs: Pairs,
    /// The bits of the whole element on both sides, where the pairs are parts of them.
    pub whole: Option<(TermId, TermId)>,
    /// The only kernel that writes the element (or some of its bytes), where that matters.
    pub only: Option<Only>,
    /// Number of other elements of the array for which this one stands, each with inputs renamed.
    pub alike: u64,
}

impl Condition {
    /// Number of elements for which it stands, its own with them.
    pub(crate) fn elements(&self) -> u64 {
        1 + self.alike
    }
}

/// An element that one kernel writes and the other leaves alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Only {
    /// The kernel that writes.
    pub side: Side,
    /// True if this settles the pair as different; false if the other kernel may write it
    /// in a CTA that was not run.
    pub certain: bool,
}

/// True for arrays whose content after the run is part of the claim.
pub fn is_compared(a: &Array) -> bool {
    a.role != Some(Role::Scratch) && matches!(a.origin, Origin::Pointer | Origin::Global)
}

/// The width of each part of a piece, in bits.
fn part_widths(store: &TermStore, t: TermId) -> SmallVec<[u8; 4]> {
    let width = |t| match store.sort(t) {
        Sort::Bits(w) => w,
        _ => 0,
    };
    match store.get(t) {
        Term::Concat(l) => l.iter().map(|&i| width(TermId(i))).collect(),
        _ => SmallVec::from_slice(&[width(t)]),
    }
}

fn width_bytes(store: &TermStore, t: TermId) -> u64 {
    match store.sort(t) {
        Sort::Bits(w) => (w as u64 / 8).max(1),
        _ => 1,
    }
}

/// The size of an element: bound, or the common granularity of everything written.
fn element_bytes(a: &Array, sides: [(&TermStore, &Writes); 2]) -> u64 {
    if let Some(e) = a.elem {
        return e.bytes().max(1);
    }
    let mut g = 0;
    for (store, w) in sides {
        for (&off, &t) in w {
            g = gcd(g, off);
            for bits in part_widths(store, t) {
                // Parts that do not fill bytes belong to one element.
                let bytes = if bits % 8 == 0 {
                    bits as u64 / 8
                } else {
                    width_bytes(store, t)
                };
                g = gcd(g, bytes);
            }
        }
    }
    g.clamp(1, 8)
}

/// The bits of a range before the launch.
fn initial(store: &mut TermStore, (array, a): (ArrayId, &Array), range: Range<u64>) -> TermId {
    let width = (range.end - range.start) as u8 * 8;
    if let Some(bits) = a.initial_bits(range.clone()) {
        return store.bits(width, bits);
    }
    let mut pointers = a.pointers.iter().flat_map(|p| p.iter());
    let inside = |&&(at, _): &&Pointer| at <= range.start && range.end <= at + 8;
    match pointers.find(inside) {
        Some((_, None)) => store.bits(width, 0),
        _ => store.bytes(array, range.start, width),
    }
}

/// The bits of an element after the run, and which of its bytes were written.
pub fn content(
    store: &mut TermStore,
    writes: &Writes,
    array: (ArrayId, &Array),
    off: u64,
    bytes: u64,
) -> (TermId, u8) {
    let end = off + bytes;
    let (mut at, mut mask) = (off, 0u8);
    let mut parts: SmallVec<[TermId; 4]> = SmallVec::new();
    for (&start, &t) in writes.range(off.saturating_sub(7)..end) {
        let stop = start + width_bytes(store, t);
        let (lo, hi) = (start.max(at), stop.min(end));
        if lo >= hi {
            continue;
        }
        if at < lo {
            parts.push(initial(store, array, at..lo));
        }
        parts.push(store.extract(t, (lo - start) as u8 * 8, (hi - lo) as u8 * 8));
        for b in lo..hi {
            mask |= 1 << (b - off);
        }
        at = hi;
    }
    if at < end {
        parts.push(initial(store, array, at..end));
    }
    (store.concat(&parts), mask)
}

/// The format in which bits encode a real, looking through selects.
fn encoded_format(store: &TermStore, mut t: TermId) -> Option<Fmt> {
    loop {
        match store.get(t) {
            Term::OfReal { fmt, .. } => return Some(fmt),
            // Children are older than their parents, so that this ends.
            Term::BitsSelect(_, a, b) => {
                t = match store.get(a) {
                    Term::OfReal { .. } | Term::BitsSelect(..) => a,
                    _ => b,
                }
            }
            _ => return None,
        }
    }
}

/// Bit positions where a term is put together from parts.
fn seams(store: &TermStore, t: TermId, out: &mut BTreeSet<u8>) {
    if let Term::Concat(_) = store.get(t) {
        let mut at = 0;
        for w in part_widths(store, t) {
            out.insert(at);
            at += w;
        }
    }
}

/// What must be equal for two bit terms of one width to be equal. `bound` is the type that the
/// user bound, if any: as an integer, a zero with a sign is not zero.
pub(crate) fn pairs(store: &mut TermStore, a: TermId, b: TermId, bound: Option<ElemTy>) -> Pairs {
    let (fmt, integer) = match bound {
        Some(ElemTy::Float(f)) => (Some(f), false),
        other => (None, other.is_some()),
    };
    let differs = |s: &TermStore, f: Fmt, x: TermId, y: TermId| {
        integer
            && [x, y]
                .iter()
                .any(|&t| s.has_signed_zero(f, t, TACTICS.selects))
    };
    // Equal bits are equal, but for those of numbers that were computed and are no numbers here.
    if a == b && !store.is_loose(a) {
        return SmallVec::from_slice(&[(a, b)]);
    }
    let Sort::Bits(width) = store.sort(a) else {
        return SmallVec::from_slice(&[(a, b)]);
    };
    let fits = |f: &Fmt| f.bits() == width as u32;
    let mut cuts = BTreeSet::new();
    seams(store, a, &mut cuts);
    seams(store, b, &mut cuts);
    // An array of integers is compared by bits.
    let encoded = |s: &TermStore, x, y| match integer && s.takes_made(x, y) {
        true => None,
        false => encoded_format(s, x).or_else(|| encoded_format(s, y)),
    };
    let own = encoded(store, a, b);
    if let Some(f) = fmt.filter(fits).or(own).filter(fits)
        && (cuts.is_empty() || own.is_some() || fmt == Some(f))
        && !differs(store, f, a, b)
    {
        let [x, y] = [a, b].map(|t| store.of_selected_bits(f, t));
        return SmallVec::from_slice(&[(x, y)]);
    }
    cuts.insert(0);
    let cuts: Vec<u8> = cuts.into_iter().collect();
    let mut out = Pairs::new();
    for (i, &low) in cuts.iter().enumerate() {
        let high = cuts.get(i + 1).copied().unwrap_or(width);
        let x = store.extract(a, low, high - low);
        let y = store.extract(b, low, high - low);
        let f = encoded(store, x, y);
        match f.filter(|f| f.bits() == (high - low) as u32) {
            _ if x == y && !store.is_loose(x) => {}
            Some(f) if !differs(store, f, x, y) => {
                let [x, y] = [x, y].map(|t| store.of_selected_bits(f, t));
                out.push((x, y));
            }
            _ => out.push((x, y)),
        }
    }
    out
}

/// A run for what it leaves: its terms and what it wrote.
pub(crate) struct Run {
    pub store: TermStore,
    pub writes: BTreeMap<ArrayId, Writes>,
}

/// The elements that a pair of runs writes, in array and offset order.
pub(crate) fn elements(
    reference: &mut Run,
    optimized: &mut Run,
    arrays: &Arrays,
    options: &Options,
) -> Vec<Element> {
    let none = Writes::new();
    let mut runs = [reference, optimized];
    let ids: BTreeSet<ArrayId> = runs.iter().flat_map(|r| r.writes.keys()).copied().collect();
    let mut out = Vec::new();
    for array in ids {
        let Some(a) = arrays.0.get(array.0 as usize).filter(|a| is_compared(a)) else {
            continue;
        };
        let sides = runs
            .each_ref()
            .map(|r| (&r.store, r.writes.get(&array).unwrap_or(&none)));
        let bytes = element_bytes(a, sides);
        let mut places: Vec<u64> = Vec::new();
        for (store, w) in sides {
            for (&off, &t) in w {
                let last = (off + width_bytes(store, t) - 1) / bytes;
                places.extend(off / bytes..=last);
            }
        }
        places.sort_unstable();
        places.dedup();
        let mut unset = [Kept::default(), Kept::default()];
        for e in places.into_iter().filter(|&e| a.is_selected(e)) {
            let off = e * bytes;
            let [(x, wrote_r), (y, wrote_o)] = runs.each_mut().map(|r| {
                let writes = r.writes.get(&array).unwrap_or(&none);
                content(&mut r.store, writes, (array, a), off, bytes)
            });
            let only = (wrote_r != wrote_o)
                .then(|| only(a, wrote_r, wrote_o, options))
                .flatten();
            // A store under a condition is compared as what it leaves: no input may satisfy the condition.
            let only = only.filter(|o| {
                let (side, t) = match o.side {
                    Side::Reference => (0, x),
                    Side::Optimized => (1, y),
                };
                !o.certain || !unset[side].keeps(&runs[side].store, t, array)
            });
            out.push(Element {
                array,
                off,
                bytes: bytes as u8,
                content: [x, y],
                only,
            });
        }
    }
    out
}

/// What must hold for an element to be equal, of which the store has the `content` after both runs.
pub(crate) fn condition(
    store: &mut TermStore,
    element: &Element,
    [x, y]: [TermId; 2],
    arrays: &Arrays,
) -> Condition {
    let Element {
        array,
        off,
        bytes,
        only,
        ..
    } = *element;
    let bound = arrays.0.get(array.0 as usize).and_then(|a| a.elem);
    let pairs = if only.is_some() {
        SmallVec::from_slice(&[(x, y)])
    } else {
        pairs(store, x, y, bound)
    };
    let ty = bound.or_else(|| {
        let f = encoded_format(store, x).or_else(|| encoded_format(store, y))?;
        Some(ElemTy::Float(f))
    });
    // A part is narrower than the element, or some parts are equal.
    let is_bits = |t| matches!(store.sort(t), Sort::Bits(_));
    let parts = pairs.iter().any(|&p| p != (x, y) && is_bits(p.0));
    Condition {
        array,
        off,
        bytes,
        ty,
        pairs,
        whole: (parts && only.is_none()).then_some((x, y)),
        only,
        alike: 0,
    }
}

/// Terms of one store below which nothing of an array before the launch was found.
#[derive(Default)]
struct Kept {
    without: FxHashSet<TermId>,
}

impl Kept {
    /// Whether what an element holds after the run may be what its array held before.
    fn keeps(&mut self, store: &TermStore, t: TermId, array: ArrayId) -> bool {
        let (mut open, mut seen) = (vec![t], Vec::new());
        while let Some(t) = open.pop() {
            if !self.without.insert(t) {
                continue;
            }
            seen.push(t);
            if let Term::Elem { array: a, .. } | Term::Bytes { array: a, .. } = store.get(t)
                && a == array
            {
                for t in seen {
                    self.without.remove(&t);
                }
                return true;
            }
            store.children(t, |c| open.push(c));
        }
        false
    }
}

/// What it means that the kernels write different bytes of an element.
fn only(a: &Array, wrote_r: u8, wrote_o: u8, options: &Options) -> Option<Only> {
    // The kernel that writes a byte that the other does not, and what was run of the other.
    let (side, other) = if wrote_r & !wrote_o != 0 {
        (Side::Reference, options.optimized)
    } else {
        (Side::Optimized, options.reference)
    };
    let whole = other == Coverage::WholeGrid;
    let certain = whole && a.role == Some(Role::Out);
    (certain || !whole).then_some(Only { side, certain })
}
