//! One row for each operation: what it does beside writing its results.
//!
//! Problem: who waits at an instruction, what the schedule, a data-dependent guard or a missing value do to it, and what it
//! orders, are questions of many analyses. Each is a column here, so that an operation is described at one place, and one
//! that is added does not compile before it has its row. Operands are [`operands`](super::operands).
//!
//! Sound: an analysis asks a column for what it may leave out, and each column is documented by what it allows; the rows of
//! operations that nothing is known of allow nothing.

use super::schedule_use::{self, ScheduleUse};
use super::{AtomOp, BarKind, NumTy, Op, Special};

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effects {
    /// What a lane makes its results of.
    pub results: Results,
    /// It may be executed under a condition on data, by a selection on what it changes.
    pub is_selectable: bool,
    /// It accesses memory.
    pub accesses: bool,
    /// Lanes wait for each other there.
    pub gathers: bool,
    /// How the schedule enters its results.
    pub schedule: ScheduleUse,
    /// What it orders.
    pub orders: Orders,
    /// Which operands decide what it does to others.
    pub decides: Decides,
    /// When a run without values may leave its results out.
    pub omitted: Omitted,
}

/// What a lane makes the results of an operation of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Results {
    /// Arithmetic on registers of its own.
    Arithmetic,
    /// What a register of its own, or the machine, holds.
    Held,
    /// Anything else.
    Other,
}

/// What an operation orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orders {
    /// Nothing, or what [`Agents`](super::AsyncOp) do.
    Nothing,
    /// Others, and it does nothing else; with its name.
    Only(&'static str),
    /// Others, and it has a result.
    WithResult(&'static str),
}

/// Which operands decide what an operation does to others: whom it waits for, what it accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decides {
    /// None, unless what it computes decides something.
    Results,
    /// The address.
    Address,
    /// All but the value that lanes exchange.
    Exchange,
    /// All.
    All,
    /// None.
    Nothing,
}

/// Which lanes of a result are absent in a run without values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omitted {
    /// None: the instruction is needed, or is nothing that may be left out.
    No,
    /// Those in which a source is absent.
    Absent,
    /// Those in which a source is not a known number.
    Open,
}

/// Nothing is allowed: the row of what is not modelled, and what most rows say of most columns.
const OTHER: Effects = Effects {
    results: Results::Other,
    is_selectable: false,
    accesses: false,
    gathers: false,
    schedule: ScheduleUse::Free,
    orders: Orders::Nothing,
    decides: Decides::Nothing,
    omitted: Omitted::No,
};

const ARITHMETIC: Effects = Effects {
    results: Results::Arithmetic,
    is_selectable: true,
    decides: Decides::Results,
    omitted: Omitted::Absent,
    ..OTHER
};

/// Arithmetic on numbers, of which unknown ones are left out as absent ones are.
const NUMBERS: Effects = Effects {
    omitted: Omitted::Open,
    ..ARITHMETIC
};

const HELD: Effects = Effects {
    results: Results::Held,
    omitted: Omitted::No,
    ..ARITHMETIC
};

const MEMORY: Effects = Effects {
    is_selectable: true,
    accesses: true,
    decides: Decides::Address,
    ..OTHER
};

const COLLECTIVE: Effects = Effects {
    gathers: true,
    decides: Decides::All,
    ..OTHER
};

const EXCHANGE: Effects = Effects {
    decides: Decides::Exchange,
    ..COLLECTIVE
};

const ALL: Effects = Effects {
    decides: Decides::All,
    ..OTHER
};

const fn only(name: &'static str) -> Effects {
    Effects {
        orders: Orders::Only(name),
        ..OTHER
    }
}

/// The row of arithmetic on operands of a type.
fn on(ty: NumTy) -> Effects {
    match ty {
        NumTy::Float(_) => NUMBERS,
        NumTy::Int(_) => ARITHMETIC,
    }
}

/// The row of an operation.
#[inline]
pub fn effects(op: &Op) -> Effects {
    match op {
        Op::Mov { .. } => Effects {
            omitted: Omitted::Absent,
            ..HELD
        },
        Op::Special { special, .. } => Effects {
            schedule: match *special == Special::Volatile {
                true => ScheduleUse::Volatile,
                false => ScheduleUse::Free,
            },
            ..HELD
        },
        Op::Cvta { .. } => HELD,
        Op::IsSpace { .. } => Effects {
            decides: Decides::All,
            ..HELD
        },
        Op::Pack { .. }
        | Op::Unpack { .. }
        | Op::Int { .. }
        | Op::Selp { .. }
        | Op::Slct { .. }
        | Op::Lop3Bool { .. }
        | Op::CvtUnpack2 { .. }
        | Op::CvtPackSat { .. } => ARITHMETIC,
        Op::Float { .. } | Op::Testp { .. } | Op::CvtNarrow { .. } => NUMBERS,
        Op::Setp { ty, .. } | Op::Set { ty, .. } => on(*ty),
        Op::Cvt { from, to, .. } => match from {
            NumTy::Float(_) => NUMBERS,
            NumTy::Int(_) => on(*to),
        },
        Op::Ld { .. } => Effects {
            omitted: Omitted::Absent,
            ..MEMORY
        },
        Op::St { .. } => MEMORY,
        Op::Atom {
            op,
            access,
            dsts,
            cas,
            ..
        } => Effects {
            schedule: match (cas, dsts.is_empty()) {
                (None, true) => schedule_use::update(*op, Some(access.ty)),
                (Some(_), _) | (None, false) => ScheduleUse::Order,
            },
            decides: match op {
                AtomOp::Add | AtomOp::Min | AtomOp::Max | AtomOp::Exch => Decides::Address,
                AtomOp::And
                | AtomOp::Or
                | AtomOp::Xor
                | AtomOp::Cas
                | AtomOp::Inc
                | AtomOp::Dec => Decides::All,
            },
            ..MEMORY
        },
        Op::CpAsync { .. } => Effects {
            decides: Decides::All,
            ..MEMORY
        },
        Op::Fence { .. } => only("fence"),
        Op::CpAsyncCommit => only("cp.async.commit_group"),
        Op::CpAsyncWait { .. } => only("cp.async.wait_group"),
        Op::Bar { kind, .. } => Effects {
            orders: match kind {
                BarKind::Sync => Orders::Only("bar.sync"),
                BarKind::Arrive => Orders::Only("bar.arrive"),
                BarKind::RedPopc { .. } | BarKind::RedBool { .. } => Orders::WithResult("bar.red"),
            },
            ..COLLECTIVE
        },
        Op::WarpSync { .. } => Effects {
            orders: Orders::Only("bar.warp.sync"),
            ..COLLECTIVE
        },
        Op::Shfl { .. } | Op::Vote { .. } => EXCHANGE,
        Op::Match { .. } | Op::Redux { .. } | Op::Elect { .. } => COLLECTIVE,
        Op::Mma(_) => Effects {
            decides: Decides::Results,
            omitted: Omitted::Absent,
            ..COLLECTIVE
        },
        Op::Ldmatrix { .. } => Effects {
            accesses: true,
            decides: Decides::Address,
            ..COLLECTIVE
        },
        Op::Stmatrix { .. } => Effects {
            accesses: true,
            ..COLLECTIVE
        },
        Op::Movmatrix { .. } => COLLECTIVE,
        Op::ActiveMask { .. } => Effects {
            schedule: ScheduleUse::Volatile,
            ..OTHER
        },
        Op::Async(op) => Effects {
            gathers: op.gathers(),
            schedule: schedule_use::asynchronous(op),
            ..ALL
        },
        Op::Brx { .. } => ALL,
        Op::Nop => Effects {
            is_selectable: true,
            ..OTHER
        },
        Op::Bra { .. }
        | Op::Exit
        | Op::Trap
        | Op::Brkpt
        | Op::AssertFail
        | Op::Printf { .. }
        | Op::CallDepth
        | Op::Unsupported(_) => OTHER,
    }
}
