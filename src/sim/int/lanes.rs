//! The same arithmetic for the 32 lanes of a warp at once.
//!
//! The choice of the operation stands outside the loop over the lanes, so that the compiler folds
//! [`eval`](super::eval) to the one operation and vectorises the loop where the machine can. The
//! loop always covers all 32 lanes, whose sources are readable even where a lane is inactive; only
//! active lanes are written.

use super::eval;
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
        ($op:expr) => {
            each(mask, srcs, dst, |s| eval($op, ty, s))
        };
        ($op:expr, by type) => {
            match (ty.width, ty.signed) {
                (32, false) => run!($op, 32, false),
                (32, true) => run!($op, 32, true),
                (64, false) => run!($op, 64, false),
                (64, true) => run!($op, 64, true),
                _ => run!($op),
            }
        };
        ($op:expr, $width:expr, $signed:expr) => {{
            let ty = IntTy {
                width: $width,
                signed: $signed,
            };
            each(mask, srcs, dst, |s| eval($op, ty, s))
        }};
    }
    match op {
        IntOp::Add => run!(IntOp::Add),
        IntOp::Sub => run!(IntOp::Sub),
        IntOp::MulLo => run!(IntOp::MulLo, by type),
        IntOp::MulHi => run!(IntOp::MulHi, by type),
        IntOp::MulWide => run!(IntOp::MulWide, by type),
        IntOp::MadLo => run!(IntOp::MadLo, by type),
        IntOp::MadHi => run!(IntOp::MadHi, by type),
        IntOp::MadWide => run!(IntOp::MadWide, by type),
        IntOp::And => run!(IntOp::And),
        IntOp::Or => run!(IntOp::Or),
        IntOp::Xor => run!(IntOp::Xor),
        IntOp::Not => run!(IntOp::Not),
        IntOp::Neg => run!(IntOp::Neg),
        IntOp::Shl => run!(IntOp::Shl, by type),
        IntOp::Shr => run!(IntOp::Shr, by type),
        IntOp::Min => run!(IntOp::Min, by type),
        IntOp::Max => run!(IntOp::Max, by type),
        IntOp::Abs => run!(IntOp::Abs, by type),
        IntOp::Bfe => run!(IntOp::Bfe, by type),
        IntOp::Div => run!(IntOp::Div, by type),
        IntOp::Rem => run!(IntOp::Rem, by type),
        IntOp::Prmt => run!(IntOp::Prmt),
        IntOp::ShfLWrap => run!(IntOp::ShfLWrap),
        IntOp::ShfRWrap => run!(IntOp::ShfRWrap),
        IntOp::AddCarry => run!(IntOp::AddCarry),
        IntOp::Lop3(table) => run!(IntOp::Lop3(table)),
        _ => run!(op),
    }
}
