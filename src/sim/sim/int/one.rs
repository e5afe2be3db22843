//! The operations of which a warp has a loop, as one function each: [`eval`](super::eval) chooses among them by the opcode, and
//! [`eval_lanes`](super::eval_lanes) does so once for 32 lanes.
//!
//! `eval` whole in each of those loops would be folded to one operation too, at a cost for the compiler of some thousand lines
//! a loop.

use super::{funnel_left, funnel_right, less, mask, mul_high, pick, sext, word};
use crate::kernel::IntTy;

/// Functions of the type and of the first three sources, `m` being the bits of the width.
macro_rules! functions {
    ($($name:ident($ty:ident, $m:ident, $a:ident, $b:ident, $c:ident) = $value:expr;)*) => {
        $(#[inline(always)]
        pub(super) fn $name($ty: IntTy, [$a, $b, $c, _]: [u64; 4]) -> u64 {
            let $m = mask($ty.width);
            $value
        })*
    };
}

functions! {
    add(ty, m, a, b, _c) = a.wrapping_add(b) & m;
    sub(ty, m, a, b, _c) = a.wrapping_sub(b) & m;
    mul_lo(ty, m, a, b, _c) = a.wrapping_mul(b) & m;
    mul_hi(ty, _m, a, b, _c) = mul_high(a, b, ty);
    mul_wide(ty, _m, a, b, _c) = word(a, ty).wrapping_mul(word(b, ty)) & mask((ty.width * 2).min(64));
    mad_lo(ty, m, a, b, c) = a.wrapping_mul(b).wrapping_add(c) & m;
    mad_hi(ty, m, a, b, c) = mul_high(a, b, ty).wrapping_add(c) & m;
    mad_wide(ty, _m, a, b, c) = {
        let p = word(a, ty).wrapping_mul(word(b, ty));
        p.wrapping_add(c) & mask((ty.width * 2).min(64))
    };
    div(ty, m, a, b, _c) = match (b & m, ty.signed) {
        (0, _) => m,
        (_, true) => sext(a, ty.width).wrapping_div(sext(b, ty.width)) as u64 & m,
        (n, false) => (a & m) / n,
    };
    rem(ty, m, a, b, _c) = match (b & m, ty.signed) {
        (0, _) => m,
        (_, true) => sext(a, ty.width).wrapping_rem(sext(b, ty.width)) as u64 & m,
        (n, false) => (a & m) % n,
    };
    abs(ty, m, a, _b, _c) = sext(a, ty.width).wrapping_abs() as u64 & m;
    neg(ty, m, a, _b, _c) = a.wrapping_neg() & m;
    min(ty, m, a, b, _c) = pick(less(a, b, ty), a, b) & m;
    max(ty, m, a, b, _c) = pick(less(a, b, ty), b, a) & m;
    and(ty, m, a, b, _c) = a & b & m;
    or(ty, m, a, b, _c) = (a | b) & m;
    xor(ty, m, a, b, _c) = (a ^ b) & m;
    not(ty, m, a, _b, _c) = !a & m;
    shl(ty, m, a, b, _c) = {
        let n = b & mask(32);
        pick(n < ty.width as u64, a << (n & 63), 0) & m
    };
    shr(ty, m, a, b, _c) = {
        let n = (b & mask(32)).min(ty.width as u64);
        match ty.signed {
            true => (sext(a, ty.width) >> n.min(63)) as u64 & m,
            false => pick(n < ty.width as u64, (a & m) >> (n & 63), 0),
        }
    };
    shf_l_wrap(_ty, _m, a, b, c) = funnel_left(a, b, c & 31);
    shf_r_wrap(_ty, _m, a, b, c) = funnel_right(a, b, c & 31);
    prmt(_ty, _m, a, b, c) = super::prmt(a, b, c);
    bfe(ty, _m, a, b, c) = super::bfe(a, b & 0xff, c & 0xff, ty);
}

/// The function of a table of three inputs.
#[inline(always)]
pub(super) fn lop3(table: u8) -> impl Fn(IntTy, [u64; 4]) -> u64 {
    let row = move |i: u32| (table as u64 >> i & 1).wrapping_neg();
    move |ty, [a, b, c, _]| {
        let on_c = |i: u32| row(i) & !c | row(i + 1) & c;
        let on_b = |i: u32| on_c(i) & !b | on_c(i + 2) & b;
        (on_b(0) & !a | on_b(4) & a) & mask(ty.width)
    }
}
