//! The same arithmetic for the 32 lanes of a warp at once.
//!
//! The choice of the operation stands outside the loop over the lanes, so that the machine's vectors do it where they can. The
//! loop always covers all 32 lanes, whose sources are readable even where a lane is inactive; only
//! active lanes are written.

use super::{eval, one};
use crate::kernel::{IntOp, IntTy};

#[inline(always)]
fn each(
    mask: u32,
    s: [&[u64; 32]; 4],
    dst: &mut [u64; 32],
    f: impl Fn([u64; 4]) -> (u64, bool),
) -> u32 {
    let at = |i: usize| [s[0][i], s[1][i], s[2][i], s[3][i]];
    let mut carry = 0;
    if mask == u32::MAX {
        for (i, d) in dst.iter_mut().enumerate() {
            let (v, c) = f(at(i));
            *d = v;
            carry |= (c as u32) << i;
        }
    } else {
        for (i, d) in dst.iter_mut().enumerate() {
            let (v, c) = f(at(i));
            let on = mask >> i & 1;
            *d = if on == 1 { v } else { *d };
            carry |= (c as u32 & on) << i;
        }
    }
    carry
}

/// Evaluates `op` in each lane of `mask`; the other lanes of `dst` keep their values. The result
/// is the mask of the lanes whose carry or borrow is set.
pub fn eval_lanes(
    op: IntOp,
    ty: IntTy,
    mask: u32,
    srcs: [&[u64; 32]; 4],
    dst: &mut [u64; 32],
) -> u32 {
    // One copy of the loop for each operation, and one for each common width where the
    // operation depends on it beyond a mask.
    macro_rules! run {
        ($one:expr) => {
            each(mask, srcs, dst, |s| ($one(ty, s), false))
        };
        ($one:expr, by type) => {
            match (ty.width, ty.signed) {
                (32, false) => run!($one, 32, false),
                (32, true) => run!($one, 32, true),
                (64, false) => run!($one, 64, false),
                (64, true) => run!($one, 64, true),
                _ => run!($one),
            }
        };
        ($one:expr, $width:expr, $signed:expr) => {{
            let ty = IntTy {
                width: $width,
                signed: $signed,
            };
            each(mask, srcs, dst, |s| ($one(ty, s), false))
        }};
    }
    match op {
        IntOp::Add => run!(one::add),
        IntOp::Sub => run!(one::sub),
        IntOp::MulLo => run!(one::mul_lo, by type),
        IntOp::MulHi => run!(one::mul_hi, by type),
        IntOp::MulWide => run!(one::mul_wide, by type),
        IntOp::MadLo => run!(one::mad_lo, by type),
        IntOp::MadHi => run!(one::mad_hi, by type),
        IntOp::MadWide => run!(one::mad_wide, by type),
        IntOp::And => run!(one::and),
        IntOp::Or => run!(one::or),
        IntOp::Xor => run!(one::xor),
        IntOp::Not => run!(one::not),
        IntOp::Neg => run!(one::neg),
        IntOp::Shl => run!(one::shl, by type),
        IntOp::Shr => run!(one::shr, by type),
        IntOp::Min => run!(one::min, by type),
        IntOp::Max => run!(one::max, by type),
        IntOp::Abs => run!(one::abs, by type),
        IntOp::Bfe => run!(one::bfe, by type),
        IntOp::Div => run!(one::div, by type),
        IntOp::Rem => run!(one::rem, by type),
        IntOp::Prmt => run!(one::prmt),
        IntOp::ShfLWrap => run!(one::shf_l_wrap),
        IntOp::ShfRWrap => run!(one::shf_r_wrap),
        IntOp::Lop3(table) => {
            let f = one::lop3(table);
            run!(f)
        }
        _ => each(mask, srcs, dst, |s| eval(op, ty, s)),
    }
}
