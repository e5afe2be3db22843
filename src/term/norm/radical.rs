//! Roots of numbers, and products of them.
//!
//! Problem: Adam divides by sqrt(v / (1 - b^t)) in one kernel and multiplies by sqrt(1 - b^t) after the
//! root in another. Over symbols these are roots of products; over numbers they are roots of large
//! integers that nobody factors, and sqrt(6) must be sqrt(2) * sqrt(3) without a list of primes. So a
//! term has at most one root of a number: two are multiplied by way of their greatest common divisor,
//! and the first term of a primitive part has none.
//!
//! What is not claimed: that equal roots always get one form. The square of a large prime stays under
//! a root where no other root says that it is one.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive};
use smallvec::SmallVec;

use super::fun::small_factors;
use super::monomial::{Mono, Powers, flag};
use super::poly::PTerm;
use super::rat::{Coef, Rat};
use super::ring::{Atom, Fail, Ring};
use super::rules::{Rule, rule};

/// Bits of an integer that is looked into.
const MAX_BITS: u64 = 4096;

/// A positive integer as outer^2 * inner, where inner has no small square.
fn root_of_integer(n: &BigInt) -> (BigInt, BigInt) {
    let twos = n.trailing_zeros().unwrap_or(0);
    let odd = n >> twos;
    let (mut factors, rest) = match odd.to_u64() {
        Some(odd) => {
            let (factors, rest) = small_factors(odd);
            (factors, rest.into())
        }
        None => small_factors(odd),
    };
    factors.push((2, twos as u32));
    let (mut outer, mut inner) = (BigInt::one(), BigInt::one());
    for (p, k) in factors {
        outer *= BigInt::from(p).pow(k / 2);
        inner *= p.pow(k % 2);
    }
    let root = rest.sqrt();
    if &root * &root == rest {
        outer *= root;
    } else {
        inner *= rest;
    }
    (outer, inner)
}

impl Ring {
    /// The square root of a positive rational as rational * root of an integer.
    ///
    /// match `sqrt(n / d)`; result `sqrt(n * d) / d`; and `sqrt(p^2 * q)`: `p * sqrt(q)`.
    pub(super) fn sqrt_constant(&mut self, c: Coef) -> PTerm {
        if c == Coef::ONE {
            return PTerm::ONE;
        }
        let q = self.coefs.get(c).to_big();
        // What the numerator and the denominator have is apart: they share no factor.
        let (n, d) = (root_of_integer(q.numer()), root_of_integer(q.denom()));
        let inner = n.1 * &d.1;
        let outer = BigRational::new(n.0, d.0 * d.1);
        let coef = self.coefs.of(Rat::from_big(&outer));
        if inner.is_one() {
            return PTerm::constant(coef);
        }
        let inner = self.coefs.of(Rat::from_big(&inner.into()));
        let inner = self.single(PTerm::constant(inner));
        let mono = self.atom_mono(Atom::Sqrt(inner));
        PTerm {
            coef,
            ..PTerm::mono(mono)
        }
    }

    /// The integer under the root that an atom is, if it is the root of a positive number: that of a
    /// negative one is undefined, and stays so.
    fn radicand(&self, atom: u32) -> Option<BigInt> {
        let Atom::Sqrt(x) = *self.atom(atom) else {
            return None;
        };
        let q = self.coefs.get(self.as_constant(x)?).to_big();
        let fits = q.is_integer() && q.is_positive() && q.numer().bits() <= MAX_BITS;
        fits.then(|| q.numer().clone())
    }

    /// The roots of numbers in a monomial, and the rest of it.
    fn split_radicals(&self, m: Mono) -> (SmallVec<[(u32, BigInt); 2]>, Powers) {
        let (mut roots, mut rest) = (SmallVec::new(), Powers::new());
        for (a, k) in self.monos.powers(m) {
            match self.radicand(a).filter(|_| k == 1) {
                Some(n) => roots.push((a, n)),
                None => rest.push((a, k)),
            }
        }
        (roots, rest)
    }

    /// A term with one root of a number for several.
    ///
    /// match `sqrt(a) * sqrt(b)`; result `g * sqrt(a/g * b/g)` with the greatest common divisor g;
    /// because both numbers are positive. `None` if there is one at most.
    pub(super) fn merged_radicals(&mut self, t: PTerm) -> Result<Option<PTerm>, Fail> {
        let (roots, rest) = self.split_radicals(t.mono);
        if roots.len() < 2 {
            return Ok(None);
        }
        let (mut outer, mut inner) = (BigInt::one(), BigInt::one());
        for (_, n) in roots {
            let g = inner.gcd(&n);
            inner = (inner / &g) * (n / &g);
            outer *= g;
        }
        if inner.bits() > MAX_BITS {
            return Err(Fail::Limit);
        }
        if !rule(Rule::ProductOfNumberRoots) {
            return Ok(None);
        }
        let outer = self.coefs.of(Rat::from_big(&outer.into()));
        let inner = self.coefs.of(Rat::from_big(&inner.into()));
        let root = self.sqrt_constant(inner);
        let out = PTerm {
            mono: self.monos.of(&rest, &self.atom_flags),
            coef: self.coefs.mul(t.coef, outer),
            ..t
        };
        self.term_mul(out, root).map(Some)
    }

    /// Multiplies a sum by the root of a number that stands in its first term, so that the term has none;
    /// the product of the result and the returned term is the sum.
    ///
    /// match `sqrt(n) * x + y`; result `sqrt(n) / n * (n * x + sqrt(n) * y)`; because n is positive.
    pub(super) fn without_radical(&mut self, terms: &mut Vec<PTerm>) -> Result<PTerm, Fail> {
        let rooted = |r: &Ring, t: &PTerm| r.term_flags(*t) & flag::SQRT != 0;
        if terms.len() < 2 || !terms.iter().any(|t| rooted(self, t)) {
            return Ok(PTerm::ONE);
        }
        // The first term is that which is first without its roots of numbers.
        let mut first: Option<(Mono, PTerm)> = None;
        for t in terms.iter() {
            let (_, rest) = self.split_radicals(t.mono);
            let rest = self.monos.of(&rest, &self.atom_flags);
            if first.is_none_or(|(m, f)| (rest, t.exp) < (m, f.exp)) {
                first = Some((rest, *t));
            }
        }
        let Some((_, first)) = first else {
            return Ok(PTerm::ONE);
        };
        let (roots, _) = self.split_radicals(first.mono);
        let [(a, n)] = &roots[..] else {
            return Ok(PTerm::ONE);
        };
        if !rule(Rule::RationalisedDenominator) {
            return Ok(PTerm::ONE);
        }
        let root = self.monos.atom(*a, &self.atom_flags);
        let n = self.coefs.of(Rat::from_big(&n.clone().into()));
        let mut product = Vec::with_capacity(terms.len());
        for &t in terms.iter() {
            product.push(self.term_mul(t, PTerm::mono(root))?);
        }
        self.charge(product.len())?;
        *terms = self.expand(product)?;
        self.combine(terms);
        let coef = self.coefs.recip(n).ok_or(Fail::Undefined)?;
        Ok(PTerm {
            coef,
            ..PTerm::mono(root)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_traits::Zero;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_integer_is_a_square_times_the_rest(n in 1u64.., m in 1u64..100_000, k in 0u32..40) {
            for n in [BigInt::from(n), (BigInt::from(n) * m * m) << k, BigInt::from(m) * m] {
                let (outer, inner) = root_of_integer(&n);
                prop_assert_eq!(&outer * &outer * &inner, n);
                for p in [4u32, 9, 25, 49, 961] {
                    prop_assert!(!(&inner % p).is_zero());
                }
            }
        }
    }

    #[test]
    fn roots_of_negative_numbers_stay_what_they_are() {
        let mut ring = Ring::new(Default::default());
        let mut root = |n: i64| {
            let c = ring.coefs.of(Rat::int(n));
            let p = ring.single(PTerm::constant(c));
            PTerm::mono(ring.atom_mono(Atom::Sqrt(p)))
        };
        let (a, b, c) = (root(-2), root(-3), root(6));
        let ab = ring.term_mul(a, b).expect("a product");
        assert!(matches!(ring.merged_radicals(ab), Ok(None)));
        let abc = ring.term_mul(ab, c).expect("a product");
        assert!(matches!(ring.merged_radicals(abc), Ok(None)));
    }
}
