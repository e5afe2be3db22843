//! Linear forms of terms, and whether a set of linear constraints has a solution.
//!
//! Problem: a region of a case split that no input reaches must not be asked to be equal. Terms that are not sums or
//! multiples count as variables of their own, so that an answer "empty" holds whatever they are.
//!
//! What is not claimed: that a region that is not shown empty has an input.

use num_rational::BigRational;
use num_traits::One;
use rustc_hash::FxHashMap;

use crate::term::elimination;
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

/// A constraint over the reals.
pub(super) type Constraint<V> = elimination::Constraint<V, BigRational>;

/// The constraint that a form, or with `up` off its opposite, is above 0, or with `strict` off not below.
pub(super) fn constraint<V: Ord + Copy>(form: &Linear<V>, up: bool, strict: bool) -> Constraint<V> {
    let form = match up {
        true => form.clone(),
        false => form.negated(),
    };
    Constraint { form, strict }
}

/// True only if no values of the variables give every form its sign.
pub(in crate::decide) fn is_empty(region: &[(Linear, Sign)]) -> bool {
    let all = region.iter().flat_map(|(form, sign)| match sign {
        Sign::Positive => vec![constraint(form, true, true)],
        Sign::Negative => vec![constraint(form, false, true)],
        Sign::Zero => [true, false].map(|up| constraint(form, up, false)).into(),
    });
    contradict(all.collect()).is_some()
}

/// The places of constraints that no values of the variables fulfil together; `None` if it is not known that there are any.
pub(super) fn contradict<V: Ord + Copy>(list: Vec<Constraint<V>>) -> Option<Vec<usize>> {
    let bounds = elimination::Bounds {
        kept: MAX_CONSTRAINTS,
        made: MAX_CONSTRAINTS,
    };
    elimination::contradict(list, bounds, |_| ())
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
