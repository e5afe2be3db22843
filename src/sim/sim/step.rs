//! One instruction of some lanes of a warp: the guard, the family, the next pc.
//!
//! Source: PTX ISA 9.0, section 9.7; predicated execution section 9.3.
//!
//! A guard that depends on input data selects: a register write keeps the old value where the
//! guard is false, an access happens in both worlds and says so. Only branches and barriers need
//! to know which way to go.

use crate::kernel::conditions::Seen;
use crate::kernel::effects::Results;
use crate::kernel::{Guard, Op, Pc, RegId, Scope, Sem};
use crate::sim::at::{At, site};
use crate::term::TermId;
use crate::work;

use super::address::provenance::Prov;
use super::branch::is_harmless;
use super::machine::{Core, Machine};
use super::stop::Stop;
use super::val::Val;
use super::value::Values;
use super::warp::{LANES, lanes};
use super::{DefectKind, UnknownKind, WarningKind};

/// What happened to the lanes that stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// All go on at the next instruction.
    Next,
    /// All go on at this instruction.
    Jump(Pc),
    /// Their pcs, or their states, were set.
    Set,
}

/// Conditions under which lanes execute: data-dependent guards.
#[derive(Clone, Debug)]
pub(super) struct Under {
    /// Lanes whose condition is not known to be true.
    pub mask: u32,
    /// Their conditions.
    pub cond: [TermId; LANES],
}

/// No lane is conditional.
pub(super) static UNCONDITIONAL: Under = Under::none();

impl Under {
    /// No lane is conditional.
    pub(super) const fn none() -> Self {
        Under {
            mask: 0,
            cond: [TermId(0); LANES],
        }
    }
}

impl Values {
    /// Marks where a register that was never written becomes a term.
    pub(super) fn note_unset(&mut self, _w: usize, pc: Pc) {
        self.unset_site = pc.0;
    }
}

impl Core<'_> {
    /// The truth of a predicate operand in a lane.
    pub(super) fn truth(&mut self, w: usize, g: Guard, lane: usize) -> Val {
        match self.threads.warps[w].get(g.reg, lane) {
            Val::Conc(b) => Val::Conc((b & 1 == 1) as u64 ^ g.negated as u64),
            v => {
                let t = self.values.pred(v);
                let t = if g.negated {
                    self.values.store.not(t)
                } else {
                    t
                };
                self.values.of_pred(t)
            }
        }
    }

    /// Lanes of `mask` in which the guard holds, and those in which it depends on data.
    pub(super) fn guarded(&mut self, w: usize, mask: u32, guard: Option<Guard>) -> (u32, Under) {
        let Some(g) = guard else {
            return (mask, Under::none());
        };
        self.free_guard(w, mask, g);
        let sym = self.threads.warps[w].symbolic(g.reg) & mask;
        let mut yes = self.threads.warps[w].holds(g) & mask & !sym;
        let mut under = Under::none();
        for lane in lanes(sym) {
            match self.truth(w, g, lane) {
                Val::Conc(1) => yes |= 1 << lane,
                Val::Conc(_) => {}
                Val::Pred(t) => {
                    under.mask |= 1 << lane;
                    under.cond[lane] = t;
                }
                v => {
                    let t = self.values.pred(v);
                    under.mask |= 1 << lane;
                    under.cond[lane] = t;
                }
            }
        }
        (yes, under)
    }

    /// Ends the run where something was refused that would make it that of one layout, or a limit was reached within an
    /// instruction.
    #[inline]
    pub(super) fn may_go_on(&self) -> Result<(), Stop> {
        match self.memory.prov.refused || self.threads.late {
            true => Err(Stop::Finding),
            false => Ok(()),
        }
    }

    /// What one lane does at an instruction that meets nobody, a computation or a jump: where it goes on; `None` at any
    /// other, and where data decide the guard.
    pub(super) fn step_alone(&mut self, (w, lane): (usize, usize), pc: Pc) -> Option<Pc> {
        let exec = 1 << lane;
        self.count_step(exec).ok()?;
        self.note_taken(w, exec, pc, Seen::Guard);
        let inst = self.inst(pc);
        let (yes, under) = self.guarded(w, exec, inst.guard);
        let next = Pc(pc.0 + 1);
        if under.mask != 0 || yes == 0 {
            return (under.mask == 0).then_some(next);
        }
        match &inst.op {
            Op::Bra { target, .. } => return Some(*target),
            Op::Nop => {}
            Op::Ld {
                access, dsts, addr, ..
            } if inst.op.is_pure() => {
                let (mut offs, size) = ([0; LANES], access.ty.bits() / 8 * dsts.len() as u32);
                let landing = self.uniform((w, exec), access.space, *addr, size, &mut offs)?;
                let from = (landing.region, &offs);
                self.load_lanes(At { w, exec, pc }, from, (access, dsts));
            }
            // A clock is asked as well.
            op if op.is_pure() || matches!(op, Op::Special { .. }) => {
                self.compute_shared(w, exec, pc, op).ok()?;
            }
            _ => return None,
        }
        Some(next)
    }

    /// Counts an instruction in some lanes, which may be one too many.
    fn count_step(&mut self, exec: u32) -> Result<(), Stop> {
        self.threads.stats.warp_instructions += 1;
        self.threads.stats.thread_instructions += exec.count_ones() as u64;
        work::spend(exec.count_ones() as u64);
        self.may_go_on()
    }

    /// A guard or branch on a value that was never written is a defect.
    pub(super) fn check_set(&mut self, w: usize, pc: Pc, under: &Under) -> Result<(), Stop> {
        for lane in lanes(under.mask) {
            if self.values.is_poison(under.cond[lane]) {
                self.poison_used(w, 1 << lane, pc, under.cond[lane], "a condition");
                return Err(Stop::Finding);
            }
        }
        Ok(())
    }

    /// A call of `vprintf`: it does nothing, and leaves any number as its result.
    fn ignore_print(&mut self, At { w, exec, pc }: At, result: Option<u32>) {
        if let Some(off) = result {
            let site = site(pc, w, exec, "uses the result of vprintf");
            let t = self.values.volatile_bits(32, site);
            self.local_result(w, exec, off, t);
        }
        let site = site(pc, w, exec, "prints");
        self.found.warn(WarningKind::Note, vec![site], || {
            "a call of vprintf was ignored".into()
        });
    }

    /// The kernel stops by its own will.
    fn fail(&mut self, At { w, exec, pc }: At, what: &str) {
        let site = site(pc, w, exec, what);
        self.defect(DefectKind::Assertion, vec![site], || {
            format!("the kernel {what}")
        });
    }

    /// The run ends at an instruction that it cannot execute.
    fn ends_at(
        &mut self,
        At { w, exec, pc }: At,
        kind: UnknownKind,
        here: &str,
        why: String,
    ) -> Stop {
        self.found
            .unknown(kind, vec![site(pc, w, exec, here)], || why);
        Stop::Finding
    }

    fn active_mask(&mut self, At { w, exec, pc }: At, dst: RegId) {
        for lane in lanes(exec) {
            let v = match self.fixed.mode.lanes {
                Some(converged) => Val::Conc(u64::from(converged.with(lane, exec))),
                None => {
                    let site = site(pc, w, 1 << lane, "reads the active mask");
                    Val::Bits(self.values.volatile_bits(32, site))
                }
            };
            self.set(w, dst, lane, v);
        }
    }

    fn indexed_branch(
        &mut self,
        (w, mask): (usize, u32),
        exec: u32,
        pc: Pc,
        table: u32,
        index: crate::kernel::Src,
    ) -> Result<(), Stop> {
        self.threads.warps[w].jump(mask & !exec, pc.0 + 1);
        for lane in lanes(exec) {
            let v = self.src(w, index, lane);
            let v = self.values.of_bits_plain(v, 32);
            let targets = &self.fixed.kernel.tables[table as usize];
            match v {
                Val::Conc(i) if (i as usize) < targets.len() => {
                    let t = targets[i as usize].0;
                    self.threads.warps[w].jump(1 << lane, t);
                }
                Val::Conc(i) => {
                    let n = targets.len();
                    let site = site(pc, w, 1 << lane, format!("jumps to entry {i} of {n}"));
                    self.found.unknown(UnknownKind::Undefined, vec![site], || {
                        "the index of brx.idx is outside its table: the behaviour is undefined"
                            .into()
                    });
                    return Err(Stop::Finding);
                }
                v => {
                    self.data_dependent_branch(w, 1 << lane, pc, v);
                    return Err(Stop::Finding);
                }
            }
        }
        Ok(())
    }
}

impl Machine<'_> {
    /// Executes the instruction at `pc` in the lanes `mask` of warp `w`.
    pub(super) fn step(&mut self, w: usize, mask: u32, pc: Pc) -> Result<Flow, Stop> {
        self.prelude(w, (mask, mask), pc)?;
        let inst = self.core.inst(pc);
        if self.sync.order.in_lock_step() && !computes(&inst.op) {
            self.sync.order.step(w, mask);
        }
        if inst.guard.is_none() {
            return match inst.op {
                Op::Bra { target, .. } => Ok(Flow::Jump(target)),
                _ => self.execute(w, mask, mask, pc, &UNCONDITIONAL),
            };
        }
        let (yes, under) = self.core.guarded(w, mask, inst.guard);
        if let Op::Bra { target, .. } = inst.op {
            if under.mask == 0 {
                if yes == mask {
                    return Ok(Flow::Jump(target));
                }
                if yes == 0 {
                    return Ok(Flow::Next);
                } else {
                    self.core.threads.warps[w].jump(mask & !yes, pc.0 + 1);
                    self.core.threads.warps[w].jump(yes, target.0);
                }
                return Ok(Flow::Set);
            }
            return self.branch_on_data(w, mask, yes, under, pc);
        }
        if under.mask == 0 {
            if yes == 0 {
                return Ok(Flow::Next);
            }
            return self.execute(w, mask, yes, pc, &under);
        }
        if let Some(yes) = self.decide_ways(yes, &under, pc)? {
            return match yes {
                0 => Ok(Flow::Next),
                _ => self.execute(w, mask, yes, pc, &UNCONDITIONAL),
            };
        }
        if !is_harmless(pc, &inst.op) {
            self.core.check_set(w, pc, &under)?;
        }
        self.execute_guarded((w, mask), yes | under.mask, pc, &under, &under)?;
        Ok(Flow::Next)
    }

    /// What is looked at before any instruction. Lanes outside of `certain` execute it under a condition.
    pub(super) fn prelude(
        &mut self,
        w: usize,
        (mask, certain): (u32, u32),
        pc: Pc,
    ) -> Result<(), Stop> {
        self.core.count_step(mask)?;
        self.core.note_taken(w, mask, pc, Seen::Guard);
        if self.tasks.products.busy(w) {
            self.check_busy(w, (mask, certain), pc)?;
        }
        if self.tasks.fragments.any(w) {
            self.follow_fragments(w, mask, pc)?;
        }
        Ok(())
    }

    /// Executes an instruction in lanes `exec`, of which those of `guards` do so under a condition:
    /// their registers become selects of new and old value. `under` says where memory is accessed
    /// under a condition.
    pub(super) fn execute_guarded(
        &mut self,
        (w, mask): (usize, u32),
        exec: u32,
        pc: Pc,
        guards: &Under,
        under: &Under,
    ) -> Result<(), Stop> {
        let inst = self.core.inst(pc);
        if !is_selectable(&inst.op) {
            self.ask_for_ways(guards, pc)?;
            let site = site(pc, w, guards.mask, "runs only if input data says so");
            self.core
                .found
                .unknown(UnknownKind::DataDependentBranch, vec![site], || {
                    "an instruction with side effects is guarded by a predicate that depends on \
                 input data"
                        .into()
                });
            return Err(Stop::Finding);
        }
        let (mut old, mut carried) = (Vec::new(), Vec::new());
        inst.op.defs(&mut |r| {
            for lane in lanes(guards.mask) {
                old.push((r, lane, self.core.threads.warps[w].get(r, lane)));
                carried.push((r, lane, self.core.threads.warps[w].prov(r, lane)));
            }
        });
        // An operand counts only where the guard is true.
        let (mut whole, mut changed) = (Vec::new(), Vec::new());
        inst.op.uses(&mut |r| {
            for lane in lanes(guards.mask) {
                let v = self.core.threads.warps[w].get(r, lane);
                let p = self.core.threads.warps[w].prov(r, lane);
                let new = self.core.values.where_true(&[guards.cond[lane]], v);
                let taken = self.core.prov_where(p, guards.cond[lane]);
                if new != v || taken != p {
                    whole.push((r, lane, v, p));
                    self.core.set(w, r, lane, new);
                    changed.push((r, lane, taken));
                }
            }
        });
        for (r, lane, p) in changed {
            self.core.set_prov(w, r, 1 << lane, p);
        }
        self.execute(w, mask, exec, pc, under)?;
        let mut written = Vec::new();
        inst.op.defs(&mut |r| written.push(r));
        for (r, lane, v, p) in whole {
            if !written.contains(&r) {
                self.core.set(w, r, lane, v);
                self.core.set_prov(w, r, 1 << lane, p);
            }
        }
        let after: Vec<Prov> = carried
            .iter()
            .map(|c| self.core.threads.warps[w].prov(c.0, c.1))
            .collect();
        self.core.values.note_unset(w, pc);
        for (r, lane, before) in old {
            let after = self.core.threads.warps[w].get(r, lane);
            // Nobody sees what a register holds that nobody reads.
            let v = if before == Val::Unset && self.core.fixed.program.readers(r).is_empty() {
                after
            } else {
                let width = self.core.width(r);
                self.core
                    .values
                    .select(guards.cond[lane], after, before, width)
            };
            self.core.set(w, r, lane, v);
        }
        for ((r, lane, before), after) in carried.into_iter().zip(after) {
            let p = self
                .core
                .memory
                .prov
                .choice(guards.cond[lane], after, before);
            self.core.set_prov(w, r, 1 << lane, p);
        }
        Ok(())
    }

    /// Executes an instruction other than a branch in the lanes `exec` of the group `mask`.
    pub(super) fn execute(
        &mut self,
        w: usize,
        mask: u32,
        exec: u32,
        pc: Pc,
        under: &Under,
    ) -> Result<Flow, Stop> {
        if self.hold(w, mask, exec, pc, under) {
            return Ok(Flow::Set);
        }
        self.core
            .threads
            .trails
            .note(w, self.core.threads.stats.warp_instructions, pc, exec);
        self.core.threads.executed[pc.0 as usize] += u64::from(exec.count_ones());
        if self.tasks.objects.any() {
            self.note_act(w, exec, pc)?;
        }
        let inst = self.core.inst(pc);
        if self.core.memory.watched[pc.0 as usize] && !is_traced(&inst.op) {
            self.core.check_operands(w, exec, pc, &inst.op);
        }
        match &inst.op {
            Op::Ld {
                access,
                dsts,
                addr,
                used,
            } => self.load(At { w, exec, pc }, (access, dsts, *addr), *used, under)?,
            Op::St { access, srcs, addr } => {
                self.store(At { w, exec, pc }, access, srcs, *addr, under)?
            }
            Op::Atom { .. } => self.atomic(w, exec, pc, under)?,
            Op::Fence { sem, scope, only } => {
                self.pattern_fence(w, exec, (*sem, *scope, *only));
                // A fence that is restricted to shared memory orders no word that threads of other CTAs share.
                if only.is_none() {
                    self.fence_words(w, exec, *sem, *scope);
                }
            }
            Op::GridWait => self.sync.grid_wait(w, exec),
            Op::GridLaunch => self.sync.grid_launch(w, exec),
            Op::Nop => {}
            Op::Printf { result } => self.core.ignore_print(At { w, exec, pc }, *result),
            Op::Exit => return self.leave((w, mask), exec, pc),
            Op::Trap | Op::Brkpt | Op::AssertFail => {
                let what = match inst.op {
                    Op::Trap => "executes trap",
                    Op::Brkpt => "executes brkpt",
                    _ => "fails an assertion",
                };
                self.core.fail(At { w, exec, pc }, what);
                return self.leave((w, mask), exec, pc);
            }
            Op::Brx { table, index, .. } => {
                self.core
                    .indexed_branch((w, mask), exec, pc, *table, *index)?;
                return Ok(Flow::Set);
            }
            Op::Bar { .. }
            | Op::WarpSync { .. }
            | Op::Shfl { .. }
            | Op::Vote { .. }
            | Op::Match { .. }
            | Op::Redux { .. }
            | Op::Elect { .. } => {
                self.core.threads.warps[w].jump(mask & !exec, pc.0 + 1);
                self.synchronise(w, exec, pc)?;
                return Ok(Flow::Set);
            }
            Op::Mma(_) | Op::Ldmatrix { .. } | Op::Stmatrix { .. } | Op::Movmatrix { .. } => {
                self.matrix(w, exec, pc)?
            }
            Op::Async(op) => return self.asynchronous(w, mask, exec, pc, op),
            Op::CpAsync { .. } => self.copy_async(w, exec, pc, under)?,
            Op::CpAsyncCommit => self.tasks.commit_copies(w, exec),
            Op::CpAsyncWait { pending } => self.wait_copies(w, exec, *pending),
            Op::ActiveMask { dst } => self.core.active_mask(At { w, exec, pc }, *dst),
            Op::CallDepth => {
                let (kind, depth) = (UnknownKind::CallDepth, crate::kernel::MAX_CALL_DEPTH);
                let why = format!("calls nest deeper than {depth}");
                let at = At { w, exec, pc };
                return Err(self.core.ends_at(at, kind, "calls too deep", why));
            }
            Op::Unsupported(text) => {
                let text = &self.core.fixed.kernel.texts[*text as usize];
                let (kind, why) = (
                    UnknownKind::UnsupportedInstruction,
                    format!("{text} is not supported"),
                );
                let at = At { w, exec, pc };
                return Err(self.core.ends_at(at, kind, "is executed", why));
            }
            op => self.core.compute_shared(w, exec, pc, op)?,
        }
        Ok(Flow::Next)
    }

    /// A fence orders together with strong accesses only, and those that nothing else orders are findings.
    fn fence_words(&mut self, w: usize, exec: u32, sem: Sem, scope: Scope) {
        for lane in lanes(exec) {
            let tid = super::Tid((w * LANES + lane) as u32);
            match self.sync.strong.on {
                true => self.strong_fence(tid, sem, scope),
                false => self.sync.fences.fence(&mut self.sync.order.clocks, tid),
            }
        }
    }

    /// Lanes exit, and the others of their group go on.
    fn leave(&mut self, (w, mask): (usize, u32), exec: u32, pc: Pc) -> Result<Flow, Stop> {
        self.exit(w, exec)?;
        self.core.threads.warps[w].jump(mask & !exec, pc.0 + 1);
        Ok(Flow::Set)
    }
}

/// True if what the operands of an operation carry is followed by its destinations.
fn is_traced(op: &Op) -> bool {
    op.effects().results != Results::Other
}

/// True if an instruction neither accesses memory nor says which comes next.
#[inline]
fn computes(op: &Op) -> bool {
    let effects = op.effects();
    effects.is_selectable && !effects.accesses
}

/// True if an instruction may run under a data-dependent condition.
pub(super) fn is_selectable(op: &Op) -> bool {
    op.effects().is_selectable
}
