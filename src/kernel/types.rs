//! What operations are over: sources, formats, state spaces and addresses.

use super::{GlobalId, RegId};

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

/// A float format; the discriminants are stable and used in packed values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Fmt {
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// tf32 in a 32-bit register.
    Tf32,
    /// 8 bits, 4 of exponent, no infinity.
    E4m3,
    /// 8 bits, 5 of exponent.
    E5m2,
    /// 6 bits, 2 of exponent.
    E2m3,
    /// 6 bits, 3 of exponent.
    E3m2,
    /// 4 bits.
    E2m1,
    /// 8 bits of exponent only.
    Ue8m0,
}

impl Fmt {
    /// All formats, in discriminant order.
    pub const ALL: [Fmt; 11] = [
        Fmt::F16,
        Fmt::Bf16,
        Fmt::F32,
        Fmt::F64,
        Fmt::Tf32,
        Fmt::E4m3,
        Fmt::E5m2,
        Fmt::E2m3,
        Fmt::E3m2,
        Fmt::E2m1,
        Fmt::Ue8m0,
    ];

    /// Width in bits of a value in a register or in memory (4- and 6-bit formats take a byte).
    pub fn bits(self) -> u32 {
        match self {
            Fmt::F64 => 64,
            Fmt::F32 | Fmt::Tf32 => 32,
            Fmt::F16 | Fmt::Bf16 => 16,
            _ => 8,
        }
    }

    /// True if every pattern of bits is a finite number.
    pub fn is_always_finite(self) -> bool {
        matches!(self, Fmt::E2m3 | Fmt::E3m2 | Fmt::E2m1)
    }

    /// Precision in bits, the hidden one included.
    pub fn precision(self) -> u32 {
        match self {
            Fmt::F64 => 53,
            Fmt::F32 => 24,
            Fmt::F16 | Fmt::Tf32 => 11,
            Fmt::Bf16 => 8,
            Fmt::E4m3 | Fmt::E2m3 => 4,
            Fmt::E5m2 | Fmt::E3m2 => 3,
            Fmt::E2m1 => 2,
            Fmt::Ue8m0 => 1,
        }
    }

    /// The name that the command line and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Fmt::F16 => "f16",
            Fmt::Bf16 => "bf16",
            Fmt::F32 => "f32",
            Fmt::F64 => "f64",
            Fmt::Tf32 => "tf32",
            Fmt::E4m3 => "e4m3",
            Fmt::E5m2 => "e5m2",
            Fmt::E2m3 => "e2m3",
            Fmt::E3m2 => "e3m2",
            Fmt::E2m1 => "e2m1",
            Fmt::Ue8m0 => "ue8m0",
        }
    }
}

/// An integer type: width 1 (predicates), 8, 16, 32 or 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntTy {
    /// Width in bits.
    pub width: u8,
    /// True for `.s*`.
    pub signed: bool,
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumTy {
    /// An integer.
    Int(IntTy),
    /// A float.
    Float(Fmt),
}

impl NumTy {
    /// Width in bits.
    pub fn bits(self) -> u32 {
        match self {
            NumTy::Int(t) => t.width as u32,
            NumTy::Float(f) => f.bits(),
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
