//! Copies as instructions begin, commit and wait for them.

use crate::kernel::{Addr, Guard, IntTy, NumTy, Op, Pc, Space, Src};
use crate::sim::UnknownKind;
use crate::sim::at::{At, LaneAt, site};
use crate::sim::gather::{Chosen, LaneRead};
use crate::sim::limits::LIMITS;
use crate::sim::machine::{Core, Machine, Tasks};
use crate::sim::proxy::Through;
use crate::sim::race::AccessKind;
use crate::sim::region::RegionId;
use crate::sim::step::Under;
use crate::sim::stop::Stop;
use crate::sim::val::Val;
use crate::sim::warp::{LANES, lanes};

use super::{Copies, Issued, PossibleLength};

/// The width in bits and the type of an untyped unit of some bytes.
fn word(bytes: u32) -> (u8, NumTy) {
    let width = (bytes * 8) as u8;
    let ty = IntTy {
        width,
        signed: false,
    };
    (width, NumTy::Int(ty))
}

impl Tasks {
    /// `cp.async.commit_group`: closes the open group of each lane.
    pub(in crate::sim) fn commit_copies(&mut self, w: usize, exec: u32) {
        for lane in lanes(exec) {
            self.copies[w].committed[lane] += 1;
        }
    }
}

impl Core<'_> {
    /// How many bytes a lane reads, each with its condition; those exclude each other, and one holds.
    fn parts_read(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        size: u32,
        (read, ignore): (Option<Src>, Option<Guard>),
    ) -> Result<Vec<PossibleLength>, Stop> {
        let yes = self.values.store.bool(true);
        let v = match (read, ignore) {
            (Some(s), _) => {
                let v = self.src(w, s, lane);
                self.values.of_bits_plain(v, 32)
            }
            (None, Some(g)) => match self.truth(w, g, lane) {
                Val::Conc(b) => Val::Conc(if b == 1 { 0 } else { size as u64 }),
                v => {
                    let (none, all) = (Val::Conc(0), Val::Conc(size as u64));
                    let p = self.values.pred(v);
                    self.values.select(p, none, all, 32)
                }
            },
            _ => Val::Conc(size as u64),
        };
        match v {
            Val::Conc(n) => Ok(vec![(yes, n)]),
            Val::Bits(t) if self.values.is_poison(t) => {
                self.poison_used(w, 1 << lane, pc, t, "a size");
                Err(Stop::Finding)
            }
            Val::Bits(t) if let Some(all) = self.values.leaves(t, LIMITS.choices) => Ok(all),
            v => {
                self.data_dependent_address(w, 1 << lane, pc, v);
                Err(Stop::Finding)
            }
        }
    }

    /// Says that the addresses of a copy are not known.
    fn selected_addresses(&mut self, w: usize, mask: u32, pc: Pc) -> Result<(), Stop> {
        let site = site(pc, w, mask, "copies between selected addresses");
        self.found
            .unknown(UnknownKind::DataDependentAddress, vec![site], || {
                "an address of an asynchronous copy depends on input data".into()
            });
        Err(Stop::Finding)
    }
}

impl Machine<'_> {
    /// `cp.async`.
    pub(in crate::sim) fn copy_async(
        &mut self,
        w: usize,
        exec: u32,
        pc: Pc,
        under: &Under,
    ) -> Result<(), Stop> {
        let Op::CpAsync {
            bytes,
            read,
            ignore,
            to,
            from,
        } = &self.core.inst(pc).op
        else {
            return Ok(());
        };
        self.core.threads.effects += 1;
        let size = *bytes as u32;
        // How many bytes each lane reads; lanes that read alike go together.
        let mut sizes = [0u32; LANES];
        let mut chosen: Vec<(usize, Vec<PossibleLength>)> = Vec::new();
        for lane in lanes(exec) {
            let mut parts = self.core.parts_read(w, lane, pc, size, (*read, *ignore))?;
            if let Some(&(_, n)) = parts.iter().find(|(_, n)| *n > u64::from(size)) {
                let site = site(pc, w, 1 << lane, format!("reads {n} of {size} bytes"));
                self.core
                    .found
                    .unknown(UnknownKind::Undefined, vec![site], || {
                        "a copy that reads more than it writes is undefined".into()
                    });
                return Err(Stop::Finding);
            }
            match (&parts[..], under.mask >> lane & 1) {
                (&[(_, n)], 0) => sizes[lane] = n as u32,
                _ => chosen.push((lane, std::mem::take(&mut parts))),
            }
        }
        let agents = self.sync.order.clocks.fork(w as u32);
        for (lane, parts) in &chosen {
            let group = self.tasks.copies[w].committed[*lane];
            self.tasks.copies[w].issued.push(Issued {
                agents,
                mask: 1 << lane,
                group,
            });
            self.sync.order.agent = Some(agents);
            self.sync.order.through = Through::Copy;
            let done = self.copy_chosen((w, *lane, pc), size, parts, (*to, *from), under);
            self.sync.order.agent = None;
            self.sync.order.through = Through::Thread;
            done?;
        }
        let mut rest = chosen.iter().fold(exec, |m, (lane, _)| m & !(1 << lane));
        while rest != 0 {
            let first = rest.trailing_zeros() as usize;
            let (n, group) = (sizes[first], self.tasks.copies[w].committed[first]);
            let mut mask = 0u32;
            for lane in lanes(rest) {
                let same = sizes[lane] == n && self.tasks.copies[w].committed[lane] == group;
                mask |= (same as u32) << lane;
            }
            rest &= !mask;
            self.tasks.copies[w].issued.push(Issued {
                agents,
                mask,
                group,
            });
            self.sync.order.agent = Some(agents);
            self.sync.order.through = Through::Copy;
            let done = self.copy_lanes(At { w, exec: mask, pc }, size, n, *to, *from);
            self.sync.order.agent = None;
            self.sync.order.through = Through::Thread;
            done?;
        }
        Ok(())
    }

    /// The copy of one lane, which happens, or reads so many bytes, only if input data says so.
    fn copy_chosen(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        size: u32,
        parts: &[PossibleLength],
        (to, from): (Addr, Addr),
        under: &Under,
    ) -> Result<(), Stop> {
        self.core.threads.stats.accesses += 2;
        let sources =
            self.core
                .targets(LaneAt { w, lane, pc }.alone(), Space::Global, from, under)?;
        let mut dests =
            self.core
                .targets(LaneAt { w, lane, pc }.alone(), Space::Shared, to, under)?;
        if sources.len() != 1 || dests.len() != 1 {
            return self.core.selected_addresses(w, 1 << lane, pc);
        }
        self.check(w, pc, &mut dests, size, true);
        let reads_all = parts.iter().all(|(_, n)| n.is_multiple_of(4));
        let unit: u32 = if reads_all { 4 } else { 1 };
        // The sources that exist, each with the number of bytes that is read of it.
        let mut found = Vec::new();
        for &(c, n) in parts.iter().filter(|(_, n)| *n > 0) {
            let n = n as u32;
            let mut source = vec![sources[0]];
            let store = &mut self.core.values.store;
            let both = match sources[0].cond {
                Some(guard) => store.and(guard, c),
                None => c,
            };
            source[0].cond = (store.as_bool(both) != Some(true)).then_some(both);
            self.check(w, pc, &mut source, n.next_power_of_two(), false);
            if source.is_empty() {
                return Err(Stop::Finding);
            }
            let elems = (unit, n / unit);
            self.order_accesses((w, pc), &source, elems, AccessKind::Read, false)?;
            found.push((c, n, source[0]));
        }
        let Some(&dest) = dests.first() else {
            return Err(Stop::Finding);
        };
        let conflicts =
            self.order_accesses((w, pc), &dests, (4, size / 4), AccessKind::Write, false)?;
        for (_, c) in &conflicts {
            self.sync.add_race(c.otherwise, c);
        }
        let (bits, ty) = word(unit);
        for at in (0..size).step_by(unit as usize) {
            let mut v = Val::Conc(0);
            for &(c, n, source) in &found {
                if at < n {
                    let off = source.off as u64 + u64::from(at);
                    let new = self
                        .core
                        .load_one(LaneAt { w, lane, pc }, source.region, off, ty);
                    v = self.core.values.select(c, new, v, bits);
                }
            }
            let off = dest.off as u64 + u64::from(at);
            if let Some(guard) = dest.cond {
                let region = &mut self.core.memory.regions[dest.region.0 as usize];
                let old = region.load(&mut self.core.values, off, ty, pc.0);
                v = self.core.values.select(guard, v, old, bits);
                v = self.core.values.where_written(v, None);
            }
            let region = &mut self.core.memory.regions[dest.region.0 as usize];
            region.store(&mut self.core.values, off, unit, v);
            let carries = |m: &Self, r: RegionId| m.core.memory.regions[r.0 as usize].has_carried();
            if found.iter().any(|f| carries(self, f.2.region)) {
                self.core.refuse_base(w, 1 << lane, pc);
            }
        }
        Ok(())
    }

    /// The places that data choose from which lanes copy whole; `None` if one is no function of its place.
    fn places_read(
        &mut self,
        (w, pc): (usize, Pc),
        chosen: &[Chosen],
        offset: i64,
        (size, n): (u32, u32),
    ) -> Option<Vec<(usize, LaneRead)>> {
        let mut out: Vec<(usize, LaneRead)> = Vec::new();
        for c in chosen {
            if c.cond.is_some() || n != size || out.iter().any(|o| o.0 == c.lane) {
                return None;
            }
            let found = self.find_chosen((w, pc), c, Space::Global, offset, size)?;
            out.push((c.lane, found));
        }
        Some(out)
    }

    /// Copies the first `n` of `size` bytes and fills the rest with zeros.
    fn copy_lanes(
        &mut self,
        At { w, exec: mask, pc }: At,
        size: u32,
        n: u32,
        to: Addr,
        from: Addr,
    ) -> Result<(), Stop> {
        let none = Under::none();
        self.core.threads.stats.accesses += 2 * mask.count_ones() as u64;
        let mut chosen = Vec::new();
        let who = (w, mask, pc);
        let mut sources =
            self.core
                .targets_or_chosen(who, Space::Global, from, &none, &mut chosen)?;
        let mut dests = self
            .core
            .targets(At { w, exec: mask, pc }, Space::Shared, to, &none)?;
        let wanted = mask.count_ones() as usize;
        let places = self.places_read((w, pc), &chosen, from.offset, (size, n));
        let Some(places) =
            places.filter(|p| sources.len() + p.len() == wanted && dests.len() == wanted)
        else {
            return self.core.selected_addresses(w, mask, pc);
        };
        let wanted_sources = sources.len();
        if n > 0 {
            self.check(w, pc, &mut sources, n.next_power_of_two(), false);
        }
        self.check(w, pc, &mut dests, size, true);
        if sources.len() != wanted_sources || dests.len() != wanted {
            return Err(Stop::Finding);
        }
        let (unit, count) = if n.is_multiple_of(4) {
            (4, n / 4)
        } else {
            (1, n)
        };
        if n > 0 {
            self.order_accesses((w, pc), &sources, (unit, count), AccessKind::Read, false)?;
        }
        let conflicts =
            self.order_accesses((w, pc), &dests, (4, size / 4), AccessKind::Write, false)?;
        for (_, c) in &conflicts {
            self.sync.add_race(c.otherwise, c);
        }
        let (_, ty) = word(unit);
        for d in &dests {
            let source = sources.iter().find(|s| s.lane == d.lane);
            let place = places.iter().find(|p| p.0 == d.lane);
            for i in 0..size / unit {
                let v = match (source, place) {
                    (Some(s), _) if i < count => {
                        let off = s.off as u64 + (i * unit) as u64;
                        self.core.load_value((w, s.lane, pc), s.region, off, ty)
                    }
                    (None, Some((_, p))) if i < count => {
                        self.core.values.chosen_value(p, i64::from(i * unit), ty)
                    }
                    _ => Val::Conc(0),
                };
                let region = &mut self.core.memory.regions[d.region.0 as usize];
                let off = d.off as u64 + (i * unit) as u64;
                region.store(&mut self.core.values, off, unit, v);
                if let Some(s) = source.filter(|_| i < count) {
                    let from = (s.region, s.off as u64 + (i * unit) as u64);
                    self.core.memory.copy_prov(from, (d.region, off), unit, pc);
                }
            }
        }
        Ok(())
    }

    /// `cp.async.wait_group`: each lane observes its copies, but for those of its `pending` newest
    /// groups.
    pub(in crate::sim) fn wait_copies(&mut self, w: usize, exec: u32, pending: Option<u32>) {
        let Copies { issued, committed } = &mut self.tasks.copies[w];
        let clocks = &mut self.sync.order.clocks;
        issued.retain_mut(|copy| {
            let mut done = 0u32;
            for lane in lanes(copy.mask & exec) {
                let over = match pending {
                    None => true,
                    Some(n) => copy.group + n < committed[lane],
                };
                done |= (over as u32) << lane;
            }
            if done != 0 {
                clocks.join(copy.agents, done);
                copy.mask &= !done;
            }
            copy.mask != 0
        });
    }
}
