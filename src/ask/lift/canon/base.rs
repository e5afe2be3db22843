//! Sums as what they were before normalising.
//!
//! A canonical form is divided by its greatest exponential and its first coefficient, and multiplied out. Here
//! exponentials and coefficients come back, a sum of products of pairs is one of squares again, and what all summands
//! share stands in front. Each is a guess of the form that people write, and equal to what it was made of.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, Zero};

use super::{Base, Importer, Poly, add, put};
use crate::lift::tree::{Call, Id, Q, Tree};
use crate::norm::CanonId;

impl Importer<'_, '_> {
    /// A form as what it was before a common factor was divided out.
    pub(super) fn base(&mut self, c: CanonId, depth: u32) -> Result<Base, String> {
        if let Some(known) = self.bases.get(&c) {
            return Ok(known.clone());
        }
        let poly = self.sum_of(c, depth)?;
        let (poly, shift) = self.undivided(poly);
        let scale = self.scale(&poly);
        let poly = self.squares(poly);
        let poly = poly.into_iter().map(|(p, q)| (p, q / &scale));
        let poly: Vec<(Id, Q)> = poly.collect();
        let base = self.forest.sum(poly);
        let base = Base { scale, shift, base };
        self.bases.insert(c, base.clone());
        Ok(base)
    }

    /// The sum with what all its summands share in front, where that leaves fewer shapes: y*(d - sum of y_k*d_k) has
    /// two, and three where y is multiplied out.
    pub(super) fn factored(&mut self, poly: Poly) -> Poly {
        let mut shared: Option<BTreeMap<Id, i32>> = None;
        for &p in poly.keys() {
            let own: BTreeMap<Id, i32> = match self.forest.get(p) {
                Tree::Product(l) => l.iter().copied().collect(),
                _ => [(p, 1)].into(),
            };
            shared = Some(match shared {
                None => own,
                Some(s) => s
                    .into_iter()
                    .filter_map(|(f, a)| {
                        let b = *own.get(&f)?;
                        (a.signum() == b.signum()).then(|| (f, a.signum() * a.abs().min(b.abs())))
                    })
                    .collect(),
            });
        }
        let shared = shared.unwrap_or_default();
        if poly.len() < 2 || shared.is_empty() {
            return poly;
        }
        let without: Vec<(Id, i32)> = shared.iter().map(|(&f, &p)| (f, -p)).collect();
        let mut inside = Poly::new();
        for (&p, q) in &poly {
            let p = self.with_powers(p, &without);
            put(&mut inside, p, q);
        }
        if self.shapes(&inside) >= self.shapes(&poly) {
            return poly;
        }
        let inside = self.forest.sum(inside);
        let whole = shared.into_iter().chain([(inside, 1)]);
        let whole = self.forest.product(whole);
        [(whole, Q::one())].into()
    }

    /// How many shapes the summands have, those of another degree apart.
    fn shapes(&self, poly: &Poly) -> usize {
        let degree = |p: Id| match self.forest.get(p) {
            Tree::Product(l) => l.iter().map(|f| f.1.unsigned_abs()).sum(),
            _ => 1,
        };
        let kind = |&p: &Id| (self.forest.shape(p), degree(p));
        let mut list: Vec<_> = poly.keys().map(kind).collect();
        list.sort_unstable();
        list.dedup();
        list.len()
    }

    /// What the coefficients of a sum are divided by: that of the number beside data, or what makes them whole.
    fn scale(&self, poly: &Poly) -> Q {
        let is_known = |factor: &Tree| match factor {
            Tree::Constant(_) => true,
            // A scalar.
            Tree::Read(_, at) => at.is_empty(),
            _ => false,
        };
        let is_number = |p: &Id| match self.forest.get(*p) {
            Tree::Product(list) => {
                !list.is_empty() && list.iter().all(|(f, _)| is_known(self.forest.get(*f)))
            }
            _ => false,
        };
        let mut numbers = poly.iter().filter(|(p, _)| is_number(p));
        if let (Some((_, q)), None) = (numbers.next(), numbers.next())
            && q.is_positive()
            && poly.len() > 1
        {
            return q.clone();
        }
        let denominators = poly.values().fold(BigInt::one(), |d, q| d.lcm(q.denom()));
        let numerators = poly.values().fold(BigInt::zero(), |n, q| n.gcd(q.numer()));
        match numerators.is_zero() {
            true => Q::one(),
            false => Q::new(numerators, BigInt::one()) / Q::from_integer(denominators),
        }
    }

    /// A quadratic form in all pairs of some factors as a sum of squares of what each differs from their mean by,
    /// and the square of their sum.
    ///
    /// match `a * (sum of x_i^2) + b * (sum of x_i*x_j, i < j)` / result
    /// `sum of (a - b/2) * (x_i - mean)^2 + c * (sum of x_i)^2` / because both are the same form, with
    /// `c = (a - b/2)/n + b/2`.
    pub(super) fn squares(&mut self, poly: Poly) -> Poly {
        let mut pairs: Vec<(Id, [Id; 2])> = Vec::new();
        let mut alone: BTreeMap<Id, Id> = BTreeMap::new();
        for &p in poly.keys() {
            let Tree::Product(l) = self.forest.get(p) else {
                continue;
            };
            match **l {
                [(x, 1), (y, 1)] => pairs.push((p, [x, y])),
                [(x, 2)] => {
                    alone.insert(x, p);
                }
                _ => {}
            }
        }
        let n = alone.len();
        let whole = n > 2
            && pairs.len() == n * (n - 1) / 2
            && pairs
                .iter()
                .all(|(_, l)| l.iter().all(|x| alone.contains_key(x)));
        let equal = |mut list: Vec<&Q>| {
            list.dedup();
            (list.len() == 1).then(|| list[0].clone())
        };
        let a = equal(alone.values().map(|p| &poly[p]).collect());
        let b = equal(pairs.iter().map(|(p, _)| &poly[p]).collect());
        let (true, Some(a), Some(b)) = (whole, a, b) else {
            return poly;
        };
        let half = b / Q::from_integer(2.into());
        let count = Q::from_integer(n.into());
        let square = a - &half;
        let rest = &square / &count + &half;
        let mut out = poly.clone();
        alone.values().for_each(|p| drop(out.remove(p)));
        pairs.iter().for_each(|(p, _)| drop(out.remove(p)));
        let singles: Vec<(Id, Id)> = alone
            .keys()
            .map(|&x| (x, self.forest.product([(x, 1)])))
            .collect();
        let shares: Vec<(Id, Q)> = singles.iter().map(|&(_, p)| (p, count.recip())).collect();
        let mean = self.forest.sum(shares);
        let mean = self.forest.product([(mean, 1)]);
        for &(_, own) in &singles {
            let difference = self.forest.sum([(own, Q::one()), (mean, -Q::one())]);
            let p = self.forest.product([(difference, 2)]);
            put(&mut out, p, &square);
        }
        let all: Vec<(Id, Q)> = singles.iter().map(|&(_, p)| (p, Q::one())).collect();
        let all = self.forest.sum(all);
        let p = self.forest.product([(all, 2)]);
        put(&mut out, p, &rest);
        out
    }

    /// The exponent of a factor of a product, if it has one.
    fn exponent(&self, product: Id) -> Option<(Id, Poly)> {
        let Tree::Product(list) = self.forest.get(product) else {
            return None;
        };
        list.iter().find_map(|&(f, p)| match self.forest.get(f) {
            Tree::Call(Call::Exp, e) if p == 1 => match self.forest.get(*e) {
                Tree::Sum(l) => Some((f, l.iter().map(|(q, p)| (*p, q.clone())).collect())),
                _ => None,
            },
            _ => None,
        })
    }

    /// The sum before its greatest exponential was divided out, and the exponent that was, with its sign turned.
    fn undivided(&mut self, poly: Poly) -> (Poly, Poly) {
        let none = (poly.clone(), Poly::new());
        let exponents: Vec<Option<(Id, Poly)>> = poly.keys().map(|&p| self.exponent(p)).collect();
        if poly.len() < 3 || exponents.iter().filter(|e| e.is_none()).count() != 1 {
            return none;
        }
        let mut shared: Option<Poly> = None;
        for (_, e) in exponents.iter().flatten() {
            let both = match shared {
                None => e.clone(),
                Some(s) => s.into_iter().filter(|(p, q)| e.get(p) == Some(q)).collect(),
            };
            shared = Some(both);
        }
        let shared = shared.unwrap_or_default();
        if shared.is_empty() {
            return none;
        }
        let mut out = Poly::new();
        for ((p, q), exponent) in poly.iter().zip(exponents) {
            let (old, mut e) = exponent.map_or((None, Poly::new()), |(f, e)| (Some(f), e));
            add(&mut e, &shared, &-Q::one());
            let mut powers: Vec<(Id, i32)> = old.iter().map(|&f| (f, -1)).collect();
            if !e.is_empty() {
                let sum = self.forest.sum(e);
                powers.push((self.forest.put(Tree::Call(Call::Exp, sum)), 1));
            }
            let p = self.with_powers(*p, &powers);
            put(&mut out, p, q);
        }
        match self.shapes(&out) < self.shapes(&poly) {
            true => (out, shared),
            false => none,
        }
    }
}
