//! The forms that a rounded constant may have been: small fractions of 1, log2(e), ln 2 and roots, and
//! what is made of other constants of the pair.
//!
//! Only doubles are compared here, to find candidates; whether a form is within one unit in the
//! last place is decided by the caller with an enclosure.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::{Base, Meaning};

/// Largest n of a reading 1/n.
const MAX_INVERSE: f64 = 65536.0;

/// Bits of the numerator and the denominator together of a fraction that digits of a double are read as.
const MAX_FRACTION_BITS: u64 = 36;

/// Small fractions near `r`, the simplest first.
fn fractions(r: f64, max_den: u64, max_size: f64, tolerance: f64) -> Option<BigRational> {
    (1..=max_den).find_map(|den| {
        let num = (r * den as f64).round();
        let small = num >= 1.0 && num * den as f64 <= max_size;
        let near = (num / den as f64 - r).abs() <= r * tolerance;
        (small && near).then(|| BigRational::new(BigInt::from(num as u64), BigInt::from(den)))
    })
}

/// The fraction 1/n near `r`.
fn inverse(r: f64, tolerance: f64) -> Option<BigRational> {
    let n = (1.0 / r).round();
    let near = (1.0 / n - r).abs() <= r * tolerance;
    ((2.0..=MAX_INVERSE).contains(&n) && near)
        .then(|| BigRational::new(BigInt::one(), BigInt::from(n as u64)))
}

/// The first fraction of the continued one of `q` that is within `slack`, if it is far smaller than a number of
/// which nothing is known would need: by chance one of this size lies so close once in 2^16 times.
pub(super) fn small_fraction(q: &BigRational, slack: &BigRational) -> Option<BigRational> {
    let (mut before, mut last) = (
        (BigInt::zero(), BigInt::one()),
        (BigInt::one(), BigInt::zero()),
    );
    let mut rest = q.clone();
    loop {
        let whole = rest.floor().to_integer();
        let next = (&whole * &last.0 + &before.0, &whole * &last.1 + &before.1);
        (before, last) = (last, next);
        if last.0.bits() + last.1.bits() > MAX_FRACTION_BITS {
            return None;
        }
        let found = BigRational::new(last.0.clone(), last.1.clone());
        if (&found - q).abs() <= *slack {
            return found.is_positive().then_some(found);
        }
        rest = (rest - BigRational::from_integer(whole)).recip();
    }
}

/// Forms without partners that are near a number, the most usual first.
pub(super) fn simple(v: f64, tolerance: f64) -> Vec<Meaning> {
    use std::f64::consts::{LN_2, LOG2_E};
    let mut out = Vec::new();
    let mut push = |q: Option<BigRational>, base| {
        out.extend(q.map(|q| Meaning::new(q, base)));
    };
    push(fractions(v / LOG2_E, 64, 4096.0, tolerance), Base::Log2E);
    push(fractions(v / LN_2, 64, 4096.0, tolerance), Base::Ln2);
    push(fractions(v, 64, 4096.0, tolerance), Base::One);
    push(inverse(v, tolerance), Base::One);
    // The square of a rounded number is off by twice as much.
    push(fractions(v * v, 64, 4096.0, 2.0 * tolerance), Base::Sqrt);
    push(inverse(v * v, 2.0 * tolerance), Base::Sqrt);
    out
}

/// Kinds of forms with constants of the pair, in the order in which they are tried: where one
/// constant is the product of two others, it is the product that is read.
pub(super) const KINDS: [Kind; 6] = [
    Kind::Rest,
    Kind::Complement,
    Kind::Log2E,
    Kind::Product,
    Kind::Quotient,
    Kind::Ln2,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What a rounded log2(e) or ln 2 that the pair also uses leaves of it.
    Rest,
    /// What a constant, or the product of two, leaves of 1.
    Complement,
    Log2E,
    Product,
    Quotient,
    Ln2,
}

/// Forms with constants of the pair.
pub(super) fn with_partners(
    v: f64,
    kind: Kind,
    partners: &[BigRational],
    tolerance: f64,
) -> Vec<Meaning> {
    use std::f64::consts::{LN_2, LOG2_E};
    let values: Vec<f64> = partners
        .iter()
        .map(|p| p.to_f64().unwrap_or(f64::NAN))
        .collect();
    let list = || partners.iter().zip(&values);
    let near = |x: f64| (x - v).abs() <= v * tolerance;
    let one = BigRational::one();
    let scaled = |base, unit: f64| {
        let form = |(p, &x): (&BigRational, &f64)| {
            let factor = fractions(v / (x * unit), 8, 16.0, tolerance)?;
            let mut m = Meaning::new(factor, base);
            m.times.push(p.clone());
            Some(m)
        };
        list().filter_map(form).collect()
    };
    let mut out: Vec<Meaning> = Vec::new();
    match kind {
        Kind::Rest => {
            for (base, unit) in [(Base::Log2E, LOG2_E), (Base::Ln2, LN_2)] {
                // The difference of neighbours is exact.
                for (p, _) in list().filter(|(_, x)| near_rest(unit - *x, v)) {
                    let mut m = Meaning::new(one.clone(), base);
                    m.minus = Some(p.clone());
                    out.push(m);
                }
            }
        }
        Kind::Complement => {
            // The part of 1 may be small, and the difference then says little of it.
            let near = |x: f64| x < 1.0 && (1.0 - x - v).abs() <= v * tolerance;
            let mut push = |times: &[&BigRational]| {
                let mut m = Meaning::new(one.clone(), Base::One);
                m.times.extend(times.iter().copied().cloned());
                m.complement = true;
                out.push(m);
            };
            for (p, _) in list().filter(|(_, x)| near(**x)) {
                push(&[p]);
            }
            for (i, (p, x)) in list().enumerate() {
                for (q, _) in list().skip(i).filter(|(_, y)| near(x * **y)) {
                    push(&[p, q]);
                }
            }
        }
        Kind::Log2E => return scaled(Base::Log2E, LOG2_E),
        Kind::Ln2 => return scaled(Base::Ln2, LN_2),
        Kind::Product => {
            for (i, (p, x)) in list().enumerate() {
                for (q, _) in list().skip(i).filter(|(_, y)| near(x * **y)) {
                    let mut m = Meaning::new(one.clone(), Base::One);
                    m.times.extend([p.clone(), q.clone()]);
                    out.push(m);
                }
            }
        }
        Kind::Quotient => {
            for (p, x) in list() {
                let mut over = Meaning::new(one.clone(), Base::One);
                over.over = Some(p.clone());
                if near(1.0 / x) {
                    out.push(over.clone());
                }
                let mut root = Meaning::new(one.clone(), Base::Sqrt);
                root.times.push(p.clone());
                if near(x.sqrt()) {
                    out.push(root);
                }
                if near(1.0 / x.sqrt()) {
                    over.base = Base::Sqrt;
                    out.push(over);
                }
            }
            for (i, (p, x)) in list().enumerate() {
                for (j, (q, _)) in list().enumerate().filter(|(_, (_, y))| near(x / **y)) {
                    if i != j {
                        let mut m = Meaning::new(one.clone(), Base::One);
                        m.times.push(p.clone());
                        m.over = Some(q.clone());
                        out.push(m);
                    }
                }
            }
        }
    }
    out
}

/// True if a difference of doubles near 1 may be `v`, which is small beside them.
fn near_rest(difference: f64, v: f64) -> bool {
    v < 1e-5 && (difference - v).abs() <= v * 1e-6
}
