//! Kernel to Outcome: all threads of a CTA, one schedule that stands for all.

pub mod barrier;
pub mod clock;
pub mod int;
mod outcome;
pub mod race;
pub mod shadow;

pub use outcome::*;

/// Rank of a thread in its CTA: x fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tid(pub u32);

/// Which kernel of a pair runs; it tells apart the unknowns that no two reads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The reference.
    Reference,
    /// The optimized kernel.
    Optimized,
}
