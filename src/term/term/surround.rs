//! Elementary functions of one float between two numbers of as many bits as are asked for.

use num_bigint::{BigInt, BigUint, Sign};

use super::dyadic::Dyadic;
use super::series;
use crate::scalar::FloatOp;

/// A number: its sign, an integer, a power of two.
pub(crate) type Number = (bool, BigUint, i64);

/// Two numbers between which a function of `mantissa * 2^exponent` lies; `None` where it has no series.
pub(crate) fn enclosed(
    op: FloatOp,
    negative: bool,
    mantissa: u64,
    exponent: i32,
    bits: u32,
) -> Option<[Number; 2]> {
    let sign = if negative { Sign::Minus } else { Sign::Plus };
    let x = Dyadic::new(BigInt::from_biguint(sign, mantissa.into()), exponent.into());
    let found = match op {
        FloatOp::Ex2 => series::exp2(&x, bits),
        FloatOp::Lg2 => series::log2(&x, bits),
        FloatOp::Tanh => series::tanh(&x, bits),
        FloatOp::Sin | FloatOp::Cos => series::sin_cos(&x, op == FloatOp::Cos, bits),
        _ => None,
    }?;
    let number = |d: &Dyadic| (d.m.sign() == Sign::Minus, d.m.magnitude().clone(), d.e);
    Some([number(&found.lo), number(&found.hi)])
}
