//! Integer arithmetic on bits that depend on input data.
//!
//! Problem: the operations of [`int`](super::int) on bit-vector terms. Source: PTX ISA 9.0,
//! sections 9.7.1, 9.7.2, 9.7.8, 9.7.9.7 and 9.7.9.21. Every rule is checked in tests against
//! [`eval`](super::int::eval) with values put in for the leaves.
//!
//! The store's constructors keep shifts and masks by constants as fields, so that taking packed
//! data apart and putting it together gives back the terms it was made of.
//!
//! What is not claimed: completeness. An operation that no rule expresses exactly (permutation by
//! an unknown selector, a division by what may be zero, ...) has no term, and the caller reports
//! it; nothing is approximated.

use crate::kernel::{Cmp, IntOp, IntTy};
use crate::term::{BitsOp, ICmp, Sort, TermId, TermStore};

use super::int::{self, mask};

mod count;
mod logic;
mod permute;
#[cfg(test)]
pub(in crate::sim) mod tests;

pub use count::ones;
pub use logic::lop3;
pub use permute::{dot, elements};

/// The signed or unsigned extension of a term to a width.
pub fn extend(store: &mut TermStore, t: TermId, signed: bool, width: u8) -> TermId {
    if signed {
        store.sign_extend(t, width)
    } else {
        store.zero_extend(t, width)
    }
}

/// The operand cut or zero-extended to a width.
fn at(store: &mut TermStore, t: TermId, width: u8) -> TermId {
    match store.sort(t) {
        Sort::Bits(_) => store.zero_extend(t, width),
        _ => store.of_bool(width, t),
    }
}

/// The result of an operation on bit terms, as a term of [`int::result_width`] bits; `None` if
/// it has no expression. Operands of another width than the operation's are cut or extended with
/// zeros (shift amounts and field positions are 32 bits, carries 1 bit, or wider with zeros).
///
/// A division by anything but a nonzero constant has no expression.
pub fn symbolic(store: &mut TermStore, op: IntOp, ty: IntTy, args: [TermId; 4]) -> Option<TermId> {
    let w = ty.width;
    if !matches!(w, 1 | 8 | 16 | 32 | 64) || (w != 32 && only_32(op)) {
        return None;
    }
    let constants = args.map(|t| store.as_bits(t));
    if let [Some(a), Some(b), Some(c), Some(d)] = constants {
        let v = [a, b, c, d];
        if int::is_undefined(op, ty, v) {
            return None;
        }
        let value = int::eval(op, ty, v).0;
        return Some(store.bits(int::result_width(op, ty), value));
    }
    expression(store, op, ty, args)
}

/// [`symbolic`] where some operand is not known.
fn expression(s: &mut TermStore, op: IntOp, ty: IntTy, args: [TermId; 4]) -> Option<TermId> {
    let w = ty.width;
    let [a, b, c] = [0, 1, 2].map(|i| at(s, args[i], w));
    Some(match op {
        IntOp::Add => s.bits_op(BitsOp::Add, a, b),
        IntOp::Sub => sub(s, a, b),
        IntOp::AddSat | IntOp::SubSat => saturated(s, op, ty, a, b)?,
        IntOp::MulLo => s.bits_op(BitsOp::Mul, a, b),
        IntOp::MulHi => mul_high(s, a, b, ty)?,
        IntOp::MulWide => mul_wide(s, a, b, ty)?,
        IntOp::MadLo => {
            let p = s.bits_op(BitsOp::Mul, a, b);
            s.bits_op(BitsOp::Add, p, c)
        }
        IntOp::MadHi => {
            let p = mul_high(s, a, b, ty)?;
            s.bits_op(BitsOp::Add, p, c)
        }
        IntOp::MadHiSat => {
            let p = mul_high(s, a, b, ty)?;
            saturated(s, op, ty, p, c)?
        }
        IntOp::Mad24HiSat => {
            let p = mul24(s, a, b, ty, true);
            saturated(s, op, ty, p, c)?
        }
        IntOp::MadWide => {
            let p = mul_wide(s, a, b, ty)?;
            let wide = twice(w)?;
            let c = at(s, args[2], wide);
            s.bits_op(BitsOp::Add, p, c)
        }
        IntOp::Mul24Lo | IntOp::Mul24Hi => mul24(s, a, b, ty, op == IntOp::Mul24Hi),
        IntOp::Mad24Lo | IntOp::Mad24Hi => {
            let p = mul24(s, a, b, ty, op == IntOp::Mad24Hi);
            s.bits_op(BitsOp::Add, p, c)
        }
        IntOp::AddCarry => add_carry(s, a, b, args[2], w),
        IntOp::SubBorrow => {
            let k = carry_bit(s, args[2], w);
            let diff = sub(s, a, b);
            sub(s, diff, k)
        }
        IntOp::MadLoCarry => {
            let p = s.bits_op(BitsOp::Mul, a, b);
            add_carry(s, p, c, args[3], w)
        }
        IntOp::MadHiCarry => {
            let p = mul_high(s, a, b, ty)?;
            add_carry(s, p, c, args[3], w)
        }
        IntOp::Sad => {
            let d = distance(s, a, b, ty);
            s.bits_op(BitsOp::Add, c, d)
        }
        IntOp::Div | IntOp::Rem => divided(s, op, ty, a, b)?,
        IntOp::Abs => {
            let zero = s.bits(w, 0);
            let (p, n) = (s.icmp(ICmp::SLt, a, zero), neg(s, a));
            s.select(p, n, a)
        }
        IntOp::Neg => neg(s, a),
        IntOp::Min | IntOp::MinRelu | IntOp::Max | IntOp::MaxRelu => extremum(s, op, ty, a, b),
        IntOp::And => s.bits_op(BitsOp::And, a, b),
        IntOp::Or => s.bits_op(BitsOp::Or, a, b),
        IntOp::Xor => s.bits_op(BitsOp::Xor, a, b),
        IntOp::Not => not(s, a),
        IntOp::Cnot => {
            let zero = s.bits(w, 0);
            let p = s.icmp(ICmp::Eq, a, zero);
            s.of_bool(w, p)
        }
        IntOp::Shl | IntOp::Shr => shifted(s, op, ty, a, args[1]),
        IntOp::ShfLClamp | IntOp::ShfLWrap | IntOp::ShfRClamp | IntOp::ShfRWrap => {
            permute::funnel(s, op, a, b, args[2])
        }
        IntOp::Lop3(table) => lop3(s, table, a, b, c),
        IntOp::Prmt | IntOp::PrmtMode(_) => permute::prmt(s, op, a, b, c)?,
        IntOp::Bfe => permute::bfe(s, a, [args[1], args[2]], ty)?,
        IntOp::Bfi => permute::bfi(s, a, b, [args[2], args[3]], ty)?,
        IntOp::SzextClamp | IntOp::SzextWrap => permute::szext(s, op, a, b, ty)?,
        IntOp::Dp4a(sa, sb) => {
            let (x, y) = (elements::<4>(s, a, (8, sa), 0), elements(s, b, (8, sb), 0));
            dot(s, x, y, c)
        }
        IntOp::Dp2aLo(sa, sb) | IntOp::Dp2aHi(sa, sb) => {
            let first = if let IntOp::Dp2aHi(..) = op { 2 } else { 0 };
            let x = elements::<2>(s, a, (16, sa), 0);
            let y = elements(s, b, (8, sb), first);
            dot(s, x, y, c)
        }
        IntOp::Popc => count::ones(s, a, w),
        IntOp::Clz => count::leading_zeros(s, a, w),
        IntOp::Brev => count::reversed(s, a, w),
        IntOp::Bfind => count::top(s, a, ty, false),
        IntOp::BfindShift => count::top(s, a, ty, true),
        IntOp::BmskClamp | IntOp::BmskWrap => count::mask(s, op, a, b),
        IntOp::Fns => return None,
    })
}

/// The same for `lanes` elements of type `ty` packed in a register.
pub fn symbolic_packed(
    store: &mut TermStore,
    op: IntOp,
    ty: IntTy,
    lanes: u8,
    args: [TermId; 4],
) -> Option<TermId> {
    if lanes <= 1 {
        return symbolic(store, op, ty, args);
    }
    let whole = ty.width.checked_mul(lanes).filter(|&n| n <= 64)?;
    let args = args.map(|t| at(store, t, whole));
    let mut parts = Vec::new();
    for i in 0..lanes {
        let one = args.map(|t| store.extract(t, i * ty.width, ty.width));
        parts.push(symbolic(store, op, ty, one)?);
    }
    Some(store.concat(&parts))
}

/// The carry or borrow out of an operation that has one, as one bit; `None` if it has none or no
/// expression.
pub fn symbolic_carry(
    store: &mut TermStore,
    op: IntOp,
    ty: IntTy,
    args: [TermId; 4],
) -> Option<TermId> {
    let w = ty.width;
    let s = store;
    let [a, b, c] = [0, 1, 2].map(|i| at(s, args[i], w));
    let (x, y, carry) = match op {
        IntOp::AddCarry => (a, b, args[2]),
        IntOp::SubBorrow => {
            // There is a borrow if a < b, or if a = b and one is carried in.
            let (below, same) = (s.icmp(ICmp::ULt, a, b), s.icmp(ICmp::Eq, a, b));
            let k = carry_truth(s, args[2]);
            let both = s.and(same, k);
            let p = s.or(below, both);
            return Some(s.of_bool(1, p));
        }
        IntOp::MadLoCarry => (s.bits_op(BitsOp::Mul, a, b), c, args[3]),
        IntOp::MadHiCarry => (mul_high(s, a, b, ty)?, c, args[3]),
        _ => return None,
    };
    // The sum wraps if it is below an operand, or equal to it and one was carried in.
    let sum = add_carry(s, x, y, carry, w);
    let (below, same) = (s.icmp(ICmp::ULt, sum, x), s.icmp(ICmp::Eq, sum, x));
    let k = carry_truth(s, carry);
    let both = s.and(same, k);
    let p = s.or(below, both);
    Some(s.of_bool(1, p))
}

/// `cvt` between integer types: see [`int::cvt_int`].
pub fn cvt_int_sym(
    store: &mut TermStore,
    from: IntTy,
    to: IntTy,
    sat: bool,
    bits: TermId,
    width: u8,
) -> TermId {
    let s = store;
    let v = at(s, bits, from.width);
    let mut r = extend(s, v, from.signed, to.width);
    if sat {
        let ((from_lo, from_hi), (lo, hi)) = (range(from), range(to));
        // A bound of the destination counts only if it lies inside the source's range, where it
        // is a value of the source type.
        let at_source = |s: &mut TermStore, x: i128| s.bits(from.width, x as u64);
        if lo > from_lo {
            let k = at_source(s, lo);
            let p = less(s, v, k, from);
            let bound = s.bits(to.width, lo as u64);
            r = s.select(p, bound, r);
        }
        if hi < from_hi {
            let k = at_source(s, hi);
            let p = less(s, k, v, from);
            let bound = s.bits(to.width, hi as u64);
            r = s.select(p, bound, r);
        }
    }
    extend(s, r, to.signed, width)
}

/// A comparison as a truth term: see [`int::compare`].
pub fn compare_sym(store: &mut TermStore, cmp: Cmp, ty: IntTy, a: TermId, b: TermId) -> TermId {
    let (a, b) = (at(store, a, ty.width), at(store, b, ty.width));
    let s = store;
    match cmp {
        Cmp::Eq | Cmp::Equ => s.icmp(ICmp::Eq, a, b),
        Cmp::Ne | Cmp::Neu => {
            let p = s.icmp(ICmp::Eq, a, b);
            s.not(p)
        }
        Cmp::Lt | Cmp::Ltu => less(s, a, b, ty),
        Cmp::Gt | Cmp::Gtu => less(s, b, a, ty),
        Cmp::Le | Cmp::Leu => at_most(s, a, b, ty),
        Cmp::Ge | Cmp::Geu => at_most(s, b, a, ty),
        Cmp::Num => s.bool(true),
        Cmp::Nan => s.bool(false),
    }
}

/// True for operations that PTX has at 32 bits only.
fn only_32(op: IntOp) -> bool {
    use IntOp::*;
    matches!(
        op,
        Mul24Lo
            | Mul24Hi
            | Mad24Lo
            | Mad24Hi
            | Mad24HiSat
            | ShfLClamp
            | ShfLWrap
            | ShfRClamp
            | ShfRWrap
            | Prmt
            | PrmtMode(_)
            | SzextClamp
            | SzextWrap
            | Dp4a(..)
            | Dp2aLo(..)
            | Dp2aHi(..)
    )
}

fn range(ty: IntTy) -> (i128, i128) {
    if ty.signed {
        let half = 1i128 << (ty.width - 1);
        (-half, half - 1)
    } else {
        (0, (1i128 << ty.width) - 1)
    }
}

/// Twice the width, where that is at most 64.
fn twice(w: u8) -> Option<u8> {
    (w <= 32).then_some(2 * w)
}

fn neg(s: &mut TermStore, a: TermId) -> TermId {
    let Sort::Bits(w) = s.sort(a) else { return a };
    let ones = s.bits(w, u64::MAX);
    s.bits_op(BitsOp::Mul, a, ones)
}

fn sub(s: &mut TermStore, a: TermId, b: TermId) -> TermId {
    let n = neg(s, b);
    s.bits_op(BitsOp::Add, a, n)
}

fn not(s: &mut TermStore, a: TermId) -> TermId {
    let Sort::Bits(w) = s.sort(a) else { return a };
    let ones = s.bits(w, u64::MAX);
    s.bits_op(BitsOp::Xor, a, ones)
}

fn less(s: &mut TermStore, a: TermId, b: TermId, ty: IntTy) -> TermId {
    s.icmp(if ty.signed { ICmp::SLt } else { ICmp::ULt }, a, b)
}

fn at_most(s: &mut TermStore, a: TermId, b: TermId, ty: IntTy) -> TermId {
    s.icmp(if ty.signed { ICmp::SLe } else { ICmp::ULe }, a, b)
}

/// `min` and `max`, and with `.relu` no less than zero.
fn extremum(s: &mut TermStore, op: IntOp, ty: IntTy, a: TermId, b: TermId) -> TermId {
    let p = less(s, a, b, ty);
    let m = match op {
        IntOp::Min | IntOp::MinRelu => s.select(p, a, b),
        _ => s.select(p, b, a),
    };
    if !matches!(op, IntOp::MinRelu | IntOp::MaxRelu) || !ty.signed {
        return m;
    }
    let zero = s.bits(ty.width, 0);
    let p = s.icmp(ICmp::SLt, m, zero);
    s.select(p, zero, m)
}

/// The sum, or for `sub.sat` the difference, cut to the range of the type.
fn saturated(s: &mut TermStore, op: IntOp, ty: IntTy, a: TermId, b: TermId) -> Option<TermId> {
    let wide = twice(ty.width)?;
    let (x, y) = (extend(s, a, ty.signed, wide), extend(s, b, ty.signed, wide));
    let sum = if op == IntOp::SubSat {
        sub(s, x, y)
    } else {
        s.bits_op(BitsOp::Add, x, y)
    };
    // Below zero or above twice the range at most: signed at twice the width.
    Some(saturate(s, sum, ty, wide))
}

/// |a - b|.
fn distance(s: &mut TermStore, a: TermId, b: TermId, ty: IntTy) -> TermId {
    let p = less(s, a, b, ty);
    let (x, y) = (sub(s, b, a), sub(s, a, b));
    s.select(p, x, y)
}

/// `div` and `rem`, by a constant that is not zero.
fn divided(s: &mut TermStore, op: IntOp, ty: IntTy, a: TermId, b: TermId) -> Option<TermId> {
    if s.as_bits(b).is_none_or(|v| v == 0) {
        return None;
    }
    let op = match (op, ty.signed) {
        (IntOp::Div, true) => BitsOp::SDiv,
        (IntOp::Div, false) => BitsOp::UDiv,
        (_, true) => BitsOp::SRem,
        (_, false) => BitsOp::URem,
    };
    Some(s.bits_op(op, a, b))
}

/// `shl` and `shr`.
fn shifted(s: &mut TermStore, op: IntOp, ty: IntTy, a: TermId, amount: TermId) -> TermId {
    let amount = shift_amount(s, amount, ty.width);
    let op = match (op, ty.signed) {
        (IntOp::Shl, _) => BitsOp::Shl,
        (_, true) => BitsOp::AShr,
        (_, false) => BitsOp::LShr,
    };
    s.bits_op(op, a, amount)
}

/// A sum or difference in `wide` bits, signed, clamped to the range of a type of half the width.
/// A sum of width `wide`, as signed, cut to the range of a type.
pub fn saturate(s: &mut TermStore, sum: TermId, ty: IntTy, wide: u8) -> TermId {
    let (lo, hi) = range(ty);
    let (l, h) = (s.bits(wide, lo as u64), s.bits(wide, hi as u64));
    let (below, above) = (s.icmp(ICmp::SLt, sum, l), s.icmp(ICmp::SLt, h, sum));
    let [l, h, v] = [l, h, sum].map(|t| s.extract(t, 0, ty.width));
    // The tests in the order of a saturating conversion, so that both are one term.
    let v = s.select(below, l, v);
    s.select(above, h, v)
}

fn mul_wide(s: &mut TermStore, a: TermId, b: TermId, ty: IntTy) -> Option<TermId> {
    let wide = twice(ty.width)?;
    let (x, y) = (extend(s, a, ty.signed, wide), extend(s, b, ty.signed, wide));
    Some(s.bits_op(BitsOp::Mul, x, y))
}

fn mul_high(s: &mut TermStore, a: TermId, b: TermId, ty: IntTy) -> Option<TermId> {
    if ty.width == 64 {
        return Some(mul_high_64(s, a, b, ty.signed));
    }
    let p = mul_wide(s, a, b, ty)?;
    Some(s.extract(p, ty.width, ty.width))
}

/// The high half of a product of 64-bit numbers, from the products of their halves. The signed
/// one is the unsigned one less either factor where the other is negative.
fn mul_high_64(s: &mut TermStore, a: TermId, b: TermId, signed: bool) -> TermId {
    let mut half = |t, low| {
        let h = s.extract(t, low, 32);
        s.zero_extend(h, 64)
    };
    let (al, ah, bl, bh) = (half(a, 0), half(a, 32), half(b, 0), half(b, 32));
    let high = |s: &mut TermStore, t| {
        let h = s.extract(t, 32, 32);
        s.zero_extend(h, 64)
    };
    // No sum wraps: (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1.
    let low = s.bits_op(BitsOp::Mul, al, bl);
    let carry = high(s, low);
    let cross = s.bits_op(BitsOp::Mul, ah, bl);
    let middle = s.bits_op(BitsOp::Add, cross, carry);
    let carry = high(s, middle);
    let rest = s.extract(middle, 0, 32);
    let rest = s.zero_extend(rest, 64);
    let cross = s.bits_op(BitsOp::Mul, al, bh);
    let middle = s.bits_op(BitsOp::Add, cross, rest);
    let more = high(s, middle);
    let top = s.bits_op(BitsOp::Mul, ah, bh);
    let sum = s.bits_op(BitsOp::Add, carry, more);
    let mut out = s.bits_op(BitsOp::Add, top, sum);
    if signed {
        let zero = s.bits(64, 0);
        for (x, y) in [(a, b), (b, a)] {
            let p = s.icmp(ICmp::SLt, x, zero);
            let less = s.select(p, y, zero);
            out = sub(s, out, less);
        }
    }
    out
}

/// Bits 31..0 or 47..16 of the product of the low 24 bits.
fn mul24(s: &mut TermStore, a: TermId, b: TermId, ty: IntTy, high: bool) -> TermId {
    let wide = if high { 48 } else { 32 };
    let [x, y] = [a, b].map(|t| {
        let low = s.extract(t, 0, 24);
        extend(s, low, ty.signed, wide)
    });
    let p = s.bits_op(BitsOp::Mul, x, y);
    s.extract(p, wide - 32, 32)
}

fn carry_bit(s: &mut TermStore, carry: TermId, width: u8) -> TermId {
    let one = at(s, carry, 1);
    s.zero_extend(one, width)
}

fn carry_truth(s: &mut TermStore, carry: TermId) -> TermId {
    let (k, one) = (at(s, carry, 1), s.bits(1, 1));
    s.icmp(ICmp::Eq, k, one)
}

/// x + y + carry.
fn add_carry(s: &mut TermStore, x: TermId, y: TermId, carry: TermId, width: u8) -> TermId {
    let sum = s.bits_op(BitsOp::Add, x, y);
    let k = carry_bit(s, carry, width);
    s.bits_op(BitsOp::Add, sum, k)
}

/// A 32-bit shift amount as an amount of width `w`, which shifts everything out where it did.
fn shift_amount(s: &mut TermStore, amount: TermId, w: u8) -> TermId {
    if let Some(n) = s.as_bits(amount) {
        return s.bits(w, (n & mask(32)).min(w as u64));
    }
    let n = at(s, amount, 32);
    if w >= 32 {
        return s.zero_extend(n, w);
    }
    let limit = s.bits(32, w as u64);
    let p = s.icmp(ICmp::ULt, n, limit);
    let n = s.select(p, n, limit);
    s.extract(n, 0, w)
}
