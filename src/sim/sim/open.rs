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

use crate::term::TermId;

use together::{SHARED, Together};

mod bits;
mod exec;
mod together;

/// Products of a chunk; with the header they fill a cache line.
const CHUNK: usize = 6;

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
pub enum SumKind {
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
#[derive(Clone, Debug, Default)]
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

#[cfg(test)]
mod tests;
