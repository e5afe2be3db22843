//! Types of the elements of matrices.

use super::{Fmt, IntTy, NumTy};

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
