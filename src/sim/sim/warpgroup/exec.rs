//! What warps of a group execute, as it is compared.

use crate::answer::AssumptionKind;
use crate::kernel::{Op, Pc};
use crate::sim::at::site;
use crate::sim::clock::Actor;
use crate::sim::machine::{Core, Machine};
use crate::sim::step::Flow;
use crate::sim::stop::Stop;
use crate::sim::warp::lanes;
use crate::sim::warpgroup::{Alike, Waiting};
use crate::sim::{DefectKind, Tid, WarningKind};

impl Core<'_> {
    /// The name of an instruction that whole warps execute.
    pub(in crate::sim) fn collective_name(&self, pc: Pc) -> &'static str {
        match &self.inst(pc).op {
            Op::Async(op) => op.name(),
            _ => "a matrix instruction",
        }
    }

    pub(in crate::sim) fn whole_warpgroup(&mut self, w: usize, pc: Pc) -> Result<(), Stop> {
        let own = self.fixed.team.warps(self.fixed.team.number(w));
        if w / 4 * 4 + 4 <= own.end {
            return Ok(());
        }
        let site = site(pc, w, u32::MAX, "execute it");
        let name = self.collective_name(pc);
        self.defect(DefectKind::BarrierMisuse, vec![site], || {
            format!(
                "{name} takes four whole warps, the rank of the first a multiple of four: the \
                 block has no such warpgroup here"
            )
        });
        Err(Stop::Finding)
    }
}

impl Machine<'_> {
    /// When all threads have exited: the warps of a warpgroup must have executed the same.
    pub(in crate::sim) fn check_warpgroups(&mut self) {
        for w in 0..self.core.threads.warps.len() {
            let lead = w / 4 * 4;
            let (a, b) = (
                &self.tasks.products.warps[lead].issued,
                &self.tasks.products.warps[w].issued,
            );
            if a == b {
                continue;
            }
            let i = a.iter().zip(b).take_while(|(x, y)| x == y).count();
            let (pa, pb) = (a.get(i).map(|x| x.pc), b.get(i).map(|x| x.pc));
            let mut sites = Vec::new();
            for (w, p) in [(lead, pa), (w, pb)] {
                if let Some(p) = p {
                    sites.push(site(p, w, u32::MAX, "executes it"));
                }
            }
            let names = [pa, pb].into_iter().flatten();
            let name = names
                .map(|pc| self.core.collective_name(pc))
                .next()
                .unwrap_or_default();
            self.core.defect(DefectKind::BarrierMisuse, sites, || {
                format!(
                    "the warps of a warpgroup execute different {name}: all four must execute \
                     the same"
                )
            });
            return;
        }
    }

    /// `setmaxnreg`.
    pub(in crate::sim) fn set_registers(
        &mut self,
        w: usize,
        pc: Pc,
        (count, more): (u32, bool),
    ) -> Result<Flow, Stop> {
        self.core.whole_warpgroup(w, pc)?;
        let registers = Some((count, more));
        self.tasks.products.warps[w]
            .issued
            .push(Alike { pc, registers });
        let Some(launched) = self.core.fixed.kernel.registers else {
            self.core.found.assumptions.insert(
                AssumptionKind::Scheduling.says(
                    "registers suffice for each `setmaxnreg`, which waits for them otherwise",
                ),
            );
            return Ok(Flow::Next);
        };
        if launched.computed {
            let n = launched.count;
            self.core.found
                .assumptions
                .insert(AssumptionKind::Scheduling.says(format!(
                    "the launch gives each thread {n} registers, as many as .maxntid and .minnctapersm leave"
                )));
        }
        let own = self.tasks.products.registers.owned[w];
        if count == own {
            return Ok(Flow::Next);
        }
        let exact = !launched.computed || !self.tasks.products.registers.done[w].is_empty();
        let lead = w / 4 * 4;
        let what = match more {
            true => "setmaxnreg.inc",
            false => "setmaxnreg.dec",
        };
        if more == (count < own) {
            let site = site(pc, w, u32::MAX, "is executed");
            let message = || {
                format!(
                    "{what} of warps {lead} to {} to {count} registers, and they own {own}",
                    lead + 3
                )
            };
            // The directives bound what the launch gives from above.
            if more && !exact {
                self.core.found.warn(WarningKind::Note, vec![site], || {
                    format!("{}, if the launch gives them as many as it can", message())
                });
                return Ok(Flow::Next);
            }
            self.core
                .defect(DefectKind::BarrierMisuse, vec![site], message);
            return Err(Stop::Finding);
        }
        self.registers_synchronised(w, pc)?;
        let at = self.sync.order.clocks.mark();
        let team = self.core.fixed.team.number(w);
        let registers = &mut self.tasks.products.registers;
        registers.done[w].push((at, pc));
        let free = registers.free.entry(team).or_default();
        if !more {
            *free += 32 * u64::from(own - count);
            registers.owned[w] = count;
            self.registers_wake(team);
            return Ok(Flow::Next);
        }
        let need = 32 * u64::from(count - own);
        if *free >= need {
            *free -= need;
            registers.owned[w] = count;
            return Ok(Flow::Next);
        }
        registers.waiting.push(Waiting { w, team, count });
        self.core.threads.warps[w].blocked |= self.core.threads.warps[w].live;
        Ok(Flow::Set)
    }

    /// Between two `setmaxnreg` of a warpgroup its four warps must synchronise.
    fn registers_synchronised(&mut self, w: usize, pc: Pc) -> Result<(), Stop> {
        let lead = w / 4 * 4;
        let done = &self.tasks.products.registers.done;
        let Some(last) = done[w].len().checked_sub(1) else {
            return Ok(());
        };
        let me = Tid(self.core.threads.warps[w].first);
        let apart = (lead..lead + 4).find(|&v| {
            v != w
                && done[v].get(last).is_none_or(|d| {
                    let other = Actor(self.core.threads.warps[v].first);
                    !self.sync.order.clocks.ordered(other, d.0, me)
                })
        });
        let Some(v) = apart else {
            return Ok(());
        };
        let (at, by) = done[v].get(last).map_or((done[w][last].1, w), |d| (d.1, v));
        let sites = vec![
            site(at, by, u32::MAX, "is executed first"),
            site(pc, w, u32::MAX, "is executed next"),
        ];
        self.core.defect(DefectKind::BarrierMisuse, sites, || {
            format!(
                "two setmaxnreg of warps {lead} to {} without a barrier of the four between them",
                lead + 3
            )
        });
        Err(Stop::Finding)
    }

    /// Lets warps go on for which there are registers now, in the order in which they asked.
    fn registers_wake(&mut self, team: usize) {
        let all = std::mem::take(&mut self.tasks.products.registers.waiting);
        for waiting in all {
            let registers = &mut self.tasks.products.registers;
            let free = registers.free.entry(team).or_default();
            let need = 32 * u64::from(waiting.count - registers.owned[waiting.w]);
            if waiting.team != team || *free < need {
                registers.waiting.push(waiting);
                continue;
            }
            *free -= need;
            registers.owned[waiting.w] = waiting.count;
            let live = self.core.threads.warps[waiting.w].live;
            for lane in lanes(live) {
                self.core.threads.warps[waiting.w].pc[lane] += 1;
            }
            self.core.threads.warps[waiting.w].blocked &= !live;
        }
    }

    /// What a warp waits for, for a report of a deadlock.
    pub(in crate::sim) fn register_waits(&self, w: usize) -> Option<String> {
        let registers = &self.tasks.products.registers;
        let waiting = registers.waiting.iter().find(|x| x.w == w)?;
        let launched = self.core.fixed.kernel.registers?.count;
        let need = 32 * (waiting.count - registers.owned[w]);
        let own = self.core.fixed.team.warps(waiting.team);
        let threads = 32 * own.len();
        let free = registers.free.get(&waiting.team).copied().unwrap_or(0);
        let keep: Vec<String> = own
            .step_by(4)
            .map(|v| format!("{}", registers.owned[v]))
            .collect();
        Some(format!(
            "waits for {need} registers in setmaxnreg.inc: the CTA started with {launched} for each of {threads} \
             threads, its warpgroups have {} for each, and {free} are free",
            keep.join(", ")
        ))
    }

    /// True if warps wait for registers that would suffice in another order. Those of warps that exited may be free or not.
    pub(in crate::sim) fn registers_decide(&self) -> bool {
        let registers = &self.tasks.products.registers;
        let launched = u64::from(self.core.fixed.kernel.registers.map_or(0, |r| r.count));
        registers.waiting.iter().any(|x| {
            let own = self.core.fixed.team.warps(x.team);
            let pool = launched * 32 * own.len() as u64;
            let wanted = |v: usize| match registers.waiting.iter().find(|y| y.w == v) {
                Some(y) => y.count,
                None => registers.owned[v],
            };
            let live = own.filter(|&v| self.core.threads.warps[v].live != 0);
            let sum: u64 = live.map(|v| 32 * u64::from(wanted(v))).sum();
            sum <= pool
        })
    }
}
