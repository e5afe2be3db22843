//! Float arithmetic: terms over the reals.
//!
//! Rounding is not modelled: an operation means what its name says. The one exception is the
//! addition of a constant so large that the float result keeps few or no fraction bits, which
//! programs use to round; it is never taken for a plain addition (design, section 3).
//!
//! Source: PTX ISA 9.0, sections 9.7.3 to 9.7.5.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

use crate::kernel::{BoolOp, Cmp, FloatMods, FloatOp, FloatTest, Fmt, NumTy, Op, Pc, Rnd};
use crate::term::{Fun, ICmp, NotFinite, RCmp, Term, TermId, decode, encode_exact};

use super::accumulate::accumulates;
use super::machine::{Machine, Stop};
use super::value::Val;
use super::warp::lanes;
use super::{UnknownKind, idiom, int_sym};

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
            let vals = src.map(|s| self.src(w, s, lane));
            if vals.iter().any(|v| matches!(v, Val::Unset)) {
                self.note_unset(w, pc);
            }
            if adds && let Some(v) = self.values.grown(*op, *fmt, *src_fmt, vals) {
                self.warps[w].set(*dst, lane, v);
                continue;
            }
            let v = if *n == 1 {
                self.float_value(w, lane, pc, *op, *fmt, *src_fmt, mods, vals)
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

    /// True if the sign bit is set. Known bits have one even where they are a zero; the sign of a zero is not a
    /// property of a real, and counts as positive.
    fn sign(&mut self, fmt: Fmt, v: Val) -> TermId {
        if let Val::Conc(bits) = v {
            return self.values.store.bool(bits >> (fmt.bits() - 1) & 1 == 1);
        }
        let x = self.values.real(v, fmt);
        let s = &mut self.values.store;
        let zero = s.integer(0);
        s.rcmp(RCmp::Lt, x, zero)
    }

    fn is_nan(&self, fmt: Fmt, v: Val) -> bool {
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
            let p = self.sign(fmt, v[0]);
            let b = self.values.real(v[1], fmt);
            let s = &mut self.values.store;
            let m = s.fun(Fun::Abs, b);
            let n = s.neg(m);
            return Val::Real(fmt, s.select(p, n, m));
        }
        if mods.xorsign_abs && !v[..2].iter().any(|v| self.is_nan(fmt, *v)) {
            let [p, q] = [v[0], v[1]].map(|v| self.sign(fmt, v));
            let [a, b] = [v[0], v[1]].map(|v| {
                let x = self.values.real(v, fmt);
                self.values.store.fun(Fun::Abs, x)
            });
            let s = &mut self.values.store;
            let m = match op {
                FloatOp::Min => s.min(a, b),
                _ => s.max(a, b),
            };
            let n = s.neg(m);
            let p = s.xor(p, q);
            return Val::Real(fmt, s.select(p, n, m));
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
        Val::Real(fmt, t)
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
            } else if let Some(t) = idiom::rounding_sum(store, fmt, rnd, a, b) {
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

    /// `setp`, `set`, `testp`.
    pub fn compare(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) {
        match op {
            Op::Setp {
                cmp,
                ty,
                lanes: n,
                combine,
                p,
                q,
                a,
                b,
                ..
            } => {
                let sym = exec & (self.symbolic(w, *a) | self.symbolic(w, *b));
                let pred_sym = combine.map_or(0, |(_, g)| self.warps[w].symbolic(g.reg));
                if let (NumTy::Int(t), 0, 1) = (ty, (sym | pred_sym) & exec, *n) {
                    let (x, y) = (self.words(w, *a), self.words(w, *b));
                    let c = combine.map(|(op, g)| (op, *self.warps[w].words(g.reg), g.negated));
                    let (mut pw, mut qw) = ([0u64; 32], [0u64; 32]);
                    for lane in lanes(exec) {
                        let r = super::int::compare(*cmp, *t, x[lane], y[lane]);
                        let (mut u, mut v) = (r, !r);
                        if let Some((op, words, neg)) = &c {
                            let k = (words[lane] & 1 == 1) ^ neg;
                            (u, v) = (bool_op(*op, u, k), bool_op(*op, v, k));
                        }
                        pw[lane] = u as u64;
                        qw[lane] = v as u64;
                    }
                    if let Some(p) = p {
                        self.warps[w].set_words(*p, exec, &pw);
                    }
                    if let Some(q) = q {
                        self.warps[w].set_words(*q, exec, &qw);
                    }
                    return;
                }
                for lane in lanes(exec) {
                    let (x, y) = (self.src(w, *a, lane), self.src(w, *b, lane));
                    if x == Val::Unset || y == Val::Unset {
                        self.note_unset(w, pc);
                    }
                    let (mut r, mut nr);
                    if *n == 1 {
                        r = self.comparison(*cmp, *ty, x, y);
                        nr = self.values.store.not(r);
                    } else {
                        // Packed halves: the two destinations are the two halves.
                        let h = self.halves(*cmp, *ty, x, y);
                        (r, nr) = (h[0], h[1]);
                    }
                    if let Some((op, g)) = combine {
                        let k = self.truth(w, *g, lane);
                        let k = self.values.pred(k);
                        r = self.combine(*op, r, k);
                        nr = self.combine(*op, nr, k);
                    }
                    if let Some(p) = p {
                        let v = self.values.of_pred(r);
                        self.set(w, *p, lane, v);
                    }
                    if let Some(q) = q {
                        let v = self.values.of_pred(nr);
                        self.set(w, *q, lane, v);
                    }
                }
            }
            Op::Set {
                cmp,
                ty,
                dty,
                lanes: n,
                combine,
                dst,
                a,
                b,
            } => {
                for lane in lanes(exec) {
                    let (x, y) = (self.src(w, *a, lane), self.src(w, *b, lane));
                    if x == Val::Unset || y == Val::Unset {
                        self.note_unset(w, pc);
                    }
                    let rs = if *n == 1 {
                        vec![self.comparison(*cmp, *ty, x, y)]
                    } else {
                        self.halves(*cmp, *ty, x, y).to_vec()
                    };
                    let width = dty.bits() as u8;
                    let mut parts = Vec::new();
                    for mut r in rs {
                        if let Some((op, g)) = combine {
                            let k = self.truth(w, *g, lane);
                            let k = self.values.pred(k);
                            r = self.combine(*op, r, k);
                        }
                        let yes = match dty {
                            NumTy::Float(f) => {
                                let one = BigRational::from_integer(BigInt::from(1));
                                encode_exact(*f, &one).unwrap_or(0)
                            }
                            NumTy::Int(_) => u64::MAX >> (64 - width as u32),
                        };
                        let v = self.values.select(r, Val::Conc(yes), Val::Conc(0), width);
                        parts.push(self.values.bits(v, width));
                    }
                    let t = self.values.store.concat(&parts);
                    let v = self.values.of_bits(t);
                    self.set(w, *dst, lane, v);
                }
            }
            Op::Testp { test, fmt, p, a } => {
                for lane in lanes(exec) {
                    let v = self.src(w, *a, lane);
                    let r = match v {
                        Val::Conc(b) => test_bits(*test, *fmt, b),
                        // A real that is defined is finite and a number; whether the float that
                        // holds it is subnormal, or overflows, is below the claim.
                        _ => match test {
                            FloatTest::Finite | FloatTest::Number => {
                                self.tests_for_nan();
                                true
                            }
                            FloatTest::Infinite | FloatTest::NotANumber => {
                                self.tests_for_nan();
                                false
                            }
                            FloatTest::Normal | FloatTest::Subnormal => {
                                let why = "whether a float is subnormal is not decided";
                                self.opaque(w, lane, pc, why);
                                let t = self.fresh_bits(1);
                                let v = Val::Bits(t);
                                let t = self.values.pred(v);
                                let v = self.values.of_pred(t);
                                self.set(w, *p, lane, v);
                                continue;
                            }
                        },
                    };
                    self.set(w, *p, lane, Val::Conc(r as u64));
                }
            }
            _ => {}
        }
    }

    fn halves(&mut self, cmp: Cmp, ty: NumTy, x: Val, y: Val) -> [TermId; 2] {
        let width = ty.bits() as u8;
        let (x, y) = (
            self.values.bits(x, width * 2),
            self.values.bits(y, width * 2),
        );
        [0, width].map(|low| {
            let [a, b] = [x, y].map(|t| {
                let e = self.values.store.extract(t, low, width);
                self.values.of_bits(e)
            });
            self.comparison(cmp, ty, a, b)
        })
    }

    /// p op q.
    pub fn combine(&mut self, op: BoolOp, p: TermId, q: TermId) -> TermId {
        let s = &mut self.values.store;
        match op {
            BoolOp::And => s.and(p, q),
            BoolOp::Or => s.or(p, q),
            BoolOp::Xor => s.xor(p, q),
        }
    }

    /// A comparison as a truth term.
    pub fn comparison(&mut self, cmp: Cmp, ty: NumTy, x: Val, y: Val) -> TermId {
        match ty {
            NumTy::Float(f) => self.compare_floats(cmp, f, x, y),
            NumTy::Int(t) => {
                if t.width == 1 {
                    let (a, b) = (self.values.pred(x), self.values.pred(y));
                    let d = self.values.store.xor(a, b);
                    return if cmp == Cmp::Eq {
                        self.values.store.not(d)
                    } else {
                        d
                    };
                }
                let x = self.values.of_bits_plain(x, t.width);
                let y = self.values.of_bits_plain(y, t.width);
                if let Some(p) = self.compare_choices(cmp, t, x, y) {
                    return p;
                }
                let (a, b) = (self.values.bits(x, t.width), self.values.bits(y, t.width));
                if let Some(p) = super::idiom::compare(&mut self.values.store, cmp, t, a, b) {
                    return p;
                }
                int_sym::compare_sym(&mut self.values.store, cmp, t, a, b)
            }
        }
    }

    /// A comparison of values that select among few known ones.
    fn compare_choices(
        &mut self,
        cmp: Cmp,
        ty: crate::kernel::IntTy,
        x: Val,
        y: Val,
    ) -> Option<TermId> {
        let mut leaves = |v: Val| match v {
            Val::Conc(b) => Some(vec![(self.values.store.bool(true), b)]),
            Val::Bits(t) => self.values.leaves(t, super::compute::MAX_CHOICES),
            _ => None,
        };
        let (xs, ys) = (leaves(x)?, leaves(y)?);
        let mut out = self.values.store.bool(false);
        for (c, a) in &xs {
            for (d, b) in &ys {
                if super::int::compare(cmp, ty, *a, *b) {
                    let both = self.values.store.and(*c, *d);
                    out = self.values.store.or(out, both);
                }
            }
        }
        Some(out)
    }

    /// Over the reals the answer of such a test is known, whatever the machine would find.
    fn tests_for_nan(&mut self) {
        self.found
            .assumptions
            .insert("values that a kernel tests for NaN or infinity are finite numbers".into());
    }

    fn compare_floats(&mut self, cmp: Cmp, f: Fmt, x: Val, y: Val) -> TermId {
        let nan = self.is_nan(f, x) || self.is_nan(f, y);
        let unordered = matches!(
            cmp,
            Cmp::Equ | Cmp::Neu | Cmp::Ltu | Cmp::Leu | Cmp::Gtu | Cmp::Geu | Cmp::Nan
        );
        if nan {
            return self.values.store.bool(unordered);
        }
        let known = |v: Val| matches!(v, Val::Conc(_));
        if matches!(cmp, Cmp::Num | Cmp::Nan) && !(known(x) && known(y)) {
            self.tests_for_nan();
        }
        let (a, b) = (self.values.real(x, f), self.values.real(y, f));
        let s = &mut self.values.store;
        match cmp {
            Cmp::Eq | Cmp::Equ => s.rcmp(RCmp::Eq, a, b),
            Cmp::Ne | Cmp::Neu => {
                let e = s.rcmp(RCmp::Eq, a, b);
                s.not(e)
            }
            Cmp::Lt | Cmp::Ltu => s.rcmp(RCmp::Lt, a, b),
            Cmp::Le | Cmp::Leu => s.rcmp(RCmp::Le, a, b),
            Cmp::Gt | Cmp::Gtu => s.rcmp(RCmp::Lt, b, a),
            Cmp::Ge | Cmp::Geu => s.rcmp(RCmp::Le, b, a),
            // Only a NaN constant is a NaN: reals are numbers.
            Cmp::Num => s.bool(true),
            Cmp::Nan => s.bool(false),
        }
    }

    /// `slct`.
    pub fn slct(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) {
        let Op::Slct {
            width,
            cty,
            dst,
            a,
            b,
            c,
        } = op
        else {
            return;
        };
        for lane in lanes(exec) {
            self.note_unset(w, pc);
            let (x, y) = (self.src(w, *a, lane), self.src(w, *b, lane));
            let k = self.src(w, *c, lane);
            let p = match cty {
                // -0.0 counts as 0; a NaN picks b.
                NumTy::Float(f) if self.is_nan(*f, k) => self.values.store.bool(false),
                _ => self.comparison(Cmp::Ge, *cty, k, Val::Conc(0)),
            };
            let v = self.values.select(p, x, y, *width);
            self.set(w, *dst, lane, v);
        }
    }

    /// True if a value that was never written stands below a term, selects aside.
    pub fn is_poison(&self, t: TermId) -> bool {
        let store = &self.values.store;
        if store.is_total(t) {
            return false;
        }
        let mut seen = rustc_hash::FxHashSet::default();
        let mut stack = vec![t];
        while let Some(t) = stack.pop() {
            if store.is_total(t) || !seen.insert(t) {
                continue;
            }
            match store.get(t) {
                Term::Poison { .. } => return true,
                Term::Select(p, ..) | Term::BitsSelect(p, ..) => stack.push(p),
                _ => store.children(t, |c| stack.push(c)),
            }
        }
        false
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

fn bool_op(op: BoolOp, a: bool, b: bool) -> bool {
    match op {
        BoolOp::And => a && b,
        BoolOp::Or => a || b,
        BoolOp::Xor => a ^ b,
    }
}

fn test_bits(test: FloatTest, fmt: Fmt, bits: u64) -> bool {
    let m = fmt.precision() - 1;
    let magnitude = bits & (u64::MAX >> (65 - fmt.bits()));
    let subnormal = magnitude != 0 && magnitude >> m == 0;
    match (test, decode(fmt, bits)) {
        (FloatTest::Finite, r) => r.is_ok(),
        (FloatTest::Infinite, r) => matches!(r, Err(NotFinite::PosInf | NotFinite::NegInf)),
        (FloatTest::Number, r) => r != Err(NotFinite::Nan),
        (FloatTest::NotANumber, r) => r == Err(NotFinite::Nan),
        // Zeros count as normal.
        (FloatTest::Normal, r) => r.is_ok() && !subnormal,
        (FloatTest::Subnormal, _) => subnormal,
    }
}
