//! Registers that a load of tensor memory fills later.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::kernel::{Op, Pc, RegId, Src, operands};
use crate::sim::at::site;
use crate::sim::carries::{self, Extent, OperandValue, Way};
use crate::sim::clock::{Actor, Tick};
use crate::sim::collective::source_lane;
use crate::sim::machine::{Core, Machine, Tasks};
use crate::sim::stop::Stop;
use crate::sim::val::Val;
use crate::sim::warp::{LANES, lanes};
use crate::sim::{DefectKind, Tid};

use super::{Fate, Label, Labelled, Late, Use};

impl Tasks {
    /// A load from tensor memory of this number has started.
    pub(in crate::sim) fn begin_load(&mut self, w: usize, pc: Pc, load: u32, dsts: &[RegId]) {
        let own = &mut self.products.warps[w];
        for (part, r) in dsts.iter().enumerate() {
            let lanes = u32::MAX;
            own.loading.insert(*r, Late { pc, lanes });
            for lane in 0..LANES as u8 {
                let label = Label {
                    load,
                    part: part as u16,
                    lane,
                    extent: Extent::At(0, 32),
                };
                own.labels.insert((*r, lane), SmallVec::from_elem(label, 1));
            }
        }
        let fate = Fate {
            w,
            regs: dsts.to_vec(),
            taken: vec![0; dsts.len()],
            uses: Vec::new(),
        };
        self.tensor.fates.insert(load, fate);
    }

    /// A warp has waited for its loads.
    pub(in crate::sim) fn end_loads(&mut self, w: usize) {
        self.products.warps[w].loading.clear();
        self.products.warps[w].labels.clear();
        // Of a load with a register that no access took there is nothing more to say.
        self.tensor.fates.retain(|_, f| {
            let mut seen = f.taken.clone();
            for u in &f.uses {
                seen[u.part as usize] |= 1 << u.lane;
            }
            f.w != w || seen.iter().all(|m| *m == u32::MAX)
        });
    }

    /// An access takes what a register of a lane holds.
    fn take_labels(
        &mut self,
        w: usize,
        (r, lane, bits): (RegId, usize, u8),
        (who, at): (Actor, Tick),
        over: bool,
    ) {
        let Some(labels) = self.products.warps[w].labels.get(&(r, lane as u8)) else {
            return;
        };
        for label in labels.iter().filter(|l| l.extent.meets(bits)) {
            let Some(fate) = self.tensor.fates.get_mut(&label.load) else {
                continue;
            };
            let taken = &mut fate.taken[label.part as usize];
            if *taken >> label.lane & 1 == 1 {
                continue;
            }
            if over {
                *taken |= 1 << label.lane;
            }
            fate.uses.push(Use {
                part: label.part,
                lane: label.lane,
                who,
                at,
            });
        }
    }
}

impl Core<'_> {
    /// The lane from which a shuffle takes a value, where that is known.
    fn shuffled_from(&self, w: usize, op: &Op, lane: usize) -> Option<usize> {
        let Op::Shfl { mode, b, c, .. } = op else {
            return None;
        };
        let (Val::Conc(b), Val::Conc(c)) = (self.src(w, *b, lane), self.src(w, *c, lane)) else {
            return None;
        };
        let (from, _) = source_lane(*mode, lane as u32, b as u32, c as u32);
        Some(from as usize)
    }

    /// What is known of an operand of a lane.
    fn known_operand(&self, w: usize, s: Src, lane: usize) -> OperandValue {
        match self.src(w, s, lane) {
            Val::Conc(n) => OperandValue::Bits(n),
            Val::Real(_, t) if self.values.store.is_rational(t) => OperandValue::Finite {
                zero: self.values.store.is_zero(t),
            },
            Val::Real(..)
            | Val::Open(..)
            | Val::Bits(_)
            | Val::Sum(..)
            | Val::Pred(_)
            | Val::Unset
            | Val::Absent => OperandValue::Open,
        }
    }
}

impl Machine<'_> {
    /// An instruction of a warp with loads from tensor memory under way: does it touch their registers? Lanes outside
    /// of `certain` execute it under a condition.
    pub(in crate::sim) fn check_loading(
        &mut self,
        w: usize,
        (mask, certain): (u32, u32),
        pc: Pc,
    ) -> Result<(), Stop> {
        let own = &self.tasks.products.warps[w];
        if own.loading.is_empty() && own.labels.is_empty() {
            return Ok(());
        }
        let inst = self.core.inst(pc);
        let (yes, under) = self.core.guarded(w, mask, inst.guard);
        let (sure, maybe) = (yes & certain, yes | under.mask);
        self.check_late(w, (sure, maybe), pc)?;
        if self.tasks.products.warps[w].labels.is_empty() {
            return Ok(());
        }
        let mut taken: SmallVec<[(RegId, u8); 8]> = SmallVec::new();
        carries::accessed(&inst.op, &mut |r, bits| taken.push((r, bits)));
        let at = self.sync.order.clocks.stamp(w as u32);
        let first = self.core.threads.warps[w].first;
        for lane in lanes(sure) {
            for &(r, bits) in &taken {
                let who = Actor(first + lane as u32);
                self.tasks.take_labels(w, (r, lane, bits), (who, at), true);
            }
        }
        self.move_labels(w, (sure, maybe), &inst.op);
        Ok(())
    }

    /// A write of a late register is a data race; a read waits for it.
    fn check_late(&mut self, w: usize, (sure, maybe): (u32, u32), pc: Pc) -> Result<(), Stop> {
        let inst = self.core.inst(pc);
        let loading = &mut self.tasks.products.warps[w].loading;
        if loading.is_empty() || maybe == 0 {
            return Ok(());
        }
        let mut read: SmallVec<[RegId; 8]> = SmallVec::new();
        operands::uses(inst, |r| read.push(r));
        let mut wrong = None;
        inst.op.defs(&mut |r| {
            if let Some(late) = loading.get(&r)
                && late.lanes & maybe != 0
                && !read.contains(&r)
            {
                wrong = wrong.or(Some((r, *late)));
            }
        });
        if let Some((r, late)) = wrong {
            let lane = (late.lanes & maybe).trailing_zeros();
            let name = self.core.fixed.kernel.reg_name[r.0 as usize].clone();
            let here = site(pc, w, 1 << lane, format!("overwrites {name}"));
            let sites = vec![site(late.pc, w, 1 << lane, "starts the load"), here];
            self.core.defect(DefectKind::DataRace, sites, || {
                format!(
                    "an instruction overwrites register {name}, which tcgen05.ld of the same lane still has to write: \
                     tcgen05.wait::ld is missing before it"
                )
            });
            return Err(Stop::Finding);
        }
        for r in read {
            if let Some(late) = loading.get_mut(&r) {
                late.lanes &= !sure;
                if late.lanes == 0 {
                    loading.remove(&r);
                }
            }
        }
        Ok(())
    }

    /// `tcgen05.st` takes registers: they have come when it is over.
    pub(in crate::sim) fn store_labels(&mut self, w: usize, srcs: &[Src], agents: Actor) {
        if self.tasks.products.warps[w].labels.is_empty() {
            return;
        }
        let at = self.sync.order.clocks.stamp(w as u32);
        for s in srcs {
            if let Src::Reg(r) = s {
                for lane in 0..LANES {
                    let who = Actor(agents.0 + lane as u32);
                    self.tasks.take_labels(w, (*r, lane, 32), (who, at), false);
                }
            }
        }
    }

    /// Labels go from operands to results; what is overwritten loses its own.
    fn move_labels(&mut self, w: usize, (sure, maybe): (u32, u32), op: &Op) {
        let mut new: Vec<Labelled> = Vec::new();
        let labels = &self.tasks.products.warps[w].labels;
        for lane in lanes(sure) {
            let known = |s: Src| self.core.known_operand(w, s, lane);
            let mut twice: FxHashSet<(RegId, u32, u16, u8)> = FxHashSet::default();
            let mut cancelled: SmallVec<[(RegId, u32, u16, u8); 2]> = SmallVec::new();
            let mut got: SmallVec<[(RegId, Label); 4]> = SmallVec::new();
            carries::carried(op, &known, &mut |dst, src, way| {
                let from = match way {
                    Way::Shuffle => self
                        .core
                        .shuffled_from(w, op, lane)
                        .filter(|l| sure >> l & 1 == 1),
                    _ => Some(lane),
                };
                let Some(found) = from.and_then(|l| labels.get(&(src, l as u8))) else {
                    return;
                };
                for label in found {
                    let id = (dst, label.load, label.part, label.lane);
                    if !twice.insert(id) && way.cancels() {
                        cancelled.push(id);
                    }
                    if let Some(extent) = way.through(label.extent, known) {
                        got.push((dst, Label { extent, ..*label }));
                    }
                }
            });
            for (dst, label) in got {
                if cancelled.contains(&(dst, label.load, label.part, label.lane)) {
                    continue;
                }
                let key = (dst, lane as u8);
                match new.iter_mut().rev().take(4).find(|n| n.0 == key) {
                    Some((_, all)) if !all.contains(&label) => all.push(label),
                    Some(_) => {}
                    None => new.push((key, SmallVec::from_elem(label, 1))),
                }
            }
        }
        let labels = &mut self.tasks.products.warps[w].labels;
        op.defs(&mut |r| {
            for lane in lanes(maybe) {
                labels.remove(&(r, lane as u8));
            }
        });
        labels.extend(new);
    }

    /// A register of a load that had not surely come before what these threads do now: its name, and the lanes; none if
    /// all had. The error is a load of which nothing is known.
    pub(in crate::sim) fn open_register(
        &self,
        load: u32,
        tids: &[Tid],
    ) -> Result<Option<(String, u32)>, ()> {
        let fate = self.tasks.tensor.fates.get(&load).ok_or(())?;
        let mut seen = vec![0u32; fate.regs.len()];
        let clocks = &self.sync.order.clocks;
        for u in &fate.uses {
            let bit = 1 << u.lane;
            let have = &mut seen[u.part as usize];
            if *have & bit == 0 && tids.iter().all(|t| clocks.ordered(u.who, u.at, *t)) {
                *have |= bit;
            }
        }
        let open = seen.iter().position(|m| *m != u32::MAX);
        Ok(open.map(|i| {
            let name = &self.core.fixed.kernel.reg_name[fate.regs[i].0 as usize];
            (name.to_string(), !seen[i])
        }))
    }
}
