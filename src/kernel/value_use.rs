//! As which type an operation takes each register that it reads.
//!
//! The problem: a load of bits says how many bytes a field of a structure has, and nothing of what
//! they are; what takes the value says it. Copies take it as nothing: [`Flow::Copy`] follows them.
//!
//! The match is exhaustive, so that a new operation does not compile before it is classified.
//!
//! [`Flow::Copy`]: super::flow::Flow::Copy

use super::{IntTy, NumTy, Op, RegId, Src};

/// As what a value is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueUse {
    /// As a number of this type.
    Number(NumTy),
    /// As an address.
    Address,
    /// As bits whose meaning the operation does not tell: a matrix fragment, a descriptor, bits to
    /// vote or match on.
    Bits,
}

/// Calls `f` with each register that an operation takes as something; the copies that
/// `Flow::Copy` follows are left out.
pub(super) fn value_uses(op: &Op, mut f: impl FnMut(RegId, ValueUse)) {
    let mut put = |src: &Src, what: ValueUse| {
        if let Src::Reg(reg) = src {
            f(*reg, what);
        }
    };
    let int = |width: u8| {
        ValueUse::Number(NumTy::Int(IntTy {
            width,
            signed: false,
        }))
    };
    match op {
        Op::Mov { .. } | Op::Pack { .. } | Op::Unpack { .. } | Op::Selp { .. } => {}
        Op::Slct { cty, c, .. } => put(c, ValueUse::Number(*cty)),
        Op::Shfl { b, c, mask, .. } => {
            let rest = [Some(b), Some(c), mask.as_ref()];
            rest.into_iter().flatten().for_each(|s| put(s, int(32)));
        }
        Op::Int { ty, src, .. } => {
            let ty = ValueUse::Number(NumTy::Int(*ty));
            src.iter().for_each(|s| put(s, ty));
        }
        Op::Float {
            fmt, src_fmt, src, ..
        } => {
            for (i, s) in src.iter().enumerate() {
                let fmt = if i < 2 { *src_fmt } else { *fmt };
                put(s, ValueUse::Number(NumTy::Float(fmt)));
            }
        }
        Op::Setp { ty, a, b, .. } | Op::Set { ty, a, b, .. } => {
            put(a, ValueUse::Number(*ty));
            put(b, ValueUse::Number(*ty));
        }
        Op::Lop3Bool { src, .. } => src.iter().for_each(|s| put(s, int(32))),
        Op::Testp { fmt, a, .. } => put(a, ValueUse::Number(NumTy::Float(*fmt))),
        Op::Cvt { from, src, .. } => put(src, ValueUse::Number(*from)),
        Op::CvtNarrow { from, parts, .. } => {
            let from = ValueUse::Number(NumTy::Float(*from));
            parts.iter().for_each(|s| put(s, from));
        }
        Op::CvtUnpack2 { from, src, .. } => put(src, ValueUse::Number(NumTy::Float(*from))),
        Op::CvtPackSat { from, src, .. } => {
            src.iter()
                .for_each(|s| put(s, ValueUse::Number(NumTy::Int(*from))));
        }
        Op::Cvta { src, .. } | Op::IsSpace { a: src, .. } => put(src, ValueUse::Address),
        Op::Ld { addr, .. } | Op::Ldmatrix { addr, .. } => put(&addr.base, ValueUse::Address),
        Op::St { access, srcs, addr } => {
            put(&addr.base, ValueUse::Address);
            // Bits that are stored may be anything.
            if !access.untyped {
                let ty = ValueUse::Number(access.ty);
                srcs.iter().flatten().for_each(|s| put(s, ty));
            }
        }
        Op::Atom {
            access,
            addr,
            srcs,
            cas,
            ..
        } => {
            put(&addr.base, ValueUse::Address);
            let ty = match access.untyped {
                true => ValueUse::Bits,
                false => ValueUse::Number(access.ty),
            };
            srcs.iter().chain(cas).for_each(|s| put(s, ty));
        }
        Op::CpAsync { read, to, from, .. } => {
            put(&to.base, ValueUse::Address);
            put(&from.base, ValueUse::Address);
            read.iter().for_each(|s| put(s, int(32)));
        }
        Op::Redux { ty, a, mask, .. } => {
            put(a, ValueUse::Number(*ty));
            put(mask, int(32));
        }
        Op::Brx { index: s, .. } | Op::WarpSync { mask: s } | Op::Elect { mask: s, .. } => {
            put(s, int(32));
        }
        Op::Bar { id, count, .. } => {
            put(id, int(32));
            count.iter().for_each(|s| put(s, int(32)));
        }
        Op::Vote { mask, .. } => mask.iter().for_each(|s| put(s, int(32))),
        Op::Match { .. }
        | Op::Mma(_)
        | Op::Stmatrix { .. }
        | Op::Movmatrix { .. }
        | Op::Async(_) => op.uses(&mut |reg| f(reg, ValueUse::Bits)),
        Op::Special { .. }
        | Op::CpAsyncCommit
        | Op::CpAsyncWait { .. }
        | Op::Fence { .. }
        | Op::ActiveMask { .. }
        | Op::Bra { .. }
        | Op::Exit
        | Op::Trap
        | Op::Brkpt
        | Op::AssertFail
        | Op::Printf { .. }
        | Op::GridWait
        | Op::GridLaunch
        | Op::Nop
        | Op::CallDepth
        | Op::Unsupported(_) => {}
    }
}
