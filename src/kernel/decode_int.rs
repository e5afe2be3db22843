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
enum Kind {
    /// `T`.
    Same,
    /// Twice as wide as `T`.
    Wide,
    /// `.u32`.
    U32,
    /// `.s32`.
    S32,
}

use Kind::{S32, Same, U32, Wide};

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
struct Form {
    mods: ModSet,
    types: TypeSet,
    op: IntOp,
    dst: Kind,
    src: &'static [Kind],
    carry: Carry,
}

const fn form(mods: &[Mod], types: TypeSet, op: IntOp, dst: Kind, src: &'static [Kind]) -> Form {
    Form {
        mods: ModSet::of(mods),
        types,
        op,
        dst,
        src,
        carry: Carry::Not,
    }
}

const fn chain(mods: &[Mod], op: IntOp, src: &'static [Kind], carry: Carry) -> Form {
    Form {
        mods: ModSet::of(mods),
        types: WORDS,
        op,
        dst: Same,
        src,
        carry,
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
const BITS: TypeSet = types(&[B16, B32, B64]);
const BITS_PRED: TypeSet = types(&[Pred, B16, B32, B64]);
const BIT_WORDS: TypeSet = types(&[B32, B64]);
const SHIFTED: TypeSet = types(&[B16, B32, B64, U16, TU32, U64, S16, TS32, S64]);
const RELU: TypeSet = types(&[TS32, S16x2]);

const ONE: &[Kind] = &[Same];
const TWO: &[Kind] = &[Same, Same];
const THREE: &[Kind] = &[Same, Same, Same];
const WIDE3: &[Kind] = &[Same, Same, Wide];
const POS_LEN: &[Kind] = &[Same, U32, U32];

/// The forms of an opcode; empty for opcodes of other decoders.
fn forms(op: Opcode) -> &'static [Form] {
    use Mod::{Cc, Clamp, Hi, Lo, Relu, Sat, Shiftamt, Wrap};
    use Opcode as O;
    match op {
        O::Add => {
            const {
                &[
                    form(&[], ALL_PACKED, IntOp::Add, Same, TWO),
                    form(&[Sat], ONLY_S32, IntOp::AddSat, Same, TWO),
                    chain(&[Cc], IntOp::AddCarry, TWO, Carry::Out),
                ]
            }
        }
        O::Sub => {
            const {
                &[
                    form(&[], ALL_PACKED, IntOp::Sub, Same, TWO),
                    form(&[Sat], ONLY_S32, IntOp::SubSat, Same, TWO),
                    chain(&[Cc], IntOp::SubBorrow, TWO, Carry::Out),
                ]
            }
        }
        O::Addc => {
            const {
                &[
                    chain(&[], IntOp::AddCarry, TWO, Carry::In),
                    chain(&[Cc], IntOp::AddCarry, TWO, Carry::Both),
                ]
            }
        }
        O::Subc => {
            const {
                &[
                    chain(&[], IntOp::SubBorrow, TWO, Carry::In),
                    chain(&[Cc], IntOp::SubBorrow, TWO, Carry::Both),
                ]
            }
        }
        O::Mul => {
            const {
                &[
                    form(&[Lo], ALL, IntOp::MulLo, Same, TWO),
                    form(&[Hi], ALL, IntOp::MulHi, Same, TWO),
                    form(&[Mod::Wide], HALVES, IntOp::MulWide, Wide, TWO),
                ]
            }
        }
        O::Mad => {
            const {
                &[
                    form(&[Lo], ALL, IntOp::MadLo, Same, THREE),
                    form(&[Hi], ALL, IntOp::MadHi, Same, THREE),
                    form(&[Hi, Sat], ONLY_S32, IntOp::MadHiSat, Same, THREE),
                    form(&[Mod::Wide], HALVES, IntOp::MadWide, Wide, WIDE3),
                    chain(&[Lo, Cc], IntOp::MadLoCarry, THREE, Carry::Out),
                    chain(&[Hi, Cc], IntOp::MadHiCarry, THREE, Carry::Out),
                ]
            }
        }
        O::Madc => {
            const {
                &[
                    chain(&[Lo], IntOp::MadLoCarry, THREE, Carry::In),
                    chain(&[Hi], IntOp::MadHiCarry, THREE, Carry::In),
                    chain(&[Lo, Cc], IntOp::MadLoCarry, THREE, Carry::Both),
                    chain(&[Hi, Cc], IntOp::MadHiCarry, THREE, Carry::Both),
                ]
            }
        }
        O::Mul24 => {
            const {
                &[
                    form(&[Lo], INT32, IntOp::Mul24Lo, Same, TWO),
                    form(&[Hi], INT32, IntOp::Mul24Hi, Same, TWO),
                ]
            }
        }
        O::Mad24 => {
            const {
                &[
                    form(&[Lo], INT32, IntOp::Mad24Lo, Same, THREE),
                    form(&[Hi], INT32, IntOp::Mad24Hi, Same, THREE),
                    form(&[Hi, Sat], ONLY_S32, IntOp::Mad24HiSat, Same, THREE),
                ]
            }
        }
        O::Sad => const { &[form(&[], ALL, IntOp::Sad, Same, THREE)] },
        O::Div => const { &[form(&[], ALL, IntOp::Div, Same, TWO)] },
        O::Rem => const { &[form(&[], ALL, IntOp::Rem, Same, TWO)] },
        O::Abs => const { &[form(&[], SIGNED, IntOp::Abs, Same, ONE)] },
        O::Neg => const { &[form(&[], SIGNED, IntOp::Neg, Same, ONE)] },
        O::Min => {
            const {
                &[
                    form(&[], ALL_PACKED, IntOp::Min, Same, TWO),
                    form(&[Relu], RELU, IntOp::MinRelu, Same, TWO),
                ]
            }
        }
        O::Max => {
            const {
                &[
                    form(&[], ALL_PACKED, IntOp::Max, Same, TWO),
                    form(&[Relu], RELU, IntOp::MaxRelu, Same, TWO),
                ]
            }
        }
        O::Popc => const { &[form(&[], BIT_WORDS, IntOp::Popc, U32, ONE)] },
        O::Clz => const { &[form(&[], BIT_WORDS, IntOp::Clz, U32, ONE)] },
        O::Brev => const { &[form(&[], BIT_WORDS, IntOp::Brev, Same, ONE)] },
        O::Bfind => {
            const {
                &[
                    form(&[], WORDS, IntOp::Bfind, U32, ONE),
                    form(&[Shiftamt], WORDS, IntOp::BfindShift, U32, ONE),
                ]
            }
        }
        O::Fns => {
            const {
                &[form(
                    &[],
                    types(&[B32]),
                    IntOp::Fns,
                    Same,
                    &[Same, U32, S32],
                )]
            }
        }
        O::Bfe => const { &[form(&[], WORDS, IntOp::Bfe, Same, POS_LEN)] },
        O::Bfi => {
            const {
                &[form(
                    &[],
                    BIT_WORDS,
                    IntOp::Bfi,
                    Same,
                    &[Same, Same, U32, U32],
                )]
            }
        }
        O::Szext => {
            const {
                &[
                    form(&[Clamp], INT32, IntOp::SzextClamp, Same, &[Same, U32]),
                    form(&[Wrap], INT32, IntOp::SzextWrap, Same, &[Same, U32]),
                ]
            }
        }
        O::Bmsk => {
            const {
                &[
                    form(&[Clamp], types(&[B32]), IntOp::BmskClamp, Same, &[U32, U32]),
                    form(&[Wrap], types(&[B32]), IntOp::BmskWrap, Same, &[U32, U32]),
                ]
            }
        }
        O::And => const { &[form(&[], BITS_PRED, IntOp::And, Same, TWO)] },
        O::Or => const { &[form(&[], BITS_PRED, IntOp::Or, Same, TWO)] },
        O::Xor => const { &[form(&[], BITS_PRED, IntOp::Xor, Same, TWO)] },
        O::Not => const { &[form(&[], BITS_PRED, IntOp::Not, Same, ONE)] },
        O::Cnot => const { &[form(&[], BITS, IntOp::Cnot, Same, ONE)] },
        O::Shl => const { &[form(&[], BITS, IntOp::Shl, Same, &[Same, U32])] },
        O::Shr => const { &[form(&[], SHIFTED, IntOp::Shr, Same, &[Same, U32])] },
        O::Prmt => const { &[form(&[], types(&[B32]), IntOp::Prmt, Same, THREE)] },
        _ => &[],
    }
}

impl Lowerer<'_> {
    /// Decodes an opcode of the table.
    pub(super) fn decode_int(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        let ty = sig.ty()?;
        let found = forms(sig.op)
            .iter()
            .find(|f| f.mods == sig.mods && f.types.has(ty));
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

fn operand_type(kind: Kind, ty: Type) -> Decoded<Type> {
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
