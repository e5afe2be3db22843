//! The words that instructions and values share: formats, operations on floats with their modifiers, comparisons, and
//! the place of an instruction.

mod compare;
mod float_op;
mod format;
mod matrix;

pub use compare::Cmp;
pub use float_op::*;
pub use format::{Fmt, IntTy, NumTy};
pub use matrix::MatTy;

/// Index of an instruction of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pc(pub u32);
