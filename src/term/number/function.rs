//! Functions that a machine approximates, rounded correctly.
//!
//! Double precision decides nearly always: its library functions err by far less than [`WINDOW`], and all numbers
//! in that window round alike. Where they do not, the series of `term` enclose the value in as many bits as it takes.

use num_bigint::BigUint;
use num_traits::{One, ToPrimitive};

use crate::scalar::{FloatOp, Fmt, Rnd};
use crate::term::enclosed;

use super::half::Half;
use super::{Decoded, Exact, Float, infinity, nan, zero};

/// What a library function may err by, relative to its result.
const WINDOW: f64 = 1.0 / (1u64 << 48) as f64;

/// Bits of the results of series.
const PRECISIONS: [u32; 3] = [96, 192, 400];

/// Twice the bits that an inverse root is scaled by.
const SCALE: i32 = 192;

/// A function of a number of a format with fewer bits than double precision.
pub(super) fn of(op: FloatOp, fmt: Fmt, x: Float) -> Option<u64> {
    if fmt == Fmt::F64 {
        return None;
    }
    let one = || Exact::new(false, 1, 0).round(fmt, Rnd::Rn);
    match (op, x.value) {
        (_, Decoded::Nan) => return Some(nan(fmt)),
        (FloatOp::Sin | FloatOp::Cos, Decoded::Infinite) => return Some(nan(fmt)),
        (FloatOp::Sin | FloatOp::Tanh, Decoded::Zero) => return Some(zero(fmt, x.negative)),
        (FloatOp::Ex2 | FloatOp::Cos, Decoded::Zero) => return one(),
        (FloatOp::Lg2, Decoded::Zero) => return Some(infinity(fmt, true)),
        (FloatOp::Lg2, _) if x.negative => return Some(nan(fmt)),
        (FloatOp::Ex2, Decoded::Infinite) if x.negative => return Some(zero(fmt, false)),
        (FloatOp::Ex2 | FloatOp::Lg2, Decoded::Infinite) => return Some(infinity(fmt, false)),
        (FloatOp::Tanh, Decoded::Infinite) => {
            return Exact::new(x.negative, 1, 0).round(fmt, Rnd::Rn);
        }
        _ => {}
    }
    let e = x.exact()?;
    let v = libm::ldexp(e.mantissa as f64, e.exponent) * if e.negative { -1.0 } else { 1.0 };
    if let Some(bits) = by_doubles(op, fmt, v) {
        return Some(bits);
    }
    PRECISIONS.iter().find_map(|&bits| {
        let ends = enclosed(op, e.negative, e.mantissa as u64, e.exponent, bits)?;
        let [low, high] = ends.map(|(negative, magnitude, exponent)| {
            scaled(negative, &magnitude, exponent).and_then(|x| x.round(fmt, Rnd::Rn))
        });
        low.filter(|_| low == high)
    })
}

/// True of the operations that only an approximation computes.
pub(super) fn is_approximated(op: FloatOp) -> bool {
    use FloatOp::*;
    matches!(op, Ex2 | Lg2 | Rsqrt | Sin | Cos | Tanh)
}

/// A function of a number of at most 32 bits, where double precision decides; `None` also of zeros and what is not finite.
#[inline]
pub(super) fn quick(op: FloatOp, fmt: Fmt, bits: u64) -> Option<u64> {
    let v = match fmt {
        Fmt::F32 => f64::from(f32::from_bits(bits as u32)),
        _ => Half::of(fmt)?.widened(bits),
    };
    match v.is_finite() && v != 0.0 {
        true => by_doubles(op, fmt, v),
        false => None,
    }
}

/// A function of a finite number that is not zero, where all doubles near the result of double precision round alike.
#[inline]
fn by_doubles(op: FloatOp, fmt: Fmt, v: f64) -> Option<u64> {
    let y = match op {
        FloatOp::Ex2 => libm::exp2(v),
        FloatOp::Lg2 if v > 0.0 => libm::log2(v),
        // The root and the quotient are rounded correctly, so that both err by less than two units.
        FloatOp::Rsqrt if v > 0.0 => 1.0 / v.sqrt(),
        FloatOp::Sin => libm::sin(v),
        FloatOp::Cos => libm::cos(v),
        FloatOp::Tanh => libm::tanh(v),
        _ => return None,
    };
    if y == 0.0 {
        return Some(zero(fmt, false));
    }
    if y.is_infinite() {
        return Some(infinity(fmt, y < 0.0));
    }
    let [low, high] = [y * (1.0 - WINDOW), y * (1.0 + WINDOW)].map(|y| rounded(fmt, y));
    low.filter(|_| low == high)
}

/// A double rounded to a format.
#[inline]
fn rounded(fmt: Fmt, y: f64) -> Option<u64> {
    match (fmt, Half::of(fmt)) {
        (Fmt::F32, _) => Some((y as f32).to_bits().into()),
        (_, Some(half)) => Some(half.narrowed(y)),
        _ => super::decode(Fmt::F64, y.to_bits()).encode(fmt, Rnd::Rn),
    }
}

/// A number of many bits.
pub(super) fn scaled(negative: bool, magnitude: &BigUint, exponent: i64) -> Option<Exact> {
    let bits = magnitude.bits();
    if bits == 0 {
        return None;
    }
    let cut = bits.saturating_sub(120);
    let mantissa = (magnitude >> cut).to_u128()?;
    Some(Exact {
        negative,
        mantissa,
        exponent: i32::try_from(exponent + cut as i64).ok()?,
        sticky: magnitude.trailing_zeros().is_some_and(|z| z < cut),
    })
}

/// One by the square root of a positive number of at most 64 bits.
pub(super) fn inverse_root(x: Exact) -> Exact {
    let odd = x.exponent & 1;
    let m = BigUint::from(x.mantissa) << odd as usize;
    let one = BigUint::one() << SCALE as usize;
    let root = (&one / &m).sqrt();
    let sticky = &root * &root * &m != one;
    Exact {
        negative: false,
        mantissa: root.to_u128().unwrap_or(u128::MAX),
        exponent: -SCALE / 2 - (x.exponent - odd) / 2,
        sticky,
    }
}
