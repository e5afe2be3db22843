//! Which additions a later compiler may join with a multiplication before them.
//!
//! Problem: ptxas may make one fused multiply-add of a `mul` and an `add` or `sub` that have no rounding modifier, at one
//! place and not at another (PTX ISA 9.0, sections 9.7.3.1 to 9.7.3.3). Whether an operand of an addition may be such a
//! product is asked of registers, whatever the path: a register holds a product if any instruction that
//! writes it multiplies so, or passes on what may be one. Passing on are moves, choices, changes of bits and of signs,
//! and memory of the thread's own, which a compiler keeps in registers; other memory and other lanes are not, since
//! no compiler looks through them.
//!
//! Too many additions may be named so, never too few.

use super::{FloatOp, Kernel, Op, Rnd, Space};

/// For each instruction, whether it is an addition of what may be such a product.
pub fn joins(kernel: &Kernel) -> Vec<bool> {
    let mut product = vec![false; kernel.reg_width.len()];
    let mut local = false;
    loop {
        let mut changed = false;
        for inst in &kernel.insts {
            let mut reads = false;
            inst.op.uses(&mut |r| reads |= product[r.0 as usize]);
            let carries = match &inst.op {
                Op::Float {
                    op: FloatOp::Mul,
                    mods,
                    ..
                } => mods.rnd == Rnd::None,
                Op::Ld { access, .. } => local && is_own(access.space),
                op => reads && passes_on(op),
            };
            if carries {
                inst.op.defs(&mut |r| {
                    changed |= !std::mem::replace(&mut product[r.0 as usize], true);
                });
            }
            if let Op::St { access, .. } = &inst.op
                && reads
                && is_own(access.space)
            {
                changed |= !std::mem::replace(&mut local, true);
            }
        }
        if !changed {
            break;
        }
    }
    let sum = |op: &Op| {
        let Op::Float {
            op: FloatOp::Add | FloatOp::Sub,
            mods,
            ..
        } = op
        else {
            return false;
        };
        let mut reads = false;
        op.uses(&mut |r| reads |= product[r.0 as usize]);
        reads && mods.rnd == Rnd::None
    };
    kernel.insts.iter().map(|inst| sum(&inst.op)).collect()
}

/// Memory that may be the thread's own.
fn is_own(space: Space) -> bool {
    match space {
        Space::Local | Space::Param | Space::Generic => true,
        Space::Global | Space::Shared | Space::SharedCluster | Space::Const => false,
    }
}

/// True for an operation of one thread that computes no new float of what it reads.
fn passes_on(op: &Op) -> bool {
    match op {
        Op::Float { op, .. } => matches!(op, FloatOp::Neg | FloatOp::Abs | FloatOp::Copysign),
        Op::Mov { .. }
        | Op::Pack { .. }
        | Op::Unpack { .. }
        | Op::Selp { .. }
        | Op::Slct { .. }
        | Op::Int { .. }
        | Op::Lop3Bool { .. } => true,
        _ => false,
    }
}
