//! Registers that hold a value rounded to a narrower format.
//!
//! Problem: `x - bf16(x)` is the rounding error of x. Over the reals it is 0, and so is whatever a kernel
//! corrects with it (products of three bf16 or tf32 ones); such a correction is not checked by a proof
//! about reals, and its user should hear of it. Whether a difference is 0 is seen when it is
//! computed; here is found which of its operands were rounded: by a conversion, or by a mask that cuts
//! off the lower bits, and moved since.
//!
//! Not claimed: that a value was rounded on every path; ways through memory are not followed.

use crate::kernel::{IntOp, Kernel, NumTy, Op, RegId, Src};

/// Low bits that a mask must clear to be a rounding of an f32: those that tf32 lacks.
const LOW: u32 = 13;

/// By register, whether it may hold a value rounded to a narrower format, or a widened one.
pub fn narrowed(kernel: &Kernel) -> Vec<bool> {
    let mut found = vec![false; kernel.reg_width.len()];
    loop {
        let mut more = false;
        for inst in &kernel.insts {
            let begins = rounds(&inst.op);
            let mut goes_on = false;
            if moves(&inst.op) {
                inst.op.uses(&mut |r: RegId| goes_on |= found[r.0 as usize]);
            }
            if begins || goes_on {
                inst.op.defs(&mut |r| {
                    more |= !std::mem::replace(&mut found[r.0 as usize], true);
                });
            }
        }
        if !more {
            return found;
        }
    }
}

/// True for an instruction that rounds a float to a narrower format.
fn rounds(op: &Op) -> bool {
    match op {
        Op::Cvt {
            from: NumTy::Float(from),
            to: NumTy::Float(to),
            ..
        } => to.precision() < from.precision(),
        Op::CvtNarrow { from, to, .. } => to.precision() < from.precision(),
        Op::Int {
            op: IntOp::And,
            src,
            ..
        } => src.iter().any(|s| match s {
            Src::Imm(m) => *m != 0 && m.trailing_zeros() >= LOW,
            _ => false,
        }),
        _ => false,
    }
}

/// True for an instruction that moves a value, or the parts of one, to another register.
fn moves(op: &Op) -> bool {
    match op {
        Op::Mov { .. } | Op::Pack { .. } | Op::Unpack { .. } | Op::Selp { .. } => true,
        Op::Cvt {
            from: NumTy::Float(_),
            to: NumTy::Float(_),
            ..
        } => true,
        Op::Int { op, .. } => matches!(op, IntOp::Shl | IntOp::Shr | IntOp::And | IntOp::Prmt),
        _ => false,
    }
}
