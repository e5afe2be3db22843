//! Facts that would discharge an obligation against wrap-around, as the user would write them.
//!
//! A product or a sum of sizes that may leave its word is the most frequent reason why two addresses cannot be told
//! apart. Where both operands have names on the command line, or the guard bounds them by one that has, the fact that
//! excludes the wrap is a hint; it is not used before the user says it.

use super::expr::{Exprs, Id, Node, Order, operands};
use super::launches::FreeInt;
use super::state::Walk;
use crate::term::BitsOp;

/// Facts of which each excludes a wrap below some words, given conditions.
pub(super) fn against_wrap(
    w: &mut Walk,
    ints: &[FreeInt],
    words: &[Id],
    conditions: &[Id],
) -> Vec<String> {
    let names = names(w, ints);
    let literals: Vec<Id> = conditions.iter().flat_map(|c| w.e.literals(*c)).collect();
    let mut out = Vec::new();
    let mut seen = rustc_hash::FxHashSet::default();
    let mut stack = words.to_vec();
    while let Some(id) = stack.pop() {
        if !seen.insert(id) {
            continue;
        }
        if let Node::Word(BitsOp::Mul, a, b) = *w.e.node(id)
            && w.e.width(id) >= 32
        {
            let (a, b) = (narrow(&w.e, a), narrow(&w.e, b));
            for (x, y) in [(a, b), (b, a)] {
                let Some(size) = name(&w.e, &names, y) else {
                    continue;
                };
                let guarded = literals.iter().find_map(|l| match *w.e.node(*l) {
                    Node::Compare(Order::Less | Order::Below, v, n) if v == x => {
                        name(&w.e, &names, n)
                    }
                    _ => None,
                });
                if let Some(bound) = guarded.or_else(|| below_the_launch(w, x)) {
                    let fact = format!("{bound}*{size} <= 2147483647");
                    if !out.contains(&fact) {
                        out.push(fact);
                    }
                }
            }
        }
        operands(w.e.node(id), |o| stack.push(o));
    }
    out
}

/// The word below an extension: a product of 64 bits of two of them is far from wrapping where one of 32 bits does not.
fn narrow(e: &Exprs, id: Id) -> Id {
    match *e.node(id) {
        Node::Signed(a) | Node::Wide(a) => a,
        _ => id,
    }
}

/// The number of threads in one direction, for the number of a thread in the grid.
fn below_the_launch(w: &Walk, x: Id) -> Option<String> {
    let Node::Word(BitsOp::Add, a, b) = *w.e.node(x) else {
        return None;
    };
    let s = w.sizes;
    (0..3).find_map(|i| {
        let is_first = |id: Id| match *w.e.node(id) {
            Node::Word(BitsOp::Mul, p, q) => {
                (p, q) == (s.ctaid[i], s.ntid[i]) || (q, p) == (s.ctaid[i], s.ntid[i])
            }
            _ => false,
        };
        let axis = ["x", "y", "z"][i];
        let number = is_first(a) && b == s.tid[i] || is_first(b) && a == s.tid[i];
        number.then(|| format!("grid.{axis}*block.{axis}"))
    })
}

/// The fact under which a counter below a bound does not wrap.
pub(super) fn for_counter(
    w: &mut Walk,
    ints: &[FreeInt],
    (symbol, step): (Id, Id),
    conditions: &[Id],
) -> Option<String> {
    let names = names(w, ints);
    let step = name(&w.e, &names, step)?;
    let literals: Vec<Id> = conditions.iter().flat_map(|c| w.e.literals(*c)).collect();
    literals.iter().find_map(|l| {
        let mut disjuncts = vec![*l];
        if let Node::Word(BitsOp::Or, a, b) = *w.e.node(*l) {
            disjuncts = vec![a, b];
        }
        disjuncts.iter().find_map(|d| match *w.e.node(*d) {
            Node::Compare(Order::Less, v, n) if v == symbol => {
                let bound = name(&w.e, &names, n)?;
                Some(format!("{bound} + {step} <= 2147483647"))
            }
            _ => None,
        })
    })
}

fn names(w: &mut Walk, ints: &[FreeInt]) -> Vec<(Id, String)> {
    let mut out = Vec::new();
    let s = w.sizes;
    for (i, axis) in ["x", "y", "z"].iter().enumerate() {
        out.push((s.ntid[i], format!("block.{axis}")));
        out.push((s.nctaid[i], format!("grid.{axis}")));
    }
    for p in ints {
        let id = w.scalar_of(p.offset, p.bytes.min(8));
        let plain = p.name.chars().all(|c| c.is_alphanumeric() || c == '_');
        out.push((
            id,
            if plain {
                p.name.clone()
            } else {
                format!("arg({})", p.key)
            },
        ));
    }
    out
}

/// A sum or product of named sizes; what lies deeper than a few operations has no name.
fn name(e: &Exprs, names: &[(Id, String)], id: Id) -> Option<String> {
    let known = |id: Id| match e.node(id) {
        Node::Const(v) => Some(v.to_string()),
        _ => names.iter().find(|n| n.0 == id).map(|n| n.1.clone()),
    };
    if let Some(text) = known(id) {
        return Some(text);
    }
    match *e.node(id) {
        Node::Word(BitsOp::Mul, a, b) => Some(format!("{}*{}", known(a)?, known(b)?)),
        Node::Word(BitsOp::Add, a, b) => Some(format!("({} + {})", known(a)?, known(b)?)),
        _ => None,
    }
}
