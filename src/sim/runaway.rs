//! Loops that leave their arrays for good.
//!
//! The problem: `for (;;) y[i++] = 0`, or a loop whose step misses its end, makes one access out of bounds after the
//! other, and a run of it comes to its time limit with a defect that it knew at once. How such a loop would go on is of no
//! interest: the first access that leaves is what is wrong. So a run ends that has made very many accesses out of
//! bounds, or rather many of them in a row.
//!
//! Sound: what ends the run is a defect that was found. Not claimed: that the loop would not have ended; a kernel that
//! makes fewer such accesses is run to its end, whose other findings count too.

use super::machine::Machine;

/// Instructions in a row that access memory and that are out of bounds in all lanes that access it.
const IN_A_ROW: u32 = 1 << 12;

/// Accesses out of bounds of one run.
const ALTOGETHER: u64 = 1 << 20;

/// Accesses out of bounds so far.
#[derive(Debug, Default)]
pub(super) struct Runaway {
    /// All of them.
    outside: u64,
    /// Accesses that were none, when the last one was made.
    inside: u64,
    /// Instructions since then.
    row: u32,
}

impl Machine<'_> {
    /// Notes the accesses of an instruction that were out of bounds: the run ends where they are too many.
    pub(super) fn left_its_array(&mut self, outside: u64) {
        let runaway = &mut self.runaway;
        runaway.outside += outside;
        let inside = self.stats.accesses.saturating_sub(runaway.outside);
        runaway.row = match inside == runaway.inside {
            true => runaway.row + 1,
            false => 0,
        };
        runaway.inside = inside;
        self.late |= runaway.row >= IN_A_ROW || runaway.outside >= ALTOGETHER;
    }
}
