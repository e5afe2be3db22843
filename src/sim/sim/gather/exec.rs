//! Reads at places that data choose.

use crate::kernel::{Access, NumTy, Pc, RegId, Space, pure};
use crate::sim::address::provenance::Prov;
use crate::sim::at::{LaneAt, site};
use crate::sim::machine::{Core, Machine};
use crate::sim::memory::{Initial, RegionKind, extend};
use crate::sim::place::Target;
use crate::sim::region::RegionId;
use crate::sim::stop::Stop;
use crate::sim::val::Val;
use crate::sim::value::Values;
use crate::spec::Origin;
use crate::term::gather::{self, Index, Place};
use crate::term::{ArrayId, BitsOp, TermId};

use super::{Chosen, Gather, LaneRead, Object};

impl Values {
    /// The value at a distance from what was found.
    pub(in crate::sim) fn chosen_value(&mut self, f: &LaneRead, byte: i64, ty: NumTy) -> Val {
        let store = &mut self.store;
        // The distance was checked for the whole access.
        let off = gather::offset(f.distance + byte).unwrap_or_default();
        match ty {
            NumTy::Float(fmt) => Val::Real(fmt, store.elem(f.symbols, fmt, off)),
            _ => Val::Bits(store.bytes(f.symbols, off, ty.bits() as u8)),
        }
    }
}

impl Core<'_> {
    /// Notes an access of some bytes of an object, at a place that is these bits from its first byte on.
    pub(in crate::sim) fn note_chosen(
        &mut self,
        (w, pc): (usize, Pc),
        c: &Chosen,
        (object, at): (Object, TermId),
        index: Index,
        size: u32,
    ) {
        let name = match &object {
            Object::Array(a) => self.fixed.arrays[*a].name.clone(),
            Object::Own(name, _) => name.to_string(),
            Object::Failure(_) => return,
        };
        // A function has a result wherever it is called.
        if pure::is_table(&name) {
            return;
        }
        let distance = i64::try_from(index.linear.constant).unwrap_or(0);
        let end = distance.saturating_add(i64::from(size));
        let aligned = |k: i128| k & (i128::from(size) - 1) == 0;
        let is_aligned =
            aligned(i128::from(distance)) && index.linear.terms.iter().all(|&(_, k)| aligned(k));
        if is_aligned && self.is_always_inside(&object, &index, size) {
            return;
        }
        let store = &mut self.values.store;
        let minus = store.bits(64, (distance as u64).wrapping_neg());
        let raw = store.bits_op(BitsOp::Add, at, minus);
        let cond = match (c.cond, self.memory.gathers.passed.get(&(w, c.lane))) {
            (Some(cond), Some(&held)) => Some(store.and(cond, held)),
            (cond, held) => cond.or(held.copied()),
        };
        let text = format!("accesses {name} where data choose");
        let site = site(pc, w, 1 << c.lane, text);
        self.memory.gathers.note(Gather {
            object,
            raw,
            cond,
            span: (distance, end),
            unaligned: (!is_aligned).then_some(size),
            fits: index.fits,
            site,
        });
    }

    /// True if the ranges of the integers that choose a place say that it lies in its object.
    fn is_always_inside(&self, object: &Object, index: &Index, size: u32) -> bool {
        let extent = match object {
            Object::Array(a) => self.fixed.arrays[*a].extent,
            Object::Own(_, bytes) => Some(*bytes),
            Object::Failure(_) => return false,
        };
        let range = |t: TermId| self.values.store.integer_range(t);
        let most = extent.map_or(i128::from(i64::MAX), i128::from) - i128::from(size);
        let is_inside = |(lo, hi): (i128, i128)| 0 <= lo && hi <= most;
        index.fits.iter().all(|f| f.holds(range))
            && index.linear.interval(range).is_some_and(is_inside)
    }
}

impl Machine<'_> {
    /// Gives the lanes of which data choose an address what they load; the lanes that got something.
    pub(in crate::sim) fn load_chosen(
        &mut self,
        (w, pc): (usize, Pc),
        (chosen, targets): (&[Chosen], &mut Vec<Target>),
        access: &Access,
        dsts: &[Option<RegId>],
        offset: i64,
        used: u32,
    ) -> Result<u32, Stop> {
        let elem = access.ty.bits() / 8;
        let size = elem * dsts.len() as u32;
        let mut done = 0u32;
        for group in chosen.chunk_by(|a, b| a.lane == b.lane) {
            let lane = group[0].lane;
            let mut found = Vec::with_capacity(group.len());
            for c in group {
                let Some(f) = self.find_chosen((w, pc), c, access.space, offset, size) else {
                    self.core
                        .data_dependent_address(w, 1 << lane, pc, Val::Bits(c.addr));
                    return Err(Stop::Finding);
                };
                found.push((c.cond, f));
            }
            let known: Vec<Target> = targets.iter().filter(|t| t.lane == lane).copied().collect();
            targets.retain(|t| t.lane != lane);
            for (k, d) in dsts.iter().enumerate() {
                let Some(d) = d else { continue };
                let width = self.core.width(*d);
                let byte = k as u32 * elem;
                if used >> byte.min(31) & 1 == 0 {
                    let v = Val::Bits(self.core.values.fresh_bits(width));
                    self.core.set(w, *d, lane, v);
                    continue;
                }
                let mut options = Vec::with_capacity(found.len() + known.len());
                for (cond, f) in &found {
                    let v = self.core.values.chosen_value(f, i64::from(byte), access.ty);
                    options.push((*cond, v));
                }
                for t in &known {
                    let off = t.off as u64 + u64::from(byte);
                    let v = self
                        .core
                        .load_one(LaneAt { w, lane, pc }, t.region, off, access.ty);
                    options.push((t.cond, v));
                }
                let v = self
                    .core
                    .values
                    .one_option(&options, access.ty.bits() as u8);
                let v = extend(&mut self.core.values, v, access.ty, width);
                self.core.set(w, *d, lane, v);
                self.core.set_prov(w, *d, 1 << lane, Prov::NONE);
            }
            done |= 1 << lane;
        }
        Ok(done)
    }

    /// The function of the place that an address is, if its array is read only; notes the access.
    pub(in crate::sim) fn find_chosen(
        &mut self,
        (w, pc): (usize, Pc),
        c: &Chosen,
        space: Space,
        offset: i64,
        size: u32,
    ) -> Option<LaneRead> {
        let landing = self.core.memory.prov.landing(c.prov, space).ok()?;
        let array = self.readable(landing.region)?;
        let store = &mut self.core.values.store;
        if store.width(c.addr) != 64
            || !self
                .core
                .memory
                .gathers
                .is_usable(store, c.addr, self.core.fixed.arrays)
        {
            return None;
        }
        let from = store.bits(64, (offset as u64).wrapping_sub(landing.origin));
        let at = store.bits_op(BitsOp::Add, c.addr, from);
        let index = store.linear(at)?;
        let distance = i64::try_from(index.linear.constant).ok()?;
        let end = distance.checked_add(i64::from(size))?;
        gather::offset(distance).zip(gather::offset(end))?;
        let coefficient = |&(t, k): &(TermId, i128)| Some((t, i64::try_from(k).ok()?));
        let form: Option<Vec<_>> = index.linear.terms.iter().map(coefficient).collect();
        let form = form.filter(|f| !f.is_empty())?;
        let symbols = store.place(Place {
            array,
            form: form.into(),
        });
        self.sync.order.note_untracked_read(landing.region);
        self.core.threads.stats.accesses += 1;
        self.core
            .note_chosen((w, pc), c, (Object::Array(array), at), index, size);
        Some(LaneRead { symbols, distance })
    }

    /// The array of a region that no thread writes and of which nothing is known.
    pub(in crate::sim) fn readable(&self, region: RegionId) -> Option<ArrayId> {
        let r = &self.core.memory.regions[region.0 as usize];
        let RegionKind::Array(a) = r.kind else {
            return None;
        };
        let plain = r.initial == Initial::Symbols(a) && self.core.fixed.arrays[a].initial.is_none();
        let known = self.core.fixed.bindings.given.iter().any(|g| g.array == a);
        let pointer = matches!(
            self.core.fixed.arrays[a].origin,
            Origin::Pointer | Origin::Global
        );
        let written = r.left.is_some() || self.sync.order.tracks(region);
        (plain && pointer && !known && !written).then_some(a)
    }
}
