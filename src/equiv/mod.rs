//! Are two clean outcomes equal?
//!
//! Problem: every element that either kernel writes must be the same function of the inputs, and
//! the optimized kernel must be defined wherever the reference is. Source: "Equivalence Checking of
//! ML GPU Kernels" for the decision by canonical forms; refutation by evaluation is how this
//! differs. The way: `elements` makes one condition for each element, `prove` decides it by equal
//! terms or equal canonical forms and discharges definedness (`needs`), `witness` searches for an
//! input on which the sides differ.
//!
//! Sound: `Equivalent` only if every condition is proved, `NotEquivalent` only with an input that
//! was evaluated with known error, or an element that surely only one kernel writes. A
//! reference element has to be defined where it is compared; the others need not be.
//!
//! What stays open is tried again with rounded constants read as the numbers that they stand for
//! (`constants`), unless the user forbids it. Evaluation at random points (`probable`) is tried only if the
//! user asks for it, and the answer then says how likely it is to be wrong.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

mod canon;
mod cases;
mod cells;
mod climb;
mod constants;
mod difference;
mod discharge;
mod elements;
mod explain;
mod guards;
mod idioms;
mod infinite;
mod judge;
mod lattice;
mod linear;
mod minimise;
mod monotone;
mod needs;
mod probable;
mod prove;
mod refute;
mod renaming;
mod residues;
mod ruling;
mod second;
mod special;
mod summands;
mod text;
mod total;
pub mod trial;
mod types;
mod witness;

pub use discharge::{discharge, merge};
pub use types::*;

use elements::Condition;
use judge::Judge;

use crate::sim::{Clean, Outcome, UnknownKind, Writes};
use crate::spec::Arrays;
use crate::term::{ArrayId, Term, TermId, TermStore};

/// Decides whether two runs compute the same.
pub fn decide(reference: Clean, optimized: Clean, arrays: &Arrays, options: &Options) -> Decision {
    let (reference, optimized) = (reference.into_inner(), optimized.into_inner());
    let shared = shared_unknowns(&reference.store, &optimized.store);
    let Outcome {
        mut store,
        writes: reference,
        ..
    } = reference;
    let optimized = {
        let map = store.import(&optimized.store);
        let piece = |(off, t): (u64, TermId)| (off, map[t.0 as usize]);
        let moved = optimized
            .writes
            .into_iter()
            .map(|(a, w)| (a, w.into_iter().map(piece).collect::<Writes>()));
        moved.collect::<BTreeMap<ArrayId, Writes>>()
    };
    let conditions = elements::conditions(&mut store, &reference, &optimized, arrays, options);
    let mut decision = summary(&store, &conditions, arrays);
    if conditions.is_empty() {
        decision.unknowns.push(Unresolved {
            kind: UnknownKind::NothingToCompare,
            message: "neither kernel writes an element that is compared".to_string(),
            count: 1,
            difference: None,
        });
        return decision;
    }
    if shared {
        decision.unknowns.push(Unresolved {
            kind: UnknownKind::NondeterministicValue,
            message: "both kernels share a value that depends on the schedule".to_string(),
            count: 1,
            difference: None,
        });
        return decision;
    }
    let work = match options.exact_constants {
        true => None,
        false => judge::first_work(&store, &conditions),
    };
    let judge = Judge {
        store: &store,
        arrays,
        options,
        work: probable::first_work(work, options),
    };
    judge.all(&conditions, &mut decision);
    decision
}

/// True if the two stores use one number for unknowns of their own, which would make them equal.
fn shared_unknowns(a: &TermStore, b: &TermStore) -> bool {
    let serials = |s: &TermStore| -> FxHashSet<u32> {
        (0..s.len() as u32)
            .filter_map(|i| match s.get(TermId(i)) {
                Term::Fresh { serial, .. } => Some(serial),
                _ => None,
            })
            .collect()
    };
    !serials(a).is_disjoint(&serials(b))
}

fn summary(store: &TermStore, conditions: &[Condition], arrays: &Arrays) -> Decision {
    let mut outputs: BTreeMap<ArrayId, OutputSummary> = BTreeMap::new();
    for c in conditions {
        let o = outputs.entry(c.array).or_insert_with(|| OutputSummary {
            array: c.array,
            name: text::array_name(arrays, c.array),
            elements: 0,
            proved: 0,
        });
        o.elements += 1;
    }
    Decision {
        verdict: Verdict::Unknown,
        outputs: outputs.into_values().collect(),
        counterexample: None,
        unknowns: Vec::new(),
        warnings: Vec::new(),
        assumptions: Vec::new(),
        chance: None,
        counts: Counts {
            conditions: conditions.len() as u64,
            terms: store.len() as u64,
            ..Counts::default()
        },
    }
}

#[cfg(test)]
mod tests;
