//! Which registers an instruction reads and writes, and where control goes after it.
//!
//! The operands of an operation follow from its fields ([`field`](super::field)); an instruction reads its guard too.

use super::effects::Results;
use super::schedule_use::ScheduleUse;
use super::{Inst, Kernel, Op, Pc, RegId, Space};

/// Calls `f` with each register that `inst` reads, its guard included, in operand order. A
/// register that is read twice is reported twice.
pub fn uses(inst: &Inst, mut f: impl FnMut(RegId)) {
    if let Some(guard) = inst.guard {
        f(guard.reg);
    }
    inst.op.uses(&mut f);
}

impl Op {
    /// True if all that it does is to compute its results from its operands.
    pub fn is_pure(&self) -> bool {
        match self {
            Op::Ld { access, .. } => access.space == Space::Param && !access.volatile,
            op => {
                let effects = op.effects();
                effects.results != Results::Other && effects.schedule == ScheduleUse::Free
            }
        }
    }

    /// True if it writes a register.
    pub fn writes(&self, r: RegId) -> bool {
        let mut found = false;
        self.defs(&mut |d| found |= d == r);
        found
    }
}

/// Where control can go after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// Only to the next instruction.
    Fall,
    /// To the target; if `fall`, also to the next instruction.
    Jump {
        /// The branch target.
        target: Pc,
        /// True if a guard can leave it untaken.
        fall: bool,
    },
    /// To any target of the table; if `fall`, also to the next instruction.
    Table {
        /// The branch targets.
        targets: &'a [Pc],
        /// True if a guard can leave it untaken.
        fall: bool,
    },
    /// The thread ends; if `fall`, it may also go on.
    End {
        /// True if a guard can leave it unexecuted.
        fall: bool,
    },
}

/// Where control can go after the instruction at `pc`.
pub fn next(kernel: &Kernel, pc: Pc) -> Next<'_> {
    let inst = &kernel.insts[pc.0 as usize];
    let fall = inst.guard.is_some();
    match &inst.op {
        Op::Bra { target, .. } => Next::Jump {
            target: *target,
            fall,
        },
        Op::Brx { table, .. } => Next::Table {
            targets: kernel
                .tables
                .get(*table as usize)
                .map_or(&[], |t| t.as_slice()),
            fall,
        },
        Op::Exit | Op::Trap | Op::Brkpt | Op::CallDepth => Next::End { fall },
        _ => Next::Fall,
    }
}
