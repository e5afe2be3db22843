//! The decision of a pair, from the cheapest step to the dearest.
//!
//! 1. An element that surely only one kernel writes.
//! 2. A few inputs, on which all elements are evaluated at once: that refutes most wrong kernels
//!    before anything is normalised.
//! 3. Tactics that need no search, on every element; where sums of both kernels are large, with symbols for them first.
//! 4. The same with rounded constants and library functions read as what they stand for; that counts
//!    only if it loses no proof, so that every constant has one reading in the whole pair.
//! 5. What is still open, within bounds: a search for an input, a split of cases, a thorough search.
//!
//! An evaluation with known error ends at the bits of a rounded number, which an expanded library
//! function takes apart; by its name the function has an error bound. So inputs are looked for
//! where functions stand by their names, if there are any, and that the expansion is the function
//! becomes an assumption of the refutation, as it is of a proof.

use rayon::prelude::*;

use super::asked::Pair;
use super::goal::{Condition, Pairs};
use super::limits::{NAMES, ROUNDS, SEARCHES};
use super::names;
use super::options::Options;
use super::prove::{Failure, Proof, Prover};
use super::refute::{self, Budget, Search, Seen};
use super::ruling::{Ruling, Rulings, Why};
use super::tactics::{self, FORMS, SPLITS, points, readings};
use crate::progress;
use crate::reading::Reading;
use crate::reading::functions::Idioms;
use crate::spec::{Arrays, Limits};
use crate::term::{Fun, Term, TermId, TermStore};
use crate::work;

/// The pair with the library functions of its kernels by their names.
pub(crate) struct Named {
    pub store: TermStore,
    /// The goals of each element.
    pub pairs: Vec<Pairs>,
    pub idioms: Idioms,
}

impl Named {
    /// `None` if no library function was expanded.
    pub(super) fn of(
        store: &TermStore,
        conditions: &[Condition],
        limits: &Limits,
    ) -> Option<Named> {
        if store.len() > ROUNDS.named_terms {
            return None;
        }
        let pairs = conditions.iter().flat_map(|c| &c.pairs);
        let roots: Vec<TermId> = pairs.flat_map(|&(a, b)| [a, b]).collect();
        let (named, roots, idioms) = Named::of_roots(store, &roots, limits)?;
        let mut roots = roots.chunks(2).map(|p| (p[0], p[1]));
        let goals = conditions.iter().map(|c| c.pairs.len());
        let pairs = goals.map(|n| roots.by_ref().take(n).collect()).collect();
        Some(Named {
            store: named,
            pairs,
            idioms,
        })
    }

    /// The same of one element of a store that is too large for all.
    pub(crate) fn of_element(store: &TermStore, goals: &Pairs, limits: &Limits) -> Option<Named> {
        let mut own = TermStore::new();
        let roots: Vec<TermId> = goals.iter().flat_map(|&(a, b)| [a, b]).collect();
        let roots = own.import_below(store, &roots);
        own.library_tanh = store.library_tanh;
        let (store, roots, idioms) = Named::of_roots(&own, &roots, limits)?;
        Some(Named {
            store,
            pairs: vec![roots.chunks(2).map(|p| (p[0], p[1])).collect()],
            idioms,
        })
    }

    /// The same of pairs of terms, one behind the other, with the functions.
    fn of_roots(
        store: &TermStore,
        roots: &[TermId],
        limits: &Limits,
    ) -> Option<(TermStore, Vec<TermId>, Idioms)> {
        if roots.chunks(2).all(|p| p[0] == p[1]) {
            return None;
        }
        let idioms = Idioms::of(store, roots, limits);
        if idioms.is_empty() {
            return None;
        }
        let mut named = TermStore::new();
        let is_tanh = |t| matches!(store.get(t), Term::Fun(Fun::Tanh, _));
        named.library_tanh = store.library_tanh || !store.reachable(roots).into_iter().any(is_tanh);
        let roots = idioms.apply(store, roots, &mut named);
        // What holds of all inputs holds of these.
        named.import_below(store, &[]);
        Some((named, roots, idioms))
    }
}

/// The judge of a pair: the store with both kernels, and what every step needs to know.
pub(super) struct Judge<'a> {
    pub store: &'a TermStore,
    pub named: Option<&'a Named>,
    pub conditions: &'a [Condition],
    pub arrays: &'a Arrays,
    pub options: &'a Options,
}

impl Judge<'_> {
    /// Decides all elements.
    pub(super) fn all(&self) -> Rulings {
        let mut rulings = Rulings::default();
        if self.refuted_at_once(&mut rulings) {
            return rulings;
        }
        let elements = self.conditions.iter().map(Condition::elements).sum();
        progress::begin(progress::Stage::Decide, elements);
        let pair = self.pair();
        if names::is_worth(&pair, self.conditions) {
            let names = Some(&NAMES);
            let named = self.by_forms(&Pair { names, ..pair }, rulings.clone());
            if !named.of.iter().any(Ruling::is_open) {
                return named;
            }
        }
        rulings = self.by_forms(&pair, rulings);
        if rulings.of.iter().any(Ruling::is_open) {
            self.search(&mut rulings);
        }
        rulings
    }

    /// Proves what needs no search.
    fn by_forms(&self, pair: &Pair<'_>, mut rulings: Rulings) -> Rulings {
        rulings.of = pair.round(self.conditions, &[FORMS]);
        points::settle(pair, self.conditions, &mut rulings);
        if !rulings.of.iter().any(Ruling::is_open) {
            return rulings;
        }
        if !pair.late() {
            readings::read(pair, self.conditions, &mut rulings);
        }
        points::retry_exactly(pair, self.conditions, &mut rulings.of);
        rulings
    }

    /// Forms of expanded functions, one put into the other, take seconds and tell nothing; by its
    /// name the function is decided at once.
    fn pair(&self) -> Pair<'_> {
        let work = self.named.map(|_| ROUNDS.expanded_work);
        Pair {
            store: self.store,
            options: self.options,
            of_reals: false,
            names: None,
            work: points::first_work(work.filter(|_| !self.options.exact_constants), self.options),
        }
    }

    /// Whether one look shows that the kernels differ.
    fn refuted_at_once(&self, rulings: &mut Rulings) -> bool {
        let certain = |c: &Condition| c.only.filter(|o| o.certain);
        let first = self.conditions.iter().enumerate();
        let first = first.filter_map(|(i, c)| Some((i, certain(c)?))).next();
        if let Some((i, only)) = first {
            self.refute(rulings, i, Ruling::OneSided(only));
            return true;
        }
        let (store, mut goals) = self.ground();
        // What the other kernel leaves in an element that it was not seen to write is not known.
        let unknown = Pairs::new();
        for (goal, c) in goals.iter_mut().zip(self.conditions) {
            if c.only.is_some() {
                *goal = &unknown;
            }
        }
        // In a large store functions are named for the elements alone that are looked at.
        let is_large = self.store.len() > ROUNDS.named_terms;
        let own = |goals: &Pairs| Named::of_element(self.store, goals, &self.options.limits);
        let by_name = |goals: &Pairs| is_large.then(|| own(goals)).flatten();
        let look = refute::screen(store, &goals, self.arrays, self.options, &by_name);
        rulings.tried += look.tried;
        rulings.suspect = look.suspect;
        let Some((i, found, named)) = look.found else {
            return false;
        };
        self.refute(rulings, i, self.refutation(found, named));
        true
    }

    fn refutation(&self, found: refute::DifferingInput, named: bool) -> Ruling {
        Ruling::Refuted {
            found: Box::new(found),
            named: named || self.named.is_some(),
        }
    }

    /// Ends the decision with the refutation of an element; what is proved of others stays.
    fn refute(&self, rulings: &mut Rulings, i: usize, ruling: Ruling) {
        let nothing = || Ruling::Open(Why::Limit("another element was refuted"));
        rulings.of.resize_with(self.conditions.len(), nothing);
        rulings.of[i] = ruling;
    }

    /// The store in which inputs are looked for, and the goals of each element there.
    fn ground(&self) -> (&TermStore, Vec<&Pairs>) {
        let none = || self.conditions.iter().map(|c| &c.pairs).collect();
        match self.named {
            Some(n) => (&n.store, n.pairs.iter().collect()),
            None => (self.store, none()),
        }
    }

    /// Searches for witnesses, and proofs by cases, of what no form has decided.
    fn search(&self, rulings: &mut Rulings) {
        let (store, goals) = self.ground();
        let waiting = rulings.of.iter().enumerate().filter_map(|(i, r)| match r {
            Ruling::Deferred(failure) => Some((i, *failure)),
            _ => None,
        });
        let waiting: Vec<(usize, Failure)> = waiting.collect();
        let size = waiting.len().div_ceil(SEARCHES.chunks).max(1);
        let pair = self.pair();
        let chunks: Vec<Vec<(usize, Ruling, u64)>> =
            work::side_by_side(waiting.par_chunks(size), |chunk| {
                let mut prover = Prover::new(self.store, self.options.limits);
                let mut failed = 0;
                let mut rule = |&(i, failure): &(usize, Failure)| {
                    let (ruling, tried) = match failed < SEARCHES.failures {
                        true => self.search_one(&pair, (i, goals[i]), failure, &mut prover, store),
                        false => (undecided(failure, Seen::default()), 0),
                    };
                    failed += ruling.is_open() as usize;
                    (i, ruling, tried)
                };
                chunk.iter().map(&mut rule).collect()
            });
        for (i, ruling, tried) in chunks.into_iter().flatten() {
            rulings.tried += tried;
            rulings.of[i] = ruling;
        }
        if rulings.of.iter().any(Ruling::is_refuted) {
            return;
        }
        let open = |r: &Ruling| matches!(r, Ruling::Open(Why::Failed { .. }));
        let open = rulings.of.iter().enumerate().filter(|(_, r)| open(r));
        let open: Vec<usize> = open.map(|(i, _)| i).take(SEARCHES.searches).collect();
        for i in open.into_iter().take_while(|_| !pair.late()) {
            let search = self.look(store, goals[i], SEARCHES.thorough);
            rulings.tried += search.tried;
            if let Some(found) = search.found {
                self.refute(rulings, i, self.refutation(found, false));
                return;
            }
            if let Ruling::Open(Why::Failed { seen, .. }) = &mut rulings.of[i] {
                *seen = Seen {
                    within_rounding: seen.within_rounding,
                    ..search.seen
                };
            }
        }
    }

    /// Decides an element by an input, else by cases.
    fn search_one(
        &self,
        pair: &Pair<'_>,
        (i, goals): (usize, &Pairs),
        failure: Failure,
        prover: &mut Prover<'_>,
        store: &TermStore,
    ) -> (Ruling, u64) {
        if pair.late() {
            return (pair.out_of_time(), 0);
        }
        let search = self.look(store, goals, SEARCHES.quick);
        let ruling = match search.found {
            Some(found) => self.refutation(found, false),
            // What a quick search does not refute is worth a proof by cases.
            None if !search.seen.within_rounding
                && matches!(failure.0, Proof::Differs | Proof::Pole(_)) =>
            {
                match tactics::all(prover, SPLITS, &self.conditions[i].pairs) {
                    Ok(proved) => Ruling::Proved(proved),
                    Err(_) => undecided(failure, search.seen),
                }
            }
            None => undecided(failure, search.seen),
        };
        (ruling, search.tried)
    }

    fn look(&self, store: &TermStore, goals: &Pairs, steps: u64) -> Search {
        // Evaluation is of reals, which do not have the bits that such a term takes.
        let mut terms = goals.iter().flat_map(|&(a, b)| [a, b]);
        if terms.any(|t| store.is_loose(t)) {
            return Search::default();
        }
        let budget = Budget {
            steps,
            deadline: self.options.limits.deadline,
            climb: steps > SEARCHES.quick,
        };
        refute::search(store, goals, self.arrays, self.options.seed, budget)
    }
}

fn undecided(failure: Failure, seen: Seen) -> Ruling {
    Ruling::Open(Why::Failed { failure, seen })
}
