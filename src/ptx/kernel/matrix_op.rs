//! Matrix instructions of a warp.

use super::{Fmt, MatTy, NumTy, RegId, Src};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
