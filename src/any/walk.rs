//! One pass over the code for an arbitrary thread: its accesses and barriers, each with the condition under which the
//! thread comes there.
//!
//! Source: "A lock-step semantics for GPU kernels" (ESOP 2013) for predication. A block is read once, under the
//! disjunction of the ways to it; where ways meet, a register is a choice. A loop is read for one arbitrary iteration: the
//! registers that it writes are symbols at its header, what an iteration leaves in them is compared with them
//! ([`super::loops`]). Everything that a thread does is recorded, or named in `unknown`.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::expr::{Exprs, Id, Level, Node, Symbol};
use super::flow::Flow;
use super::gates::{Holds, together};
use super::limits::{MAX_ACCESSES, MAX_ROUNDS};
use super::words::{Places, Reader, unknown};
use crate::answer::UnknownKind;
use crate::kernel::structured::{Blocks, NONE};
use crate::kernel::{
    Access as Modifiers, Addr, AtomOp, BarKind, Kernel, Op, Pc, RegId, Sem, Space, Special, Src,
    operands,
};
use crate::spec::{Field, Limits, Resolved, Value};
use crate::term::BitsOp;

/// The registers of a thread.
pub(super) type Registers = Rc<Vec<Id>>;

/// What memory consists of: accesses to different objects never meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Object {
    /// An array or a module variable, by its number in the bindings.
    Array(u32),
    /// A static shared variable.
    Shared(u32),
    /// All dynamic shared memory.
    Dynamic,
    /// A thread's own memory.
    Local,
}

impl Object {
    pub(super) fn is_shared(self) -> bool {
        match self {
            Object::Shared(_) | Object::Dynamic => true,
            Object::Array(_) | Object::Local => false,
        }
    }
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Reads,
    Writes,
    /// A read-modify-write whose old value is not used, which commutes with others of its kind.
    Updates(AtomOp, u8),
}

/// An access of an arbitrary thread.
#[derive(Clone, Debug)]
pub(super) struct Accessed {
    /// Its place among all that is recorded.
    pub at: usize,
    pub pc: Pc,
    pub does: Does,
    pub object: u32,
    pub offset: Id,
    pub bytes: u32,
    pub guard: Id,
    /// Loops around it, the outermost first.
    pub loops: Vec<usize>,
    /// What is written.
    pub value: Option<Id>,
}

/// A barrier that an arbitrary thread comes to.
#[derive(Clone, Debug)]
pub(super) struct Barrier {
    pub at: usize,
    pub pc: Pc,
    pub guard: Id,
    pub loops: Vec<usize>,
    /// Of the warp alone.
    pub warp: bool,
    /// It orders memory; other collectives need all lanes but order nothing.
    pub orders: bool,
}

/// A place where a thread ends.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub guard: Id,
    pub loops: Vec<usize>,
}

/// What must hold where a thread comes.
#[derive(Clone, Debug)]
pub(super) struct Duty {
    pub pc: Pc,
    pub guard: Id,
    pub holds: Id,
    pub what: &'static str,
}

/// Something that is not followed.
#[derive(Clone, Debug)]
pub(super) struct Gap {
    pub kind: UnknownKind,
    pub pc: Pc,
    pub what: String,
}

/// A condition that holds for every thread for which its premise does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub premise: Id,
    pub holds: Id,
}

/// Everything that an arbitrary thread does.
#[derive(Default)]
pub(super) struct Records {
    pub accesses: Vec<Accessed>,
    pub barriers: Vec<Barrier>,
    pub ends: Vec<Ended>,
    pub duties: Vec<Duty>,
    pub known: Vec<Known>,
    pub gaps: Vec<Gap>,
    pub loops: FxHashMap<usize, super::loops::Summary>,
    /// Symbols that count: symbol, start, step, how often.
    pub counters: Vec<super::loops::Counter>,
    /// Objects by the number of their base.
    pub objects: Vec<Object>,
    clock: usize,
}

/// A loop whose body is being read.
pub(super) struct Open {
    pub index: usize,
    /// The condition and registers before its first iteration.
    pub before: (Id, Registers),
    /// Registers that it writes, their symbols at the header, and the object that the symbol is an offset in.
    pub symbols: Vec<(RegId, Id, Option<u32>)>,
    pub count: Id,
    pub back: Vec<(Id, Registers)>,
    pub exits: Vec<(u32, Id, Registers)>,
    pub marks: [usize; 6],
    pub first_symbol: usize,
}

/// The state of the pass.
pub(super) struct Walk<'a> {
    pub e: Exprs,
    pub kernel: &'a Kernel,
    pub resolved: &'a Resolved,
    pub blocks: &'a Blocks,
    pub flow: &'a Flow,
    pub out: Records,
    pub open: Vec<Open>,
    incoming: FxHashMap<u32, Vec<(Id, Registers)>>,
    /// Registers of a loop whose symbol has the level of a thread, or is no offset.
    pub raised: FxHashMap<usize, FxHashSet<RegId>>,
    pub scattered: FxHashMap<usize, FxHashSet<RegId>>,
    pub sizes: Sizes,
    scalars: FxHashMap<(u32, u32), Id>,
    /// Arrays that the launch writes.
    written: FxHashSet<u32>,
    rounds: usize,
    /// Conditions that hold of every launch.
    pub always: Vec<Id>,
    pub limits: Option<Limits>,
}

/// The words of the launch, by component.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub tid: [Id; 3],
    pub ntid: [Id; 3],
    pub ctaid: [Id; 3],
    pub nctaid: [Id; 3],
}

impl Sizes {
    /// The symbols of the launch; a component that is fixed is a constant.
    pub(super) fn new(
        e: &mut Exprs,
        block: [Option<u32>; 3],
        grid: [Option<u32>; 3],
        most: u64,
    ) -> Sizes {
        let z = [1024, 1024, 64];
        let g = [0x7fff_ffff, 0xffff, 0xffff];
        let mut size = |fixed: Option<u32>, hi: u64| match fixed {
            Some(v) => e.constant(u64::from(v), 32),
            None => e.symbol(Symbol {
                width: 32,
                level: Level::Grid,
                of: None,
                range: (1, hi),
            }),
        };
        let ntid = [0, 1, 2].map(|i| size(block[i], most.min(z[i])));
        let nctaid = [0, 1, 2].map(|i| size(grid[i], g[i]));
        let mut index = |fixed: Option<u32>, hi: u64, level| match fixed {
            Some(1) => e.constant(0, 32),
            fixed => e.symbol(Symbol {
                width: 32,
                level,
                of: None,
                range: (0, fixed.map_or(hi, u64::from) - 1),
            }),
        };
        let tid = [0, 1, 2].map(|i| index(block[i], most.min(z[i]), Level::Thread));
        let ctaid = [0, 1, 2].map(|i| index(grid[i], g[i], Level::Cta));
        Sizes {
            tid,
            ntid,
            ctaid,
            nctaid,
        }
    }

    /// The rank of the thread in its CTA.
    pub(super) fn rank(&self, e: &mut Exprs) -> Id {
        let plane = e.word(BitsOp::Mul, self.tid[2], self.ntid[1]);
        let rows = e.add(plane, self.tid[1]);
        let before = e.word(BitsOp::Mul, rows, self.ntid[0]);
        e.add(before, self.tid[0])
    }
}

/// The objects of addresses.
struct Named<'a> {
    kernel: &'a Kernel,
    resolved: &'a Resolved,
    objects: &'a mut Vec<Object>,
}

impl Named<'_> {
    fn number(&mut self, object: Object) -> u32 {
        match self.objects.iter().position(|o| *o == object) {
            Some(i) => i as u32,
            None => {
                self.objects.push(object);
                self.objects.len() as u32 - 1
            }
        }
    }
}

impl Places for Named<'_> {
    fn place(&mut self, e: &mut Exprs, src: Src, width: u8) -> Id {
        let (object, plus) = match src {
            Src::Global(g, plus) => (Object::Array(self.resolved.bindings.global(g).0), plus),
            Src::Var(Space::Shared | Space::SharedCluster, at, plus) => {
                let mut vars = self.kernel.shared.iter().enumerate();
                let dynamic = self.kernel.dynamic_shared;
                match vars.find(|(_, v)| v.offset <= at && at < v.offset + v.bytes) {
                    _ if dynamic.is_some_and(|d| at >= d) => (
                        Object::Dynamic,
                        plus + i64::from(at - dynamic.unwrap_or(at)),
                    ),
                    Some((i, v)) => (Object::Shared(i as u32), plus + i64::from(at - v.offset)),
                    None => (Object::Dynamic, plus),
                }
            }
            Src::Var(_, at, plus) => (Object::Local, i64::from(at).wrapping_add(plus)),
            Src::Reg(_) | Src::Imm(_) => return e.constant(0, width),
        };
        let number = self.number(object);
        let (base, plus) = (e.base(number, width), e.constant(plus as u64, width));
        e.add(base, plus)
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        kernel: &'a Kernel,
        resolved: &'a Resolved,
        blocks: &'a Blocks,
        flow: &'a Flow,
        (block, grid, most): ([Option<u32>; 3], [Option<u32>; 3], u64),
    ) -> Walk<'a> {
        let mut e = Exprs::new();
        let sizes = Sizes::new(&mut e, block, grid, most);
        Walk {
            e,
            kernel,
            resolved,
            blocks,
            flow,
            out: Records::default(),
            open: Vec::new(),
            incoming: FxHashMap::default(),
            raised: FxHashMap::default(),
            scattered: FxHashMap::default(),
            sizes,
            scalars: FxHashMap::default(),
            written: FxHashSet::default(),
            rounds: 0,
            always: Vec::new(),
            limits: None,
        }
    }

    /// Arrays that a store or an atomic of the pass before led to are written; what leads nowhere known may write all.
    pub(super) fn with_written(mut self, written: FxHashSet<u32>) -> Walk<'a> {
        self.written = written;
        self
    }

    /// The arrays that were written, by their object.
    pub(super) fn writes(&self) -> FxHashSet<u32> {
        let writes = self.out.accesses.iter().filter(|a| a.does != Does::Reads);
        writes.map(|a| a.object).collect()
    }

    pub(super) fn gap(&mut self, kind: UnknownKind, pc: Pc, what: impl Into<String>) {
        let what = what.into();
        if !self.out.gaps.iter().any(|g| g.pc == pc && g.what == what) {
            self.out.gaps.push(Gap { kind, pc, what });
        }
    }

    fn tick(&mut self) -> usize {
        self.out.clock += 1;
        self.out.clock
    }

    /// Loops that are being read, the outermost first.
    fn around(&self) -> Vec<usize> {
        self.open.iter().map(|o| o.index).collect()
    }

    /// Reads all of the code.
    pub(super) fn run(&mut self) {
        let zeros: Vec<Id> = self
            .kernel
            .reg_width
            .clone()
            .iter()
            .map(|w| self.e.fresh(*w, Level::Thread, None))
            .collect();
        let truth = self.e.truth(true);
        self.incoming.insert(0, vec![(truth, Rc::new(zeros))]);
        let mut i = 0;
        loop {
            while let Some(top) = self.open.last()
                && self.flow.loops[top.index].end == i
            {
                let first = self.flow.loops[top.index].first;
                self.rounds += 1;
                if !self.close() {
                    if self.rounds > MAX_ROUNDS * (1 + self.flow.loops.len()) * 4 {
                        self.gap(
                            UnknownKind::Limit,
                            Pc(0),
                            "the loops of the kernel are too many to be read",
                        );
                        return;
                    }
                    i = first;
                    break;
                }
            }
            let Some(&b) = self.flow.order.get(i) else {
                return;
            };
            if self.e.full || self.out.accesses.len() > MAX_ACCESSES {
                self.gap(
                    UnknownKind::Limit,
                    Pc(0),
                    "the kernel is too large for a proof about every launch",
                );
                return;
            }
            let state = self.entered(b);
            if let Some((path, regs)) = state {
                self.block(b, path, regs);
            }
            i += 1;
        }
    }

    /// The condition and registers at the start of a block.
    fn entered(&mut self, b: u32) -> Option<(Id, Registers)> {
        let header = self.flow.loop_of[b as usize].filter(|&l| self.flow.loops[l].header == b);
        let Some(l) = header else {
            let ways = self.incoming.remove(&b)?;
            return self.merged(&ways);
        };
        let before = match self.open.last() {
            // The body is read again.
            Some(top) if top.index == l => top.before.clone(),
            _ => {
                let ways = self.incoming.remove(&b)?;
                self.merged(&ways)?
            }
        };
        if self.open.last().is_none_or(|top| top.index != l) {
            self.begin(l, before.clone());
        }
        Some(self.header(before))
    }

    /// Several ways as one: the disjunction of their conditions, and choices among their registers.
    pub(super) fn merged(&mut self, ways: &[(Id, Registers)]) -> Option<(Id, Registers)> {
        let no = self.e.truth(false);
        let ways: Vec<&(Id, Registers)> = ways.iter().filter(|w| w.0 != no).collect();
        let (last, rest) = ways.split_last()?;
        if rest.is_empty() {
            return Some((last.0, last.1.clone()));
        }
        let path = self.any_of(ways.iter().map(|w| w.0).collect());
        let given = self.e.literals(path);
        let mut regs = last.1.as_ref().clone();
        for way in rest.iter().rev() {
            let mut when = self.e.truth(true);
            for l in self.e.literals(way.0) {
                if !given.contains(&l) {
                    when = self.e.and(when, l);
                }
            }
            for (r, slot) in regs.iter_mut().enumerate() {
                let v = way.1[r];
                if v != *slot {
                    *slot = self.e.choose(when, v, *slot);
                }
            }
        }
        Some((path, Rc::new(regs)))
    }

    /// The disjunction of conditions, of which those that are each other's rest come together first.
    pub(super) fn any_of(&mut self, mut list: Vec<Id>) -> Id {
        list.sort_unstable();
        list.dedup();
        'again: loop {
            for i in 0..list.len() {
                for j in i + 1..list.len() {
                    let before = self.e.len();
                    let or = self.e.or(list[i], list[j]);
                    let literals = |e: &Exprs, id| e.literals(id).len();
                    if literals(&self.e, or) > 1
                        || self.e.len() == before
                        || matches!(self.e.node(or), Node::Const(_) | Node::Compare(..))
                        || or == list[i]
                        || or == list[j]
                    {
                        list.remove(j);
                        list[i] = or;
                        continue 'again;
                    }
                }
            }
            break;
        }
        // A common part stands outside, so that ways that differ in their ends alone meet.
        let mut common: Option<Vec<Id>> = None;
        for &id in &list {
            let l = self.e.literals(id);
            common = Some(match common {
                None => l,
                Some(c) => c.into_iter().filter(|x| l.contains(x)).collect(),
            });
        }
        let common = common.unwrap_or_default();
        let mut any = self.e.truth(false);
        for id in list {
            let mut rest = self.e.truth(true);
            for l in self.e.literals(id) {
                if !common.contains(&l) {
                    rest = self.e.and(rest, l);
                }
            }
            any = self.e.or(any, rest);
        }
        for c in common {
            any = self.e.and(any, c);
        }
        any
    }

    /// A way to a block: into it, round a loop, or out of one.
    pub(super) fn way(&mut self, target: u32, when: Id, regs: Registers) {
        if self.e.value(when) == Some(0) {
            return;
        }
        match self.open.last_mut() {
            Some(top) if self.flow.loops[top.index].header == target => top.back.push((when, regs)),
            Some(top) if !self.flow.inside(top.index, target) => {
                top.exits.push((target, when, regs))
            }
            _ => self.incoming.entry(target).or_default().push((when, regs)),
        }
    }

    fn block(&mut self, b: u32, mut path: Id, regs: Registers) {
        let mut regs = regs.as_ref().clone();
        for pc in self.blocks.range(b) {
            let inst = &self.kernel.insts[pc as usize];
            let pc = Pc(pc);
            let taken = match inst.guard {
                None => self.e.truth(true),
                Some(g) => {
                    let v = regs[g.reg.0 as usize];
                    if g.negated { self.e.not(v) } else { v }
                }
            };
            let when = self.e.and(path, taken);
            let not = self.e.not(taken);
            match &inst.op {
                Op::Bra { target, .. } => {
                    let to = self
                        .blocks
                        .block_of
                        .get(target.0 as usize)
                        .copied()
                        .unwrap_or(NONE);
                    self.way(to, when, Rc::new(regs.clone()));
                    path = self.e.and(path, not);
                }
                Op::Brx { table, index, .. } => {
                    let index = self.reader(&regs, |r| r.src(*index, 32));
                    let targets = self
                        .kernel
                        .tables
                        .get(*table as usize)
                        .cloned()
                        .unwrap_or_default();
                    for (i, target) in targets.iter().enumerate() {
                        let n = self.e.constant(i as u64, 32);
                        let is = self.e.compare(super::expr::Order::Equal, index, n);
                        let to = self
                            .blocks
                            .block_of
                            .get(target.0 as usize)
                            .copied()
                            .unwrap_or(NONE);
                        let when = self.e.and(when, is);
                        self.way(to, when, Rc::new(regs.clone()));
                    }
                    path = self.e.and(path, not);
                }
                Op::Exit => {
                    let loops = self.around();
                    self.out.ends.push(Ended { guard: when, loops });
                    path = self.e.and(path, not);
                }
                op => {
                    let new = self.execute(pc, op, when, &regs);
                    for (r, v) in new {
                        let slot = &mut regs[r.0 as usize];
                        *slot = self.e.choose(taken, v, *slot);
                    }
                }
            }
            if self.e.value(path) == Some(0) {
                return;
            }
        }
        let next = b + 1;
        if (next as usize) < self.blocks.len() {
            self.way(next, path, Rc::new(regs));
        }
    }

    fn reader<T>(&mut self, regs: &[Id], f: impl FnOnce(&mut Reader<'_, Named<'_>>) -> T) -> T {
        let mut places = Named {
            kernel: self.kernel,
            resolved: self.resolved,
            objects: &mut self.out.objects,
        };
        f(&mut Reader {
            e: &mut self.e,
            kernel: self.kernel,
            regs,
            places: &mut places,
        })
    }

    /// What an instruction writes into registers, with what else it does recorded.
    fn execute(&mut self, pc: Pc, op: &Op, when: Id, regs: &[Id]) -> Vec<(RegId, Id)> {
        if self.e.value(when) == Some(0) {
            return Vec::new();
        }
        match op {
            Op::Mov { .. }
            | Op::Pack { .. }
            | Op::Unpack { .. }
            | Op::Float { .. }
            | Op::Setp { .. }
            | Op::Set { .. }
            | Op::Selp { .. }
            | Op::Slct { .. }
            | Op::Lop3Bool { .. }
            | Op::Testp { .. }
            | Op::Cvt { .. }
            | Op::CvtNarrow { .. }
            | Op::CvtUnpack2 { .. }
            | Op::CvtPackSat { .. }
            | Op::Cvta { .. }
            | Op::IsSpace { .. } => self.reader(regs, |r| r.compute(pc, op)),
            Op::Int {
                op: int, ty, src, ..
            } => {
                use crate::kernel::IntOp;
                if matches!(int, IntOp::Div | IntOp::Rem) {
                    let (d, zero) = (
                        self.reader(regs, |r| r.src(src[1], ty.width)),
                        self.e.constant(0, ty.width),
                    );
                    let is = self.e.compare(super::expr::Order::Equal, d, zero);
                    let holds = self.e.not(is);
                    self.duty(pc, when, holds, "an integer may be divided by zero");
                }
                self.reader(regs, |r| r.compute(pc, op))
            }
            Op::Special { dst, special } => vec![(*dst, self.special(*special))],
            Op::Ld {
                access, dsts, addr, ..
            } => self.load(pc, (access, addr), dsts, when, regs),
            Op::St { access, srcs, addr } => {
                let bytes = access.ty.bits() / 8;
                for (i, src) in srcs.iter().enumerate() {
                    let Some(src) = src else { continue };
                    let value = self.reader(regs, |r| r.src(*src, access.ty.bits().min(64) as u8));
                    self.weak(pc, access);
                    let at = (addr, i as i64 * i64::from(bytes));
                    self.access(
                        pc,
                        access.space,
                        at,
                        bytes,
                        (Does::Writes, Some(value)),
                        when,
                        regs,
                    );
                }
                self.aligned(pc, addr, bytes * srcs.len() as u32, when, regs);
                Vec::new()
            }
            Op::Atom {
                access,
                op: atom,
                dsts,
                addr,
                srcs,
                ..
            } => {
                let bytes = access.ty.bits() / 8;
                let simple =
                    access.scope >= crate::kernel::Scope::Gpu || access.space == Space::Shared;
                let used = dsts.iter().any(|d| self.is_read(*d));
                let commutes = match atom {
                    AtomOp::And
                    | AtomOp::Or
                    | AtomOp::Xor
                    | AtomOp::Add
                    | AtomOp::Min
                    | AtomOp::Max => true,
                    AtomOp::Cas | AtomOp::Exch | AtomOp::Inc | AtomOp::Dec => false,
                };
                if used || !commutes || !simple || !matches!(access.sem, Sem::Relaxed | Sem::Weak) {
                    self.gap(UnknownKind::NondeterministicValue, pc, "an atomic whose old value is used, or that orders memory, is not followed in all launches");
                }
                for i in 0..srcs.len().max(1) {
                    let at = (addr, i as i64 * i64::from(bytes));
                    let does = Does::Updates(*atom, access.ty.bits() as u8);
                    self.access(pc, access.space, at, bytes, (does, None), when, regs);
                }
                self.aligned(pc, addr, bytes * srcs.len().max(1) as u32, when, regs);
                self.unknowns(op)
            }
            Op::Bar {
                kind, id, count, ..
            } => self.barrier(pc, kind, (*id, *count), when),
            Op::WarpSync { mask } => {
                let mask = self.reader(regs, |r| r.src(*mask, 32));
                self.collective(pc, Some(mask), when, true);
                Vec::new()
            }
            Op::Shfl { mask, .. } | Op::Vote { mask, .. } => {
                let mask = mask.map(|m| self.reader(regs, |r| r.src(m, 32)));
                self.collective(pc, mask, when, false);
                self.unknowns(op)
            }
            Op::Match { mask, .. } | Op::Redux { mask, .. } | Op::Elect { mask, .. } => {
                let mask = self.reader(regs, |r| r.src(*mask, 32));
                self.collective(pc, Some(mask), when, false);
                self.unknowns(op)
            }
            Op::Mma(_) | Op::Movmatrix { .. } => {
                let all = self.e.constant(0xffff_ffff, 32);
                self.collective(pc, Some(all), when, false);
                self.unknowns(op)
            }
            Op::ActiveMask { .. } => self.unknowns(op),
            Op::Fence { .. } | Op::Nop => Vec::new(),
            Op::Printf { .. } => self.unknowns(op),
            Op::Trap | Op::Brkpt | Op::AssertFail => {
                let no = self.e.truth(false);
                self.duty(pc, when, no, "an assertion may fail, or a trap be reached");
                Vec::new()
            }
            Op::Ldmatrix { .. } | Op::Stmatrix { .. } => {
                self.unmodelled(pc, op, "a matrix access of a warp")
            }
            Op::CpAsync { .. } | Op::CpAsyncCommit | Op::CpAsyncWait { .. } => {
                self.unmodelled(pc, op, "an asynchronous copy")
            }
            Op::Async(_) => self.unmodelled(pc, op, "an asynchronous operation"),
            Op::CallDepth => {
                self.gap(UnknownKind::CallDepth, pc, "calls nest too deep");
                Vec::new()
            }
            Op::Unsupported(text) => {
                let text = self
                    .kernel
                    .texts
                    .get(*text as usize)
                    .cloned()
                    .unwrap_or_default();
                self.gap(
                    UnknownKind::UnsupportedInstruction,
                    pc,
                    format!("`{text}` is not modelled"),
                );
                Vec::new()
            }
            Op::Bra { .. } | Op::Brx { .. } | Op::Exit => Vec::new(),
        }
    }

    fn unmodelled(&mut self, pc: Pc, op: &Op, what: &str) -> Vec<(RegId, Id)> {
        self.gap(
            UnknownKind::UnsupportedInstruction,
            pc,
            format!("{what} is not modelled for all launches"),
        );
        self.unknowns(op)
    }

    fn unknowns(&mut self, op: &Op) -> Vec<(RegId, Id)> {
        let of = self.open.last().map(|o| o.index);
        let mut written = Vec::new();
        operands::defs(op, |r| written.push(r));
        written
            .into_iter()
            .map(|r| unknown(&mut self.e, self.kernel, r, of))
            .collect()
    }

    fn is_read(&self, reg: RegId) -> bool {
        self.kernel.insts.iter().any(|inst| {
            let mut found = false;
            operands::uses(inst, |r| found |= r == reg);
            found
        })
    }

    fn duty(&mut self, pc: Pc, guard: Id, holds: Id, what: &'static str) {
        if self.e.value(holds) != Some(1) {
            self.out.duties.push(Duty {
                pc,
                guard,
                holds,
                what,
            });
        }
    }

    /// Only weak accesses are followed.
    fn weak(&mut self, pc: Pc, access: &Modifiers) {
        if access.sem != Sem::Weak {
            self.gap(
                UnknownKind::UnsupportedInstruction,
                pc,
                "a strong access (a flag, a lock or a ticket) is not followed in all launches",
            );
        }
    }

    fn special(&mut self, special: Special) -> Id {
        let s = self.sizes;
        let at = |list: [Id; 3], c: u8| list[usize::from(c).min(2)];
        match special {
            Special::Tid(c) => at(s.tid, c),
            Special::Ntid(c) => at(s.ntid, c),
            Special::Ctaid(c) => at(s.ctaid, c),
            Special::Nctaid(c) => at(s.nctaid, c),
            Special::LaneId => {
                let (rank, low) = (s.rank(&mut self.e), self.e.constant(31, 32));
                self.e.and(rank, low)
            }
            Special::WarpId => {
                let (rank, five) = (s.rank(&mut self.e), self.e.constant(5, 32));
                self.e.word(BitsOp::LShr, rank, five)
            }
            Special::LaneMaskEq
            | Special::LaneMaskLe
            | Special::LaneMaskLt
            | Special::LaneMaskGe
            | Special::LaneMaskGt => {
                let lane = self.special(Special::LaneId);
                let tag = 1 << 60
                    | format!("{special:?}")
                        .bytes()
                        .fold(0u64, |h, b| h * 31 + u64::from(b))
                        & 0xffff;
                self.e.function(tag, vec![lane], 32)
            }
            Special::NwarpId
            | Special::TotalSmem
            | Special::AggrSmem
            | Special::DynamicSmem
            | Special::ClusterId(_)
            | Special::NclusterId(_)
            | Special::ClusterCtaid(_)
            | Special::ClusterNctaid(_)
            | Special::ClusterCtarank
            | Special::ClusterNctarank
            | Special::Volatile => {
                let of = self.open.last().map(|o| o.index);
                self.e.fresh(32, Level::Thread, of)
            }
            Special::IsExplicitCluster => self.e.fresh(1, Level::Thread, None),
        }
    }

    fn barrier(
        &mut self,
        pc: Pc,
        kind: &BarKind,
        (id, count): (Src, Option<Src>),
        when: Id,
    ) -> Vec<(RegId, Id)> {
        let plain = matches!(id, Src::Imm(_)) && count.is_none();
        if !plain || matches!(kind, BarKind::Arrive) {
            self.gap(
                UnknownKind::UnsupportedInstruction,
                pc,
                "a named barrier of some of the threads is not followed in all launches",
            );
        }
        let (at, loops) = (self.tick(), self.around());
        self.out.barriers.push(Barrier {
            at,
            pc,
            guard: when,
            loops,
            warp: false,
            orders: plain,
        });
        match kind {
            BarKind::Sync | BarKind::Arrive => Vec::new(),
            // All threads get one result.
            BarKind::RedPopc { dst, .. } | BarKind::RedBool { dst, .. } => {
                let of = self.open.last().map(|o| o.index);
                let width = self.kernel.reg_width[dst.0 as usize];
                vec![(*dst, self.e.fresh(width, Level::Cta, of))]
            }
        }
    }

    /// An operation that all lanes of a warp take part in.
    fn collective(&mut self, pc: Pc, mask: Option<Id>, when: Id, orders: bool) {
        if mask.and_then(|m| self.e.value(m)) != Some(0xffff_ffff) {
            self.gap(
                UnknownKind::UnsupportedInstruction,
                pc,
                "an operation of some lanes of a warp is not followed in all launches",
            );
        }
        let (at, loops) = (self.tick(), self.around());
        self.out.barriers.push(Barrier {
            at,
            pc,
            guard: when,
            loops,
            warp: true,
            orders,
        });
    }

    fn load(
        &mut self,
        pc: Pc,
        (access, addr): (&Modifiers, &Addr),
        dsts: &[Option<RegId>],
        when: Id,
        regs: &[Id],
    ) -> Vec<(RegId, Id)> {
        let bits = access.ty.bits();
        let bytes = bits / 8;
        let sign = matches!(access.ty, crate::kernel::NumTy::Int(t) if t.signed);
        let mut out = Vec::new();
        for (i, dst) in dsts.iter().enumerate() {
            let plus = i as i64 * i64::from(bytes);
            let value = match access.space {
                Space::Param => {
                    let known = match addr.base {
                        Src::Imm(at) => Some(at as i64),
                        Src::Var(Space::Param, at, more) => Some(i64::from(at) + more),
                        _ => None,
                    };
                    known.map(|at| self.parameter((at + addr.offset + plus) as u32, bytes))
                }
                space => {
                    self.weak(pc, access);
                    let object = self.access(
                        pc,
                        space,
                        (addr, plus),
                        bytes,
                        (Does::Reads, None),
                        when,
                        regs,
                    );
                    object
                        .filter(|(o, _)| self.is_constant(*o))
                        .map(|(o, offset)| {
                            let tag = 1 << 61 | u64::from(o) << 8 | u64::from(bytes);
                            self.e.function(tag, vec![offset], bits.min(64) as u8)
                        })
                }
            };
            let Some(dst) = dst else { continue };
            let width = self.kernel.reg_width[dst.0 as usize];
            let of = self.open.last().map(|o| o.index);
            let value = match value {
                Some(v) => self.e.resize(v, width, sign),
                None => self.e.fresh(width, Level::Thread, of),
            };
            out.push((*dst, value));
        }
        if access.space != Space::Param {
            self.aligned(pc, addr, bytes * dsts.len() as u32, when, regs);
        }
        out
    }

    /// An array that nothing writes gives equal values at equal places.
    fn is_constant(&self, object: u32) -> bool {
        let unwritten = !self.written.contains(&object);
        unwritten
            && matches!(
                self.out.objects.get(object as usize),
                Some(Object::Array(_))
            )
    }

    /// The bytes of the parameter space.
    fn parameter(&mut self, at: u32, bytes: u32) -> Id {
        let width = (bytes * 8).min(64) as u8;
        let fields = &self.resolved.bindings.fields;
        let holds = |f: &&Field| f.offset <= at && at + bytes <= f.offset + f.bytes;
        let field = fields.iter().find(holds).copied();
        match field {
            Some(Field {
                value: Value::Pointer(a, 0),
                offset,
                ..
            }) if offset == at && bytes == 8 => {
                let mut named = Named {
                    kernel: self.kernel,
                    resolved: self.resolved,
                    objects: &mut self.out.objects,
                };
                let number = named.number(Object::Array(a.0));
                self.e.base(number, 64)
            }
            Some(Field {
                value: Value::Bits(v),
                offset,
                ..
            }) => {
                let by = 8 * (at - offset);
                self.e.constant(v >> by.min(63), width)
            }
            _ => match self.scalars.get(&(at, bytes)) {
                Some(id) => *id,
                None => {
                    let id = self.e.fresh(width, Level::Grid, None);
                    self.scalars.insert((at, bytes), id);
                    id
                }
            },
        }
    }

    /// The word of an integer parameter that a fact names.
    pub(super) fn scalar(&mut self, at: u32) -> Id {
        let width = self
            .kernel
            .params
            .iter()
            .find(|p| p.offset == at)
            .map_or(4, |p| p.bytes.min(8));
        self.parameter(at, width)
    }

    /// The word of some bytes of the parameter space.
    pub(super) fn scalar_of(&mut self, at: u32, bytes: u32) -> Id {
        self.parameter(at, bytes)
    }

    /// Whether a condition follows from another one and what holds of every launch.
    pub(super) fn is_implied(&mut self, given: Id, goal: Id) -> bool {
        self.is_implied_with(given, goal, given)
    }

    /// The same with what is known under another premise, which is part of the condition.
    pub(super) fn is_implied_with(&mut self, given: Id, goal: Id, premise: Id) -> bool {
        let Some(limits) = self.limits else {
            return false;
        };
        let not = self.e.not(goal);
        let mut all = vec![given, not];
        all.extend(&self.always);
        for k in self.out.known.clone() {
            if k.premise == premise {
                all.push(k.holds);
            }
        }
        matches!(together(&self.e, &all, false, &limits), Holds::Never)
    }

    /// The address of an access as an object and an offset.
    fn address(&mut self, addr: &Addr, plus: i64, space: Space, regs: &[Id]) -> Option<(u32, Id)> {
        let width = match (addr.base, space) {
            (Src::Reg(r), _) => self.kernel.reg_width[r.0 as usize],
            (_, Space::Global | Space::Generic) => 64,
            _ => 32,
        };
        let base = self.reader(regs, |r| r.src(addr.base, width));
        let more = self
            .e
            .constant(addr.offset.wrapping_add(plus) as u64, width);
        let whole = self.e.add(base, more);
        self.resolve(whole)
    }

    /// An address as exactly one base and the rest.
    pub(super) fn resolve(&mut self, address: Id) -> Option<(u32, Id)> {
        let width = self.e.width(address);
        let mut rest = self.e.constant(0, width);
        let mut found = None;
        let mut stack = vec![address];
        while let Some(id) = stack.pop() {
            match *self.e.node(id) {
                Node::Word(BitsOp::Add, a, b) => stack.extend([a, b]),
                Node::Base(object) if found.is_none() => found = Some(object),
                Node::Base(_) => return None,
                Node::Choose(p, a, b) => {
                    let (x, y) = (self.resolve(a), self.resolve(b));
                    match (x, y) {
                        (Some((o, x)), Some((q, y))) if o == q && found.is_none() => {
                            found = Some(o);
                            let offset = self.e.choose(p, x, y);
                            rest = self.e.add(rest, offset);
                        }
                        (None, None) => rest = self.e.add(rest, id),
                        _ => return None,
                    }
                }
                Node::Wide(a) | Node::Signed(a) if self.has_base(a) => {
                    // A shared address at another width; its bounds are shown.
                    let (object, offset) = self.resolve(a)?;
                    if found.replace(object).is_some() {
                        return None;
                    }
                    let wide = self.e.resize(offset, width, false);
                    rest = self.e.add(rest, wide);
                }
                _ if self.has_base(id) => return None,
                _ => rest = self.e.add(rest, id),
            }
        }
        found.map(|o| (o, rest))
    }

    fn has_base(&self, id: Id) -> bool {
        let mut stack = vec![id];
        let mut seen = FxHashSet::default();
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.e.node(id) {
                Node::Base(_) => return true,
                // A function of an address is no address.
                Node::Function(..) | Node::Compare(..) => {}
                node => super::expr::operands(node, |o| stack.push(o)),
            }
        }
        false
    }

    /// Records an access; its object and offset where they are known.
    #[allow(clippy::too_many_arguments)]
    fn access(
        &mut self,
        pc: Pc,
        space: Space,
        (addr, plus): (&Addr, i64),
        bytes: u32,
        (does, value): (Does, Option<Id>),
        guard: Id,
        regs: &[Id],
    ) -> Option<(u32, Id)> {
        if space == Space::Param {
            return None;
        }
        if space == Space::SharedCluster {
            self.gap(
                UnknownKind::UnsupportedInstruction,
                pc,
                "shared memory of a cluster is not followed in all launches",
            );
            return None;
        }
        let Some((object, offset)) = self.address(addr, plus, space, regs) else {
            self.gap(
                UnknownKind::DataDependentAddress,
                pc,
                "an address that is no known object and an offset",
            );
            return None;
        };
        let kind = self.out.objects[object as usize];
        let fits = match space {
            Space::Shared => kind.is_shared(),
            Space::Global | Space::Const => matches!(kind, Object::Array(_)),
            Space::Local => kind == Object::Local,
            Space::Generic | Space::SharedCluster | Space::Param => true,
        };
        if !fits {
            self.gap(
                UnknownKind::DataDependentAddress,
                pc,
                "an address in another state space than the access names",
            );
            return None;
        }
        if kind == Object::Local {
            if self.e.value(offset).is_none() {
                self.gap(
                    UnknownKind::DataDependentAddress,
                    pc,
                    "a local array at an index that is no constant",
                );
            }
            return None;
        }
        let (at, loops) = (self.tick(), self.around());
        self.out.accesses.push(Accessed {
            at,
            pc,
            does,
            object,
            offset,
            bytes,
            guard,
            loops,
            value,
        });
        Some((object, offset))
    }

    /// Allocations are aligned to 256 bytes where nothing else is said, variables as they are declared.
    fn array_alignment(&self, n: u32) -> u32 {
        let globals = self.resolved.bindings.globals.iter();
        let mut variables = globals.zip(&self.kernel.globals);
        match variables.find(|(a, _)| a.0 == n) {
            Some((_, v)) => v.align,
            None => {
                let array = self.resolved.arrays.0.get(n as usize);
                array.and_then(|a| a.align).unwrap_or(256)
            }
        }
    }

    /// The address must be a multiple of the size of the whole access.
    fn aligned(&mut self, pc: Pc, addr: &Addr, bytes: u32, guard: Id, regs: &[Id]) {
        if bytes <= 1 || !bytes.is_power_of_two() {
            return;
        }
        let Some((object, offset)) = self.address(addr, 0, Space::Generic, regs) else {
            return;
        };
        let align = match self.out.objects.get(object as usize) {
            Some(Object::Array(n)) => self.array_alignment(*n),
            Some(Object::Shared(i)) => self.kernel.shared[*i as usize].align,
            Some(Object::Dynamic) => self.kernel.dynamic_align,
            Some(Object::Local) | None => return,
        };
        let width = self.e.width(offset);
        let zero = self.e.constant(0, width);
        let low = self.e.constant(u64::from(bytes) - 1, width);
        let rest = self.e.and(offset, low);
        let is = match align >= bytes {
            true => self.e.compare(super::expr::Order::Equal, rest, zero),
            false => self.e.truth(false),
        };
        self.duty(pc, guard, is, "an access may be misaligned");
    }
}
