//! Runs without values: whether the threads keep out of each other's way seldom depends on numbers.
//!
//! The problem: what is asked of most runs is who accesses what, and in which order. The control slice
//! ([`slice`](crate::kernel::slice)) decides that; the numbers that a kernel computes outside of it are most of its work
//! and decide nothing. Such a number is *absent* once it depends on data: registers and memory know that it is there,
//! and nothing else. An access of it is one like any other.
//!
//! A guard or branch on an absent value takes a truth value of its own, which any input may give, so that both
//! ways are walked as they are for any other condition on data.
//!
//! Sound: the slice only saves a run that would end early. Whatever reads an absent value as bits, as a number or as a
//! truth value says that it was missed, and so does any read of what was never written; then, and wherever anything at all is
//! found or left open, the run is made again with values, so that every finding is one of a full run. Conditions are
//! free where those of a run with values depend on each other: the run sees every access that a run with values sees,
//! under a condition that is at least as weak, and where it finds nothing, there is nothing.
//!
//! Left out beside the numbers: what a run with values takes for granted about tests that decide no access, and
//! that it cannot say what a number is that reaches none.
//!
//! Not claimed: what is written. One symbol stands for all that is; where CTAs write the same bytes, they are run again.

use crate::kernel::effects::Omitted;
use crate::kernel::slice::control_slice;
use crate::kernel::{FloatOp, FloatTest, Guard, Inst, IntOp, IntTy, Kernel, Op, Pc, RegId, Src};

use super::machine::Core;
use super::plain::Class;
use super::val::Val;
use super::value::Values;
use super::warp::lanes;
use super::{Outcome, WarningKind};

impl Values {
    /// A value that is absent, or never written, is asked for: the run has to be made with values.
    #[cold]
    pub fn miss(&mut self) {
        self.missed = true;
    }

    /// True if a symbolic value is a known number.
    fn is_number(&self, v: Val) -> bool {
        matches!(v, Val::Real(_, t) if self.store.is_rational(t))
    }

    /// A value that is loaded outside of the slice.
    pub fn left_out(&self, v: Val) -> Val {
        match v {
            Val::Conc(_) | Val::Unset | Val::Absent => v,
            Val::Real(..) if self.is_number(v) => v,
            Val::Real(..) | Val::Open(..) | Val::Sum(..) | Val::Bits(_) | Val::Pred(_) => {
                Val::Absent
            }
        }
    }
}

/// What an operation outside of the slice makes of its sources. Those of which a run with values may say something are
/// never left out.
fn omitted(op: &Op, narrowed: &[bool]) -> Omitted {
    let rounded = |s: &Src| matches!(s, Src::Reg(r) if narrowed[r.0 as usize]);
    match op {
        // The difference of a number and what it was rounded to is a warning.
        Op::Float {
            op: FloatOp::Add | FloatOp::Sub,
            src,
            ..
        } if rounded(&src[0]) != rounded(&src[1]) => Omitted::No,
        Op::Float { mods, .. } if mods.oob || mods.xorsign_abs => Omitted::No,
        Op::Testp {
            test: FloatTest::Normal | FloatTest::Subnormal,
            ..
        } => Omitted::No,
        Op::Int { op, ty, src, .. } if !is_expressible(*op, *ty, src) => Omitted::No,
        Op::Mma(m) if m.scale.is_some() || m.sparse.is_some() => Omitted::No,
        _ => op.effects().omitted,
    }
}

/// True if an operation on bits that depend on data has a result, whatever they are: else a run with values says that
/// it has no model.
fn is_expressible(op: IntOp, ty: IntTy, src: &[Src; 4]) -> bool {
    let known = |i: usize| matches!(src[i], Src::Imm(_));
    let wide = ty.width == 64;
    match op {
        IntOp::Add
        | IntOp::Sub
        | IntOp::MulLo
        | IntOp::MulHi
        | IntOp::MadLo
        | IntOp::MadHi
        | IntOp::AddCarry
        | IntOp::SubBorrow
        | IntOp::MadLoCarry
        | IntOp::MadHiCarry
        | IntOp::Sad
        | IntOp::Abs
        | IntOp::Neg
        | IntOp::Min
        | IntOp::Max
        | IntOp::MinRelu
        | IntOp::MaxRelu
        | IntOp::And
        | IntOp::Or
        | IntOp::Xor
        | IntOp::Not
        | IntOp::Cnot
        | IntOp::Shl
        | IntOp::Shr
        | IntOp::Lop3(_)
        | IntOp::Popc
        | IntOp::Clz
        | IntOp::Brev
        | IntOp::Bfind
        | IntOp::BfindShift
        | IntOp::BmskClamp
        | IntOp::BmskWrap => true,
        IntOp::AddSat | IntOp::SubSat | IntOp::MulWide | IntOp::MadWide | IntOp::MadHiSat => !wide,
        IntOp::Mul24Lo
        | IntOp::Mul24Hi
        | IntOp::Mad24Lo
        | IntOp::Mad24Hi
        | IntOp::Mad24HiSat
        | IntOp::ShfLClamp
        | IntOp::ShfLWrap
        | IntOp::ShfRClamp
        | IntOp::ShfRWrap
        | IntOp::Dp4a(..)
        | IntOp::Dp2aLo(..)
        | IntOp::Dp2aHi(..) => ty.width == 32,
        IntOp::Prmt | IntOp::PrmtMode(_) => known(2),
        IntOp::Bfe => !wide && known(1) && known(2),
        IntOp::Bfi => !wide && known(2) && known(3),
        IntOp::SzextClamp | IntOp::SzextWrap => known(1),
        IntOp::Div | IntOp::Rem | IntOp::Fns => false,
    }
}

/// What a run without values leaves out, by instruction.
fn outside(kernel: &Kernel, narrowed: &[bool]) -> Vec<Omitted> {
    let what = |inst: &Inst| omitted(&inst.op, narrowed);
    let slice = control_slice(kernel, |_, inst| what(inst) == Omitted::No);
    let insts = kernel.insts.iter().zip(slice);
    insts
        .map(|(inst, needed)| if needed { Omitted::No } else { what(inst) })
        .collect()
}

impl Core<'_> {
    /// True if the result of an instruction is left out where it depends on data.
    #[inline]
    pub(super) fn omits(&self, pc: Pc) -> bool {
        self.values.omits && self.fixed.program.omitted(pc) != Omitted::No
    }

    /// Executes an operation whose sources are all absent or plain bits, in all lanes; false if they are not.
    #[inline]
    pub(super) fn omit_all(&mut self, w: usize, mask: u32, pc: Pc) -> bool {
        let (uses, defs) = self.fixed.program.operands.of(pc);
        let warp = &self.threads.warps[w];
        let (mut absent, mut open) = (0, 0);
        for &r in uses {
            absent |= warp.absent(r);
            open |= warp.symbolic(r) & !warp.absent(r);
        }
        if absent & mask != mask || open & mask != 0 {
            return false;
        }
        for &r in defs {
            self.threads.warps[w].set_absent(r, mask);
        }
        true
    }

    /// Executes an operation in the lanes whose result is absent; gives those lanes.
    pub(super) fn omit(&mut self, w: usize, exec: u32, pc: Pc, op: &Op) -> u32 {
        let how = self.fixed.program.omitted(pc);
        if how == Omitted::No {
            return 0;
        }
        match op {
            Op::Mov {
                dst,
                src: Src::Reg(src),
                ..
            } => {
                let absent = self.threads.warps[w].absent(*src) & exec;
                self.threads.warps[w].set_absent(*dst, absent);
                return absent;
            }
            Op::Selp { dst, p, .. } => {
                let absent = self.threads.warps[w].absent(p.reg) & exec;
                self.look_at_sources(w, absent, pc);
                self.threads.warps[w].set_absent(*dst, absent);
                return absent;
            }
            _ => {}
        }
        let (uses, _) = self.fixed.program.operands.of(pc);
        let warp = &self.threads.warps[w];
        let (mut absent, mut symbolic) = (0, 0);
        for &r in uses {
            absent |= warp.absent(r);
            symbolic |= warp.symbolic(r) & !warp.absent(r);
        }
        let mut done = absent & exec;
        if how == Omitted::Open {
            for lane in lanes(symbolic & exec & !absent) {
                let open = uses.iter().any(|&r| match warp.get(r, lane) {
                    Val::Conc(_) => false,
                    v => !self.values.is_number(v),
                });
                done |= (open as u32) << lane;
            }
        }
        if symbolic & done != 0 {
            self.look_at_sources(w, done, pc);
        }
        let (_, defs) = self.fixed.program.operands.of(pc);
        for &r in defs {
            self.threads.warps[w].set_absent(r, done);
        }
        done
    }

    /// A source that was never written is missed.
    fn look_at_sources(&mut self, w: usize, mask: u32, pc: Pc) {
        let mut unset = false;
        crate::kernel::operands::uses(self.inst(pc), |r: RegId| {
            let warp = &self.threads.warps[w];
            let symbolic = warp.symbolic(r) & !warp.absent(r) & mask;
            unset = unset || lanes(symbolic).any(|l| warp.get(r, l) == Val::Unset);
        });
        if unset {
            self.values.miss();
        }
    }

    /// Gives a guard that is absent a truth value that any input may give.
    pub(super) fn free_guard(&mut self, w: usize, mask: u32, g: Guard) {
        for lane in lanes(self.threads.warps[w].absent(g.reg) & mask) {
            let t = self.values.fresh_bits(1);
            let p = self.values.pred(Val::Bits(t));
            self.threads.warps[w].set(g.reg, lane, Val::Pred(p));
        }
    }

    /// A vote is absent if a lane's is. Lanes then differ in what they hold: more than may happen.
    pub(super) fn omit_vote(&mut self, w: usize, members: u32) -> bool {
        let mut absent = false;
        for lane in lanes(members) {
            if let Op::Vote { a, .. } = &self.inst(Pc(self.threads.warps[w].pc[lane])).op {
                absent |= self.threads.warps[w].absent(a.reg) >> lane & 1 == 1;
                let unset = self.threads.warps[w].get(a.reg, lane) == Val::Unset;
                self.values.missed |= unset;
            }
        }
        for lane in lanes(if absent { members } else { 0 }) {
            if let Op::Vote { dst, .. } = self.inst(Pc(self.threads.warps[w].pc[lane])).op {
                self.threads.warps[w].set_absent(dst, 1 << lane);
            }
        }
        absent
    }

    /// A product of matrices is absent if an operand is.
    pub(super) fn omit_product(&mut self, w: usize, pc: Pc) -> bool {
        if !self.omits(pc) {
            return false;
        }
        let mut absent = 0;
        let inst = self.inst(pc);
        crate::kernel::operands::uses(inst, |r| absent |= self.threads.warps[w].absent(r));
        if absent == 0 {
            return false;
        }
        self.look_at_sources(w, u32::MAX, pc);
        inst.op
            .defs(&mut |r| self.threads.warps[w].set_absent(r, u32::MAX));
        true
    }

    /// Makes the run one without values, before it starts.
    pub(super) fn omit_values(&mut self) {
        self.values.omits = true;
        let program = &self.fixed.program;
        let outside = program.outside(|| outside(self.fixed.kernel, &program.narrowed));
        for (class, how) in self.threads.classes.iter_mut().zip(outside) {
            let lane_wise = matches!(
                class,
                Class::Int | Class::Fma | Class::Number | Class::Lanes
            );
            if lane_wise && *how != Omitted::No {
                *class = Class::Omitted;
            }
        }
    }

    /// True if a run without values tells all that one with values would.
    pub(super) fn told_all(&self) -> bool {
        let told = self.values.fresh_sites.is_empty() && self.memory.unset_sites.is_empty();
        !self.values.missed && told && self.values.doubts.is_empty()
    }
}

/// True if nothing was found or left open that a run with values could see otherwise.
pub(super) fn found_nothing(outcome: &Outcome) -> bool {
    let told = |k: WarningKind| matches!(k, WarningKind::WriteToInput);
    let settled = outcome.conditionals.is_empty() && outcome.obligations.is_empty();
    settled
        && outcome.defects.is_empty()
        && outcome.unknowns.is_empty()
        && outcome.warnings.iter().all(|w| told(w.kind))
}
