//! Rounded constants read as the numbers that they stand for.
//!
//! Problem: log2(e), ln 2, 1/3 and their multiples reach a kernel as floats, so that two kernels
//! which scale by log2(e) in one place and use tanh in another are equal only if the float is read
//! as the number (design, section 3). A constant within one unit in the last place of binary32 of
//! q * log2(e), q * ln 2 or q, for a rational q with a small numerator and a denominator of at
//! most 64, may be read so.
//!
//! Sound as an assumption only: each reading that takes part is listed with both values. A constant
//! has one reading in the whole pair, and no two constants share one.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};

use crate::term::{ConstId, TermStore};

/// Largest denominator and numerator of the factor.
const DENOMINATOR: i64 = 64;
const NUMERATOR: i64 = 256;
/// One unit in the last place of binary32, relative.
const ULP: f64 = 1.0 / (1 << 23) as f64;
/// Constants whose numerator and denominator are this short are meant as they are.
const PLAIN_BITS: u64 = 12;

/// What a constant is read as: `factor * log2(e)^power`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reading {
    /// The rational factor.
    pub factor: BigRational,
    /// 1 for log2(e), -1 for ln 2, 0 for the factor alone.
    pub power: i32,
}

/// The readings of the constants of a store.
#[derive(Clone, Debug, Default)]
pub struct Readings {
    map: BTreeMap<ConstId, Reading>,
}

impl Readings {
    /// All constants that have a reading.
    pub fn of(store: &TermStore) -> Readings {
        // The nearest constant of each reading keeps it.
        let mut best: BTreeMap<Reading, (f64, ConstId)> = BTreeMap::new();
        for i in 0..store.constant_count() {
            let id = ConstId(i as u32);
            if let Some((reading, error)) = read(store.constant(id)) {
                let entry = best.entry(reading).or_insert((error, id));
                if error < entry.0 {
                    *entry = (error, id);
                }
            }
        }
        let map = best.into_iter().map(|(r, (_, id))| (id, r)).collect();
        Readings { map }
    }

    /// True if no constant has a reading.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The reading of a constant.
    pub fn get(&self, id: ConstId) -> Option<&Reading> {
        self.map.get(&id)
    }

    /// The readings as sentences.
    pub fn describe(&self, store: &TermStore, used: &BTreeSet<ConstId>) -> Vec<String> {
        let line = |id: &ConstId| {
            let r = self.map.get(id)?;
            let value = store.constant(*id).to_f64()?;
            let bits = (value as f32).to_bits();
            let what = match (r.power, r.factor == BigRational::from_integer(1.into())) {
                (1, true) => "log2(e)".to_string(),
                (-1, true) => "ln 2".to_string(),
                (1, false) => format!("{} * log2(e)", r.factor),
                (-1, false) => format!("{} * ln 2", r.factor),
                _ => r.factor.to_string(),
            };
            Some(format!(
                "the constant {value:e} (0f{bits:08X}) stands for {what}"
            ))
        };
        used.iter().filter_map(line).collect()
    }
}

/// The reading of a number and its relative error.
fn read(r: &BigRational) -> Option<(Reading, f64)> {
    if r.is_zero() || (r.numer().bits() <= PLAIN_BITS && r.denom().bits() <= PLAIN_BITS) {
        return None;
    }
    let value = r.to_f64()?;
    let mut best: Option<(Reading, f64)> = None;
    for (power, target) in [
        (1, std::f64::consts::LOG2_E),
        (-1, std::f64::consts::LN_2),
        (0, 1.0),
    ] {
        let x = value / target;
        for d in 1..=DENOMINATOR {
            let n = (x * d as f64).round();
            if n == 0.0 || n.abs() > NUMERATOR as f64 {
                continue;
            }
            let error = ((x * d as f64 - n) / n).abs();
            if error > ULP || best.as_ref().is_some_and(|b| b.1 <= error) {
                continue;
            }
            let factor = BigRational::new(BigInt::from(n as i64), BigInt::from(d));
            // A dyadic number is exact as a float: it stands for itself.
            if power == 0 && (factor.denom().trailing_zeros() == Some(factor.denom().bits() - 1)) {
                continue;
            }
            best = Some((Reading { factor, power }, error));
            break;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Fmt;
    use crate::term::decode;

    fn of(bits: u64) -> Option<Reading> {
        read(&decode(Fmt::F32, bits).expect("finite")).map(|r| r.0)
    }

    fn reading(n: i64, d: i64, power: i32) -> Option<Reading> {
        Some(Reading {
            factor: BigRational::new(n.into(), d.into()),
            power,
        })
    }

    #[test]
    fn floats_near_known_numbers_are_read_as_them() {
        assert_eq!(of(0x3fb8_aa3b), reading(1, 1, 1));
        assert_eq!(of(0xbfb8_aa3b), reading(-1, 1, 1));
        assert_eq!(of(0x3f31_7218), reading(1, 1, -1));
        assert_eq!(of(0x3e38_aa3b), reading(1, 8, 1));
        assert_eq!(of(0x3eaa_aaab), reading(1, 3, 0));
    }

    #[test]
    fn other_floats_stand_for_themselves() {
        assert_eq!(of(0x3fb8_aa00), None);
        assert_eq!(of(0x3f80_0000), None);
        assert_eq!(of(0x3f4c_422a), None);
        assert_eq!(of(0x3fc0_0000), None);
    }
}
