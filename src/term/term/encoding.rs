//! The number that bits denote in a float format, where the bits were put together by integer
//! operations.
//!
//! Problem: compilers and kernel authors work on the encodings of floats with integer
//! instructions. By the time the result is read as a float again it is a concatenation of fields,
//! and the fields say what was meant. The rules, each exact for every encoding but for the named
//! rounding ones:
//!
//! * {x[0..w-1], s}: the magnitude of x with sign bit s: |x|, -|x|, -x, or a choice by s. Covers
//!   `and 0x7fffffff`, `or 0x80000000`, `xor 0x80000000`, the 16- and 64-bit and packed forms,
//!   and sign transfer.
//! * {16 zeros, b} as f32 is b as bf16: the two formats share sign and exponent.
//! * {x[k..32]} above k zeros as f32, and x[16..32] as bf16: the encoding cut off, which is a
//!   rounding to tf32 (k = 13) or bf16 (k = 16): over the reals, x. The same after adding the
//!   rounding constants of round-to-nearest (0x7fff plus the lowest kept bit; half a unit).
//! * {m, c} with sign and exponent in the constant c: the exact sum of the number with zero
//!   mantissa and of the integer m at the weight of the last place (dequantisation by or-ing an
//!   exponent: 0x6400 in f16, 0x4b00 in f32, 0x4300 in bf16).
//! * {zeros, n[0..e+1]} with an integer n in the exponent field whose value stays between 1 and
//!   the largest finite exponent: the power of two. Here n is an integer expression, or the bits
//!   of a float that an addition of 1.5 * 2^23 made an integer.
//!
//! What is not claimed: the sign bit of a float that may be zero is not a function of the real;
//! a sign used on its own stays an opaque bit. Bits cut off anywhere else are no rounding.

use std::collections::BTreeSet;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::ToPrimitive;
use rustc_hash::{FxHashMap, FxHashSet};

use super::view::{self, BitsOp, Fun, ICmp, Term, node};
use super::{NotFinite, TermId, TermStore, decode, pow2};
use crate::scalar::Fmt;

/// Nested readings that are followed before the bits stay opaque.
const DEPTH: u32 = 6;

/// Exponent and mantissa bits of a format with IEEE infinities and NaNs.
pub fn layout(fmt: Fmt) -> Option<(u8, u8)> {
    match fmt {
        Fmt::F16 => Some((5, 10)),
        Fmt::Bf16 => Some((8, 7)),
        Fmt::F32 | Fmt::Tf32 => Some((8, 23)),
        Fmt::F64 => Some((11, 52)),
        _ => None,
    }
}

impl TermStore {
    /// The number that bits denote in a format of the same width.
    pub fn of_bits(&mut self, fmt: Fmt, bits: TermId) -> TermId {
        self.read_bits(fmt, bits, DEPTH)
    }

    /// The number that bits denote, where selects of bits become selects of numbers however they
    /// are nested.
    pub fn of_selected_bits(&mut self, fmt: Fmt, bits: TermId) -> TermId {
        let mut selects: BTreeSet<TermId> = BTreeSet::new();
        let mut stack = vec![bits];
        while let Some(t) = stack.pop() {
            if let Term::BitsSelect(_, a, b) = self.get(t)
                && selects.insert(t)
            {
                stack.extend([a, b]);
            }
        }
        // Children are older than their parents.
        let mut done: FxHashMap<TermId, TermId> = FxHashMap::default();
        for t in selects {
            let Term::BitsSelect(p, a, b) = self.get(t) else {
                continue;
            };
            let [x, y] = [a, b].map(|c| match done.get(&c) {
                Some(&r) => r,
                None => self.of_bits(fmt, c),
            });
            let s = self.select(p, x, y);
            done.insert(t, s);
        }
        match done.get(&bits) {
            Some(&t) => t,
            None => self.of_bits(fmt, bits),
        }
    }

    /// True if one of the constants that bits are selected among is the zero with a sign of a
    /// format: as a number it is zero, as bits it is not. At most `limit` selects are looked at, and
    /// true stands for more.
    pub fn has_signed_zero(&self, fmt: Fmt, bits: TermId, limit: usize) -> bool {
        let sign = 1u64 << (fmt.bits() - 1);
        if let Term::BitsConst { value, .. } = self.get(bits) {
            return value == sign;
        }
        let mut seen: FxHashSet<TermId> = FxHashSet::default();
        let mut stack = vec![bits];
        while let Some(t) = stack.pop() {
            match self.get(t) {
                Term::BitsConst { value, .. } if value == sign => return true,
                Term::BitsSelect(_, a, b) if seen.insert(t) => {
                    if seen.len() > limit {
                        return true;
                    }
                    stack.extend([a, b]);
                }
                _ => {}
            }
        }
        false
    }

    fn read_bits(&mut self, fmt: Fmt, bits: TermId, depth: u32) -> TermId {
        match self.get(bits) {
            Term::BitsConst { value, .. } => match decode(fmt, value) {
                Ok(v) => return self.rational(v),
                Err(NotFinite::PosInf) => return self.infinity(false),
                Err(NotFinite::NegInf) => return self.infinity(true),
                Err(NotFinite::Nan) => return self.undefined(),
            },
            Term::Bytes { array, off, width } if width as u32 == fmt.bits() => {
                return self.elem(array, fmt, off);
            }
            Term::OfReal { fmt: f, real } if f == fmt => return self.face(real),
            // One level only: a chain of selects must not become a recursion.
            Term::BitsSelect(p, a, b) if !self.is_branching(a) && !self.is_branching(b) => {
                if let Some(depth) = depth.checked_sub(1) {
                    let (x, y) = (self.read_bits(fmt, a, depth), self.read_bits(fmt, b, depth));
                    return self.select(p, x, y);
                }
            }
            Term::Concat(_) | Term::Extract { .. } => {
                if let Some(depth) = depth.checked_sub(1)
                    && let Some(t) = self.read_fields(fmt, bits, depth)
                {
                    return t;
                }
            }
            _ => {}
        }
        let total = fmt.is_always_finite() && self.is_total(bits);
        self.insert(node(view::OF_BITS, fmt as u8, 0, bits.0, 0, 0), total)
    }

    fn read_fields(&mut self, fmt: Fmt, bits: TermId, depth: u32) -> Option<TermId> {
        let (exponent, mantissa) = layout(fmt)?;
        let w = self.width(bits);
        if w as u32 != fmt.bits() {
            return None;
        }
        if let Term::Extract { .. } = self.get(bits) {
            return (fmt == Fmt::Bf16).then(|| self.read_high_half(bits, depth))?;
        }
        if matches!(fmt, Fmt::F32 | Fmt::Tf32) {
            let low = self.extract(bits, 0, 16);
            if self.as_bits(low) == Some(0) {
                let high = self.extract(bits, 16, 16);
                return Some(self.read_bits(Fmt::Bf16, high, depth));
            }
            if let Some(t) = self.read_cut(bits, depth) {
                return Some(t);
            }
        }
        self.read_signed(fmt, bits, w, depth)
            .or_else(|| self.read_power(bits, exponent, mantissa))
            .or_else(|| self.read_mantissa(fmt, bits, w, exponent, mantissa))
    }

    /// The `width`-bit term whose bits from `at` on a field is, if the field is a run of bits of
    /// something.
    fn source(&mut self, field: TermId, at: u8, width: u8) -> Option<TermId> {
        if let Some((array, first, _)) = self.input_field(field) {
            let from = first.checked_sub(at as u64)?;
            return self.field_of_input(array, from, width);
        }
        let Term::Extract { bits, low, .. } = self.get(field) else {
            return None;
        };
        let from = low.checked_sub(at)?;
        (from + width <= self.width(bits)).then(|| self.extract(bits, from, width))
    }

    /// match {x[0..w-1], s} / result |x| with the sign that s says / because the top bit of a
    /// float is its sign.
    fn read_signed(&mut self, fmt: Fmt, bits: TermId, w: u8, depth: u32) -> Option<TermId> {
        let magnitude = self.extract(bits, 0, w - 1);
        let sign = self.extract(bits, w - 1, 1);
        if !matches!(self.get(magnitude), Term::Extract { .. }) {
            return None;
        }
        let x = self.source(magnitude, 0, w)?;
        let own = self.extract(x, w - 1, 1);
        let one = self.bits(1, 1);
        // With the number's own sign under an exclusive or, the rest says whether to negate.
        if let Term::BitsOp(BitsOp::Xor, p, q) = self.get(sign)
            && (p == own || q == own)
        {
            let flip = if p == own { q } else { p };
            let value = self.read_bits(fmt, x, depth);
            let negated = self.neg(value);
            let p = self.icmp(ICmp::Eq, flip, one);
            return Some(self.select(p, negated, value));
        }
        let value = self.read_bits(fmt, x, depth);
        let plus = self.fun(Fun::Abs, value);
        let minus = self.neg(plus);
        let p = self.icmp(ICmp::Eq, sign, one);
        Some(self.select(p, minus, plus))
    }

    /// match {13 zeros, x[13..32]} as f32 / result x / because the encoding cut off is x rounded
    /// to tf32 toward zero, or to nearest after half a unit was added.
    fn read_cut(&mut self, bits: TermId, depth: u32) -> Option<TermId> {
        let low = self.extract(bits, 0, 13);
        if self.as_bits(low) != Some(0) {
            return None;
        }
        let kept = self.extract(bits, 13, 19);
        let x = self.source(kept, 13, 32)?;
        let x = self.before_rounding(x, 13)?;
        Some(self.read_bits(Fmt::F32, x, depth))
    }

    /// match x[16..32] as bf16 / result x / because the encoding cut off is x rounded to bf16.
    fn read_high_half(&mut self, bits: TermId, depth: u32) -> Option<TermId> {
        let x = self.source(bits, 16, 32)?;
        let x = self.before_rounding(x, 16)?;
        Some(self.read_bits(Fmt::F32, x, depth))
    }

    /// The f32 encoding that is rounded when the low `k` bits of `x` are cut off: `x` itself if
    /// it is one, or what a rounding constant was added to.
    fn before_rounding(&mut self, x: TermId, k: u8) -> Option<TermId> {
        if self.is_encoding(x) {
            return Some(x);
        }
        // Up to three operands of nested additions.
        let mut terms = vec![x];
        for _ in 0..2 {
            let at = terms
                .iter()
                .position(|&t| matches!(self.get(t), Term::BitsOp(BitsOp::Add, ..)))?;
            let Term::BitsOp(_, a, b) = self.get(terms[at]) else {
                return None;
            };
            terms.splice(at..=at, [a, b]);
            if let Some(u) = self.rounding_operand(&terms, k) {
                return Some(u);
            }
        }
        None
    }

    fn is_encoding(&self, t: TermId) -> bool {
        matches!(
            self.get(t),
            Term::OfReal { fmt: Fmt::F32, .. } | Term::Bytes { width: 32, .. }
        )
    }

    /// u, where the terms are u and half a unit of bit `k`, or u, half a unit less one, and bit
    /// `k` of u.
    fn rounding_operand(&mut self, terms: &[TermId], k: u8) -> Option<TermId> {
        let half = 1u64 << (k - 1);
        let constant = terms.iter().find_map(|&t| self.as_bits(t))?;
        let u = terms.iter().copied().find(|&t| self.is_encoding(t))?;
        let ok = match terms.len() {
            2 => constant == half,
            _ => {
                let bit = self.extract(u, k, 1);
                let bit = self.zero_extend(bit, 32);
                constant == half - 1 && terms.contains(&bit)
            }
        };
        ok.then_some(u)
    }

    /// match {m, c} with sign and exponent in the constant c / result c * 2^... + m * (weight of
    /// the last place) / because the significand of a normal float is linear in its mantissa.
    fn read_mantissa(
        &mut self,
        fmt: Fmt,
        bits: TermId,
        w: u8,
        exponent: u8,
        mantissa: u8,
    ) -> Option<TermId> {
        let top = self.extract(bits, mantissa, w - mantissa);
        let top = self.as_bits(top)?;
        let e = top & ((1 << exponent) - 1);
        if e == 0 || e == (1 << exponent) - 1 {
            return None;
        }
        let negative = top >> exponent & 1 == 1;
        let base = decode(fmt, top << mantissa).ok()?;
        let bias = (1i64 << (exponent - 1)) - 1;
        let weight = pow2(e as i64 - bias - mantissa as i64);
        let weight = if negative { -weight } else { weight };
        let m = self.extract(bits, 0, mantissa);
        let m = self.of_int(false, m);
        let (base, weight) = (self.rational(base), self.rational(weight));
        let scaled = self.mul(m, weight);
        Some(self.add(base, scaled))
    }

    /// match {zeros, n[0..e+1]} / result 2^(n - bias) / because the exponent field of a normal
    /// float is its exponent plus the bias; n must be known to stay normal and positive.
    fn read_power(&mut self, bits: TermId, exponent: u8, mantissa: u8) -> Option<TermId> {
        let low = self.extract(bits, 0, mantissa);
        if self.as_bits(low) != Some(0) {
            return None;
        }
        let field = self.extract(bits, mantissa, exponent + 1);
        let (n, modulus) = match self.get(field) {
            Term::Extract {
                bits: y, low: 0, ..
            } => (y, exponent + 1),
            Term::Concat(_) => {
                let (e, sign) = (
                    self.extract(field, 0, exponent),
                    self.extract(field, exponent, 1),
                );
                if self.as_bits(sign) != Some(0) {
                    return None;
                }
                let Term::Extract {
                    bits: y, low: 0, ..
                } = self.get(e)
                else {
                    return None;
                };
                (y, exponent)
            }
            _ => (field, exponent + 1),
        };
        let real = self.integer_in(n)?;
        let b = self.bounds_or_facts(real);
        let (lo, hi) = (b.lo?.floor().to_integer(), b.hi?.ceil().to_integer());
        // n stays within one period of the field, between 1 and the largest finite exponent.
        let period = BigInt::from(1i64 << modulus);
        let turns = num_integer::Integer::div_floor(&lo, &period);
        let (first, last) = (lo - &turns * &period, hi - &turns * &period);
        let largest = (1i64 << exponent) - 2;
        if first.to_i64()? < 1 || last.to_i64()? > largest {
            return None;
        }
        let bias = BigInt::from((1i64 << (exponent - 1)) - 1);
        let offset = BigRational::from_integer(-(turns * period) - bias);
        let offset = self.rational(offset);
        let power = self.add(real, offset);
        Some(self.fun(Fun::Exp2, power))
    }

    /// An integral real that the bits are congruent to, with known bounds: an integer expression,
    /// or, for an f32 encoding of an integer between 2^23 and 2^24, the integer minus 2^23, which
    /// is its mantissa (the bits above are a constant multiple of 2^23).
    fn integer_in(&mut self, bits: TermId) -> Option<TermId> {
        if let Term::OfReal {
            fmt: Fmt::F32,
            real,
        } = self.get(bits)
        {
            let real = self.face(real);
            let b = self.bounds_or_facts(real);
            let inside = b.lo? >= pow2(23) && b.hi? < pow2(24) && self.grid(real)? >= 0;
            if !inside {
                return None;
            }
            let base = self.rational(-pow2(23));
            return Some(self.add(real, base));
        }
        Some(self.of_int(true, bits))
    }
}
