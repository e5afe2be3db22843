//! Boolean functions as reduced ordered decision diagrams.
//!
//! Problem: two Boolean functions of a few dozen variables, equal or not. Source: Bryant, "Graph-Based
//! Algorithms for Boolean Function Manipulation" (1986). Equal numbers are equal functions.
//!
//! Not claimed: small diagrams; every operation gives up at a bound on the nodes.

use rustc_hash::FxHashMap;

/// A function of a [`Bdd`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node(u32);

impl Node {
    pub(super) const FALSE: Node = Node(0);
    pub(super) const TRUE: Node = Node(1);

    pub(super) fn of(b: bool) -> Node {
        if b { Node::TRUE } else { Node::FALSE }
    }
}

/// The variable of the two constants: below all others.
const NONE: u32 = u32::MAX;

/// The diagrams of some functions.
pub(super) struct Bdd {
    /// Variable, the function where it is false, the function where it is true.
    nodes: Vec<(u32, Node, Node)>,
    table: FxHashMap<(u32, Node, Node), Node>,
    memo: FxHashMap<(Node, Node, Node), Node>,
    limit: usize,
}

impl Bdd {
    /// No function but the constants; at most `limit` nodes are made.
    pub(super) fn new(limit: usize) -> Bdd {
        Bdd {
            nodes: vec![
                (NONE, Node::FALSE, Node::FALSE),
                (NONE, Node::TRUE, Node::TRUE),
            ],
            table: FxHashMap::default(),
            memo: FxHashMap::default(),
            limit,
        }
    }

    fn node(&mut self, var: u32, low: Node, high: Node) -> Option<Node> {
        if low == high {
            return Some(low);
        }
        if let Some(&n) = self.table.get(&(var, low, high)) {
            return Some(n);
        }
        if self.nodes.len() >= self.limit {
            return None;
        }
        let n = Node(self.nodes.len() as u32);
        self.nodes.push((var, low, high));
        self.table.insert((var, low, high), n);
        Some(n)
    }

    /// The function that is a variable.
    pub(super) fn variable(&mut self, var: u32) -> Option<Node> {
        self.node(var, Node::FALSE, Node::TRUE)
    }

    /// p ? a : b. The recursion is as deep as there are variables.
    pub(super) fn choose(&mut self, p: Node, a: Node, b: Node) -> Option<Node> {
        match (p, a, b) {
            (Node::TRUE, ..) => return Some(a),
            (Node::FALSE, ..) => return Some(b),
            (_, Node::TRUE, Node::FALSE) => return Some(p),
            _ if a == b => return Some(a),
            _ => {}
        }
        if let Some(&n) = self.memo.get(&(p, a, b)) {
            return Some(n);
        }
        let top = [p, a, b].map(|n| self.nodes[n.0 as usize].0);
        let var = top.into_iter().min().unwrap_or(NONE);
        let part = |n: Node, high: bool| {
            let (v, l, h) = self.nodes[n.0 as usize];
            match (v == var, high) {
                (false, _) => n,
                (true, true) => h,
                (true, false) => l,
            }
        };
        let [high, low] = [true, false].map(|h| [part(p, h), part(a, h), part(b, h)]);
        let high = self.choose(high[0], high[1], high[2])?;
        let low = self.choose(low[0], low[1], low[2])?;
        let n = self.node(var, low, high)?;
        self.memo.insert((p, a, b), n);
        Some(n)
    }

    pub(super) fn not(&mut self, a: Node) -> Option<Node> {
        self.choose(a, Node::FALSE, Node::TRUE)
    }

    pub(super) fn and(&mut self, a: Node, b: Node) -> Option<Node> {
        self.choose(a, b, Node::FALSE)
    }

    pub(super) fn or(&mut self, a: Node, b: Node) -> Option<Node> {
        self.choose(a, Node::TRUE, b)
    }

    pub(super) fn xor(&mut self, a: Node, b: Node) -> Option<Node> {
        let n = self.not(b)?;
        self.choose(a, n, b)
    }
}
