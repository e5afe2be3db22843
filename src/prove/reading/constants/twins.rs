//! Numbers that programs write in more than one way: pi, sqrt(2 / pi) and their like.
//!
//! Problem: one kernel has the literal 0.7978845608, another `sqrtf(2.0f / 3.14159265f)`, which the
//! compiler folds in single precision, step by step, and a third the double of it. All mean
//! sqrt(2 / pi), and no two of them need have the same bits. Such a number is not read as what it is
//! irrationally, for no proof needs that: the nearest of the patterns stays as it is, and the others
//! are read as it.
//!
//! A pattern of the same format is a twin only if the arithmetic of that format makes just these bits
//! from the number's definition, rounding at each step; being near is not enough. One of another format
//! has to be within one unit in the last place, as for every reading.

use std::sync::OnceLock;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive};

use super::{Base, Meaning, Meant, format, unit};
use crate::kernel::Fmt;
use crate::term::pow2;

/// Multiples by powers of two that are recognised.
const MAX_SHIFT: i64 = 6;

const PI: f32 = std::f32::consts::PI;

/// A number that has no rational form, and what single precision makes of it in the usual ways.
struct Irrational {
    /// Forty digits of it.
    digits: &'static str,
    computed: fn() -> Vec<f32>,
}

const KNOWN: [Irrational; 7] = [
    // sqrt(2 / pi), and 1 / sqrt(2 pi), its half
    Irrational {
        digits: "0.7978845608028653558798921198687637369517",
        computed: || {
            use std::f32::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};
            vec![
                (2.0 / PI).sqrt(),
                (1.0 / PI).sqrt() * SQRT_2,
                SQRT_2 / PI.sqrt(),
                FRAC_2_SQRT_PI * FRAC_1_SQRT_2,
                SQRT_2 * FRAC_2_SQRT_PI * 0.5,
                1.0 / (PI / 2.0).sqrt(),
                2.0 / (2.0 * PI).sqrt(),
                2.0 * (1.0 / (2.0 * PI)).sqrt(),
            ]
        },
    },
    // 1 / sqrt(pi)
    Irrational {
        digits: "0.5641895835477562869480794515607725858441",
        computed: || vec![1.0 / PI.sqrt(), (1.0 / PI).sqrt()],
    },
    // sqrt(2 pi)
    Irrational {
        digits: "2.5066282746310005024157652848110452530070",
        computed: || vec![(2.0 * PI).sqrt(), std::f32::consts::SQRT_2 * PI.sqrt()],
    },
    // pi, 1 / pi, pi / 180
    Irrational {
        digits: "3.1415926535897932384626433832795028841972",
        computed: Vec::new,
    },
    Irrational {
        digits: "0.3183098861837906715377675267450287240689",
        computed: || vec![1.0 / PI],
    },
    Irrational {
        digits: "0.0174532925199432957692369076848861271344",
        computed: || vec![PI / 180.0],
    },
    // ln(2 pi)
    Irrational {
        digits: "1.8378770664093454835606594728112352797228",
        computed: Vec::new,
    },
];

/// The known numbers as rationals.
fn known() -> &'static [(BigRational, Vec<BigRational>)] {
    static NUMBERS: OnceLock<Vec<(BigRational, Vec<BigRational>)>> = OnceLock::new();
    NUMBERS.get_or_init(|| {
        let number = |k: &Irrational| {
            let digits: String = k.digits.chars().filter(char::is_ascii_digit).collect();
            let places = k.digits.len() - 1 - k.digits.find('.')?;
            let unit = BigInt::from(10).pow(places as u32);
            let value = BigRational::new(digits.parse().ok()?, unit);
            let computed = (k.computed)().into_iter();
            Some((
                value,
                computed.filter_map(BigRational::from_float).collect(),
            ))
        };
        KNOWN.iter().filter_map(number).collect()
    })
}

/// A constant as a multiple of a known number by a power of two.
struct Multiple<'c> {
    constant: &'c BigRational,
    /// The constant without the power of two.
    reduced: BigRational,
    shift: i64,
    fmt: Fmt,
    distance: BigRational,
}

fn multiple<'c>(q: &'c BigRational, number: &BigRational) -> Option<Multiple<'c>> {
    let fmt = format(q)?;
    let ratio = q.to_f64()? / number.to_f64()?;
    let shift = ratio.log2().round();
    if shift.abs() > MAX_SHIFT as f64 || (ratio / shift.exp2() - 1.0).abs() > 3e-7 {
        return None;
    }
    let shift = shift as i64;
    let reduced = q * pow2(-shift);
    let distance = (&reduced - number).abs();
    (distance <= unit(&reduced, fmt)).then_some(Multiple {
        constant: q,
        reduced,
        shift,
        fmt,
        distance,
    })
}

/// The readings of constants as the nearest of those that mean the same known number. `free` says
/// which may be read, or be what another is read as.
pub(super) fn twins(
    constants: &[BigRational],
    free: impl Fn(&BigRational) -> bool,
) -> Vec<(&BigRational, Meant)> {
    let mut out = Vec::new();
    for (number, computed) in known() {
        let all = constants.iter().filter(|q| free(q));
        let mut all: Vec<Multiple> = all.filter_map(|q| multiple(q, number)).collect();
        all.sort_by(|a, b| a.distance.cmp(&b.distance));
        let Some((nearest, others)) = all.split_first() else {
            continue;
        };
        // Of the first format the nearest is what the number itself is rounded to.
        let two = BigRational::from_integer(2.into());
        if &nearest.distance * two > unit(&nearest.reduced, nearest.fmt) {
            continue;
        }
        let mut other_format: Option<&BigRational> = None;
        for m in others.iter().filter(|m| m.reduced != nearest.reduced) {
            let first =
                m.fmt != nearest.fmt && *other_format.get_or_insert(&m.reduced) == &m.reduced;
            let folded = m.fmt == Fmt::F32 && computed.contains(&m.reduced);
            if !first && !folded {
                continue;
            }
            let mut meaning = Meaning::new(BigRational::one(), Base::One);
            meaning.factor = pow2(m.shift - nearest.shift);
            meaning.times.push(nearest.constant.clone());
            out.push((
                m.constant,
                Meant {
                    meaning,
                    fmt: Some(m.fmt),
                    reciprocal: None,
                    computed: true,
                },
            ));
        }
    }
    out
}

/// True if single precision makes these bits of sqrt(square), a step at a time.
pub(super) fn is_computed_root(q: &BigRational, square: &BigRational) -> bool {
    let (Some(n), Some(d)) = (square.numer().to_f32(), square.denom().to_f32()) else {
        return false;
    };
    let ways = [
        1.0 / (d / n).sqrt(),
        (n / d).sqrt(),
        n.sqrt() / d.sqrt(),
        n.sqrt() * (1.0 / d.sqrt()),
    ];
    let mut ways = ways.into_iter().filter_map(BigRational::from_float);
    ways.any(|w| w == *q)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(v: f64) -> BigRational {
        BigRational::from_float(v).expect("finite")
    }

    /// What the second constant is read as, beside the first.
    fn read(a: f64, b: f64) -> Option<f64> {
        let constants = [exact(a), exact(b)];
        let mut found = twins(&constants, |_| true);
        assert!(found.len() < 2);
        let (q, r) = found.pop()?;
        assert_eq!(*q, constants[1]);
        r.meaning.rational().to_f64()
    }

    #[test]
    fn the_steps_of_single_precision_are_recognised() {
        let f = f32::from_bits;
        let (literal, folded) = (f(0x3f4c_422a), (2.0 / PI).sqrt());
        assert_ne!(literal, folded);
        assert_eq!(literal, std::f64::consts::FRAC_2_PI.sqrt() as f32);
        assert_eq!(read(literal.into(), folded.into()), Some(literal.into()));
        let twice = (-2.0 * folded).abs();
        let doubled = 2.0 * f64::from(literal);
        assert_eq!(read(literal.into(), twice.into()), Some(doubled));
        let double = (2.0 / std::f64::consts::PI).sqrt();
        assert_eq!(read(double, folded.into()), Some(double));
        assert_eq!(read(double, literal.into()), Some(double));
        // The neighbour on the other side is no twin, nor one that is further away.
        assert_eq!(read(literal.into(), f(0x3f4c_422b).into()), None);
        assert_eq!(read(literal.into(), f(0x3f4c_4228).into()), None);
        // The folded one alone says nothing, nor do two of it.
        assert_eq!(read(folded.into(), twice.into()), None);
    }

    #[test]
    fn known_numbers_are_what_they_are_said_to_be() {
        use std::f64::consts::PI;
        let values = [
            (2.0 / PI).sqrt(),
            1.0 / PI.sqrt(),
            (2.0 * PI).sqrt(),
            PI,
            1.0 / PI,
            PI / 180.0,
            (2.0 * PI).ln(),
        ];
        assert_eq!(known().len(), values.len());
        for ((q, computed), v) in known().iter().zip(values) {
            assert!((q.to_f64().expect("small") / v - 1.0).abs() < 1e-15);
            for c in computed {
                let unit = unit(c, Fmt::F32);
                assert!((c - q).abs() <= unit, "{c} is not {v}");
            }
        }
    }

    #[test]
    fn roots_are_computed_in_steps() {
        let square = BigRational::new(1.into(), 96.into());
        let folded = 1.0 / 96f32.sqrt();
        let literal = (1.0 / 96f64.sqrt()) as f32;
        assert_ne!(folded, literal);
        assert!(is_computed_root(&exact(folded.into()), &square));
        let beside = f32::from_bits(folded.to_bits() ^ 2);
        assert!(!is_computed_root(&exact(beside.into()), &square));
    }
}
