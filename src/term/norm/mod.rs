//! Canonical forms: when two terms denote the same real function.
//!
//! Problem: kernels compute the same sums in different orders, with different common factors
//! outside, rescaled by different maxima, divided before or after. A term becomes a sum of
//! coefficient * monomial * exponential over atoms, with inverses of sums as atoms, so that most
//! such pairs become the same polynomial; what is left is compared as fractions.
//!
//! Source: "Equivalence Checking of ML GPU Kernels": over the reals, a sum of polynomials times
//! exponentials of distinct polynomials without constant term is zero only if every coefficient
//! polynomial is. This differs in the base of exponentials (2), in keeping sums of fractions
//! apart, and in maxima, selects and square roots as atoms with rules of their own.
//!
//! In reading order: `rat` (coefficients), `monomial`, `poly`, `exp`, `ring` (the scratch and the
//! atoms), `value` (factors kept outside), `expand` (the canonical polynomial), `binary` and
//! `fraction` (inverses, cross-multiplication), `fingerprint` (what is worth it), `sign`, `quadratic`, `variance`, `fun` (log,
//! exp, tanh, floor), `softplus`, `root`, `radical`, `trig`, `max`, `multiples`, `select`, `fold`, `clamp`, `bits`, `joint`, `linear`, `sweep` (the pass over terms), `prove` (signs of
//! terms), `derivatives` (polynomials of degree two that are not multiplied out), `probable` (evaluation at random points, for who asks for it), `difference` (where two forms differ), `view` (forms one level at a time), `display`.
//! `rules` lists what these rewrite, and counts it.
//!
//! Soundness: `Equal` is claimed only for terms that have the same value wherever both are
//! defined. That a defined reference makes the optimized kernel defined is a separate question,
//! `decide`'s, which asks the `prove_` functions. `Different` claims
//! nothing.

mod binary;
mod bits;
mod clamp;
mod derivatives;
mod difference;
mod display;
mod exp;
mod expand;
mod fingerprint;
mod fold;
mod fraction;
mod fun;
mod joint;
mod linear;
mod literal;
mod max;
mod monomial;
mod multiples;
mod poly;
pub mod probable;
mod prove;
mod quadratic;
mod radical;
mod rat;
mod ring;
mod root;
mod rules;
mod select;
mod sign;
mod softplus;
mod sweep;
#[cfg(test)]
mod tests;
mod trig;
mod value;
mod variance;
mod view;

pub use derivatives::Polynomials;
pub use difference::Difference;
pub use literal::{Key, Polynomial, Reading, Relation};
pub use rules::{Row, Rule, counts as rule_counts};
pub use sign::Sign;
pub use sweep::Normalizer;
pub use view::{Factor, Integers, Summand, Test, TestId, View};

use std::time::Instant;

use crate::term::TermId;
use crate::work;

/// A canonical form of a scratch: equal identifiers are equal functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CanonId(pub(super) u32);

/// Bounds on what one scratch may spend. The first two apart all are counts, so that a decision in
/// time does not depend on the machine.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// When to give up.
    pub deadline: Option<Instant>,
    /// True once it is time to give up for another reason.
    pub stopped: fn() -> bool,
    /// Terms of one polynomial.
    pub max_terms: usize,
    /// Term operations of one call.
    pub max_work: u64,
    /// Terms held by the scratch, 16 bytes each.
    pub max_held: usize,
    /// Elements of one maximum.
    pub max_set: usize,
    /// Terms that one cross-multiplication may make.
    pub max_cross: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            deadline: None,
            stopped: || false,
            max_terms: 1 << 25,
            max_work: 1 << 31,
            max_held: 1 << 27,
            max_set: 1 << 13,
            max_cross: 1 << 20,
        }
    }
}

impl Limits {
    fn is_late(&self) -> bool {
        work::is_over() || (self.stopped)() || self.deadline.is_some_and(|d| Instant::now() >= d)
    }
}

/// Why a term has no canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NormError {
    /// The term divides by a formal zero, is inf - inf or not a number: no input defines it.
    #[error("the value is undefined for every input")]
    Undefined(TermId),
    /// The term needs an infinity whose sign or condition could not be settled.
    #[error("an infinity takes part whose effect could not be settled")]
    Infinite(TermId),
    /// Bytes that were never written take part.
    #[error("bytes that were never written take part")]
    Poison(TermId),
    /// A bound of [`Limits`] was reached.
    #[error("the canonical form is too large")]
    Limit(TermId),
}

/// The outcome of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equality {
    /// The same value wherever both are defined.
    Equal,
    /// The canonical forms differ. No refutation.
    Different,
    /// No canonical form, or the forms were too large to compare.
    Unknown(NormError),
}
