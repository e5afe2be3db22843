//! Decoder of products on opaque fragments.
//!
//! Source: PTX ISA 9.0, section 9.7.14.4. The numbers of registers are those of its table.
//!
//! Not claimed: single-bit and 4-bit products.

use super::decode_matrix::matrix_type;
use super::field::ReadRegs;
use super::lower::Lowerer;
use super::operand::Fit;
use super::sig::{Decoded, ModSet, Sig, unsupported};
use super::{AsyncOp, Fmt, Fragment, MatTy, Op, Part, RegId, Space, Src, WmmaMma, WmmaMove};
use crate::ptx::{Mod, Shape, Type};

const COMMON: ModSet = ModSet::of(&[Mod::Sync, Mod::Aligned]);

/// The element type of a fragment.
fn element(ty: Type) -> Option<MatTy> {
    match ty {
        Type::S32 => Some(MatTy::Int {
            width: 32,
            signed: true,
        }),
        Type::F32 => Some(MatTy::Float(Fmt::F32)),
        _ => matrix_type(ty),
    }
}

fn fragment(part: Part, shape: Shape, ty: Type, col: bool) -> Decoded<Fragment> {
    let Some(ty) = element(ty).filter(|t| t.bits() >= 8) else {
        return unsupported("this element type");
    };
    Ok(Fragment {
        part,
        shape: (shape.m, shape.n, shape.k),
        ty,
        col: col && part != Part::C,
    })
}

/// How many registers of what type hold a fragment; `None` if the manual has no such one.
fn registers(f: Fragment) -> Option<(usize, Type)> {
    let factor = f.part != Part::C;
    let (m, n, k) = f.shape;
    let (rows, cols) = f.extent();
    Some(match (f.ty, factor) {
        (MatTy::Float(Fmt::F16), true) if k == 16 => (8, Type::B32),
        (MatTy::Float(Fmt::F16), false) if k == 16 => (4, Type::B32),
        (MatTy::Float(Fmt::F32), false) => (8, Type::F32),
        (MatTy::Float(Fmt::Bf16), true) if k == 16 => {
            (rows as usize * cols as usize / 64, Type::B32)
        }
        (MatTy::Float(Fmt::Tf32), true) if (m, n, k) == (16, 16, 8) => (4, Type::B32),
        (MatTy::Float(Fmt::F64), true) if (m, n, k) == (8, 8, 4) => (1, Type::F64),
        (MatTy::Float(Fmt::F64), false) if (m, n, k) == (8, 8, 4) => (2, Type::F64),
        (MatTy::Int { width: 8, .. }, true) if k == 16 => {
            (rows as usize * cols as usize / 128, Type::B32)
        }
        (MatTy::Int { width: 32, .. }, false) => (8, Type::B32),
        _ => return None,
    })
}

impl Lowerer<'_> {
    fn fragment_regs(&mut self, i: usize, f: Fragment) -> Decoded<Vec<RegId>> {
        let Some((count, ty)) = registers(f) else {
            return unsupported("this shape of this type");
        };
        let operand = self.operand(i)?;
        let elements = self.elements(operand)?;
        if elements.len() != count {
            return unsupported(format!(
                "{} registers where the fragment takes {count}",
                elements.len()
            ));
        }
        elements
            .iter()
            .map(|e| self.reg(e, ty, Fit::Exact))
            .collect()
    }

    /// `wmma.load.part.sync.aligned.layout.shape{.ss}.type r, [p], stride;` and `wmma.store.d`.
    pub(super) fn decode_wmma_move(&mut self, sig: &Sig) -> Decoded<()> {
        const PARTS: &[(Mod, Part)] = &[
            (Mod::A, Part::A),
            (Mod::B, Part::B),
            (Mod::C, Part::C),
            (Mod::D, Part::C),
        ];
        sig.only(
            COMMON.or(const { ModSet::of(&[Mod::A, Mod::B, Mod::C, Mod::D, Mod::Row, Mod::Col]) }),
        )?;
        let part = sig.need(PARTS, "an operand")?;
        let col = sig.need(&[(Mod::Row, false), (Mod::Col, true)], "a layout")?;
        let Some(shape) = sig.shape else {
            return unsupported("no shape");
        };
        let what = fragment(part, shape, sig.ty()?, col)?;
        self.expect_between(2, 3)?;
        let store = sig.op == crate::ptx::Op::WmmaStore;
        let (at, regs) = if store { (0, 1) } else { (1, 0) };
        let written = self.written_space(sig)?;
        let (space, addr) = self.address(at, written)?;
        if !matches!(space, Space::Shared | Space::Global | Space::Generic) {
            return unsupported("this state space");
        }
        let regs = self.fragment_regs(regs, what)?;
        // Lines follow each other closely by default.
        let (rows, columns) = what.extent();
        let stride = match self.ops.len() {
            3 => self.src(2, Type::U32)?,
            _ => Src::Imm(u64::from(if col { rows } else { columns })),
        };
        let all = Box::new(WmmaMove {
            what,
            col,
            space,
            addr,
            stride,
        });
        let op = match store {
            true => AsyncOp::WmmaStore {
                srcs: ReadRegs(regs),
                to: all,
            },
            false => AsyncOp::WmmaLoad {
                dsts: regs,
                from: all,
            },
        };
        self.emit(Op::Async(Box::new(op)));
        Ok(())
    }

    /// `wmma.mma.sync.aligned.alayout.blayout.shape.types d, a, b, c;`
    pub(super) fn decode_wmma_mma(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        sig.only(COMMON.or(const { ModSet::of(&[Mod::Satfinite, Mod::Rn]) }))?;
        let (Some(shape), [Some(a_col), Some(b_col)]) = (sig.shape, sig.cols) else {
            return unsupported("it must have a shape and two layouts");
        };
        let (d, a, b, c) = match *sig.types() {
            [d, c] => (d, Type::F16, Type::F16, c),
            [d, a, b, c] => (d, a, b, c),
            _ => return unsupported("it must have two or four types"),
        };
        let a = fragment(Part::A, shape, a, a_col)?;
        let b = fragment(Part::B, shape, b, b_col)?;
        let c = fragment(Part::C, shape, c, false)?;
        let d = fragment(Part::C, shape, d, false)?;
        let int = |f: Fragment| matches!(f.ty, MatTy::Int { .. });
        if [a, b, c].iter().any(|f| int(*f) != int(d)) || a.ty.bits() != b.ty.bits() {
            return unsupported("this combination of types");
        }
        self.expect(4)?;
        let dsts = self.fragment_regs(0, d)?;
        let srcs = [
            ReadRegs(self.fragment_regs(1, a)?),
            ReadRegs(self.fragment_regs(2, b)?),
            ReadRegs(self.fragment_regs(3, c)?),
        ];
        let clamp = sig.has(Mod::Satfinite);
        let all = WmmaMma {
            a,
            b,
            c,
            d,
            dsts,
            srcs,
            clamp,
        };
        self.emit(Op::Async(Box::new(AsyncOp::WmmaMma(Box::new(all)))));
        Ok(())
    }
}
