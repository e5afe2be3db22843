//! What the numbers of a region have to do with one another.
//!
//! Problem: a region gives signs to some numbers; is there an input that has them all, and are two terms the
//! same number there? The numbers are linear forms in the monomials of canonical forms, of which some have a
//! sign for certain (exponentials, squares); the elimination of `linear` answers over the rationals. Where
//! a form is 0 the equation is put into the terms. What links an exponential with its argument is
//! `monotone`'s, and asked last.
//!
//! Every answer that is not `None` or `false` is a proof, and names the signs that it rests on by their
//! places in the list.

use std::collections::BTreeMap;

use num_rational::BigRational;
use num_traits::{One, Signed as _};
use rustc_hash::FxHashMap;

use super::circuit::Lit;
use super::encode::Atom;
use super::limits::*;
use super::linear::{self, Constraint, Linear, contradict};
use super::monotone;
use crate::decide::canon::Canon;
use crate::norm::{Key, Polynomial, Sign};
use crate::spec::Limits;
use crate::term::rebuild::rebuild;
use crate::term::{Term, TermId, TermStore};

/// A sign that a region gives a number, with the choices that make the number what it is there.
pub(super) struct Signed {
    pub(super) atom: usize,
    /// The literal that holds.
    pub(super) literal: Lit,
    pub(super) reasons: Vec<Lit>,
}

/// Terms in a region, where every choice on the way is made.
pub(super) struct Resolved {
    pub(super) store: TermStore,
    pub(super) pair: (TermId, TermId),
    /// The first minus the second, of numbers.
    pub(super) gap: Option<TermId>,
    /// The numbers whose signs atoms are, or their opposites.
    pub(super) differences: FxHashMap<usize, TermId>,
}

/// Numbers of which sums are looked for.
const MAX_SUMMED: usize = 128;

/// Constraints of some signs, and what is known without them.
struct System<'r> {
    canon: Canon<'r>,
    of: Vec<Option<Constraint<Key>>>,
    facts: BTreeMap<Key, Sign>,
    /// Input elements that lie in ranges, for the user says so.
    ranges: Vec<(Key, [BigRational; 2])>,
}

impl<'r> System<'r> {
    fn of(resolved: &'r Resolved, signs: &[Signed], atoms: &[Atom], limits: &Limits) -> Self {
        System::under(&[], resolved, signs, atoms, limits)
    }

    /// The same where input elements have known signs.
    fn under(
        known: &[(TermId, Sign)],
        resolved: &'r Resolved,
        signs: &[Signed],
        atoms: &[Atom],
        limits: &Limits,
    ) -> Self {
        let mut system = System {
            canon: Canon::under(&resolved.store, known, limits, None),
            of: Vec::new(),
            facts: BTreeMap::new(),
            ranges: Vec::new(),
        };
        system.note_ranges(resolved);
        for s in signs {
            let of = system.constraint(resolved, s, &atoms[s.atom]);
            system.of.push(of);
        }
        system
    }

    /// The ranges of the elements below the numbers, as those of their monomials.
    fn note_ranges(&mut self, resolved: &Resolved) {
        let store = &resolved.store;
        if store.facts.numbers().is_empty() {
            return;
        }
        let numbers = resolved.differences.values().copied();
        let mut roots: Vec<TermId> = numbers.chain(resolved.gap).collect();
        roots.sort_unstable();
        for t in store.reachable(&roots) {
            let Some((lo, hi)) = store.element_range(t) else {
                continue;
            };
            let form = self.canon.polynomial(t, MAX_MONOMIALS);
            if let Some([(key, k, _)]) = form.as_ref().map(|p| &p.terms[..])
                && k.is_one()
            {
                self.ranges.push((*key, [lo, hi]));
            }
        }
    }

    /// A linear form, whose monomials are kept with their signs.
    fn form(&mut self, p: Polynomial) -> Linear<Key> {
        let terms = p.terms.into_iter().map(|(key, k, sign)| {
            self.facts.insert(key, sign);
            (key, k)
        });
        Linear::of(p.constant, terms)
    }

    fn constraint(
        &mut self,
        resolved: &Resolved,
        s: &Signed,
        atom: &Atom,
    ) -> Option<Constraint<Key>> {
        let number = *resolved.differences.get(&s.atom)?;
        let form = self.canon.polynomial_of_sign(number, MAX_MONOMIALS)?;
        let form = self.form(form);
        let opposite = atom.example?.2;
        let holds = !s.literal.is_negated();
        // `below` holds where the form is below 0, and fails where it is not.
        let is_below = s.literal.gate() == atom.below.gate();
        let upwards = (is_below != holds) != opposite;
        Some(linear::constraint(&form, upwards, holds))
    }

    /// What is known of the monomials themselves.
    fn known(&self) -> impl Iterator<Item = Constraint<Key>> {
        let met = self.ranges.iter().filter(|r| self.facts.contains_key(&r.0));
        let within = met.flat_map(|&(key, ref ends)| {
            [(true, &ends[0]), (false, &ends[1])].map(|(up, end)| {
                // x - lo and hi - x are not below 0.
                let form = Linear::of(-end, [(key, BigRational::one())]);
                linear::constraint(&form, up, false)
            })
        });
        let signs = self.facts.iter().filter_map(|(&key, &sign)| {
            let (up, strict) = match sign {
                s if s.is_positive() => (true, true),
                s if s.is_negative() => (false, true),
                s if s.is_nonneg() => (true, false),
                s if s.is_nonpos() => (false, false),
                _ => return None,
            };
            Some(linear::constraint(&Linear::atom(key), up, strict))
        });
        signs.chain(within)
    }

    /// The places of signs that contradict one another and `more`, of which none can be left out.
    fn core(&self, more: &[Constraint<Key>], limits: &Limits) -> Option<Vec<usize>> {
        let all = |places: &[usize]| -> Vec<Constraint<Key>> {
            let own = places.iter().filter_map(|&i| self.of[i].clone());
            own.chain(self.known())
                .chain(more.iter().cloned())
                .collect()
        };
        // Of some places, those that a contradiction of them rests on.
        let among = |places: &[usize]| -> Option<Vec<usize>> {
            let rests = contradict(all(places))?;
            Some(
                rests
                    .into_iter()
                    .filter_map(|i| places.get(i).copied())
                    .collect(),
            )
        };
        let constrained = (0..self.of.len()).filter(|&i| self.of[i].is_some());
        let mut core = among(&constrained.collect::<Vec<usize>>())?;
        let mut at = 0;
        while at < core.len() && limits.reached().is_none() {
            let mut fewer = core.clone();
            fewer.remove(at);
            match among(&fewer) {
                Some(rests) => {
                    // Places ascend: what stands before it has been tried.
                    let tried = core[at];
                    core = rests;
                    at = core.partition_point(|&place| place < tried);
                }
                None => at += 1,
            }
        }
        Some(core)
    }
}

/// Signs that no input has together.
pub(super) fn contradiction(
    resolved: &Resolved,
    signs: &[Signed],
    atoms: &[Atom],
    limits: &Limits,
) -> Option<Vec<usize>> {
    if signs.is_empty() {
        return None;
    }
    System::of(resolved, signs, atoms, limits).core(&[], limits)
}

/// Signs under which neither of the two terms is above the other.
pub(super) fn no_gap(
    resolved: &Resolved,
    signs: &[Signed],
    atoms: &[Atom],
    limits: &Limits,
) -> Option<Vec<usize>> {
    let mut system = System::of(resolved, signs, atoms, limits);
    let form = system.canon.polynomial(resolved.gap?, MAX_MONOMIALS)?;
    let form = system.form(form);
    let mut all = Vec::new();
    for up in [true, false] {
        let gap = linear::constraint(&form, up, true);
        all.extend(system.core(&[gap], limits)?);
    }
    all.sort_unstable();
    all.dedup();
    Some(all)
}

/// The input elements whose sign a region says, and the places of what says it.
fn elements(
    resolved: &Resolved,
    signs: &[Signed],
    atoms: &[Atom],
) -> (Vec<(TermId, Sign)>, Vec<usize>) {
    let (mut known, mut places) = (Vec::new(), Vec::new());
    for (i, s) in signs
        .iter()
        .enumerate()
        .filter(|(_, s)| !s.literal.is_negated())
    {
        let form = resolved.differences.get(&s.atom);
        let form = form.and_then(|&d| linear::linear(&resolved.store, d));
        let (Some(form), Some((.., opposite))) = (form, atoms[s.atom].example) else {
            continue;
        };
        let Some((x, k)) = form.alone() else {
            continue;
        };
        if !matches!(resolved.store.get(x), Term::Elem { .. }) {
            continue;
        }
        let below = s.literal.gate() == atoms[s.atom].below.gate();
        let negative = (below != opposite) != k.is_negative();
        known.push((x, if negative { Sign::NEG } else { Sign::POS }));
        places.push(i);
    }
    (known, places)
}

/// Signs under which the two terms have one canonical form.
pub(super) fn equal_by_signs(
    resolved: &Resolved,
    signs: &[Signed],
    atoms: &[Atom],
    limits: &Limits,
) -> Option<Vec<usize>> {
    let (known, places) = elements(resolved, signs, atoms);
    let (x, y) = resolved.pair;
    let equal =
        !known.is_empty() && Canon::under(&resolved.store, &known, limits, None).equal(x, y);
    equal.then_some(places)
}

/// Signs that no input has together, where factors of known sign are left out.
pub(super) fn contradiction_by_signs(
    resolved: &Resolved,
    signs: &[Signed],
    atoms: &[Atom],
    limits: &Limits,
) -> Option<Vec<usize>> {
    let (known, mut places) = elements(resolved, signs, atoms);
    if known.is_empty() {
        return None;
    }
    let system = System::under(&known, resolved, signs, atoms, limits);
    places.extend(system.core(&[], limits)?);
    places.sort_unstable();
    places.dedup();
    Some(places)
}

/// What follows for the signs of numbers from those of two others that they are the sum of.
///
/// match `f + g = h` / result clauses: where f is above 0 and g not below, h is above, and where neither is below
/// h is not; and with all signs turned / because of the order of the reals.
pub(super) fn sums(atoms: &[Atom], forms: &[Option<Linear<Key>>]) -> Vec<[Lit; 3]> {
    let mut places: FxHashMap<Linear<Key>, (usize, bool)> = FxHashMap::default();
    let known = || {
        forms
            .iter()
            .enumerate()
            .filter_map(|(i, f)| Some((i, f.as_ref()?)))
    };
    for (i, f) in known().take(MAX_SUMMED) {
        places.insert(f.clone(), (i, false));
        places.insert(f.negated(), (i, true));
    }
    // That a number, or its opposite, is above 0, or below.
    let side = |i: usize, opposite: bool, above: bool| match opposite != above {
        true => atoms[i].above,
        false => atoms[i].below,
    };
    let mut out = Vec::new();
    for (i, f) in known().take(MAX_SUMMED) {
        for (j, g) in known().take(MAX_SUMMED).filter(|(j, _)| *j > i) {
            for turned in [false, true] {
                let sum = match turned {
                    true => f.minus(g),
                    false => f.plus(&BigRational::one(), g),
                };
                let Some(&(h, opposite)) = places.get(&sum) else {
                    continue;
                };
                for up in [true, false] {
                    let of = |above: bool| {
                        let above = above == up;
                        let (x, y) = (side(i, false, above), side(j, turned, above));
                        (x, y, side(h, opposite, above))
                    };
                    let ((f_up, g_up, h_up), (f_down, g_down, h_down)) = (of(true), of(false));
                    out.push([!f_up, g_down, h_up]);
                    out.push([f_down, !g_up, h_up]);
                    out.push([f_down, g_down, !h_down]);
                }
            }
        }
    }
    out
}

/// The numbers that are 0, by their places among atoms.
pub(super) fn zeros(signs: &[Signed]) -> Vec<usize> {
    let mut count: BTreeMap<usize, usize> = BTreeMap::new();
    for s in signs.iter().filter(|s| s.literal.is_negated()) {
        *count.entry(s.atom).or_default() += 1;
    }
    count
        .into_iter()
        .filter(|(_, n)| *n == 2)
        .map(|(i, _)| i)
        .collect()
}

/// Whether the two terms are equal where the numbers are 0 that have this sign.
pub(super) fn equal_on_boundary(resolved: &Resolved, signs: &[Signed], limits: &Limits) -> bool {
    let zeros = zeros(signs);
    let differences = zeros.iter().filter_map(|i| resolved.differences.get(i));
    let mut roots = vec![resolved.pair.0, resolved.pair.1];
    roots.extend(differences);
    let mut store = resolved.store.clone();
    for k in 2..roots.len() {
        let mut next = TermStore::new();
        next.facts = store.facts.clone();
        let Some((x, value)) = solved(&mut store, roots[k]) else {
            continue;
        };
        let from = store.clone();
        // The value is below nothing that has the variable, so that it is built before its parents.
        let images = rebuild(&from, &[value], &mut next, |_, _, _| None);
        let with = images[0];
        roots = rebuild(&from, &roots, &mut next, |_, t, _| (t == x).then_some(with));
        store = next;
        if roots[0] == roots[1] || Canon::new(&store, limits).equal(roots[0], roots[1]) {
            return true;
        }
    }
    false
}

/// A variable of a number that is 0, and what it is then.
///
/// match `k * x + r = 0` with an input element x that r has not / result `-r / k` / because that solves it;
/// else match `x = y` / result the older for the younger, or the constant.
fn solved(store: &mut TermStore, difference: TermId) -> Option<(TermId, TermId)> {
    let mut form = linear::linear(store, difference)?;
    let is_element = |t: &(TermId, _)| matches!(store.get(t.0), Term::Elem { .. });
    if form.terms.len() > 2 && !form.terms.iter().all(is_element) {
        return None;
    }
    // Below the younger of two numbers the other may stand, but not the other way round.
    let (x, k) = form.terms.pop()?;
    let rest = form.times(&-k.recip());
    Some((x, linear::sum_of(store, rest.constant, rest.terms)))
}

/// Signs that contradict one another by what links functions with their arguments.
pub(super) fn by_monotony(
    resolved: &Resolved,
    signs: &[Signed],
    atoms: &[Atom],
) -> Option<Vec<usize>> {
    let mut halves: BTreeMap<usize, FxHashMap<bool, (bool, usize)>> = BTreeMap::new();
    for (i, s) in signs.iter().enumerate() {
        let below = s.literal.gate() == atoms[s.atom].below.gate();
        let of = halves.entry(s.atom).or_default();
        of.insert(below, (!s.literal.is_negated(), i));
    }
    let mut known = Vec::new();
    for (atom, of) in &halves {
        let opposite = atoms[*atom].example?.2;
        let (below, above) = (of.get(&true).map(|h| h.0), of.get(&false).map(|h| h.0));
        let sign = match (below, above) {
            (Some(true), _) => linear::Sign::Negative,
            (_, Some(true)) => linear::Sign::Positive,
            (Some(false), Some(false)) => linear::Sign::Zero,
            _ => continue,
        };
        let sign = match (sign, opposite) {
            (linear::Sign::Negative, true) => linear::Sign::Positive,
            (linear::Sign::Positive, true) => linear::Sign::Negative,
            (s, _) => s,
        };
        let difference = *resolved.differences.get(atom)?;
        let Some(form) = linear::linear(&resolved.store, difference) else {
            continue;
        };
        known.push((of.values().map(|h| h.1).collect::<Vec<_>>(), (form, sign)));
    }
    let is_empty = |list: &[(Vec<usize>, (Linear, linear::Sign))]| {
        let mut region: Vec<_> = list.iter().map(|k| k.1.clone()).collect();
        monotone::add_consequences(&resolved.store, &mut region);
        linear::is_empty(&region)
    };
    if !is_empty(&known) {
        return None;
    }
    let mut at = 0;
    while at < known.len() {
        let mut fewer = known.clone();
        fewer.remove(at);
        match is_empty(&fewer) {
            true => known = fewer,
            false => at += 1,
        }
    }
    let mut core: Vec<usize> = known.into_iter().flat_map(|k| k.0).collect();
    core.sort_unstable();
    Some(core)
}
