//! Decoded instructions: one variant for each family of opcodes, with typed fields.
//!
//! Source: PTX ISA 9.0, section 9.7. A family is a set of opcodes that one mechanism of the
//! simulator executes: all integer arithmetic is [`Op::Int`], all float arithmetic is
//! [`Op::Float`], and so on; the members are told apart by a small enum.

use super::{GlobalId, Pc, RegId};

/// An instruction with its guard.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// What is done.
    pub op: Op,
}

/// A guard predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate register.
    pub reg: RegId,
    /// True for `@!p`.
    pub negated: bool,
}

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

/// Integer, bit and address operations. `a b c d` are the sources in order. Results are exactly
/// those of PTX ISA 9.0 sections 9.7.1, 9.7.2 and 9.7.8 at the operation's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntOp {
    /// a + b.
    Add,
    /// a + b clamped to the signed range (`add.sat.s32`).
    AddSat,
    /// a - b.
    Sub,
    /// a - b clamped to the signed range.
    SubSat,
    /// Low half of a * b.
    MulLo,
    /// High half of a * b.
    MulHi,
    /// a * b at twice the width (the type is that of the sources).
    MulWide,
    /// Low half of a * b, plus c.
    MadLo,
    /// High half of a * b, plus c.
    MadHi,
    /// `mad.hi.sat.s32`.
    MadHiSat,
    /// a * b + c at twice the width.
    MadWide,
    /// Bits 31..0 of the product of the low 24 bits.
    Mul24Lo,
    /// Bits 47..16 of the product of the low 24 bits.
    Mul24Hi,
    /// `mul24.lo` plus c.
    Mad24Lo,
    /// `mul24.hi` plus c.
    Mad24Hi,
    /// `mad24.hi.sat.s32`.
    Mad24HiSat,
    /// a + b + c where c is a carry (0 or 1); the second destination gets the carry out.
    AddCarry,
    /// a - b - c where c is a borrow; the second destination gets the borrow out.
    SubBorrow,
    /// Low half of a * b, plus c, plus carry d; the second destination gets the carry out.
    MadLoCarry,
    /// High half of a * b, plus c, plus carry d; the second destination gets the carry out.
    MadHiCarry,
    /// c + |a - b|.
    Sad,
    /// a / b.
    Div,
    /// a % b.
    Rem,
    /// |a|.
    Abs,
    /// -a.
    Neg,
    /// min(a, b).
    Min,
    /// max(a, b).
    Max,
    /// max(min(a, b), 0): `min.relu`.
    MinRelu,
    /// max(max(a, b), 0): `max.relu`.
    MaxRelu,
    /// a & b.
    And,
    /// a | b.
    Or,
    /// a ^ b.
    Xor,
    /// Bitwise not.
    Not,
    /// a == 0 ? 1 : 0.
    Cnot,
    /// a << b, the amount (u32) clamped to the width.
    Shl,
    /// a >> b, the amount clamped, filled with the sign if signed.
    Shr,
    /// `shf.l.clamp`: high word of {b, a} << min(c, 32).
    ShfLClamp,
    /// `shf.l.wrap`: high word of {b, a} << (c & 31).
    ShfLWrap,
    /// `shf.r.clamp`: low word of {b, a} >> min(c, 32).
    ShfRClamp,
    /// `shf.r.wrap`: low word of {b, a} >> (c & 31).
    ShfRWrap,
    /// The boolean function of three inputs with this truth table.
    Lop3(u8),
    /// Byte permutation of {b, a} by selector c, generic mode.
    Prmt,
    /// `prmt` in a special mode.
    PrmtMode(PrmtMode),
    /// Bit field extract: field of a at b, c long.
    Bfe,
    /// Bit field insert: a into b at c, d long.
    Bfi,
    /// Number of ones (32-bit result).
    Popc,
    /// Number of leading zeros (32-bit result).
    Clz,
    /// Bits reversed.
    Brev,
    /// Position of the most significant non-sign bit (32-bit result).
    Bfind,
    /// `bfind.shiftamt`.
    BfindShift,
    /// The n-th set bit: mask a, base b, offset c.
    Fns,
    /// `szext.clamp`.
    SzextClamp,
    /// `szext.wrap`.
    SzextWrap,
    /// `bmsk.clamp`.
    BmskClamp,
    /// `bmsk.wrap`.
    BmskWrap,
    /// c + four byte products; the flags are the signedness of a and of b.
    Dp4a(bool, bool),
    /// c + two products of 16-bit halves of a with the low bytes of b.
    Dp2aLo(bool, bool),
    /// c + two products of 16-bit halves of a with the high bytes of b.
    Dp2aHi(bool, bool),
}

/// Special modes of `prmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PrmtMode {
    /// Forward four-byte extract.
    F4e,
    /// Backward four-byte extract.
    B4e,
    /// Replicate a byte.
    Rc8,
    /// Edge clamp left.
    Ecl,
    /// Edge clamp right.
    Ecr,
    /// Replicate a halfword.
    Rc16,
}

/// Float operations; over the reals they mean what their names say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatOp {
    /// a + b.
    Add,
    /// a - b.
    Sub,
    /// a * b.
    Mul,
    /// a * b + c.
    Fma,
    /// a / b.
    Div,
    /// 1 / a.
    Rcp,
    /// Square root.
    Sqrt,
    /// 1 / square root.
    Rsqrt,
    /// 2 to the a.
    Ex2,
    /// Base-2 logarithm.
    Lg2,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Hyperbolic tangent.
    Tanh,
    /// -a.
    Neg,
    /// |a|.
    Abs,
    /// min(a, b).
    Min,
    /// max(a, b).
    Max,
    /// min(a, b, c).
    Min3,
    /// max(a, b, c).
    Max3,
    /// Magnitude of b with the sign of a.
    Copysign,
}

/// Modifiers of a float operation that change its meaning over the reals or in floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FloatMods {
    /// `.sat`: clamp to [0, 1].
    pub sat: bool,
    /// `.relu`: clamp below at 0.
    pub relu: bool,
    /// `.ftz`.
    pub ftz: bool,
    /// `.approx` or `.full`: the result has the stated error of an approximation.
    pub approx: bool,
    /// `.NaN`: min and max propagate NaN.
    pub nan: bool,
    /// `.xorsign.abs` of min and max.
    pub xorsign_abs: bool,
    /// `.abs` alone on the sources of min and max.
    pub abs: bool,
    /// `.oob`.
    pub oob: bool,
    /// Directed or explicit rounding.
    pub rnd: Rnd,
}

/// Rounding modifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rnd {
    /// None written.
    #[default]
    None,
    /// To nearest even.
    Rn,
    /// Toward zero.
    Rz,
    /// Toward minus infinity.
    Rm,
    /// Toward plus infinity.
    Rp,
    /// To nearest, ties away.
    Rna,
    /// Stochastic.
    Rs,
    /// To an integer, nearest even.
    Rni,
    /// To an integer, toward zero.
    Rzi,
    /// To an integer, toward minus infinity.
    Rmi,
    /// To an integer, toward plus infinity.
    Rpi,
}

/// Comparison operators of `setp` and `set`. For integers the signedness is in the type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cmp {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Equal or unordered.
    Equ,
    /// Not equal or unordered.
    Neu,
    /// Less or unordered.
    Ltu,
    /// Less, equal or unordered.
    Leu,
    /// Greater or unordered.
    Gtu,
    /// Greater, equal or unordered.
    Geu,
    /// Neither operand is NaN.
    Num,
    /// An operand is NaN.
    Nan,
}

/// How a comparison is combined with a further predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoolOp {
    /// Conjunction.
    And,
    /// Disjunction.
    Or,
    /// Exclusive or.
    Xor,
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

/// Operation of an atomic or reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomOp {
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Compare and swap.
    Cas,
    /// Exchange.
    Exch,
    /// Addition.
    Add,
    /// Wrapping increment.
    Inc,
    /// Wrapping decrement.
    Dec,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
}

/// What a named-barrier instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarKind {
    /// Arrive and wait.
    Sync,
    /// Arrive only.
    Arrive,
    /// Arrive, wait, and count the true predicates into a 32-bit register.
    RedPopc {
        /// Destination.
        dst: RegId,
        /// The predicate.
        src: Guard,
    },
    /// Arrive, wait, and reduce predicates by and (`all`) or by or.
    RedBool {
        /// Destination predicate.
        dst: RegId,
        /// The predicate.
        src: Guard,
        /// True for `.and`.
        all: bool,
    },
}

/// Modes of `shfl.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShflMode {
    /// From a lower lane.
    Up,
    /// From a higher lane.
    Down,
    /// From the lane with xor-ed index.
    Bfly,
    /// From an indexed lane.
    Idx,
}

/// Modes of `vote.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VoteMode {
    /// All true.
    All,
    /// Any true.
    Any,
    /// All equal.
    Uni,
    /// Mask of the true ones.
    Ballot,
}

/// Special registers. Vector ones carry their component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// `%tid`.
    Tid(u8),
    /// `%ntid`.
    Ntid(u8),
    /// `%ctaid`.
    Ctaid(u8),
    /// `%nctaid`.
    Nctaid(u8),
    /// `%clusterid`.
    ClusterId(u8),
    /// `%nclusterid`.
    NclusterId(u8),
    /// `%cluster_ctaid`.
    ClusterCtaid(u8),
    /// `%cluster_nctaid`.
    ClusterNctaid(u8),
    /// `%cluster_ctarank`.
    ClusterCtarank,
    /// `%cluster_nctarank`.
    ClusterNctarank,
    /// `%is_explicit_cluster`.
    IsExplicitCluster,
    /// `%laneid`.
    LaneId,
    /// `%warpid`.
    WarpId,
    /// `%nwarpid`.
    NwarpId,
    /// `%lanemask_eq`.
    LaneMaskEq,
    /// `%lanemask_le`.
    LaneMaskLe,
    /// `%lanemask_lt`.
    LaneMaskLt,
    /// `%lanemask_ge`.
    LaneMaskGe,
    /// `%lanemask_gt`.
    LaneMaskGt,
    /// `%total_smem_size`.
    TotalSmem,
    /// `%aggr_smem_size`.
    AggrSmem,
    /// `%dynamic_smem_size`.
    DynamicSmem,
    /// A register whose value depends on the schedule or the machine (`%clock`, `%smid`, ...).
    Volatile,
}

/// A decoded operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Copy the bits of a register, immediate or address.
    Mov {
        /// Destination.
        dst: RegId,
        /// Source.
        src: Src,
        /// Width in bits (1 for predicates).
        width: u8,
    },
    /// Read a special register.
    Special {
        /// Destination.
        dst: RegId,
        /// Which.
        special: Special,
    },
    /// Pack `srcs`, low bits first, into one register (`mov.b32 d, {lo, hi}`).
    Pack {
        /// Destination.
        dst: RegId,
        /// Width in bits of each part.
        part: u8,
        /// The parts, low first.
        srcs: Vec<Src>,
    },
    /// Unpack into registers, low bits first; `None` is the sink `_`.
    Unpack {
        /// Destinations, low first.
        dsts: Vec<Option<RegId>>,
        /// Width in bits of each part.
        part: u8,
        /// Source.
        src: Src,
    },
    /// Integer, bit, predicate and address arithmetic.
    Int {
        /// Operation.
        op: IntOp,
        /// Operand type.
        ty: IntTy,
        /// Number of packed lanes in the register (`add.u16x2`: type u16, lanes 2), else 1.
        lanes: u8,
        /// Destination; `None` is the sink.
        dst: Option<RegId>,
        /// Carry or borrow out.
        dst2: Option<RegId>,
        /// Sources; unused ones are `Imm(0)`.
        src: [Src; 4],
    },
    /// Float arithmetic.
    Float {
        /// Operation.
        op: FloatOp,
        /// Format of the result and of the sources that `src_fmt` does not name.
        fmt: Fmt,
        /// Format of the first two sources (mixed-precision `add.f32.f16`); usually `fmt`.
        src_fmt: Fmt,
        /// Number of packed lanes in the register: 1, or 2 for `f16x2`, `bf16x2`, `f32x2`.
        lanes: u8,
        /// Modifiers.
        mods: FloatMods,
        /// Destination.
        dst: RegId,
        /// Sources; unused ones are `Imm(0)`.
        src: [Src; 3],
    },
    /// `setp`: compare, combine, write one or two predicates.
    Setp {
        /// Comparison.
        cmp: Cmp,
        /// Operand type.
        ty: NumTy,
        /// 2 for packed halves (then `p` and `q` are the two halves), else 1.
        lanes: u8,
        /// `.ftz`.
        ftz: bool,
        /// Combination with a further predicate.
        combine: Option<(BoolOp, Guard)>,
        /// First destination.
        p: Option<RegId>,
        /// Second destination.
        q: Option<RegId>,
        /// Left operand.
        a: Src,
        /// Right operand.
        b: Src,
    },
    /// `set`: compare, combine, write all ones (integer destination) or 1.0.
    Set {
        /// Comparison.
        cmp: Cmp,
        /// Operand type.
        ty: NumTy,
        /// Destination type.
        dty: NumTy,
        /// 2 for packed halves, else 1.
        lanes: u8,
        /// Combination with a further predicate.
        combine: Option<(BoolOp, Guard)>,
        /// Destination.
        dst: RegId,
        /// Left operand.
        a: Src,
        /// Right operand.
        b: Src,
    },
    /// `selp`: p ? a : b.
    Selp {
        /// Width in bits.
        width: u8,
        /// Destination.
        dst: RegId,
        /// Taken if true.
        a: Src,
        /// Taken if false.
        b: Src,
        /// The predicate.
        p: Guard,
    },
    /// `slct`: c >= 0 ? a : b.
    Slct {
        /// Width in bits of the result.
        width: u8,
        /// Type of `c` (s32 or f32).
        cty: NumTy,
        /// Destination.
        dst: RegId,
        /// Taken if c >= 0.
        a: Src,
        /// Taken otherwise.
        b: Src,
        /// The selector.
        c: Src,
    },
    /// `lop3.BoolOp`: also writes p = (d != 0) op q.
    Lop3Bool {
        /// Truth table.
        table: u8,
        /// Combination.
        op: BoolOp,
        /// Result.
        dst: Option<RegId>,
        /// Predicate result.
        p: RegId,
        /// Sources.
        src: [Src; 3],
        /// Predicate source.
        q: Guard,
    },
    /// `testp`.
    Testp {
        /// Which property.
        test: FloatTest,
        /// Format.
        fmt: Fmt,
        /// Destination predicate.
        p: RegId,
        /// Operand.
        a: Src,
    },
    /// `cvt` with one source.
    Cvt {
        /// Source type.
        from: NumTy,
        /// Destination type.
        to: NumTy,
        /// Rounding.
        rnd: Rnd,
        /// `.sat`.
        sat: bool,
        /// `.satfinite`.
        satfinite: bool,
        /// `.relu`.
        relu: bool,
        /// `.ftz`.
        ftz: bool,
        /// Destination; narrower values are extended to its width by `to`.
        dst: RegId,
        /// Source.
        src: Src,
    },
    /// `cvt` that packs two or four floats: element 0 (low) is the LAST source. The random bits of `.rs` are
    /// no operand: they choose between the two neighbours of the number, which is one number over the reals.
    CvtNarrow {
        /// Source format.
        from: Fmt,
        /// Element format of the result.
        to: Fmt,
        /// Rounding.
        rnd: Rnd,
        /// `.satfinite`.
        satfinite: bool,
        /// `.relu`.
        relu: bool,
        /// Destination.
        dst: RegId,
        /// Elements, the lowest first.
        parts: Vec<Src>,
    },
    /// `cvt` that unpacks two narrow floats into packed halves.
    CvtUnpack2 {
        /// Source element format.
        from: Fmt,
        /// Result element format.
        to: Fmt,
        /// `.relu`.
        relu: bool,
        /// Destination.
        dst: RegId,
        /// Source.
        src: Src,
    },
    /// `cvt.pack.sat`: clamp a and b into `to`, a above b, c shifted up above them.
    CvtPackSat {
        /// Element type of the result.
        to: IntTy,
        /// Type of a and b (s32).
        from: IntTy,
        /// Destination.
        dst: RegId,
        /// Sources a, b, c.
        src: [Src; 3],
    },
    /// `cvta.space` and `cvta.to.space`.
    Cvta {
        /// The space.
        space: Space,
        /// True for `cvta.to.space` (generic to the space's own window).
        to: bool,
        /// Width in bits of the address.
        width: u8,
        /// Destination.
        dst: RegId,
        /// Source.
        src: Src,
    },
    /// `isspacep`.
    IsSpace {
        /// The space.
        space: Space,
        /// Destination predicate.
        p: RegId,
        /// Generic address.
        a: Src,
    },
    /// A load of one or more consecutive elements; `None` is the sink.
    Ld {
        /// Modifiers.
        access: Access,
        /// Destinations in address order.
        dsts: Vec<Option<RegId>>,
        /// Address of the first element.
        addr: Addr,
        /// Bytes that are used of the whole access (`.pragma "used_bytes_mask"`), else all ones.
        used: u32,
    },
    /// A store of one or more consecutive elements; `None` skips one.
    St {
        /// Modifiers.
        access: Access,
        /// Sources in address order.
        srcs: Vec<Option<Src>>,
        /// Address of the first element.
        addr: Addr,
    },
    /// `atom` and `red` (`dst` empty). Packed types have `lanes` 2; vector forms several sources.
    Atom {
        /// Modifiers.
        access: Access,
        /// Operation.
        op: AtomOp,
        /// Packed lanes in one element.
        lanes: u8,
        /// Old values.
        dsts: Vec<RegId>,
        /// Address.
        addr: Addr,
        /// First operand of each element.
        srcs: Vec<Src>,
        /// New value of `cas`.
        cas: Option<Src>,
    },
    /// A fence.
    Fence {
        /// Ordering.
        sem: Sem,
        /// Scope.
        scope: Scope,
    },
    /// `bar`, `barrier`.
    Bar {
        /// Kind.
        kind: BarKind,
        /// Barrier number.
        id: Src,
        /// Thread count, default all threads of the CTA.
        count: Option<Src>,
        /// `.aligned` (always true of `bar`).
        aligned: bool,
    },
    /// `bar.warp.sync`.
    WarpSync {
        /// Member mask.
        mask: Src,
    },
    /// `shfl.sync`; `mask` is `None` for the old form without `.sync`.
    Shfl {
        /// Mode.
        mode: ShflMode,
        /// Destination.
        dst: RegId,
        /// In-range predicate.
        p: Option<RegId>,
        /// Value.
        a: Src,
        /// Lane or offset.
        b: Src,
        /// Clamp and segment.
        c: Src,
        /// Member mask.
        mask: Option<Src>,
    },
    /// `vote.sync`.
    Vote {
        /// Mode.
        mode: VoteMode,
        /// Destination (predicate, or 32-bit for ballot).
        dst: RegId,
        /// The predicate.
        a: Guard,
        /// Member mask.
        mask: Option<Src>,
    },
    /// `match.sync`.
    Match {
        /// True for `.all`.
        all: bool,
        /// Width in bits of the value.
        width: u8,
        /// Destination mask.
        dst: RegId,
        /// Predicate (`.all`).
        p: Option<RegId>,
        /// Value.
        a: Src,
        /// Member mask.
        mask: Src,
    },
    /// `redux.sync`.
    Redux {
        /// Operation (add, min, max, and, or, xor).
        op: AtomOp,
        /// Type.
        ty: NumTy,
        /// `.abs` of the float forms.
        abs: bool,
        /// `.NaN` of the float forms.
        nan: bool,
        /// Destination.
        dst: RegId,
        /// Value.
        a: Src,
        /// Member mask.
        mask: Src,
    },
    /// `elect.sync`.
    Elect {
        /// Leader's lane.
        dst: Option<RegId>,
        /// True in the leader.
        p: RegId,
        /// Member mask.
        mask: Src,
    },
    /// `activemask`.
    ActiveMask {
        /// Destination.
        dst: RegId,
    },
    /// A jump; with a guard, a conditional one.
    Bra {
        /// Target.
        target: Pc,
        /// `.uni`.
        uni: bool,
    },
    /// `brx.idx`.
    Brx {
        /// Index into [`super::Kernel::tables`].
        table: u32,
        /// The index operand.
        index: Src,
        /// `.uni`.
        uni: bool,
    },
    /// `exit`, or `ret` of the entry.
    Exit,
    /// `trap`.
    Trap,
    /// `brkpt`: suspends execution, of which nothing more is promised; ptxas makes a trap of it.
    Brkpt,
    /// Reaching a call of `__assertfail`.
    AssertFail,
    /// A call of `vprintf`: ignored with a note; its result is unspecified.
    Printf {
        /// The result register or `.param` variable's local offset, if used.
        result: Option<u32>,
    },
    /// `mma.sync` of a dense shape: d = a * b + c over the whole warp.
    Mma(Box<Mma>),
    /// `ldmatrix`.
    Ldmatrix {
        /// The registers of all matrices.
        dsts: Vec<RegId>,
        /// Which element goes where.
        form: MatrixForm,
        /// Bits of an element in memory that becomes a byte (`.b8x16.src_fmt`).
        narrow: Option<u8>,
        /// The state space.
        space: Space,
        /// Address of a row, given by a lane.
        addr: Addr,
    },
    /// `stmatrix`.
    Stmatrix {
        /// The registers of all matrices.
        srcs: Vec<Src>,
        /// Which element goes where.
        form: MatrixForm,
        /// The state space.
        space: Space,
        /// Address of a row, given by a lane.
        addr: Addr,
    },
    /// `movmatrix.m8n8.trans.b16`.
    Movmatrix {
        /// Destination.
        dst: RegId,
        /// Source.
        src: Src,
    },
    /// `cp.async` from global to shared memory.
    CpAsync {
        /// Bytes written: 4, 8 or 16.
        bytes: u8,
        /// Bytes read, the rest is zero; default all.
        read: Option<Src>,
        /// Writes zeros if true.
        ignore: Option<Guard>,
        /// Destination in shared memory.
        to: Addr,
        /// Source in global memory.
        from: Addr,
    },
    /// `cp.async.commit_group`.
    CpAsyncCommit,
    /// `cp.async.wait_group` and `wait_all`.
    CpAsyncWait {
        /// Number of the newest groups that may still be under way; `None` waits for every copy,
        /// committed or not.
        pending: Option<u32>,
    },
    /// An operation of asynchronous agents: mbarriers, warpgroup products, proxies.
    Async(Box<super::AsyncOp>),
    /// No effect on any value: hints, prefetches, `nanosleep`, `pmevent`.
    Nop,
    /// Expansion of calls stopped here.
    CallDepth,
    /// Decoded but not executed yet, or unknown; index into [`super::Kernel::texts`].
    Unsupported(u32),
}

/// Properties that `testp` tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatTest {
    /// Neither infinite nor NaN.
    Finite,
    /// Infinite.
    Infinite,
    /// Not NaN.
    Number,
    /// NaN.
    NotANumber,
    /// Normal (zeros count).
    Normal,
    /// Subnormal.
    Subnormal,
}

/// Element type of an operand of a matrix product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatTy {
    /// A float format.
    Float(Fmt),
    /// A float format of four bits, without padding.
    Packed(Fmt),
    /// An integer of this width in bits (4 or 8).
    Int {
        /// Width in bits.
        width: u8,
        /// Signed or unsigned.
        signed: bool,
    },
}

impl MatTy {
    /// The type of an element in memory.
    pub fn element(self) -> NumTy {
        match self {
            MatTy::Float(Fmt::Tf32) => NumTy::Float(Fmt::F32),
            MatTy::Float(f) | MatTy::Packed(f) => NumTy::Float(f),
            MatTy::Int { width, signed } => NumTy::Int(IntTy { width, signed }),
        }
    }

    /// Width in bits of the place that an element has in a register: floats of six and four bits stand in bytes.
    pub fn bits(self) -> u32 {
        match self {
            MatTy::Float(f) => f.bits().max(8),
            MatTy::Packed(_) => 4,
            MatTy::Int { width, .. } => width as u32,
        }
    }

    /// The bits of its place that an element takes: the first, and how many. In a byte, six bits are the
    /// lowest and four bits the middle ones (PTX ISA 9.0, section 9.7.14.5.1).
    pub fn field(self) -> (u8, u8) {
        match self {
            MatTy::Float(Fmt::E2m1) => (2, 4),
            MatTy::Float(f) => (0, f.bits() as u8),
            MatTy::Packed(_) => (0, 4),
            MatTy::Int { width, .. } => (0, width),
        }
    }
}

/// A matrix product of a warp (PTX ISA 9.0, sections 9.7.14.5 and 9.7.14.6): a is m x k by rows, b is k x n
/// by columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Mma {
    /// Rows of a and d: 8 or 16.
    pub m: u16,
    /// Inner dimension.
    pub k: u16,
    /// Element type of a.
    pub a_ty: MatTy,
    /// Element type of b.
    pub b_ty: MatTy,
    /// Type of c.
    pub c_ty: NumTy,
    /// Type of d.
    pub d_ty: NumTy,
    /// `.satfinite` of an integer product: the sum is clamped.
    pub clamp: bool,
    /// Result registers.
    pub d: Vec<RegId>,
    /// Registers of a.
    pub a: Vec<Src>,
    /// Registers of b.
    pub b: Vec<Src>,
    /// Registers of c.
    pub c: Vec<Src>,
    /// Of `mma.sp`, whose a holds half of its columns.
    pub sparse: Option<Sparse>,
    /// Factors of the chunks of rows of a and of columns of b.
    pub scale: Option<Box<BlockScale>>,
    /// What is unusual about it.
    pub form: MmaForm,
}

/// The factors of a product with `.block_scale` (PTX ISA 9.0, section 9.7.14.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockScale {
    /// How many chunks a row of a has, and a column of b.
    pub chunks: u8,
    /// The format: `.ue8m0`, or `.e4m3` for `.ue4m3`, which is without sign.
    pub fmt: Fmt,
    /// The factors of a.
    pub a: ScaleData,
    /// The factors of b.
    pub b: ScaleData,
}

/// Four factors in each lane, and which of them are taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleData {
    /// The factors.
    pub data: Src,
    /// The first byte.
    pub byte: Src,
    /// Which lanes of four: for a, a pair of them.
    pub thread: Src,
}

/// Kinds of products of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MmaForm {
    /// One product of all lanes.
    Whole,
    /// Four products 8 x 8 x 4 of eight lanes each; true for factors by columns (a) or by rows (b).
    Quads {
        /// a is laid out by columns.
        a_col: bool,
        /// b is laid out by rows.
        b_row: bool,
    },
    /// Products of bits: k counts words of 32, and the bits that both have, or one of them has with
    /// `xor`, are counted.
    Bits {
        /// `.xor.popc` instead of `.and.popc`.
        xor: bool,
    },
}

/// Which bytes of which rows a matrix instruction puts into a register of a lane, or takes from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixForm {
    /// `.m8n8`, and `.m8n16` of bytes: four neighbours of a row.
    Rows,
    /// `.m8n8.trans`: two columns of 16-bit elements.
    Columns,
    /// `.m16n16.trans`: four rows of a column of bytes, in two registers.
    Square,
    /// `.m16n8.trans`: two rows of two columns of bytes.
    Pairs,
}

impl MatrixForm {
    /// The number of rows, each with an address, that are held by so many registers.
    pub fn rows(self, registers: usize) -> usize {
        8 * registers
    }

    /// How many registers a matrix takes.
    pub fn registers(self) -> usize {
        if self == MatrixForm::Square { 2 } else { 1 }
    }
}

/// What a sparse product is told about the columns of a.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sparse {
    /// Where in its chunk each element stands.
    pub metadata: Src,
    /// Which lanes of a group of four hold metadata.
    pub selector: u8,
    /// `.sp::ordered_metadata`.
    pub ordered: bool,
}
