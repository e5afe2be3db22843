//! Operations that only order others, and what a kernel is without one of them.
//!
//! Problem: to ask what a barrier, a wait, a fence or a commit is for, the kernel is run as if it were not there. It
//! computes nothing that anyone reads, but for a wait that says whether it is over: then it is. A barrier that
//! counts predicates gives a number that nothing else has, so that a kernel without it is another kernel.

use super::effects::Orders;
use super::{AsyncOp, ClusterOp, Inst, Kernel, Op, Pc, Src};

/// What an operation that orders others is without its order.
#[derive(Clone, Debug, PartialEq)]
pub enum Without {
    /// Another operation, which orders nothing.
    Op(Op),
    /// Nothing that a kernel can be run with.
    Unknown,
}

/// The name of a synchronising operation and what is left without it; `None` for all others.
///
/// Who arrives and what is expected is what a phase is made of, and a fence of `setmaxnreg` is none.
pub fn synchronises(op: &Op) -> Option<(&'static str, Without)> {
    let without = match op.effects().orders {
        Orders::Nothing => return None,
        Orders::Only | Orders::Agents => Without::Op(Op::Nop),
        Orders::WithResult => Without::Unknown,
        Orders::Told => {
            let mut done = Without::Unknown;
            op.defs(&mut |dst| {
                done = Without::Op(Op::Mov {
                    dst,
                    src: Src::Imm(1),
                    width: 1,
                });
            });
            done
        }
    };
    Some((op.name(), without))
}

/// Which half of a barrier of a cluster an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    Arrive,
    Wait,
}

fn half(op: &AsyncOp) -> Option<Half> {
    let AsyncOp::Cluster(op) = op else {
        return None;
    };
    match **op {
        ClusterOp::Arrive { .. } => Some(Half::Arrive),
        ClusterOp::Wait { .. } => Some(Half::Wait),
        ClusterOp::Map { .. }
        | ClusterOp::Store(_)
        | ClusterOp::Rank { .. }
        | ClusterOp::Cancel { .. }
        | ClusterOp::IsCancelled { .. }
        | ClusterOp::FirstCta { .. } => None,
    }
}

impl Kernel {
    /// The other half of a barrier of a cluster that stands directly beside an instruction which is one half of it; to leave
    /// one half out alone would be another mistake. `None` for all other instructions, `Some(None)` for a half alone.
    pub fn other_half(&self, pc: Pc) -> Option<Option<Pc>> {
        let at = |i: Option<u32>| match &self.insts.get(i? as usize)?.op {
            Op::Async(op) => Some((i?, half(op)?)),
            _ => None,
        };
        let beside = match at(Some(pc.0))?.1 {
            Half::Arrive => at(pc.0.checked_add(1)).filter(|o| o.1 == Half::Wait),
            Half::Wait => at(pc.0.checked_sub(1)).filter(|o| o.1 == Half::Arrive),
        };
        Some(beside.map(|(i, _)| Pc(i)))
    }

    /// The kernel without the operations at some places; `None` if one of them cannot be left out.
    pub fn without(&self, places: &[Pc]) -> Option<Kernel> {
        let mut out = self.clone();
        for pc in places {
            let inst: &mut Inst = out.insts.get_mut(pc.0 as usize)?;
            let (_, Without::Op(op)) = synchronises(&inst.op)? else {
                return None;
            };
            inst.op = op;
        }
        Some(out)
    }
}
