//! Memory, and what numbers carry of the objects in it.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::kernel::{Kernel, Pc};

use super::super::address::provenance::Provenances;
use super::super::gather::Gathers;
use super::super::memory::Region;
use super::super::program::Program;
use super::super::region::RegionId;
use super::super::words::FloatSums;
use super::super::{Footprint, Site};

/// The objects that threads load from and store to.
#[derive(Clone)]
pub(in crate::sim) struct Spaces {
    /// Regions by [`RegionId`].
    pub regions: Vec<Region>,
    /// Bases of objects, and what numbers carry of them.
    pub prov: Provenances,
    /// Registers that ever carried a base.
    pub carriers: Vec<bool>,
    /// Instructions that name a variable or read such a register.
    pub watched: Vec<bool>,
    /// The variables of shared memory that were laid out again: from where, and to where.
    pub moved: Vec<(u64, u64)>,
    /// An example of each instruction that read uninitialised bytes; poison terms name the pc.
    pub unset_sites: BTreeMap<Pc, Site>,
    /// Sums of floats in memory, where floats are words.
    pub float_updates: FxHashMap<(RegionId, u64), FloatSums>,
    /// What was read where data choose.
    pub gathers: Gathers,
    /// What was touched in arrays, where that is noted.
    pub footprint: Footprint,
}

impl Spaces {
    /// Memory as it is laid out before the launch.
    pub(super) fn new(
        kernel: &Kernel,
        program: &Program,
        regions: Vec<Region>,
        prov: Provenances,
    ) -> Spaces {
        Spaces {
            regions,
            prov,
            carriers: vec![false; kernel.reg_width.len()],
            watched: program.watched.clone(),
            moved: Vec::new(),
            unset_sites: BTreeMap::new(),
            float_updates: FxHashMap::default(),
            gathers: Gathers::default(),
            footprint: Footprint::default(),
        }
    }
}
