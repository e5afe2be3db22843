//! Integers bit by bit, and by residues of canonical forms.

use crate::decide::logic::{Answer, Effort, prove};
use crate::decide::prove::Prover;
use crate::decide::residues;
use crate::decide::tactic::{Attempt, Tactic};
use crate::term::TermId;

pub(crate) struct Residues;

/// By gates and diagrams, without a search.
pub(crate) struct Gates;

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

impl Tactic for Gates {
    fn name(&self) -> &'static str {
        "bits"
    }

    fn run(&self, prover: &mut Prover<'_>, a: TermId, b: TermId) -> Attempt {
        match prove(prover.store, (a, b), &[], Effort::Quick, &prover.limits) {
            Answer::Proved => Attempt::Equal,
            Answer::Open => Attempt::Stuck,
        }
    }
}
