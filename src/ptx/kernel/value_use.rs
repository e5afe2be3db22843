//! As which type an operation takes each register that it reads.
//!
//! The problem: a load of bits says how many bytes a field of a structure has, and nothing of what
//! they are; what takes the value says it. Copies take it as nothing: [`Flow::Copy`] follows them.
//!
//! The match is exhaustive, so that a new operation does not compile before it is classified.
//!
//! [`Flow::Copy`]: super::flow::Flow::Copy

use super::{IntTy, NumTy, Op, RegId, Src};
use ValueUse::{Address, Bits, Number};

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

/// An integer of 32 bits: an id of a barrier, a mask of lanes, an index.
const WORD: ValueUse = Number(NumTy::Int(IntTy {
    width: 32,
    signed: false,
}));

/// Calls `f` with each register among operands, which are taken as one thing.
fn put<'s>(
    f: &mut impl FnMut(RegId, ValueUse),
    operands: impl IntoIterator<Item = &'s Src>,
    what: ValueUse,
) {
    for src in operands {
        if let Src::Reg(reg) = src {
            f(*reg, what);
        }
    }
}

/// Calls `f` with each register that an operation takes as something; the copies that
/// `Flow::Copy` follows are left out.
pub(super) fn value_uses(op: &Op, mut f: impl FnMut(RegId, ValueUse)) {
    let f = &mut f;
    match op {
        Op::Mov { .. } | Op::Pack { .. } | Op::Unpack { .. } | Op::Selp { .. } => {}
        Op::Slct { cty, c, .. } => put(f, [c], Number(*cty)),
        Op::Shfl { b, c, mask, .. } => put(f, [b, c].into_iter().chain(mask), WORD),
        Op::Int { ty, src, .. } => put(f, src, Number(NumTy::Int(*ty))),
        Op::Float {
            fmt, src_fmt, src, ..
        } => {
            for (i, s) in src.iter().enumerate() {
                let fmt = if i < 2 { *src_fmt } else { *fmt };
                put(f, [s], Number(NumTy::Float(fmt)));
            }
        }
        Op::Setp { ty, a, b, .. } | Op::Set { ty, a, b, .. } => put(f, [a, b], Number(*ty)),
        Op::Lop3Bool { src, .. } => put(f, src, WORD),
        Op::Testp { fmt, a, .. } => put(f, [a], Number(NumTy::Float(*fmt))),
        Op::Cvt { from, src, .. } => put(f, [src], Number(*from)),
        Op::CvtNarrow { from, parts, .. } => put(f, parts, Number(NumTy::Float(*from))),
        Op::CvtUnpack2 { from, src, .. } => put(f, [src], Number(NumTy::Float(*from))),
        Op::CvtPackSat { from, src, .. } => put(f, src, Number(NumTy::Int(*from))),
        Op::Cvta { src, .. } | Op::IsSpace { a: src, .. } => put(f, [src], Address),
        Op::Ld { addr, .. } | Op::Ldmatrix { addr, .. } => put(f, [&addr.base], Address),
        Op::St { access, srcs, addr } => {
            put(f, [&addr.base], Address);
            // Bits that are stored may be anything.
            if !access.untyped {
                put(f, srcs.iter().flatten(), Number(access.ty));
            }
        }
        Op::Atom {
            access,
            addr,
            srcs,
            cas,
            ..
        } => {
            put(f, [&addr.base], Address);
            let ty = match access.untyped {
                true => Bits,
                false => Number(access.ty),
            };
            put(f, srcs.iter().chain(cas), ty);
        }
        Op::CpAsync { read, to, from, .. } => {
            put(f, [&to.base, &from.base], Address);
            put(f, read, WORD);
        }
        Op::Redux { ty, a, mask, .. } => {
            put(f, [a], Number(*ty));
            put(f, [mask], WORD);
        }
        Op::Brx { index: s, .. } | Op::WarpSync { mask: s } | Op::Elect { mask: s, .. } => {
            put(f, [s], WORD);
        }
        Op::Bar { id, count, .. } => put(f, [id].into_iter().chain(count), WORD),
        Op::Vote { mask, .. } => put(f, mask, WORD),
        Op::Match { .. }
        | Op::Mma(_)
        | Op::Stmatrix { .. }
        | Op::Movmatrix { .. }
        | Op::Async(_) => op.uses(&mut |reg| f(reg, Bits)),
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
