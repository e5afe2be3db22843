//! The lanes of an access, as they are sent to their places.

use crate::kernel::{Addr, Pc, Space, Src};
use crate::sim::address::carry::has_window;
use crate::sim::address::provenance::{Astray, BaseId, Landing, Prov, Shape};
use crate::sim::at::{At, LaneAt, site};
use crate::sim::choices::choices;
use crate::sim::gather::Chosen;
use crate::sim::limits::LIMITS;
use crate::sim::machine::{Conditions, Core, Machine, Spaces};
use crate::sim::place::NO_ARRAY;
use crate::sim::region::{LOCAL, RegionId, SHARED};
use crate::sim::step::Under;
use crate::sim::stop::Stop;
use crate::sim::val::Val;
use crate::sim::warp::{LANES, lanes};
use crate::sim::{Conditional, DefectKind, Finding, Site, UnknownKind};
use crate::term::TermId;

use super::{Case, KnownAddress, Target, local_stride};

impl Spaces {
    /// Where a known address leads, if the access is aligned and lies within one object outside of
    /// local memory.
    #[inline]
    pub(in crate::sim) fn place_of(
        &mut self,
        (space, p): (Space, Prov),
        (word, width): (u64, u8),
        offset: i64,
        size: u32,
    ) -> Option<(RegionId, u64)> {
        let l = self.prov.landing(p, space).ok()?;
        if l.region == LOCAL {
            return None;
        }
        let a = word.wrapping_add_signed(offset) & address_bits(width);
        let off = a.wrapping_sub(l.origin);
        let (first, last) = (l.bounds.0 + l.spare.0, l.bounds.1 - l.spare.1);
        let inside = (off as i64) >= first && (off as i64) <= last - size as i64;
        let fits = inside && off & (size as u64 - 1) == 0 && size <= l.most;
        if fits {
            let from = off as i64;
            self.prov.touch(l.base, (from, from + size as i64), size);
        }
        fits.then_some((l.region, off))
    }
}

impl Conditions {
    /// An access at a known place that is wrong if some input satisfies its condition. Of the lanes and turns of one
    /// instruction a few are looked at: the others are open with them.
    fn astray_if(&mut self, cond: TermId, kind: DefectKind, site: Site, message: String) {
        let here = |c: &&Conditional| c.defect.kind == kind && c.defect.sites[..] == [site.clone()];
        let same = |c: &&Conditional| c.defect.sites.first().is_some_and(|s| s.pc == site.pc);
        if self.conditionals.iter().filter(same).count() >= LIMITS.place_conditions
            || self.conditionals.iter().any(|c| here(&c))
        {
            return;
        }
        let sites = vec![site];
        self.conditionals.push(Conditional {
            cond,
            values: Vec::new(),
            open: Finding::new(
                UnknownKind::Undecided,
                format!("{message}, if input data says so"),
            )
            .at(sites.clone()),
            defect: Finding::new(kind, message).at(sites),
        });
    }
}

impl Core<'_> {
    /// Leaves open where an access goes whose address is chosen by what may never have been written.
    fn chosen_by_written(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        c: TermId,
    ) -> Result<(), Stop> {
        if !self.values.may_be_poison(c) {
            return Ok(());
        }
        let site = site(pc, w, 1 << lane, "accesses it");
        self.found.unknown(UnknownKind::Undefined, vec![site], || {
            "an address may depend on a value that was never written".into()
        });
        Err(Stop::Finding)
    }

    /// Where an address leads: the region and the offset in it of the object that it carries. One
    /// that leads nowhere is a defect if the access is certain to happen.
    fn resolve(
        &mut self,
        (w, lane, pc, space): (usize, usize, Pc, Space),
        known: &KnownAddress,
        width: u8,
        offset: i64,
    ) -> Result<(RegionId, i64, BaseId), Stop> {
        let a = known.number.wrapping_add_signed(offset) & address_bits(width);
        let found = match self.memory.prov.landing(known.prov, space) {
            Ok(found) => found,
            Err(Astray::Nowhere) => {
                let site = site(pc, w, 1 << lane, format!("accesses address {a:#x}"));
                let global = matches!(space, Space::Global | Space::Const);
                let message = match self.memory.prov.landing(known.prov, Space::Generic).is_ok() {
                    true if global => {
                        "a global access goes to an address of another state space".into()
                    }
                    _ if has_window(space) => {
                        format!("address {a:#x} is not that of a variable of its state space")
                    }
                    _ => format!("address {a:#x} {NO_ARRAY}"),
                };
                return self.nowhere(site, known.certain, message);
            }
            Err(Astray::Mixed) => {
                self.refuse_base(w, 1 << lane, pc);
                return Err(Stop::Finding);
            }
        };
        let a = match width {
            32 => a as u32 as i32 as i64 as u64,
            _ => a,
        };
        let off = a.wrapping_sub(found.origin) as i64;
        if found.region == SHARED && self.fixed.team.many() {
            let off = self.place_in_cluster((w, lane, pc, space), known.certain, off)?;
            return Ok((SHARED, off, found.base));
        }
        if found.region == LOCAL {
            let stride = self.fixed.kernel.local_bytes as i64;
            if off < 0 || off >= stride.max(1) {
                let site = site(pc, w, 1 << lane, format!("accesses local byte {off}"));
                let message = format!("local memory has {stride} bytes");
                return self.nowhere(site, known.certain, message);
            }
            let rank = self.threads.warps[w].first as i64 + lane as i64;
            let own = rank * local_stride(self.fixed.kernel.local_bytes) as i64;
            return Ok((LOCAL, own + off, found.base));
        }
        Ok((found.region, off, found.base))
    }

    pub(in crate::sim) fn nowhere<T>(
        &mut self,
        site: Site,
        certain: bool,
        message: String,
    ) -> Result<T, Stop> {
        if certain {
            self.defect(DefectKind::OutOfBounds, vec![site], || message);
        } else {
            self.found.unknown(UnknownKind::Undecided, vec![site], || {
                format!("{message}, if input data says so")
            });
        }
        Err(Stop::Finding)
    }

    /// An access that stays inside of dynamic shared memory only where that begins at a multiple of
    /// what its address is rounded to.
    fn outside_if_rounded(&mut self, w: usize, lane: usize, pc: Pc) {
        let site = site(pc, w, 1 << lane, "accesses it");
        self.found.unknown(UnknownKind::NondeterministicValue, vec![site], || {
            "the bytes lie outside of dynamic shared memory, whose address is rounded up, unless it \
             begins at a multiple already: there is no room for the rounding"
                .into()
        });
    }

    /// The object and offsets of an access whose lanes all go to known, aligned addresses within
    /// one object outside of local memory: the common case, without a target for each lane.
    pub(in crate::sim) fn uniform(
        &mut self,
        (w, exec): (usize, u32),
        space: Space,
        addr: Addr,
        size: u32,
        offs: &mut [u64; LANES],
    ) -> Option<Landing> {
        let (p, width) = match addr.base {
            Src::Reg(r) if self.threads.warps[w].symbolic(r) & exec == 0 => {
                (self.threads.warps[w].one_prov(r, exec)?, self.width(r))
            }
            Src::Reg(_) => return None,
            s => (self.named(s), 64),
        };
        let l = self.memory.prov.landing(p, space).ok()?;
        if l.region == LOCAL {
            return None;
        }
        match addr.base {
            Src::Reg(r) => *offs = *self.threads.warps[w].words(r),
            s => *offs = self.words(w, s),
        }
        let keep = address_bits(width);
        let (first, last) = (l.bounds.0 + l.spare.0, l.bounds.1 - l.spare.1 - size as i64);
        let mut bad = false;
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        let ranks = l.region == SHARED && self.fixed.team.many();
        for (lane, off) in offs.iter_mut().enumerate() {
            *off = (off.wrapping_add_signed(addr.offset) & keep).wrapping_sub(l.origin);
            if exec >> lane & 1 == 1 {
                let mut own = *off as i64;
                if ranks {
                    let (slot, rest) = self.fixed.team.place(w, own)?;
                    if space == Space::Shared && slot != self.fixed.team.own_slot(w) {
                        return None;
                    }
                    own = rest;
                    *off = (slot + rest) as u64;
                }
                bad |= own as u64 & (size as u64 - 1) != 0;
                (low, high) = (low.min(own), high.max(own));
            }
        }
        if bad || low < first || high > last || size > l.most {
            return None;
        }
        self.memory
            .prov
            .touch(l.base, (low, high + size as i64), size);
        Some(l)
    }

    /// The targets of an access. A lane whose address is a select among few known ones has
    /// several, whose conditions exclude each other.
    pub(in crate::sim) fn targets(
        &mut self,
        At { w, exec, pc }: At,
        space: Space,
        addr: Addr,
        under: &Under,
    ) -> Result<Vec<Target>, Stop> {
        let mut chosen = Vec::new();
        let out = self.targets_or_chosen((w, exec, pc), space, addr, under, &mut chosen)?;
        match chosen.first() {
            Some(c) => {
                self.data_dependent_address(w, 1 << c.lane, pc, Val::Bits(c.addr));
                Err(Stop::Finding)
            }
            None => Ok(out),
        }
    }

    /// The same, where addresses that data choose among many are put apart.
    pub(in crate::sim) fn targets_or_chosen(
        &mut self,
        (w, exec, pc): (usize, u32, Pc),
        space: Space,
        addr: Addr,
        under: &Under,
        chosen: &mut Vec<Chosen>,
    ) -> Result<Vec<Target>, Stop> {
        let width = match addr.base {
            Src::Reg(r) => self.width(r),
            _ => 64,
        };
        let mut out = Vec::with_capacity(exec.count_ones() as usize);
        for lane in lanes(exec) {
            let cond = (under.mask >> lane & 1 == 1).then_some(under.cond[lane]);
            for known in self.known_addresses((w, lane, pc), addr.base, width, cond, chosen)? {
                let (region, off, base) =
                    self.resolve((w, lane, pc, space), &known, width, addr.offset)?;
                out.push(Target {
                    lane,
                    cond: known.cond,
                    region,
                    off,
                    base,
                });
            }
        }
        Ok(out)
    }

    /// Where one lane goes, if that does not depend on data.
    pub(in crate::sim) fn only_target(
        &mut self,
        w: usize,
        lane: usize,
        pc: Pc,
        space: Space,
        addr: Addr,
    ) -> Result<Option<Target>, Stop> {
        let mut to = self.targets(LaneAt { w, lane, pc }.alone(), space, addr, &Under::none())?;
        let last = to.pop().filter(|t| to.is_empty() && t.cond.is_none());
        Ok(last)
    }

    /// The addresses that a lane may give, each with its condition and what it carries.
    fn known_addresses(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        base: Src,
        width: u8,
        cond: Option<TermId>,
        chosen: &mut Vec<Chosen>,
    ) -> Result<Vec<KnownAddress>, Stop> {
        let before = chosen.len();
        let (v, p) = (self.src(w, base, lane), self.src_prov(w, base, lane));
        let mut open = vec![(cond, v, p)];
        let mut out = Vec::new();
        while let Some((cond, v, p)) = open.pop() {
            let cap = LIMITS.choices;
            if let Shape::Choice(c, x, y) = *self.memory.prov.shape(p)
                && open.len() + out.len() < cap
            {
                self.chosen_by_written((w, lane, pc), c)?;
                let not = self.values.store.not(c);
                for (known, p) in [(not, y), (c, x)] {
                    let store = &mut self.values.store;
                    let both = cond.map_or(known, |k| store.and(k, known));
                    match store.as_bool(both) {
                        Some(false) => continue,
                        Some(true) => open.push((None, self.values.where_true(&[known], v), p)),
                        None => open.push((Some(both), self.values.where_true(&[known], v), p)),
                    }
                }
                continue;
            }
            let v = match v {
                Val::Conc(_) => v,
                _ => {
                    self.values.note_unset(w, pc);
                    self.values.of_bits_plain(v, width)
                }
            };
            match v {
                Val::Conc(number) => out.push(KnownAddress {
                    cond,
                    number,
                    prov: p,
                    certain: cond.is_none(),
                }),
                Val::Bits(t) if self.values.is_poison(t) => {
                    self.poison_used(w, 1 << lane, pc, t, "an address");
                    return Err(Stop::Finding);
                }
                Val::Bits(t) => {
                    let leaves = self.values.leaves(t, cap + 1);
                    let store = &mut self.values.store;
                    let Some(leaves) =
                        leaves.or_else(|| choices(store, t, (cond, &self.values.tested), cap))
                    else {
                        // An index that is one of two is each of them under its condition.
                        let few = open.len() + out.len() + chosen.len() - before < cap;
                        if few && let Some((yes, no)) = self.by_choice(cond, t) {
                            let each = [no, yes].into_iter().flatten();
                            open.extend(each.map(|(cond, t)| (cond, Val::Bits(t), p)));
                            continue;
                        }
                        chosen.push(Chosen {
                            lane,
                            cond,
                            addr: t,
                            prov: p,
                        });
                        continue;
                    };
                    let certain = leaves.len() == 1 && cond.is_none();
                    for (c, number) in leaves {
                        self.chosen_by_written((w, lane, pc), c)?;
                        let store = &mut self.values.store;
                        out.push(KnownAddress {
                            cond: Some(cond.map_or(c, |k| store.and(k, c))),
                            number,
                            prov: p,
                            certain,
                        });
                    }
                }
                v => {
                    self.data_dependent_address(w, 1 << lane, pc, v);
                    return Err(Stop::Finding);
                }
            }
        }
        Ok(out)
    }

    /// An address whose index is one of two, as each under its condition; nothing for one that cannot be.
    fn by_choice(&mut self, cond: Option<TermId>, t: TermId) -> Option<(Case, Case)> {
        let store = &mut self.values.store;
        // What it is chosen by is part of the address.
        if !self.memory.gathers.is_usable(store, t, self.fixed.arrays) {
            return None;
        }
        let cond = cond.unwrap_or_else(|| store.bool(true));
        let (p, yes, no) = store.by_choice(cond, t)?;
        let not = store.not(p);
        let mut case = |p: TermId, [cond, t]: [TermId; 2]| {
            let both = store.and(cond, p);
            (store.as_bool(both) != Some(false)).then_some((Some(both), t))
        };
        Some((case(p, yes), case(not, no)))
    }

    /// Whether a generic address is one of a state space; `None` where that is no address of a byte
    /// of an object, or of its end.
    pub(in crate::sim) fn lies_in(
        &mut self,
        (w, lane, pc): (usize, usize, Pc),
        addr: Src,
        space: Space,
    ) -> Result<Option<Val>, Stop> {
        let mut inside = self.values.store.bool(false);
        let mut chosen = Vec::new();
        let all = self.known_addresses((w, lane, pc), addr, 64, None, &mut chosen)?;
        if let Some(c) = chosen.first() {
            self.data_dependent_address(w, 1 << lane, pc, Val::Bits(c.addr));
            return Err(Stop::Finding);
        }
        for known in all {
            let Ok(found) = self.memory.prov.landing(known.prov, Space::Generic) else {
                return Ok(None);
            };
            let off = known.number.wrapping_sub(found.origin) as i64;
            let rank = crate::sim::cluster::split(off).0;
            let off = self.fixed.team.local(off);
            if off < found.bounds.0 || off > found.bounds.1 {
                return Ok(None);
            }
            let own = match self.memory.prov.base(found.base).space {
                Space::Shared => match space {
                    Space::Shared => {
                        !self.memory.prov.ranks || rank == i64::from(self.fixed.team.rank(w))
                    }
                    space => space == Space::SharedCluster,
                },
                own => own == space,
            };
            if own {
                let store = &mut self.values.store;
                let when = known.cond.unwrap_or_else(|| store.bool(true));
                inside = store.or(inside, when);
            }
        }
        Ok(Some(self.values.of_pred(inside)))
    }
}

impl Machine<'_> {
    /// Drops targets that are misaligned or out of bounds, and says so.
    pub(in crate::sim) fn check(
        &mut self,
        w: usize,
        pc: Pc,
        targets: &mut Vec<Target>,
        size: u32,
        write: bool,
    ) {
        let verb = if write { "writes" } else { "reads" };
        let (mut bad, mut rounded) = (Vec::new(), Vec::new());
        for (i, t) in targets.iter().enumerate() {
            let stride = local_stride(self.core.fixed.kernel.local_bytes) as i64;
            let from = match t.region {
                LOCAL => t.off % stride,
                SHARED => self.core.fixed.team.local(t.off),
                _ => t.off,
            };
            let end = from.saturating_add(size as i64);
            let (first, last) = self.core.memory.prov.bounds(t.base);
            let outside = from < first || end > last;
            let (below, above) = self.core.memory.prov.spare(t.base);
            if !outside && (from < first + below || end > last - above) {
                rounded.push(t.lane);
            }
            self.core.memory.prov.touch(t.base, (from, end), size);
            if outside
                || t.off & (size as i64 - 1) != 0
                || size > self.core.memory.prov.most(t.base)
            {
                bad.push((i, outside));
            }
        }
        if let Some(&lane) = rounded.first() {
            self.core.outside_if_rounded(w, lane, pc);
        }
        let outside = bad.iter().filter(|b| b.1).count() as u64;
        let mut dropped = Vec::new();
        for &(i, outside) in bad.iter().rev() {
            let t = targets.remove(i);
            if t.cond.is_some_and(|c| self.never(&[c])) {
                continue;
            }
            let from = match t.region {
                SHARED => self.core.fixed.team.local(t.off),
                _ => t.off,
            };
            let place = if from < 0 {
                let name = self
                    .core
                    .place(t.region, t.off.wrapping_sub(from) as u64, size);
                format!("{name} minus {} bytes", from.unsigned_abs())
            } else {
                self.core.place(t.region, t.off as u64, size)
            };
            let site = site(pc, w, 1 << t.lane, format!("{verb} {place}"));
            let (kind, message) = if outside {
                let extent = match t.region {
                    SHARED if self.core.fixed.kernel.shared.len() > 1 => None,
                    r => self.core.memory.regions[r.0 as usize].extent,
                };
                let has = match extent {
                    Some(e) => format!(", which has {e} bytes"),
                    None => String::new(),
                };
                (
                    DefectKind::OutOfBounds,
                    format!("an access of {size} bytes {verb} {place}{has}"),
                )
            } else {
                let most = self.core.memory.prov.most(t.base);
                let message = match size > most {
                    true => format!(
                        "an access of {size} bytes to an array that is aligned to {most} only"
                    ),
                    false => format!(
                        "an access of {size} bytes at an address that is not a multiple of it"
                    ),
                };
                (DefectKind::MisalignedAccess, message)
            };
            // Of several places of one lane, data chose the address.
            let alone = lanes_of(targets, t.lane) + lanes_of(&dropped, t.lane) == 0;
            dropped.push(t);
            match t.cond {
                Some(cond) if alone => self.conditions.astray_if(cond, kind, site, message),
                Some(_) => self
                    .core
                    .found
                    .unknown(UnknownKind::Undecided, vec![site], || {
                        format!("{message}, if input data says so")
                    }),
                None => self.core.defect(kind, vec![site], || message),
            }
        }
        if outside > 0 {
            self.core.threads.left_its_array(outside);
        }
    }
}

/// How many of some targets are of a lane.
fn lanes_of(targets: &[Target], lane: usize) -> usize {
    targets.iter().filter(|t| t.lane == lane).count()
}

/// The bits that an address of a width has.
#[inline]
fn address_bits(width: u8) -> u64 {
    if width == 32 { 0xffff_ffff } else { u64::MAX }
}
