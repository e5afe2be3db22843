//! Accesses out of bounds, as they are counted.

use crate::sim::limits::LIMITS;
use crate::sim::machine::Threads;

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
        self.late |=
            runaway.row >= LIMITS.runaway_row || runaway.outside >= LIMITS.runaway_accesses;
    }
}
