//! Straight code: instructions that touch nothing but registers and memory, run after run.
//!
//! The problem: most of what a kernel executes is unguarded arithmetic, loads and stores, and the
//! jumps of its loops. The general step asks each of them whether it waits for other lanes, is
//! guarded by data, takes part of an address or reads a tensor product under way; the answers
//! are the same each time. So each instruction gets a class when the machine is made, and those of
//! a class are executed here one after the other, by the same functions as in the general step.
//! A warp with one lane, which is what a reference by one thread has, takes the scalar forms of
//! the commonest ones.
//!
//! Not claimed: a schedule of its own. The steps, their order and all that they note are those of
//! the general step.

use crate::kernel::{FloatMods, FloatOp, Kernel, NumTy, Op, Rnd, Src};

use super::int;
use super::uniform::is_lane_wise;

mod exec;

/// How an instruction is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// By the general step.
    General,
    /// A lane-wise operation, or a move.
    Lanes,
    /// Integer arithmetic with one result, defined for all operands.
    Int,
    /// A multiply-add within one format.
    Fma,
    /// A number in another format.
    Number,
    /// A lane-wise operation outside of the control slice, in a run without values.
    Omitted,
    /// A load.
    Load,
    /// A store.
    Store,
    /// A jump.
    Jump,
    /// A jump under a predicate.
    Branch,
}

/// The classes of a kernel's instructions.
///
/// On numbers the classes that grow sums of terms are plain lane-wise operations.
pub(super) fn classes(kernel: &Kernel, numbers: bool) -> Vec<Class> {
    let insts = kernel.insts.iter();
    insts
        .map(|inst| match &inst.op {
            Op::Bra { .. } if inst.guard.is_some() => Class::Branch,
            _ if inst.guard.is_some() => Class::General,
            op => match class(kernel, op) {
                Class::Fma | Class::Number if numbers => Class::Lanes,
                class => class,
            },
        })
        .collect()
}

fn class(kernel: &Kernel, op: &Op) -> Class {
    match op {
        Op::Bra { .. } => Class::Jump,
        Op::Ld { .. } => Class::Load,
        Op::St { .. } => Class::Store,
        Op::Int {
            op,
            ty,
            lanes: 1,
            dst: Some(_),
            dst2: None,
            ..
        } if !int::may_be_undefined(*op, *ty) => Class::Int,
        Op::Float {
            op: crate::kernel::FloatOp::Fma,
            fmt,
            src_fmt,
            lanes: 1,
            mods,
            src: [Src::Reg(_), Src::Reg(_), Src::Reg(_)],
            ..
        } if fmt == src_fmt && accumulates(crate::kernel::FloatOp::Fma, mods) => Class::Fma,
        Op::Cvt {
            from: NumTy::Float(_),
            to: NumTy::Float(to),
            rnd,
            sat: false,
            satfinite: false,
            relu: false,
            dst,
            src: Src::Reg(_),
            ..
        } if !matches!(rnd, Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi)
            && to.bits() as u8 == kernel.reg_width[dst.0 as usize] =>
        {
            Class::Number
        }
        Op::Mov { .. } | Op::Special { .. } | Op::Cvta { .. } | Op::IsSpace { .. } => Class::Lanes,
        op if is_lane_wise(op) => Class::Lanes,
        _ => Class::General,
    }
}

/// True for a plain addition, or one with a product.
pub(super) fn accumulates(op: FloatOp, m: &FloatMods) -> bool {
    matches!(op, FloatOp::Add | FloatOp::Sub | FloatOp::Fma)
        && !(m.sat || m.relu || m.abs || m.oob || m.xorsign_abs)
}
