//! Float arithmetic: terms over the reals.
//!
//! Rounding is not modelled: an operation means what its name says. The one exception is the
//! addition of a constant so large that the float result keeps few or no fraction bits, which
//! programs use to round; it is never taken for a plain addition (design, section 3).
//!
//! Source: PTX ISA 9.0, sections 9.7.3 to 9.7.5.

use std::array::from_fn;

use num_rational::BigRational;
use num_traits::Zero;

use crate::kernel::{FloatMods, FloatOp, Fmt, Op, Pc, Rnd};
use crate::term::{Fun, ICmp, NotFinite, Term, TermId, decode, encode_exact};

use super::accumulate::accumulates;
use super::machine::{Machine, Stop};
use super::rounding::Arg;
use super::value::{Val, Values};
use super::warp::lanes;
use super::{UnknownKind, idiom};

/// A known operand of an instruction with `.ftz`: a subnormal number is zero of its sign.
///
/// Of numbers that are not known, which are real numbers here, nothing is flushed.
pub fn flush(v: Val) -> Val {
    match v {
        Val::Conc(b) if b & 0x7f80_0000 == 0 => Val::Conc(b & 0x8000_0000),
        v => v,
    }
}

impl Machine<'_> {
    /// `Op::Float`.
    pub fn float(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) -> Result<(), Stop> {
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
                self.note_unset(w, pc);
            }
            if adds && let Some(v) = self.values.grown(*op, *fmt, *src_fmt, vals) {
                self.note_half(*op, *fmt, *src_fmt, vals, v);
                self.warps[w].set(*dst, lane, v);
                continue;
            }
            let v = if *n == 1 {
                let v = self.float_value(w, lane, pc, *op, *fmt, *src_fmt, mods, vals);
                if adds {
                    self.note_half(*op, *fmt, *src_fmt, vals, v);
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
                        let r = self.float_value(w, lane, pc, *op, *fmt, *src_fmt, mods, v);
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

    /// Notes a sum with a number whose sign is open at zero.
    fn note_half(&mut self, op: FloatOp, fmt: Fmt, src_fmt: Fmt, vals: [Val; 3], v: Val) {
        if op != FloatOp::Add || fmt != src_fmt || !self.values.has_halves() {
            return;
        }
        let [t, a, b] = [v, vals[0], vals[1]].map(|v| self.values.real(v, fmt));
        self.values.note_sum(t, a, b);
    }

    pub fn is_nan(&self, fmt: Fmt, v: Val) -> bool {
        match v {
            Val::Conc(b) => decode(fmt, b) == Err(NotFinite::Nan),
            _ => false,
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn float_value(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        op: FloatOp,
        fmt: Fmt,
        src_fmt: Fmt,
        mods: &FloatMods,
        v: [Val; 3],
    ) -> Val {
        // min and max drop a NaN operand; both NaN, or `.NaN`, is a NaN.
        if matches!(op, FloatOp::Min | FloatOp::Max) && !mods.nan {
            match (self.is_nan(fmt, v[0]), self.is_nan(fmt, v[1])) {
                (true, false) => return v[1],
                (false, true) => return v[0],
                _ => {}
            }
        }
        if op == FloatOp::Copysign {
            let [a, b] = [v[0], v[1]].map(|v| self.values.real(v, fmt));
            let m = self.values.store.fun(Fun::Abs, b);
            let t = self.copysign(fmt, v[0], m);
            self.follow(op, mods, [(fmt, a), (fmt, b), (fmt, a)], v, (fmt, t));
            return Val::Real(fmt, t);
        }
        if mods.xorsign_abs && !v[..2].iter().any(|v| self.is_nan(fmt, *v)) {
            let [a, b] = [v[0], v[1]].map(|v| {
                let x = self.values.real(v, fmt);
                self.values.store.fun(Fun::Abs, x)
            });
            let s = &mut self.values.store;
            let m = match op {
                FloatOp::Min => s.min(a, b),
                _ => s.max(a, b),
            };
            let [p, q] = [v[0], v[1]].map(|v| self.sign(fmt, v, m));
            let p = self.values.store.xor(p, q);
            return Val::Real(fmt, self.signed(p, m));
        }
        let a = self.values.real(v[0], src_fmt);
        // Mixed precision: the addend of fma, and the second operand of add and sub, have the
        // result's format.
        let b_fmt = match op {
            FloatOp::Add | FloatOp::Sub => fmt,
            _ => src_fmt,
        };
        let arity = arity(op);
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
        let t = self.float_term(w, lane, pc, op, fmt, mods, [a, b, c]);
        let t = self.saturate(t, mods.sat, mods.relu);
        self.follow(op, mods, [(src_fmt, a), (b_fmt, b), (fmt, c)], v, (fmt, t));
        Val::Real(fmt, t)
    }

    /// Notes what the machine makes of an operation on known numbers.
    #[inline]
    fn follow(
        &mut self,
        op: FloatOp,
        mods: &FloatMods,
        terms: [(Fmt, TermId); 3],
        v: [Val; 3],
        result: (Fmt, TermId),
    ) {
        if !self.values.store.is_rational(result.1) {
            return;
        }
        let args: [Arg; 3] = from_fn(|i| Arg::of(v[i], terms[i].0, terms[i].1));
        let Values { store, rounded, .. } = &mut self.values;
        rounded.follow(store, op, mods, &args[..arity(op)], result);
    }

    /// `.sat` clamps to [0, 1], `.relu` below at 0.
    fn saturate(&mut self, t: TermId, sat: bool, relu: bool) -> TermId {
        let s = &mut self.values.store;
        if !sat && !relu {
            return t;
        }
        let zero = s.integer(0);
        let t = s.max(t, zero);
        if !sat {
            return t;
        }
        let one = s.integer(1);
        s.min(t, one)
    }

    #[allow(clippy::too_many_arguments)]
    fn float_term(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
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
            FloatOp::Add => self.sum(w, lane, pc, (fmt, mods.rnd), a, b),
            FloatOp::Sub => {
                let n = s.neg(b);
                self.sum(w, lane, pc, (fmt, mods.rnd), a, n)
            }
            FloatOp::Fma => {
                let p = s.mul(a, b);
                self.sum(w, lane, pc, (fmt, mods.rnd), p, c)
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
            FloatOp::Min => s.min(a, b),
            FloatOp::Max => s.max(a, b),
            FloatOp::Min3 => {
                let m = s.min(a, b);
                s.min(m, c)
            }
            FloatOp::Max3 => {
                let m = s.max(a, b);
                s.max(m, c)
            }
            // Known to `float_value`, which has the sign of known bits.
            FloatOp::Copysign => self.opaque(w, lane, pc, "this operation has no model"),
        }
    }

    /// a + b; if a constant operand is so large that the addition may round, what it means.
    fn sum(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
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
                self.found.assumptions.insert(format!(
                    "a sum with the constant {c}, which masks what it is added to, is one of reals"
                ));
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

    /// A real about which nothing is known, and the reason.
    pub fn opaque(&mut self, w: usize, lane: usize, pc: Pc, why: &str) -> TermId {
        let site = self.site(pc, w, 1 << lane, "computes");
        self.unknown(UnknownKind::Undecided, vec![site], || why.into());
        let bits = self.fresh_bits(32);
        self.values.store.of_bits(Fmt::F32, bits)
    }

    /// a = b for bit terms.
    pub fn same_bits(&mut self, a: TermId, b: TermId) -> TermId {
        self.values.store.icmp(ICmp::Eq, a, b)
    }
}

fn arity(op: FloatOp) -> usize {
    match op {
        FloatOp::Fma | FloatOp::Min3 | FloatOp::Max3 => 3,
        FloatOp::Add
        | FloatOp::Sub
        | FloatOp::Mul
        | FloatOp::Div
        | FloatOp::Min
        | FloatOp::Max
        | FloatOp::Copysign => 2,
        _ => 1,
    }
}
