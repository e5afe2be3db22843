//! Arithmetic on values: exact while it can be, intervals beyond.
//!
//! The rules for infinities and for what is not a number are IEEE's without rounding: where an
//! interval leaves open whether an operation is defined the result is undecided.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::dyadic::{Dyadic, Interval};
use super::value::Value;
use super::{Class, Fun, RCmp};
use crate::scalar::Fmt;

/// Rationals with more bits than this in numerator and denominator become intervals.
const MAX_RATIONAL_BITS: u64 = 1024;

/// A value as a real operand: a number, an infinity, or why it is neither.
enum Real<'v> {
    Num(&'v Value),
    Inf(Infinity),
    /// Any infinity or not a number.
    Open,
    None(Value),
}

/// An infinity: whether it is minus, if that is known, and whether finite operands made it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Infinity {
    neg: Option<bool>,
    pole: bool,
}

impl Infinity {
    fn value(self) -> Value {
        match self.neg {
            Some(neg) if !self.pole => inf(neg),
            neg => Value::Pole(neg),
        }
    }

    /// The infinity with its sign changed where `flip` holds.
    fn flipped(self, flip: Option<bool>) -> Value {
        let neg = self.neg.zip(flip).map(|(n, f)| n != f);
        Infinity { neg, ..self }.value()
    }
}

fn real(v: &Value) -> Real<'_> {
    match v {
        Value::Exact(_) | Value::Interval(_) => Real::Num(v),
        Value::PosInf | Value::NegInf => Real::Inf(Infinity {
            neg: Some(*v == Value::NegInf),
            pole: false,
        }),
        Value::Pole(neg) => Real::Inf(Infinity {
            neg: *neg,
            pole: true,
        }),
        Value::NotFinite => Real::Open,
        Value::Undefined => Real::None(Value::Undefined),
        _ => Real::None(Value::Undecided),
    }
}

pub(super) fn inf(neg: bool) -> Value {
    if neg { Value::NegInf } else { Value::PosInf }
}

/// Whether a value is of a class.
pub(super) fn is(class: Class, x: &Value) -> Value {
    let neg = match real(x) {
        Real::None(Value::Undefined) => return Value::Bool(class == Class::Nan),
        Real::None(v) => return v,
        Real::Open => return Value::Undecided,
        Real::Num(_) => return Value::Bool(false),
        Real::Inf(i) => i.neg,
    };
    match (class, neg) {
        (Class::Nan, _) => Value::Bool(false),
        (_, None) => Value::Undecided,
        (Class::PosInf, Some(n)) => Value::Bool(!n),
        (Class::NegInf, Some(n)) => Value::Bool(n),
    }
}

/// Whether a real is beyond a format for the machine. What is far within it has not come near its
/// end on the way either, most likely; of the rest nothing is said.
pub(super) fn overflows(fmt: Fmt, x: &Value, prec: u32) -> Value {
    let near = if matches!(fmt, Fmt::F32 | Fmt::Bf16 | Fmt::F64 | Fmt::Tf32) {
        60
    } else {
        5
    };
    let limit = Dyadic::new(BigInt::one(), near);
    match real(x) {
        Real::Num(n) => match n.interval(prec) {
            Some(i) if i.hi < limit && i.lo > limit.neg() => Value::Bool(false),
            _ => Value::Undecided,
        },
        // The question is asked only beside the one whether it is of that class anyhow.
        _ => Value::Bool(false),
    }
}

impl Value {
    /// The enclosure of a number.
    pub fn interval(&self, prec: u32) -> Option<Interval> {
        match self {
            Value::Exact(q) => Some(Interval::from_rational(q, prec)),
            Value::Interval(i) => Some(i.clone()),
            _ => None,
        }
    }

    /// -1, 0 or 1 where it is certain.
    pub fn sign(&self) -> Option<i32> {
        match self {
            Value::Exact(q) => Some(if q.is_zero() {
                0
            } else if q.is_positive() {
                1
            } else {
                -1
            }),
            Value::Interval(i) if i.lo.signum() > 0 => Some(1),
            Value::Interval(i) if i.hi.signum() < 0 => Some(-1),
            Value::Interval(i) if i.lo.is_zero() && i.hi.is_zero() => Some(0),
            Value::PosInf | Value::Pole(Some(false)) => Some(1),
            Value::NegInf | Value::Pole(Some(true)) => Some(-1),
            _ => None,
        }
    }

    /// A nearby double, for people and for search.
    pub fn approx(&self) -> Option<f64> {
        match self {
            Value::Exact(q) => {
                let i = Interval::from_rational(q, 64);
                Some(i.lo.to_f64())
            }
            Value::Interval(i) => Some((i.lo.to_f64() + i.hi.to_f64()) / 2.0),
            Value::PosInf => Some(f64::INFINITY),
            Value::NegInf => Some(f64::NEG_INFINITY),
            _ => None,
        }
    }

    fn of(i: Option<Interval>) -> Value {
        match i.and_then(Interval::checked) {
            Some(i) => Value::Interval(i),
            None => Value::Undecided,
        }
    }

    fn capped(q: BigRational, prec: u32) -> Value {
        if q.numer().bits() + q.denom().bits() > MAX_RATIONAL_BITS {
            Value::Interval(Interval::from_rational(&q, prec))
        } else {
            Value::Exact(q)
        }
    }
}

/// log2 of a denominator that is a power of two.
fn power_of_two(d: &BigInt) -> Option<u64> {
    let k = d.trailing_zeros()?;
    (d.bits() == k + 1).then_some(k)
}

/// m / 2^k in lowest terms, without a general greatest common divisor.
fn dyadic(m: BigInt, k: u64) -> BigRational {
    let z = m.trailing_zeros().unwrap_or(k).min(k);
    BigRational::new_raw(m >> z, BigInt::one() << (k - z))
}

fn add_exact(x: &BigRational, y: &BigRational) -> BigRational {
    match (power_of_two(x.denom()), power_of_two(y.denom())) {
        (Some(a), Some(b)) => {
            let k = a.max(b);
            dyadic((x.numer() << (k - a)) + (y.numer() << (k - b)), k)
        }
        _ => x + y,
    }
}

fn mul_exact(x: &BigRational, y: &BigRational) -> BigRational {
    match (power_of_two(x.denom()), power_of_two(y.denom())) {
        (Some(a), Some(b)) => dyadic(x.numer() * y.numer(), a + b),
        _ => x * y,
    }
}

fn enclosed(x: &Value, prec: u32) -> Interval {
    x.interval(prec)
        .unwrap_or_else(|| Interval::point(Dyadic::zero()))
}

pub(super) fn add(x: &Value, y: &Value, prec: u32) -> Value {
    match (real(x), real(y)) {
        (Real::None(Value::Undefined), _) | (_, Real::None(Value::Undefined)) => Value::Undefined,
        (Real::None(v), _) | (_, Real::None(v)) => v,
        (Real::Open, _) | (_, Real::Open) => Value::NotFinite,
        (Real::Inf(a), Real::Inf(b)) => match a.neg.zip(b.neg) {
            None => Value::NotFinite,
            Some((m, n)) if m != n => Value::Undefined,
            _ => Infinity {
                pole: a.pole || b.pole,
                ..a
            }
            .value(),
        },
        (Real::Inf(a), _) | (_, Real::Inf(a)) => a.value(),
        (Real::Num(Value::Exact(a)), Real::Num(Value::Exact(b))) => {
            Value::capped(add_exact(a, b), prec)
        }
        (Real::Num(a), Real::Num(b)) => {
            Value::of(Some(enclosed(a, prec).add(&enclosed(b, prec), prec)))
        }
    }
}

pub(super) fn mul(x: &Value, y: &Value, prec: u32) -> Value {
    match (real(x), real(y)) {
        (Real::None(Value::Undefined), _) | (_, Real::None(Value::Undefined)) => Value::Undefined,
        (Real::None(v), _) | (_, Real::None(v)) => v,
        (Real::Open, _) | (_, Real::Open) => Value::NotFinite,
        (Real::Inf(a), Real::Inf(b)) => Infinity {
            pole: a.pole || b.pole,
            ..a
        }
        .flipped(b.neg),
        (Real::Inf(a), Real::Num(n)) | (Real::Num(n), Real::Inf(a)) => match n.sign() {
            Some(0) => Value::Undefined,
            Some(s) => a.flipped(Some(s < 0)),
            None => Value::NotFinite,
        },
        (Real::Num(Value::Exact(a)), Real::Num(Value::Exact(b))) => {
            Value::capped(mul_exact(a, b), prec)
        }
        (Real::Num(a), Real::Num(b)) if a.sign() == Some(0) || b.sign() == Some(0) => {
            Value::Exact(BigRational::zero())
        }
        (Real::Num(a), Real::Num(b)) => {
            Value::of(Some(enclosed(a, prec).mul(&enclosed(b, prec), prec)))
        }
    }
}

pub(super) fn div(x: &Value, y: &Value, prec: u32) -> Value {
    match (real(x), real(y)) {
        (Real::None(Value::Undefined), _) | (_, Real::None(Value::Undefined)) => Value::Undefined,
        (Real::None(v), _) | (_, Real::None(v)) => v,
        (_, Real::Open) => Value::Undecided,
        (Real::Open, Real::Num(_)) => Value::NotFinite,
        (Real::Open, _) => Value::Undefined,
        (Real::Inf(_), Real::Inf(_)) => Value::Undefined,
        (Real::Num(_), Real::Inf(_)) => Value::Exact(BigRational::zero()),
        (Real::Inf(a), Real::Num(n)) => match n.sign() {
            Some(0) => Value::Pole(None),
            Some(s) => a.flipped(Some(s < 0)),
            None => Value::NotFinite,
        },
        (Real::Num(a), Real::Num(b)) if b.sign() == Some(0) => match a.sign() {
            Some(0) => Value::Undefined,
            Some(_) => Value::Pole(None),
            None => Value::NotFinite,
        },
        (Real::Num(Value::Exact(a)), Real::Num(Value::Exact(b))) => Value::capped(a / b, prec),
        (Real::Num(a), Real::Num(b)) => Value::of(enclosed(a, prec).div(&enclosed(b, prec), prec)),
    }
}

pub(super) fn neg(x: &Value) -> Value {
    match x {
        Value::Exact(q) => Value::Exact(-q),
        Value::Interval(i) => Value::Interval(i.neg()),
        Value::PosInf => Value::NegInf,
        Value::NegInf => Value::PosInf,
        Value::Pole(n) => Value::Pole(n.map(|n| !n)),
        Value::NotFinite => Value::NotFinite,
        Value::Undefined => Value::Undefined,
        _ => Value::Undecided,
    }
}

/// The larger (or smaller) of two; what is no number is dropped.
pub(super) fn extremum(x: &Value, y: &Value, min: bool, prec: u32) -> Value {
    match (real(x), real(y)) {
        (Real::None(Value::Undefined), _) => y.clone(),
        (_, Real::None(Value::Undefined)) => x.clone(),
        (Real::None(v), _) | (_, Real::None(v)) => v,
        (Real::Open, _) | (_, Real::Open) => Value::Undecided,
        (Real::Inf(a), _) if a.neg == Some(min) => x.clone(),
        (_, Real::Inf(a)) if a.neg == Some(min) => y.clone(),
        (Real::Inf(a), _) if a.neg == Some(!min) => y.clone(),
        (_, Real::Inf(a)) if a.neg == Some(!min) => x.clone(),
        (Real::Inf(_), _) | (_, Real::Inf(_)) => Value::Undecided,
        (Real::Num(Value::Exact(a)), Real::Num(Value::Exact(b))) => {
            if (a >= b) != min {
                x.clone()
            } else {
                y.clone()
            }
        }
        (Real::Num(a), Real::Num(b)) => {
            let (a, b) = (enclosed(a, prec), enclosed(b, prec));
            Value::of(Some(if min { a.min(&b) } else { a.max(&b) }))
        }
    }
}

/// The nearest integer, ties to even.
fn round_even(q: &BigRational) -> BigRational {
    let twice: BigInt = q.numer() * 2 + q.denom();
    let (f, rest) = twice.div_mod_floor(&(q.denom() * 2));
    let tie = rest.is_zero() && f.is_odd();
    BigRational::from_integer(if tie { f - 1 } else { f })
}

/// The exact root of a rational that is the square of one.
fn exact_sqrt(q: &BigRational) -> Option<BigRational> {
    let (n, d) = (q.numer().sqrt(), q.denom().sqrt());
    (&n * &n == *q.numer() && &d * &d == *q.denom()).then(|| BigRational::new_raw(n, d))
}

/// A function of an infinity.
fn at_infinity(f: Fun, x: Infinity) -> Value {
    let int = |i: i64| Value::Exact(BigRational::from_integer(i.into()));
    match (f, x.neg) {
        (Fun::Sin | Fun::Cos, _) => Value::Undefined,
        (Fun::Floor | Fun::Ceil | Fun::Trunc | Fun::RoundEven, _) => x.value(),
        (Fun::Abs, _) => Infinity {
            neg: Some(false),
            ..x
        }
        .value(),
        (_, None) => Value::Undecided,
        (Fun::Exp2, Some(true)) | (Fun::Rsqrt, Some(false)) => int(0),
        (Fun::Exp2 | Fun::Log2 | Fun::Sqrt, Some(false)) => x.value(),
        (Fun::Tanh | Fun::Erf, Some(neg)) => int(if neg { -1 } else { 1 }),
        (Fun::Log2 | Fun::Sqrt | Fun::Rsqrt, Some(true)) => Value::Undefined,
    }
}

pub(super) fn fun(f: Fun, x: &Value, prec: u32) -> Value {
    let n = match real(x) {
        Real::None(v) => return v,
        Real::Inf(x) => return at_infinity(f, x),
        Real::Open => {
            return match f {
                Fun::Exp2 | Fun::Tanh | Fun::Erf | Fun::Rsqrt => Value::Undecided,
                Fun::Sin | Fun::Cos => Value::Undefined,
                _ => Value::NotFinite,
            };
        }
        Real::Num(n) => n,
    };
    match (f, n.sign()) {
        (Fun::Sqrt | Fun::Rsqrt | Fun::Log2, Some(-1)) => return Value::Undefined,
        (Fun::Rsqrt, Some(0)) => return Value::Pole(None),
        (Fun::Log2, Some(0)) => return Value::Pole(Some(true)),
        _ => {}
    }
    let integral = |g: fn(&BigRational) -> BigRational| match n {
        Value::Exact(q) => Value::Exact(g(q)),
        // All numbers of an enclosure may have one integer, which is then exact.
        _ => match Value::of(enclosed(n, prec).integral(g)) {
            Value::Interval(i) if i.lo == i.hi => {
                i.lo.floor()
                    .map_or(Value::Interval(i), |n| Value::Exact(n.into()))
            }
            v => v,
        },
    };
    let i = |n: &Value| enclosed(n, prec);
    match f {
        Fun::Abs => match n {
            Value::Exact(q) => Value::Exact(q.abs()),
            _ => Value::of(Some(i(n).abs())),
        },
        Fun::Floor => integral(|q| q.floor()),
        Fun::Ceil => integral(|q| q.ceil()),
        Fun::Trunc => integral(|q| q.trunc()),
        Fun::RoundEven => integral(round_even),
        Fun::Sqrt | Fun::Rsqrt => {
            let root = match n {
                Value::Exact(q) if exact_sqrt(q).is_some() => {
                    Value::Exact(exact_sqrt(q).unwrap_or_else(BigRational::zero))
                }
                _ => Value::of(i(n).sqrt(prec)),
            };
            let one = Value::Exact(BigRational::one());
            match f {
                Fun::Rsqrt => div(&one, &root, prec),
                _ => root,
            }
        }
        Fun::Exp2 => match n {
            Value::Exact(q) if q.is_integer() && q.numer().bits() <= 9 => {
                let e = q.numer().to_i64().unwrap_or(0);
                Value::Exact(super::pow2(e))
            }
            _ => Value::of(i(n).exp2(prec)),
        },
        Fun::Log2 => {
            if let Value::Exact(q) = n {
                let (a, b) = (power_of_two(q.numer()), power_of_two(q.denom()));
                if let (Some(a), Some(b)) = (a, b) {
                    let e = BigInt::from(a) - BigInt::from(b);
                    return Value::Exact(BigRational::from_integer(e));
                }
            }
            Value::of(i(n).log2(prec))
        }
        Fun::Sin | Fun::Cos => {
            if n.sign() == Some(0) {
                let one = f == Fun::Cos;
                return Value::Exact(BigRational::from_integer((one as i64).into()));
            }
            Value::of(i(n).sin(f == Fun::Cos, prec))
        }
        Fun::Tanh => {
            if n.sign() == Some(0) {
                return Value::Exact(BigRational::zero());
            }
            Value::of(i(n).tanh(prec))
        }
        Fun::Erf => {
            if n.sign() == Some(0) {
                return Value::Exact(BigRational::zero());
            }
            Value::of(i(n).erf(prec))
        }
    }
}

/// x < y, x <= y or x = y, where the enclosures tell; false where one of them is not a number.
pub(super) fn compare(op: RCmp, x: &Value, y: &Value, prec: u32) -> Value {
    use std::cmp::Ordering::{self, Equal, Greater, Less};
    let rank = |neg: bool| if neg { -1 } else { 1 };
    let order: Option<Ordering> = match (real(x), real(y)) {
        (Real::None(Value::Undefined), _) | (_, Real::None(Value::Undefined)) => {
            return Value::Bool(false);
        }
        (Real::None(v), _) | (_, Real::None(v)) => return v,
        // What is no real is not equal to one.
        (Real::Open, Real::Num(_)) | (Real::Num(_), Real::Open) if op == RCmp::Eq => {
            return Value::Bool(false);
        }
        (Real::Open, _) | (_, Real::Open) => None,
        (Real::Inf(a), Real::Inf(b)) => a.neg.zip(b.neg).map(|(a, b)| rank(a).cmp(&rank(b))),
        // An infinity of either sign is no number.
        (Real::Inf(_), _) | (_, Real::Inf(_)) if op == RCmp::Eq => return Value::Bool(false),
        (Real::Inf(a), _) => a.neg.map(|a| rank(a).cmp(&0)),
        (_, Real::Inf(b)) => b.neg.map(|b| 0.cmp(&rank(b))),
        (Real::Num(Value::Exact(a)), Real::Num(Value::Exact(b))) => Some(a.cmp(b)),
        (Real::Num(a), Real::Num(b)) => {
            let (a, b) = (enclosed(a, prec), enclosed(b, prec));
            if a.hi < b.lo {
                Some(Less)
            } else if b.hi < a.lo {
                Some(Greater)
            } else if op == RCmp::Le && a.hi <= b.lo {
                return Value::Bool(true);
            } else if op == RCmp::Lt && b.hi <= a.lo {
                return Value::Bool(false);
            } else {
                None
            }
        }
    };
    match order {
        None => Value::Undecided,
        Some(o) => Value::Bool(match op {
            RCmp::Lt => o == Less,
            RCmp::Le => o != Greater,
            RCmp::Eq => o == Equal,
        }),
    }
}

/// Both branches where the condition is open: the value is one of them.
pub(super) fn either(x: &Value, y: &Value, prec: u32) -> Value {
    match (x, y) {
        _ if x == y => x.clone(),
        (Value::Encoded(f, a), Value::Encoded(g, b)) if f == g => {
            let v = match (a.interval(prec), b.interval(prec)) {
                (Some(a), Some(b)) => Value::Interval(a.hull(&b)),
                _ => return Value::Undecided,
            };
            Value::Encoded(*f, Box::new(v))
        }
        _ => match (x.interval(prec), y.interval(prec)) {
            (Some(a), Some(b)) => Value::Interval(a.hull(&b)),
            _ => Value::Undecided,
        },
    }
}
