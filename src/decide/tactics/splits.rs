//! One region of the inputs after the other, for sums one group of summands after the other.

use super::summands;
use crate::decide::logic::{Answer, Effort, prove};
use crate::decide::prove::Prover;
use crate::decide::tactic::{Attempt, Tactic};
use crate::term::TermId;

pub(crate) struct Summands;
pub(crate) struct Regions;

impl Tactic for Summands {
    fn name(&self) -> &'static str {
        "summands"
    }

    fn run(&self, prover: &mut Prover<'_>, a: TermId, b: TermId) -> Attempt {
        match summands::equal(prover.store, a, b, &prover.limits) {
            true => Attempt::Equal,
            false => Attempt::Stuck,
        }
    }
}

impl Tactic for Regions {
    fn name(&self) -> &'static str {
        "regions"
    }

    fn run(&self, prover: &mut Prover<'_>, a: TermId, b: TermId) -> Attempt {
        match prove(prover.store, (a, b), &[], Effort::Thorough, &prover.limits) {
            Answer::Proved => Attempt::Equal,
            Answer::Open => Attempt::Stuck,
        }
    }
}
