//! Names to what they mean, and the ranges of variables.
//!
//! A variable without a range of its own takes that of the shapes that it subscripts, alone and not behind a
//! condition that mentions it: `sum(k: a[i,k])` runs over the second dimension of `a`. What an intermediate
//! array gives follows from the shapes that its own indices subscript, or from how it is read. Two shapes
//! that give different ranges are an error, since either may be meant.

use rustc_hash::FxHashMap;

use super::ast::{Def, Equation, Expr, ExprId, Formula, Name};
use super::error::{Problem, Trouble};
use super::symbols::Symbols;
use crate::diag::{Span, nearest};
use crate::spec::{ElemTy, Role};

/// A variable: an index of a definition or of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct VarId(pub u32);

/// What a name, or the array of a read, means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Var(VarId),
    Scalar(usize),
    Array(usize),
    Helper(usize),
}

/// A variable with what gives its range.
#[derive(Clone, Debug)]
pub(super) struct Var {
    pub name: Name,
    pub range: Option<Range>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Range {
    /// From 0 on.
    Extent(u64),
    /// As it is written.
    Given(ExprId, ExprId),
}

/// An equation whose names are known.
#[derive(Clone, Debug)]
pub(super) struct Resolved {
    /// The variables of its left side.
    pub indices: Vec<VarId>,
    pub value: ExprId,
}

/// A definition whose names are known.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// The array that it defines.
    pub array: usize,
    /// Where it defines it.
    pub cond: Option<ExprId>,
    pub output: Resolved,
}

/// A formula whose names are known.
#[derive(Clone, Debug)]
pub(super) struct Program<'f> {
    pub formula: &'f Formula,
    pub symbols: Symbols,
    pub targets: Vec<Target>,
    pub helpers: Vec<Resolved>,
    pub vars: Vec<Var>,
    /// What names and reads mean.
    pub meanings: FxHashMap<ExprId, Meaning>,
    /// The variables of each reduction.
    pub binders: FxHashMap<ExprId, Vec<VarId>>,
}

/// What limits the range of a variable.
struct Hints {
    /// Extents of arrays that it subscripts, with the place.
    extents: Vec<(VarId, u64, Span)>,
    /// Variables that run over the same.
    links: Vec<(VarId, VarId)>,
}

struct Resolver<'f> {
    out: Program<'f>,
    troubles: Vec<Trouble>,
    hints: Hints,
    /// Variables by name, the innermost last.
    scope: Vec<(String, VarId)>,
    /// Names of the intermediate arrays of this definition.
    helpers: Vec<(Name, usize)>,
    /// Variables that the conditions around mention.
    guarded: Vec<VarId>,
    /// Which helper reads which.
    reads: Vec<(usize, usize, Span)>,
    /// The helper that is being read.
    current: Option<usize>,
}

/// Finds what every name means, or everything that is wrong with them.
pub(super) fn resolve(formula: &Formula, symbols: Symbols) -> Result<Program<'_>, Vec<Trouble>> {
    let mut resolver = Resolver {
        out: Program {
            formula,
            symbols,
            targets: Vec::new(),
            helpers: Vec::new(),
            vars: Vec::new(),
            meanings: FxHashMap::default(),
            binders: FxHashMap::default(),
        },
        troubles: Vec::new(),
        hints: Hints {
            extents: Vec::new(),
            links: Vec::new(),
        },
        scope: Vec::new(),
        helpers: Vec::new(),
        guarded: Vec::new(),
        reads: Vec::new(),
        current: None,
    };
    let mut seen: Vec<&Name> = Vec::new();
    for def in &formula.defs {
        let name = &def.output.head.name;
        if let Some(first) = seen.iter().find(|n| n.text == name.text) {
            let problem = Problem::Doubled {
                name: name.text.clone(),
                what: "defined",
            };
            let trouble = Trouble::new(problem, name.span).beside(first.span, "first here");
            resolver.troubles.push(trouble);
        }
        seen.push(name);
        resolver.def(def);
    }
    resolver.circles();
    // Behind what is not known there is no range to be found.
    if resolver.troubles.is_empty() {
        resolver.ranges();
    }
    let Resolver {
        out, mut troubles, ..
    } = resolver;
    troubles.sort_by_key(|t| t.span);
    match troubles.is_empty() {
        true => Ok(out),
        false => Err(troubles),
    }
}

impl<'f> Resolver<'f> {
    fn trouble(&mut self, problem: Problem, span: Span) {
        self.troubles.push(Trouble::new(problem, span));
    }

    fn variable(&mut self, name: &Name, range: Option<Range>) -> VarId {
        let id = VarId(self.out.vars.len() as u32);
        self.out.vars.push(Var {
            name: name.clone(),
            range,
        });
        id
    }

    fn def(&mut self, def: &'f Def) {
        self.helpers.clear();
        let first = self.out.helpers.len();
        for helper in &def.helpers {
            let name = &helper.head.name;
            let problem = if self.out.symbols.find_array(&name.text).is_some() {
                Some(Problem::Taken {
                    name: name.text.clone(),
                })
            } else if self.helpers.iter().any(|h| h.0.text == name.text) {
                Some(Problem::Doubled {
                    name: name.text.clone(),
                    what: "defined",
                })
            } else {
                None
            };
            if let Some(problem) = problem {
                self.trouble(problem, name.span);
            }
            if let Some(cond) = helper.head.cond {
                let span = self.out.formula.span(cond);
                self.trouble(Problem::PartOfHelper, span);
            }
            let indices = helper.head.indices.iter();
            let indices = indices.map(|i| self.variable(i, None)).collect();
            self.helpers.push((name.clone(), self.out.helpers.len()));
            self.out.helpers.push(Resolved {
                indices,
                value: helper.value,
            });
        }
        for (i, helper) in def.helpers.iter().enumerate() {
            self.current = Some(first + i);
            let indices = self.out.helpers[first + i].indices.clone();
            self.equation(helper, &indices);
        }
        self.current = None;
        self.output(&def.output);
    }

    fn output(&mut self, equation: &'f Equation) {
        let head = &equation.head;
        let array = self.array(&head.name);
        let mut extents = None;
        if let Some(array) = array {
            let symbol = &self.out.symbols.arrays[array];
            let role = match symbol.array.role {
                Some(Role::In) => Some("in:"),
                Some(Role::Scratch) => Some("scratch:"),
                Some(Role::Out | Role::InOut) | None => None,
            };
            if let Some(role) = role {
                let problem = Problem::Role {
                    name: head.name.text.clone(),
                    role,
                    what: "defined",
                };
                self.trouble(problem, head.name.span);
            }
            extents = self.shape(array, &head.name, head.indices.len());
        }
        let indices = head.indices.iter().enumerate();
        let extent = |i: usize| extents.as_ref().and_then(|e| e.get(i)).copied();
        let indices: Vec<VarId> = indices
            .map(|(i, name)| self.variable(name, Some(Range::Extent(extent(i).unwrap_or(0)))))
            .collect();
        self.equation(equation, &indices);
        if let Some(array) = array {
            self.out.targets.push(Target {
                array,
                cond: head.cond,
                output: Resolved {
                    indices,
                    value: equation.value,
                },
            });
        }
    }

    fn equation(&mut self, equation: &'f Equation, indices: &[VarId]) {
        let names = equation.head.indices.iter().map(|n| n.text.clone());
        self.scope = names.zip(indices.iter().copied()).collect();
        self.guarded.clear();
        if let Some(cond) = equation.head.cond {
            self.walk(cond);
            self.guard(cond);
        }
        self.walk(equation.value);
    }

    /// The array of a name.
    fn array(&mut self, name: &Name) -> Option<usize> {
        let found = self.out.symbols.find_array(&name.text);
        if found.is_none() {
            let known = self.out.symbols.arrays.iter().map(|a| a.name.clone());
            let known: Vec<String> = known.collect();
            self.unknown(name, "array", known);
        }
        found
    }

    fn unknown(&mut self, name: &Name, what: &'static str, known: Vec<String>) {
        let meant = nearest(&name.text, known.iter().map(String::as_str)).map(str::to_string);
        let problem = Problem::Unknown {
            name: name.text.clone(),
            what,
            known,
        };
        let trouble = Trouble::new(problem, name.span).meant(meant.as_deref());
        self.troubles.push(trouble);
    }

    /// The extents of an array that is given so many indices; `None` if they do not fit.
    fn shape(&mut self, array: usize, name: &Name, given: usize) -> Option<Vec<u64>> {
        let symbol = &self.out.symbols.arrays[array];
        let what = match (symbol.array.elem, symbol.array.extent) {
            (None, _) => Some("element type"),
            (_, None) => Some("shape"),
            (Some(elem), _) if !is_whole(elem) => Some("element type of whole bytes"),
            _ => None,
        };
        let shape = symbol.array.shape.clone();
        let single = given == 0 && shape.iter().product::<u64>() == 1;
        let problem = match what {
            Some(what) => Problem::Unbound {
                name: name.text.clone(),
                what,
            },
            None if single => return Some(Vec::new()),
            None if shape.len() != given => Problem::Rank {
                name: name.text.clone(),
                rank: shape.len(),
                given,
            },
            None => return Some(shape),
        };
        self.trouble(problem, name.span);
        None
    }

    fn walk(&mut self, e: ExprId) {
        let formula = self.out.formula;
        match formula.expr(e) {
            Expr::Name(text) => {
                let name = Name {
                    text: text.clone(),
                    span: formula.span(e),
                };
                self.scalar(e, &name);
            }
            Expr::Read { name, indices } => {
                indices.iter().for_each(|&i| self.walk(i));
                self.read(e, name, indices);
            }
            Expr::If(cond, yes, no) => {
                let cond = *cond;
                self.walk(cond);
                let before = self.guarded.len();
                self.guard(cond);
                self.walk(*yes);
                self.walk(*no);
                self.guarded.truncate(before);
            }
            Expr::Reduce {
                vars, cond, body, ..
            } => {
                let before = self.scope.len();
                let mut ids = Vec::new();
                for var in vars {
                    // A range may depend on the variables before it.
                    if let Some((lo, hi)) = var.range {
                        self.walk(lo);
                        self.walk(hi);
                    }
                    let range = var.range.map(|(lo, hi)| Range::Given(lo, hi));
                    let id = self.variable(&var.name, range);
                    self.scope.push((var.name.text.clone(), id));
                    ids.push(id);
                }
                self.out.binders.insert(e, ids);
                if let Some(cond) = cond {
                    self.walk(*cond);
                }
                self.walk(*body);
                self.scope.truncate(before);
            }
            other => {
                let mut children = Vec::new();
                other.children(&mut |c| children.push(c));
                children.into_iter().for_each(|c| self.walk(c));
            }
        }
    }

    /// Adds the variables that a condition mentions.
    fn guard(&mut self, cond: ExprId) {
        let mut open = vec![cond];
        while let Some(e) = open.pop() {
            if let Some(Meaning::Var(v)) = self.out.meanings.get(&e) {
                self.guarded.push(*v);
            }
            self.out.formula.expr(e).children(&mut |c| open.push(c));
        }
    }

    fn scalar(&mut self, e: ExprId, name: &Name) {
        let bound = self.scope.iter().rev().find(|s| s.0 == name.text);
        if let Some(&(_, v)) = bound {
            self.out.meanings.insert(e, Meaning::Var(v));
            return;
        }
        if let Some(i) = self.out.symbols.find_scalar(&name.text) {
            self.out.meanings.insert(e, Meaning::Scalar(i));
            return;
        }
        let scalars = self.out.symbols.scalars.iter().map(|s| s.name.clone());
        let indices = self.scope.iter().map(|s| s.0.clone());
        let known = indices.chain(scalars).collect();
        self.unknown(name, "index, size or scalar", known);
    }

    fn read(&mut self, e: ExprId, name: &'f Name, indices: &'f [ExprId]) {
        let helper = self.helpers.iter().find(|h| h.0.text == name.text);
        if let Some(&(_, h)) = helper {
            let own = self.out.helpers[h].indices.clone();
            if own.len() != indices.len() {
                let problem = Problem::Rank {
                    name: name.text.clone(),
                    rank: own.len(),
                    given: indices.len(),
                };
                self.trouble(problem, name.span);
                return;
            }
            self.out.meanings.insert(e, Meaning::Helper(h));
            if let Some(from) = self.current {
                self.reads.push((from, h, name.span));
            }
            for (&i, &own) in indices.iter().zip(&own) {
                if let Some(v) = self.free_index(i) {
                    self.hints.links.push((v, own));
                }
            }
            return;
        }
        let known_helpers: Vec<String> = self.helpers.iter().map(|h| h.0.text.clone()).collect();
        let Some(array) = self.out.symbols.find_array(&name.text) else {
            let arrays = self.out.symbols.arrays.iter().map(|a| a.name.clone());
            let known = known_helpers.into_iter().chain(arrays).collect();
            return self.unknown(name, "array", known);
        };
        if self.out.symbols.arrays[array].array.role == Some(Role::Out) {
            let problem = Problem::Role {
                name: name.text.clone(),
                role: "out:",
                what: "read",
            };
            return self.trouble(problem, name.span);
        }
        let Some(shape) = self.shape(array, name, indices.len()) else {
            return;
        };
        self.out.meanings.insert(e, Meaning::Array(array));
        for (&i, &extent) in indices.iter().zip(&shape) {
            if let Some(v) = self.free_index(i) {
                let span = self.out.formula.span(i);
                self.hints.extents.push((v, extent, span));
            }
        }
    }

    /// The variable that an index is, if no condition around mentions it.
    fn free_index(&self, e: ExprId) -> Option<VarId> {
        match self.out.meanings.get(&e) {
            Some(Meaning::Var(v)) if !self.guarded.contains(v) => Some(*v),
            _ => None,
        }
    }

    /// Intermediate arrays that are defined by way of themselves.
    fn circles(&mut self) {
        let count = self.out.helpers.len();
        let mut left: Vec<usize> = (0..count).collect();
        loop {
            // What reads only what is done is done.
            let before = left.len();
            let blocked: Vec<usize> = left
                .iter()
                .copied()
                .filter(|h| self.reads.iter().any(|r| r.0 == *h && left.contains(&r.1)))
                .collect();
            left = blocked;
            if left.len() == before {
                break;
            }
        }
        let inner = self.reads.iter();
        let mut inner = inner.filter(|r| left.contains(&r.0) && left.contains(&r.1));
        if let Some(&(_, _, span)) = inner.next() {
            let name = self.out.formula.defs.iter().flat_map(|d| &d.helpers);
            let name = name.map(|h| &h.head.name).nth(left[0]);
            let name = name.map_or(String::new(), |n| n.text.clone());
            self.trouble(Problem::Circle { name }, span);
        }
    }

    /// Gives every variable its range.
    fn ranges(&mut self) {
        let count = self.out.vars.len();
        let mut known: Vec<Option<(u64, Span)>> = vec![None; count];
        let mut clash: Vec<Option<(u64, Span)>> = vec![None; count];
        for (i, var) in self.out.vars.iter().enumerate() {
            if let Some(Range::Extent(n)) = var.range {
                known[i] = Some((n, var.name.span));
            }
        }
        let fixed: Vec<bool> = self.out.vars.iter().map(|v| v.range.is_some()).collect();
        for &(v, extent, span) in &self.hints.extents {
            let i = v.0 as usize;
            match known[i] {
                _ if fixed[i] => {}
                None => known[i] = Some((extent, span)),
                Some((n, _)) if n != extent => clash[i] = clash[i].or(Some((extent, span))),
                Some(_) => {}
            }
        }
        // Ranges go through intermediate arrays until nothing changes.
        let mut changed = true;
        while changed {
            changed = false;
            for &(a, b) in &self.hints.links {
                for (from, to) in [(a, b), (b, a)] {
                    let (from, to) = (from.0 as usize, to.0 as usize);
                    if known[to].is_none() && !fixed[to] && clash[from].is_none() {
                        known[to] = known[from];
                        changed |= known[to].is_some();
                    }
                }
            }
        }
        // The indices of intermediate arrays are given by whoever reads them.
        let own: Vec<VarId> = self
            .out
            .helpers
            .iter()
            .flat_map(|h| h.indices.clone())
            .collect();
        for i in 0..count {
            if fixed[i] || own.contains(&VarId(i as u32)) {
                continue;
            }
            let name = self.out.vars[i].name.clone();
            let trouble = match (known[i], clash[i]) {
                (Some((first, at)), Some((second, span))) => {
                    let problem = Problem::TwoRanges {
                        name: name.text,
                        first,
                        second,
                    };
                    Trouble::new(problem, at).beside(span, "and here")
                }
                (Some((n, _)), None) => {
                    self.out.vars[i].range = Some(Range::Extent(n));
                    continue;
                }
                (None, _) => {
                    let problem = Problem::NoRange {
                        name: name.text.clone(),
                    };
                    Trouble::new(problem, name.span)
                }
            };
            self.troubles.push(trouble);
        }
    }
}

/// True for elements that fill bytes.
fn is_whole(elem: ElemTy) -> bool {
    match elem {
        ElemTy::Float(fmt) => fmt.bits().is_multiple_of(8),
        ElemTy::Int { width, .. } => width.is_multiple_of(8),
    }
}
