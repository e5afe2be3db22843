//! Linear forms of terms, and whether a set of linear constraints has a solution.
//!
//! Problem: a region of a case split that no input reaches must not be asked to be equal. Source:
//! Fourier and Motzkin's elimination over the rationals. Terms that are not sums or multiples
//! count as variables of their own, so that an answer "empty" holds whatever they are.
//!
//! What is not claimed: that a region that is not shown empty has an input.

use std::collections::BTreeMap;

use num_rational::BigRational;
use num_traits::{One, Signed};
use rustc_hash::FxHashMap;

use crate::term::{Term, TermId, TermStore, pairs};

/// Forms with more variables than this are not used.
const MAX_VARIABLES: usize = 64;

/// Constraints beyond this many end an elimination without an answer.
const MAX_CONSTRAINTS: usize = 200;

/// A linear form with rational coefficients.
pub(in crate::decide) type Linear<V = TermId> = crate::term::linear::Linear<V, BigRational>;

/// The linear form of a real term; `None` if it has too many variables.
pub(in crate::decide) fn linear(store: &TermStore, root: TermId) -> Option<Linear> {
    // Only what is reached through sums and multiples is looked at.
    let order = store.met(&[root], 16 * MAX_VARIABLES, |t, open| {
        if let Term::Add(..) | Term::Neg(_) | Term::Mul(..) | Term::Sum(_) = store.get(t) {
            store.children(t, |c| open.push(c));
        }
        true
    })?;
    let mut forms: FxHashMap<TermId, Linear> = FxHashMap::default();
    for t in order {
        let product = |x: &Linear, y: &Linear| match (x.as_number(), y.as_number()) {
            (Some(k), _) => Some(y.times(k)),
            (_, Some(k)) => Some(x.times(k)),
            _ => None,
        };
        let form = match store.get(t) {
            Term::Const(c) => Some(Linear::number(store.constant(c).clone())),
            Term::Add(a, b) => Some(forms[&a].plus(&BigRational::one(), &forms[&b])),
            Term::Neg(a) => Some(forms[&a].negated()),
            Term::Mul(a, b) => product(&forms[&a], &forms[&b]),
            Term::Sum(list) => pairs(list).try_fold(Linear::default(), |sum, (a, b)| {
                let p = product(&forms[&a], &forms[&b])?;
                Some(sum.plus(&BigRational::one(), &p))
            }),
            _ => None,
        };
        let form = form.unwrap_or_else(|| Linear::atom(t));
        if form.terms.len() > MAX_VARIABLES {
            return None;
        }
        forms.insert(t, form);
    }
    forms.remove(&root)
}

/// The term of a constant and of terms times coefficients.
pub(super) fn sum_of(
    store: &mut TermStore,
    constant: BigRational,
    terms: impl IntoIterator<Item = (TermId, BigRational)>,
) -> TermId {
    let constant = store.rational(constant);
    terms.into_iter().fold(constant, |sum, (t, k)| {
        let k = store.rational(k);
        let p = store.mul(k, t);
        store.add(sum, p)
    })
}

/// The sign that a linear form has in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::decide) enum Sign {
    /// Below 0.
    Negative,
    /// 0.
    Zero,
    /// Above 0.
    Positive,
}

/// form > 0, or with `strict` off form >= 0.
#[derive(Clone, Debug)]
pub(super) struct Constraint<V> {
    pub(super) form: Linear<V>,
    pub(super) strict: bool,
}

impl<V: Ord + Copy> Constraint<V> {
    /// A form, or with `up` off its opposite, is above 0, or with `strict` off not below.
    pub(super) fn of(form: &Linear<V>, up: bool, strict: bool) -> Self {
        let form = match up {
            true => form.clone(),
            false => form.negated(),
        };
        Constraint { form, strict }
    }

    /// Whether no values fulfil it, where it has no variables.
    fn is_violated(&self) -> bool {
        self.form.as_number().is_some_and(|k| match self.strict {
            true => !k.is_positive(),
            false => k.is_negative(),
        })
    }
}

/// True only if no values of the variables give every form its sign.
pub(in crate::decide) fn is_empty(region: &[(Linear, Sign)]) -> bool {
    let all = region.iter().flat_map(|(form, sign)| match sign {
        Sign::Positive => vec![Constraint::of(form, true, true)],
        Sign::Negative => vec![Constraint::of(form, false, true)],
        Sign::Zero => [true, false]
            .map(|up| Constraint::of(form, up, false))
            .into(),
    });
    contradict(all.collect()).is_some()
}

/// A constraint that follows from others.
struct Derived<V> {
    of: Constraint<V>,
    /// A bit for each place in the list that it follows from.
    from: Vec<u64>,
}

/// The places of constraints that no values of the variables fulfil together; `None` if it is not known that there are any.
pub(super) fn contradict<V: Ord + Copy>(list: Vec<Constraint<V>>) -> Option<Vec<usize>> {
    let words = list.len().div_ceil(64);
    let given = list.into_iter().enumerate().map(|(i, of)| {
        let mut from = vec![0; words];
        from[i / 64] = 1 << (i % 64);
        Derived { of, from }
    });
    let mut list: Vec<Derived<V>> = given.collect();
    loop {
        if let Some(violated) = list.iter().find(|d| d.of.is_violated()) {
            let is_set = |i: &usize| violated.from[i / 64] >> (i % 64) & 1 == 1;
            return Some((0..words * 64).filter(is_set).collect());
        }
        list.retain(|d| d.of.form.as_number().is_none());
        let v = cheapest(&list)?;
        let (mut rest, mut lower, mut upper) = (Vec::new(), Vec::new(), Vec::new());
        for d in list {
            match d.of.form.coefficient(v) {
                None => rest.push(d),
                Some(k) if k.is_positive() => lower.push(d),
                Some(_) => upper.push(d),
            }
        }
        if rest.len() + lower.len() * upper.len() > MAX_CONSTRAINTS {
            return None;
        }
        for l in &lower {
            for u in &upper {
                // Both scaled so that the variable cancels, by positive factors.
                let (a, b) = (l.of.form.coefficient(v)?, -u.of.form.coefficient(v)?);
                rest.push(Derived {
                    of: Constraint {
                        form: l.of.form.times(&b).plus(a, &u.of.form),
                        strict: l.of.strict || u.of.strict,
                    },
                    from: l.from.iter().zip(&u.from).map(|(l, u)| l | u).collect(),
                });
            }
        }
        list = rest;
    }
}

/// The variable whose elimination makes the fewest constraints.
fn cheapest<V: Ord + Copy>(list: &[Derived<V>]) -> Option<V> {
    let mut ends: BTreeMap<V, (usize, usize)> = BTreeMap::new();
    for d in list {
        for (v, k) in &d.of.form.terms {
            let (lower, upper) = ends.entry(*v).or_default();
            match k.is_positive() {
                true => *lower += 1,
                false => *upper += 1,
            }
        }
    }
    let cost = |(_, (l, u)): &(&V, &(usize, usize))| (l * u).wrapping_sub(l + u) as isize;
    ends.iter().min_by_key(cost).map(|(v, _)| *v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Fmt;
    use crate::term::ArrayId;

    #[test]
    fn contradictions_are_found() {
        let mut s = TermStore::new();
        let [x, y, z] = [0, 4, 8].map(|o| s.elem(ArrayId(0), Fmt::F32, o));
        let six = s.integer(6);
        let form = |s: &mut TermStore, a, b| {
            let d = s.sub(a, b);
            linear(s, d).expect("small")
        };
        let (xy, yz, xz) = (form(&mut s, x, y), form(&mut s, y, z), form(&mut s, x, z));
        use Sign::*;
        let all = |a, b, c| is_empty(&[(xy.clone(), a), (yz.clone(), b), (xz.clone(), c)]);
        assert!(all(Positive, Positive, Negative));
        assert!(all(Positive, Zero, Zero));
        assert!(all(Zero, Zero, Negative));
        assert!(!all(Positive, Negative, Zero));
        assert!(!all(Zero, Zero, Zero));
        let zero = s.integer(0);
        let (low, high) = (form(&mut s, x, zero), form(&mut s, x, six));
        assert!(is_empty(&[
            (low.clone(), Negative),
            (high.clone(), Positive)
        ]));
        assert!(is_empty(&[(low.clone(), Zero), (high.clone(), Zero)]));
        assert!(!is_empty(&[(low, Positive), (high, Negative)]));
    }
}
