//! Numbers of the form n 2^e, and intervals of them.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};

use super::pow2;

/// Exponents beyond this are refused: `None`, which a caller reports as undecided.
pub(super) const MAX_EXPONENT: i64 = 1 << 40;

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
