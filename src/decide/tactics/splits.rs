//! One region of the inputs after the other, for sums one group of summands after the other.

use super::summands;
use crate::decide::cases;
use crate::decide::prove::Prover;
use crate::decide::tactic::{Attempt, Tactic};
use crate::term::TermId;

pub(crate) struct Summands;
pub(crate) struct Cases;

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

impl Tactic for Cases {
    fn name(&self) -> &'static str {
        "cases"
    }

    fn run(&self, prover: &mut Prover<'_>, a: TermId, b: TermId) -> Attempt {
        match cases::equal(prover.store, a, b, &prover.limits) {
            true => Attempt::Equal,
            false => Attempt::Stuck,
        }
    }
}
