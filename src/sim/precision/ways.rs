//! The ways of values between the instructions of a kernel.
//!
//! Problem: which instructions can write what an instruction reads, directly or on from there. The
//! method is a backward closure over definitions and uses, as in program slicing (Weiser, "Program
//! Slicing", ICSE 1981), with two differences: a definition counts only if control can come from
//! it to the use and no other one hides it in the block of the use, and memory is a few places
//! rather than bytes: cells of local memory at constant addresses, the rest of local memory, shared
//! memory, tensor memory.
//!
//! Sound: a value that can come from one instruction to another does so in the closure
//! ([`Ways::closure`]) with [`Order::Threads`]. A closure may hold more. [`Order::Program`] leaves
//! out what one thread writes to shared memory after the place where another reads it in the code, which
//! specialised warps do.
//!
//! Through global memory, whose writes are outputs themselves, a value goes to what reads the same array later in the
//! code, or after a barrier: a loop that changes an array in place reads what it has not written yet.
//!
//! Not claimed: ways through instructions that are not modelled, nor through global memory by other means.

use hashbrown::HashMap;
use rustc_hash::{FxBuildHasher, FxHashSet};

use crate::kernel::flow::{Flow, Graph, Known, Origin, Reach, reach_with_globals};
use crate::kernel::operands::{Next, next};
use crate::kernel::usage::{Loads, loads};
use crate::kernel::{
    Addr, AsyncOp, BulkFar, BulkOp, Kernel, NumTy, Op, Pc, RegId, Space, TensorOp,
};

/// Pairs of a write and a read of one place beyond which their order in the code is not looked at.
const MAX_PAIRS: usize = 1 << 22;

/// Basic blocks beyond which every instruction is taken to come after every other.
const MAX_BLOCKS: usize = 4096;

/// Where memory keeps a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Storage {
    /// Four bytes of local memory.
    Cell(i64),
    /// Local memory at an address that is not known.
    Local,
    /// Shared memory.
    Shared,
    /// Tensor memory.
    Tensor,
    /// What a pointer of the parameters, or a variable, leads to.
    Global(Origin),
}

/// When what is written to memory that threads share can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Before or after in the code: another thread may be there.
    Threads,
    /// After in the code.
    Program,
}

/// What can be read where.
pub(super) struct Ways<'k> {
    kernel: &'k Kernel,
    known: Known,
    /// Which arrays addresses lead to.
    pointers: Reach,
    /// Barriers of the whole CTA.
    barriers: Vec<Pc>,
    block_of: Vec<u32>,
    /// For each block the set of those that control can come to, itself only by a loop; empty if
    /// there are too many.
    after: Vec<Vec<u64>>,
    /// Instructions that write each register.
    writers: Vec<Vec<Pc>>,
    /// Instructions that write each place.
    stores: HashMap<Storage, Vec<Pc>, FxBuildHasher>,
    /// Instructions that write any local memory.
    local: Vec<Pc>,
    /// Places that so many instructions write and read that their order is not looked at.
    crowded: Vec<Storage>,
}

impl<'k> Ways<'k> {
    /// The ways of a kernel.
    pub(super) fn new(kernel: &'k Kernel) -> Ways<'k> {
        let (block_of, edges) = blocks(kernel);
        let Loads { uses, seeds } = loads(kernel);
        let is_barrier = |pc: Pc| matches!(kernel.insts[pc.0 as usize].op, Op::Bar { .. });
        let all = (0..kernel.insts.len()).map(|i| Pc(i as u32));
        let mut ways = Ways {
            kernel,
            known: Known::new(kernel),
            pointers: reach_with_globals(&Graph::new(kernel, Flow::Pointer), &seeds, uses.len()),
            barriers: all.filter(|pc| is_barrier(*pc)).collect(),
            block_of,
            after: reachable(&edges),
            writers: vec![Vec::new(); kernel.reg_width.len()],
            stores: HashMap::default(),
            local: Vec::new(),
            crowded: Vec::new(),
        };
        let mut loads: HashMap<Storage, usize, FxBuildHasher> = HashMap::default();
        for (i, inst) in kernel.insts.iter().enumerate() {
            let pc = Pc(i as u32);
            inst.op.defs(&mut |r| {
                if let Some(list) = ways.writers.get_mut(r.0 as usize) {
                    list.push(pc);
                }
            });
            let mut places = Vec::new();
            ways.places(&inst.op, true, |p| places.push(p));
            for place in places {
                if matches!(place, Storage::Cell(_) | Storage::Local)
                    && ways.local.last() != Some(&pc)
                {
                    ways.local.push(pc);
                }
                ways.stores.entry(place).or_default().push(pc);
            }
            ways.places(&inst.op, false, |p| *loads.entry(p).or_default() += 1);
        }
        for (&place, loads) in &loads {
            let stores = match place {
                Storage::Cell(_) => continue,
                Storage::Local => ways.local.len(),
                Storage::Global(_) => {
                    let stores = ways.stores.get(&place).map_or(0, Vec::len);
                    stores.saturating_mul(ways.barriers.len() + 1)
                }
                _ => ways.stores.get(&place).map_or(0, Vec::len),
            };
            if stores.saturating_mul(*loads) > MAX_PAIRS {
                ways.crowded.push(place);
            }
        }
        ways
    }

    /// Can control come from `a` to `b`?
    fn follows(&self, a: Pc, b: Pc) -> bool {
        let (x, y) = (self.block_of[a.0 as usize], self.block_of[b.0 as usize]);
        if x == y && b > a {
            return true;
        }
        match self.after.get(x as usize) {
            Some(set) => set[y as usize / 64] >> (y % 64) & 1 == 1,
            None => true,
        }
    }

    /// Can what `a` writes to global memory be read by `b`?
    fn meets(&self, a: Pc, b: Pc) -> bool {
        let mut between = self.barriers.iter();
        self.follows(a, b) && (a < b || between.any(|m| self.follows(a, *m) && self.follows(*m, b)))
    }

    /// Marks every instruction that writes what a seed reads, and so on back through those that
    /// `through` lets pass. A seed is a register read at a place, or memory read by it.
    pub(super) fn closure(
        &self,
        seeds: &[Seed],
        order: Order,
        through: impl Fn(Pc) -> Reads,
    ) -> Vec<bool> {
        let mut marked = vec![false; self.kernel.insts.len()];
        let mut work = Vec::new();
        // What comes from other blocks is the same for all reads of a block.
        let mut seen: FxHashSet<(u32, u32)> = FxHashSet::default();
        let mut read = |reg: RegId, at: Pc, work: &mut Vec<Pc>, marked: &mut Vec<bool>| {
            let Some(writers) = self.writers.get(reg.0 as usize) else {
                return;
            };
            let mut mark = |w: Pc| {
                if !std::mem::replace(&mut marked[w.0 as usize], true) {
                    work.push(w);
                }
            };
            let block = self.block_of[at.0 as usize];
            let before = writers.partition_point(|w| *w < at);
            for &w in writers[..before].iter().rev() {
                if self.block_of[w.0 as usize] != block {
                    break;
                }
                mark(w);
                // Nothing that was there before is left.
                if self.kernel.insts[w.0 as usize].guard.is_none() {
                    return;
                }
            }
            if seen.insert((reg.0, block)) {
                let others = writers.iter().filter(|w| self.follows(**w, at));
                others.for_each(|w| mark(*w));
            }
        };
        let mut loads: FxHashSet<(Storage, u32)> = FxHashSet::default();
        let mut load = |at: Pc, work: &mut Vec<Pc>, marked: &mut Vec<bool>| {
            self.places(&self.kernel.insts[at.0 as usize].op, false, |place| {
                let shared = matches!(place, Storage::Shared | Storage::Tensor);
                let any = (shared && order == Order::Threads) || self.crowded.contains(&place);
                let key = if any { 0 } else { at.0 };
                if !loads.insert((place, key)) {
                    return;
                }
                let mut visit = |list: &[Pc]| {
                    for &w in list {
                        if !marked[w.0 as usize] && (any || self.follows(w, at)) {
                            marked[w.0 as usize] = true;
                            work.push(w);
                        }
                    }
                };
                match place {
                    Storage::Local => visit(&self.local),
                    Storage::Cell(_) => {
                        visit(self.stores.get(&place).map_or(&[], Vec::as_slice));
                        visit(self.stores.get(&Storage::Local).map_or(&[], Vec::as_slice));
                    }
                    Storage::Global(_) => {
                        let stores = self.stores.get(&place).map_or(&[][..], Vec::as_slice);
                        let seen: Vec<Pc> = stores
                            .iter()
                            .copied()
                            .filter(|w| self.meets(*w, at))
                            .collect();
                        visit(&seen);
                    }
                    _ => visit(self.stores.get(&place).map_or(&[], Vec::as_slice)),
                }
            });
        };
        for seed in seeds {
            match *seed {
                Seed::Register(reg, at) => read(reg, at, &mut work, &mut marked),
                Seed::Memory(at) => load(at, &mut work, &mut marked),
            }
        }
        while let Some(pc) = work.pop() {
            let reads = through(pc);
            for reg in reads.registers {
                read(reg, pc, &mut work, &mut marked);
            }
            if reads.memory {
                load(pc, &mut work, &mut marked);
            }
        }
        marked
    }

    /// Calls `f` with each place that an operation reads, or writes.
    fn places(&self, op: &Op, written: bool, mut f: impl FnMut(Storage)) {
        let far = match op {
            Op::Ld { access, addr, .. } if !written => Some((access.space, addr.base)),
            Op::St { access, addr, .. } if written => Some((access.space, addr.base)),
            Op::Atom { access, addr, .. } => Some((access.space, addr.base)),
            Op::CpAsync { from, .. } if !written => Some((Space::Global, from.base)),
            _ => None,
        };
        if let Some((Space::Global | Space::Generic, base)) = far {
            let arrays = self.pointers.origins(base).iter();
            arrays.for_each(|o| f(Storage::Global(*o)));
        }
        let mut space = |space: Space| match space {
            Space::Generic => {
                f(Storage::Local);
                f(Storage::Shared);
            }
            Space::Local => f(Storage::Local),
            Space::Shared | Space::SharedCluster => f(Storage::Shared),
            Space::Global | Space::Const | Space::Param => {}
        };
        match op {
            Op::Ld {
                access, addr, dsts, ..
            } if !written => self.cells(access.space, addr, access.ty, dsts.len(), f),
            Op::St { access, addr, srcs } if written => {
                self.cells(access.space, addr, access.ty, srcs.len(), f)
            }
            Op::Atom { access, .. } => space(access.space),
            Op::Ldmatrix { space: s, .. } if !written => space(*s),
            Op::Stmatrix { space: s, .. } if written => space(*s),
            Op::CpAsync { .. } if written => f(Storage::Shared),
            Op::Async(op) => match &**op {
                AsyncOp::Wgmma(_) if !written => f(Storage::Shared),
                AsyncOp::WmmaLoad { from: m, .. } if !written => space(m.space),
                AsyncOp::WmmaStore { to: m, .. } if written => space(m.space),
                AsyncOp::Tensor(op) => match &**op {
                    TensorOp::Load { .. } if !written => f(Storage::Tensor),
                    TensorOp::Store { .. } if written => f(Storage::Tensor),
                    TensorOp::Mma(_) => {
                        f(Storage::Tensor);
                        if !written {
                            f(Storage::Shared);
                        }
                    }
                    _ => {}
                },
                AsyncOp::Bulk(op) => {
                    if let BulkOp::Copy(copy) = &**op {
                        if copy.fill == written || (written && copy.reduce.is_some()) {
                            f(Storage::Shared);
                        } else if let BulkFar::Run { space: s, .. } = &copy.far {
                            space(*s);
                        }
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn cells(
        &self,
        space: Space,
        addr: &Addr,
        ty: NumTy,
        count: usize,
        mut f: impl FnMut(Storage),
    ) {
        for i in 0..count {
            match self.known.element(space, addr, i, ty) {
                (Space::Local, Some(at)) => {
                    let last = at.saturating_add(i64::from(ty.bits().div_ceil(8)) - 1);
                    (at.div_euclid(4)..=last.div_euclid(4)).for_each(|c| f(Storage::Cell(c)));
                }
                (Space::Local, None) => f(Storage::Local),
                (Space::Shared | Space::SharedCluster, _) => f(Storage::Shared),
                (Space::Generic, _) => {
                    f(Storage::Local);
                    f(Storage::Shared);
                }
                _ => {}
            }
        }
    }
}

/// Where a closure starts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seed {
    /// A register that the instruction reads.
    Register(RegId, Pc),
    /// The memory that the instruction reads.
    Memory(Pc),
}

/// What of an instruction's operands a closure goes on through.
#[derive(Debug, Default)]
pub(super) struct Reads {
    pub registers: Vec<RegId>,
    pub memory: bool,
}

/// The basic block of each instruction, and where control goes from each block.
fn blocks(kernel: &Kernel) -> (Vec<u32>, Vec<Vec<u32>>) {
    let n = kernel.insts.len();
    let mut leader = vec![false; n];
    let targets = |pc: Pc, mut f: Box<dyn FnMut(Pc) + '_>| match next(kernel, pc) {
        Next::Fall => {}
        Next::Jump { target, .. } => f(target),
        Next::Table { targets, .. } => targets.iter().for_each(|t| f(*t)),
        Next::End { .. } => {}
    };
    for i in 0..n {
        let pc = Pc(i as u32);
        let mut jumps = !matches!(next(kernel, pc), Next::Fall);
        targets(
            pc,
            Box::new(|t| {
                if let Some(l) = leader.get_mut(t.0 as usize) {
                    *l = true;
                }
            }),
        );
        jumps &= i + 1 < n;
        if jumps {
            leader[i + 1] = true;
        }
    }
    let mut block_of = Vec::with_capacity(n);
    let mut count = 0u32;
    for (i, l) in leader.iter().enumerate() {
        count += u32::from(i > 0 && *l);
        block_of.push(count);
    }
    let mut edges: Vec<Vec<u32>> = vec![Vec::new(); count as usize + 1];
    for i in 0..n {
        let pc = Pc(i as u32);
        let here = block_of[i];
        let last = block_of.get(i + 1).is_none_or(|b| *b != here);
        if !last {
            continue;
        }
        let list = &mut edges[here as usize];
        targets(
            pc,
            Box::new(|t| list.extend(block_of.get(t.0 as usize).copied())),
        );
        let falls = match next(kernel, pc) {
            Next::Fall => true,
            Next::Jump { fall, .. } | Next::Table { fall, .. } | Next::End { fall } => fall,
        };
        if falls && let Some(b) = block_of.get(i + 1) {
            edges[here as usize].push(*b);
        }
    }
    (block_of, edges)
}

/// For each block the set of blocks that control can come to after it.
fn reachable(edges: &[Vec<u32>]) -> Vec<Vec<u64>> {
    let n = edges.len();
    if n > MAX_BLOCKS {
        return Vec::new();
    }
    let mut sets = vec![vec![0u64; n.div_ceil(64)]; n];
    let mut work = Vec::new();
    for (set, first) in sets.iter_mut().zip(edges) {
        work.extend_from_slice(first);
        while let Some(b) = work.pop() {
            let (word, bit) = (b as usize / 64, 1 << (b % 64));
            if set[word] & bit == 0 {
                set[word] |= bit;
                work.extend_from_slice(&edges[b as usize]);
            }
        }
    }
    sets
}
