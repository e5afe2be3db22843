//! Conversions: `cvt` in all its forms, `cvta`, `isspacep`.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.20 to 9.7.9.23 and table of `cvt` in 9.7.9. Over the reals
//! a float-to-float conversion is the identity unless it rounds to an integer, saturates or
//! clamps; a float-to-integer conversion rounds as written and clamps to the range. A conversion of
//! known bits is the machine's, in every run: `cvt`, a mask, a shift or a move that cut a known number
//! are one number.

use crate::kernel::{FloatMods, Fmt, IntTy, NumTy, Op, Pc, Rnd, Space};
use crate::number::Narrowing;
use crate::term::made::{Kind, Shape};
use crate::term::{Class, Fun, TermId, decode, embeds};

use super::float::is_small;
use super::machine::Core;
use super::region::{LOCAL, SHARED, base};
use super::rounding::Arg;
use super::stop::Stop;
use super::val::Val;
use super::value::Values;
use super::warp::lanes;
use super::{UnknownKind, int, int_sym};

/// Why the integer or truth value that comes of a number is open.
pub(super) const BY_ROUNDING: &str = "whether this number is above or below a whole or another one depends on how \
     the machine rounds constants";

/// Why the bits of a known number are open.
const BITS_BY_ROUNDING: &str = "the bits of this number depend on how the machine rounds constants";

impl Values {
    /// The number `to` comes of a value of another format, which is `x` once it was rounded to an
    /// integer, if it was: with what the machine makes of it.
    pub fn convert_number(
        &mut self,
        (v, from, x): (Val, Fmt, TermId),
        rnd: Rnd,
        to: (Fmt, TermId),
    ) -> TermId {
        let to_integer = matches!(rnd, Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi);
        // Rounding to an integer was done; what is left rounds to nearest.
        let (arg, last) = match to_integer {
            true => (Arg::exact(from, x), Rnd::Rn),
            false => (Arg::of(v, from, x), rnd),
        };
        self.narrow.small |= is_small(to.0);
        let known = match x == to.1 {
            true => self.narrowed(arg, last, to),
            false => self.clamped(arg, to),
        };
        known.unwrap_or(to.1)
    }

    /// A converted number with the conversion, where numbers remember how they were made or this one would
    /// pass for an element of an input.
    pub fn converted(
        &mut self,
        (v, from): (Val, Fmt),
        (rnd, clamps): (Rnd, [bool; 3]),
        (to, t): (Fmt, TermId),
    ) -> Val {
        self.note_narrow(from, to, t);
        let is_exact = embeds(from, to) && clamps == [false; 3];
        if self.has_known_bits(to, t) {
            return Val::Real(to, t);
        }
        let shape = Shape::new(Kind::Convert, from, to, conversion(rnd, clamps));
        let remembers = self.remembers(is_exact, &[(v, from)], t);
        if !remembers && self.note_maker(t, shape, &[(v, from)]) {
            return Val::Real(to, t);
        }
        let operand = self.operand(v, from);
        Val::Real(to, self.store.made(t, shape, &[operand]))
    }

    /// The same of an integer, given by its bits.
    fn converted_int(
        &mut self,
        (bits, signed): (TermId, bool),
        (rnd, clamps): (Rnd, [bool; 3]),
        (to, t): (Fmt, TermId),
    ) -> Val {
        if self.has_known_bits(to, t) || self.trees.is_none() {
            return Val::Real(to, t);
        }
        let shape = Shape::new(Kind::OfInt { signed }, to, to, conversion(rnd, clamps));
        Val::Real(to, self.store.made(t, shape, &[bits]))
    }

    /// True for a known number that needs no tree. A zero has two encodings, which only its tree tells apart.
    fn has_known_bits(&self, fmt: Fmt, t: TermId) -> bool {
        let zero = self.trees.is_some() && self.store.is_zero(t);
        !zero && self.is_known(Arg::of(Val::Real(fmt, t), fmt, self.store.face(t)))
    }

    /// Notes that a number was brought to a format that may hold less.
    fn note_narrow(&mut self, from: Fmt, to: Fmt, t: TermId) {
        let smaller = to.bits() < from.bits() || from == Fmt::Bf16 && to == Fmt::F16;
        if smaller && !self.store.is_rational(t) {
            self.narrow.terms.insert(t);
        }
    }
}

/// The modifiers of a conversion: `.sat`, `.satfinite`, `.relu`.
fn conversion(rnd: Rnd, [sat, satfinite, relu]: [bool; 3]) -> FloatMods {
    FloatMods {
        rnd,
        sat,
        relu,
        // What is beyond the range becomes its end.
        oob: satfinite,
        ..FloatMods::default()
    }
}

impl Values {
    fn round(&mut self, rnd: Rnd, x: TermId) -> TermId {
        let f = match rnd {
            Rnd::Rni => Fun::RoundEven,
            Rnd::Rzi => Fun::Trunc,
            Rnd::Rmi => Fun::Floor,
            Rnd::Rpi => Fun::Ceil,
            _ => return x,
        };
        let x = match f {
            Fun::Trunc => self.truncated(x),
            _ => x,
        };
        self.store.fun(f, x)
    }

    fn clamp_real(&mut self, x: TermId, to: Fmt, [sat, satfinite, relu]: [bool; 3]) -> TermId {
        let x = self.saturate(x, sat, relu);
        let s = &mut self.store;
        if satfinite && let Some(m) = largest(to) {
            let m = s.rational(m);
            let n = s.neg(m);
            let y = s.min(x, m);
            let y = s.max(y, n);
            // What is not a number becomes the largest one in a format that has nothing else.
            return if to.is_always_finite() {
                y
            } else {
                s.unless_nan(x, y)
            };
        }
        x
    }

    /// A number in another format; `x` is the number once it was rounded to an integer, if it was.
    fn in_format(
        &mut self,
        (v, from, x): (Val, Fmt, TermId),
        (rnd, clamps): (Rnd, [bool; 3]),
        to: Fmt,
    ) -> Val {
        let y = self.clamp_real(x, to, clamps);
        let t = self.convert_number((v, from, x), rnd, (to, y));
        self.converted((v, from), (rnd, clamps), (to, t))
    }

    fn int_to_float(
        &mut self,
        (v, from): (Val, IntTy),
        (rnd, clamps): (Rnd, [bool; 3]),
        to: Fmt,
    ) -> Val {
        let b = self.bits(v, from.width);
        let x = self.store.of_int(from.signed, b);
        let y = self.clamp_real(x, to, clamps);
        let t = self.convert_number((v, to, x), rnd, (to, y));
        self.converted_int((b, from.signed), (rnd, clamps), (to, t))
    }

    /// The bits of a number that is packed with others, in the format of these.
    fn narrowed_part(
        &mut self,
        pc: Pc,
        (v, from): (Val, Fmt),
        (rnd, clamps): (Rnd, [bool; 3]),
        to: Fmt,
    ) -> TermId {
        let [_, satfinite, relu] = clamps;
        let how = Narrowing {
            rnd,
            satfinite,
            relu,
            ..Narrowing::default()
        };
        if let Some(x) = self.narrow_number((from, to), &how, v) {
            return self.store.bits(packed_bits(to), x);
        }
        if let Some(t) = self.convert_word(pc, (from, to), conversion(rnd, clamps), v) {
            return self.field(t, 0, packed_bits(to));
        }
        let x = self.real(v, from);
        let r = self.in_format((v, from, x), (rnd, clamps), to);
        let b = self.bits(r, to.bits() as u8);
        match packed_bits(to) {
            n if u32::from(n) < to.bits() => self.store.extract(b, 0, n),
            _ => b,
        }
    }

    /// The bits of a packed number, of which `part` has as many as it is packed in, in a wider format.
    fn widened_part(
        &mut self,
        pc: Pc,
        (mut part, from): (TermId, Fmt),
        relu: bool,
        to: Fmt,
    ) -> TermId {
        let above = from.bits() as u8 - packed_bits(from);
        if above > 0 {
            let zero = self.store.bits(above, 0);
            part = self.store.concat(&[part, zero]);
        }
        let v = self.of_bits(part);
        let plain = Narrowing {
            relu,
            ..Narrowing::default()
        };
        if let Some(x) = self.narrow_number((from, to), &plain, v) {
            return self.store.bits(to.bits() as u8, x);
        }
        let how = (Rnd::None, [false, false, relu]);
        if let Some(t) = self.convert_word(pc, (from, to), conversion(how.0, how.1), v) {
            return t;
        }
        let x = self.real(v, from);
        let x = self.clamp_real(x, to, how.1);
        let r = self.converted((v, from), how, (to, x));
        self.bits(r, to.bits() as u8)
    }

    /// Two integers, saturated and packed below the low bits of a third.
    fn pack_saturated(&mut self, [hi, lo, above]: [Val; 3], from: IntTy, to: IntTy) -> Val {
        let [hi, lo] = [hi, lo].map(|v| {
            let x = self.int_to_int(from, to, true, v, 32);
            let b = self.bits(x, 32);
            self.store.extract(b, 0, to.width)
        });
        let mut parts = vec![lo, hi];
        let used = 2 * to.width;
        if used < 32 {
            let c = self.bits(above, 32);
            parts.push(self.store.extract(c, 0, 32 - used));
        }
        let t = self.store.concat(&parts);
        self.of_bits(t)
    }

    pub(super) fn int_to_int(
        &mut self,
        from: IntTy,
        to: IntTy,
        sat: bool,
        v: Val,
        width: u8,
    ) -> Val {
        let v = self.of_bits_plain(v, from.width);
        if let Val::Conc(b) = v {
            return Val::Conc(int::cvt_int(from, to, sat, b, width));
        }
        if let Val::Bits(t) = v {
            let f = |b| Some(int::cvt_int(from, to, sat, b, width));
            if let Some(v) = self.of_each(t, width, f) {
                return v;
            }
        }
        let b = self.bits(v, from.width);
        let t = int_sym::cvt_int_sym(&mut self.store, from, to, sat, b, width);
        self.of_bits(t)
    }

    /// a + b, where either may select among few known values.
    fn add_choice(&mut self, a: Val, b: Val, width: u8) -> Val {
        let x = self.bits(a, width);
        let keep = u64::MAX >> (64 - width as u32);
        if let Val::Conc(k) = b
            && let Some(v) = self.of_each(x, width, |v| Some(v.wrapping_add(k) & keep))
        {
            return v;
        }
        let y = self.bits(b, width);
        let t = self.store.bits_op(crate::term::BitsOp::Add, x, y);
        self.of_bits(t)
    }
}

impl Core<'_> {
    /// A value as an integer instruction finds it: a known number that roundings have touched is
    /// what the machine makes of it, if the real has an encoding that it could be taken for.
    pub(super) fn as_held(&mut self, at: (usize, usize, Pc), v: Val) -> Val {
        let Val::Real(f, t) = v else { return v };
        let Some((values, _)) = self.values.store.held(t) else {
            return v;
        };
        if let [only] = values[..] {
            return Val::Real(f, only);
        }
        let says = ["computes", BITS_BY_ROUNDING];
        Val::Bits(self.open_bits(at, f.bits() as u8, UnknownKind::Undecided, says))
    }

    /// A number rounded to an integer as the machine finds it.
    fn round_number(&mut self, at: (usize, usize, Pc), rnd: Rnd, x: Arg) -> TermId {
        if !matches!(rnd, Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi) {
            return x.t;
        }
        let all = self.values.numbers(x);
        let mut results: Vec<TermId> = all.into_iter().map(|t| self.values.round(rnd, t)).collect();
        results.dedup();
        match results[..] {
            [only] => only,
            _ => self.opaque(at.0, at.1, at.2, BY_ROUNDING),
        }
    }

    fn float_to_int(
        &mut self,
        at: (usize, usize, Pc),
        (f, t): (Fmt, IntTy),
        rnd: Rnd,
        v: Val,
        width: u8,
    ) -> Val {
        // A NaN gives 0, or the top bit when either side is 64 bits wide.
        let none = match f == Fmt::F64 || t.width == 64 {
            true => 1u64 << (t.width - 1),
            false => 0,
        };
        let real = self.values.real(v, f);
        let nan = self.values.store.is(Class::Nan, real);
        if self.values.store.as_bool(nan) == Some(true) {
            return Val::Conc(int::cvt_int(t, t, false, none, width));
        }
        let x = Arg::of(v, f, real);
        let x = self.round_number(at, if rnd == Rnd::None { Rnd::Rzi } else { rnd }, x);
        let s = &mut self.values.store;
        let (b, none) = (s.clamp(t.width, t.signed, x), s.bits(t.width, none));
        let b = s.select(nan, none, b);
        let v = self.values.of_bits(b);
        self.values.int_to_int(t, t, false, v, width)
    }

    /// `cvt` of known bits, or of a float that is followed as a word; `None` for any other value.
    #[inline]
    fn cvt_known(&mut self, pc: Pc, op: &Op, v: Val) -> Option<Val> {
        if let Val::Conc(b) = v {
            if let Op::Cvt {
                from: NumTy::Int(f),
                to: NumTy::Int(t),
                sat,
                dst,
                ..
            } = op
            {
                let x = int::cvt_int(*f, *t, *sat, b, self.width(*dst));
                return Some(Val::Conc(x));
            }
            if !self.values.is_unfolded()
                && let Some(x) = self.cvt_number(pc, op, b)
            {
                return Some(x);
            }
        }
        self.cvt_word(pc, op, v)
    }

    /// `cvt` of any other value, as a register of a width holds it.
    fn cvt(
        &mut self,
        at: (usize, usize, Pc),
        (from, to): (NumTy, NumTy),
        (rnd, clamps): (Rnd, [bool; 3]),
        v: Val,
        width: u8,
    ) -> Val {
        let v = match from {
            NumTy::Int(_) => self.as_held(at, v),
            NumTy::Float(_) => v,
        };
        let x = match (from, to) {
            (NumTy::Float(f), NumTy::Float(t)) => {
                let x = self.values.real(v, f);
                let x = self.round_number(at, rnd, Arg::of(v, f, x));
                self.values.in_format((v, f, x), (rnd, clamps), t)
            }
            (NumTy::Float(f), NumTy::Int(t)) => self.float_to_int(at, (f, t), rnd, v, width),
            (NumTy::Int(f), NumTy::Float(t)) => self.values.int_to_float((v, f), (rnd, clamps), t),
            (NumTy::Int(f), NumTy::Int(t)) => self.values.int_to_int(f, t, clamps[0], v, width),
        };
        // A 16-bit or narrower float in a wider register.
        match x {
            Val::Real(f, _) if f.bits() as u8 != width => self.values.of_bits_plain(x, width),
            _ => x,
        }
    }

    /// `cvt`.
    pub(super) fn convert(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) {
        for lane in lanes(exec) {
            let (dst, v) = match op {
                Op::Cvt {
                    from,
                    to,
                    rnd,
                    sat,
                    satfinite,
                    relu,
                    dst,
                    src,
                    ..
                } => {
                    let v = self.src(w, *src, lane);
                    if v == Val::Unset {
                        self.values.note_unset(w, pc);
                    }
                    let v = match self.cvt_known(pc, op, v) {
                        Some(v) => v,
                        None => {
                            let how = (*rnd, [*sat, *satfinite, *relu]);
                            let width = self.width(*dst);
                            self.cvt((w, lane, pc), (*from, *to), how, v, width)
                        }
                    };
                    (dst, v)
                }
                Op::CvtNarrow {
                    from,
                    to,
                    rnd,
                    satfinite,
                    relu,
                    dst,
                    parts,
                    ..
                } => {
                    self.values.note_unset(w, pc);
                    let how = (*rnd, [false, *satfinite, *relu]);
                    let parts = parts.iter().map(|s| {
                        let v = self.src(w, *s, lane);
                        self.values.narrowed_part(pc, (v, *from), how, *to)
                    });
                    let parts: Vec<TermId> = parts.collect();
                    let t = self.values.store.concat(&parts);
                    let width = self.width(*dst);
                    (dst, self.values.of_bits_plain(Val::Bits(t), width))
                }
                Op::CvtUnpack2 {
                    from,
                    to,
                    relu,
                    dst,
                    src,
                } => {
                    self.values.note_unset(w, pc);
                    let n = packed_bits(*from);
                    let v = self.src(w, *src, lane);
                    let b = self.values.bits(v, 2 * n);
                    let parts = [0, n].map(|low| {
                        let part = self.values.store.extract(b, low, n);
                        self.values.widened_part(pc, (part, *from), *relu, *to)
                    });
                    let t = self.values.store.concat(&parts);
                    (dst, self.values.of_bits(t))
                }
                Op::CvtPackSat { to, from, dst, src } => {
                    self.values.note_unset(w, pc);
                    let v = src.map(|s| self.src(w, s, lane));
                    (dst, self.values.pack_saturated(v, *from, *to))
                }
                _ => return,
            };
            self.set(w, *dst, lane, v);
        }
    }

    /// `cvta` and `isspacep`.
    pub(super) fn window(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) -> Result<(), Stop> {
        match op {
            Op::Cvta {
                space,
                to,
                dst,
                src,
                ..
            } => {
                for lane in lanes(exec) {
                    let v = self.src(w, *src, lane);
                    let origin = match space {
                        Space::Shared | Space::SharedCluster => base(SHARED),
                        Space::Local => base(LOCAL),
                        Space::Param => base(super::region::PARAM),
                        // Global and constant addresses are their own generic ones.
                        _ => 0,
                    };
                    let delta = if *to { origin.wrapping_neg() } else { origin };
                    let width = self.width(*dst);
                    let v = match v {
                        Val::Conc(a) => Val::Conc(a.wrapping_add(delta)),
                        _ if delta == 0 => v,
                        _ => {
                            self.values.note_unset(w, pc);
                            let k = Val::Conc(delta);
                            self.values.add_choice(v, k, width)
                        }
                    };
                    self.set(w, *dst, lane, v);
                }
            }
            Op::IsSpace { space, p, a } => {
                for lane in lanes(exec) {
                    let Some(inside) = self.lies_in((w, lane, pc), *a, *space)? else {
                        self.refuse_base(w, 1 << lane, pc);
                        return Err(Stop::Finding);
                    };
                    self.set(w, *p, lane, inside);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Width in bits of a packed element: two of 4 bits share a byte.
pub(super) fn packed_bits(f: Fmt) -> u8 {
    match f {
        Fmt::E2m1 => 4,
        _ => f.bits() as u8,
    }
}

/// The largest finite number of a format.
fn largest(f: Fmt) -> Option<num_rational::BigRational> {
    let bits = match f {
        Fmt::F16 => 0x7bff,
        Fmt::Bf16 => 0x7f7f,
        Fmt::F32 | Fmt::Tf32 => 0x7f7f_ffff,
        Fmt::F64 => 0x7fef_ffff_ffff_ffff,
        Fmt::E4m3 => 0x7e,
        Fmt::E5m2 => 0x7b,
        Fmt::E2m3 => 0x1f,
        Fmt::E3m2 => 0x1f,
        Fmt::E2m1 => 0x7,
        Fmt::Ue8m0 => 0xfe,
    };
    decode(f, bits).ok()
}
