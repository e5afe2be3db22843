//! Sums of bit vectors modulo a power of two.
//!
//! Problem: kernels add the same products of integers in different orders, and clamp, shift or compare
//! what comes out, so that the sum has to have one form wherever it stands. A chain of additions and of
//! products with constants becomes its operands with their coefficients, once each; a link that only
//! the chain uses is not looked at by itself.
//!
//! Because integers modulo 2^width are a commutative ring, each step keeps the value for every input.
//! What is not claimed: products of sums are not multiplied out, and a sum or product beyond a size is
//! one operand of another.

use super::NormError;
use super::bits::{Node, NodeId};
use super::ring::{Fail, Ring};
use super::sweep::{Chain, Normalizer, error};
use crate::term::{BitsOp, Sort, Term, TermId, pairs};

/// Sums of more operands than this are not taken apart within another.
const MAX_INNER: usize = 1 << 11;

/// Products of more factors than this are not taken apart within another.
const MAX_FACTORS: usize = 16;

/// Operands with coefficients, and a constant.
#[derive(Default)]
struct Operands {
    terms: Vec<(NodeId, u64)>,
    constant: u64,
}

impl Operands {
    /// Adds k * n.
    fn add(&mut self, ring: &mut Ring, n: NodeId, k: u64) -> Result<(), Fail> {
        match ring.nodes.get(n) {
            Node::Const(_, v) => self.constant = self.constant.wrapping_add(v.wrapping_mul(k)),
            Node::Sum(_, inner) if inner.len() <= MAX_INNER => {
                let scaled = inner.iter().map(|&(m, c)| (m, c.wrapping_mul(k)));
                self.terms.extend(scaled);
                let n = inner.len();
                ring.charge(n)?;
            }
            _ => self.terms.push((n, k)),
        }
        Ok(())
    }

    /// Adds k * x * y: constants and multiples become coefficients, and the other factors stand in one
    /// order, however they were multiplied.
    fn add_product(
        &mut self,
        ring: &mut Ring,
        x: NodeId,
        y: NodeId,
        mut k: u64,
    ) -> Result<(), Fail> {
        let (mut stack, mut factors) = (vec![x, y], Vec::new());
        while let Some(n) = stack.pop() {
            match ring.nodes.get(n) {
                Node::Const(_, c) => k = k.wrapping_mul(*c),
                Node::Sum(_, inner) if inner.len() == 1 => {
                    k = k.wrapping_mul(inner[0].1);
                    stack.push(inner[0].0);
                }
                Node::Op(BitsOp::Mul, a, b) if factors.len() < MAX_FACTORS => {
                    stack.extend([*a, *b]);
                }
                _ => factors.push(n),
            }
            ring.charge(1)?;
        }
        factors.sort_unstable();
        let Some((&first, others)) = factors.split_first() else {
            self.constant = self.constant.wrapping_add(k);
            return Ok(());
        };
        let times = |p, n: &NodeId| ring.node(Node::Op(BitsOp::Mul, p, *n));
        let product = others.iter().fold(first, times);
        // A single factor may itself be a sum.
        self.add(ring, product, k)
    }
}

impl Ring {
    /// match operands with coefficients; result each operand once, ascending, with the sum of its
    /// coefficients modulo 2^width, those that are 0 left out; because that is the same sum.
    fn bits_sum(&mut self, width: u8, mut of: Operands) -> NodeId {
        let mask = u64::MAX >> (64 - width as u32);
        if of.constant & mask != 0 {
            let one = self.node(Node::Const(width, 1));
            of.terms.push((one, of.constant));
        }
        let mut terms = of.terms;
        terms.sort_unstable();
        terms.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.wrapping_add(next.1);
            }
            same
        });
        for t in &mut terms {
            t.1 &= mask;
        }
        terms.retain(|t| t.1 != 0);
        match terms[..] {
            [] => self.node(Node::Const(width, 0)),
            [(n, c)] if matches!(self.nodes.get(n), Node::Const(..)) => {
                self.node(Node::Const(width, c))
            }
            [(n, 1)] => n,
            _ => self.node(Node::Sum(width, terms.into_boxed_slice())),
        }
    }
}

impl Normalizer<'_> {
    /// True for a sum or product of bits.
    pub(super) fn is_in_ring(&self, t: TermId) -> bool {
        matches!(
            self.store.get(t),
            Term::BitsOp(BitsOp::Add | BitsOp::Mul, ..) | Term::BitsSum(_)
        )
    }

    /// What a product of bits is part of: a sum if one of the factors is known.
    pub(super) fn scaled_bits(&self, a: TermId, b: TermId) -> Chain {
        match self.store.as_bits(a).is_some() || self.store.as_bits(b).is_some() {
            true => Chain::Bits,
            false => Chain::None,
        }
    }

    /// The sum at the top of a chain of such terms: all operands of its links, combined once.
    pub(super) fn gather_bits(&mut self, top: TermId) -> Result<NodeId, NormError> {
        let fail = |f: Fail| error(f, top);
        let store = self.store;
        let Sort::Bits(width) = store.sort(top) else {
            return Err(NormError::Undefined(top));
        };
        let mut sum = Operands::default();
        let mut stack = vec![(top, 1u64)];
        while let Some((t, k)) = stack.pop() {
            if t != top && self.is_known(t) {
                let n = self.bits(t)?;
                sum.add(&mut self.ring, n, k).map_err(fail)?;
                continue;
            }
            let products: Vec<(TermId, TermId)> = match store.get(t) {
                Term::BitsOp(BitsOp::Add, a, b) => {
                    stack.extend([(a, k), (b, k)]);
                    continue;
                }
                Term::BitsOp(BitsOp::Mul, a, b) => vec![(a, b)],
                Term::BitsSum(list) => {
                    self.ring.charge(list.len() / 2).map_err(fail)?;
                    pairs(list).collect()
                }
                _ => return Err(NormError::Limit(t)),
            };
            for (a, b) in products {
                match (store.as_bits(a), store.as_bits(b)) {
                    (Some(c), _) => stack.push((b, k.wrapping_mul(c))),
                    (_, Some(c)) => stack.push((a, k.wrapping_mul(c))),
                    _ => {
                        let (x, y) = (self.bits(a)?, self.bits(b)?);
                        sum.add_product(&mut self.ring, x, y, k).map_err(fail)?;
                    }
                }
            }
        }
        Ok(self.ring.bits_sum(width, sum))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::norm::{Equality, Limits, Normalizer};
    use crate::term::eval::{Inputs, Mode, evaluate};
    use crate::term::{ArrayId, BitsOp, TermId, TermStore};

    const EXACT: Mode = Mode::exact(64);

    /// A factor: an input, a constant, a product of two of those in either order.
    fn operand(s: &mut TermStore, i: u64) -> TermId {
        match i {
            9.. => {
                let (a, b) = (operand(s, i % 5), operand(s, i % 7));
                s.bits_op(BitsOp::Mul, a, b)
            }
            0..5 => s.bytes(ArrayId(0), i, 8),
            _ => s.bits(8, [2, 3, 255, 0x80][i as usize % 4]),
        }
    }

    /// The sum of the products as a chain, halves first, or in one.
    fn sum(s: &mut TermStore, of: &[(u64, u64)], shape: u8) -> TermId {
        let pairs: Vec<_> = of
            .iter()
            .map(|&(a, b)| (operand(s, a), operand(s, b)))
            .collect();
        let add = |s: &mut TermStore, a, b| s.bits_op(BitsOp::Add, a, b);
        match shape {
            0 => s.bits_sum(8, &pairs),
            1 => {
                let (x, y) = of.split_at(of.len() / 2);
                let (x, y) = (sum(s, x, 2), sum(s, y, 0));
                add(s, x, y)
            }
            _ => {
                let mut t = s.bits(8, 0);
                for (a, b) in pairs {
                    let p = s.bits_op(BitsOp::Mul, a, b);
                    t = add(s, p, t);
                }
                t
            }
        }
    }

    fn equal(s: &TermStore, a: TermId, b: TermId) -> bool {
        Normalizer::new(s, Limits::default()).equal(a, b) == Equality::Equal
    }

    /// Two sums have one form only if they are equal everywhere, and do if one is the other in
    /// another order.
    fn check(of: &[(u64, u64)], other: &[(u64, u64)], (p, q): (u8, u8), same: bool, input: u64) {
        let s = &mut TermStore::new();
        let (a, b) = (sum(s, of, p), sum(s, other, q));
        // As a condition and as a choice, too.
        let zero = s.bits(8, 0);
        let clamp = |s: &mut TermStore, t| {
            let below = s.icmp(crate::term::ICmp::SLt, t, zero);
            s.select(below, zero, t)
        };
        let (c, d) = (clamp(s, a), clamp(s, b));
        let found = equal(s, a, b);
        assert!(found || !same, "{of:?} {other:?}");
        assert!(equal(s, c, d) || !found);
        let mut inputs = Inputs::default();
        inputs.set(ArrayId(0), 0, 8, input);
        let v = evaluate(s, &[a, b, c, d], &inputs, EXACT);
        assert!(!found || v[0] == v[1] && v[2] == v[3]);
        assert!(!same || v[0] == v[1]);
    }

    proptest! {
        #[test]
        fn sums_have_one_form(
            of in proptest::collection::vec((0u64..25, 0u64..25), 1..20),
            other in proptest::collection::vec((0u64..3, 0u64..9), 1..4),
            shapes in (0u8..3, 0u8..3), input: u64,
        ) {
            let turned: Vec<_> = of.iter().rev().map(|&(a, b)| (b, a)).collect();
            // Shifts by constants are fields, which are no products.
            let shift = |a| matches!(a, 5 | 7 | 8) || a >= 9 && a % 7 == 5;
            let shifts = of.iter().any(|&(a, b)| shift(a) || shift(b));
            check(&of, &turned, shapes, !shifts, input);
            // (a * b) * c against a * (b * c).
            let s = &mut TermStore::new();
            let [a, b, c] = [of[0].0, of[0].1, other[0].1].map(|i| operand(s, i));
            let mul = |s: &mut TermStore, a, b| s.bits_op(BitsOp::Mul, a, b);
            let (ab, bc) = (mul(s, a, b), mul(s, b, c));
            let (x, y) = (mul(s, ab, c), mul(s, a, bc));
            prop_assert!(shifts || shift(other[0].1) || equal(s, x, y));
            check(&of[..of.len().min(3)], &other, shapes, false, input);
        }
    }
}
