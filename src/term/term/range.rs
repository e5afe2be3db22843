//! What is known about the size and the grid of a real term from its shape.
//!
//! Bounds hold wherever the term is defined. The recursion is bounded by a depth, not by the term.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use smallvec::SmallVec;

use super::encoding::layout;
use super::view::{self, Fun, RCmp, Term};
use super::{ArrayId, Sort, TermId, TermStore, decode, pow2};
use crate::scalar::Fmt;

/// How far down the shape of a term is looked at.
const DEPTH: u32 = 8;

/// How many operands of maxima are looked at for an input element.
const OPERANDS: usize = 16;

/// How many operands of maxima are looked at for a magnitude: those of a row.
const LARGEST: usize = 1 << 13;

/// A lower and an upper bound, where there are any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// The term is at least this.
    pub lo: Option<BigRational>,
    /// The term is at most this.
    pub hi: Option<BigRational>,
}

impl Bounds {
    fn new(lo: BigRational, hi: BigRational) -> Self {
        Bounds {
            lo: Some(lo),
            hi: Some(hi),
        }
    }

    fn integers(lo: i64, hi: i64) -> Self {
        let q = |i| BigRational::from_integer(BigInt::from(i));
        Bounds::new(q(lo), q(hi))
    }

    fn nonnegative() -> Self {
        Bounds {
            lo: Some(BigRational::zero()),
            hi: None,
        }
    }

    fn negated(self) -> Self {
        Bounds {
            lo: self.hi.map(|x| -x),
            hi: self.lo.map(|x| -x),
        }
    }

    fn map(self, lo: fn(&BigRational) -> BigRational, hi: fn(&BigRational) -> BigRational) -> Self {
        Bounds {
            lo: self.lo.as_ref().map(lo),
            hi: self.hi.as_ref().map(hi),
        }
    }

    /// What both say.
    fn and(self, other: Bounds) -> Self {
        Bounds {
            lo: either(self.lo, other.lo, max),
            hi: either(self.hi, other.hi, min),
        }
    }

    fn scaled(self, k: &BigRational) -> Self {
        let b = if k.is_negative() {
            Bounds {
                lo: self.hi,
                hi: self.lo,
            }
        } else {
            self
        };
        Bounds {
            lo: b.lo.map(|x| x * k),
            hi: b.hi.map(|x| x * k),
        }
    }
}

fn both(
    a: Option<BigRational>,
    b: Option<BigRational>,
    f: impl Fn(BigRational, BigRational) -> BigRational,
) -> Option<BigRational> {
    Some(f(a?, b?))
}

fn either(
    a: Option<BigRational>,
    b: Option<BigRational>,
    f: impl Fn(BigRational, BigRational) -> BigRational,
) -> Option<BigRational> {
    match (a, b) {
        (Some(x), Some(y)) => Some(f(x, y)),
        (x, y) => x.or(y),
    }
}

fn min(a: BigRational, b: BigRational) -> BigRational {
    if a < b { a } else { b }
}

fn max(a: BigRational, b: BigRational) -> BigRational {
    if a < b { b } else { a }
}

/// The highest number of a format with infinities.
fn highest(fmt: Fmt) -> Option<BigRational> {
    let (exponent, mantissa) = layout(fmt)?;
    let infinity = ((1u64 << exponent) - 1) << mantissa;
    decode(fmt, infinity - 1).ok()
}

/// Bounds of a function of a real, given those of the real.
#[inline]
fn function_bounds(f: Fun, of: impl FnOnce() -> Bounds) -> Bounds {
    match f {
        Fun::Sin | Fun::Cos | Fun::Tanh | Fun::Erf => Bounds::integers(-1, 1),
        Fun::Floor => of().map(|x| x.floor(), |x| x.floor()),
        Fun::Ceil => of().map(|x| x.ceil(), |x| x.ceil()),
        Fun::Trunc | Fun::RoundEven => of().map(|x| x.floor(), |x| x.ceil()),
        Fun::Abs => {
            let b = of();
            Bounds {
                hi: both(b.lo, b.hi, |p, q| max(p.abs(), q.abs())),
                ..Bounds::nonnegative()
            }
        }
        Fun::Exp2 | Fun::Sqrt | Fun::Rsqrt => Bounds::nonnegative(),
        Fun::Log2 => Bounds::default(),
    }
}

impl TermStore {
    /// Bounds of a real term.
    pub fn bounds(&self, t: TermId) -> Bounds {
        self.bounds_at(t, DEPTH)
    }

    /// The same where facts about floats, which reach deeper, may have taken away what bounded it.
    pub fn bounds_or_facts(&self, t: TermId) -> Bounds {
        let found = self.bounds(t);
        if found.lo.is_some() && found.hi.is_some() {
            return found;
        }
        let Some((lo, hi)) = self.ends_by_facts(t) else {
            return found;
        };
        let (lo, hi) = (BigRational::from_float(lo), BigRational::from_float(hi));
        found.and(Bounds { lo, hi })
    }

    fn bounds_at(&self, t: TermId, depth: u32) -> Bounds {
        let Some(depth) = depth.checked_sub(1) else {
            return Bounds::default();
        };
        let of = |t: TermId| self.bounds_at(t, depth);
        match self.get(t) {
            Term::Const(c) => {
                let c = self.constant(c);
                Bounds::new(c.clone(), c.clone())
            }
            // log2(e), the only constant that is no rational.
            Term::Elem { array, .. } if array == ArrayId::CONSTANTS => {
                let digits = |n: i64| {
                    let unit = BigInt::from(10).pow(14);
                    BigRational::new(BigInt::from(n), unit)
                };
                Bounds::new(digits(144_269_504_088_896), digits(144_269_504_088_897))
            }
            Term::Elem { .. } => match self.element_range(t) {
                Some((lo, hi)) => Bounds::new(lo, hi),
                None => Bounds::default(),
            },
            Term::Neg(a) => of(a).negated(),
            Term::Add(a, b) => {
                let (x, y) = (of(a), of(b));
                Bounds {
                    lo: both(x.lo, y.lo, |p, q| p + q),
                    hi: both(x.hi, y.hi, |p, q| p + q),
                }
            }
            Term::Mul(a, b) => self.product_bounds(a, b, depth),
            Term::Div(a, b) => match self.largest_quotient(a, b) {
                Some(most) => Bounds::new(-&most, most),
                None => Bounds::default(),
            },
            Term::Min(a, b) => {
                let (x, y) = (of(a), of(b));
                Bounds {
                    lo: both(x.lo, y.lo, min),
                    hi: either(x.hi, y.hi, min),
                }
            }
            Term::Max(a, b) => {
                let (x, y) = (of(a), of(b));
                Bounds {
                    lo: either(x.lo, y.lo, max),
                    hi: both(x.hi, y.hi, max),
                }
            }
            Term::Select(p, a, b) => {
                let x = of(a).and(self.where_holds(p, true, a));
                let y = of(b).and(self.where_holds(p, false, b));
                Bounds {
                    lo: both(x.lo, y.lo, min),
                    hi: both(x.hi, y.hi, max),
                }
            }
            Term::Fun(f, a) => function_bounds(f, || of(a)),
            Term::OfInt { signed, bits } => {
                let Sort::Bits(w) = self.sort(bits) else {
                    return Bounds::default();
                };
                let one = BigRational::one();
                if signed {
                    let half = pow2(w as i64 - 1);
                    Bounds::new(-&half, half - one)
                } else {
                    Bounds::new(BigRational::zero(), pow2(w as i64) - one)
                }
            }
            _ => Bounds::default(),
        }
    }

    /// Bounds of a product, looked for in its factors so many levels down.
    #[inline]
    fn product_bounds(&self, a: TermId, b: TermId, depth: u32) -> Bounds {
        let of = |t: TermId| self.bounds_at(t, depth);
        if let Some(k) = self.as_const(a) {
            return of(b).scaled(k);
        }
        if let Some(k) = self.as_const(b) {
            return of(a).scaled(k);
        }
        for (x, y) in [(a, b), (b, a)] {
            if let Term::Div(p, q) = self.get(y)
                && let Some(k) = self.as_const(p)
                && let Some(most) = self.largest_quotient(x, q)
            {
                let most = most * k.abs();
                return Bounds::new(-&most, most);
            }
        }
        let (x, y) = (of(a), of(b));
        if let (Some(p), Some(q), Some(r), Some(s)) = (&x.lo, &x.hi, &y.lo, &y.hi) {
            let ends = [p * r, p * s, q * r, q * s];
            let lo = ends.iter().min().cloned();
            return Bounds {
                lo,
                hi: ends.iter().max().cloned(),
            };
        }
        let positive = |b: &Bounds| b.lo.as_ref().is_some_and(|x| !x.is_negative());
        match a == b || positive(&x) && positive(&y) {
            true => Bounds::nonnegative(),
            false => Bounds::default(),
        }
    }

    /// A factor of a constant apart from the rest.
    fn scaled_by(&self, t: TermId) -> (BigRational, TermId) {
        match self.get(t) {
            Term::Neg(a) => (-BigRational::one(), a),
            Term::Mul(a, b) => match (self.as_const(a), self.as_const(b)) {
                (Some(k), None) => (k.clone(), b),
                (None, Some(k)) => (k.clone(), a),
                _ => (BigRational::one(), t),
            },
            _ => (BigRational::one(), t),
        }
    }

    /// The most that the magnitude of a quotient comes to where its denominator is at least that of its numerator.
    ///
    /// match `h x / (k max {|x|, ...})` with known h, k; result `|h / k|`; because the maximum is at least |x|, and the
    /// quotient of zeros is no number.
    fn largest_quotient(&self, a: TermId, b: TermId) -> Option<BigRational> {
        let ((h, x), (k, largest)) = (self.scaled_by(a), self.scaled_by(b));
        let mut open = vec![largest];
        for _ in 0..LARGEST {
            match self.get(open.pop()?) {
                Term::Max(p, q) => open.extend([p, q]),
                Term::Fun(Fun::Abs, y) if y == x => {
                    return (!k.is_zero()).then(|| (h / k).abs());
                }
                _ => {}
            }
        }
        None
    }

    /// The first step of an extremum that starts at a constant and takes what is larger, or smaller.
    ///
    /// match `c < y ? y : c` for a y that holds an input element and a c that no element of its format is below, and the
    /// other spellings of that extremum / result y / because inputs are finite, and both sides are one where y is c.
    pub(super) fn first_extremum(&self, p: TermId, a: TermId, b: TermId) -> Option<TermId> {
        let Term::RCmp(RCmp::Lt | RCmp::Le, x, y) = self.get(p) else {
            return None;
        };
        let tag = match (a == x && b == y, a == y && b == x) {
            (true, _) => view::MIN,
            (_, true) => view::MAX,
            _ => return None,
        };
        let taken =
            |c: TermId, t: TermId| self.as_const(c).is_some_and(|c| self.is_beyond(tag, c, t));
        match (taken(x, y), taken(y, x)) {
            (true, _) => Some(y),
            (_, true) => Some(x),
            _ => None,
        }
    }

    /// True if an extremum never takes the constant in place of the term: a maximum that is at least an input element
    /// is at least the lowest number of its format, and a minimum at most the highest.
    pub(super) fn is_beyond(&self, tag: u8, c: &BigRational, t: TermId) -> bool {
        let is_max = tag == view::MAX;
        // No format has a larger number than f16 that is below this.
        if c.is_negative() != is_max || c.numer().bits() < c.denom().bits() + 15 {
            return false;
        }
        let mut open = SmallVec::<[TermId; OPERANDS]>::from_slice(&[t]);
        for _ in 0..OPERANDS {
            match open.pop().map(|t| self.get(t)) {
                Some(Term::Neg(a)) if self.is_element(a) => open.push(a),
                Some(Term::Max(a, b)) if is_max => open.extend([b, a]),
                Some(Term::Min(a, b)) if !is_max => open.extend([b, a]),
                Some(Term::Elem { array, fmt, .. }) if array != ArrayId::CONSTANTS => {
                    if highest(fmt).is_some_and(|h| c.abs() >= h) {
                        return true;
                    }
                }
                Some(_) => {}
                None => return false,
            }
        }
        false
    }

    fn is_element(&self, t: TermId) -> bool {
        matches!(self.get(t), Term::Elem { .. })
    }

    /// match `t < c`, `c <= |t|` and the like, known to be true or to be false
    /// result bounds of `t` there
    /// because that is what the comparison says; `not (t < c)` is `t >= c` where both are numbers.
    fn where_holds(&self, p: TermId, truth: bool, t: TermId) -> Bounds {
        let (p, truth) = match self.get(p) {
            Term::Not(q) => (q, !truth),
            _ => (p, truth),
        };
        let Term::RCmp(op, a, b) = self.get(p) else {
            return Bounds::default();
        };
        // What the comparison says of `x` against the constant: at most, or at least.
        let (x, c, most) = match (self.as_const(a), self.as_const(b)) {
            (None, Some(c)) => (a, c, truth),
            (Some(c), None) => (b, c, !truth),
            _ => return Bounds::default(),
        };
        let (lo, hi) = match op {
            RCmp::Eq if truth => (Some(c.clone()), Some(c.clone())),
            RCmp::Eq => (None, None),
            RCmp::Lt | RCmp::Le if most => (None, Some(c.clone())),
            RCmp::Lt | RCmp::Le => (Some(c.clone()), None),
        };
        if x == t {
            return Bounds { lo, hi };
        }
        match self.get(x) {
            Term::Neg(y) if y == t => Bounds { lo, hi }.negated(),
            Term::Fun(Fun::Abs, y) if y == t => Bounds {
                lo: hi.clone().map(|h| -h),
                hi,
            },
            _ => Bounds::default(),
        }
    }

    /// The largest known g such that the term is always a multiple of 2^g.
    pub fn grid(&self, t: TermId) -> Option<i64> {
        self.grid_at(t, DEPTH)
    }

    fn grid_at(&self, t: TermId, depth: u32) -> Option<i64> {
        let depth = depth.checked_sub(1)?;
        let of = |t: TermId| self.grid_at(t, depth);
        match self.get(t) {
            Term::Const(c) => {
                let c = self.constant(c);
                let twos = c.numer().trailing_zeros().map_or(1 << 30, |z| z as i64);
                let below = c.denom().bits() as i64 - 1;
                (*c.denom() == BigInt::one() << below as usize).then_some(twos - below)
            }
            Term::Neg(a) => of(a),
            Term::Add(a, b) | Term::Min(a, b) | Term::Max(a, b) | Term::Select(_, a, b) => {
                Some(of(a)?.min(of(b)?))
            }
            Term::Mul(a, b) => Some(of(a)? + of(b)?),
            Term::Fun(Fun::Floor | Fun::Ceil | Fun::Trunc | Fun::RoundEven, _)
            | Term::OfInt { .. } => Some(0),
            Term::Fun(Fun::Abs, a) => of(a),
            _ => None,
        }
    }

    /// True if a real term is at least 0 wherever it is defined.
    pub fn is_nonnegative(&self, t: TermId) -> bool {
        self.bounds(t).lo.is_some_and(|x| !x.is_negative())
    }

    /// True if the float that computes a real term is positive or the zero without a sign bit.
    ///
    /// This is a property of the operation at the top, not of the real: a product that is zero
    /// may have either sign, an absolute value cannot.
    pub fn has_clear_sign(&self, t: TermId) -> bool {
        self.clear_sign_at(t, DEPTH)
    }

    fn clear_sign_at(&self, t: TermId, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        let of = |t: TermId| self.clear_sign_at(t, depth);
        match self.get(t) {
            Term::Const(c) => self.constant(c).is_positive(),
            Term::Inf { neg } => !neg,
            Term::Fun(Fun::Abs | Fun::Exp2 | Fun::Rsqrt, _) => true,
            Term::Fun(Fun::Sqrt, a) => of(a),
            // One operand is enough where it is a number: a maximum drops another.
            Term::Max(a, b) => of(a) && (self.is_total(a) || of(b)) || of(b) && self.is_total(b),
            Term::Min(a, b)
            | Term::Add(a, b)
            | Term::Mul(a, b)
            | Term::Div(a, b)
            | Term::Select(_, a, b) => of(a) && of(b),
            Term::OfInt { signed, .. } => !signed,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::BitsOp;
    use crate::term::eval::{Inputs, Mode, Value, evaluate};

    /// An integer of 8 bits that is made of one of 16 is the clamped real where the scale of a row bounds it.
    #[test]
    fn what_the_largest_divides_is_bounded() {
        let mut s = TermStore::new();
        let row: Vec<TermId> = (0..3)
            .map(|i| s.elem(ArrayId(0), Fmt::F32, 4 * i))
            .collect();
        let mut largest = s.rational(BigRational::new(1.into(), 1000.into()));
        for &x in &row[..2] {
            let magnitude = s.fun(Fun::Abs, x);
            largest = s.max(largest, magnitude);
        }
        let most = s.integer(127);
        let (per, scale) = (s.div(largest, most), s.div(most, largest));
        let byte = |s: &mut TermStore, q: TermId| {
            let rounded = s.fun(Fun::RoundEven, q);
            let wide = s.clamp(16, true, rounded);
            let byte = s.clamp(8, true, rounded);
            (s.extract(wide, 0, 8), byte)
        };
        for x in [row[0], row[1]] {
            let half = s.rational(BigRational::new((-1).into(), 2.into()));
            let halved = s.mul(half, x);
            for q in [s.div(x, per), s.mul(x, scale), s.div(halved, per)] {
                assert!(s.is_number(q));
                let (kept, clamped) = byte(&mut s, q);
                assert_eq!(kept, clamped);
                let b = s.bounds(q);
                for values in [[3.0f32, -7.5], [-0.25, 0.25], [0.0, 0.0]] {
                    let mut i = Inputs::default();
                    for (k, v) in values.iter().enumerate() {
                        i.set(ArrayId(0), 4 * k as u64, 4, v.to_bits().into());
                    }
                    let v = &evaluate(&s, &[q], &i, Mode::exact(128))[0];
                    let Value::Exact(v) = v else { panic!("{v:?}") };
                    assert!(b.lo.as_ref().is_some_and(|lo| lo <= v));
                    assert!(b.hi.as_ref().is_some_and(|hi| v <= hi));
                }
            }
            // Twice as much does not fit, nor does what is not in the row, nor what is divided by itself.
            let double = s.add(x, x);
            let squared = s.mul(x, x);
            for q in [double, squared, row[2]] {
                let q = s.div(q, per);
                let (kept, clamped) = byte(&mut s, q);
                assert_ne!(kept, clamped);
            }
        }
        let alone = s.fun(Fun::Abs, row[0]);
        let q = s.div(row[0], alone);
        assert!(!s.is_number(q));
        // Bits above the lowest ones are not those of the real.
        let q = s.div(row[0], per);
        let wide = s.clamp(16, true, q);
        let high = s.extract(wide, 8, 8);
        assert!(matches!(s.get(high), Term::Extract { .. }));
        let one = s.bits(16, 1);
        let sum = s.bits_op(BitsOp::Add, wide, one);
        let low = s.extract(sum, 0, 8);
        assert!(matches!(s.get(low), Term::Extract { .. }));
    }

    /// An extremum with a constant stays itself unless the constant is beyond every number of the element's format.
    #[test]
    fn only_numbers_beyond_a_format_are_dropped() {
        let highest = [
            (Fmt::F16, 65504.0),
            (Fmt::Bf16, f32::from_bits(0x7f7f_0000).into()),
            (Fmt::F32, f32::MAX.into()),
            (Fmt::F64, f64::MAX),
        ];
        for (fmt, h) in highest {
            let mut s = TermStore::new();
            let x = s.elem(ArrayId(0), fmt, 0);
            let (y, negative) = (s.elem(ArrayId(0), fmt, 8), s.neg(x));
            let both = s.max(x, y);
            for (c, dropped) in [(h, true), (h * (1.0 - f64::EPSILON), false)] {
                let c = BigRational::from_float(c).expect("finite");
                let (high, low) = (s.rational(c.clone()), s.rational(-c));
                for t in [x, negative, both] {
                    assert_eq!(s.max(low, t) == t, dropped);
                    assert_eq!(s.min(high, t) == t, dropped && t != both);
                    assert_ne!(s.max(high, t), t);
                    assert_ne!(s.min(low, t), t);
                    // The same by comparisons, in every spelling; one of negations is one of the numbers.
                    if t == negative {
                        continue;
                    }
                    for (c, is_max) in [(low, true), (high, false)] {
                        let dropped = dropped && (is_max || t != both);
                        let ways = [(c, t, c, t), (t, c, t, c)];
                        for (x, y, lesser, greater) in ways {
                            let (a, b) = if is_max {
                                (greater, lesser)
                            } else {
                                (lesser, greater)
                            };
                            let (less, not_more) = (s.rcmp(RCmp::Lt, x, y), s.rcmp(RCmp::Le, x, y));
                            assert_eq!(s.select(less, a, b) == t, dropped);
                            assert_eq!(s.select(not_more, a, b) == t, dropped);
                            assert_ne!(s.select(less, b, a), t);
                        }
                    }
                }
            }
        }
    }
}
