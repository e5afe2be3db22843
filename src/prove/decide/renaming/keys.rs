//! Keys of elements: equal for those whose terms differ by a distance in each array at most.
//!
//! A term has a hash of what it looks like and, for each array that may move, the first byte that it reads there. What
//! stands above it takes that relative to its own first byte, so that a whole term that is moved along has the same hash. An
//! element has the hashes of both contents, and how far apart they begin.
//!
//! Not claimed: that elements with equal keys are renamings of each other, or that those with different keys are not. All
//! keys take time that is linear in the terms, once for all elements.

use rustc_hash::FxHashMap;

use super::{FLIPS, Shapes, Terms, chosen, mix, operands};
use crate::decide::goal::Element;
use crate::term::TermId;
use crate::term::gather::distance;

/// What the terms of one kernel look like, wherever they read.
struct Looks {
    hash: Vec<u64>,
    /// Where the first bytes of each term begin, one for each array that may move, in the order of the bits.
    start: Vec<usize>,
    first: Vec<i64>,
}

impl Looks {
    fn new(terms: &Terms<'_>, movable: u64) -> Looks {
        let n = terms.store.len();
        let mut out = Looks {
            hash: vec![0; n],
            start: vec![0; n],
            first: Vec::new(),
        };
        for i in 0..n {
            let start = out.first.len();
            out.start[i] = start;
            let (shape, moves) = (terms.shape[i], terms.arrays[i] & movable);
            if shape == 0 {
                continue;
            }
            if !terms.inputs[i].is_none() && terms.inputs[i].array != FLIPS {
                let at = terms.places[i] / 8;
                match moves {
                    0 => out.hash[i] = mix(shape, at),
                    _ => out.first.push(at as i64),
                }
                continue;
            }
            out.first.extend((0..moves.count_ones()).map(|_| i64::MAX));
            let t = TermId(i as u32);
            let mut hash = shape;
            let place = chosen(terms.store, t).filter(|_| moves != 0);
            let own = place.map(|(p, off, _)| (super::slot(p.array), distance(off)));
            let own = own.filter(|&(array, _)| moves & 1 << array != 0);
            if let Some((array, at)) = own {
                let k = (moves & ((1 << array) - 1)).count_ones() as usize;
                out.first[start + k] = at;
            }
            operands(terms.store, t, |c| {
                let c = c.0 as usize;
                let own = &mut out.first;
                for (k, j) in shared(terms.arrays[c] & movable, moves) {
                    own[start + k] = own[start + k].min(own[out.start[c] + j]);
                }
            });
            if let Some((array, at)) = own {
                let k = (moves & ((1 << array) - 1)).count_ones() as usize;
                hash = mix(hash, at.wrapping_sub(out.first[start + k]) as u64);
            }
            let (is_sum, commutes) = (terms.store.is_sum(t), terms.store.commutes(t));
            let (mut sum, mut half) = (0u64, None);
            operands(terms.store, t, |c| {
                let c = c.0 as usize;
                let mut below = out.hash[c].wrapping_add(terms.shape[c]);
                for (k, j) in shared(terms.arrays[c] & movable, moves) {
                    let far = out.first[out.start[c] + j].wrapping_sub(out.first[start + k]);
                    below = mix(below, far as u64);
                }
                match (is_sum, half.take()) {
                    (true, None) => half = Some(below),
                    (true, Some(other)) => {
                        sum = sum.wrapping_add(mix(below.wrapping_add(other), below ^ other));
                    }
                    _ if commutes => sum = sum.wrapping_add(mix(below, 1)),
                    _ => hash = mix(hash, below),
                }
            });
            out.hash[i] = mix(hash, sum);
        }
        out
    }

    /// The first bytes of a term, by the bits of their arrays.
    fn first(&self, t: TermId, arrays: u64) -> impl Iterator<Item = (u32, i64)> {
        let start = self.start[t.0 as usize];
        bits(arrays).zip(self.first[start..].iter().copied())
    }
}

/// The places of the bits of a number, the lowest first.
fn bits(mut all: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (all != 0).then(|| all.trailing_zeros())?;
        all &= all - 1;
        Some(bit)
    })
}

/// For each bit of `of`, which is one of `all`: how many are below it in `all`, and in `of`.
fn shared(of: u64, all: u64) -> impl Iterator<Item = (usize, usize)> {
    let below = move |bit: u32| (all & ((1 << bit) - 1)).count_ones() as usize;
    bits(of).enumerate().map(move |(j, bit)| (below(bit), j))
}

/// For each element the first one with its key, which may be itself.
pub(super) fn twins(shapes: &Shapes<'_>, elements: &[Element]) -> Vec<usize> {
    let movable = shapes.movable & !(1 << FLIPS);
    let looks = shapes.terms.each_ref().map(|t| Looks::new(t, movable));
    let mut first: FxHashMap<(u64, u64), usize> = FxHashMap::default();
    let twin = |(i, e): (usize, &Element)| {
        let Some(class) = shapes.class(e) else {
            return i;
        };
        let [x, y] = e.content;
        let arrays = |k: usize, t: TermId| shapes.terms[k].arrays[t.0 as usize] & movable;
        let begins = looks[0].first(x, arrays(0, x));
        let begins: FxHashMap<u32, i64> = begins.collect();
        let mut far = 0;
        for (bit, at) in looks[1].first(y, arrays(1, y)) {
            if let Some(from) = begins.get(&bit) {
                far = mix(far, at.wrapping_sub(*from) as u64);
            }
        }
        let hashes = mix(looks[0].hash[x.0 as usize], looks[1].hash[y.0 as usize]);
        *first.entry((class, mix(hashes, far))).or_insert(i)
    };
    elements.iter().enumerate().map(twin).collect()
}
