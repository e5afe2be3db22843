//! Chains of additions, and of maxima: many operands that are combined once.
//!
//! Problem: chains of additions are a million deep and their partial sums of no interest. A link
//! of a chain that only the chain uses is not normalised by itself: its operands are gathered by
//! the top of the chain and combined once. A link with several users is normalised once and is an
//! operand. Chains of maxima, and of additions of bits, likewise.

use super::{Normalizer, error};
use crate::norm::NormError;
use crate::norm::monomial::Mono;
use crate::norm::poly::PTerm;
use crate::norm::rat::Coef;
use crate::norm::ring::require;
use crate::norm::ring::{Fail, Ring};
use crate::norm::rules::Rule;
use crate::norm::value::Val;
use crate::term::{BitsOp, Term, TermId, pairs};

/// What a term is a link of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::norm) enum Chain {
    None,
    Sum,
    Max,
    /// Additions of bits.
    Bits,
}

/// Reached once, as a link of a chain.
pub(super) const LINK: u8 = 1;
/// Normalised by itself.
const NODE: u8 = 2;

impl Normalizer<'_> {
    fn is_link(&self, t: TermId) -> bool {
        match self.store.get(t) {
            Term::Add(..) | Term::Neg(_) | Term::Sum(_) => true,
            Term::Mul(a, b) => self.is_const(a) || self.is_const(b),
            _ => false,
        }
    }

    /// The terms to handle for `root`, ascending, with `seen` telling links from nodes.
    pub(super) fn reach(&mut self, root: TermId) -> Vec<TermId> {
        let mut order = Vec::new();
        let mut stack = vec![(root, Chain::None)];
        while let Some((t, from)) = stack.pop() {
            let i = t.0 as usize;
            if self.seen[i] != 0 {
                self.seen[i] = NODE;
                continue;
            }
            if self.is_ready(t) {
                continue;
            }
            let store = self.store;
            let chain = match store.get(t) {
                Term::Add(a, b) => {
                    stack.push((a, Chain::Sum));
                    stack.push((b, Chain::Sum));
                    Chain::Sum
                }
                Term::Neg(a) => {
                    stack.push((a, Chain::Sum));
                    Chain::Sum
                }
                Term::Mul(a, b) => {
                    let scaled = self.scaled(a, b);
                    stack.push((a, scaled));
                    stack.push((b, scaled));
                    scaled
                }
                Term::Sum(list) => {
                    for (a, b) in pairs(list) {
                        if self.symbols[a.0 as usize] != 0 && self.symbols[b.0 as usize] != 0 {
                            continue;
                        }
                        let scaled = self.scaled(a, b);
                        for x in [a, b] {
                            if !self.is_leaf(x) {
                                stack.push((x, scaled));
                            }
                        }
                    }
                    Chain::Sum
                }
                Term::BitsOp(BitsOp::Add, a, b) => {
                    stack.extend([(a, Chain::Bits), (b, Chain::Bits)]);
                    Chain::Bits
                }
                Term::BitsOp(BitsOp::Mul, a, b) => {
                    let scaled = self.scaled_bits(a, b);
                    stack.extend([(a, scaled), (b, scaled)]);
                    scaled
                }
                Term::BitsSum(list) => {
                    for (a, b) in pairs(list) {
                        let scaled = self.scaled_bits(a, b);
                        stack.extend([(a, scaled), (b, scaled)]);
                    }
                    Chain::Bits
                }
                Term::Max(a, b) if self.clamps_squares(a, b).is_none() => {
                    stack.push((a, Chain::Max));
                    stack.push((b, Chain::Max));
                    Chain::Max
                }
                _ => {
                    store.children(t, |c| stack.push((c, Chain::None)));
                    Chain::None
                }
            };
            self.seen[i] = if chain != Chain::None && chain == from {
                LINK
            } else {
                NODE
            };
            order.push(t);
        }
        order.sort_unstable();
        order
    }

    /// What a product is part of: a sum if one of the factors is constant.
    fn scaled(&self, a: TermId, b: TermId) -> Chain {
        match self.is_const(a) || self.is_const(b) {
            true => Chain::Sum,
            false => Chain::None,
        }
    }

    /// The sum at the top of a chain: all operands of its links, combined once.
    pub(super) fn gather(&mut self, top: TermId) -> Result<Val, NormError> {
        let fail = |f: Fail| error(f, top);
        let store = self.store;
        let mut sum = Operands::default();
        sum.stack.push((top, Coef::ONE));
        while let Some((t, k)) = sum.stack.pop() {
            if t != top && self.memo[t.0 as usize] != 0 {
                let mut v = self.value(t)?;
                // A link that was normalised by itself has other users.
                if self.is_link(t) {
                    v = self.ring.val_let(v).map_err(fail)?;
                }
                sum.add(&mut self.ring, k, v).map_err(fail)?;
                continue;
            }
            match store.get(t) {
                Term::Add(a, b) => {
                    sum.stack.push((b, k));
                    sum.stack.push((a, k));
                }
                Term::Neg(a) => {
                    let k = self.ring.coefs.neg(k);
                    sum.stack.push((a, k));
                }
                Term::Sum(list) => {
                    sum.flat.reserve(list.len() / 2);
                    self.ring.charge(list.len() / 2).map_err(fail)?;
                    for (a, b) in pairs(list) {
                        self.product(a, b, k, &mut sum, top)?;
                    }
                }
                Term::Mul(a, b) => self.product(a, b, k, &mut sum, top)?,
                _ => {
                    let x = self.leaf_term(t).ok_or(NormError::Limit(t))?;
                    let coef = self.ring.coefs.mul(x.coef, k);
                    sum.flat.push(PTerm { coef, ..x });
                }
            }
        }
        if let Some(neg) = sum.infinite {
            return Ok(Val::infinity(neg));
        }
        self.ring.val_sum(sum.flat, sum.parts).map_err(fail)
    }

    /// The largest of all operands of a chain of maxima.
    pub(super) fn gather_max(&mut self, top: TermId) -> Result<Val, NormError> {
        let fail = |f: Fail| error(f, top);
        let store = self.store;
        let mut stack = vec![top];
        let (mut set, mut least) = (Vec::new(), None);
        let mut infinite = false;
        while let Some(t) = stack.pop() {
            if let Term::Max(a, b) = store.get(t)
                && (t == top || self.memo[t.0 as usize] == 0)
            {
                if t != top {
                    require(Rule::NestedMaxima).map_err(fail)?;
                }
                stack.extend([b, a]);
                continue;
            }
            let v = self.value(t)?;
            match v.infinite() {
                Some(true) => least = Some(v),
                Some(false) => infinite = true,
                None => set.push(v),
            }
        }
        match (infinite, least) {
            (true, _) => Ok(Val::infinity(false)),
            (_, Some(least)) if set.is_empty() => Ok(least),
            _ => self.ring.largest(&set).map_err(fail),
        }
    }

    /// Adds k * a * b to a sum; a factor that is constant keeps the other a link.
    fn product(
        &mut self,
        a: TermId,
        b: TermId,
        k: Coef,
        sum: &mut Operands,
        top: TermId,
    ) -> Result<(), NormError> {
        let fail = |f: Fail| error(f, top);
        let (i, j) = (self.symbols[a.0 as usize], self.symbols[b.0 as usize]);
        if i != 0
            && j != 0
            && let Some(mono) = Mono::pair(i - 1, j - 1)
        {
            sum.flat.push(PTerm {
                coef: k,
                ..PTerm::mono(mono)
            });
            return Ok(());
        }
        for (x, y) in [(a, b), (b, a)] {
            if let Term::Const(c) = self.store.get(x) {
                let c = self.ring.coefs.of_big(self.store.constant(c));
                let c = self.ring.coefs.mul(c, k);
                sum.stack.push((y, c));
                return Ok(());
            }
        }
        if self.is_leaf(a)
            && self.is_leaf(b)
            && let (Some(x), Some(y)) = (self.leaf_term(a), self.leaf_term(b))
        {
            let t = self.ring.term_mul(x, y).map_err(fail)?;
            let coef = self.ring.coefs.mul(t.coef, k);
            sum.flat.push(PTerm { coef, ..t });
            return Ok(());
        }
        let (x, y) = (self.value(a)?, self.value(b)?);
        let v = self.ring.val_mul(x, y).map_err(fail)?;
        sum.add(&mut self.ring, k, v).map_err(fail)
    }
}

/// What a gathered sum consists of.
#[derive(Default)]
struct Operands {
    flat: Vec<PTerm>,
    parts: Vec<Val>,
    infinite: Option<bool>,
    stack: Vec<(TermId, Coef)>,
}

impl Operands {
    /// Adds k * v. An infinity absorbs finite values; two of different sign are undefined.
    fn add(&mut self, ring: &mut Ring, k: Coef, v: Val) -> Result<(), Fail> {
        let v = ring.val_times(k, v)?;
        match (v.infinite(), self.infinite) {
            (Some(x), Some(y)) if x != y => Err(Fail::Undefined),
            (Some(x), _) => {
                self.infinite = Some(x);
                Ok(())
            }
            (None, _) => ring.add_operand(v, &mut self.flat, &mut self.parts),
        }
    }
}
