//! Intervals of dyadic numbers with outward rounding.
//!
//! Problem: refuting an equality of real functions needs values whose error is known. Source: plain
//! interval arithmetic (IEEE 1788 in spirit) over numbers m * 2^e with big integer m. Ends are
//! rounded down and up to a precision in bits; add, multiply, divide and square root round the
//! exact result, elementary functions come from `series.rs` with an error bound of their own.
//!
//! What is not claimed: tightest results. An end may be a few units too far out, never too far in.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_rational::BigRational;

use super::dyadic::{Dyadic, Interval, MAX_EXPONENT, Round};
use super::series;

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
        let q = super::super::decode(crate::scalar::Fmt::F64, x.to_bits()).expect("finite");
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
