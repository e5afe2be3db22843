//! Expansion of calls through a register.
//!
//! The problem: the target of `call (r), %rd1, (a), prototype` is a value, which is known while the kernel runs: it
//! was loaded from a table, from an object's table of virtual functions, or chosen by a thread. Source: PTX ISA 9.0, sections
//! 5.4.4, 9.7.12.5, 11.3.2 and 11.3.3.
//!
//! The address of a function is that of an object of its own, so that a test of addresses decides which function it is
//! ([`Lowerer::function_place`]). A call tests its register against each function of the module whose address is taken and
//! whose parameters have the sizes of the prototype's, or against those that `.calltargets` or a table lists, and
//! expands each one's body behind its test. What is left over, an address that is none of theirs, is not modelled: nothing is assumed
//! of it. Threads with different targets diverge at the tests and meet after the call, as at any branch.
//!
//! Not claimed: a function without a body is no target.

use rustc_hash::FxHashSet;

use super::call::list;
use super::lower::Lowerer;
use super::operand::Fit;
use super::scope::{At, Binding, Place};
use super::sig::{Decoded, unsupported};
use super::{Cmp, Guard, IntTy, NumTy, Op, Pc, Space, Src};
use crate::ptx::{
    Function, Id, Init, ItemKind, List, Module, Name, Op as Opcode, Operand, OperandKind, Param,
    StmtKind, Target, Type, Value, evaluate,
};

/// What an address is that is none of those that a call is tested against.
pub(super) const NO_TARGET: &str =
    "a call of an address that is not known to be one of a function of this module that fits";

/// What a call says of the functions that it may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `.callprototype`: their parameters.
    Prototype(Id<Function>),
    /// `.calltargets`: their names.
    Targets(List<Target>),
    /// A variable that is initialised with their names.
    Table(Name),
}

/// A call that names no function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indirect<'a> {
    results: Option<List<Operand>>,
    pointer: &'a Operand,
    arguments: Option<List<Operand>>,
    /// The label of a prototype or of a list, or a table.
    pub said: Name,
}

/// Reads the operands of a call that ends with the name of a prototype, list or table.
pub(super) fn indirect_parts(operands: &[Operand]) -> Option<Indirect<'_>> {
    let (last, rest) = operands.split_last()?;
    let OperandKind::Name(said) = last.kind else {
        return None;
    };
    let group = |o: &Operand| match o.kind {
        OperandKind::Group(list) => Some(list),
        _ => None,
    };
    let (results, rest) = match rest.split_first() {
        Some((first, rest)) if group(first).is_some() => (group(first), rest),
        _ => (None, rest),
    };
    let (pointer, arguments) = match rest {
        [pointer] => (pointer, None),
        [pointer, arguments] => (pointer, Some(group(arguments)?)),
        _ => return None,
    };
    matches!(pointer.kind, OperandKind::Name(_)).then_some(Indirect {
        results,
        pointer,
        arguments,
        said,
    })
}

/// The functions with a body that a module takes the address of, in its order, a definition once.
pub(super) fn addressed(m: &Module) -> Vec<Id<Function>> {
    let mut names: FxHashSet<Name> = FxHashSet::default();
    for item in &m.items {
        match item.kind {
            ItemKind::Decl(id) => {
                for declarator in m[id].declarators.ids() {
                    initial_names(m, m[declarator].init, &mut |name| {
                        names.insert(name);
                    });
                }
            }
            ItemKind::Function(id) => {
                for stmt in m[id].body.map_or(&[][..], |body| &m[body]) {
                    if let StmtKind::Instr(id) = stmt.kind
                        && m[id].op() != Some(Opcode::Call)
                    {
                        super::callgraph::names_in(m, &m[m[id].operands], &mut |name| {
                            names.insert(name);
                        });
                    }
                }
            }
            _ => {}
        }
    }
    let functions = m.functions().filter(|(_, f)| f.body.is_some());
    let named = functions.filter(|(_, f)| names.contains(&f.name));
    named.map(|(id, _)| id).collect()
}

/// Calls `f` with each symbol of an initialiser.
fn initial_names(m: &Module, init: Option<Id<Init>>, f: &mut impl FnMut(Name)) {
    let mut stack: Vec<&Init> = init.map(|id| &m[id]).into_iter().collect();
    while let Some(init) = stack.pop() {
        match *init {
            Init::Value(expr) => super::callgraph::symbols_in(m, expr, f),
            Init::List(items) => stack.extend(&m[items]),
            Init::Field { .. } => {}
        }
    }
}

/// The functions of a list of targets that have a body.
fn listed(m: &Module, targets: List<Target>) -> Vec<Id<Function>> {
    let names: Vec<Name> = m[targets].iter().map(|target| target.name).collect();
    let functions = m.functions().filter(|(_, f)| f.body.is_some());
    let named = functions.filter(|(_, f)| names.contains(&f.name));
    named.map(|(id, _)| id).collect()
}

/// The functions that a call of a kind may reach, of those whose address is taken.
pub(super) fn candidates(m: &Module, taken: &[Id<Function>], kind: Kind) -> Vec<Id<Function>> {
    match kind {
        Kind::Targets(targets) => listed(m, targets),
        Kind::Prototype(prototype) => {
            let wanted = sizes(m, &m[prototype]);
            let fits = |id: &&Id<Function>| wanted.is_some() && sizes(m, &m[**id]) == wanted;
            taken.iter().filter(fits).copied().collect()
        }
        Kind::Table(name) => {
            let mut names: FxHashSet<Name> = FxHashSet::default();
            let declarators = m.items.iter().filter_map(|item| match item.kind {
                ItemKind::Decl(id) => Some(m[id].declarators.ids()),
                _ => None,
            });
            for declarator in declarators.flatten().filter(|d| m[*d].name == name) {
                initial_names(m, m[declarator].init, &mut |name| {
                    names.insert(name);
                });
            }
            let of = |id: &&Id<Function>| names.contains(&m[**id].name);
            taken.iter().filter(of).copied().collect()
        }
    }
}

/// The kind of the call that names a label of a function's body, or a variable.
pub(super) fn kind_of(m: &Module, function: Id<Function>, said: Name) -> Kind {
    let stmts = m[function].body.map_or(&[][..], |body| &m[body]);
    let labelled = stmts.iter().find_map(|stmt| match stmt.kind {
        StmtKind::CallPrototype { label, prototype } if label == said => {
            Some(Kind::Prototype(prototype))
        }
        StmtKind::CallTargets { label, targets } if label == said => Some(Kind::Targets(targets)),
        _ => None,
    });
    labelled.unwrap_or(Kind::Table(said))
}

/// Parameters, each by whether it is a register and its bytes.
type Sizes = Vec<(bool, u64)>;

/// The results and the parameters of a function; `None` where some has no size.
fn sizes(m: &Module, function: &Function) -> Option<(Sizes, Sizes)> {
    let size = |param: &Param| {
        let elem = u64::from(param.ty.bytes()) * u64::from(param.vector.unwrap_or(1));
        let mut dims = m[param.dims].iter().map(|dim| match evaluate(m, (*dim)?) {
            Ok(Value::Int(int)) => Some(int.bits),
            _ => None,
        });
        let bytes = dims.try_fold(elem, |bytes: u64, dim| bytes.checked_mul(dim?));
        bytes.map(|bytes| (param.space == crate::ptx::Space::Reg, bytes))
    };
    let all = |params: List<Param>| m[params].iter().map(size).collect::<Option<Vec<_>>>();
    Some((all(function.results)?, all(function.params)?))
}

impl Lowerer<'_> {
    /// The object whose address is a function's: one byte that no program knows the content of.
    pub(super) fn function_place(&mut self, function: Id<Function>) -> Place {
        let name = self.m.text(self.m[function].name).to_string();
        let object = self.foreign_object(name, (1, 1, 1));
        Place {
            space: Space::Global,
            at: At::Global(object),
            elem: 1,
            bytes: 1,
        }
    }

    /// `call (results), pointer, (arguments), prototype;`
    pub(super) fn decode_indirect(&mut self, call: Indirect<'_>) -> Decoded<()> {
        let m = self.m;
        let Some(&inside) = self.stack.last() else {
            return unsupported("an indirect call");
        };
        let pointer = self.reg(call.pointer, Type::B64, Fit::Exact)?;
        let kind = match self.lookup(call.said) {
            Some(Binding::CallTable | Binding::Var(_)) => kind_of(m, inside, call.said),
            _ => return unsupported("an indirect call without a prototype"),
        };
        let actuals: (&[Operand], &[Operand]) = (list(m, call.results), list(m, call.arguments));
        let targets = candidates(m, &self.calls.addressed, kind);
        let fits = |id: &&Id<Function>| {
            let (outs, ins) = (&m[m[**id].results], &m[m[**id].params]);
            outs.len() == actuals.0.len() && ins.len() == actuals.1.len()
        };
        let end = self.new_label();
        let jump = Op::Bra {
            target: Pc(end.0),
            uni: false,
        };
        let guard = self.guard.take();
        if let Some(Guard { reg, negated }) = guard {
            let skip = Guard {
                reg,
                negated: !negated,
            };
            self.emit_guarded(Some(skip), jump.clone());
        }
        for &target in targets.iter().filter(fits) {
            let At::Global(place) = self.function_place(target).at else {
                continue;
            };
            let next = self.new_label();
            let other = self.temp(Type::Pred);
            self.emit(Op::Setp {
                cmp: Cmp::Ne,
                ty: NumTy::Int(IntTy {
                    width: 64,
                    signed: false,
                }),
                lanes: 1,
                ftz: false,
                combine: None,
                p: Some(other),
                q: None,
                a: Src::Reg(pointer),
                b: Src::Global(place, 0),
            });
            let other = Guard {
                reg: other,
                negated: false,
            };
            let skip = Op::Bra {
                target: Pc(next.0),
                uni: false,
            };
            self.emit_guarded(Some(other), skip);
            if self.stack.len() > self.calls.depth || self.nested >= self.calls.indirect {
                self.emit(Op::CallDepth);
            } else {
                self.nested += 1;
                let expanded = self.expand(target, actuals);
                self.nested -= 1;
                expanded?;
            }
            self.emit(jump.clone());
            self.place(next);
        }
        self.unsupported(NO_TARGET.into());
        self.place(end);
        self.guard = guard;
        Ok(())
    }
}
