//! The control slice: what decides who accesses what, and in which order.
//!
//! The problem: whether threads keep out of each other's way depends on addresses, barriers and the lanes that
//! exchange registers, and on all that flows into those. The rest of a kernel, which is most of it, computes
//! numbers that decide nothing. The slice is found backwards from those operands, over registers without regard to
//! order, and through the objects in memory: a load in the slice puts all stores to what it may read into it.
//!
//! Source: Weiser, "Program Slicing" (1981), without its control dependences: a branch or guard outside of the slice
//! may go either way, and whoever runs a kernel by its slice has to walk both.
//!
//! Not claimed: that nothing outside of the slice decides anything. An address of unknown origin, a copy by an
//! asynchronous agent or an instruction without model may hand on what is outside, so that a run has to notice where
//! it needs a value that it left out.

use super::effects::Decides;
use super::flow::{Flow, Graph, Origin, Reach, reach_with_globals};
use super::usage::{is_global, loads};
use super::{Addr, Inst, Kernel, Op, Pc, RegId, Space, Src};

/// For each instruction, whether its results are in the slice. `decides` tells of instructions that compute whether
/// their operands decide something all the same.
pub fn control_slice(kernel: &Kernel, decides: impl Fn(Pc, &Inst) -> bool) -> Vec<bool> {
    let mut slice = Slice::new(kernel);
    for (pc, inst) in (0u32..).zip(&kernel.insts) {
        roots(&inst.op, decides(Pc(pc), inst), |r| slice.add(r));
    }
    slice.close();
    slice.results
}

/// An object, as far as an address tells.
enum Object<'a> {
    /// Shared or local memory.
    Space(Space),
    /// One of these; any, if none is named.
    Any(&'a [Origin]),
}

impl Object<'_> {
    fn may_be(&self, other: &Object) -> bool {
        match (self, other) {
            (Object::Space(a), Object::Space(b)) => a == b,
            (Object::Any(a), Object::Any(b)) => {
                a.is_empty() || b.is_empty() || a.iter().any(|o| b.contains(o))
            }
            (Object::Space(_), Object::Any(a)) | (Object::Any(a), Object::Space(_)) => a.is_empty(),
        }
    }
}

struct Slice<'k> {
    kernel: &'k Kernel,
    /// The instructions that write each register.
    writers: Vec<Vec<Pc>>,
    /// The instructions that write memory.
    stores: Vec<Pc>,
    stored: Vec<bool>,
    pointers: Reach,
    known: Vec<bool>,
    work: Vec<RegId>,
    results: Vec<bool>,
}

impl<'k> Slice<'k> {
    fn new(kernel: &'k Kernel) -> Self {
        let mut writers = vec![Vec::new(); kernel.reg_width.len()];
        let mut stores = Vec::new();
        for (pc, inst) in (0u32..).zip(&kernel.insts) {
            inst.op.defs(&mut |r| writers[r.0 as usize].push(Pc(pc)));
            if written(&inst.op).is_some() {
                stores.push(Pc(pc));
            }
        }
        let params = loads(kernel);
        let graph = Graph::new(kernel, Flow::Pointer);
        Slice {
            kernel,
            writers,
            stored: vec![false; kernel.insts.len()],
            stores,
            pointers: reach_with_globals(&graph, &params.seeds, params.uses.len()),
            known: vec![false; kernel.reg_width.len()],
            work: Vec::new(),
            results: vec![false; kernel.insts.len()],
        }
    }

    fn add(&mut self, r: RegId) {
        if !std::mem::replace(&mut self.known[r.0 as usize], true) {
            self.work.push(r);
        }
    }

    /// Adds what flows into the registers of the slice.
    fn close(&mut self) {
        while let Some(r) = self.work.pop() {
            for pc in std::mem::take(&mut self.writers[r.0 as usize]) {
                if std::mem::replace(&mut self.results[pc.0 as usize], true) {
                    continue;
                }
                let inst = &self.kernel.insts[pc.0 as usize];
                if let Some(guard) = inst.guard {
                    self.add(guard.reg);
                }
                match read(&inst.op) {
                    Some(of) => self.add_stores(of),
                    None => inst.op.uses(&mut |r| self.add(r)),
                }
            }
        }
    }

    /// Adds what is stored to anything that an address may lead to.
    fn add_stores(&mut self, (space, addr): (Space, Addr)) {
        let kernel = self.kernel;
        for i in 0..self.stores.len() {
            let pc = self.stores[i];
            let inst = &kernel.insts[pc.0 as usize];
            let Some(to) = written(&inst.op) else {
                continue;
            };
            let meet = self.object(space, addr).may_be(&self.object(to.0, to.1));
            if !meet || std::mem::replace(&mut self.stored[pc.0 as usize], true) {
                continue;
            }
            if let Some(guard) = inst.guard {
                self.add(guard.reg);
            }
            inst.op.uses(&mut |r| self.add(r));
        }
    }

    fn object(&self, space: Space, addr: Addr) -> Object<'_> {
        match is_global(space) {
            true => Object::Any(self.pointers.origins(addr.base)),
            false => Object::Space(space),
        }
    }
}

/// What an instruction reads, if its results are what it finds in memory.
fn read(op: &Op) -> Option<(Space, Addr)> {
    match op {
        Op::Ld { access, addr, .. } => Some((access.space, *addr)),
        Op::Ldmatrix { space, addr, .. } => Some((*space, *addr)),
        _ => None,
    }
}

/// What an instruction writes that has the values in registers.
fn written(op: &Op) -> Option<(Space, Addr)> {
    match op {
        Op::St { access, addr, .. } | Op::Atom { access, addr, .. } => Some((access.space, *addr)),
        Op::Stmatrix { space, addr, .. } => Some((*space, *addr)),
        _ => None,
    }
}

/// Calls `f` with each operand that decides what an instruction does to others.
fn roots(op: &Op, decides: bool, mut f: impl FnMut(RegId)) {
    let mut src = |s: &Src| {
        if let Src::Reg(r) = s {
            f(*r);
        }
    };
    match op.effects().decides {
        Decides::Results if decides => op.uses(&mut f),
        Decides::All => op.uses(&mut f),
        Decides::Results | Decides::Nothing => {}
        Decides::Address => accessed(op).iter().for_each(|(_, addr)| src(&addr.base)),
        Decides::Exchange => match op {
            Op::Shfl { b, c, mask, .. } => [b, c].into_iter().chain(mask).for_each(src),
            Op::Vote { mask, .. } => mask.iter().for_each(src),
            _ => op.uses(&mut f),
        },
    }
}

/// The one address of an access.
fn accessed(op: &Op) -> Option<(Space, Addr)> {
    read(op).or(written(op))
}
