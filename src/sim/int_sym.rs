//! Integer operations on bits that depend on input data, as terms.
//!
//! Source: PTX ISA 9.0, sections 9.7.1 and 9.7.8. What has no term here is told to the caller,
//! who reports it.

use crate::kernel::{Cmp, IntOp, IntTy};
use crate::term::{BitsOp, ICmp, TermId, TermStore};

/// The operation on bit terms of its operand widths; `None` if it has no term.
pub fn symbolic(s: &mut TermStore, op: IntOp, ty: IntTy, a: [TermId; 4]) -> Option<TermId> {
    let ones = |s: &mut TermStore| s.bits(ty.width, u64::MAX);
    Some(match op {
        IntOp::Add => s.bits_op(BitsOp::Add, a[0], a[1]),
        IntOp::Sub => {
            let m = ones(s);
            let n = s.bits_op(BitsOp::Mul, a[1], m);
            s.bits_op(BitsOp::Add, a[0], n)
        }
        IntOp::MulLo => s.bits_op(BitsOp::Mul, a[0], a[1]),
        IntOp::MadLo => {
            let p = s.bits_op(BitsOp::Mul, a[0], a[1]);
            s.bits_op(BitsOp::Add, p, a[2])
        }
        IntOp::And => s.bits_op(BitsOp::And, a[0], a[1]),
        IntOp::Or => s.bits_op(BitsOp::Or, a[0], a[1]),
        IntOp::Xor => s.bits_op(BitsOp::Xor, a[0], a[1]),
        IntOp::Not => {
            let m = ones(s);
            s.bits_op(BitsOp::Xor, a[0], m)
        }
        IntOp::Min | IntOp::Max => {
            let cmp = if ty.signed { ICmp::SLt } else { ICmp::ULt };
            let less = s.icmp(cmp, a[0], a[1]);
            let (x, y) = if op == IntOp::Min {
                (a[0], a[1])
            } else {
                (a[1], a[0])
            };
            s.select(less, x, y)
        }
        _ => return None,
    })
}

/// A conversion between integer types into a register of `width` bits, without saturation.
pub fn cvt_int_sym(
    s: &mut TermStore,
    from: IntTy,
    to: IntTy,
    sat: bool,
    bits: TermId,
    width: u8,
) -> Option<TermId> {
    if sat {
        return None;
    }
    let narrow = extend(s, bits, from, to.width);
    Some(extend(s, narrow, to, width))
}

/// The bits of a type cut or extended to a width.
fn extend(s: &mut TermStore, bits: TermId, ty: IntTy, width: u8) -> TermId {
    if width <= ty.width {
        return s.extract(bits, 0, width);
    }
    let zeros = s.bits(width - ty.width, 0);
    let wide = s.concat(&[bits, zeros]);
    if !ty.signed {
        return wide;
    }
    let k = s.bits(width, (width - ty.width) as u64);
    let up = s.bits_op(BitsOp::Shl, wide, k);
    s.bits_op(BitsOp::AShr, up, k)
}

/// A comparison of two bit terms.
pub fn compare_sym(s: &mut TermStore, cmp: Cmp, ty: IntTy, a: TermId, b: TermId) -> TermId {
    let (lt, le) = if ty.signed {
        (ICmp::SLt, ICmp::SLe)
    } else {
        (ICmp::ULt, ICmp::ULe)
    };
    match cmp {
        Cmp::Eq | Cmp::Equ => s.icmp(ICmp::Eq, a, b),
        Cmp::Ne | Cmp::Neu => {
            let e = s.icmp(ICmp::Eq, a, b);
            s.not(e)
        }
        Cmp::Lt | Cmp::Ltu => s.icmp(lt, a, b),
        Cmp::Le | Cmp::Leu => s.icmp(le, a, b),
        Cmp::Gt | Cmp::Gtu => s.icmp(lt, b, a),
        Cmp::Ge | Cmp::Geu => s.icmp(le, b, a),
        // Integers are always numbers.
        Cmp::Num => s.bool(true),
        Cmp::Nan => s.bool(false),
    }
}
