//! Decoder of conversions: `cvt`, `cvt.pack`.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.21 and 9.7.9.22. A conversion is told by the number of packed
//! elements on each side: one to one, two or four floats packed into one register, two narrow floats
//! unpacked; a packed pair narrowed is unpacked and packed again. Rounding is demanded where the
//! manual demands it, because a missing one has no meaning to fall back on.
//!
//! Stochastic rounding (`.rs`) goes to one of the two neighbours of a number in the format, as its random bits
//! say. Over the reals both are the number itself, as for any other rounding, and a number of the
//! format has no other neighbour; so the random bits are read, and no more is done with them.
//!
//! Not claimed: which neighbour is taken.

use super::lower::Lowerer;
use super::operand::Fit;
use super::sig::{Decoded, ModSet, Sig, num_type, unsupported};
use super::special::Reading;
use super::{Fmt, IntTy, NumTy, Op, Rnd, Src};
use crate::ptx::{Mod, Type, TypeClass};

const ROUNDINGS: &[(Mod, Rnd)] = &[
    (Mod::Rn, Rnd::Rn),
    (Mod::Rz, Rnd::Rz),
    (Mod::Rm, Rnd::Rm),
    (Mod::Rp, Rnd::Rp),
    (Mod::Rna, Rnd::Rna),
    (Mod::Rs, Rnd::Rs),
    (Mod::Rni, Rnd::Rni),
    (Mod::Rzi, Rnd::Rzi),
    (Mod::Rmi, Rnd::Rmi),
    (Mod::Rpi, Rnd::Rpi),
];

const KNOWN: ModSet = ModSet::of(&[
    Mod::Rn,
    Mod::Rz,
    Mod::Rm,
    Mod::Rp,
    Mod::Rna,
    Mod::Rs,
    Mod::Rni,
    Mod::Rzi,
    Mod::Rmi,
    Mod::Rpi,
    Mod::Ftz,
    Mod::Sat,
    Mod::Satfinite,
    Mod::Relu,
]);

impl Lowerer<'_> {
    /// `cvt.mods.dtype.atype d, a;` and the packed forms.
    pub(super) fn decode_cvt(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        sig.only(KNOWN)?;
        let (to, from) = sig.two_types()?;
        let (Some((to_num, to_lanes)), Some((from_num, from_lanes))) =
            (packed_type(to), packed_type(from))
        else {
            return unsupported("no such types");
        };
        let untyped = |ty: Type| matches!(ty.class(), TypeClass::Bits | TypeClass::Predicate);
        if untyped(to) || untyped(from) || from == Type::Tf32 {
            return unsupported("no such types");
        }
        let narrow = |fmt| matches!(fmt, Fmt::F16 | Fmt::Bf16 | Fmt::Tf32);
        let to_narrow = matches!(to_num, NumTy::Float(fmt) if to_lanes > 1 || narrow(fmt));
        if (sig.has(Mod::Relu) || sig.has(Mod::Satfinite)) && !(to_narrow && from.is_float()) {
            return unsupported("no such modifier of these types");
        }
        if sig.has(Mod::Ftz) && ![to, from].iter().any(|ty| ty.is_float()) {
            return unsupported("no such modifier of these types");
        }
        let byte = |ty: Type| matches!(ty, Type::U8 | Type::S8);
        if [(to, from), (from, to)]
            .iter()
            .any(|&(a, b)| a == Type::Bf16 && (byte(b) || sig.has(Mod::Sat)))
        {
            return unsupported("no such conversion of bf16");
        }
        // Between the formats of 16 bits the nearest value is meant where nothing is written.
        let halves = [to, from] == [Type::Bf16, Type::F16] || [to, from] == [Type::F16, Type::Bf16];
        let unwritten = if halves { Rnd::Rn } else { Rnd::None };
        let rnd = sig.pick(ROUNDINGS)?.unwrap_or(unwritten);
        match (to_lanes, from_lanes) {
            (1, 1) if rnd == Rnd::Rs => unsupported("no such rounding of these types"),
            (1, 1) => {
                check_rounding(rnd, to_num, from_num)?;
                self.expect(2)?;
                let operand = self.operand(0)?;
                let dst = self.reg(operand, to, Fit::Wider)?;
                let src = self.cvt_source(from)?;
                self.emit(Op::Cvt {
                    from: from_num,
                    to: to_num,
                    rnd,
                    sat: sig.has(Mod::Sat),
                    satfinite: sig.has(Mod::Satfinite),
                    relu: sig.has(Mod::Relu),
                    ftz: sig.has(Mod::Ftz),
                    dst,
                    src,
                });
                Ok(())
            }
            (4, 1) if rnd == Rnd::Rs && from == Type::F32 && sig.has(Mod::Satfinite) => {
                self.cvt_four(sig, to, to_num)
            }
            (2, _) => self.cvt_packed(sig, (to, to_num), (from, from_num, from_lanes), rnd),
            _ => unsupported("no such types"),
        }
    }

    /// The source of a conversion, which may be a special register.
    fn cvt_source(&mut self, from: Type) -> Decoded<Src> {
        let operand = self.operand(1)?;
        let Some((reading, ty)) = self.special_of(operand) else {
            return self.value(operand, from, Fit::Wider);
        };
        if ty.is_float() || ty == Type::Pred || ty.bits() < from.bits() {
            return unsupported("this special register as a source");
        }
        match reading {
            Reading::Constant(value) => Ok(Src::Imm(value)),
            Reading::Workspace { upper } => {
                let dst = self.temp(ty);
                self.emit_workspace(dst, upper);
                Ok(Src::Reg(dst))
            }
            Reading::Special(special) => {
                let dst = self.temp(ty);
                self.emit(Op::Special { dst, special });
                Ok(Src::Reg(dst))
            }
        }
    }

    fn cvt_packed(
        &mut self,
        sig: &Sig,
        (to, to_num): (Type, NumTy),
        (from, from_num, from_lanes): (Type, NumTy, u8),
        rnd: Rnd,
    ) -> Decoded<()> {
        let (NumTy::Float(to_fmt), NumTy::Float(from_fmt)) = (to_num, from_num) else {
            return unsupported("no such types");
        };
        if sig.has(Mod::Sat) || sig.has(Mod::Ftz) {
            return unsupported("no such modifier of a packed conversion");
        }
        let (satfinite, relu) = (sig.has(Mod::Satfinite), sig.has(Mod::Relu));
        let half = |fmt| matches!(fmt, Fmt::F16 | Fmt::Bf16);
        if from_lanes == 1 {
            if from_fmt != Fmt::F32 || to_fmt == Fmt::F32 || rnd == Rnd::None {
                return unsupported("no such types");
            }
            let random = rnd == Rnd::Rs;
            if random && !half(to_fmt) {
                return unsupported("no such rounding of these types");
            }
            self.expect(if random { 4 } else { 3 })?;
            let dst = self.dst(0, to)?;
            let hi = self.src(1, from)?;
            let lo = self.src(2, from)?;
            if random {
                self.src(3, Type::U32)?;
            }
            self.emit(Op::CvtNarrow {
                from: from_fmt,
                to: to_fmt,
                rnd,
                satfinite,
                relu,
                dst,
                parts: vec![lo, hi],
            });
            return Ok(());
        }
        self.expect(2)?;
        let dst = self.dst(0, to)?;
        let src = self.src(1, from)?;
        match (half(from_fmt), half(to_fmt)) {
            // Every narrow value is a half-precision one, so the rounding and the clamp are idle.
            (false, true) if from_fmt.bits() == 8 => self.emit(Op::CvtUnpack2 {
                from: from_fmt,
                to: to_fmt,
                relu,
                dst,
                src,
            }),
            (true, false) if to_fmt.bits() == 8 && !matches!(rnd, Rnd::None | Rnd::Rs) => {
                let lo = self.temp(Type::B16);
                let hi = self.temp(Type::B16);
                self.emit(Op::Unpack {
                    dsts: vec![Some(lo), Some(hi)],
                    part: 16,
                    src,
                });
                self.emit(Op::CvtNarrow {
                    from: from_fmt,
                    to: to_fmt,
                    rnd,
                    satfinite,
                    relu,
                    dst,
                    parts: vec![Src::Reg(lo), Src::Reg(hi)],
                });
            }
            _ => return unsupported("no such types"),
        }
        Ok(())
    }

    /// `cvt.rs{.relu}.satfinite.x4type.f32 d, {a, b, e, f}, rbits;` with `a` in the highest bits.
    fn cvt_four(&mut self, sig: &Sig, to: Type, to_num: NumTy) -> Decoded<()> {
        let NumTy::Float(to_fmt) = to_num else {
            return unsupported("no such types");
        };
        if sig.has(Mod::Sat) || sig.has(Mod::Ftz) {
            return unsupported("no such modifier of a packed conversion");
        }
        self.expect(3)?;
        let dst = self.dst(0, to)?;
        let mut parts = self.matrix_srcs(1, Type::F32, 4)?;
        parts.reverse();
        self.src(2, Type::U32)?;
        self.emit(Op::CvtNarrow {
            from: Fmt::F32,
            to: to_fmt,
            rnd: Rnd::Rs,
            satfinite: true,
            relu: sig.has(Mod::Relu),
            dst,
            parts,
        });
        Ok(())
    }

    /// `cvt.pack.sat.dtype.abtype.ctype d, a, b, c;`
    pub(super) fn decode_cvt_pack(&mut self, sig: &Sig) -> Decoded<()> {
        sig.no_space()?;
        sig.only(const { ModSet::of(&[Mod::Sat]) })?;
        if !sig.has(Mod::Sat) {
            return unsupported("it lacks `.sat`");
        }
        let (to, with_c) = match *sig.types() {
            [to @ (Type::U16 | Type::S16), Type::S32] => (to, false),
            [
                to @ (Type::U8 | Type::S8 | Type::U4 | Type::S4 | Type::U2 | Type::S2),
                Type::S32,
                Type::B32,
            ] => (to, true),
            _ => return unsupported("no such types"),
        };
        let to = IntTy {
            width: to.bits() as u8,
            signed: to.is_signed(),
        };
        let from = IntTy {
            width: 32,
            signed: true,
        };
        self.expect(if with_c { 4 } else { 3 })?;
        let dst = self.dst(0, Type::B32)?;
        let a = self.src(1, Type::S32)?;
        let b = self.src(2, Type::S32)?;
        let c = match with_c {
            true => self.src(3, Type::B32)?,
            false => Src::Imm(0),
        };
        self.emit(Op::CvtPackSat {
            to,
            from,
            dst,
            src: [a, b, c],
        });
        Ok(())
    }
}

/// Demands a rounding modifier where the manual does, of the kind that the conversion takes.
fn check_rounding(rnd: Rnd, to: NumTy, from: NumTy) -> Decoded<()> {
    let integral = matches!(rnd, Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi);
    let (needed, fits) = match (from, to) {
        (NumTy::Int(_), NumTy::Int(_)) => (false, rnd == Rnd::None),
        (NumTy::Float(_), NumTy::Int(_)) => (true, integral),
        (NumTy::Int(_), NumTy::Float(_)) => (true, !integral),
        (NumTy::Float(a), NumTy::Float(b)) => {
            let exact = a == b || widens(a, b);
            (!exact, a == b || !integral)
        }
    };
    match (needed && rnd == Rnd::None, fits) {
        (true, _) => unsupported("it lacks a rounding modifier"),
        (_, false) => unsupported("no such rounding of these types"),
        _ => Ok(()),
    }
}

/// Is every value of the first format one of the second?
fn widens(from: Fmt, to: Fmt) -> bool {
    match to {
        Fmt::F64 => true,
        Fmt::F32 => from != Fmt::F64,
        _ => false,
    }
}

/// A number type with its number of packed lanes; only `cvt` takes four.
fn packed_type(ty: Type) -> Option<(NumTy, u8)> {
    let fmt = match ty {
        Type::E4m3x4 => Fmt::E4m3,
        Type::E5m2x4 => Fmt::E5m2,
        Type::E2m3x4 => Fmt::E2m3,
        Type::E3m2x4 => Fmt::E3m2,
        Type::E2m1x4 => Fmt::E2m1,
        _ => return num_type(ty),
    };
    Some((NumTy::Float(fmt), 4))
}
