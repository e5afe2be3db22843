//! Tactics: ways to show that two terms are one value, cheapest first.
//!
//! A goal is a pair of terms, the reference's and the optimized kernel's. A tactic looks at one goal
//! and says what it found; the driver asks them in order and knows none of them by name. A new one is
//! a file under `tactics/` and a row in a list of `tactics/mod.rs`.

use super::prove::{Proof, Prover};
use crate::term::TermId;

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The terms have one value wherever both have one; that the optimized kernel has one is still to be
    /// shown.
    Equal,
    /// All that is to be shown, under what the reference says of its inputs.
    Done(Proof),
    /// The values differ on some input: only a witness is left to be found.
    Differs,
    /// The terms are beyond the bounds of the tactic, and of those after it.
    TooLarge,
    /// The tactic cannot tell.
    Stuck,
}

/// A way to prove a goal. Sound in the direction of [`Attempt::Equal`] and [`Attempt::Done`].
pub(crate) trait Tactic: Sync {
    /// Its name in reports.
    fn name(&self) -> &'static str;

    /// Whether it is worth trying on a goal. The default is that it is.
    fn applies(&self, _prover: &Prover<'_>, _a: TermId, _b: TermId) -> bool {
        true
    }

    /// Looks at one goal.
    fn run(&self, prover: &mut Prover<'_>, a: TermId, b: TermId) -> Attempt;
}
