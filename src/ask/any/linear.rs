//! Polynomials with integer coefficients, and whether linear facts about their monomials exclude each other.
//!
//! Source: Fourier and Motzkin's elimination over the rationals, monomials of degree two and more counting as variables of
//! their own. What is unsatisfiable over the rationals is so over the integers; an overflow of the coefficients, or too
//! many constraints, end it without an answer.

use std::collections::BTreeMap;

use num_integer::gcd;
use rustc_hash::FxHashMap;

use super::expr::Id;
use super::limits::MAX_CONSTRAINTS;
use crate::work;

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

/// A constraint: the sum of coefficients times variables, and a constant, is at least 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Constraint {
    terms: BTreeMap<usize, i128>,
    constant: i128,
}

impl Constraint {
    fn reduced(mut self) -> Constraint {
        let mut g = self.terms.values().fold(0i128, |g, c| gcd(g, c.abs()));
        g = g.max(1);
        for c in self.terms.values_mut() {
            *c /= g;
        }
        // Variables are whole numbers, so the constant is rounded towards what holds.
        self.constant = self.constant.div_euclid(g);
        self
    }
}

/// Whether no whole numbers make all polynomials at least 0.
pub(super) fn excluded(facts: &[Poly]) -> bool {
    let mut variables: FxHashMap<Monomial, usize> = FxHashMap::default();
    let mut all: Vec<Constraint> = Vec::new();
    for f in facts {
        let mut c = Constraint {
            terms: BTreeMap::new(),
            constant: 0,
        };
        for (m, k) in &f.terms {
            if m.is_empty() {
                c.constant = *k;
                continue;
            }
            let n = variables.len();
            c.terms.insert(*variables.entry(m.clone()).or_insert(n), *k);
        }
        all.push(c.reduced());
    }
    loop {
        all.retain(|c| !(c.terms.is_empty() && c.constant >= 0));
        if all.iter().any(|c| c.terms.is_empty()) {
            return true;
        }
        work::spend(all.len() as u64);
        // Of constraints that differ in the constant alone the strongest counts.
        let mut best: FxHashMap<BTreeMap<usize, i128>, i128> = FxHashMap::default();
        for c in &all {
            let slot = best.entry(c.terms.clone()).or_insert(c.constant);
            *slot = (*slot).min(c.constant);
        }
        all = best
            .into_iter()
            .map(|(terms, constant)| Constraint { terms, constant })
            .collect();
        all.sort_by(|a, b| {
            (a.terms.iter().collect::<Vec<_>>(), a.constant)
                .cmp(&(b.terms.iter().collect::<Vec<_>>(), b.constant))
        });
        if all.len() > MAX_CONSTRAINTS {
            return false;
        }
        let mut counts: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        for c in &all {
            for (v, k) in &c.terms {
                let n = counts.entry(*v).or_default();
                if *k > 0 { n.0 += 1 } else { n.1 += 1 }
            }
        }
        let next = counts.iter().min_by_key(|(v, (p, n))| (p * n, **v));
        let Some((&v, _)) = next else {
            return false;
        };
        let (with, without): (Vec<Constraint>, Vec<Constraint>) =
            all.into_iter().partition(|c| c.terms.contains_key(&v));
        let (up, down): (Vec<&Constraint>, Vec<&Constraint>) =
            with.iter().partition(|c| c.terms[&v] > 0);
        all = without;
        for p in &up {
            for n in &down {
                work::spend((p.terms.len() + n.terms.len()) as u64);
                match combined(p, n, v) {
                    Some(c) => all.push(c.reduced()),
                    None => return false,
                }
            }
        }
    }
}

/// Two constraints without the variable that they have with opposite signs.
fn combined(p: &Constraint, n: &Constraint, v: usize) -> Option<Constraint> {
    let (a, b) = (*p.terms.get(&v)?, n.terms.get(&v)?.checked_neg()?);
    let mut terms: BTreeMap<usize, i128> = BTreeMap::new();
    for (list, k) in [(&p.terms, b), (&n.terms, a)] {
        for (w, c) in list {
            let sum = terms
                .remove(w)
                .unwrap_or(0)
                .checked_add(c.checked_mul(k)?)?;
            if sum != 0 {
                terms.insert(*w, sum);
            }
        }
    }
    terms.remove(&v);
    let constant = p
        .constant
        .checked_mul(b)?
        .checked_add(n.constant.checked_mul(a)?)?;
    let small = |c: i128| c.unsigned_abs() < 1 << 110;
    (small(constant) && terms.values().all(|c| small(*c))).then_some(Constraint { terms, constant })
}
