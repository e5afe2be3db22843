//! One row for each operation: what it does beside writing its results.
//!
//! Problem: who waits at an instruction, what the schedule, a data-dependent guard or a missing value do to it, and what it
//! orders, are questions of many analyses. Each is a column here, and the [table of operations](super::op) has a row of them
//! for each operation, so that one that is added does not compile before it has its row.
//!
//! Sound: an analysis asks a column for what it may leave out, and each column is documented by what it allows; the rows of
//! operations that nothing is known of allow nothing.

use super::schedule_use::{self, ScheduleUse};
use super::{AtomOp, BarKind, NumTy};

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
    /// Nothing that can be left out.
    Nothing,
    /// Other threads, and it does nothing else.
    Only,
    /// Other threads, and it has a result.
    WithResult,
    /// What [agents](super::AsyncOp) do, and it does nothing else.
    Agents,
    /// What agents do, and its result says whether it is over.
    Told,
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
pub(super) const OTHER: Effects = Effects {
    results: Results::Other,
    is_selectable: false,
    accesses: false,
    gathers: false,
    schedule: ScheduleUse::Free,
    orders: Orders::Nothing,
    decides: Decides::Nothing,
    omitted: Omitted::No,
};

pub(super) const ARITHMETIC: Effects = Effects {
    results: Results::Arithmetic,
    is_selectable: true,
    decides: Decides::Results,
    omitted: Omitted::Absent,
    ..OTHER
};

/// Arithmetic on numbers, of which unknown ones are left out as absent ones are.
pub(super) const NUMBERS: Effects = Effects {
    omitted: Omitted::Open,
    ..ARITHMETIC
};

pub(super) const HELD: Effects = Effects {
    results: Results::Held,
    omitted: Omitted::No,
    ..ARITHMETIC
};

pub(super) const MEMORY: Effects = Effects {
    is_selectable: true,
    accesses: true,
    decides: Decides::Address,
    ..OTHER
};

pub(super) const COLLECTIVE: Effects = Effects {
    gathers: true,
    decides: Decides::All,
    ..OTHER
};

pub(super) const EXCHANGE: Effects = Effects {
    decides: Decides::Exchange,
    ..COLLECTIVE
};

pub(super) const ALL: Effects = Effects {
    decides: Decides::All,
    ..OTHER
};

/// Nothing but the order of other threads.
pub(super) const ONLY: Effects = Effects {
    orders: Orders::Only,
    ..OTHER
};

/// Nothing but the order of what agents do.
pub(super) const AGENTS: Effects = Effects {
    orders: Orders::Agents,
    ..ALL
};

/// Lanes of a warp do it together.
pub(super) const TOGETHER: Effects = Effects {
    gathers: true,
    ..ALL
};

/// The row of arithmetic on operands of a type.
pub(super) fn on(ty: NumTy) -> Effects {
    match ty {
        NumTy::Float(_) => NUMBERS,
        NumTy::Int(_) => ARITHMETIC,
    }
}

/// The row of a conversion.
pub(super) fn convert(from: NumTy, to: NumTy) -> Effects {
    match from {
        NumTy::Float(_) => NUMBERS,
        NumTy::Int(_) => on(to),
    }
}

/// The row of an update of memory, whose old value may be read.
pub(super) fn atomic(op: AtomOp, ty: NumTy, is_read: bool) -> Effects {
    Effects {
        schedule: match is_read {
            false => schedule_use::update(op, Some(ty)),
            true => ScheduleUse::Order,
        },
        decides: match op {
            AtomOp::Add | AtomOp::Min | AtomOp::Max | AtomOp::Exch => Decides::Address,
            AtomOp::And | AtomOp::Or | AtomOp::Xor | AtomOp::Cas | AtomOp::Inc | AtomOp::Dec => {
                Decides::All
            }
        },
        ..MEMORY
    }
}

/// The row of a barrier of the CTA.
pub(super) fn barrier(kind: BarKind) -> Effects {
    Effects {
        orders: match kind {
            BarKind::Sync | BarKind::Arrive => Orders::Only,
            BarKind::RedPopc { .. } | BarKind::RedBool { .. } => Orders::WithResult,
        },
        ..COLLECTIVE
    }
}
