//! Known numbers as the machine has them.
//!
//! The problem: over the reals, 25 times the f32 nearest to 1/25 is a little less than 1; the product
//! in f32 is 1. Outputs are meant over the reals, but where a known number becomes an integer or is
//! compared, an address or a branch follows, and those are the machine's. So a known number that some
//! rounding touched remembers what a register may really hold ([`crate::term::made`]); integers
//! and comparisons are taken from that, and are `unknown` where it leaves them open. What is remembered
//! belongs to the register: the same real by another way is another number.
//!
//! Sources: PTX ISA 9.0, section 9.7.3 (rounding modifiers; without one, products and sums may be
//! contracted to one rounding; the errors of approximations), IEEE 754-2019, section 4.3 (rounding).
//!
//! Sound: what each legal translation computes lies in the kept set, or between the least and the
//! greatest of it. The operations that are followed are monotone or linear in each operand, so the
//! results at the ends enclose all others; where a sign could change between them a number may be
//! anything. A number that overflows for certain is the infinity of the machine.

use crate::sim::limits::LIMITS;
use std::cmp::Ordering;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use crate::kernel::{FloatMods, FloatOp, Fmt, Rnd};
use crate::number::{self, Narrowing};
use crate::term::made::{Kind, Shape};
use crate::term::{Term, TermId, decode, encode_exact, least, pow2, root, round};

use super::val::Val;
use super::value::Values;

/// The error of an approximation that is allowed is less than 2^-20 of the result, or, for
/// logarithms, sines and cosines, of 1: the manual's bounds are two units in the last place of f32 and
/// 2^-20.5. That of `tanh` is 2^-10.9, and binary16 has coarser ones. At 0 the manual's tables say what comes.
const APPROXIMATE: i64 = -20;
const COARSE: i64 = -9;

/// What a register may hold for a number.
#[derive(Clone, Debug, Default, PartialEq)]
struct Held {
    values: Vec<Number>,
    /// What a product was before it was rounded: a sum may take it as that.
    products: Vec<Number>,
}

/// A number of the machine.
#[derive(Clone, Debug, PartialEq)]
enum Number {
    Finite(BigRational),
    Infinite { negative: bool },
}

use Number::{Finite, Infinite};

impl Number {
    fn is_negative(&self) -> bool {
        match self {
            Finite(q) => q.is_negative(),
            Infinite { negative } => *negative,
        }
    }

    fn is_zero(&self) -> bool {
        self.finite().is_some_and(Zero::is_zero)
    }

    fn finite(&self) -> Option<&BigRational> {
        match self {
            Finite(q) => Some(q),
            Infinite { .. } => None,
        }
    }

    fn compare(&self, other: &Number) -> Ordering {
        match (self, other) {
            (Finite(x), Finite(y)) => x.cmp(y),
            (Infinite { negative: a }, Infinite { negative: b }) => b.cmp(a),
            (Infinite { negative }, Finite(_)) if *negative => Ordering::Less,
            (Finite(_), Infinite { negative }) if !negative => Ordering::Less,
            _ => Ordering::Greater,
        }
    }
}

/// A source of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// Its format.
    pub fmt: Fmt,
    /// The number over the reals.
    pub t: TermId,
    /// True if the register holds known bits: exactly this number.
    pub bits: bool,
    /// The number with what it remembers.
    made: TermId,
}

impl Arg {
    /// The number that a register holds.
    pub fn of(v: Val, fmt: Fmt, t: TermId) -> Arg {
        let bits = matches!(v, Val::Conc(_));
        let made = match v {
            Val::Real(_, made) => made,
            _ => t,
        };
        Arg { fmt, t, bits, made }
    }

    /// A number that is held exactly.
    pub fn exact(fmt: Fmt, t: TermId) -> Arg {
        Arg {
            fmt,
            t,
            bits: true,
            made: t,
        }
    }
}

impl Values {
    /// What the machine may find in a register that holds a known number; none where that is open.
    pub fn numbers(&self, x: Arg) -> Vec<TermId> {
        match self.store.held(x.made).filter(|_| !x.bits) {
            None => vec![x.t],
            Some((values, _)) => values,
        }
    }

    /// True if a register holds a known number.
    pub fn is_known(&self, x: Arg) -> bool {
        !self.store.is_ordinary(x.t) || self.store.held(x.made).is_some()
    }

    fn get(&self, x: Arg) -> Option<Held> {
        let number = |t: &TermId| match self.store.get(*t) {
            Term::Const(c) => Some(Finite(self.store.constant(c).clone())),
            Term::Inf { neg } => Some(Infinite { negative: neg }),
            _ => None,
        };
        let all = |list: Vec<TermId>| list.iter().map(number).collect::<Option<Vec<Number>>>();
        match self.store.held(x.made).filter(|_| !x.bits) {
            Some((values, _)) if values.is_empty() => None,
            Some((values, products)) => Some(Held {
                values: all(values)?,
                products: all(products)?,
            }),
            None => Some(Held {
                values: vec![number(&x.t)?],
                products: Vec::new(),
            }),
        }
    }

    /// The number `t` with what a register may hold for it.
    fn keep(&mut self, (fmt, t): (Fmt, TermId), held: Option<Held>) -> TermId {
        let Some(h) = held else {
            return self.remember(fmt, t, &[], &[]);
        };
        if let [Infinite { negative }] = h.values[..] {
            return self.store.infinity(negative);
        }
        let exact = self.store.as_const(t);
        let plain = |n: &Number| n.finite() == exact && exact.is_some();
        if h.values.iter().chain(&h.products).all(plain) {
            return t;
        }
        let mut terms = |list: Vec<Number>| -> Vec<TermId> {
            let term = |n: Number| match n {
                Finite(q) => self.store.rational(q),
                Infinite { negative } => self.store.infinity(negative),
            };
            list.into_iter().map(term).collect()
        };
        let (values, products) = (terms(h.values), terms(h.products));
        self.remember(fmt, t, &values, &products)
    }

    fn remember(&mut self, fmt: Fmt, t: TermId, values: &[TermId], products: &[TermId]) -> TermId {
        let shape = Shape::new(Kind::Known, fmt, fmt, FloatMods::default());
        let mut operands = values.to_vec();
        if !products.is_empty() {
            operands.push(self.store.undefined());
            operands.extend(products);
        }
        self.store.made(t, shape, &operands)
    }

    /// The result `t` of an operation, with what the machine makes of it where its operands are known
    /// numbers; `None` where they are not.
    pub fn follow(
        &mut self,
        op: FloatOp,
        mods: &FloatMods,
        args: &[Arg],
        (fmt, t): (Fmt, TermId),
    ) -> Option<TermId> {
        if !args.iter().all(|a| self.is_known(*a)) {
            return None;
        }
        // An infinity that is written down, or a NaN, follows the rules of the reals.
        let odd = |t| matches!(self.store.get(t), Term::Inf { .. } | Term::Undefined);
        if odd(t) || args.iter().any(|a| odd(a.t)) {
            return Some(t);
        }
        // A choice among numbers that are held exactly rounds nothing.
        let exactly = |a: &Arg| a.bits || self.store.held(a.made).is_none();
        if op.is_exact(mods) && args.iter().all(exactly) {
            return Some(t);
        }
        // match a quotient by exactly 0; result that of the reals; because nothing is rounded: it is an infinity with
        // the signs of both, or no number.
        let divisor = match op {
            FloatOp::Div => args.get(1),
            FloatOp::Rcp => args.first(),
            _ => None,
        };
        if divisor.is_some_and(|d| exactly(d) && self.store.is_zero(d.t)) {
            return Some(t);
        }
        let held: Option<Vec<Held>> = args.iter().map(|a| self.get(*a)).collect();
        let held = held.and_then(|h| results(op, mods, args, &h, fmt));
        Some(self.keep((fmt, t), held))
    }

    /// The number `t` is that of `from`, a known one, in another format: exactly what the machine rounds it
    /// to, where that is one number other than zero, the sign of which would be lost.
    pub fn narrowed(&mut self, from: Arg, rnd: Rnd, to: (Fmt, TermId)) -> Option<TermId> {
        if !self.is_known(from) {
            return None;
        }
        let infinite = |t| !self.store.is_ordinary(t) && !self.store.is_rational(t);
        if infinite(to.1) {
            return Some(to.1);
        }
        let held = self.get(from).and_then(|h| {
            let value = |v: &Number| match v {
                Finite(q) => rounded(to.0, rnd, q.clone()),
                Infinite { .. } => Some(v.clone()),
            };
            let values: Option<Vec<Number>> = h.values.iter().map(value).collect();
            let mut new = Held {
                values: values?,
                products: Vec::new(),
            };
            new.tidy();
            Some(new)
        });
        if let Some([Finite(only)]) = held.as_ref().map(|h| &h.values[..])
            && !only.is_zero()
        {
            return Some(self.store.rational(only.clone()));
        }
        Some(self.keep(to, held))
    }

    /// The number `t`, of which a clamp made a known one: what a register holds is exactly that, or open.
    pub fn clamped(&mut self, from: Arg, to: (Fmt, TermId)) -> Option<TermId> {
        if !self.is_known(from) {
            return None;
        }
        if from.bits || self.store.held(from.made).is_none() {
            return self.narrowed(Arg::exact(to.0, to.1), Rnd::Rn, to);
        }
        Some(self.keep(to, None))
    }
}

/// True if a format has the number.
fn has(fmt: Fmt, v: &BigRational) -> bool {
    match fmt {
        // A format of exponents alone.
        Fmt::Ue8m0 => {
            let one = BigInt::one();
            let (n, d) = (v.numer(), v.denom());
            let power = |x: &BigInt| x.bits() <= 128 && *x == &one << (x.bits().max(1) - 1);
            v.is_positive() && power(n) && power(d) && (*n == one || *d == one)
        }
        _ => v.is_zero() || encode_exact(fmt, v).is_some(),
    }
}

/// A number as a register of a format holds it; `None` where it has to be rounded and the format has no IEEE
/// layout.
fn rounded(fmt: Fmt, rnd: Rnd, v: BigRational) -> Option<Number> {
    if fmt == Fmt::Tf32 && !v.is_zero() {
        // A register of tf32 is one of f32 whose last bits are zeros.
        let how = Narrowing {
            rnd,
            ..Narrowing::default()
        };
        let bits = encode_exact(Fmt::F32, &v)?;
        let bits = number::float_to_float(Fmt::F32, Fmt::Tf32, &how, bits)?;
        return decode(Fmt::F32, bits).ok().map(Finite);
    }
    if has(fmt, &v) {
        return Some(Finite(v));
    }
    crate::term::layout(fmt)?;
    if matches!(rnd, Rnd::Rs) {
        return None;
    }
    Some(match round(fmt, rnd, &v) {
        Some(r) => Finite(r),
        None => Infinite {
            negative: v.is_negative(),
        },
    })
}

/// What may come of an operation on known numbers; `None` if that is open.
fn results(op: FloatOp, mods: &FloatMods, args: &[Arg], held: &[Held], fmt: Fmt) -> Option<Held> {
    if mods.abs || mods.xorsign_abs || mods.oob {
        return None;
    }
    let flush = |v: &Number, f: Fmt| match v {
        Finite(q) if mods.ftz && q.abs() < least(f) => Finite(BigRational::zero()),
        v => v.clone(),
    };
    let contracts = mods.rnd == Rnd::None && matches!(op, FloatOp::Add | FloatOp::Sub);
    let choices: Vec<Vec<Number>> = held
        .iter()
        .zip(args)
        .map(|(h, a)| {
            let products = h.products.iter().filter(|_| contracts);
            let all = h.values.iter().chain(products);
            all.map(|v| flush(v, a.fmt)).collect()
        })
        .collect();
    // Between numbers of both signs lie others for which these are not monotone, and a zero has no sign here.
    let one_sign = match op {
        FloatOp::Rcp | FloatOp::Rsqrt | FloatOp::Abs => Some(0),
        FloatOp::Div | FloatOp::Copysign => Some(1),
        _ => None,
    };
    if let Some(list) = one_sign.and_then(|i| choices.get(i))
        && list.iter().any(|v| {
            v.is_negative() != list[0].is_negative() || op == FloatOp::Copysign && v.is_zero()
        })
    {
        return None;
    }
    if op == FloatOp::Copysign
        && choices
            .first()
            .is_some_and(|s| s.iter().any(Number::is_zero))
    {
        return None;
    }
    let mut new = Held::default();
    let combinations: usize = choices.iter().map(Vec::len).product();
    for n in 0..combinations {
        let mut rest = n;
        let mut x = Vec::with_capacity(args.len());
        for options in &choices {
            x.push(&options[rest % options.len()]);
            rest /= options.len();
        }
        let Some(finite) = x.iter().map(|v| v.finite()).collect::<Option<Vec<_>>>() else {
            new.values.push(at_infinity(op, &x)?);
            continue;
        };
        let single = combinations == 1;
        let ends = bounds(op, &finite, fmt, mods.approx, single)?;
        if op == FloatOp::Mul && mods.rnd == Rnd::None && !mods.sat && !mods.relu {
            new.products.extend(ends.iter().cloned().map(Finite));
        }
        for end in ends {
            let v = rounded(fmt, mods.rnd, clamp(end, mods))?;
            new.values.push(flush(&v, fmt));
        }
    }
    new.tidy();
    Some(new)
}

/// The number that an instruction computes before it is rounded, or, of an approximation, two between
/// which it lies.
fn bounds(
    op: FloatOp,
    x: &[&BigRational],
    fmt: Fmt,
    approx: bool,
    single: bool,
) -> Option<Vec<BigRational>> {
    let coarse = op == FloatOp::Tanh || fmt != Fmt::F32 && fmt != Fmt::F64;
    let error = pow2(if coarse { COARSE } else { APPROXIMATE });
    let one = BigRational::one();
    let relative = |low: BigRational, high: BigRational| {
        let (e, f) = (low.abs() * &error, high.abs() * &error);
        vec![low - e, high + f]
    };
    let power = |e: &BigRational| {
        let e: i64 = e.to_integer().try_into().ok()?;
        (e.abs() <= LIMITS.exponent).then(|| pow2(e))
    };
    Some(match op {
        FloatOp::Ex2 | FloatOp::Cos if x[0].is_zero() => vec![one],
        FloatOp::Sin | FloatOp::Tanh if x[0].is_zero() => vec![BigRational::zero()],
        FloatOp::Ex2 => relative(power(&x[0].floor())?, power(&x[0].ceil())?),
        FloatOp::Lg2 if x[0].is_positive() => {
            let e = x[0].numer().bits() as i64 - x[0].denom().bits() as i64;
            let whole = |e: i64| BigRational::from_integer(e.into());
            // Exact at powers of two, up to the error.
            match pow2(e) == *x[0] {
                true => vec![whole(e) - &error, whole(e) + &error],
                false => vec![whole(e - 1) - &error, whole(e + 1) + &error],
            }
        }
        FloatOp::Sin | FloatOp::Cos | FloatOp::Tanh if !single || op != FloatOp::Tanh => {
            vec![-&one - &error, &one + &error]
        }
        FloatOp::Tanh => match x[0].is_negative() {
            true => vec![-&one - &error, BigRational::zero()],
            false => vec![BigRational::zero(), &one + &error],
        },
        FloatOp::Rsqrt if x[0].is_positive() => {
            let r = root(fmt, &x[0].recip())?;
            relative(r.clone(), r)
        }
        FloatOp::Sqrt if x[0].is_zero() => vec![BigRational::zero()],
        FloatOp::Sqrt if x[0].is_positive() && approx => {
            let r = root(fmt, x[0])?;
            relative(r.clone(), r)
        }
        FloatOp::Sqrt if x[0].is_positive() => vec![root(fmt, x[0])?],
        _ if approx => {
            let v = exact(op, x)?;
            relative(v.clone(), v)
        }
        _ => vec![exact(op, x)?],
    })
}

/// The result where an operand is an infinity of the machine.
fn at_infinity(op: FloatOp, x: &[&Number]) -> Option<Number> {
    let negative = |n: &Number| n.is_negative();
    let infinite = |negative| Some(Infinite { negative });
    let zero = |n: &Number| n.is_zero();
    match (op, x) {
        (FloatOp::Neg, [a]) => infinite(!negative(a)),
        (FloatOp::Abs, [_]) => infinite(false),
        (FloatOp::Add, [a, Finite(_)] | [Finite(_), a]) => infinite(negative(a)),
        (FloatOp::Add, [a, b]) if negative(a) == negative(b) => infinite(negative(a)),
        (FloatOp::Sub, [a, Finite(_)]) => infinite(negative(a)),
        (FloatOp::Sub, [Finite(_), b]) => infinite(!negative(b)),
        (FloatOp::Mul, [a, b]) if !zero(a) && !zero(b) => infinite(negative(a) != negative(b)),
        (FloatOp::Min, [a, b]) if a.compare(b).is_le() => Some((*a).clone()),
        (FloatOp::Min, [_, b]) => Some((*b).clone()),
        (FloatOp::Max, [a, b]) if a.compare(b).is_ge() => Some((*a).clone()),
        (FloatOp::Max, [_, b]) => Some((*b).clone()),
        _ => None,
    }
}

impl Held {
    fn tidy(&mut self) {
        for list in [&mut self.values, &mut self.products] {
            list.sort_by(Number::compare);
            list.dedup();
            if list.len() > LIMITS.rounded_values {
                list.drain(1..list.len() - 1);
            }
        }
    }
}

fn clamp(v: BigRational, mods: &FloatMods) -> BigRational {
    let v = if mods.relu || mods.sat {
        v.max(BigRational::zero())
    } else {
        v
    };
    if mods.sat {
        v.min(BigRational::one())
    } else {
        v
    }
}

/// The result before it is rounded; `None` for operations that are not followed.
fn exact(op: FloatOp, x: &[&BigRational]) -> Option<BigRational> {
    Some(match (op, x) {
        (FloatOp::Add, [a, b]) => *a + *b,
        (FloatOp::Sub, [a, b]) => *a - *b,
        (FloatOp::Mul, [a, b]) => *a * *b,
        (FloatOp::Fma, [a, b, c]) => *a * *b + *c,
        (FloatOp::Div, [a, b]) if !b.is_zero() => *a / *b,
        (FloatOp::Rcp, [a]) if !a.is_zero() => a.recip(),
        (FloatOp::Neg, [a]) => -*a,
        (FloatOp::Abs, [a]) => a.abs(),
        (FloatOp::Min, [a, b]) => (*a).min(*b).clone(),
        (FloatOp::Max, [a, b]) => (*a).max(*b).clone(),
        (FloatOp::Min3, [a, b, c]) => (*a).min(*b).min(*c).clone(),
        (FloatOp::Max3, [a, b, c]) => (*a).max(*b).max(*c).clone(),
        (FloatOp::Copysign, [a, b]) if a.is_negative() => -b.abs(),
        (FloatOp::Copysign, [_, b]) => b.abs(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
