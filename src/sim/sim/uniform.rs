//! Values that are the same in all lanes of a warp are computed once.
//!
//! The problem: where every thread keeps the same running maximum, or scales by the same factor,
//! a term would be built, hashed and found again for each lane. A lane-wise operation is a
//! function of its sources, so lanes with equal sources share one evaluation.
//!
//! Not claimed: that every equal pair of lanes is found; only a whole warp (its executing lanes)
//! is. Plain integer arithmetic is not looked at: it runs on all lanes at once anyway.

use crate::kernel::effects::Results;
use crate::kernel::{Inst, Op, Pc, RegId};

use super::warp::{LANES, Warp, lanes};

mod exec;

/// The registers that each lane-wise operation reads and writes.
#[derive(Debug, Default)]
pub(super) struct Operands {
    /// For each pc the ends of its sources and destinations in `regs`; equal for all others.
    ends: Vec<[u32; 2]>,
    regs: Vec<RegId>,
}

/// True if the result in a lane depends on the sources of that lane alone.
pub(super) fn is_lane_wise(op: &Op) -> bool {
    op.effects().results == Results::Arithmetic
}

impl Operands {
    /// The operands of a kernel's instructions.
    pub(super) fn new(code: &[Inst]) -> Self {
        let mut o = Operands::default();
        for inst in code {
            let mut middle = o.regs.len() as u32;
            if is_lane_wise(&inst.op) {
                inst.op.uses(&mut |r| o.regs.push(r));
                middle = o.regs.len() as u32;
                inst.op.defs(&mut |r| o.regs.push(r));
            }
            o.ends.push([middle, o.regs.len() as u32]);
        }
        o
    }

    pub(super) fn of(&self, pc: Pc) -> (&[RegId], &[RegId]) {
        let i = pc.0 as usize;
        let start = if i == 0 { 0 } else { self.ends[i - 1][1] };
        let [middle, end] = self.ends[i];
        (
            &self.regs[start as usize..middle as usize],
            &self.regs[middle as usize..end as usize],
        )
    }

    /// True if the sources of the instruction are the same in all lanes `exec`, and at least one
    /// of them is not plain bits.
    fn uniform(&self, warp: &Warp, exec: u32, pc: Pc) -> bool {
        let (uses, _) = self.of(pc);
        let mut symbolic = 0;
        for &r in uses {
            let s = warp.symbolic(r) & exec;
            if s != 0 && s != exec {
                return false;
            }
            symbolic |= s;
        }
        symbolic != 0 && uses.iter().all(|&r| warp.is_uniform(r, exec))
    }
}

impl Warp {
    /// True if the lane words of a register are equal in the lanes `among`.
    #[inline]
    pub fn is_uniform(&self, r: RegId, among: u32) -> bool {
        let words = self.words(r);
        let first = words[among.trailing_zeros() as usize & (LANES - 1)];
        lanes(among).all(|l| words[l] == first)
    }

    /// Copies a lane of a register to the lanes `to`.
    pub fn spread(&mut self, r: RegId, lane: usize, to: u32) {
        let v = self.get(r, lane);
        for l in lanes(to) {
            self.set(r, l, v);
        }
    }
}
