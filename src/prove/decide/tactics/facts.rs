//! What the reference takes for granted, as facts.
//!
//! match `log(x) + log(y)` in the reference / result `log(x * y)` may replace it / because the
//! reference has no value unless x and y are positive.
//!
//! match `p ? x / y : 0` / result `(p ? x : 0) / y` / because the reference has no value where y
//! is 0, whatever p says.

use std::collections::BTreeMap;
use std::mem::replace;

use crate::decide::canon::Canon;
use crate::decide::limits::TACTICS;
use crate::decide::needs::{Given, Need};
use crate::decide::prove::{By, Proof, Proved, Prover};
use crate::decide::tactic::{Attempt, Tactic};
use crate::norm::Sign;
use crate::term::{Term, TermId, TermStore};

/// Canonical forms where input elements have the signs that the needs of the reference say, and its
/// denominators are not 0.
pub(crate) struct Facts;

/// Signs of terms, and whether some are of arguments of logarithms.
struct SignFacts {
    facts: Vec<(TermId, Sign)>,
    logarithms: bool,
}

impl Tactic for Facts {
    fn name(&self) -> &'static str {
        "facts"
    }

    fn applies(&self, prover: &Prover<'_>, a: TermId, _: TermId) -> bool {
        !prover.store.is_total(a) && prover.store.len() <= TACTICS.facts_terms
    }

    fn run(&self, prover: &mut Prover<'_>, a: TermId, b: TermId) -> Attempt {
        let SignFacts { facts, logarithms } = known(prover.store, a, b);
        if facts.is_empty() {
            return Attempt::Stuck;
        }
        let under = prover.under.take().filter(|(f, _)| *f == facts);
        let under = under.map(|(_, canon)| canon);
        let new = || Canon::under(prover.store, &facts, &prover.limits, None);
        let canon = under.unwrap_or_else(new);
        let plain = replace(&mut prover.canon, canon);
        let proof = match prover.canon.equal(a, b) {
            true => prover.has_value(By::TERMS, a, b),
            false => Proof::Differs,
        };
        let canon = replace(&mut prover.canon, plain);
        prover.under = Some((facts, canon));
        // Where the facts fail the reference may be an infinity: that is asked without them.
        match proof {
            Proof::Yes(_) if prover.lost_pole(a, b).is_some() => Attempt::Stuck,
            Proof::Yes(p) => Attempt::Done(Proof::Yes(Proved {
                positive_logarithms: p.positive_logarithms || logarithms,
                ..p
            })),
            _ => Attempt::Stuck,
        }
    }
}

/// What the needs of `a` say.
fn known(store: &TermStore, a: TermId, b: TermId) -> SignFacts {
    let mut facts: BTreeMap<TermId, Sign> = BTreeMap::new();
    let mut denominators: BTreeMap<TermId, Sign> = BTreeMap::new();
    let mut logarithms = false;
    for need in Given::of(store, a).needs {
        let (x, sign) = match need {
            Need::Positive(x) | Need::Logarithm(x) => (x, Sign::POS),
            Need::NonNegative(x) => (x, Sign::NONNEG),
            Need::NonZero(x) => (x, Sign::POS.or(Sign::NEG)),
            Need::NonZeroBits(_) | Need::Never(_) => continue,
        };
        if matches!(store.get(x), Term::Elem { .. }) {
            logarithms |= matches!(need, Need::Logarithm(_));
            let known = facts.entry(x).or_insert(Sign::ALL);
            *known = known.and(sign);
        } else if matches!(need, Need::NonZero(_)) && denominators.len() < TACTICS.denominators {
            denominators.insert(x, sign);
        }
    }
    if !denominators.is_empty() && !chooses_partial(store, &[a, b]) {
        denominators.clear();
    }
    SignFacts {
        facts: facts.into_iter().chain(denominators).collect(),
        logarithms,
    }
}

/// True if a term chooses between two of which one has no value on some inputs.
fn chooses_partial(store: &TermStore, roots: &[TermId]) -> bool {
    let partial = |t: TermId| match store.get(t) {
        Term::Select(_, x, y) => !(store.is_total(x) && store.is_total(y)),
        _ => false,
    };
    store.find_partial(roots, partial).is_some()
}
