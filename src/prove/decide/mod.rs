//! Are two clean outcomes equal?
//!
//! Problem: every element that either kernel writes must be the same function of the inputs, and
//! the optimized kernel must be defined wherever the reference is. Source: "Equivalence Checking of
//! ML GPU Kernels" for the decision by canonical forms; refutation by evaluation, and before any form,
//! is how this differs. The way: `goal` lists what is compared, `renaming` finds the elements that are
//! others with inputs renamed, which only one of them has to be decided for; `judge` is the driver;
//! `refute` finds inputs on which the sides differ, `tactics` prove what has none.
//!
//! Sound: [`Ruling::Proved`](ruling::Ruling) only with a proof of every goal, a refutation only with an
//! input that was evaluated with known error, or an element that surely only one kernel writes. A
//! reference element has to be defined where it is compared; the others need not be.
//!
//! Rulings are typed; `explain` makes the answer and its sentences of them.

use rustc_hash::FxHashSet;

mod asked;
pub mod bounds;
mod canon;
mod claim;
pub mod goal;
mod guards;
mod judge;
mod lattice;
mod limits;
pub mod logic;
mod masks;
mod names;
pub(crate) mod needs;
mod options;
pub(crate) mod prove;
pub mod refute;
mod renaming;
mod round;
pub(crate) mod ruling;
mod tactic;
pub(crate) mod tactics;
mod total;

pub(crate) use judge::Named;
pub use options::{Coverage, Options};
pub use ruling::Chance;

use goal::{Condition, Element, Run};
use judge::Judge;
use ruling::Rulings;

use crate::sim::{Clean, Outcome, UnknownKind};
use crate::spec::Arrays;
use crate::term::{Fun, Term, TermId, TermStore};

/// The decision of a pair, with all that it can be explained by.
pub(crate) struct Decided {
    /// Both kernels.
    pub store: TermStore,
    /// The same with library functions by their names, if there are any.
    pub named: Option<Named>,
    pub conditions: Vec<Condition>,
    pub rulings: Rulings,
    /// Why nothing can be decided.
    pub cannot: Option<(UnknownKind, &'static str)>,
    /// Terms of both kernels.
    pub terms: u64,
}

/// Decides whether two runs compute the same.
pub(crate) fn decide(
    reference: Clean,
    optimized: Clean,
    arrays: &Arrays,
    options: &Options,
) -> Decided {
    let [mut reference, mut optimized] = [reference, optimized].map(|run| {
        let Outcome { store, writes, .. } = run.into_inner();
        Run { store, writes }
    });
    aligned(&reference, &mut optimized);
    let elements = goal::elements(&mut reference, &mut optimized, arrays, options);
    let terms = (reference.store.len() + optimized.store.len()) as u64;
    let cannot = if elements.is_empty() {
        let message = "neither kernel writes an element that is compared";
        Some((UnknownKind::NothingToCompare, message))
    } else if shared_unknowns(&reference.store, &optimized.store) {
        let message = "both kernels share a value that depends on the schedule";
        Some((UnknownKind::NondeterministicValue, message))
    } else {
        None
    };
    // What a formula calls a hyperbolic tangent is one, whatever the approximate one of a machine is off.
    let is_tanh = |t| matches!(optimized.store.get(TermId(t)), Term::Fun(Fun::Tanh, _));
    let library_tanh =
        reference.store.library_tanh && !(0..optimized.store.len() as u32).any(is_tanh);
    let (mut store, conditions) = conditions(reference, optimized, &elements, arrays, options);
    store.library_tanh = library_tanh;
    let mut out = Decided {
        named: None,
        store,
        conditions,
        rulings: Rulings::default(),
        cannot,
        terms,
    };
    if out.cannot.is_some() {
        return out;
    }
    match options.masks_are_infinite {
        true => masks::rule(out, arrays, options),
        false => {
            out.rule(arrays, options);
            out
        }
    }
}

impl Decided {
    /// Rules on all elements.
    fn rule(&mut self, arrays: &Arrays, options: &Options) {
        self.named = Named::of(&self.store, &self.conditions, &options.limits);
        let judge = Judge {
            store: &self.store,
            named: self.named.as_ref(),
            conditions: &self.conditions,
            arrays,
            options,
        };
        let mut rulings = judge.all();
        judge.claim_something(&mut rulings);
        judge.name_poles(&mut rulings);
        self.rulings = rulings;
    }
}

/// Lets the places that data choose have the same ids in both runs.
fn aligned(reference: &Run, optimized: &mut Run) {
    if !reference.store.has_places() && !optimized.store.has_places() {
        return;
    }
    let mut store = TermStore::new();
    store.take_places(&reference.store);
    let map = store.import(&optimized.store);
    for t in optimized.writes.values_mut().flat_map(|w| w.values_mut()) {
        *t = map[t.0 as usize];
    }
    optimized.store = store;
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
    let stands_for = renaming::representatives(stores, elements, arrays, &options.limits);
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
        let c = goal::condition(&mut store, &elements[i], [x, y], arrays);
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
