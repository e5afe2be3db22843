//! Products of a warpgroup: `wgmma.mma_async` and its fence, commit and wait.
//!
//! Four warps make one product of 64 rows; warp W of the four holds rows 16 W to 16 W + 15 of d, so
//! each warp's part is computed on its own when the warp issues it. Its reads of shared memory
//! are those of an agent that forks from the warp and ends with the group that it is
//! committed to; a warp's `wait_group` observes the group of all four warps, and hence waits
//! until they have committed theirs.
//!
//! Registers: d belongs to the product until the wait, and so do the registers of a for writes; a
//! chain of products may share d. What other instructions wrote to them must be followed by
//! `wgmma.fence` before a product touches them: the values at the fence are compared with
//! those at the issue, so that only a write that changes something is a finding.
//!
//! Source: PTX ISA 9.0, section 9.7.15. The layout of d: register i of a lane with g = lane / 4, t
//! = lane % 4 holds row 16 W + g + 8 (i >> 1 & 1), column 8 (i >> 2) + 2 t + (i & 1).
//!
//! Not claimed: the rounding of the accumulation.

use rustc_hash::FxHashMap;

use crate::kernel::{AsyncOp, GroupA, Op, Pc, RegId, Src};
use crate::sim::state::recorded;

use super::clock::EventId;
use super::tensor_load::{Labels, Late};
use super::val::Val;
use super::warp::LANES;
use super::warpgroup::{Alike, Registers};

mod exec;

/// What a warp has under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    /// Groups committed.
    committed: u32,
    /// Groups observed.
    waited: u32,
    /// What all warps of a warpgroup must execute alike, in order.
    pub(super) issued: Vec<Alike>,
    /// Registers of products under way: group, written by the product, instruction.
    busy: FxHashMap<RegId, (u32, bool, Pc)>,
    /// Registers that loads from tensor memory are writing.
    pub(super) loading: FxHashMap<RegId, Late>,
    /// Where their values have got to.
    pub(super) labels: Labels,
    /// Registers of products at the last fence.
    fenced: Option<FxHashMap<RegId, [Val; LANES]>>,
    /// Waits until the group of its warpgroup has come so far.
    wait: Option<u32>,
}

recorded!(Own { committed, waited, issued, wait } tables { busy, loading, labels, fenced });

/// All products of a CTA that are under way.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Products {
    pub(super) warps: Vec<Own>,
    /// Registers of the warps.
    pub(super) registers: Registers,
    /// Events that end the groups, by warpgroup.
    groups: Vec<Vec<EventId>>,
    /// Registers that products of the kernel touch.
    regs: Vec<RegId>,
}

impl Products {
    /// Nothing under way.
    pub(super) fn new(kernel: &crate::kernel::Kernel, warps: usize) -> Products {
        let mut regs = Vec::new();
        for inst in &kernel.insts {
            if let Op::Async(op) = &inst.op
                && let AsyncOp::Wgmma(m) = &**op
            {
                regs.extend(m.d.iter());
                if let GroupA::Regs(list) = &m.a {
                    regs.extend(list.iter().filter_map(|s| match s {
                        Src::Reg(r) => Some(*r),
                        _ => None,
                    }));
                }
            }
        }
        regs.sort_by_key(|r| r.0);
        regs.dedup();
        Products {
            warps: vec![Own::default(); warps],
            registers: Registers::new(kernel.registers.map_or(0, |r| r.count), warps),
            groups: vec![Vec::new(); warps.div_ceil(4)],
            regs,
        }
    }

    /// True if registers of a warp belong to products, or to loads from tensor memory.
    #[inline]
    pub(super) fn busy(&self, w: usize) -> bool {
        let own = &self.warps[w];
        !own.busy.is_empty() || !own.loading.is_empty() || !own.labels.is_empty()
    }
}
