//! Conversions between floats, and between floats and integers.

use crate::scalar::{FloatMods, Fmt, IntTy, Rnd};

use super::arithmetic::clamped;
use super::half::Half;
use super::{Decoded, Exact, Float, Layout, Top, decode, flushed, infinity, largest, nan, zero};

/// The modifiers of a conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Narrowing {
    /// Rounding.
    pub rnd: Rnd,
    /// `.sat`: to [0, 1].
    pub sat: bool,
    /// `.satfinite`: what is beyond the range becomes its end.
    pub satfinite: bool,
    /// `.relu`.
    pub relu: bool,
    /// `.ftz`.
    pub ftz: bool,
}

fn to_integer(rnd: Rnd) -> bool {
    matches!(rnd, Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi)
}

/// The whole number that a float is rounded to.
fn whole(x: Exact, rnd: Rnd) -> u128 {
    let (kept, half, more) = x.cut(0);
    let up = match rnd {
        Rnd::Rni | Rnd::Rn => half && (more || kept & 1 == 1),
        Rnd::Rmi | Rnd::Rm => x.negative && (half || more),
        Rnd::Rpi | Rnd::Rp => !x.negative && (half || more),
        _ => false,
    };
    kept + u128::from(up)
}

/// A float in another format to nearest, by the processor's doubles; `None` of other formats and modifiers.
#[inline]
fn by_doubles(from: Fmt, to: Fmt, how: &Narrowing, bits: u64) -> Option<u64> {
    let is_plain = !(how.sat || how.satfinite || how.relu || how.ftz);
    if !is_plain || !matches!(how.rnd, Rnd::None | Rnd::Rn) {
        return None;
    }
    let x = match (from, Half::of(from)) {
        (Fmt::F32, _) => f64::from(f32::from_bits(bits as u32)),
        (Fmt::F64, _) => f64::from_bits(bits),
        (_, Some(half)) => half.widened(bits),
        _ => return None,
    };
    Some(match (to, Half::of(to)) {
        (Fmt::F32 | Fmt::F64, _) if x.is_nan() => nan(to),
        (Fmt::F32, _) => (x as f32).to_bits().into(),
        (Fmt::F64, _) => x.to_bits(),
        (_, Some(half)) => half.narrowed(x),
        _ => return None,
    })
}

/// A float in another format; `None` for a random rounding.
pub fn float_to_float(from: Fmt, to: Fmt, how: &Narrowing, bits: u64) -> Option<u64> {
    if let Some(bits) = by_doubles(from, to, how, bits) {
        return Some(bits);
    }
    let flush = |f: Fmt, b| match how.ftz && f == Fmt::F32 {
        true => flushed(f, b),
        false => b,
    };
    let mut x = decode(from, flush(from, bits));
    if to_integer(how.rnd)
        && let Decoded::Finite { exponent, .. } = x.value
        && exponent < 0
    {
        let n = whole(x.exact()?, how.rnd) as u64;
        x.value = match n {
            0 => Decoded::Zero,
            n => Decoded::Finite {
                mantissa: n,
                exponent: 0,
            },
        };
    }
    if how.relu && x.negative && x.value != Decoded::Nan {
        return Some(zero(to, false));
    }
    let finite = how.satfinite || Layout::of(to).is_none_or(|l| l.top != Top::Special);
    let result = match x.value {
        Decoded::Infinite if finite => largest(to, x.negative),
        _ => x.encode(to, how.rnd)?,
    };
    let over = finite && result == infinity(to, x.negative) && x.value != Decoded::Nan;
    let result = if over {
        largest(to, x.negative)
    } else {
        result
    };
    let mods = FloatMods {
        sat: how.sat,
        ..FloatMods::default()
    };
    Some(clamped(to, &mods, flush(to, result)))
}

/// A float as an integer, which clamps; NaN gives 0, or the top bit where either side has 64 bits.
pub fn float_to_int(from: Fmt, to: IntTy, how: &Narrowing, bits: u64) -> u64 {
    let bits = match how.ftz && from == Fmt::F32 {
        true => flushed(from, bits),
        false => bits,
    };
    let x = decode(from, bits);
    let width = u32::from(to.width);
    let (low, high) = match to.signed {
        true => (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1),
        false => (0, (1i128 << width) - 1),
    };
    let value = match x.value {
        Decoded::Nan if from == Fmt::F64 || to.width == 64 => return 1 << (width - 1),
        Decoded::Nan | Decoded::Zero => 0,
        Decoded::Infinite if x.negative => low,
        Decoded::Infinite => high,
        Decoded::Finite { mantissa, exponent } => {
            let rnd = if how.rnd == Rnd::None {
                Rnd::Rzi
            } else {
                how.rnd
            };
            let n = match exponent {
                // Beyond every integer type.
                64.. => i128::MAX,
                e => whole(Exact::new(x.negative, mantissa, e), rnd) as i128,
            };
            let n = n.max(0);
            (if x.negative { -n } else { n }).clamp(low, high)
        }
    };
    value as u64 & (u64::MAX >> (64 - width))
}

/// An integer as a float.
pub fn int_to_float(from: IntTy, to: Fmt, how: &Narrowing, bits: u64) -> Option<u64> {
    let unused = 64 - u32::from(from.width);
    let (negative, magnitude) = match from.signed {
        true => {
            let v = (bits << unused) as i64 >> unused;
            (v < 0, v.unsigned_abs())
        }
        false => (false, bits << unused >> unused),
    };
    let value = match magnitude {
        0 => Decoded::Zero,
        m => Decoded::Finite {
            mantissa: m,
            exponent: 0,
        },
    };
    let r = Float { negative, value }.encode(to, how.rnd)?;
    let r = match how.satfinite && r == infinity(to, negative) {
        true => largest(to, negative),
        false => r,
    };
    let mods = FloatMods {
        sat: how.sat,
        relu: how.relu,
        ..FloatMods::default()
    };
    assert!(
        r != nan(to) || to.is_always_finite(),
        "an integer is a number"
    );
    Some(clamped(to, &mods, r))
}
