//! How a launch is run: what its numbers are, and which of the executions that the manual allows.
//!
//! A launch says what the machine is asked to do; a mode says what the simulator makes of it. Each question begins with
//! the default, and what it leaves open is run in another mode.

use crate::kernel::Pc;

use super::{Converged, Numbered};

/// What numbers are in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Real numbers.
    Reals {
        /// They remember how they were made; the value tells the code of the pair's kernels apart.
        made_by: Option<u32>,
    },
    /// Words, of which the same bits are asked.
    Words {
        /// Which kernel of several it is.
        numbered: Numbered,
        /// What rounds known numbers is a word too.
        unfolded: bool,
    },
    /// Known bits, of which floats are computed as the machine does. Memory outlives a CTA.
    Numbers {
        /// An instruction whose results are rounded up or down at random, with the seed of it.
        wobbling: Option<(Pc, u64)>,
    },
}

/// How a launch is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// What its numbers are.
    pub domain: Domain,
    /// Runs may go one way each at a branch that data decide.
    pub forks: bool,
    /// Choices keep the comparison that was written where its negation would do.
    pub as_written: bool,
    /// All CTAs of the grid run together, not only those of one cluster.
    pub together: bool,
    /// Which lanes `activemask` names; where nothing is said, a value that the schedule chooses.
    pub lanes: Option<Converged>,
}

impl Default for Mode {
    fn default() -> Self {
        Mode {
            domain: Domain::Reals { made_by: None },
            forks: true,
            as_written: false,
            together: false,
            lanes: None,
        }
    }
}

impl Mode {
    /// The same over another domain.
    pub fn over(self, domain: Domain) -> Mode {
        Mode { domain, ..self }
    }

    /// The code of the pair that numbers remember to be made by, if they remember how they were made.
    pub fn made_by(&self) -> Option<u32> {
        match self.domain {
            Domain::Reals { made_by } => made_by,
            Domain::Words { .. } | Domain::Numbers { .. } => None,
        }
    }

    /// Which kernel of several it is, where floats are words.
    pub fn words(&self) -> Option<Numbered> {
        match self.domain {
            Domain::Words { numbered, .. } => Some(numbered),
            Domain::Reals { .. } | Domain::Numbers { .. } => None,
        }
    }

    /// True where floats are known numbers.
    pub fn has_numbers(&self) -> bool {
        matches!(self.domain, Domain::Numbers { .. })
    }

    /// True where floats are reals that do not remember how they were made.
    pub fn has_plain_reals(&self) -> bool {
        self.domain == Domain::Reals { made_by: None }
    }
}
