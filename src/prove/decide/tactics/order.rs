//! Choices by order alone: sorting networks, maxima, medians.

use crate::decide::lattice;
use crate::decide::prove::Prover;
use crate::decide::tactic::{Attempt, Tactic};
use crate::term::TermId;

pub(crate) struct Order {
    /// Before forms, where a term does little but choose.
    first: bool,
}

/// Before forms; that the values differ is an answer too.
pub(crate) const FIRST: Order = Order { first: true };

/// After them.
pub(crate) const LAST: Order = Order { first: false };

impl Tactic for Order {
    fn name(&self) -> &'static str {
        "order"
    }

    fn applies(&self, prover: &Prover<'_>, a: TermId, b: TermId) -> bool {
        lattice::is_worth_it(prover.store, a, b) == self.first
    }

    fn run(&self, prover: &mut Prover<'_>, a: TermId, b: TermId) -> Attempt {
        match lattice::decide(prover.store, a, b, &prover.limits) {
            Some(true) => Attempt::Equal,
            Some(false) if self.first => Attempt::Differs,
            _ => Attempt::Stuck,
        }
    }
}
