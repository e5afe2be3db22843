//! Variables that count: integers that the module gives no initial value, and that only atomics and stores of constants
//! touch.
//!
//! The problem: `__device__ unsigned count = 0;` and `__device__ unsigned count;` are one PTX declaration, without an
//! initialiser, and a kernel whose last CTA is the one that counts to the end computes nothing sensible from another
//! start. Memory that a module gives no initial value holds zeros when the module is loaded (PTX ISA 9.3, section 5.4.4),
//! so a counter that no host touches starts at 0.
//!
//! How: pointer flow says which accesses reach a variable. A load of it, a store of something computed, a copy or an
//! access as floats makes it data, which the host may have put there.
//!
//! Not claimed: that the host leaves the variable alone; whoever uses the answer lists that as an assumption.

use super::flow::{Flow, Graph, reach_with_globals};
use super::usage::{AccessKind, accesses};
use super::{Begins, Kernel, NumTy, Op, Src, SymbolRef};

/// For each variable of [`Kernel::globals`], whether it is a counter.
pub fn counters(kernel: &Kernel) -> Vec<bool> {
    let open = |v: &super::GlobalVar| v.begins == Begins::Filled && !v.constant;
    let mut data: Vec<bool> = kernel.globals.iter().map(|v| !open(v)).collect();
    if data.iter().all(|d| *d) {
        return vec![false; data.len()];
    }
    // An address that stands in memory leads to accesses that the flow does not see.
    for (_, symbol, _) in kernel.globals.iter().flat_map(|v| &v.relocs) {
        let (SymbolRef::Global(to) | SymbolRef::Generic(to)) = symbol;
        data[to.0 as usize] = true;
    }
    let pointers = reach_with_globals(&Graph::new(kernel, Flow::Pointer), &[], 0);
    let constant = constants(kernel);
    let is_constant = |src: &Src| match src {
        Src::Imm(_) => true,
        Src::Reg(reg) => constant[reg.0 as usize],
        Src::Global(..) | Src::Var(..) => false,
    };
    let mut counted = vec![false; data.len()];
    for inst in &kernel.insts {
        accesses(&inst.op, |addr, access, kind| {
            let counts = match &inst.op {
                Op::St { srcs, .. } => srcs.iter().flatten().all(is_constant),
                Op::Atom { .. } => true,
                _ => false,
            };
            let counts = counts && kind != AccessKind::Read && matches!(access.ty, NumTy::Int(_));
            for &variable in pointers.origins(addr.base) {
                data[variable as usize] |= !counts;
                counted[variable as usize] |= kind == AccessKind::Atomic;
            }
        });
        let stored: Vec<Src> = match &inst.op {
            Op::St { srcs, .. } => srcs.iter().flatten().copied().collect(),
            Op::Atom { srcs, cas, .. } => srcs.iter().chain(cas).copied().collect(),
            _ => continue,
        };
        for src in stored {
            for &variable in pointers.origins(src) {
                data[variable as usize] = true;
            }
        }
    }
    let both = counted.iter().zip(&data);
    both.map(|(counted, data)| *counted && !data).collect()
}

/// The registers that only moves of constants define.
fn constants(kernel: &Kernel) -> Vec<bool> {
    let mut moved = vec![false; kernel.reg_width.len()];
    let mut computed = vec![false; kernel.reg_width.len()];
    for inst in &kernel.insts {
        match inst.op {
            Op::Mov {
                dst,
                src: Src::Imm(_),
                ..
            } => moved[dst.0 as usize] = true,
            _ => inst.op.defs(&mut |reg| computed[reg.0 as usize] = true),
        }
    }
    let both = moved.iter().zip(&computed);
    both.map(|(moved, computed)| *moved && !computed).collect()
}
