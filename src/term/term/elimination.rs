//! Whether linear constraints contradict one another.
//!
//! Source: Fourier and Motzkin's elimination over the rationals: a variable is eliminated by each sum, with positive factors,
//! of a constraint that bounds it from below and one from above. What no rationals fulfil no numbers do, whatever the
//! variables stand for. Of integers more is known: a constraint is divided by what its coefficients have in common, and its
//! constant rounded towards what holds.
//!
//! Not claimed: that constraints that are not shown to contradict one another can be fulfilled.

use std::collections::BTreeMap;

use num_integer::Integer;
use num_rational::BigRational;
use num_traits::Signed;

use super::linear::{Coefficient, Linear};

/// The constraint form > 0, or with `strict` off form >= 0.
#[derive(Clone, Debug)]
pub struct Constraint<V, C> {
    /// The form.
    pub form: Linear<V, C>,
    /// Whether 0 is excluded.
    pub strict: bool,
}

/// Numbers of which constraints can be tightened.
pub trait Scalar: Coefficient + Signed + Ord {
    /// A constraint that holds of the same values and is no weaker.
    fn tightened<V>(of: Constraint<V, Self>) -> Constraint<V, Self>;
}

impl Scalar for BigRational {
    fn tightened<V>(of: Constraint<V, BigRational>) -> Constraint<V, BigRational> {
        of
    }
}

impl Scalar for i128 {
    fn tightened<V>(mut of: Constraint<V, i128>) -> Constraint<V, i128> {
        // Of integers, above 0 is at least 1.
        if of.strict {
            let less = of.form.constant.checked_sub(1);
            (of.form.constant, of.strict) = less.map_or((of.form.constant, true), |c| (c, false));
        }
        let common = of.form.terms.iter().fold(0, |g, t| t.1.gcd(&g));
        if common > 1 && !of.strict {
            of.form.terms.iter_mut().for_each(|t| t.1 /= common);
            of.form.constant = of.form.constant.div_euclid(common);
        }
        of
    }
}

/// What ends an elimination without an answer.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Constraints between two eliminations.
    pub kept: usize,
    /// Constraints that one elimination makes, with those that it leaves as they are.
    pub made: usize,
}

/// A constraint that follows from others.
struct Derived<V, C> {
    of: Constraint<V, C>,
    /// A bit for each place in the list that it follows from.
    from: Vec<u64>,
}

impl<V: Ord + Copy, C: Scalar> Derived<V, C> {
    fn new(of: Constraint<V, C>, from: Vec<u64>) -> Derived<V, C> {
        let of = C::tightened(of);
        Derived { of, from }
    }

    /// Whether no values fulfil it, where it has no variables.
    fn is_violated(&self) -> bool {
        self.of
            .form
            .as_number()
            .is_some_and(|k| match self.of.strict {
                true => !k.is_positive(),
                false => k.is_negative(),
            })
    }

    /// The sum of a lower and an upper bound of a variable, by positive factors, in which it cancels; `None` where a number
    /// does not fit in its type.
    fn without(v: V, lower: &Self, upper: &Self) -> Option<Self> {
        let a = lower.of.form.coefficient(v)?;
        let b = C::zero().plus_product(&-C::one(), upper.of.form.coefficient(v)?)?;
        let form = lower.of.form.checked_times(&b)?;
        let of = Constraint {
            form: form.checked_plus(a, &upper.of.form)?,
            strict: lower.of.strict || upper.of.strict,
        };
        let from = lower.from.iter().zip(&upper.from).map(|(l, u)| l | u);
        Some(Derived::new(of, from.collect()))
    }
}

/// The places of constraints that no values of the variables fulfil together; `None` if it is not known that there are any.
/// `spend` is told how many constraints and coefficients are looked at.
pub fn contradict<V: Ord + Copy, C: Scalar>(
    list: Vec<Constraint<V, C>>,
    bounds: Bounds,
    spend: impl Fn(usize),
) -> Option<Vec<usize>> {
    let words = list.len().div_ceil(64);
    let given = list.into_iter().enumerate().map(|(i, of)| {
        let mut from = vec![0; words];
        from[i / 64] = 1 << (i % 64);
        Derived::new(of, from)
    });
    let mut list: Vec<Derived<V, C>> = given.collect();
    loop {
        if let Some(violated) = list.iter().find(|d| d.is_violated()) {
            let is_set = |i: &usize| violated.from[i / 64] >> (i % 64) & 1 == 1;
            return Some((0..words * 64).filter(is_set).collect());
        }
        list.retain(|d| d.of.form.as_number().is_none());
        spend(list.len());
        keep_strongest(&mut list);
        if list.len() > bounds.kept {
            return None;
        }
        let v = cheapest(&list)?;
        let (mut rest, mut lower, mut upper) = (Vec::new(), Vec::new(), Vec::new());
        for d in list {
            match d.of.form.coefficient(v) {
                None => rest.push(d),
                Some(k) if k.is_positive() => lower.push(d),
                Some(_) => upper.push(d),
            }
        }
        if rest.len() + lower.len() * upper.len() > bounds.made {
            return None;
        }
        for l in &lower {
            for u in &upper {
                spend(l.of.form.terms.len() + u.of.form.terms.len());
                rest.push(Derived::without(v, l, u)?);
            }
        }
        list = rest;
    }
}

/// Of constraints that differ in the constant alone the strongest is kept.
fn keep_strongest<V: Ord + Copy, C: Scalar>(list: &mut Vec<Derived<V, C>>) {
    list.sort_by(|a, b| {
        let (x, y) = (&a.of, &b.of);
        let terms = x.form.terms.cmp(&y.form.terms);
        terms
            .then_with(|| x.form.constant.cmp(&y.form.constant))
            .then(y.strict.cmp(&x.strict))
    });
    list.dedup_by(|later, first| later.of.form.terms == first.of.form.terms);
}

/// The variable whose elimination makes the fewest constraints.
fn cheapest<V: Ord + Copy, C: Scalar>(list: &[Derived<V, C>]) -> Option<V> {
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
    use proptest::prelude::*;

    use super::*;

    const BOUNDS: Bounds = Bounds {
        kept: 200,
        made: 4000,
    };

    /// Coefficients of three variables, a constant, and whether 0 is excluded.
    type Given = (Vec<i64>, i64, bool);

    fn constraint<C: Scalar>(given: &Given, number: impl Fn(i64) -> C) -> Constraint<usize, C> {
        let terms = given.0.iter().enumerate().filter(|t| *t.1 != 0);
        Constraint {
            form: Linear::of(number(given.1), terms.map(|(v, &k)| (v, number(k)))),
            strict: given.2,
        }
    }

    fn rational(given: &Given) -> Constraint<usize, BigRational> {
        constraint(given, |k| BigRational::from_integer(k.into()))
    }

    fn integral(given: &Given) -> Constraint<usize, i128> {
        constraint(given, i128::from)
    }

    fn cases() -> impl Strategy<Value = Vec<Given>> {
        let one = (
            proptest::collection::vec(-3i64..4, 3),
            -6i64..7,
            any::<bool>(),
        );
        proptest::collection::vec(one, 1..7)
    }

    fn holds(given: &Given, at: &[i64; 3]) -> bool {
        let sum = given.0.iter().zip(at).map(|(k, x)| k * x).sum::<i64>() + given.1;
        if given.2 { sum > 0 } else { sum >= 0 }
    }

    proptest! {
        /// Integers that fulfil all constraints exclude a contradiction, over the integers and over the rationals; and the
        /// constraints that one rests on contradict one another by themselves.
        #[test]
        fn what_can_be_fulfilled_contradicts_nothing(all in cases()) {
            let over_rationals = contradict(all.iter().map(rational).collect(), BOUNDS, |_| ());
            let over_integers = contradict(all.iter().map(integral).collect(), BOUNDS, |_| ());
            let points = (0..9 * 9 * 9).map(|i| [i / 81 - 4, i / 9 % 9 - 4, i % 9 - 4]);
            if points.into_iter().any(|at| all.iter().all(|c| holds(c, &at))) {
                prop_assert!(over_rationals.is_none() && over_integers.is_none());
            }
            // Integers are rationals.
            prop_assert!(over_rationals.is_none() || over_integers.is_some());
            if let Some(core) = over_rationals {
                let core = core.iter().map(|&i| rational(&all[i])).collect();
                prop_assert!(contradict(core, BOUNDS, |_| ()).is_some());
            }
            if let Some(core) = over_integers {
                let core = core.iter().map(|&i| integral(&all[i])).collect();
                prop_assert!(contradict(core, BOUNDS, |_| ()).is_some());
            }
        }
    }

    #[test]
    fn integers_know_more() {
        // 2 x = 1 has no integer, and a rational.
        let both = [(vec![2], -1, false), (vec![-2], 1, false)];
        let found = contradict(both.iter().map(integral).collect(), BOUNDS, |_| ());
        assert_eq!(found, Some(vec![0, 1]));
        assert!(contradict(both.iter().map(rational).collect(), BOUNDS, |_| ()).is_none());
    }
}
