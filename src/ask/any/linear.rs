//! Polynomials with integer coefficients, and whether linear facts about their monomials exclude each other.
//!
//! Monomials of degree two and more count as variables of their own ([`crate::term::elimination`]). An overflow of the
//! coefficients, or too many constraints, end it without an answer.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::expr::Id;
use super::limits::MAX_CONSTRAINTS;
use crate::term::elimination::{Bounds, Constraint, contradict};
use crate::term::linear::Linear;
use crate::work;

/// What ends an elimination without an answer.
const BOUNDS: Bounds = Bounds {
    kept: MAX_CONSTRAINTS,
    made: MAX_CONSTRAINTS * MAX_CONSTRAINTS / 4,
};

/// A whole number that is not looked into: a word, read as signed or not.
pub(super) type Atom = (Id, bool);

/// A product of atoms, in order.
pub(super) type Monomial = Vec<Atom>;

/// A polynomial; no coefficient is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Poly {
    pub terms: BTreeMap<Monomial, i128>,
}

impl Poly {
    pub(super) fn constant(v: i128) -> Poly {
        let mut p = Poly::default();
        p.put(Vec::new(), v);
        p
    }

    pub(super) fn atom(a: Atom) -> Poly {
        let mut p = Poly::default();
        p.put(vec![a], 1);
        p
    }

    fn put(&mut self, m: Monomial, c: i128) {
        if c != 0 {
            self.terms.insert(m, c);
        }
    }

    /// self + k * other; `None` once a coefficient is too large.
    pub(super) fn plus(&self, k: i128, other: &Poly) -> Option<Poly> {
        let mut out = self.clone();
        for (m, c) in &other.terms {
            let old = out.terms.remove(m).unwrap_or(0);
            let new = old.checked_add(k.checked_mul(*c)?)?;
            if new.unsigned_abs() > 1 << 100 {
                return None;
            }
            out.put(m.clone(), new);
        }
        Some(out)
    }

    pub(super) fn times(&self, other: &Poly) -> Option<Poly> {
        let mut out = Poly::default();
        for (m, c) in &self.terms {
            for (n, d) in &other.terms {
                let mut both: Monomial = m.iter().chain(n).copied().collect();
                both.sort_unstable();
                let one = Poly {
                    terms: [(both, c.checked_mul(*d)?)].into_iter().collect(),
                };
                out = out.plus(1, &one)?;
            }
        }
        Some(out)
    }

    pub(super) fn value(&self) -> Option<i128> {
        match self.terms.len() {
            0 => Some(0),
            1 => self.terms.get(&Vec::new()).copied(),
            _ => None,
        }
    }

    pub(super) fn degree(&self) -> usize {
        self.terms.keys().map(Vec::len).max().unwrap_or(0)
    }
}

/// Whether no whole numbers make all polynomials at least 0.
pub(super) fn excluded(facts: &[Poly]) -> bool {
    let mut variables: FxHashMap<&Monomial, usize> = FxHashMap::default();
    let mut all = Vec::with_capacity(facts.len());
    for fact in facts {
        let (mut constant, mut terms) = (0, Vec::new());
        for (m, k) in &fact.terms {
            if m.is_empty() {
                constant = *k;
                continue;
            }
            let n = variables.len();
            terms.push((*variables.entry(m).or_insert(n), *k));
        }
        all.push(Constraint {
            form: Linear::of(constant, terms),
            strict: false,
        });
    }
    contradict(all, BOUNDS, |units| work::spend(units as u64)).is_some()
}
