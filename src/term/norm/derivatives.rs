//! Equality of polynomials of degree two that are not multiplied out.
//!
//! Problem: a variance by a recurrence (Welford, "Note on a method for calculating corrected sums of squares and products",
//! 1962; of parts: Chan, Golub and LeVeque, 1983) has a partial result for each of its n elements, and multiplied out
//! each has a number of terms that is quadratic in the elements before it: n^3 terms, where the answer has n^2.
//!
//! How: a polynomial of degree two is 0 if it, its gradient and its Hessian are 0 at the origin. One pass up the terms
//! gives each its value and its gradient there. One pass down gives how the difference of the two polynomials changes with each
//! term (the reverse mode of Griewank and Walther, "Evaluating Derivatives", chapter 3), and how that changes along
//! each input, which at the inputs is the Hessian. What stands for a vector over the inputs is its runs of equal numbers:
//! sums and means over parts of the inputs have few.
//!
//! Which terms are compared says evaluation at two points modulo a prime; it proves nothing.
//!
//! Sound and complete for terms that are polynomials of degree two or less in *atoms*, terms that have a value
//! on every input: equal as polynomials, they are equal whatever the atoms are. Nothing is said of other terms, nor where
//! the runs are too many.

use std::cell::Cell;
use std::collections::BinaryHeap;

use num_integer::Integer;
use num_traits::ToPrimitive;
use rustc_hash::FxHashMap;

use super::fingerprint::{add, mul, pow};
use super::rat::Rat;
use crate::number::random::{STEP, scattered};
use crate::term::{Sort, Term, TermId, TermStore, pairs};

/// Terms that are looked at together.
const MAX_TERMS: usize = 1 << 22;

/// Words of the numbers in all runs that are made.
const MAX_WORDS: u64 = 1 << 25;

/// The prime that fingerprints are modulo of.
const PRIME: u64 = (1 << 61) - 1;

/// A term by its place in the order of ids, operands first.
#[derive(Clone, Debug)]
enum Node {
    Number(Rat),
    /// By its number among the atoms.
    Atom(u32),
    Sum(u32, u32),
    Minus(u32),
    Times(u32, u32),
    Scaled(u32, Rat),
    Products(Box<[(u32, u32)]>),
    /// No polynomial of degree two in atoms.
    Other,
}

/// A vector over the atoms: the ends of runs, with what each entry of the run is; 0 behind the last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Runs(Vec<(u32, Rat)>);

impl Runs {
    /// The gradient of an atom.
    fn of_atom(i: u32) -> Runs {
        match i {
            0 => Runs(vec![(1, Rat::ONE)]),
            i => Runs(vec![(i, Rat::int(0)), (i + 1, Rat::ONE)]),
        }
    }

    /// Words of its numbers.
    fn words(&self) -> u64 {
        self.0.iter().map(|(_, x)| 1 + x.bits() / 64).sum()
    }

    fn push(&mut self, end: u32, x: Rat) {
        match self.0.last_mut() {
            Some(last) if last.1 == x => last.0 = end,
            _ => self.0.push((end, x)),
        }
    }

    fn scaled(&self, k: &Rat) -> Runs {
        if *k == Rat::int(0) {
            return Runs::default();
        }
        Runs(self.0.iter().map(|(end, x)| (*end, x.mul(k))).collect())
    }

    /// This vector and k times another.
    fn plus(&self, other: &Runs, k: &Rat) -> Runs {
        if other.0.is_empty() || *k == Rat::int(0) {
            return self.clone();
        }
        if self.0.is_empty() {
            return other.scaled(k);
        }
        let mut out = Runs(Vec::with_capacity(self.0.len() + other.0.len()));
        let (mut i, mut j) = (0, 0);
        loop {
            let (end, x) = match (self.0.get(i), other.0.get(j)) {
                (Some((e, x)), Some((f, y))) => (*e.min(f), x.add(&y.mul(k))),
                (Some((e, x)), None) => (*e, x.clone()),
                (None, Some((f, y))) => (*f, y.mul(k)),
                (None, None) => break,
            };
            i += usize::from(self.0.get(i).is_some_and(|(e, _)| *e == end));
            j += usize::from(other.0.get(j).is_some_and(|(f, _)| *f == end));
            out.push(end, x);
        }
        if out.0.last().is_some_and(|l| l.1 == Rat::int(0)) {
            out.0.pop();
        }
        out
    }
}

/// Polynomials of degree two or less, with their values and gradients at the origin.
pub struct Polynomials {
    place: FxHashMap<TermId, u32>,
    nodes: Vec<Node>,
    degree: Vec<u8>,
    /// Factors and summands when no product is multiplied out and nothing is shared.
    size: Vec<u64>,
    /// The term of which each is a power but for a number, and the exponent.
    power: Vec<(u32, u8)>,
    values: Vec<[u64; 2]>,
    at_origin: Vec<Rat>,
    gradient: Vec<Runs>,
    /// Words that are left of [`MAX_WORDS`].
    left: Cell<u64>,
}

impl Polynomials {
    /// What is known of some terms and all below them; `None` if they are too many.
    pub fn of(store: &TermStore, roots: &[TermId]) -> Option<Polynomials> {
        let order = store.met(roots, MAX_TERMS, |t, open| {
            if Polynomials::takes_apart(store, t) {
                store.children(t, |c| open.push(c));
            }
            true
        })?;
        let mut out = Polynomials {
            place: FxHashMap::default(),
            nodes: Vec::with_capacity(order.len()),
            degree: Vec::with_capacity(order.len()),
            size: Vec::with_capacity(order.len()),
            power: Vec::with_capacity(order.len()),
            values: Vec::with_capacity(order.len()),
            at_origin: Vec::new(),
            gradient: Vec::new(),
            left: Cell::new(MAX_WORDS),
        };
        let mut atoms = 0;
        for t in order {
            let node = out.node(store, t, &mut atoms);
            out.place.insert(t, out.nodes.len() as u32);
            let (degree, size) = out.measured(&node);
            out.power.push(out.as_power(&node));
            let node = if degree > 2 { Node::Other } else { node };
            out.values.push(out.fingerprint(&node));
            out.degree.push(degree);
            out.size.push(size);
            out.nodes.push(node);
        }
        Some(out)
    }

    /// Whether a term is a sum or a product, and so is no atom.
    pub fn takes_apart(store: &TermStore, t: TermId) -> bool {
        match store.get(t) {
            Term::Add(..) | Term::Neg(_) | Term::Mul(..) | Term::Sum(_) => true,
            Term::Div(_, b) => matches!(store.get(b), Term::Const(_)) && !store.is_zero(b),
            _ => false,
        }
    }

    /// Factors and summands of one of its terms, shared ones counted each time.
    pub fn size(&self, t: TermId) -> u64 {
        self.place.get(&t).map_or(1, |&i| self.size[i as usize])
    }

    /// How many terms the largest of its cubes and higher powers has, multiplied out: `n^3 / 6` for a sum of n.
    pub fn largest_power(&self) -> u64 {
        let cubes = self.power.iter().filter(|(_, exponent)| *exponent > 2);
        let terms =
            cubes.map(|&(of, exponent)| self.size[of as usize].saturating_pow(exponent.into()) / 6);
        terms.max().unwrap_or(0)
    }

    /// Whether one of its terms is a polynomial of degree two or less.
    #[cfg(test)]
    pub(super) fn is_quadratic(&self, t: TermId) -> bool {
        (self.place.get(&t)).is_some_and(|&i| self.degree[i as usize] <= 2)
    }

    /// The first of some of its terms that each of them is equal to, as far as that is found.
    pub fn first_equal(&mut self, terms: &[TermId]) -> Vec<TermId> {
        if self.gradient.is_empty() && self.differentiate().is_none() {
            self.left.set(0);
        }
        if self.left.get() == 0 {
            return terms.to_vec();
        }
        let mut classes: FxHashMap<[u64; 2], Vec<TermId>> = FxHashMap::default();
        let mut out = Vec::with_capacity(terms.len());
        for &t in terms {
            let i = self.place[&t];
            let class = classes.entry(self.values[i as usize]).or_default();
            let mut known = class.iter().copied();
            let equal = known.find(|u| self.vanishes(i, self.place[u]) == Some(true));
            if equal.is_none() {
                class.push(t);
            }
            out.push(equal.unwrap_or(t));
        }
        out
    }

    fn node(&self, store: &TermStore, t: TermId, atoms: &mut u32) -> Node {
        let of = |c: TermId| self.place[&c];
        match store.get(t) {
            Term::Const(c) => Node::Number(Rat::from_big(store.constant(c))),
            Term::Add(a, b) => Node::Sum(of(a), of(b)),
            Term::Neg(a) => Node::Minus(of(a)),
            Term::Mul(a, b) => Node::Times(of(a), of(b)),
            Term::Div(a, b) if Polynomials::takes_apart(store, t) => {
                match &self.nodes[of(b) as usize] {
                    Node::Number(n) => n.recip().map_or(Node::Other, |k| Node::Scaled(of(a), k)),
                    _ => Node::Other,
                }
            }
            Term::Sum(list) => Node::Products(pairs(list).map(|(a, b)| (of(a), of(b))).collect()),
            _ if store.sort(t) == Sort::Real && store.is_total(t) => {
                *atoms += 1;
                Node::Atom(*atoms - 1)
            }
            _ => Node::Other,
        }
    }

    /// The degree, 3 for all above 2 and for what is no polynomial, and the size.
    fn measured(&self, node: &Node) -> (u8, u64) {
        let of = |i: u32| (self.degree[i as usize], self.size[i as usize]);
        let times = |(d, m): (u8, u64), (e, n): (u8, u64)| ((d + e).min(3), m.saturating_add(n));
        match node {
            Node::Number(_) => (0, 1),
            Node::Atom(_) => (1, 1),
            Node::Sum(a, b) => {
                let ((d, m), (e, n)) = (of(*a), of(*b));
                (d.max(e), m.saturating_add(n))
            }
            Node::Minus(a) | Node::Scaled(a, _) => of(*a),
            Node::Times(a, b) => times(of(*a), of(*b)),
            Node::Products(list) => list.iter().fold((0, 0), |(d, m): (u8, u64), &(a, b)| {
                let (e, n) = times(of(a), of(b));
                (d.max(e), m.saturating_add(n))
            }),
            Node::Other => (3, 1),
        }
    }

    /// The next term as a power of one that stands before it, or as its own.
    fn as_power(&self, node: &Node) -> (u32, u8) {
        let of = |i: &u32| self.power[*i as usize];
        let is_number = |i: &u32| matches!(self.nodes[*i as usize], Node::Number(_));
        match node {
            Node::Minus(a) | Node::Scaled(a, _) => of(a),
            Node::Times(a, b) if is_number(a) => of(b),
            Node::Times(a, b) if is_number(b) => of(a),
            Node::Times(a, b) if of(a).0 == of(b).0 => (of(a).0, of(a).1.saturating_add(of(b).1)),
            _ => (self.nodes.len() as u32, 1),
        }
    }

    /// Values at two points modulo the prime.
    fn fingerprint(&self, node: &Node) -> [u64; 2] {
        std::array::from_fn(|p| {
            let of = |i: u32| self.values[i as usize][p];
            let product = |a, b| mul(a, b, PRIME);
            match node {
                Node::Number(n) => residue(n),
                Node::Atom(i) => spread(u64::from(*i) << 1 | p as u64),
                Node::Sum(a, b) => add(of(*a), of(*b), PRIME),
                Node::Minus(a) => product(of(*a), PRIME - 1),
                Node::Scaled(a, k) => product(of(*a), residue(k)),
                Node::Times(a, b) => product(of(*a), of(*b)),
                Node::Products(list) => {
                    let terms = list.iter().map(|&(a, b)| product(of(a), of(b)));
                    terms.fold(0, |a, b| add(a, b, PRIME))
                }
                Node::Other => 0,
            }
        })
    }

    /// Pays for a vector; `None` if there is nothing left to pay with.
    fn charge(&self, runs: &Runs) -> Option<()> {
        self.left
            .set(self.left.get().checked_sub(1 + runs.words())?);
        Some(())
    }

    /// The pass up.
    fn differentiate(&mut self) -> Option<()> {
        let zero = Rat::int(0);
        let n = self.nodes.len();
        let (mut values, mut slopes) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for node in &self.nodes {
            let value = |i: &u32| -> &Rat { &values[*i as usize] };
            let slope = |i: &u32| -> &Runs { &slopes[*i as usize] };
            let times = |a: &u32, b: &u32| {
                let s = slope(a).scaled(value(b)).plus(slope(b), value(a));
                (value(a).mul(value(b)), s)
            };
            let (v, s) = match node {
                Node::Number(n) => (n.clone(), Runs::default()),
                Node::Atom(i) => (zero.clone(), Runs::of_atom(*i)),
                Node::Sum(a, b) => (value(a).add(value(b)), slope(a).plus(slope(b), &Rat::ONE)),
                Node::Minus(a) => (value(a).neg(), slope(a).scaled(&Rat::int(-1))),
                Node::Scaled(a, k) => (value(a).mul(k), slope(a).scaled(k)),
                Node::Times(a, b) => times(a, b),
                Node::Products(list) => {
                    let mut all = (zero.clone(), Runs::default());
                    for (a, b) in list {
                        let (v, s) = times(a, b);
                        self.charge(&s)?;
                        self.charge(&all.1)?;
                        all = (all.0.add(&v), all.1.plus(&s, &Rat::ONE));
                    }
                    all
                }
                Node::Other => (zero.clone(), Runs::default()),
            };
            self.charge(&s)?;
            values.push(v);
            slopes.push(s);
        }
        (self.at_origin, self.gradient) = (values, slopes);
        Some(())
    }

    /// Whether the difference of two polynomials is 0: the pass down. `None` if that would take too long.
    fn vanishes(&self, x: u32, y: u32) -> Option<bool> {
        let [i, j] = [x, y].map(|t| t as usize);
        if self.degree[i].max(self.degree[j]) > 2
            || self.at_origin[i] != self.at_origin[j]
            || self.gradient[i] != self.gradient[j]
        {
            return Some(false);
        }
        if x == y {
            return Some(true);
        }
        // How the difference changes with each term, and how that changes along each atom.
        let mut change: FxHashMap<u32, (Rat, Runs)> = FxHashMap::default();
        let mut open: BinaryHeap<u32> = [x, y].into_iter().collect();
        change.insert(x, (Rat::ONE, Runs::default()));
        change.insert(y, (Rat::int(-1), Runs::default()));
        while let Some(i) = open.pop() {
            let Some((rate, along)) = change.remove(&i) else {
                continue;
            };
            self.charge(&along)?;
            let mut pass = |to: u32, k: &Rat, slope: Option<&Runs>| {
                let (r, a) = change.entry(to).or_insert_with(|| {
                    open.push(to);
                    (Rat::int(0), Runs::default())
                });
                *r = r.add(&rate.mul(k));
                *a = a.plus(&along, k);
                if let Some(slope) = slope {
                    *a = a.plus(slope, &rate);
                }
            };
            let of = |i: &u32| (&self.at_origin[*i as usize], &self.gradient[*i as usize]);
            let mut times = |a: &u32, b: &u32| {
                let ((u, s), (v, t)) = (of(a), of(b));
                pass(*a, v, Some(t));
                pass(*b, u, Some(s));
            };
            match &self.nodes[i as usize] {
                Node::Number(_) => {}
                Node::Atom(_) if along.0.is_empty() => {}
                Node::Atom(_) | Node::Other => return Some(false),
                Node::Sum(a, b) => {
                    pass(*a, &Rat::ONE, None);
                    pass(*b, &Rat::ONE, None);
                }
                Node::Minus(a) => pass(*a, &Rat::int(-1), None),
                Node::Scaled(a, k) => pass(*a, k, None),
                Node::Times(a, b) => times(a, b),
                Node::Products(list) => list.iter().for_each(|(a, b)| times(a, b)),
            }
        }
        Some(true)
    }
}

/// A number modulo the prime; 0 where its denominator is a multiple of it.
fn residue(n: &Rat) -> u64 {
    let (n, d) = n.to_big().into_raw();
    let [n, d] = [n, d].map(|x| x.mod_floor(&PRIME.into()).to_u64().unwrap_or(0));
    // Fermat: the power PRIME - 2 is the inverse.
    mul(n, pow(d, PRIME - 2, PRIME), PRIME)
}

/// A number that looks random.
fn spread(i: u64) -> u64 {
    scattered((i + 1).wrapping_mul(STEP)) % PRIME
}
