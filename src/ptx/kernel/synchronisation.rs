//! Operations that only order others, and what a kernel is without one of them.
//!
//! Problem: to ask what a barrier, a wait, a fence or a commit is for, the kernel is run as if it were not there. It
//! computes nothing that anyone reads, but for a wait that says whether it is over: then it is. Of a barrier that
//! counts predicates the register of the count keeps what it held, or nothing.

use super::effects::Orders;
use super::{AsyncOp, ClusterOp, Inst, Kernel, Op, Pc, Src};

/// The name of a synchronising operation and what stands in its place where it is left out; `None` for all others.
///
/// Who arrives and what is expected is what a phase is made of, and a fence of `setmaxnreg` is none.
pub fn synchronises(op: &Op) -> Option<(&'static str, Op)> {
    let without = match op.effects().orders {
        Orders::Nothing => return None,
        Orders::Only | Orders::WithResult | Orders::Agents => Op::Nop,
        Orders::Told => {
            let mut done = Op::Nop;
            op.defs(&mut |dst| {
                done = Op::Mov {
                    dst,
                    src: Src::Imm(1),
                    width: 1,
                };
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
    /// Barriers of a cluster as halves: each arrival with the wait that follows it in the text, if no other half stands between.
    pub fn halves(&self) -> Vec<(Pc, Pc)> {
        let half_at = |(i, inst): (usize, &Inst)| match &inst.op {
            Op::Async(op) => Some((Pc(i as u32), half(op)?)),
            _ => None,
        };
        let all: Vec<(Pc, Half)> = self.insts.iter().enumerate().filter_map(half_at).collect();
        let pairs = all.windows(2).filter_map(|pair| match *pair {
            [(arrive, Half::Arrive), (wait, Half::Wait)] => Some((arrive, wait)),
            _ => None,
        });
        pairs.collect()
    }

    /// True for one half of a barrier of a cluster.
    pub fn is_half(op: &Op) -> bool {
        matches!(op, Op::Async(op) if half(op).is_some())
    }

    /// Leaves out the synchronising operations that begin at some places of the text.
    pub fn leave_out(&mut self, places: &[u32]) {
        for (inst, span) in self.insts.iter_mut().zip(&self.spans) {
            if places.contains(&span.start)
                && let Some((_, op)) = synchronises(&inst.op)
            {
                inst.op = op;
            }
        }
    }
}
