//! Sums and products of f16 and bf16 by the processor's doubles.
//!
//! The problem: kernels of machine learning do most of their arithmetic on 16 bits, and the general way takes every number
//! apart. A double holds each such number and each product of two exactly; a sum of both may need more bits, and is rounded
//! to odd: whatever is cut off sets the last bit, so that a second rounding to a format of at most 51 bits decides as the
//! exact sum would (S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums", 2008). The error of a sum that
//! was rounded to nearest is a double, and tells on which side of it the exact sum lies (D. E. Knuth, volume 2, 4.2.2).
//!
//! Not claimed: other roundings than to nearest, ties to even.

use crate::kernel::{FloatOp, Fmt};

use super::{infinity, nan};

/// Bits of the fraction, and the exponent of the least normal number; `None` of other formats.
fn layout(fmt: Fmt) -> Option<(u32, i32)> {
    match fmt {
        Fmt::F16 => Some((10, -14)),
        Fmt::Bf16 => Some((7, -126)),
        _ => None,
    }
}

/// The bits of a result, where it is rounded to nearest.
pub(super) fn operation(op: FloatOp, fmt: Fmt, bits: [u64; 3]) -> Option<u64> {
    layout(fmt)?;
    let [x, y, z] = bits.map(|b| widened(fmt, b));
    let r = match op {
        FloatOp::Add => sum_to_odd(x, y),
        FloatOp::Sub => sum_to_odd(x, -y),
        FloatOp::Mul => x * y,
        FloatOp::Fma => sum_to_odd(x * y, z),
        _ => return None,
    };
    narrowed(fmt, r)
}

/// The number as a double.
fn widened(fmt: Fmt, bits: u64) -> f64 {
    if fmt == Fmt::Bf16 {
        return f64::from(f32::from_bits((bits as u32) << 16));
    }
    let (sign, e, fraction) = (bits >> 15 & 1, bits >> 10 & 0x1f, bits & 0x3ff);
    let magnitude = match e {
        0 => fraction as f64 / f64::from(1 << 24),
        0x1f if fraction == 0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => f64::from_bits((e + 1008) << 52 | fraction << 42),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

/// The sum of two doubles far from the ends of their range; with its last bit set where it is not exact.
fn sum_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    let bits = sum.to_bits();
    // Of an infinity or NaN the error is no number.
    if error == 0.0 || error.is_nan() || bits & 1 == 1 {
        return sum;
    }
    let is_larger = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if is_larger { bits + 1 } else { bits - 1 })
}

/// The bits of a double rounded to a format of 16 bits, to nearest, ties to even.
fn narrowed(fmt: Fmt, x: f64) -> Option<u64> {
    let (fraction, least) = layout(fmt)?;
    if x.is_nan() {
        return Some(nan(fmt));
    }
    let bits = x.to_bits();
    let sign = bits >> 63 << 15;
    let e = (bits >> 52 & 0x7ff) as i32 - 1023;
    if e == 1024 {
        return Some(infinity(fmt, sign != 0));
    }
    let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
    let top = e.max(least);
    let cut = 52 - fraction + (top - e) as u32;
    // A zero too, and what is below half of the least number.
    if cut > 54 {
        return Some(sign);
    }
    let (kept, rest, half) = (mantissa >> cut, mantissa & ((1 << cut) - 1), 1 << (cut - 1));
    let up = rest > half || rest == half && kept & 1 == 1;
    // A carry out of the fraction goes into the exponent, which is what it should do.
    let magnitude = kept + u64::from(up) + (((top - least) as u64) << fraction);
    Some(sign | magnitude.min(infinity(fmt, false)))
}
