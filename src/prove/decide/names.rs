//! Equal sums of both kernels, each named by one symbol before elements are normalised.
//!
//! Problem: every element of a normalisation holds the mean and the variance of its row, in each kernel as that one computes
//! them. Put into the form of each of n elements, sums of n terms make n^2 terms, and their products n^3.
//!
//! match large sums and products that others are made of, with equal values in both kernels; result one symbol for each
//! class of them, the smallest first; because what is equal for every value of a symbol is equal for the value of the sum.
//!
//! Which terms may be equal says their evaluation at random points (`norm::probable`), which proves nothing; that they are, their
//! derivatives (`norm::Polynomials`) or their canonical forms, in which smaller sums have their symbols. This is how
//! circuits are swept (Kuehlmann and Krohm, "Equivalence checking using cuts and heaps", 1997).
//!
//! A sum that may lack a value lacks it where one of its partial operands does: these stand beside the symbol, times 0. A
//! symbol of a sum of squares is an absolute value. Sound in the direction of equality only: what else a sum would
//! show is lost, so what stays open is decided again without symbols.

use rustc_hash::{FxHashMap, FxHashSet};

use super::asked::Pair;
use super::canon::Canon;
use super::goal::{Condition, Pairs};
use super::limits::{self, NAMES};
use crate::kernel::Fmt;
use crate::norm::{Polynomials, probable};
use crate::term::rebuild::copy;
use crate::term::{ArrayId, Fun, Sort, Term, TermId, TermStore};

/// Whether sums are large.
pub(super) fn is_worth(pair: &Pair<'_>, conditions: &[Condition]) -> bool {
    let may = !pair.options.probabilistic && !pair.store.has_places();
    may && Sums::of(pair.store, &roots(conditions), &NAMES).is_some()
}

/// The terms of each kernel that are not one with the other's.
fn roots(conditions: &[Condition]) -> [Vec<TermId>; 2] {
    let pairs = || {
        conditions
            .iter()
            .flat_map(|c| &c.pairs)
            .filter(|(a, b)| a != b)
    };
    [
        pairs().map(|p| p.0).collect(),
        pairs().map(|p| p.1).collect(),
    ]
}

/// The conditions with symbols; `None` if nothing large is shared.
pub(super) fn named(
    pair: &Pair<'_>,
    conditions: &[Condition],
    bounds: &limits::NamedSums,
) -> Option<(TermStore, Vec<Condition>)> {
    let store = pair.store;
    // A place that data choose is named by terms of its store.
    if store.has_places() {
        return None;
    }
    let sums = Sums::of(store, &roots(conditions), bounds)?;
    let groups = sums.groups(pair, bounds)?;
    let mut names = Names {
        pair,
        bounds,
        sums,
        signs: Canon::bounded(store, &pair.options.limits, Some(bounds.work)),
        into: TermStore::new(),
        images: FxHashMap::default(),
        symbols: 0,
    };
    names.into.import_below(store, &[]);
    for group in groups {
        if pair.late() {
            return None;
        }
        if names.symbols >= bounds.symbols {
            break;
        }
        names.name(&group);
    }
    if names.symbols == 0 {
        return None;
    }
    let conditions = conditions.iter().map(|c| {
        let goals = c.pairs.iter();
        let pairs: Pairs = goals
            .map(|&(a, b)| (names.image(a), names.image(b)))
            .collect();
        Condition { pairs, ..c.clone() }
    });
    let conditions = conditions.collect();
    Some((names.into, conditions))
}

/// The sums and products of both kernels that are worth a symbol.
struct Sums {
    polynomials: Polynomials,
    /// In ascending order, those of each kernel.
    sides: [Vec<TermId>; 2],
}

impl Sums {
    /// `None` if they are not large.
    fn of(store: &TermStore, roots: &[Vec<TermId>; 2], bounds: &limits::NamedSums) -> Option<Sums> {
        let below = roots.each_ref().map(|r| store.reachable(r));
        let mut users: FxHashMap<TermId, u64> = FxHashMap::default();
        let mut operands: FxHashSet<TermId> = FxHashSet::default();
        let mut seen: FxHashSet<TermId> = FxHashSet::default();
        for &t in below.iter().flatten() {
            if !seen.insert(t) {
                continue;
            }
            let apart = Polynomials::takes_apart(store, t);
            store.children(t, |c| {
                if Polynomials::takes_apart(store, c) && !store.is_loose(c) {
                    *users.entry(c).or_default() += 1;
                    if !apart {
                        operands.insert(c);
                    }
                }
            });
        }
        // What a constant is added to or multiplied with is a sum of its own.
        let shared = users.iter().filter(|u| *u.1 > 1).map(|u| *u.0);
        operands.extend(shared);
        let mut open: Vec<TermId> = operands.iter().copied().collect();
        while let Some(t) = open.pop() {
            let inner = core(store, t);
            if let Some(c) = inner.filter(|&c| Polynomials::takes_apart(store, c))
                && operands.insert(c)
            {
                open.push(c);
            }
        }
        let elements = roots
            .iter()
            .flatten()
            .filter(|&&t| Polynomials::takes_apart(store, t));
        let all: Vec<TermId> = users.keys().chain(elements).copied().collect();
        let polynomials = Polynomials::of(store, &all)?;
        let size = |t: TermId| polynomials.size(t);
        // An element that is a sum itself has one form, which is large only if it multiplies out.
        let elements = roots.iter().flatten().copied();
        operands.extend(elements.filter(|&t| !store.is_loose(t) && size(t) >= bounds.worth));
        let is_sum = |t: &TermId| operands.contains(t) && size(*t) >= bounds.size;
        let sides = below.map(|b| b.into_iter().filter(is_sum).collect::<Vec<TermId>>());
        let work = |s: &Vec<TermId>| {
            let each = s
                .iter()
                .map(|&t| size(t).saturating_mul(users.get(&t).copied().unwrap_or(1)));
            each.fold(0, u64::saturating_add)
        };
        // A cube of one sum has more terms than many sums.
        let has_powers = || {
            let shared = sides.iter().all(|s| !s.is_empty());
            shared && polynomials.largest_power() >= bounds.power
        };
        let small = sides.iter().all(|s| work(s) < bounds.worth) && !has_powers();
        (!small).then_some(Sums { polynomials, sides })
    }

    /// Sums that may be equal and stand in both kernels, each group after those below it.
    fn groups(&self, pair: &Pair<'_>, bounds: &limits::NamedSums) -> Option<Vec<Vec<TermId>>> {
        let mut all: Vec<TermId> = self.sides.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        let limits = Canon::limits(&pair.options.limits, Some(bounds.work));
        let classes = probable::classes(pair.store, &all, &limits)?;
        let mut groups: FxHashMap<u32, Vec<TermId>> = FxHashMap::default();
        for (&t, class) in all.iter().zip(classes) {
            if let Some(class) = class {
                groups.entry(class).or_default().push(t);
            }
        }
        let both = |group: &Vec<TermId>| {
            let is_in = |side: &Vec<TermId>| group.iter().any(|t| side.binary_search(t).is_ok());
            self.sides.iter().all(is_in)
        };
        let mut groups: Vec<Vec<TermId>> = groups.into_values().filter(both).collect();
        groups.sort_unstable();
        let depths = depths(pair.store, &groups, bounds.rounds);
        let mut placed: Vec<(u32, Vec<TermId>)> = depths.into_iter().zip(groups).collect();
        placed.sort();
        Some(placed.into_iter().map(|p| p.1).collect())
    }
}

/// For each group how many groups stand one below the other under its members. Members of one group may
/// stand above and below those of another, in which case the numbers say little.
fn depths(store: &TermStore, groups: &[Vec<TermId>], rounds: usize) -> Vec<u32> {
    let members = groups.iter().enumerate();
    let members = members.flat_map(|(g, list)| list.iter().map(move |&t| (t, g)));
    let group_of: FxHashMap<TermId, usize> = members.collect();
    let order = store.reachable(&group_of.keys().copied().collect::<Vec<TermId>>());
    let mut depths = vec![0; groups.len()];
    let mut depth_of: FxHashMap<TermId, u32> = FxHashMap::default();
    for _ in 0..rounds {
        let before = depths.clone();
        for &t in &order {
            let mut depth = 0;
            store.children(t, |c| depth = depth.max(depth_of[&c]));
            if let Some(&g) = group_of.get(&t) {
                depths[g] = depths[g].max(depth + 1);
                depth = depths[g];
            }
            depth_of.insert(t, depth);
        }
        if depths == before {
            break;
        }
    }
    depths
}

/// The operand of a sum with a constant, a multiple or a quotient by a constant.
fn core(store: &TermStore, t: TermId) -> Option<TermId> {
    let is_number = |t| matches!(store.get(t), Term::Const(_));
    match store.get(t) {
        Term::Neg(a) => Some(a),
        Term::Add(a, b) | Term::Mul(a, b) if is_number(a) => Some(b),
        Term::Add(a, b) | Term::Mul(a, b) | Term::Div(a, b) if is_number(b) => Some(a),
        _ => None,
    }
}

/// A store in which sums have symbols.
struct Names<'p, 's> {
    pair: &'p Pair<'s>,
    bounds: &'p limits::NamedSums,
    sums: Sums,
    /// Signs in the store of both kernels.
    signs: Canon<'s>,
    into: TermStore,
    images: FxHashMap<TermId, TermId>,
    symbols: u64,
}

impl Names<'_, '_> {
    /// A term with the symbols that there are.
    fn image(&mut self, t: TermId) -> TermId {
        let from = self.pair.store;
        let images = &self.images;
        let new = from.met(&[t], usize::MAX, |u, open| {
            let new = !images.contains_key(&u);
            if new {
                from.children(u, |c| open.push(c));
            }
            new
        });
        for u in new.unwrap_or_default() {
            let image = copy(from, u, &mut self.into, |c| self.images[&c]);
            self.images.insert(u, image);
        }
        self.images[&t]
    }

    /// Gives sums a symbol, as far as they are equal to the first.
    fn name(&mut self, group: &[TermId]) {
        let from = self.pair.store;
        let images: Vec<TermId> = group.iter().map(|&t| self.image(t)).collect();
        let first = images[0];
        // What smaller symbols have made small is left as it is.
        let Some(partial) = self.large(first) else {
            return;
        };
        let quadratic = self.sums.polynomials.first_equal(group);
        let mut canon = Canon::bounded(
            &self.into,
            &self.pair.options.limits,
            Some(self.bounds.work),
        );
        let mut equal = Vec::new();
        for (i, &t) in group.iter().enumerate() {
            let same_partial = || self.partial(images[i]).is_some_and(|p| p == partial);
            let is_equal = images[i] == first
                || quadratic[i] == group[0]
                || from.is_total(t) == from.is_total(group[0])
                    && same_partial()
                    && canon.equal(first, images[i]);
            if is_equal {
                equal.push(t);
            }
        }
        if !self
            .sums
            .sides
            .iter()
            .all(|side| equal.iter().any(|t| side.binary_search(t).is_ok()))
        {
            return;
        }
        let place = 8 * self.symbols;
        let mut symbol = self.into.elem(ArrayId::SUMS, Fmt::F64, place);
        self.symbols += 1;
        if partial.is_empty() && equal.iter().any(|&t| self.signs.is_sum_of_squares(t)) {
            symbol = self.into.fun(Fun::Abs, symbol);
        }
        let zero = self.into.integer(0);
        for h in partial {
            let nothing = self.into.mul(zero, h);
            symbol = self.into.add(symbol, nothing);
        }
        self.images.extend(equal.into_iter().map(|t| (t, symbol)));
    }

    /// The partial operands of a sum that is large enough for a symbol and has few of them.
    fn large(&self, image: TermId) -> Option<Vec<TermId>> {
        let leaves = self.leaves(image)?;
        (leaves.1 >= self.bounds.size).then_some(leaves.0)
    }

    fn partial(&self, image: TermId) -> Option<Vec<TermId>> {
        Some(self.leaves(image)?.0)
    }

    /// The partial operands of a sum, in order, and its size; `None` if they are many.
    fn leaves(&self, image: TermId) -> Option<(Vec<TermId>, u64)> {
        let into = &self.into;
        let met = into.met(&[image], usize::MAX, |t, open| {
            if Polynomials::takes_apart(into, t) {
                into.children(t, |c| open.push(c));
            }
            true
        })?;
        let size = met.len() as u64;
        let is_partial = |t: &TermId| !Polynomials::takes_apart(into, *t) && !into.is_total(*t);
        let partial: Vec<TermId> = met.into_iter().filter(is_partial).collect();
        let real = partial.iter().all(|t| into.sort(*t) == Sort::Real);
        (real && partial.len() <= self.bounds.partial).then_some((partial, size))
    }
}

#[cfg(test)]
mod tests;
