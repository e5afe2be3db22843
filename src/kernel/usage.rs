//! What a kernel does with its parameters, and where a result would depend on an array's address.
//!
//! The problem: a pointer that nobody bound needs a role and an element type, and both follow from
//! its use; and the simulator gives each array some numeric base, so an operation whose result
//! depends on that number must be found. Both are questions about the flow of values, answered
//! here once for all paths: each register has a set of the parameters that can flow into it, and
//! sets only grow. Sets are interned, so a step costs one lookup; every register is revisited only
//! when its set grows, and the edges are those of the code.
//!
//! What flows: [`Flow::Pointer`] is the address itself, through copies, additions of offsets, selects,
//! conversions between windows, packing and unpacking, and spills to local or shared memory.
//! [`Flow::Any`] is every dependence through registers.
//!
//! Soundness: a parameter that flows somewhere is always in the set there; a set may hold parameters
//! that never arrive. So `pointer_bits` may name an instruction without need, but misses none
//! that the operand visitor describes; [`Op::Unsupported`] has no operands and ends what is claimed.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::operands::{defs, op_uses, uses};
use super::{Addr, Cmp, Inst, IntOp, Kernel, NumTy, Op, Pc, RegId, Space, Src};

/// An access through a parameter that is a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AccessUse {
    /// The space of the access.
    pub space: Space,
    /// Element type of the access.
    pub ty: NumTy,
    /// The type was a bit type: the bytes are copied, or become typed elsewhere.
    pub untyped: bool,
}

/// What the code does with the value that one load of a parameter gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamUse {
    /// Index of the parameter; `None` if the load's address is not a constant.
    pub param: Option<u32>,
    /// Byte offset in the parameter.
    pub offset: u32,
    /// Number of bytes.
    pub bytes: u32,
    /// It is used as an address: it reaches an address operand or a `cvta` by pointer flow.
    pub pointer: bool,
    /// It reaches no address but together with other parameters, so it may be the base of one or an
    /// offset from it.
    pub ambiguous: bool,
    /// Loads through it.
    pub reads: Vec<AccessUse>,
    /// Stores through it.
    pub writes: Vec<AccessUse>,
    /// Atomics through it.
    pub atomics: Vec<AccessUse>,
    /// It can decide a branch, a guard or a comparison.
    pub decides: bool,
}

/// How values flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Pointer,
    Any,
}

/// Index of a [`ParamUse`].
type Origin = u32;
/// Index of an interned set of origins; 0 is the empty set.
type SetId = u32;

/// Interned sets of origins.
struct Sets {
    lists: Vec<Vec<Origin>>,
    ids: HashMap<Vec<Origin>, SetId, FxBuildHasher>,
    unions: HashMap<(SetId, SetId), SetId, FxBuildHasher>,
}

impl Sets {
    fn new() -> Sets {
        let mut ids = HashMap::with_hasher(FxBuildHasher);
        ids.insert(Vec::new(), 0);
        Sets {
            lists: vec![Vec::new()],
            ids,
            unions: HashMap::with_hasher(FxBuildHasher),
        }
    }

    fn intern(&mut self, list: Vec<Origin>) -> SetId {
        if let Some(id) = self.ids.get(&list) {
            return *id;
        }
        let id = self.lists.len() as SetId;
        self.lists.push(list.clone());
        self.ids.insert(list, id);
        id
    }

    fn union(&mut self, a: SetId, b: SetId) -> SetId {
        if a == b || b == 0 {
            return a;
        }
        if a == 0 {
            return b;
        }
        let key = (a.min(b), a.max(b));
        if let Some(id) = self.unions.get(&key) {
            return *id;
        }
        let mut list = self.lists[a as usize].clone();
        list.extend_from_slice(&self.lists[b as usize]);
        list.sort_unstable();
        list.dedup();
        let id = self.intern(list);
        self.unions.insert(key, id);
        id
    }

    fn list(&self, id: SetId) -> &[Origin] {
        &self.lists[id as usize]
    }
}

/// The result of one flow analysis: which parameters can flow into each register.
struct Reach {
    sets: Sets,
    of: Vec<SetId>,
}

impl Reach {
    fn reg(&self, reg: RegId) -> SetId {
        self.of.get(reg.0 as usize).copied().unwrap_or(0)
    }

    fn src(&self, src: Src) -> SetId {
        match src {
            Src::Reg(reg) => self.reg(reg),
            Src::Imm(_) | Src::Global(..) => 0,
        }
    }

    fn origins(&self, src: Src) -> &[Origin] {
        self.sets.list(self.src(src))
    }
}

/// What the kernel loads from its parameters, by program counter: the origins of each load.
struct Loads {
    uses: Vec<ParamUse>,
    /// For each load of a parameter: its pc, a destination and the origin.
    seeds: Vec<(RegId, Origin)>,
}

/// Parameter loads of a kernel with what becomes of their values, in order of first load.
pub fn param_uses(kernel: &Kernel) -> Vec<ParamUse> {
    let Loads { mut uses, seeds } = loads(kernel);
    let pointers = reach(&Graph::new(kernel, Flow::Pointer), &seeds);
    mark_pointers(kernel, &pointers, &mut uses);
    let any = reach(&Graph::new(kernel, Flow::Any), &seeds);
    let mut decide = |reg: RegId| {
        for origin in any.sets.list(any.reg(reg)) {
            uses[*origin as usize].decides = true;
        }
    };
    for inst in &kernel.insts {
        if let Some(guard) = inst.guard {
            decide(guard.reg);
        }
        if matches!(inst.op, Op::Setp { .. } | Op::Set { .. } | Op::Brx { .. }) {
            op_uses(&inst.op, &mut decide);
        }
    }
    uses
}

fn mark_pointers(kernel: &Kernel, pointers: &Reach, uses: &mut [ParamUse]) {
    // A value that reaches some address alone, or is converted, is surely a base.
    let mut alone = vec![false; uses.len()];
    for inst in &kernel.insts {
        let base = match &inst.op {
            Op::Cvta { src, .. } => Some(*src),
            op => address(op).map(|(addr, ..)| addr.base),
        };
        if let Some([origin]) = base.map(|base| pointers.origins(base)) {
            alone[*origin as usize] = true;
        }
    }
    for inst in &kernel.insts {
        if let Op::Cvta { src, .. } = inst.op {
            for origin in pointers.origins(src) {
                uses[*origin as usize].pointer = true;
            }
        }
        let Some((addr, access, kind)) = address(&inst.op) else {
            continue;
        };
        let origins = pointers.origins(addr.base);
        let has_base = origins.iter().any(|o| alone[*o as usize]);
        for origin in origins {
            let found = &mut uses[*origin as usize];
            // Beside a sure base, what is not one is an offset.
            if has_base && !alone[*origin as usize] {
                continue;
            }
            found.pointer = true;
            found.ambiguous |= !alone[*origin as usize];
            let list = match kind {
                Kind::Read => &mut found.reads,
                Kind::Write => &mut found.writes,
                Kind::Atomic => &mut found.atomics,
            };
            if !list.contains(&access) {
                list.push(access);
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Read,
    Write,
    Atomic,
}

/// The address of a memory operation, with its access.
fn address(op: &Op) -> Option<(Addr, AccessUse, Kind)> {
    let (addr, access, kind) = match op {
        Op::Ld { addr, access, .. } => (addr, access, Kind::Read),
        Op::St { addr, access, .. } => (addr, access, Kind::Write),
        Op::Atom { addr, access, .. } => (addr, access, Kind::Atomic),
        _ => return None,
    };
    let found = AccessUse {
        space: access.space,
        ty: access.ty,
        untyped: access.untyped,
    };
    Some((*addr, found, kind))
}

/// The loads from parameter memory.
fn loads(kernel: &Kernel) -> Loads {
    let mut found = Loads {
        uses: Vec::new(),
        seeds: Vec::new(),
    };
    let mut known: HashMap<(Option<u32>, u32, u32), Origin, FxBuildHasher> =
        HashMap::with_hasher(FxBuildHasher);
    let generic = kernel.insts.iter().any(|inst| {
        let op = &inst.op;
        matches!(
            op,
            Op::Cvta {
                space: Space::Param,
                ..
            }
        )
    });
    for inst in &kernel.insts {
        let Op::Ld {
            access, dsts, addr, ..
        } = &inst.op
        else {
            continue;
        };
        // After `cvta.param` a generic load may read any parameter.
        let reads = access.space == Space::Param || (generic && access.space == Space::Generic);
        if !reads {
            continue;
        }
        let bytes = access.ty.bits() / 8;
        for (i, dst) in dsts.iter().enumerate() {
            let Some(dst) = dst else { continue };
            let key = match (access.space, addr.base) {
                (Space::Param, Src::Imm(base)) => {
                    let at = (base as i64).wrapping_add(addr.offset) + i as i64 * i64::from(bytes);
                    match param_at(kernel, at) {
                        Some((param, offset)) => (Some(param), offset, bytes),
                        None => (None, 0, bytes),
                    }
                }
                _ => (None, 0, bytes),
            };
            let next = found.uses.len() as Origin;
            let origin = *known.entry(key).or_insert(next);
            if origin == next {
                found.uses.push(ParamUse {
                    param: key.0,
                    offset: key.1,
                    bytes,
                    pointer: false,
                    ambiguous: false,
                    reads: Vec::new(),
                    writes: Vec::new(),
                    atomics: Vec::new(),
                    decides: false,
                });
            }
            found.seeds.push((*dst, origin));
        }
    }
    found
}

/// The parameter that holds a byte of parameter memory, and the offset in it.
fn param_at(kernel: &Kernel, at: i64) -> Option<(u32, u32)> {
    let at = u32::try_from(at).ok()?;
    let after = kernel.params.partition_point(|p| p.offset <= at);
    let index = after.checked_sub(1)?;
    let offset = at - kernel.params[index].offset;
    (offset < kernel.params[index].bytes).then_some((index as u32, offset))
}

/// The nodes of the flow graph: the registers, then memory that values are spilled to.
struct Graph {
    regs: u32,
    /// The node of each eight-byte cell of local memory that is accessed at a constant address.
    cells: HashMap<i64, u32, FxBuildHasher>,
    nodes: u32,
    /// Edges as (from, to).
    edges: Vec<(u32, u32)>,
}

impl Graph {
    fn new(kernel: &Kernel, flow: Flow) -> Graph {
        let regs = kernel.reg_width.len() as u32;
        let mut graph = Graph {
            regs,
            cells: HashMap::with_hasher(FxBuildHasher),
            nodes: regs + 3,
            edges: Vec::new(),
        };
        for inst in &kernel.insts {
            match (&inst.op, flow) {
                (
                    Op::Ld {
                        access, dsts, addr, ..
                    },
                    _,
                ) => {
                    for (i, dst) in dsts.iter().enumerate() {
                        let Some(dst) = dst else { continue };
                        graph.load(access.space, element(addr, i, access.ty), *dst);
                    }
                }
                (Op::St { access, srcs, addr }, _) => {
                    for (i, src) in srcs.iter().enumerate() {
                        if let Some(Src::Reg(src)) = src {
                            graph.store(access.space, element(addr, i, access.ty), *src);
                        }
                    }
                }
                (_, Flow::Pointer) => pointer_edges(inst, &mut graph.edges),
                (op, Flow::Any) => {
                    let edges = &mut graph.edges;
                    defs(op, |to| uses(inst, |from| edges.push((from.0, to.0))));
                }
            }
        }
        graph.edges.sort_unstable();
        graph.edges.dedup();
        graph
    }

    /// What is stored to local memory at an unknown address.
    fn scattered(&self) -> u32 {
        self.regs
    }

    /// What is stored anywhere in local memory.
    fn anywhere(&self) -> u32 {
        self.regs + 1
    }

    /// What is stored to shared memory.
    fn shared(&self) -> u32 {
        self.regs + 2
    }

    fn cell(&mut self, at: i64) -> u32 {
        let (next, anywhere) = (self.nodes, self.anywhere());
        let node = *self.cells.entry(at.div_euclid(8)).or_insert(next);
        if node == next {
            self.nodes += 1;
            self.edges.push((node, anywhere));
        }
        node
    }

    fn store(&mut self, space: Space, at: Option<i64>, src: RegId) {
        let local = !matches!(space, Space::Shared | Space::SharedCluster | Space::Global);
        let shared = !matches!(space, Space::Local | Space::Global);
        if shared {
            self.edges.push((src.0, self.shared()));
        }
        if !local {
            return;
        }
        match (space, at) {
            (Space::Local, Some(at)) => {
                let cell = self.cell(at);
                self.edges.push((src.0, cell));
            }
            _ => {
                let (scattered, anywhere) = (self.scattered(), self.anywhere());
                self.edges.extend([(src.0, scattered), (src.0, anywhere)]);
            }
        }
    }

    fn load(&mut self, space: Space, at: Option<i64>, dst: RegId) {
        match (space, at) {
            (Space::Local, Some(at)) => {
                let (cell, scattered) = (self.cell(at), self.scattered());
                self.edges.extend([(cell, dst.0), (scattered, dst.0)]);
            }
            (Space::Local, None) => self.edges.push((self.anywhere(), dst.0)),
            (Space::Shared | Space::SharedCluster, _) => self.edges.push((self.shared(), dst.0)),
            (Space::Generic, _) => {
                let (anywhere, shared) = (self.anywhere(), self.shared());
                self.edges.extend([(anywhere, dst.0), (shared, dst.0)]);
            }
            (Space::Global | Space::Const | Space::Param, _) => {}
        }
    }
}

/// The address of the i-th element of an access, if it is a constant.
fn element(addr: &Addr, i: usize, ty: NumTy) -> Option<i64> {
    match addr.base {
        Src::Imm(base) => {
            let at = (base as i64).wrapping_add(addr.offset);
            Some(at.wrapping_add(i as i64 * i64::from(ty.bits() / 8)))
        }
        Src::Reg(_) | Src::Global(..) => None,
    }
}

/// Runs one flow analysis to its fixpoint.
fn reach(graph: &Graph, seeds: &[(RegId, Origin)]) -> Reach {
    let nodes = graph.nodes as usize;
    let mut first = vec![0u32; nodes + 1];
    for (from, _) in &graph.edges {
        first[*from as usize + 1] += 1;
    }
    for i in 1..first.len() {
        first[i] += first[i - 1];
    }
    let mut found = Reach {
        sets: Sets::new(),
        of: vec![0; nodes],
    };
    let mut work: Vec<u32> = Vec::new();
    for (reg, origin) in seeds {
        let single = found.sets.intern(vec![*origin]);
        let old = found.of[reg.0 as usize];
        let new = found.sets.union(old, single);
        if new != old {
            found.of[reg.0 as usize] = new;
            work.push(reg.0);
        }
    }
    let mut queued = vec![false; nodes];
    work.iter().for_each(|n| queued[*n as usize] = true);
    while let Some(from) = work.pop() {
        queued[from as usize] = false;
        let set = found.of[from as usize];
        let range = first[from as usize] as usize..first[from as usize + 1] as usize;
        for (_, to) in &graph.edges[range] {
            let old = found.of[*to as usize];
            let new = found.sets.union(old, set);
            if new != old {
                found.of[*to as usize] = new;
                if !std::mem::replace(&mut queued[*to as usize], true) {
                    work.push(*to);
                }
            }
        }
    }
    found
}

/// A mask that keeps nothing of an address but bits that every base has zero.
fn low_bits(src: Src) -> bool {
    matches!(src, Src::Imm(mask) if mask < 256)
}

/// Which registers pass an address on, to which; memory is the graph's.
fn pointer_edges(inst: &Inst, edges: &mut Vec<(u32, u32)>) {
    let mut edge = |src: Src, dst: RegId| {
        if let Src::Reg(from) = src {
            edges.push((from.0, dst.0));
        }
    };
    match &inst.op {
        Op::Mov { dst, src, .. } | Op::Cvta { dst, src, .. } => edge(*src, *dst),
        Op::Cvt {
            dst,
            src,
            from: NumTy::Int(_),
            to: NumTy::Int(_),
            ..
        } => edge(*src, *dst),
        Op::Pack { dst, srcs, .. } => srcs.iter().for_each(|s| edge(*s, *dst)),
        Op::Unpack { dsts, src, .. } => dsts.iter().flatten().for_each(|d| edge(*src, *d)),
        Op::Int {
            op,
            dst: Some(dst),
            lanes: 1,
            src: [a, b, c, _],
            ..
        } => match op {
            IntOp::And if low_bits(*a) || low_bits(*b) => {}
            // Masks and ors keep most of an address.
            IntOp::Add
            | IntOp::AddCarry
            | IntOp::Sub
            | IntOp::SubBorrow
            | IntOp::And
            | IntOp::Or
            | IntOp::Xor
            | IntOp::Min
            | IntOp::Max => {
                edge(*a, *dst);
                edge(*b, *dst);
            }
            // The addend of a multiply-add is the base.
            IntOp::MadLo | IntOp::MadWide | IntOp::MadLoCarry | IntOp::MadHiCarry => {
                edge(*c, *dst);
            }
            _ => {}
        },
        Op::Selp { dst, a, b, .. } | Op::Slct { dst, a, b, .. } => {
            edge(*a, *dst);
            edge(*b, *dst);
        }
        Op::Shfl { dst, a, .. } => edge(*a, *dst),
        _ => {}
    }
}

/// Instructions whose result can depend on the numeric base of an array that a parameter points
/// to: everything but the moving of an address by an offset, accesses through it, and what only
/// its low eight bits decide, which are zero in every base.
///
/// A comparison or difference of two addresses counts unless both are derived from one parameter;
/// the question whether an address is null does not.
pub fn pointer_bits(kernel: &Kernel) -> Vec<Pc> {
    let Loads { mut uses, seeds } = loads(kernel);
    let graph = Graph::new(kernel, Flow::Pointer);
    let flow = reach(&graph, &seeds);
    mark_pointers(kernel, &flow, &mut uses);
    let judge = Judge {
        kernel,
        flow: &flow,
        high: &reach(&graph, &high_parts(kernel, &uses, &seeds)),
        pointer: uses.iter().map(|u| u.pointer).collect(),
    };
    let depends = kernel.insts.iter().map(|inst| judge.depends(inst));
    (0u32..)
        .zip(depends)
        .filter_map(|(pc, depends)| depends.then_some(Pc(pc)))
        .collect()
}

/// Registers that may hold another part of an address than its low bits.
fn high_parts(
    kernel: &Kernel,
    uses: &[ParamUse],
    seeds: &[(RegId, Origin)],
) -> Vec<(RegId, Origin)> {
    let mut high: Vec<(RegId, Origin)> = Vec::new();
    for (reg, origin) in seeds {
        let load = &uses[*origin as usize];
        if load.bytes < 8 && (load.param.is_none() || !load.offset.is_multiple_of(8)) {
            high.push((*reg, 0));
        }
    }
    for inst in &kernel.insts {
        match &inst.op {
            Op::Unpack { dsts, .. } => {
                high.extend(dsts.iter().skip(1).flatten().map(|reg| (*reg, 0)));
            }
            Op::Ld { access, dsts, .. } if access.ty.bits() < 64 => {
                high.extend(dsts.iter().flatten().map(|reg| (*reg, 0)));
            }
            _ => {}
        }
    }
    high
}

struct Judge<'a> {
    kernel: &'a Kernel,
    flow: &'a Reach,
    /// Where other parts of an address than the low one can flow.
    high: &'a Reach,
    /// Which origins are pointers.
    pointer: Vec<bool>,
}

impl Judge<'_> {
    /// Can an address flow into this source?
    fn derived(&self, src: Src) -> bool {
        let origins = self.flow.origins(src);
        origins.iter().any(|o| self.pointer[*o as usize])
    }

    /// Is this the low part of an address, whose low eight bits are those of an offset?
    fn low(&self, src: Src) -> bool {
        self.derived(src) && self.high.src(src) == 0
    }

    /// Are both sources derived from one and the same parameter?
    fn same_base(&self, a: Src, b: Src) -> bool {
        let set = self.flow.src(a);
        set == self.flow.src(b)
            && matches!(self.flow.sets.list(set), [only] if self.pointer[*only as usize])
    }

    fn depends(&self, inst: &Inst) -> bool {
        let narrow = |src: Src| match src {
            Src::Reg(reg) => self.kernel.reg_width.get(reg.0 as usize) != Some(&64),
            Src::Imm(_) | Src::Global(..) => false,
        };
        // Part of an address is no address.
        if let Some((addr, ..)) = address(&inst.op)
            && self.derived(addr.base)
            && narrow(addr.base)
        {
            return true;
        }
        match &inst.op {
            // Copies.
            Op::Mov { .. } | Op::Pack { .. } | Op::Unpack { .. } | Op::Selp { .. } => false,
            // Every base lies in the global window.
            Op::IsSpace { .. } => false,
            Op::Cvta { space, src, .. } => {
                let keeps = matches!(space, Space::Global | Space::Const | Space::Param);
                !keeps && self.derived(*src)
            }
            Op::Slct { c, .. } => self.derived(*c),
            Op::Shfl { b, c, mask, .. } => {
                let rest = [Some(*b), Some(*c), *mask];
                rest.into_iter().flatten().any(|s| self.derived(s))
            }
            // A narrowing conversion keeps low bits, a widening one invents high ones.
            Op::Cvt {
                from: NumTy::Int(from),
                to: NumTy::Int(to),
                sat: false,
                src,
                ..
            } => to.width > from.width && self.derived(*src),
            Op::Int {
                op, lanes: 1, src, ..
            } => self.int_depends(*op, *src),
            Op::Setp { cmp, a, b, .. } | Op::Set { cmp, a, b, .. } => {
                let zero = |s: Src| s == Src::Imm(0);
                let null = matches!(cmp, Cmp::Eq | Cmp::Ne) && (zero(*a) || zero(*b));
                let whole = !narrow(*a) && !narrow(*b);
                (self.derived(*a) || self.derived(*b))
                    && !(whole && (null || self.same_base(*a, *b)))
            }
            Op::Ld { .. } => false,
            // An address may be spilled to memory of the thread or the CTA, not given out.
            Op::St { access, srcs, .. } => {
                let private = matches!(access.space, Space::Local | Space::Shared);
                !private && srcs.iter().flatten().any(|s| self.derived(*s))
            }
            Op::Atom { srcs, cas, .. } => srcs.iter().chain(cas).any(|s| self.derived(*s)),
            op => {
                let mut found = false;
                op_uses(op, &mut |reg| found |= self.derived(Src::Reg(reg)));
                found
            }
        }
    }

    fn int_depends(&self, op: IntOp, [a, b, c, d]: [Src; 4]) -> bool {
        let (x, y) = (self.derived(a), self.derived(b));
        match op {
            IntOp::Add => x && y,
            IntOp::Sub => y && !self.same_base(a, b),
            IntOp::MadLo | IntOp::MadWide => x || y,
            // Changing or keeping only bits that are the offset's leaves the base alone.
            IntOp::And | IntOp::Or | IntOp::Xor if x != y => {
                let (address, mask) = if x { (a, b) } else { (b, a) };
                let high_kept = matches!(mask, Src::Imm(m) if !m < 256 && op == IntOp::And);
                !(self.low(address) && (low_bits(mask) || high_kept))
            }
            _ => [a, b, c, d].into_iter().any(|s| self.derived(s)),
        }
    }
}
