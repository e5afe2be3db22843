//! Operations on bits and truth values: exact on known bits, undecided or undefined otherwise.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, ToPrimitive, Zero};

use super::dyadic::Dyadic;
use super::value::Value;
use super::{BitsOp, NotFinite};
use crate::scalar::Fmt;

/// Signed reading of the low `w` bits.
pub(super) fn signed(v: u64, w: u8) -> i64 {
    let s = 64 - w as u32;
    ((v << s) as i64) >> s
}

pub(super) fn low_bits(v: u64, w: u8) -> u64 {
    if w >= 64 { v } else { v & ((1 << w) - 1) }
}

pub(super) fn bits_op(op: BitsOp, x: u64, y: u64, w: u8) -> Value {
    let wide = w as u64;
    let v = match op {
        BitsOp::Add => x.wrapping_add(y),
        BitsOp::Mul => x.wrapping_mul(y),
        BitsOp::And => x & y,
        BitsOp::Or => x | y,
        BitsOp::Xor => x ^ y,
        BitsOp::Shl => {
            if y < wide {
                x << y
            } else {
                0
            }
        }
        BitsOp::LShr => {
            if y < wide {
                x >> y
            } else {
                0
            }
        }
        BitsOp::AShr => (signed(x, w) >> y.min(wide - 1)) as u64,
        BitsOp::UDiv | BitsOp::SDiv | BitsOp::URem | BitsOp::SRem if y == 0 => {
            return Value::Undefined;
        }
        BitsOp::UDiv => x / y,
        BitsOp::URem => x % y,
        BitsOp::SDiv => signed(x, w).wrapping_div(signed(y, w)) as u64,
        BitsOp::SRem => signed(x, w).wrapping_rem(signed(y, w)) as u64,
    };
    Value::Bits(low_bits(v, w))
}

/// The bits of a number in a format, where the number is exactly one of the format's.
pub(super) fn encode(fmt: Fmt, v: &Value) -> Value {
    match v {
        Value::Undecided => Value::Undecided,
        Value::Exact(q) => match super::encode_exact(fmt, q) {
            Some(b) => Value::Bits(b),
            None => Value::Encoded(fmt, Box::new(v.clone())),
        },
        _ => Value::Encoded(fmt, Box::new(v.clone())),
    }
}

/// The number that bits denote.
pub(super) fn decode(fmt: Fmt, v: &Value) -> Value {
    match v {
        Value::Bits(b) => match super::decode(fmt, *b) {
            Ok(q) => Value::Exact(q),
            Err(NotFinite::PosInf) => Value::PosInf,
            Err(NotFinite::NegInf) => Value::NegInf,
            Err(NotFinite::Nan) => Value::Undefined,
        },
        Value::Encoded(f, x) if *f == fmt => (**x).clone(),
        Value::Undefined => Value::Undefined,
        _ => Value::Undecided,
    }
}

/// An integral real clamped to an integer type.
pub(super) fn clamp(width: u8, is_signed: bool, v: &Value) -> Value {
    let (lo, hi): (BigInt, BigInt) = if is_signed {
        let h = BigInt::one() << (width - 1) as usize;
        (-&h, h - 1)
    } else {
        (BigInt::zero(), (BigInt::one() << width as usize) - 1)
    };
    let to = |i: BigInt| -> Value {
        let m = i.mod_floor(&(BigInt::one() << 64));
        Value::Bits(low_bits(m.to_u64().unwrap_or(0), width))
    };
    match v {
        Value::Exact(q) if q.is_integer() => to(q.to_integer().clamp(lo, hi)),
        Value::Interval(i) => match (i.lo.floor(), i.hi.floor()) {
            // Both ends beyond the same limit, or the same integer.
            (Some(_), Some(b)) if b < lo => to(lo),
            (Some(a), Some(_)) if a >= hi => to(hi),
            (Some(a), Some(_)) if i.lo == i.hi && Dyadic::new(a.clone(), 0) == i.lo => {
                to(a.clamp(lo, hi))
            }
            _ => Value::Undecided,
        },
        Value::PosInf | Value::Pole(Some(false)) => to(hi),
        Value::NegInf | Value::Pole(Some(true)) => to(lo),
        Value::Undefined => Value::Undefined,
        _ => Value::Undecided,
    }
}

pub(super) fn truth(v: &Value) -> Result<bool, Value> {
    match v {
        Value::Bool(b) => Ok(*b),
        Value::Undefined => Err(Value::Undefined),
        _ => Err(Value::Undecided),
    }
}

/// A connective: `zero` is the operand that decides alone.
pub(super) fn logic(x: &Value, y: &Value, f: impl Fn(bool, bool) -> bool) -> Value {
    match (truth(x), truth(y)) {
        (Err(Value::Undefined), _) | (_, Err(Value::Undefined)) => Value::Undefined,
        (Ok(a), Ok(b)) => Value::Bool(f(a, b)),
        (Ok(a), Err(_)) if f(a, false) == f(a, true) => Value::Bool(f(a, false)),
        (Err(_), Ok(b)) if f(false, b) == f(true, b) => Value::Bool(f(false, b)),
        _ => Value::Undecided,
    }
}

pub(super) fn concrete(v: &Value) -> Result<u64, Value> {
    match v {
        Value::Bits(b) => Ok(*b),
        Value::Undefined => Err(Value::Undefined),
        _ => Err(Value::Undecided),
    }
}

pub(super) fn two(x: &Value, y: &Value, f: impl Fn(u64, u64) -> Value) -> Value {
    match (concrete(x), concrete(y)) {
        (Ok(a), Ok(b)) => f(a, b),
        (Err(Value::Undefined), _) | (_, Err(Value::Undefined)) => Value::Undefined,
        _ => Value::Undecided,
    }
}
