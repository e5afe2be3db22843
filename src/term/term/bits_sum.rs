//! Sums of products of bit vectors.
//!
//! Problem: an integer matrix product adds up thousands of products for each output. As nodes of a
//! chain of additions each of them is looked up twice, and the order in which they came is part of the
//! term. Here they are one node: pairs of factors, in id order, however they came.
//!
//! Sound because integers modulo 2^width are a commutative ring: the order of products and of their
//! factors says nothing. What is not claimed: a canonical form; that is the work of `norm`.

use super::bits::mask;
use super::view::{self, BitsOp, Term};
use super::{TermId, TermStore, products};

impl TermStore {
    /// The sum of the products a * b modulo 2^width over the given pairs, all of that width.
    ///
    /// match products of constants, and 0 * x with x some bits; result one constant; because that is
    /// what they add up to for every input.
    pub fn bits_sum(&mut self, width: u8, pairs: &[(TermId, TermId)]) -> TermId {
        let start = self.lists.len();
        let (mut constant, mut total) = (0u64, true);
        for &(a, b) in pairs {
            let known = match (self.as_bits(a), self.as_bits(b)) {
                (Some(x), Some(y)) => Some(x.wrapping_mul(y)),
                (Some(0), _) if self.is_some_bits(b) => Some(0),
                (_, Some(0)) if self.is_some_bits(a) => Some(0),
                _ => None,
            };
            match known {
                Some(v) => constant = constant.wrapping_add(v),
                None => {
                    total &= self.is_total(a) && self.is_total(b);
                    self.lists.extend([a.0, b.0]);
                }
            }
        }
        if constant & mask(width) != 0 || self.lists.len() == start {
            let (c, one) = (self.bits(width, constant), self.bits(width, 1));
            self.lists.extend([c.0, one.0]);
        }
        if let [a, b] = self.lists[start..] {
            self.lists.truncate(start);
            return self.bits_op(BitsOp::Mul, TermId(a), TermId(b));
        }
        products::sort(&mut self.lists[start..]);
        self.insert_list((view::BITS_SUM, width as u16), start, total)
    }

    /// The factors of a product of bits, or the term and 1.
    pub fn factors(&mut self, t: TermId) -> (TermId, TermId) {
        match self.get(t) {
            Term::BitsOp(BitsOp::Mul, a, b) => (a, b),
            _ => {
                let width = self.width(t);
                (t, self.bits(width, 1))
            }
        }
    }
}
