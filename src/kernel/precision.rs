//! The narrowest formats that a kernel rounds to.
//!
//! Problem: the proof is over the reals, so a kernel that adds in f16 what its reference adds in f32
//! is equivalent to it, and its user should hear of it all the same. Arithmetic and conversions are
//! looked at apart: a result that is stored as f16 is rounded once, whatever its sum was kept in.
//!
//! What is not claimed: that an instruction is executed, or how large an error is. Products of
//! matrices are taken to round to the type of their sum, and to tf32 where that is what they read.

use super::{AsyncOp, FloatOp, Fmt, Kernel, MatTy, NumTy, Op, Pc};

/// How a kernel rounds.
#[derive(Clone, Debug, Default)]
pub struct Rounding {
    /// The narrowest format of arithmetic, and where it is used first.
    pub arithmetic: Option<(Fmt, Pc)>,
    /// The narrowest format that wider values are converted to, and where that is done first.
    pub conversion: Option<(Fmt, Pc)>,
}

/// The rounding of a kernel's instructions.
pub fn rounding(kernel: &Kernel) -> Rounding {
    let mut out = Rounding::default();
    for (i, inst) in kernel.insts.iter().enumerate() {
        let pc = Pc(i as u32);
        if let Some(fmt) = arithmetic(&inst.op) {
            note(&mut out.arithmetic, fmt, pc);
        }
        let (from, to) = match inst.op {
            Op::Cvt {
                from: NumTy::Float(from),
                to: NumTy::Float(to),
                ..
            } => (from, to),
            Op::CvtPack2 { from, to, .. } => (from, to),
            _ => continue,
        };
        if to.precision() < from.precision() {
            note(&mut out.conversion, to, pc);
        }
    }
    out
}

fn note(slot: &mut Option<(Fmt, Pc)>, fmt: Fmt, pc: Pc) {
    if slot.is_none_or(|(f, _)| fmt.precision() < f.precision()) {
        *slot = Some((fmt, pc));
    }
}

/// The format that an instruction rounds its arithmetic to.
fn arithmetic(op: &Op) -> Option<Fmt> {
    let of = |ty: NumTy, factors: MatTy| match (ty, factors) {
        (NumTy::Float(_), MatTy::Float(Fmt::Tf32)) => Some(Fmt::Tf32),
        (NumTy::Float(f), _) => Some(f),
        _ => None,
    };
    match op {
        Op::Float { op, fmt, .. } => {
            use FloatOp::*;
            let exact = matches!(op, Neg | Abs | Min | Max | Min3 | Max3 | Copysign);
            (!exact).then_some(*fmt)
        }
        Op::Mma(m) => of(m.d_ty, m.a_ty),
        Op::Async(op) => match &**op {
            AsyncOp::Wgmma(m) => of(m.d_ty, m.a_ty),
            AsyncOp::WmmaMma(m) => match m.d.ty {
                MatTy::Float(f) => of(NumTy::Float(f), m.a.ty),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}
