//! Sums of products of integers, wrapping or saturating.
//!
//! Problem: integer matrix instructions add up products modulo 2^32, or with `.satfinite` clamp
//! the sum to the range of a signed 32-bit integer (PTX ISA 9.0, section 9.7.14.5.14). Compilers ask
//! for the clamp even where no input can reach it, and a product of bytes over any usual depth
//! cannot. So each sum keeps an interval, from the types of its factors: while the interval stays
//! inside the range, the clamped sum is the plain one, and kernels with and without the clamp
//! compute the same terms.
//!
//! Where the interval leaves the range, the sum is made at 64 bits and clamped. What is not
//! claimed: the tightest interval; an accumulator that no such sum has made may be anything.

use rustc_hash::FxHashMap;

use crate::kernel::{IntTy, MatTy};
use crate::term::{BitsOp, TermId};

use super::int_sym::{extend, saturate};
use super::machine::Machine;

/// Intervals of the sums made so far, which hold for every input.
pub type Intervals = FxHashMap<TermId, (i64, i64)>;

const WORD: IntTy = IntTy {
    width: 32,
    signed: true,
};

const RANGE: (i64, i64) = (i32::MIN as i64, i32::MAX as i64);

/// The smallest and the largest product of two elements of these types.
fn product_range(a: MatTy, b: MatTy) -> (i64, i64) {
    let ends = |ty: MatTy| match ty {
        MatTy::Int {
            width,
            signed: true,
        } => (-(1i64 << (width - 1)), (1 << (width - 1)) - 1),
        _ => (0, (1i64 << ty.bits().min(31)) - 1),
    };
    let ((p, q), (r, s)) = (ends(a), ends(b));
    let all = [p * r, p * s, q * r, q * s];
    let [mut lo, mut hi] = [all[0]; 2];
    for x in all {
        (lo, hi) = (lo.min(x), hi.max(x));
    }
    (lo, hi)
}

impl Machine<'_> {
    /// c and the products of 32-bit integers, whose types are those of the matrices, added up.
    pub fn integer_sum(
        &mut self,
        c: TermId,
        products: &[(TermId, TermId)],
        (a, b): (MatTy, MatTy),
        clamp: bool,
    ) -> TermId {
        if !clamp {
            return self.plain_sum(c, products, 32);
        }
        let s = &mut self.values.store;
        let known = s.as_bits(c).map(|v| v as u32 as i32 as i64);
        let from = match (known, self.integer_sums.get(&c)) {
            (Some(v), _) => (v, v),
            (None, Some(&interval)) => interval,
            (None, None) => RANGE,
        };
        let (lo, hi) = product_range(a, b);
        let n = products.len() as i64;
        let (lo, hi) = (from.0 + n * lo, from.1 + n * hi);
        let within = RANGE.0 <= lo && hi <= RANGE.1;
        let sum = if within {
            self.plain_sum(c, products, 32)
        } else {
            let wide = extend(s, c, true, 64);
            let sum = self.plain_sum(wide, products, 64);
            saturate(&mut self.values.store, sum, WORD, 64)
        };
        let interval = (lo.max(RANGE.0), hi.min(RANGE.1));
        self.integer_sums.insert(sum, interval);
        sum
    }

    /// The sum modulo 2^width, of products that 32 bits hold.
    fn plain_sum(&mut self, c: TermId, products: &[(TermId, TermId)], width: u8) -> TermId {
        let s = &mut self.values.store;
        let mut acc = c;
        for &(x, y) in products {
            let p = s.bits_op(BitsOp::Mul, x, y);
            let p = extend(s, p, true, width);
            acc = s.bits_op(BitsOp::Add, acc, p);
        }
        acc
    }
}
