//! Loops that leave their arrays for good.
//!
//! The problem: `for (;;) y[i++] = 0`, or a loop whose step misses its end, makes one access out of bounds after the
//! other, and a run of it comes to its time limit with a defect that it knew at once. How such a loop would go on is of no
//! interest: the first access that leaves is what is wrong. So a run ends that has made very many accesses out of
//! bounds, or rather many of them in a row.
//!
//! Sound: what ends the run is a defect that was found. Not claimed: that the loop would not have ended; a kernel that
//! makes fewer such accesses is run to its end, whose other findings count too.

mod exec;

/// Accesses out of bounds so far.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Runaway {
    /// All of them.
    outside: u64,
    /// Accesses that were none, when the last one was made.
    inside: u64,
    /// Instructions since then.
    row: u32,
}
