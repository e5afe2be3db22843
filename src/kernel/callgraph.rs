//! Which functions an entry reaches by direct calls, and how deep calls can be expanded.
//!
//! The problem: calls are expanded in place, so recursion and call trees that branch at every
//! level would make code of any size. The depth of expansion is one number for the whole entry:
//! the largest, up to [`MAX_CALL_DEPTH`], at which the expanded code stays within a bound. It is
//! found by counting, `size(f, d) = own(f) + sum over calls of size(callee, d - 1)`, before anything
//! is expanded; so the limit does not depend on the order of calls.
//!
//! Not claimed: indirect calls; they are not expanded.

use rustc_hash::{FxHashMap, FxHashSet};

use super::MAX_CALL_DEPTH;
use crate::ptx::{
    Base, Expr, ExprKind, Function, Id, ItemKind, Module, Name, Op, Operand, OperandKind, StmtKind,
};

/// Instructions that expansion may add to an entry's own.
const MAX_EXPANDED: u64 = 1 << 17;

/// The functions that an entry reaches.
#[derive(Debug)]
pub(super) struct CallGraph {
    /// Functions by name, aliases included; a definition is preferred to a declaration.
    by_name: FxHashMap<Name, Id<Function>>,
    /// The functions that are reached and have a body, the entry first, in order of first call.
    pub reached: Vec<Id<Function>>,
    /// How deep calls are expanded.
    pub depth: usize,
}

impl CallGraph {
    /// Walks the calls from an entry.
    pub(super) fn new(m: &Module, entry: Id<Function>) -> CallGraph {
        let by_name = functions_by_name(m);
        let mut reached = vec![entry];
        let mut known: FxHashMap<usize, usize> = FxHashMap::default();
        known.insert(entry.index(), 0);
        let mut own = Vec::new();
        let mut calls: Vec<Vec<usize>> = Vec::new();
        while let Some(&function) = reached.get(own.len()) {
            let mut size = 0u64;
            let mut callees = Vec::new();
            let stmts = m[function].body.map_or(&[][..], |body| &m[body]);
            for stmt in stmts {
                let StmtKind::Instr(id) = stmt.kind else {
                    continue;
                };
                size += 1;
                if m[id].op() != Some(Op::Call) {
                    continue;
                }
                let Some(callee) = target(&m[m[id].operands]).and_then(|name| by_name.get(&name))
                else {
                    continue;
                };
                if m[*callee].body.is_none() {
                    continue;
                }
                let next = reached.len();
                let index = *known.entry(callee.index()).or_insert(next);
                if index == next {
                    reached.push(*callee);
                }
                callees.push(index);
            }
            own.push(size);
            calls.push(callees);
        }
        let depth = affordable_depth(&own, &calls);
        CallGraph {
            by_name,
            reached,
            depth,
        }
    }

    /// The function with this name.
    pub(super) fn function(&self, name: Name) -> Option<Id<Function>> {
        self.by_name.get(&name).copied()
    }

    /// Which of the given names the reached functions mention.
    pub(super) fn mentioned(&self, m: &Module, names: &FxHashSet<Name>) -> FxHashSet<Name> {
        let mut found = FxHashSet::default();
        if names.is_empty() {
            return found;
        }
        let mut mention = |name: Name| {
            if names.contains(&name) {
                found.insert(name);
            }
        };
        for function in &self.reached {
            let stmts = m[*function].body.map_or(&[][..], |body| &m[body]);
            for stmt in stmts {
                if let StmtKind::Instr(id) = stmt.kind {
                    names_in(m, &m[m[id].operands], &mut mention);
                }
            }
        }
        found
    }
}

/// The function that a call names: its first operand that is a bare name.
pub(super) fn target(operands: &[Operand]) -> Option<Name> {
    operands.iter().find_map(|o| match o.kind {
        OperandKind::Name(name) => Some(name),
        _ => None,
    })
}

fn functions_by_name(m: &Module) -> FxHashMap<Name, Id<Function>> {
    let mut by_name: FxHashMap<Name, Id<Function>> = FxHashMap::default();
    for (id, function) in m.functions() {
        let known = by_name.entry(function.name).or_insert(id);
        if m[*known].body.is_none() {
            *known = id;
        }
    }
    for item in &m.items {
        if let ItemKind::Alias { alias, aliasee } = item.kind
            && let Some(id) = by_name.get(&aliasee).copied()
        {
            by_name.insert(alias, id);
        }
    }
    by_name
}

/// The largest depth at which the expanded entry stays within the bound.
fn affordable_depth(own: &[u64], calls: &[Vec<usize>]) -> usize {
    let entry = own.first().copied().unwrap_or(0);
    let mut size = own.to_vec();
    for depth in 1..=MAX_CALL_DEPTH {
        let sum = |callees: &Vec<usize>| {
            let sizes = callees.iter().map(|c| size[*c]);
            sizes.fold(0u64, u64::saturating_add)
        };
        let bodies = own.iter().zip(calls);
        let next: Vec<u64> = bodies
            .map(|(own, callees)| own.saturating_add(sum(callees)))
            .collect();
        if next.first().is_some_and(|n| *n > entry + MAX_EXPANDED) {
            return depth - 1;
        }
        size = next;
    }
    MAX_CALL_DEPTH
}

/// Calls `f` with each name in a list of operands. Operands nest as deep as their text, so the
/// walk keeps its own stack.
fn names_in(m: &Module, operands: &[Operand], f: &mut impl FnMut(Name)) {
    let mut stack: Vec<&[Operand]> = vec![operands];
    while let Some(list) = stack.pop() {
        for operand in list {
            match operand.kind {
                OperandKind::Name(name) | OperandKind::Neg(name) => f(name),
                OperandKind::Element { base, .. } => f(base),
                OperandKind::Expr(id) => symbols_in(m, id, f),
                OperandKind::Address(id) => match m[id].base {
                    Base::Name(name) | Base::Element { base: name, .. } => f(name),
                    Base::Absent | Base::Component { .. } => {}
                },
                OperandKind::Vector(list) | OperandKind::Group(list) => stack.push(&m[list]),
                _ => {}
            }
        }
    }
}

/// Calls `f` with each symbol of a constant expression.
pub(super) fn symbols_in(m: &Module, root: Id<Expr>, f: &mut impl FnMut(Name)) {
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        match m[id].kind {
            ExprKind::Symbol(name) => f(name),
            ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::WarpSize => {}
            ExprKind::Unary(_, a) | ExprKind::Generic(a) => stack.push(a),
            ExprKind::Binary(_, a, b) => stack.extend([a, b]),
            ExprKind::Conditional(a, b, c) => stack.extend([a, b, c]),
            ExprKind::Masked { mask, of } => stack.extend([mask, of]),
        }
    }
}
