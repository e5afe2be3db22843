//! Rounded constants and library functions, read as what they stand for.
//!
//! The problem: 0.35355338 is not the root of 1/8, and a kernel that multiplies by it is not the one
//! that divides by the root. Read as the number that was meant, and with the functions that a
//! compiler has expanded put back by their names, both are the same. The readings come from what
//! the first round left open and hold for the whole pair: where one of them loses a proof that the
//! first round found, none of them counts.

use std::iter::repeat_n;

use super::{FORMS, SPLITS, points};
use crate::decide::asked::Pair;
use crate::decide::canon::{Canon, SIGN_WORK};
use crate::decide::goal::{Condition, Pairs};
use crate::decide::limits::ROUNDS;
use crate::decide::ruling::{Ruling, Rulings};
use crate::reading::Reading;
use crate::reading::constants::Readings;
use crate::reading::functions::Idioms;
use crate::spec::Limits;
use crate::special::{Survey, faces};
use crate::term::{TermId, TermStore};

/// Terms in which expanded functions have their names, infinities are conditions, and rounded constants
/// are read as what they stand for.
struct Reread {
    store: TermStore,
    /// For each pair of roots the pairs that say the same.
    pairs: Vec<Pairs>,
    idioms: Idioms,
    readings: Readings,
    /// The terms were made without special values.
    of_reals: bool,
}

/// The pairs, with each its number of times, of terms that stand two by two.
fn in_pairs(terms: &[TermId], lengths: impl Iterator<Item = usize>) -> Vec<Pairs> {
    let (pairs, _) = terms.as_chunks::<2>();
    let mut pairs = pairs.iter().map(|&[a, b]| (a, b));
    lengths.map(|n| pairs.by_ref().take(n).collect()).collect()
}

impl Reread {
    /// Reads pairs of roots anew; the readings come from those that are `open`. With `exact`, constants
    /// and functions stay what they are. `None` if there is nothing to read.
    fn of(
        store: &TermStore,
        roots: &[TermId],
        (exact, limits): (bool, &Limits),
        open: impl Fn(usize) -> bool,
    ) -> Option<Reread> {
        let idioms = match exact {
            true => Idioms::default(),
            false => Idioms::of(store, roots, limits),
        };
        let mut named = TermStore::new();
        let mut roots = idioms.apply(store, roots, &mut named);
        let mut lengths = vec![1; roots.len() / 2];
        let is_special = {
            let mut canon = Canon::bounded(&named, limits, Some(SIGN_WORK));
            let mut survey = Survey::default();
            let reads = |&t: &TermId| survey.reads(&named, t, &mut canon);
            roots.iter().any(reads)
        };
        if is_special {
            let mut lifted = TermStore::new();
            let mut canon = Canon::bounded(&named, limits, Some(SIGN_WORK));
            let found = faces::without(&named, &roots, &mut lifted, &mut canon);
            // What has no form is nothing that can be proved.
            let never = (lifted.bool(false), lifted.bool(true));
            let pairs = found.into_iter();
            let pairs: Vec<Pairs> = pairs.map(|p| p.unwrap_or_else(|| [never].into())).collect();
            lengths = pairs.iter().map(|p| p.len()).collect();
            roots = pairs
                .into_iter()
                .flatten()
                .flat_map(|(a, b)| [a, b])
                .collect();
            named = lifted;
        }
        let readings = match exact {
            true => Readings::default(),
            false => {
                let asked = in_pairs(&roots, lengths.iter().copied())
                    .into_iter()
                    .enumerate();
                let asked = asked.filter(|&(k, _)| open(k)).flat_map(|(_, p)| p);
                let asked: Vec<TermId> = asked.flat_map(|(a, b)| [a, b]).collect();
                Readings::of(&named, &asked, limits)
            }
        };
        if readings.is_empty() && idioms.is_empty() && !is_special {
            return None;
        }
        let mut store = TermStore::new();
        let roots = readings.apply(&named, &roots, &mut store);
        Some(Reread {
            store,
            pairs: in_pairs(&roots, lengths.into_iter()),
            idioms,
            readings,
            of_reals: is_special,
        })
    }
}

/// The elements that readings may settle: equal terms stay equal however their constants are read.
fn asked<'c>(conditions: &'c [Condition], rulings: &[Ruling]) -> Vec<(usize, &'c Condition)> {
    let all = conditions.iter().zip(rulings).enumerate();
    let differs = |c: &Condition| c.only.is_none() && c.pairs.iter().any(|(a, b)| a != b);
    let asked = all.filter(|(_, (c, _))| differs(c));
    asked.map(|(i, (c, _))| (i, c)).collect()
}

/// Tries again with rounded constants read as what they stand for.
pub(crate) fn read(pair: &Pair<'_>, conditions: &[Condition], rulings: &mut Rulings) {
    let asked = asked(conditions, &rulings.of);
    let pairs = asked.iter().flat_map(|(_, c)| &c.pairs);
    let all: Vec<TermId> = pairs.flat_map(|&(a, b)| [a, b]).collect();
    // Readings come from what is open; what is proved must stay so under them.
    let open = asked.iter();
    let open = open.flat_map(|(i, c)| repeat_n(rulings.of[*i].is_open(), c.pairs.len()));
    let open: Vec<bool> = open.collect();
    let exact = pair.options.exact_constants;
    let Some(reread) = Reread::of(pair.store, &all, (exact, &pair.options.limits), |k| open[k])
    else {
        return;
    };
    let mut goals = reread.pairs.iter();
    let anew = |(_, c): &(usize, &Condition)| Condition {
        pairs: goals
            .by_ref()
            .take(c.pairs.len())
            .flatten()
            .copied()
            .collect(),
        whole: None,
        ..(*c).clone()
    };
    let again: Vec<Condition> = asked.iter().map(anew).collect();
    // What has no name after all, or is not the function, is left to the search for witnesses.
    let named = Pair {
        store: &reread.store,
        work: points::first_work(pair.work.map(|_| ROUNDS.named_work), pair.options),
        of_reals: reread.of_reals,
        ..*pair
    };
    let mut results = Rulings {
        of: named.round(&again, &[FORMS, SPLITS]),
        chance: rulings.chance,
        ..Rulings::default()
    };
    points::settle(&named, &again, &mut results);
    let both = || asked.iter().map(|(i, _)| *i).zip(&results.of);
    let lost = both().any(|(i, r)| r.is_open() && !rulings.of[i].is_open());
    let won = both().any(|(i, r)| !r.is_open() && rulings.of[i].is_open());
    if lost || !won {
        return;
    }
    // What stays open keeps its failure in the store that everybody knows.
    let proved = asked.iter().zip(results.of).filter(|(_, r)| !r.is_open());
    for ((i, _), r) in proved {
        rulings.of[*i] = r;
    }
    rulings.chance = results.chance;
    rulings.assumptions.extend(reread.idioms.assumptions());
    rulings.assumptions.extend(reread.readings.assumptions());
}
