//! Accesses at places that data choose, element by element.
//!
//! Problem: `out[ids[i]] += g` has no address that could be known, and what the array holds afterwards is no function of a
//! place alone. The way: the access becomes one for each element that the place may be, each under the condition that it
//! is that one. An array thus keeps, for each element, the list of all that may have written it, initial content
//! included, in the order in which that happened: a chain of selections (or of updates, for atomics). Elements at known
//! places, reads and races need nothing of their own: they are accesses under conditions like others.
//!
//! Source: the theory of arrays by case split over the index (McCarthy, "Towards a Mathematical Science of Computation",
//! 1962). How this differs: which elements there are follows from the linear form of the place (`term::gather`), so that
//! a row that data choose has as many cases as there are rows.
//!
//! Sound: the conditions exclude each other, and one of them holds wherever the place lies in the object and is aligned.
//! That it does is noted as of a gather: of the reference it is part of being defined, of the optimized kernel it is to
//! be shown (`decide::bounds`), of a kernel alone an assumption.
//!
//! Not claimed: anything about objects with more elements than [`LIMITS.scatter_elements`].

use crate::sim::limits::LIMITS;
use num_integer::gcd;

use crate::answer::UnknownKind;
use crate::kernel::{Addr, Pc, Space};
use crate::term::gather::{Index, Linear};
use crate::term::{BitsOp, ICmp, TermId, TermStore};

use super::address::provenance::Landing;
use super::at::site;
use super::gather::{Chosen, Object};
use super::machine::{Core, Machine};
use super::memory::RegionKind;
use super::place::{Target, local_stride};
use super::region::{LOCAL, SHARED};
use super::step::Under;
use super::stop::Stop;
use super::val::Val;

/// Bits of a remainder of a place that is looked at where integers may wrap.
const WORD: u32 = 32;

/// Offsets that a place may have from the first byte of its object, each with its condition.
type Elements = Vec<(u64, TermId)>;

impl Core<'_> {
    /// What an object of the kernel is called.
    fn variable(&self, landing: &Landing) -> String {
        match landing.region {
            SHARED => {
                let off = self.memory.unmoved(landing.bounds.0 as u64);
                let mut all = self.fixed.kernel.shared.iter();
                let found = all.find(|v| u64::from(v.offset) == off);
                found.map_or("shared memory".into(), |v| v.name.to_string())
            }
            _ => "local memory".into(),
        }
    }

    fn too_many(&mut self, w: usize, pc: Pc, c: &Chosen, landing: &Landing) {
        let name = match self.memory.regions[landing.region.0 as usize].kind {
            RegionKind::Array(a) => self.fixed.arrays[a].name.clone(),
            _ => self.variable(landing),
        };
        let site = site(
            pc,
            w,
            1 << c.lane,
            format!("accesses {name} where data choose"),
        );
        self.found.unknown(UnknownKind::DataDependentAddress, vec![site], || {
            format!(
                "data choose among more than {} elements of {name}: give it a smaller extent with --arg, or say with \
                 --assume 'KEY in A..B' in which range the indices lie",
                LIMITS.scatter_elements
            )
        });
    }

    /// The object of an address, and its distance from the first byte of that as bits, with the linear form.
    fn located(
        &mut self,
        c: &Chosen,
        space: Space,
        offset: i64,
    ) -> Option<(Landing, TermId, Index)> {
        let landing = self.memory.prov.landing(c.prov, space).ok()?;
        let kind = self.memory.regions[landing.region.0 as usize].kind;
        let is_whole = landing.spare == (0, 0) && kind != RegionKind::Param;
        let store = &mut self.values.store;
        if !is_whole
            || !self
                .memory
                .gathers
                .is_usable(store, c.addr, self.fixed.arrays)
        {
            return None;
        }
        let first = landing.origin.wrapping_add_signed(landing.bounds.0);
        let width = store.width(c.addr);
        let from = store.bits(width, (offset as u64).wrapping_sub(first));
        let at = store.bits_op(BitsOp::Add, c.addr, from);
        let index = store.linear(at)?;
        Some((landing, at, index))
    }
}

impl Machine<'_> {
    /// The targets of an access that may be made element by element.
    pub(super) fn all_targets(
        &mut self,
        (w, exec, pc): (usize, u32, Pc),
        space: Space,
        addr: Addr,
        under: &Under,
        size: u32,
    ) -> Result<Vec<Target>, Stop> {
        let mut chosen = Vec::new();
        let mut out =
            self.core
                .targets_or_chosen((w, exec, pc), space, addr, under, &mut chosen)?;
        self.spread((w, pc), &chosen, &mut out, (space, addr.offset), size)?;
        Ok(out)
    }

    /// Of addresses that data choose, those of a load that are functions of a place; the others become targets.
    pub(super) fn spread_loads(
        &mut self,
        at: (usize, Pc),
        chosen: Vec<Chosen>,
        targets: &mut Vec<Target>,
        to: (Space, i64),
        (size, plain): (u32, bool),
    ) -> Result<Vec<Chosen>, Stop> {
        let is_function = |c: &Chosen| match self.core.memory.prov.landing(c.prov, to.0) {
            Ok(l) => plain && self.readable(l.region).is_some(),
            Err(_) => false,
        };
        let (functions, others): (Vec<_>, Vec<_>) = chosen.into_iter().partition(is_function);
        self.spread(at, &others, targets, to, size)?;
        Ok(functions)
    }

    /// Adds a target for each element that a place may be, in the order of the lanes.
    fn spread(
        &mut self,
        (w, pc): (usize, Pc),
        chosen: &[Chosen],
        targets: &mut Vec<Target>,
        (space, offset): (Space, i64),
        size: u32,
    ) -> Result<(), Stop> {
        for c in chosen {
            let Some((landing, at, index)) = self.core.located(c, space, offset) else {
                self.core
                    .data_dependent_address(w, 1 << c.lane, pc, Val::Bits(c.addr));
                return Err(Stop::Finding);
            };
            let first = landing.bounds.0;
            // Offsets are told apart as integers of the width of the address.
            let most = u64::MAX >> (65 - self.core.values.store.width(at));
            let bytes = most.min((landing.bounds.1 - first) as u64);
            let store = &mut self.core.values.store;
            let Some(elements) = elements(store, (at, &index), bytes, size) else {
                self.core.too_many(w, pc, c, &landing);
                return Err(Stop::Finding);
            };
            let object = match self.core.memory.regions[landing.region.0 as usize].kind {
                RegionKind::Array(a) => Object::Array(a),
                _ => Object::Own(self.core.variable(&landing).into(), bytes),
            };
            let wide = self.core.values.extended(at, false, 64);
            self.core
                .note_chosen((w, pc), c, (object, wide), index, size);
            let own = match landing.region {
                LOCAL => {
                    let rank = self.core.threads.warps[w].first as i64 + c.lane as i64;
                    rank * local_stride(self.core.fixed.kernel.local_bytes) as i64
                }
                _ => 0,
            };
            for (off, is_there) in elements {
                let store = &mut self.core.values.store;
                let cond = c.cond.map_or(is_there, |k| store.and(k, is_there));
                if store.as_bool(cond) == Some(false) {
                    continue;
                }
                targets.push(Target {
                    lane: c.lane,
                    cond: store.as_bool(cond).is_none().then_some(cond),
                    region: landing.region,
                    off: own + first + off as i64,
                    base: landing.base,
                });
            }
        }
        if !chosen.is_empty() {
            targets.sort_by_key(|t| t.lane);
            self.sync.meet_each();
        }
        Ok(())
    }
}

/// The elements of an object that a place may be where it lies inside and is aligned; `None` if they are too many.
fn elements(
    store: &mut TermStore,
    (at, index): (TermId, &Index),
    bytes: u64,
    size: u32,
) -> Option<Elements> {
    let last = i128::from(bytes) - i128::from(size);
    let size = i128::from(size);
    let w = store.width(at);
    let mut out = Elements::new();
    let linear = &index.linear;
    if let (&[(t, k)], true) = (&linear.terms[..], index.fits.is_empty()) {
        // One integer alone: an offset is constant + k * t.
        let of = |n: i128| (n - linear.constant, k.unsigned_abs() as i128);
        let (lo, hi) = store.integer_range(t);
        let ((a, by), (b, _)) = (of(0), of(last));
        // Rounded inwards.
        let (up, down) = (|n: i128| -(-n).div_euclid(by), |n: i128| n.div_euclid(by));
        let (from, to) = match k > 0 {
            true => (up(a), down(b)),
            false => (-down(b), -up(a)),
        };
        let width = store.width(t);
        for v in from.max(lo)..=to.min(hi) {
            let off = linear.constant + k * v;
            if off.rem_euclid(size) != 0 {
                continue;
            }
            let value = store.bits(width, v as u64);
            out.push((off as u64, store.icmp(ICmp::Eq, t, value)));
            if out.len() > LIMITS.scatter_elements {
                return None;
            }
        }
        return Some(out);
    }
    let (step, (lo, hi)) = (step(linear, index), range(store, index));
    let first = lo.max(0) + (linear.constant - lo.max(0)).rem_euclid(step);
    let mut off = first;
    while off <= last.min(hi) {
        if off.rem_euclid(size) == 0 {
            let value = store.bits(w, off as u64);
            out.push((off as u64, store.icmp(ICmp::Eq, at, value)));
        }
        if out.len() > LIMITS.scatter_elements
            || (off - first) / step > 16 * LIMITS.scatter_elements as i128
        {
            return None;
        }
        off += step;
    }
    Some(out)
}

/// All that a place may be has the same remainder as its constant part by this.
fn step(linear: &Linear, index: &Index) -> i128 {
    let common = linear
        .terms
        .iter()
        .fold(0i128, |g, &(_, k)| gcd(g, k.abs()))
        .max(1);
    match index.fits.is_empty() {
        true => common,
        // An integer that wraps changes by a multiple of 2 to the width of its type.
        false => {
            let bits = |lo: i128, hi: i128| (hi - lo + 1).trailing_zeros();
            let narrow = index.fits.iter().map(|f| bits(f.lo, f.hi));
            let narrow = narrow.min().unwrap_or(WORD).min(common.trailing_zeros());
            1 << narrow.min(WORD)
        }
    }
}

/// The range of a place, if no integer wraps.
fn range(store: &TermStore, index: &Index) -> (i128, i128) {
    let all = (0, i128::MAX / 4);
    match index.fits.is_empty() {
        true => index
            .linear
            .interval(|t| store.integer_range(t))
            .unwrap_or(all),
        false => all,
    }
}

#[cfg(test)]
mod tests;
