//! Equal polynomials of degree two, each named by one symbol before anything is normalised.
//!
//! Problem: a normalisation takes the root of a variance, divides by a sum of squares, or compares with one, and the
//! form of a variance of n elements has n^2 terms, that of its recurrence n^3 on the way.
//!
//! match terms that are operands of what is no sum or product, in both kernels, and equal polynomials of degree
//! two in what has a value on every input; result one symbol for each class of them; because what is equal for every
//! value of the symbol is equal for that of the polynomial, which has one on every input.
//!
//! Sound in that direction only: what a sign or a bound of the polynomial would show is lost. So what stays open
//! is decided without symbols.

use rustc_hash::FxHashMap;

use super::goal::{Condition, Pairs};
use super::limits::TACTICS;
use crate::kernel::Fmt;
use crate::norm::Polynomials;
use crate::term::rebuild::rebuild;
use crate::term::{ArrayId, Sort, TermId, TermStore};

/// The conditions with a symbol for each polynomial that both kernels compute; `None` if there is none that
/// is worth one.
pub(super) fn named(
    store: &TermStore,
    conditions: &[Condition],
) -> Option<(TermStore, Vec<Condition>)> {
    let pairs = || conditions.iter().flat_map(|c| &c.pairs);
    let differing = || pairs().filter(|(a, b)| a != b);
    let sides: [Vec<TermId>; 2] = [
        differing().map(|p| p.0).collect(),
        differing().map(|p| p.1).collect(),
    ];
    // A place that data choose is named by terms of its store.
    if sides[0].is_empty() || store.has_places() {
        return None;
    }
    let operands = sides.map(|roots| operands(store, &roots));
    let mut all: Vec<TermId> = operands.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    let mut polynomials = Polynomials::of(store, &all)?;
    let large = |&t: &TermId| {
        let size = polynomials.size_of_quadratic(t);
        size.is_some_and(|n| n >= TACTICS.quadratic)
    };
    all.retain(large);
    if all.is_empty() {
        return None;
    }
    let first = polynomials.first_equal(&all);
    let class: FxHashMap<TermId, TermId> = all.into_iter().zip(first).collect();
    let of = |side: &[TermId]| -> Vec<TermId> {
        side.iter().filter_map(|t| class.get(t).copied()).collect()
    };
    let [mut shared, other] = [of(&operands[0]), of(&operands[1])];
    shared.sort_unstable();
    shared.dedup();
    shared.retain(|t| other.contains(t));
    if shared.is_empty() {
        return None;
    }
    let mut into = TermStore::new();
    into.import_below(store, &[]);
    let roots: Vec<TermId> = pairs().flat_map(|&(a, b)| [a, b]).collect();
    let symbol = |into: &mut TermStore, t: TermId| {
        let i = shared.binary_search(class.get(&t)?).ok()?;
        Some(into.elem(ArrayId::NUMBERS, Fmt::F64, 8 * i as u64))
    };
    let roots = rebuild(store, &roots, &mut into, |into, t, _| symbol(into, t));
    let mut roots = roots.chunks(2).map(|p| (p[0], p[1]));
    let conditions = conditions.iter().map(|c| Condition {
        pairs: roots.by_ref().take(c.pairs.len()).collect::<Pairs>(),
        ..c.clone()
    });
    Some((into, conditions.collect()))
}

/// The sums and products that others than sums and products are made of.
fn operands(store: &TermStore, roots: &[TermId]) -> Vec<TermId> {
    let mut out = Vec::new();
    for t in store.reachable(roots) {
        if !Polynomials::takes_apart(store, t) {
            store.children(t, |c| {
                let real = store.sort(c) == Sort::Real && store.is_total(c);
                if real && !store.is_loose(c) && Polynomials::takes_apart(store, c) {
                    out.push(c);
                }
            });
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}
