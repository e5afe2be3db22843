//! Whether what CTAs see of each other through atomics decides what they access.
//!
//! The problem: every CTA is run alone from the initial memory. Where two of them update one counter and use what they
//! find there, that is what each finds if it comes first, so that two runs side by side are no execution: tickets of one
//! counter are different places in every execution, and one place in both runs. A pair of accesses of two CTAs is a race
//! only if neither the addresses nor the ways through the kernel depend on such a value.
//!
//! Sound: whatever is not known to leave a value in registers or memory counts as a decision. The analysis takes no order
//! of instructions and one cell for all of memory. Each CTA by itself may come first, so that its own findings stand.

use rustc_hash::FxHashSet;

use crate::kernel::effects::Results;
use crate::kernel::operands::uses;
use crate::kernel::{Kernel, Op, Pc, RegId, Space, Src};

/// True if what some instructions return may decide an address, a branch, or whether an access is made.
pub(super) fn decides(kernel: &Kernel, observing: &[Pc]) -> bool {
    let mut made: FxHashSet<RegId> = FxHashSet::default();
    for pc in observing {
        if let Some(inst) = kernel.insts.get(pc.0 as usize) {
            inst.op.defs(&mut |r| {
                made.insert(r);
            });
        }
    }
    let mut in_memory = false;
    loop {
        let before = (made.len(), in_memory);
        for inst in &kernel.insts {
            let effects = inst.op.effects();
            let mut is_used = false;
            uses(inst, |r| is_used |= made.contains(&r));
            if is_used {
                match stored(&inst.op, &made) {
                    Some(true) if inst.guard.is_none_or(|g| !made.contains(&g.reg)) => {
                        in_memory = true
                    }
                    _ if matches!(effects.results, Results::Arithmetic | Results::Held) => {}
                    _ => return true,
                }
            }
            let follows = matches!(inst.op, Op::Ld { .. } | Op::St { .. } | Op::Atom { .. });
            if in_memory && effects.accesses && !follows {
                return true;
            }
            if is_used || in_memory && effects.accesses && !is_constant(&inst.op) {
                inst.op.defs(&mut |r| {
                    made.insert(r);
                });
            }
        }
        if before == (made.len(), in_memory) {
            return false;
        }
    }
}

/// True for a load of what no kernel writes.
fn is_constant(op: &Op) -> bool {
    matches!(op, Op::Ld { access, .. } if matches!(access.space, Space::Param | Space::Const))
}

/// For a store or an atomic, whether its address is made of none of some registers, so that only its value may be.
fn stored(op: &Op, made: &FxHashSet<RegId>) -> Option<bool> {
    match op {
        Op::St { addr, .. } | Op::Atom { addr, .. } => {
            let is_made = matches!(addr.base, Src::Reg(r) if made.contains(&r));
            Some(!is_made)
        }
        _ => None,
    }
}
