//! Types of numbers.

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
