//! Sums of products in matrix instructions, enclosed for every device that was measured.
//!
//! The problem: no manual says what a tensor core adds in which order, and what it cuts off. What was measured (M. Fasi, N. J.
//! Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA tensor cores", 2021; P. Xie, Y. Wang, F. Yang, M. Yang, arXiv
//! 2511.10909, 2025, bit for bit on eight architectures; F. A. Khattak, M. Mikaitis, arXiv 2512.07004, 2025) is one scheme:
//! products are exact, blocks of them and the sum so far are cut towards zero at one bit position, F places below the largest
//! exponent of an encoding, added exactly, and rounded to the accumulator: towards zero to f32, to nearest to f16; f64 is a
//! chain of multiply-adds. F is 23 on sm_70, 24 on sm_75 to sm_89, and 25 on sm_90 and above; for factors of eight bits it is
//! 13 in `mma` of sm_89 and `wgmma` of sm_90a, where the sum is rounded towards zero to 13 places too.
//!
//! Sound: each cut takes less than 2^-22 (2^-12) of the largest number of its block, twice what any F above makes it; of k
//! products there are at most k blocks, so at most 2k cuts and k roundings, in any direction, and what a rounding to 13 places
//! takes is no more than what the cuts are counted for beyond what they take. Each is a part of the sum of all magnitudes, in
//! which a factor counts as the least normal number at least: exponents are read off encodings. The exact sum that
//! [`number::total`](crate::number::total) rounds once lies inside.
//!
//! Not claimed: anything of scaled blocks and of integers, which have no words, or of devices that add in another way.

use crate::kernel::Fmt;
use crate::number;

use super::enclosure::{Range, add, mul, neg};
use super::part::MonomialSum;
use super::step::least_normal;

/// What the instruction is, as far as its error goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProductShape {
    /// The accumulator's format.
    pub fmt: Fmt,
    /// The factors' formats.
    pub factors: [Fmt; 2],
    /// Number of products.
    pub k: usize,
    /// The products are subtracted.
    pub is_negated: bool,
}

impl ProductShape {
    /// The error of the sum as a part of the sum of all magnitudes.
    pub(super) fn part(&self) -> Option<f64> {
        let k = self.k as f64;
        let (precision, _) = number::precision(self.fmt);
        let is_narrow = self.factors.iter().any(|f| f.bits() < 16);
        let cut = match self.fmt {
            Fmt::F64 => 0.0,
            _ if is_narrow => libm::exp2(-12.0),
            _ => libm::exp2(-22.0),
        };
        let all = 2.0 * k * cut + k * libm::exp2(1.0 - f64::from(precision));
        // Later blocks add what earlier ones are off.
        (all < 0.25).then_some(all / (1.0 - all))
    }

    /// The sum of an accumulator and products of factors.
    pub(super) fn enclosed(&self, c: Range, pairs: &[[Range; 2]]) -> Option<Range> {
        let is_finite = |r: &Range| r.lo.is_finite() && r.hi.is_finite();
        if !is_finite(&c) || !pairs.iter().flatten().all(is_finite) {
            return None;
        }
        let reach = |r: Range, fmt: Fmt| (r.largest() + r.off).max(least_normal(fmt));
        let (mut sum, mut size) = (c, reach(c, self.fmt));
        for &[a, b] in pairs {
            let product = mul(a, b).widened();
            let signed = if self.is_negated {
                neg(product)
            } else {
                product
            };
            sum = add(sum, signed).widened();
            size += reach(a, self.factors[0]) * reach(b, self.factors[1]);
        }
        let lost = 2.0 * self.k as f64 * least_normal(self.fmt);
        let off = sum.off + size * self.part()? + lost;
        let largest = number::to_double(self.fmt, number::largest(self.fmt, false));
        (2.0 * size + off < largest).then_some(sum.off_by(off).widened())
    }

    /// The part of the sum of the magnitudes that the sum of an accumulator and products of factors may be off.
    pub(super) fn part_of(
        &self,
        c: MonomialSum,
        pairs: &[[MonomialSum; 2]],
    ) -> Option<MonomialSum> {
        let part = self.part()?;
        let [left, right] = self.factors.map(least_normal);
        let mut sum = c;
        let mut counted = least_normal(self.fmt);
        for &[a, b] in pairs {
            sum = sum.add(a.mul(b)?);
            counted += left * b.reach() + right * a.reach() + left * right;
        }
        let lost = part * (sum.rest + counted) + 2.0 * self.k as f64 * least_normal(self.fmt);
        let largest = number::to_double(self.fmt, number::largest(self.fmt, false));
        let out = MonomialSum {
            units: sum.units + part,
            ..sum.less(lost)
        };
        (out.units < 0.5 && 2.0 * out.reach() + counted < largest).then_some(out)
    }
}
