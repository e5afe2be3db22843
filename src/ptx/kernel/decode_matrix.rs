//! Decoder of matrix products of a warp and of the loads and stores that feed them.
//!
//! Source: PTX ISA 9.0, sections 9.7.14.5.14 (`mma`), 9.7.14.5.15 to 9.7.14.5.17 (`ldmatrix`,
//! `stmatrix`, `movmatrix`). The register counts follow from the shape: an operand of r x c
//! elements of w bits takes r * c * w / 1024 registers of 32 bits in each lane.

use super::lower::Lowerer;
use super::operand::Fit;
use super::sig::{Decoded, ModSet, Sig, num_type, unsupported};
use super::{
    BlockScale, Fmt, IntTy, MatTy, MatrixForm, Mma, MmaForm, NumTy, Op, RegId, ScaleData, Sparse,
    Src,
};
use crate::ptx::{Mod, Op as Opcode, Operand, Type};

/// The modifiers of `mma` in all its forms.
const PRODUCT: ModSet = ModSet::of(&[
    Mod::Sync,
    Mod::Aligned,
    Mod::Row,
    Mod::Col,
    Mod::Satfinite,
    Mod::Rn,
    Mod::Rz,
    Mod::Rm,
    Mod::Rp,
    Mod::KindF8f6f4,
    Mod::KindMxf8f6f4,
    Mod::KindMxf4,
    Mod::KindMxf4nvf4,
    Mod::BlockScale,
    Mod::ScaleVec1X,
    Mod::ScaleVec2X,
    Mod::ScaleVec4X,
    Mod::Xor,
    Mod::And,
    Mod::Popc,
]);

/// The element type of an operand.
pub(super) fn matrix_type(ty: Type) -> Option<MatTy> {
    let int = |width, signed| Some(MatTy::Int { width, signed });
    match ty {
        Type::F16 => Some(MatTy::Float(Fmt::F16)),
        Type::Bf16 => Some(MatTy::Float(Fmt::Bf16)),
        Type::Tf32 => Some(MatTy::Float(Fmt::Tf32)),
        Type::F64 => Some(MatTy::Float(Fmt::F64)),
        Type::E4m3 => Some(MatTy::Float(Fmt::E4m3)),
        Type::E5m2 => Some(MatTy::Float(Fmt::E5m2)),
        Type::E2m3 => Some(MatTy::Float(Fmt::E2m3)),
        Type::E3m2 => Some(MatTy::Float(Fmt::E3m2)),
        Type::E2m1 => Some(MatTy::Float(Fmt::E2m1)),
        Type::S8 => int(8, true),
        Type::U8 => int(8, false),
        Type::S4 => int(4, true),
        Type::U4 => int(4, false),
        _ => None,
    }
}

/// True for the shapes of the manual's table that the layout formula covers; `narrow` for
/// kinds without which floats have eight bits or more.
fn known_shape(m: u16, k: u16, a: MatTy, narrow: bool) -> bool {
    if narrow {
        return match a {
            MatTy::Float(f) => (m, k) == (16, 32) && f.bits() <= 8,
            MatTy::Packed(_) => (m, k) == (16, 64),
            MatTy::Int { .. } => false,
        };
    }
    let ks: &[u16] = match (m, a) {
        (16, MatTy::Float(Fmt::F16 | Fmt::Bf16)) => &[8, 16],
        (16, MatTy::Float(Fmt::Tf32)) => &[4, 8],
        (8, MatTy::Float(Fmt::F64)) => &[4],
        (16, MatTy::Float(Fmt::F64)) => &[4, 8, 16],
        (16, MatTy::Float(Fmt::E4m3 | Fmt::E5m2)) => &[16, 32],
        (8, MatTy::Int { width: 8, .. }) => &[16],
        (16, MatTy::Int { width: 8, .. }) => &[16, 32],
        (8, MatTy::Int { width: 4, .. }) => &[32],
        (16, MatTy::Int { width: 4, .. }) => &[32, 64],
        _ => &[],
    };
    ks.contains(&k)
}

/// True for the shapes of `mma.sp` of the manual's table.
fn sparse_shape(m: u16, k: u16, a: MatTy, narrow: bool) -> bool {
    if narrow {
        return known_shape(m, k / 2, a, true);
    }
    let ks: &[u16] = match (m, a) {
        (16, MatTy::Float(Fmt::F16 | Fmt::Bf16)) => &[16, 32],
        (16, MatTy::Float(Fmt::Tf32)) => &[8, 16],
        (16, MatTy::Float(Fmt::E4m3 | Fmt::E5m2)) => &[64],
        (16, MatTy::Int { width: 8, .. }) => &[32, 64],
        (16, MatTy::Int { width: 4, .. }) => &[64, 128],
        _ => &[],
    };
    ks.contains(&k)
}

/// The registers of a lane that hold its part of a matrix of elements of so many bits.
fn registers(rows: u16, cols: u16, bits: u32) -> usize {
    (u32::from(rows) * u32::from(cols) * bits / (32 * bits.max(32))) as usize
}

/// Whether a product of factors of two types goes to accumulators of two, which blocks of factors may scale.
fn accumulates((a, b): (MatTy, MatTy), (c, d): (NumTy, NumTy), scaled: bool) -> bool {
    // Factors of different types are integers, or floats of a byte.
    let mixed = match (a, b) {
        (MatTy::Int { .. }, MatTy::Int { .. }) => true,
        (MatTy::Float(x), MatTy::Float(y)) => x.bits() <= 8 && y.bits() <= 8,
        _ => false,
    };
    match (a, c, d) {
        _ if !mixed && a != b => false,
        (MatTy::Int { .. }, NumTy::Int(x), NumTy::Int(y)) => x.width == 32 && y.width == 32,
        (MatTy::Float(Fmt::F64), NumTy::Float(x), NumTy::Float(y)) => {
            x == Fmt::F64 && y == Fmt::F64
        }
        (MatTy::Float(_) | MatTy::Packed(_), NumTy::Float(x), NumTy::Float(y)) => {
            let some = |f| f == Fmt::F32 || f == Fmt::F16 && !scaled;
            some(x) && some(y)
        }
        _ => false,
    }
}

/// Chunks of a row and the format of their factors, of the valid combinations of table 36.
fn block_scale(sig: &Sig, types: &[Type]) -> Decoded<Option<(u8, Fmt)>> {
    let sizes = [
        (Mod::ScaleVec1X, 1),
        (Mod::ScaleVec2X, 2),
        (Mod::ScaleVec4X, 4),
    ];
    let size = sizes
        .iter()
        .find(|(word, _)| sig.has(*word))
        .map(|(_, n)| *n);
    let kind = [Mod::KindMxf8f6f4, Mod::KindMxf4, Mod::KindMxf4nvf4].map(|kind| sig.has(kind));
    let found = match (sig.has(Mod::BlockScale), types, kind, size) {
        (false, [], [false, false, false], None) => return Ok(None),
        (true, [Type::Ue8m0], [true, _, _], None | Some(1)) => (1, Fmt::Ue8m0),
        (true, [Type::Ue8m0], [_, true, _], None | Some(2)) => (2, Fmt::Ue8m0),
        (true, [Type::Ue8m0], [_, _, true], Some(n @ (2 | 4))) => (n, Fmt::Ue8m0),
        (true, [Type::Ue4m3], [_, _, true], Some(4)) => (4, Fmt::E4m3),
        _ => return unsupported("this combination of a kind, a size and a type of factors"),
    };
    Ok(Some(found))
}

impl<'a> Lowerer<'a> {
    /// `mma.sync.aligned.shape.row.col.d.a.b.c d, a, b, c;`
    pub(super) fn decode_mma(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        sig.only(PRODUCT)?;
        let (&[d, a, b, c, ref scale @ ..], Some(shape)) = (sig.types(), sig.shape) else {
            return unsupported("it must have a shape and four types");
        };
        let scale = block_scale(sig, scale)?;
        let sparse = sig.op != Opcode::Mma;
        let [Some(a_col), Some(b_col)] = sig.cols else {
            return unsupported("it must say how both factors are laid out");
        };
        if (a, b, sparse) == (Type::B1, Type::B1, false) {
            return self.decode_mma_bits(sig, (a_col, b_col));
        }
        if sig.has(Mod::Xor) || sig.has(Mod::And) || sig.has(Mod::Popc) {
            return unsupported("a bitwise product of this type");
        }
        let packed = sig.has(Mod::KindMxf4) || sig.has(Mod::KindMxf4nvf4);
        let of = |ty| match matrix_type(ty) {
            Some(MatTy::Float(Fmt::E2m1)) if packed => Some(MatTy::Packed(Fmt::E2m1)),
            _ if packed => None,
            known => known,
        };
        let (Some(a_ty), Some(b_ty)) = (of(a), of(b)) else {
            return unsupported("this element type");
        };
        let half = MatTy::Float(Fmt::F16);
        if !sparse && (shape.m, shape.n, shape.k, a_ty, b_ty) == (8, 8, 4, half, half) {
            return self.decode_mma_quads(d, c, a_col, !b_col);
        }
        if a_col || !b_col {
            return unsupported("a layout other than `.row.col`");
        }
        let narrow = packed || sig.has(Mod::KindF8f6f4) || sig.has(Mod::KindMxf8f6f4);
        let known = match sparse {
            true => sparse_shape(shape.m, shape.k, a_ty, narrow),
            false => known_shape(shape.m, shape.k, a_ty, narrow),
        };
        let byte_floats = [a_ty, b_ty].map(|t| matches!(t, MatTy::Float(f) if f.bits() < 8));
        if byte_floats.contains(&true) && !narrow {
            return unsupported("floats of fewer than eight bits without a `.kind`");
        }
        if shape.n != 8 || a_ty.bits() != b_ty.bits() || !known {
            return unsupported(format!("shape `.{shape}` of `.{a}`"));
        }
        let (Some((c_ty, 1)), Some((d_ty, 1))) = (num_type(c), num_type(d)) else {
            return unsupported("this type of accumulator");
        };
        if !accumulates((a_ty, b_ty), (c_ty, d_ty), scale.is_some()) {
            return unsupported("this type of accumulator");
        }
        let plain = if sparse { 6 } else { 4 };
        self.expect(plain + if scale.is_some() { 4 } else { 0 })?;
        let held = if sparse { shape.k / 2 } else { shape.k };
        let ab = |t: MatTy| match t {
            MatTy::Float(Fmt::F64) => Type::F64,
            _ => Type::B32,
        };
        let cd = |t: NumTy| match t {
            NumTy::Float(Fmt::F32) => Type::F32,
            NumTy::Float(Fmt::F64) => Type::F64,
            _ => Type::B32,
        };
        let d = self.matrix_regs(0, cd(d_ty), registers(shape.m, 8, d_ty.bits()))?;
        let a = self.matrix_srcs(1, ab(a_ty), registers(shape.m, held, a_ty.bits()))?;
        let b = self.matrix_srcs(2, ab(b_ty), registers(shape.k, 8, b_ty.bits()))?;
        let c = self.matrix_srcs(3, cd(c_ty), registers(shape.m, 8, c_ty.bits()))?;
        let sparse = match sparse {
            false => None,
            true => Some(self.sparse_data(sig.op == Opcode::MmaSpOrdered)?),
        };
        let scale = match scale {
            None => None,
            Some((chunks, fmt)) => Some(Box::new(BlockScale {
                chunks,
                fmt,
                a: self.scale_data(plain)?,
                b: self.scale_data(plain + 2)?,
            })),
        };
        self.emit(Op::Mma(Box::new(Mma {
            m: shape.m,
            k: shape.k,
            a_ty,
            b_ty,
            c_ty,
            d_ty,
            clamp: sig.has(Mod::Satfinite),
            d,
            a,
            b,
            c,
            sparse,
            scale,
            form: MmaForm::Whole,
        })));
        Ok(())
    }

    /// `mma.sync.aligned.m8n8k4.alayout.blayout.d.f16.f16.c d, a, b, c;`
    fn decode_mma_quads(&mut self, d: Type, c: Type, a_col: bool, b_row: bool) -> Decoded<()> {
        self.expect(4)?;
        let ty = |t: Type| match t {
            Type::F16 => Ok((NumTy::Float(Fmt::F16), Type::B32, 4)),
            Type::F32 => Ok((NumTy::Float(Fmt::F32), Type::F32, 8)),
            _ => unsupported("this type of accumulator"),
        };
        let ((d_ty, d_reg, d_count), (c_ty, c_reg, c_count)) = (ty(d)?, ty(c)?);
        let d = self.matrix_regs(0, d_reg, d_count)?;
        let a = self.matrix_srcs(1, Type::B32, 2)?;
        let b = self.matrix_srcs(2, Type::B32, 2)?;
        let c = self.matrix_srcs(3, c_reg, c_count)?;
        self.emit(Op::Mma(Box::new(Mma {
            m: 8,
            k: 4,
            a_ty: MatTy::Float(Fmt::F16),
            b_ty: MatTy::Float(Fmt::F16),
            c_ty,
            d_ty,
            clamp: false,
            d,
            a,
            b,
            c,
            sparse: None,
            scale: None,
            form: MmaForm::Quads { a_col, b_row },
        })));
        Ok(())
    }

    /// `mma.sync.aligned.shape.row.col.s32.b1.b1.s32.bitOp.popc d, a, b, c;`
    fn decode_mma_bits(&mut self, sig: &Sig, cols: (bool, bool)) -> Decoded<()> {
        let Some(shape) = sig.shape else {
            return unsupported("it must have a shape");
        };
        let known = matches!(
            (shape.m, shape.n, shape.k),
            (8, 8, 128) | (16, 8, 128) | (16, 8, 256)
        );
        if !known
            || cols != (false, true)
            || sig.types() != [Type::S32, Type::B1, Type::B1, Type::S32]
        {
            return unsupported(format!("shape `.{shape}` of `.b1`"));
        }
        if sig.has(Mod::Xor) == sig.has(Mod::And) || !sig.has(Mod::Popc) {
            return unsupported("neither `.xor.popc` nor `.and.popc`");
        }
        self.expect(4)?;
        // A word holds 32 neighbours of a row, and goes where an element of 32 bits would.
        let k = shape.k / 32;
        let count = |rows: u16, columns: u16| usize::from(rows) * usize::from(columns) / 32;
        let sum = count(shape.m, 8);
        let d = self.matrix_regs(0, Type::B32, sum)?;
        let a = self.matrix_srcs(1, Type::B32, count(shape.m, k))?;
        let b = self.matrix_srcs(2, Type::B32, count(k, 8))?;
        let c = self.matrix_srcs(3, Type::B32, sum)?;
        let word = MatTy::Int {
            width: 32,
            signed: false,
        };
        let int = NumTy::Int(IntTy {
            width: 32,
            signed: true,
        });
        self.emit(Op::Mma(Box::new(Mma {
            m: shape.m,
            k,
            a_ty: word,
            b_ty: word,
            c_ty: int,
            d_ty: int,
            clamp: false,
            d,
            a,
            b,
            c,
            sparse: None,
            scale: None,
            form: MmaForm::Bits {
                xor: sig.has(Mod::Xor),
            },
        })));
        Ok(())
    }

    /// `scale-data, {byte-id, thread-id}`
    /// Which elements of a sparse factor are there, said by the operands behind the accumulators.
    fn sparse_data(&mut self, ordered: bool) -> Decoded<Sparse> {
        match (self.src(4, Type::B32)?, self.src(5, Type::U32)?) {
            (metadata, Src::Imm(f @ 0..=3)) => Ok(Sparse {
                metadata,
                selector: f as u8,
                ordered,
            }),
            _ => unsupported("a sparsity selector that is not from 0 to 3"),
        }
    }

    fn scale_data(&mut self, i: usize) -> Decoded<ScaleData> {
        let data = self.src(i, Type::B32)?;
        let which = self.matrix_srcs(i + 1, Type::U16, 2)?;
        Ok(ScaleData {
            data,
            byte: which[0],
            thread: which[1],
        })
    }

    fn counted(&mut self, i: usize, count: usize) -> Decoded<Vec<Operand>> {
        let operand = self.operand(i)?;
        let elements = self.elements(operand)?;
        if elements.len() != count {
            return self.wrong(operand.span, "as many registers as the shape takes");
        }
        Ok(elements)
    }

    pub(super) fn matrix_regs(&mut self, i: usize, ty: Type, count: usize) -> Decoded<Vec<RegId>> {
        let elements = self.counted(i, count)?;
        elements
            .iter()
            .map(|e| self.reg(e, ty, Fit::Exact))
            .collect()
    }

    pub(super) fn matrix_srcs(&mut self, i: usize, ty: Type, count: usize) -> Decoded<Vec<Src>> {
        let elements = self.counted(i, count)?;
        elements
            .iter()
            .map(|e| self.value(e, ty, Fit::Exact))
            .collect()
    }

    /// The form of a matrix load or store, the number of its registers, and the bits of an element in memory
    /// that becomes a byte.
    fn matrices(&mut self, sig: &Sig) -> Decoded<(MatrixForm, usize, Option<u8>)> {
        sig.only(
            const {
                ModSet::of(&[
                    Mod::Sync,
                    Mod::Aligned,
                    Mod::Trans,
                    Mod::X1,
                    Mod::X2,
                    Mod::X4,
                ])
            },
        )?;
        let load = sig.op == Opcode::Ldmatrix;
        let Some(shape) = sig.shape else {
            return unsupported("it must have a shape");
        };
        let narrow = match sig.types() {
            [Type::B16 | Type::B8] => None,
            [Type::B8x16, Type::B6x16P32] if load => Some(6),
            [Type::B8x16, Type::B4x16P64] if load => Some(4),
            _ => return unsupported("this element type"),
        };
        let halves = sig.types() == [Type::B16];
        let form = match (shape.m, shape.n, shape.k, sig.has(Mod::Trans)) {
            (8, 8, 0, false) if halves => MatrixForm::Rows,
            (8, 8, 0, true) if halves => MatrixForm::Columns,
            (8, 16, 0, false) if narrow.is_some() => MatrixForm::Rows,
            (16, 16, 0, true) if load && !halves => MatrixForm::Square,
            (16, 8, 0, true) if !load && !halves => MatrixForm::Pairs,
            _ => return unsupported("this shape of this element type"),
        };
        let counts = [(Mod::X1, 1), (Mod::X2, 2), (Mod::X4, 4)];
        let count = sig.need(&counts, "the number of matrices")?;
        let registers = count * form.registers();
        if registers > 4 {
            return unsupported("four matrices of this shape");
        }
        self.expect(2)?;
        Ok((form, registers, narrow))
    }

    /// `ldmatrix.sync.aligned.shape.num{.trans}{.shared}.type r, [p];`
    pub(super) fn decode_ldmatrix(&mut self, sig: &Sig) -> Decoded<()> {
        let (form, registers, narrow) = self.matrices(sig)?;
        let dsts = self.matrix_regs(0, Type::B32, registers)?;
        let written = self.written_space(sig)?;
        let (space, addr) = self.address(1, written)?;
        self.emit(Op::Ldmatrix {
            dsts,
            form,
            narrow,
            space,
            addr,
        });
        Ok(())
    }

    /// `stmatrix.sync.aligned.shape.num{.trans}{.shared}.type [p], r;`
    pub(super) fn decode_stmatrix(&mut self, sig: &Sig) -> Decoded<()> {
        let (form, registers, _) = self.matrices(sig)?;
        let written = self.written_space(sig)?;
        let (space, addr) = self.address(0, written)?;
        let srcs = self.matrix_srcs(1, Type::B32, registers)?;
        self.emit(Op::Stmatrix {
            srcs,
            form,
            space,
            addr,
        });
        Ok(())
    }

    /// `movmatrix.sync.aligned.m8n8.trans.b16 d, a;`
    pub(super) fn decode_movmatrix(&mut self, sig: &Sig) -> Decoded<()> {
        sig.only(const { ModSet::of(&[Mod::Sync, Mod::Aligned, Mod::Trans]) })?;
        self.expect(2)?;
        let dst = self.dst(0, Type::B32)?;
        let src = self.src(1, Type::B32)?;
        self.emit(Op::Movmatrix { dst, src });
        Ok(())
    }
}
