//! Are two clean outcomes equal?
//!
//! Problem: every element that either kernel writes must be the same function of the inputs, and
//! the optimized kernel must be defined wherever the reference is. Source: "Equivalence Checking of
//! ML GPU Kernels" for the decision by canonical forms; refutation by evaluation is how this
//! differs. The way: `elements` lists what is compared, `renaming` finds the elements that are others
//! with inputs renamed, which only one of them has to be decided for; `prove` decides one by equal
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

mod bdd;
mod blast;
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
mod summands;
mod text;
mod total;
pub mod trial;
mod types;
mod witness;

pub use discharge::{discharge, merge};
pub use types::*;

use elements::{Condition, Element, Run};
use judge::Judge;

use crate::sim::{Clean, Outcome, UnknownKind};
use crate::spec::Arrays;
use crate::term::{ArrayId, Term, TermId, TermStore};

/// Decides whether two runs compute the same.
pub fn decide(reference: Clean, optimized: Clean, arrays: &Arrays, options: &Options) -> Decision {
    let [mut reference, mut optimized] = [reference, optimized].map(|run| {
        let Outcome { store, writes, .. } = run.into_inner();
        Run { store, writes }
    });
    let elements = elements::elements(&mut reference, &mut optimized, arrays, options);
    let mut decision = summary(&elements, arrays);
    decision.counts.terms = (reference.store.len() + optimized.store.len()) as u64;
    let cannot = |kind, message: &str| Unresolved {
        kind,
        message: message.to_string(),
        count: 1,
        difference: None,
    };
    if elements.is_empty() {
        let message = "neither kernel writes an element that is compared";
        let why = cannot(UnknownKind::NothingToCompare, message);
        decision.unknowns.push(why);
        return decision;
    }
    if shared_unknowns(&reference.store, &optimized.store) {
        let message = "both kernels share a value that depends on the schedule";
        let why = cannot(UnknownKind::NondeterministicValue, message);
        decision.unknowns.push(why);
        return decision;
    }
    let (store, conditions) = conditions(reference, optimized, &elements, arrays, options);
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

/// One store for both kernels, and a condition for each element that is no renaming of another one.
fn conditions(
    reference: Run,
    optimized: Run,
    elements: &[Element],
    arrays: &Arrays,
    options: &Options,
) -> (TermStore, Vec<Condition>) {
    let stores = [&reference.store, &optimized.store];
    let stands_for = renaming::representatives(stores, elements, &options.limits);
    let mut alike = vec![0; elements.len()];
    for (i, &r) in stands_for.iter().enumerate() {
        alike[r] += u64::from(i != r);
    }
    let kept: Vec<usize> = (0..elements.len())
        .filter(|&i| stands_for[i] == i)
        .collect();
    let roots = |side: usize| -> Vec<TermId> {
        let content = kept.iter().map(|&i| elements[i].content[side]);
        content.collect()
    };
    let (x, y) = (roots(0), roots(1));
    let few = reference.store.cone_size(x.iter().copied()) < reference.store.len() / 2;
    let (mut store, x) = match few {
        true => {
            let mut store = TermStore::new();
            let x = store.import_below(&reference.store, &x);
            (store, x)
        }
        false => (reference.store, x),
    };
    let y = store.import_below(&optimized.store, &y);
    let contents = x.into_iter().zip(y);
    let conditions = kept.iter().zip(contents).map(|(&i, (x, y))| {
        let c = elements::condition(&mut store, &elements[i], [x, y], arrays);
        Condition {
            alike: alike[i],
            ..c
        }
    });
    let conditions = conditions.collect();
    (store, conditions)
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

fn summary(elements: &[Element], arrays: &Arrays) -> Decision {
    let mut outputs: BTreeMap<ArrayId, OutputSummary> = BTreeMap::new();
    for e in elements {
        let o = outputs.entry(e.array).or_insert_with(|| OutputSummary {
            array: e.array,
            name: text::array_name(arrays, e.array),
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
            conditions: elements.len() as u64,
            ..Counts::default()
        },
    }
}

#[cfg(test)]
mod tests;
