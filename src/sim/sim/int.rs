//! Integer, bit and address arithmetic on known values.
//!
//! The problem: what a register holds after an integer instruction, exactly as PTX ISA 9.0
//! defines it in sections 9.7.1 (integer), 9.7.2 (carry chains), 9.7.8 (logic and shifts),
//! 9.7.9.7 (`prmt`), 9.7.9.21 (`cvt`), 9.7.6 (comparisons) and 9.7.13 (atomics).
//!
//! Sources are register contents of which only the low bits of the operand type count; results
//! are zero-extended to the width of the result. Arithmetic wraps, shift amounts are clamped or
//! wrapped as the instruction says. Sub-word arithmetic is exactly sub-word: the licence of
//! section 9.6.1 to keep extra high bits is not used by current compilers.
//!
//! What is not claimed: results that the manual leaves undefined ([`is_undefined`]) are given
//! some value here; the caller asks first and reports them.

use crate::kernel::{AtomOp, Cmp, IntOp, IntTy, PrmtMode};

mod lanes;
mod one;
#[doc(hidden)]
pub mod samples;
#[cfg(test)]
pub(crate) mod tests;

pub use lanes::eval_lanes;

/// The low `width` bits set; `width` is 1 to 64.
#[inline(always)]
pub fn mask(width: u8) -> u64 {
    u64::MAX >> ((64 - width as u32) & 63)
}

/// Sign-extends the low `width` bits; `width` is 1 to 64.
#[inline(always)]
pub fn sext(value: u64, width: u8) -> i64 {
    let s = (64 - width as u32) & 63;
    ((value << s) as i64) >> s
}

/// The integer that the low bits of `value` denote in a type.
#[inline(always)]
fn int(value: u64, ty: IntTy) -> i128 {
    if ty.signed {
        sext(value, ty.width) as i128
    } else {
        (value & mask(ty.width)) as i128
    }
}

/// The same in 64 bits: equal modulo 2^64, and equal where the width is below 64.
#[inline(always)]
fn word(value: u64, ty: IntTy) -> u64 {
    if ty.signed {
        sext(value, ty.width) as u64
    } else {
        value & mask(ty.width)
    }
}

/// Clamps an integer to the range of a type and encodes it.
#[inline(always)]
fn saturate(value: i128, ty: IntTy) -> u64 {
    let w = ty.width as u32;
    let (lo, hi) = if ty.signed {
        (-(1i128 << (w - 1)), (1i128 << (w - 1)) - 1)
    } else {
        (0, (1i128 << w) - 1)
    };
    value.clamp(lo, hi) as u64 & mask(ty.width)
}

/// The low 24 bits of a source of `mul24`, extended by the type's signedness.
#[inline(always)]
fn low24(value: u64, signed: bool) -> i64 {
    word(value, IntTy { width: 24, signed }) as i64
}

/// Bits `2w-1..w` of the product.
#[inline(always)]
fn mul_high(a: u64, b: u64, ty: IntTy) -> u64 {
    if ty.width <= 32 {
        (word(a, ty).wrapping_mul(word(b, ty)) >> ty.width) & mask(ty.width)
    } else {
        ((int(a, ty).wrapping_mul(int(b, ty))) >> ty.width) as u64 & mask(ty.width)
    }
}

/// Bits 47..16 of the product of two 24-bit numbers.
#[inline(always)]
fn mul24_high(a: u64, b: u64, signed: bool) -> u64 {
    ((low24(a, signed) * low24(b, signed)) >> 16) as u64 & mask(32)
}

/// a + b + c in `w` bits, with the carry out of bit `w - 1`.
#[inline(always)]
fn add_with_carry(a: u64, b: u64, carry: u64, w: u8) -> (u64, bool) {
    let m = mask(w);
    let sum = (a & m) as u128 + (b & m) as u128 + (carry & 1) as u128;
    (sum as u64 & m, sum >> w & 1 == 1)
}

/// Width in bits of the result of an operation at a type.
#[inline(always)]
pub fn result_width(op: IntOp, ty: IntTy) -> u8 {
    match op {
        IntOp::MulWide | IntOp::MadWide => (ty.width * 2).min(64),
        IntOp::Popc | IntOp::Clz | IntOp::Bfind | IntOp::BfindShift => 32,
        _ => ty.width,
    }
}

/// True if [`is_undefined`] can hold for some operands.
#[inline(always)]
pub fn may_be_undefined(op: IntOp, ty: IntTy) -> bool {
    match op {
        IntOp::Div | IntOp::Rem | IntOp::Fns => true,
        IntOp::Bfe | IntOp::Bfi => ty.width == 64,
        _ => false,
    }
}

/// True if the result is open: division by zero, `fns` with a base above 31, which the manual leaves
/// so; and where ptxas folds something else than the manual says: positions and lengths above 255
/// in 64 bits, of which the manual takes the low byte, and `fns` with the offset -2^31.
#[inline(always)]
pub fn is_undefined(op: IntOp, ty: IntTy, s: [u64; 4]) -> bool {
    let long = |x: u64| x & mask(32) > 255;
    match op {
        IntOp::Div | IntOp::Rem => s[1] & mask(ty.width) == 0,
        IntOp::Fns => s[1] as u32 > 31 || s[2] as u32 == 1 << 31,
        IntOp::Bfe => ty.width == 64 && (long(s[1]) || long(s[2])),
        IntOp::Bfi => ty.width == 64 && (long(s[2]) || long(s[3])),
        _ => false,
    }
}

/// The result of an operation and its carry or borrow out (false for operations without one).
///
/// `s` are the contents of the source registers; bits above the operand's width are ignored.
/// The result is zero-extended to [`result_width`]. Undefined operations give all ones.
pub fn eval(op: IntOp, ty: IntTy, s: [u64; 4]) -> (u64, bool) {
    let [a, b, c, d] = s;
    let w = ty.width;
    let m = mask(w);
    let value = match op {
        IntOp::Add => one::add(ty, s),
        IntOp::AddSat => saturate(int(a, ty) + int(b, ty), ty),
        IntOp::Sub => one::sub(ty, s),
        IntOp::SubSat => saturate(int(a, ty) - int(b, ty), ty),
        IntOp::MulLo => one::mul_lo(ty, s),
        IntOp::MulHi => one::mul_hi(ty, s),
        IntOp::MulWide => one::mul_wide(ty, s),
        IntOp::MadLo => one::mad_lo(ty, s),
        IntOp::MadHi => one::mad_hi(ty, s),
        IntOp::MadHiSat => {
            let high = int(mul_high(a, b, ty), ty);
            saturate(high + int(c, ty), ty)
        }
        IntOp::MadWide => one::mad_wide(ty, s),
        IntOp::Mul24Lo => (low24(a, ty.signed) * low24(b, ty.signed)) as u64 & m,
        IntOp::Mul24Hi => mul24_high(a, b, ty.signed) & m,
        IntOp::Mad24Lo => ((low24(a, ty.signed) * low24(b, ty.signed)) as u64).wrapping_add(c) & m,
        IntOp::Mad24Hi => mul24_high(a, b, ty.signed).wrapping_add(c) & m,
        IntOp::Mad24HiSat => {
            let high = int(mul24_high(a, b, ty.signed), ty);
            saturate(high + int(c, ty), ty)
        }
        IntOp::AddCarry => return add_with_carry(a, b, c, w),
        IntOp::SubBorrow => {
            let take = (b & m) as u128 + (c & 1) as u128;
            let r = ((a & m) as u128).wrapping_sub(take) as u64 & m;
            return (r, ((a & m) as u128) < take);
        }
        IntOp::MadLoCarry => return add_with_carry(a.wrapping_mul(b), c, d, w),
        IntOp::MadHiCarry => return add_with_carry(mul_high(a, b, ty), c, d, w),
        IntOp::Sad => c.wrapping_add(distance(a, b, ty)) & m,
        IntOp::Div => one::div(ty, s),
        IntOp::Rem => one::rem(ty, s),
        IntOp::Abs => one::abs(ty, s),
        IntOp::Neg => one::neg(ty, s),
        IntOp::Min => one::min(ty, s),
        IntOp::Max => one::max(ty, s),
        IntOp::MinRelu => relu(pick(less(a, b, ty), a, b), ty),
        IntOp::MaxRelu => relu(pick(less(a, b, ty), b, a), ty),
        IntOp::And => one::and(ty, s),
        IntOp::Or => one::or(ty, s),
        IntOp::Xor => one::xor(ty, s),
        IntOp::Not => one::not(ty, s),
        IntOp::Cnot => (a & m == 0) as u64,
        IntOp::Shl => one::shl(ty, s),
        IntOp::Shr => one::shr(ty, s),
        IntOp::ShfLClamp => funnel_left(a, b, (c & mask(32)).min(32)),
        IntOp::ShfLWrap => one::shf_l_wrap(ty, s),
        IntOp::ShfRClamp => funnel_right(a, b, (c & mask(32)).min(32)),
        IntOp::ShfRWrap => one::shf_r_wrap(ty, s),
        IntOp::Lop3(table) => one::lop3(table)(ty, s),
        IntOp::Prmt => one::prmt(ty, s),
        IntOp::PrmtMode(mode) => prmt(a, b, mode_selector(mode, c) as u64),
        IntOp::Bfe => one::bfe(ty, s),
        IntOp::Bfi => bfi(a, b, (c & 0xff, d & 0xff), w) & m,
        IntOp::Popc => (a & m).count_ones() as u64,
        IntOp::Clz => ((a & m).leading_zeros() - (64 - w as u32)) as u64,
        IntOp::Brev => a.reverse_bits() >> ((64 - w as u32) & 63),
        IntOp::Bfind => bfind(a, ty).map_or(mask(32), u64::from),
        IntOp::BfindShift => bfind(a, ty).map_or(mask(32), |i| u64::from(w as u32 - 1 - i)),
        IntOp::Fns => fns(a as u32, b as u32, c as i32) as u64,
        IntOp::SzextClamp if b & mask(32) >= 32 => a & m,
        IntOp::SzextClamp | IntOp::SzextWrap => match b as u8 & 31 {
            0 => 0,
            n => {
                let field = IntTy {
                    width: n,
                    signed: ty.signed,
                };
                word(a, field) & m
            }
        },
        IntOp::BmskClamp => bmsk(a & mask(32), (b & mask(32)).min(32)),
        IntOp::BmskWrap => bmsk(a & 31, b & 31),
        IntOp::Dp4a(sa, sb) => {
            let mut sum = c;
            for i in 0..4 {
                sum = sum.wrapping_add(field(a, i, 8, sa).wrapping_mul(field(b, i, 8, sb)));
            }
            sum & m
        }
        IntOp::Dp2aLo(sa, sb) => dp2a(a, b, c, 0, sa, sb) & m,
        IntOp::Dp2aHi(sa, sb) => dp2a(a, b, c, 2, sa, sb) & m,
    };
    (value, false)
}

/// An operation on each of `lanes` elements of type `ty` packed in one register
/// (`add.u16x2`); there is no carry between them.
#[inline(always)]
pub fn eval_packed(op: IntOp, ty: IntTy, lanes: u8, s: [u64; 4]) -> (u64, bool) {
    if lanes <= 1 {
        return eval(op, ty, s);
    }
    let mut out = 0;
    for i in 0..lanes as u32 {
        let at = i * ty.width as u32;
        if at < 64 {
            out |= eval(op, ty, s.map(|x| x >> at)).0 << at;
        }
    }
    (out, false)
}

#[inline(always)]
fn pick(p: bool, a: u64, b: u64) -> u64 {
    if p { a } else { b }
}

#[inline(always)]
fn less(a: u64, b: u64, ty: IntTy) -> bool {
    // Shifted to the top, values compare as they do at their own width.
    let s = (64 - ty.width as u32) & 63;
    if ty.signed {
        ((a << s) as i64) < ((b << s) as i64)
    } else {
        (a << s) < (b << s)
    }
}

/// How far apart two numbers are.
#[inline(always)]
fn distance(a: u64, b: u64, ty: IntTy) -> u64 {
    if less(a, b, ty) {
        b.wrapping_sub(a)
    } else {
        a.wrapping_sub(b)
    }
}

#[inline(always)]
fn relu(a: u64, ty: IntTy) -> u64 {
    pick(ty.signed && sext(a, ty.width) < 0, 0, a & mask(ty.width))
}

#[inline(always)]
fn funnel_left(a: u64, b: u64, n: u64) -> u64 {
    ((((b & mask(32)) << 32 | a & mask(32)) << n) >> 32) & mask(32)
}

#[inline(always)]
fn funnel_right(a: u64, b: u64, n: u64) -> u64 {
    (((b & mask(32)) << 32 | a & mask(32)) >> n) & mask(32)
}

#[inline(always)]
fn prmt(a: u64, b: u64, selector: u64) -> u64 {
    let source = (b & mask(32)) << 32 | a & mask(32);
    let mut out = 0;
    for i in 0..4 {
        let nibble = selector >> (4 * i) & 15;
        let byte = source >> (8 * (nibble & 7)) & 0xff;
        let sign = (byte >> 7).wrapping_neg() & 0xff;
        out |= pick(nibble & 8 != 0, sign, byte) << (8 * i);
    }
    out
}

/// The generic selector that a special mode of `prmt` stands for.
#[inline(always)]
pub fn mode_selector(mode: PrmtMode, control: u64) -> u16 {
    let s = control as u16 & 3;
    let mut out = 0;
    for i in 0..4 {
        let byte = match mode {
            PrmtMode::F4e => s + i,
            PrmtMode::B4e => (s + 8 - i) & 7,
            PrmtMode::Rc8 => s,
            PrmtMode::Ecl => s.max(i),
            PrmtMode::Ecr => s.min(i),
            PrmtMode::Rc16 => 2 * (s & 1) + (i & 1),
        };
        out |= byte << (4 * i);
    }
    out
}

#[inline(always)]
fn bfe(a: u64, pos: u64, len: u64, ty: IntTy) -> u64 {
    let w = ty.width;
    if len == 0 {
        return 0;
    }
    // Shifting in the sign makes every bit past the top one equal to it, so that the top bit of
    // the field is the one at min(pos + len - 1, w - 1).
    let shifted = if ty.signed {
        (sext(a, w) >> pos.min(63)) as u64
    } else {
        pick(pos < 64, (a & mask(w)) >> (pos & 63), 0)
    };
    let field = IntTy {
        width: (len as u8).min(w),
        signed: ty.signed,
    };
    word(shifted, field) & mask(w)
}

/// `b` with the low bits of `a` in a field at a position and of a length.
#[inline(always)]
fn bfi(a: u64, b: u64, (pos, len): (u64, u64), w: u8) -> u64 {
    let field = pick(len < 64, (1u64 << (len & 63)).wrapping_sub(1), u64::MAX);
    let field = pick(pos < w as u64, field << (pos & 63), 0);
    (a << (pos & 63)) & field | b & !field
}

#[inline(always)]
fn bfind(a: u64, ty: IntTy) -> Option<u32> {
    let x = if ty.signed && sext(a, ty.width) < 0 {
        !a
    } else {
        a
    };
    (x & mask(ty.width)).checked_ilog2()
}

#[inline(always)]
fn fns(bits: u32, base: u32, offset: i32) -> u32 {
    let set = |i: u32| bits >> (i & 31) & 1 == 1;
    if base > 31 {
        return u32::MAX;
    }
    if offset == 0 {
        return if set(base) { base } else { u32::MAX };
    }
    let mut left = offset.unsigned_abs();
    let mut at = base;
    loop {
        if set(at) {
            left -= 1;
            if left == 0 {
                return at;
            }
        }
        if at == (if offset > 0 { 31 } else { 0 }) {
            return u32::MAX;
        }
        at = if offset > 0 { at + 1 } else { at - 1 };
    }
}

#[inline(always)]
fn bmsk(pos: u64, len: u64) -> u64 {
    if pos >= 32 {
        return 0;
    }
    (((1u64 << len) - 1) << pos) & mask(32)
}

/// Element `i` of the `width`-bit elements of a register, extended.
#[inline(always)]
fn field(a: u64, i: u32, width: u8, signed: bool) -> u64 {
    word(a >> (i * width as u32), IntTy { width, signed })
}

#[inline(always)]
fn dp2a(a: u64, b: u64, c: u64, first: u32, sa: bool, sb: bool) -> u64 {
    let product = |i: u32| field(a, i, 16, sa).wrapping_mul(field(b, first + i, 8, sb));
    c.wrapping_add(product(0)).wrapping_add(product(1))
}

/// `cvt` from integer to integer: extended by the source's signedness, clamped (`.sat`) or
/// truncated to the destination type, then extended by it to the register's `dst_width` bits.
#[inline(always)]
pub fn cvt_int(from: IntTy, to: IntTy, sat: bool, value: u64, dst_width: u8) -> u64 {
    let v = if sat {
        saturate(int(value, from), to)
    } else {
        word(value, from)
    };
    word(v, to) & mask(dst_width)
}

/// An integer comparison; the unordered variants are those of floats and mean the same here.
#[inline(always)]
pub fn compare(cmp: Cmp, ty: IntTy, a: u64, b: u64) -> bool {
    let equal = (a ^ b) & mask(ty.width) == 0;
    match cmp {
        Cmp::Eq | Cmp::Equ => equal,
        Cmp::Ne | Cmp::Neu => !equal,
        Cmp::Lt | Cmp::Ltu => less(a, b, ty),
        Cmp::Le | Cmp::Leu => !less(b, a, ty),
        Cmp::Gt | Cmp::Gtu => less(b, a, ty),
        Cmp::Ge | Cmp::Geu => !less(a, b, ty),
        Cmp::Num => true,
        Cmp::Nan => false,
    }
}

/// The value that an integer atomic leaves in memory; `c` is the new value of `cas`, `b` the
/// operand (of `cas`: what is compared).
#[inline(always)]
pub fn atom_int(op: AtomOp, ty: IntTy, old: u64, b: u64, c: u64) -> u64 {
    let m = mask(ty.width);
    let (old, b, c) = (old & m, b & m, c & m);
    match op {
        AtomOp::And => old & b,
        AtomOp::Or => old | b,
        AtomOp::Xor => old ^ b,
        AtomOp::Cas => pick(old == b, c, old),
        AtomOp::Exch => b,
        AtomOp::Add => old.wrapping_add(b) & m,
        AtomOp::Inc => pick(old >= b, 0, old.wrapping_add(1)),
        AtomOp::Dec => pick(old == 0 || old > b, b, old.wrapping_sub(1)),
        AtomOp::Min => pick(less(old, b, ty), old, b),
        AtomOp::Max => pick(less(old, b, ty), b, old),
    }
}
