//! Float arithmetic: terms over the reals.
//!
//! Rounding is not modelled: an operation means what its name says. The one exception is the
//! addition of a constant so large that the float result keeps few or no fraction bits, which
//! programs use to round; it is never taken for a plain addition.
//!
//! Source: PTX ISA 9.0, sections 9.7.3 to 9.7.5.

use std::array::from_fn;

use num_rational::BigRational;
use num_traits::Zero;

use crate::answer::AssumptionKind;
use crate::kernel::{FloatMods, FloatOp, Fmt, IntOp, IntTy, Op, Pc, Rnd, Src};
use crate::sim::at::{LaneAt, site};
use crate::term::made::{Kind, Shape};
use crate::term::{
    Class, Fun, ICmp, NotFinite, Term, TermId, TermStore, decode, encode_exact, layout,
};

use super::machine::Core;
use super::plain::accumulates;
use super::rounding::Arg;
use super::stop::Stop;
use super::val::Val;
use super::value::Values;
use super::warp::lanes;
use super::{UnknownKind, WarningKind, idiom};

/// A known operand of an instruction with `.ftz`: a subnormal number is zero of its sign.
///
/// Of numbers that are not known, which are real numbers here, nothing is flushed.
pub(super) fn flush(v: Val) -> Val {
    match v {
        Val::Conc(b) if b & 0x7f80_0000 == 0 => Val::Conc(b & 0x8000_0000),
        v => v,
    }
}

impl Values {
    /// Notes a sum with a number whose sign is open at zero.
    fn note_half(&mut self, op: FloatOp, fmt: Fmt, src_fmt: Fmt, vals: [Val; 3], v: Val) {
        if op != FloatOp::Add || fmt != src_fmt || !self.has_halves() {
            return;
        }
        let [t, a, b] = [v, vals[0], vals[1]].map(|v| self.real(v, fmt));
        self.note_sum(t, a, b);
    }

    /// The result of an operation with what the machine makes of it, where its operands are known numbers or
    /// numbers remember how they were made.
    #[inline]
    fn made(
        &mut self,
        pc: Pc,
        (op, mods): (FloatOp, &FloatMods),
        terms: [(Fmt, TermId); 3],
        v: [Val; 3],
        result: (Fmt, TermId),
    ) -> TermId {
        let n = op.arity();
        let args: [Arg; 3] = from_fn(|i| Arg::of(v[i], terms[i].0, terms[i].1));
        if let Some(t) = self.follow(op, mods, &args[..n], result) {
            // A zero has two encodings.
            let zero = self.trees.is_some() && self.store.is_zero(t);
            if !zero {
                return t;
            }
        }
        let operands: [(Val, Fmt); 3] = from_fn(|i| (v[i], terms[i].0));
        let shape = Shape::new(Kind::Float(op), terms[0].0, result.0, *mods);
        let remembers = self.remembers(op.is_exact(mods), &operands[..n], result.1);
        if !remembers {
            // The assembler may contract a sum without a rounding modifier at one place and not at another.
            let joins = matches!(op, FloatOp::Add | FloatOp::Sub) && mods.rnd == Rnd::None;
            let place = if joins { 1 + pc.0 } else { 0 };
            let by = Shape { place, ..shape };
            if self.note_maker(result.1, by, &operands[..n]) {
                return result.1;
            }
        }
        self.tree(pc, shape, &operands[..n], result.1)
    }

    /// `.sat` clamps to [0, 1], a NaN to 0; `.relu` clamps below at 0 and keeps a NaN.
    pub(super) fn saturate(&mut self, t: TermId, sat: bool, relu: bool) -> TermId {
        let s = &mut self.store;
        if !sat && !relu {
            return t;
        }
        let zero = s.integer(0);
        let clamped = s.max(t, zero);
        if !sat {
            return s.unless_nan(t, clamped);
        }
        let one = s.integer(1);
        s.min(clamped, one)
    }

    /// a = b for bit terms.
    pub(super) fn same_bits(&mut self, a: TermId, b: TermId) -> TermId {
        self.store.icmp(ICmp::Eq, a, b)
    }
}

impl Core<'_> {
    /// `Op::Float`.
    pub(super) fn float(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) -> Result<(), Stop> {
        let Op::Float {
            op,
            fmt,
            src_fmt,
            lanes: n,
            mods,
            dst,
            src,
        } = op
        else {
            return Ok(());
        };
        let known = match self.values.numbers {
            true => self.float_numbers((w, pc), exec, &self.inst(pc).op),
            false => 0,
        };
        let exec = exec & !known;
        if self.values.words.is_some() {
            self.float_words(w, exec, pc, &self.inst(pc).op);
            return Ok(());
        }
        let adds = *n == 1 && accumulates(*op, mods);
        let done = if adds && *op == FloatOp::Fma && fmt == src_fmt {
            self.accumulate_lanes(w, exec, *fmt, *dst, src)
        } else {
            0
        };
        for lane in lanes(exec & !done) {
            let mut vals = src.map(|s| self.src(w, s, lane));
            if mods.ftz && *src_fmt == Fmt::F32 && *fmt == Fmt::F32 {
                vals = vals.map(flush);
            }
            if vals.iter().any(|v| matches!(v, Val::Unset)) {
                self.values.note_unset(w, pc);
            }
            if adds {
                self.note_residual((w, lane, pc), (*op, *fmt, *src_fmt), src, vals);
            }
            if adds && let Some(v) = self.values.grown(*op, *fmt, *src_fmt, vals) {
                self.values.note_half(*op, *fmt, *src_fmt, vals, v);
                self.threads.warps[w].set(*dst, lane, v);
                continue;
            }
            let v = if *n == 1 {
                let v = self.float_value(LaneAt { w, lane, pc }, *op, (*fmt, *src_fmt), mods, vals);
                if adds {
                    self.values.note_half(*op, *fmt, *src_fmt, vals, v);
                }
                v
            } else {
                let bits = fmt.bits() as u8;
                let whole = vals.map(|v| self.values.bits(v, bits * n));
                let parts: Vec<TermId> = (0..*n)
                    .map(|i| {
                        let v = whole.map(|t| {
                            let e = self.values.store.extract(t, i * bits, bits);
                            self.values.of_bits(e)
                        });
                        let r = self.float_value(
                            LaneAt { w, lane, pc },
                            *op,
                            (*fmt, *src_fmt),
                            mods,
                            v,
                        );
                        self.values.bits(r, bits)
                    })
                    .collect();
                let t = self.values.store.concat(&parts);
                self.values.of_bits(t)
            };
            self.set(w, *dst, lane, v);
        }
        Ok(())
    }

    /// Notes that a value and what it was rounded to cancel, which over the reals are one number.
    fn note_residual(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        (op, fmt, src_fmt): (FloatOp, Fmt, Fmt),
        src: &[Src; 3],
        v: [Val; 3],
    ) {
        let rounded = |s: &Src| match s {
            Src::Reg(r) => self.fixed.program.narrowed[r.0 as usize],
            _ => false,
        };
        if fmt != src_fmt || rounded(&src[0]) == rounded(&src[1]) || op == FloatOp::Fma {
            return;
        }
        let [a, b] = [v[0], v[1]].map(|v| self.values.real(v, fmt));
        let s = &mut self.values.store;
        if !s.is_ordinary(a) {
            return;
        }
        let other = match op {
            FloatOp::Sub => b,
            _ => s.neg(b),
        };
        if a == other {
            let site = site(pc, w, 1 << lane, "corrects");
            self.found.warn(WarningKind::Residual, vec![site], || {
                "a value and what it is rounded to are one number over the reals: what is made of \
                 their difference was not checked"
                    .into()
            });
        }
    }

    fn float_value(
        &mut self,
        LaneAt { w, lane, pc }: LaneAt,
        op: FloatOp,
        (fmt, src_fmt): (Fmt, Fmt),
        mods: &FloatMods,
        v: [Val; 3],
    ) -> Val {
        if op == FloatOp::Copysign {
            let [a, b] = [v[0], v[1]].map(|v| self.values.real(v, fmt));
            let m = self.values.store.fun(Fun::Abs, b);
            let t = self.values.copysign(fmt, v[0], m);
            let terms = [(fmt, a), (fmt, b), (fmt, a)];
            return Val::Real(fmt, self.values.made(pc, (op, mods), terms, v, (fmt, t)));
        }
        if mods.xorsign_abs && !mods.nan && !v[..2].iter().any(|v| is_nan(fmt, *v)) {
            let [a, b] = [v[0], v[1]].map(|v| {
                let x = self.values.real(v, fmt);
                self.values.store.fun(Fun::Abs, x)
            });
            let s = &mut self.values.store;
            let m = match op {
                FloatOp::Min => s.min(a, b),
                _ => s.max(a, b),
            };
            let [p, q] = [v[0], v[1]].map(|v| self.values.sign(fmt, v, m));
            let p = self.values.store.xor(p, q);
            let t = self.values.signed(p, m);
            let terms = [(fmt, a), (fmt, b), (fmt, a)];
            return Val::Real(fmt, self.values.made(pc, (op, mods), terms, v, (fmt, t)));
        }
        self.values.narrow.small |= is_small(fmt);
        let a = self.values.real(v[0], src_fmt);
        // Mixed precision: the addend of fma, and the second operand of add and sub, have the
        // result's format.
        let b_fmt = match op {
            FloatOp::Add | FloatOp::Sub => fmt,
            _ => src_fmt,
        };
        let arity = op.arity();
        let b = if arity > 1 {
            self.values.real(v[1], b_fmt)
        } else {
            a
        };
        let c = if arity > 2 {
            self.values.real(v[2], fmt)
        } else {
            a
        };
        let t = self.float_term(LaneAt { w, lane, pc }, op, fmt, mods, [a, b, c]);
        let t = self.values.saturate(t, mods.sat, mods.relu);
        let terms = [(src_fmt, a), (b_fmt, b), (fmt, c)];
        Val::Real(fmt, self.values.made(pc, (op, mods), terms, v, (fmt, t)))
    }

    /// The larger or smaller of some numbers; with `.NaN`, what is not a number where one of them is.
    ///
    /// Where only an overflow could make one of them no number, the maximum without it is taken.
    pub(super) fn extremum(&mut self, op: FloatOp, nan: bool, operands: &[TermId]) -> TermId {
        let Values {
            store: s, narrow, ..
        } = &mut self.values;
        let least = matches!(op, FloatOp::Min | FloatOp::Min3);
        let pair = |s: &mut TermStore, a, b| if least { s.min(a, b) } else { s.max(a, b) };
        let mut out = operands[0];
        for &x in &operands[1..] {
            out = pair(s, out, x);
        }
        if !nan {
            return out;
        }
        for &x in operands {
            out = s.unless_nan(x, out);
        }
        let overflows = |&x: &TermId| s.may_overflow(Class::Nan, x, narrow);
        if operands.iter().any(overflows) {
            self.found.assumptions.insert(AssumptionKind::Finite.says(
                "no number that a maximum or minimum with .NaN looks at is one for overflows",
            ));
        }
        out
    }

    fn float_term(
        &mut self,
        LaneAt { w, lane, pc }: LaneAt,
        op: FloatOp,
        fmt: Fmt,
        mods: &FloatMods,
        [mut a, mut b, mut c]: [TermId; 3],
    ) -> TermId {
        if mods.xorsign_abs || mods.oob {
            return self.opaque(w, lane, pc, "the modifiers of this operation have no model");
        }
        let s = &mut self.values.store;
        if mods.abs {
            a = s.fun(Fun::Abs, a);
            b = s.fun(Fun::Abs, b);
            c = s.fun(Fun::Abs, c);
        }
        match op {
            FloatOp::Add => self.sum(LaneAt { w, lane, pc }, (fmt, mods.rnd), a, b),
            FloatOp::Sub => {
                let n = s.neg(b);
                self.sum(LaneAt { w, lane, pc }, (fmt, mods.rnd), a, n)
            }
            FloatOp::Fma => {
                let p = s.mul(a, b);
                self.sum(LaneAt { w, lane, pc }, (fmt, mods.rnd), p, c)
            }
            FloatOp::Mul => s.mul(a, b),
            FloatOp::Div => s.div(a, b),
            FloatOp::Rcp => {
                let one = s.integer(1);
                s.div(one, a)
            }
            FloatOp::Sqrt => s.fun(Fun::Sqrt, a),
            FloatOp::Rsqrt => s.fun(Fun::Rsqrt, a),
            FloatOp::Ex2 => s.fun(Fun::Exp2, a),
            FloatOp::Lg2 => s.fun(Fun::Log2, a),
            FloatOp::Sin => s.fun(Fun::Sin, a),
            FloatOp::Cos => s.fun(Fun::Cos, a),
            FloatOp::Tanh => s.fun(Fun::Tanh, a),
            FloatOp::Neg => s.neg(a),
            FloatOp::Abs => s.fun(Fun::Abs, a),
            FloatOp::Min | FloatOp::Max => self.extremum(op, mods.nan, &[a, b]),
            FloatOp::Min3 | FloatOp::Max3 => self.extremum(op, mods.nan, &[a, b, c]),
            // Known to `float_value`, which has the sign of known bits.
            FloatOp::Copysign => self.opaque(w, lane, pc, "this operation has no model"),
        }
    }

    /// a + b; if a constant operand is so large that the addition may round, what it means.
    fn sum(
        &mut self,
        LaneAt { w, lane, pc }: LaneAt,
        (fmt, rnd): (Fmt, Rnd),
        a: TermId,
        b: TermId,
    ) -> TermId {
        let store = &mut self.values.store;
        let infinite = |t: TermId| matches!(store.get(t), Term::Inf { .. });
        // An infinity absorbs whatever is added.
        if !infinite(a) && !infinite(b) && idiom::may_round(store, fmt, a, b) {
            if let (Some(x), Some(y)) = (store.as_const(a), store.as_const(b)) {
                let sum: BigRational = x + y;
                if sum.is_zero() || encode_exact(fmt, &sum).is_some() {
                    return store.add(a, b);
                }
                if !idiom::is_magic(fmt, x) && !idiom::is_magic(fmt, y) {
                    return store.rational(sum);
                }
                if let Some(t) = idiom::rounding_sum(store, fmt, rnd, a, b) {
                    return t;
                }
            } else if let Some(t) = idiom::rounding_sum(store, fmt, rnd, a, b)
                .or_else(|| idiom::rounded_sum(store, fmt, rnd, a, b))
            {
                return t;
            } else if let Some(c) = idiom::mask(store, fmt, a, b) {
                let t = store.add(a, b);
                self.found
                    .assumptions
                    .insert(AssumptionKind::Mask.says(format!(
                    "a sum with the constant {c}, which masks what it is added to, is one of reals"
                )));
                return t;
            }
            return self.opaque(
                w,
                lane,
                pc,
                "a constant this large is added to round, and the idiom is not recognised",
            );
        }
        store.add(a, b)
    }

    /// match x ^ top bit, x & other bits, x | top bit, of a known number that roundings have touched / result -x, |x|,
    /// -|x| / because the top bit of a float is its sign, whatever the others are.
    pub(super) fn sign_of_known(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        (op, ty): (IntOp, IntTy),
        vals: [Val; 4],
    ) -> Option<Val> {
        let (Val::Real(fmt, t), Val::Conc(mask)) = (match vals[0] {
            Val::Conc(_) => (vals[1], vals[0]),
            _ => (vals[0], vals[1]),
        }) else {
            return None;
        };
        let (held, _) = self.values.store.held(t)?;
        layout(fmt)?;
        if held.len() == 1 || fmt.bits() != u32::from(ty.width) {
            return None;
        }
        let top = 1u64 << (ty.width - 1);
        let steps: &[FloatOp] = match op {
            IntOp::Xor if mask == top => &[FloatOp::Neg],
            IntOp::And if mask == top - 1 => &[FloatOp::Abs],
            IntOp::Or if mask == top => &[FloatOp::Abs, FloatOp::Neg],
            _ => return None,
        };
        let plain = FloatMods::default();
        let step = |v, &op: &FloatOp| {
            self.float_value(LaneAt { w, lane, pc }, op, (fmt, fmt), &plain, [v; 3])
        };
        Some(steps.iter().fold(Val::Real(fmt, t), step))
    }

    /// A real about which nothing is known, and the reason.
    pub(super) fn opaque(&mut self, w: usize, lane: usize, pc: Pc, why: &'static str) -> TermId {
        let bits = self.open_bits((w, lane, pc), 32, UnknownKind::Undecided, ["computes", why]);
        self.values.store.of_bits(Fmt::F32, bits)
    }
}

/// True for formats of less range than 32 bits.
pub(super) fn is_small(fmt: Fmt) -> bool {
    !matches!(fmt, Fmt::F32 | Fmt::Tf32 | Fmt::F64 | Fmt::Bf16)
}

/// True for known bits of a NaN of a format.
fn is_nan(fmt: Fmt, v: Val) -> bool {
    match v {
        Val::Conc(b) => decode(fmt, b) == Err(NotFinite::Nan),
        _ => false,
    }
}
