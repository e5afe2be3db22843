//! What the machine finds where the reals alone decide a test.
//!
//! Problem: (x + 1) - 1 is x, and x * x is never an infinity, over the reals; a kernel may test for the opposite, and the
//! machine, which rounds and overflows, may find it. A comparison that comes out in one way at every input
//! ([`crate::term::samples`] saw no other), and of which monotony does not say that rounding leaves it so
//! ([`crate::term::orders`]), is one of the encodings of both numbers. So is a test for an infinity that
//! only a number beyond its format may be ([`crate::term::overflow`]).
//!
//! Such encodings belong to the operations that made them. Where numbers do not remember these, the answer is that of
//! the reals or the other one ([`TermStore::flip`]); what is not decided so is run again with numbers that do.
//!
//! That a number on one side of 0 is not rounded to 0 is an assumption, listed with each test that it decides
//! ([`crate::term::orders::apart`]), and so is that none is beyond its format where a test asks for little else.
//!
//! Sound: a comparison that stays one of reals is a comparison of numbers that no rounding has touched, or has both
//! answers over the reals, where the claim about real inputs takes them, or has one answer that the machine gives too.

use crate::sim::limits::LIMITS;
use num_traits::Signed;

use crate::answer::{self, AssumptionKind};
use crate::kernel::{Fmt, Pc, Rnd};
use crate::term::made::{Kind, Shape};
use crate::term::orders::Orders;
use crate::term::questions::{Asked, Question};
use crate::term::samples::Samples;
use crate::term::{BitsOp, Class, ICmp, RCmp, Term, TermId, TermStore, embeds, layout, pow2};

use super::compare::Number;
use super::machine::Core;
use super::val::Val;
use super::value::Values;

impl Values {
    /// An ordered comparison that only rounding decides, of numbers that remember how they were made.
    pub(super) fn by_rounding(
        &mut self,
        fmt: Fmt,
        op: RCmp,
        (x, y): (Number, Number),
    ) -> Option<TermId> {
        self.trees?;
        let made = [x, y].map(|n| n.held.map(|v| self.operand(v, fmt)));
        let [Some(v), Some(w)] = made else {
            return None;
        };
        let mut holds = self.compare_encodings(op, fmt, (v, w))?;
        for n in [x, y] {
            let nan = self.found_class(Class::Nan, fmt, n);
            let s = &mut self.store;
            let number = s.not(nan);
            holds = s.and(number, holds);
        }
        Some(holds)
    }

    /// The answer of the reals to a test, which rounding may turn over.
    pub(super) fn flipped(&mut self, holds: TermId, question: Question) -> TermId {
        let flip = self.flip(question);
        self.store.xor(holds, flip)
    }

    /// Whether a number is of a class.
    pub(super) fn found_class(&mut self, class: Class, fmt: Fmt, n: Number) -> TermId {
        let t = n.real;
        // An input is finite, whatever it is converted to beside.
        if n.held.is_some_and(|v| self.is_unrounded(fmt, v)) {
            return self.store.is(class, t);
        }
        let remembers = match n.held {
            Some(Val::Real(_, made)) => self.store.as_made(made).is_some(),
            _ => false,
        };
        let Values { store, narrow, .. } = self;
        let is = store.is(class, t);
        if store.facts.reals_decide || !store.may_overflow(class, t, narrow) {
            return is;
        }
        if !remembers && store.has_one_tree(t, narrow) {
            return store.is_found(class, (fmt, t), narrow);
        }
        let over = match (n.held, self.trees) {
            (Some(v), Some(_)) => {
                let encoding = self.operand(v, fmt);
                self.class_of_encoding(class, fmt, encoding)
            }
            _ => None,
        };
        let question = Question {
            asked: Asked::Class(class),
            fmt,
            operands: [t, t],
        };
        let over = over.unwrap_or_else(|| self.flip(question));
        self.store.or(is, over)
    }
}

impl Core<'_> {
    /// A test is decided by no number being beyond its format.
    pub(super) fn takes_for_within(&mut self, pc: Pc) {
        self.takes_for_test(
            pc,
            AssumptionKind::WithinFormat,
            "no number is beyond its format",
        );
    }

    fn takes_for_positive(&mut self, pc: Pc) {
        self.takes_for_test(
            pc,
            AssumptionKind::NotVanishing,
            "no number but 0 is rounded to 0",
        );
    }

    /// A test is decided by what is taken for granted.
    pub(super) fn takes_for_test(&mut self, pc: Pc, kind: AssumptionKind, what: &str) {
        let site = answer::Site::new(&self.fixed.kernel.source, self.fixed.kernel.span(pc), "");
        let message = format!("{what}, which decides the test in line {}", site.line);
        self.found.assumptions.insert(kind.says(message).at(site));
    }

    /// True for an ordered comparison that only rounding decides.
    pub(super) fn needs_rounding(
        &mut self,
        pc: Pc,
        fmt: Fmt,
        op: RCmp,
        (x, y): (Number, Number),
    ) -> bool {
        let (Some(v), Some(w)) = (x.held, y.held) else {
            return false;
        };
        let (a, b) = (x.real, y.real);
        let store = &self.values.store;
        let odd = |t| matches!(store.get(t), Term::Inf { .. } | Term::Undefined);
        if odd(a) || odd(b) || self.values.is_unrounded(fmt, v) && self.values.is_unrounded(fmt, w)
        {
            return false;
        }
        // A test of a number with itself asks whether it is one.
        if v == w && self.values.is_itself(v) || self.values.varies(op, (a, b), Samples::orders) {
            return false;
        }
        let made = self.values.trees.map(|_| {
            let x = self.values.operand(v, fmt);
            (x, self.values.operand(w, fmt))
        });
        let Values { store, narrow, .. } = &self.values;
        let found = store.machine_orders((a, b), made, narrow);
        if found.answers(op) != [true, true] {
            let vanishing = store.orders_by_sign((a, b), true);
            if made.is_none_or(|m| m.0 != m.1) && vanishing.answers(op) == [true, true] {
                self.takes_for_positive(pc);
            }
            return false;
        }
        if self.values.has_sign((a, b)) {
            self.takes_for_positive(pc);
            return false;
        }
        if self.values.is_moderate((a, b)) {
            self.takes_for_within(pc);
            return false;
        }
        // Of what a run with a defect computes nothing is claimed.
        if !self.is_fine() {
            return true;
        }
        let mut looks = [Samples::scaled, Samples::exact].into_iter();
        // Each look evaluates thousands of terms, and there is one for each lane of a comparison.
        !looks.any(|look| self.is_late() || self.values.varies(op, (a, b), look))
    }
}

/// Powers of two below which a threshold asks whether a number has vanished, and from which on, whether it is beyond
/// its format.
const SMALL: i64 = -100;
const LARGE: i64 = 120;

/// For an operation whose result is one of its operands, up to the sign, how many of them come before these.
fn exact_operands(shape: Shape) -> Option<usize> {
    let m = &shape.mods;
    let plain = !(m.sat || m.relu || m.ftz || m.oob);
    let (skip, exact) = match shape.kind {
        Kind::Select => (1, true),
        Kind::Convert => (
            0,
            embeds(shape.src, shape.fmt) && matches!(m.rnd, Rnd::None),
        ),
        Kind::Float(op) => (0, op.is_exact(m)),
        Kind::Known | Kind::OfInt { .. } | Kind::Read | Kind::Product(_) | Kind::Won => (0, false),
    };
    (plain && exact).then_some(skip)
}

impl Values {
    /// True for a number that no rounding has touched: an input or a known one, its sign changed or not, or the
    /// largest, the least or a chosen one of such.
    fn is_unrounded(&mut self, fmt: Fmt, v: Val) -> bool {
        if !matches!(v, Val::Conc(_) | Val::Real(..) | Val::Bits(_)) {
            return false;
        }
        let mut stack = vec![self.operand(v, fmt)];
        for _ in 0..LIMITS.exact_operations {
            let Some(t) = stack.pop() else { return true };
            let store = &self.store;
            let (f, real) = match store.get(t) {
                Term::BitsConst { .. } | Term::Bytes { .. } => continue,
                Term::BitsSelect(_, x, y) => {
                    stack.extend([x, y]);
                    continue;
                }
                Term::OfReal { fmt, real } => (fmt, real),
                _ => return false,
            };
            match store.as_made(real) {
                None if store.is_zero(real) || !store.is_rounded(f, real) => {}
                None => return false,
                Some(made) => match exact_operands(made.shape(store)) {
                    None => return false,
                    Some(skip) => stack.extend(made.operands().skip(skip)),
                },
            }
        }
        false
    }

    /// True for a value that two registers hold only if both hold the same number.
    fn is_itself(&self, v: Val) -> bool {
        match v {
            Val::Real(_, t) => self.trees.is_some() && self.store.as_made(t).is_some(),
            Val::Open(..) => true,
            _ => false,
        }
    }

    /// True if a comparison is seen to have both answers over the reals.
    fn varies(
        &mut self,
        op: RCmp,
        (a, b): (TermId, TermId),
        look: fn(&mut Samples, &TermStore, TermId, TermId) -> Orders,
    ) -> bool {
        // What is less here and more there is equal between, unless it goes by steps and passes over it.
        let (p, q) = (self.store.grid(a), self.store.grid(b));
        let known = |t| self.store.as_const(t).is_some();
        let passes = matches!((p, q), (Some(p), Some(q)) if p > q && known(b) || q > p && known(a));
        let found = look(&mut self.samples, &self.store, a, b);
        let crosses = op == RCmp::Eq && !passes && found.has(Orders::LESS.or(Orders::MORE));
        crosses || found.answers(op) == [true, true]
    }

    /// True for a comparison with 0, or with what is hardly more, of a number whose side of 0 the machine finds.
    fn has_sign(&mut self, (a, b): (TermId, TermId)) -> bool {
        let Values { store, apart, .. } = self;
        let small = |t| store.as_const(t).is_some_and(|c| c.abs() <= pow2(SMALL));
        small(a) && apart.has_sign(store, b) || small(b) && apart.has_sign(store, a)
    }

    /// True for a comparison with what is nearly beyond a format, of a number that is large only where inputs are.
    fn is_moderate(&mut self, (a, b): (TermId, TermId)) -> bool {
        let Values { store, apart, .. } = self;
        let large = |t| store.as_const(t).is_some_and(|c| c.abs() >= pow2(LARGE));
        large(a) && apart.is_moderate(store, b) || large(b) && apart.is_moderate(store, a)
    }

    /// A comparison of two encodings of numbers: their magnitudes with their signs, which zeros do not have.
    fn compare_encodings(
        &mut self,
        op: RCmp,
        fmt: Fmt,
        (x, y): (TermId, TermId),
    ) -> Option<TermId> {
        layout(fmt)?;
        let [x, y] = [x, y].map(|t| {
            let sign = fmt.bits() as u8 - 1;
            let s = &mut self.store;
            let (low, zero, set) = (s.extract(t, 0, sign), s.bits(1, 0), s.bits(1, 1));
            let top = s.extract(t, sign, 1);
            let magnitude = s.concat(&[low, zero]);
            let (ones, one) = (s.bits(sign + 1, u64::MAX), s.bits(sign + 1, 1));
            let flipped = s.bits_op(BitsOp::Xor, magnitude, ones);
            let negative = s.bits_op(BitsOp::Add, flipped, one);
            let minus = s.icmp(ICmp::Eq, top, set);
            s.select(minus, negative, magnitude)
        });
        let op = match op {
            RCmp::Lt => ICmp::SLt,
            RCmp::Le => ICmp::SLe,
            RCmp::Eq => ICmp::Eq,
        };
        Some(self.store.icmp(op, x, y))
    }

    /// Whether an encoding is of a class.
    fn class_of_encoding(&mut self, class: Class, fmt: Fmt, t: TermId) -> Option<TermId> {
        let (_, mantissa, ..) = layout(fmt)?;
        let width = fmt.bits() as u8;
        let s = &mut self.store;
        let ones = (1u64 << (u32::from(width) - 1)) - 1;
        let infinity = ones >> mantissa << mantissa;
        Some(match class {
            Class::Nan => {
                let (low, zero) = (s.extract(t, 0, width - 1), s.bits(1, 0));
                let magnitude = s.concat(&[low, zero]);
                let infinite = s.bits(width, infinity);
                s.icmp(ICmp::ULt, infinite, magnitude)
            }
            Class::PosInf => {
                let infinite = s.bits(width, infinity);
                s.icmp(ICmp::Eq, t, infinite)
            }
            Class::NegInf => {
                let infinite = s.bits(width, infinity | 1 << (width - 1));
                s.icmp(ICmp::Eq, t, infinite)
            }
        })
    }
}
