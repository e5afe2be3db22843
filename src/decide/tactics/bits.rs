//! Integers bit by bit, and by residues of canonical forms.

use crate::decide::prove::Prover;
use crate::decide::tactic::{Attempt, Tactic};
use crate::decide::{blast, residues};
use crate::term::TermId;

pub(crate) struct Residues;
pub(crate) struct Blast;

impl Tactic for Residues {
    fn name(&self) -> &'static str {
        "residues"
    }

    fn run(&self, prover: &mut Prover<'_>, a: TermId, b: TermId) -> Attempt {
        match residues::equal(prover.store, a, b, &prover.limits) {
            true => Attempt::Equal,
            false => Attempt::Stuck,
        }
    }
}

impl Tactic for Blast {
    fn name(&self) -> &'static str {
        "bits"
    }

    fn run(&self, prover: &mut Prover<'_>, a: TermId, b: TermId) -> Attempt {
        match blast::equal(prover.store, a, b) {
            true => Attempt::Equal,
            false => Attempt::Stuck,
        }
    }
}
