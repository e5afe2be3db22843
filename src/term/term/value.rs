//! What a term is at one input.

use num_rational::BigRational;

use super::dyadic::Interval;
use crate::scalar::Fmt;

/// What a term is at one input.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// This number.
    Exact(BigRational),
    /// Some number in between.
    Interval(Interval),
    /// Plus infinity.
    PosInf,
    /// Minus infinity.
    NegInf,
    /// An infinity made of finite operands, a quotient by 0 or a logarithm of it; true for minus, where
    /// its sign is known.
    Pole(Option<bool>),
    /// An infinity or not a number.
    NotFinite,
    /// A truth value.
    Bool(bool),
    /// These bits.
    Bits(u64),
    /// The encoding of a number in a format, whose bits depend on a rounding.
    Encoded(Fmt, Box<Value>),
    /// Not a number; of bits and truth values, that there are none.
    Undefined,
    /// The arithmetic is too coarse, or the value depends on more than the inputs.
    Undecided,
}
