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

use crate::sim::limits::LIMITS;
use rustc_hash::FxHashMap;

use crate::sim::state::recorded;
use crate::spec::Origin;
use crate::term::gather::Fit;
use crate::term::{ArrayId, Term, TermId};

use super::Site;
use super::address::provenance::Prov;

mod exec;

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
#[derive(Clone, Debug, Default)]
pub struct Gathers {
    list: Vec<Gather>,
    known: FxHashMap<(Object, TermId, Option<TermId>), usize>,
    /// The assertions that have held of a lane.
    pub(super) passed: FxHashMap<(usize, usize), TermId>,
    usable: FxHashMap<TermId, bool>,
}

recorded!(Gathers {}
    tables { passed }
    beside { list: "owed", known: "derived", usable: "of terms" });

impl Gathers {
    /// What was accessed.
    pub fn into_list(self) -> Vec<Gather> {
        self.list
    }
}

/// Where a lane reads: the array's symbols, the distance of the first byte from the place.
pub(crate) struct LaneRead {
    symbols: ArrayId,
    distance: i64,
}

impl Gathers {
    /// Takes note of accesses; those at distances from one place, under one condition, are one entry.
    pub fn note(&mut self, g: Gather) {
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
            if refused || seen.len() > LIMITS.gather_terms {
                usable = false;
                break;
            }
            store.children(t, |c| open.push(c));
        }
        self.usable.insert(t, usable);
        usable
    }
}
