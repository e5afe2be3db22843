//! Comparisons: truth values of integers and floats, and what is chosen by a sign.
//!
//! Source: PTX ISA 9.0, sections 9.7.6 and 9.7.7 (`setp`, `set`, `slct`), 9.7.3.1 (`testp`). A test for NaN or
//! infinity is a term that `special` decides. Nothing of it is folded but what no input can change: input elements
//! are finite, which the report says, and what is computed of them may be beyond its format.

use crate::sim::limits::LIMITS;
use num_bigint::BigInt;
use num_rational::BigRational;

use crate::answer::AssumptionKind;
use crate::kernel::{BoolOp, Cmp, FloatTest, Fmt, Guard, IntTy, NumTy, Op, Pc, Src};
use crate::number;
use crate::term::questions::{Asked, Question};
use crate::term::{Class, RCmp, Term, TermId, encode_exact};

use super::convert::BY_ROUNDING;
use super::machine::Core;
use super::rounding::Arg;
use super::val::Val;
use super::value::Values;
use super::warp::lanes;
use super::{UnknownKind, idiom, int_sym};

/// An operand of a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    /// What it is over the reals.
    pub real: TermId,
    /// What the register holds, but for a known number of which that is all.
    pub held: Option<Val>,
}

impl Values {
    /// p op q.
    pub(super) fn combine(&mut self, op: BoolOp, p: TermId, q: TermId) -> TermId {
        let s = &mut self.store;
        match op {
            BoolOp::And => s.and(p, q),
            BoolOp::Or => s.or(p, q),
            BoolOp::Xor => s.xor(p, q),
        }
    }

    /// Remembers of which number a comparison with a constant asks.
    fn note_test(&mut self, test: TermId, fmt: Fmt, (x, y): (Number, Number)) {
        let known = |n: Number| self.store.as_const(n.real).is_some();
        let of = match (known(x), known(y)) {
            (true, false) => y,
            (false, true) => x,
            _ => return,
        };
        if let (Some(_), Some(held)) = (self.trees, of.held) {
            let encoding = self.operand(held, fmt);
            self.tested.note(&mut self.store, test, encoding);
        }
    }

    /// A comparison of values that select among few known ones.
    fn compare_choices(&mut self, cmp: Cmp, ty: IntTy, x: Val, y: Val) -> Option<TermId> {
        let (x, y) = (self.settled(x), self.settled(y));
        let mut leaves = |v: Val| match v {
            Val::Conc(b) => Some(vec![(self.store.bool(true), b)]),
            Val::Bits(t) => self.leaves(t, LIMITS.choices),
            _ => None,
        };
        let (xs, ys) = (leaves(x)?, leaves(y)?);
        let mut out = self.store.bool(false);
        for (c, a) in &xs {
            for (d, b) in &ys {
                if super::int::compare(cmp, ty, *a, *b) {
                    let both = self.store.and(*c, *d);
                    out = self.store.or(out, both);
                }
            }
        }
        Some(out)
    }
}

impl Core<'_> {
    /// `testp` of a value that is not known.
    fn test(&mut self, at: (usize, usize, Pc), test: FloatTest, fmt: Fmt, v: Val) -> TermId {
        let t = Number {
            real: self.values.real(v, fmt),
            held: Some(v),
        };
        let nan = self.class(at, Class::Nan, fmt, t);
        let mut infinite = || {
            let pos = self.class(at, Class::PosInf, fmt, t);
            let neg = self.class(at, Class::NegInf, fmt, t);
            self.values.store.or(pos, neg)
        };
        match test {
            FloatTest::NotANumber => nan,
            FloatTest::Number => self.values.store.not(nan),
            FloatTest::Infinite => infinite(),
            FloatTest::Finite => {
                let infinite = infinite();
                let either = self.values.store.or(nan, infinite);
                self.values.store.not(either)
            }
            // How small a number is, no real says.
            FloatTest::Normal | FloatTest::Subnormal => {
                let why = "whether a float is subnormal is not decided";
                let bit = self.open_bits(at, 1, UnknownKind::Undecided, ["computes", why]);
                self.values.pred(Val::Bits(bit))
            }
        }
    }

    /// Whether a number is of a class. What reads inputs alone is decided by their being finite, which the
    /// report says.
    fn class(&mut self, at: (usize, usize, Pc), class: Class, fmt: Fmt, n: Number) -> TermId {
        let found = self.values.found_class(class, fmt, n);
        let store = &self.values.store;
        if store.as_bool(found) == Some(false) && store.is_ordinary(n.real) {
            self.takes_for_finite(at.2);
        }
        found
    }

    /// A test is decided by what inputs without known contents are.
    pub(super) fn takes_for_finite(&mut self, pc: Pc) {
        let what = "inputs without known contents are finite numbers";
        self.takes_for_test(pc, AssumptionKind::Finite, what);
    }

    /// An ordered comparison that no rounding decides. One that is constant over the reals, a test for an infinity or of
    /// a number with itself, is open where the machine may find an infinity or no number instead.
    fn ordered_reals(
        &mut self,
        at: (usize, usize, Pc),
        fmt: Fmt,
        op: RCmp,
        (x, y): (Number, Number),
    ) -> TermId {
        let (a, b) = (x.real, y.real);
        let mut t = self.values.store.rcmp(op, a, b);
        self.values.note_test(t, fmt, (x, y));
        let s = &mut self.values.store;
        let infinite = |t| matches!(s.get(t), Term::Inf { .. });
        let open = |t| s.as_const(t).is_none() && s.is_ordinary(t);
        let is_test = a == b || infinite(a) || infinite(b);
        if !is_test || !(open(a) || open(b)) {
            return t;
        }
        if a != b && s.as_bool(t).is_some() {
            for (class, neg) in [(Class::PosInf, false), (Class::NegInf, true)] {
                let s = &mut self.values.store;
                let beyond = s.infinity(neg);
                let first = s.is_ordinary(a);
                let (n, other) = if first { (x, b) } else { (y, a) };
                let answer = match first {
                    true => s.rcmp(op, beyond, other),
                    false => s.rcmp(op, other, beyond),
                };
                let p = self.values.found_class(class, fmt, n);
                t = self.values.store.select(p, answer, t);
            }
        }
        for n in [x, y] {
            let p = self.values.found_class(Class::Nan, fmt, n);
            let s = &mut self.values.store;
            let number = s.not(p);
            t = s.and(number, t);
        }
        if self.values.store.as_bool(t).is_some() {
            self.takes_for_finite(at.2);
        }
        t
    }

    /// The operands of a comparison in a lane.
    #[inline]
    fn both(&mut self, (w, lane, pc): (usize, usize, Pc), a: Src, b: Src) -> (Val, Val) {
        let (x, y) = (self.src(w, a, lane), self.src(w, b, lane));
        if x == Val::Unset || y == Val::Unset {
            self.values.note_unset(w, pc);
        }
        (x, y)
    }

    fn guard_term(&mut self, w: usize, g: Guard, lane: usize) -> TermId {
        let k = self.truth(w, g, lane);
        self.values.pred(k)
    }

    /// The truth value `r`, combined with that of a guard, as `set` writes it: all ones or 1.0 if it is true.
    fn set_bits(
        &mut self,
        (w, lane): (usize, usize),
        mut r: TermId,
        combine: Option<(BoolOp, Guard)>,
        dty: NumTy,
    ) -> TermId {
        if let Some((op, g)) = combine {
            let k = self.guard_term(w, g, lane);
            r = self.values.combine(op, r, k);
        }
        let width = dty.bits() as u8;
        let yes = match dty {
            NumTy::Float(f) => {
                let one = BigRational::from_integer(BigInt::from(1));
                encode_exact(f, &one).unwrap_or(0)
            }
            NumTy::Int(_) => u64::MAX >> (64 - width as u32),
        };
        let v = self.values.select(r, Val::Conc(yes), Val::Conc(0), width);
        self.values.bits(v, width)
    }

    /// `setp`, `set`, `testp`.
    pub(super) fn compare(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) {
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
                for lane in lanes(exec) {
                    let (x, y) = self.both((w, lane, pc), *a, *b);
                    let (mut r, mut nr);
                    if *n == 1 {
                        let cmp = if a == b { of_itself(*cmp, *ty) } else { *cmp };
                        r = self.comparison((w, lane, pc), cmp, (*ty, *ftz), x, y);
                        nr = self.values.store.not(r);
                    } else {
                        // Packed halves: the two destinations are the two halves.
                        let h = self.halves((w, lane, pc), *cmp, (*ty, *ftz), x, y);
                        (r, nr) = (h[0], h[1]);
                    }
                    if let Some((op, g)) = combine {
                        let k = self.guard_term(w, *g, lane);
                        r = self.values.combine(*op, r, k);
                        nr = self.values.combine(*op, nr, k);
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
                ftz,
                combine,
                dst,
                a,
                b,
            } => {
                for lane in lanes(exec) {
                    let (x, y) = self.both((w, lane, pc), *a, *b);
                    let rs = if *n == 1 {
                        let cmp = if a == b { of_itself(*cmp, *ty) } else { *cmp };
                        vec![self.comparison((w, lane, pc), cmp, (*ty, *ftz), x, y)]
                    } else {
                        self.halves((w, lane, pc), *cmp, (*ty, *ftz), x, y).to_vec()
                    };
                    let mut parts = Vec::new();
                    for r in rs {
                        parts.push(self.set_bits((w, lane), r, *combine, *dty));
                    }
                    let t = self.values.store.concat(&parts);
                    let v = self.values.of_bits(t);
                    self.set(w, *dst, lane, v);
                }
            }
            Op::Testp { test, fmt, p, a } => {
                for lane in lanes(exec) {
                    let r = match self.src(w, *a, lane) {
                        Val::Conc(b) => Val::Conc(number::test(*test, *fmt, b) as u64),
                        v => {
                            let t = match self.values.words {
                                Some(_) => self.values.test_word(pc, *test, *fmt, v),
                                None => self.test((w, lane, pc), *test, *fmt, v),
                            };
                            self.values.of_pred(t)
                        }
                    };
                    self.set(w, *p, lane, r);
                }
            }
            _ => {}
        }
    }

    fn halves(
        &mut self,
        at: (usize, usize, Pc),
        cmp: Cmp,
        (ty, ftz): (NumTy, bool),
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
            self.comparison(at, cmp, (ty, ftz), a, b)
        })
    }

    /// A comparison as a truth term.
    pub(super) fn comparison(
        &mut self,
        at: (usize, usize, Pc),
        cmp: Cmp,
        (ty, ftz): (NumTy, bool),
        x: Val,
        y: Val,
    ) -> TermId {
        // Of numbers that are not known, which are real numbers here, nothing is flushed.
        let [x, y] = [x, y].map(|v| match (v, ty) {
            (Val::Conc(bits), NumTy::Float(f)) if ftz => Val::Conc(number::flushed(f, bits)),
            _ => v,
        });
        match ty {
            NumTy::Float(f) if self.values.words.is_some() => {
                self.values.compare_words(at.2, (cmp, f, ftz), [x, y])
            }
            NumTy::Float(f) => match (x, y) {
                (Val::Conc(a), Val::Conc(b)) if self.values.numbers => {
                    self.values.store.bool(number::compare(cmp, f, a, b))
                }
                _ => self.compare_floats(at, cmp, f, x, y),
            },
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
                if let Some(p) = self.values.compare_choices(cmp, t, x, y) {
                    return p;
                }
                let (a, b) = (self.values.bits(x, t.width), self.values.bits(y, t.width));
                if let Some(p) = self.compare_encoded(at.2, cmp, t, (a, b)) {
                    return p;
                }
                int_sym::compare_sym(&mut self.values.store, cmp, t, a, b)
            }
        }
    }

    /// An integer comparison of encodings, as one of numbers; where only rounding decides that, the encodings
    /// are compared.
    fn compare_encoded(
        &mut self,
        pc: Pc,
        cmp: Cmp,
        ty: IntTy,
        (a, b): (TermId, TermId),
    ) -> Option<TermId> {
        if self.values.words.is_some() {
            return None;
        }
        let fmt = idiom::encoded(&self.values.store, ty, a, b)?;
        let (op, x, y) = idiom::ordered(cmp, (a, b))?;
        let [x, y] = [x, y].map(|t| {
            let held = self.values.of_bits(t);
            Number {
                real: self.values.real(held, fmt),
                held: Some(held),
            }
        });
        // One with an infinity asks whether a number is beyond its format, which the reals answer with no.
        let store = &self.values.store;
        let infinite = |n: &Number| matches!(store.get(n.real), Term::Inf { .. });
        let over = |n: &Number| {
            let may = |class| store.may_overflow(class, n.real, &self.values.narrow);
            may(Class::PosInf) || may(Class::Nan)
        };
        let beyond = infinite(&x) && over(&y) || infinite(&y) && over(&x);
        if beyond || self.needs_rounding(pc, fmt, op, (x, y)) {
            if self.values.trees.is_some() {
                return None;
            }
            let Some(holds) = idiom::compare(&mut self.values.store, cmp, ty, a, b) else {
                // Encodings of which one is a constant show what they are of.
                if !beyond {
                    self.values.store.note_merged();
                }
                return None;
            };
            return Some(self.values.flipped(holds, order(fmt, op, (x, y))));
        }
        let holds = idiom::compare(&mut self.values.store, cmp, ty, a, b)?;
        self.values.note_test(holds, fmt, (x, y));
        Some(holds)
    }

    fn compare_floats(
        &mut self,
        at: (usize, usize, Pc),
        cmp: Cmp,
        f: Fmt,
        x: Val,
        y: Val,
    ) -> TermId {
        let (a, b) = (self.values.real(x, f), self.values.real(y, f));
        let [known_x, known_y] =
            [(x, a), (y, b)].map(|(v, t)| self.values.is_known(Arg::of(v, f, t)));
        let tests = matches!(cmp, Cmp::Num | Cmp::Nan);
        if tests || !known_x || !known_y {
            let held = |real, v| Number {
                real,
                held: Some(v),
            };
            return self.compare_numbers(at, cmp, f, (held(a, x), held(b, y)));
        }
        let xs = self.values.numbers(Arg::of(x, f, a));
        let ys = self.values.numbers(Arg::of(y, f, b));
        let pairs = xs.iter().flat_map(|&a| ys.iter().map(move |&b| (a, b)));
        let pairs: Vec<(TermId, TermId)> = pairs.collect();
        let mut answers = |cmp| -> Vec<TermId> {
            let known = |real| Number { real, held: None };
            let answer =
                |&(a, b): &(TermId, TermId)| self.compare_numbers(at, cmp, f, (known(a), known(b)));
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
        let says = ["compares", BY_ROUNDING];
        let bit = self.open_bits(at, 1, UnknownKind::Undecided, says);
        self.values.pred(Val::Bits(bit))
    }

    /// A comparison of numbers, each of which may be an infinity or not a number.
    ///
    /// match an unordered form; result the negation of the opposite ordered one; because an ordered
    /// one is false where an operand is not a number.
    fn compare_numbers(
        &mut self,
        at: (usize, usize, Pc),
        cmp: Cmp,
        fmt: Fmt,
        (a, b): (Number, Number),
    ) -> TermId {
        let (op, x, y, negated) = match cmp {
            Cmp::Eq => (RCmp::Eq, a, b, false),
            Cmp::Neu => (RCmp::Eq, a, b, true),
            Cmp::Lt => (RCmp::Lt, a, b, false),
            Cmp::Geu => (RCmp::Lt, a, b, true),
            Cmp::Le => (RCmp::Le, a, b, false),
            Cmp::Gtu => (RCmp::Le, a, b, true),
            Cmp::Gt => (RCmp::Lt, b, a, false),
            Cmp::Leu => (RCmp::Lt, b, a, true),
            Cmp::Ge => (RCmp::Le, b, a, false),
            Cmp::Ltu => (RCmp::Le, b, a, true),
            Cmp::Ne | Cmp::Equ => {
                let same = self.ordered(at, fmt, RCmp::Eq, (a, b));
                let unordered = self.compare_numbers(at, Cmp::Nan, fmt, (a, b));
                let s = &mut self.values.store;
                let either = s.or(same, unordered);
                return if cmp == Cmp::Equ {
                    either
                } else {
                    s.not(either)
                };
            }
            Cmp::Num | Cmp::Nan => {
                let [p, q] = [a, b].map(|n| self.class(at, Class::Nan, fmt, n));
                let s = &mut self.values.store;
                let nan = s.or(p, q);
                return if cmp == Cmp::Nan { nan } else { s.not(nan) };
            }
        };
        let t = self.ordered(at, fmt, op, (x, y));
        if negated { self.values.store.not(t) } else { t }
    }

    /// An ordered comparison.
    fn ordered(
        &mut self,
        at: (usize, usize, Pc),
        fmt: Fmt,
        op: RCmp,
        (x, y): (Number, Number),
    ) -> TermId {
        let rounded = self.needs_rounding(at.2, fmt, op, (x, y));
        if rounded && let Some(holds) = self.values.by_rounding(fmt, op, (x, y)) {
            return holds;
        }
        let holds = self.ordered_reals(at, fmt, op, (x, y));
        match rounded {
            true => self.values.flipped(holds, order(fmt, op, (x, y))),
            false => holds,
        }
    }

    /// `slct`.
    pub(super) fn slct(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) {
        let Op::Slct {
            width,
            cty,
            ftz,
            dst,
            a,
            b,
            c,
        } = op
        else {
            return;
        };
        for lane in lanes(exec) {
            self.values.note_unset(w, pc);
            let (x, y) = (self.src(w, *a, lane), self.src(w, *b, lane));
            let k = self.src(w, *c, lane);
            // -0.0 counts as 0; a NaN picks b, as it is not ordered.
            let p = self.comparison((w, lane, pc), Cmp::Ge, (*cty, *ftz), k, Val::Conc(0));
            let v = self.values.select(p, x, y, *width);
            self.set(w, *dst, lane, v);
        }
    }
}

/// What an ordered comparison asks.
fn order(fmt: Fmt, op: RCmp, (x, y): (Number, Number)) -> Question {
    Question {
        asked: Asked::Order(op),
        fmt,
        operands: [x.real, y.real],
    }
}

/// The question that a comparison of a register with itself asks: whether it holds a number.
fn of_itself(cmp: Cmp, ty: NumTy) -> Cmp {
    match (ty, cmp) {
        (NumTy::Float(_), Cmp::Eq | Cmp::Le | Cmp::Ge) => Cmp::Num,
        (NumTy::Float(_), Cmp::Neu | Cmp::Ltu | Cmp::Gtu) => Cmp::Nan,
        _ => cmp,
    }
}

/// Truth values combined, in each bit of two words.
pub(super) fn bool_op(op: BoolOp, a: u32, b: u32) -> u32 {
    match op {
        BoolOp::And => a & b,
        BoolOp::Or => a | b,
        BoolOp::Xor => a ^ b,
    }
}
