//! Formulas as they are put together, with variables by their places in the scope.

use num_traits::{One, Signed, Zero};

use super::linear::Linear;
use super::tree::{Call, Q};

/// What a reduction makes of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// Their product.
    Product,
    /// The largest.
    Max,
    /// The least.
    Min,
}

/// first <= index < last.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounds {
    /// The least value.
    pub first: Option<Linear>,
    /// What is bounded.
    pub index: Linear,
    /// The one after the greatest.
    pub end: Option<Linear>,
}

impl Bounds {
    /// True where they hold.
    pub(super) fn holds(&self, env: &[i64]) -> bool {
        let v = self.index.value(env);
        self.first.as_ref().is_none_or(|lo| v >= lo.value(env))
            && self.end.as_ref().is_none_or(|hi| v < hi.value(env))
    }
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A number.
    Number(Q),
    /// A constant of the kernel, by its number.
    Constant(u32),
    /// An infinity, true for minus.
    Infinity(bool),
    /// An index as a number.
    Index(Linear),
    /// An element of an array, by the number of the array.
    Read(u32, Vec<Linear>),
    /// An element at a place that data choose: for each dimension a part that indices give, and multiples of integers.
    Gather(u32, Vec<(Linear, Vec<(i64, Expr)>)>),
    /// Multiples that are added.
    Sum(Vec<(Q, Expr)>),
    /// Powers that are multiplied.
    Product(Vec<(Expr, i32)>),
    /// A function.
    Call(Call, Box<Expr>),
    /// max(0, x).
    Relu(Box<Expr>),
    /// 1/(1 + exp(-x)).
    Sigmoid(Box<Expr>),
    /// The largest.
    Max(Vec<Expr>),
    /// The least.
    Min(Vec<Expr>),
    /// A reduction over variables that follow those in scope, where bounds hold.
    Reduce {
        /// Which one.
        fold: Fold,
        /// First value and the one after the last.
        ranges: Vec<(Linear, Linear)>,
        /// Further conditions.
        bounds: Vec<Bounds>,
        /// Of what.
        body: Box<Expr>,
    },
    /// Bounds on indices, value, other value.
    Guard(Vec<Bounds>, Box<Expr>, Box<Expr>),
    /// Condition on data, value, other value.
    Choose(Box<Expr>, Box<Expr>, Box<Expr>),
    /// All of these conditions.
    All(Vec<Expr>),
}

impl Expr {
    /// A sum, which is its only summand where that has the coefficient 1.
    pub fn sum(list: Vec<(Q, Expr)>) -> Expr {
        let mut out: Vec<(Q, Expr)> = Vec::new();
        for (q, e) in list {
            if q.is_zero() {
                continue;
            }
            match e {
                Expr::Sum(inner) => out.extend(inner.into_iter().map(|(p, e)| (p * &q, e))),
                Expr::Number(n) => out.push((n * q, Expr::Product(Vec::new()))),
                e => out.push((q, e)),
            }
        }
        match out.as_slice() {
            [] => Expr::Number(Q::zero()),
            [(q, Expr::Product(l))] if l.is_empty() => Expr::Number(q.clone()),
            [(q, _)] if q.is_one() => out.remove(0).1,
            _ => Expr::Sum(out),
        }
    }

    /// A product, which is its only factor where that has the power 1.
    pub fn product(list: Vec<(Expr, i32)>) -> Expr {
        let mut out: Vec<(Expr, i32)> = Vec::new();
        for (e, p) in list {
            match e {
                Expr::Product(inner) => out.extend(inner.into_iter().map(|(e, r)| (e, r * p))),
                e => out.push((e, p)),
            }
        }
        match out.as_slice() {
            [(_, 1)] => out.remove(0).0,
            _ => Expr::Product(out),
        }
    }

    /// The product of a number and an expression.
    pub fn times(self, q: Q) -> Expr {
        Expr::sum(vec![(q, self)])
    }

    /// The expression with its sign turned, where that is no longer to write.
    pub fn negated(self) -> Expr {
        self.times(-Q::one())
    }

    /// True for a multiple with a negative number in front.
    pub fn is_negative(&self) -> bool {
        match self {
            Expr::Number(q) => q.is_negative(),
            Expr::Sum(l) => l.iter().all(|(q, _)| q.is_negative()),
            _ => false,
        }
    }

    /// Calls `f` with each child.
    pub fn children(&self, f: &mut dyn FnMut(&Expr)) {
        self.children_of(&mut |e| f(e));
    }

    /// Calls `f` with each index expression of its own.
    pub(super) fn indices(&self, f: &mut dyn FnMut(&Linear)) {
        let mut bounds = |list: &[Bounds]| {
            for b in list {
                [b.first.as_ref(), Some(&b.index), b.end.as_ref()]
                    .into_iter()
                    .flatten()
                    .for_each(&mut *f);
            }
        };
        match self {
            Expr::Index(l) => f(l),
            Expr::Read(_, at) => at.iter().for_each(f),
            Expr::Gather(_, at) => at.iter().for_each(|(l, _)| f(l)),
            Expr::Guard(list, ..) => bounds(list),
            Expr::Reduce {
                ranges,
                bounds: list,
                ..
            } => {
                bounds(list);
                ranges.iter().for_each(|(lo, hi)| {
                    f(lo);
                    f(hi);
                });
            }
            Expr::Number(_)
            | Expr::Constant(_)
            | Expr::Infinity(_)
            | Expr::Sum(_)
            | Expr::Product(_)
            | Expr::Call(..)
            | Expr::Relu(_)
            | Expr::Sigmoid(_)
            | Expr::Max(_)
            | Expr::Min(_)
            | Expr::Choose(..)
            | Expr::All(_) => {}
        }
    }

    /// Calls `f` with each child, which lives as long as the expression.
    pub(super) fn children_of<'e>(&'e self, f: &mut dyn FnMut(&'e Expr)) {
        match self {
            Expr::Number(_)
            | Expr::Constant(_)
            | Expr::Infinity(_)
            | Expr::Index(_)
            | Expr::Read(..) => {}
            Expr::Gather(_, at) => {
                let parts = at.iter().flat_map(|s| s.1.iter());
                parts.for_each(|(_, e)| f(e));
            }
            Expr::Sum(l) => l.iter().for_each(|(_, e)| f(e)),
            Expr::Product(l) => l.iter().for_each(|(e, _)| f(e)),
            Expr::Call(_, e) | Expr::Relu(e) | Expr::Sigmoid(e) => f(e),
            Expr::Max(l) | Expr::Min(l) | Expr::All(l) => l.iter().for_each(f),
            Expr::Reduce { body, .. } => f(body),
            Expr::Guard(_, a, b) => {
                f(a);
                f(b);
            }
            Expr::Choose(c, a, b) => {
                f(c);
                f(a);
                f(b);
            }
        }
    }

    /// The expression with each child replaced.
    pub fn map(self, f: &mut dyn FnMut(Expr) -> Expr) -> Expr {
        let mut boxed = |e: Box<Expr>| Box::new(f(*e));
        match self {
            Expr::Call(c, e) => Expr::Call(c, boxed(e)),
            Expr::Relu(e) => Expr::Relu(boxed(e)),
            Expr::Sigmoid(e) => Expr::Sigmoid(boxed(e)),
            Expr::Reduce {
                fold,
                ranges,
                bounds,
                body,
            } => Expr::Reduce {
                fold,
                ranges,
                bounds,
                body: boxed(body),
            },
            Expr::Guard(c, a, b) => Expr::Guard(c, boxed(a), boxed(b)),
            Expr::Choose(c, a, b) => Expr::Choose(boxed(c), boxed(a), boxed(b)),
            Expr::Gather(array, at) => {
                let mut part =
                    |l: Vec<(i64, Expr)>| l.into_iter().map(|(k, e)| (k, f(e))).collect();
                Expr::Gather(array, at.into_iter().map(|(l, p)| (l, part(p))).collect())
            }
            Expr::Sum(l) => Expr::sum(l.into_iter().map(|(q, e)| (q, f(e))).collect()),
            Expr::Product(l) => Expr::product(l.into_iter().map(|(e, p)| (f(e), p)).collect()),
            Expr::Max(l) => Expr::Max(l.into_iter().map(f).collect()),
            Expr::Min(l) => Expr::Min(l.into_iter().map(f).collect()),
            Expr::All(l) => Expr::All(l.into_iter().map(f).collect()),
            leaf @ (Expr::Number(_)
            | Expr::Constant(_)
            | Expr::Infinity(_)
            | Expr::Index(_)
            | Expr::Read(..)) => leaf,
        }
    }

    /// The number of elements that it names.
    pub fn reads(&self) -> usize {
        let mut out = usize::from(matches!(self, Expr::Read(..) | Expr::Gather(..)));
        self.children(&mut |e| out += e.reads());
        out
    }
}
