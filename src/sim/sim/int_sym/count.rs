//! Operations that count or reverse bits, and masks of a run of bits, as exact expressions.
//!
//! Source: PTX ISA 9.0, sections 9.7.1.12 to 9.7.1.19 (`popc`, `clz`, `bfind`, `brev`, `bmsk`).
//! A count is a sum of truths: of the bits themselves, or of "is below 2^k" for every k, which
//! is linear where a chain of selects would be nested.

use crate::kernel::{IntOp, IntTy};
use crate::term::{BitsOp, ICmp, TermId, TermStore};

use super::{at, neg, sub};

/// The number of ones, in 32 bits.
pub fn ones(s: &mut TermStore, a: TermId, w: u8) -> TermId {
    let mut sum = s.bits(32, 0);
    for i in 0..w {
        let bit = s.extract(a, i, 1);
        let bit = s.zero_extend(bit, 32);
        sum = s.bits_op(BitsOp::Add, sum, bit);
    }
    sum
}

/// The number of zeros above the highest one, in 32 bits: one for every power of two that the
/// number is below.
pub(super) fn leading_zeros(s: &mut TermStore, a: TermId, w: u8) -> TermId {
    let mut sum = s.bits(32, 0);
    for k in 0..w {
        let power = s.bits(w, 1 << k);
        let below = s.icmp(ICmp::ULt, a, power);
        let one = s.of_bool(32, below);
        sum = s.bits_op(BitsOp::Add, sum, one);
    }
    sum
}

/// The bits in reverse order.
pub(super) fn reversed(s: &mut TermStore, a: TermId, w: u8) -> TermId {
    let parts: Vec<TermId> = (0..w).rev().map(|i| s.extract(a, i, 1)).collect();
    s.concat(&parts)
}

/// `bfind`: the place of the highest bit that differs from the sign, or the shift that would bring
/// it to the top; all ones if there is none.
pub(super) fn top(s: &mut TermStore, a: TermId, ty: IntTy, shift: bool) -> TermId {
    let w = ty.width;
    let a = if ty.signed {
        let amount = s.bits(w, w as u64 - 1);
        let sign = s.bits_op(BitsOp::AShr, a, amount);
        s.bits_op(BitsOp::Xor, a, sign)
    } else {
        a
    };
    let zeros = leading_zeros(s, a, w);
    if !shift {
        // Without a one there are w zeros, and this is -1.
        let top = s.bits(32, w as u64 - 1);
        return sub(s, top, zeros);
    }
    let zero = s.bits(w, 0);
    let none = s.icmp(ICmp::Eq, a, zero);
    let ones = s.bits(32, u64::MAX);
    s.select(none, ones, zeros)
}

/// `bmsk`: as many ones as `len` says, from bit `pos` on.
pub(super) fn mask(s: &mut TermStore, op: IntOp, pos: TermId, len: TermId) -> TermId {
    let (mut pos, mut len) = (at(s, pos, 32), at(s, len, 32));
    if op == IntOp::BmskWrap {
        let low = s.bits(32, 31);
        pos = s.bits_op(BitsOp::And, pos, low);
        len = s.bits_op(BitsOp::And, len, low);
    }
    // A shift by 32 or more leaves nothing, so that a longer field is all ones.
    let one = s.bits(32, 1);
    let power = s.bits_op(BitsOp::Shl, one, len);
    let minus = neg(s, one);
    let ones = s.bits_op(BitsOp::Add, power, minus);
    s.bits_op(BitsOp::Shl, ones, pos)
}
