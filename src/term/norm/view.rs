//! Canonical forms one level at a time, for who makes something else of them.
//!
//! Nothing is decided here and nothing is made: a form is shown as the sum of products that it is, with the forms
//! below it by their numbers.

use num_rational::BigRational;

use super::CanonId;
use super::bits::{Node, NodeId};
use super::monomial::Mono;
use super::poly::PolyId;
use super::ring::Atom;
use super::select::{Lit, Pred};
use super::sweep::Normalizer;
use crate::term::{ArrayId, BitsOp, Fun, ICmp, TermId, sext};

/// A coefficient times a power of 2 times powers of factors.
#[derive(Clone, Debug)]
pub struct Summand {
    /// The rational in front.
    pub coefficient: BigRational,
    /// What 2 is raised to, if anything.
    pub exponent: Option<CanonId>,
    /// Factors with their powers, none of which is 0.
    pub factors: Vec<(Factor, i32)>,
}

/// A variable of the polynomials.
#[derive(Clone, Debug)]
pub enum Factor {
    /// An input element.
    Symbol(TermId),
    /// The base-2 logarithm of e.
    Log2E,
    /// 1 / form.
    Inverse(CanonId),
    /// The square root.
    Sqrt(CanonId),
    /// The base-2 logarithm.
    Log2(CanonId),
    /// A function.
    Fun(Fun, CanonId),
    /// The largest.
    Max(Vec<CanonId>),
    /// Test ? form : form.
    Select(TestId, CanonId, CanonId),
    /// An integer of an input array: array, byte offset, width in bits, signed.
    Integer(ArrayId, u64, u8, bool),
    /// Something made of bits.
    Bits,
}

/// A predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TestId(Lit);

/// What a predicate says, but for its sign.
#[derive(Clone, Debug)]
pub enum Test {
    /// Always.
    True,
    /// form < 0.
    Negative(CanonId),
    /// form = 0.
    Zero(CanonId),
    /// All of these.
    All(Vec<TestId>),
    /// One integer against another: `Eq`, `ULt` or `SLt`.
    Compare(ICmp, Integers, Integers),
    /// Something about bits.
    Bits,
}

/// A sum of integers of input arrays, as far as nothing wraps.
#[derive(Clone, Debug, Default)]
pub struct Integers {
    /// Array, byte offset and coefficient.
    pub parts: Vec<(ArrayId, u64, i64)>,
    /// The number beside them.
    pub constant: i64,
}

/// A form as what it is.
#[derive(Clone, Debug)]
pub enum View {
    /// An infinity, true for minus.
    Infinite(bool),
    /// A sum.
    Sum(Vec<Summand>),
}

impl Normalizer<'_> {
    /// A form, one level deep.
    pub fn view(&self, c: CanonId) -> View {
        let p = PolyId(c.0);
        if p.is_infinite() {
            return View::Infinite(p == PolyId::NEG_INF);
        }
        let terms = self.ring.polys.get(p).iter();
        let summand = |t: &super::poly::PTerm| {
            let e = self.ring.exps.poly(t.exp);
            let powers = match t.mono == Mono::ONE {
                true => Default::default(),
                false => self.ring.monos.powers(t.mono),
            };
            Summand {
                coefficient: self.ring.coefs.get(t.coef).to_big(),
                exponent: (e != PolyId::ZERO).then_some(CanonId(e.0)),
                factors: powers.iter().map(|&(a, p)| (self.factor(a), p)).collect(),
            }
        };
        View::Sum(terms.map(summand).collect())
    }

    fn factor(&self, a: u32) -> Factor {
        let form = |p: &PolyId| CanonId(p.0);
        match self.ring.atom(a) {
            Atom::Symbol(t) => Factor::Symbol(*t),
            Atom::Log2E => Factor::Log2E,
            Atom::Inv(p) => Factor::Inverse(form(p)),
            Atom::Sqrt(p) => Factor::Sqrt(form(p)),
            Atom::Log2(p) => Factor::Log2(form(p)),
            Atom::Fun(f, p) => Factor::Fun(*f, form(p)),
            Atom::Max(s) => Factor::Max(s.iter().map(form).collect()),
            Atom::Select(l, a, b) => Factor::Select(TestId(*l), form(a), form(b)),
            Atom::OfInt(signed, n) => self.integer(*n, *signed),
            Atom::OfBits(..) | Atom::Let(_) => Factor::Bits,
        }
    }

    fn integer(&self, n: NodeId, signed: bool) -> Factor {
        match *self.ring.nodes.get(n) {
            Node::Bytes(array, off, width) => Factor::Integer(array, off, width, signed),
            _ => Factor::Bits,
        }
    }

    /// Bits as a sum of integers, if that is how they are made.
    fn integers(&self, n: NodeId) -> Option<Integers> {
        let mut out = Integers::default();
        let list = match self.ring.nodes.get(n) {
            Node::Sum(width, list) => {
                let signed = |&(n, k): &(NodeId, u64)| (n, sext(k, *width));
                list.iter().map(signed).collect()
            }
            _ => vec![(n, 1)],
        };
        for (n, k) in list {
            match *self.ring.nodes.get(self.narrow(n)) {
                Node::Const(width, value) => {
                    out.constant = out
                        .constant
                        .checked_add(sext(value, width).checked_mul(k)?)?;
                }
                Node::Bytes(array, off, _) => out.parts.push((array, off, k)),
                _ => return None,
            }
        }
        Some(out)
    }

    /// The bits that others extend by zeros or by their sign.
    fn narrow(&self, n: NodeId) -> NodeId {
        let nodes = &self.ring.nodes;
        let is_zero = |n: &NodeId| matches!(nodes.get(*n), Node::Const(_, 0));
        match nodes.get(n) {
            Node::Concat(list) => match &**list {
                [x, zeros] if is_zero(zeros) => *x,
                _ => n,
            },
            Node::Op(BitsOp::AShr, c, _) => match nodes.get(*c) {
                Node::Concat(list) => match &**list {
                    [zeros, x] if is_zero(zeros) => *x,
                    _ => n,
                },
                _ => n,
            },
            _ => n,
        }
    }

    /// A predicate, one level deep; true with it if it is negated.
    pub fn test(&self, t: TestId) -> (bool, Test) {
        let form = |p: &PolyId| CanonId(p.0);
        let test = match self.ring.preds.get(t.0) {
            Pred::True => Test::True,
            Pred::Negative(p) => Test::Negative(form(p)),
            Pred::Zero(p) => Test::Zero(form(p)),
            Pred::All(list) => Test::All(list.iter().map(|&l| TestId(l)).collect()),
            &Pred::Bits(op, a, b) => match (self.integers(a), self.integers(b)) {
                (Some(a), Some(b)) => Test::Compare(op, a, b),
                _ => Test::Bits,
            },
            Pred::Xor(..) => Test::Bits,
        };
        (t.0.is_negated(), test)
    }
}
