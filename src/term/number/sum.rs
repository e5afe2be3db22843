//! Sums of products in matrix instructions.
//!
//! What a tensor core adds in which order, and what it cuts off on the way, no manual says. Here the sum of an
//! accumulator and of all products of an instruction is exact and rounded once, to the nearest; in f64, whose
//! instructions are chains of multiply-adds, each product is added in the order of k.

use num_bigint::BigInt;

use crate::scalar::{FloatMods, FloatOp, Fmt, Rnd};

use super::function::scaled;
use super::half::{Half, sum_to_odd};
use super::{Decoded, Exact, Float, decode, infinity, nan, operation, zero};

/// A factor or an accumulator.
pub type Term = Float;

/// Bits that fit a machine word with a sign and room for carries.
const ROOM: i32 = 110;

/// The bits of `c` and the products, summed up.
pub fn total(fmt: Fmt, c: Term, products: &[(Term, Term)]) -> Option<u64> {
    if fmt == Fmt::F64 {
        return chain(c, products);
    }
    let one = decode(Fmt::F32, 0x3f80_0000);
    let (mut positive, mut negative) = (false, false);
    let mut parts: Vec<Exact> = Vec::with_capacity(products.len() + 1);
    for (x, y) in std::iter::once(&(c, one)).chain(products) {
        let sign = x.negative != y.negative;
        match (x.value, y.value) {
            (Decoded::Nan, _) | (_, Decoded::Nan) => return Some(nan(fmt)),
            (Decoded::Infinite, Decoded::Zero) | (Decoded::Zero, Decoded::Infinite) => {
                return Some(nan(fmt));
            }
            (Decoded::Infinite, _) | (_, Decoded::Infinite) if sign => negative = true,
            (Decoded::Infinite, _) | (_, Decoded::Infinite) => positive = true,
            (Decoded::Zero, _) | (_, Decoded::Zero) => {}
            _ => parts.push(super::arithmetic::multiply(x.exact()?, y.exact()?)),
        }
    }
    match (positive, negative) {
        (true, true) => return Some(nan(fmt)),
        (true, false) | (false, true) => return Some(infinity(fmt, negative)),
        (false, false) => {}
    }
    match exactly(&parts)? {
        Some(sum) => sum.round(fmt, Rnd::Rn),
        None => Some(zero(fmt, false)),
    }
}

/// The bits of `c` and products of doubles that are singles, whose products are doubles then, summed up; `None` where
/// two doubles do not hold the sum, or something is not finite.
///
/// What each addition loses is a double (D. E. Knuth, volume 2, 4.2.2). Where what all of them lose has an exact sum, both
/// sums together are the exact one, and rounded to odd they are rounded to fewer bits as it is.
pub fn total_of_doubles(
    fmt: Fmt,
    c: f64,
    products: impl Iterator<Item = (f64, f64)>,
) -> Option<u64> {
    let half = Half::of(fmt);
    if fmt != Fmt::F32 && half.is_none() {
        return None;
    }
    let (mut sum, mut lost, mut exact) = (c, 0.0, true);
    for (x, y) in products {
        let (s, error) = two_sum(sum, x * y);
        let (l, rest) = two_sum(lost, error);
        (sum, lost) = (s, l);
        exact &= rest == 0.0;
    }
    let sum = sum_to_odd(sum, lost);
    if !exact || !sum.is_finite() {
        return None;
    }
    // An exact zero is positive.
    let sum = if sum == 0.0 { 0.0 } else { sum };
    Some(match half {
        Some(half) => half.narrowed(sum),
        None => (sum as f32).to_bits().into(),
    })
}

/// A sum of doubles, and what it loses.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// The exact sum of numbers, if it is not zero.
fn exactly(parts: &[Exact]) -> Option<Option<Exact>> {
    let Some(low) = parts.iter().map(|p| p.exponent).min() else {
        return Some(None);
    };
    let top = parts.iter().map(|p| p.top()).max().unwrap_or(low);
    if top - low < ROOM {
        let sum: i128 = parts
            .iter()
            .map(|p| {
                let n = (p.mantissa << (p.exponent - low)) as i128;
                if p.negative { -n } else { n }
            })
            .sum();
        return Some((sum != 0).then_some(Exact {
            negative: sum < 0,
            mantissa: sum.unsigned_abs(),
            exponent: low,
            sticky: false,
        }));
    }
    let sum: BigInt = parts
        .iter()
        .map(|p| {
            let n = BigInt::from(p.mantissa) << (p.exponent - low) as usize;
            if p.negative { -n } else { n }
        })
        .sum();
    let negative = sum.sign() == num_bigint::Sign::Minus;
    if sum.bits() == 0 {
        return Some(None);
    }
    scaled(negative, sum.magnitude(), low.into()).map(Some)
}

/// The products added one after the other, each with one rounding.
fn chain(c: Term, products: &[(Term, Term)]) -> Option<u64> {
    let mods = FloatMods {
        rnd: Rnd::Rn,
        ..FloatMods::default()
    };
    let bits = |x: Term| x.encode(Fmt::F64, Rnd::Rn);
    products.iter().try_fold(bits(c)?, |sum, &(x, y)| {
        let operands = [bits(x)?, bits(y)?, sum];
        operation(FloatOp::Fma, (Fmt::F64, Fmt::F64), &mods, operands)
    })
}
