//! Which additions a later compiler may join with a multiplication before them.
//!
//! Problem: ptxas may make one fused multiply-add of a `mul` and an `add` or `sub` that have no rounding modifier, at one
//! place and not at another (PTX ISA 9.0, sections 9.7.3.1 to 9.7.3.3). Some operations end in a product that it
//! makes itself, and joins as well: an approximate quotient is a product with a reciprocal, an approximate reciprocal one
//! with a power of two. Two singles at once are joined whatever rounding is written. All of this was seen in
//! code for sm_80, sm_90 and sm_100.
//!
//! Whether an operand of an addition may be such a product is asked of registers, whatever the path: a register holds a
//! product if any instruction that writes it multiplies so, or passes on what may be one. Passing on are moves, choices,
//! changes of bits and of signs, whatever is the identity for some operands (a product with 1, a maximum of x and x,
//! a shuffle from the own lane), memory of the thread's own, and all other memory between two synchronisations, where a
//! compiler knows what it stored. Too many additions may be named so, never too few.

use super::bodies::successors;
use super::effects::{Orders, Results};
use super::{FloatOp, Fmt, Kernel, Op, Pc, Rnd, Space};

/// For each instruction, whether it is an addition of what may be such a product.
pub fn joins(kernel: &Kernel) -> Vec<bool> {
    let mut held = Held {
        product: vec![false; kernel.reg_width.len()],
        stored: vec![false; kernel.insts.len() + 1],
        local: false,
        changed: true,
    };
    while held.changed {
        held.changed = false;
        for i in 0..kernel.insts.len() {
            held.pass(kernel, Pc(i as u32));
        }
    }
    let sum = |op: &Op| {
        let Op::Float {
            op: FloatOp::Add | FloatOp::Sub,
            ..
        } = op
        else {
            return false;
        };
        held.reads(op) && is_free(op)
    };
    kernel.insts.iter().map(|inst| sum(&inst.op)).collect()
}

/// What may hold a product.
struct Held {
    /// Registers.
    product: Vec<bool>,
    /// Memory of all threads before each instruction, since the last synchronisation.
    stored: Vec<bool>,
    /// Memory of the thread's own.
    local: bool,
    changed: bool,
}

impl Held {
    fn reads(&self, op: &Op) -> bool {
        let mut reads = false;
        op.uses(&mut |r| reads |= self.product[r.0 as usize]);
        reads
    }

    /// Passes on what holds before an instruction to what holds after it.
    fn pass(&mut self, kernel: &Kernel, pc: Pc) {
        let op = &kernel.insts[pc.0 as usize].op;
        let reads = self.reads(op);
        let carries = match op {
            Op::Ld { access, .. } => match is_own(access.space) {
                true => self.local || self.stored[pc.0 as usize],
                false => self.stored[pc.0 as usize],
            },
            op => is_product(op) || reads && passes_on(op),
        };
        if carries {
            op.defs(&mut |r| {
                self.changed |= !std::mem::replace(&mut self.product[r.0 as usize], true);
            });
        }
        let mut stored = self.stored[pc.0 as usize];
        if let Op::St { access, .. } = op
            && reads
        {
            stored = true;
            if is_own(access.space) {
                self.changed |= !std::mem::replace(&mut self.local, true);
            }
        }
        let synchronises = matches!(op.effects().orders, Orders::Only | Orders::WithResult);
        if !stored || synchronises {
            return;
        }
        for next in successors(kernel, pc) {
            if let Some(after) = self.stored.get_mut(next as usize) {
                self.changed |= !std::mem::replace(after, true);
            }
        }
    }
}

/// True for a sum or product that the compiler may join: it names no rounding, or is of two singles at once.
fn is_free(op: &Op) -> bool {
    match op {
        Op::Float {
            fmt, lanes, mods, ..
        } => mods.rnd == Rnd::None || *lanes == 2 && *fmt == Fmt::F32,
        _ => false,
    }
}

/// True for an operation that ends in a product which a compiler may join with a sum.
fn is_product(op: &Op) -> bool {
    let Op::Float {
        op: float, mods, ..
    } = op
    else {
        return false;
    };
    match float {
        FloatOp::Mul => is_free(op),
        FloatOp::Div | FloatOp::Rcp => mods.approx,
        FloatOp::Add
        | FloatOp::Sub
        | FloatOp::Fma
        | FloatOp::Sqrt
        | FloatOp::Rsqrt
        | FloatOp::Ex2
        | FloatOp::Lg2
        | FloatOp::Sin
        | FloatOp::Cos
        | FloatOp::Tanh
        | FloatOp::Neg
        | FloatOp::Abs
        | FloatOp::Min
        | FloatOp::Max
        | FloatOp::Min3
        | FloatOp::Max3
        | FloatOp::Copysign => false,
    }
}

/// Memory that may be the thread's own.
fn is_own(space: Space) -> bool {
    match space {
        Space::Local | Space::Param | Space::Generic => true,
        Space::Global | Space::Shared | Space::SharedCluster | Space::Const => false,
    }
}

/// True for an operation whose result may be one of its operands, for some values of the others.
fn passes_on(op: &Op) -> bool {
    match op {
        Op::Float { op, .. } => op.selects() || *op == FloatOp::Mul,
        Op::Cvt { from, to, .. } => from == to,
        Op::Shfl { .. } => true,
        // Truths of comparisons, and numbers of another format.
        Op::Setp { .. } | Op::Set { .. } | Op::Testp { .. } | Op::CvtNarrow { .. } => false,
        op => op.effects().results != Results::Other,
    }
}
