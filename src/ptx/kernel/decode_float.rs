//! Decoder of float arithmetic.
//!
//! Source: PTX ISA 9.0, sections 9.7.3 (f32, f64), 9.7.4 (half precision) and 9.7.5 (mixed
//! precision). One table gives for each opcode its operation, number of sources, types and known
//! modifiers; modifiers mean the same wherever they stand. Mixed precision (`add.f32.f16`) is the
//! exact conversion of the narrow sources followed by the operation, which is how the manual
//! defines it.

use super::lower::Lowerer;
use super::operand::Fit;
use super::sig::{Decoded, ModSet, Sig, TypeSet, float_type, unsupported};
use super::{FloatMods, FloatOp, FloatTest, Fmt, NumTy, Op, RegId, Rnd, Src};
use crate::ptx::{Mod, Op as Opcode, Type};

use Type::{Bf16, Bf16x2, F16, F16x2, F32, F32x2, F64};

/// What an opcode does.
struct Row {
    op: FloatOp,
    sources: usize,
    types: TypeSet,
    mods: ModSet,
    /// The result is an approximation even without `.approx`.
    approx: bool,
}

const FULL: TypeSet = TypeSet::of(&[F32, F64]);
const ANY: TypeSet = TypeSet::of(&[F16, F16x2, Bf16, Bf16x2, F32, F32x2, F64]);
const SINGLE: TypeSet = TypeSet::of(&[F32]);
const APPROX: TypeSet = TypeSet::of(&[F16, F16x2, Bf16, Bf16x2, F32]);

const ROUNDING: &[Mod] = &[Mod::Rn, Mod::Rz, Mod::Rm, Mod::Rp];
const SUM: ModSet = ModSet::of(ROUNDING).or(ModSet::of(&[Mod::Ftz, Mod::Sat]));
const FMA: ModSet = SUM.or(ModSet::of(&[Mod::Relu, Mod::Oob]));
const QUOTIENT: ModSet = ModSet::of(ROUNDING).or(ModSet::of(&[Mod::Ftz, Mod::Approx, Mod::Full]));
const ESTIMATE: ModSet = ModSet::of(&[Mod::Ftz, Mod::Approx]);
const SIGN: ModSet = ModSet::of(&[Mod::Ftz]);
const EXTREME: ModSet = ModSet::of(&[Mod::Ftz, Mod::NaN, Mod::Xorsign, Mod::Abs]);

const fn row(op: FloatOp, sources: usize, types: TypeSet, mods: ModSet) -> Row {
    Row {
        op,
        sources,
        types,
        mods,
        approx: false,
    }
}

const fn estimate(op: FloatOp, types: TypeSet) -> Row {
    Row {
        op,
        sources: 1,
        types,
        mods: ESTIMATE,
        approx: true,
    }
}

fn find(op: Opcode) -> Option<Row> {
    Some(match op {
        Opcode::Add => row(FloatOp::Add, 2, ANY, SUM),
        Opcode::Sub => row(FloatOp::Sub, 2, ANY, SUM),
        Opcode::Mul => row(FloatOp::Mul, 2, ANY, SUM),
        Opcode::Fma => row(FloatOp::Fma, 3, ANY, FMA),
        Opcode::Mad => row(FloatOp::Fma, 3, FULL, SUM),
        Opcode::Div => row(FloatOp::Div, 2, FULL, QUOTIENT),
        Opcode::Rcp => row(FloatOp::Rcp, 1, FULL, QUOTIENT),
        Opcode::Sqrt => row(FloatOp::Sqrt, 1, FULL, QUOTIENT),
        Opcode::Rsqrt => estimate(FloatOp::Rsqrt, FULL),
        Opcode::Sin => estimate(FloatOp::Sin, SINGLE),
        Opcode::Cos => estimate(FloatOp::Cos, SINGLE),
        Opcode::Lg2 => estimate(FloatOp::Lg2, SINGLE),
        Opcode::Ex2 => estimate(FloatOp::Ex2, APPROX),
        Opcode::Tanh => estimate(FloatOp::Tanh, APPROX),
        Opcode::Neg => row(FloatOp::Neg, 1, ANY, SIGN),
        Opcode::Abs => row(FloatOp::Abs, 1, ANY, SIGN),
        Opcode::Min => row(FloatOp::Min, 2, ANY, EXTREME),
        Opcode::Max => row(FloatOp::Max, 2, ANY, EXTREME),
        Opcode::Copysign => row(FloatOp::Copysign, 2, FULL, ModSet::of(&[])),
        _ => return None,
    })
}

/// The rounding of a float result.
pub(super) const ROUNDINGS: &[(Mod, Rnd)] = &[
    (Mod::Rn, Rnd::Rn),
    (Mod::Rz, Rnd::Rz),
    (Mod::Rm, Rnd::Rm),
    (Mod::Rp, Rnd::Rp),
];

impl Lowerer<'_> {
    /// Decodes float arithmetic.
    pub(super) fn decode_float(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        let Some(row) = find(sig.op) else {
            return unsupported("no float form");
        };
        sig.only(row.mods)?;
        let (ty, narrow) = match *sig.types() {
            [ty] => (ty, None),
            // Addition takes the narrow type for its first source, fma for its first two.
            [F32, narrow @ (F16 | Bf16)]
                if matches!(row.op, FloatOp::Add | FloatOp::Sub | FloatOp::Fma) =>
            {
                (F32, Some(narrow))
            }
            _ => return unsupported("no such types"),
        };
        let Some((fmt, lanes)) = float_type(ty).filter(|_| row.types.has(ty)) else {
            return unsupported("no such type");
        };
        let xorsign = sig.has(Mod::Xorsign);
        if xorsign && !sig.has(Mod::Abs) {
            return unsupported("`.xorsign` without `.abs`");
        }
        let mods = FloatMods {
            sat: sig.has(Mod::Sat),
            relu: sig.has(Mod::Relu),
            ftz: sig.has(Mod::Ftz),
            approx: row.approx || sig.has(Mod::Approx) || sig.has(Mod::Full),
            full: sig.has(Mod::Full),
            nan: sig.has(Mod::NaN),
            xorsign_abs: xorsign,
            abs: sig.has(Mod::Abs) && !xorsign,
            oob: sig.has(Mod::Oob),
            rnd: sig.pick(ROUNDINGS)?.unwrap_or_default(),
        };
        let (mut op, mut sources) = (row.op, row.sources);
        if matches!(op, FloatOp::Min | FloatOp::Max) && self.ops.len() == 4 && ty == F32 {
            sources = 3;
            op = match op {
                FloatOp::Min => FloatOp::Min3,
                _ => FloatOp::Max3,
            };
        }
        self.expect(1 + sources)?;
        let dst = self.dst(0, ty)?;
        let narrow_sources = if op == FloatOp::Fma { 2 } else { 1 };
        let mut src = [Src::Imm(0); 3];
        for (i, slot) in src.iter_mut().enumerate().take(sources) {
            *slot = match narrow {
                Some(narrow) if i < narrow_sources => self.widened(i + 1, narrow)?,
                _ => self.src(i + 1, ty)?,
            };
        }
        self.emit(Op::Float {
            op,
            fmt,
            src_fmt: fmt,
            lanes,
            mods,
            dst,
            src,
        });
        Ok(())
    }

    /// A half-precision source as f32, which is exact.
    fn widened(&mut self, i: usize, narrow: Type) -> Decoded<Src> {
        let src = self.src(i, narrow)?;
        let from = if narrow == F16 { Fmt::F16 } else { Fmt::Bf16 };
        let dst = self.temp(F32);
        self.emit_cvt(NumTy::Float(from), NumTy::Float(Fmt::F32), dst, src);
        Ok(Src::Reg(dst))
    }

    /// A conversion that needs no rounding: to a wider format, or between integers.
    pub(super) fn emit_cvt(&mut self, from: NumTy, to: NumTy, dst: RegId, src: Src) {
        self.emit(Op::Cvt {
            from,
            to,
            rnd: Rnd::None,
            sat: false,
            satfinite: false,
            relu: false,
            ftz: false,
            dst,
            src,
        });
    }

    /// `testp.op.type p, a;`
    pub(super) fn decode_testp(&mut self, sig: &Sig) -> Decoded<()> {
        const TESTS: &[(Mod, FloatTest)] = &[
            (Mod::Finite, FloatTest::Finite),
            (Mod::Infinite, FloatTest::Infinite),
            (Mod::Number, FloatTest::Number),
            (Mod::Notanumber, FloatTest::NotANumber),
            (Mod::Normal, FloatTest::Normal),
            (Mod::Subnormal, FloatTest::Subnormal),
        ];
        sig.no_space()?;
        sig.only(
            const {
                ModSet::of(&[
                    Mod::Finite,
                    Mod::Infinite,
                    Mod::Number,
                    Mod::Notanumber,
                    Mod::Normal,
                    Mod::Subnormal,
                ])
            },
        )?;
        let test = sig.need(TESTS, "a test")?;
        let ty = sig.ty()?;
        let Some((fmt, 1)) = float_type(ty).filter(|_| FULL.has(ty)) else {
            return unsupported("no such type");
        };
        self.expect(2)?;
        let operand = self.operand(0)?;
        let p = self.reg(operand, Type::Pred, Fit::Exact)?;
        let a = self.src(1, ty)?;
        self.emit(Op::Testp { test, fmt, p, a });
        Ok(())
    }
}
