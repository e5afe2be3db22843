//! The value of terms at concrete inputs, in arithmetic whose error is known.
//!
//! Problem: a refutation needs both outputs at one input, surely apart. Source: rational arithmetic
//! while values are rational and small, interval arithmetic with outward rounding
//! (`interval.rs`) beyond. How this differs from the simplifier and the normaliser: it shares no
//! code and no rewriting rule with them, so that it can serve as their oracle.
//!
//! Definedness is exact: x/0, the square root of a negative number, inf - inf and 0 * inf are
//! [`Value::Undefined`]; log2(0) is minus infinity; a branch of a select that is not taken is not
//! looked at. Where an interval leaves open which case holds the value is [`Value::Undecided`].
//!
//! With [`Mode::tolerant`], every constant that looks rounded and every function that hardware
//! approximates is widened by what that rounding can account for: two kernels whose tolerant
//! values overlap may differ by no more than their choice of constants.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};
use rustc_hash::FxHashMap;

use super::interval::{Dyadic, Interval};
use super::{ArrayId, BitsOp, Fun, ICmp, NotFinite, RCmp, Sort, Term, TermId, TermStore};
use crate::kernel::Fmt;

/// Rationals with more bits than this in numerator and denominator become intervals.
const MAX_RATIONAL_BITS: u64 = 1024;

/// What a term is at one input.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// This number.
    Exact(BigRational),
    /// Some number in between.
    Interval(Interval),
    /// Plus infinity.
    PosInf,
    /// Minus infinity.
    NegInf,
    /// A truth value.
    Bool(bool),
    /// These bits.
    Bits(u64),
    /// The encoding of a number in a format, whose bits depend on a rounding.
    Encoded(Fmt, Box<Value>),
    /// The term has no value here.
    Undefined,
    /// The arithmetic is too coarse, or the value depends on more than the inputs.
    Undecided,
}

/// How to evaluate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Precision of intervals in bits.
    pub prec: u32,
    /// Widen what real kernels round.
    pub tolerant: bool,
}

/// The content of input arrays: cells of up to 8 bytes; every other byte is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    cells: FxHashMap<(ArrayId, u64), (u8, u64)>,
}

impl Inputs {
    /// Sets the cell of `bytes` bytes at `off`; cells do not overlap.
    pub fn set(&mut self, array: ArrayId, off: u64, bytes: u8, value: u64) {
        self.cells.insert((array, off), (bytes, value));
    }

    /// `n` bytes from `off`, little endian.
    pub fn read(&self, array: ArrayId, off: u64, n: u8) -> u64 {
        let keep = u64::MAX >> (64 - 8 * n.clamp(1, 8) as u32);
        if let Some((w, v)) = self.cells.get(&(array, off))
            && *w >= n
        {
            return v & keep;
        }
        (0..n as u64).fold(0, |acc, i| {
            acc | (self.byte(array, off + i) as u64) << (8 * i)
        })
    }

    fn byte(&self, array: ArrayId, at: u64) -> u8 {
        (0..8u64.min(at + 1))
            .find_map(|back| {
                let (w, v) = self.cells.get(&(array, at - back))?;
                ((*w as u64) > back).then(|| (v >> (8 * back)) as u8)
            })
            .unwrap_or(0)
    }
}

/// The terms below some roots, children before parents, with children as positions: what is
/// prepared once and evaluated often.
#[derive(Debug)]
pub struct Cone {
    ids: Vec<TermId>,
    first: Vec<u32>,
    kids: Vec<u32>,
    roots: Vec<u32>,
}

impl Cone {
    /// The cone of the roots.
    pub fn new(store: &TermStore, roots: &[TermId]) -> Self {
        let ids = store.reachable(roots);
        let place: FxHashMap<TermId, u32> = ids
            .iter()
            .enumerate()
            .map(|(i, &t)| (t, i as u32))
            .collect();
        let (mut first, mut kids) = (Vec::with_capacity(ids.len() + 1), Vec::new());
        for &t in &ids {
            first.push(kids.len() as u32);
            store.children(t, |c| kids.push(place[&c]));
        }
        first.push(kids.len() as u32);
        let roots = roots.iter().map(|t| place[t]).collect();
        Cone {
            ids,
            first,
            kids,
            roots,
        }
    }

    /// The terms, in ascending order.
    pub fn ids(&self) -> &[TermId] {
        &self.ids
    }

    /// Number of terms and edges.
    pub fn size(&self) -> usize {
        self.ids.len() + self.kids.len()
    }

    pub(super) fn kids(&self, i: usize) -> &[u32] {
        &self.kids[self.first[i] as usize..self.first[i + 1] as usize]
    }

    pub(super) fn roots(&self) -> &[u32] {
        &self.roots
    }

    /// The values of the roots.
    pub fn evaluate(&self, store: &TermStore, inputs: &Inputs, mode: Mode) -> Vec<Value> {
        let values = self.evaluate_all(store, inputs, mode);
        self.values_of_roots(&values).into_iter().cloned().collect()
    }

    /// The values of the roots among those of all terms.
    pub fn values_of_roots<'v>(&self, values: &'v [Value]) -> Vec<&'v Value> {
        self.roots.iter().map(|&i| &values[i as usize]).collect()
    }

    /// The values of all terms, in the order of [`Cone::ids`].
    pub fn evaluate_all(&self, store: &TermStore, inputs: &Inputs, mode: Mode) -> Vec<Value> {
        let mut values: Vec<Value> = Vec::with_capacity(self.ids.len());
        for (i, &t) in self.ids.iter().enumerate() {
            let v = step(store, t, self.kids(i), &values, inputs, mode);
            values.push(v);
        }
        values
    }
}

/// Evaluates terms at one input.
pub fn evaluate(store: &TermStore, roots: &[TermId], inputs: &Inputs, mode: Mode) -> Vec<Value> {
    Cone::new(store, roots).evaluate(store, inputs, mode)
}

/// A value as a real operand: a number, an infinity, or why it is neither.
enum Real<'v> {
    Num(&'v Value),
    Inf(bool),
    None(Value),
}

fn real(v: &Value) -> Real<'_> {
    match v {
        Value::Exact(_) | Value::Interval(_) => Real::Num(v),
        Value::PosInf => Real::Inf(false),
        Value::NegInf => Real::Inf(true),
        Value::Undefined => Real::None(Value::Undefined),
        _ => Real::None(Value::Undecided),
    }
}

fn inf(neg: bool) -> Value {
    if neg { Value::NegInf } else { Value::PosInf }
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
            Value::PosInf => Some(1),
            Value::NegInf => Some(-1),
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

fn add(x: &Value, y: &Value, prec: u32) -> Value {
    match (real(x), real(y)) {
        (Real::None(Value::Undefined), _) | (_, Real::None(Value::Undefined)) => Value::Undefined,
        (Real::None(v), _) | (_, Real::None(v)) => v,
        (Real::Inf(a), Real::Inf(b)) if a != b => Value::Undefined,
        (Real::Inf(a), _) | (_, Real::Inf(a)) => inf(a),
        (Real::Num(Value::Exact(a)), Real::Num(Value::Exact(b))) => {
            Value::capped(add_exact(a, b), prec)
        }
        (Real::Num(a), Real::Num(b)) => {
            Value::of(Some(enclosed(a, prec).add(&enclosed(b, prec), prec)))
        }
    }
}

fn mul(x: &Value, y: &Value, prec: u32) -> Value {
    match (real(x), real(y)) {
        (Real::None(Value::Undefined), _) | (_, Real::None(Value::Undefined)) => Value::Undefined,
        (Real::None(v), _) | (_, Real::None(v)) => v,
        (Real::Inf(a), Real::Inf(b)) => inf(a != b),
        (Real::Inf(a), Real::Num(n)) | (Real::Num(n), Real::Inf(a)) => match n.sign() {
            Some(0) => Value::Undefined,
            Some(s) => inf(a != (s < 0)),
            None => Value::Undecided,
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

fn div(x: &Value, y: &Value, prec: u32) -> Value {
    match (real(x), real(y)) {
        (Real::None(Value::Undefined), _) | (_, Real::None(Value::Undefined)) => Value::Undefined,
        (_, Real::Num(n)) if n.sign() == Some(0) => Value::Undefined,
        (Real::None(v), _) | (_, Real::None(v)) => v,
        (Real::Inf(_), Real::Inf(_)) => Value::Undefined,
        (Real::Num(_), Real::Inf(_)) => Value::Exact(BigRational::zero()),
        (Real::Inf(a), Real::Num(n)) => match n.sign() {
            Some(s) => inf(a != (s < 0)),
            None => Value::Undecided,
        },
        (Real::Num(Value::Exact(a)), Real::Num(Value::Exact(b))) => Value::capped(a / b, prec),
        (Real::Num(a), Real::Num(b)) => Value::of(enclosed(a, prec).div(&enclosed(b, prec), prec)),
    }
}

fn neg(x: &Value) -> Value {
    match x {
        Value::Exact(q) => Value::Exact(-q),
        Value::Interval(i) => Value::Interval(i.neg()),
        Value::PosInf => Value::NegInf,
        Value::NegInf => Value::PosInf,
        Value::Undefined => Value::Undefined,
        _ => Value::Undecided,
    }
}

/// The larger (or smaller) of two numbers.
fn extremum(x: &Value, y: &Value, min: bool, prec: u32) -> Value {
    match (real(x), real(y)) {
        (Real::None(Value::Undefined), _) | (_, Real::None(Value::Undefined)) => Value::Undefined,
        (Real::None(v), _) | (_, Real::None(v)) => v,
        (Real::Inf(a), _) if a == min => x.clone(),
        (_, Real::Inf(a)) if a == min => y.clone(),
        (Real::Inf(_), _) => y.clone(),
        (_, Real::Inf(_)) => x.clone(),
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

fn fun(f: Fun, x: &Value, mode: Mode) -> Value {
    let prec = mode.prec;
    let n = match real(x) {
        Real::None(v) => return v,
        Real::Inf(neg) => {
            let int = |i: i64| Value::Exact(BigRational::from_integer(i.into()));
            return match (f, neg) {
                (Fun::Exp2, true) | (Fun::Rsqrt, false) => int(0),
                (Fun::Exp2 | Fun::Log2 | Fun::Sqrt | Fun::Abs, false) | (Fun::Abs, true) => {
                    Value::PosInf
                }
                (Fun::Tanh, _) => int(if neg { -1 } else { 1 }),
                (Fun::Floor | Fun::Ceil | Fun::Trunc | Fun::RoundEven, _) => inf(neg),
                _ => Value::Undefined,
            };
        }
        Real::Num(n) => n,
    };
    match (f, n.sign()) {
        (Fun::Sqrt | Fun::Rsqrt | Fun::Log2, Some(-1)) => return Value::Undefined,
        (Fun::Rsqrt, Some(0)) => return Value::Undefined,
        (Fun::Log2, Some(0)) => return Value::NegInf,
        _ => {}
    }
    let integral = |g: fn(&BigRational) -> BigRational| match n {
        Value::Exact(q) => Value::Exact(g(q)),
        _ => Value::of(enclosed(n, prec).integral(g)),
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
            let v = if f == Fun::Rsqrt {
                div(&one, &root, prec)
            } else {
                root
            };
            widened(v, Error::Relative(21), mode)
        }
        Fun::Exp2 => {
            let v = match n {
                Value::Exact(q) if q.is_integer() && q.numer().bits() <= 9 => {
                    let e = q.numer().to_i64().unwrap_or(0);
                    return Value::Exact(super::pow2(e));
                }
                _ => Value::of(i(n).exp2(prec)),
            };
            widened(v, Error::Relative(21), mode)
        }
        Fun::Log2 => {
            if let Value::Exact(q) = n {
                let (a, b) = (power_of_two(q.numer()), power_of_two(q.denom()));
                if let (Some(a), Some(b)) = (a, b) {
                    let e = BigInt::from(a) - BigInt::from(b);
                    return Value::Exact(BigRational::from_integer(e));
                }
            }
            widened(Value::of(i(n).log2(prec)), Error::Absolute(21), mode)
        }
        Fun::Sin | Fun::Cos => {
            if n.sign() == Some(0) {
                let one = f == Fun::Cos;
                return Value::Exact(BigRational::from_integer((one as i64).into()));
            }
            let v = Value::of(i(n).sin(f == Fun::Cos, prec));
            widened(v, Error::Absolute(19), mode)
        }
        Fun::Tanh => {
            if n.sign() == Some(0) {
                return Value::Exact(BigRational::zero());
            }
            widened(Value::of(i(n).tanh(prec)), Error::Relative(10), mode)
        }
    }
}

/// How far an approximate operation may be off: 2^-bits of the value, or of 1.
enum Error {
    Relative(u32),
    Absolute(u32),
}

fn widened(v: Value, error: Error, mode: Mode) -> Value {
    let Some(i) = v.interval(mode.prec).filter(|_| mode.tolerant) else {
        return v;
    };
    Value::Interval(match error {
        Error::Relative(bits) => i.widen(bits, mode.prec),
        Error::Absolute(bits) => i.widen_by(&Dyadic::new(BigInt::one(), -(bits as i64)), mode.prec),
    })
}

/// A constant, or with tolerance the numbers that may have been meant by it.
///
/// Rounding to nearest moves a number by at most half of the lowest bit of the result, in whatever
/// format, and 2^-8 of itself in the coarsest (bf16); a folded product of constants carries the
/// relative errors of its factors. Integers below 2^24 and numbers of up to three significant bits
/// are taken as meant, and so are fractions of small integers.
fn constant(q: &BigRational, mode: Mode) -> Value {
    let exact = Value::Exact(q.clone());
    if !mode.tolerant || q.is_zero() {
        return exact;
    }
    let significant = |n: &BigInt| n.bits() - n.trailing_zeros().unwrap_or(0);
    if q.is_integer() && q.numer().bits() <= 24
        || q.numer().bits() + q.denom().bits() <= 16 && power_of_two(q.denom()).is_none()
    {
        return exact;
    }
    let i = Interval::from_rational(q, mode.prec);
    let relative = i.widen(22, mode.prec);
    let Some(k) = power_of_two(q.denom()) else {
        return Value::Interval(relative);
    };
    let s = significant(q.numer());
    if s <= 3 {
        return exact;
    }
    // Half of the lowest set bit.
    let low = q.numer().trailing_zeros().unwrap_or(0) as i64 - k as i64 - 1;
    let by_bit = i.widen_by(&Dyadic::new(BigInt::one(), low), mode.prec);
    let coarsest = i.widen(8, mode.prec);
    let inner = Interval {
        lo: by_bit.lo.max(coarsest.lo),
        hi: by_bit.hi.min(coarsest.hi),
    };
    Value::Interval(inner.hull(&relative))
}

/// x < y, x <= y or x = y, where the enclosures tell.
fn compare(op: RCmp, x: &Value, y: &Value, prec: u32) -> Value {
    use std::cmp::Ordering::{self, Equal, Greater, Less};
    let rank = |neg: bool| if neg { -1 } else { 1 };
    let order: Option<Ordering> = match (real(x), real(y)) {
        (Real::None(Value::Undefined), _) | (_, Real::None(Value::Undefined)) => {
            return Value::Undefined;
        }
        (Real::None(v), _) | (_, Real::None(v)) => return v,
        (Real::Inf(a), Real::Inf(b)) => Some(rank(a).cmp(&rank(b))),
        (Real::Inf(a), _) => Some(rank(a).cmp(&0)),
        (_, Real::Inf(b)) => Some(0.cmp(&rank(b))),
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
fn either(x: &Value, y: &Value, prec: u32) -> Value {
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

/// Signed reading of the low `w` bits.
fn signed(v: u64, w: u8) -> i64 {
    let s = 64 - w as u32;
    ((v << s) as i64) >> s
}

fn low_bits(v: u64, w: u8) -> u64 {
    if w >= 64 { v } else { v & ((1 << w) - 1) }
}

fn bits_op(op: BitsOp, x: u64, y: u64, w: u8) -> Value {
    let wide = w as u64;
    let v = match op {
        BitsOp::Add => x.wrapping_add(y),
        BitsOp::Mul => x.wrapping_mul(y),
        BitsOp::And => x & y,
        BitsOp::Or => x | y,
        BitsOp::Xor => x ^ y,
        BitsOp::Shl => {
            if y < wide {
                x << y
            } else {
                0
            }
        }
        BitsOp::LShr => {
            if y < wide {
                x >> y
            } else {
                0
            }
        }
        BitsOp::AShr => (signed(x, w) >> y.min(wide - 1)) as u64,
        BitsOp::UDiv | BitsOp::SDiv | BitsOp::URem | BitsOp::SRem if y == 0 => {
            return Value::Undefined;
        }
        BitsOp::UDiv => x / y,
        BitsOp::URem => x % y,
        BitsOp::SDiv => signed(x, w).wrapping_div(signed(y, w)) as u64,
        BitsOp::SRem => signed(x, w).wrapping_rem(signed(y, w)) as u64,
    };
    Value::Bits(low_bits(v, w))
}

/// The bits of a number in a format, where the number is exactly one of the format's.
fn encode(fmt: Fmt, v: &Value) -> Value {
    match v {
        Value::Undefined => Value::Undefined,
        Value::Undecided => Value::Undecided,
        Value::Exact(q) => match super::encode_exact(fmt, q) {
            Some(b) => Value::Bits(b),
            None => Value::Encoded(fmt, Box::new(v.clone())),
        },
        _ => Value::Encoded(fmt, Box::new(v.clone())),
    }
}

/// The number that bits denote.
fn decode(fmt: Fmt, v: &Value) -> Value {
    match v {
        Value::Bits(b) => match super::decode(fmt, *b) {
            Ok(q) => Value::Exact(q),
            Err(NotFinite::PosInf) => Value::PosInf,
            Err(NotFinite::NegInf) => Value::NegInf,
            Err(NotFinite::Nan) => Value::Undefined,
        },
        Value::Encoded(f, x) if *f == fmt => (**x).clone(),
        Value::Undefined => Value::Undefined,
        _ => Value::Undecided,
    }
}

/// An integral real clamped to an integer type.
fn clamp(width: u8, is_signed: bool, v: &Value) -> Value {
    let (lo, hi): (BigInt, BigInt) = if is_signed {
        let h = BigInt::one() << (width - 1) as usize;
        (-&h, h - 1)
    } else {
        (BigInt::zero(), (BigInt::one() << width as usize) - 1)
    };
    let to = |i: BigInt| -> Value {
        let m = i.mod_floor(&(BigInt::one() << 64));
        Value::Bits(low_bits(m.to_u64().unwrap_or(0), width))
    };
    match v {
        Value::Exact(q) if q.is_integer() => to(q.to_integer().clamp(lo, hi)),
        Value::Interval(i) => match (i.lo.floor(), i.hi.floor()) {
            // Both ends beyond the same limit, or the same integer.
            (Some(_), Some(b)) if b < lo => to(lo),
            (Some(a), Some(_)) if a >= hi => to(hi),
            (Some(a), Some(_)) if i.lo == i.hi && Dyadic::new(a.clone(), 0) == i.lo => {
                to(a.clamp(lo, hi))
            }
            _ => Value::Undecided,
        },
        Value::PosInf => to(hi),
        Value::NegInf => to(lo),
        Value::Undefined => Value::Undefined,
        _ => Value::Undecided,
    }
}

fn truth(v: &Value) -> Result<bool, Value> {
    match v {
        Value::Bool(b) => Ok(*b),
        Value::Undefined => Err(Value::Undefined),
        _ => Err(Value::Undecided),
    }
}

/// A connective: `zero` is the operand that decides alone.
fn logic(x: &Value, y: &Value, f: impl Fn(bool, bool) -> bool) -> Value {
    match (truth(x), truth(y)) {
        (Err(Value::Undefined), _) | (_, Err(Value::Undefined)) => Value::Undefined,
        (Ok(a), Ok(b)) => Value::Bool(f(a, b)),
        (Ok(a), Err(_)) if f(a, false) == f(a, true) => Value::Bool(f(a, false)),
        (Err(_), Ok(b)) if f(false, b) == f(true, b) => Value::Bool(f(false, b)),
        _ => Value::Undecided,
    }
}

fn concrete(v: &Value) -> Result<u64, Value> {
    match v {
        Value::Bits(b) => Ok(*b),
        Value::Undefined => Err(Value::Undefined),
        _ => Err(Value::Undecided),
    }
}

fn two(x: &Value, y: &Value, f: impl Fn(u64, u64) -> Value) -> Value {
    match (concrete(x), concrete(y)) {
        (Ok(a), Ok(b)) => f(a, b),
        (Err(Value::Undefined), _) | (_, Err(Value::Undefined)) => Value::Undefined,
        _ => Value::Undecided,
    }
}

fn width(store: &TermStore, t: TermId) -> u8 {
    match store.sort(t) {
        Sort::Bits(w) => w,
        _ => 0,
    }
}

fn choose(p: &Value, x: &Value, y: &Value, prec: u32) -> Value {
    match truth(p) {
        Ok(true) => x.clone(),
        Ok(false) => y.clone(),
        Err(Value::Undefined) => Value::Undefined,
        Err(_) => either(x, y, prec),
    }
}

/// The value of one term from those of its children.
fn step(
    store: &TermStore,
    t: TermId,
    kids: &[u32],
    values: &[Value],
    inputs: &Inputs,
    mode: Mode,
) -> Value {
    let prec = mode.prec;
    let v = |i: usize| &values[kids[i] as usize];
    match store.get(t) {
        Term::Const(c) => constant(store.constant(c), mode),
        Term::Inf { neg } => inf(neg),
        Term::Undefined => Value::Undefined,
        Term::Elem { array, fmt, off } => {
            let n = (fmt.bits() / 8) as u8;
            decode(fmt, &Value::Bits(inputs.read(array, off, n)))
        }
        Term::Add(..) => add(v(0), v(1), prec),
        Term::Mul(..) => mul(v(0), v(1), prec),
        Term::Neg(_) => neg(v(0)),
        Term::Sum(_) => {
            let mut sum = Value::Exact(BigRational::zero());
            for k in 0..kids.len() / 2 {
                sum = add(&sum, &mul(v(2 * k), v(2 * k + 1), prec), prec);
            }
            sum
        }
        Term::Div(..) => widened(div(v(0), v(1), prec), Error::Relative(21), mode),
        Term::Fun(f, _) => fun(f, v(0), mode),
        Term::Max(..) => extremum(v(0), v(1), false, prec),
        Term::Min(..) => extremum(v(0), v(1), true, prec),
        Term::Select(..) | Term::BitsSelect(..) => choose(v(0), v(1), v(2), prec),
        Term::OfInt { signed: s, bits } => match concrete(v(0)) {
            Ok(b) => {
                let w = width(store, bits);
                let i = if s {
                    BigInt::from(signed(b, w))
                } else {
                    BigInt::from(b)
                };
                Value::Exact(BigRational::from_integer(i))
            }
            Err(e) => e,
        },
        Term::OfBits { fmt, .. } => decode(fmt, v(0)),
        Term::Bool(b) => Value::Bool(b),
        Term::RCmp(op, ..) => compare(op, v(0), v(1), prec),
        Term::ICmp(op, x, _) => {
            let w = width(store, x);
            two(v(0), v(1), |a, b| {
                Value::Bool(match op {
                    ICmp::Eq => a == b,
                    ICmp::ULt => a < b,
                    ICmp::ULe => a <= b,
                    ICmp::SLt => signed(a, w) < signed(b, w),
                    ICmp::SLe => signed(a, w) <= signed(b, w),
                })
            })
        }
        Term::Not(_) => match truth(v(0)) {
            Ok(b) => Value::Bool(!b),
            Err(e) => e,
        },
        Term::And(..) => logic(v(0), v(1), |a, b| a && b),
        Term::Or(..) => logic(v(0), v(1), |a, b| a || b),
        Term::Xor(..) => logic(v(0), v(1), |a, b| a != b),
        Term::BitsConst { value, .. } => Value::Bits(value),
        Term::Bytes { array, off, width } => Value::Bits(inputs.read(array, off, width / 8)),
        Term::Fresh { .. } => Value::Undecided,
        Term::Poison { .. } => Value::Undefined,
        Term::OfReal { fmt, .. } => encode(fmt, v(0)),
        Term::Concat(l) => {
            let (mut acc, mut at) = (0u64, 0u32);
            let mut open = None;
            for (k, &part) in l.iter().enumerate() {
                match concrete(v(k)) {
                    Ok(b) => acc |= b.checked_shl(at).unwrap_or(0),
                    Err(Value::Undefined) => return Value::Undefined,
                    Err(e) => open = Some(e),
                }
                at += width(store, TermId(part)) as u32;
            }
            open.unwrap_or(Value::Bits(acc))
        }
        Term::Extract { low, width: w, .. } => match concrete(v(0)) {
            Ok(b) => Value::Bits(low_bits(b >> low, w)),
            Err(e) => e,
        },
        Term::BitsOp(op, ..) => {
            let w = width(store, t);
            two(v(0), v(1), |a, b| bits_op(op, a, b, w))
        }
        Term::OfBool { .. } => match truth(v(0)) {
            Ok(b) => Value::Bits(b as u64),
            Err(e) => e,
        },
        Term::Clamp { width, signed, .. } => clamp(width, signed, v(0)),
    }
}
