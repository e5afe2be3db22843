//! Which functions an entry reaches by calls, and how deep calls can be expanded.
//!
//! The problem: calls are expanded in place, so recursion and call trees that branch at every
//! level would make code of any size. The depth of expansion is one number for the whole entry:
//! the largest, up to [`MAX_CALL_DEPTH`], at which the expanded code stays within a bound. It is
//! found by counting, `size(f, d) = own(f) + sum over calls of size(callee, d - 1)`, before anything
//! is expanded; so the limit does not depend on the order of calls. A call through a register counts as calls of all functions that
//! it is tested against.

use rustc_hash::{FxHashMap, FxHashSet};

use super::MAX_CALL_DEPTH;
use crate::ptx::{
    Base, Expr, ExprKind, Function, Id, ItemKind, Module, Name, Op, Operand, OperandKind, StmtKind,
};

/// Instructions that expansion may add to an entry's own.
const MAX_EXPANDED: u64 = 1 << 17;

/// Instructions that the targets of calls through registers may add to those: most of them are never called.
const MAX_TARGETS: u64 = 1 << 13;

/// A call, by the index of what it may call.
#[derive(Clone, Copy, Debug)]
struct Edge {
    callee: usize,
    /// The call is through a register.
    indirect: bool,
}

/// The functions that an entry reaches.
#[derive(Debug)]
pub(super) struct CallGraph {
    /// Functions by name, aliases included; a definition is preferred to a declaration.
    by_name: FxHashMap<Name, Id<Function>>,
    /// The functions that are reached and have a body, the entry first, in order of first call.
    pub reached: Vec<Id<Function>>,
    /// How deep calls are expanded.
    pub depth: usize,
    /// How many of them may be calls through registers.
    pub indirect: usize,
    /// The functions of the module whose address is taken.
    pub addressed: Vec<Id<Function>>,
}

impl CallGraph {
    /// Walks the calls from an entry.
    pub(super) fn new(m: &Module, entry: Id<Function>) -> CallGraph {
        let by_name = functions_by_name(m);
        let addressed = super::indirect::addressed(m);
        let mut reached = vec![entry];
        let mut known: FxHashMap<usize, usize> = FxHashMap::default();
        known.insert(entry.index(), 0);
        let mut own = Vec::new();
        let mut calls: Vec<Vec<Edge>> = Vec::new();
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
                let operands = &m[m[id].operands];
                let named = target(operands).and_then(|name| by_name.get(&name));
                let indirect = named.is_none();
                let called = match (named, super::indirect::indirect_parts(operands)) {
                    (Some(callee), _) => vec![*callee],
                    (None, Some(call)) => {
                        let kind = super::indirect::kind_of(m, function, call.said);
                        super::indirect::candidates(m, &addressed, kind)
                    }
                    (None, None) => Vec::new(),
                };
                for callee in called.into_iter().filter(|f| m[*f].body.is_some()) {
                    let next = reached.len();
                    let index = *known.entry(callee.index()).or_insert(next);
                    if index == next {
                        reached.push(callee);
                    }
                    callees.push(Edge {
                        callee: index,
                        indirect,
                    });
                }
            }
            own.push(size);
            calls.push(callees);
        }
        let (depth, indirect) = affordable(&own, &calls);
        CallGraph {
            by_name,
            reached,
            depth,
            indirect,
            addressed,
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

/// The largest depth at which the expanded entry stays within the bound, and the largest number of calls through registers
/// among those that are open at a time.
fn affordable(own: &[u64], calls: &[Vec<Edge>]) -> (usize, usize) {
    let (depth, direct) = affordable_depth(own, calls);
    let room = direct.saturating_add(MAX_TARGETS);
    let fits = |&nested: &usize| expanded(own, calls, depth, nested) <= room;
    let any = calls.iter().flatten().any(|e| e.indirect);
    let most = if any { depth } else { 0 };
    (depth, (1..=most).take_while(fits).last().unwrap_or(0))
}

/// The largest depth where calls that name a function are expanded alone, and the size at that depth.
fn affordable_depth(own: &[u64], calls: &[Vec<Edge>]) -> (usize, u64) {
    let entry = own.first().copied().unwrap_or(0);
    let mut last = entry;
    for depth in 1..=MAX_CALL_DEPTH {
        let size = expanded(own, calls, depth, 0);
        if size > entry + MAX_EXPANDED {
            return (depth - 1, last);
        }
        last = size;
    }
    (MAX_CALL_DEPTH, last)
}

/// The size of the entry where calls are expanded to a depth, and at most so many through registers in each other.
fn expanded(own: &[u64], calls: &[Vec<Edge>], depth: usize, nested: usize) -> u64 {
    let mut sizes = vec![own.to_vec(); nested + 1];
    for _ in 0..depth {
        let size = |f: usize, nested: usize| {
            let of = |e: &Edge| match (e.indirect, nested) {
                (true, 0) => 0,
                (indirect, nested) => sizes[nested - usize::from(indirect)][e.callee],
            };
            calls[f].iter().map(of).fold(own[f], u64::saturating_add)
        };
        let all = |nested| (0..own.len()).map(|f| size(f, nested)).collect();
        sizes = (0..=nested).map(all).collect();
    }
    sizes[nested].first().copied().unwrap_or(0)
}

/// Calls `f` with each name in a list of operands. Operands nest as deep as their text, so the
/// walk keeps its own stack.
pub(super) fn names_in(m: &Module, operands: &[Operand], f: &mut impl FnMut(Name)) {
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
