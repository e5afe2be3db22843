//! Which bits of each register anything depends on.
//!
//! Problem: two steps of different threads change places if each thread goes on alike, and what a thread has read is of
//! no matter as far as nobody looks at it: a barrier of the grid looks at the sign of a counter's old value, and not at
//! its other bits. The bits that are looked at are found backwards, over all ways at once: those that effects,
//! branches and guards read, and those of which such bits are made.
//!
//! Sound in one direction: bits that are not named here change nothing but bits that are not named here. An operation
//! without a rule depends on all bits of its operands.

use super::operands::uses;
use super::{Cmp, Inst, IntOp, Kernel, NumTy, Op, RegId, Src};

/// Sweeps over the code; where more would be needed, all bits matter.
const MAX_SWEEPS: usize = 32;

/// For each register the bits that matter.
pub fn demanded(kernel: &Kernel) -> Vec<u64> {
    let mut of = vec![0u64; kernel.reg_width.len()];
    for _ in 0..MAX_SWEEPS {
        let mut changed = false;
        for inst in kernel.insts.iter().rev() {
            sweep(inst, &mut of, &mut changed);
        }
        if !changed {
            return of;
        }
    }
    vec![u64::MAX; of.len()]
}

fn sweep(inst: &Inst, of: &mut [u64], changed: &mut bool) {
    let mut made = 0;
    inst.op.defs(&mut |r| made |= of[r.0 as usize]);
    if inst.op.is_pure() && made == 0 {
        return;
    }
    let mut need = |r: RegId, bits: u64| {
        let held = &mut of[r.0 as usize];
        *changed |= *held | bits != *held;
        *held |= bits;
    };
    if let Some(g) = inst.guard {
        need(g.reg, u64::MAX);
    }
    match (&inst.op, bits_of(&inst.op, made)) {
        (op, Some(bits)) => op.uses(&mut |r| need(r, bits)),
        (_, None) => uses(inst, |r| need(r, u64::MAX)),
    }
}

/// The bits of every operand of which the made bits are computed; `None` if these may be all.
fn bits_of(op: &Op, made: u64) -> Option<u64> {
    match op {
        Op::Mov { .. } => Some(made),
        Op::Int {
            op: IntOp::Xor | IntOp::Or | IntOp::And | IntOp::Not,
            lanes: 1,
            dst2: None,
            ..
        } => Some(made),
        // Carries go upwards.
        Op::Int {
            op: IntOp::Add | IntOp::Sub | IntOp::MulLo,
            lanes: 1,
            dst2: None,
            ..
        } => Some(u64::MAX >> made.leading_zeros()),
        // A comparison with 0 that asks for the sign.
        Op::Setp {
            cmp,
            ty: NumTy::Int(ty),
            lanes: 1,
            combine: None,
            q: None,
            a: Src::Reg(_),
            b: Src::Imm(b),
            ..
        } if ty.signed => {
            let ones = u64::MAX >> (64 - ty.width);
            let sign = match cmp {
                Cmp::Lt | Cmp::Ge => *b == 0,
                Cmp::Gt | Cmp::Le => *b & ones == ones,
                _ => false,
            };
            sign.then_some(1 << (ty.width - 1))
        }
        _ => None,
    }
}
