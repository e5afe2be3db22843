//! Conditions, as they are seen.

use crate::kernel::Pc;
use crate::kernel::conditions::{Ends, Seen};
use crate::sim::machine::Core;
use crate::sim::warp::lanes;

use super::{Counts, slot};

/// "Data decide": either value, any number of times.
const EITHER: Counts = Counts {
    yes: 1 << 32,
    no: 1 << 32,
};

impl Core<'_> {
    /// Notes which values a condition has in some lanes, if it is looked at.
    #[inline]
    pub(in crate::sim) fn note_taken(&mut self, w: usize, mask: u32, pc: Pc, seen: Seen) {
        if self.threads.taken.watches(pc, seen) {
            self.count_taken(w, mask, pc, seen);
        }
    }

    fn count_taken(&mut self, w: usize, mask: u32, pc: Pc, seen: Seen) {
        let watched = &mut self.threads.taken.watched[pc.0 as usize][slot(seen)];
        let at = *watched as usize - 1;
        let condition = &self.fixed.kernel.conditions[at];
        let holds = condition.holds;
        let warp = &self.threads.warps[w];
        let counts = &mut self.threads.taken.counts[at];
        if warp.symbolic(holds.reg) & mask != 0 {
            *counts = EITHER;
        } else {
            let words = warp.words(holds.reg);
            let truth = |l: usize| (words[l] != 0) != holds.negated;
            let yes = lanes(mask).filter(|l| truth(*l)).count() as u64;
            counts.yes += yes;
            counts.no += u64::from(mask.count_ones()) - yes;
        }
        if counts.yes != 0 && counts.no != 0 && condition.ends != Some(Ends::Before) {
            *watched = 0;
        }
    }
}
