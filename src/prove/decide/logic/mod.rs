//! One Boolean back end: choices, comparisons, orders and words.
//!
//! Problem: two terms that choose, by maxima, minima, selections and masks, among numbers that are equal
//! where they are chosen; or two words, or predicates, that are one function of the bits of the inputs.
//! Canonical forms see a choice as a number of its own.
//!
//! Source: lazy satisfiability modulo theories (Nieuwenhuis, Oliveras, Tinelli, "Solving SAT and SAT Modulo
//! Theories", 2006). Predicates and words become gates (`encode`, `words`, `circuit`) over bits of inputs and
//! over signs of canonical forms. Words that gates, or diagrams (`diagram`), do not show to be equal are asked
//! of a solver (`solver`): is there an input on which they differ? For numbers the solver proposes a region,
//! that is which operand each choice takes (`region`): it is empty by linear arithmetic (`linear`), with the
//! reason learnt, or both terms are compared in it by canonical form, with the choices that mattered
//! learnt. When no region is left, all inputs are covered. How this differs: equality at the leaves is that of
//! canonical forms; what the linear arithmetic lacks (`monotone`) is looked at before a region is given up.
//!
//! Sound in the direction of [`Answer::Proved`]: equal wherever both are defined and the conditions hold. A
//! region is left only because it is empty or because the terms are equal there. Not claimed: anything by
//! [`Answer::Open`]; definedness, which the caller shows.

pub(super) mod best;
pub mod circuit;
pub(super) mod diagram;
mod encode;
mod limits;
pub(super) mod linear;
pub(super) mod monotone;
mod region;
pub mod solver;
mod theory;
pub mod words;

use crate::spec::Limits;
use crate::term::{Sort, TermId, TermStore};

use encode::Encoder;
use region::Search;

/// What became of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The terms have one value wherever both are defined and the conditions hold.
    Proved,
    /// Nothing is known.
    Open,
}

/// How much a question is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// Gates and small diagrams: before any search for a witness.
    Quick,
    /// The solver as well.
    Thorough,
}

/// Whether two terms have one value wherever both are defined and all conditions hold, which are defined
/// there themselves.
pub(super) fn prove(
    store: &TermStore,
    (a, b): (TermId, TermId),
    conditions: &[TermId],
    effort: Effort,
    limits: &Limits,
) -> Answer {
    let proved = store.sort(a) == store.sort(b)
        && match (store.sort(a), effort) {
            (Sort::Real, Effort::Quick) => false,
            (Sort::Real, Effort::Thorough) => regions(store, (a, b), conditions, limits),
            (_, effort) => {
                words(store, (a, b), conditions, effort, limits)
                    || effort == Effort::Thorough && regions(store, (a, b), conditions, limits)
            }
        };
    match proved {
        true => Answer::Proved,
        false => Answer::Open,
    }
}

/// Whether no region is left in which two terms may differ.
fn regions(
    store: &TermStore,
    pair: (TermId, TermId),
    conditions: &[TermId],
    limits: &Limits,
) -> bool {
    let Some(question) = region::Question::new(store, pair, conditions) else {
        return false;
    };
    let search = Search::new(&question, limits, false);
    search.is_some_and(|mut s| s.every_region() == Some(true))
}

/// Whether two words or predicates are one function of the inputs.
fn words(
    store: &TermStore,
    (a, b): (TermId, TermId),
    conditions: &[TermId],
    effort: Effort,
    limits: &Limits,
) -> bool {
    let by_gates = |deep: bool| -> Option<(bool, bool)> {
        let mut encoder = Encoder::new(store, limits, deep);
        let (x, y) = (encoder.encode(a)?, encoder.encode(b)?);
        let equal = x == y || diagram::same(&encoder.words, &x, &y) == Some(true);
        Some((equal, encoder.words.is_spelled_out()))
    };
    match by_gates(false) {
        Some((true, _)) => return true,
        Some((false, false)) if by_gates(true).is_some_and(|x| x.0) => return true,
        _ => {}
    }
    if effort == Effort::Quick {
        return false;
    }
    let Some(question) = region::Question::new(store, (a, b), conditions) else {
        return false;
    };
    [false, true].into_iter().any(|deep| {
        let search = Search::new(&question, limits, deep);
        search.is_some_and(|mut s| s.no_difference() == Some(true))
    })
}

#[cfg(test)]
mod tests;
