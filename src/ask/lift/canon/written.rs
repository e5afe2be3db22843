//! Terms to trees as they are written, without a normal form.
//!
//! Problem: a canonical form multiplies out, divides by what all summands share and orders what a kernel asks of signs;
//! the formula of it may hold only where more is known than the kernel's author said, or may not be found in
//! time. Here each operation becomes the node that it is: sums and extrema of alike parts are flattened, products are
//! collected, and nothing is distributed. The formula of such a tree makes the terms that the kernel makes,
//! so that its proof is short.
//!
//! Integers are taken as those of mathematics, and a maximum of two as one that is no number where one of them is none.
//! That is a guess, as all trees are: the formula is proved.

use num_traits::{One, Zero};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Importer, MAX_DEPTH, Poly, put};
use crate::lift::tree::{Call, Id, Q, Tree};
use crate::term::{
    ArrayId, BitsOp, Class, Fun, ICmp, RCmp, Sort, Term, TermId, TermStore, pairs, sext,
};

/// Summands of one sum, and operands of one extremum.
const MAX_PARTS: usize = 1 << 16;

/// Chains of one operation, which become one node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chain {
    Sum,
    Max,
    Min,
    All,
    Any,
}

/// The chain that a term is part of.
fn chain(store: &TermStore, t: TermId) -> Option<Chain> {
    match store.get(t) {
        Term::Add(..) | Term::Neg(_) | Term::Sum(_) => Some(Chain::Sum),
        Term::Max(..) => Some(Chain::Max),
        Term::Min(..) => Some(Chain::Min),
        Term::And(..) => Some(Chain::All),
        Term::Or(..) => Some(Chain::Any),
        _ => None,
    }
}

/// The terms below some roots that become nodes of their own, operands first: all but the inner ones of chains.
fn whole(store: &TermStore, roots: &[TermId]) -> Vec<TermId> {
    let all = store.reachable(roots);
    let mut own: FxHashSet<TermId> = roots.iter().copied().collect();
    for &t in &all {
        if !own.contains(&t) && chain(store, t).is_none() {
            own.insert(t);
        }
        let outer = chain(store, t);
        let is_product = matches!(store.get(t), Term::Sum(_));
        store.children(t, |c| {
            if is_product || outer.is_none() || outer != chain(store, c) {
                own.insert(c);
            }
        });
    }
    all.into_iter().filter(|t| own.contains(t)).collect()
}

type Made = Result<Id, String>;

impl Importer<'_, '_> {
    /// The trees of terms, each as it is written; an error for what formulas cannot say.
    pub(in crate::lift) fn as_written(&mut self, roots: &[TermId]) -> FxHashMap<TermId, Made> {
        let mut done: FxHashMap<TermId, Made> = FxHashMap::default();
        let mut depth: FxHashMap<Id, u32> = FxHashMap::default();
        for t in whole(self.store, roots) {
            if let Some(why) = self.limits.reached() {
                done.insert(t, Err(why.to_string()));
                continue;
            }
            let made = self
                .written(t, &done)
                .and_then(|id| match self.is_deep(id, &mut depth) {
                    true => Err("the value nests too deep".into()),
                    false => Ok(id),
                });
            done.insert(t, made);
        }
        done
    }

    fn is_deep(&self, id: Id, depth: &mut FxHashMap<Id, u32>) -> bool {
        let mut open = vec![(id, false)];
        while let Some((id, is_ready)) = open.pop() {
            if depth.contains_key(&id) {
                continue;
            }
            let children = self.forest.get(id).children();
            if is_ready || children.is_empty() {
                let below = children.iter().map(|c| depth.get(c).copied().unwrap_or(0));
                let own = below.max().unwrap_or(0) + 1;
                depth.insert(id, own);
                continue;
            }
            open.push((id, true));
            open.extend(children.into_iter().map(|c| (c, false)));
        }
        // A sum, a product and a function stand for one level of a form.
        depth.get(&id).is_none_or(|&d| d > 3 * MAX_DEPTH)
    }

    fn written(&mut self, t: TermId, done: &FxHashMap<TermId, Made>) -> Made {
        match self.store.sort(t) {
            Sort::Real => self.number_of(t, done),
            Sort::Bool => self.condition_of(t, done),
            Sort::Bits(_) => self.integer_of(t, done),
        }
    }

    /// The operands of a chain, each with the sign or the factor before it.
    fn operands(
        &mut self,
        t: TermId,
        kind: Chain,
        done: &FxHashMap<TermId, Made>,
    ) -> Result<Vec<(Q, Id)>, String> {
        let store = self.store;
        let mut out = Vec::new();
        let mut open = vec![(t, Q::one(), true)];
        while let Some((t, q, is_first)) = open.pop() {
            if out.len() + open.len() > MAX_PARTS {
                return Err("it has too many parts".into());
            }
            let inner = is_first || chain(store, t) == Some(kind);
            match store.get(t) {
                Term::Add(a, b)
                | Term::Max(a, b)
                | Term::Min(a, b)
                | Term::And(a, b)
                | Term::Or(a, b)
                    if inner =>
                {
                    open.push((b, q.clone(), false));
                    open.push((a, q, false));
                }
                Term::Neg(a) if inner => open.push((a, -q, false)),
                Term::Sum(list) if inner => {
                    for (a, b) in pairs(list) {
                        let [a, b] = [known(done, a)?, known(done, b)?];
                        out.push((q.clone(), self.times(a, b)));
                    }
                }
                _ => out.push((q, known(done, t)?)),
            }
        }
        Ok(out)
    }

    /// The summands of a number.
    fn summands(&self, id: Id) -> Poly {
        match self.forest.get(id) {
            Tree::Sum(list) => list.iter().map(|(q, p)| (*p, q.clone())).collect(),
            _ => Poly::new(),
        }
    }

    /// A number as one multiple of a product.
    fn single(&mut self, id: Id) -> (Q, Id) {
        if let Tree::Sum(list) = self.forest.get(id) {
            match &**list {
                [] => return (Q::zero(), self.forest.product([])),
                [(q, p)] => return (q.clone(), *p),
                _ => {}
            }
        }
        (Q::one(), self.forest.product([(id, 1)]))
    }

    fn times(&mut self, a: Id, b: Id) -> Id {
        let ((p, x), (q, mut y)) = (self.single(a), self.single(b));
        let powers = |p: Id| match self.forest.get(p) {
            Tree::Product(list) => list.to_vec(),
            _ => Vec::new(),
        };
        // A quotient by what stands above it says where it has a value, and is not shortened.
        let above = powers(x);
        let below = powers(y);
        let log2 = self.log2();
        let is_shortened = below.iter().filter(|p| p.0 != log2).any(|&(f, n)| {
            above
                .iter()
                .any(|&(g, m)| f == g && n.signum() != m.signum())
        });
        if is_shortened {
            let own = self.forest.sum([(y, Q::one())]);
            y = self.forest.product([(own, 1)]);
        }
        let whole = self.multiplied(x, y);
        let number = p * q;
        let is_zero = number.is_zero();
        self.forest.sum((!is_zero).then_some((whole, number)))
    }

    /// The reciprocal of a number.
    fn inverse(&mut self, a: Id) -> Made {
        let (q, p) = self.single(a);
        if q.is_zero() {
            return Err("a quotient by zero".into());
        }
        let turned: Vec<(Id, i32)> = match self.forest.get(p) {
            Tree::Product(list) => list.iter().map(|&(f, n)| (f, -n)).collect(),
            _ => vec![(p, -1)],
        };
        let p = self.forest.product(turned);
        Ok(self.forest.sum([(p, q.recip())]))
    }

    fn added(&mut self, parts: Vec<(Q, Id)>) -> Id {
        let mut out = Poly::new();
        for (q, id) in parts {
            for (p, k) in self.summands(id) {
                put(&mut out, p, &(k * &q));
            }
        }
        self.forest.sum(out)
    }

    fn called(&mut self, call: Call, x: Id) -> Id {
        let t = self.forest.put(Tree::Call(call, x));
        self.forest.alone(t)
    }

    /// A number times a power of the logarithm of 2.
    fn times_power_of_log2(&mut self, x: Id, power: i32) -> Id {
        let poly = self.summands(x);
        let poly = self.times_log2(poly, power);
        self.forest.sum(poly)
    }

    fn number_of(&mut self, t: TermId, done: &FxHashMap<TermId, Made>) -> Made {
        let store = self.store;
        Ok(match store.get(t) {
            Term::Const(c) => self.forest.number(store.constant(c).clone()),
            Term::Inf { neg } => {
                let t = self.forest.put(Tree::Infinity(neg));
                self.forest.alone(t)
            }
            Term::Elem {
                array: ArrayId::CONSTANTS,
                ..
            } => {
                let one = self.forest.number(Q::one());
                self.times_power_of_log2(one, -1)
            }
            Term::Elem { .. } => {
                let own = self.symbol(t)?;
                self.forest.alone(own)
            }
            Term::Add(..) | Term::Neg(_) | Term::Sum(_) => {
                let parts = self.operands(t, Chain::Sum, done)?;
                self.added(parts)
            }
            Term::Mul(a, b) => self.times(known(done, a)?, known(done, b)?),
            Term::Div(a, b) => {
                let below = self.inverse(known(done, b)?)?;
                self.times(known(done, a)?, below)
            }
            Term::Fun(f, x) => self.function_of(f, known(done, x)?)?,
            Term::Max(..) => self.extremum(t, Chain::Max, done)?,
            Term::Min(..) => self.extremum(t, Chain::Min, done)?,
            Term::Select(p, a, b) => self.choice(known(done, p)?, known(done, a)?, known(done, b)?),
            Term::OfInt { bits, .. } => known(done, bits)?,
            Term::Made(made) => known(done, made.real())?,
            Term::Undefined => return Err("a value that is no number".into()),
            _ => return Err("an operation on bits".into()),
        })
    }

    fn function_of(&mut self, f: Fun, x: Id) -> Made {
        let call = match f {
            Fun::Exp2 => {
                let x = self.times_power_of_log2(x, 1);
                return Ok(self.called(Call::Exp, x));
            }
            Fun::Log2 => {
                let log = self.called(Call::Log, x);
                return Ok(self.times_power_of_log2(log, -1));
            }
            Fun::Rsqrt => {
                let root = self.called(Call::Sqrt, x);
                return self.inverse(root);
            }
            Fun::Sqrt => Call::Sqrt,
            Fun::Sin => Call::Sin,
            Fun::Cos => Call::Cos,
            Fun::Tanh => Call::Tanh,
            Fun::Erf => Call::Erf,
            Fun::Abs => Call::Abs,
            Fun::Floor => Call::Floor,
            Fun::Ceil => Call::Ceil,
            Fun::Trunc => Call::Trunc,
            Fun::RoundEven => Call::Rint,
        };
        Ok(self.called(call, x))
    }

    fn extremum(&mut self, t: TermId, kind: Chain, done: &FxHashMap<TermId, Made>) -> Made {
        let mut list: Vec<Id> = self
            .operands(t, kind, done)?
            .into_iter()
            .map(|p| p.1)
            .collect();
        list.sort_unstable();
        list.dedup();
        let tree = match kind {
            Chain::Min => Tree::Min(list.into()),
            _ => Tree::Max(list.into()),
        };
        let tree = self.forest.put(tree);
        Ok(self.forest.alone(tree))
    }

    /// One of two numbers.
    fn choice(&mut self, c: Id, a: Id, b: Id) -> Id {
        let tree = match *self.forest.get(c) {
            Tree::Call(Call::Not, c) => Tree::Choose(c, b, a),
            _ => Tree::Choose(c, a, b),
        };
        let tree = self.forest.put(tree);
        self.forest.alone(tree)
    }

    fn negation(&mut self, c: Id) -> Id {
        match *self.forest.get(c) {
            Tree::Call(Call::Not, c) => c,
            _ => self.forest.put(Tree::Call(Call::Not, c)),
        }
    }

    /// Whether a is below b, or equal to it.
    fn comparison_of(&mut self, call: Call, a: Id, b: Id) -> Id {
        let difference = self.added(vec![(Q::one(), a), (-Q::one(), b)]);
        self.tested(call, difference)
    }

    fn condition_of(&mut self, t: TermId, done: &FxHashMap<TermId, Made>) -> Made {
        let store = self.store;
        let pair = |a, b| Ok::<_, String>((known(done, a)?, known(done, b)?));
        Ok(match store.get(t) {
            Term::Bool(b) => {
                let always = self.forest.put(Tree::All([].into()));
                if b { always } else { self.negation(always) }
            }
            Term::RCmp(RCmp::Lt, a, b) | Term::ICmp(ICmp::SLt | ICmp::ULt, a, b) => {
                let (a, b) = pair(a, b)?;
                self.comparison_of(Call::Below, a, b)
            }
            Term::RCmp(RCmp::Le, a, b) | Term::ICmp(ICmp::SLe | ICmp::ULe, a, b) => {
                let (a, b) = pair(a, b)?;
                let above = self.comparison_of(Call::Below, b, a);
                self.negation(above)
            }
            Term::RCmp(RCmp::Eq, a, b) | Term::ICmp(ICmp::Eq, a, b) => {
                let (a, b) = pair(a, b)?;
                self.comparison_of(Call::Zero, a, b)
            }
            Term::Is(Class::Nan, x) => {
                let x = known(done, x)?;
                self.forest.put(Tree::Call(Call::IsNan, x))
            }
            Term::Is(class, x) => {
                let infinity = self.forest.put(Tree::Infinity(class == Class::NegInf));
                let infinity = self.forest.alone(infinity);
                self.comparison_of(Call::Zero, known(done, x)?, infinity)
            }
            Term::Not(a) => self.negation(known(done, a)?),
            Term::And(..) => {
                let all = self.operands(t, Chain::All, done)?;
                self.all(all.into_iter().map(|p| p.1).collect())
            }
            Term::Or(..) => {
                let any = self.operands(t, Chain::Any, done)?;
                let none = any.into_iter().map(|p| self.negation(p.1)).collect();
                let none = self.all(none);
                self.negation(none)
            }
            _ => return Err("a test of bits".into()),
        })
    }

    fn all(&mut self, list: Vec<Id>) -> Id {
        let mut out: Vec<Id> = Vec::new();
        for c in list {
            match self.forest.get(c) {
                Tree::All(inner) => out.extend(inner.iter()),
                _ => out.push(c),
            }
        }
        out.sort_unstable();
        out.dedup();
        match out.as_slice() {
            [one] => *one,
            _ => self.forest.put(Tree::All(out.into())),
        }
    }

    /// The integer that bits denote, as if it were below no bound.
    fn integer_of(&mut self, t: TermId, done: &FxHashMap<TermId, Made>) -> Made {
        let store = self.store;
        let constant = |t: TermId| match store.get(t) {
            Term::BitsConst { width, value } => Some(sext(value, width)),
            _ => None,
        };
        let is_zero = |t: u32| constant(TermId(t)) == Some(0);
        const WHY: &str = "an operation on bits";
        Ok(match store.get(t) {
            Term::BitsConst { width, value } => self
                .forest
                .number(Q::from_integer(sext(value, width).into())),
            Term::Bytes { array, off, .. } => {
                let own = self.read(array, off)?;
                self.forest.alone(own)
            }
            Term::BitsOp(BitsOp::Add, a, b) => {
                let parts = vec![(Q::one(), known(done, a)?), (Q::one(), known(done, b)?)];
                self.added(parts)
            }
            Term::BitsOp(BitsOp::Mul, a, b) => self.times(known(done, a)?, known(done, b)?),
            Term::BitsOp(BitsOp::Shl, a, k) => {
                let k = constant(k).filter(|k| (0..63).contains(k)).ok_or(WHY)?;
                let power = self.forest.number(Q::from_integer((1i64 << k).into()));
                self.times(known(done, a)?, power)
            }
            // The sign that an extension copies.
            Term::BitsOp(BitsOp::AShr, a, _) => match store.get(a) {
                Term::Concat(list) if list.len() == 2 && is_zero(list[0]) => {
                    known(done, TermId(list[1]))?
                }
                _ => return Err(WHY.into()),
            },
            Term::BitsOp(BitsOp::SDiv | BitsOp::UDiv, a, b) => {
                let k = constant(b).filter(|k| *k > 0).ok_or(WHY)?;
                let part = self.forest.number(Q::new(1.into(), k.into()));
                let q = self.times(known(done, a)?, part);
                self.called(Call::Floor, q)
            }
            Term::BitsSum(list) => {
                let mut parts = Vec::new();
                for (a, b) in pairs(list) {
                    let [a, b] = [known(done, a)?, known(done, b)?];
                    parts.push((Q::one(), self.times(a, b)));
                }
                self.added(parts)
            }
            Term::Concat(list) if list[1..].iter().all(|&t| is_zero(t)) => {
                known(done, TermId(list[0]))?
            }
            Term::Extract { bits, low: 0, .. } => known(done, bits)?,
            Term::BitsSelect(p, a, b) => {
                self.choice(known(done, p)?, known(done, a)?, known(done, b)?)
            }
            Term::OfBool { p, .. } => {
                let (one, none) = (self.forest.number(Q::one()), self.forest.number(Q::zero()));
                self.choice(known(done, p)?, one, none)
            }
            Term::Clamp { real, .. } => known(done, real)?,
            _ => return Err(WHY.into()),
        })
    }
}

/// What an operand became.
fn known(done: &FxHashMap<TermId, Made>, t: TermId) -> Made {
    match done.get(&t) {
        Some(made) => made.clone(),
        None => Err("an operand that was not met".into()),
    }
}
