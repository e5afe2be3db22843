//! Choices by order alone: sorting networks, maxima, medians.

use crate::decide::lattice;
use crate::decide::prove::Prover;
use crate::decide::tactic::{Attempt, Tactic};
use crate::term::TermId;

/// Before forms, where a term does little but choose.
pub(crate) struct First;

/// After them, where it is small enough.
pub(crate) struct Order;

impl Tactic for First {
    fn name(&self) -> &'static str {
        "order"
    }

    fn applies(&self, prover: &Prover<'_>, a: TermId, b: TermId) -> bool {
        lattice::is_worth_it(prover.store, a, b)
    }

    fn run(&self, prover: &mut Prover<'_>, a: TermId, b: TermId) -> Attempt {
        match lattice::decide(prover.store, a, b, &prover.limits) {
            Some(true) => Attempt::Equal,
            Some(false) => Attempt::Differs,
            None => Attempt::Stuck,
        }
    }
}

impl Tactic for Order {
    fn name(&self) -> &'static str {
        "order"
    }

    fn applies(&self, prover: &Prover<'_>, a: TermId, b: TermId) -> bool {
        !lattice::is_worth_it(prover.store, a, b)
    }

    fn run(&self, prover: &mut Prover<'_>, a: TermId, b: TermId) -> Attempt {
        match lattice::equal(prover.store, a, b, &prover.limits) {
            true => Attempt::Equal,
            false => Attempt::Stuck,
        }
    }
}
