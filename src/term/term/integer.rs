//! The integer that bits denote, as a real expression.
//!
//! Problem: quantised kernels multiply and add integers and convert the result to float. The
//! conversion of an integer expression is the same polynomial over the reals as long as nothing
//! wrapped. Each bit vector in the expression is given an integer V that it is congruent to modulo
//! 2^width, with an interval: sums and products of such integers are exact without any condition.
//! Only where bits are read as a number (the conversion itself, and each extension to a wider
//! type) must V lie in the range of the type; where the interval does not show that, the bits stay
//! one opaque integer.
//!
//! The pass goes over the terms below in id order, so that chains of any length are fine.
//!
//! What is not claimed: the tightest interval; no correlation between operands is seen.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::ToPrimitive;
use rustc_hash::FxHashMap;

use super::bits::sext;
use super::view::{self, BitsOp, Term, node};
use super::{Sort, TermId, TermStore, pairs};

/// Expressions of more terms than this stay opaque.
const MAX_TERMS: usize = 1 << 17;

/// An integer congruent to a bit vector, with an interval that holds it.
#[derive(Clone, Copy)]
struct Int {
    real: TermId,
    lo: i128,
    hi: i128,
}

/// The interval of an integer about which nothing is known. An integer that is no number of bits may
/// have it: it is read as one only where its interval shows that it fits.
const OPEN: (i128, i128) = (i128::MIN, i128::MAX);

impl Int {
    fn ends(self) -> Option<(i128, i128)> {
        ((self.lo, self.hi) != OPEN).then_some((self.lo, self.hi))
    }

    /// The interval of the sum; one that 128 bits do not hold is open.
    fn plus(self, other: Int) -> (i128, i128) {
        let sum = || {
            let ((a, b), (c, d)) = (self.ends()?, other.ends()?);
            Some((a.checked_add(c)?, b.checked_add(d)?))
        };
        sum().unwrap_or(OPEN)
    }

    /// The interval of the product, likewise.
    fn times(self, other: Int) -> (i128, i128) {
        let product = || {
            let ((a, b), (c, d)) = (self.ends()?, other.ends()?);
            let (p, q) = (a.checked_mul(c)?, a.checked_mul(d)?);
            let (r, s) = (b.checked_mul(c)?, b.checked_mul(d)?);
            Some((p.min(q).min(r).min(s), p.max(q).max(r).max(s)))
        };
        product().unwrap_or(OPEN)
    }
}

fn range(width: u8, signed: bool) -> (i128, i128) {
    if signed {
        (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1)
    } else {
        (0, (1i128 << width) - 1)
    }
}

impl TermStore {
    /// The integer that bits denote, as a real.
    pub fn of_int(&mut self, signed: bool, bits: TermId) -> TermId {
        let Sort::Bits(w) = self.sort(bits) else {
            return self.undefined();
        };
        let v = match self.get(bits) {
            Term::BitsConst { .. } => self.known_int(signed, bits, w),
            Term::Bytes { .. } | Term::OfReal { .. } | Term::Fresh { .. } | Term::Word(_) => {
                return self.opaque_int(signed, bits);
            }
            _ => match self.int_expression(signed, bits, w) {
                Some(v) => v,
                None => return self.opaque_int(signed, bits),
            },
        };
        let (lo, hi) = range(w, signed);
        if lo <= v.lo && v.hi <= hi {
            v.real
        } else {
            self.opaque_int(signed, bits)
        }
    }

    /// A real that is an integer for every input, congruent to the bits modulo 2^width: nothing is
    /// said about its range. `None` where the expression is too large.
    pub fn residue(&mut self, bits: TermId) -> Option<TermId> {
        let Sort::Bits(w) = self.sort(bits) else {
            return None;
        };
        self.int_expression(true, bits, w).map(|v| v.real)
    }

    fn opaque_int(&mut self, signed: bool, bits: TermId) -> TermId {
        let total = self.is_total(bits);
        let n = node(view::OF_INT, signed as u8, 0, bits.0, 0, 0);
        self.insert(n, total)
    }

    fn int_const(&mut self, v: i128) -> Int {
        let real = self.rational(BigRational::from_integer(BigInt::from(v)));
        Int { real, lo: v, hi: v }
    }

    fn known_int(&mut self, signed: bool, bits: TermId, w: u8) -> Int {
        let v = self.as_bits(bits).unwrap_or(0);
        let v = if signed {
            sext(v, w) as i128
        } else {
            v as i128
        };
        self.int_const(v)
    }

    /// The bits as one opaque integer of a type.
    fn int_atom(&mut self, signed: bool, bits: TermId) -> Int {
        let (lo, hi) = range(self.width(bits), signed);
        let real = self.opaque_int(signed, bits);
        Int { real, lo, hi }
    }

    /// An integer congruent to the bits.
    fn int_expression(&mut self, signed: bool, root: TermId, w: u8) -> Option<Int> {
        let cone = self.arithmetic_below(root)?;
        let mut memo: FxHashMap<TermId, Int> = FxHashMap::default();
        for t in cone {
            let v = self.int_step(t, signed, w, &memo);
            memo.insert(t, v);
        }
        memo.get(&root).copied()
    }

    /// The terms below through which integers are followed, in id order.
    fn arithmetic_below(&self, root: TermId) -> Option<Vec<TermId>> {
        let mut seen = rustc_hash::FxHashSet::default();
        let (mut stack, mut out) = (vec![root], Vec::new());
        while let Some(t) = stack.pop() {
            if !seen.insert(t) {
                continue;
            }
            out.push(t);
            if out.len() > MAX_TERMS {
                return None;
            }
            match self.get(t) {
                Term::BitsOp(BitsOp::AShr, ..) => stack.extend(self.extended(t)),
                Term::BitsOp(BitsOp::Add | BitsOp::Mul, a, b) | Term::BitsSelect(_, a, b) => {
                    stack.extend([a, b]);
                }
                Term::Extract { bits, low: 0, .. } => stack.push(bits),
                Term::Concat(l) | Term::BitsSum(l) => {
                    stack.extend(l.iter().map(|&i| TermId(i)));
                }
                _ => {}
            }
        }
        out.sort_unstable();
        Some(out)
    }

    fn int_step(&mut self, t: TermId, signed: bool, top: u8, memo: &FxHashMap<TermId, Int>) -> Int {
        let w = self.width(t);
        // Opaque bits of the width asked for are read as asked, narrower ones as unsigned unless
        // a sign extension says otherwise.
        let sign = signed && w == top;
        let known = |t: TermId| memo.get(&t).copied();
        match self.get(t) {
            // A constant of the full width counts as signed: adding 2^n - 1 subtracts 1.
            Term::BitsConst { .. } => self.known_int(w == top || sign, t, w),
            Term::OfBool { p, .. } => {
                let (one, zero) = (self.integer(1), self.integer(0));
                let real = self.select(p, one, zero);
                Int { real, lo: 0, hi: 1 }
            }
            Term::BitsSelect(p, a, b) => match (known(a), known(b)) {
                (Some(x), Some(y)) => Int {
                    real: self.select(p, x.real, y.real),
                    lo: x.lo.min(y.lo),
                    hi: x.hi.max(y.hi),
                },
                _ => self.int_atom(sign, t),
            },
            Term::BitsOp(BitsOp::AShr, ..) => {
                let Some(x) = self.extended(t) else {
                    return self.int_atom(sign, t);
                };
                let n = self.width(x);
                match known(x) {
                    Some(v) if !self.is_leaf(x) && self.fits(v, n, true) => v,
                    _ => self.int_atom(true, x),
                }
            }
            Term::BitsOp(op @ (BitsOp::Add | BitsOp::Mul), a, b) => {
                let (Some(x), Some(y)) = (known(a), known(b)) else {
                    return self.int_atom(sign, t);
                };
                let (lo, hi) = match op {
                    BitsOp::Add => x.plus(y),
                    _ => x.times(y),
                };
                let real = match op {
                    BitsOp::Add => self.add(x.real, y.real),
                    _ => self.mul(x.real, y.real),
                };
                Int { real, lo, hi }
            }
            Term::BitsSum(list) => {
                let pairs: Vec<_> = pairs(list).collect();
                let mut sum = self.int_const(0);
                let mut products = Vec::with_capacity(pairs.len());
                for (a, b) in pairs {
                    let (Some(x), Some(y)) = (known(a), known(b)) else {
                        return self.int_atom(sign, t);
                    };
                    products.push((x.real, y.real));
                    let (lo, hi) = x.times(y);
                    let real = sum.real;
                    (sum.lo, sum.hi) = sum.plus(Int { real, lo, hi });
                }
                sum.real = self.sum(&products);
                sum
            }
            Term::Clamp {
                width,
                signed: s,
                real,
            } => {
                // Within the range the clamp is the identity.
                let b = self.bounds(real);
                let ends = (b.lo.as_ref(), b.hi.as_ref());
                let (lo, hi) = range(width, s);
                let v = match ends {
                    (Some(x), Some(y)) => (x.floor().to_integer(), y.ceil().to_integer()),
                    _ => return self.int_atom(s, t),
                };
                match (v.0.to_i128(), v.1.to_i128()) {
                    (Some(x), Some(y)) if lo <= x && y <= hi => Int { real, lo: x, hi: y },
                    _ => self.int_atom(s, t),
                }
            }
            // The low bits are congruent to the whole modulo their width.
            Term::Extract { bits, low: 0, .. } => match known(bits) {
                Some(v) if !self.is_leaf(bits) => v,
                _ => self.int_atom(sign, t),
            },
            Term::Concat(l) => {
                let parts: Vec<TermId> = l.iter().map(|&i| TermId(i)).collect();
                self.int_concat(&parts, sign, memo)
            }
            _ => self.int_atom(sign, t),
        }
    }

    /// True if nothing is known about the bits but their width.
    fn is_leaf(&self, t: TermId) -> bool {
        let t = match self.get(t) {
            Term::Extract { bits, low: 0, .. } => bits,
            _ => t,
        };
        !matches!(
            self.get(t),
            Term::BitsOp(BitsOp::Add | BitsOp::Mul | BitsOp::AShr, ..)
                | Term::BitsSum(_)
                | Term::BitsSelect(..)
                | Term::Concat(_)
        )
    }

    /// Fields weighted by powers of two: all but the top one as unsigned; the top one modulo its
    /// width will do, since its weight times its modulus is the modulus of the whole.
    fn int_concat(&mut self, parts: &[TermId], sign: bool, memo: &FxHashMap<TermId, Int>) -> Int {
        let mut sum = self.int_const(0);
        let mut at = 0u8;
        for (i, &p) in parts.iter().enumerate() {
            let n = self.width(p);
            let last = i + 1 == parts.len();
            let v = match memo.get(&p).copied() {
                _ if self.as_bits(p).is_some() => self.known_int(last && sign, p, n),
                Some(v) if !self.is_leaf(p) && (last || self.fits(v, n, false)) => v,
                _ => self.int_atom(last && sign, p),
            };
            let weight = self.int_const(1i128 << at);
            let scaled = self.mul(v.real, weight.real);
            let (lo, hi) = v.times(weight);
            let real = self.add(sum.real, scaled);
            let (lo, hi) = sum.plus(Int { real, lo, hi });
            sum = Int { real, lo, hi };
            at += n;
        }
        sum
    }

    fn fits(&self, v: Int, width: u8, signed: bool) -> bool {
        let (lo, hi) = range(width, signed);
        lo <= v.lo && v.hi <= hi
    }
}
