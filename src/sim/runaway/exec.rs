//! Accesses out of bounds, as they are counted.

use crate::sim::machine::Threads;

/// Instructions in a row that access memory and that are out of bounds in all lanes that access it.
const IN_A_ROW: u32 = 1 << 12;

/// Accesses out of bounds of one run.
const ALTOGETHER: u64 = 1 << 20;

impl Threads {
    /// Notes the accesses of an instruction that were out of bounds: the run ends where they are too many.
    pub(in crate::sim) fn left_its_array(&mut self, outside: u64) {
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
