//! Waits on phases of an mbarrier: who observes what, and which waits depend on the schedule.
//!
//! A wait blocks its lane until the phase is over, which stands for every number of polls before
//! that. Two things make its result depend on the schedule, and are findings: a parity whose
//! phase before has not surely ended, and a poll whose result decides more than whether to poll
//! again.
//!
//! Source: PTX ISA 9.0, section 9.7.13.15.16 (`mbarrier.test_wait`, `mbarrier.try_wait`).

use crate::answer::AssumptionKind;
use crate::sim::at::site;
use crate::sim::machine::Machine;
use crate::sim::region::SHARED;
use crate::sim::stop::Stop;
use crate::sim::val::Val;
use crate::sim::{Tid, UnknownKind};

use super::*;

impl Machine<'_> {
    /// A wait on the phase before the current one is over.
    pub(super) fn observe_phase(&mut self, w: usize, lane: usize, pc: Pc, at: u64) {
        let Op::Async(op) = &self.core.inst(pc).op else {
            return;
        };
        let AsyncOp::Wait {
            dst,
            acquire,
            reach,
            ..
        } = &**op
        else {
            return;
        };
        let (dst, acquire, reach) = (*dst, *acquire, *reach);
        let cta = self.core.fixed.team.number(w) as u32;
        self.core.set(w, dst, lane, Val::Conc(1));
        self.core.threads.warps[w].pc[lane] = pc.0 + 1;
        let party = self.party(w, lane, pc, self.sync.order.clocks.stamp(w as u32));
        let clocks = &mut self.sync.order.clocks;
        let Some(b) = self
            .tasks
            .objects
            .at
            .get_mut(&at)
            .and_then(|o| o.before.as_mut())
        else {
            return;
        };
        if let Some(phase) = &b.published {
            let t = Tid(self.core.threads.warps[w].first + lane as u32);
            let less = if acquire {
                Less::Scope(reach)
            } else {
                Less::Relaxed
            };
            if !acquire || self.core.fixed.team.many() {
                self.sync.weak.waits(t, pc, at, less);
            }
            if acquire {
                heads::acquire(clocks, (t, cta), phase, reach, None);
            } else {
                clocks.look(phase.event, w as u32, 1 << lane);
                self.sync.patterns.saw(t, phase.clone(), reach);
            }
        }
        let at = clocks.stamp(w as u32);
        Party { at, ..party }.join(&mut b.waits);
    }

    /// `mbarrier.test_wait` and `mbarrier.try_wait`.
    pub(crate) fn object_wait(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        at: u64,
        op: &AsyncOp,
    ) -> Result<(), Stop> {
        let AsyncOp::Wait { until, dst, .. } = op else {
            return Ok(());
        };
        self.live_object(w, lane, pc, at)?;
        let (number, content) = match self.tasks.objects.at.get(&at) {
            Some(o) => (o.number, o.content),
            None => return Ok(()),
        };
        let phase = match until {
            WaitFor::Parity(s) => {
                let parity = self.core.number(w, lane, pc, *s)?;
                if parity > 1 {
                    // The manual names 0 and 1 only, but compilers extend a single bit by its sign.
                    self.core.found.assumptions.insert(
                        AssumptionKind::Machine
                            .says("a phase parity other than 0 and 1 means its lowest bit"),
                    );
                }
                let parity = parity & 1;
                // Of the current phase and the one before, the one with this parity.
                let this = number & 1 == parity;
                if this {
                    self.check_early(w, lane, pc, at)?;
                }
                if this {
                    Some(number)
                } else {
                    number.checked_sub(1)
                }
            }
            WaitFor::State(s) => {
                let v = self.core.src(w, *s, lane);
                let found = match self.core.values.of_bits_plain(v, 64) {
                    Val::Bits(t) => self.tasks.objects.states.get(&t).copied(),
                    _ => None,
                };
                match found {
                    Some((a, c, n)) if (a, c) == (at, content) => {
                        if n + 1 < number {
                            let why = "the state is older than the phase before the current one";
                            return Err(self.core.object_misused(w, lane, pc, at, why));
                        }
                        Some(n)
                    }
                    _ => {
                        let why = "the operand is not a state that an arrival at it returned";
                        return Err(self.core.object_misused(w, lane, pc, at, why));
                    }
                }
            }
        };
        let Some(phase) = phase else {
            // A fresh object counts as just past a phase of parity 1.
            self.core.set(w, *dst, lane, Val::Conc(1));
            self.core.threads.warps[w].pc[lane] = pc.0 + 1;
            return self.note_poll(w, lane, pc);
        };
        self.note_poll(w, lane, pc)?;
        if phase < number {
            self.observe_phase(w, lane, pc, at);
        } else {
            self.core.threads.warps[w].blocked |= 1 << lane;
            if let Some(o) = self.tasks.objects.at.get_mut(&at) {
                o.waiters.push(Waiter { w, lane, phase });
            }
        }
        Ok(())
    }

    /// The phase before the one that a lane waits for must surely be over.
    fn check_early(&mut self, w: usize, lane: usize, pc: Pc, at: u64) -> Result<(), Stop> {
        let Some(p) = self.too_early(w, lane, at) else {
            return Ok(());
        };
        let why = "nothing orders the end of the phase before this wait, which has the parity of \
                   an earlier one: the wait can be over too early";
        Err(self.core.object_unordered((w, 1 << lane, pc), at, p, why))
    }

    /// A poll that decides more than whether to poll again has a result that depends on the
    /// schedule.
    fn note_poll(&mut self, w: usize, lane: usize, pc: Pc) -> Result<(), Stop> {
        let kernel = self.core.fixed.kernel;
        let polls = self
            .tasks
            .objects
            .polls
            .entry(pc)
            .or_insert_with(|| crate::kernel::poll::poll(kernel, pc));
        if let Some(again) = polls {
            let warp = &self.core.threads.warps[w];
            let same = |(r, v): &(crate::kernel::RegId, u64)| warp.get(*r, lane) == Val::Conc(*v);
            if again.iter().all(same) {
                return Ok(());
            }
        }
        let site = site(pc, w, 1 << lane, "polls");
        self.core
            .found
            .unknown(UnknownKind::NondeterministicValue, vec![site], || {
                "the result of a poll decides more than whether to poll again".into()
            });
        Err(Stop::Finding)
    }

    /// What a lane waits for, for a deadlock report.
    pub(crate) fn object_waits(&self, w: usize, lane: usize) -> Option<String> {
        let found = self.tasks.objects.at.iter().find_map(|(at, o)| {
            let mine = |x: &&Waiter| (x.w, x.lane) == (w, lane);
            o.waiters.iter().find(mine).map(|x| (*at, x.phase, o))
        });
        let (at, phase, o) = found?;
        let place = self.core.place(SHARED, at, 8);
        Some(format!(
            "waits for phase {phase} of mbarrier {place}: {} arrivals and {} bytes are missing",
            o.pending, o.bytes
        ))
    }
}
