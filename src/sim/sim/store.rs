//! Stores: the values, and what is said of writes that nothing orders.
//!
//! Two unordered writes of the same bytes are no race if they write the same value: equal terms
//! are a warning at once, terms that only the normaliser can compare become an obligation.
//!
//! Source: PTX ISA 9.0, section 9.7.9.12 (`st`); bytes, not words, conflict (section 8).

use crate::answer::AssumptionKind;
use crate::answer::kinds::REAL_EQUAL;
use crate::kernel::{Access, Addr, IntTy, NumTy, Pc, Space, Src};
use crate::sim::at::{At, site};
use crate::sim::order::Batch;
use crate::spec::Role;

use super::access::later_lane;
use super::address::derive::Arg;
use super::address::provenance::{BaseId, Prov};
use super::machine::{Core, Machine};
use super::memory::RegionKind;
use super::place::{Target, local_stride};
use super::race::{AccessKind, Conflict, SameWrite};
use super::region::{LOCAL, RegionId};
use super::step::Under;
use super::stop::Stop;
use super::val::Val;
use super::value::Values;
use super::warp::{LANES, lanes};
use super::{Change, DefectKind, Obligation, Tid, UnknownKind, WarningKind};
use crate::term::{Agreement, TermId};

/// The assumption about readers of what several threads wrote.
const ONE_WINNER: &str = "of equal values that threads write unordered, all who read the place afterwards see the same one";

/// Lanes whose places are known by offsets in one region, and the unordered writes over others by their number.
fn each_lane(
    exec: u32,
    (region, base): (RegionId, BaseId),
    offs: &[u64; LANES],
    found: Vec<SameWrite>,
) -> (Vec<Target>, Vec<(usize, SameWrite)>) {
    let target = |lane: usize| Target {
        lane,
        cond: None,
        region,
        off: offs[lane] as i64,
        base,
    };
    let index = |lane| lanes(exec).position(|l| l == lane).unwrap_or(0);
    let conflicts = found.into_iter().map(|c| (index(later_lane(&c)), c));
    (lanes(exec).map(target).collect(), conflicts.collect())
}

impl Values {
    /// A value as memory holds it in elements of some bytes.
    #[inline]
    fn as_stored(&mut self, v: Val, bytes: u32) -> Val {
        match v {
            Val::Conc(_) | Val::Absent => v,
            Val::Real(f, _) if f.bits() == bytes * 8 => v,
            _ => self.of_bits_plain(v, (bytes * 8) as u8),
        }
    }

    /// A value where a condition holds that decides choices below it.
    fn decided_under(&mut self, cond: TermId, v: Val) -> Val {
        match v {
            Val::Real(f, t) => Val::Real(f, self.store.decided_under(cond, t)),
            Val::Bits(t) => {
                let t = self.store.decided_under(cond, t);
                self.of_bits(t)
            }
            v => v,
        }
    }
}

impl Core<'_> {
    /// An element is written: what other CTAs must know is whether the value that was written before changes.
    #[inline]
    fn note_change(&mut self, region: RegionId, (at, bytes): (u64, u32), v: Val) {
        if self.memory.footprint.on()
            && self.memory.regions[region.0 as usize].was_written(at, bytes)
        {
            self.compare_with_written(region, (at, bytes), v);
        }
    }

    /// Stores words whose values are absent.
    fn store_absent(
        &mut self,
        region: RegionId,
        mask: u32,
        offs: &[u64; LANES],
        (byte, elem): (u64, u32),
    ) {
        if self.memory.footprint.on() {
            for lane in lanes(mask) {
                self.note_change(region, (offs[lane] + byte, elem), Val::Absent);
            }
        }
        let cells = &mut self.memory.regions[region.0 as usize];
        cells.store_absent(mask, offs, byte, elem);
    }

    #[cold]
    fn compare_with_written(&mut self, region: RegionId, (at, bytes): (u64, u32), v: Val) {
        let ty = NumTy::Int(IntTy {
            width: (bytes * 8) as u8,
            signed: false,
        });
        let r = &mut self.memory.regions[region.0 as usize];
        let RegionKind::Array(array) = r.kind else {
            return;
        };
        // Where CTAs meet, a run without values is made again.
        let changes = self.values.omits || {
            let old = r.load_beneath(&mut self.values, at, ty, u32::MAX);
            let width = (bytes * 8) as u8;
            self.values.bits(old, width) != self.values.bits(v, width)
        };
        if changes {
            self.memory.footprint.change(Change {
                array,
                start: at,
                end: at + u64::from(bytes),
            });
        }
    }

    /// True if nothing is to be said about a write to a region.
    fn is_plain(&self, region: RegionId) -> bool {
        let r = &self.memory.regions[region.0 as usize];
        match r.kind {
            RegionKind::Array(a) => !r.read_only && self.fixed.arrays[a].role != Some(Role::In),
            RegionKind::Param => false,
            RegionKind::Shared | RegionKind::Local => true,
        }
    }

    /// Stores the sources of all lanes, without conditions or conflicts.
    fn store_lanes(
        &mut self,
        At { w, exec, pc }: At,
        region: RegionId,
        offs: &[u64; LANES],
        srcs: &[Option<Src>],
        elem: u32,
    ) {
        self.values.note_unset(w, pc);
        for (k, s) in srcs.iter().enumerate() {
            let Some(s) = s else { continue };
            let byte = (k as u32 * elem) as u64;
            let carries = match s {
                Src::Reg(r) => self.threads.warps[w].carried(*r) & exec != 0,
                _ => true,
            };
            let absent = match s {
                Src::Reg(r) if elem >= 4 => self.threads.warps[w].absent(*r) & exec,
                _ => 0,
            };
            if absent != 0 {
                self.store_absent(region, absent, offs, (byte, elem));
            }
            for lane in lanes(exec & !absent) {
                let v = self.src(w, *s, lane);
                let v = self.values.as_stored(v, elem);
                let p = if carries {
                    self.src_part(w, *s, lane, elem * 8)
                } else {
                    Prov::NONE
                };
                self.note_change(region, (offs[lane] + byte, elem), v);
                let r = &mut self.memory.regions[region.0 as usize];
                if p.is_none() && (elem >= 4 || !r.has_carried()) {
                    r.store(&mut self.values, offs[lane] + byte, elem, v);
                } else {
                    self.put(region, (offs[lane] + byte, elem), Arg { v, p }, pc);
                }
            }
        }
    }

    /// What memory holds after writes of values that are equal over the reals: the bits of one of them, the same ones for
    /// all that read it. Whoever reads before the last of these writes is in a race with that.
    fn left_of(&mut self, bits: TermId) -> Val {
        let Values {
            store,
            trees,
            fresh,
            ..
        } = &mut self.values;
        let t = match trees {
            None => store.faced(bits),
            Some(_) => {
                self.found
                    .assumptions
                    .insert(AssumptionKind::OneWinner.says(ONE_WINNER));
                store.won(bits, || {
                    *fresh += 1;
                    *fresh - 1
                })
            }
        };
        self.values.of_bits(t)
    }

    /// True for writes that race with no other such, whatever they write.
    fn are_strong(&self, c: &SameWrite) -> bool {
        [&c.earlier, &c.later]
            .iter()
            .all(|p| self.fixed.kernel.is_strong(p.pc))
    }

    pub(super) fn note_role(&mut self, w: usize, pc: Pc, t: &Target) {
        let r = &self.memory.regions[t.region.0 as usize];
        let a = match r.kind {
            RegionKind::Array(a) => a,
            RegionKind::Param => {
                let site = site(pc, w, 1 << t.lane, "writes a parameter");
                return self.found.unknown(UnknownKind::Undefined, vec![site], || {
                    "a store to the parameters of a kernel is undefined".into()
                });
            }
            RegionKind::Shared | RegionKind::Local => return,
        };
        if r.read_only {
            let site = site(pc, w, 1 << t.lane, "writes constant memory");
            self.found.unknown(UnknownKind::Undefined, vec![site], || {
                "a store to constant memory is undefined".into()
            });
        } else if self.fixed.arrays[a].role == Some(Role::In) {
            let place = self.place(t.region, t.off as u64, 1);
            let site = site(pc, w, 1 << t.lane, format!("writes {place}"));
            let name = &self.fixed.arrays[a].name;
            self.found.warn(WarningKind::WriteToInput, vec![site], || {
                format!("{name} is bound as an input and is written")
            });
        }
    }

    /// Stores the unspecified result of a call into its `.param` variable.
    pub(super) fn local_result(&mut self, w: usize, exec: u32, off: u32, t: TermId) {
        for lane in lanes(exec) {
            let rank = (self.threads.warps[w].first as usize + lane) as u64;
            let at = rank * local_stride(self.fixed.kernel.local_bytes) + off as u64;
            self.memory.regions[LOCAL.0 as usize].store(&mut self.values, at, 4, Val::Bits(t));
        }
    }
}

impl Machine<'_> {
    /// `st`.
    pub(super) fn store(
        &mut self,
        At { w, exec, pc }: At,
        access: &Access,
        srcs: &[Option<Src>],
        addr: Addr,
        under: &Under,
    ) -> Result<(), Stop> {
        let path = self.on_path(exec, access.space, under);
        let under = path.as_ref().unwrap_or(under);
        self.core.threads.stats.accesses += exec.count_ones() as u64;
        self.core.threads.effects += u64::from(access.space != Space::Local);
        let elem = access.ty.bits() / 8;
        let elems = (elem, srcs.len() as u32);
        let size = elem * elems.1;
        let kind = self.sync.fences.kind(access, true);
        let mut offs = [0; LANES];
        let uniform = match under.mask {
            0 => self
                .core
                .uniform((w, exec), access.space, addr, size, &mut offs),
            _ => None,
        };
        let (targets, mut conflicts) = match uniform {
            Some(landing) => {
                let region = landing.region;
                let batch = Batch::of(region, &offs, elems, kind);
                let found = self.order_batch(At { w, exec, pc }, &batch)?;
                let simple = found.is_empty() && !self.sync.order.by_value.on();
                if simple && kind == AccessKind::Write && self.core.is_plain(region) {
                    self.core
                        .store_lanes(At { w, exec, pc }, region, &offs, srcs, elem);
                    return Ok(());
                }
                each_lane(exec, (region, landing.base), &offs, found)
            }
            None => {
                let who = (w, exec, pc);
                let mut targets = self.all_targets(who, access.space, addr, under, size)?;
                self.check(w, pc, &mut targets, size, true);
                let conflicts = self.order_accesses((w, pc), &targets, elems, kind, false)?;
                (targets, conflicts)
            }
        };
        self.strong_accesses((w, pc), &targets, elems, kind, access);
        conflicts.sort_by_key(|c| c.0);
        let mut rest = &conflicts[..];
        for (i, t) in targets.iter().enumerate() {
            // One instruction may write at each of many places that data choose.
            if i % LANES == LANES - 1 && self.core.is_late() {
                return Err(Stop::Finding);
            }
            self.core.note_role(w, pc, t);
            let overlap;
            (overlap, rest) = rest.split_at(rest.partition_point(|c| c.0 <= i));
            for (k, s) in srcs.iter().enumerate() {
                let Some(s) = s else { continue };
                let at = t.off as u64 + (k as u32 * elem) as u64;
                self.store_one((w, pc), (t, at), (*s, srcs.len() == 1), access.ty, overlap);
            }
        }
        Ok(())
    }

    /// Stores an element in a lane; `alone` if the lane stores no other. `overlap` is what unordered writes the write of
    /// the lane goes over.
    #[inline]
    fn store_one(
        &mut self,
        (w, pc): (usize, Pc),
        (t, at): (&Target, u64),
        (src, alone): (Src, bool),
        ty: NumTy,
        overlap: &[(usize, SameWrite)],
    ) {
        let (region, lane) = (t.region, t.lane);
        let (elem, width) = (ty.bits() / 8, ty.bits() as u8);
        let v = self.core.src(w, src, lane);
        if v == Val::Unset {
            self.core.values.note_unset(w, pc);
        }
        let raw = self.core.values.as_stored(v, elem);
        let ty = match ty {
            NumTy::Float(_) => ty,
            NumTy::Int(_) => NumTy::Int(IntTy {
                width,
                signed: false,
            }),
        };
        if self.sync.order.by_value.on() {
            self.check_made(lane, at, raw, width);
        }
        let mut v = match t.cond {
            None => raw,
            Some(c) => {
                let v = self.core.values.decided_under(c, raw);
                if alone {
                    self.note_guarded_value(w, pc, t, width, v);
                }
                let to = &mut self.core.memory.regions[region.0 as usize];
                let old = to.load_beneath(&mut self.core.values, at, ty, pc.0);
                let kept = to.kept();
                let v = self.core.values.select(c, v, old, width);
                self.core.values.where_written(v, kept)
            }
        };
        for (_, c) in overlap.iter().filter(|c| c.1.offset == at) {
            v = self.same_value(region, (at, elem), (v, raw), ty, c);
        }
        let new = self.core.src_part(w, src, lane, elem * 8);
        let p = match t.cond {
            None => new,
            Some(c) => {
                let old = self.core.memory.load_prov(region, at, elem);
                self.core.memory.prov.choice(c, new, old)
            }
        };
        self.core.note_change(region, (at, elem), v);
        self.core.put(region, (at, elem), Arg { v, p }, pc);
    }

    /// Follows what flags publish. An access under a condition publishes nothing for sure.
    pub(super) fn strong_accesses(
        &mut self,
        (w, pc): (usize, Pc),
        targets: &[Target],
        elems: (u32, u32),
        kind: AccessKind,
        access: &Access,
    ) {
        if !kind.strong() || !self.sync.fences.present {
            return;
        }
        self.sync.strong.conditional |= targets.iter().any(|t| t.cond.is_some());
        for t in targets.iter().filter(|t| t.cond.is_none()) {
            let tid = Tid((w * LANES + t.lane) as u32);
            let off = t.off as u64;
            if self.sync.strong.on {
                self.strong_event(tid, (pc, access), (t.region, off), elems, kind);
                continue;
            }
            let (clocks, bytes) = (&mut self.sync.order.clocks, elems.0 * elems.1);
            self.sync
                .fences
                .access(clocks, tid, (t.region, off, bytes), (kind, access.sem));
        }
    }

    /// An unordered write over another unordered write: equal values are a warning, others a
    /// defect, undecided ones an obligation. `v` is what memory holds then, and what was written, if
    /// it was. The result is what memory holds for all that is known: of values that are equal over the reals
    /// only, the bits may be those of either.
    pub(super) fn same_value(
        &mut self,
        region: RegionId,
        (at, bytes): (u64, u32),
        (v, written): (Val, Val),
        ty: NumTy,
        c: &SameWrite,
    ) -> Val {
        if self.excluded((&c.earlier, &c.later), region, c.offset) {
            return v;
        }
        let old = self.core.memory.regions[region.0 as usize].load(
            &mut self.core.values,
            at,
            ty,
            c.later.pc.0,
        );
        let width = (bytes * 8) as u8;
        let (a, b) = (
            self.core.values.bits(old, width),
            self.core.values.bits(v, width),
        );
        let agreement = self.core.values.store.agreement(a, b);
        let computed = self.core.values.store.takes_made(a, b);
        let left = match agreement != Agreement::Same && computed {
            true => self.core.left_of(b),
            false => v,
        };
        let (warning, how) = match (agreement, computed) {
            (Agreement::Same, _) | (Agreement::Open, false) => {
                (WarningKind::SameValueWrite, "the same value")
            }
            _ if c.within => (WarningKind::RealEqualWrite, REAL_EQUAL),
            _ => (WarningKind::RealEqualRace, REAL_EQUAL),
        };
        let agrees = c.current && agreement != Agreement::Open;
        // Of many pairs of two instructions one is described.
        if agrees
            && c.otherwise != Conflict::Conditional
            && let Some(known) = self.core.found.warned(warning, [c.earlier.pc, c.later.pc])
        {
            known.count += 1;
            return left;
        }
        let place = self.core.place(region, at, bytes);
        let sites: Vec<super::Site> = [&c.earlier, &c.later]
            .map(|p| super::Site::new(p.pc, vec![p.thread], format!("writes {place}")))
            .into();
        let with =
            |how: &str| format!("{place} is written by threads that nothing orders, with {how}");
        let same = || with(how);
        if c.otherwise == Conflict::Conditional {
            let v = self.core.values.bits(written, width);
            self.guarded_same_value(c, a, v, (sites, same()));
            return left;
        }
        if agrees {
            self.core.found.warn(warning, sites, same);
            return left;
        }
        let message =
            format!("{place} is written by two threads that nothing orders, with different values");
        let known = matches!((old, v), (Val::Conc(_), Val::Conc(_)));
        if !c.current {
            self.core.found.unknown(UnknownKind::Undecided, sites, || {
                format!("{place} is written by several threads that nothing orders")
            });
        } else if known
            && self.core.fixed.mode.has_numbers()
            && c.within
            && c.otherwise == Conflict::Race
        {
            // Sums of one warp that are equal over the reals have several last bits on numbers; whoever runs on numbers asks
            // whether they are equal (`race::excuses_instances`).
            self.core
                .found
                .warn(WarningKind::RealEqualWrite, sites, || with(REAL_EQUAL));
        } else if known || c.otherwise != Conflict::Race || self.core.are_strong(c) {
            self.sync.add_race(c.otherwise, c);
        } else {
            if !self
                .conditions
                .compared
                .insert((a, b, c.earlier.pc, c.later.pc))
            {
                return left;
            }
            self.conditions.pending.push(Obligation {
                equal: (a, b),
                warning: super::Finding::new(warning, same()).at(sites.clone()),
                otherwise: super::Otherwise::Defect(
                    super::Finding::new(DefectKind::DataRace, message).at(sites),
                ),
            });
        }
        left
    }
}
