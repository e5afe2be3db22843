//! One instruction that rounds up or down at random, so that its part in an error shows.
//!
//! The problem: an output is off, and a kernel has a hundred roundings. The way: the kernel is executed again with one
//! instruction rounding at random to a neighbour of the exact result, and what moves at the output is that instruction's
//! part. Source: D. S. Parker, "Monte Carlo Arithmetic" (1997). A result that is exact stays; an approximation moves by a
//! unit in its last place.

use crate::kernel::{FloatMods, FloatOp, Fmt, NumTy, Op, Pc, Rnd};
use crate::number;
use crate::number::random::Random;

/// The instruction, and where the random numbers are.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Wobble {
    pc: Pc,
    random: Random,
}

impl Wobble {
    /// Of an instruction and a seed.
    pub(crate) fn new((pc, seed): (Pc, u64)) -> Wobble {
        let random = Random(seed);
        Wobble { pc, random }
    }

    /// True of the instruction.
    pub(crate) fn is_at(&self, pc: Pc) -> bool {
        self.pc == pc
    }

    /// True or false with equal chances.
    pub(crate) fn coin(&mut self) -> bool {
        self.random.draw() >> 63 == 1
    }
}

/// True of a conversion of one float to a format that holds less of it.
pub fn is_narrowing(op: &Op) -> bool {
    let Op::Cvt {
        from: NumTy::Float(from),
        to: NumTy::Float(to),
        rnd,
        ..
    } = op
    else {
        return false;
    };
    let to_integer = matches!(rnd, Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi);
    !to_integer && number::precision(*from).0 > number::precision(*to).0
}

/// Modifiers that round an operation up or down; `None` for operations that are not rounded by a modifier.
pub(crate) fn directed(op: FloatOp, mods: &FloatMods, up: bool) -> Option<FloatMods> {
    let rounds = match op {
        FloatOp::Add | FloatOp::Sub | FloatOp::Mul | FloatOp::Fma => true,
        FloatOp::Div | FloatOp::Rcp | FloatOp::Sqrt | FloatOp::Rsqrt => !mods.approx,
        FloatOp::Ex2
        | FloatOp::Lg2
        | FloatOp::Sin
        | FloatOp::Cos
        | FloatOp::Tanh
        | FloatOp::Neg
        | FloatOp::Abs
        | FloatOp::Min
        | FloatOp::Max
        | FloatOp::Min3
        | FloatOp::Max3
        | FloatOp::Copysign => false,
    };
    let rnd = if up { Rnd::Rp } else { Rnd::Rm };
    rounds.then_some(FloatMods { rnd, ..*mods })
}

/// True for operations whose result is an approximation.
pub(crate) fn is_approximate(op: FloatOp, mods: &FloatMods) -> bool {
    match op {
        FloatOp::Ex2 | FloatOp::Lg2 | FloatOp::Sin | FloatOp::Cos | FloatOp::Tanh => true,
        FloatOp::Div | FloatOp::Rcp | FloatOp::Sqrt | FloatOp::Rsqrt => mods.approx,
        FloatOp::Add
        | FloatOp::Sub
        | FloatOp::Mul
        | FloatOp::Fma
        | FloatOp::Neg
        | FloatOp::Abs
        | FloatOp::Min
        | FloatOp::Max
        | FloatOp::Min3
        | FloatOp::Max3
        | FloatOp::Copysign => false,
    }
}

/// The next encoding, up or down in magnitude; zeros, infinities and NaN stay, and nothing becomes infinite.
pub(crate) fn neighbour(fmt: Fmt, bits: u64, up: bool) -> u64 {
    let number::Decoded::Finite { .. } = number::decode(fmt, bits).value else {
        return bits;
    };
    let next = if up { bits + 1 } else { bits - 1 };
    match number::decode(fmt, next).value {
        number::Decoded::Finite { .. } => next,
        _ => bits,
    }
}
