//! Bit-vector terms over canonical reals.
//!
//! Problem: an integer that depends on input data meets the reals as an opaque atom. Two such
//! atoms are the same when their bits are the same up to the order of commutative operands
//! (`joint`) and up to equal canonical forms of the reals and predicates inside.
//!
//! What is not claimed: a normal form of bit-vector arithmetic; different nodes may be equal.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::joint::Joint;
use super::monomial::flag;
use super::poly::PolyId;
use super::ring::Ring;
use super::select::Lit;
use crate::scalar::Fmt;
use crate::term::{ArrayId, BitsOp, TermId};

/// An interned bit-vector node of a scratch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct NodeId(pub(super) u32);

/// Bit vectors; see [`crate::term::Term`] for the meaning of each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    Const(u8, u64),
    Bytes(ArrayId, u64, u8),
    Fresh(u8, u32),
    OfReal(Fmt, PolyId),
    /// The encoding of a number that remembers how it was made.
    Made(Fmt, TermId),
    Concat(Box<[NodeId]>),
    Extract(NodeId, u8, u8),
    Op(BitsOp, NodeId, NodeId),
    /// Operands with coefficients modulo 2^width, ascending; a constant is a multiple of 1.
    Sum(u8, Box<[(NodeId, u64)]>),
    /// Operands of an operation whose order does not matter, ascending; at least two.
    Set(Joint, u8, Box<[NodeId]>),
    Select(Lit, NodeId, NodeId),
    OfBool(u8, Lit),
    Clamp(u8, bool, PolyId),
}

/// The bit-vector nodes of one scratch.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    table: IndexSet<Node, FxBuildHasher>,
    partial: Vec<u8>,
}

impl Nodes {
    pub(super) fn get(&self, n: NodeId) -> &Node {
        &self.table[n.0 as usize]
    }

    /// `flag::PARTIAL` if the node is not defined for all inputs, else 0.
    pub(super) fn partial(&self, n: NodeId) -> u8 {
        self.partial[n.0 as usize]
    }
}

impl Ring {
    /// The identifier of a node.
    ///
    /// match `p ? a : b` with a negated p; result `not p ? b : a`.
    pub(super) fn node(&mut self, node: Node) -> NodeId {
        let node = match node {
            Node::Select(_, a, b) if a == b => return a,
            Node::Select(Lit::TRUE, a, _) => return a,
            Node::Select(p, a, b) if p.is_negated() => {
                if p == Lit::FALSE {
                    return b;
                }
                Node::Select(p.negated(), b, a)
            }
            Node::OfBool(w, Lit::TRUE) => Node::Const(w, 1),
            Node::OfBool(w, Lit::FALSE) => Node::Const(w, 0),
            Node::Op(op, a, b) if op.is_commutative() && a > b => Node::Op(op, b, a),
            n => n,
        };
        let of = |n: &NodeId| self.nodes.partial(*n);
        let partial = match &node {
            Node::Const(..) | Node::Bytes(..) | Node::Fresh(..) => 0,
            Node::Made(..) => flag::PARTIAL,
            Node::OfReal(_, p) | Node::Clamp(_, _, p) => self.polys.flags(*p),
            Node::Concat(list) | Node::Set(_, _, list) => list.iter().fold(0, |f, n| f | of(n)),
            Node::Sum(_, list) => list.iter().fold(0, |f, (n, _)| f | of(n)),
            Node::Extract(n, ..) => of(n),
            Node::Op(BitsOp::UDiv | BitsOp::SDiv | BitsOp::URem | BitsOp::SRem, ..) => {
                flag::PARTIAL
            }
            Node::Op(_, a, b) => of(a) | of(b),
            Node::Select(p, a, b) => self.preds.partial(*p) | of(a) | of(b),
            Node::OfBool(_, p) => self.preds.partial(*p),
        };
        let (i, new) = self.nodes.table.insert_full(node);
        if new {
            self.nodes.partial.push(partial & flag::PARTIAL);
        }
        NodeId(i as u32)
    }
}
