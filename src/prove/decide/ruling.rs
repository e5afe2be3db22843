//! How an element was decided, and what all rulings say together.
//!
//! `Equivalent` needs a proof of every element; one refutation is `NotEquivalent` whatever else is
//! open.

use super::goal::Only;
use super::prove::{Failure, Proof, Proved};
use super::refute::{DifferingInput, Seen};
use crate::answer::{self, Assumption, AssumptionKind};

/// How an element was decided.
#[derive(Clone, Debug)]
pub(crate) enum Ruling {
    /// Every goal was proved.
    Proved(Proved),
    /// An input tells the sides apart; `named` says that library functions stood by their names.
    Refuted {
        found: Box<DifferingInput>,
        named: bool,
    },
    /// Surely only one kernel writes the element.
    OneSided(Only),
    /// Not proved by what needs no search, and not searched yet.
    Deferred(Failure),
    /// Undecided.
    Open(Why),
}

/// Why an element stayed open.
#[derive(Clone, Debug)]
pub(crate) enum Why {
    /// What the tactics failed with, and what executions say.
    Failed { failure: Failure, seen: Seen },
    /// Only one kernel writes it in the CTAs that were run.
    OneSided(Only),
    /// No input was found on which the reference is a number.
    Nothing,
    /// A limit was reached before it was decided.
    Limit(&'static str),
}

impl Ruling {
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Ruling::Open(..) | Ruling::Deferred(_))
    }

    /// True if it is open because of rounding, or of bits that the terms of reals do not have.
    pub(crate) fn is_for_rounding(&self) -> bool {
        match self {
            Ruling::Open(Why::Failed {
                failure: (proof, ..),
                seen,
            }) => seen.within_rounding || *proof == Proof::Loose,
            _ => false,
        }
    }

    pub(crate) fn is_refuted(&self) -> bool {
        matches!(self, Ruling::Refuted { .. } | Ruling::OneSided(_))
    }
}

/// What was ruled, and what it rests on.
#[derive(Clone, Default)]
pub(crate) struct Rulings {
    /// By element; after a refutation the others have none.
    pub of: Vec<Ruling>,
    /// Assumptions of the proofs.
    pub assumptions: Vec<Assumption>,
    /// The error of proofs by evaluation at random points.
    pub chance: Option<Chance>,
    /// Inputs that were tried.
    pub tried: u64,
    /// An element that nothing refuted and whose sides are this far apart in doubles on an ordinary input.
    pub suspect: Option<(usize, f64)>,
}

/// What a proof by evaluation at random points may be wrong by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chance {
    /// Number of elements that were proved that way.
    pub elements: u64,
    /// Number of points.
    pub points: usize,
    /// Binary logarithm of a bound on the chance that any of them differs.
    pub error: f64,
}

impl Chance {
    /// The bound as a power of 2 that is not below it.
    pub fn bound(&self) -> String {
        format!("2^{}", self.error.ceil())
    }

    /// What the answer takes for granted.
    pub fn assumption(&self) -> Assumption {
        let s = if self.elements == 1 { "" } else { "s" };
        AssumptionKind::Probability.says(format!(
            "{} element{s} are equal at {} random points modulo primes of 61 bits: the chance that one of \
             them differs all the same is at most {}",
            self.elements,
            self.points,
            self.bound()
        ))
    }
}

impl From<&Chance> for answer::Chance {
    fn from(c: &Chance) -> Self {
        answer::Chance {
            elements: c.elements,
            points: c.points as u64,
            error: c.bound(),
            log2_error: c.error.ceil(),
        }
    }
}
