//! Comparisons and tests of floats.

use std::cmp::Ordering;

use crate::scalar::{Cmp, FloatTest, Fmt};

use super::{Decoded, decode, is_subnormal};

/// How two floats are ordered; `None` if one is no number. Zeros are equal.
fn order(fmt: Fmt, a: u64, b: u64) -> Option<Ordering> {
    match fmt {
        Fmt::F32 => return f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32)),
        Fmt::F64 => return f64::from_bits(a).partial_cmp(&f64::from_bits(b)),
        _ => {}
    }
    let [x, y] = [a, b].map(|v| decode(fmt, v));
    if x.value == Decoded::Nan || y.value == Decoded::Nan {
        return None;
    }
    // Magnitudes are ordered as encodings are.
    let key = |bits: u64, negative: bool, value: Decoded| match value {
        Decoded::Zero => 0,
        _ => {
            let magnitude = i128::from(bits & (u64::MAX >> (65 - fmt.bits())));
            if negative { -magnitude } else { magnitude }
        }
    };
    Some(key(a, x.negative, x.value).cmp(&key(b, y.negative, y.value)))
}

/// Whether a comparison holds.
pub fn compare(cmp: Cmp, fmt: Fmt, a: u64, b: u64) -> bool {
    use Ordering::*;
    let order = order(fmt, a, b);
    match cmp {
        Cmp::Eq => order == Some(Equal),
        Cmp::Ne => matches!(order, Some(Less | Greater)),
        Cmp::Lt => order == Some(Less),
        Cmp::Le => matches!(order, Some(Less | Equal)),
        Cmp::Gt => order == Some(Greater),
        Cmp::Ge => matches!(order, Some(Greater | Equal)),
        Cmp::Equ => matches!(order, None | Some(Equal)),
        Cmp::Neu => order != Some(Equal),
        Cmp::Ltu => matches!(order, None | Some(Less)),
        Cmp::Leu => order != Some(Greater),
        Cmp::Gtu => matches!(order, None | Some(Greater)),
        Cmp::Geu => order != Some(Less),
        Cmp::Num => order.is_some(),
        Cmp::Nan => order.is_none(),
    }
}

/// Whether a float has a property.
pub fn test(test: FloatTest, fmt: Fmt, bits: u64) -> bool {
    let value = decode(fmt, bits).value;
    match test {
        FloatTest::Finite => !matches!(value, Decoded::Nan | Decoded::Infinite),
        FloatTest::Infinite => value == Decoded::Infinite,
        FloatTest::Number => value != Decoded::Nan,
        FloatTest::NotANumber => value == Decoded::Nan,
        // Zeros count as normal.
        FloatTest::Normal => {
            !matches!(value, Decoded::Nan | Decoded::Infinite) && !is_subnormal(fmt, bits)
        }
        FloatTest::Subnormal => is_subnormal(fmt, bits),
    }
}
