//! A module and an entry of it to a [`Kernel`]: the driver.
//!
//! The problem: turn names into indices, opcodes into typed operations, labels into program
//! counters, calls into the code of the callee, once, so that nothing later looks at strings.
//! The way through: find the functions that the entry reaches and how deep calls can be expanded
//! ([`callgraph`](super::callgraph)), lay out shared memory ([`layout`](super::layout)), then walk
//! the flat statements of the body, with a frame of names for each function instance
//! ([`scope`](super::scope)); each instruction goes to the decoder of its family, and last the
//! labels are resolved and the joins of branches found ([`structured`](super::structured)).
//!
//! Source: PTX ISA 9.0, sections 5, 6, 7, 9 and 11. An instruction that no decoder models becomes
//! [`Op::Unsupported`] with its text: it is an error of nobody, and nothing is ever dropped.
//!
//! Not claimed: legality. What `ptxas` would refuse for a reason that does not change the
//! meaning (an architecture, an alignment, a missing scope) may be accepted.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::callgraph::CallGraph;
use super::error::{LowerError, LowerWarning};
use super::header;
use super::scope::{Binding, Frame, Label, Range};
use super::statics::Statics;
use super::{
    Begins, GlobalId, GlobalVar, Guard, Inst, Kernel, Op, Owned, Param, Pc, RegId, Special, Src,
    WORKSPACE, WORKSPACE_BYTES,
};
use crate::diag::{Source, Span};
use crate::ptx;
use crate::ptx::{Function, Id, Module, Name, Operand, Stmt, StmtKind, Type};

/// Errors after which lowering stops looking for more.
const MAX_ERRORS: usize = 100;

/// A kernel and what the user should know about it.
#[derive(Debug)]
pub struct Lowered {
    /// The kernel.
    pub kernel: Kernel,
    /// Unknown opcodes and modifiers, in source order.
    pub warnings: Vec<LowerWarning>,
}

/// Lowers one entry of a module that was read from `source`.
pub fn lower(
    module: &Module,
    source: &Arc<Source>,
    entry: Id<Function>,
) -> Result<Lowered, Vec<LowerError>> {
    lower_with(module, source, entry, &[])
}

/// The same, where the user says of some functions without a body that they are pure.
pub fn lower_with<'a>(
    module: &'a Module,
    source: &'a Arc<Source>,
    entry: Id<Function>,
    pure: &'a [&'a str],
) -> Result<Lowered, Vec<LowerError>> {
    let mut low = Lowerer::new(module, source, entry);
    low.pure = pure;
    (low.errors, low.warnings) = header::check(module);
    low.lay_out_statics();
    low.kernel_params(entry);
    low.body(entry);
    low.initialise_globals();
    low.finish()
}

/// The state of lowering one entry.
pub(super) struct Lowerer<'a> {
    pub m: &'a Module,
    pub source: &'a Source,
    /// The kernel as far as it is built; branch targets are labels until the end.
    pub k: Kernel,
    /// Declared types of the registers.
    pub reg_ty: Vec<Type>,
    pub frame: Frame,
    pub calls: CallGraph,
    /// Functions that the user says are pure.
    pub pure: &'a [&'a str],
    pub statics: Statics,
    /// Functions that are being expanded, the entry first.
    pub stack: Vec<Id<Function>>,
    /// How many of them were called through a register.
    pub nested: usize,
    /// Number of call sites expanded, for the names of instances.
    pub instances: u32,
    /// Where `ret` of the callee being expanded goes; `None` in the entry.
    pub ret: Option<Label>,
    /// The program counter of each label.
    labels: Vec<u32>,
    /// Number of targets in the jump tables.
    pub table_entries: usize,
    /// The hidden carry flag.
    carry: Option<RegId>,
    pub errors: Vec<LowerError>,
    reported: FxHashSet<Span>,
    pub warnings: Vec<LowerWarning>,
    pub texts: FxHashMap<String, u32>,
    // The instruction being decoded.
    pub ops: &'a [Operand],
    pub opcode_span: Span,
    pub span: Span,
    pub guard: Option<Guard>,
    /// Bytes of the next load that are used.
    pub used_bytes: Option<u32>,
    // The source location in force.
    pub loc: u32,
    pub locs: FxHashMap<Vec<(u32, u32)>, u32>,
    /// The call site that the code of each call site was itself inlined into.
    pub inlined: FxHashMap<(u32, u32, u32), ptx::Inlined>,
    pub files: FxHashMap<u32, Name>,
}

impl<'a> Lowerer<'a> {
    fn new(m: &'a Module, source: &'a Arc<Source>, entry: Id<Function>) -> Lowerer<'a> {
        let function = &m[entry];
        let reqntid = m[function.directives].iter().find_map(|d| match d.kind {
            ptx::FuncDirectiveKind::ReqNTid(extent) => Some(extent.sizes),
            _ => None,
        });
        let cluster = m[function.directives].iter().find_map(|d| match d.kind {
            ptx::FuncDirectiveKind::ReqNCtaPerCluster(extent) => Some(extent.sizes),
            _ => None,
        });
        // The manual bounds the product, not each extent.
        let maxntid = m[function.directives].iter().find_map(|d| match d.kind {
            ptx::FuncDirectiveKind::MaxNTid(extent) => {
                Some(extent.sizes.iter().map(|&n| u64::from(n)).product())
            }
            _ => None,
        });
        let number = |of: fn(&ptx::FuncDirectiveKind) -> Option<u32>| {
            m[function.directives].iter().find_map(|d| of(&d.kind))
        };
        let given = number(|d| match d {
            ptx::FuncDirectiveKind::MaxNReg(n) => Some(*n),
            _ => None,
        });
        let ctas = number(|d| match d {
            ptx::FuncDirectiveKind::MinNCtaPerSm(n) => Some(*n),
            _ => None,
        });
        let threads = maxntid.or(reqntid.map(|r| r.iter().map(|&n| u64::from(n)).product()));
        let registers = match given {
            Some(n) => Some(Owned::given(n)),
            None => ctas.zip(threads).and_then(|(m, t)| Owned::left(m, t)),
        };
        let files = m.items.iter().filter_map(|item| match item.kind {
            ptx::ItemKind::File(id) => Some((m[id].index, m[id].path)),
            _ => None,
        });
        Lowerer {
            m,
            source,
            k: Kernel {
                name: m.text(function.name).to_string(),
                name_span: function.name_span,
                source: Arc::clone(source),
                sm: m.sm().map_or(0, |(sm, _)| sm),
                params: Vec::new(),
                param_bytes: 0,
                insts: Vec::new(),
                spans: Vec::new(),
                loc_of: Vec::new(),
                locs: Vec::new(),
                reg_width: Vec::new(),
                reg_name: Vec::new(),
                shared: Vec::new(),
                shared_bytes: 0,
                dynamic_shared: None,
                dynamic_align: 1,
                locals: Vec::new(),
                unaddressed: Vec::new(),
                local_bytes: 0,
                globals: Vec::new(),
                reqntid,
                cluster,
                maxntid,
                registers,
                tables: Vec::new(),
                texts: Vec::new(),
                join: Vec::new(),
                conditions: Vec::new(),
            },
            reg_ty: Vec::new(),
            frame: Frame::new(String::new()),
            calls: CallGraph::new(m, entry),
            pure: &[],
            statics: Statics::default(),
            stack: vec![entry],
            nested: 0,
            instances: 0,
            ret: None,
            labels: Vec::new(),
            table_entries: 0,
            carry: None,
            errors: Vec::new(),
            reported: FxHashSet::default(),
            warnings: Vec::new(),
            texts: FxHashMap::default(),
            ops: &[],
            opcode_span: Span::default(),
            span: Span::default(),
            guard: None,
            used_bytes: None,
            loc: u32::MAX,
            locs: FxHashMap::default(),
            inlined: FxHashMap::default(),
            files: files.collect(),
        }
    }

    /// Records an error, once for each place: a callee is lowered anew at each call site.
    pub(super) fn error(&mut self, error: LowerError) {
        if error.span().is_none_or(|span| self.reported.insert(span)) {
            self.errors.push(error);
        }
    }

    /// True when so many errors were found that more would not help.
    pub(super) fn gave_up(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    /// Appends an instruction under the guard of the one being decoded.
    pub(super) fn emit(&mut self, op: Op) {
        self.emit_guarded(self.guard, op);
    }

    /// Appends an instruction under a guard of its own.
    pub(super) fn emit_guarded(&mut self, guard: Option<Guard>, op: Op) {
        self.k.insts.push(Inst { guard, op });
        self.k.spans.push(self.span);
        self.k.loc_of.push(self.loc);
    }

    /// A new register; a 128-bit one takes two ids.
    pub(super) fn new_reg(&mut self, ty: Type, name: String) -> RegId {
        let id = RegId(self.k.reg_width.len() as u32);
        if ty.bits() > 64 {
            self.k.reg_name.push(format!("{name}.lo"));
            self.k.reg_name.push(format!("{name}.hi"));
            self.k.reg_width.extend([64, 64]);
            self.reg_ty.extend([ty, ty]);
        } else {
            self.k.reg_name.push(name);
            self.k.reg_width.push(ty.bits() as u8);
            self.reg_ty.push(ty);
        }
        id
    }

    /// A hidden register.
    pub(super) fn temp(&mut self, ty: Type) -> RegId {
        self.new_reg(ty, format!("%tmp{}", self.k.reg_width.len()))
    }

    /// The hidden carry flag.
    pub(super) fn carry(&mut self) -> RegId {
        match self.carry {
            Some(reg) => reg,
            None => {
                let reg = self.new_reg(Type::Pred, "%cc".to_string());
                self.carry = Some(reg);
                reg
            }
        }
    }

    /// A label that has no place yet.
    pub(super) fn new_label(&mut self) -> Label {
        self.labels.push(u32::MAX);
        Label(self.labels.len() as u32 - 1)
    }

    /// Puts a label at the next instruction.
    pub(super) fn place(&mut self, label: Label) {
        if let Some(pc) = self.labels.get_mut(label.0 as usize) {
            *pc = self.k.insts.len() as u32;
        }
    }

    /// What a name stands for here: in the function instance, else in the module.
    pub(super) fn lookup(&mut self, name: Name) -> Option<Binding> {
        if let Some(binding) = self.frame.get(name) {
            return Some(binding);
        }
        if let Some((range, _)) = self.frame.range_of(self.m, name) {
            let text = format!("{}{}", self.m.text(name), self.frame.suffix);
            return Some(self.bind_member(name, text, range));
        }
        self.module_name(name)
    }

    fn bind_member(&mut self, name: Name, text: String, range: Range) -> Binding {
        let binding = self.make_registers(range.ty, range.vector, text);
        self.frame.bind_member(name, range, binding);
        binding
    }

    /// Registers for one declared name.
    fn make_registers(&mut self, ty: Type, vector: u8, name: String) -> Binding {
        if vector == 1 {
            let id = self.new_reg(ty, name);
            return Binding::Reg { id, ty, vector };
        }
        let id = RegId(self.k.reg_width.len() as u32);
        for i in 0..vector {
            self.new_reg(
                ty,
                format!("{name}.{}", ["x", "y", "z", "w"][usize::from(i % 4)]),
            );
        }
        Binding::Reg { id, ty, vector }
    }

    /// Declares a name in the innermost scope.
    pub(super) fn declare(&mut self, name: Name, binding: Binding, span: Span) {
        if let Err(first) = self.frame.declare(self.m, name, binding, span) {
            let name = self.m.text(name).to_string();
            self.error(LowerError::Redeclared { name, span, first });
        }
    }

    /// Declares a register or a range of them.
    pub(super) fn declare_reg(
        &mut self,
        name: Name,
        count: Option<u32>,
        (ty, vector): (Type, u8),
        span: Span,
    ) {
        let text = |low: &Self, name| format!("{}{}", low.m.text(name), low.frame.suffix);
        let Some(count) = count else {
            let text = text(self, name);
            let binding = self.make_registers(ty, vector, text);
            self.declare(name, binding, span);
            return;
        };
        let declared = self
            .frame
            .declare_range(self.m, name, (count, ty, vector), span);
        match declared {
            Ok(shadowed) => {
                for name in shadowed {
                    let text = text(self, name);
                    if let Some((range, _)) = self.frame.range_of(self.m, name) {
                        self.bind_member(name, text, range);
                    }
                }
            }
            Err(first) => {
                let name = format!("{}<{count}>", self.m.text(name));
                self.error(LowerError::Redeclared { name, span, first });
            }
        }
    }

    /// Lowers the statements of a function in the current frame.
    pub(super) fn body(&mut self, function: Id<Function>) {
        let m = self.m;
        let Some(body) = m[function].body else { return };
        let stmts = &m[body];
        let first = body.ids().next().map_or(0, Id::index);
        self.declare_labels(stmts, first, 0);
        for (i, stmt) in stmts.iter().enumerate() {
            if self.gave_up() {
                return;
            }
            match stmt.kind {
                StmtKind::Instr(id) => self.instruction(id, stmt.span),
                StmtKind::Label(name) => {
                    if let Some(Binding::Label(label)) = self.frame.get(name) {
                        self.place(label);
                    }
                }
                StmtKind::Decl(id) => self.declaration(id),
                StmtKind::Open(_) => {
                    self.frame.open();
                    self.declare_labels(stmts, first, i + 1);
                }
                StmtKind::Close(_) => self.frame.close(),
                StmtKind::Loc(id) => self.location(id),
                StmtKind::LocIntermediate { .. } => {}
                StmtKind::File(id) => {
                    self.files.insert(m[id].index, m[id].path);
                }
                StmtKind::Pragma(texts) => self.pragma(texts),
                StmtKind::BranchTargets { .. }
                | StmtKind::CallTargets { .. }
                | StmtKind::CallPrototype { .. } => {}
            }
        }
    }

    /// Declares the labels of the scope that begins at statement `from`, those of inner scopes
    /// left out: a branch may name a label that comes later. Jump tables are made last, when all
    /// their labels are known.
    fn declare_labels(&mut self, stmts: &[Stmt], first: usize, from: usize) {
        let mut tables = Vec::new();
        let mut i = from;
        while let Some(stmt) = stmts.get(i) {
            match stmt.kind {
                StmtKind::Open(close) => match close.index().checked_sub(first) {
                    Some(end) if end > i => i = end,
                    _ => break,
                },
                StmtKind::Close(_) => break,
                StmtKind::Label(name) => {
                    let label = self.new_label();
                    self.declare(name, Binding::Label(label), stmt.span);
                }
                StmtKind::BranchTargets { label, targets } => {
                    tables.push((label, targets, stmt.span));
                }
                StmtKind::CallTargets { label, .. } | StmtKind::CallPrototype { label, .. } => {
                    self.declare(label, Binding::CallTable, stmt.span);
                }
                _ => {}
            }
            i += 1;
        }
        for (label, targets, span) in tables {
            let table = self.jump_table(targets);
            self.declare(label, Binding::Branches(table), span);
        }
    }

    /// A read of a volatile special register, for results that nothing determines.
    pub(super) fn emit_unspecified(&mut self, dst: RegId) {
        self.emit(Op::Special {
            dst,
            special: Special::Volatile,
        });
    }

    /// A half of the address of the grid's workspace, a variable that no module declares.
    pub(super) fn emit_workspace(&mut self, dst: RegId, upper: bool) {
        let known = self.k.globals.iter().position(|g| g.name == WORKSPACE);
        let global = known.unwrap_or(self.k.globals.len());
        if known.is_none() {
            self.k.globals.push(GlobalVar {
                name: WORKSPACE.into(),
                constant: false,
                bytes: WORKSPACE_BYTES,
                elem: 4,
                align: 8,
                fmt: None,
                init: Vec::new(),
                relocs: Vec::new(),
                begins: Begins::Initialised,
            });
        }
        let dsts = match upper {
            true => vec![None, Some(dst)],
            false => vec![Some(dst), None],
        };
        self.emit(Op::Unpack {
            dsts,
            part: 32,
            src: Src::Global(GlobalId(global as u32), 0),
        });
    }

    /// Resolves labels, ends the code, finds the joins.
    fn finish(mut self) -> Result<Lowered, Vec<LowerError>> {
        if !self.errors.is_empty() {
            let order = |e: &LowerError| e.span().map_or((u32::MAX, 0), |s| (s.start, s.end));
            self.errors.sort_by_key(order);
            return Err(self.errors);
        }
        let end = self.k.insts.len() as u32;
        let falls = match self.k.insts.last() {
            None => true,
            Some(inst) => {
                inst.guard.is_some()
                    || !matches!(
                        inst.op,
                        Op::Bra { .. }
                            | Op::Brx { .. }
                            | Op::Exit
                            | Op::Trap
                            | Op::Brkpt
                            | Op::CallDepth
                    )
            }
        };
        if falls || self.labels.contains(&end) {
            self.emit_guarded(None, Op::Exit);
        }
        // Every label that a branch names was declared, and placed when its statement was passed.
        let labels = std::mem::take(&mut self.labels);
        let resolve = |target: &mut Pc| {
            let pc = labels.get(target.0 as usize).copied().unwrap_or(end);
            *target = Pc(pc.min(end));
        };
        for inst in &mut self.k.insts {
            if let Op::Bra { target, .. } = &mut inst.op {
                resolve(target);
            }
        }
        self.k.tables.iter_mut().flatten().for_each(resolve);
        self.k.join = super::structured::joins(&self.k);
        self.k.conditions = super::conditions::conditions(&self.k);
        let mut warnings = self.warnings;
        warnings.sort_by_key(|w| w.span());
        warnings.dedup();
        Ok(Lowered {
            kernel: self.k,
            warnings,
        })
    }

    /// Appends a kernel parameter.
    pub(super) fn push_param(&mut self, param: Param) {
        self.k.param_bytes = self.k.param_bytes.max(param.offset + param.bytes);
        self.k.params.push(param);
    }
}
