//! Products and sums that an assembler may join, and what it made of them.

use std::collections::BTreeMap;

/// What became of an addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// One operation with the product before it.
    Joined,
    /// An addition.
    Apart,
}

/// The places of additions that may be joined, as words number them, with what became of them.
pub type Settled = BTreeMap<u32, Made>;
