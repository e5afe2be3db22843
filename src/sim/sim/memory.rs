//! Memory as cells of four bytes that remember which bytes of which value they hold.
//!
//! A region is one array, the shared memory of the CTA, the local memory of all threads, or the
//! parameter block. Its pages are made when first touched. A cell holds known bits, the whole of
//! a 32-bit value, or one half of a 64-bit value; anything else (packed halves, stored bytes) is
//! a bit-vector term built by concatenation, so every byte can be given back as what it was.
//!
//! Source: PTX ISA 9.0, section 5.1 (state spaces), section 9.7.9 (data movement).

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::kernel::{Fmt, IntTy, NumTy, Pc};
use crate::term::left::{self, piece_bytes};
use crate::term::{ArrayId, Left, TermId};

use super::address::provenance::Prov;
use super::state::recorded;
use super::val::{Val, is_number};
use super::value::Values;
use super::warp::{LANES, lanes};

/// Cells of a page.
const PAGE: usize = 1024;

const NONE: u64 = 0;
const CONC: u64 = 1;
const WORD: u64 = 2;
const LOW: u64 = 3;
const HIGH: u64 = 4;
/// Bytes whose values are absent; the low four bits tell which were never written.
const ABSENT: u64 = 5;
const UNSET_BYTES: u64 = 15;
/// A packed `Val` whose register is 64 bits wide stands in two cells; bits 60..63 tell which.
const KIND_SHIFT: u32 = 60;
const VAL_MASK: u64 = (1 << KIND_SHIFT) - 1;

/// What a region is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegionKind {
    /// An array of the pair.
    Array(ArrayId),
    /// Shared memory of the CTA.
    Shared,
    /// Local memory of all threads, one slice after the other.
    Local,
    /// The kernel parameters.
    Param,
}

/// What bytes hold before the kernel writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Initial {
    /// The input bytes of the array.
    Symbols(ArrayId),
    /// The bytes of [`Region::known`], as in a variable with an initialiser.
    Known,
    /// Nothing: reading them is an uninitialised read.
    Unset,
}

#[derive(Clone, Debug)]
struct Page {
    cells: Box<[u64; PAGE]>,
    /// Bit i: byte i of the cell was written by the kernel.
    written: Box<[u8; PAGE]>,
    /// The same of what was written before it began.
    before: Box<[u8; PAGE]>,
}

/// One region of memory.
#[derive(Clone, Debug)]
pub struct Region {
    /// What it is.
    pub kind: RegionKind,
    /// Content before the first write.
    pub initial: Initial,
    /// The bytes before the first write where they are known; zeros follow.
    pub known: Arc<[u8]>,
    /// Size in bytes, where known.
    pub extent: Option<u64>,
    /// True if a store to it is an error of the program.
    pub read_only: bool,
    /// True if what was never written may stand in it as a symbol, beneath a store that may not have happened or
    /// beside one of a part of a word.
    pub keeps: bool,
    /// What the launches before left in it; words of it are brought when they are first loaded.
    pub left: Option<Arc<Left>>,
    pages: Vec<Page>,
    dense: Vec<u32>,
    sparse: FxHashMap<u64, u32>,
    carried: FxHashMap<u64, Carried>,
}

/// What a word carries of bases.
#[derive(Clone, Copy, Debug, Hash)]
struct Carried {
    prov: Prov,
    /// The store that put it there.
    by: Option<Pc>,
    /// Bit i: byte i may carry something.
    bytes: u8,
}

/// The bytes of its first word that an access covers, a bit for each.
fn part_of(off: u64, bytes: u32) -> u8 {
    match bytes {
        4.. => 15,
        _ => ((1u8 << bytes) - 1) << (off % 4),
    }
}

const NO_PAGE: u32 = u32::MAX;
/// Pages below this number are found by index, the others by hashing.
const DENSE_PAGES: u64 = 1 << 16;

recorded!(Region { kind, initial, known, extent, read_only, keeps }
    tables { carried }
    beside { pages: "places", dense: "places", sparse: "places", left: "no instruction changes it" });

impl Region {
    /// The pages that were touched, in address order: the number of each, and which of [`Region::pages`] it is.
    fn pages(&self) -> Vec<(u64, usize)> {
        let dense = (0..).zip(&self.dense).filter(|(_, i)| **i != NO_PAGE);
        let all = dense.chain(self.sparse.iter().map(|(page, i)| (*page, i)));
        let mut all: Vec<(u64, usize)> = all.map(|(page, i)| (page, *i as usize)).collect();
        all.sort_unstable();
        all
    }

    /// The words that are not as they were before the first write, with what they hold and which bytes were written.
    pub(super) fn words(&self) -> impl Iterator<Item = (u64, u64, u8)> {
        self.pages().into_iter().flat_map(|(page, at)| {
            let Page { cells, written, .. } = &self.pages[at];
            let words = (page * PAGE as u64..).zip(cells.iter().zip(written.iter()));
            let words = words.map(|(word, (cell, written))| (word, *cell, *written));
            words.filter(|(_, cell, written)| (*cell, *written) != (0, 0))
        })
    }

    /// An untouched region.
    pub fn new(kind: RegionKind, initial: Initial, extent: Option<u64>) -> Self {
        Region {
            kind,
            initial,
            known: Arc::default(),
            extent,
            read_only: false,
            keeps: false,
            left: None,
            pages: Vec::new(),
            dense: Vec::new(),
            sparse: FxHashMap::default(),
            carried: FxHashMap::default(),
        }
    }

    /// True if some word carries a base.
    #[inline]
    pub fn has_carried(&self) -> bool {
        !self.carried.is_empty()
    }

    /// True if some of these bytes lie in words that carry a base.
    pub fn carries(&self, off: u64, bytes: u32) -> bool {
        self.has_carried()
            && (off / 4..(off + u64::from(bytes)).div_ceil(4))
                .any(|w| self.carried.contains_key(&w))
    }

    /// What a word carries.
    pub fn prov(&self, word: u64) -> Prov {
        match self.has_carried() {
            true => self.carried.get(&word).map_or(Prov::NONE, |c| c.prov),
            false => Prov::NONE,
        }
    }

    /// Lets a word carry something that a store put there.
    pub fn set_prov(&mut self, word: u64, p: Prov, by: Option<Pc>) {
        if p.is_none() {
            self.carried.remove(&word);
        } else {
            let (prov, bytes) = (p, 15);
            self.carried.insert(word, Carried { prov, by, bytes });
        }
    }

    /// The same of a store to a part of a word: the bytes of the others carry what they did.
    pub fn set_part_prov(&mut self, (off, bytes): (u64, u32), p: Prov, adds: bool, by: Option<Pc>) {
        let before = self.carried.get(&(off / 4)).map_or(0, |c| c.bytes);
        self.set_prov(off / 4, p, by);
        if let Some(c) = self.carried.get_mut(&(off / 4)) {
            c.bytes = before | if adds { part_of(off, bytes) } else { 0 };
        }
    }

    /// The bits of a word that are known.
    pub fn known_word(&self, word: u64) -> Option<u64> {
        let cell = self.cell(word);
        (cell >> KIND_SHIFT == CONC).then_some(cell & 0xffff_ffff)
    }

    /// True if two words are the halves of one value.
    pub fn is_one_value(&self, word: u64) -> bool {
        let (a, b) = (self.cell(word), self.cell(word + 1));
        (a >> KIND_SHIFT, b >> KIND_SHIFT) == (LOW, HIGH) && a & VAL_MASK == b & VAL_MASK
    }

    /// The first word of an array that a store of the kernel lets depend on a base.
    pub fn leftover(&self) -> Option<(u64, Pc)> {
        let RegionKind::Array(_) = self.kind else {
            return None;
        };
        let of = |(word, c): (&u64, &Carried)| Some((*word, c.by?));
        self.carried.iter().filter_map(of).min()
    }

    /// A store to these bytes, which carry nothing any more; what is left of a word is not known.
    fn drop_carried(&mut self, off: u64, bytes: u32) {
        let part = part_of(off, bytes);
        for word in off / 4..(off + u64::from(bytes)).div_ceil(4) {
            let Some(c) = self.carried.get_mut(&word) else {
                continue;
            };
            c.bytes &= !part;
            c.prov = Prov::OPAQUE;
            if c.bytes == 0 {
                self.carried.remove(&word);
            }
        }
    }

    #[inline]
    fn find(&self, page: u64) -> Option<usize> {
        let i = if page < DENSE_PAGES {
            *self.dense.get(page as usize)?
        } else {
            *self.sparse.get(&page)?
        };
        (i != NO_PAGE).then_some(i as usize)
    }

    fn page(&mut self, page: u64) -> usize {
        if let Some(i) = self.find(page) {
            return i;
        }
        let i = self.pages.len() as u32;
        self.pages.push(Page {
            cells: Box::new([NONE; PAGE]),
            written: Box::new([0; PAGE]),
            before: Box::new([0; PAGE]),
        });
        if page < DENSE_PAGES {
            let p = page as usize;
            if self.dense.len() <= p {
                self.dense.resize(p + 1, NO_PAGE);
            }
            self.dense[p] = i;
        } else {
            self.sparse.insert(page, i);
        }
        i as usize
    }

    /// The cell of a word as it stands in its page.
    #[inline]
    fn raw(&self, word: u64) -> u64 {
        match self.find(word / PAGE as u64) {
            Some(i) => self.pages[i].cells[word as usize % PAGE],
            None => NONE,
        }
    }

    #[inline]
    fn cell(&self, word: u64) -> u64 {
        let cell = self.raw(word);
        match self.initial {
            Initial::Known if cell == NONE => CONC << KIND_SHIFT | self.known_bits(word),
            _ => cell,
        }
    }

    /// The word that known contents begin with.
    #[inline]
    fn known_bits(&self, word: u64) -> u64 {
        let from = (word as usize).saturating_mul(4).min(self.known.len());
        let bytes = self.known[from..].iter().take(4);
        let place = bytes.zip(0..).map(|(b, i)| u64::from(*b) << (8 * i));
        place.sum()
    }

    #[inline]
    fn set(&mut self, word: u64, cell: u64, bytes: u8) {
        let i = self.page(word / PAGE as u64);
        let (p, at) = (&mut self.pages[i], word as usize % PAGE);
        p.cells[at] = cell;
        p.written[at] |= bytes;
    }

    /// Memory in bytes that the pages take.
    pub fn footprint(&self) -> u64 {
        self.pages.len() as u64 * (PAGE as u64 * 10) + self.dense.len() as u64 * 4
    }

    /// True if the kernel wrote some of these bytes, which lie in a word or are words.
    pub fn was_written(&self, off: u64, bytes: u32) -> bool {
        let mask = match bytes {
            4.. => 15,
            _ => ((1u32 << bytes) - 1) << (off % 4),
        };
        (off / 4..(off + u64::from(bytes)).div_ceil(4)).any(|word| {
            self.find(word / PAGE as u64)
                .is_some_and(|i| u32::from(self.pages[i].written[word as usize % PAGE]) & mask != 0)
        })
    }

    /// Forgets what was read and is not known; false if a byte that was written is not known.
    pub fn keep_known(&mut self, values: &mut Values) -> bool {
        let mut all = true;
        for i in 0..self.pages.len() {
            for at in 0..PAGE {
                let cell = self.pages[i].cells[at];
                if matches!(cell >> KIND_SHIFT, NONE | CONC) {
                    continue;
                }
                let held = self.pages[i].written[at] | self.pages[i].before[at];
                let known = known_bytes(values, cell, held);
                all &= known.is_some();
                self.pages[i].cells[at] = match known {
                    Some(bits) if held != 0 => CONC << KIND_SHIFT | bits,
                    _ => NONE,
                };
            }
        }
        all
    }

    /// What was written so far was written before.
    pub fn begin(&mut self) {
        for page in &mut self.pages {
            for (before, written) in page.before.iter_mut().zip(page.written.iter_mut()) {
                *before |= std::mem::take(written);
            }
        }
    }

    /// A byte, where it is known.
    pub fn known_byte(&self, off: u64) -> Option<u8> {
        let cell = self.cell(off / 4);
        let known = cell >> KIND_SHIFT == CONC && self.holds(off);
        known.then(|| (cell >> (off % 4 * 8)) as u8)
    }

    /// True if a byte has initial content, or was written.
    fn holds(&self, off: u64) -> bool {
        let word = off / 4;
        let at = word as usize % PAGE;
        let page = self.find(word / PAGE as u64).map(|i| &self.pages[i]);
        let written = page.map_or(0, |p| p.written[at] | p.before[at]);
        self.initial != Initial::Unset || written >> (off % 4) & 1 == 1
    }

    /// Presets known bytes, as the initialiser of a variable does.
    pub fn preset(&mut self, off: u64, bytes: &[u8]) {
        for (i, &b) in bytes.iter().enumerate() {
            let at = off + i as u64;
            let (word, shift) = (at / 4, (at % 4) * 8);
            let old = match self.cell(word) {
                c if c >> KIND_SHIFT == CONC => c & 0xffff_ffff,
                _ => 0,
            };
            let new = old & !(0xff << shift) | (b as u64) << shift;
            self.set(word, CONC << KIND_SHIFT | new, 0);
        }
    }

    /// Presets a value of 32 or 64 bits.
    pub fn preset_value(&mut self, values: &mut Values, off: u64, bytes: u32, v: Val) {
        self.store_value(values, off, bytes, v, false);
    }

    /// The array whose symbols stand for what was never written in it.
    pub fn kept(&self) -> Option<ArrayId> {
        match (self.kind, self.initial) {
            (RegionKind::Array(a), Initial::Unset) if self.keeps => Some(a),
            _ => None,
        }
    }

    /// Loads what a store under a condition leaves as it is: bytes of an array that were never written are
    /// symbols, which only a load of the kernel makes uninitialised.
    pub fn load_beneath(&mut self, values: &mut Values, off: u64, ty: NumTy, site: u32) -> Val {
        let (RegionKind::Array(a), Initial::Unset) = (self.kind, self.initial) else {
            return self.load(values, off, ty, site);
        };
        if values.omits {
            values.missed |= self.reads_unset(off, ty.bits() / 8);
            return self.load(values, off, ty, site);
        }
        self.keeps = true;
        if self.left.is_some() {
            self.bring(values, off, ty.bits() / 8);
        }
        // A word that is not written stays none.
        if let (NumTy::Float(f), NONE) = (ty, self.cell(off / 4) >> KIND_SHIFT)
            && f.bits() == 32
        {
            return Val::Real(f, values.store.elem(a, f, off));
        }
        self.initial = Initial::Symbols(a);
        let v = self.load(values, off, ty, site);
        self.initial = Initial::Unset;
        v
    }

    fn initial_bits(&self, values: &mut Values, off: u64, width: u8, site: u32) -> TermId {
        match self.initial {
            Initial::Symbols(a) => values.store.bytes(a, off, width),
            Initial::Known => {
                let words = self.known_bits(off / 4) | self.known_bits(off / 4 + 1) << 32;
                values.store.bits(width, words >> (off % 4 * 8))
            }
            Initial::Unset => {
                values.missed |= values.omits;
                values.store.poison(width, site)
            }
        }
    }

    /// The bytes of a word that were never written, in a run without values.
    fn unset_bytes(&self, word: u64) -> u64 {
        let cell = self.cell(word);
        match (cell >> KIND_SHIFT, self.initial) {
            (ABSENT, _) => cell & UNSET_BYTES,
            (NONE, Initial::Unset) => UNSET_BYTES,
            _ => 0,
        }
    }

    /// True if a word is absent, or was never written.
    fn has_absent(&self, word: u64) -> bool {
        self.cell(word) >> KIND_SHIFT == ABSENT || self.unset_bytes(word) != 0
    }

    /// True if some of the bytes at an offset are absent; that one of them was never written is missed.
    fn reads_absent(&self, values: &mut Values, off: u64, bytes: u32) -> bool {
        let (first, last) = (off / 4, (off + u64::from(bytes) - 1) / 4);
        if (first..=last).all(|w| self.cell(w) >> KIND_SHIFT != ABSENT) {
            return false;
        }
        let read = ((1u64 << bytes.min(4)) - 1) << (off % 4);
        if (first..=last).any(|w| self.unset_bytes(w) & read != 0) {
            values.miss();
        }
        true
    }

    /// The lanes of a mask that read words of which all is written or input, and none is known bits.
    pub fn absent_lanes(&self, mask: u32, offs: &[u64; LANES], byte: u64, bytes: u32) -> u32 {
        let untouched = matches!(self.initial, Initial::Symbols(_));
        if untouched && self.pages.is_empty() {
            return mask;
        }
        let is_open = |cell: &u64| match cell >> KIND_SHIFT {
            NONE => untouched,
            ABSENT => cell & UNSET_BYTES == 0,
            kind => kind != CONC,
        };
        let (mut page, mut cells) = (u64::MAX, None);
        let mut absent = 0;
        for lane in lanes(mask) {
            let first = (offs[lane] + byte) / 4;
            let p = first / PAGE as u64;
            if p != page {
                page = p;
                cells = self.find(p).map(|i| &self.pages[i].cells);
            }
            let open = match cells {
                None => untouched,
                Some(cells) => {
                    let at = first as usize % PAGE;
                    // An access does not cross a page: it is aligned to its size.
                    cells[at..at + bytes as usize / 4].iter().all(is_open)
                }
            };
            absent |= (open as u32) << lane;
        }
        absent
    }

    /// Stores words whose values are absent for each lane of a mask.
    pub fn store_absent(&mut self, mask: u32, offs: &[u64; LANES], byte: u64, bytes: u32) {
        if self.has_carried() {
            for lane in lanes(mask) {
                self.drop_carried(offs[lane] + byte, bytes);
            }
        }
        let (mut page, mut at_page) = (u64::MAX, 0);
        for lane in lanes(mask) {
            let first = (offs[lane] + byte) / 4;
            if first / PAGE as u64 != page {
                page = first / PAGE as u64;
                at_page = self.page(page);
            }
            let at = first as usize % PAGE;
            let p = &mut self.pages[at_page];
            for i in at..at + bytes as usize / 4 {
                p.cells[i] = ABSENT << KIND_SHIFT;
                p.written[i] = 15;
            }
        }
    }

    /// Stores to a part of a word that is absent, or a part that is.
    fn store_part(&mut self, off: u64, bytes: u32, written: bool) {
        let part = ((1u64 << bytes) - 1) << (off % 4);
        let unset = self.unset_bytes(off / 4) & !part;
        let mask = if written { part as u8 } else { 0 };
        self.set(off / 4, ABSENT << KIND_SHIFT | unset, mask);
    }

    /// The 32 bits of a cell as a term.
    fn word_bits(&self, values: &mut Values, word: u64, site: u32) -> TermId {
        let cell = self.cell(word);
        match cell >> KIND_SHIFT {
            CONC => values.store.bits(32, cell),
            WORD => values.bits(unpack(cell), 32),
            ABSENT => {
                values.miss();
                values.store.bits(32, 0)
            }
            k @ (LOW | HIGH) => {
                let t = values.bits(unpack(cell), 64);
                values.store.extract(t, if k == LOW { 0 } else { 32 }, 32)
            }
            _ => self.initial_bits(values, word * 4, 32, site),
        }
    }

    /// True if any byte of the range was never written and has no initial content.
    pub fn reads_unset(&self, off: u64, bytes: u32) -> bool {
        self.initial == Initial::Unset
            && (off / 4..(off + bytes as u64).div_ceil(4))
                .any(|w| self.cell(w) >> KIND_SHIFT == NONE || self.unset_bytes(w) != 0)
    }

    /// Loads `ty` at a byte offset that is a multiple of its size. `site` numbers the place for
    /// uninitialised bytes.
    #[inline]
    pub fn load(&mut self, values: &mut Values, off: u64, ty: NumTy, site: u32) -> Val {
        let bits = ty.bits();
        if self.left.is_some() {
            self.bring(values, off, bits / 8);
        }
        if values.omits && self.reads_absent(values, off, bits / 8) {
            return Val::Absent;
        }
        if bits == 32 {
            let cell = self.cell(off / 4);
            match cell >> KIND_SHIFT {
                CONC => return Val::Conc(cell & 0xffff_ffff),
                WORD => {
                    let v = unpack(cell);
                    let (NumTy::Float(f), Val::Bits(_)) = (ty, v) else {
                        return v;
                    };
                    // An input element that was copied as an integer: read as a number once.
                    let Some(v) = values.element(f, v) else {
                        return v;
                    };
                    self.set(off / 4, pack(WORD, v), 0);
                    return v;
                }
                NONE => {
                    if let (NumTy::Float(f), Initial::Symbols(a)) = (ty, self.initial) {
                        let v = Val::Real(f, values.store.elem(a, f, off));
                        self.set(off / 4, pack(WORD, v), 0);
                        return v;
                    }
                }
                _ => {}
            }
            let t = self.word_bits(values, off / 4, site);
            return values.of_bits(t);
        }
        self.load_bits(values, off, bits as u8, ty, site)
    }

    /// Loads the 32 bits at an offset for each lane of a mask, as far as they are known bits or a
    /// number: the lane words, and the lanes that are done, those that are numbers apart.
    ///
    /// A number is loaded as what it is, whatever the type of the load, as by [`load`](Self::load).
    #[inline]
    pub fn load_words(
        &self,
        mask: u32,
        offs: &[u64; LANES],
        byte: u64,
        out: &mut [u64; LANES],
    ) -> (u32, u32) {
        let (mut known, mut numbers) = (0, 0);
        // Lanes seldom lie on different pages.
        let (mut page, mut cells) = (u64::MAX, None);
        for lane in lanes(mask) {
            let word = (offs[lane] + byte) / 4;
            let p = word / PAGE as u64;
            if p != page {
                page = p;
                cells = self.find(p).map(|i| &self.pages[i].cells);
            }
            let Some(cells) = cells else { continue };
            let cell = cells[word as usize % PAGE];
            if cell >> KIND_SHIFT == CONC {
                out[lane] = cell & 0xffff_ffff;
                known |= 1 << lane;
            } else if cell >> KIND_SHIFT == WORD && is_number(cell & VAL_MASK) {
                out[lane] = cell & VAL_MASK;
                numbers |= 1 << lane;
            }
        }
        (known, numbers)
    }

    fn load_bits(&mut self, values: &mut Values, off: u64, width: u8, ty: NumTy, site: u32) -> Val {
        if width == 64 {
            let (lo, hi) = (self.cell(off / 4), self.cell(off / 4 + 1));
            match (lo >> KIND_SHIFT, hi >> KIND_SHIFT) {
                (CONC, CONC) => return Val::Conc(lo & 0xffff_ffff | hi << 32),
                (LOW, HIGH) if lo & VAL_MASK == hi & VAL_MASK => return unpack(lo),
                (NONE, NONE) => {
                    if let (NumTy::Float(f), Initial::Symbols(a)) = (ty, self.initial) {
                        return Val::Real(f, values.store.elem(a, f, off));
                    }
                }
                _ => {}
            }
            if (lo >> KIND_SHIFT, hi >> KIND_SHIFT) == (NONE, NONE) {
                return Val::Bits(self.initial_bits(values, off, 64, site));
            }
            let l = self.word_bits(values, off / 4, site);
            let h = self.word_bits(values, off / 4 + 1, site);
            let t = values.store.concat(&[l, h]);
            return values.of_bits(t);
        }
        let cell = self.cell(off / 4);
        let shift = (off % 4 * 8) as u8;
        match cell >> KIND_SHIFT {
            CONC => {
                return Val::Conc((cell & 0xffff_ffff) >> shift & ((1 << width) - 1));
            }
            NONE => {
                if let (NumTy::Float(f), Initial::Symbols(a)) = (ty, self.initial) {
                    return Val::Real(f, values.store.elem(a, f, off));
                }
                let t = self.initial_bits(values, off, width, site);
                return Val::Bits(t);
            }
            _ => {}
        }
        let t = self.word_bits(values, off / 4, site);
        let t = values.field(t, shift, width);
        values.of_bits(t)
    }

    /// Stores the low `bytes` (1, 2, 4, 8) of a value at a multiple of that size.
    #[inline]
    pub fn store(&mut self, values: &mut Values, off: u64, bytes: u32, v: Val) {
        self.store_value(values, off, bytes, v, true);
    }

    fn store_value(&mut self, values: &mut Values, off: u64, bytes: u32, v: Val, written: bool) {
        if self.has_carried() {
            self.drop_carried(off, bytes);
        }
        let word = off / 4;
        let mark = |n: u8| if written { n } else { 0 };
        match (bytes, v) {
            (8, Val::Absent) => {
                for w in [word, word + 1] {
                    self.set(w, ABSENT << KIND_SHIFT, mark(15));
                }
            }
            (4, Val::Absent) => self.set(word, ABSENT << KIND_SHIFT, mark(15)),
            (_, Val::Absent) => self.store_part(off, bytes, written),
            (1 | 2, _) if values.omits && self.has_absent(word) => {
                self.store_part(off, bytes, written);
            }
            (4, Val::Conc(b)) => self.set(word, CONC << KIND_SHIFT | b & 0xffff_ffff, mark(15)),
            (4, Val::Real(f, _)) if f.bits() == 32 => self.set(word, pack(WORD, v), mark(15)),
            (8, Val::Conc(b)) => {
                let kind = CONC << KIND_SHIFT;
                self.set(word, kind | b & 0xffff_ffff, mark(15));
                self.set(word + 1, kind | b >> 32, mark(15));
            }
            (8, _) => {
                let v = match v {
                    Val::Real(Fmt::F64, _) => v,
                    _ => values.of_bits_plain(v, 64),
                };
                self.set(word, pack(LOW, v), mark(15));
                self.set(word + 1, pack(HIGH, v), mark(15));
            }
            (4, _) => {
                let v = values.of_bits_plain(v, 32);
                let cell = match v {
                    Val::Conc(b) => CONC << KIND_SHIFT | b,
                    _ => pack(WORD, v),
                };
                self.set(word, cell, mark(15));
            }
            _ => {
                let (shift, width) = ((off % 4 * 8) as u8, (bytes * 8) as u8);
                let mask = mark((((1u32 << bytes) - 1) << (off % 4)) as u8);
                if self.left.is_some() {
                    self.bring(values, 4 * word, 4);
                }
                let cell = self.cell(word);
                if let (CONC, Val::Conc(b)) = (cell >> KIND_SHIFT, v) {
                    let m = ((1u64 << width) - 1) << shift;
                    let new = cell & 0xffff_ffff & !m | b << shift & m;
                    self.set(word, CONC << KIND_SHIFT | new, mask);
                    return;
                }
                let ty = NumTy::Int(IntTy {
                    width: 32,
                    signed: false,
                });
                let old = self.load_beneath(values, word * 4, ty, u32::MAX);
                let (old, new) = (values.bits(old, 32), values.bits(v, width));
                let mut parts = Vec::with_capacity(3);
                if shift > 0 {
                    parts.push(values.store.extract(old, 0, shift));
                }
                parts.push(new);
                let end = shift + width;
                if end < 32 {
                    parts.push(values.store.extract(old, end, 32 - end));
                }
                let t = values.store.concat(&parts);
                let v = values.of_bits(t);
                let cell = match v {
                    Val::Conc(b) => CONC << KIND_SHIFT | b,
                    _ => pack(WORD, v),
                };
                self.set(word, cell, mask);
            }
        }
    }

    /// The written bytes, in address order: offset and number of each piece within a word.
    pub fn pieces(&self) -> Vec<(u64, u8)> {
        let mut out = Vec::new();
        for (page, i) in self.pages() {
            for (at, &mask) in self.pages[i].written.iter().enumerate() {
                let (mut mask, mut byte) = (mask, 0);
                while mask != 0 {
                    let skip = mask.trailing_zeros();
                    let n = (mask >> skip).trailing_ones();
                    let off = (page * PAGE as u64 + at as u64) * 4 + u64::from(byte + skip);
                    out.push((off, n as u8));
                    mask = u32::from(mask).checked_shr(skip + n).unwrap_or(0) as u8;
                    byte += skip + n;
                }
            }
        }
        out
    }

    /// The final content of the written bytes, in address order: offset and bits of each maximal
    /// piece within a word, 64-bit values whole.
    pub fn written(&self, values: &mut Values) -> Vec<(u64, TermId)> {
        let mut out = Vec::new();
        for (page, i) in self.pages() {
            let mut at = 0;
            while at < PAGE {
                let mask = self.pages[i].written[at];
                if mask == 0 {
                    at += 1;
                    continue;
                }
                let word = page * PAGE as u64 + at as u64;
                let cell = self.pages[i].cells[at];
                let next = self.pages[i].cells.get(at + 1).copied().unwrap_or(NONE);
                if cell >> KIND_SHIFT == LOW
                    && next >> KIND_SHIFT == HIGH
                    && next & VAL_MASK == cell & VAL_MASK
                {
                    let t = values.bits(unpack(cell), 64);
                    out.push((word * 4, t));
                    at += 2;
                    continue;
                }
                let t = self.word_bits(values, word, u32::MAX);
                let mut b = 0;
                while b < 4 {
                    if mask >> b & 1 == 0 {
                        b += 1;
                        continue;
                    }
                    let n = (mask >> b).trailing_ones() as u8;
                    let piece = values.store.extract(t, b * 8, n * 8);
                    out.push((word * 4 + b as u64, piece));
                    b += n;
                }
                at += 1;
            }
        }
        out
    }
}

impl Region {
    /// Brings what the launches before left of some bytes, unless something stands there.
    #[cold]
    fn bring(&mut self, values: &mut Values, off: u64, bytes: u32) {
        let Some(left) = self.left.take() else { return };
        let end = off + u64::from(bytes);
        for word in off / 4..end.div_ceil(4) {
            if self.raw(word) == NONE {
                self.bring_word(values, &left, word);
            }
        }
        self.left = Some(left);
    }

    fn bring_word(&mut self, values: &mut Values, left: &Left, word: u64) {
        let RegionKind::Array(a) = self.kind else {
            return;
        };
        let (lo, hi) = (4 * word, 4 * word + 4);
        let found = left.touching(a, lo, hi);
        let Some(&(start, end, piece)) = found.first() else {
            return;
        };
        // What launches left may keep symbols of an array that begins without content.
        self.keeps |= self.initial == Initial::Unset;
        let other = if start == lo {
            word + 1
        } else {
            word.wrapping_sub(1)
        };
        if end - start == 8 && start.is_multiple_of(4) && self.raw(other) == NONE {
            let t = left.piece(piece, &mut values.brought());
            let v = values.of_bits(t);
            self.store_value(values, start, 8, v, false);
            return;
        }
        let (initial, known) = (self.initial, self.known_bits(word));
        let t = left.bits(&found, (lo, hi), &mut values.brought(), |store, at, n| {
            let width = 8 * n as u8;
            Some(match initial {
                Initial::Symbols(_) | Initial::Unset => store.bytes(a, at, width),
                Initial::Known => {
                    let bits = known >> (8 * (at - lo));
                    store.bits(width, bits & (u64::MAX >> (64 - u32::from(width))))
                }
            })
        });
        let Some(t) = t else { return };
        let v = values.of_bits(t);
        self.store_value(values, lo, 4, v, false);
    }

    /// Puts what the launches before left over what was set before them.
    pub fn take_over(&mut self, values: &mut Values) {
        let (Some(left), false) = (self.left.clone(), self.pages.is_empty()) else {
            return;
        };
        let RegionKind::Array(a) = self.kind else {
            return;
        };
        for (&off, &piece) in left.pieces.get(&a).into_iter().flatten() {
            let end = off + piece_bytes(&left.store, piece);
            for at in off..end {
                if self.raw(at / 4) == NONE {
                    continue;
                }
                let t = left.piece(piece, &mut values.brought());
                let byte = values.store.extract(t, 8 * (at - off) as u8, 8);
                let v = values.of_bits(byte);
                self.store_value(values, at, 1, v, false);
            }
        }
    }
}

/// The bits of a word of which some bytes are wanted, if those are known; zeros for the others.
fn known_bytes(values: &mut Values, cell: u64, wanted: u8) -> Option<u64> {
    let whole = match cell >> KIND_SHIFT {
        WORD => values.bits(unpack(cell), 32),
        // A value of 64 bits is known as a whole, or not.
        _ => return (wanted == 0).then_some(0),
    };
    (0..4)
        .filter(|i| wanted >> i & 1 == 1)
        .try_fold(0, |bits, i| {
            let byte = values.store.extract(whole, 8 * i, 8);
            Some(bits | values.store.as_bits(byte)? << (8 * i))
        })
}

fn pack(kind: u64, v: Val) -> u64 {
    // The kinds of `Val` use the low three bits of the top byte; bits 60..63 are free.
    kind << KIND_SHIFT | v.pack().0
}

fn unpack(cell: u64) -> Val {
    Val::unpack(cell & VAL_MASK)
}

/// Extends a loaded value to its register: by sign for signed types, else by zeros. A shorter
/// register keeps the low bits.
pub fn extend(values: &mut Values, v: Val, ty: NumTy, reg_width: u8) -> Val {
    let width = ty.bits() as u8;
    if width == reg_width {
        return v;
    }
    let signed = matches!(ty, NumTy::Int(IntTy { signed: true, .. }));
    match v {
        Val::Absent => v,
        Val::Conc(b) if signed && width < reg_width => {
            let s = 64 - width as u32;
            let x = ((b << s) as i64 >> s) as u64;
            Val::Conc(x & (u64::MAX >> (64 - reg_width as u32)))
        }
        Val::Conc(b) => Val::Conc(b & (u64::MAX >> (64 - reg_width.min(width) as u32))),
        _ => {
            let b = values.bits(v, width);
            let t = if signed && width < reg_width {
                values.sign_extend(b, width, reg_width)
            } else {
                values.extended(b, false, reg_width)
            };
            values.of_bits(t)
        }
    }
}

impl Values {
    /// Where what the launches before left is copied to.
    pub(super) fn brought(&mut self) -> left::Copy<'_> {
        left::Copy {
            store: &mut self.store,
            copied: &mut self.brought,
            narrow: &mut self.narrow,
        }
    }

    /// The value in its plainest form at a width.
    pub fn of_bits_plain(&mut self, v: Val, width: u8) -> Val {
        let t = self.bits(v, width);
        self.of_bits(t)
    }

    /// Sign extension of a bit term.
    pub fn sign_extend(&mut self, t: TermId, from: u8, to: u8) -> TermId {
        let t = self.low(t, from);
        self.extended(t, true, to)
    }
}
