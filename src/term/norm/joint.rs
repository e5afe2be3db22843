//! Sets of bit vectors under an operation whose order does not matter.
//!
//! Problem: bits that atomics gather by `and`, `or`, `xor`, or by integer minimum and maximum, come
//! in another order in every kernel, and some of them only where a condition holds. A chain of one
//! such operation becomes the set of its operands; an operand that only one side of a select has
//! becomes a select of it and of the value that changes nothing:
//!
//! * a minimum or maximum is written as `a < b ? a : b`;
//! * nested sets are flattened, constants combined, duplicates dropped (pairs of them for `xor`);
//! * `p ? op(S, X) : op(S, Y)` is `op(S, p ? op(X) : op(Y))`, where `op()` is the neutral value.
//!
//! What is not claimed: distribution of one operation over another; sets beyond a size stay chains.

use super::bits::{Node, NodeId};
use super::ring::{Fail, Ring};
use super::select::{Lit, Pred};
use crate::term::{BitsOp, ICmp, sext};

/// Larger sets are not flattened into another.
const MAX_SET: usize = 1 << 11;

/// An operation that is associative and commutative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Joint {
    And,
    Or,
    Xor,
    /// The smaller of integers, signed or not.
    Min(bool),
    /// The larger.
    Max(bool),
}

impl Joint {
    /// That of an operation on bits.
    pub(super) fn of(op: BitsOp) -> Option<Joint> {
        match op {
            BitsOp::And => Some(Joint::And),
            BitsOp::Or => Some(Joint::Or),
            BitsOp::Xor => Some(Joint::Xor),
            _ => None,
        }
    }

    /// A name for reports.
    pub(super) fn name(self) -> &'static str {
        match self {
            Joint::And => "&",
            Joint::Or => "|",
            Joint::Xor => "^",
            Joint::Min(true) => "min",
            Joint::Min(false) => "min (unsigned)",
            Joint::Max(true) => "max",
            Joint::Max(false) => "max (unsigned)",
        }
    }

    /// The operand with which the operation changes nothing.
    fn neutral(self, width: u8) -> u64 {
        let ones = u64::MAX >> (64 - width as u32);
        match self {
            Joint::And => ones,
            Joint::Or | Joint::Xor | Joint::Max(false) => 0,
            Joint::Min(signed) => ones >> signed as u32,
            Joint::Max(true) => 1 << (width - 1),
        }
    }

    fn fold(self, width: u8, a: u64, b: u64) -> u64 {
        let less = match self {
            Joint::Min(true) | Joint::Max(true) => sext(a, width) < sext(b, width),
            _ => a < b,
        };
        match self {
            Joint::And => a & b,
            Joint::Or => a | b,
            Joint::Xor => a ^ b,
            Joint::Min(_) => [b, a][less as usize],
            Joint::Max(_) => [a, b][less as usize],
        }
    }
}

impl Ring {
    /// The operands of a node as one of an operation: the node itself if it is another's.
    fn operands(&self, op: Joint, n: NodeId) -> Vec<NodeId> {
        match self.nodes.get(n) {
            Node::Set(o, _, list) if *o == op => list.to_vec(),
            _ => vec![n],
        }
    }

    /// An operation on operands in any order.
    pub(super) fn join(
        &mut self,
        op: Joint,
        width: u8,
        operands: &[NodeId],
    ) -> Result<NodeId, Fail> {
        let neutral = op.neutral(width);
        let mut constant = neutral;
        let mut set = Vec::new();
        for &n in operands {
            let inner = self.operands(op, n);
            self.charge(inner.len())?;
            let inner = match set.len() + inner.len() <= MAX_SET {
                true => inner,
                false => vec![n],
            };
            for n in inner {
                match *self.nodes.get(n) {
                    Node::Const(_, v) => constant = op.fold(width, constant, v),
                    _ => set.push(n),
                }
            }
        }
        set.sort_unstable();
        if op == Joint::Xor {
            let mut kept: Vec<NodeId> = Vec::with_capacity(set.len());
            for n in set {
                match kept.last() == Some(&n) && self.nodes.partial(n) == 0 {
                    true => drop(kept.pop()),
                    false => kept.push(n),
                }
            }
            set = kept;
        } else {
            set.dedup();
        }
        if constant != neutral || set.is_empty() {
            let n = self.node(Node::Const(width, constant));
            set.push(n);
            set.sort_unstable();
        }
        Ok(match set[..] {
            [n] => n,
            _ => self.node(Node::Set(op, width, set.into_boxed_slice())),
        })
    }

    /// True if `n` is a constant, and `k` the same or the one below it.
    fn is_bound(&self, signed: bool, k: NodeId, n: NodeId) -> bool {
        let (&Node::Const(w, k), &Node::Const(_, n)) = (self.nodes.get(k), self.nodes.get(n))
        else {
            return false;
        };
        let ones = u64::MAX >> (64 - w as u32);
        let greatest = ones >> signed as u32;
        n == k || k != greatest && n == k.wrapping_add(1) & ones
    }

    /// p ? a : b.
    ///
    /// match `a < b ? a : b`; result `min(a, b)`, and `a < b ? b : a`: `max(a, b)`; because where
    /// both are equal it does not matter which is taken.
    ///
    /// match `p ? op(S, X) : op(S, Y)`; result `op(S, p ? op(X) : op(Y))`; because S takes part
    /// either way.
    pub(super) fn bits_select(
        &mut self,
        p: Lit,
        width: u8,
        a: NodeId,
        b: NodeId,
    ) -> Result<NodeId, Fail> {
        let (p, a, b) = match p.is_negated() {
            true => (p.negated(), b, a),
            false => (p, a, b),
        };
        if p == Lit::TRUE || a == b {
            return Ok(a);
        }
        if let Pred::Bits(cmp @ (ICmp::SLt | ICmp::ULt), x, y) = *self.preds.get(p) {
            let signed = cmp == ICmp::SLt;
            if (a, b) == (x, y) {
                return self.join(Joint::Min(signed), width, &[a, b]);
            }
            if (a, b) == (y, x) {
                return self.join(Joint::Max(signed), width, &[a, b]);
            }
            // A comparison with a constant may be one with the next.
            if self.is_bound(signed, x, a) && b == y {
                return self.join(Joint::Min(signed), width, &[a, b]);
            }
            if self.is_bound(signed, x, b) && a == y {
                return self.join(Joint::Max(signed), width, &[a, b]);
            }
        }
        for side in [a, b] {
            let Node::Set(op, ..) = *self.nodes.get(side) else {
                continue;
            };
            let (s, t) = (self.operands(op, a), self.operands(op, b));
            self.charge(s.len() + t.len())?;
            // Sets are sorted.
            let shared: Vec<NodeId> = s
                .iter()
                .copied()
                .filter(|n| t.binary_search(n).is_ok())
                .collect();
            if shared.is_empty() {
                continue;
            }
            let rest = |l: &[NodeId]| -> Vec<NodeId> {
                let other = |n: &NodeId| shared.binary_search(n).is_err();
                l.iter().copied().filter(other).collect()
            };
            let (x, y) = (rest(&s), rest(&t));
            let (x, y) = (self.join(op, width, &x)?, self.join(op, width, &y)?);
            let inner = self.node(Node::Select(p, x, y));
            let mut all = shared;
            all.push(inner);
            return self.join(op, width, &all);
        }
        Ok(self.node(Node::Select(p, a, b)))
    }
}
