//! Loads from places that data choose.
//!
//! Problem: `table[ids[i]]` has no address that could be known. Of an array that the launch does not write the load is a
//! function of the place (`term::gather`), and what it takes is noted: that the place lies in the array, is aligned, and
//! that no integer on the way to it wraps. Of the reference these are part of being defined; of the optimized kernel they
//! are to be shown (`decide::bounds`); where one kernel is looked at alone they are assumptions.
//!
//! Sound: an array that some thread of the launch writes is tracked before it is read; a load of it has no value here.
//!
//! Not claimed: anything about loads that synchronise, and about arrays whose content is known in part.

use rustc_hash::FxHashMap;

use crate::kernel::{Access, NumTy, Pc, RegId, Space, pure};
use crate::spec::Origin;
use crate::term::gather::{self, Fit, Index, Place};
use crate::term::{ArrayId, BitsOp, Term, TermId};

use super::Site;
use super::address::provenance::Prov;
use super::machine::{Machine, RegionId, Stop};
use super::memory::{Initial, RegionKind, extend};
use super::place::Target;
use super::value::Val;

/// Terms of one index that are looked at.
const MOST: usize = 1 << 12;

/// An object in which data choose a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// An array of the launch.
    Array(ArrayId),
    /// A variable of the kernel: its name and its bytes.
    Own(Box<str>, u64),
    /// None: where the condition holds the kernel fails, in these words.
    Failure(&'static str),
}

/// An address of a lane that data choose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    /// The lane.
    pub lane: usize,
    /// The access happens only if this holds; `None` is always.
    pub cond: Option<TermId>,
    /// The address, without the constant of the instruction.
    pub addr: TermId,
    /// The object that it is derived from.
    pub prov: Prov,
}

/// Accesses to one object at constant distances from one place that data choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gather {
    /// The object.
    pub object: Object,
    /// The place as bits: bytes from the first one on, without the constant part.
    pub raw: TermId,
    /// They happen only if this holds; `None` is always.
    pub cond: Option<TermId>,
    /// The first byte and the end of what is accessed, from the place on.
    pub span: (i64, i64),
    /// The size of the largest access that nothing says to be aligned.
    pub unaligned: Option<u32>,
    /// What has to be true for no integer to wrap.
    pub fits: Vec<Fit>,
    /// One of the threads.
    pub site: Site,
}

impl Gather {
    /// The terms that it speaks of.
    pub fn terms(&self) -> impl Iterator<Item = TermId> {
        let fits = self.fits.iter().flat_map(|f| &f.value.terms);
        let fits = fits.map(|t| t.0);
        [self.raw].into_iter().chain(self.cond).chain(fits)
    }

    /// The same in another store, in which terms are what `m` says, by a CTA.
    pub fn moved(mut self, m: impl Fn(TermId) -> TermId, cta: Option<[u32; 3]>) -> Gather {
        self.raw = m(self.raw);
        self.cond = self.cond.map(&m);
        for f in &mut self.fits {
            for t in &mut f.value.terms {
                t.0 = m(t.0);
            }
            f.value.terms.sort_unstable();
        }
        self.site.cta = cta.or(self.site.cta);
        self
    }
}

/// The gathers of a run, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Gathers {
    list: Vec<Gather>,
    known: FxHashMap<(Object, TermId, Option<TermId>), usize>,
    /// The assertions that have held of a lane.
    pub(super) passed: FxHashMap<(usize, usize), TermId>,
    usable: FxHashMap<TermId, bool>,
}

impl Gathers {
    /// What was accessed.
    pub(crate) fn into_list(self) -> Vec<Gather> {
        self.list
    }
}

/// Where a lane reads: the array's symbols, the distance of the first byte from the place.
pub(crate) struct Found {
    symbols: ArrayId,
    distance: i64,
}

impl Machine<'_> {
    /// Gives the lanes of which data choose an address what they load; the lanes that got something.
    pub(super) fn load_chosen(
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
                    self.data_dependent_address(w, 1 << lane, pc, Val::Bits(c.addr));
                    return Err(Stop::Finding);
                };
                found.push((c.cond, f));
            }
            let known: Vec<Target> = targets.iter().filter(|t| t.lane == lane).copied().collect();
            targets.retain(|t| t.lane != lane);
            for (k, d) in dsts.iter().enumerate() {
                let Some(d) = d else { continue };
                let width = self.width(*d);
                let byte = k as u32 * elem;
                if used >> byte.min(31) & 1 == 0 {
                    let v = Val::Bits(self.fresh_bits(width));
                    self.set(w, *d, lane, v);
                    continue;
                }
                let mut options = Vec::with_capacity(found.len() + known.len());
                for (cond, f) in &found {
                    let v = self.chosen_value(f, i64::from(byte), access.ty);
                    options.push((*cond, v));
                }
                for t in &known {
                    let off = t.off as u64 + u64::from(byte);
                    let v = self.load_one(w, lane, pc, t.region, off, access.ty);
                    options.push((t.cond, v));
                }
                let v = self.one_of(&options, access.ty.bits() as u8);
                let v = extend(&mut self.values, v, access.ty, width);
                self.set(w, *d, lane, v);
                self.set_prov(w, *d, 1 << lane, Prov::NONE);
            }
            done |= 1 << lane;
        }
        Ok(done)
    }

    /// The value at a distance from what was found.
    pub(super) fn chosen_value(&mut self, f: &Found, byte: i64, ty: NumTy) -> Val {
        let store = &mut self.values.store;
        // The distance was checked for the whole access.
        let off = gather::offset(f.distance + byte).unwrap_or_default();
        match ty {
            NumTy::Float(fmt) => Val::Real(fmt, store.elem(f.symbols, fmt, off)),
            _ => Val::Bits(store.bytes(f.symbols, off, ty.bits() as u8)),
        }
    }

    /// The function of the place that an address is, if its array is read only; notes the access.
    pub(super) fn find_chosen(
        &mut self,
        (w, pc): (usize, Pc),
        c: &Chosen,
        space: Space,
        offset: i64,
        size: u32,
    ) -> Option<Found> {
        let landing = self.prov.landing(c.prov, space).ok()?;
        let array = self.readable(landing.region)?;
        let store = &mut self.values.store;
        if store.width(c.addr) != 64 || !self.gathers.is_usable(store, c.addr, self.arrays) {
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
        self.order.note_untracked_read(landing.region);
        self.stats.accesses += 1;
        self.note_chosen((w, pc), c, (Object::Array(array), at), index, size);
        Some(Found { symbols, distance })
    }

    /// Notes an access of some bytes of an object, at a place that is these bits from its first byte on.
    pub(super) fn note_chosen(
        &mut self,
        (w, pc): (usize, Pc),
        c: &Chosen,
        (object, at): (Object, TermId),
        index: Index,
        size: u32,
    ) {
        let name = match &object {
            Object::Array(a) => self.arrays[*a].name.clone(),
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
        let store = &mut self.values.store;
        let minus = store.bits(64, (distance as u64).wrapping_neg());
        let raw = store.bits_op(BitsOp::Add, at, minus);
        let cond = match (c.cond, self.gathers.passed.get(&(w, c.lane))) {
            (Some(cond), Some(&held)) => Some(store.and(cond, held)),
            (cond, held) => cond.or(held.copied()),
        };
        let text = format!("accesses {name} where data choose");
        let site = self.site(pc, w, 1 << c.lane, text);
        self.gathers.note(Gather {
            object,
            raw,
            cond,
            span: (distance, end),
            unaligned: (!is_aligned).then_some(size),
            fits: index.fits,
            site,
        });
    }

    /// The array of a region that no thread writes and of which nothing is known.
    pub(super) fn readable(&self, region: RegionId) -> Option<ArrayId> {
        let r = &self.regions[region.0 as usize];
        let RegionKind::Array(a) = r.kind else {
            return None;
        };
        let plain = r.initial == Initial::Symbols(a) && self.arrays[a].initial.is_none();
        let known = self.bindings.given.iter().any(|g| g.array == a);
        let pointer = matches!(self.arrays[a].origin, Origin::Pointer | Origin::Global);
        let written = r.left.is_some() || self.order.tracks(region);
        (plain && pointer && !known && !written).then_some(a)
    }
}

impl Gathers {
    /// Takes note of accesses; those at distances from one place, under one condition, are one entry.
    pub(crate) fn note(&mut self, g: Gather) {
        let key = (g.object.clone(), g.raw, g.cond);
        match self.known.get(&key) {
            Some(&i) => {
                let old = &mut self.list[i];
                old.span = (old.span.0.min(g.span.0), old.span.1.max(g.span.1));
                old.unaligned = old.unaligned.max(g.unaligned);
                for f in g.fits {
                    if !old.fits.contains(&f) {
                        old.fits.push(f);
                    }
                }
            }
            None => {
                self.known.insert(key, self.list.len());
                self.list.push(g);
            }
        }
    }

    /// True if nothing below an address is uninitialised, a parameter without a value, or the bits of a number that
    /// was rounded.
    pub(crate) fn is_usable(
        &mut self,
        store: &crate::term::TermStore,
        t: TermId,
        arrays: &crate::spec::Arrays,
    ) -> bool {
        if let Some(&known) = self.usable.get(&t) {
            return known;
        }
        let mut seen = rustc_hash::FxHashSet::default();
        let mut open = vec![t];
        let mut usable = true;
        while let Some(t) = open.pop() {
            if !seen.insert(t) {
                continue;
            }
            let refused = match store.get(t) {
                Term::Poison { .. } | Term::Undefined => true,
                Term::Bytes { array, .. } | Term::Elem { array, .. } => {
                    let a = arrays.0.get(store.array_of(array).0 as usize);
                    a.is_some_and(|a| a.origin == Origin::Scalar)
                }
                _ => store.is_loose(t),
            };
            if refused || seen.len() > MOST {
                usable = false;
                break;
            }
            store.children(t, |c| open.push(c));
        }
        self.usable.insert(t, usable);
        usable
    }
}
