//! Machine words as whole numbers: what holds of them as polynomials.
//!
//! Problem: `cta * ntid + tid` defeats bits and is easy over the integers, but a machine word is a whole number only
//! modulo a power of two. A word is congruent to the polynomial of its operands; it is that polynomial where the facts
//! show that the polynomial lies in the range of the word, which is the obligation against wrap-around. A word for which
//! they do not is an atom, a number in its range of which nothing else is known.
//!
//! Products are bounded by products of facts: a fact times an atom that is not negative is a fact. Sound in one
//! direction: `proves` says that a polynomial is never negative where all conditions hold.

use rustc_hash::{FxHashMap, FxHashSet};

use super::expr::{Exprs, Id, Node, Order};
use super::intervals::Bounds;
use super::limits::{MAX_CONSTRAINTS, MAX_DEGREE, MAX_TERMS};
use super::linear::{Atom, Poly, excluded};
use super::state::Counter;
use crate::spec::Limits;
use crate::term::BitsOp;
use crate::work;

/// Words below each other that are read as sums.
const MAX_DEPTH: usize = 48;

/// Facts times atoms that are used: none, those of known products, or others too.
#[derive(Clone, Copy)]
enum Products {
    None,
    Closed,
    Open,
}

/// A weaker fact of low degree: without products that are never negative and are taken away.
fn relaxed(f: &Poly, degree: usize) -> Option<Poly> {
    let mut out = f.clone();
    let goes = |m: &Vec<Atom>, c: &i128| m.len() > degree && *c < 0 && m.iter().all(|a| !a.1);
    out.terms.retain(|m, c| !goes(m, c));
    (out.degree() <= degree).then_some(out)
}

/// What is known in one question.
pub(super) struct Integers<'a> {
    pub e: &'a mut Exprs,
    /// Polynomials that are at least 0.
    facts: Vec<Poly>,
    atoms: FxHashSet<Atom>,
    read: FxHashMap<Atom, Poly>,
    positive: FxHashMap<Atom, bool>,
    bounds: Bounds,
    /// Symbols that count: start, step and count, and how those are read that do not wrap.
    counters: FxHashMap<Id, (Id, Id, Id, Option<bool>)>,
    /// Whether a counter that may wrap is taken apart: it is its start and its steps modulo a power of two all the same.
    counts: bool,
    limits: Limits,
    /// Sizes of the launch: products of different ones are at most this.
    pub products: Vec<(Vec<Id>, i128)>,
}

/// What a product of different sizes of the launch is at most.
fn size_product(products: &[(Vec<Id>, i128)], m: &[Atom]) -> Option<i128> {
    let of = |(sizes, most): &(Vec<Id>, i128)| {
        let mut left = sizes.clone();
        let all = m.iter().all(|a| match left.iter().position(|s| *s == a.0) {
            Some(i) => {
                left.remove(i);
                true
            }
            None => false,
        });
        (m.len() > 1 && all).then_some(*most)
    };
    products.iter().filter_map(of).min()
}

fn limits_of(width: u8, sign: bool) -> (i128, i128) {
    let w = u32::from(width);
    match sign {
        true => (-(1i128 << (w - 1)), (1i128 << (w - 1)) - 1),
        false => (0, (1i128 << w) - 1),
    }
}

impl<'a> Integers<'a> {
    pub(super) fn new(
        e: &'a mut Exprs,
        products: Vec<(Vec<Id>, i128)>,
        limits: Limits,
    ) -> Integers<'a> {
        Integers {
            e,
            facts: Vec::new(),
            atoms: FxHashSet::default(),
            read: FxHashMap::default(),
            positive: FxHashMap::default(),
            bounds: Bounds::default(),
            counters: FxHashMap::default(),
            counts: false,
            limits,
            products,
        }
    }

    /// What was read under fewer facts may be read better under more.
    fn forget(&mut self) {
        self.read.clear();
        self.positive.clear();
    }

    pub(super) fn fact(&mut self, p: Poly) {
        if !self.facts.contains(&p) {
            self.facts.push(p);
            self.forget();
        }
    }

    /// A symbol is its start and a multiple of its step.
    pub(super) fn counter(&mut self, c: &Counter, exact: Option<bool>) {
        self.counters
            .insert(c.symbol, (c.start, c.step, c.count, exact));
    }

    /// Adds what holds where all literals do: a condition, or what is left of a disjunction.
    pub(super) fn condition_or(&mut self, c: Id, literals: &[Id]) {
        for l in self.e.literals(c) {
            let mut left: Vec<Id> = Vec::new();
            let mut stack = vec![l];
            while let Some(id) = stack.pop() {
                match *self.e.node(id) {
                    Node::Word(BitsOp::Or, a, b) if self.e.width(id) == 1 => stack.extend([a, b]),
                    _ => {
                        let not = self.e.not(id);
                        let parts = self.e.literals(not);
                        if !parts
                            .iter()
                            .all(|p| literals.contains(p) || self.e.value(*p) == Some(1))
                        {
                            left.push(id);
                        }
                    }
                }
            }
            if let [one] = left[..] {
                for l in self.e.literals(one) {
                    self.condition(l);
                }
            }
        }
    }

    /// Adds a condition that holds.
    pub(super) fn condition(&mut self, c: Id) {
        let (c, negated) = match self.e.negated(c) {
            Some(inner) => (inner, true),
            None => (c, false),
        };
        let Node::Compare(order, a, b) = *self.e.node(c) else {
            return;
        };
        if self.e.width(a) < 8 {
            return;
        }
        let sign = order != Order::Below;
        let (x, y) = (self.reading(a, sign), self.reading(b, sign));
        let minus_one = Poly::constant(-1);
        let facts = match (order, negated) {
            (Order::Equal, true) => {
                // Not zero, of what is never negative, is positive.
                let difference = x.plus(-1, &y);
                match difference {
                    Some(d) if self.proves(&d) => vec![d.plus(1, &minus_one)],
                    _ => return,
                }
            }
            (Order::Equal, false) => vec![x.plus(-1, &y), y.plus(-1, &x)],
            (_, false) => vec![y.plus(-1, &x).and_then(|p| p.plus(1, &minus_one))],
            (_, true) => vec![x.plus(-1, &y)],
        };
        for f in facts.into_iter().flatten() {
            self.fact(f);
        }
    }

    /// The number that a word is, as a polynomial over atoms.
    pub(super) fn reading(&mut self, id: Id, sign: bool) -> Poly {
        self.read_at(id, sign, 0)
    }

    fn read_at(&mut self, id: Id, sign: bool, depth: usize) -> Poly {
        if let Some(p) = self.read.get(&(id, sign)) {
            return p.clone();
        }
        let (lo, hi) = limits_of(self.e.width(id), sign);
        if let Some(&(start, step, count, exact)) = self.counters.get(&id)
            && exact == Some(sign)
        {
            let (from, by) = (
                self.read_at(start, sign, depth + 1),
                self.read_at(step, true, depth + 1),
            );
            let times = self.atom(count, false);
            let p = times.times(&by).and_then(|way| from.plus(1, &way));
            if let Some(p) = p {
                self.read.insert((id, sign), p.clone());
                let bounds = [
                    p.plus(-1, &Poly::constant(lo)),
                    Poly::constant(hi).plus(-1, &p),
                ];
                self.facts.extend(bounds.into_iter().flatten());
                return p;
            }
        }
        let mut found = None;
        for (prefer, counts) in [(true, false), (false, false), (true, true)] {
            if counts && self.counters.values().all(|c| c.3.is_some()) {
                break;
            }
            let outer = std::mem::replace(&mut self.counts, counts);
            let p = self.congruent(id, prefer, depth);
            self.counts = outer;
            let Some(p) = p else {
                break;
            };
            if p.terms.len() > MAX_TERMS || p.degree() > MAX_DEGREE {
                break;
            }
            let known = p.value().is_some_and(|v| lo <= v && v <= hi);
            if known || self.within(&p, lo, hi) {
                found = Some(p);
                break;
            }
        }
        let p = found.unwrap_or_else(|| self.atom(id, sign));
        self.read.insert((id, sign), p.clone());
        p
    }

    fn within(&mut self, p: &Poly, lo: i128, hi: i128) -> bool {
        let below = p.plus(-1, &Poly::constant(lo));
        let above = Poly::constant(hi).plus(-1, p);
        match (below, above) {
            (Some(a), Some(b)) => self.proves(&a) && self.proves(&b),
            _ => false,
        }
    }

    /// A number of which the bounds are known.
    fn atom(&mut self, id: Id, sign: bool) -> Poly {
        let width = self.e.width(id);
        let (mut lo, mut hi) = limits_of(width, sign);
        let mut key = (id, sign);
        let range = match self.e.node(id) {
            Node::Symbol(s) => Some(self.e.symbols[*s as usize].range),
            _ => None,
        };
        if let Some((a, b)) = range
            && i128::from(b) <= limits_of(width, true).1
        {
            // Both readings are one number.
            (lo, hi) = (i128::from(a), i128::from(b));
            key.1 = false;
        }
        let p = Poly::atom(key);
        if self.atoms.insert(key) {
            let bounds = [
                p.plus(-1, &Poly::constant(lo)),
                Poly::constant(hi).plus(-1, &p),
            ];
            self.facts.extend(bounds.into_iter().flatten());
        }
        p
    }

    /// A polynomial that is congruent to the word modulo 2^width.
    fn congruent(&mut self, id: Id, sign: bool, depth: usize) -> Option<Poly> {
        work::spend(1);
        if depth > MAX_DEPTH || work::is_over() {
            return Some(self.atom(id, sign));
        }
        let width = self.e.width(id);
        let next = depth + 1;
        match self.e.node(id).clone() {
            Node::Const(v) => Some(Poly::constant(match sign {
                true => i128::from(crate::term::sext(v, width)),
                false => i128::from(v),
            })),
            Node::Symbol(_) => Some(match self.counters.get(&id) {
                Some(&(.., Some(exact))) => self.read_at(id, exact, next),
                Some(&(start, step, count, None)) if self.counts => {
                    let from = self.congruent(start, true, next)?;
                    let by = self.congruent(step, true, next)?;
                    let times = self.atom(count, false);
                    from.plus(1, &times.times(&by)?)?
                }
                Some(_) | None => self.atom(id, sign),
            }),
            Node::Word(BitsOp::Add, a, b) => {
                let (x, y) = (
                    self.congruent(a, sign, next)?,
                    self.congruent(b, sign, next)?,
                );
                x.plus(1, &y)
            }
            Node::Word(BitsOp::Mul, a, b) => {
                let (x, y) = (
                    self.congruent(a, true, next)?,
                    self.congruent(b, true, next)?,
                );
                let p = x.times(&y)?;
                Some(
                    match p.degree() <= MAX_DEGREE && p.terms.len() <= MAX_TERMS {
                        true => p,
                        false => self.atom(id, sign),
                    },
                )
            }
            Node::Low(a) => self.congruent(a, sign, next),
            Node::Wide(a) => Some(self.read_at(a, false, next)),
            Node::Signed(a) => Some(self.read_at(a, true, next)),
            Node::Word(BitsOp::LShr | BitsOp::AShr | BitsOp::UDiv | BitsOp::SDiv, ..) => {
                self.quotient(id, next);
                Some(self.atom(id, sign))
            }
            Node::Word(BitsOp::And, a, b) => match self.e.value(b) {
                Some(v) if v.wrapping_add(1).is_power_of_two() && v != u64::MAX => {
                    // The low bits are what a shift leaves.
                    let by = self.e.constant(u64::from((v + 1).trailing_zeros()), width);
                    let q = self.e.word(BitsOp::LShr, a, by);
                    let (x, q) = (self.read_at(a, false, next), self.read_at(q, false, next));
                    x.plus(-(i128::from(v) + 1), &q)
                }
                // All but the low bits is a multiple of what a shift leaves.
                Some(v)
                    if (!v & (u64::MAX >> (64 - u32::from(width))))
                        .wrapping_add(1)
                        .is_power_of_two()
                        && v != 0 =>
                {
                    let low = v.trailing_zeros();
                    let by = self.e.constant(u64::from(low), width);
                    let q = self.e.word(BitsOp::LShr, a, by);
                    self.read_at(q, false, next)
                        .times(&Poly::constant(1 << low))
                }
                _ => Some(self.atom(id, sign)),
            },
            Node::Word(op @ (BitsOp::URem | BitsOp::SRem), a, b) => {
                let signed = op == BitsOp::SRem;
                match self.remainder((signed, a, b), next)? {
                    Some(p) => Some(p),
                    None => Some(self.atom(id, sign)),
                }
            }
            // The complement of x is -1 - x.
            Node::Word(BitsOp::Xor, a, b)
                if width > 1 && self.e.value(b) == Some(u64::MAX >> (64 - u32::from(width))) =>
            {
                let x = self.congruent(a, sign, next)?;
                Poly::constant(-1).plus(-1, &x)
            }
            Node::Word(BitsOp::Or, a, b) if width > 1 && self.disjoint(a, b) => {
                let (x, y) = (
                    self.congruent(a, sign, next)?,
                    self.congruent(b, sign, next)?,
                );
                x.plus(1, &y)
            }
            Node::Word(..)
            | Node::Base(_)
            | Node::Compare(..)
            | Node::Choose(..)
            | Node::Function(..) => Some(self.atom(id, sign)),
        }
    }

    /// `x - (x / d) * d` is the remainder whatever the signs, where d is not 0; elsewhere nothing is known.
    fn remainder(&mut self, (sign, a, b): (bool, Id, Id), next: usize) -> Option<Option<Poly>> {
        let div = if sign { BitsOp::SDiv } else { BitsOp::UDiv };
        let q = self.e.word(div, a, b);
        let (x, q, d) = (
            self.read_at(a, sign, next),
            self.read_at(q, sign, next),
            self.read_at(b, sign, next),
        );
        let above_zero = d.plus(-1, &Poly::constant(1))?;
        match self.proves(&above_zero) {
            true => Some(Some(x.plus(-1, &q.times(&d)?)?)),
            false => Some(None),
        }
    }

    /// Whether two words have no bit in common: one ends in zeros where the other is small.
    fn disjoint(&self, a: Id, b: Id) -> bool {
        let zeros = |id: Id| u32::from(self.e.zeros(id));
        let size = |id: Id| match *self.e.node(id) {
            Node::Const(v) => 64 - v.leading_zeros(),
            Node::Symbol(s) => 64 - self.e.symbols[s as usize].range.1.leading_zeros(),
            Node::Word(BitsOp::And, _, k) => self.e.value(k).map_or(64, |v| 64 - v.leading_zeros()),
            _ => 64,
        };
        size(a) <= zeros(b) || size(b) <= zeros(a)
    }

    /// The facts that a quotient has: q*d <= x < (q+1)*d, for what is not negative.
    fn quotient(&mut self, id: Id, depth: usize) {
        let Node::Word(op, a, b) = *self.e.node(id) else {
            return;
        };
        let sign = matches!(op, BitsOp::SDiv | BitsOp::AShr);
        let q = self.atom(id, sign);
        let x = self.read_at(a, sign, depth);
        let d = match (op, self.e.value(b)) {
            (BitsOp::LShr | BitsOp::AShr, Some(by)) if by < 63 => Poly::constant(1 << by),
            (BitsOp::LShr | BitsOp::AShr, _) => return,
            _ => self.read_at(b, sign, depth),
        };
        let one = Poly::constant(1);
        let positive = d.plus(-1, &one).is_some_and(|p| self.proves(&p));
        // A shift rounds down whatever the sign.
        if !positive || op == BitsOp::SDiv && !self.proves(&x) {
            return;
        }
        let whole = q.times(&d);
        let low = whole.as_ref().and_then(|w| x.plus(-1, w));
        let high = whole.and_then(|w| w.plus(1, &d)?.plus(-1, &x)?.plus(-1, &one));
        for f in [low, high].into_iter().flatten() {
            if !self.facts.contains(&f) {
                self.facts.push(f);
            }
        }
    }

    /// Whether an atom is never negative, by the facts that are linear.
    fn is_positive(&mut self, a: Atom) -> bool {
        if let Some(&known) = self.positive.get(&a) {
            return known;
        }
        self.positive.insert(a, false);
        let p = Poly::atom(a);
        let holds = !a.1 || self.is_bounded(&p) || self.excludes(&p, Products::None);
        self.positive.insert(a, holds);
        holds
    }

    /// Whether the polynomial is at least 0 wherever all facts hold.
    pub(super) fn proves(&mut self, p: &Poly) -> bool {
        if let Some(v) = p.value() {
            return v >= 0;
        }
        let all_positive = p
            .terms
            .iter()
            .all(|(m, c)| *c > 0 && (m.is_empty() || m.iter().all(|a| !a.1)));
        all_positive
            || self.is_bounded(p)
            || self.excludes(p, Products::None)
            || p.degree() > 1
                && (self.excludes(p, Products::Closed) || self.excludes(p, Products::Open))
    }

    /// Whether the bounds of its atoms alone keep the polynomial at 0 or above.
    fn is_bounded(&mut self, p: &Poly) -> bool {
        let products = &self.products;
        let most = |m: &[Atom]| size_product(products, m);
        self.bounds.learn(&self.facts, &most);
        self.bounds.lowest(p, &most).is_some_and(|low| low >= 0)
    }

    fn excludes(&mut self, goal: &Poly, products: Products) -> bool {
        if self.limits.reached().is_some() {
            return false;
        }
        let Some(negated) = Poly::constant(-1).plus(-1, goal) else {
            return false;
        };
        let mut list = vec![negated];
        match products {
            Products::None => {}
            Products::Closed => self.closed_products(goal, &mut list),
            Products::Open => self.multiplied(&mut list),
        }
        // Facts are drawn in by the monomials that they share with the question.
        let mut seen: FxHashSet<Vec<Atom>> =
            list.iter().flat_map(|p| p.terms.keys().cloned()).collect();
        let degree = goal.degree().max(1);
        let mut left: Vec<Poly> = self
            .facts
            .iter()
            .filter_map(|f| match products {
                Products::None if f.degree() > degree => relaxed(f, degree),
                _ => Some(f.clone()),
            })
            .collect();
        for _ in 0..3 {
            let (near, far): (Vec<Poly>, Vec<Poly>) = left
                .into_iter()
                .partition(|f| f.terms.keys().any(|m| !m.is_empty() && seen.contains(m)));
            seen.extend(near.iter().flat_map(|f| f.terms.keys().cloned()));
            list.extend(near);
            left = far;
            if list.len() > MAX_CONSTRAINTS / 2 {
                break;
            }
        }
        let mut seen: Vec<Vec<Atom>> = seen.into_iter().collect();
        seen.sort_unstable();
        for m in &seen {
            if let Some(most) = size_product(&self.products, m) {
                let p = Poly {
                    terms: [(m.clone(), 1)].into_iter().collect(),
                };
                list.extend(Poly::constant(most).plus(-1, &p));
            }
        }
        excluded(&list)
    }

    /// Adds facts times atoms that bring in no product that the question and the facts do not speak of.
    fn closed_products(&mut self, goal: &Poly, list: &mut Vec<Poly>) {
        let known: FxHashSet<Vec<Atom>> = self
            .facts
            .iter()
            .chain([goal])
            .flat_map(|p| p.terms.keys().filter(|m| m.len() > 1).cloned())
            .collect();
        let is_size = |m: &[Atom]| {
            let all = |sizes: &Vec<Id>| m.iter().all(|a| sizes.contains(&a.0));
            self.products.iter().any(|(sizes, _)| all(sizes))
        };
        let mut factors: Vec<Vec<Atom>> = known
            .iter()
            .flat_map(|m| {
                (0..m.len()).map(|i| {
                    let mut rest = m.clone();
                    rest.remove(i);
                    rest
                })
            })
            .collect();
        factors.sort_unstable();
        factors.dedup();
        let mut found = Vec::new();
        for rest in &factors {
            let factor = Poly {
                terms: [(rest.clone(), 1)].into_iter().collect(),
            };
            for fact in self.facts.iter().filter(|f| f.degree() == 1) {
                let fits = |m: &Vec<Atom>| m.len() < 2 || known.contains(m) || is_size(m);
                if let Some(p) = fact.times(&factor)
                    && p.terms.keys().all(fits)
                {
                    found.push((rest.clone(), p));
                }
            }
        }
        for (rest, p) in found {
            if list.len() <= MAX_CONSTRAINTS / 2 && rest.iter().all(|a| self.is_positive(*a)) {
                list.push(p);
            }
        }
    }

    /// Adds facts times atoms, for the products in the list: at first for what is there, then for what came with it.
    fn multiplied(&mut self, list: &mut Vec<Poly>) {
        let mut done: FxHashSet<(usize, Vec<Atom>)> = FxHashSet::default();
        for _ in 0..2 {
            let wanted: FxHashSet<Vec<Atom>> = list
                .iter()
                .flat_map(|p| p.terms.keys().filter(|m| m.len() > 1).cloned())
                .collect();
            let mut wanted: Vec<Vec<Atom>> = wanted.into_iter().collect();
            wanted.sort_unstable();
            for m in &wanted {
                for (i, x) in m.iter().enumerate() {
                    let mut rest = m.clone();
                    rest.remove(i);
                    if !rest.iter().all(|a| self.is_positive(*a)) {
                        continue;
                    }
                    let factor = Poly {
                        terms: [(rest.clone(), 1)].into_iter().collect(),
                    };
                    for f in 0..self.facts.len() {
                        let fact = &self.facts[f];
                        if fact.degree() != 1
                            || !fact.terms.contains_key(&vec![*x])
                            || !done.insert((f, rest.clone()))
                        {
                            continue;
                        }
                        list.extend(fact.times(&factor));
                        if list.len() > MAX_CONSTRAINTS / 2 {
                            return;
                        }
                    }
                }
            }
        }
    }
}
