//! Decoder of integer, bit and predicate arithmetic.
//!
//! Source: PTX ISA 9.0, sections 9.7.1 (integer), 9.7.2 (carry chains) and 9.7.8 (logic and
//! shifts). One table gives for each opcode its forms: the exact set of modifiers, the types, the
//! operation and the types of the operands. A form that is not in the table is not modelled. The
//! few opcodes with operands of their own kind (`lop3`, `prmt`, `shf`, dot products) have functions.

use super::lower::Lowerer;
use super::sig::{Decoded, ModSet, Sig, TypeSet, int_type, unsupported};
use super::{BoolOp, IntOp, IntTy, Op, PrmtMode, RegId, Src};
use crate::ptx::{Mod, Op as Opcode, Type};

/// The type of an operand, by the type `T` of the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OperandKind {
    /// `T`.
    Same,
    /// Twice as wide as `T`.
    Wide,
    /// `.u32`.
    U32,
    /// `.s32`.
    S32,
}

use OperandKind::{S32, Same, U32, Wide};

/// How a form uses the carry flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carry {
    /// Not at all.
    Not,
    /// Writes it.
    Out,
    /// Reads it.
    In,
    /// Reads and writes it.
    Both,
}

/// One form of an opcode.
struct IntForm {
    opcode: Opcode,
    mods: ModSet,
    types: TypeSet,
    op: IntOp,
    dst: OperandKind,
    src: &'static [OperandKind],
    carry: Carry,
}

const fn form(
    opcode: Opcode,
    mods: &[Mod],
    types: TypeSet,
    op: IntOp,
    dst: OperandKind,
    src: &'static [OperandKind],
) -> IntForm {
    IntForm {
        opcode,
        mods: ModSet::of(mods),
        types,
        op,
        dst,
        src,
        carry: Carry::Not,
    }
}

const fn chain(
    opcode: Opcode,
    mods: &[Mod],
    op: IntOp,
    src: &'static [OperandKind],
    carry: Carry,
) -> IntForm {
    IntForm {
        carry,
        ..form(opcode, mods, WORDS, op, Same, src)
    }
}

const fn types(list: &[Type]) -> TypeSet {
    TypeSet::of(list)
}

use Type::{B16, B32, B64, Pred, S16, S16x2, S32 as TS32, S64, U16, U16x2, U32 as TU32, U64};

const ALL: TypeSet = types(&[U16, TU32, U64, S16, TS32, S64]);
const ALL_PACKED: TypeSet = types(&[U16, TU32, U64, S16, TS32, S64, U16x2, S16x2]);
const SIGNED: TypeSet = types(&[S16, TS32, S64]);
const WORDS: TypeSet = types(&[TU32, U64, TS32, S64]);
const HALVES: TypeSet = types(&[U16, TU32, S16, TS32]);
const INT32: TypeSet = types(&[TU32, TS32]);
const ONLY_S32: TypeSet = types(&[TS32]);
const ONLY_B32: TypeSet = types(&[B32]);
const BITS: TypeSet = types(&[B16, B32, B64]);
const BITS_PRED: TypeSet = types(&[Pred, B16, B32, B64]);
const BIT_WORDS: TypeSet = types(&[B32, B64]);
const SHIFTED: TypeSet = types(&[B16, B32, B64, U16, TU32, U64, S16, TS32, S64]);
const RELU: TypeSet = types(&[TS32, S16x2]);

const ONE: &[OperandKind] = &[Same];
const TWO: &[OperandKind] = &[Same, Same];
const THREE: &[OperandKind] = &[Same, Same, Same];
const WIDE3: &[OperandKind] = &[Same, Same, Wide];
const AMOUNT: &[OperandKind] = &[Same, U32];
const POS_LEN: &[OperandKind] = &[Same, U32, U32];
const INSERTED: &[OperandKind] = &[Same, Same, U32, U32];

/// The forms of all opcodes of this decoder; of one opcode, no two agree in modifiers and type.
const FORMS: &[IntForm] = {
    use Mod::{Cc, Clamp, Hi, Lo, Relu, Sat, Shiftamt, Wrap};
    use {IntOp as I, Opcode as O};
    &[
        form(O::Add, &[], ALL_PACKED, I::Add, Same, TWO),
        form(O::Add, &[Sat], ONLY_S32, I::AddSat, Same, TWO),
        chain(O::Add, &[Cc], I::AddCarry, TWO, Carry::Out),
        form(O::Sub, &[], ALL_PACKED, I::Sub, Same, TWO),
        form(O::Sub, &[Sat], ONLY_S32, I::SubSat, Same, TWO),
        chain(O::Sub, &[Cc], I::SubBorrow, TWO, Carry::Out),
        chain(O::Addc, &[], I::AddCarry, TWO, Carry::In),
        chain(O::Addc, &[Cc], I::AddCarry, TWO, Carry::Both),
        chain(O::Subc, &[], I::SubBorrow, TWO, Carry::In),
        chain(O::Subc, &[Cc], I::SubBorrow, TWO, Carry::Both),
        form(O::Mul, &[Lo], ALL, I::MulLo, Same, TWO),
        form(O::Mul, &[Hi], ALL, I::MulHi, Same, TWO),
        form(O::Mul, &[Mod::Wide], HALVES, I::MulWide, Wide, TWO),
        form(O::Mad, &[Lo], ALL, I::MadLo, Same, THREE),
        form(O::Mad, &[Hi], ALL, I::MadHi, Same, THREE),
        form(O::Mad, &[Hi, Sat], ONLY_S32, I::MadHiSat, Same, THREE),
        form(O::Mad, &[Mod::Wide], HALVES, I::MadWide, Wide, WIDE3),
        chain(O::Mad, &[Lo, Cc], I::MadLoCarry, THREE, Carry::Out),
        chain(O::Mad, &[Hi, Cc], I::MadHiCarry, THREE, Carry::Out),
        chain(O::Madc, &[Lo], I::MadLoCarry, THREE, Carry::In),
        chain(O::Madc, &[Hi], I::MadHiCarry, THREE, Carry::In),
        chain(O::Madc, &[Lo, Cc], I::MadLoCarry, THREE, Carry::Both),
        chain(O::Madc, &[Hi, Cc], I::MadHiCarry, THREE, Carry::Both),
        form(O::Mul24, &[Lo], INT32, I::Mul24Lo, Same, TWO),
        form(O::Mul24, &[Hi], INT32, I::Mul24Hi, Same, TWO),
        form(O::Mad24, &[Lo], INT32, I::Mad24Lo, Same, THREE),
        form(O::Mad24, &[Hi], INT32, I::Mad24Hi, Same, THREE),
        form(O::Mad24, &[Hi, Sat], ONLY_S32, I::Mad24HiSat, Same, THREE),
        form(O::Sad, &[], ALL, I::Sad, Same, THREE),
        form(O::Div, &[], ALL, I::Div, Same, TWO),
        form(O::Rem, &[], ALL, I::Rem, Same, TWO),
        form(O::Abs, &[], SIGNED, I::Abs, Same, ONE),
        form(O::Neg, &[], SIGNED, I::Neg, Same, ONE),
        form(O::Min, &[], ALL_PACKED, I::Min, Same, TWO),
        form(O::Min, &[Relu], RELU, I::MinRelu, Same, TWO),
        form(O::Max, &[], ALL_PACKED, I::Max, Same, TWO),
        form(O::Max, &[Relu], RELU, I::MaxRelu, Same, TWO),
        form(O::Popc, &[], BIT_WORDS, I::Popc, U32, ONE),
        form(O::Clz, &[], BIT_WORDS, I::Clz, U32, ONE),
        form(O::Brev, &[], BIT_WORDS, I::Brev, Same, ONE),
        form(O::Bfind, &[], WORDS, I::Bfind, U32, ONE),
        form(O::Bfind, &[Shiftamt], WORDS, I::BfindShift, U32, ONE),
        form(O::Fns, &[], ONLY_B32, I::Fns, Same, &[Same, U32, S32]),
        form(O::Bfe, &[], WORDS, I::Bfe, Same, POS_LEN),
        form(O::Bfi, &[], BIT_WORDS, I::Bfi, Same, INSERTED),
        form(O::Szext, &[Clamp], INT32, I::SzextClamp, Same, AMOUNT),
        form(O::Szext, &[Wrap], INT32, I::SzextWrap, Same, AMOUNT),
        form(O::Bmsk, &[Clamp], ONLY_B32, I::BmskClamp, Same, &[U32, U32]),
        form(O::Bmsk, &[Wrap], ONLY_B32, I::BmskWrap, Same, &[U32, U32]),
        form(O::And, &[], BITS_PRED, I::And, Same, TWO),
        form(O::Or, &[], BITS_PRED, I::Or, Same, TWO),
        form(O::Xor, &[], BITS_PRED, I::Xor, Same, TWO),
        form(O::Not, &[], BITS_PRED, I::Not, Same, ONE),
        form(O::Cnot, &[], BITS, I::Cnot, Same, ONE),
        form(O::Shl, &[], BITS, I::Shl, Same, AMOUNT),
        form(O::Shr, &[], SHIFTED, I::Shr, Same, AMOUNT),
        form(O::Prmt, &[], ONLY_B32, I::Prmt, Same, THREE),
    ]
};

impl Lowerer<'_> {
    /// Decodes an opcode of the table.
    pub(super) fn decode_int(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        let ty = sig.ty()?;
        let found = FORMS
            .iter()
            .find(|f| f.opcode == sig.op && f.mods == sig.mods && f.types.has(ty));
        let Some(form) = found else {
            return unsupported("no such form");
        };
        let Some((int, lanes)) = int_type(ty) else {
            return unsupported("no such type");
        };
        self.expect(1 + form.src.len())?;
        let sink = self.operand(0)?;
        let dst = self.dst_or_sink(
            sink,
            operand_type(form.dst, ty)?,
            super::operand::Fit::Exact,
        )?;
        let mut src = [Src::Imm(0); 4];
        for (i, kind) in form.src.iter().enumerate() {
            src[i] = self.src(i + 1, operand_type(*kind, ty)?)?;
        }
        let mut dst2 = None;
        if form.carry != Carry::Not {
            let flag = self.carry();
            if matches!(form.carry, Carry::In | Carry::Both) {
                src[form.src.len()] = Src::Reg(flag);
            }
            if matches!(form.carry, Carry::Out | Carry::Both) {
                dst2 = Some(flag);
            }
        }
        self.emit(Op::Int {
            op: form.op,
            ty: int,
            lanes,
            dst,
            dst2,
            src,
        });
        Ok(())
    }

    /// `lop3.b32 d, a, b, c, table;` and `lop3.op.b32 d|p, a, b, c, table, q;`
    pub(super) fn decode_lop3(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        sig.only(const { ModSet::of(&[Mod::And, Mod::Or]) })?;
        if sig.ty()? != B32 {
            return unsupported("no such type");
        }
        let combine = sig.pick(&[(Mod::And, BoolOp::And), (Mod::Or, BoolOp::Or)])?;
        self.expect(if combine.is_some() { 6 } else { 5 })?;
        let table = match self.src(4, B32)? {
            Src::Imm(table) if table < 256 => table as u8,
            _ => return unsupported("a truth table that is not a constant below 256"),
        };
        let sources = [self.src(1, B32)?, self.src(2, B32)?, self.src(3, B32)?];
        let [a, b, c] = sources;
        let (dst, p) = self.dst_pair(0, B32)?;
        match (combine, p) {
            (None, None) => self.emit_int32(IntOp::Lop3(table), dst, [a, b, c, Src::Imm(0)]),
            (Some(op), Some(p)) => {
                let q = self.pred(5)?;
                self.emit(Op::Lop3Bool {
                    table,
                    op,
                    dst,
                    p,
                    src: sources,
                    q,
                });
            }
            _ => return unsupported("no such form"),
        }
        Ok(())
    }

    fn emit_int32(&mut self, op: IntOp, dst: Option<RegId>, src: [Src; 4]) {
        self.emit(Op::Int {
            op,
            ty: IntTy {
                width: 32,
                signed: false,
            },
            lanes: 1,
            dst,
            dst2: None,
            src,
        });
    }

    /// `prmt.b32.mode d, a, b, c;`
    pub(super) fn decode_prmt(&mut self, sig: &Sig) -> Decoded<()> {
        const MODES: &[(Mod, PrmtMode)] = &[
            (Mod::F4e, PrmtMode::F4e),
            (Mod::B4e, PrmtMode::B4e),
            (Mod::Rc8, PrmtMode::Rc8),
            (Mod::Ecl, PrmtMode::Ecl),
            (Mod::Ecr, PrmtMode::Ecr),
            (Mod::Rc16, PrmtMode::Rc16),
        ];
        let Some(mode) = sig.pick(MODES)? else {
            return self.decode_int(sig);
        };
        sig.no_space()?;
        sig.only(
            const { ModSet::of(&[Mod::F4e, Mod::B4e, Mod::Rc8, Mod::Ecl, Mod::Ecr, Mod::Rc16]) },
        )?;
        if sig.ty()? != B32 {
            return unsupported("no such type");
        }
        self.expect(4)?;
        let dst = self.dst(0, B32)?;
        let src = [
            self.src(1, B32)?,
            self.src(2, B32)?,
            self.src(3, B32)?,
            Src::Imm(0),
        ];
        self.emit_int32(IntOp::PrmtMode(mode), Some(dst), src);
        Ok(())
    }

    /// `shf.l.clamp.b32 d, a, b, c;`
    pub(super) fn decode_shf(&mut self, sig: &Sig) -> Decoded<()> {
        use Mod::{Clamp, L, R, Wrap};
        sig.no_space()?;
        sig.only(const { ModSet::of(&[L, R, Clamp, Wrap]) })?;
        if sig.ty()? != B32 {
            return unsupported("no such type");
        }
        let left = sig.need(&[(L, true), (R, false)], "a direction")?;
        let clamp = sig.need(&[(Clamp, true), (Wrap, false)], "`.clamp` or `.wrap`")?;
        let op = match (left, clamp) {
            (true, true) => IntOp::ShfLClamp,
            (true, false) => IntOp::ShfLWrap,
            (false, true) => IntOp::ShfRClamp,
            (false, false) => IntOp::ShfRWrap,
        };
        self.expect(4)?;
        let dst = self.dst(0, B32)?;
        let src = [
            self.src(1, B32)?,
            self.src(2, B32)?,
            self.src(3, TU32)?,
            Src::Imm(0),
        ];
        self.emit_int32(op, Some(dst), src);
        Ok(())
    }

    /// `dp4a.atype.btype d, a, b, c;` and `dp2a.lo.atype.btype`
    pub(super) fn decode_dot(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        let (a, b) = sig.two_types()?;
        if !INT32.has(a) || !INT32.has(b) {
            return unsupported("no such types");
        }
        let (x, y) = (a.is_signed(), b.is_signed());
        let op = if sig.op == Opcode::Dp4a {
            sig.only(const { ModSet::of(&[]) })?;
            IntOp::Dp4a(x, y)
        } else {
            sig.only(const { ModSet::of(&[Mod::Lo, Mod::Hi]) })?;
            match sig.need(&[(Mod::Lo, true), (Mod::Hi, false)], "`.lo` or `.hi`")? {
                true => IntOp::Dp2aLo(x, y),
                false => IntOp::Dp2aHi(x, y),
            }
        };
        // The sum is signed if either side is; its bits are the same in both readings.
        let sum = if x || y { TS32 } else { TU32 };
        self.expect(4)?;
        let dst = self.dst(0, sum)?;
        let src = [
            self.src(1, B32)?,
            self.src(2, B32)?,
            self.src(3, sum)?,
            Src::Imm(0),
        ];
        self.emit(Op::Int {
            op,
            ty: IntTy {
                width: 32,
                signed: x || y,
            },
            lanes: 1,
            dst: Some(dst),
            dst2: None,
            src,
        });
        Ok(())
    }
}

fn operand_type(kind: OperandKind, ty: Type) -> Decoded<Type> {
    Ok(match kind {
        Same => ty,
        U32 => TU32,
        S32 => TS32,
        Wide => match ty {
            U16 => TU32,
            S16 => TS32,
            TU32 => U64,
            TS32 => S64,
            _ => return unsupported("no wider type"),
        },
    })
}
