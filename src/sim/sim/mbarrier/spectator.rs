//! Threads that wait for phases and do nothing in between.
//!
//! Problem: compilers let whole warps wait for the phases that one thread of them needs. Nothing holds a phase back until
//! the idle ones have seen the end of the one before, and a wait tells the current phase and the one before apart, no more:
//! one of them may miss a phase and wait for ever.
//!
//! How: a wait whose phase, and the next one, can end before its thread looks is a deadlock if its thread did something
//! since, or does before its next wait, barrier or exit: then the kernel needs what the thread does. If the thread only
//! waits it is a warning. Nothing is said where another lane of its warp that waits for the same phases acts on them: lanes
//! of a warp see the end of a phase by one instruction, which the report lists as an assumption.
//!
//! Source: PTX ISA 9.3, section 9.7.14.16.19: a wait on a parity means the current phase or the one before.
//!
//! Sound: the last arrival of the next phase does not depend on the look, so that there is a schedule in which it comes first.

use crate::answer::AssumptionKind;
use crate::kernel::Space;
use crate::sim::at::site;
use crate::sim::machine::{Core, Machine};
use crate::sim::region::SHARED;
use crate::sim::stop::Stop;
use crate::sim::warp::{LANES, lanes};
use crate::sim::{DefectKind, Site, WarningKind};

use super::*;

/// A wait that the end of the next phase may overtake.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Overtaken {
    w: usize,
    lane: u32,
    at: u64,
    wait: Party,
    last: Party,
    /// The number of the phase that it waits for.
    phase: u64,
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

impl Core<'_> {
    fn lag(&self, o: &Overtaken) -> (Vec<Site>, String) {
        let (place, next) = (self.place(SHARED, o.at, 8), o.phase + 1);
        let wait = format!("waits for phase {} of {place}", o.phase);
        let last = o.last.base as usize / LANES;
        let sites = vec![
            site(o.wait.pc, o.w, o.wait.mask, wait),
            site(o.last.pc, last, o.last.mask, format!("ends phase {next}")),
        ];
        let thread = self.fixed.team.name(o.wait.base + o.lane);
        let what = format!(
            "mbarrier {place}: thread {thread} waits for phase {}, and nothing that it does comes before the end of phase \
             {next}: if it looks after that, the parity of phase {} means phase {}, and it waits for good; an arrival of it \
             that phase {next} needs is missing",
            o.phase,
            o.phase,
            o.phase + 2
        );
        (sites, what)
    }

    fn missed(&mut self, o: &Overtaken) -> Stop {
        let (sites, what) = self.lag(o);
        self.defect(DefectKind::Deadlock, sites, || what);
        Stop::Finding
    }

    fn lags(&mut self, o: &Overtaken) {
        let (sites, what) = self.lag(o);
        self.found.warn(WarningKind::PhaseLag, sites, || {
            format!("{what}; it does nothing but wait")
        });
    }
}

impl Machine<'_> {
    /// Lanes execute an instruction of a kernel that has mbarriers.
    pub(crate) fn note_act(&mut self, w: usize, exec: u32, pc: Pc) -> Result<(), Stop> {
        let op = &self.core.inst(pc).op;
        let late = self.core.threads.warps[w].overtaken & exec;
        if acts(op) {
            let when = self.core.threads.stats.warp_instructions;
            for lane in lanes(exec) {
                self.core.threads.warps[w].acted[lane] = when;
            }
            if late != 0 {
                let mine = |o: &&Overtaken| o.w == w && late >> o.lane & 1 == 1;
                if let Some(o) = self.tasks.objects.overtaken.iter().find(mine).copied() {
                    return Err(self.core.missed(&o));
                }
            }
        } else if late != 0 && ends(op) {
            self.core.threads.warps[w].overtaken &= !late;
            let mine = |o: &Overtaken| o.w == w && late >> o.lane & 1 == 1;
            let all = std::mem::take(&mut self.tasks.objects.overtaken);
            let (over, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(mine);
            self.tasks.objects.overtaken = rest;
            over.iter().for_each(|o| self.core.lags(o));
        }
        Ok(())
    }

    /// The next phase can end before lanes have looked: a finding now, or once a lane does anything; `mates` are the lanes
    /// of their warp that wait for the same phase.
    pub(super) fn overtake(
        &mut self,
        at: u64,
        (wait, mates, phase): (Party, u32, u64),
        last: Party,
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
                phase,
            };
            let acted = |l: usize| self.core.threads.warps[w].acted[l] > wait.when;
            if acted(lane) {
                return Err(self.core.missed(&one));
            }
            if lanes(mates & !(1 << lane)).any(acted) {
                self.core.found.assumptions.insert(AssumptionKind::Scheduling.says(
                    "lanes of a warp that wait for a phase of an mbarrier by one instruction see its end together",
                ));
            } else if self.core.threads.warps[w].live >> lane & 1 == 1 {
                self.core.threads.warps[w].overtaken |= 1 << lane;
                self.tasks.objects.overtaken.push(one);
            } else {
                self.core.lags(&one);
            }
        }
        Ok(())
    }

    /// When all threads have ended: those that waited and did nothing after.
    pub(in crate::sim) fn report_lags(&mut self) {
        let left = std::mem::take(&mut self.tasks.objects.overtaken);
        left.iter().for_each(|o| self.core.lags(o));
    }
}
