//! Accesses and loads: the order of accesses, the values that are read.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.8 to 9.7.9.11 (`ld`); bytes, not words, conflict
//! (section 8).

use crate::kernel::{Access, Addr, NumTy, Op, Pc, RegId};
use crate::sim::at::{At, LaneAt, site};
use crate::sim::order::Batch;
use crate::term::{ArrayId, Term, TermId};

use super::address::provenance::Prov;
use super::machine::{Core, Machine, Spaces};
use super::memory::{Initial, RegionKind, extend};
use super::place::Target;
use super::race::{AccessKind, SameWrite};
use super::region::RegionId;
use super::step::Under;
use super::stop::Stop;
use super::val::Val;
use super::value::Values;
use super::warp::{LANES, lanes};
use super::{Change, DefectKind, UnknownKind};

impl Values {
    /// What a load gives of values at several places, of which the one is read whose condition holds.
    pub(super) fn one_option(&mut self, options: &[(Option<TermId>, Val)], width: u8) -> Val {
        if let &[(cond, v)] = options {
            return self.where_executed(v, cond);
        }
        let yes = self.store.bool(true);
        let mut all = Vec::with_capacity(options.len());
        for &(cond, v) in options {
            let cond = cond.unwrap_or(yes);
            let v = match v {
                Val::Real(f, t) => Val::Real(f, self.store.taken_under(cond, t)),
                Val::Bits(t) => {
                    let t = self.store.taken_under(cond, t);
                    self.of_bits(t)
                }
                v => v,
            };
            all.push((cond, v));
        }
        self.choose(&all, width)
    }

    /// A value that may be something never written, where its load is executed.
    fn where_executed(&mut self, v: Val, cond: Option<TermId>) -> Val {
        let (Some(cond), Val::Bits(t) | Val::Real(_, t)) = (cond, v) else {
            return v;
        };
        if self.store.is_total(t) {
            return v;
        }
        let mut known = vec![cond];
        let mut at = 0;
        while let Some(&c) = known.get(at) {
            if let Term::And(a, b) = self.store.get(c) {
                known.extend([a, b]);
            }
            at += 1;
        }
        self.where_true(&known, v)
    }

    fn poison_in(&self, t: TermId) -> bool {
        let s = &self.store;
        match s.get(t) {
            Term::Poison { .. } => true,
            Term::Concat(l) => l
                .iter()
                .any(|&i| matches!(s.get(TermId(i)), Term::Poison { .. })),
            _ => false,
        }
    }
}

impl Spaces {
    /// Bytes that are written again by what compares no values.
    fn note_rewrites(
        &mut self,
        region: RegionId,
        (array, size): (ArrayId, u64),
        mask: u32,
        offs: &[u64; LANES],
    ) {
        for lane in lanes(mask) {
            let (start, end) = (offs[lane], offs[lane] + size);
            let r = &self.regions[region.0 as usize];
            if (start..end).any(|at| r.was_written(at, 1)) {
                self.footprint.change(Change { array, start, end });
            }
        }
    }
}

impl Core<'_> {
    /// What a value that is loaded from memory into a register of a width carries.
    pub(super) fn loaded_prov(
        &mut self,
        (region, off): (RegionId, u64),
        ty: NumTy,
        width: u8,
    ) -> Prov {
        if !self.memory.regions[region.0 as usize].has_carried() {
            return Prov::NONE;
        }
        let p = self.memory.load_prov(region, off, ty.bits() / 8);
        match p.is_none() || ty.bits() == u32::from(width) {
            true => p,
            false => {
                let v =
                    match self.memory.regions[region.0 as usize].load(&mut self.values, off, ty, 0)
                    {
                        Val::Conc(n) => Some(n),
                        _ => None,
                    };
                let signed = matches!(ty, NumTy::Int(t) if t.signed);
                self.memory
                    .prov
                    .widened(p, v, (ty.bits() as u8, signed), width)
            }
        }
    }

    /// Lets a register carry what the memory that was loaded into it does.
    pub(super) fn load_carried(
        &mut self,
        w: usize,
        d: RegId,
        lane: usize,
        at: (RegionId, u64),
        ty: NumTy,
    ) {
        let p = self.loaded_prov(at, ty, self.width(d));
        self.set_prov(w, d, 1 << lane, p);
    }

    /// A value that is loaded as a number: it must not depend on a base.
    pub(super) fn load_one(
        &mut self,
        LaneAt { w, lane, pc }: LaneAt,
        region: RegionId,
        off: u64,
        ty: NumTy,
    ) -> Val {
        if self.memory.regions[region.0 as usize].carries(off, ty.bits() / 8) {
            self.refuse_base(w, 1 << lane, pc);
        }
        self.load_value((w, lane, pc), region, off, ty)
    }

    /// A value that is loaded; what it carries is for the caller to follow.
    #[inline]
    pub(super) fn load_value(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        region: RegionId,
        off: u64,
        ty: NumTy,
    ) -> Val {
        let r = &mut self.memory.regions[region.0 as usize];
        let mut v = r.load(&mut self.values, off, ty, pc.0);
        if r.initial != Initial::Unset {
            return v;
        }
        let mut found = match v {
            Val::Bits(t) if self.values.poison_in(t) => Some("never written"),
            _ => None,
        };
        if let Some(array) = self.memory.regions[region.0 as usize].kept() {
            let read = self.values.loaded(v, array, pc.0);
            if read != v {
                found = found.or(Some("not always written"));
            }
            v = read;
        }
        if let Some(how) = found
            && !self.memory.unset_sites.contains_key(&pc)
        {
            let place = self.place(region, off, ty.bits() / 8);
            let mut site = site(pc, w, 1 << lane, format!("reads {place}, {how}"));
            let now = self.threads.stats.warp_instructions;
            self.threads
                .trails
                .before(std::slice::from_mut(&mut site), now);
            self.memory.unset_sites.insert(pc, site);
        }
        v
    }

    /// Loads from known places of one region into registers of lanes.
    pub(super) fn load_lanes(
        &mut self,
        At { w, exec, pc }: At,
        (region, offs): (RegionId, &[u64; LANES]),
        (access, dsts): (&Access, &[Option<RegId>]),
    ) {
        let elem = access.ty.bits() / 8;
        let carried = self.memory.regions[region.0 as usize].has_carried();
        let omits = self.omits(pc);
        for (k, d) in dsts.iter().enumerate() {
            let Some(d) = d else { continue };
            let width = self.width(*d);
            let byte = (k as u32 * elem) as u64;
            let whole = access.ty.bits() == width as u32;
            let mut rest = exec;
            if omits && elem >= 4 && !carried {
                let cells = &self.memory.regions[region.0 as usize];
                let absent = cells.absent_lanes(exec, offs, byte, elem);
                self.threads.warps[w].set_absent(*d, absent);
                rest &= !absent;
            }
            let plain = rest != 0 && !self.memory.regions[region.0 as usize].keeps;
            if whole && width == 32 && plain {
                let mut words = [0; LANES];
                let cells = &self.memory.regions[region.0 as usize];
                let (known, numbers) = cells.load_words(rest, offs, byte, &mut words);
                self.threads.warps[w].set_words(*d, known, &words);
                self.threads.warps[w].set_symbolic(*d, numbers, &words);
                rest &= !(known | numbers);
            }
            for lane in lanes(rest) {
                let mut v = self.load_value((w, lane, pc), region, offs[lane] + byte, access.ty);
                if omits {
                    v = self.values.left_out(v);
                }
                if !whole {
                    v = extend(&mut self.values, v, access.ty, width);
                }
                self.threads.warps[w].set(*d, lane, v);
            }
            if carried {
                for lane in lanes(exec) {
                    self.load_carried(w, *d, lane, (region, offs[lane] + byte), access.ty);
                }
            }
        }
    }

    /// A poison value decides something: a defect at its use, naming the read.
    pub(super) fn poison_used(&mut self, w: usize, mask: u32, pc: Pc, t: TermId, what: &str) {
        let mut sites = vec![site(pc, w, mask, format!("uses it as {what}"))];
        if let Some(read) = self.poison_source(t) {
            sites.insert(0, read);
        }
        self.defect(DefectKind::UninitializedRead, sites, || {
            format!("a value that was never written is used as {what}")
        });
    }

    /// Records an instruction whose effect has no model.
    pub(super) fn unsupported(&mut self, w: usize, mask: u32, pc: Pc, what: &str) {
        let site = site(pc, w, mask, "is executed");
        self.found
            .unknown(UnknownKind::UnsupportedInstruction, vec![site], || {
                format!("{what} is not supported")
            });
    }
}

impl Machine<'_> {
    /// Tells the order of accesses about them, region by region; conflicts come back by target.
    pub(super) fn order_accesses(
        &mut self,
        (w, pc): (usize, Pc),
        targets: &[Target],
        elems: (u32, u32),
        kind: AccessKind,
        nc: bool,
    ) -> Result<Vec<(usize, SameWrite)>, Stop> {
        self.note_conditions(w, pc, targets, elems.0 * elems.1);
        // Of the places that data choose for several lanes, no two may be one.
        let has_choice = |p: &[Target]| p[0].lane == p[1].lane && p[0].cond.is_some();
        if kind.writes() && targets.windows(2).any(has_choice) {
            self.sync.meet_each();
        } else if targets.iter().any(|t| t.cond.is_some()) {
            self.sync.meet_some();
        }
        let mut out = Vec::new();
        let mut i = 0;
        while i < targets.len() {
            // A run of targets in one region, each lane at most once, all conditional or none.
            let region = targets[i].region;
            let cond = targets[i].cond.is_some();
            let mut mask = 0u32;
            let mut offs = [0u64; LANES];
            let mut index = [0usize; LANES];
            let mut j = i;
            while j < targets.len()
                && targets[j].region == region
                && targets[j].cond.is_some() == cond
                && mask >> targets[j].lane & 1 == 0
            {
                mask |= 1 << targets[j].lane;
                offs[targets[j].lane] = targets[j].off as u64;
                index[targets[j].lane] = j;
                j += 1;
            }
            i = j;
            let batch = Batch {
                region,
                offs: &offs,
                elems,
                kind,
                cond,
                nc,
            };
            for c in self.order_batch(At { w, exec: mask, pc }, &batch)? {
                out.push((index[later_lane(&c)], c));
            }
        }
        Ok(out)
    }

    /// Tells the order of accesses about lanes that go to one region.
    pub(super) fn order_batch(&mut self, at: At, batch: &Batch) -> Result<Vec<SameWrite>, Stop> {
        let At { w, exec: mask, pc } = at;
        let Batch {
            region,
            offs,
            elems,
            kind,
            cond,
            nc: _,
        } = *batch;
        match self.core.memory.regions[region.0 as usize].kind {
            RegionKind::Local | RegionKind::Param => return Ok(Vec::new()),
            RegionKind::Shared => {
                if self.core.fixed.team.many() {
                    self.note_remote(w, mask, pc, offs);
                }
            }
            RegionKind::Array(a) => {
                if self.sync.dependents.on() {
                    let place = (offs, u64::from(elems.0) * u64::from(elems.1));
                    self.before_grid_wait((region, a), (w, mask, pc), place, (kind, cond));
                }
                if self.core.memory.footprint.on() {
                    let who = (self.core.threads.warps[w].first, mask);
                    let sizes = (elems.0, elems.0 as u64 * elems.1 as u64);
                    self.core
                        .memory
                        .footprint
                        .add((a, pc), (kind, cond), sizes, who, offs);
                    if kind == AccessKind::Write && !matches!(self.core.inst(pc).op, Op::St { .. })
                    {
                        self.core
                            .memory
                            .note_rewrites(region, (a, sizes.1), mask, offs);
                    }
                    if let Some(seen) = self.core.memory.footprint.just_seen() {
                        seen.around = self.core.threads.trails.of(seen.thread, pc);
                    }
                }
                if kind.writes() {
                    self.sync
                        .order
                        .note_write(region)
                        .map_err(|()| Stop::Open(super::stop::Obstacle::Untracked(a)))?;
                } else if !self.sync.order.tracks(region) {
                    self.sync.order.note_untracked_read(region);
                    return Ok(Vec::new());
                }
            }
        }
        if self.sync.strong.on
            && kind == AccessKind::Write
            && !cond
            && self.sync.order.agent.is_none()
        {
            self.sync
                .forget_observed((region, w, mask), offs, u64::from(elems.0 * elems.1));
        }
        if self.sync.order.report.each {
            self.sync.meet_some();
        }
        if self.sync.order.by_value.on() {
            self.sync
                .follow_reads(region, (w, mask), offs, elems, (kind, cond));
        }
        let found = self.sync.order.access(at, batch);
        self.keep_possible();
        Ok(found)
    }

    /// `ld`.
    pub(super) fn load(
        &mut self,
        At { w, exec, pc }: At,
        (access, dsts, addr): (&Access, &[Option<RegId>], Addr),
        used: u32,
        under: &Under,
    ) -> Result<(), Stop> {
        let Some(all) = self.on_path(exec, access.space, under) else {
            return self.load_under(At { w, exec, pc }, (access, dsts, addr), used, under);
        };
        self.load_under(At { w, exec, pc }, (access, dsts, addr), used, &all)?;
        for r in dsts.iter().flatten() {
            for lane in lanes(exec) {
                let v = self.core.threads.warps[w].get(*r, lane);
                let p = self.core.threads.warps[w].prov(*r, lane);
                let new = self.decided_value(v);
                if new != v {
                    self.core.set(w, *r, lane, new);
                    self.core.set_prov(w, *r, 1 << lane, p);
                }
            }
        }
        Ok(())
    }

    fn load_under(
        &mut self,
        at: At,
        (access, dsts, addr): (&Access, &[Option<RegId>], Addr),
        used: u32,
        under: &Under,
    ) -> Result<(), Stop> {
        let At { w, exec, pc } = at;
        self.core.threads.stats.accesses += exec.count_ones() as u64;
        let elem = access.ty.bits() / 8;
        let elems = (elem, dsts.len() as u32);
        let size = elem * elems.1;
        let kind = self.sync.fences.kind(access, false);
        let mut offs = [0; LANES];
        if under.mask == 0
            && used == u32::MAX
            && kind == AccessKind::Read
            && !self.conditions.unused.has(pc)
            && !self.sync.order.by_value.has(pc)
            && let Some(landing) = self
                .core
                .uniform((w, exec), access.space, addr, size, &mut offs)
        {
            let batch = Batch {
                nc: access.nc,
                ..Batch::of(landing.region, &offs, elems, kind)
            };
            self.order_batch(at, &batch)?;
            self.core
                .load_lanes(at, (landing.region, &offs), (access, dsts));
            return Ok(());
        }
        let mut chosen = Vec::new();
        let who = (w, exec, pc);
        let mut targets =
            self.core
                .targets_or_chosen(who, access.space, addr, under, &mut chosen)?;
        let to = (access.space, addr.offset);
        let plain = kind == AccessKind::Read;
        chosen = self.spread_loads((w, pc), chosen, &mut targets, to, (size, plain))?;
        self.check(w, pc, &mut targets, size, false);
        // What is read for nothing is no access.
        let unused = self.unused_lanes((w, exec, pc), &targets, size);
        targets.retain(|t| unused >> t.lane & 1 == 0);
        chosen.retain(|c| unused >> c.lane & 1 == 0);
        self.order_accesses((w, pc), &targets, elems, kind, access.nc)?;
        self.strong_accesses((w, pc), &targets, elems, kind, access);
        let both = (&chosen[..], &mut targets);
        let by_data = self.load_chosen((w, pc), both, access, dsts, addr.offset, used)?;
        // Lanes whose accesses were all refused read nothing that could be named.
        let mut seen = by_data;
        for t in &targets {
            seen |= 1 << t.lane;
        }
        for lane in lanes(exec & !seen) {
            for d in dsts.iter().flatten() {
                let width = self.core.width(*d);
                let v = match unused >> lane & 1 {
                    0 => Val::Bits(self.core.values.fresh_bits(width)),
                    _ => self.unused_value((w, lane, pc), width),
                };
                self.core.set(w, *d, lane, v);
            }
        }
        for places in targets.chunk_by(|a, b| a.lane == b.lane) {
            self.load_places((w, pc), places, (access, dsts), used);
        }
        Ok(())
    }

    /// Loads what one lane does from the places that it may mean.
    fn load_places(
        &mut self,
        (w, pc): (usize, Pc),
        places: &[Target],
        (access, dsts): (&Access, &[Option<RegId>]),
        used: u32,
    ) {
        let lane = places[0].lane;
        let elem = access.ty.bits() / 8;
        for (k, d) in dsts.iter().enumerate() {
            let Some(d) = d else { continue };
            let width = self.core.width(*d);
            let byte = k as u32 * elem;
            if used >> byte.min(31) & 1 == 0 {
                let v = Val::Bits(self.core.values.fresh_bits(width));
                self.core.set(w, *d, lane, v);
                continue;
            }
            let place = |t: &Target| (t.region, t.off as u64 + byte as u64);
            let mut carried = Prov::NONE;
            for t in places.iter().rev() {
                let p = self.core.loaded_prov(place(t), access.ty, width);
                carried = match t.cond {
                    Some(c) if places.len() > 1 => self.core.memory.prov.choice(c, p, carried),
                    _ => p,
                };
            }
            let mut options = Vec::with_capacity(places.len());
            for t in places {
                let (region, off) = place(t);
                let v = self.core.load_value((w, lane, pc), region, off, access.ty);
                options.push((t.cond, v));
            }
            let bits = access.ty.bits() as u8;
            let mut v = self.core.values.one_option(&options, bits);
            if self.sync.order.by_value.has(pc) {
                let at = (places.len() == 1).then(|| place(&places[0]));
                v = self.racing_value((w, lane, pc), at, bits).unwrap_or(v);
            }
            let v = extend(&mut self.core.values, v, access.ty, width);
            self.core.set(w, *d, lane, v);
            self.core.set_prov(w, *d, 1 << lane, carried);
        }
    }
}

/// The lane of the later write of a pair.
pub(super) fn later_lane(c: &SameWrite) -> usize {
    c.later.thread.0 as usize % LANES
}
