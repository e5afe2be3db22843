//! Products of warpgroups, as instructions begin, commit and wait for them.

use rustc_hash::FxHashMap;

use crate::answer::AssumptionKind;
use crate::kernel::{AsyncOp, GroupA, IntTy, MatTy, NumTy, Op, Pc, RegId, Src, Wgmma, operands};
use crate::sim::address::provenance::{Astray, BaseId};
use crate::sim::at::{LaneAt, site};
use crate::sim::clock::{Actor, EventId};
use crate::sim::descriptor::Descriptor;
use crate::sim::machine::{Core, Machine, Tasks};
use crate::sim::place::Target;
use crate::sim::proxy::Reader;
use crate::sim::race::AccessKind;
use crate::sim::region::SHARED;
use crate::sim::step::Flow;
use crate::sim::stop::Stop;
use crate::sim::val::Val;
use crate::sim::warp::LANES;
use crate::sim::warpgroup::Alike;
use crate::sim::{DefectKind, UnknownKind};
use crate::term::TermId;
use crate::term::word::{Family, Product};

impl Tasks {
    /// What a warp waits for, for a deadlock report.
    pub(in crate::sim) fn wgmma_waits(&self, w: usize) -> Option<String> {
        self.products.warps[w].wait.map(|_| {
            "waits in wgmma.wait_group for the other warps of its warpgroup to commit".to_string()
        })
    }
}

impl Core<'_> {
    /// True if, in the straight line of code from a fence to a product, only moves write the
    /// register. Compilers rely on these being renamings.
    fn moved_since_fence(&self, pc: Pc, r: RegId) -> bool {
        let insts = &self.fixed.kernel.insts;
        let mut from = pc.0 as usize;
        loop {
            let Some(before) = from.checked_sub(1) else {
                return false;
            };
            from = before;
            let inst = &insts[from];
            if !matches!(
                operands::next(self.fixed.kernel, Pc(from as u32)),
                operands::Next::Fall
            ) {
                return false;
            }
            match &inst.op {
                Op::Async(op) if matches!(**op, AsyncOp::WgmmaFence) => break,
                Op::Mov { .. } => {}
                op if op.writes(r) => return false,
                _ => {}
            }
        }
        let inside = |t: Pc| (from as u32) < t.0 && t.0 <= pc.0;
        !(0..insts.len()).any(
            |at| match operands::next(self.fixed.kernel, Pc(at as u32)) {
                operands::Next::Jump { target, .. } => inside(target),
                operands::Next::Table { targets, .. } => targets.iter().any(|t| inside(*t)),
                _ => false,
            },
        )
    }

    fn descriptor(&mut self, w: usize, pc: Pc, s: Src) -> Result<(Descriptor, BaseId), Stop> {
        let v = self.src(w, s, 0);
        let Val::Conc(bits) = self.values.of_bits_plain(v, 64) else {
            self.data_dependent_address(w, u32::MAX, pc, v);
            return Err(Stop::Finding);
        };
        for lane in 1..LANES {
            let other = self.src(w, s, lane);
            let same = self.src_prov(w, s, lane) == self.src_prov(w, s, 0);
            if !same || self.values.of_bits_plain(other, 64) != Val::Conc(bits) {
                let site = site(pc, w, u32::MAX, "give different descriptors");
                self.found.unknown(UnknownKind::Undefined, vec![site], || {
                    "the descriptors of a matrix operand differ within a warp".into()
                });
                return Err(Stop::Finding);
            }
        }
        let Some(d) = Descriptor::of_warpgroup(bits) else {
            self.unsupported(w, u32::MAX, pc, "a matrix descriptor with a base offset");
            return Err(Stop::Finding);
        };
        let base = self.descriptor_base((w, 0, pc), s, d.pattern())?;
        Ok((d, base))
    }

    /// The object that a matrix descriptor leads to, whose layout repeats after so many bytes.
    pub(in crate::sim) fn descriptor_base(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        s: Src,
        pattern: u64,
    ) -> Result<BaseId, Stop> {
        let p = self.src_prov(w, s, lane);
        match self.memory.prov.field(p) {
            Ok(base) => {
                self.check_pattern((w, lane, pc), base, pattern)?;
                Ok(base)
            }
            Err(Astray::Nowhere) => {
                let site = site(pc, w, 1 << lane, "takes the descriptor");
                self.defect(DefectKind::OutOfBounds, vec![site], || {
                    "the address in a matrix descriptor is not that of a variable of shared memory"
                        .into()
                });
                Err(Stop::Finding)
            }
            Err(Astray::Mixed) => {
                self.refuse_base(w, 1 << lane, pc);
                Err(Stop::Finding)
            }
        }
    }

    /// A layout that repeats after so many bytes of shared memory needs an object that is aligned
    /// so.
    pub(in crate::sim) fn check_pattern(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        base: BaseId,
        pattern: u64,
    ) -> Result<(), Stop> {
        let declared = 1u64 << self.memory.prov.declared(base);
        if declared >= pattern {
            return Ok(());
        }
        if self.memory.prov.dynamic == Some(base) && self.fixed.kernel.shared.is_empty() {
            self.found.assumptions.insert(
                AssumptionKind::Alignment
                    .says("dynamic shared memory begins at a multiple of 1024 bytes"),
            );
            self.memory.prov.assume_aligned(base, 10);
            return Ok(());
        }
        // Only a base that lies at a multiple is looked at where a run knows its residue.
        let b = self.memory.prov.base(base);
        if 1u64 << b.align >= pattern && b.number.is_multiple_of(pattern) {
            return Ok(());
        }
        let site = site(pc, w, 1 << lane, "accesses it");
        self.found.unknown(UnknownKind::NondeterministicValue, vec![site], || {
            format!(
                "the layout depends on bits of a shared address that the alignment of the variable \
                 leaves open: it would have to be {pattern}"
            )
        });
        Err(Stop::Finding)
    }

    /// d = a * b + d for the sixteen rows of a warp.
    fn product(
        &mut self,
        (w, pc): (usize, Pc),
        m: &Wgmma,
        keep: bool,
        a: &[TermId],
        b: &[TermId],
    ) -> Result<(), Stop> {
        let depth = m.k as usize;
        if let NumTy::Float(f) = m.d_ty {
            let product = Product {
                family: Family::Wgmma(m.negate),
                depth: m.k,
                factors: [m.a_ty, m.b_ty],
            };
            self.values.begin_product(pc, product, f);
        }
        let a: Vec<TermId> = match (m.negate && self.values.product.is_none(), m.d_ty) {
            (true, NumTy::Float(_)) => a.iter().map(|t| self.values.store.neg(*t)).collect(),
            _ => a.to_vec(),
        };
        let count = m.n as usize / 2;
        let mut products: Vec<(TermId, TermId)> = Vec::with_capacity(depth);
        for lane in 0..LANES {
            let (g, t) = (lane / 4, lane % 4);
            let mut half = None;
            for i in 0..count {
                let (row, col) = (g + 8 * (i >> 1 & 1), 8 * (i >> 2) + 2 * t + (i & 1));
                products.clear();
                products.extend((0..depth).map(|k| (a[row * depth + k], b[col * depth + k])));
                match m.d_ty {
                    NumTy::Float(f) if f.bits() == 16 => {
                        let c = match keep {
                            false => Val::Conc(0),
                            true => {
                                let v = self.src(w, Src::Reg(m.d[i / 2]), lane);
                                let whole = self.values.bits(v, 32);
                                let at = 16 * (i % 2) as u8;
                                let part = self.values.store.extract(whole, at, 16);
                                self.values.of_bits(part)
                            }
                        };
                        let c = self.values.as_factor(c, f);
                        let c = self.values.of_factor(f, c);
                        let v = self.values.accumulate(f, c, &products);
                        let bits = self.values.bits(v, 16);
                        match half.take() {
                            None => half = Some(bits),
                            Some(low) => {
                                let t = self.values.store.concat(&[low, bits]);
                                let v = self.values.of_bits(t);
                                self.set(w, m.d[i / 2], lane, v);
                            }
                        }
                    }
                    NumTy::Float(f) => {
                        let c = match keep {
                            false => Val::Conc(0),
                            true => self.src(w, Src::Reg(m.d[i]), lane),
                        };
                        let v = self.values.accumulate(f, c, &products);
                        self.set(w, m.d[i], lane, v);
                    }
                    NumTy::Int(_) => {
                        let c = match keep {
                            false => Val::Conc(0),
                            true => self.src(w, Src::Reg(m.d[i]), lane),
                        };
                        let v = self
                            .values
                            .integer_sum(c, &products, (m.a_ty, m.b_ty), m.clamp);
                        self.set(w, m.d[i], lane, v);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Machine<'_> {
    /// An instruction of a warp with products under way: does it touch their registers? Lanes outside of `certain` execute it
    /// under a condition.
    pub(in crate::sim) fn check_busy(
        &mut self,
        w: usize,
        (mask, certain): (u32, u32),
        pc: Pc,
    ) -> Result<(), Stop> {
        let inst = self.core.inst(pc);
        self.check_loading(w, (mask, certain), pc)?;
        if let Op::Async(op) = &inst.op
            && matches!(**op, AsyncOp::Wgmma(_))
        {
            return Ok(());
        }
        let busy = &self.tasks.products.warps[w].busy;
        let mut hit = None;
        operands::uses(inst, |r| {
            if let Some(&(_, true, at)) = busy.get(&r) {
                hit = Some((at, "reads"));
            }
        });
        inst.op.defs(&mut |r| {
            if let Some(&(_, _, at)) = busy.get(&r) {
                hit = Some((at, "writes"));
            }
        });
        let Some((at, verb)) = hit else {
            return Ok(());
        };
        let sites = vec![
            site(at, w, mask, "starts the product"),
            site(pc, w, mask, format!("{verb} a register of it")),
        ];
        self.core.defect(DefectKind::DataRace, sites, || {
            format!(
                "an instruction {verb} a register of wgmma.mma_async while that is under way: \
                 wgmma.wait_group is missing before it"
            )
        });
        Err(Stop::Finding)
    }

    /// `wgmma.fence`.
    pub(in crate::sim) fn wgmma_fence(&mut self, w: usize) {
        let mut at = FxHashMap::default();
        for &r in &self.tasks.products.regs {
            if self.tasks.products.warps[w].busy.contains_key(&r) {
                continue;
            }
            let mut v = [Val::Unset; LANES];
            for (lane, v) in v.iter_mut().enumerate() {
                *v = self.core.threads.warps[w].get(r, lane);
            }
            at.insert(r, v);
        }
        self.tasks.products.warps[w].fenced = Some(at);
    }

    /// `wgmma.commit_group`.
    pub(in crate::sim) fn wgmma_commit(&mut self, w: usize) {
        self.group_event(w, self.tasks.products.warps[w].committed);
        self.tasks.products.warps[w].committed += 1;
        self.wgmma_wake(w / 4);
    }

    fn group_event(&mut self, w: usize, group: u32) -> EventId {
        let events = &mut self.tasks.products.groups[w / 4];
        while events.len() <= group as usize {
            events.push(self.sync.order.clocks.new_event());
        }
        events[group as usize]
    }

    /// `wgmma.wait_group`: the warp blocks until its warpgroup has committed the groups.
    pub(in crate::sim) fn wgmma_wait(&mut self, w: usize, pending: u32) -> Flow {
        let own = &mut self.tasks.products.warps[w];
        own.wait = Some(own.committed.saturating_sub(pending));
        self.core.threads.warps[w].blocked |= self.core.threads.warps[w].live;
        self.wgmma_wake(w / 4);
        Flow::Set
    }

    /// Lets warps go on whose groups are over.
    pub(in crate::sim) fn wgmma_wake(&mut self, group: usize) {
        let members = 4 * group..(4 * group + 4).min(self.core.threads.warps.len());
        let least = members
            .clone()
            .filter(|&w| self.core.threads.warps[w].live != 0)
            .map(|w| self.tasks.products.warps[w].committed)
            .min()
            .unwrap_or(0);
        for w in members {
            let own = &mut self.tasks.products.warps[w];
            let Some(upto) = own.wait.filter(|n| *n <= least) else {
                continue;
            };
            own.wait = None;
            let from = own.waited.min(upto);
            own.waited = own.waited.max(upto);
            own.busy.retain(|_, (g, ..)| *g >= upto);
            let live = self.core.threads.warps[w].live;
            for i in from..upto {
                let event = self.tasks.products.groups[group][i as usize];
                self.sync.order.clocks.observe(event, w as u32, live);
            }
            for lane in crate::sim::warp::lanes(live) {
                self.core.threads.warps[w].pc[lane] += 1;
            }
            self.core.threads.warps[w].blocked &= !live;
        }
    }

    /// `wgmma.mma_async`.
    pub(in crate::sim) fn wgmma(&mut self, w: usize, pc: Pc, m: &Wgmma) -> Result<(), Stop> {
        self.core.whole_warpgroup(w, pc)?;
        self.core.values.note_unset(w, pc);
        let Val::Conc(scale) = self.core.truth(w, m.scale, 0) else {
            self.core
                .unsupported(w, u32::MAX, pc, "a data-dependent scale of wgmma.mma_async");
            return Err(Stop::Finding);
        };
        self.claim_registers(w, pc, m)?;
        let agents = self.sync.order.clocks.fork(w as u32);
        let group = self.tasks.products.warps[w].committed;
        let event = self.group_event(w, group);
        self.sync.order.clocks.join_event(agents, u32::MAX, event);
        self.tasks.products.warps[w].issued.push(Alike {
            pc,
            registers: None,
        });

        let rows = 16 * (w as u64 % 4);
        let depth = m.k as usize;
        let a = match &m.a {
            GroupA::Shared(desc, along) => {
                let (d, base) = self.core.descriptor(w, pc, *desc)?;
                let slot = self.core.fixed.team.own_slot(w);
                let place = |i: u64, k: u64, e: u64| d.element(e, *along, rows + i, k);
                self.shared_operand(
                    (w, pc, base, slot),
                    agents,
                    None,
                    m.a_ty,
                    (16, depth),
                    place,
                )?
            }
            GroupA::Regs(regs) => {
                let e = (32 / m.a_ty.bits()) as usize;
                let place = |l: usize, r: usize, x: usize| {
                    let (g, t) = (l / 4, l % 4);
                    (g + 8 * (r & 1), e * t + x + 4 * e * (r >> 1))
                };
                self.core.fragment(w, m.a_ty, regs, (16, depth), place)
            }
        };
        let (d, base) = self.core.descriptor(w, pc, m.b)?;
        let place = |i: u64, k: u64, e: u64| d.element(e, m.b_major, i, k);
        let size = (m.n as usize, depth);
        let slot = self.core.fixed.team.own_slot(w);
        let b = self.shared_operand((w, pc, base, slot), agents, None, m.b_ty, size, place)?;
        self.core.product((w, pc), m, scale == 1, &a, &b)
    }

    /// Marks the registers of a product as its own.
    fn claim_registers(&mut self, w: usize, pc: Pc, m: &Wgmma) -> Result<(), Stop> {
        let group = self.tasks.products.warps[w].committed;
        let mut regs: Vec<(RegId, bool)> = m.d.iter().map(|r| (*r, true)).collect();
        if let GroupA::Regs(list) = &m.a {
            regs.extend(list.iter().filter_map(|s| match s {
                Src::Reg(r) => Some((*r, false)),
                _ => None,
            }));
        }
        for &(r, written) in &regs {
            let own = &self.tasks.products.warps[w];
            if let Some(&(_, before, at)) = own.busy.get(&r) {
                // A chain of products with one accumulator, or of readers of one operand.
                let chained = match &self.core.inst(at).op {
                    Op::Async(op) => matches!(&**op, AsyncOp::Wgmma(o) if o.d == m.d),
                    _ => false,
                };
                if before != written || (written && !chained) {
                    let sites = vec![
                        site(at, w, u32::MAX, "starts a product"),
                        site(pc, w, u32::MAX, "starts another on the same registers"),
                    ];
                    self.core.defect(DefectKind::DataRace, sites, || {
                        "two products under way share registers other than one accumulator: \
                         wgmma.wait_group is missing between them"
                            .into()
                    });
                    return Err(Stop::Finding);
                }
                continue;
            }
            let same = own.fenced.as_ref().is_some_and(|f| {
                f.get(&r).is_some_and(|old| {
                    (0..LANES).all(|lane| self.core.threads.warps[w].get(r, lane) == old[lane])
                })
            });
            if !same && self.core.moved_since_fence(pc, r) {
                self.core
                    .found
                    .assumptions
                    .insert(AssumptionKind::Visibility.says(
                        "a register that only mov set between wgmma.fence and wgmma.mma_async is \
                     ready for it (the manual wants the fence after it)",
                    ));
            } else if !same {
                let site = site(pc, w, u32::MAX, "starts a product");
                self.core.defect(DefectKind::DataRace, vec![site], || {
                    "a register of wgmma.mma_async was written after the last wgmma.fence, or \
                     there is none: wgmma.fence is missing before it"
                        .into()
                });
                return Err(Stop::Finding);
            }
        }
        let busy = &mut self.tasks.products.warps[w].busy;
        for (r, written) in regs {
            busy.insert(r, (group, written, pc));
        }
        Ok(())
    }

    /// The elements of an operand in shared memory, outer index times depth, read by the agents of
    /// a warp, or by that of one lane.
    pub(in crate::sim) fn shared_operand(
        &mut self,
        (w, pc, base, slot): (usize, Pc, BaseId, i64),
        agents: Actor,
        by: Option<usize>,
        ty: MatTy,
        (outer, depth): (usize, usize),
        place: impl Fn(u64, u64, u64) -> u64,
    ) -> Result<Vec<TermId>, Stop> {
        let size = u64::from(ty.bits().div_ceil(8));
        // Of elements of four bits, two stand in a byte.
        let each = 8 * size / u64::from(ty.bits());
        let mask = by.map_or(u32::MAX, |lane| 1 << lane);
        let mut at = Vec::with_capacity(outer * depth);
        for i in 0..outer as u64 {
            for k in 0..depth as u64 {
                at.push(place(i, k / each, size));
            }
        }
        let mut pieces: Vec<u64> = at.iter().map(|a| a & !15).collect();
        pieces.sort_unstable();
        pieces.dedup();
        let slot = slot as u64;
        for some in pieces.chunks(LANES) {
            let mut targets: Vec<Target> = some
                .iter()
                .enumerate()
                .map(|(lane, off)| Target {
                    lane: by.unwrap_or(lane),
                    cond: None,
                    region: SHARED,
                    off: (*off + slot) as i64,
                    base,
                })
                .collect();
            self.check(w, pc, &mut targets, 16, false);
            if targets.len() != some.len() {
                return Err(Stop::Finding);
            }
            self.sync.order.agent = Some(agents);
            let done = self.order_accesses((w, pc), &targets, (4, 4), AccessKind::Read, false);
            self.sync.order.agent = None;
            done?;
            for off in some {
                if !self.check_proxy((w, mask, pc), SHARED, (*off + slot, 16), Reader::Operand) {
                    return Err(Stop::Finding);
                }
            }
        }
        let raw = NumTy::Int(IntTy {
            width: (size * 8) as u8,
            signed: false,
        });
        let mut out = Vec::with_capacity(at.len());
        for (i, off) in at.into_iter().enumerate() {
            let v = self
                .core
                .load_one(LaneAt { w, lane: 0, pc }, SHARED, off + slot, raw);
            out.push(match ty {
                MatTy::Float(f) => self.core.values.as_factor(v, f),
                MatTy::Packed(f) => {
                    let whole = self.core.values.bits(v, 8);
                    let low = ty.bits() as u8 * (i as u64 % each) as u8;
                    let part = self.core.values.field(whole, low, ty.bits() as u8);
                    let part = self.core.values.of_bits(part);
                    self.core.values.as_factor(part, f)
                }
                MatTy::Int { signed, .. } => {
                    let bits = self.core.values.bits(v, (size * 8) as u8);
                    self.core.values.extended(bits, signed, 32)
                }
            });
        }
        Ok(out)
    }
}
