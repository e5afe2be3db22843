//! What a run of a CTA is told by the runs before it, and why it may say less than it could.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::term::ArrayId;

use super::address::pins::Pins;
use super::by_value::ByValue;
use super::program::Program;
use super::strong::hold;
use super::unused::{Foreign, Unused};
use super::ways::Plan;

/// What a run of a CTA is told beyond its launch, its bindings and its mode.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// Arrays that are known to be written, whose reads are followed from the start.
    pub tracked: FxHashSet<ArrayId>,
    /// Nobody asks for what is written, so that a run without values does, where it says the same.
    pub without_values: bool,
    /// Runs may be joined that each go one way at a branch that data decide.
    pub forks: bool,
    /// Loads of what other CTAs write are taken to be of no use.
    pub foreign: Option<Arc<Foreign>>,
    /// Strong accesses are followed, and these choices made.
    pub order: Option<hold::Plan>,
    /// The seed of a schedule that is drawn at random.
    pub schedule: Option<u64>,
    /// What the text of the kernel says in the mode of the run; found anew where nobody says it.
    pub program: Option<Arc<Program>>,
    /// What the runs before it found out.
    pub found: FoundOut,
}

/// What runs of a CTA find out for those after them.
#[derive(Clone, Debug, Default)]
pub struct FoundOut {
    /// Racing loads that are taken to be of no use.
    pub(super) unused: Unused,
    /// Racing loads that stores may be made of.
    pub(super) by_value: ByValue,
    /// Where some bases lie.
    pub(super) pins: Pins,
    /// The way at branches that data decide.
    pub(super) path: Option<Plan>,
}
