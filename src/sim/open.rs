//! Accumulators: sums that grow by a product at a time, kept open while they do.
//!
//! The problem: a matrix product of depth K makes K multiply-adds for each output. As nodes of a
//! chain each of them is hashed into the term store, a cache miss or two, and nobody ever looks
//! at the links of the chain. So a lane may hold an *open sum*: products appended to a log of
//! its own, which becomes one term, sorted and shared, when something other than an addition
//! reads it.
//!
//! The log is persistent: an open sum names a prefix of a list of chunks, and appending never
//! changes what an older name means. Registers are therefore copied freely, and both arms of a
//! data-dependent branch may extend the same sum. A chunk is one cache line. Where the lanes of a
//! warp extend their sums together, one log serves them all ([`together`]).
//!
//! What it stands for is what the chain of `add` and `mul` terms stands for; short sums become
//! exactly that chain, so that idioms of a few instructions look the same as without this.
//!
//! Not claimed: that a closed sum is canonical; that is the work of `norm`.

mod bits;
mod together;

use crate::kernel::Fmt;
use crate::term::{Term, TermId, TermStore};
use crate::work;

use super::value::{Val, Values, open_sum};
use super::warp::{LANES, lanes};
use together::{Ids, SHARED, Together};

/// Products of a chunk; with the header they fill a cache line.
const CHUNK: usize = 6;

/// Sums of at most this many products become a chain of additions.
const SHORT: usize = 8;

const NONE: u32 = u32::MAX;

/// A prefix of an open sum: the first products of a chunk and everything in the chunks before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OpenSum {
    /// The last chunk; with [`together::SHARED`] one of a whole warp.
    pub chunk: u32,
    /// Number of products of that chunk, at least 1.
    pub len: u8,
    /// Whose products of a chunk of a warp; else 0.
    pub lane: u8,
}

/// What is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reals.
    Real,
    /// Bits of a width, 32 or 64, modulo 2 to its power.
    Bits(u8),
}

/// What no sum is.
const NOTHING: OpenSum = OpenSum {
    chunk: NONE,
    len: 0,
    lane: 0,
};

#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Chunk {
    /// What comes before.
    prev: OpenSum,
    len: u8,
    /// The term of the sum up to here is `closed` if this is its length in this chunk, not 0.
    closed_len: u8,
    closed: u32,
    products: [[u32; 2]; CHUNK],
}

/// All open sums of a run.
#[derive(Debug, Default)]
pub struct OpenSums {
    chunks: Vec<Chunk>,
    together: Together,
    scratch: Vec<(TermId, TermId)>,
}

impl OpenSums {
    /// Memory in bytes that the sums take.
    pub fn footprint(&self) -> u64 {
        (self.chunks.capacity() * size_of::<Chunk>()) as u64 + self.together.footprint()
    }

    fn start(&mut self, prev: OpenSum, products: &[[u32; 2]]) -> OpenSum {
        let mut all = [[0; 2]; CHUNK];
        all[..products.len()].copy_from_slice(products);
        let chunk = self.chunks.len() as u32;
        self.chunks.push(Chunk {
            prev,
            len: products.len() as u8,
            closed_len: 0,
            closed: 0,
            products: all,
        });
        OpenSum {
            chunk,
            len: products.len() as u8,
            lane: 0,
        }
    }

    /// The term of a sum, if it has been closed.
    fn closed(&self, s: OpenSum) -> Option<TermId> {
        if s.chunk & SHARED != 0 {
            return self.together.closed(s);
        }
        let c = &self.chunks[s.chunk as usize];
        (c.closed_len == s.len).then_some(TermId(c.closed))
    }

    /// Keeps the term of a sum.
    fn set_closed(&mut self, s: OpenSum, t: TermId) {
        if s.chunk & SHARED != 0 {
            return self.together.set_closed(s, t);
        }
        let c = &mut self.chunks[s.chunk as usize];
        (c.closed_len, c.closed) = (s.len, t.0);
    }

    /// The sum `s` plus the product of `x` and `y`; `one` is the constant 1.
    #[inline]
    fn append(&mut self, s: OpenSum, x: TermId, y: TermId, one: TermId) -> OpenSum {
        if let Some(t) = self.closed(s) {
            // What is a term already goes on as that term, which others share.
            return self.start(NOTHING, &[[t.0, one.0], [x.0, y.0]]);
        }
        let n = s.len as usize;
        if s.chunk & SHARED != 0 || n == CHUNK {
            return self.start(s, &[[x.0, y.0]]);
        }
        let c = &mut self.chunks[s.chunk as usize];
        if c.len == s.len {
            c.products[n] = [x.0, y.0];
            c.len += 1;
            return OpenSum {
                len: s.len + 1,
                ..s
            };
        }
        // Another has extended this prefix: go on with a copy of the chunk.
        let (prev, mut products) = (c.prev, c.products);
        products[n] = [x.0, y.0];
        self.start(prev, &products[..n + 1])
    }

    /// Collects the products of a sum, first ones first.
    fn collect(&mut self, s: OpenSum, one: TermId) {
        self.scratch.clear();
        let mut at = s;
        while at != NOTHING {
            if let Some(t) = self.closed(at) {
                self.scratch.push((t, one));
                break;
            }
            if at.chunk & SHARED != 0 {
                at = self.together.collect(at, &mut self.scratch);
                continue;
            }
            let c = &self.chunks[at.chunk as usize];
            let pairs = c.products[..at.len as usize].iter().rev();
            self.scratch
                .extend(pairs.map(|[x, y]| (TermId(*x), TermId(*y))));
            at = c.prev;
        }
        self.scratch.reverse();
    }
}

/// What a factor of a product means for an open sum.
enum Factor {
    Plain,
    Constant,
    /// An infinity or nothing: the rules of `add` and `mul` for these are needed.
    Odd,
}

fn factor(store: &TermStore, t: TermId) -> Factor {
    match store.get(t) {
        Term::Const(_) => Factor::Constant,
        Term::Inf { .. } | Term::Undefined => Factor::Odd,
        _ => Factor::Plain,
    }
}

impl Values {
    /// The open sum that an addend is, or can start: a real that is a sum already. One product
    /// alone is no accumulator.
    #[inline]
    pub fn opened(&mut self, fmt: Fmt, v: Val) -> Option<OpenSum> {
        match v {
            // The order of an addition is part of how a number was made.
            _ if self.trees.is_some() => None,
            Val::Open(f, s) if f == fmt => Some(s),
            Val::Real(f, t) if f == fmt => match self.store.get(t) {
                Term::Add(..) | Term::Sum(_) => {
                    let one = self.one();
                    Some(self.open.start(NOTHING, &[[t.0, one.0]]))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The real constant 1.
    #[inline]
    pub fn one(&mut self) -> TermId {
        match self.one {
            Some(t) => t,
            None => {
                let t = self.store.integer(1);
                self.one = Some(t);
                t
            }
        }
    }

    /// `s + x * y`; `None` where the rules for constants and infinities decide what that is.
    #[inline]
    pub fn extend(&mut self, s: OpenSum, x: TermId, y: TermId) -> Option<OpenSum> {
        match (factor(&self.store, x), factor(&self.store, y)) {
            (Factor::Plain, Factor::Plain) => {}
            (Factor::Odd, _) | (_, Factor::Odd) | (Factor::Constant, Factor::Constant) => {
                return None;
            }
            _ => {
                let s_zero = |a, b| self.store.is_zero(a) && self.store.is_total(b);
                if s_zero(x, y) || s_zero(y, x) {
                    return Some(s);
                }
            }
        }
        let one = self.one();
        Some(self.open.append(s, x, y, one))
    }

    /// As [`Values::extend`] with what lane words pack, where nothing but an append is needed.
    #[inline]
    pub fn extend_words(&mut self, sum: u64, x: u32, y: u32) -> Option<OpenSum> {
        self.append(open_sum(sum), TermId(x), TermId(y))
    }

    /// The sums of the lanes of a mask, each extended by the product of its factors, in lane words;
    /// the sum of lane 0 stands for all, which differ in nothing else. `None` where each lane is for
    /// itself.
    pub fn extend_together(
        &mut self,
        kind: Kind,
        mask: u32,
        sums: &[u64; LANES],
        x: &[u64; LANES],
        y: &[u64; LANES],
    ) -> Option<OpenSum> {
        let ordinary = |words: &[u64; LANES]| {
            let mut last = NONE;
            lanes(mask).all(|lane| {
                let t = words[lane] as u32;
                let is_same = std::mem::replace(&mut last, t) == t;
                is_same || self.is_factor(kind, TermId(t))
            })
        };
        if !ordinary(x) || !ordinary(y) {
            return None;
        }
        let factor = |words| Ids { words, mask };
        let together = &mut self.open.together;
        together.append(mask, sums, factor(x), factor(y))
    }

    /// As [`Values::extend`], where nothing but an append is needed.
    #[inline]
    pub fn append(&mut self, sum: OpenSum, x: TermId, y: TermId) -> Option<OpenSum> {
        self.append_as(Kind::Real, sum, x, y)
    }

    /// The same for a sum of a kind.
    #[inline]
    pub fn append_as(&mut self, kind: Kind, sum: OpenSum, x: TermId, y: TermId) -> Option<OpenSum> {
        if !self.is_factor(kind, x) || !self.is_factor(kind, y) {
            return None;
        }
        let one = self.one_of(kind);
        Some(self.open.append(sum, x, y, one))
    }

    /// True for a factor that no rule about constants concerns.
    #[inline]
    fn is_factor(&self, kind: Kind, t: TermId) -> bool {
        match kind {
            Kind::Real => self.store.is_ordinary(t),
            Kind::Bits(width) => self.store.is_plain_bits(t, width),
        }
    }

    fn one_of(&mut self, kind: Kind) -> TermId {
        match kind {
            Kind::Real => self.one(),
            Kind::Bits(width) => self.bits_one(width),
        }
    }

    /// The term of an open sum.
    pub fn close(&mut self, s: OpenSum) -> TermId {
        if let Some(t) = self.open.closed(s) {
            return t;
        }
        let one = self.one();
        self.open.collect(s, one);
        let mut products = std::mem::take(&mut self.open.scratch);
        let t = if products.len() <= SHORT {
            let mut t = None;
            for &(x, y) in &products {
                let p = self.store.mul(x, y);
                t = Some(t.map_or(p, |t| self.store.add(t, p)));
            }
            t.unwrap_or_else(|| self.store.integer(0))
        } else {
            self.unroll(&mut products, one);
            // A sum that began with 0 is the same without it.
            let (base, factor) = products[0];
            let skip = (factor == one && self.store.is_zero(base)) as usize;
            self.store.sum(&products[skip..])
        };
        self.open.scratch = products;
        self.open.set_closed(s, t);
        t
    }

    /// Replaces a first term that is a short chain of additions by its operands.
    fn unroll(&mut self, products: &mut Vec<(TermId, TermId)>, one: TermId) {
        for _ in 0..SHORT {
            let (base, y) = products[0];
            if y != one {
                return;
            }
            match self.store.get(base) {
                Term::Add(a, b) => {
                    // The operand that is a sum itself stays in front.
                    let deeper = matches!(self.store.get(a), Term::Add(..) | Term::Sum(_));
                    let (first, other) = if deeper { (a, b) } else { (b, a) };
                    products[0] = (first, one);
                    products.push(self.as_product(other, one));
                }
                _ => break,
            }
        }
        let (base, _) = products[0];
        products[0] = self.as_product(base, one);
    }

    fn as_product(&self, t: TermId, one: TermId) -> (TermId, TermId) {
        match self.store.get(t) {
            Term::Mul(x, y) => (x, y),
            _ => (t, one),
        }
    }

    /// `c` plus the sum of the products, as a value of a format. Factors that are infinities
    /// follow the rules of `add` and `mul`.
    pub fn accumulate(&mut self, fmt: Fmt, c: Val, products: &[(TermId, TermId)]) -> Val {
        /// Products that are appended to an open sum in the time of a term.
        const A_UNIT: u64 = 8;
        work::spend((products.len() as u64).div_ceil(A_UNIT));
        if let Some(v) = self.total(fmt, c, products) {
            return v;
        }
        if let Some(v) = self.product_word(fmt, c, products) {
            return v;
        }
        match self.product.filter(|_| self.trees.is_some()) {
            Some((product, from, _)) => self.product_tree(product, (fmt, from), c, products),
            None => self.summed(fmt, c, products),
        }
    }

    /// `c` plus the sum of the products, over the reals.
    pub fn summed(&mut self, fmt: Fmt, c: Val, products: &[(TermId, TermId)]) -> Val {
        let mut v = c;
        for (i, &(x, y)) in products.iter().enumerate() {
            let opened = match v {
                Val::Open(f, s) if f == fmt => Some(s),
                // A sum that will be long is opened at once.
                _ if i == 0 && products.len() > 1 => {
                    let t = self.real(v, fmt);
                    let one = self.one();
                    (!matches!(factor(&self.store, t), Factor::Odd))
                        .then(|| self.open.start(NOTHING, &[[t.0, one.0]]))
                }
                _ => self.opened(fmt, v),
            };
            v = match opened.and_then(|s| self.extend(s, x, y)) {
                Some(s) => Val::Open(fmt, s),
                None => {
                    let t = self.real(v, fmt);
                    let p = self.store.mul(x, y);
                    Val::Real(fmt, self.store.add(t, p))
                }
            };
        }
        v
    }
}

#[cfg(test)]
mod tests;
