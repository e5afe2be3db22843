//! Canonical forms to trees.
//!
//! A canonical form has one denominator for all ways to write it, in which nothing is alike any more: the greatest
//! exponential is divided out of a sum of exponentials, and a first coefficient. Here both come back: a summand that
//! all exponents but one share belongs to that one, and the number that stands beside data, the epsilon of a
//! root, gets the coefficient 1. What is made is equal to the form; a proof does not rest on it, since the formula
//! is proved afterwards.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, Zero};
use rustc_hash::FxHashMap;

use super::numbers::{power_of, root_of};
use super::tree::{Call, Forest, Id, Q, Tree};
use crate::norm::{CanonId, Factor, Normalizer, Summand, Test, TestId, View};
use crate::term::{ArrayId, Fun, Term, TermId, TermStore};

/// How deep a form may nest.
const MAX_DEPTH: u32 = 40;

/// Summands of one form.
const MAX_SUMMANDS: usize = 1 << 14;

/// Where bytes of an array stand: the number of the array and the indices.
pub(super) type Places<'a> = &'a dyn Fn(ArrayId, u64) -> Option<(u32, Vec<i64>)>;

/// Multiples of products.
type Poly = BTreeMap<Id, Q>;

/// Makes trees of the forms of one store.
pub(super) struct Importer<'a, 's> {
    /// The scratch of the forms.
    pub norm: Normalizer<'s>,
    /// The store of their terms.
    pub store: &'s TermStore,
    /// Where the trees go.
    pub forest: &'a mut Forest,
    /// Names of elements.
    pub places: Places<'a>,
    /// Forms that were met.
    pub done: FxHashMap<CanonId, Id>,
}

/// form = scale * e^shift * base.
struct Base {
    scale: Q,
    shift: Poly,
    base: Id,
}

/// A summand while it is put together.
struct Part {
    q: Q,
    /// What stands below a root in front.
    radicand: Q,
    exponent: Poly,
    /// Factors with twice their powers.
    halves: BTreeMap<Id, i32>,
}

impl Importer<'_, '_> {
    /// The tree of a real term.
    pub(super) fn term(&mut self, t: TermId) -> Result<Id, String> {
        let form = self.norm.real(t).map_err(|e| e.to_string())?;
        self.form(form, 0)
    }

    fn form(&mut self, c: CanonId, depth: u32) -> Result<Id, String> {
        if let Some(&id) = self.done.get(&c) {
            return Ok(id);
        }
        let id = match self.norm.view(c) {
            View::Infinite(neg) => {
                let t = self.forest.put(Tree::Infinity(neg));
                self.forest.alone(t)
            }
            View::Sum(list) => {
                let poly = self.poly(list, depth)?;
                self.forest.sum(poly)
            }
        };
        self.done.insert(c, id);
        Ok(id)
    }

    fn poly(&mut self, list: Vec<Summand>, depth: u32) -> Result<Poly, String> {
        if depth > MAX_DEPTH {
            return Err("the value nests too deep".into());
        }
        if list.len() > MAX_SUMMANDS {
            return Err(format!("a sum has {} different summands", list.len()));
        }
        let mut out = Poly::new();
        for s in list {
            self.summand(s, depth, &mut out)?;
        }
        Ok(out)
    }

    fn sum_of(&mut self, c: CanonId, depth: u32) -> Result<Poly, String> {
        match self.norm.view(c) {
            View::Sum(list) => self.poly(list, depth + 1),
            View::Infinite(_) => Err("an infinity stands below a quotient".into()),
        }
    }

    fn log2(&mut self) -> Id {
        let two = self.forest.number(Q::from_integer(2.into()));
        self.forest.put(Tree::Call(Call::Log, two))
    }

    fn summand(&mut self, s: Summand, depth: u32, out: &mut Poly) -> Result<(), String> {
        let mut part = Part {
            q: s.coefficient,
            radicand: Q::one(),
            exponent: Poly::new(),
            halves: BTreeMap::new(),
        };
        if let Some(e) = s.exponent {
            let base2 = self.sum_of(e, depth)?;
            part.exponent = self.times_log2(base2, 1);
        }
        let mut logarithm = None;
        for (factor, power) in s.factors {
            match factor {
                Factor::Inverse(c) => {
                    let b = self.base(c, depth)?;
                    part.q *= power_of(&b.scale, -power);
                    add(
                        &mut part.exponent,
                        &b.shift,
                        &Q::from_integer((-power).into()),
                    );
                    *part.halves.entry(b.base).or_default() -= 2 * power;
                }
                Factor::Sqrt(c) => {
                    let b = self.base(c, depth)?;
                    part.radicand *= power_of(&b.scale, power);
                    let half = Q::new(power.into(), 2.into());
                    add(&mut part.exponent, &b.shift, &half);
                    let (factor, times) = self.bare(b.base);
                    *part.halves.entry(factor).or_default() += times * power;
                }
                Factor::Log2(c) if power == 1 && logarithm.is_none() => logarithm = Some(c),
                other => self.factor(other, power, depth, &mut part.halves)?,
            }
        }
        match logarithm {
            None => {
                let (product, q) = self.product(part);
                put(out, product, &q);
            }
            Some(c) => self.logarithm(part, c, depth, out)?,
        }
        Ok(())
    }

    /// The multiples of a logarithm to base 2, a sum where its argument is a product.
    fn logarithm(
        &mut self,
        part: Part,
        c: CanonId,
        depth: u32,
        out: &mut Poly,
    ) -> Result<(), String> {
        let b = self.base(c, depth)?;
        let log2 = self.log2();
        let (product, q) = self.product(part);
        let mut argument = vec![b.base];
        let whole = b.scale.is_one();
        if !whole {
            argument.push(self.forest.number(b.scale));
        }
        for x in argument {
            let log = self.forest.put(Tree::Call(Call::Log, x));
            let with = self.with_powers(product, &[(log, 1), (log2, -1)]);
            put(out, with, &q);
        }
        for (p, k) in &b.shift {
            let with = self.multiplied(product, *p);
            let with = self.with_powers(with, &[(log2, -1)]);
            put(out, with, &(&q * k));
        }
        Ok(())
    }

    /// Puts everything in its place: the product, and the rational in front.
    fn product(&mut self, part: Part) -> (Id, Q) {
        let mut q = part.q;
        let mut factors: BTreeMap<Id, i32> = BTreeMap::new();
        for (base, h) in part.halves {
            match h % 2 {
                0 => *factors.entry(base).or_default() += h / 2,
                _ => {
                    let of = match self.forest.get(base) {
                        Tree::Sum(_) => base,
                        _ => self.forest.alone(base),
                    };
                    let root = self.forest.put(Tree::Call(Call::Sqrt, of));
                    *factors.entry(root).or_default() += h;
                }
            }
        }
        let (root, rest) = root_of(&part.radicand);
        q *= root;
        if !rest.is_one() {
            // A root of a fraction of 1 is that of a whole number below it.
            let square = &q * &q * &rest;
            let (below, of) = match square.numer().is_one() {
                true => (-1, square.recip()),
                false => (1, rest),
            };
            if below < 0 {
                q = q.signum();
            }
            let of = self.forest.number(of);
            let root = self.forest.put(Tree::Call(Call::Sqrt, of));
            *factors.entry(root).or_default() += below;
        }
        if !part.exponent.is_empty() {
            let e = self.forest.sum(part.exponent);
            let e = self.forest.put(Tree::Call(Call::Exp, e));
            *factors.entry(e).or_default() += 1;
        }
        (self.forest.product(factors), q)
    }

    /// The factor that a sum is, and its power; a sum that is none is one factor, and 1 is none.
    fn bare(&self, sum: Id) -> (Id, i32) {
        let Tree::Sum(list) = self.forest.get(sum) else {
            return (sum, 1);
        };
        let [(q, product)] = &**list else {
            return (sum, 1);
        };
        match self.forest.get(*product) {
            Tree::Product(l) if q.is_one() && l.is_empty() => (sum, 0),
            Tree::Product(l) if q.is_one() && l.len() == 1 => l[0],
            _ => (sum, 1),
        }
    }

    /// A base-2 exponent as a natural one, or back with power -1.
    fn times_log2(&mut self, poly: Poly, power: i32) -> Poly {
        let log2 = self.log2();
        let mut out = Poly::new();
        for (p, q) in poly {
            let p = self.with_powers(p, &[(log2, power)]);
            put(&mut out, p, &q);
        }
        out
    }

    /// A product with more powers.
    fn with_powers(&mut self, product: Id, more: &[(Id, i32)]) -> Id {
        let mut factors: BTreeMap<Id, i32> = match self.forest.get(product) {
            Tree::Product(list) => list.iter().copied().collect(),
            _ => [(product, 1)].into(),
        };
        for &(f, p) in more {
            *factors.entry(f).or_default() += p;
        }
        self.forest.product(factors)
    }

    fn multiplied(&mut self, a: Id, b: Id) -> Id {
        let more: Vec<(Id, i32)> = match self.forest.get(b) {
            Tree::Product(list) => list.to_vec(),
            _ => vec![(b, 1)],
        };
        self.with_powers(a, &more)
    }

    /// A form as what it was before a common factor was divided out.
    fn base(&mut self, c: CanonId, depth: u32) -> Result<Base, String> {
        let poly = self.sum_of(c, depth)?;
        let (poly, shift) = self.undivided(poly);
        let scale = self.scale(&poly);
        let poly = self.squares(poly);
        let poly = poly.into_iter().map(|(p, q)| (p, q / &scale));
        let poly: Vec<(Id, Q)> = poly.collect();
        let base = self.forest.sum(poly);
        Ok(Base { scale, shift, base })
    }

    /// What the coefficients of a sum are divided by: that of the number beside data, or what makes them whole.
    fn scale(&self, poly: &Poly) -> Q {
        let is_number = |p: &Id| match self.forest.get(*p) {
            Tree::Product(list) => {
                !list.is_empty()
                    && list
                        .iter()
                        .all(|(f, _)| matches!(self.forest.get(*f), Tree::Constant(_)))
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
    fn squares(&mut self, poly: Poly) -> Poly {
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
        let shapes = |forest: &Forest, poly: &Poly| {
            let mut list: Vec<_> = poly.keys().map(|&p| forest.shape(p)).collect();
            list.sort_unstable();
            list.dedup();
            list.len()
        };
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
        match shapes(self.forest, &out) < shapes(self.forest, &poly) {
            true => (out, shared),
            false => none,
        }
    }

    fn factor(
        &mut self,
        factor: Factor,
        power: i32,
        depth: u32,
        out: &mut BTreeMap<Id, i32>,
    ) -> Result<(), String> {
        let id = match factor {
            Factor::Log2E => {
                let log2 = self.log2();
                *out.entry(log2).or_default() -= 2 * power;
                return Ok(());
            }
            Factor::Symbol(t) => self.symbol(t)?,
            Factor::Integer(array, off, ..) => self.read(array, off)?,
            Factor::Inverse(_) | Factor::Sqrt(_) => return Err("a root of a root".into()),
            Factor::Log2(c) => {
                let x = self.form(c, depth + 1)?;
                let log2 = self.log2();
                *out.entry(log2).or_default() -= 2 * power;
                self.forest.put(Tree::Call(Call::Log, x))
            }
            Factor::Fun(f, c) => {
                let call = call(f).ok_or("a rounding to an integer that formulas lack")?;
                let x = self.form(c, depth + 1)?;
                self.forest.put(Tree::Call(call, x))
            }
            Factor::Max(list) => {
                let mut all = Vec::with_capacity(list.len());
                for c in list {
                    all.push(self.form(c, depth + 1)?);
                }
                all.sort_unstable();
                self.forest.put(Tree::Max(all.into()))
            }
            Factor::Select(t, a, b) => {
                let c = self.test(t, depth + 1)?;
                let (a, b) = (self.form(a, depth + 1)?, self.form(b, depth + 1)?);
                match *self.forest.get(c) {
                    Tree::Call(Call::Not, c) => self.forest.put(Tree::Choose(c, b, a)),
                    _ => self.forest.put(Tree::Choose(c, a, b)),
                }
            }
            Factor::Bits => return Err("an operation on bits".into()),
        };
        *out.entry(id).or_default() += 2 * power;
        Ok(())
    }

    fn symbol(&mut self, t: TermId) -> Result<Id, String> {
        match self.store.get(t) {
            Term::Elem {
                array: ArrayId::NUMBERS,
                off,
                ..
            } => Ok(self.forest.put(Tree::Constant((off / 8) as u32))),
            Term::Elem { array, off, .. } => self.read(array, off),
            _ => Err("a number that no input is".into()),
        }
    }

    fn read(&mut self, array: ArrayId, off: u64) -> Result<Id, String> {
        let (array, at) = (self.places)(array, off).ok_or(
            "an element of an array whose shape is not bound, or at a place that data choose",
        )?;
        Ok(self.forest.put(Tree::Read(array, at.into())))
    }

    fn test(&mut self, t: TestId, depth: u32) -> Result<Id, String> {
        if depth > MAX_DEPTH {
            return Err("a condition nests too deep".into());
        }
        let (negated, test) = self.norm.test(t);
        let id = match test {
            Test::True => self.forest.put(Tree::All([].into())),
            Test::Negative(c) => {
                let x = self.form(c, depth)?;
                self.forest.put(Tree::Call(Call::Below, x))
            }
            Test::Zero(c) => {
                let x = self.form(c, depth)?;
                self.forest.put(Tree::Call(Call::Zero, x))
            }
            Test::All(list) => {
                let mut all = Vec::with_capacity(list.len());
                for t in list {
                    all.push(self.test(t, depth + 1)?);
                }
                all.sort_unstable();
                self.forest.put(Tree::All(all.into()))
            }
            Test::Bits => return Err("a test of bits".into()),
        };
        Ok(match negated {
            true => self.forest.put(Tree::Call(Call::Not, id)),
            false => id,
        })
    }
}

fn put(poly: &mut Poly, product: Id, q: &Q) {
    let sum = poly.entry(product).or_default();
    *sum += q;
    if sum.is_zero() {
        poly.remove(&product);
    }
}

/// a + k * b.
fn add(a: &mut Poly, b: &Poly, k: &Q) {
    for (p, q) in b {
        put(a, *p, &(q * k));
    }
}

fn call(f: Fun) -> Option<Call> {
    match f {
        Fun::Sin => Some(Call::Sin),
        Fun::Cos => Some(Call::Cos),
        Fun::Tanh => Some(Call::Tanh),
        Fun::Erf => Some(Call::Erf),
        Fun::Abs => Some(Call::Abs),
        Fun::Floor => Some(Call::Floor),
        Fun::Sqrt => Some(Call::Sqrt),
        Fun::Rsqrt | Fun::Exp2 | Fun::Log2 | Fun::Ceil | Fun::Trunc | Fun::RoundEven => None,
    }
}
