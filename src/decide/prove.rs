//! Proofs: equality of two terms, and that one is defined wherever the other is.
//!
//! Equality comes from equal canonical forms; definedness from `needs.rs`, each need proved by the
//! sign of its operand or met by the reference's. Sound in the direction of [`Proof::Yes`] only.

use std::collections::BTreeMap;

use super::blast;
use super::canon::Canon;
use super::cases;
use super::guards;
use super::lattice;
use super::needs::{self, Given, Guarded, Need};
use super::residues;
use super::summands;
use crate::norm::{NormError, Sign};
use crate::spec::Limits;
use crate::term::{BitsOp, RCmp, Term, TermId, TermStore};

/// What became of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// Proved.
    Yes {
        /// Arguments of shared logarithms are taken to be positive.
        positive_logarithms: bool,
    },
    /// The values may differ.
    Differs,
    /// The canonical form is beyond the normaliser's bounds.
    TooLarge,
    /// A side takes the bits of a computed number, of which its term does not say how it was computed.
    Loose,
    /// The values agree where both exist, and this need of the optimized term is open.
    Undefined(Need),
}

/// A prover over a frozen store.
pub(super) struct Prover<'s> {
    store: &'s TermStore,
    canon: Canon<'s>,
    /// The scratch for the last signs that followed from needs.
    under: Option<(Vec<(TermId, Sign)>, Canon<'s>)>,
    limits: Limits,
}

/// Terms of a store beyond which needs are not used as facts: each set of facts has a scratch as
/// large as the store.
const MAX_TERMS_UNDER_NEEDS: usize = 100_000;

/// Denominators of the reference that are taken not to be 0.
const MAX_DENOMINATORS: usize = 16;

impl<'s> Prover<'s> {
    /// A prover with empty scratch.
    pub(super) fn new(store: &'s TermStore, limits: Limits) -> Self {
        Prover::bounded(store, limits, None)
    }

    /// The same with a bound on the work of one comparison.
    pub(super) fn bounded(store: &'s TermStore, limits: Limits, work: Option<u64>) -> Self {
        Prover {
            store,
            canon: Canon::bounded(store, &limits, work),
            under: None,
            limits,
        }
    }

    /// Whether two terms are one or sums of integers that are defined on all inputs and have one canonical
    /// form, which is found in time that is linear in them.
    pub(super) fn are_one_sum(&mut self, a: TermId, b: TermId) -> bool {
        let is_sum = |t| {
            matches!(
                self.store.get(t),
                Term::BitsOp(BitsOp::Add, ..) | Term::BitsSum(_)
            )
        };
        let total = self.store.is_total(a) && self.store.is_total(b);
        if self.store.is_loose(a) || self.store.is_loose(b) {
            return false;
        }
        a == b || is_sum(a) && is_sum(b) && total && self.canon.equal(a, b)
    }

    /// Whether `b` has the value of `a` wherever `a` has one.
    pub(super) fn implied(&mut self, a: TermId, b: TermId) -> Proof {
        if self.store.is_loose(a) || self.store.is_loose(b) {
            return Proof::Loose;
        }
        if a == b {
            return Proof::Yes {
                positive_logarithms: false,
            };
        }
        // Orders are many and canonical forms of choices large: what only chooses is decided first.
        let early = lattice::is_worth_it(self.store, a, b);
        match early.then(|| lattice::decide(self.store, a, b)).flatten() {
            Some(true) => return self.defined(a, b),
            Some(false) => return Proof::Differs,
            None => {}
        }
        match self.canon.compare(a, b) {
            Ok(true) => self.defined(a, b),
            Err(NormError::Limit(_)) => Proof::TooLarge,
            _ if residues::equal(self.store, a, b, &self.limits) => self.defined(a, b),
            _ if blast::equal(self.store, a, b) => self.defined(a, b),
            _ if !early && lattice::equal(self.store, a, b) => self.defined(a, b),
            _ => self.implied_under_needs(a, b),
        }
    }

    /// The same with what the needs of the reference say about the signs of input elements, and with
    /// its denominators, which are not 0.
    ///
    /// match `log(x) + log(y)` in the reference / result `log(x * y)` may replace it / because the
    /// reference has no value unless x and y are positive.
    ///
    /// match `p ? x / y : 0` / result `(p ? x : 0) / y` / because the reference has no value where y
    /// is 0, whatever p says.
    fn implied_under_needs(&mut self, a: TermId, b: TermId) -> Proof {
        if self.store.is_total(a) || self.store.len() > MAX_TERMS_UNDER_NEEDS {
            return Proof::Differs;
        }
        let mut facts: BTreeMap<TermId, Sign> = BTreeMap::new();
        let mut denominators: BTreeMap<TermId, Sign> = BTreeMap::new();
        let mut logarithms = false;
        for need in Given::of(self.store, a).needs {
            let (x, sign) = match need {
                Need::Positive(x) | Need::Logarithm(x) => (x, Sign::POS),
                Need::NonNegative(x) => (x, Sign::NONNEG),
                Need::NonZero(x) => (x, Sign::POS.or(Sign::NEG)),
                Need::NonZeroBits(_) | Need::Never(_) => continue,
            };
            if matches!(self.store.get(x), Term::Elem { .. }) {
                logarithms |= matches!(need, Need::Logarithm(_));
                let known = facts.entry(x).or_insert(Sign::ALL);
                *known = known.and(sign);
            } else if matches!(need, Need::NonZero(_)) && denominators.len() < MAX_DENOMINATORS {
                denominators.insert(x, sign);
            }
        }
        if !denominators.is_empty() && !self.chooses_partial(&[a, b]) {
            denominators.clear();
        }
        if facts.is_empty() && denominators.is_empty() {
            return Proof::Differs;
        }
        let facts: Vec<(TermId, Sign)> = facts.into_iter().chain(denominators).collect();
        if self.under.as_ref().is_none_or(|(f, _)| *f != facts) {
            let canon = Canon::under(self.store, &facts, &self.limits, None);
            self.under = Some((facts, canon));
        }
        let Some((facts, canon)) = self.under.take() else {
            return Proof::Differs;
        };
        let plain = std::mem::replace(&mut self.canon, canon);
        let proof = match self.canon.equal(a, b) {
            true => self.defined(a, b),
            false => Proof::Differs,
        };
        let canon = std::mem::replace(&mut self.canon, plain);
        self.under = Some((facts, canon));
        match proof {
            Proof::Yes {
                positive_logarithms,
            } => Proof::Yes {
                positive_logarithms: positive_logarithms || logarithms,
            },
            _ => Proof::Differs,
        }
    }

    /// True if a term chooses between two of which one has no value on some inputs.
    fn chooses_partial(&self, roots: &[TermId]) -> bool {
        let store = self.store;
        let partial = |t: TermId| match store.get(t) {
            Term::Select(_, x, y) => !(store.is_total(x) && store.is_total(y)),
            _ => false,
        };
        store.find_partial(roots, partial).is_some()
    }

    /// The same by a case split: dearer, and worth it only when no input refutes.
    pub(super) fn implied_by_cases(&mut self, a: TermId, b: TermId) -> Proof {
        if self.store.is_loose(a) || self.store.is_loose(b) {
            return Proof::Loose;
        }
        let early = lattice::is_worth_it(self.store, a, b);
        if early && lattice::decide(self.store, a, b) == Some(false) {
            return Proof::Differs;
        }
        let limits = &self.limits;
        if a == b
            || self.canon.equal(a, b)
            || summands::equal(self.store, a, b, limits)
            || cases::equal(self.store, a, b, limits)
        {
            self.defined(a, b)
        } else {
            Proof::Differs
        }
    }

    /// Whether `b` is defined wherever `a` is, given that they are equal wherever both are.
    pub(super) fn defined(&mut self, a: TermId, b: TermId) -> Proof {
        if self.store.is_total(b) {
            return Proof::Yes {
                positive_logarithms: false,
            };
        }
        let given = Given::of(self.store, a);
        let needs = needs::needs(self.store, b, &given);
        let mut positive_logarithms = needs.positive_logarithms;
        for n in &needs.open {
            if self.proved(n) {
                continue;
            }
            match self.met(n.need, &given.needs) {
                Some(log) => positive_logarithms |= log,
                None => return Proof::Undefined(n.need),
            }
        }
        Proof::Yes {
            positive_logarithms,
        }
    }

    /// Whether a need holds by itself.
    fn proved(&mut self, n: &Guarded) -> bool {
        self.canon.meets(n.need)
            || guards::parts(self.store, &n.guards).any(|(p, v)| self.by_fact(n.need, p, v))
            || guards::implies(self.store, &n.guards, n.need, &self.limits)
    }

    /// Whether a condition of a branch itself says it: `0 < x`, `x <= 0`, `x = 0`, or their negations.
    fn by_fact(&self, need: Need, p: TermId, value: bool) -> bool {
        let zero = |t| self.store.is_zero(t);
        // The fact as (x > 0, x >= 0, x != 0).
        let facts = match (self.store.get(p), value) {
            (Term::RCmp(RCmp::Lt, z, x), true) if zero(z) => Some((x, true, true, true)),
            (Term::RCmp(RCmp::Le, z, x), true) if zero(z) => Some((x, false, true, false)),
            (Term::RCmp(RCmp::Le, x, z), false) if zero(z) => Some((x, true, true, true)),
            (Term::RCmp(RCmp::Lt, x, z), false) if zero(z) => Some((x, false, true, false)),
            (Term::RCmp(RCmp::Lt, x, z), true) if zero(z) => Some((x, false, false, true)),
            (Term::RCmp(RCmp::Le, z, x), false) if zero(z) => Some((x, false, false, true)),
            (Term::RCmp(RCmp::Eq, x, z), false) if zero(z) => Some((x, false, false, true)),
            (Term::RCmp(RCmp::Eq, z, x), false) if zero(z) => Some((x, false, false, true)),
            _ => None,
        };
        facts.is_some_and(|(y, positive, nonnegative, nonzero)| match need {
            Need::NonZero(x) => x == y && nonzero,
            Need::NonNegative(x) => x == y && nonnegative,
            Need::Positive(x) | Need::Logarithm(x) => x == y && positive,
            Need::NonZeroBits(_) | Need::Never(_) => false,
        })
    }

    /// Whether a need of the reference implies it; the flag says that this takes the argument of a
    /// logarithm to be positive.
    fn met(&mut self, need: Need, given: &[Need]) -> Option<bool> {
        let (x, strength) = match need {
            Need::NonZero(x) => (x, 0),
            Need::NonNegative(x) => (x, 1),
            Need::Positive(x) => (x, 2),
            Need::Logarithm(x) => (x, 3),
            Need::NonZeroBits(_) => return given.contains(&need).then_some(false),
            Need::Never(_) => return None,
        };
        for g in given {
            let (y, log) = match (*g, strength) {
                (Need::Positive(y), _) => (y, false),
                (Need::NonZero(y), 0) => (y, false),
                (Need::NonNegative(y) | Need::Logarithm(y), 1) => (y, false),
                (Need::Logarithm(y), 3) => (y, true),
                _ => continue,
            };
            let zeros = matches!((*g, strength), (Need::NonZero(_), 0));
            let alike = match zeros {
                true => self.canon.vanish_together(x, y),
                false => self.canon.same_sign(x, y),
            };
            if alike || x == y || self.canon.equal(x, y) {
                return Some(log);
            }
        }
        None
    }
}
