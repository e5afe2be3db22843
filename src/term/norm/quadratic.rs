//! Signs of quadratic polynomials that were multiplied out.
//!
//! Problem: a variance is a sum of squares, but `mean(x * x) - mean(x)^2`, multiplied out, has terms
//! of both signs. Kernels clamp it (`max(v, 0)`) before they take its root, and the clamp is to
//! be seen to do nothing.
//!
//! Source: Gershgorin's theorem: a symmetric matrix whose diagonal is, in every row, at least the sum of
//! the magnitudes beside it has no negative eigenvalue. As an identity,
//! `c x y + |c| / 2 (x^2 + y^2) = |c| / 2 (x ± y)^2`, so that every mixed term is paid for by squares. The constant
//! counts as the square of 1, and a linear term as its product with 1.
//!
//! Soundness: what is left of each square after paying is at least 0, so the polynomial is a sum of squares
//! and of terms whose sign is known. What is not claimed: forms that are nonnegative without
//! being diagonally dominant, such as `x^2 + 4 x y + 4 y^2`, have all signs here.

use std::cmp::Ordering;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::exp::ExpId;
use super::monomial::Mono;
use super::poly::PTerm;
use super::rat::Rat;
use super::ring::Ring;
use super::sign::Sign;

/// Stands for the factor 1 among the atoms.
const UNIT: u32 = u32::MAX;

/// Terms that are looked at for one that is mixed: they stand together, in front.
const GLANCE: usize = 16;

/// What a term is in a quadratic form: a product of two atoms, `UNIT` among them.
fn factors(ring: &Ring, t: &PTerm) -> Option<(u32, u32)> {
    if t.exp != ExpId::ZERO {
        return None;
    }
    if let Some(atoms) = t.mono.packed() {
        return match atoms {
            [a, b, None] => Some((a.unwrap_or(UNIT), b.unwrap_or(UNIT))),
            _ => None,
        };
    }
    match ring.monos.powers(t.mono)[..] {
        [(a, 1)] => Some((a, UNIT)),
        [(a, 2)] => Some((a, a)),
        [(a, 1), (b, 1)] => Some((a, b)),
        _ => None,
    }
}

/// What is left of the square of each factor after it has paid for products.
pub(super) struct Squares<K>(FxHashMap<K, Rat>);

impl<K> Default for Squares<K> {
    fn default() -> Self {
        Squares(FxHashMap::default())
    }
}

impl<K: Eq + Hash> Squares<K> {
    /// Adds to the square of a factor, or takes from it.
    pub(super) fn add(&mut self, of: K, k: &Rat) {
        let had = self.0.entry(of).or_insert(Rat::int(0));
        *had = had.add(k);
    }

    /// The signs of the squares, of which that of `unit` is a constant, and of the rest; `None` if more was
    /// taken from a square than there was.
    pub(super) fn with(&self, unit: K, rest: Sign) -> Option<Sign> {
        if self.0.values().any(Rat::is_negative) {
            return None;
        }
        let over = self.0.get(&unit).is_some_and(|k| *k != Rat::int(0));
        let constant = if over { Sign::POS } else { Sign::NONNEG };
        Some(rest.plus(Sign::NONNEG).plus(constant))
    }
}

impl Ring {
    /// The signs of `p - q`, of which only quadratic terms may pay for each other.
    pub(super) fn quadratic_sign(&self, p: &[PTerm], q: &[PTerm]) -> Sign {
        match self.first_square(p, q) {
            Some(false) => self.sum_of_squares(p, q),
            Some(true) => self.sum_of_squares(q, p).negate(),
            None => Sign::ALL,
        }
    }

    /// Whether the square that the first mixed term of `p - q` needs is negative in it; none without that
    /// square. This is what makes asking cheap where the answer is no: a scalar product has no squares.
    fn first_square(&self, p: &[PTerm], q: &[PTerm]) -> Option<bool> {
        let first = |terms: &[PTerm], others: &[PTerm]| {
            let mut mixed = terms.iter().take(GLANCE).filter_map(|t| {
                let (a, b) = factors(self, t)?;
                (a != b).then_some((*t, a))
            });
            mixed.find(|(t, _)| {
                let same = others.binary_search_by_key(&t.key(), PTerm::key);
                same.map_or(true, |i| others[i].coef != t.coef)
            })
        };
        let (x, y) = (first(p, q), first(q, p));
        let least = x.into_iter().chain(y).min_by_key(|(t, _)| t.key());
        let (_, atom) = least?;
        let key = (Mono::pair(atom, atom)?, ExpId::ZERO);
        let coef = |terms: &[PTerm]| {
            let i = terms.binary_search_by_key(&key, PTerm::key).ok()?;
            Some(self.coefs.get(terms[i].coef))
        };
        let (x, y) = (coef(p), coef(q));
        if x.is_none() && y.is_none() {
            return None;
        }
        let (x, y) = (x.unwrap_or(Rat::int(0)), y.unwrap_or(Rat::int(0)));
        Some(x.add(&y.neg()).is_negative())
    }

    /// At least 0, or above 0, if `p - q` is seen to be; else all signs.
    fn sum_of_squares(&self, p: &[PTerm], q: &[PTerm]) -> Sign {
        let half = Rat::Small(1, 2);
        let mut squares = Squares::default();
        let mut rest = Sign::ZERO;
        let (mut i, mut j) = (0, 0);
        loop {
            let order = match (p.get(i), q.get(j)) {
                (Some(x), Some(y)) => x.key().cmp(&y.key()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            let mut k = Rat::int(0);
            let mut t = PTerm::ONE;
            if order.is_le() {
                t = p[i];
                k = self.coefs.get(t.coef);
                i += 1;
            }
            if order.is_ge() {
                t = q[j];
                k = k.add(&self.coefs.get(t.coef).neg());
                j += 1;
            }
            if k == Rat::int(0) {
                continue;
            }
            let (mono, exp) = t.key();
            let one = PTerm {
                mono,
                exp,
                ..PTerm::ONE
            };
            let sign = Sign::of_factor(&k).times(self.term_sign(one));
            match factors(self, &t) {
                Some((a, b)) if a == b => squares.add(a, &k),
                _ if sign.is_nonneg() => rest = rest.plus(sign),
                Some((a, b)) => {
                    let cost = k.abs().mul(&half).neg();
                    squares.add(a, &cost);
                    squares.add(b, &cost);
                }
                None => return Sign::ALL,
            }
        }
        squares.with(UNIT, rest).unwrap_or(Sign::ALL)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::norm::monomial::Mono;
    use crate::norm::poly::PolyId;
    use crate::norm::rat::Coef;
    use crate::norm::ring::Atom;
    use crate::term::TermId;

    fn poly(r: &mut Ring, atoms: &[Mono], terms: &[(usize, usize, i64)]) -> PolyId {
        let flags = r.atom_flags.clone();
        let mut sum = PolyId::ZERO;
        for &(a, b, c) in terms {
            let m = r.monos.mul(atoms[a], atoms[b], &flags);
            let (k, one) = (r.coefs.of(Rat::int(c)), r.intern(&[PTerm::mono(m)]));
            sum = r.add_scaled(sum, k, one).unwrap();
        }
        sum
    }

    fn ring() -> (Ring, Vec<Mono>) {
        let mut r = Ring::new(Default::default());
        let mut atoms = vec![Mono::ONE];
        atoms.extend((0..3).map(|i| r.atom_mono(Atom::Symbol(TermId(i)))));
        (r, atoms)
    }

    #[test]
    fn a_variance_is_not_negative() {
        let (mut r, atoms) = ring();
        // 3 (x^2 + y^2 + z^2) - (x + y + z)^2, and one more and one less than that.
        let mut terms = vec![(1, 1, 2), (2, 2, 2), (3, 3, 2)];
        terms.extend([(1, 2, -2), (1, 3, -2), (2, 3, -2)]);
        let v = poly(&mut r, &atoms, &terms);
        assert_eq!(r.poly_sign(v), Sign::NONNEG);
        assert_eq!(r.difference_sign(PolyId::ZERO, v), Sign::NONPOS);
        terms.push((0, 0, 1));
        let more = poly(&mut r, &atoms, &terms);
        assert_eq!(r.poly_sign(more), Sign::POS);
        terms.push((0, 0, -2));
        let less = poly(&mut r, &atoms, &terms);
        assert_eq!(r.poly_sign(less), Sign::ALL);
        // What cancels is not looked at: (x^2 + 3 z) - 3 z.
        let x = poly(&mut r, &atoms, &[(1, 1, 1), (0, 3, 3)]);
        let y = poly(&mut r, &atoms, &[(0, 3, 3)]);
        assert_eq!(r.quadratic_sign(r.polys.get(x), r.polys.get(y)), Sign::ALL);
        assert_eq!(r.difference_sign(x, y), Sign::NONNEG);
        // One coefficient too large.
        let mixed = poly(&mut r, &atoms, &[(1, 1, 2), (2, 2, 2), (1, 2, -5)]);
        assert_eq!(r.poly_sign(mixed), Sign::ALL);
    }

    proptest! {
        /// No value of a quadratic polynomial has a sign that was excluded.
        #[test]
        fn no_value_has_an_excluded_sign(
            p in proptest::collection::vec((0usize..4, 0usize..4, -4i64..5), 0..9),
            q in proptest::collection::vec((0usize..4, 0usize..4, -4i64..5), 0..4),
            squares in 0i64..7,
        ) {
            let (mut r, atoms) = ring();
            let mut p = p;
            p.extend((0..4).map(|a| (a, a, squares)));
            let (a, b) = (poly(&mut r, &atoms, &p), poly(&mut r, &atoms, &q));
            let sign = r.quadratic_sign(r.polys.get(a), r.polys.get(b));
            let d = r.add_scaled(a, Coef::MINUS_ONE, b).unwrap();
            prop_assert_eq!(sign, r.quadratic_sign(r.polys.get(d), &[]));
            prop_assert_eq!(r.difference_sign(a, b), r.poly_sign(d));
            for point in 0..343 {
                let x = [1, point % 7 - 3, point / 7 % 7 - 3, point / 49 - 3];
                let at = |l: &[(usize, usize, i64)]| -> i64 {
                    l.iter().map(|&(a, b, c)| c * x[a] * x[b]).sum()
                };
                let allowed = match (at(&p) - at(&q)).signum() {
                    -1 => Sign::NEG,
                    0 => Sign::ZERO,
                    _ => Sign::POS,
                };
                prop_assert_eq!(sign.and(allowed), allowed);
            }
        }
    }
}
