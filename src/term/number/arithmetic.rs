//! Arithmetic of one instruction on known floats.

use crate::scalar::{FloatMods, FloatOp, Fmt, Rnd};

use super::{
    Decoded, Exact, Float, decode, directed, flushed, function, half, infinity, nan, zero,
};

/// The operands of an operation, taken apart, with the format and rounding of the result.
struct Case {
    fmt: Fmt,
    rnd: Rnd,
}

/// The bits of a result, from those of the operands: `a` and `b` in the source format, but for the second summand
/// of a mixed sum and the addend of a product, which are in that of the result. `None` for what has no model.
pub fn operation(
    op: FloatOp,
    (fmt, src_fmt): (Fmt, Fmt),
    mods: &FloatMods,
    bits: [u64; 3],
) -> Option<u64> {
    if mods.oob {
        return None;
    }
    rounded_once((fmt, src_fmt), op, mods, bits, |formats, given| match fast(
        op,
        (fmt, src_fmt),
        mods,
        given,
    ) {
        Some(bits) => Some(bits),
        None => general(op, formats, mods, given),
    })
}

/// The same without the processor's arithmetic, for the tests of what uses it.
#[cfg(test)]
pub(super) fn taken_apart(
    op: FloatOp,
    formats: (Fmt, Fmt),
    mods: &FloatMods,
    bits: [u64; 3],
) -> Option<u64> {
    rounded_once(formats, op, mods, bits, |formats, given| {
        general(op, formats, mods, given)
    })
}

/// An operation on operands that `.ftz` has flushed, of which the result is flushed and clamped.
#[inline]
fn rounded_once(
    (fmt, src_fmt): (Fmt, Fmt),
    op: FloatOp,
    mods: &FloatMods,
    bits: [u64; 3],
    result: impl FnOnce([Fmt; 3], [u64; 3]) -> Option<u64>,
) -> Option<u64> {
    let second = match op {
        FloatOp::Add | FloatOp::Sub => fmt,
        _ => src_fmt,
    };
    let formats = [src_fmt, second, fmt];
    let flush = |f: Fmt, b: u64| if mods.ftz { flushed(f, b) } else { b };
    let mut given = bits;
    for (b, f) in given.iter_mut().zip(formats) {
        *b = flush(f, *b);
    }
    let result = result(formats, given)?;
    Some(clamped(fmt, mods, flush(fmt, result)))
}

/// What `.sat` and `.relu` make of a result.
pub(super) fn clamped(fmt: Fmt, mods: &FloatMods, bits: u64) -> u64 {
    if !mods.sat && !mods.relu {
        return bits;
    }
    let v = decode(fmt, bits);
    let is_nan = v.value == Decoded::Nan;
    if is_nan && !mods.sat {
        return nan(fmt);
    }
    if is_nan || v.negative {
        return zero(fmt, false);
    }
    let one = Exact::new(false, 1, 0).round(fmt, Rnd::Rn).unwrap_or(bits);
    // Encodings of positive numbers are in the order of the numbers.
    if mods.sat { bits.min(one) } else { bits }
}

/// Operations that the processor rounds as they are to be.
fn fast(op: FloatOp, (fmt, src): (Fmt, Fmt), mods: &FloatMods, [a, b, c]: [u64; 3]) -> Option<u64> {
    if fmt != src {
        return None;
    }
    if !matches!(mods.rnd, Rnd::None | Rnd::Rn) {
        return match fmt {
            Fmt::F32 => directed::operation(op, mods.rnd, [a, b, c]),
            _ => None,
        };
    }
    if fmt.bits() < 64 && function::is_approximated(op) {
        return function::quick(op, fmt, a);
    }
    match fmt {
        Fmt::F32 => {
            let r = of_processor(op, [a, b, c].map(|v| f32::from_bits(v as u32)))?;
            Some(if r.is_nan() {
                nan(fmt)
            } else {
                r.to_bits().into()
            })
        }
        Fmt::F16 | Fmt::Bf16 => half::operation(op, fmt, [a, b, c]),
        Fmt::F64 if !mods.approx => {
            let r = of_processor(op, [a, b, c].map(f64::from_bits))?;
            Some(if r.is_nan() { nan(fmt) } else { r.to_bits() })
        }
        _ => None,
    }
}

/// The operation as the processor has it, rounded to nearest even.
fn of_processor<T: num_traits::Float>(op: FloatOp, [x, y, z]: [T; 3]) -> Option<T> {
    Some(match op {
        FloatOp::Add => x + y,
        FloatOp::Sub => x - y,
        FloatOp::Mul => x * y,
        FloatOp::Fma => x.mul_add(y, z),
        FloatOp::Div => x / y,
        FloatOp::Rcp => T::one() / x,
        FloatOp::Sqrt => x.sqrt(),
        _ => return None,
    })
}

fn general(op: FloatOp, formats: [Fmt; 3], mods: &FloatMods, bits: [u64; 3]) -> Option<u64> {
    let fmt = formats[2];
    let case = Case { fmt, rnd: mods.rnd };
    let [x, y, z] = [0, 1, 2].map(|i| decode(formats[i], bits[i]));
    let sign = 1u64 << (fmt.bits() - 1);
    match op {
        FloatOp::Add => case.sum(x, y),
        FloatOp::Sub => case.sum(x, negated(y)),
        FloatOp::Mul => case.product(x, y),
        FloatOp::Fma => case.fused(x, y, z),
        FloatOp::Div => case.quotient(x, y),
        FloatOp::Rcp | FloatOp::Rsqrt if mods.approx && fmt == Fmt::F64 => {
            // The lower half of the operand is ignored, that of the result zero.
            let upper = decode(fmt, bits[0] & !0xffff_ffff);
            let r = match op {
                FloatOp::Rcp => case.quotient(ONE, upper),
                _ => case.inverse_root(upper),
            }?;
            Some(match decode(fmt, r).value {
                Decoded::Nan => r,
                _ => r & !0xffff_ffff,
            })
        }
        FloatOp::Rcp => case.quotient(ONE, x),
        FloatOp::Sqrt => case.root(x),
        FloatOp::Rsqrt => case.inverse_root(x),
        FloatOp::Ex2 | FloatOp::Lg2 | FloatOp::Sin | FloatOp::Cos | FloatOp::Tanh => {
            function::of(op, fmt, x)
        }
        FloatOp::Neg => Some(bits[0] ^ sign),
        FloatOp::Abs => Some(bits[0] & !sign),
        FloatOp::Copysign => Some(bits[1] & !sign | bits[0] & sign),
        FloatOp::Min | FloatOp::Max => {
            let least = op == FloatOp::Min;
            extremum(fmt, mods, least, &bits[..2])
        }
        FloatOp::Min3 | FloatOp::Max3 => {
            let least = op == FloatOp::Min3;
            extremum(fmt, mods, least, &bits)
        }
    }
}

const ONE: Float = Float {
    negative: false,
    value: Decoded::Finite {
        mantissa: 1,
        exponent: 0,
    },
};

fn negated(x: Float) -> Float {
    Float {
        negative: !x.negative,
        ..x
    }
}

/// The least or the largest of some numbers; a NaN is left out, or with `.NaN` the result. -0 is below +0.
fn extremum(fmt: Fmt, mods: &FloatMods, least: bool, bits: &[u64]) -> Option<u64> {
    let sign = 1u64 << (fmt.bits() - 1);
    let is_nan = |b: u64| decode(fmt, b).value == Decoded::Nan;
    let mut best: Option<u64> = None;
    for &b in bits {
        let b = match mods.abs || mods.xorsign_abs {
            true => b & !sign,
            false => b,
        };
        if is_nan(b) {
            if mods.nan {
                return Some(nan(fmt));
            }
            continue;
        }
        // Magnitudes are ordered as encodings are, with the signs before them.
        let key = |b: u64| match b & sign {
            0 => b as i128,
            _ => -1 - i128::from(b & !sign),
        };
        let better = best.is_none_or(|c| (key(b) < key(c)) == least && b != c);
        if better {
            best = Some(b);
        }
    }
    let signs = bits.iter().fold(0, |s, b| s ^ b & sign);
    Some(match best {
        None => nan(fmt),
        Some(b) if mods.xorsign_abs => b & !sign | signs,
        Some(b) => b,
    })
}

impl Case {
    fn nan(&self) -> Option<u64> {
        Some(nan(self.fmt))
    }

    fn zero(&self, negative: bool) -> Option<u64> {
        Some(zero(self.fmt, negative))
    }

    fn infinity(&self, negative: bool) -> Option<u64> {
        Some(infinity(self.fmt, negative))
    }

    fn round(&self, x: Exact) -> Option<u64> {
        x.round(self.fmt, self.rnd)
    }

    /// The sign of an exact zero that is the sum of numbers of both signs.
    fn cancelled(&self) -> bool {
        self.rnd == Rnd::Rm
    }

    fn sum(&self, x: Float, y: Float) -> Option<u64> {
        match (x.value, y.value) {
            (Decoded::Nan, _) | (_, Decoded::Nan) => self.nan(),
            (Decoded::Infinite, Decoded::Infinite) if x.negative != y.negative => self.nan(),
            (Decoded::Infinite, _) => self.infinity(x.negative),
            (_, Decoded::Infinite) => self.infinity(y.negative),
            (Decoded::Zero, Decoded::Zero) if x.negative == y.negative => self.zero(x.negative),
            (Decoded::Zero, Decoded::Zero) => self.zero(self.cancelled()),
            (Decoded::Zero, _) => self.round(y.exact()?),
            (_, Decoded::Zero) => self.round(x.exact()?),
            _ => self.added(x.exact()?, y.exact()?),
        }
    }

    /// The sum of two numbers that are not zero.
    fn added(&self, x: Exact, y: Exact) -> Option<u64> {
        match add(x, y) {
            Some(sum) => self.round(sum),
            None => self.zero(self.cancelled()),
        }
    }

    fn product(&self, x: Float, y: Float) -> Option<u64> {
        let negative = x.negative != y.negative;
        match (x.value, y.value) {
            (Decoded::Nan, _) | (_, Decoded::Nan) => self.nan(),
            (Decoded::Infinite, Decoded::Zero) | (Decoded::Zero, Decoded::Infinite) => self.nan(),
            (Decoded::Infinite, _) | (_, Decoded::Infinite) => self.infinity(negative),
            (Decoded::Zero, _) | (_, Decoded::Zero) => self.zero(negative),
            _ => self.round(multiply(x.exact()?, y.exact()?)),
        }
    }

    fn fused(&self, x: Float, y: Float, z: Float) -> Option<u64> {
        let negative = x.negative != y.negative;
        let of_product = |value| Float { negative, value };
        match (x.value, y.value) {
            (Decoded::Nan, _) | (_, Decoded::Nan) => self.nan(),
            (Decoded::Infinite, Decoded::Zero) | (Decoded::Zero, Decoded::Infinite) => self.nan(),
            (Decoded::Infinite, _) | (_, Decoded::Infinite) => {
                self.sum(of_product(Decoded::Infinite), z)
            }
            (Decoded::Zero, _) | (_, Decoded::Zero) => self.sum(of_product(Decoded::Zero), z),
            _ => {
                let product = multiply(x.exact()?, y.exact()?);
                match z.value {
                    Decoded::Nan => self.nan(),
                    Decoded::Infinite => self.infinity(z.negative),
                    Decoded::Zero => self.round(product),
                    Decoded::Finite { .. } => self.added(product, z.exact()?),
                }
            }
        }
    }

    fn quotient(&self, x: Float, y: Float) -> Option<u64> {
        let negative = x.negative != y.negative;
        match (x.value, y.value) {
            (Decoded::Nan, _) | (_, Decoded::Nan) => self.nan(),
            (Decoded::Infinite, Decoded::Infinite) | (Decoded::Zero, Decoded::Zero) => self.nan(),
            (Decoded::Infinite, _) | (_, Decoded::Zero) => self.infinity(negative),
            (_, Decoded::Infinite) | (Decoded::Zero, _) => self.zero(negative),
            _ => {
                let (a, b) = (x.exact()?, y.exact()?);
                // The dividend has 127 bits, the divisor at most 64, the quotient at least 62.
                let shift = a.mantissa.leading_zeros() - 1;
                let dividend = a.mantissa << shift;
                self.round(Exact {
                    negative,
                    mantissa: dividend / b.mantissa,
                    exponent: a.exponent - shift as i32 - b.exponent,
                    sticky: dividend % b.mantissa != 0,
                })
            }
        }
    }

    fn root(&self, x: Float) -> Option<u64> {
        match x.value {
            Decoded::Nan => self.nan(),
            Decoded::Zero => self.zero(x.negative),
            _ if x.negative => self.nan(),
            Decoded::Infinite => self.infinity(false),
            Decoded::Finite { .. } => {
                let a = x.exact()?;
                let mut shift = a.mantissa.leading_zeros() as i32;
                shift -= (a.exponent - shift) & 1;
                let square = a.mantissa << shift;
                let root = square.isqrt();
                self.round(Exact {
                    negative: false,
                    mantissa: root,
                    exponent: (a.exponent - shift) / 2,
                    sticky: root * root != square,
                })
            }
        }
    }

    fn inverse_root(&self, x: Float) -> Option<u64> {
        match x.value {
            Decoded::Nan => self.nan(),
            Decoded::Zero => self.infinity(x.negative),
            _ if x.negative => self.nan(),
            Decoded::Infinite => self.zero(false),
            Decoded::Finite { .. } => self.round(function::inverse_root(x.exact()?)),
        }
    }
}

/// The product of two numbers of at most 64 bits.
pub(super) fn multiply(x: Exact, y: Exact) -> Exact {
    Exact {
        negative: x.negative != y.negative,
        mantissa: x.mantissa * y.mantissa,
        exponent: x.exponent + y.exponent,
        sticky: false,
    }
}

/// The sum of two numbers of at most 107 bits, of which nothing was cut off; `None` if it is zero.
///
/// The larger one is brought to 126 bits. What of the other is cut off then lies below numbers whose sum has at
/// least 124 bits, far below any place that a format rounds at.
pub(super) fn add(x: Exact, y: Exact) -> Option<Exact> {
    let (x, y) = if x.top() >= y.top() { (x, y) } else { (y, x) };
    let shift = x.mantissa.leading_zeros() - 2;
    let (large, exponent) = (x.mantissa << shift, x.exponent - shift as i32);
    let by = exponent - y.exponent;
    let (small, cut) = match by {
        ..=0 => (y.mantissa << -by, false),
        1..=127 => (y.mantissa >> by, y.mantissa & ((1 << by) - 1) != 0),
        _ => (0, true),
    };
    // Of two numbers with the same leading bit nothing is cut off, and either may be the larger.
    let (negative, mantissa) = match x.negative == y.negative {
        true => (x.negative, large + small),
        false if small > large => (y.negative, small - large),
        false => (x.negative, large - small - u128::from(cut)),
    };
    (mantissa != 0 || cut).then_some(Exact {
        negative,
        mantissa,
        exponent,
        sticky: cut,
    })
}
