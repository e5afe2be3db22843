//! Values.
//!
//! * [`number`]: floats as a machine has them, bits to bits.
//! * [`term`]: the values, a hash-consed DAG over reals, bits and booleans, and an evaluator that shares no code with the
//!   normaliser.
//! * [`norm`]: terms to canonical forms.
//! * [`special`]: NaN, infinities and where they are read; canonical forms know reals only.

use volta_base::{scalar, work};

pub mod norm;
pub mod number;
pub mod special;
pub mod term;
