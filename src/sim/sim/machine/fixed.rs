//! What threads run in, which no instruction changes.

use std::sync::Arc;

use crate::kernel::Kernel;
use crate::spec::{Arrays, Bindings, Launch, Limits, Mode};

use super::super::cluster::Team;
use super::super::cta::Inputs;
use super::super::program::Program;
use super::super::region::{RegionId, region_of};

/// The kernel, its launch and the CTAs that run.
#[derive(Clone)]
pub(in crate::sim) struct Fixed<'k> {
    /// What the text of the kernel says.
    pub program: Arc<Program>,
    /// The code.
    pub kernel: &'k Kernel,
    /// The launch.
    pub launch: &'k Launch,
    /// The arrays of the pair.
    pub arrays: &'k Arrays,
    /// What stands in the parameter space.
    pub bindings: &'k Bindings,
    /// Bounds.
    pub limits: &'k Limits,
    /// Which lanes `activemask` names, and in which domain values are.
    pub mode: Mode,
    /// The CTAs that run together.
    pub team: Team,
    global_regions: Vec<RegionId>,
}

impl<'k> Fixed<'k> {
    /// The setting of the CTAs of a team.
    pub(super) fn new(inputs: &Inputs<'k>, program: Arc<Program>, team: Team) -> Self {
        let Inputs {
            kernel,
            launch,
            mode,
            bindings,
            arrays,
            side: _,
            limits,
        } = *inputs;
        let global = |g: usize| region_of(bindings.globals[g]);
        Fixed {
            program,
            kernel,
            launch,
            arrays,
            bindings,
            limits,
            mode,
            team,
            global_regions: (0..kernel.globals.len()).map(global).collect(),
        }
    }

    /// The regions of the variables of the module.
    pub(super) fn global_regions(&self) -> &[RegionId] {
        &self.global_regions
    }
}
