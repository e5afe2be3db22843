//! Which atomics give an old value that anything depends on.
//!
//! The problem: unordered atomics of one operation commute only if nobody looks at what they return.
//! Without optimisation the result of every `atom` is moved through registers and the stack of the
//! thread before it is forgotten, so that "its register is read" says nothing.
//!
//! Soundness: a result counts as unused only if all that it can flow into ([`flow`](super::flow)) is
//! registers and local memory, read by nothing but computations, exchanges between lanes and copies of those.
//!
//! Not claimed: that a used result matters.

use super::flow::{Flow, Graph, Known, Origin, reach};
use super::operands::uses;
use super::{Addr, Kernel, Op, RegId, Space, Src};

/// For each instruction, whether it is an atomic whose result may be used.
pub fn results_used(kernel: &Kernel) -> Vec<bool> {
    let mut seeds: Vec<(RegId, Origin)> = Vec::new();
    for (pc, inst) in (0u32..).zip(&kernel.insts) {
        if let Op::Atom { dsts, .. } = &inst.op {
            seeds.extend(dsts.iter().map(|d| (*d, pc)));
        }
    }
    let mut used = vec![false; kernel.insts.len()];
    if seeds.is_empty() {
        return used;
    }
    let known = Known::new(kernel);
    let reached = reach(&Graph::new(kernel, Flow::Any), &seeds);
    let mut mark = |r: RegId| {
        for pc in reached.origins(Src::Reg(r)) {
            used[*pc as usize] = true;
        }
    };
    let base = |addr: &Addr| match addr.base {
        Src::Reg(r) => Some(r),
        _ => None,
    };
    for inst in &kernel.insts {
        if let Some(guard) = inst.guard {
            mark(guard.reg);
        }
        match &inst.op {
            Op::Ld { addr, .. } => base(addr).into_iter().for_each(&mut mark),
            Op::St { addr, access, .. }
                if known.element(access.space, addr, 0, access.ty).0 == Space::Local =>
            {
                base(addr).into_iter().for_each(&mut mark);
            }
            Op::Atom { .. } | Op::St { .. } => inst.op.uses(&mut mark),
            // What lanes exchange is used where it goes.
            Op::Shfl { b, c, mask, .. } => {
                let others = [Some(*b), Some(*c), *mask].into_iter().flatten();
                let regs = others.filter_map(|s| match s {
                    Src::Reg(r) => Some(r),
                    _ => None,
                });
                regs.for_each(&mut mark);
            }
            op if op.is_pure() => {}
            _ => uses(inst, &mut mark),
        }
    }
    used
}
