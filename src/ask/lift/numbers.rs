//! Rationals: roots, powers, and the decimals that people wrote.

use num_bigint::BigInt;
use num_integer::{Integer, Roots};
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive};

use super::tree::Q;

/// Digits of a number that is looked at for a root.
const MAX_ROOT_BITS: u64 = 256;

/// A power.
pub(super) fn power_of(q: &Q, n: i32) -> Q {
    num_traits::Pow::pow(q, n)
}

/// Whole numbers, and the least that all have to be divided by to be these.
pub(super) fn over_one(values: &[Q]) -> (Vec<BigInt>, BigInt) {
    let over = values.iter().fold(BigInt::one(), |d, q| d.lcm(q.denom()));
    let whole = values.iter().map(|q| (q * &over).to_integer());
    (whole.collect(), over)
}

/// A number as the square of one times the rest.
pub(super) fn root_of(q: &Q) -> (Q, Q) {
    let root = |n: &BigInt| -> BigInt {
        if n.bits() > MAX_ROOT_BITS {
            return BigInt::one();
        }
        let r = n.sqrt();
        match &r * &r == *n {
            true => r,
            false => small_root(n),
        }
    };
    if !q.is_positive() {
        return (Q::one(), q.clone());
    }
    let out = Q::new(root(q.numer()), root(q.denom()));
    let rest = q / (&out * &out);
    (out, rest)
}

/// The largest small number whose square divides a number.
fn small_root(n: &BigInt) -> BigInt {
    const LARGEST: u64 = 1 << 10;
    let Some(n) = n.to_u64() else {
        return BigInt::one();
    };
    let last = n.sqrt().min(LARGEST);
    let root = (2..=last).rev().find(|r| n.is_multiple_of(r * r));
    BigInt::from(root.unwrap_or(1))
}

/// A constant of a kernel as the shortest decimal that a float of its format stands for.
pub(super) fn decimal(q: &BigRational) -> BigRational {
    let shortest = |text: String| -> Option<BigRational> {
        let (mantissa, exponent) = text.split_once('e')?;
        let exponent: i32 = exponent.parse().ok()?;
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: BigInt = format!("{whole}{part}").parse().ok()?;
        let ten = BigRational::from_integer(10.into());
        let scale: BigRational = num_traits::Pow::pow(&ten, exponent - part.len() as i32);
        Some(BigRational::from_integer(digits) * scale)
    };
    let Some(wide) = q.to_f64() else {
        return q.clone();
    };
    let exact = |x: f64| BigRational::from_float(x).as_ref() == Some(q);
    let narrow = wide as f32;
    let text = match (exact(f64::from(narrow)), exact(wide)) {
        (true, _) => format!("{narrow:e}"),
        (false, true) => format!("{wide:e}"),
        (false, false) => return q.clone(),
    };
    shortest(text).unwrap_or_else(|| q.clone())
}
