//! Two bit vectors, and two conditions.

use super::super::bits::{Node, NodeId};
use super::super::display::op_name;
use super::super::joint::Joint;
use super::super::ring::Fail;
use super::super::select::{Lit, Pred};
use super::{Finder, Pair, Step, more};
use crate::term::{BitsOp, ICmp};

/// Operands of a chain that are gathered.
const MAX_CHAIN: usize = 4096;

fn comparison(op: ICmp) -> &'static str {
    match op {
        ICmp::Eq => "=",
        ICmp::ULt => "< (unsigned)",
        ICmp::ULe => "<= (unsigned)",
        ICmp::SLt => "< (signed)",
        ICmp::SLe => "<= (signed)",
    }
}

fn found(text: String) -> Result<Step, Fail> {
    Ok(Step::Found(text))
}

fn into(n: NodeId, m: NodeId, place: Option<&str>) -> Result<Step, Fail> {
    Ok(Step::Into(Pair::Bits(n, m), place.map(str::to_string)))
}

impl Finder<'_, '_> {
    fn node(&self, n: NodeId) -> Node {
        self.norm.ring.nodes.get(n).clone()
    }

    /// Two bit vectors.
    pub(super) fn nodes(&mut self, n: NodeId, m: NodeId) -> Result<Step, Fail> {
        match (self.node(n), self.node(m)) {
            (Node::Const(_, a), Node::Const(_, b)) => found(format!("constant {a} against {b}")),
            (Node::Bytes(a, x, w), Node::Bytes(b, y, v)) => {
                let what = match (a == b, x == y && w != v) {
                    (true, true) => "another width",
                    (true, false) => "another index",
                    (false, _) => "another array",
                };
                found(format!(
                    "{what}: {} against {}",
                    self.quote_bits(n),
                    self.quote_bits(m)
                ))
            }
            (Node::OfReal(f, p), Node::OfReal(g, q)) if f == g => {
                Ok(Step::Into(Pair::Real(p, q), None))
            }
            (Node::OfReal(f, p), Node::OfReal(g, q)) if p == q => found(format!(
                "{} is stored as {} against {}",
                self.quote(p),
                f.name(),
                g.name()
            )),
            (Node::Clamp(w, s, p), Node::Clamp(v, u, q)) if (w, s) == (v, u) => {
                let place = Some("in the conversion to an integer".to_string());
                Ok(Step::Into(Pair::Real(p, q), place))
            }
            (Node::Concat(s), Node::Concat(t)) if s.len() == t.len() => {
                match s.iter().zip(&t).find(|(a, b)| a != b) {
                    Some((&a, &b)) => into(a, b, None),
                    None => Ok(Step::Unlike),
                }
            }
            (Node::Extract(a, low, w), Node::Extract(b, from, v)) => match a == b {
                true => found(format!(
                    "bits {low} to {} against {from} to {} of {}",
                    low as u32 + w as u32 - 1,
                    from as u32 + v as u32 - 1,
                    self.quote_bits(a)
                )),
                false if (low, w) == (from, v) => into(a, b, None),
                false => Ok(Step::Unlike),
            },
            (Node::OfBool(w, l), Node::OfBool(v, k)) if w == v => {
                let place = Some("in the condition".to_string());
                Ok(Step::Into(Pair::Truth(l, k), place))
            }
            (Node::Select(c, a, b), Node::Select(d, x, y)) => match (c == d, a == x, b == y) {
                (true, false, true) => into(a, x, Some("where the condition holds")),
                (true, true, false) => into(b, y, Some("where the condition does not hold")),
                (false, true, true) if c != d.negated() => Ok(Step::Into(
                    Pair::Truth(c, d),
                    Some("in the condition".to_string()),
                )),
                (_, _, _)
                    if (c == d.negated() && (a, b) == (x, y)) || (c == d && (a, b) == (y, x)) =>
                {
                    found("the two cases are swapped".to_string())
                }
                _ => Ok(Step::Unlike),
            },
            (Node::Set(f, _, s), Node::Set(g, _, t)) if f != g && s == t => found(format!(
                "`{}` against `{}` of {}",
                f.name(),
                g.name(),
                match s[..] {
                    [a, b] => format!("{} and {}", self.quote_bits(a), self.quote_bits(b)),
                    _ => "the same operands".to_string(),
                }
            )),
            (Node::Set(f, ..), Node::Set(g, ..)) if f == g => self.sets(f, n, m),
            (Node::Op(f, a, b), Node::Op(g, x, y)) => self.operations((f, a, b), (g, x, y), (n, m)),
            (Node::Sum(..), Node::Sum(..)) => self.chains(BitsOp::Add, n, m),
            (_, Node::Const(_, v)) => found(format!(
                "the optimized kernel has the constant {v} instead of {}",
                self.quote_bits(n)
            )),
            (Node::Const(_, v), _) => found(format!(
                "the optimized kernel has {} instead of the constant {v}",
                self.quote_bits(m)
            )),
            (Node::Sum(..), _) | (_, Node::Sum(..)) => self.chains(BitsOp::Add, n, m),
            (Node::Op(f, ..), _) => self.chains(f, n, m),
            (_, Node::Op(g, ..)) => self.chains(g, n, m),
            (Node::Set(f, ..), _) => self.sets(f, n, m),
            (_, Node::Set(g, ..)) => self.sets(g, n, m),
            _ => Ok(Step::Unlike),
        }
    }

    fn operations(
        &mut self,
        (f, a, b): (BitsOp, NodeId, NodeId),
        (g, x, y): (BitsOp, NodeId, NodeId),
        (n, m): (NodeId, NodeId),
    ) -> Result<Step, Fail> {
        if f == g && f.is_commutative() {
            return self.chains(f, n, m);
        }
        match (f == g, a == x, b == y) {
            (true, true, false) => into(b, y, None),
            (true, false, true) => into(a, x, None),
            (true, false, false) if (a, b) == (y, x) => {
                found(format!("the operands of `{}` are swapped", op_name(f)))
            }
            (false, true, true) => found(format!(
                "`{}` against `{}` of {} and {}",
                op_name(f),
                op_name(g),
                self.quote_bits(a),
                self.quote_bits(b)
            )),
            _ if a == m || b == m => {
                self.lacks(f, if a == m { b } else { a }, "the optimized kernel lacks")
            }
            _ if x == n || y == n => self.lacks(
                g,
                if x == n { y } else { x },
                "only the optimized kernel has",
            ),
            _ => Ok(Step::Unlike),
        }
    }

    fn lacks(&self, op: BitsOp, operand: NodeId, who: &str) -> Result<Step, Fail> {
        let operand = self.show_bits(operand, super::QUOTED);
        found(format!("{who} `. {} {operand}`", op_name(op)))
    }

    /// The operands of a chain of one operation, sorted.
    fn chain(&mut self, op: BitsOp, n: NodeId) -> Option<Vec<NodeId>> {
        let mut stack = vec![n];
        let mut out = Vec::new();
        while let Some(n) = stack.pop() {
            match self.node(n) {
                Node::Sum(width, list) if op == BitsOp::Add => {
                    for &(m, c) in &list {
                        out.push(self.multiple(width, m, c));
                    }
                }
                Node::Op(f, a, b) if f == op && op.is_commutative() => stack.extend([a, b]),
                Node::Op(f, a, b) if f == op => {
                    out.extend([a, b]);
                }
                _ => out.push(n),
            }
            if out.len() + stack.len() > MAX_CHAIN {
                return None;
            }
        }
        out.sort_unstable();
        Some(out)
    }

    /// A multiple of an operand of a sum.
    fn multiple(&mut self, width: u8, n: NodeId, c: u64) -> NodeId {
        let ring = &mut self.norm.ring;
        match (ring.nodes.get(n), c) {
            (Node::Const(..), c) => ring.node(Node::Const(width, c)),
            (_, 1) => n,
            _ => {
                let c = ring.node(Node::Const(width, c));
                ring.node(Node::Op(BitsOp::Mul, c, n))
            }
        }
    }

    /// Two chains of one operation: the operands that only one of them has.
    fn chains(&mut self, op: BitsOp, n: NodeId, m: NodeId) -> Result<Step, Fail> {
        let (s, t) = (self.chain(op, n), self.chain(op, m));
        let (Some(s), Some(t)) = (s, t) else {
            return Ok(Step::Unlike);
        };
        self.operands(op_name(op), &s, &t)
    }

    /// Two sets under one operation, of which one may be a single operand.
    fn sets(&mut self, op: Joint, n: NodeId, m: NodeId) -> Result<Step, Fail> {
        let of = |n: NodeId| match self.norm.ring.nodes.get(n) {
            Node::Set(f, _, list) if *f == op => list.to_vec(),
            _ => vec![n],
        };
        let (s, t) = (of(n), of(m));
        self.operands(op.name(), &s, &t)
    }

    /// The operands that only one of two sorted lists has.
    fn operands(&mut self, name: &str, s: &[NodeId], t: &[NodeId]) -> Result<Step, Fail> {
        let (x, y) = (without(s, t), without(t, s));
        let list = |v: &[NodeId]| {
            let quoted: Vec<String> = v.iter().take(2).map(|&n| self.quote_bits(n)).collect();
            quoted.join(", ") + &more(v.len().saturating_sub(2))
        };
        match (&x[..], &y[..]) {
            (&[a], &[b]) if s.len() > 1 || t.len() > 1 => into(a, b, None),
            (x, []) => found(format!(
                "the optimized kernel lacks the operand{} {} of `{name}`",
                if x.len() == 1 { "" } else { "s" },
                list(x)
            )),
            ([], y) => found(format!(
                "{} {} an operand of `{name}` only in the optimized kernel",
                list(y),
                if y.len() == 1 { "is" } else { "are" }
            )),
            // Several operands that stand for several: the first, and the first like it.
            (&[a, ..], y) => {
                let kind = |n: NodeId| match self.node(n) {
                    Node::Op(op, ..) => (std::mem::discriminant(&self.node(n)), Some(op)),
                    node => (std::mem::discriminant(&node), None),
                };
                match y.iter().find(|&&b| kind(b) == kind(a)) {
                    Some(&b) if s.len() > 1 => into(a, b, None),
                    _ => Ok(Step::Unlike),
                }
            }
        }
    }

    /// Two conditions.
    pub(super) fn conditions(&mut self, l: Lit, m: Lit) -> Result<Step, Fail> {
        let preds = &self.norm.ring.preds;
        if l == m.negated() {
            return found("the condition is negated".to_string());
        }
        let same = l.is_negated() == m.is_negated();
        match (preds.get(l).clone(), preds.get(m).clone()) {
            (Pred::Negative(p), Pred::Negative(q)) => {
                let minus = self.norm.ring.negate(p)?;
                if minus == q {
                    let text = match same {
                        true => "the comparison is the other way round",
                        false => "the comparison differs where both sides are equal",
                    };
                    return found(text.to_string());
                }
                match same {
                    true => Ok(Step::Into(Pair::Real(p, q), None)),
                    false => Ok(Step::Unlike),
                }
            }
            (Pred::Zero(p), Pred::Zero(q)) if same => Ok(Step::Into(Pair::Real(p, q), None)),
            (Pred::Bits(f, a, b), Pred::Bits(g, x, y)) => match (f == g, a == x, b == y) {
                (true, true, false) if same => into(b, y, None),
                (true, false, true) if same => into(a, x, None),
                (true, false, false) if (a, b) == (y, x) => {
                    found("the comparison is the other way round".to_string())
                }
                (false, true, true) => {
                    found(format!("`{}` against `{}`", comparison(f), comparison(g)))
                }
                _ => Ok(Step::Unlike),
            },
            (Pred::All(s), Pred::All(t)) if same => {
                let (x, y) = (without(&s, &t), without(&t, &s));
                match (&x[..], &y[..]) {
                    (&[a], &[b]) => Ok(Step::Into(Pair::Truth(a, b), None)),
                    (&[a], []) => found(format!(
                        "the optimized kernel lacks the condition `{}`",
                        self.show_truth(a)
                    )),
                    ([], &[b]) => found(format!(
                        "only the optimized kernel has the condition `{}`",
                        self.show_truth(b)
                    )),
                    _ => Ok(Step::Unlike),
                }
            }
            _ => Ok(Step::Unlike),
        }
    }
}

/// What one sorted list has and another has not, each as often as it is missing.
fn without<T: Ord + Copy>(a: &[T], b: &[T]) -> Vec<T> {
    let mut out = Vec::new();
    let mut j = 0;
    for &x in a {
        while j < b.len() && b[j] < x {
            j += 1;
        }
        if b.get(j) == Some(&x) {
            j += 1;
        } else {
            out.push(x);
        }
    }
    out
}
