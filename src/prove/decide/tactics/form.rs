//! Equal canonical forms.

use crate::decide::prove::Prover;
use crate::decide::tactic::{Attempt, Tactic};
use crate::norm::NormError;
use crate::term::TermId;

pub(crate) struct Form;

impl Tactic for Form {
    fn name(&self) -> &'static str {
        "form"
    }

    fn run(&self, prover: &mut Prover<'_>, a: TermId, b: TermId) -> Attempt {
        match prover.canon.compare(a, b) {
            Ok(true) => Attempt::Equal,
            Err(NormError::Limit(_)) => Attempt::TooLarge,
            Ok(false) | Err(_) => Attempt::Stuck,
        }
    }
}
