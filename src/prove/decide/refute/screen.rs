//! A few inputs for all elements at once, before anything is normalised.
//!
//! The problem: most wrong kernels differ from their reference on almost every input, and to build a
//! canonical form of what is wrong can take a minute. The way: all goals that differ are one cone of
//! terms, which is evaluated in doubles on a few inputs; the element that is furthest apart, and some that are spread over
//! the outputs, are then evaluated with known error like every other candidate. Where library functions are written out,
//! that error is known by their names, which are found below one element for this.
//!
//! Sound: an answer was checked by [`Hunt::check`]. Not claimed: that no answer means anything.

use rustc_hash::FxHashMap;

use super::cells;
use super::patterns::{self, Pattern};
use super::search::{Budget, search};
use super::witness::{Checked, DifferingInput, Hunt};
use crate::decide::goal::Pairs;
use crate::decide::judge::Named;
use crate::decide::limits::SCREEN;
use crate::decide::options::Options;
use crate::number::random::Random;
use crate::spec::{Arrays, ElemTy};
use crate::term::{TermId, TermStore};
use crate::work;

/// What a look found.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// An element, by its place, an input that tells its sides apart, and whether library functions stood by their names
    /// for that element alone.
    pub found: Option<(usize, DifferingInput, bool)>,
    /// An element, by its place, of which the sides are this far apart in doubles on an ordinary input: most likely they
    /// differ.
    pub suspect: Option<(usize, f64)>,
    /// Inputs that were tried.
    pub tried: u64,
}

/// The inputs that are tried, those first that tell most apart: numbers without symmetry, then
/// equal ones, large and small ones, and those at which comparisons change their minds.
fn inputs(integers: bool, near: usize) -> Vec<Pattern> {
    let mut out = vec![
        Pattern::Integers(3),
        Pattern::Fractions(2),
        Pattern::Positive(3),
        Pattern::All(0.0),
        Pattern::All(-2.0),
    ];
    if integers {
        out.extend([Pattern::Bits, Pattern::Ends, Pattern::Ends]);
    }
    out.extend((0..near.min(6)).map(Pattern::Near));
    out.extend((0..near.min(6)).map(Pattern::Beyond));
    out.extend([
        Pattern::Scaled(4),
        Pattern::Scaled(-6),
        Pattern::Wild,
        Pattern::Scaled(-12),
        Pattern::Cycle(1),
        Pattern::Integers(8),
        Pattern::Fractions(6),
        Pattern::Positive(16),
    ]);
    out
}

/// Looks at a few inputs.
pub(crate) fn screen(
    store: &TermStore,
    goals: &[&Pairs],
    arrays: &Arrays,
    options: &Options,
    by_name: &dyn Fn(&Pairs) -> Option<Named>,
) -> Look {
    let mut out = Look::default();
    let mut grounds = Grounds {
        store,
        goals,
        by_name,
        named: FxHashMap::default(),
    };
    let mut suspects = at_once(&mut grounds, arrays, options, &mut out);
    if out.found.is_some() {
        return out;
    }
    suspects.extend(without_values(store, goals));
    // What is far apart on ordinary numbers has a simple input that shows it, most likely: one on which nothing is rounded.
    for place in suspects {
        let (store, goals, named) = grounds.of(place);
        if has_no_value(store, goals) {
            continue;
        }
        let budget = Budget {
            steps: SCREEN.search_steps,
            deadline: options.limits.deadline,
            climb: false,
        };
        let search = search(store, goals, arrays, options.seed, budget);
        out.tried += search.tried;
        if let Some(found) = search.found {
            out.found = Some((place, found, named));
            return out;
        }
    }
    out
}

/// Whether a pair that differs takes the bits of a rounded number: such terms have no values here, unless by the names of
/// the functions of which they are the code.
fn has_no_value(store: &TermStore, goals: &Pairs) -> bool {
    goals.iter().any(|&p| p.0 != p.1 && is_loose(store, p))
}

fn is_loose(store: &TermStore, (a, b): (TermId, TermId)) -> bool {
    store.is_loose(a) || store.is_loose(b)
}

/// Some of the elements that have no values, spread over all of them.
fn without_values(store: &TermStore, goals: &[&Pairs]) -> impl Iterator<Item = usize> {
    let all = goals.iter().enumerate();
    let all: Vec<usize> = all
        .filter(|(_, g)| has_no_value(store, g))
        .map(|(i, _)| i)
        .collect();
    let n = SCREEN.searches.min(all.len());
    (0..n).map(move |i| all[all.len() * (2 * i + 1) / (2 * n)])
}

/// Looks at all elements together: the first input that tells one apart is found; the elements that most likely differ
/// come back.
fn at_once(
    grounds: &mut Grounds<'_>,
    arrays: &Arrays,
    options: &Options,
    out: &mut Look,
) -> Vec<usize> {
    let store = grounds.store;
    let mut suspects = Vec::new();
    // Places of elements, with the goals that differ.
    let differing = grounds.goals.iter().enumerate();
    let differing: Vec<(usize, (TermId, TermId))> = differing
        .flat_map(|(i, g)| {
            g.iter()
                .filter(|p| p.0 != p.1 && !is_loose(store, **p))
                .map(move |&p| (i, p))
        })
        .collect();
    if differing.is_empty() {
        return suspects;
    }
    let pairs: Pairs = differing.iter().map(|d| d.1).collect();
    let mut all = Hunt::new(store, &pairs, arrays);
    let near = patterns::thresholds(store, &all.cone);
    let integers = all
        .cells()
        .iter()
        .any(|c| matches!(c.ty, ElemTy::Int { .. }));
    let mut random = Random(options.seed);
    // Those at the element that is furthest apart, and at others.
    let mut looks = [Looks::default(), Looks::default()];
    'inputs: for (n, pattern) in inputs(integers, near.len()).into_iter().enumerate() {
        let spent = all.cost() * n as u64;
        if n >= SCREEN.least && spent >= SCREEN.steps || options.limits.reached().is_some() {
            break;
        }
        let values = patterns::candidate(all.cells(), pattern, &near, &mut random);
        out.tried += 1;
        work::spend(all.cost());
        let differences = all.differences(&values);
        for (nth, k) in candidates(&differences).enumerate() {
            let place = differing[k].0;
            let looks = &mut looks[usize::from(nth > 0)];
            let is_ordinary = n < SCREEN.ordinary && differences[k] >= SCREEN.suspect;
            if is_ordinary && suspects.len() < SCREEN.searches && !suspects.contains(&place) {
                suspects.push(place);
                let distance = || Some((place, all.distance(k, &values)?));
                out.suspect = out.suspect.or_else(distance);
            }
            let may_look = !looks.are_over() && (nth == 0 || looks.may_look(place));
            let ground = may_look.then(|| grounds.of(place));
            let hunt = ground.map(|(store, goals, named)| (Hunt::new(store, goals, arrays), named));
            let Some((hunt, named)) = hunt.filter(|(hunt, _)| looks.spend(hunt.cost())) else {
                match nth {
                    0 => break 'inputs,
                    _ => continue,
                }
            };
            work::spend(hunt.cost());
            let values = cells::some(hunt.cells(), all.cells(), &values);
            if let Checked::Apart(apart) = hunt.check(&values) {
                out.found = Some((place, hunt.found_at(&values, *apart), named));
                return suspects;
            }
        }
    }
    suspects
}

/// Where elements are looked at, which is found once for each.
struct Grounds<'a> {
    store: &'a TermStore,
    goals: &'a [&'a Pairs],
    by_name: &'a dyn Fn(&Pairs) -> Option<Named>,
    named: FxHashMap<usize, Option<Named>>,
}

impl Grounds<'_> {
    /// The goals of an element in their store, and whether library functions stand by their names for it alone.
    fn of(&mut self, place: usize) -> (&TermStore, &Pairs, bool) {
        let goals = self.goals[place];
        let named = self.named.entry(place);
        match named.or_insert_with(|| (self.by_name)(goals)) {
            Some(named) => (&named.store, &named.pairs[0], true),
            None => (self.store, goals, false),
        }
    }
}

/// Which elements were evaluated with known error, and what that took.
#[derive(Default)]
struct Looks {
    at: FxHashMap<usize, usize>,
    count: usize,
    steps: u64,
}

impl Looks {
    /// Whether an element is worth another look: what several inputs do not refute leaves the looks to others.
    fn may_look(&mut self, place: usize) -> bool {
        let own = self.at.entry(place).or_default();
        *own += 1;
        *own <= SCREEN.element_checks
    }

    /// Whether no look is within the bounds any more.
    fn are_over(&self) -> bool {
        let over = self.count >= SCREEN.checks || self.steps > SCREEN.check_steps;
        self.count > 0 && over
    }

    /// Whether a look is within the bounds; the first one is.
    fn spend(&mut self, cost: u64) -> bool {
        let first = self.count == 0;
        self.count += 1;
        self.steps += cost;
        first || self.count <= SCREEN.checks && self.steps <= SCREEN.check_steps
    }
}

/// Elements that seem to differ, the furthest first and then some that are spread over all: one that is nearly a pole, or
/// whose value cancels, is far apart and says nothing.
fn candidates(differences: &[f64]) -> impl Iterator<Item = usize> {
    let seen = differences.iter().enumerate();
    let seen: Vec<usize> = seen
        .filter(|(_, d)| **d >= SCREEN.seen)
        .map(|(k, _)| k)
        .collect();
    let first = furthest(differences);
    let spread = (0..SCREEN.spread).filter_map(move |i| {
        let k = *seen.get(seen.len() * i / SCREEN.spread)?;
        (Some(k) != first).then_some(k)
    });
    first.into_iter().chain(spread)
}

/// The first place where the sides are nearly as far apart as anywhere; a value that overflows in
/// doubles says little, so that finite differences come first.
fn furthest(differences: &[f64]) -> Option<usize> {
    let seen = |d: &f64| *d >= SCREEN.seen;
    let finite = differences.iter().copied().filter(|d| d.is_finite());
    let most = finite.fold(0.0, f64::max);
    match seen(&most) {
        true => differences
            .iter()
            .position(|d| d.is_finite() && *d >= most / 2.0),
        false => differences.iter().position(seen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Fmt;
    use crate::reading::functions::Idioms;
    use crate::term::ArrayId;

    /// x + y, or with `cut` the number that the low bits of its encoding are.
    fn sum(s: &mut TermStore, cut: bool, at: u64) -> TermId {
        let [x, y] = [0, 4].map(|off| s.elem(ArrayId(0), Fmt::F32, at + off));
        let sum = s.add(x, y);
        if !cut {
            return sum;
        }
        let bits = s.of_real(Fmt::F32, sum);
        let low = s.extract(bits, 0, 16);
        s.of_int(false, low)
    }

    #[test]
    fn elements_without_values_are_looked_at_by_name() {
        let mut store = TermStore::new();
        let goals: Vec<Pairs> = (0..40u64)
            .map(|i| {
                let a = sum(&mut store, true, 8 * i);
                let b = store.integer(i as i64);
                assert!(store.is_loose(a));
                [(a, b)].into_iter().collect()
            })
            .collect();
        let goals: Vec<&Pairs> = goals.iter().collect();
        // Functions have names for some elements; without them nothing is found.
        let right = std::cell::Cell::new(0);
        let by_name = |differ: bool| {
            let right = &right;
            move |_: &Pairs| {
                right.set(right.get() + 1);
                let mut store = TermStore::new();
                let a = sum(&mut store, false, 0);
                let b = if differ { store.neg(a) } else { a };
                Some(Named {
                    store,
                    pairs: vec![[(a, b)].into_iter().collect()],
                    idioms: Idioms::default(),
                })
            }
        };
        let (arrays, options) = (Arrays::default(), Options::default());
        let look = |by_name: &dyn Fn(&Pairs) -> Option<Named>| {
            screen(&store, &goals, &arrays, &options, by_name).found
        };
        assert!(look(&|_| None).is_none());
        assert!(look(&by_name(false)).is_none());
        assert_eq!(right.get(), SCREEN.searches);
        let (place, found, named) = look(&by_name(true)).expect("they differ");
        assert!(named && place < goals.len() && !found.inputs.is_empty());
    }
}
