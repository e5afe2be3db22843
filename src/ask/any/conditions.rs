//! Conditions: words of one bit, how they meet again and what they are made of.
//!
//! Problem: a path is a conjunction, a guard of two comparisons often a negated disjunction, and the ways out of a branch are
//! each other's complements. Where they meet the path of before has to come back, or no barrier behind it is uniform. So a
//! complement is taken apart into parts that are conditions of their own, and what absorbs or completes another condition
//! is seen when the two are joined. Nothing here needs a range; all of it is the algebra of conditions.

use super::expr::{Exprs, Id, Node};
use crate::term::BitsOp;

impl Exprs {
    /// The negation of a condition, of which each disjunct is negated, so that its parts are conditions of their own.
    pub(super) fn complement(&mut self, a: Id) -> Id {
        let mut out = self.truth(true);
        for d in self.disjuncts(a) {
            let not = self.not(d);
            out = self.and(out, not);
        }
        out
    }

    /// The conditions of which one holds where this one does.
    fn disjuncts(&self, id: Id) -> Vec<Id> {
        self.joined_by(BitsOp::Or, id)
    }

    /// The conditions that an operation joins to this one, each once.
    fn joined_by(&self, op: BitsOp, id: Id) -> Vec<Id> {
        let (mut out, mut stack) = (Vec::new(), vec![id]);
        while let Some(id) = stack.pop() {
            match *self.node(id) {
                Node::Word(inner, a, b) if inner == op && self.width(id) == 1 => {
                    stack.extend([b, a]);
                }
                _ if out.contains(&id) => {}
                _ => out.push(id),
            }
        }
        out
    }

    /// Whether one condition is the complement of the other, a disjunction.
    fn are_complements(&mut self, all: Id, any: Id) -> bool {
        let any = self.disjuncts(any);
        if any.len() < 2 {
            return false;
        }
        let all = self.literals(all);
        let negated = |d| {
            let not = self.not(d);
            all.contains(&not)
        };
        all.len() == any.len() && any.into_iter().all(negated)
    }

    /// Conditions that absorb each other or meet again: `p and q or p and not q` is p.
    pub(super) fn condition(&mut self, op: BitsOp, a: Id, b: Id) -> Option<Id> {
        let not_b = self.not(b);
        match op {
            BitsOp::And if a == not_b => return Some(self.truth(false)),
            BitsOp::Or if a == not_b => return Some(self.truth(true)),
            BitsOp::And | BitsOp::Or
                if self.are_complements(a, b) || self.are_complements(b, a) =>
            {
                return Some(self.truth(op == BitsOp::Or));
            }
            BitsOp::And | BitsOp::Or => {}
            _ => return None,
        }
        let parts = |e: &Exprs, id: Id| match *e.node(id) {
            Node::Word(inner, x, y) => Some((inner, x, y)),
            _ => None,
        };
        let (p, q) = (parts(self, a), parts(self, b));
        let dual = match op {
            BitsOp::And => BitsOp::Or,
            _ => BitsOp::And,
        };
        for (whole, other, of) in [(a, b, p), (b, a, q)] {
            let Some((inner, x, y)) = of else { continue };
            if inner == op && (x == other || y == other) {
                return Some(whole);
            }
            if inner == dual && (x == other || y == other) {
                return Some(other);
            }
            let not = self.not(other);
            if inner == op && (x == not || y == not) {
                return Some(self.truth(op == BitsOp::Or));
            }
            if inner == dual && x == not {
                return Some(self.word(op, y, other));
            }
            if inner == dual && y == not {
                return Some(self.word(op, x, other));
            }
        }
        if let (Some((i, x, y)), Some((j, u, v))) = (p, q)
            && i == dual
            && j == dual
        {
            for (s, r) in [(x, y), (y, x)] {
                let not = self.not(r);
                if s == u && v == not || s == v && u == not {
                    return Some(s);
                }
            }
        }
        None
    }

    /// The conditions that together are this one.
    pub(super) fn literals(&self, id: Id) -> Vec<Id> {
        self.joined_by(BitsOp::And, id)
    }

    /// The negated condition, where the node is a negation.
    pub(super) fn negated(&self, id: Id) -> Option<Id> {
        match *self.node(id) {
            Node::Word(BitsOp::Xor, a, b) if self.width(id) == 1 && self.value(b) == Some(1) => {
                Some(a)
            }
            _ => None,
        }
    }
}
