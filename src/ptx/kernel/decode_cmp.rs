//! Decoder of comparison and selection: `setp`, `set`, `selp`, `slct`.
//!
//! Source: PTX ISA 9.0, sections 9.3.1, 9.7.6 and 9.7.7. The signedness of a comparison is in the
//! operand type, so `lo ls hi hs` are `lt le gt ge` of an unsigned type; bit types compare for
//! equality only. A packed `setp` writes the two halves to `p` and `q`.

use super::lower::Lowerer;
use super::operand::Fit;
use super::sig::{Decoded, ModSet, Sig, num_type, unsupported};
use super::{BoolOp, Cmp, Fmt, Guard, IntTy, NumTy, Op};
use crate::ptx::{Mod, Type, TypeClass};

pub(super) const COMPARISONS: &[(Mod, Cmp)] = &[
    (Mod::Eq, Cmp::Eq),
    (Mod::Ne, Cmp::Ne),
    (Mod::Lt, Cmp::Lt),
    (Mod::Le, Cmp::Le),
    (Mod::Gt, Cmp::Gt),
    (Mod::Ge, Cmp::Ge),
    (Mod::Lo, Cmp::Lt),
    (Mod::Ls, Cmp::Le),
    (Mod::Hi, Cmp::Gt),
    (Mod::Hs, Cmp::Ge),
    (Mod::Equ, Cmp::Equ),
    (Mod::Neu, Cmp::Neu),
    (Mod::Ltu, Cmp::Ltu),
    (Mod::Leu, Cmp::Leu),
    (Mod::Gtu, Cmp::Gtu),
    (Mod::Geu, Cmp::Geu),
    (Mod::Num, Cmp::Num),
    (Mod::Nan, Cmp::Nan),
];

const COMBINATIONS: &[(Mod, BoolOp)] = &[
    (Mod::And, BoolOp::And),
    (Mod::Or, BoolOp::Or),
    (Mod::Xor, BoolOp::Xor),
];

const UNSIGNED_ONLY: [Mod; 4] = [Mod::Lo, Mod::Ls, Mod::Hi, Mod::Hs];
const KNOWN: ModSet = ModSet::of(&[
    Mod::Eq,
    Mod::Ne,
    Mod::Lt,
    Mod::Le,
    Mod::Gt,
    Mod::Ge,
    Mod::Lo,
    Mod::Ls,
    Mod::Hi,
    Mod::Hs,
    Mod::Equ,
    Mod::Neu,
    Mod::Ltu,
    Mod::Leu,
    Mod::Gtu,
    Mod::Geu,
    Mod::Num,
    Mod::Nan,
    Mod::And,
    Mod::Or,
    Mod::Xor,
    Mod::Ftz,
]);

/// The comparison of an instruction and its operand type.
struct Comparison {
    cmp: Cmp,
    ty: NumTy,
    lanes: u8,
}

fn comparison(sig: &Sig, ty: Type) -> Decoded<Comparison> {
    let cmp = sig.need(COMPARISONS, "a comparison")?;
    let Some((num, lanes)) = num_type(ty) else {
        return unsupported("no such type");
    };
    let fits = match ty.class() {
        TypeClass::Float => {
            matches!(
                num,
                NumTy::Float(Fmt::F16 | Fmt::Bf16 | Fmt::F32 | Fmt::F64)
            ) && !(num == NumTy::Float(Fmt::F32) && lanes == 2)
        }
        TypeClass::Bits => matches!(cmp, Cmp::Eq | Cmp::Ne),
        TypeClass::Signed | TypeClass::Unsigned => lanes == 1 && is_ordered(cmp),
        TypeClass::Predicate | TypeClass::Opaque => false,
    };
    let fits = fits && (ty.is_float() || !sig.has(Mod::Ftz));
    let names_unsigned = UNSIGNED_ONLY.iter().any(|m| sig.has(*m));
    if !fits || (names_unsigned && ty.class() != TypeClass::Unsigned) {
        return unsupported("no such comparison of this type");
    }
    Ok(Comparison {
        cmp,
        ty: num,
        lanes,
    })
}

fn is_ordered(cmp: Cmp) -> bool {
    matches!(
        cmp,
        Cmp::Eq | Cmp::Ne | Cmp::Lt | Cmp::Le | Cmp::Gt | Cmp::Ge
    )
}

impl Lowerer<'_> {
    /// The further predicate of a comparison: operand 3, if a combination is written.
    fn combination(&mut self, sig: &Sig) -> Decoded<Option<(BoolOp, Guard)>> {
        match sig.pick(COMBINATIONS)? {
            None => {
                self.expect(3)?;
                Ok(None)
            }
            Some(op) => {
                self.expect(4)?;
                Ok(Some((op, self.pred(3)?)))
            }
        }
    }

    /// `setp.cmp.bool.type p|q, a, b, c;`
    pub(super) fn decode_setp(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        sig.only(KNOWN)?;
        let ty = sig.ty()?;
        let found = comparison(sig, ty)?;
        let combine = self.combination(sig)?;
        let (p, q) = self.dst_pair(0, Type::Pred)?;
        let a = self.src(1, ty)?;
        let b = self.src(2, ty)?;
        self.emit(Op::Setp {
            cmp: found.cmp,
            ty: found.ty,
            lanes: found.lanes,
            ftz: sig.has(Mod::Ftz),
            combine,
            p,
            q,
            a,
            b,
        });
        Ok(())
    }

    /// `set.cmp.bool.dtype.stype d, a, b, c;`
    pub(super) fn decode_set(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        sig.only(KNOWN)?;
        let (dty, ty) = sig.two_types()?;
        let found = comparison(sig, ty)?;
        let mut written = match num_type(dty) {
            Some((num, lanes)) if lanes == found.lanes || !dty.is_float() => num,
            _ => return unsupported("no such types"),
        };
        match (found.lanes, written) {
            (_, NumTy::Int(IntTy { width: 16 | 32, .. }))
                if !matches!(dty.class(), TypeClass::Bits) => {}
            (1, NumTy::Float(Fmt::F32 | Fmt::F16 | Fmt::Bf16)) => {}
            (2, NumTy::Float(_)) => {}
            _ => return unsupported("no such types"),
        }
        // A packed comparison with an integer destination writes 0xffff or 0 to each half of it.
        if found.lanes == 2
            && let NumTy::Int(int) = &mut written
        {
            if int.width != 32 {
                return unsupported("no such types");
            }
            int.width = 16;
        }
        let combine = self.combination(sig)?;
        let dst = self.dst(0, dty)?;
        let a = self.src(1, ty)?;
        let b = self.src(2, ty)?;
        self.emit(Op::Set {
            cmp: found.cmp,
            ty: found.ty,
            dty: written,
            lanes: found.lanes,
            ftz: sig.has(Mod::Ftz),
            combine,
            dst,
            a,
            b,
        });
        Ok(())
    }

    /// `selp.type d, a, b, p;`
    pub(super) fn decode_selp(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        sig.only(const { ModSet::of(&[]) })?;
        let ty = sig.ty()?;
        if !selectable(ty) {
            return unsupported("no such type");
        }
        self.expect(4)?;
        let op = Op::Selp {
            width: ty.bits() as u8,
            dst: self.dst(0, ty)?,
            a: self.src(1, ty)?,
            b: self.src(2, ty)?,
            p: self.pred(3)?,
        };
        self.emit(op);
        Ok(())
    }

    /// `slct.type.ctype d, a, b, c;`
    pub(super) fn decode_slct(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        sig.only(const { ModSet::of(&[Mod::Ftz]) })?;
        let (ty, selector) = sig.two_types()?;
        let Some((cty, 1)) = num_type(selector) else {
            return unsupported("no such types");
        };
        if !selectable(ty) || !matches!(selector, Type::S32 | Type::F32) {
            return unsupported("no such types");
        }
        self.expect(4)?;
        let operand = self.operand(0)?;
        let op = Op::Slct {
            width: ty.bits() as u8,
            ftz: sig.has(Mod::Ftz),
            cty,
            dst: self.reg(operand, ty, Fit::Exact)?,
            a: self.src(1, ty)?,
            b: self.src(2, ty)?,
            c: self.src(3, selector)?,
        };
        self.emit(op);
        Ok(())
    }
}

fn selectable(ty: Type) -> bool {
    matches!(ty.bits(), 16 | 32 | 64) && ty.lanes() == 1 && ty.class() != TypeClass::Opaque
}
