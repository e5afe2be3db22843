//! What is missing where an arrival at an mbarrier, or a wait for one, orders less than it seems to.

use rustc_hash::FxHashMap;

use crate::kernel::{Pc, Scoped};
use crate::sim::Tid;

mod exec;

/// Why an arrival or a wait orders less than it seems to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Less {
    /// `cp.async.mbarrier.arrive`: the copies of its thread alone.
    Copies,
    /// `.relaxed`, with no fence beside it.
    Relaxed,
    /// Its scope, which may leave other CTAs out.
    Scope(Scoped),
}

/// The last arrival and the last wait of each thread that order less than they seem to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weak {
    arrivals: FxHashMap<Tid, (Pc, u64, Less)>,
    waits: FxHashMap<Tid, (Pc, u64, Less)>,
}

impl Weak {
    pub(super) fn arrives(&mut self, t: Tid, pc: Pc, at: u64, less: Less) {
        self.arrivals.insert(t, (pc, at, less));
    }

    pub(super) fn waits(&mut self, t: Tid, pc: Pc, at: u64, less: Less) {
        self.waits.insert(t, (pc, at, less));
    }
}
