//! Ways to prove a goal, one file each, and the order in which they are tried.

use super::goal::Pairs;
use super::prove::{By, Failure, Proof, Proved, Prover, conjunction};
use super::tactic::{Attempt, Tactic};
use crate::term::TermId;

mod facts;
mod form;
mod indices;
mod order;
pub(super) mod points;
pub(super) mod readings;
mod residues;
mod skeleton;
mod summands;

/// What needs no search. Orders are many and canonical forms of choices large, so that what only
/// chooses is decided first.
pub(crate) const FORMS: &[&dyn Tactic] = &[
    &order::FIRST,
    &form::Form,
    &residues::Residues,
    &skeleton::BITS,
    &order::LAST,
    &facts::Facts,
];

/// Splits of cases: dearer, and worth it only where no input refutes.
pub(crate) const SPLITS: &[&dyn Tactic] = &[
    &order::FIRST,
    &form::Form,
    &indices::Indices,
    &summands::Summands,
    &skeleton::REGIONS,
];

/// Whether `b` has the value of `a` wherever `a` has one, by the first of some tactics that tells.
pub(crate) fn implied(
    prover: &mut Prover<'_>,
    tactics: &[&dyn Tactic],
    a: TermId,
    b: TermId,
) -> Proof {
    // Equal terms that take the bits of computed numbers may stand for different bits.
    if prover.store.is_loose(a) || prover.store.is_loose(b) {
        return Proof::Loose;
    }
    if a == b {
        return Proof::Yes(Proved::TERMS);
    }
    if prover.reads_special(a, b) {
        return Proof::Special;
    }
    for (i, tactic) in tactics.iter().enumerate() {
        if !tactic.applies(prover, a, b) {
            continue;
        }
        let by = By::tactic(i, tactic.name());
        match tactic.run(prover, a, b) {
            Attempt::Equal => return prover.defined(by, a, b),
            Attempt::Done(Proof::Yes(p)) => return Proof::Yes(Proved { by, ..p }),
            Attempt::Done(proof) => return proof,
            Attempt::Differs => return Proof::Differs,
            Attempt::TooLarge => return Proof::TooLarge,
            Attempt::Stuck => {}
        }
    }
    Proof::Differs
}

/// Proves every goal of an element.
pub(crate) fn all(
    prover: &mut Prover<'_>,
    tactics: &[&dyn Tactic],
    pairs: &Pairs,
) -> Result<Proved, Failure> {
    conjunction(pairs, |a, b| implied(prover, tactics, a, b))
}
