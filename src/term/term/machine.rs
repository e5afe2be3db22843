//! What the machine makes of an operation on known numbers: the value of a made number at an input.
//!
//! Source: PTX ISA 9.0, sections 9.7.3 to 9.7.5 and 9.7.9; IEEE 754-2019, section 4.3. Results are
//! rounded once, in exact rational arithmetic. What no manual determines is undecided:
//! approximations, sums that a compiler may contract, zeros, whose sign a rational does not have, and
//! whatever overflows.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

use super::bitval::decode;
use super::made::{Kind, Shape, is_no_integer};
use super::value::Value;
use super::{layout, pow2};
use crate::scalar::{FloatOp, Fmt, Rnd};

/// The value of a made number from those of the encodings of its operands.
pub(super) fn value(shape: Shape, operands: &[&Value]) -> Value {
    if operands.contains(&&Value::Undefined) {
        return Value::Undefined;
    }
    computed(shape, operands).map_or(Value::Undecided, Value::Exact)
}

fn computed(shape: Shape, operands: &[&Value]) -> Option<BigRational> {
    let (fmt, m) = (shape.fmt, &shape.mods);
    let number = |i: usize, f: Fmt| match decode(f, operands.get(i)?) {
        Value::Exact(q) => Some(q),
        _ => None,
    };
    if m.approx || m.abs || m.xorsign_abs || m.oob || shape.place != 0 {
        return None;
    }
    let x = number(0, shape.src);
    let exact = match shape.kind {
        // One value that a register can hold.
        Kind::Known => match operands {
            [Value::Exact(q)] => return Some(q.clone()),
            _ => return None,
        },
        Kind::Select => {
            let taken = match operands.first()? {
                Value::Bool(true) => 1,
                Value::Bool(false) => 2,
                _ => return None,
            };
            number(taken, fmt)?
        }
        Kind::Read => number(0, fmt)?,
        Kind::Convert if is_no_integer(m.rnd) => x?,
        Kind::Convert => return None,
        Kind::OfInt { .. } | Kind::Product(_) | Kind::Won => return None,
        Kind::Float(op) => {
            let mixed = match op {
                FloatOp::Add | FloatOp::Sub => fmt,
                _ => shape.src,
            };
            float(op, x?, number(1, mixed), number(2, fmt), fmt)?
        }
    };
    if exact.is_zero() || m.ftz && exact.abs() < least(fmt) {
        return None;
    }
    let clamped = match (m.sat, m.relu) {
        (true, _) => exact.max(BigRational::zero()).min(BigRational::one()),
        (_, true) => exact.max(BigRational::zero()),
        _ => exact,
    };
    round(fmt, m.rnd, &clamped)
}

/// The result of an instruction before it is rounded; the square root is rounded already.
fn float(
    op: FloatOp,
    x: BigRational,
    y: Option<BigRational>,
    z: Option<BigRational>,
    fmt: Fmt,
) -> Option<BigRational> {
    Some(match op {
        FloatOp::Add => x + y?,
        FloatOp::Sub => x - y?,
        FloatOp::Mul => x * y?,
        FloatOp::Fma => x * y? + z?,
        FloatOp::Div => x / y.filter(|y| !y.is_zero())?,
        FloatOp::Rcp if !x.is_zero() => x.recip(),
        FloatOp::Sqrt if x.is_positive() => root(fmt, &x)?,
        FloatOp::Neg => -x,
        FloatOp::Abs => x.abs(),
        FloatOp::Min => x.min(y?),
        FloatOp::Max => x.max(y?),
        FloatOp::Min3 => x.min(y?).min(z?),
        FloatOp::Max3 => x.max(y?).max(z?),
        FloatOp::Rcp
        | FloatOp::Sqrt
        | FloatOp::Rsqrt
        | FloatOp::Ex2
        | FloatOp::Lg2
        | FloatOp::Sin
        | FloatOp::Cos
        | FloatOp::Tanh
        | FloatOp::Copysign => return None,
    })
}

/// The least normal number of a format.
pub fn least(fmt: Fmt) -> BigRational {
    let (eb, _) = layout(fmt).unwrap_or((8, 23));
    pow2(2 - (1i64 << (eb - 1)))
}

/// A number that rounds, by every mode, as the square root of a positive one does: the root cut off
/// far below the last place, with a bit more where something was cut off.
pub fn root(fmt: Fmt, x: &BigRational) -> Option<BigRational> {
    let e = x.numer().bits() as i64 - x.denom().bits() as i64;
    let places = 2 * (i64::from(fmt.precision()) + 8) - e;
    let places = places + places.rem_euclid(2);
    let scaled = x * pow2(places);
    let whole = scaled.floor().to_integer();
    let r = whole.sqrt();
    let inexact = &r * &r != whole || !scaled.is_integer();
    let sticky = BigInt::from(inexact as u8);
    let twice: BigInt = r * BigInt::from(2) + sticky;
    Some(BigRational::from_integer(twice) * pow2(-places / 2 - 1))
}

/// A number rounded to a format; `None` where it overflows or the format has no IEEE layout.
pub fn round(fmt: Fmt, rnd: Rnd, v: &BigRational) -> Option<BigRational> {
    let (eb, _) = layout(fmt)?;
    let precision = i64::from(fmt.precision());
    if v.is_zero() {
        return Some(BigRational::zero());
    }
    let bias = (1i64 << (eb - 1)) - 1;
    let magnitude = v.abs();
    // 2^e <= magnitude < 2^(e + 1).
    let mut e = magnitude.numer().bits() as i64 - magnitude.denom().bits() as i64;
    if pow2(e) > magnitude {
        e -= 1;
    }
    let unit = pow2(e.max(1 - bias) - (precision - 1));
    let scaled = &magnitude / &unit;
    let (low, rest) = scaled.numer().div_rem(scaled.denom());
    let rest = BigRational::new(rest, scaled.denom().clone());
    let half = BigRational::new(BigInt::one(), BigInt::from(2));
    let up = match rnd {
        Rnd::None | Rnd::Rn => rest > half || rest == half && low.is_odd(),
        Rnd::Rna => rest >= half,
        Rnd::Rz => false,
        Rnd::Rm => v.is_negative() && !rest.is_zero(),
        Rnd::Rp => v.is_positive() && !rest.is_zero(),
        Rnd::Rs | Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi => return None,
    };
    let n = if up { low + 1 } else { low };
    let r = BigRational::from_integer(n) * unit;
    if r >= pow2(bias + 1) {
        let cut = match rnd {
            Rnd::Rz => true,
            Rnd::Rm => v.is_positive(),
            Rnd::Rp => v.is_negative(),
            _ => false,
        };
        let largest = pow2(bias + 1) - pow2(bias + 1 - precision);
        return cut.then(|| if v.is_negative() { -largest } else { largest });
    }
    Some(if v.is_negative() { -r } else { r })
}
