//! Flow of values through registers and spills, insensitive to order.
//!
//! The problem: which sources can flow into each register. Each register has a set of sources that
//! only grows; sets are interned, so a step costs one lookup, and a register is visited again only
//! when its set has grown. Local memory is one node for each four-byte cell that is accessed at a
//! constant address, and one for what is stored at unknown addresses; shared memory is one node.
//! A generic address leads to no `.param` variable whose address was never taken.
//!
//! Soundness: a source that flows somewhere is always in the set there; a set may hold sources that
//! never arrive.
//!
//! Not claimed: flow through global memory, or through [`Op::Unsupported`].

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::operands::uses;
use super::{
    Addr, AsyncOp, ClusterOp, GlobalId, Inst, IntOp, Kernel, NumTy, Op, RegId, Space, Src,
    lies_in_one,
};

/// How values flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// An address itself: copies, additions of offsets, selects, conversions between windows,
    /// packing and unpacking, spills.
    Pointer,
    /// The bits themselves: copies, selects, packing and unpacking, spills.
    Copy,
    /// Every dependence, but for that of a loaded value on its address.
    Any,
    /// Dependence through integers and exchanges between lanes alone.
    Sizes,
}

/// Index of a source.
pub type Origin = u32;
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
pub struct Reach {
    sets: Sets,
    of: Vec<SetId>,
    /// The set of the address of each global variable, where those are sources.
    globals: Vec<SetId>,
}

impl Reach {
    fn reg(&self, reg: RegId) -> SetId {
        self.of.get(reg.0 as usize).copied().unwrap_or(0)
    }

    fn src(&self, src: Src) -> SetId {
        match src {
            Src::Reg(reg) => self.reg(reg),
            Src::Global(global, _) => self.globals.get(global.0 as usize).copied().unwrap_or(0),
            Src::Imm(_) | Src::Var(..) => 0,
        }
    }

    /// What can flow into an operand.
    pub fn origins(&self, src: Src) -> &[Origin] {
        self.sets.list(self.src(src))
    }
}

/// The nodes of the flow graph: the registers, then memory that values are spilled to.
pub struct Graph {
    regs: u32,
    /// The node of each four-byte cell of local memory that is accessed at a constant address.
    cells: HashMap<i64, u32, FxBuildHasher>,
    nodes: u32,
    /// Parts of local memory that generic addresses do not lead to.
    unaddressed: Vec<(u32, u32)>,
    /// Edges as (from, to).
    edges: Vec<(u32, u32)>,
    /// Registers that the address of a global variable flows into, and the number of those.
    globals: Vec<(RegId, GlobalId)>,
    global_count: usize,
}

impl Graph {
    /// The flow of a kernel.
    pub fn new(kernel: &Kernel, flow: Flow) -> Graph {
        let regs = kernel.reg_width.len() as u32;
        let unaddressed = kernel.unaddressed_in_order();
        let mut graph = Graph {
            regs,
            cells: HashMap::with_hasher(FxBuildHasher),
            nodes: regs + 4,
            unaddressed,
            edges: Vec::new(),
            globals: Vec::new(),
            global_count: kernel.globals.len(),
        };
        let known = Known::new(kernel);
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
                        let (space, at) = known.element(access.space, addr, i, access.ty);
                        graph.load(space, at.map(|at| (at, access.ty.bits())), *dst);
                    }
                }
                (Op::St { access, srcs, addr }, _) => {
                    for (i, src) in srcs.iter().enumerate() {
                        if let Some(Src::Reg(src)) = src {
                            let (space, at) = known.element(access.space, addr, i, access.ty);
                            graph.store(space, at.map(|at| (at, access.ty.bits())), *src);
                        }
                    }
                }
                (Op::Ldmatrix { dsts, space, .. }, _) => {
                    dsts.iter().for_each(|dst| graph.load(*space, None, *dst));
                }
                (Op::Stmatrix { srcs, space, .. }, _) => {
                    for src in srcs {
                        if let Src::Reg(src) = src {
                            graph.store(*space, None, *src);
                        }
                    }
                }
                (_, Flow::Pointer) => {
                    let Graph { edges, globals, .. } = &mut graph;
                    pointer_edges(inst, |src, dst| match src {
                        Src::Reg(from) => edges.push((from.0, dst.0)),
                        Src::Global(global, _) => globals.push((dst, global)),
                        Src::Imm(_) | Src::Var(..) => {}
                    });
                }
                (op, Flow::Copy) => {
                    let edges = &mut graph.edges;
                    copy_edges(op, |from, to| edges.push((from.0, to.0)));
                }
                (op, Flow::Any) => {
                    let edges = &mut graph.edges;
                    op.defs(&mut |to| uses(inst, |from| edges.push((from.0, to.0))));
                }
                (op, Flow::Sizes) if passes_sizes(op) => {
                    let edges = &mut graph.edges;
                    op.defs(&mut |to| uses(inst, |from| edges.push((from.0, to.0))));
                }
                (_, Flow::Sizes) => {}
            }
        }
        graph.extend(Vec::new());
        graph
    }

    /// Adds flow from registers to registers.
    pub(super) fn extend(&mut self, edges: Vec<(RegId, RegId)>) {
        let edges = edges.into_iter().map(|(from, to)| (from.0, to.0));
        self.edges.extend(edges);
        self.edges.sort_unstable();
        self.edges.dedup();
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

    /// What is stored anywhere in local memory that an address leads to.
    fn addressed(&self) -> u32 {
        self.regs + 3
    }

    fn cell(&mut self, at: i64) -> u32 {
        let (next, anywhere) = (self.nodes, self.anywhere());
        let node = *self.cells.entry(at).or_insert(next);
        if node == next {
            self.nodes += 1;
            self.edges.push((node, anywhere));
            let (from, end) = (at * 4, at * 4 + 4);
            if !lies_in_one(&self.unaddressed, (from, end)) {
                self.edges.push((node, self.addressed()));
            }
        }
        node
    }

    /// The nodes of an access of so many bits.
    fn range(&mut self, (at, bits): (i64, u32)) -> Vec<u32> {
        let last = at.saturating_add(i64::from(bits.div_ceil(8)) - 1);
        let cells = at.div_euclid(4)..=last.div_euclid(4);
        cells.map(|cell| self.cell(cell)).collect()
    }

    fn store(&mut self, space: Space, at: Option<(i64, u32)>, src: RegId) {
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
                for cell in self.range(at) {
                    self.edges.push((src.0, cell));
                }
            }
            _ => {
                let known = [self.scattered(), self.anywhere(), self.addressed()];
                self.edges.extend(known.map(|node| (src.0, node)));
            }
        }
    }

    fn load(&mut self, space: Space, at: Option<(i64, u32)>, dst: RegId) {
        match (space, at) {
            (Space::Local, Some(at)) => {
                for cell in self.range(at) {
                    self.edges.push((cell, dst.0));
                }
                let scattered = self.scattered();
                self.edges.push((scattered, dst.0));
            }
            (Space::Local, None) => self.edges.push((self.anywhere(), dst.0)),
            (Space::Shared | Space::SharedCluster, _) => self.edges.push((self.shared(), dst.0)),
            (Space::Generic, _) => {
                let (addressed, shared) = (self.addressed(), self.shared());
                self.edges.extend([(addressed, dst.0), (shared, dst.0)]);
            }
            (Space::Global | Space::Const | Space::Param, _) => {}
        }
    }
}

/// A number that a register always holds.
#[derive(Clone, Copy)]
enum Number {
    /// The number itself.
    Plain(i64),
    /// The generic address of this offset of local memory.
    InLocal(i64),
    /// The generic address of this offset of parameter memory.
    InParam(i64),
}

/// Registers with a single definition whose value is known: stack pointers and what is derived
/// from them, so that spills through them keep to their cells.
pub struct Known {
    of: Vec<Option<Number>>,
}

impl Known {
    /// Finds them.
    pub fn new(kernel: &Kernel) -> Known {
        let regs = kernel.reg_width.len();
        let mut written = vec![0u8; regs];
        for inst in &kernel.insts {
            inst.op.defs(&mut |reg| {
                let count = &mut written[reg.0 as usize];
                *count = count.saturating_add(1);
            });
        }
        let mut known = Known {
            of: vec![None; regs],
        };
        for inst in &kernel.insts {
            let (dst, number) = match &inst.op {
                Op::Mov { dst, src, .. } => (*dst, known.src(*src)),
                Op::Cvta {
                    space: space @ (Space::Local | Space::Param),
                    to,
                    dst,
                    src,
                    ..
                } => (
                    *dst,
                    match (known.src(*src), to, space) {
                        (Some(Number::Plain(at)), false, Space::Local) => Some(Number::InLocal(at)),
                        (Some(Number::Plain(at)), false, _) => Some(Number::InParam(at)),
                        (Some(Number::InLocal(at)), true, Space::Local) => Some(Number::Plain(at)),
                        (Some(Number::InParam(at)), true, Space::Param) => Some(Number::Plain(at)),
                        _ => None,
                    },
                ),
                Op::Int {
                    op: IntOp::Add,
                    ty,
                    lanes: 1,
                    dst: Some(dst),
                    src: [a, b, ..],
                    ..
                } if ty.width == 64 => (*dst, sum(known.src(*a), known.src(*b))),
                _ => continue,
            };
            if written[dst.0 as usize] == 1 {
                known.of[dst.0 as usize] = number;
            }
        }
        known
    }

    fn src(&self, src: Src) -> Option<Number> {
        match src {
            Src::Reg(reg) => self.of.get(reg.0 as usize).copied().flatten(),
            _ => src.laid_out().map(|n| Number::Plain(n as i64)),
        }
    }

    /// Space and address of the i-th element of an access, as far as they are known.
    pub fn element(&self, space: Space, addr: &Addr, i: usize, ty: NumTy) -> (Space, Option<i64>) {
        let at = |base: i64| {
            let start = base.checked_add(addr.offset)?;
            start.checked_add(i as i64 * i64::from(ty.bits() / 8))
        };
        match (self.src(addr.base), space) {
            (Some(Number::InLocal(base)), Space::Generic) => (Space::Local, at(base)),
            (Some(Number::InParam(base)), Space::Generic) => (Space::Param, at(base)),
            (Some(Number::Plain(base)), Space::Local | Space::Param) => (space, at(base)),
            _ => (space, None),
        }
    }
}

fn sum(a: Option<Number>, b: Option<Number>) -> Option<Number> {
    match (a?, b?) {
        (Number::Plain(a), Number::Plain(b)) => a.checked_add(b).map(Number::Plain),
        (Number::InLocal(a), Number::Plain(b)) | (Number::Plain(a), Number::InLocal(b)) => {
            a.checked_add(b).map(Number::InLocal)
        }
        (Number::InParam(a), Number::Plain(b)) | (Number::Plain(a), Number::InParam(b)) => {
            a.checked_add(b).map(Number::InParam)
        }
        (Number::InLocal(_) | Number::InParam(_), Number::InLocal(_) | Number::InParam(_)) => None,
    }
}

/// The flow of these seeds, whose origins are below `first`, and of the addresses of the global
/// variables, whose origins are from there on.
pub fn reach_with_globals(graph: &Graph, seeds: &[(RegId, Origin)], first: usize) -> Reach {
    let mut all = seeds.to_vec();
    let globals = graph.globals.iter();
    all.extend(globals.map(|(reg, global)| (*reg, first as Origin + global.0)));
    let mut found = reach(graph, &all);
    let origins = first as Origin..(first + graph.global_count) as Origin;
    found.globals = origins.map(|o| found.sets.intern(vec![o])).collect();
    found
}

/// Runs one flow analysis to its fixpoint.
pub(super) fn reach(graph: &Graph, seeds: &[(RegId, Origin)]) -> Reach {
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
        globals: Vec::new(),
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

/// True for what passes sizes on: integers, predicates, and exchanges between lanes.
pub(super) fn passes_sizes(op: &Op) -> bool {
    let float = |ty: &NumTy| matches!(ty, NumTy::Float(_));
    match op {
        Op::Setp { ty, .. } => !float(ty),
        Op::Set { ty, dty, .. } => !float(ty) && !float(dty),
        Op::Cvt { from, to, .. } => !float(from) && !float(to),
        op => !matches!(
            op,
            Op::Float { .. }
                | Op::Testp { .. }
                | Op::CvtNarrow { .. }
                | Op::CvtUnpack2 { .. }
                | Op::Cvta { .. }
                | Op::IsSpace { .. }
                | Op::Atom { .. }
                | Op::Bar { .. }
                | Op::Elect { .. }
                | Op::ActiveMask { .. }
                | Op::Mma(_)
                | Op::Async(_)
                | Op::Unsupported(_)
        ),
    }
}

/// A mask that keeps nothing of an address but bits that every base has zero.
pub(super) fn low_bits(src: Src) -> bool {
    matches!(src, Src::Imm(mask) if mask < 256)
}

/// Which registers pass their bits on, whole or in parts, to which; memory is the graph's.
fn copy_edges(op: &Op, mut edge: impl FnMut(RegId, RegId)) {
    let mut from = |srcs: &[Src], to: RegId| {
        for src in srcs {
            if let Src::Reg(src) = src {
                edge(*src, to);
            }
        }
    };
    match op {
        Op::Async(op) => {
            if let AsyncOp::Cluster(op) = &**op
                && let ClusterOp::Map { dst, from: src, .. } = &**op
            {
                from(&[*src], *dst);
            }
        }
        Op::Mov { dst, src, .. } => from(&[*src], *dst),
        Op::Pack { dst, srcs, .. } => from(srcs, *dst),
        Op::Unpack { dsts, src, .. } => dsts.iter().flatten().for_each(|d| from(&[*src], *d)),
        Op::Selp { dst, a, b, .. } | Op::Slct { dst, a, b, .. } => from(&[*a, *b], *dst),
        Op::Shfl { dst, a, .. } => from(&[*a], *dst),
        _ => {}
    }
}

/// Which registers pass an address on, to which; memory is the graph's.
fn pointer_edges(inst: &Inst, mut edge: impl FnMut(Src, RegId)) {
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
