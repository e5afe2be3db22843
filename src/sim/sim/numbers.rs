//! Execution on numbers: floats of known bits give known bits, as the machine computes them.
//!
//! The problem: over the reals a float operation builds a term; `run` wants what a machine writes. The way: the
//! same simulator, in which an operation whose operands are all known bits is computed by [`crate::number`]. What
//! is not known (a clock, bytes that were never written) stays what it is elsewhere, so that nothing is claimed of it.
//!
//! Memory outlives a CTA here: the CTAs of a grid run one after the other, in the order of their ranks, each on
//! what those before it left. That is one of the orders that a launch allows; where it matters, `grid::between` finds a
//! race.

use std::sync::Arc;

use crate::term::ArrayId;

use super::memory::Region;

mod exec;

/// The arrays as CTAs before this one left them; none before the first.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    regions: Arc<Vec<Region>>,
    /// Arrays to which something was written that is not known.
    open: Vec<ArrayId>,
}
