//! Linear forms of terms, and whether a set of linear constraints has a solution.
//!
//! Problem: a region of a case split that no input reaches must not be asked to be equal. Source:
//! Fourier and Motzkin's elimination over the rationals. Terms that are not sums or multiples
//! count as variables of their own, so that an answer "empty" holds whatever they are.
//!
//! What is not claimed: that a region that is not shown empty has an input.

use std::collections::BTreeMap;

use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use rustc_hash::FxHashMap;

use crate::term::{Term, TermId, TermStore};

/// Forms with more variables than this are not used.
const MAX_VARIABLES: usize = 64;

/// Constraints beyond this many end an elimination without an answer.
const MAX_CONSTRAINTS: usize = 200;

/// constant + sum of coefficient * variable; no coefficient is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Linear {
    /// Coefficients by variable.
    pub terms: BTreeMap<TermId, BigRational>,
    /// The constant.
    pub constant: BigRational,
}

impl Linear {
    /// The form that is one variable.
    pub(super) fn variable(t: TermId) -> Self {
        Linear {
            terms: BTreeMap::from([(t, BigRational::one())]),
            constant: BigRational::zero(),
        }
    }

    /// self + k * other.
    pub(super) fn plus(&self, k: &BigRational, other: &Linear) -> Linear {
        let mut out = self.clone();
        out.constant += k * &other.constant;
        for (t, c) in &other.terms {
            let sum = out.terms.remove(t).unwrap_or_else(BigRational::zero) + k * c;
            if !sum.is_zero() {
                out.terms.insert(*t, sum);
            }
        }
        out
    }

    fn times(&self, k: &BigRational) -> Linear {
        Linear::default().plus(k, self)
    }

    fn as_constant(&self) -> Option<&BigRational> {
        self.terms.is_empty().then_some(&self.constant)
    }
}

/// The linear form of a real term; `None` if it has too many variables.
pub(super) fn linear(store: &TermStore, root: TermId) -> Option<Linear> {
    // Only what is reached through sums and multiples is looked at.
    let mut order = Vec::new();
    let mut seen = rustc_hash::FxHashSet::default();
    let mut stack = vec![root];
    while let Some(t) = stack.pop() {
        if !seen.insert(t) {
            continue;
        }
        if seen.len() > 16 * MAX_VARIABLES {
            return None;
        }
        order.push(t);
        match store.get(t) {
            Term::Add(..) | Term::Neg(_) | Term::Mul(..) | Term::Sum(_) => {
                store.children(t, |c| stack.push(c));
            }
            _ => {}
        }
    }
    order.sort_unstable();
    let mut forms: FxHashMap<TermId, Linear> = FxHashMap::default();
    for t in order {
        let product = |x: &Linear, y: &Linear| match (x.as_constant(), y.as_constant()) {
            (Some(k), _) => Some(y.times(k)),
            (_, Some(k)) => Some(x.times(k)),
            _ => None,
        };
        let form = match store.get(t) {
            Term::Const(c) => Some(Linear {
                terms: BTreeMap::new(),
                constant: store.constant(c).clone(),
            }),
            Term::Add(a, b) => Some(forms[&a].plus(&BigRational::one(), &forms[&b])),
            Term::Neg(a) => Some(forms[&a].times(&-BigRational::one())),
            Term::Mul(a, b) => product(&forms[&a], &forms[&b]),
            Term::Sum(list) => {
                let (pairs, _) = list.as_chunks::<2>();
                pairs.iter().try_fold(Linear::default(), |sum, [a, b]| {
                    let p = product(&forms[&TermId(*a)], &forms[&TermId(*b)])?;
                    Some(sum.plus(&BigRational::one(), &p))
                })
            }
            _ => None,
        };
        let form = form.unwrap_or_else(|| Linear::variable(t));
        if form.terms.len() > MAX_VARIABLES {
            return None;
        }
        forms.insert(t, form);
    }
    forms.remove(&root)
}

/// The sign that a linear form has in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// Below 0.
    Negative,
    /// 0.
    Zero,
    /// Above 0.
    Positive,
}

/// form > 0, or with `strict` off form >= 0.
#[derive(Clone, Debug)]
struct Constraint {
    form: Linear,
    strict: bool,
}

/// True only if no values of the variables give every form its sign.
pub(super) fn is_empty(region: &[(Linear, Sign)]) -> bool {
    let mut list: Vec<Constraint> = Vec::new();
    for (form, sign) in region {
        let negated = form.times(&-BigRational::one());
        let (up, down) = (form.clone(), negated);
        match sign {
            Sign::Positive => list.push(Constraint {
                form: up,
                strict: true,
            }),
            Sign::Negative => list.push(Constraint {
                form: down,
                strict: true,
            }),
            Sign::Zero => list.extend([up, down].map(|form| Constraint {
                form,
                strict: false,
            })),
        }
    }
    loop {
        let violated = |c: &Constraint| {
            c.form.as_constant().is_some_and(|k| {
                if c.strict {
                    !k.is_positive()
                } else {
                    k.is_negative()
                }
            })
        };
        if list.iter().any(violated) {
            return true;
        }
        list.retain(|c| c.form.as_constant().is_none());
        let Some(v) = list
            .first()
            .and_then(|c| c.form.terms.keys().next())
            .copied()
        else {
            return false;
        };
        let (mut rest, mut lower, mut upper) = (Vec::new(), Vec::new(), Vec::new());
        for c in list {
            match c.form.terms.get(&v) {
                None => rest.push(c),
                Some(k) if k.is_positive() => lower.push(c),
                Some(_) => upper.push(c),
            }
        }
        if rest.len() + lower.len() * upper.len() > MAX_CONSTRAINTS {
            return false;
        }
        for l in &lower {
            for u in &upper {
                // Both scaled so that the variable cancels, by positive factors.
                let (a, b) = (l.form.terms[&v].clone(), -u.form.terms[&v].clone());
                rest.push(Constraint {
                    form: l.form.times(&b).plus(&a, &u.form),
                    strict: l.strict || u.strict,
                });
            }
        }
        list = rest;
    }
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
