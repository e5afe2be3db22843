//! Threads that wait for phases and do nothing in between.
//!
//! Problem: compilers let whole warps wait for the phases that one thread of them needs. Nothing holds a phase back until
//! the idle ones have seen the end of the one before, so by the letter one of them may miss it and wait for ever.
//! What they do in between is nothing that any other thread can see, so no value depends on it: only
//! whether they get as far as the next wait, which every use of a parity takes for granted.
//!
//! How: a wait that a phase can overtake is a finding if its thread did something since, or does before
//! its next wait, barrier or exit. Otherwise it is an assumption, which the report lists.
//!
//! Source: PTX ISA 9.0, section 9.7.13.15.16: a wait on a parity means the current phase or the one before.
//!
//! Not claimed: that such a thread is never overtaken.

use super::*;
use crate::answer::AssumptionKind;
use crate::kernel::Space;

/// A wait that the end of the next phase may overtake.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overtaken {
    w: usize,
    lane: u32,
    at: u64,
    wait: Party,
    last: Party,
    relaxed: bool,
}

/// True if other threads can see that an instruction was executed.
fn acts(op: &Op) -> bool {
    match op {
        Op::Ld { access, .. } => {
            !matches!(access.space, Space::Param | Space::Const | Space::Local)
        }
        Op::St { access, .. } => access.space != Space::Local,
        Op::Atom { .. } | Op::CpAsync { .. } | Op::Ldmatrix { .. } | Op::Stmatrix { .. } => true,
        Op::Async(op) => !matches!(
            **op,
            AsyncOp::Wait { .. }
                | AsyncOp::ProxyFence { .. }
                | AsyncOp::InitFence
                | AsyncOp::Registers { .. }
                | AsyncOp::WgmmaFence
        ),
        _ => false,
    }
}

/// True for what ends the time between two waits.
fn ends(op: &Op) -> bool {
    match op {
        Op::Bar { .. } | Op::Exit => true,
        Op::Async(op) => matches!(**op, AsyncOp::Wait { .. }),
        _ => false,
    }
}

impl Machine<'_> {
    /// Lanes execute an instruction of a kernel that has mbarriers.
    pub(crate) fn note_act(&mut self, w: usize, exec: u32, pc: Pc) -> Result<(), Stop> {
        let op = &self.inst(pc).op;
        let late = self.warps[w].overtaken & exec;
        if acts(op) {
            let when = self.stats.warp_instructions;
            for lane in lanes(exec) {
                self.warps[w].acted[lane] = when;
            }
            if late != 0 {
                let mine = |o: &&Overtaken| o.w == w && late >> o.lane & 1 == 1;
                if let Some(o) = self.objects.overtaken.iter().find(mine).copied() {
                    return Err(self.missed(&o));
                }
            }
        } else if late != 0 && ends(op) {
            self.warps[w].overtaken &= !late;
            self.objects
                .overtaken
                .retain(|o| o.w != w || late >> o.lane & 1 == 0);
        }
        Ok(())
    }

    /// The next phase can end before a lane has looked: a finding now, or once the lane does anything.
    pub(super) fn overtake(
        &mut self,
        at: u64,
        wait: Party,
        last: Party,
        relaxed: bool,
    ) -> Result<(), Stop> {
        let w = wait.base as usize / LANES;
        for lane in lanes(wait.mask) {
            let one = Overtaken {
                w,
                lane: lane as u32,
                at,
                wait: Party {
                    mask: 1 << lane,
                    ..wait
                },
                last,
                relaxed,
            };
            if self.warps[w].acted[lane] > wait.when {
                return Err(self.missed(&one));
            }
            if self.warps[w].live >> lane & 1 == 1 {
                self.warps[w].overtaken |= 1 << lane;
                self.objects.overtaken.push(one);
            }
        }
        self.found.assumptions.insert(AssumptionKind::Scheduling.says("a thread that does nothing between waits on mbarriers sees the end of each phase before the \
             next one ends"));
        Ok(())
    }

    fn missed(&mut self, o: &Overtaken) -> Stop {
        let why = "its next phase can end before a thread has seen that this one has: the wait would miss \
                   it";
        let w = o.last.base as usize / LANES;
        self.object_unordered(w, o.last.mask, o.last.pc, o.at, o.wait, o.relaxed, why)
    }
}
