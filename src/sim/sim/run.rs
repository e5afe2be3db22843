//! The schedule: round robin over warps, each as far as it gets.
//!
//! Lanes that stand at the same pc step together; the group with the lowest pc goes first, so
//! that diverged lanes meet again where control joins. A group that comes to a synchronising
//! instruction waits until the other lanes of its warp have come to one too. By confluence (the
//! Volta paper) any schedule does when the run is free of races and deadlocks.

use crate::sim::limits::LIMITS;
use std::array::from_fn;
use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::explore::{Next, Reason, Refinement, Stage, refined};
use crate::kernel::{Kernel, Op, Pc};
use crate::spec::{Arrays, Bindings, Launch, Limits, Mode};
use crate::term::{ArrayId, Term, TermId};

use super::at::{site, tids};
use super::cta::{Inputs, OneCta, Ran};
use super::knowledge::Knowledge;
use super::machine::{Core, Machine};
use super::memory::RegionKind;
use super::omit::found_nothing;
use super::program::Program;
use super::region::region_of;
use super::residues::Residues;
use super::schedule::ScheduleRng;
use super::step::Flow;
use super::stop::{Obstacle, Stop};
use super::unused::trial::{Trial, reached};
use super::warp::lanes;
use super::ways::Ways;
use super::ways::forks::Forks;
use super::{
    DefectKind, Finding, Footprint, Noting, Outcome, Side, Site, UnknownKind, WarningKind,
};

impl Stage for OneCta<'_> {
    type Knowledge = Knowledge;
    type Ran = Ran;

    fn run(&self, known: &Knowledge) -> Ran {
        let (inputs, noting) = (self.inputs, self.noting);
        let Some(mut m) = Machine::new(inputs, self.program.clone(), &known.tracked) else {
            let message = "a CTA has at most 1024 threads, and CTAs that run together 2048 warps";
            return Ran::limit(message.into());
        };
        m.core.memory.pin(&known.found.pins);
        m.conditions.ways = Ways::new(known.found.path.clone());
        m.core.memory.footprint = Footprint::new(noting);
        m.take_unused(&known.found.unused, &known.foreign);
        m.take_by_value(known.found.by_value.clone());
        m.core.threads.rng = known.schedule.map(ScheduleRng::new);
        if let Some(plan) = &known.order {
            m.follow_strong(plan);
        }
        if let Some(memory) = &noting.memory {
            m.core.memory.start_from(memory);
        }
        m.core.threads.trace = noting.trace.then(Vec::new);
        if known.without_values {
            m.core.omit_values();
        }
        let ended = m.run_all();
        m.core.threads.ended_early = ended.is_err();
        if let Err(Stop::Open(obstacle)) = ended {
            return Ran::open(obstacle);
        }
        if known.without_values && !m.core.told_all() {
            return Ran::open(Obstacle::Values);
        }
        let trace = m.core.threads.trace.take().unwrap_or_default();
        m.collect_races();
        let ended = m.ended();
        let asked = m.core.memory.asked();
        let team = m.core.fixed.team.clone();
        let steps = m.sync.steps();
        let decided = std::mem::take(&mut m.conditions.ways.decided);
        let mut outcome = m.finish(noting.memory.is_some());
        team.tell(&mut outcome);
        outcome.reads_foreign =
            known.foreign.is_some() && !reached(&outcome, &ended.unknowns).is_empty();
        outcome.without_values = known.without_values;
        outcome.tracked = known.tracked.clone();
        outcome.trace = trace;
        outcome.steps = steps;
        Ran {
            obstacle: None,
            outcome,
            ended,
            decided,
            asked,
        }
    }

    fn ended(&self, why: String) -> Ran {
        Ran::limit(format!("{why} of a CTA"))
    }
}

/// Runs one CTA for every schedule, again with more known as long as that says more.
pub fn run_noting(inputs: &Inputs, noting: &Noting) -> Outcome {
    let mut known = noting.known.clone();
    let program = || Arc::new(Program::new(inputs.kernel, &inputs.mode));
    let stage = OneCta {
        inputs,
        noting,
        program: known.program.take().unwrap_or_else(program),
    };
    known.without_values = stage.begins_without_values();
    let mut ran = refined(
        &stage,
        known,
        &mut [
            &mut Tracking,
            &mut WithValues,
            &mut Trial::default(),
            &mut Residues::default(),
            &mut Forks::default(),
        ],
    );
    if let Some(obstacle) = ran.obstacle {
        ran = Ran::limit(obstacle.says().into());
    }
    ran.outcome
}

/// Runs one CTA as it is by default.
pub fn run(
    kernel: &Kernel,
    launch: &Launch,
    bindings: &Bindings,
    arrays: &Arrays,
    side: Side,
    limits: &Limits,
) -> Outcome {
    let inputs = Inputs {
        kernel,
        launch,
        mode: Mode::default(),
        bindings,
        arrays,
        side,
        limits,
    };
    run_noting(&inputs, &Noting::default())
}

/// Reads of each array that turns out to be written are followed.
struct Tracking;

impl Refinement<OneCta<'_>> for Tracking {
    fn reason(&self) -> Reason {
        Reason::Tracking
    }

    fn look(&mut self, _: &OneCta, known: &mut Knowledge, ran: Ran) -> Next<Ran> {
        match ran.obstacle {
            Some(Obstacle::Untracked(array)) if known.tracked.insert(array) => Next::Again,
            _ => Next::Pass(ran),
        }
    }

    fn reset(&mut self, _: &mut Knowledge) {}
}

/// Values are computed where a run without them finds something.
struct WithValues;

impl Refinement<OneCta<'_>> for WithValues {
    fn reason(&self) -> Reason {
        Reason::Values
    }

    fn look(&mut self, _: &OneCta, known: &mut Knowledge, ran: Ran) -> Next<Ran> {
        let open = match ran.obstacle {
            None => !found_nothing(&ran.outcome),
            Some(obstacle) => obstacle == Obstacle::Values,
        };
        if !known.without_values || !open {
            return Next::Pass(ran);
        }
        known.without_values = false;
        Next::Again
    }

    fn reset(&mut self, _: &mut Knowledge) {}
}

/// True for instructions that all lanes of a warp execute together, which wait for lanes that come later.
fn is_aligned(op: &Op) -> bool {
    match op {
        Op::Bar { aligned, .. } => *aligned,
        Op::Async(op) => op.is_aligned(),
        _ => false,
    }
}

impl Core<'_> {
    fn footprint(&self) -> u64 {
        let regions: u64 = self.memory.regions.iter().map(|r| r.footprint()).sum();
        let registers =
            self.threads.warps.len() as u64 * self.fixed.kernel.reg_width.len() as u64 * 260;
        regions + registers + self.memory.footprint.footprint() + self.values.store.footprint()
    }

    /// Every lane of the warp waits or is parked: lets one parked group go on. Collectives come
    /// before barriers, since a barrier takes the whole warp.
    fn release(&mut self, w: usize) -> Option<(u32, Pc, u32)> {
        let warp = &self.threads.warps[w];
        let (mut rest, mut chosen) = (warp.parked, None);
        while rest != 0 {
            let (mask, pc, _) = warp.lowest(rest)?;
            rest &= !mask;
            let op = &self.inst(pc).op;
            // Lanes that wait for something else may still come.
            if is_aligned(op) && warp.blocked & warp.live != 0 {
                continue;
            }
            let barrier = matches!(op, Op::Bar { .. });
            if !barrier {
                chosen = Some((mask, pc));
                break;
            }
            chosen = chosen.or(Some((mask, pc)));
        }
        let (mask, pc) = chosen?;
        self.threads.warps[w].parked &= !mask;
        // The others stay parked, so the group runs on its own until it meets or parks again.
        Some((mask, pc, u32::MAX))
    }

    /// Values that depend on the schedule and reach an output.
    fn nondeterminism(&mut self, out: &Outcome) -> Vec<Finding<UnknownKind>> {
        let mut found: BTreeMap<Pc, Finding<UnknownKind>> = BTreeMap::new();
        if self.values.fresh_sites.is_empty() {
            return Vec::new();
        }
        let n = self.values.store.len();
        let mut tainted = vec![u32::MAX; n];
        for i in 0..n {
            let t = TermId(i as u32);
            let mut from = match self.values.store.get(t) {
                Term::Fresh { serial, .. } if self.values.fresh_sites.contains_key(&serial) => {
                    serial
                }
                _ => u32::MAX,
            };
            self.values
                .store
                .children(t, |c| from = from.min(tainted[c.0 as usize]));
            tainted[i] = from;
        }
        for (a, writes) in &out.writes {
            for (off, t) in writes {
                let from = tainted[t.0 as usize];
                if let Some(site) = self.values.fresh_sites.get(&from).cloned() {
                    let place = self.place(region_of(*a), *off, 4);
                    let new = || {
                        Finding::new(
                            UnknownKind::NondeterministicValue,
                            format!("a value that depends on the schedule reaches {place}"),
                        )
                        .times(0)
                        .at(vec![site.clone()])
                    };
                    found.entry(site.pc).or_insert_with(new).count += 1;
                }
            }
        }
        found.into_values().collect()
    }

    /// True once a limit is reached: the run ends with this instruction.
    pub(super) fn is_late(&mut self) -> bool {
        self.threads.late = self.threads.late || self.over_limit().is_err();
        self.threads.late
    }

    fn over_limit(&mut self) -> Result<(), Stop> {
        // A run with values finds it again, and has the time that is left.
        if self.values.omits && self.has_findings() {
            self.values.miss();
            return Err(Stop::Finding);
        }
        let over = |m: u64| self.footprint() > m;
        let what = match self.fixed.limits.reached() {
            Some(what) => what,
            None if self.fixed.limits.memory.is_some_and(over) => "the memory limit was reached",
            None => return Ok(()),
        };
        let sites = Vec::new();
        self.found.unknown(UnknownKind::Limit, sites, || {
            format!("{what} while the kernel was simulated")
        });
        Err(Stop::Finding)
    }

    fn has_findings(&self) -> bool {
        !self.is_fine() || !self.found.unknowns.is_empty()
    }
}

impl Machine<'_> {
    fn run_all(&mut self) -> Result<(), Stop> {
        let mut number = 0;
        loop {
            number += 1;
            let (progress, lives) = self.run_again(number)?;
            if !lives {
                return self.all_ended();
            }
            if !progress && !self.make_step()? {
                if !self.open_waits() {
                    self.deadlock();
                }
                return Err(Stop::Finding);
            }
        }
    }

    /// What is looked at when all threads have ended.
    fn all_ended(&mut self) -> Result<(), Stop> {
        self.check_warpgroups();
        self.check_tensor_memory();
        self.check_bulk();
        self.check_objects();
        self.report_lags();
        self.check_ends();
        self.pending_barriers();
        Ok(())
    }

    /// Runs each warp as far as it gets: whether any stepped, and whether any thread has not ended.
    pub(super) fn run_round(&mut self) -> Result<(bool, bool), Stop> {
        // The step that was waited for may have met an access that was made before.
        self.keep_trails();
        let mut progress = false;
        let first = match &mut self.core.threads.rng {
            Some(d) => d.below(self.core.threads.warps.len() as u64) as usize,
            None => 0,
        };
        for w in 0..self.core.threads.warps.len() {
            progress |= self.run_warp((first + w) % self.core.threads.warps.len())?;
            // Few instructions that meet many accesses take long.
            if self.core.fixed.limits.is_late() {
                self.core.over_limit()?;
            }
        }
        // A warp may never get far between two barriers of a loop without end.
        self.core.over_limit()?;
        self.clocks_exhausted()?;
        Ok((
            progress,
            self.core.threads.warps.iter().any(|w| w.live != 0),
        ))
    }

    /// Runs a warp until all its lanes wait or have exited; true if any stepped.
    fn run_warp(&mut self, w: usize) -> Result<bool, Stop> {
        let mut progress = false;
        let (mut turn, mut yielded) = (0, 0u32);
        let mut left = self
            .core
            .threads
            .rng
            .as_mut()
            .map_or(u64::MAX, ScheduleRng::turn);
        loop {
            let mut released = false;
            let ready = self.core.threads.warps[w].runnable() & !yielded;
            let group = match &mut self.core.threads.rng {
                Some(d) => d.group(&self.core.threads.warps[w], ready),
                None => self.core.threads.warps[w].lowest(ready),
            };
            let (mask, mut pc, next) = match group {
                Some(group) => group,
                // Those that gave way may still join the parked ones.
                None if yielded & self.core.threads.warps[w].runnable() != 0 => return Ok(true),
                None => {
                    let Some(group) = self.core.release(w) else {
                        return Ok(progress);
                    };
                    released = true;
                    group
                }
            };
            progress = true;
            loop {
                if !released {
                    pc = self.run_plain(w, mask, pc, next, &mut left)?;
                    if pc.0 >= next {
                        self.core.threads.warps[w].jump(mask, pc.0);
                        break;
                    }
                }
                let op = &self.core.inst(pc).op;
                let gathers = op.effects().gathers;
                if !released
                    && gathers
                    && self.core.threads.warps[w].expected(is_aligned(op)) != mask
                {
                    self.core.threads.warps[w].jump(mask, pc.0);
                    self.core.threads.warps[w].parked |= mask;
                    break;
                }
                released = false;
                if op.effects().gathers {
                    self.core.threads.warps[w].jump(mask, pc.0);
                }
                self.core.threads.budget -= 1;
                if self.core.threads.budget == 0 {
                    self.core.threads.budget = match self.core.fixed.limits.memory {
                        Some(_) => LIMITS.check_memory_every,
                        None => LIMITS.check_every,
                    };
                    self.core.over_limit()?;
                    self.clocks_exhausted()?;
                    turn += self.core.threads.budget;
                    if turn >= LIMITS.turn {
                        turn = 0;
                        self.end_turn(w, mask, pc)?;
                        self.core.threads.warps[w].jump(mask, pc.0);
                        yielded |= mask;
                        break;
                    }
                }
                if let Some(trace) = &mut self.core.threads.trace
                    && trace.len() < LIMITS.trace_steps
                {
                    trace.push((w as u32, mask, pc));
                }
                let flow = self.step(w, mask, pc)?;
                if self.core.values.missed {
                    return Err(Stop::Finding);
                }
                self.keep_trails();
                match flow {
                    Flow::Next => pc.0 += 1,
                    Flow::Jump(to) => pc = to,
                    Flow::Set => break,
                }
                left -= 1;
                if left == 0 {
                    self.core.threads.warps[w].jump(mask, pc.0);
                    return Ok(true);
                }
                if pc.0 >= next {
                    self.core.threads.warps[w].jump(mask, pc.0);
                    break;
                }
            }
        }
    }

    /// Keeps what led to the races that were just found.
    #[inline]
    pub(super) fn keep_trails(&mut self) {
        if self.sync.order.report.len() != self.core.threads.trails.seen {
            self.keep_conditions();
            self.core
                .threads
                .trails
                .keep(self.sync.order.report.findings());
        }
    }

    /// A group ran for a whole turn. Ends the run when turn after turn nobody does anything that
    /// another thread could see: then those that wait in loops wait for ever.
    fn end_turn(&mut self, w: usize, mask: u32, pc: Pc) -> Result<(), Stop> {
        let (effects, idle, waiting) = self.core.threads.last_turn;
        let idle = if effects == self.core.threads.effects {
            idle + 1
        } else {
            0
        };
        let waiting = self.turns_in_waits(pc, idle, waiting);
        self.core.threads.last_turn = (self.core.threads.effects, idle, waiting);
        if idle < LIMITS.idle_turns && !self.core.threads.all_wait(waiting) {
            return Ok(());
        }
        let site = site(pc, w, mask, "still runs");
        self.core.found.unknown(UnknownKind::Limit, vec![site], || {
            let steps = u64::from(idle) * u64::from(LIMITS.turn);
            format!(
                "no thread has written, arrived at a barrier or ended for {steps} instructions of \
                 a warp: this loop may wait for a value that nobody writes"
            )
        });
        Err(Stop::Finding)
    }

    /// Nobody can step, and lanes stand at an aligned instruction whose warp is not whole: those that are missing never
    /// come where what they wait for is such an instruction too, or a collective of the warp.
    fn never_whole(&mut self) -> bool {
        for w in 0..self.core.threads.warps.len() {
            let warp = &self.core.threads.warps[w];
            let Some((mask, pc, _)) = warp.lowest(warp.parked) else {
                continue;
            };
            let elsewhere = warp.live & !mask;
            let lost = |l: usize| {
                let op = &self.core.inst(Pc(warp.pc[l])).op;
                matches!(op, Op::Bar { .. }) || self.missing_lanes(w, l).is_some()
            };
            if is_aligned(&self.core.inst(pc).op) && elsewhere != 0 && lanes(elsewhere).all(lost) {
                let _ = self.core.unaligned(w, mask, elsewhere, pc);
                return true;
            }
        }
        false
    }

    /// Lanes `exec` arrive at a synchronising instruction.
    pub(super) fn synchronise(&mut self, w: usize, exec: u32, pc: Pc) -> Result<(), Stop> {
        self.core.threads.effects += 1;
        if matches!(self.core.inst(pc).op, Op::Bar { .. }) {
            self.barrier(w, exec, pc)
        } else {
            self.meet_lanes(w, exec, pc)
        }
    }

    /// Lanes end.
    pub(super) fn exit(&mut self, w: usize, mask: u32) -> Result<(), Stop> {
        self.core.threads.effects += 1;
        self.core.threads.warps[w].live &= !mask;
        if self.core.fixed.team.many() {
            self.note_end(w, mask);
        }
        self.sync.exit_clock(w, mask);
        self.exit_barriers(w)?;
        self.exit_cluster(w);
        self.wgmma_wake(w / 4);
        self.complete_meetings(w)
    }

    /// Nobody can step: says who waits where, for whom.
    fn deadlock(&mut self) {
        if self.never_whole() {
            return;
        }
        let mut sites: Vec<Site> = Vec::new();
        let mut message = String::new();
        for w in 0..self.core.threads.warps.len() {
            let mut rest = self.core.threads.warps[w].live;
            while rest != 0 {
                let lane = rest.trailing_zeros() as usize;
                let pc = self.core.threads.warps[w].pc[lane];
                let mut same = 0u32;
                for l in lanes(rest) {
                    same |= ((self.core.threads.warps[w].pc[l] == pc) as u32) << l;
                }
                rest &= !same;
                let text = match self.missing_lanes(w, lane) {
                    Some((name, missing)) => {
                        let who: Vec<String> = lanes(missing)
                            .map(|l| format!("{}", self.core.fixed.team.first(w) + l as u32))
                            .collect();
                        format!("waits in {name} for threads {}", who.join(", "))
                    }
                    None => match self
                        .tasks
                        .wgmma_waits(w)
                        .or_else(|| self.object_waits(w, lane))
                        .or_else(|| self.cluster_waits(w, lane))
                        .or_else(|| self.tasks.tensor_waits(w))
                        .or_else(|| self.register_waits(w))
                    {
                        Some(text) => text,
                        None => self
                            .held_wait(w, lane)
                            .unwrap_or_else(|| self.core.barrier_wait(Pc(pc))),
                    },
                };
                match sites.iter_mut().find(|s| s.pc == Pc(pc) && s.text == text) {
                    Some(s) => s.threads.extend(tids(w, same)),
                    None => {
                        let s = site(Pc(pc), w, same, text);
                        sites.push(s);
                    }
                }
            }
        }
        let n: usize = sites.iter().map(|s| s.threads.len()).sum();
        message.push_str(&format!("no thread can go on: {n} threads wait"));
        for s in self.barrier_absentees() {
            message.push_str("; ");
            message.push_str(&s);
        }
        for site in &mut sites {
            if let Some(&first) = site.threads.first() {
                site.around = self.core.threads.trails.of(first, site.pc);
            }
        }
        if self.registers_decide() {
            self.core.found.unknown(UnknownKind::NondeterministicValue, sites, || {
                format!("{message}; in which order warpgroups get registers by setmaxnreg decides whether they go on")
            });
        } else if self.sync.deadlock_is_unclear() {
            self.core.found.unknown(UnknownKind::Undefined, sites, || {
                format!("{message}; whether exited threads count here the manual leaves open")
            });
        } else {
            self.core.defect(DefectKind::Deadlock, sites, || message);
        }
    }

    /// Collects what the run found.
    fn finish(mut self, keeps_memory: bool) -> Outcome {
        let mut out = self.conclude();
        out.memory = keeps_memory.then(|| self.core.left());
        out.fresh = self.core.values.fresh - self.core.values.first_fresh;
        out.first_fresh = self.core.values.first_fresh;
        out.footprint = self.core.memory.footprint;
        out.narrow = self.core.values.narrow;
        out.store = self.core.values.store;
        out
    }

    /// Collects all but the terms.
    fn conclude(&mut self) -> Outcome {
        let mut out = Outcome::default();
        let mut poisoned: Vec<(TermId, ArrayId, u64)> = Vec::new();
        // Stand for what one to four bytes hold.
        let mut unknown: Option<[TermId; 4]> = None;
        for i in 0..self.core.memory.regions.len() {
            let RegionKind::Array(a) = self.core.memory.regions[i].kind else {
                continue;
            };
            if self.core.values.omits {
                let symbols = *unknown.get_or_insert_with(|| {
                    from_fn(|n| self.core.values.fresh_bits(8 * n as u8 + 8))
                });
                let pieces = self.core.memory.regions[i].pieces().into_iter();
                let writes: BTreeMap<u64, TermId> = pieces
                    .map(|(off, bytes)| (off, symbols[bytes as usize - 1]))
                    .collect();
                if !writes.is_empty() {
                    out.writes.insert(a, writes);
                }
                continue;
            }
            let pieces = self.core.memory.regions[i].written(&mut self.core.values);
            if pieces.is_empty() {
                continue;
            }
            for (off, t) in &pieces {
                if !self.core.values.store.is_total(*t) {
                    poisoned.push((*t, a, *off));
                }
            }
            out.writes.insert(a, pieces.into_iter().collect());
        }
        self.core.report_reals();
        self.report_poison(&poisoned);
        out.by_schedule = self.core.nondeterminism(&out);
        self.core.check_arrays();
        let reached: FxHashSet<Pc> = self
            .core
            .found
            .defects
            .values()
            .filter(|d| d.kind == DefectKind::UninitializedRead)
            .flat_map(|d| d.sites.iter().map(|s| s.pc))
            .collect();
        let unused: Vec<Site> = self
            .core
            .memory
            .unset_sites
            .iter()
            // What a lane outside of a shuffle gave is often read, and rarely used.
            .filter(|(pc, _)| !matches!(self.core.inst(**pc).op, Op::Shfl { .. }))
            .filter(|(pc, _)| !reached.contains(pc))
            .map(|(_, s)| s.clone())
            .collect();
        for site in unused {
            self.core
                .found
                .warn(WarningKind::UninitializedRead, vec![site], || {
                    "memory that was never written is read; the value is never used".into()
                });
        }
        out.guards = self.guards().filter(|_| self.core.memory.footprint.on());
        self.report_dependents();
        out.waits_late = self.sync.dependents.early;
        out.opaque = self.tasks.leave_maps(&out.writes);
        self.report_reads();
        let found = std::mem::take(&mut self.core.found);
        out.assumptions = found.assumptions.iter().cloned().collect();
        out.assumptions.sort();
        out.defects = found.defects.into_values().collect();
        out.warnings = found.warnings.into_values().collect();
        out.unknowns = found.unknowns.into_values().collect();
        out.obligations = std::mem::take(&mut self.conditions.pending);
        out.conditionals = std::mem::take(&mut self.conditions.conditionals);
        out.stats = self.core.threads.stats;
        out.executed = std::mem::take(&mut self.core.threads.executed);
        out.taken = std::mem::take(&mut self.core.threads.taken);
        out.gathers = std::mem::take(&mut self.core.memory.gathers).into_list();
        self.core.report_doubts(&mut out);
        out
    }
}
