//! Branches on data one way of which only fails.
//!
//! Problem: an assertion is a branch to a call of `__assertfail` or a `trap`, behind which nothing comes, so that its two ways
//! do not meet and nothing merges them. Nor need they be: on an input that takes the way that fails the kernel is
//! defective, and all others go the other way. So the condition is noted as a place that data choose is (`gather`): of
//! the reference it is part of being defined, of the optimized kernel it is to be shown, and of a kernel that is looked at
//! alone it is proved or refuted. What a lane accesses later happens where its assertions hold.
//!
//! Sound: the way that fails does nothing but compute, and ends.

use crate::kernel::{Op, Pc, Space};
use crate::sim::limits::LIMITS;
use crate::term::TermId;

use super::at::site;
use super::gather::{Gather, Object};
use super::machine::Core;
use super::step::Under;
use super::warp::lanes;

impl Core<'_> {
    /// The instruction at which everybody fails who comes to a place.
    fn failure(&self, mut at: Pc) -> Option<Pc> {
        for _ in 0..LIMITS.assertion_steps {
            let inst = self.fixed.kernel.insts.get(at.0 as usize)?;
            let next = Pc(at.0 + 1);
            at = match &inst.op {
                Op::Trap | Op::Brkpt | Op::AssertFail if inst.guard.is_none() => return Some(at),
                Op::Bra { target, .. } if inst.guard.is_none() && target.0 > at.0 => *target,
                Op::St { access, .. } if matches!(access.space, Space::Param | Space::Local) => {
                    next
                }
                Op::Nop => next,
                op if op.is_pure() => next,
                _ => return None,
            };
        }
        None
    }

    /// A conditional branch in lanes `mask`, of which `yes` take it and those of `under` may: notes that none may go the way
    /// that fails, and lets them go the other one; false if no way fails, or both do.
    pub(super) fn assertion(
        &mut self,
        w: usize,
        (mask, yes): (u32, u32),
        under: &Under,
        (pc, target): (Pc, Pc),
    ) -> bool {
        let fall = Pc(pc.0 + 1);
        let (at, onward, taken) = match (self.failure(target), self.failure(fall)) {
            (Some(at), None) => (at, fall, true),
            (None, Some(at)) => (at, target, false),
            _ => return false,
        };
        for lane in lanes(under.mask) {
            let store = &self.values.store;
            if !self
                .memory
                .gathers
                .is_usable(store, under.cond[lane], self.fixed.arrays)
            {
                return false;
            }
        }
        let what = match self.inst(at).op {
            Op::AssertFail => "fails an assertion",
            Op::Trap => "executes trap",
            _ => "executes brkpt",
        };
        for lane in lanes(under.mask) {
            let store = &mut self.values.store;
            let cond = under.cond[lane];
            let not = store.not(cond);
            let (fires, holds) = if taken { (cond, not) } else { (not, cond) };
            let raw = store.bits(64, 0);
            let site = site(at, w, 1 << lane, what);
            self.memory.gathers.note(Gather {
                object: Object::Failure(what),
                raw,
                cond: Some(fires),
                span: (0, 1),
                unaligned: None,
                fits: Vec::new(),
                site,
            });
            self.passed(w, lane, holds);
        }
        let sure = mask & !under.mask;
        self.threads.warps[w].jump(sure & !yes, fall.0);
        self.threads.warps[w].jump(yes, target.0);
        self.threads.warps[w].jump(under.mask, onward.0);
        true
    }

    /// What has held of a lane from here on.
    fn passed(&mut self, w: usize, lane: usize, holds: TermId) {
        let store = &mut self.values.store;
        let all = self.memory.gathers.passed.entry((w, lane)).or_insert(holds);
        *all = store.and(*all, holds);
    }
}
