//! Equality by evaluation at random points of finite fields, with a bound on the error.
//!
//! Problem: the canonical form of a term can be far larger than the term: the product of a thousand
//! sums has 2^1000 terms. At a point it is a number. The method is polynomial identity testing
//! (Schwartz, "Fast probabilistic algorithms for verification of polynomial identities", 1980;
//! Zippel, 1979); exponentials modulo a prime whose group has a subgroup of prime order follow Mirage
//! (Wu et al., "Mirage: A Multi-Level Superoptimizer for Tensor Programs", OSDI 2025). It differs from
//! that in what is bounded: an exponent is a linear form in monomials whose values as exponents are
//! independent ([`linear`]), so that each exponential is a monomial in variables and the lemma applies,
//! and the primes are drawn too ([`field`]), so that no coefficient can be a multiple of one known before.
//!
//! One pass computes each term at all points at once. What has no image (maxima, square roots, comparisons,
//! conversions, exponents of exponentials) is an atom with a drawn value, the same for the same
//! operation on operands that have the same values; maxima of maxima are flattened first, and 1 over a square root is that.
//!
//! Sound: terms that are found equal are equal wherever both are defined, but for a chance that is
//! at most [`Answer::error`], over the draws of the points. With T classes of operands and C comparisons
//! it is (C + T^2/2) d^n, n the number of points and d the chance at one: 2D/q for polynomials of degree D
//! ([`size`]) in variables with at least q values, and their coefficients' bits / 60 out of the number of
//! primes that are drawn from. That number is an estimate that number theory has not proved.
//! Definedness is not looked at.
//!
//! What is not claimed: that terms whose images differ are different. Those whose exponents are
//! equal by more than expansion, or whose atoms obey a rule (the square of a square root), may be equal.

mod field;
mod linear;
mod size;
mod sweep;
#[cfg(test)]
mod tests;

use sha2::{Digest, Sha256};

use self::field::{Draws, Fields};
use self::sweep::Sweep;
use super::Limits;
use crate::term::{Sort, Term, TermId, TermStore};
use crate::work;

/// Points at first, and at most.
const FIRST_POINTS: usize = 3;
const MAX_POINTS: usize = 12;

/// Binary logarithm of the error that is aimed at.
const ERROR: f64 = -64.0;

/// Classes beyond which nothing is said.
const MAX_CLASSES: usize = 1 << 23;

/// Terms between two looks at the time.
const CHECK_EVERY: usize = 1 << 12;

/// What evaluation found.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// For each pair, whether its terms have equal values.
    pub equal: Vec<bool>,
    /// Binary logarithm of the chance that one that is found equal is not.
    pub error: f64,
    /// Number of points.
    pub points: usize,
}

/// Compares pairs of terms at random points; `None` if no useful bound on the error was found, or time
/// ran out.
pub fn equal(store: &TermStore, pairs: &[(TermId, TermId)], limits: &Limits) -> Option<Answer> {
    let roots: Vec<TermId> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
    let cone = store.reachable(&roots);
    // The scratch of a point is a few words for each term.
    if cone.len() > limits.max_held / 8 {
        return None;
    }
    let draws = Draws::new(seed(store, &cone));
    let mut points = FIRST_POINTS;
    loop {
        let (answer, each) = run(store, &cone, pairs, limits, &draws, points)?;
        if answer.error <= ERROR {
            return Some(answer);
        }
        // The chance of one point does not depend on their number.
        let more = ((answer.error - ERROR) / -each).ceil();
        if !(each < 0.0 && more <= (MAX_POINTS - points) as f64) {
            return None;
        }
        points += (more as usize).max(1);
    }
}

/// Points that order work.
const CLASS_POINTS: usize = 2;

/// For each of some terms that are real the number of its class: terms of two classes differ as far as this file sees,
/// those of one class may be equal. `None` if they are too many or time ran out.
pub fn classes(store: &TermStore, terms: &[TermId], limits: &Limits) -> Option<Vec<Option<u32>>> {
    let cone = store.reachable(terms);
    if cone.len() > limits.max_held / 8 {
        return None;
    }
    let draws = Draws::new(seed(store, &cone));
    let mut sweep = swept(store, &cone, terms, limits, &draws, CLASS_POINTS)?;
    let class = |&t: &TermId| match store.sort(t) {
        Sort::Real => sweep.class(t).map(|c| c.0),
        _ => None,
    };
    Some(terms.iter().map(class).collect())
}

/// A digest of the terms.
fn seed(store: &TermStore, cone: &[TermId]) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut words: Vec<u32> = Vec::new();
    for &t in cone {
        words.clear();
        words.extend(store.label(t));
        match store.get(t) {
            Term::Elem { off, .. } | Term::Bytes { off, .. } => {
                words.extend([off as u32, (off >> 32) as u32]);
            }
            Term::Const(c) => {
                hash.update(store.constant(c).numer().to_signed_bytes_le());
                hash.update(store.constant(c).denom().to_signed_bytes_le());
            }
            _ => {}
        }
        store.children(t, |c| {
            words.push(cone.binary_search(&c).unwrap_or(0) as u32)
        });
        hash.update((words.len() as u32).to_le_bytes());
        words.iter().for_each(|w| hash.update(w.to_le_bytes()));
    }
    hash.finalize().into()
}

/// Evaluates at so many points.
fn swept<'s>(
    store: &'s TermStore,
    cone: &[TermId],
    roots: &[TermId],
    limits: &Limits,
    draws: &Draws,
    points: usize,
) -> Option<Sweep<'s>> {
    let fields: Option<Vec<Fields>> = (0..points).map(|i| draws.fields(i)).collect();
    let mut sweep = Sweep::new(store, cone, roots, fields?, draws.clone());
    for (i, &t) in cone.iter().enumerate() {
        if i % CHECK_EVERY == 0 && limits.is_late() {
            return None;
        }
        if sweep.count() > MAX_CLASSES {
            return None;
        }
        work::spend(points as u64);
        sweep.step(i, t);
    }
    Some(sweep)
}

/// Evaluates at so many points: the answer, and the binary logarithm of the chance at one point.
fn run(
    store: &TermStore,
    cone: &[TermId],
    pairs: &[(TermId, TermId)],
    limits: &Limits,
    draws: &Draws,
    points: usize,
) -> Option<(Answer, f64)> {
    let roots: Vec<TermId> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
    let mut sweep = swept(store, cone, &roots, limits, draws, points)?;
    let mut equal = Vec::with_capacity(pairs.len());
    for &(a, b) in pairs {
        let same = match store.sort(a) {
            Sort::Real => matches!((sweep.class(a), sweep.class(b)), (Some(x), Some(y)) if x == y),
            _ => matches!((sweep.node(a), sweep.node(b)), (Some(x), Some(y)) if x == y),
        };
        equal.push(same && store.sort(a) == store.sort(b));
    }
    let each = sweep.chance();
    let classes = sweep.count() as f64;
    let choices = (pairs.len() as f64 + classes * classes / 2.0).log2();
    let answer = Answer {
        equal,
        error: choices + each * points as f64,
        points,
    };
    Some((answer, each))
}
