//! Operations on integers and predicates, and those of atomics.

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

impl IntOp {
    /// Number of sources that it reads.
    pub fn arity(self) -> usize {
        use IntOp::*;
        match self {
            Abs | Neg | Not | Cnot | Popc | Clz | Brev | Bfind | BfindShift => 1,
            Add | AddSat | Sub | SubSat | MulLo | MulHi | MulWide | Mul24Lo | Mul24Hi | Div
            | Rem | Min | Max | MinRelu | MaxRelu | And | Or | Xor | Shl | Shr | SzextClamp
            | SzextWrap | BmskClamp | BmskWrap => 2,
            MadLo | MadHi | MadHiSat | MadWide | Mad24Lo | Mad24Hi | Mad24HiSat | AddCarry
            | SubBorrow | Sad | ShfLClamp | ShfLWrap | ShfRClamp | ShfRWrap | Lop3(_) | Prmt
            | PrmtMode(_) | Bfe | Fns | Dp4a(..) | Dp2aLo(..) | Dp2aHi(..) => 3,
            MadLoCarry | MadHiCarry | Bfi => 4,
        }
    }
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
