//! Which operations make bits that depend on the schedule, in a run without races.
//!
//! The problem: where all conflicting accesses are ordered, a thread reads the same bits under every schedule, but for
//! operations that the rule about races lets pass in any order, and for registers that read the schedule itself. Those
//! are named here. Updates of integers, bits, minima and maxima commute bit for bit; sums of floats do not.
//!
//! Sound in the direction of "free": the match is exhaustive, so that a new operation does not compile before it is
//! classified.

use super::{AsyncOp, AtomOp, BulkOp, NumTy, Op, Special};

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

/// How the schedule enters an operation.
pub fn schedule_use(op: &Op) -> ScheduleUse {
    match op {
        Op::Atom {
            op,
            access,
            dsts,
            cas,
            ..
        } => match (cas, dsts.is_empty()) {
            (None, true) => update(*op, Some(access.ty)),
            (Some(_), _) | (None, false) => ScheduleUse::Order,
        },
        Op::Async(op) => asynchronous(op),
        Op::Special { special, .. } if *special == Special::Volatile => ScheduleUse::Volatile,
        Op::ActiveMask { .. } => ScheduleUse::Volatile,
        Op::Special { .. }
        | Op::Mov { .. }
        | Op::Pack { .. }
        | Op::Unpack { .. }
        | Op::Int { .. }
        | Op::Float { .. }
        | Op::Setp { .. }
        | Op::Set { .. }
        | Op::Selp { .. }
        | Op::Slct { .. }
        | Op::Lop3Bool { .. }
        | Op::Testp { .. }
        | Op::Cvt { .. }
        | Op::CvtNarrow { .. }
        | Op::CvtUnpack2 { .. }
        | Op::CvtPackSat { .. }
        | Op::Cvta { .. }
        | Op::IsSpace { .. }
        | Op::Ld { .. }
        | Op::St { .. }
        | Op::Fence { .. }
        | Op::Bar { .. }
        | Op::WarpSync { .. }
        | Op::Shfl { .. }
        | Op::Vote { .. }
        | Op::Match { .. }
        | Op::Redux { .. }
        | Op::Elect { .. }
        | Op::Bra { .. }
        | Op::Brx { .. }
        | Op::Exit
        | Op::Trap
        | Op::Brkpt
        | Op::AssertFail
        | Op::Printf { .. }
        | Op::Mma(_)
        | Op::Ldmatrix { .. }
        | Op::Stmatrix { .. }
        | Op::Movmatrix { .. }
        | Op::CpAsync { .. }
        | Op::CpAsyncCommit
        | Op::CpAsyncWait { .. }
        | Op::Nop
        | Op::CallDepth
        | Op::Unsupported(_) => ScheduleUse::Free,
    }
}

fn asynchronous(op: &AsyncOp) -> ScheduleUse {
    match op {
        AsyncOp::Bulk(op) => bulk(op),
        AsyncOp::Init { .. }
        | AsyncOp::Inval { .. }
        | AsyncOp::Arrive { .. }
        | AsyncOp::Bytes { .. }
        | AsyncOp::Wait { .. }
        | AsyncOp::CopyArrive { .. }
        | AsyncOp::ProxyFence { .. }
        | AsyncOp::InitFence
        | AsyncOp::Wgmma(_)
        | AsyncOp::WmmaLoad(_)
        | AsyncOp::WmmaStore(_)
        | AsyncOp::WmmaMma(_)
        | AsyncOp::Tensor(_)
        | AsyncOp::Cluster(_)
        | AsyncOp::Registers { .. }
        | AsyncOp::WgmmaFence
        | AsyncOp::WgmmaCommit
        | AsyncOp::WgmmaWait { .. } => ScheduleUse::Free,
    }
}

fn bulk(op: &BulkOp) -> ScheduleUse {
    match op {
        BulkOp::Copy(copy) => match copy.reduce {
            Some((op, ty)) => update(op, ty),
            None => ScheduleUse::Free,
        },
        BulkOp::Commit
        | BulkOp::Wait { .. }
        | BulkOp::Replace { .. }
        | BulkOp::MapCopy { .. }
        | BulkOp::MapAcquire { .. }
        | BulkOp::MapRelease => ScheduleUse::Free,
    }
}

/// An update of memory whose old value nobody reads.
fn update(op: AtomOp, ty: Option<NumTy>) -> ScheduleUse {
    match op {
        AtomOp::Add if matches!(ty, Some(NumTy::Int(_))) => ScheduleUse::Free,
        AtomOp::Add => ScheduleUse::Sum,
        AtomOp::And | AtomOp::Or | AtomOp::Xor | AtomOp::Min | AtomOp::Max => ScheduleUse::Free,
        AtomOp::Cas | AtomOp::Exch | AtomOp::Inc | AtomOp::Dec => ScheduleUse::Order,
    }
}
