//! Canonical forms to trees.
//!
//! A canonical form has one denominator for all ways to write it, in which nothing is alike any more: the greatest
//! exponential is divided out of a sum of exponentials, and a first coefficient. Here both come back: a summand that
//! all exponents but one share belongs to that one, and the number that stands beside data, the epsilon of a
//! root, gets the coefficient 1. What is made is equal to the form; a proof does not rest on it, since the formula
//! is proved afterwards.

mod base;
mod written;

use std::collections::BTreeMap;

use num_traits::{One, Signed, Zero};
use rustc_hash::FxHashMap;

use super::numbers::{power_of, root_of};
use super::places::Places;
use super::tree::{Call, Forest, Id, Q, Subscript, Tree};
use crate::norm::{CanonId, Factor, Integers, Normalizer, Summand, Test, TestId, View};
use crate::spec::Limits;
use crate::term::gather::distance;
use crate::term::{ArrayId, Fun, ICmp, Term, TermId, TermStore};

/// How deep a form may nest.
const MAX_DEPTH: u32 = 40;

/// Summands of one form.
const MAX_SUMMANDS: usize = 1 << 17;

/// Summands between two looks at the limits.
const STEPS_BETWEEN_LOOKS: u32 = 1 << 10;

/// Multiples of products.
pub(super) type Poly = BTreeMap<Id, Q>;

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
    /// Bases of powers that were met.
    pub bases: FxHashMap<CanonId, Base>,
    /// Numbers below roots that were met, each as a square times a rest.
    pub roots: FxHashMap<Q, (Q, Q)>,
    /// When to give up.
    pub limits: &'a Limits,
    /// Summands that were made.
    pub steps: u32,
}

/// form = scale * e^shift * base.
#[derive(Clone)]
pub(super) struct Base {
    pub scale: Q,
    pub shift: Poly,
    pub base: Id,
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
                let poly = self.squares(poly);
                let poly = self.factored(poly);
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
            self.steps = self.steps.wrapping_add(1);
            if self.steps.is_multiple_of(STEPS_BETWEEN_LOOKS)
                && let Some(why) = self.limits.reached()
            {
                return Err(why.to_string());
            }
            self.summand(s, depth, &mut out)?;
        }
        Ok(out)
    }

    pub(super) fn sum_of(&mut self, c: CanonId, depth: u32) -> Result<Poly, String> {
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
        let radicand = part.radicand;
        let roots = &mut self.roots;
        let known = roots.entry(radicand).or_insert_with_key(root_of);
        let (root, rest) = known.clone();
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
    pub(super) fn with_powers(&mut self, product: Id, more: &[(Id, i32)]) -> Id {
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
                let call = call(f).ok_or("a function that formulas lack")?;
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
        if array.is_place() {
            return self.chosen(array, off);
        }
        let found = self.places.of(array, off);
        let (array, at) =
            found.ok_or("an element of an array whose type and shape are not bound")?;
        Ok(self.forest.put(Tree::Read(array, at.into())))
    }

    /// An element at a place that data choose: each integer goes to the dimension whose elements it counts.
    fn chosen(&mut self, array: ArrayId, off: u64) -> Result<Id, String> {
        const WHY: &str =
            "an element at a place that data choose in a way that subscripts cannot say";
        let place = self.store.place_of(array).ok_or(WHY)?;
        let strides = self.places.strides(place.array);
        let strides = strides.ok_or("an element of an array whose type and shape are not bound")?;
        let mut parts: Vec<Vec<(i64, Id)>> = vec![Vec::new(); strides.len()];
        for &(t, k) in &place.form {
            let d = strides.iter().position(|s| k % s == 0).ok_or(WHY)?;
            let Term::Bytes { array, off, .. } = self.store.get(t) else {
                return Err(WHY.into());
            };
            let own = self.read(array, off)?;
            parts[d].push((k / strides[d], own));
        }
        let mut rest = distance(off);
        let mut at = Vec::new();
        for (own, stride) in parts.into_iter().zip(strides) {
            at.push(Subscript {
                constant: rest.div_euclid(stride),
                parts: own.into(),
            });
            rest = rest.rem_euclid(stride);
        }
        let tree = Tree::Gather(place.array.0, at.into());
        match rest {
            0 => Ok(self.forest.put(tree)),
            _ => Err(WHY.into()),
        }
    }

    /// A comparison of a sum with 0. Its number stands there where it is 0 too, so that comparisons with an index
    /// have one shape.
    fn tested(&mut self, call: Call, x: Id) -> Id {
        let one = self.forest.product([]);
        let mut x = x;
        if let Tree::Sum(list) = self.forest.get(x)
            && list.iter().all(|p| p.1 != one)
        {
            let list = list.iter().map(|(q, p)| (*p, q.clone()));
            let list: Vec<(Id, Q)> = list.chain([(one, Q::zero())]).collect();
            x = self.forest.sum(list);
        }
        self.forest.put(Tree::Call(call, x))
    }

    /// A sum of integers less another one.
    fn difference(&mut self, a: &Integers, b: &Integers) -> Result<Id, String> {
        let mut poly = Poly::new();
        for (side, sign) in [(a, 1), (b, -1)] {
            let whole = |k: i64| Q::from_integer((k * sign).into());
            for &(array, off, k) in &side.parts {
                let own = self.read(array, off)?;
                let own = self.forest.product([(own, 1)]);
                put(&mut poly, own, &whole(k));
            }
        }
        let one = self.forest.product([]);
        let number = Q::from_integer(a.constant.into()) - Q::from_integer(b.constant.into());
        let list = poly.into_iter().chain([(one, number)]);
        Ok(self.forest.sum(list))
    }

    /// A comparison of integers; an unsigned one says too that the first is not below 0.
    fn comparison(&mut self, op: ICmp, a: &Integers, b: &Integers) -> Result<Id, String> {
        let turned = op == ICmp::Eq && a.parts.len() < b.parts.len();
        let (a, b) = if turned { (b, a) } else { (a, b) };
        let difference = self.difference(a, b)?;
        match op {
            ICmp::Eq => Ok(self.forest.put(Tree::Call(Call::Zero, difference))),
            ICmp::SLt => Ok(self.forest.put(Tree::Call(Call::Below, difference))),
            ICmp::ULt => {
                let below = self.forest.put(Tree::Call(Call::Below, difference));
                let signed = |p: &(ArrayId, u64, i64)| self.places.is_signed(p.0);
                if !a.parts.iter().any(signed) {
                    return Ok(below);
                }
                let own = self.difference(a, &Integers::default())?;
                let negative = self.forest.put(Tree::Call(Call::Below, own));
                let not = self.forest.put(Tree::Call(Call::Not, negative));
                let mut all = [below, not];
                all.sort_unstable();
                Ok(self.forest.put(Tree::All(all.into())))
            }
            ICmp::ULe | ICmp::SLe => Err("a test of bits".into()),
        }
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
                self.tested(Call::Below, x)
            }
            Test::Zero(c) => {
                let x = self.form(c, depth)?;
                self.tested(Call::Zero, x)
            }
            Test::All(list) => {
                let mut all = Vec::with_capacity(list.len());
                for t in list {
                    all.push(self.test(t, depth + 1)?);
                }
                all.sort_unstable();
                self.forest.put(Tree::All(all.into()))
            }
            Test::Compare(op, a, b) => self.comparison(op, &a, &b)?,
            Test::Bits => return Err("a test of bits".into()),
        };
        Ok(match negated {
            true => self.forest.put(Tree::Call(Call::Not, id)),
            false => id,
        })
    }
}

pub(super) fn put(poly: &mut Poly, product: Id, q: &Q) {
    let sum = poly.entry(product).or_default();
    *sum += q;
    if sum.is_zero() {
        poly.remove(&product);
    }
}

/// a + k * b.
pub(super) fn add(a: &mut Poly, b: &Poly, k: &Q) {
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
        Fun::Ceil => Some(Call::Ceil),
        Fun::Trunc => Some(Call::Trunc),
        Fun::RoundEven => Some(Call::Rint),
        Fun::Rsqrt | Fun::Exp2 | Fun::Log2 => None,
    }
}
