//! What one operation of the machine may take from a number: one rounding, and what underflow and `.ftz` make of small ones.
//!
//! Source: N. J. Higham, "Accuracy and Stability of Numerical Algorithms", section 2.1: a number rounded to nearest is off by
//! at most the unit roundoff times its magnitude, and below the least normal number by half the least positive one; rounded
//! in a direction, by twice that. PTX ISA 9.0, section 9.7.3: `.ftz` takes subnormal operands and results for zeros, a
//! conversion those in f32 alone; section 9.7.9: a conversion that rounds to an integer does not round a second time.
//!
//! Not claimed: anything of approximations, whose errors are the manual's ([`super::enclosure`]).

use crate::kernel::{FloatOp, Fmt, Rnd};
use crate::number;
use crate::term::word::{Does, Operation};

/// The step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Roundoff {
    /// The largest error by the magnitude of the exact result, where that is normal; 0 if nothing is rounded.
    pub unit: f64,
    /// The largest error below the normal numbers.
    pub small: f64,
    /// The least normal number of the result.
    pub normal: f64,
    /// The largest number of the result.
    pub largest: f64,
    /// The direction in which the result becomes an integer.
    pub whole: Option<Rnd>,
}

/// The least normal number of a format.
pub(super) fn least_normal(fmt: Fmt) -> f64 {
    let (precision, least) = number::precision(fmt);
    libm::exp2(f64::from(least + precision as i32 - 1))
}

/// The format of an operand.
pub(super) fn format(operation: &Operation, k: usize) -> Fmt {
    match (operation.does, k) {
        (Does::Float(FloatOp::Add | FloatOp::Sub), 1) | (Does::Float(FloatOp::Fma), 2) => {
            operation.fmt
        }
        _ => operation.src,
    }
}

/// True if `.ftz` reaches numbers of a format there.
fn flushes(operation: &Operation, fmt: Fmt) -> bool {
    operation.mods.ftz && (operation.does != Does::Convert || fmt == Fmt::F32)
}

/// The magnitude below which an operand counts as 0.
pub(super) fn flushed(operation: &Operation, k: usize) -> f64 {
    let fmt = format(operation, k);
    match flushes(operation, fmt) {
        true => least_normal(fmt),
        false => 0.0,
    }
}

impl Roundoff {
    /// Of an operation on floats or a conversion between formats; `None` where its rounding is random.
    pub(super) fn of(operation: &Operation) -> Option<Roundoff> {
        let (precision, least) = number::precision(operation.fmt);
        let half = libm::exp2(-f64::from(precision));
        let (coarse, whole) = match operation.mods.rnd {
            Rnd::None | Rnd::Rn | Rnd::Rna => (1.0, None),
            Rnd::Rz | Rnd::Rm | Rnd::Rp => (2.0, None),
            to @ (Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi) => (0.0, Some(to)),
            Rnd::Rs => return None,
        };
        let mut copy = *operation;
        copy.mods.ftz = false;
        let rounds = copy.rounds();
        if whole.is_some() && rounds {
            return None;
        }
        let normal = least_normal(operation.fmt);
        // Sums in one format are exact where they are subnormal.
        let is_sum = matches!(operation.does, Does::Float(FloatOp::Add | FloatOp::Sub));
        let small = match rounds {
            _ if flushes(operation, operation.fmt) && !selects(operation) => normal,
            true if !is_sum || operation.src != operation.fmt => {
                (coarse * libm::exp2(f64::from(least - 1))).max(f64::MIN_POSITIVE)
            }
            _ => 0.0,
        };
        Some(Roundoff {
            unit: if rounds { coarse * half } else { 0.0 },
            small,
            normal,
            largest: number::to_double(operation.fmt, number::largest(operation.fmt, false)),
            whole,
        })
    }

    /// The largest error of results between two magnitudes.
    pub(super) fn lost(&self, least: f64, most: f64) -> f64 {
        let small = if least >= self.normal {
            0.0
        } else {
            self.small
        };
        (self.unit * most).max(small)
    }
}

/// True for an operation whose result is flushed already, because it is one of its operands.
fn selects(operation: &Operation) -> bool {
    match operation.does {
        Does::Float(op) => op.selects(),
        _ => operation.src == operation.fmt,
    }
}
