//! Operations that only order others, and what a kernel is without one of them.
//!
//! Problem: to ask what a barrier, a wait, a fence or a commit is for, the kernel is run as if it were not there. It
//! computes nothing that anyone reads, but for a wait that says whether it is over: then it is. A barrier that
//! counts predicates gives a number that nothing else has, so that a kernel without it is another kernel.

use super::effects::Orders;
use super::{AsyncOp, BulkOp, Inst, Kernel, Op, Pc, Src, TensorOp};

/// What an operation that orders others is without its order.
#[derive(Clone, Debug, PartialEq)]
pub enum Without {
    /// Another operation, which orders nothing.
    Op(Op),
    /// Nothing that a kernel can be run with.
    Unknown,
}

/// The name of a synchronising operation and what is left without it; `None` for all others.
pub fn synchronises(op: &Op) -> Option<(&'static str, Without)> {
    if let Op::Async(op) = op {
        return asynchronous(op);
    }
    match op.effects().orders {
        Orders::Nothing => None,
        Orders::Only(name) => Some((name, Without::Op(Op::Nop))),
        Orders::WithResult(name) => Some((name, Without::Unknown)),
    }
}

fn asynchronous(op: &AsyncOp) -> Option<(&'static str, Without)> {
    let without = match op {
        AsyncOp::Wait { dst, .. } => Without::Op(Op::Mov {
            dst: *dst,
            src: Src::Imm(1),
            width: 1,
        }),
        AsyncOp::ProxyFence { .. }
        | AsyncOp::InitFence
        | AsyncOp::WgmmaFence
        | AsyncOp::WgmmaCommit
        | AsyncOp::WgmmaWait { .. } => Without::Op(Op::Nop),
        AsyncOp::Tensor(t) => match **t {
            TensorOp::Wait(_) | TensorOp::Fence(_) | TensorOp::Commit { .. } => {
                Without::Op(Op::Nop)
            }
            TensorOp::Alloc { .. }
            | TensorOp::Dealloc { .. }
            | TensorOp::Relinquish(_)
            | TensorOp::Load { .. }
            | TensorOp::Store { .. }
            | TensorOp::Copy { .. }
            | TensorOp::Mma(_) => return None,
        },
        AsyncOp::Bulk(b) => match **b {
            BulkOp::Commit
            | BulkOp::Wait { .. }
            | BulkOp::MapAcquire { .. }
            | BulkOp::MapRelease => Without::Op(Op::Nop),
            BulkOp::Copy(_) | BulkOp::Replace { .. } | BulkOp::MapCopy { .. } => return None,
        },
        // To leave half of a barrier out would be another mistake.
        AsyncOp::Cluster(_) => return None,
        // Who arrives and what is expected is what a phase is made of; a fence of `setmaxnreg` is none.
        AsyncOp::Init { .. }
        | AsyncOp::Inval { .. }
        | AsyncOp::Arrive { .. }
        | AsyncOp::Bytes { .. }
        | AsyncOp::CopyArrive { .. }
        | AsyncOp::Wgmma(_)
        | AsyncOp::WmmaLoad(_)
        | AsyncOp::WmmaStore(_)
        | AsyncOp::WmmaMma(_)
        | AsyncOp::Registers { .. } => return None,
    };
    Some((op.name(), without))
}

impl Kernel {
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
