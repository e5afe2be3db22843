//! What premises say of single inputs.
//!
//! match two inputs of one array, the first of which stands in the premises p(x), the other in the premises p(y), and
//! in no others; result the first may go to the second; because what holds of x in a content that has the second at the
//! place of the first is what holds of y.
//!
//! What facts decide of every content says nothing more, and is left out.
//!
//! Premises are compared as terms of a store of their own, in which each has its only input at the beginning of the
//! array: equal terms say the same.

use rustc_hash::FxHashMap;

use super::{FLIPS, Terms, input};
use crate::term::premised::Ranges;
use crate::term::rebuild::rebuild;
use crate::term::{Term, TermId, TermStore};

/// What premises say of inputs.
#[derive(Default)]
pub(super) struct Premises {
    /// A number for all that is said of an input, by its number; empty if nothing is said of any.
    said: Vec<u32>,
    /// Arrays of which premises speak, and those of which they say what is said of more than one input, a bit each.
    pub arrays: u64,
    pub fixed: u64,
}

impl Premises {
    /// Those of both kernels. Numbers of inputs are below `inputs`.
    pub(super) fn of(terms: &[Terms<'_>; 2], inputs: usize) -> Premises {
        let mut out = Premises::default();
        if terms.iter().all(|t| t.store.premises.is_empty()) {
            return out;
        }
        let mut own = TermStore::new();
        let mut said: FxHashMap<u32, Vec<TermId>> = FxHashMap::default();
        for side in terms {
            let store = side.store;
            for p in beyond_facts(store) {
                let below = store.reachable(&[p]);
                let read: Vec<TermId> = below
                    .into_iter()
                    .filter(|&t| input(store, t).is_some())
                    .collect();
                out.arrays |= side.arrays[p.0 as usize];
                match read[..] {
                    [x] if !side.inputs[x.0 as usize].is_none()
                        && side.arrays[p.0 as usize] & 1 << FLIPS == 0 =>
                    {
                        let number = side.inputs[x.0 as usize].number;
                        let what = at_the_beginning(store, p, x, &mut own);
                        said.entry(number).or_default().push(what);
                    }
                    _ => out.fixed |= side.arrays[p.0 as usize],
                }
            }
        }
        let mut numbers: FxHashMap<Vec<TermId>, u32> = FxHashMap::default();
        out.said = vec![0; inputs];
        for (input, mut all) in said {
            all.sort_unstable();
            all.dedup();
            let next = numbers.len() as u32 + 1;
            out.said[input as usize] = *numbers.entry(all).or_insert(next);
        }
        out
    }

    /// True if the same is said of two inputs.
    pub(super) fn are_alike(&self, a: u32, b: u32) -> bool {
        self.said.is_empty() || self.said[a as usize] == self.said[b as usize]
    }
}

/// The premises that what facts say of single elements does not decide.
fn beyond_facts(store: &TermStore) -> Vec<TermId> {
    let all = &store.premises;
    if store.facts.is_empty() {
        return all.clone();
    }
    let mut own = TermStore::new();
    own.facts = store.facts.clone();
    let images = own.import_below(store, all);
    let both = all.iter().copied().zip(images);
    let open = both.filter(|&(_, p)| own.decided_in(p, &Ranges::default()) != Some(true));
    open.map(|(p, _)| p).collect()
}

/// A premise with its only input at the beginning of the array, in a store of its own.
fn at_the_beginning(store: &TermStore, p: TermId, x: TermId, own: &mut TermStore) -> TermId {
    let images = rebuild(store, &[p], own, |into, t, _| {
        if t != x {
            return None;
        }
        match store.get(x) {
            Term::Elem { array, fmt, .. } => Some(into.elem(array, fmt, 0)),
            Term::Bytes { array, width, .. } => Some(into.bytes(array, 0, width)),
            _ => None,
        }
    });
    images[0]
}
