//! Boolean functions as reduced ordered decision diagrams.
//!
//! Problem: two Boolean functions of a few dozen variables, equal or not. Source: Bryant, "Graph-Based
//! Algorithms for Boolean Function Manipulation" (1986). Equal numbers are equal functions.
//!
//! Not claimed: small diagrams; every operation gives up at a bound on the nodes.

use rustc_hash::FxHashMap;

use super::circuit::{Gate, Lit};
use super::limits::{MAX_DIAGRAM_INPUTS, MAX_NODES};
use super::words::Words;

/// A function of a [`Bdd`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::decide) struct Node(u32);

impl Node {
    pub(in crate::decide) const FALSE: Node = Node(0);
    pub(in crate::decide) const TRUE: Node = Node(1);

    pub(in crate::decide) fn of(b: bool) -> Node {
        if b { Node::TRUE } else { Node::FALSE }
    }
}

/// The variable of the two constants: below all others.
const NONE: u32 = u32::MAX;

/// The diagrams of some functions.
pub(in crate::decide) struct Bdd {
    /// Variable, the function where it is false, the function where it is true.
    nodes: Vec<(u32, Node, Node)>,
    table: FxHashMap<(u32, Node, Node), Node>,
    memo: FxHashMap<(Node, Node, Node), Node>,
    limit: usize,
}

impl Bdd {
    /// No function but the constants; at most `limit` nodes are made.
    pub(in crate::decide) fn new(limit: usize) -> Bdd {
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
    pub(in crate::decide) fn variable(&mut self, var: u32) -> Option<Node> {
        self.node(var, Node::FALSE, Node::TRUE)
    }

    /// p ? a : b. The recursion is as deep as there are variables.
    pub(in crate::decide) fn choose(&mut self, p: Node, a: Node, b: Node) -> Option<Node> {
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

    pub(in crate::decide) fn not(&mut self, a: Node) -> Option<Node> {
        self.choose(a, Node::FALSE, Node::TRUE)
    }

    pub(in crate::decide) fn and(&mut self, a: Node, b: Node) -> Option<Node> {
        self.choose(a, b, Node::FALSE)
    }

    pub(in crate::decide) fn or(&mut self, a: Node, b: Node) -> Option<Node> {
        self.choose(a, Node::TRUE, b)
    }

    pub(in crate::decide) fn xor(&mut self, a: Node, b: Node) -> Option<Node> {
        let n = self.not(b)?;
        self.choose(a, n, b)
    }
}

/// Whether two words of gates are one function, by diagrams; `None` if these are too large.
pub(super) fn same(words: &Words, x: &[Lit], y: &[Lit]) -> Option<bool> {
    let circuit = &words.circuit;
    let differing = || x.iter().zip(y).filter(|(p, q)| p != q);
    let mut below = vec![false; circuit.len()];
    for (p, q) in differing() {
        below[p.gate()] = true;
        below[q.gate()] = true;
    }
    let mut order = Vec::new();
    for i in (1..circuit.len()).rev() {
        match circuit.gate(i) {
            _ if !below[i] => {}
            Gate::And(a, b) => {
                below[a.gate()] = true;
                below[b.gate()] = true;
            }
            Gate::Input => order.push((words.places.get(&i).copied(), i)),
        }
    }
    if order.len() > MAX_DIAGRAM_INPUTS {
        return None;
    }
    // Bits of one place stand beside one another: in that order sums are small.
    order.sort_unstable();
    let mut bdd = Bdd::new(MAX_NODES);
    let mut nodes: Vec<Node> = vec![Node::FALSE; circuit.len()];
    for (k, (_, gate)) in order.into_iter().enumerate() {
        nodes[gate] = bdd.variable(k as u32)?;
    }
    let of = |bdd: &mut Bdd, nodes: &[Node], l: Lit| match l.is_negated() {
        true => bdd.not(nodes[l.gate()]),
        false => Some(nodes[l.gate()]),
    };
    for i in (1..circuit.len()).filter(|&i| below[i]) {
        if let Gate::And(a, b) = circuit.gate(i) {
            let (a, b) = (of(&mut bdd, &nodes, a)?, of(&mut bdd, &nodes, b)?);
            nodes[i] = bdd.and(a, b)?;
        }
    }
    for (&p, &q) in differing() {
        if of(&mut bdd, &nodes, p)? != of(&mut bdd, &nodes, q)? {
            return Some(false);
        }
    }
    Some(true)
}
