//! Arrays in which data choose places, and which may move as a whole.
//!
//! Sound: facts keep each read at a place that data choose inside of the array, whatever pair of elements it is of.

use rustc_hash::FxHashMap;

use super::{ARRAYS, input, slot};
use crate::spec::Arrays;
use crate::term::gather::distance;
use crate::term::{ArrayId, TermId, TermStore};

/// The arrays, a bit each.
pub(super) fn arrays(stores: [&TermStore; 2], arrays: &Arrays) -> u64 {
    let chosen = stores.iter().flat_map(|s| s.chosen_arrays());
    let extents = arrays.0.iter().enumerate().filter_map(|(i, a)| {
        let unknown = a.initial.is_none() && a.pointers.is_none();
        let extent = a.extent.filter(|_| unknown && i < ARRAYS)?;
        Some((ArrayId(i as u32), i128::from(extent)))
    });
    let extents: FxHashMap<ArrayId, i128> = extents.collect();
    let known = chosen.filter(|a| extents.contains_key(a));
    let mut slides = known.fold(0, |all, a| all | 1 << slot(a));
    if slides == 0 {
        return 0;
    }
    for store in stores {
        let mut known: FxHashMap<ArrayId, Option<(i128, i128)>> = FxHashMap::default();
        for t in (0..store.len() as u32).map(TermId) {
            let Some((place, off, bytes)) = input(store, t).filter(|i| i.0.is_place()) else {
                continue;
            };
            let Some(p) = store.place_of(place) else {
                continue;
            };
            let range = *known.entry(place).or_insert_with(|| store.distances(p));
            let at = i128::from(distance(off));
            let is_inside = range
                .zip(extents.get(&p.array))
                .is_some_and(|((lo, hi), &extent)| {
                    at + lo >= 0 && at + hi + i128::from(bytes) <= extent
                });
            if !is_inside {
                slides &= !(1 << slot(p.array));
            }
        }
    }
    // The bit behind them is that of all other arrays.
    slides & !(1 << ARRAYS)
}
