//! Linear forms: a constant and a sum of coefficients times variables.
//!
//! Integer coefficients are those of addresses: every step is checked, and what does not fit in 128 bits has no form. Rational
//! coefficients are those of reals and have no bound. Forms modulo a power of two or a prime wrap instead and are the normaliser's.

use num_rational::BigRational;
use num_traits::{One, Zero};

/// A number that is a coefficient of a [`Linear`] form.
pub trait Coefficient: Clone + One + Zero {
    /// The number self + k * c; `None` if that, or the product, does not fit in the type.
    fn plus_product(&self, k: &Self, c: &Self) -> Option<Self>;
}

impl Coefficient for i128 {
    fn plus_product(&self, k: &i128, c: &i128) -> Option<i128> {
        self.checked_add(k.checked_mul(*c)?)
    }
}

impl Coefficient for BigRational {
    fn plus_product(&self, k: &BigRational, c: &BigRational) -> Option<BigRational> {
        Some(self + k * c)
    }
}

/// The linear form `constant + sum of coefficient * variable`, of variables `V` and numbers `C`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Linear<V, C> {
    /// Variables with their coefficients, in order; none is 0.
    pub terms: Vec<(V, C)>,
    /// The constant part.
    pub constant: C,
}

impl<V, C: Zero> Default for Linear<V, C> {
    fn default() -> Self {
        Linear::number(C::zero())
    }
}

impl<V, C> Linear<V, C> {
    /// A form without variables.
    pub fn number(constant: C) -> Self {
        Linear {
            terms: Vec::new(),
            constant,
        }
    }

    /// The number that the form is, if it has no variables.
    pub fn as_number(&self) -> Option<&C> {
        self.terms.is_empty().then_some(&self.constant)
    }
}

impl<V: Ord + Copy, C: Coefficient> Linear<V, C> {
    /// The form that is one variable.
    pub fn atom(v: V) -> Self {
        Linear {
            terms: vec![(v, C::one())],
            constant: C::zero(),
        }
    }

    /// The form of a constant and of variables in any order, each once, whose coefficients are not 0.
    pub fn of(constant: C, terms: impl IntoIterator<Item = (V, C)>) -> Self {
        let mut terms: Vec<(V, C)> = terms.into_iter().collect();
        terms.sort_unstable_by_key(|t| t.0);
        Linear { terms, constant }
    }

    /// The coefficient of a variable that the form has.
    pub fn coefficient(&self, v: V) -> Option<&C> {
        let at = self.terms.binary_search_by_key(&v, |t| t.0).ok()?;
        Some(&self.terms[at].1)
    }

    /// The variable and its coefficient, if the form is a multiple of one variable.
    pub fn alone(&self) -> Option<(V, &C)> {
        match &self.terms[..] {
            [(v, k)] if self.constant.is_zero() => Some((*v, k)),
            _ => None,
        }
    }

    /// The form self + k * other; `None` if a number does not fit in its type.
    pub fn checked_plus(&self, k: &C, other: &Self) -> Option<Self> {
        let mut terms = self.terms.clone();
        for (v, c) in &other.terms {
            match terms.binary_search_by_key(v, |t| t.0) {
                Ok(at) => terms[at].1 = terms[at].1.plus_product(k, c)?,
                Err(at) => terms.insert(at, (*v, C::zero().plus_product(k, c)?)),
            }
        }
        terms.retain(|t| !t.1.is_zero());
        let constant = self.constant.plus_product(k, &other.constant)?;
        Some(Linear { terms, constant })
    }

    /// The form k * self; `None` if a number does not fit in its type.
    pub fn checked_times(&self, k: &C) -> Option<Self> {
        Linear::default().checked_plus(k, self)
    }
}

impl<V: Ord + Copy> Linear<V, i128> {
    /// The interval of the sum where each variable lies in its own; `None` beyond 128 bits.
    pub fn interval(&self, of: impl Fn(V) -> (i128, i128)) -> Option<(i128, i128)> {
        let (mut lo, mut hi) = (self.constant, self.constant);
        for &(v, c) in &self.terms {
            let (a, b) = of(v);
            let (x, y) = (a.checked_mul(c)?, b.checked_mul(c)?);
            lo = lo.checked_add(x.min(y))?;
            hi = hi.checked_add(x.max(y))?;
        }
        Some((lo, hi))
    }
}

impl<V: Ord + Copy> Linear<V, BigRational> {
    /// The form self + k * other.
    pub fn plus(&self, k: &BigRational, other: &Self) -> Self {
        let sum = self.checked_plus(k, other);
        sum.expect("rationals have no bound")
    }

    /// The form k * self.
    pub fn times(&self, k: &BigRational) -> Self {
        Linear::default().plus(k, self)
    }

    /// The form self - other.
    pub fn minus(&self, other: &Self) -> Self {
        self.plus(&-BigRational::one(), other)
    }

    /// The form -self.
    pub fn negated(&self) -> Self {
        Linear::default().minus(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_cancel_and_what_is_too_large_has_no_form() {
        let [x, y] = [0, 1].map(Linear::<u8, i128>::atom);
        let sum = x.checked_plus(&3, &y).expect("small");
        assert_eq!(sum.checked_plus(&-3, &y), Some(x.clone()));
        assert_eq!(sum.checked_times(&0), Some(Linear::default()));
        assert_eq!(sum.checked_times(&i128::MAX), None);
        let last = x.checked_plus(&1, &Linear::number(i128::MAX));
        let last = last.expect("it still fits");
        assert_eq!(last.checked_plus(&1, &Linear::number(1)), None);
        let large = x.checked_times(&i128::MAX).expect("it still fits");
        assert_eq!(large.checked_plus(&1, &x), None);
        assert_eq!(large.interval(|_| (0, 2)), None);
    }
}
