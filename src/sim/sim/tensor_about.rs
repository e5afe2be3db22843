//! The instruction descriptor of `tcgen05.mma`: types, shape, and how the factors are laid out and scaled.
//!
//! Source: PTX ISA 9.0, section 9.7.16.4.2.
//!
//! Not claimed: sparse products, a depth of 96, accumulators of f16, floats of four and six bits in places of eight: each
//! is refused by name.

use crate::kernel::{Fmt, MatTy, TensorKind};

/// What an instruction descriptor says.
pub(super) struct About {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) depth: usize,
    pub(super) ty: [MatTy; 2],
    /// The result is an integer, which may saturate.
    pub(super) int: bool,
    pub(super) clamp: bool,
    pub(super) negate: bool,
    /// The factors are laid out along their outer dimension.
    pub(super) along: [bool; 2],
    /// Which byte of a word holds the first scale of a row of each factor, and their type.
    pub(super) scales: [u8; 2],
    pub(super) scale: Fmt,
}

impl About {
    /// Decodes one; the error says what of it is not supported.
    pub(super) fn new(kind: TensorKind, bits: u64, pair: bool) -> Result<About, &'static str> {
        let packed = matches!(kind, TensorKind::Mx4 | TensorKind::Nv4);
        let scaled = packed || kind == TensorKind::Mx8;
        let field = |at: u32, n: u32| bits >> at & ((1 << n) - 1);
        if field(2, 1) != 0 {
            return Err("a sparse product");
        }
        if packed && field(31, 1) != 0 {
            return Err("a product of depth 96");
        }
        let reserved = match (scaled, packed) {
            (true, true) => field(0, 2) | field(3, 1) | field(6, 1) | field(12, 1) | field(24, 3),
            (true, false) => field(0, 2) | field(3, 1) | field(6, 1) | field(24, 3) | field(31, 1),
            _ => field(6, 1) | field(23, 1) | field(29, 1) | field(30, 2),
        };
        let powers = field(23, 1) == 1;
        if reserved != 0 || scaled && !powers && kind != TensorKind::Nv4 {
            return Err("an instruction descriptor with reserved bits");
        }
        let int = kind == TensorKind::I8;
        if !scaled && field(4, 2) != if int { 2 } else { 1 } {
            return Err("this type of accumulator");
        }
        let ty = |at: u32| match (kind, field(at, 3)) {
            (TensorKind::F16, 0) => Ok(MatTy::Float(Fmt::F16)),
            (TensorKind::F16, 1) => Ok(MatTy::Float(Fmt::Bf16)),
            (TensorKind::Tf32, 2) => Ok(MatTy::Float(Fmt::Tf32)),
            (TensorKind::F8 | TensorKind::Mx8, 0) => Ok(MatTy::Float(Fmt::E4m3)),
            (TensorKind::F8 | TensorKind::Mx8, 1) => Ok(MatTy::Float(Fmt::E5m2)),
            (TensorKind::Mx4 | TensorKind::Nv4, 1) => Ok(MatTy::Packed(Fmt::E2m1)),
            (TensorKind::I8, s @ (0 | 1)) => Ok(MatTy::Int {
                width: 8,
                signed: s == 1,
            }),
            _ => Err("this element type"),
        };
        let ty = [ty(7)?, ty(10)?];
        if kind == TensorKind::F16 && ty[0] != ty[1] {
            return Err("factors of different types");
        }
        let rows = match scaled {
            true => 128 * field(27, 2),
            false => 16 * field(24, 5),
        };
        let (rows, columns) = (rows as usize, 8 * field(17, 6) as usize);
        let step = match (rows, pair) {
            (64, false) => 8,
            (128, _) | (256, true) => 16,
            _ => return Err("this number of rows"),
        };
        if columns == 0 || columns > 256 || !columns.is_multiple_of(step) {
            return Err("this number of columns");
        }
        let along = [field(15, 1) == 1, field(16, 1) == 1];
        if (packed || kind == TensorKind::Tf32) && (along[0] || along[1]) {
            return Err("a transposed operand of this type");
        }
        if int && field(13, 2) != 0 || !int && field(3, 1) != 0 {
            return Err("an instruction descriptor that the manual excludes");
        }
        Ok(About {
            rows,
            columns,
            depth: 256 / ty[0].bits() as usize,
            ty,
            int,
            clamp: field(3, 1) == 1,
            negate: field(13, 1) != field(14, 1),
            along,
            scales: match scaled {
                true => [field(29, 2) as u8, field(4, 2) as u8],
                false => [0; 2],
            },
            scale: match powers {
                true => Fmt::Ue8m0,
                false => Fmt::E4m3,
            },
        })
    }
}
