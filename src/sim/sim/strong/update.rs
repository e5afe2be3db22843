//! What an update leaves, and what a thread held when it saw it.

use super::super::int::atom_int;
use super::super::val::Val;
use crate::kernel::{AtomOp, NumTy, RegId};

/// The registers of a lane that a loop that waits reads or writes.
pub(super) type Snapshot = Vec<(RegId, Val)>;

/// What an integer atomic leaves, if that is known.
pub(super) fn after(
    op: AtomOp,
    ty: NumTy,
    old: u64,
    b: Option<u64>,
    c: Option<u64>,
) -> Option<u64> {
    match (op, ty) {
        (AtomOp::Exch, _) => b,
        (AtomOp::Cas, NumTy::Int(t)) => Some(atom_int(op, t, old, b?, c?)),
        (_, NumTy::Int(t)) => Some(atom_int(op, t, old, b?, 0)),
        (_, NumTy::Float(_)) => None,
    }
}
