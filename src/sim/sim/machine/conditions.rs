//! What depends on a condition that data decide.

use rustc_hash::FxHashSet;

use crate::kernel::Pc;
use crate::term::TermId;

use super::super::guarded::Guarded;
use super::super::unused::{Serials, Unused};
use super::super::ways::Ways;
use super::super::{Conditional, Obligation};

/// Conditions of the path, of accesses and of findings.
#[derive(Clone)]
pub(in crate::sim) struct Conditions {
    /// What this run decides of conditions.
    pub ways: Ways,
    /// The conditions of accesses under guards that depend on data.
    pub guarded: Guarded,
    /// Findings that are defects if some input satisfies a condition.
    pub conditionals: Vec<Conditional>,
    /// Unordered writes whose values are yet to be compared.
    pub pending: Vec<Obligation>,
    /// Pairs of values and places that are pending.
    pub compared: FxHashSet<(TermId, TermId, Pc, Pc)>,
    /// Loads that are taken to be of no use.
    pub unused: Unused,
    /// Serials of the values that they got.
    pub unused_serials: Serials,
}

impl Conditions {
    /// Nothing decided, and nothing that is owed.
    pub(super) fn new() -> Conditions {
        Conditions {
            ways: Ways::default(),
            guarded: Guarded::default(),
            conditionals: Vec::new(),
            pending: Vec::new(),
            compared: FxHashSet::default(),
            unused: Unused::default(),
            unused_serials: Serials::default(),
        }
    }
}
