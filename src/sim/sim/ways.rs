//! Runs of a CTA that each go one way at a branch whose two ways cannot be merged.
//!
//! Problem: between `if (label[row] == ignored) { ...; return; }` and where its ways meet again stand barriers, shuffles,
//! or loops that data end, so that no selection says what both ways leave. The way: one run decides that the condition
//! holds, another that it does not. What a run does to arrays happens under all that it decided, as an access under a
//! guard does, and the runs are joined to one, whose memory is what the run left whose way an input goes.
//!
//! Sound: the runs form a tree, of which each fork is a condition on inputs and its negation, so that every input is the
//! one of a run; that two runs mean the same condition by a fork is looked at. A finding of a run is one only if an input
//! satisfies what it decided. Kernels are left alone that access arrays by anything but plain loads, stores and atomics.
//!
//! Not claimed: anything about conditions on what a schedule chooses, or about more than a few runs.

use rustc_hash::FxHashSet;

use crate::kernel::Pc;
use crate::sim::state::recorded;
use crate::term::TermId;

pub(super) mod forks;

mod exec;

/// What a run decides.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    /// Instructions whose conditions are decided.
    apart: FxHashSet<Pc>,
    /// Of each condition in turn whether it holds; the later ones do.
    holds: Vec<bool>,
}

recorded!(Plan { holds } tables { apart });

/// What a run has decided so far.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Ways {
    plan: Option<Plan>,
    /// The conditions, and whether they hold.
    pub decided: Vec<(TermId, bool)>,
    /// What holds.
    known: Vec<TermId>,
    /// All of it.
    pub path: Option<TermId>,
}

impl Ways {
    pub(super) fn new(plan: Option<Plan>) -> Ways {
        Ways {
            plan,
            ..Ways::default()
        }
    }
}
