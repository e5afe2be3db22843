//! Which operations make bits that depend on the schedule, in a run without races.
//!
//! The problem: where all conflicting accesses are ordered, a thread reads the same bits under every schedule, but for
//! operations that the rule about races lets pass in any order, and for registers that read the schedule itself. Those
//! are named here. Updates of integers, bits, minima and maxima commute bit for bit; sums of floats do not.
//!
//! Sound in the direction of "free": every operation has its row of [`effects`](super::effects), and those that update memory
//! are told apart here.

use super::{AtomOp, NumTy, Special};

/// How the schedule enters an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleUse {
    /// Not at all.
    Free,
    /// The order of the summands in memory decides how a sum of floats is rounded.
    Sum,
    /// The order decides what is read or left.
    Order,
    /// The register holds what the schedule or the machine makes of it.
    Volatile,
}

/// How the schedule enters a special register.
pub(super) fn register(special: Special) -> ScheduleUse {
    match special == Special::Volatile {
        true => ScheduleUse::Volatile,
        false => ScheduleUse::Free,
    }
}

/// How it enters an update of memory whose old value is not read.
pub(super) fn update(op: AtomOp, ty: Option<NumTy>) -> ScheduleUse {
    match op {
        AtomOp::Add if matches!(ty, Some(NumTy::Int(_))) => ScheduleUse::Free,
        AtomOp::Add => ScheduleUse::Sum,
        AtomOp::And | AtomOp::Or | AtomOp::Xor | AtomOp::Min | AtomOp::Max => ScheduleUse::Free,
        AtomOp::Cas | AtomOp::Exch | AtomOp::Inc | AtomOp::Dec => ScheduleUse::Order,
    }
}

/// True of updates whose old value is not read that leave the same bits in any order.
pub fn commutes_bit_for_bit(op: AtomOp, ty: NumTy) -> bool {
    update(op, Some(ty)) == ScheduleUse::Free
}
