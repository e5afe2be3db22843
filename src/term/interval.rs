//! Intervals of dyadic numbers with outward rounding.
//!
//! Problem: refuting an equality of real functions needs values whose error is known. Source: plain
//! interval arithmetic (IEEE 1788 in spirit) over numbers m * 2^e with big integer m. Ends are
//! rounded down and up to a precision in bits; add, multiply, divide and square root round the
//! exact result, elementary functions come from `series.rs` with an error bound of their own.
//!
//! What is not claimed: tightest results. An end may be a few units too far out, never too far in.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};

use super::pow2;
use super::series;

/// Exponents beyond this are refused: `None`, which a caller reports as undecided.
const MAX_EXPONENT: i64 = 1 << 40;

/// m * 2^e.
#[derive(Clone, Debug)]
pub struct Dyadic {
    pub(super) m: BigInt,
    pub(super) e: i64,
}

/// Direction of rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
}

impl Dyadic {
    /// m * 2^e.
    pub fn new(m: BigInt, e: i64) -> Self {
        Dyadic { m, e }
    }

    /// Zero.
    pub fn zero() -> Self {
        Dyadic::new(BigInt::zero(), 0)
    }

    /// An integer.
    pub fn integer(i: i64) -> Self {
        Dyadic::new(BigInt::from(i), 0)
    }

    /// True for 0.
    pub fn is_zero(&self) -> bool {
        self.m.is_zero()
    }

    /// -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        match self.m.sign() {
            Sign::Minus => -1,
            Sign::NoSign => 0,
            Sign::Plus => 1,
        }
    }

    /// Exponent of the leading bit plus one: |x| < 2^top. The smallest number for 0.
    pub fn top(&self) -> i64 {
        if self.is_zero() {
            i64::MIN / 4
        } else {
            self.m.bits() as i64 + self.e
        }
    }

    /// The number with at most `prec` bits, rounded.
    pub fn round(self, prec: u32, dir: Round) -> Self {
        let bits = self.m.bits();
        if bits <= prec as u64 {
            return self;
        }
        let s = bits - prec as u64;
        // The shift of a negative big integer rounds towards minus infinity.
        let q = match dir {
            Round::Down => self.m >> s,
            Round::Up => -((-self.m) >> s),
        };
        Dyadic::new(q, self.e + s as i64)
    }

    /// The negated number.
    pub fn neg(&self) -> Self {
        Dyadic::new(-&self.m, self.e)
    }

    /// The rounded sum.
    pub fn add(&self, other: &Self, prec: u32, dir: Round) -> Self {
        if self.is_zero() {
            return other.clone().round(prec, dir);
        }
        if other.is_zero() {
            return self.clone().round(prec, dir);
        }
        let (big, small) = if self.top() >= other.top() {
            (self, other)
        } else {
            (other, self)
        };
        let mut small = small.clone();
        if small.top() < big.e.min(big.top() - prec as i64) - 2 {
            // The small one is below every bit that counts: any number of its sign that is at
            // least as far out stands for it.
            let e = big.e.min(big.top() - prec as i64) - 2;
            let outward = (dir == Round::Up) == (small.signum() > 0);
            small = if outward {
                Dyadic::new(BigInt::from(small.signum()), e)
            } else {
                Dyadic::zero()
            };
            if small.is_zero() {
                return big.clone().round(prec, dir);
            }
        }
        let e = big.e.min(small.e);
        let m = (&big.m << (big.e - e) as usize) + (&small.m << (small.e - e) as usize);
        Dyadic::new(m, e).round(prec, dir)
    }

    /// The rounded product.
    pub fn mul(&self, other: &Self, prec: u32, dir: Round) -> Self {
        Dyadic::new(&self.m * &other.m, self.e + other.e).round(prec, dir)
    }

    /// The rounded quotient; the divisor is not 0.
    pub fn div(&self, other: &Self, prec: u32, dir: Round) -> Self {
        let s = (prec as i64 + 1 + other.m.bits() as i64 - self.m.bits() as i64).max(0);
        let n = &self.m << s as usize;
        let q = match dir {
            Round::Down => n.div_floor(&other.m),
            Round::Up => -((-n).div_floor(&other.m)),
        };
        Dyadic::new(q, self.e - other.e - s).round(prec, dir)
    }

    /// The rounded square root of a number that is not negative.
    pub fn sqrt(&self, prec: u32, dir: Round) -> Self {
        if self.signum() <= 0 {
            return Dyadic::zero();
        }
        let mut s = (2 * prec as i64 + 2 - self.m.bits() as i64).max(0);
        if (self.e - s) % 2 != 0 {
            s += 1;
        }
        let n = &self.m << s as usize;
        let mut r = n.sqrt();
        if dir == Round::Up && &r * &r != n {
            r += 1;
        }
        Dyadic::new(r, (self.e - s) / 2).round(prec, dir)
    }

    /// A rational, rounded.
    pub fn from_rational(q: &BigRational, prec: u32, dir: Round) -> Self {
        let n = Dyadic::new(q.numer().clone(), 0);
        n.div(&Dyadic::new(q.denom().clone(), 0), prec, dir)
    }

    /// The exact value; only for numbers of moderate exponent.
    pub fn to_rational(&self) -> Option<BigRational> {
        (self.e.abs() < 1 << 20).then(|| BigRational::from_integer(self.m.clone()) * pow2(self.e))
    }

    /// The largest integer not above.
    pub fn floor(&self) -> Option<BigInt> {
        if self.e > 1 << 16 {
            None
        } else if self.e >= 0 {
            Some(&self.m << self.e as usize)
        } else if self.top() < 0 {
            Some(BigInt::from(if self.signum() < 0 { -1 } else { 0 }))
        } else {
            Some(&self.m >> self.e.unsigned_abs() as usize)
        }
    }

    /// A nearby double: the error is below one unit in its last place.
    pub fn to_f64(&self) -> f64 {
        let d = self.clone().round(60, Round::Down);
        let m = d.m.to_f64().unwrap_or(0.0);
        let e = d.e.clamp(-5000, 5000) as i32;
        // Two steps, so that neither factor leaves the range before the product does.
        let half = e / 2;
        m * 2f64.powi(half) * 2f64.powi(e - half)
    }
}

impl PartialEq for Dyadic {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Dyadic {}

impl PartialOrd for Dyadic {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Dyadic {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_sign = self.signum().cmp(&other.signum());
        if by_sign != Ordering::Equal || self.is_zero() {
            return by_sign;
        }
        let by_top = self.top().cmp(&other.top());
        if by_top != Ordering::Equal {
            return if self.signum() > 0 {
                by_top
            } else {
                by_top.reverse()
            };
        }
        // Equal leading bits: the exponents differ by at most the lengths of the integers.
        let e = self.e.min(other.e);
        (&self.m << (self.e - e) as usize).cmp(&(&other.m << (other.e - e) as usize))
    }
}

/// All reals from `lo` to `hi`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Lower end.
    pub lo: Dyadic,
    /// Upper end, at least the lower.
    pub hi: Dyadic,
}

impl Interval {
    /// The interval from `lo` to `hi`, in either order.
    pub fn new(lo: Dyadic, hi: Dyadic) -> Self {
        if lo <= hi {
            Interval { lo, hi }
        } else {
            Interval { lo: hi, hi: lo }
        }
    }

    /// One number.
    pub fn point(x: Dyadic) -> Self {
        Interval {
            lo: x.clone(),
            hi: x,
        }
    }

    /// A rational, enclosed.
    pub fn from_rational(q: &BigRational, prec: u32) -> Self {
        Interval {
            lo: Dyadic::from_rational(q, prec, Round::Down),
            hi: Dyadic::from_rational(q, prec, Round::Up),
        }
    }

    /// True if 0 is inside.
    pub fn has_zero(&self) -> bool {
        self.lo.signum() <= 0 && self.hi.signum() >= 0
    }

    /// True if the two have no common point.
    pub fn disjoint(&self, other: &Self) -> bool {
        self.hi < other.lo || other.hi < self.lo
    }

    /// True if the number is inside.
    pub fn contains(&self, q: &BigRational) -> bool {
        let side = |d: &Dyadic| {
            // Compare d with n / k as d * k with n.
            let scaled = d.mul(
                &Dyadic::new(q.denom().clone(), 0),
                u32::MAX / 2,
                Round::Down,
            );
            scaled.cmp(&Dyadic::new(q.numer().clone(), 0))
        };
        side(&self.lo) != Ordering::Greater && side(&self.hi) != Ordering::Less
    }

    /// The smallest interval around both.
    pub fn hull(&self, other: &Self) -> Self {
        Interval {
            lo: self.lo.clone().min(other.lo.clone()),
            hi: self.hi.clone().max(other.hi.clone()),
        }
    }

    /// The interval, if its exponents are of a sane size.
    pub fn checked(self) -> Option<Self> {
        let sane = |d: &Dyadic| d.is_zero() || d.e.abs() < MAX_EXPONENT;
        (sane(&self.lo) && sane(&self.hi)).then_some(self)
    }

    /// -x.
    pub fn neg(&self) -> Self {
        Interval {
            lo: self.hi.neg(),
            hi: self.lo.neg(),
        }
    }

    /// x + y.
    pub fn add(&self, other: &Self, prec: u32) -> Self {
        Interval {
            lo: self.lo.add(&other.lo, prec, Round::Down),
            hi: self.hi.add(&other.hi, prec, Round::Up),
        }
    }

    fn corners(&self, other: &Self, f: impl Fn(&Dyadic, &Dyadic, Round) -> Dyadic) -> Self {
        let pairs = [
            (&self.lo, &other.lo),
            (&self.lo, &other.hi),
            (&self.hi, &other.lo),
            (&self.hi, &other.hi),
        ];
        let mut lo = f(pairs[0].0, pairs[0].1, Round::Down);
        let mut hi = f(pairs[0].0, pairs[0].1, Round::Up);
        for (x, y) in &pairs[1..] {
            lo = lo.min(f(x, y, Round::Down));
            hi = hi.max(f(x, y, Round::Up));
        }
        Interval { lo, hi }
    }

    /// x * y.
    pub fn mul(&self, other: &Self, prec: u32) -> Self {
        if self.lo.signum() >= 0 && other.lo.signum() >= 0 {
            return Interval {
                lo: self.lo.mul(&other.lo, prec, Round::Down),
                hi: self.hi.mul(&other.hi, prec, Round::Up),
            };
        }
        self.corners(other, |x, y, d| x.mul(y, prec, d))
    }

    /// x / y, if 0 is not in y.
    pub fn div(&self, other: &Self, prec: u32) -> Option<Self> {
        if other.has_zero() {
            return None;
        }
        Some(self.corners(other, |x, y, d| x.div(y, prec, d)))
    }

    /// The square root, if nothing inside is negative.
    pub fn sqrt(&self, prec: u32) -> Option<Self> {
        (self.lo.signum() >= 0).then(|| Interval {
            lo: self.lo.sqrt(prec, Round::Down),
            hi: self.hi.sqrt(prec, Round::Up),
        })
    }

    /// |x|.
    pub fn abs(&self) -> Self {
        if self.lo.signum() >= 0 {
            self.clone()
        } else if self.hi.signum() <= 0 {
            self.neg()
        } else {
            Interval {
                lo: Dyadic::zero(),
                hi: self.lo.neg().max(self.hi.clone()),
            }
        }
    }

    /// max(x, y).
    pub fn max(&self, other: &Self) -> Self {
        Interval {
            lo: self.lo.clone().max(other.lo.clone()),
            hi: self.hi.clone().max(other.hi.clone()),
        }
    }

    /// min(x, y).
    pub fn min(&self, other: &Self) -> Self {
        Interval {
            lo: self.lo.clone().min(other.lo.clone()),
            hi: self.hi.clone().min(other.hi.clone()),
        }
    }

    /// A monotone function given by enclosures at points.
    fn increasing(&self, f: impl Fn(&Dyadic) -> Option<Interval>) -> Option<Self> {
        let lo = f(&self.lo)?.lo;
        let hi = f(&self.hi)?.hi;
        Interval { lo, hi }.checked()
    }

    /// 2^x.
    pub fn exp2(&self, prec: u32) -> Option<Self> {
        self.increasing(|x| series::exp2(x, prec))
    }

    /// log2(x), if everything inside is positive.
    pub fn log2(&self, prec: u32) -> Option<Self> {
        if self.lo.signum() <= 0 {
            return None;
        }
        self.increasing(|x| series::log2(x, prec))
    }

    /// tanh(x).
    pub fn tanh(&self, prec: u32) -> Option<Self> {
        self.increasing(|x| series::tanh(x, prec))
    }

    /// erf(x).
    pub fn erf(&self, prec: u32) -> Option<Self> {
        self.increasing(|x| series::erf(x, prec))
    }

    /// Sine, or with `cosine` the cosine: the value at the middle, widened by the radius, because
    /// the slope is at most 1.
    pub fn sin(&self, cosine: bool, prec: u32) -> Option<Self> {
        let unit = Interval::new(Dyadic::integer(-1), Dyadic::integer(1));
        let two = Dyadic::new(BigInt::from(1), -1);
        let mid = self
            .lo
            .add(&self.hi, prec, Round::Down)
            .mul(&two, prec, Round::Down);
        let radius =
            self.hi
                .add(&mid.neg(), prec, Round::Up)
                .max(mid.add(&self.lo.neg(), prec, Round::Up));
        let at = series::sin_cos(&mid, cosine, prec).unwrap_or(unit.clone());
        let wide = Interval {
            lo: at.lo.add(&radius.neg(), prec, Round::Down),
            hi: at.hi.add(&radius, prec, Round::Up),
        };
        Some(Interval {
            lo: wide.lo.max(unit.lo),
            hi: wide.hi.min(unit.hi),
        })
    }

    /// A rounding to integers given at points (monotone: floor, ceil, trunc, nearest).
    pub fn integral(&self, f: impl Fn(&BigRational) -> BigRational) -> Option<Self> {
        let at = |d: &Dyadic| -> Option<Dyadic> {
            if d.e >= 0 {
                return Some(d.clone());
            }
            // Far below one half, a number of the same sign stands for it.
            let q = if d.top() < -64 {
                BigRational::new(BigInt::from(d.signum()), BigInt::from(4))
            } else {
                d.to_rational()?
            };
            Some(Dyadic::new(f(&q).to_integer(), 0))
        };
        Some(Interval {
            lo: at(&self.lo)?,
            hi: at(&self.hi)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_traits::Signed;
    use proptest::prelude::*;

    fn dy(x: f64) -> Dyadic {
        let q = super::super::decode(crate::kernel::Fmt::F64, x.to_bits()).expect("finite");
        let k = q.denom().bits() as i64 - 1;
        Dyadic::new(q.numer().clone(), -k)
    }

    fn q(d: &Dyadic) -> BigRational {
        d.to_rational().expect("moderate")
    }

    /// Powers of masks, however large, are as good as zero and not unknown.
    #[test]
    fn powers_of_masks() {
        for top in [39, 40, 100, 1000] {
            let x = Interval::point(Dyadic::new(BigInt::from(-1), top));
            let y = x.exp2(100).unwrap();
            assert!(y.lo.signum() >= 0 && y.hi < Dyadic::new(BigInt::from(1), -1000));
        }
    }

    proptest! {
        #[test]
        fn arithmetic_contains_the_exact_result(
            a in -1e6f64..1e6, b in -1e6f64..1e6, prec in 4u32..40,
        ) {
            let (x, y) = (Interval::point(dy(a)), Interval::point(dy(b)));
            let (qa, qb) = (q(&dy(a)), q(&dy(b)));
            prop_assert!(x.add(&y, prec).contains(&(&qa + &qb)));
            prop_assert!(x.mul(&y, prec).contains(&(&qa * &qb)));
            if b != 0.0 {
                prop_assert!(x.div(&y, prec).expect("nonzero").contains(&(&qa / &qb)));
            }
            let s = x.abs().sqrt(prec).expect("not negative");
            prop_assert!(q(&s.lo) * q(&s.lo) <= qa.abs() && q(&s.hi) * q(&s.hi) >= qa.abs());
        }

        #[test]
        fn sums_of_far_apart_numbers_round_outward(
            a in -1e3f64..1e3, b in -1e3f64..1e3, gap in 0i64..200, prec in 2u32..20,
        ) {
            let (x, mut y) = (dy(a), dy(b));
            y.e -= gap;
            let exact = q(&x) + q(&y);
            prop_assert!(q(&x.add(&y, prec, Round::Down)) <= exact);
            prop_assert!(q(&y.add(&x, prec, Round::Up)) >= exact);
        }

        #[test]
        fn comparison_agrees_with_doubles(a in -1e3f64..1e3, b in -1e3f64..1e3) {
            prop_assert_eq!(dy(a).cmp(&dy(b)), a.partial_cmp(&b).expect("finite"));
        }

        #[test]
        fn functions_contain_what_libm_says(a in -30f64..30.0) {
            // A double function is off by less than 2^-40 of itself or of 1 here.
            let near = |i: Option<Interval>, v: f64| {
                let i = i.expect("defined");
                let tol = (v.abs() + 1.0) * 2f64.powi(-40);
                i.lo.to_f64() <= v + tol && i.hi.to_f64() >= v - tol
                    && i.hi.to_f64() - i.lo.to_f64() <= tol
            };
            let x = Interval::point(dy(a));
            prop_assert!(near(x.exp2(100), a.exp2()));
            prop_assert!(near(x.tanh(100), a.tanh()));
            prop_assert!(near(x.sin(false, 100), a.sin()));
            prop_assert!(near(x.sin(true, 100), a.cos()));
            prop_assert!(near(x.abs().log2(100), a.abs().log2()));
            prop_assert!(near(x.integral(|q| q.floor()), a.floor()));
        }

        #[test]
        fn more_precision_stays_inside(a in -50f64..50.0, prec in 20u32..60) {
            let x = Interval::point(dy(a));
            let inside = |f: &dyn Fn(u32) -> Option<Interval>| {
                let (wide, tight) = (f(prec).expect("defined"), f(200).expect("defined"));
                wide.lo <= tight.lo && tight.hi <= wide.hi
            };
            prop_assert!(inside(&|p| x.exp2(p)));
            prop_assert!(inside(&|p| x.tanh(p)));
            prop_assert!(inside(&|p| x.sin(false, p)));
            prop_assert!(inside(&|p| x.sin(true, p)));
            if a != 0.0 {
                prop_assert!(inside(&|p| x.abs().log2(p)));
            }
        }
    }
}
