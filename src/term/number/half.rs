//! Sums and products of f16 and bf16 by the processor's doubles.
//!
//! The problem: kernels of machine learning do most of their arithmetic on 16 bits, and the general way takes every number
//! apart. A double holds each such number and each product of two exactly; a sum of both may need more bits, and is rounded
//! to odd: whatever is cut off sets the last bit, so that a second rounding to a format of at most 51 bits decides as the
//! exact sum would (S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums", 2008). The error of a sum that
//! was rounded to nearest is a double, and tells on which side of it the exact sum lies (D. E. Knuth, volume 2, 4.2.2).
//!
//! Both ways between the formats are products by a power of two: an encoding shifted to the top of a double is that number
//! by 2^-(difference of the biases), subnormal ones included, which are subnormal doubles then. Rounding is the sum with a
//! power of two whose last place is that of the result. Neither has a branch, so that the processor's vectors do it.
//!
//! Not claimed: other roundings than to nearest, ties to even.

use crate::scalar::{FloatOp, Fmt};

/// A format of 16 bits within doubles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Half {
    /// Bits of the fraction.
    fraction: u32,
    /// The exponent of the least normal number.
    least: i32,
}

const F16: Half = Half {
    fraction: 10,
    least: -14,
};
const BF16: Half = Half {
    fraction: 7,
    least: -126,
};

/// A power of two as a double.
const fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

impl Half {
    /// The layout of a format; `None` of formats of other than 16 bits.
    pub(super) fn of(fmt: Fmt) -> Option<Half> {
        match fmt {
            Fmt::F16 => Some(F16),
            Fmt::Bf16 => Some(BF16),
            _ => None,
        }
    }

    /// How far an encoding is from the top of a double.
    const fn shift(self) -> u32 {
        52 - self.fraction
    }

    /// The encoding of an infinity.
    pub(super) const fn infinity(self) -> u64 {
        0x7fff >> self.fraction << self.fraction
    }

    /// The number of an encoding.
    #[inline(always)]
    pub(super) fn widened(self, bits: u64) -> f64 {
        let magnitude = bits & 0x7fff;
        let finite = f64::from_bits(magnitude << self.shift()) * power(1022 + self.least);
        // The largest exponent, with what the fraction says of NaN.
        let special = 0x7ff << 52 | magnitude << self.shift();
        let word = match magnitude >= self.infinity() {
            true => special,
            false => finite.to_bits(),
        };
        f64::from_bits(word | (bits & 0x8000) << 48)
    }

    /// The encoding of a double rounded to nearest, ties to even.
    #[inline(always)]
    pub(super) fn narrowed(self, x: f64) -> u64 {
        let beyond = power(1 - self.least + 1);
        // What is larger than that is an infinity too; a NaN is put in below.
        let a = x.abs().min(beyond);
        let exponent = a.to_bits().max(power(self.least).to_bits()) & 0x7ff << 52;
        let place = f64::from_bits(exponent + (u64::from(self.shift()) << 52));
        let rounded = (a + place) - place;
        let magnitude = (rounded * power(-1022 - self.least)).to_bits() >> self.shift();
        let magnitude = match x.is_nan() {
            true => 0x7fff,
            false => magnitude.min(self.infinity()),
        };
        match x.is_nan() {
            true => magnitude,
            false => magnitude | x.to_bits() >> 63 << 15,
        }
    }
}

/// The number that a format of 16 bits gives bits.
pub fn value(fmt: Fmt, bits: u64) -> Option<f64> {
    Half::of(fmt).map(|half| half.widened(bits))
}

/// The bits of a number, if the format has 16 bits and has it.
pub fn exactly(fmt: Fmt, v: f64) -> Option<u64> {
    let half = Half::of(fmt).filter(|_| v.is_finite())?;
    let bits = half.narrowed(v);
    (half.widened(bits) == v).then_some(bits)
}

/// The result of an operation that is one sum, one product or both, yet to be rounded to 16 bits.
pub(super) fn operation(op: FloatOp, fmt: Fmt, bits: [u64; 3]) -> Option<u64> {
    let half = Half::of(fmt)?;
    let [x, y, z] = bits.map(|b| half.widened(b));
    let r = match op {
        FloatOp::Add => sum_to_odd(x, y),
        FloatOp::Sub => sum_to_odd(x, -y),
        FloatOp::Mul => x * y,
        FloatOp::Fma => sum_to_odd(x * y, z),
        _ => return None,
    };
    Some(half.narrowed(r))
}

/// The sum of two doubles far from the ends of their range; with its last bit set where it is not exact.
#[inline(always)]
pub(super) fn sum_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    let bits = sum.to_bits();
    // Of an infinity or NaN the error is no number, which is above no number.
    let is_cut = error.abs() > 0.0 && bits & 1 == 0;
    let is_larger = (error > 0.0) == (sum > 0.0);
    let towards = if is_larger { 1 } else { u64::MAX };
    f64::from_bits(bits.wrapping_add(if is_cut { towards } else { 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::{Decoded, decode, nan, to_double};
    use crate::scalar::Rnd;

    /// Every encoding there and back, and what lies between two neighbours.
    #[test]
    fn encodings_and_doubles_agree() {
        for fmt in [Fmt::F16, Fmt::Bf16] {
            let half = Half::of(fmt).expect("16 bits");
            for bits in 0..1 << 16 {
                let wide = half.widened(bits);
                if decode(fmt, bits).value == Decoded::Nan {
                    assert!(wide.is_nan(), "{fmt:?} {bits:x}");
                    assert_eq!(half.narrowed(wide), nan(fmt));
                    continue;
                }
                assert_eq!(wide.to_bits(), to_double(fmt, bits).to_bits(), "{bits:x}");
                assert_eq!(half.narrowed(wide), bits, "{fmt:?} {bits:x}");
                if bits & 0x7fff >= half.infinity() {
                    continue;
                }
                let top = half.widened((bits & 0x8000) | (half.infinity() - 1));
                let next = match bits & 0x7fff == half.infinity() - 1 {
                    true => top + (top - half.widened(bits - 1)),
                    false => half.widened(bits + 1),
                };
                let middle = (wide + next) / 2.0;
                let near = [
                    f64::from_bits(middle.to_bits() - 1),
                    middle,
                    f64::from_bits(middle.to_bits() + 1),
                ];
                for x in near {
                    let exact = decode(Fmt::F64, x.to_bits()).encode(fmt, Rnd::Rn);
                    assert_eq!(Some(half.narrowed(x)), exact, "{fmt:?} {x:e}");
                }
            }
        }
    }
}
