//! Functions of the CUDA library, recognised as what they compute.
//!
//! Problem: without `-use_fast_math` nvcc writes `logf`, `tanhf` and others as range reductions and
//! polynomials. A kernel that uses `lg2.approx` in the same place computes the same function in
//! intent. The whole function is recognised, with its exact constants, or nothing of it: the PTX
//! that nvcc makes of the function alone is run by the simulator, and the term that comes out is
//! the pattern (`pattern.rs`, `catalogue.rs`). Operations of the pattern tell where in a pair it may
//! stand, and what its arguments are; it is built there again with these arguments, and only if that
//! gives a term that the pair has already is it the function.
//!
//! Tests that rounding or an overflow may turn over are told by what they ask ([`ideal`]): what the machine answers to a
//! test of the function belongs to its code, and another test does not.
//!
//! Sound as an assumption only: each function that is recognised is listed. That each pattern is
//! the function, to a few units in the last place of binary32 and with the same domain, is
//! tested with the independent evaluator.
//!
//! Not claimed: a function of which a compiler folded a part, or that another version of the
//! library writes otherwise, is not recognised.

use std::sync::OnceLock;

use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use rustc_hash::FxHashMap;

use super::Reading;
use crate::answer::{Assumption, AssumptionKind};
use crate::spec::Limits;
use crate::term::rebuild::rebuild;
use crate::term::{Term, TermId, TermStore};
use crate::work;

mod catalogue;
mod finders;
mod ideal;
mod pattern;

use catalogue::{FUNCTIONS, MARKS};
use finders::Operations;
use ideal::{Ideal, Questions, reads_alike};
use pattern::Pattern;

fn patterns() -> &'static [Pattern] {
    static ALL: OnceLock<Vec<Pattern>> = OnceLock::new();
    // Whoever comes first makes them for all: they are no work of his, and no budget of his ends them.
    let all = || FUNCTIONS.iter().filter_map(Pattern::of).collect();
    ALL.get_or_init(|| work::apart(None, all).0)
}

/// The functions that stand below some terms.
#[derive(Debug, Default)]
pub struct Idioms {
    /// By the term that is the function.
    map: FxHashMap<TermId, Place>,
}

/// A function that stands in a pair.
#[derive(Clone, Debug)]
struct Place {
    /// The number of its pattern.
    pattern: usize,
    arguments: Vec<TermId>,
    /// A constant that it is multiplied with.
    factor: Option<BigRational>,
}

/// Constants of a pair that a function may be multiplied with.
const MAX_FACTORS: usize = 64;

/// A multiple of a choice between an infinity and a number, as compilers write it: with the factor below
/// the choice, and twice the number as its sum with itself. `None` for other terms.
///
/// match `c * (p ? -inf : x)` / result `p ? -inf : c * x`, and `inf` for negative c / because a product
/// with an infinity is one.
fn scaled(store: &mut TermStore, c: &Factor, t: TermId) -> Option<TermId> {
    let Term::Select(p, a, b) = store.get(t) else {
        return None;
    };
    let negative = c.0.is_negative();
    let infinity = |store: &TermStore, t: TermId| match store.get(t) {
        Term::Inf { neg } => Some(neg),
        _ => None,
    };
    infinity(store, a).or(infinity(store, b))?;
    let [a, b] = [a, b].map(|t| match (infinity(store, t), c.1) {
        (Some(neg), _) => store.infinity(neg != negative),
        (None, Some(c)) => store.mul(c, t),
        (None, None) => store.add(t, t),
    });
    Some(store.select(p, a, b))
}

/// A number that a function may be multiplied with, and its term; without one the function is added to itself.
type Factor = (BigRational, Option<TermId>);

/// Those of a pair.
fn factors(store: &TermStore, below: &[TermId]) -> Vec<Factor> {
    let constant = |&t: &TermId| {
        let c = store.as_const(t)?;
        (!c.is_zero() && !c.is_one()).then(|| (c.clone(), Some(t)))
    };
    let twice = (BigRational::from_integer(2.into()), None);
    let constants = below.iter().filter_map(constant).take(MAX_FACTORS);
    std::iter::once(twice).chain(constants).collect()
}

/// True for what chooses between cases or makes a number of bits, as most expanded functions do.
fn is_part(store: &TermStore, t: TermId) -> bool {
    matches!(
        store.get(t),
        Term::Select(..) | Term::OfBits { .. } | Term::OfInt { .. }
    )
}

/// True if one of the terms is such a part, or a constant of a function that has none. Facts leave polynomials of some.
fn may_expand(store: &TermStore, terms: &[TermId]) -> bool {
    if !store.facts.numbers().is_empty() {
        return true;
    }
    let marks = || MARKS.iter().filter_map(|&m| BigRational::from_float(m));
    let marked = |t: TermId| {
        let c = store.as_const(t);
        c.is_some_and(|c| !c.is_integer() && marks().any(|m| m == *c))
    };
    terms.iter().any(|&t| is_part(store, t) || marked(t))
}

/// The functions among some terms, which are all that stands below some roots.
fn places(
    store: &TermStore,
    below: &[TermId],
    questions: &Questions,
    limits: &Limits,
) -> FxHashMap<TermId, Place> {
    let mut out = FxHashMap::default();
    let operations = Operations::of(store, below);
    let factors = factors(store, below);
    // Patterns are built in a copy: what is new there is not of the pair.
    let mut copy: Option<TermStore> = None;
    for (i, p) in patterns().iter().enumerate() {
        for u in p.arguments_in((store, questions), &operations, &mut copy) {
            if limits.reached().is_some() {
                return FxHashMap::default();
            }
            let copy = copy.get_or_insert_with(|| store.clone());
            for t in p.instances(copy, &u, questions) {
                // A pattern that folded to something plain is none.
                let whole = matches!(
                    store_get(store, t),
                    Some(Term::Select(..) | Term::Mul(..) | Term::Add(..) | Term::Sum(_))
                );
                let place = |factor| Place {
                    pattern: i,
                    arguments: u.clone(),
                    factor,
                };
                let is_code = || !operations.may_be_decided || is_long(copy, t, &u);
                if whole && below.binary_search(&t).is_ok() && is_code() {
                    out.insert(t, place(None));
                }
                for c in &factors {
                    let Some(scaled) = scaled(copy, c, t) else {
                        break;
                    };
                    if below.binary_search(&scaled).is_ok() {
                        out.insert(scaled, place(Some(c.0.clone())));
                    }
                }
            }
        }
    }
    out
}

impl Reading for Idioms {
    /// Those below `roots`.
    fn of(store: &TermStore, roots: &[TermId], limits: &Limits) -> Idioms {
        let below = store.reachable(&store.with_questions(roots));
        if !may_expand(store, &below) {
            return Idioms::default();
        }
        let map = match Ideal::of(store, &below) {
            None => {
                let mut map = places(store, &below, &Questions::default(), limits);
                map.retain(|&t, place| reads_alike(store, (t, &place.arguments)));
                map
            }
            Some(ideal) => {
                let map = places(&ideal.store, &ideal.terms(), &ideal.questions, limits);
                let mut map = ideal.in_pair(store, &below, map);
                let below = store.reachable(roots);
                map.retain(|t, _| below.binary_search(t).is_ok());
                map
            }
        };
        Idioms { map }
    }

    /// True if there is none.
    fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The terms with the functions in place of their patterns.
    fn apply(&self, from: &TermStore, roots: &[TermId], into: &mut TermStore) -> Vec<TermId> {
        let all = patterns();
        rebuild(from, roots, into, |s, t, done| {
            let place = self.map.get(&t)?;
            let u = place.arguments.iter().map(|u| done.get(*u));
            let u = u.collect::<Option<Vec<TermId>>>()?;
            let meaning = (all[place.pattern].meaning)(s, &u);
            match &place.factor {
                None => Some(meaning),
                Some(c) => {
                    let c = s.rational(c.clone());
                    Some(s.mul(c, meaning))
                }
            }
        })
    }

    /// What was recognised, as sentences.
    fn assumptions(&self) -> Vec<Assumption> {
        let mut names: Vec<&str> = self
            .map
            .values()
            .map(|v| patterns()[v.pattern].name)
            .collect();
        names.sort_unstable();
        names.dedup();
        let sentence = |name: &str| {
            AssumptionKind::LibraryFunction.says(format!(
                "the code of `{name}` of the CUDA library computes that function of the reals"
            ))
        };
        names.into_iter().map(sentence).collect()
    }
}

/// Terms of the least code that is read as a function where facts have decided its tests.
const MIN_TERMS: usize = 8;

/// True if a term is computed from some arguments by more than what may stand for itself.
fn is_long(store: &TermStore, t: TermId, arguments: &[TermId]) -> bool {
    store.cone_size([t]) >= store.cone_size(arguments.iter().copied()) + MIN_TERMS
}

/// A term, if the store has it.
fn store_get(store: &TermStore, t: TermId) -> Option<Term<'_>> {
    ((t.0 as usize) < store.len()).then(|| store.get(t))
}

#[cfg(test)]
mod tests;
