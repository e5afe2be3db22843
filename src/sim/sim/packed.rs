//! Integer operations on terms, and packed bytes that are put in order and taken apart again and again.
//!
//! Problem: an integer product reads each word of its factors once for each row or column of the other,
//! and each time four bytes are cut out and extended, or eight are put in a new order: a dozen
//! look-ups in the term store for what was known before. Here one look-up each.
//!
//! Source: PTX ISA 9.0, sections 9.7.1.23 (`dp4a`) and 9.7.9.7 (`prmt`).
//!
//! What is kept are the terms that [`int_sym`](super::int_sym) makes; terms never change their meaning,
//! so nothing is ever dropped.

use crate::kernel::{IntOp, IntTy};
use crate::sim::val::Val;
use crate::sim::value::Values;
use crate::sim::{idiom, int_sym};
use crate::term::{Sort, TermId};

impl Values {
    /// The result of an operation on bit terms, by what it means where that is recognised; `None` if it has
    /// no expression.
    #[inline]
    pub fn integer(&mut self, op: IntOp, ty: IntTy, args: [TermId; 4]) -> Option<TermId> {
        let [a, b, c, _] = args;
        let permutes = op == IntOp::Prmt;
        if permutes && let Some(&known) = self.packed.permuted.get(&[a, b, c]) {
            return Some(known);
        }
        let store = &mut self.store;
        let made = idiom::recognise(store, op, ty, args)
            .or_else(|| int_sym::symbolic(store, op, ty, args))?;
        if permutes {
            self.packed.permuted.insert([a, b, c], made);
        }
        Some(made)
    }

    /// `c` plus the products of the bytes of two words that depend on data, each with its sign or without;
    /// `None` if the words are anything else.
    pub fn packed_dot(&mut self, (sa, sb): (bool, bool), v: [Val; 4]) -> Option<Val> {
        let [Val::Bits(a), Val::Bits(b), c, _] = v else {
            return None;
        };
        if !matches!(c, Val::Conc(_) | Val::Bits(_) | Val::Sum(32, _)) {
            return None;
        }
        let (x, y) = (self.bytes_of(a, sa)?, self.bytes_of(b, sb)?);
        let mut products = [(a, b); 4];
        for (p, pair) in products.iter_mut().zip(x.into_iter().zip(y)) {
            *p = pair;
        }
        Some(self.accumulate_bits(32, c, &products))
    }

    fn bytes_of(&mut self, word: TermId, signed: bool) -> Option<[TermId; 4]> {
        if let Some(&known) = self.packed.bytes.get(&(word, signed)) {
            return Some(known);
        }
        let store = &mut self.store;
        if store.sort(word) != Sort::Bits(32) {
            return None;
        }
        let made = int_sym::elements(store, word, (8, signed), 0);
        self.packed.bytes.insert((word, signed), made);
        Some(made)
    }
}
