//! Comparisons: truth values of integers and floats, and what is chosen by a sign.
//!
//! Source: PTX ISA 9.0, sections 9.7.6 and 9.7.7 (`setp`, `set`, `slct`), 9.7.3.1 (`testp`). Over the reals there is no
//! NaN: where bits are known to be one, the comparison is decided; of all other numbers it is
//! assumed that they are none, and the report says so.

use num_bigint::BigInt;
use num_rational::BigRational;

use crate::kernel::{BoolOp, Cmp, FloatTest, Fmt, NumTy, Op, Pc};
use crate::term::{NotFinite, RCmp, Term, TermId, decode, encode_exact};

use super::convert::BY_ROUNDING;
use super::float::flush;
use super::machine::Machine;
use super::rounding::Arg;
use super::value::Val;
use super::warp::lanes;
use super::{UnknownKind, int_sym};

impl Machine<'_> {
    /// `setp`, `set`, `testp`.
    pub fn compare(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) {
        match op {
            Op::Setp {
                cmp,
                ty,
                lanes: n,
                ftz,
                combine,
                p,
                q,
                a,
                b,
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
                    let (x, y) = match (ftz, ty) {
                        (true, NumTy::Float(Fmt::F32)) => (flush(x), flush(y)),
                        _ => (x, y),
                    };
                    let (mut r, mut nr);
                    if *n == 1 {
                        r = self.comparison((w, lane, pc), *cmp, *ty, x, y);
                        nr = self.values.store.not(r);
                    } else {
                        // Packed halves: the two destinations are the two halves.
                        let h = self.halves((w, lane, pc), *cmp, *ty, x, y);
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
                        vec![self.comparison((w, lane, pc), *cmp, *ty, x, y)]
                    } else {
                        self.halves((w, lane, pc), *cmp, *ty, x, y).to_vec()
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

    fn halves(
        &mut self,
        at: (usize, usize, Pc),
        cmp: Cmp,
        ty: NumTy,
        x: Val,
        y: Val,
    ) -> [TermId; 2] {
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
            self.comparison(at, cmp, ty, a, b)
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
    pub fn comparison(
        &mut self,
        at: (usize, usize, Pc),
        cmp: Cmp,
        ty: NumTy,
        x: Val,
        y: Val,
    ) -> TermId {
        match ty {
            NumTy::Float(f) => self.compare_floats(at, cmp, f, x, y),
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
                let [x, y] = [x, y].map(|v| {
                    let v = self.as_held(at, v);
                    self.values.of_bits_plain(v, t.width)
                });
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
        let (x, y) = (self.values.settled(x), self.values.settled(y));
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

    fn compare_floats(
        &mut self,
        at: (usize, usize, Pc),
        cmp: Cmp,
        f: Fmt,
        x: Val,
        y: Val,
    ) -> TermId {
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
        let [known_x, known_y] =
            [(x, a), (y, b)].map(|(v, t)| self.values.is_known(Arg::of(v, f, t)));
        let tests = matches!(cmp, Cmp::Num | Cmp::Nan);
        if tests || !known_x || !known_y {
            return self.compare_numbers(cmp, a, b);
        }
        let xs = self.values.numbers(Arg::of(x, f, a));
        let ys = self.values.numbers(Arg::of(y, f, b));
        let pairs = xs.iter().flat_map(|&a| ys.iter().map(move |&b| (a, b)));
        let pairs: Vec<(TermId, TermId)> = pairs.collect();
        let mut answers = |cmp| -> Vec<TermId> {
            let answer = |&(a, b): &(TermId, TermId)| self.compare_numbers(cmp, a, b);
            let mut all: Vec<TermId> = pairs.iter().map(answer).collect();
            all.dedup();
            all
        };
        // What is less at the ends is so between them; what is equal must not change its side.
        let equality = matches!(cmp, Cmp::Eq | Cmp::Equ | Cmp::Ne | Cmp::Neu);
        let steady = !equality || answers(Cmp::Lt).len() == 1;
        if let [only] = answers(cmp)[..]
            && steady
        {
            return only;
        }
        let site = self.site(at.2, at.0, 1 << at.1, "compares");
        self.unknown(UnknownKind::Undecided, vec![site], || BY_ROUNDING.into());
        let bit = self.fresh_bits(1);
        self.values.pred(Val::Bits(bit))
    }

    fn compare_numbers(&mut self, cmp: Cmp, a: TermId, b: TermId) -> TermId {
        let s = &mut self.values.store;
        let t = match cmp {
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
        };
        // `x != x` and `|x| <= inf` are such tests too.
        let infinite = |t| matches!(s.get(t), Term::Inf { .. });
        let open = |t| s.as_const(t).is_none() && !infinite(t);
        let tests = a == b || infinite(a) || infinite(b);
        if tests && (open(a) || open(b)) && s.as_bool(t).is_some() {
            self.tests_for_nan();
        }
        t
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
                _ => self.comparison((w, lane, pc), Cmp::Ge, *cty, k, Val::Conc(0)),
            };
            let v = self.values.select(p, x, y, *width);
            self.set(w, *dst, lane, v);
        }
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
