//! Sums that are exact in every order.
//!
//! The problem: where threads count by adding 1.0, or weights that are small integers, to floats in memory, no order of the
//! additions rounds anything. All summands are multiples of one power of two; so is the sum of any of them, and where
//! the magnitudes together are at most 2^p units, p the bits of a significand, each such sum is a number of the format.
//!
//! Not claimed: a sum that is exact by luck. An exact zero is +0 but where all summands are -0, in any order.

use crate::scalar::Fmt;

use super::{Decoded, Float, precision};

/// Summands so far: multiples of 2^unit whose magnitudes are so many units together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AnyOrder {
    unit: i32,
    total: u128,
}

impl AnyOrder {
    /// With one more summand; `None` if some order of the sums may round, overflow or be flushed.
    pub fn with(self, x: Float, fmt: Fmt) -> Option<AnyOrder> {
        let (mantissa, exponent) = match x.value {
            Decoded::Nan | Decoded::Infinite => return None,
            Decoded::Zero => return Some(self),
            Decoded::Finite { mantissa, exponent } => {
                let zeros = mantissa.trailing_zeros();
                (u128::from(mantissa >> zeros), exponent + zeros as i32)
            }
        };
        let unit = match self.total {
            0 => exponent,
            _ => self.unit.min(exponent),
        };
        // A format of at most 53 bits has no use for more.
        let units = |n: u128, from: i32| (from - unit < 60).then(|| n << (from - unit));
        let before = match self.total {
            0 => 0,
            n => units(n, self.unit)?,
        };
        let total = before + units(mantissa, exponent)?;
        let (bits, least) = precision(fmt);
        let normal = least + bits as i32 - 1;
        let fits = total <= 1 << bits && unit >= normal && unit + bits as i32 <= 1 - normal;
        fits.then_some(AnyOrder { unit, total })
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode;
    use super::*;

    fn all(values: &[f32]) -> Option<AnyOrder> {
        let float = |x: &f32| decode(Fmt::F32, x.to_bits().into());
        let mut so_far = values.iter().map(float);
        so_far.try_fold(AnyOrder::default(), |sum, x| sum.with(x, Fmt::F32))
    }

    #[test]
    fn small_integers_and_fractions_are_exact() {
        assert!(all(&[1.0; 4096]).is_some());
        assert!(all(&[0.5, -3.25, 1024.0, 0.0]).is_some());
    }

    #[test]
    fn what_some_order_rounds_is_not() {
        assert!(all(&[1.0, 16_777_216.0]).is_none());
        assert!(all(&[0.1, 0.2, 1e8]).is_none());
        assert!(all(&[f32::INFINITY]).is_none());
        assert!(all(&[f32::from_bits(3)]).is_none());
        assert!(all(&[3e38, -3e38, 3e38]).is_none());
    }

    /// Where it says so, random orders leave the same bits.
    #[test]
    fn orders_agree() {
        let mut state = 7u64;
        let mut draw = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(11);
            state >> 33
        };
        let mut exact = 0;
        for _ in 0..2_000 {
            let n = 3 + draw() as usize % 6;
            let digits = 1 + draw() % 14;
            let values: Vec<f32> = (0..n)
                .map(|_| {
                    let m = (draw() % (1 << digits)) as f32 - (1 << (digits - 1)) as f32;
                    m * 2f32.powi((draw() % 6) as i32 - 3)
                })
                .collect();
            if all(&values).is_none() {
                continue;
            }
            exact += 1;
            let forth: f32 = values.iter().fold(0.0, |s, x| s + x);
            let back: f32 = values.iter().rev().fold(0.0, |s, x| s + x);
            assert_eq!(forth.to_bits(), back.to_bits(), "{values:?}");
        }
        assert!(exact > 500, "{exact}");
    }
}
