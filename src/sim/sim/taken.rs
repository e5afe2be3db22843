//! Which values the conditions of a kernel took, of those that the size of a launch can change.
//!
//! A condition that was seen with both values is not looked at any more, but for one that stands before the body of a
//! loop: how often it let the body run tells whether a thread came around.
//!
//! Not claimed: anything about conditions in runs that ended early.

use crate::kernel::conditions::Seen;
use crate::kernel::{Kernel, Pc};

mod exec;

/// How often a condition held, and how often not, by threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// It was true.
    pub yes: u64,
    /// It was false.
    pub no: u64,
}

/// What was seen of the conditions of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// For each condition of the kernel.
    pub counts: Vec<Counts>,
    /// For each instruction: one more than the condition that is looked at there, for its guard and its result.
    watched: Vec<[u32; 2]>,
}

impl Taken {
    /// Nothing was seen yet.
    pub fn new(kernel: &Kernel) -> Taken {
        let mut watched = Vec::new();
        if !kernel.conditions.is_empty() {
            watched.resize(kernel.insts.len(), [0; 2]);
        }
        for (i, c) in (1u32..).zip(&kernel.conditions) {
            watched[c.pc.0 as usize][slot(c.seen)] = i;
        }
        Taken {
            counts: vec![Counts::default(); kernel.conditions.len()],
            watched,
        }
    }

    /// Whether something is looked at there.
    #[inline]
    fn watches(&self, pc: Pc, seen: Seen) -> bool {
        let of = self.watched.get(pc.0 as usize);
        of.is_some_and(|w| w[slot(seen)] != 0)
    }

    /// Adds what another CTA showed.
    pub fn add(&mut self, other: &Taken) {
        self.counts
            .resize(self.counts.len().max(other.counts.len()), Counts::default());
        for (all, own) in self.counts.iter_mut().zip(&other.counts) {
            all.yes += own.yes;
            all.no += own.no;
        }
    }
}

fn slot(seen: Seen) -> usize {
    match seen {
        Seen::Guard => 0,
        Seen::Result => 1,
    }
}
