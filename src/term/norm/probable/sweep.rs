//! The values of terms at all points, each term once, operands before their users.

use num_rational::BigRational;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::field::{Draws, FIELD_BITS, Fields, PRIME_CHOICES};
use super::linear::{self, Class, Classes, Dyadic, Linear};
use super::size::{Size, Sizes};
use crate::term::{Fun, Sort, Term, TermId, TermStore, pairs};

/// Terms of a product of exponents that are multiplied out, and steps that this may take.
const MAX_EXPANDED: usize = 1 << 12;
const MAX_STEPS: usize = 1 << 15;
/// Factors of one monomial while it is made.
const MAX_FACTORS: usize = 64;

/// Steps that flattening maxima may take in all.
const MAX_FLATTENED: usize = 1 << 26;

/// Allowance for the rounding of doubles in sizes: a millionth of a bit for each of a million steps is
/// less.
const SLACK: f64 = 1.0;

/// The pass over the terms below some roots.
pub(super) struct Sweep<'s> {
    store: &'s TermStore,
    /// By term, its place in the cone of the roots.
    place_of: Vec<u32>,
    fields: Vec<Fields>,
    draws: Draws,
    /// At each point, by place.
    values: Vec<u64>,
    /// By place: whether the term has a value, or is a node.
    known: Vec<bool>,
    sizes: Vec<Size>,
    table: Sizes,
    /// Sizes of 1 over what is divided by: a term, or the root of a node.
    inverses: FxHashMap<(bool, u32), Size>,
    classes: Classes,
    /// By place: the node of what is no real.
    node_of: Vec<u32>,
    /// What is compared by its operands.
    nodes: FxHashMap<Box<[u64]>, u32>,
    /// Forms of terms in exponents, by place.
    forms: FxHashMap<u32, Linear>,
    /// By place: wanted as an exponent.
    in_exponent: Vec<bool>,
    /// By place: wanted for itself, not only as part of a maximum.
    wanted: Vec<bool>,
    flattened: usize,
    /// Bits after the binary point of the finest coefficient of an exponent.
    fraction: u32,
    /// Bits after the binary point of the finest constant exponent that is a root of 2.
    root: u32,
}

/// Tags of nodes that are not terms, and of operands that are real.
const MAX_SET: u64 = 1 << 62;
const ROOT: u64 = 1 << 61;
const REAL: u64 = 1 << 60;

impl<'s> Sweep<'s> {
    pub(super) fn new(
        store: &'s TermStore,
        cone: &[TermId],
        roots: &[TermId],
        fields: Vec<Fields>,
        draws: Draws,
    ) -> Sweep<'s> {
        let (n, points) = (cone.len(), fields.len());
        let mut place_of = vec![0; store.len()];
        for (i, t) in cone.iter().enumerate() {
            place_of[t.0 as usize] = i as u32;
        }
        let mut sweep = Sweep {
            store,
            place_of,
            fields,
            values: vec![0; n * points],
            known: vec![false; n],
            sizes: vec![Size::number(0.0, 0.0); n],
            table: Sizes::new(),
            inverses: FxHashMap::default(),
            classes: Classes::new(points, draws.clone()),
            draws,
            node_of: vec![0; n],
            nodes: FxHashMap::default(),
            forms: FxHashMap::default(),
            in_exponent: vec![false; n],
            wanted: vec![false; n],
            flattened: 0,
            fraction: 0,
            root: 0,
        };
        for t in roots {
            let at = sweep.place(*t);
            sweep.wanted[at] = true;
        }
        for (i, &t) in cone.iter().enumerate().rev() {
            sweep.want(i, t);
        }
        sweep
    }

    /// Number of classes and nodes that were told apart.
    pub(super) fn count(&self) -> usize {
        self.classes.len() + self.nodes.len()
    }

    /// Binary logarithm of the chance that two different classes agree at one point.
    pub(super) fn chance(&self) -> f64 {
        let worst = self.classes.worst;
        // Two classes together, cleared of negative powers.
        let degree = 4.0 * (worst.degree + worst.weight * f64::from(self.fraction).exp2());
        let vanishes = degree.log2() - FIELD_BITS;
        // An integer has a prime of 60 bits for every 60 bits; its norm, where there are roots of 2.
        let divides = (2.0 * worst.height.max(60.0) / 60.0).log2() + f64::from(self.root);
        let divides = divides - PRIME_CHOICES;
        let sum = (vanishes.exp2() + divides.exp2()).log2() + SLACK;
        if sum.is_nan() { 0.0 } else { sum }
    }

    fn place(&self, t: TermId) -> usize {
        self.place_of[t.0 as usize] as usize
    }

    /// Marks what the operands of a term are wanted for.
    fn want(&mut self, at: usize, t: TermId) {
        let term = self.store.get(t);
        let mut list: SmallVec<[TermId; 4]> = SmallVec::new();
        self.store.children(t, |c| list.push(c));
        for c in list {
            let inside = matches!(
                (term, self.store.get(c)),
                (Term::Max(..), Term::Max(..)) | (Term::Min(..), Term::Min(..))
            );
            if !inside {
                let c = self.place(c);
                self.wanted[c] = true;
            }
        }
        let mut exponents: SmallVec<[TermId; 4]> = SmallVec::new();
        match term {
            Term::Fun(Fun::Exp2, a) => exponents.push(a),
            _ if !self.in_exponent[at] => {}
            Term::Add(a, b) => exponents.extend([a, b]),
            Term::Neg(a) => exponents.push(a),
            Term::Mul(a, b) => exponents.extend(self.scaled(a, b).map(|s| s.1)),
            Term::Sum(list) => {
                let scaled = pairs(list).filter_map(|(a, b)| self.scaled(a, b));
                exponents.extend(scaled.map(|s| s.1));
            }
            _ => {}
        }
        for e in exponents {
            let e = self.place(e);
            self.in_exponent[e] = true;
        }
    }

    /// A product with a coefficient, as the coefficient and the other factor.
    fn scaled(&self, a: TermId, b: TermId) -> Option<(Dyadic, TermId)> {
        let coefficient = |t| self.store.as_const(t).and_then(Dyadic::of);
        match (coefficient(a), coefficient(b)) {
            (Some(c), _) => Some((c, b)),
            (_, Some(c)) => Some((c, a)),
            _ => None,
        }
    }

    fn value(&self, t: TermId) -> Option<&[u64]> {
        let at = self.place(t);
        let n = self.fields.len();
        self.known[at].then(|| &self.values[at * n..at * n + n])
    }

    fn size(&self, t: TermId) -> Size {
        self.sizes[self.place(t)]
    }

    /// The class of a real term.
    pub(super) fn class(&mut self, t: TermId) -> Option<Class> {
        let extent = self.table.total(self.size(t));
        let values: SmallVec<[u64; 4]> = SmallVec::from_slice(self.value(t)?);
        Some(self.classes.of(&values, extent))
    }

    /// The node of a term that is no real.
    pub(super) fn node(&self, t: TermId) -> Option<u32> {
        let at = self.place(t);
        self.known[at].then(|| self.node_of[at])
    }

    /// An operand, for a key.
    fn operand(&mut self, t: TermId) -> Option<u64> {
        Some(match self.store.sort(t) {
            Sort::Real => REAL | u64::from(self.class(t)?.0),
            _ => u64::from(self.node(t)?),
        })
    }

    fn intern(&mut self, key: &[u64]) -> u32 {
        let next = self.nodes.len() as u32;
        match self.nodes.get(key) {
            Some(id) => *id,
            None => {
                self.nodes.insert(key.into(), next);
                next
            }
        }
    }

    /// The value of an atom.
    fn drawn(&self, atom: u32) -> Vec<u64> {
        let points = self.fields.iter().enumerate();
        let draw = |(i, f)| self.draws.value(f, u64::from(atom), i);
        points.map(draw).collect()
    }

    /// The node of an operation on operands with their values.
    fn key(&mut self, t: TermId) -> Option<u32> {
        let label = self.store.label(t);
        let mut key: SmallVec<[u64; 8]> = SmallVec::new();
        key.extend([
            u64::from(label[0]) | u64::from(label[1]) << 32,
            u64::from(label[2]) | u64::from(label[3]) << 32,
        ]);
        match self.store.get(t) {
            Term::Elem { off, .. } | Term::Bytes { off, .. } => key.push(off),
            Term::Extract { low, .. } => key.push(u64::from(low)),
            Term::Inf { .. } | Term::Undefined | Term::Poison { .. } => return None,
            _ => {}
        }
        let first = key.len();
        let mut list: SmallVec<[TermId; 4]> = SmallVec::new();
        self.store.children(t, |c| list.push(c));
        for c in list {
            let operand = self.operand(c)?;
            key.push(operand);
        }
        if self.store.commutes(t) {
            key[first..].sort_unstable();
        }
        Some(self.intern(&key))
    }

    /// Computes what stands at a place of the cone, whose operands are computed.
    pub(super) fn step(&mut self, at: usize, t: TermId) {
        if !self.wanted[at] {
            return;
        }
        if self.store.sort(t) != Sort::Real {
            if let Some(node) = self.key(t) {
                self.node_of[at] = node;
                self.known[at] = true;
            }
            return;
        }
        let Some((values, size)) = self.real(t) else {
            return;
        };
        let n = self.fields.len();
        self.values[at * n..at * n + n].copy_from_slice(&values);
        self.sizes[at] = size;
        self.known[at] = true;
        if self.in_exponent[at] {
            let form = match self.form(t) {
                Some(form) => Some(form),
                None => self.atom(t),
            };
            if let Some(form) = form {
                self.forms.insert(at as u32, form);
            }
        }
    }

    /// Values at all points, and the size of the polynomials.
    fn real(&mut self, t: TermId) -> Option<(Vec<u64>, Size)> {
        let n = self.fields.len();
        Some(match self.store.get(t) {
            Term::Const(c) => self.number(self.store.constant(c))?,
            Term::Add(a, b) => {
                let values = self.zip(a, b, |f, x, y| f.p.add(x, y))?;
                (values, self.table.sum(self.size(a), self.size(b)))
            }
            Term::Neg(a) => {
                let values = self.value(a)?.iter().zip(&self.fields);
                (values.map(|(x, f)| f.p.neg(*x)).collect(), self.size(a))
            }
            Term::Mul(a, b) => {
                let values = self.zip(a, b, |f, x, y| f.p.mul(x, y))?;
                (values, self.table.mul(self.size(a), self.size(b)))
            }
            Term::Sum(list) => {
                let mut values = vec![0; n];
                let mut all: Option<Size> = None;
                for (a, b) in pairs(list) {
                    let (x, y) = (self.value(a)?, self.value(b)?);
                    for (i, f) in self.fields.iter().enumerate() {
                        values[i] = f.p.add(values[i], f.p.mul(x[i], y[i]));
                    }
                    let size = self.table.mul(self.size(a), self.size(b));
                    all = Some(match all {
                        Some(all) => self.table.sum(all, size),
                        None => size,
                    });
                }
                (values, all.unwrap_or(Size::number(0.0, 0.0)))
            }
            Term::Div(a, b) => {
                let below = self.inverse(b)?;
                let values = self.value(a)?.iter().zip(&below).zip(&self.fields);
                let values = values.map(|((x, y), f)| f.p.mul(*x, *y)).collect();
                let below = self.inverse_size(b);
                (values, self.table.mul(self.size(a), below))
            }
            Term::Fun(Fun::Exp2, a) => match self.power(a) {
                Some(power) => power,
                None => self.opaque(t)?,
            },
            // Only what has a root has one that can be inverted.
            Term::Fun(Fun::Rsqrt, a) => {
                let of = self.operand(a)?;
                let root = self.intern(&[ROOT, of]);
                self.inverted(root)?
            }
            Term::Fun(Fun::Sqrt, a) => {
                let of = self.operand(a)?;
                let root = self.intern(&[ROOT, of]);
                (self.drawn(root), Size::variable())
            }
            Term::Max(..) | Term::Fun(Fun::Abs, _) => self.maximum(t, false)?,
            Term::Min(..) => self.maximum(t, true)?,
            Term::Select(_, a, b) if self.class(a).is_some() && self.class(a) == self.class(b) => {
                (self.value(a)?.to_vec(), self.size(a))
            }
            _ => self.opaque(t)?,
        })
    }

    fn zip(&self, a: TermId, b: TermId, f: impl Fn(&Fields, u64, u64) -> u64) -> Option<Vec<u64>> {
        let (x, y) = (self.value(a)?, self.value(b)?);
        let all = x.iter().zip(y).zip(&self.fields);
        Some(all.map(|((x, y), fields)| f(fields, *x, *y)).collect())
    }

    fn inverse(&self, t: TermId) -> Option<Vec<u64>> {
        let all = self.value(t)?.iter().zip(&self.fields);
        all.map(|(x, f)| f.p.inverse(*x)).collect()
    }

    /// 1 over an atom.
    fn inverted(&mut self, atom: u32) -> Option<(Vec<u64>, Size)> {
        let values = self.drawn(atom);
        let all = values.iter().zip(&self.fields);
        let values: Option<Vec<u64>> = all.map(|(x, f)| f.p.inverse(*x)).collect();
        let table = &mut self.table;
        let size = self.inverses.entry((true, atom));
        let size = *size.or_insert_with(|| table.inverse(Size::variable()));
        Some((values?, size))
    }

    /// The size of 1 over a term, with one denominator wherever it is divided by.
    fn inverse_size(&mut self, t: TermId) -> Size {
        let own = self.size(t);
        let table = &mut self.table;
        let size = self.inverses.entry((false, t.0));
        *size.or_insert_with(|| table.inverse(own))
    }

    fn number(&mut self, x: &BigRational) -> Option<(Vec<u64>, Size)> {
        let values: Option<Vec<u64>> = self.fields.iter().map(|f| f.p.rational(x)).collect();
        let (above, below) = (x.numer().bits() as f64, x.denom().bits() as f64);
        let size = match x.denom().magnitude().count_ones() {
            1 => Size::number(above, below - 1.0),
            _ => {
                let below = self.table.inverse(Size::number(below, 0.0));
                self.table.mul(Size::number(above, 0.0), below)
            }
        };
        Some((values?, size))
    }

    /// 2 to the form of an exponent.
    fn power(&mut self, exponent: TermId) -> Option<(Vec<u64>, Size)> {
        let at = self.place(exponent) as u32;
        let power = linear::exp2(self.forms.get(&at)?, &self.classes, &self.fields)?;
        self.fraction = self.fraction.max(power.fraction);
        self.root = self.root.max(power.root);
        Some((power.values, Size::exponential(power.weight, power.whole)))
    }

    /// An atom of its own for each node.
    fn opaque(&mut self, t: TermId) -> Option<(Vec<u64>, Size)> {
        let node = self.key(t)?;
        Some((self.drawn(node), Size::variable()))
    }

    /// The maximum of all that a maximum of maxima is over, or with `minimum` what is its negation.
    fn maximum(&mut self, t: TermId, minimum: bool) -> Option<(Vec<u64>, Size)> {
        let mut key = vec![MAX_SET];
        let mut leaf = t;
        let mut seen = FxHashSet::default();
        let mut stack = vec![(t, minimum)];
        while let Some((t, negated)) = stack.pop() {
            if !seen.insert((t, negated)) {
                continue;
            }
            self.flattened += 1;
            if self.flattened > MAX_FLATTENED {
                return None;
            }
            match (self.store.get(t), negated) {
                (Term::Max(a, b), false) | (Term::Min(a, b), true) => {
                    stack.extend([(a, negated), (b, negated)]);
                }
                (Term::Fun(Fun::Abs, a), false) => stack.extend([(a, false), (a, true)]),
                (Term::Neg(a), _) => stack.push((a, !negated)),
                (_, false) => {
                    leaf = t;
                    key.push(u64::from(self.class(t)?.0));
                }
                (_, true) => {
                    leaf = t;
                    let extent = self.table.total(self.size(t));
                    let all = self.value(t)?.iter().zip(&self.fields);
                    let values: Vec<u64> = all.map(|(x, f)| f.p.neg(*x)).collect();
                    key.push(u64::from(self.classes.of(&values, extent).0));
                }
            }
        }
        key[1..].sort_unstable();
        key.dedup();
        let (mut values, size) = match key[..] {
            // The class of one term, which every leaf is of.
            [_, one] => {
                let values = self.classes.values(Class(one as u32)).to_vec();
                (values, self.size(leaf))
            }
            _ => {
                let atom = self.intern(&key);
                (self.drawn(atom), Size::variable())
            }
        };
        if minimum {
            for (x, f) in values.iter_mut().zip(&self.fields) {
                *x = f.p.neg(*x);
            }
        }
        Some((values, size))
    }

    /// The form of a term that is in an exponent.
    fn form(&mut self, t: TermId) -> Option<Linear> {
        let n = self.fields.len();
        let place = |t: TermId| self.place(t) as u32;
        match self.store.get(t) {
            Term::Const(c) => {
                let c = Dyadic::of(self.store.constant(c))?;
                Some(Linear::constant(n, c))
            }
            Term::Add(a, b) => {
                let mut form = self.forms.get(&place(a))?.clone();
                form.add(self.forms.get(&place(b))?, &self.fields)?;
                Some(form)
            }
            Term::Neg(a) => {
                let form = self.forms.get(&place(a))?;
                form.scaled(Dyadic::ONE.neg(), &self.fields)
            }
            Term::Mul(a, b) => self.product(a, b),
            Term::Div(..) => self.expanded(&[t]),
            Term::Sum(list) => {
                let mut form = Linear::constant(n, Dyadic::ZERO);
                for (a, b) in pairs(list) {
                    let part = self.product(a, b)?;
                    form.add(&part, &self.fields)?;
                }
                Some(form)
            }
            _ => None,
        }
    }

    fn product(&mut self, a: TermId, b: TermId) -> Option<Linear> {
        match self.scaled(a, b) {
            Some((c, t)) => {
                let at = self.place(t) as u32;
                self.forms.get(&at)?.scaled(c, &self.fields)
            }
            None => match self.expanded(&[a, b]) {
                Some(form) => Some(form),
                None => {
                    let (x, y) = (self.class(a)?, self.class(b)?);
                    let both = self.classes.product(x, y, &self.fields);
                    self.monomial(both)
                }
            },
        }
    }

    /// A term as an atom of exponents.
    fn atom(&mut self, t: TermId) -> Option<Linear> {
        let class = self.class(t)?;
        self.monomial(class)
    }

    fn monomial(&mut self, class: Class) -> Option<Linear> {
        let mut form = Linear::constant(self.fields.len(), Dyadic::ZERO);
        form.add_monomial(Dyadic::ONE, Some(class), &mut self.classes, &self.fields)?;
        Some(form)
    }

    /// A product multiplied out.
    fn expanded(&mut self, product: &[TermId]) -> Option<Linear> {
        type Factors = SmallVec<[TermId; 4]>;
        let mut form = Linear::constant(self.fields.len(), Dyadic::ZERO);
        let start: Factors = SmallVec::from_slice(product);
        let mut stack: Vec<(Dyadic, Option<Class>, Factors)> = vec![(Dyadic::ONE, None, start)];
        let (mut steps, mut made) = (0, 0);
        while let Some((c, m, mut factors)) = stack.pop() {
            steps += 1;
            if steps > MAX_STEPS || factors.len() > MAX_FACTORS {
                return None;
            }
            let Some(t) = factors.pop() else {
                made += 1;
                if made > MAX_EXPANDED {
                    return None;
                }
                form.add_monomial(c, m, &mut self.classes, &self.fields)?;
                continue;
            };
            let number = self.store.as_const(t).and_then(Dyadic::of);
            match (self.store.get(t), number) {
                (_, Some(d)) => stack.push((c.times(d)?, m, factors)),
                (Term::Neg(a), _) => {
                    factors.push(a);
                    stack.push((c.neg(), m, factors));
                }
                (Term::Mul(a, b), _) => {
                    factors.extend([a, b]);
                    stack.push((c, m, factors));
                }
                (Term::Div(a, b), _) => {
                    let below = self.inverse(b)?;
                    let size = self.inverse_size(b);
                    let below = self.classes.of(&below, self.table.total(size));
                    let m = self.times(m, below);
                    factors.push(a);
                    stack.push((c, Some(m), factors));
                }
                (Term::Add(a, b), _) => {
                    for part in [a, b] {
                        let mut factors = factors.clone();
                        factors.push(part);
                        stack.push((c, m, factors));
                    }
                }
                (Term::Sum(list), _) => {
                    if list.len() / 2 > MAX_EXPANDED {
                        return None;
                    }
                    for (a, b) in pairs(list) {
                        let mut factors = factors.clone();
                        factors.extend([a, b]);
                        stack.push((c, m, factors));
                    }
                }
                _ => {
                    let own = self.class(t)?;
                    let m = self.times(m, own);
                    stack.push((c, Some(m), factors));
                }
            }
        }
        Some(form)
    }

    fn times(&mut self, m: Option<Class>, own: Class) -> Class {
        match m {
            Some(m) => self.classes.product(m, own, &self.fields),
            None => own,
        }
    }
}
