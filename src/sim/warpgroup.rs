//! What all four warps of a warpgroup must execute alike: products, and the number of their registers.
//!
//! Source: PTX ISA 9.0, sections 9.7.15 and 9.7.19.5: an `.aligned` instruction of a warpgroup is the same in all its
//! warps. Products are told apart by their place; a number of registers may be set in several.
//!
//! Registers: the pool of a CTA is what it was launched with. `setmaxnreg.dec` gives registers to it, `.inc` waits until
//! there are enough. Where directives say what a thread starts with, that is followed; a number that is computed from them
//! bounds what the launch gives from above. A wait is a deadlock where the warps that have not exited want or own more
//! than the pool; else the order in which they get registers decides. Setting what is owned already does nothing.
//!
//! Sound: no synchronisation is read out of a wait for registers.

use rustc_hash::FxHashMap;

use crate::answer::AssumptionKind;
use crate::kernel::{Op, Pc};

use super::clock::{Actor, Tick};
use super::machine::{Machine, Stop};
use super::step::Flow;
use super::warp::lanes;
use super::{DefectKind, Tid, WarningKind};

/// An instruction that all warps of a warpgroup execute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alike {
    pub pc: Pc,
    /// The registers that it sets; products are told apart by their place.
    pub registers: Option<(u32, bool)>,
}

/// Registers of the warps, which a launch gives to each thread alike and `setmaxnreg` moves between warps.
#[derive(Clone, Debug, Default)]
pub(super) struct Registers {
    /// Those of a thread of each warp.
    owned: Vec<u32>,
    /// When and where each warp changed that.
    done: Vec<Vec<(Tick, Pc)>>,
    /// Registers of each CTA that no warp owns.
    free: FxHashMap<usize, u64>,
    waiting: Vec<Waiting>,
}

/// A warp that waits for registers.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    w: usize,
    /// The number of its CTA.
    team: usize,
    /// How many it wants for each thread.
    count: u32,
}

impl Registers {
    /// So many for each thread of so many warps.
    pub(super) fn new(count: u32, warps: usize) -> Registers {
        Registers {
            owned: vec![count; warps],
            done: vec![Vec::new(); warps],
            ..Registers::default()
        }
    }
}

impl PartialEq for Alike {
    fn eq(&self, other: &Alike) -> bool {
        self.registers == other.registers && (self.registers.is_some() || self.pc == other.pc)
    }
}

impl Machine<'_> {
    /// When all threads have exited: the warps of a warpgroup must have executed the same.
    pub(super) fn check_warpgroups(&mut self) {
        for w in 0..self.warps.len() {
            let lead = w / 4 * 4;
            let (a, b) = (
                &self.products.warps[lead].issued,
                &self.products.warps[w].issued,
            );
            if a == b {
                continue;
            }
            let i = a.iter().zip(b).take_while(|(x, y)| x == y).count();
            let (pa, pb) = (a.get(i).map(|x| x.pc), b.get(i).map(|x| x.pc));
            let mut sites = Vec::new();
            for (w, p) in [(lead, pa), (w, pb)] {
                if let Some(p) = p {
                    sites.push(self.site(p, w, u32::MAX, "executes it"));
                }
            }
            let names = [pa, pb].into_iter().flatten();
            let name = names
                .map(|pc| self.collective_name(pc))
                .next()
                .unwrap_or_default();
            self.defect(DefectKind::BarrierMisuse, sites, || {
                format!(
                    "the warps of a warpgroup execute different {name}: all four must execute \
                     the same"
                )
            });
            return;
        }
    }

    /// `setmaxnreg`.
    pub(super) fn set_registers(
        &mut self,
        w: usize,
        pc: Pc,
        (count, more): (u32, bool),
    ) -> Result<Flow, Stop> {
        self.whole_warpgroup(w, pc)?;
        let registers = Some((count, more));
        self.products.warps[w].issued.push(Alike { pc, registers });
        let Some(launched) = self.kernel.registers else {
            self.found.assumptions.insert(
                AssumptionKind::Scheduling.says(
                    "registers suffice for each `setmaxnreg`, which waits for them otherwise",
                ),
            );
            return Ok(Flow::Next);
        };
        if launched.computed {
            let n = launched.count;
            self.found
                .assumptions
                .insert(AssumptionKind::Scheduling.says(format!(
                    "the launch gives each thread {n} registers, as many as .maxntid and .minnctapersm leave"
                )));
        }
        let own = self.products.registers.owned[w];
        if count == own {
            return Ok(Flow::Next);
        }
        let exact = !launched.computed || !self.products.registers.done[w].is_empty();
        let lead = w / 4 * 4;
        let what = match more {
            true => "setmaxnreg.inc",
            false => "setmaxnreg.dec",
        };
        if more == (count < own) {
            let site = self.site(pc, w, u32::MAX, "is executed");
            let message = || {
                format!(
                    "{what} of warps {lead} to {} to {count} registers, and they own {own}",
                    lead + 3
                )
            };
            // The directives bound what the launch gives from above.
            if more && !exact {
                self.warn(WarningKind::Note, vec![site], || {
                    format!("{}, if the launch gives them as many as it can", message())
                });
                return Ok(Flow::Next);
            }
            self.defect(DefectKind::BarrierMisuse, vec![site], message);
            return Err(Stop::Finding);
        }
        self.registers_synchronised(w, pc)?;
        let at = self.order.clocks.mark();
        let team = self.team.number(w);
        let registers = &mut self.products.registers;
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
        self.warps[w].blocked |= self.warps[w].live;
        Ok(Flow::Set)
    }

    /// Between two `setmaxnreg` of a warpgroup its four warps must synchronise.
    fn registers_synchronised(&mut self, w: usize, pc: Pc) -> Result<(), Stop> {
        let lead = w / 4 * 4;
        let done = &self.products.registers.done;
        let Some(last) = done[w].len().checked_sub(1) else {
            return Ok(());
        };
        let me = Tid(self.warps[w].first);
        let apart = (lead..lead + 4).find(|&v| {
            v != w
                && done[v].get(last).is_none_or(|d| {
                    let other = Actor(self.warps[v].first);
                    !self.order.clocks.ordered(other, d.0, me)
                })
        });
        let Some(v) = apart else {
            return Ok(());
        };
        let (at, by) = done[v].get(last).map_or((done[w][last].1, w), |d| (d.1, v));
        let sites = vec![
            self.site(at, by, u32::MAX, "is executed first"),
            self.site(pc, w, u32::MAX, "is executed next"),
        ];
        self.defect(DefectKind::BarrierMisuse, sites, || {
            format!(
                "two setmaxnreg of warps {lead} to {} without a barrier of the four between them",
                lead + 3
            )
        });
        Err(Stop::Finding)
    }

    /// Lets warps go on for which there are registers now, in the order in which they asked.
    fn registers_wake(&mut self, team: usize) {
        let all = std::mem::take(&mut self.products.registers.waiting);
        for waiting in all {
            let registers = &mut self.products.registers;
            let free = registers.free.entry(team).or_default();
            let need = 32 * u64::from(waiting.count - registers.owned[waiting.w]);
            if waiting.team != team || *free < need {
                registers.waiting.push(waiting);
                continue;
            }
            *free -= need;
            registers.owned[waiting.w] = waiting.count;
            let live = self.warps[waiting.w].live;
            for lane in lanes(live) {
                self.warps[waiting.w].pc[lane] += 1;
            }
            self.warps[waiting.w].blocked &= !live;
        }
    }

    /// What a warp waits for, for a report of a deadlock.
    pub(super) fn register_waits(&self, w: usize) -> Option<String> {
        let registers = &self.products.registers;
        let waiting = registers.waiting.iter().find(|x| x.w == w)?;
        let launched = self.kernel.registers?.count;
        let need = 32 * (waiting.count - registers.owned[w]);
        let own = self.team.warps(waiting.team);
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
    pub(super) fn registers_decide(&self) -> bool {
        let registers = &self.products.registers;
        let launched = u64::from(self.kernel.registers.map_or(0, |r| r.count));
        registers.waiting.iter().any(|x| {
            let own = self.team.warps(x.team);
            let pool = launched * 32 * own.len() as u64;
            let wanted = |v: usize| match registers.waiting.iter().find(|y| y.w == v) {
                Some(y) => y.count,
                None => registers.owned[v],
            };
            let live = own.filter(|&v| self.warps[v].live != 0);
            let sum: u64 = live.map(|v| 32 * u64::from(wanted(v))).sum();
            sum <= pool
        })
    }

    /// The name of an instruction that whole warps execute.
    pub(super) fn collective_name(&self, pc: Pc) -> &'static str {
        match &self.inst(pc).op {
            Op::Async(op) => op.name(),
            _ => "a matrix instruction",
        }
    }

    pub(super) fn whole_warpgroup(&mut self, w: usize, pc: Pc) -> Result<(), Stop> {
        let own = self.team.warps(self.team.number(w));
        if w / 4 * 4 + 4 <= own.end {
            return Ok(());
        }
        let site = self.site(pc, w, u32::MAX, "execute it");
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
