//! Loads whose value a compare-and-swap checks again.
//!
//! The problem: a read-modify-write that the hardware lacks begins with a plain load, computes from it, and exchanges
//! only if memory still holds what was loaded. Whatever the load read in a race with other such exchanges, a stale
//! value makes the exchange fail, and what was computed from it is thrown away.
//!
//! A load is one of these if the register that it fills is copied, and not computed, into the expected operand of a
//! compare-and-swap. That nothing else is made of its value is not shown here, so that a race of such a load with
//! such an exchange is left open and not denied.

use super::flow::{Flow, Graph, Origin, reach};
use super::{AtomOp, Kernel, Op, Pc, RegId};

/// The instructions that load what a compare-and-swap expects.
pub fn rechecked(kernel: &Kernel) -> Vec<Pc> {
    let mut seeds: Vec<(RegId, Origin)> = Vec::new();
    for (pc, inst) in (0u32..).zip(&kernel.insts) {
        if let Op::Ld { dsts, .. } = &inst.op {
            seeds.extend(dsts.iter().flatten().map(|d| (*d, pc)));
        }
    }
    let flow = reach(&Graph::new(kernel, Flow::Copy), &seeds);
    let mut out: Vec<Pc> = Vec::new();
    for inst in &kernel.insts {
        if let Op::Atom {
            op: AtomOp::Cas,
            srcs,
            ..
        } = &inst.op
        {
            let expected = srcs.iter().flat_map(|s| flow.origins(*s));
            out.extend(expected.map(|pc| Pc(*pc)));
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}
