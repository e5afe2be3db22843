//! What operations are over: sources, formats, state spaces and addresses.

use super::{GlobalId, NumTy, RegId};

/// A source operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Src {
    /// A register.
    Reg(RegId),
    /// An immediate, already truncated to the operand's width (floats as their bits).
    Imm(u64),
    /// The address of a global or constant variable in its own space (equal to its generic
    /// address) plus an offset; resolved when memory is laid out.
    Global(GlobalId, i64),
    /// The address of a shared, local or parameter variable in its own space: the offset at which
    /// the variable is laid out, plus an offset. Another layout would give another number.
    Var(Space, u32, i64),
}

impl Src {
    /// The operand as a number, where the layout of the kernel gives one.
    pub fn laid_out(self) -> Option<u64> {
        match self {
            Src::Imm(n) => Some(n),
            Src::Var(_, at, plus) => Some(i64::from(at).wrapping_add(plus) as u64),
            Src::Reg(_) | Src::Global(..) => None,
        }
    }
}

/// State spaces of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// Any window, by the generic address.
    Generic,
    /// Global memory.
    Global,
    /// Shared memory of this CTA (offsets from 0).
    Shared,
    /// Shared memory of a CTA of the cluster.
    SharedCluster,
    /// Per-thread memory (offsets from 0).
    Local,
    /// Constant memory.
    Const,
    /// Kernel parameters (offsets from 0).
    Param,
}

/// Memory ordering of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sem {
    /// A plain access; `volatile` too, for races.
    Weak,
    /// `.relaxed`.
    Relaxed,
    /// `.acquire`.
    Acquire,
    /// `.release`.
    Release,
    /// `.acq_rel`.
    AcqRel,
    /// `.sc` (fences).
    Sc,
}

/// Scope of a strong access or fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// The CTA.
    Cta,
    /// The cluster.
    Cluster,
    /// The device.
    Gpu,
    /// The system.
    Sys,
}

/// The scope of an operation on an mbarrier. PTX reads no scope as that of the CTA; compilers write none for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scoped {
    /// `.cta`.
    Cta,
    /// None is written.
    Unsaid,
    /// `.cluster`, or a wider one.
    Cluster,
}

impl From<Scope> for Scoped {
    fn from(s: Scope) -> Scoped {
        match s {
            Scope::Cta => Scoped::Cta,
            Scope::Cluster | Scope::Gpu | Scope::Sys => Scoped::Cluster,
        }
    }
}

/// To which accesses of shared memory `.sync_restrict` restricts a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Restricted {
    /// `::shared::cta`: of the CTA of the thread.
    Own,
    /// `::shared::cluster`: of any CTA of the cluster.
    Cluster,
}

/// An address: base plus byte offset, with the width of the base as written (32 or 64).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addr {
    /// Base.
    pub base: Src,
    /// Byte offset.
    pub offset: i64,
}

/// Modifiers common to loads, stores and atomics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The state space.
    pub space: Space,
    /// Element type (bit types are unsigned integers).
    pub ty: NumTy,
    /// Written with a `.b*` type: the bytes are copied untyped.
    pub untyped: bool,
    /// Memory ordering.
    pub sem: Sem,
    /// Scope, where `sem` is not weak.
    pub scope: Scope,
    /// `.volatile`.
    pub volatile: bool,
    /// `ld.global.nc`.
    pub nc: bool,
}
