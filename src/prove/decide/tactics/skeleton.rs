//! The Boolean and order skeleton: words by gates and diagrams, and one region of the inputs after the other.

use crate::decide::logic::{Answer, Effort, prove};
use crate::decide::prove::Prover;
use crate::decide::tactic::{Attempt, Tactic};
use crate::term::TermId;

pub(crate) struct Skeleton(&'static str, Effort);

/// Integers bit by bit, without a search.
pub(crate) const BITS: Skeleton = Skeleton("bits", Effort::Quick);

/// One region after the other, by a solver.
pub(crate) const REGIONS: Skeleton = Skeleton("regions", Effort::Thorough);

impl Tactic for Skeleton {
    fn name(&self) -> &'static str {
        self.0
    }

    fn run(&self, prover: &mut Prover<'_>, a: TermId, b: TermId) -> Attempt {
        match prove(prover.store, (a, b), &[], self.1, &prover.limits) {
            Answer::Proved => Attempt::Equal,
            Answer::Open => Attempt::Stuck,
        }
    }
}
