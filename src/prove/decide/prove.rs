//! Proofs: equality of two terms, and that one is defined wherever the other is.
//!
//! Equality comes from tactics (`tactics/`); definedness from `needs.rs`, each need proved by the
//! sign of its operand or met by the reference's. Sound in the direction of [`Proof::Yes`] only.

use super::canon::Canon;
use super::goal::Pairs;
use super::guards;
use super::needs::{self, Given, Guarded, Need};
use crate::norm::Sign;
use crate::spec::Limits;
use crate::special::Survey;
use crate::term::{BitsOp, Fun, RCmp, Term, TermId, TermStore};
use smallvec::SmallVec;

/// Choices that the needs of one term are taken apart at.
const MOST_SPLIT: usize = 64;

/// What proved a goal, or several: the dearest of the tactics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct By {
    rank: usize,
    /// The name of the tactic.
    pub name: &'static str,
}

impl By {
    /// Equal terms, which no tactic is needed for.
    pub(crate) const TERMS: By = By {
        rank: 0,
        name: "terms",
    };

    /// Evaluation at random points, which users ask for.
    pub(crate) const POINTS: By = By {
        rank: usize::MAX,
        name: "points",
    };

    /// The tactic of a name at a place of a list.
    pub(crate) fn tactic(place: usize, name: &'static str) -> By {
        let rank = place + 1;
        By { rank, name }
    }
}

/// How a goal was proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Proved {
    /// The tactic.
    pub by: By,
    /// Arguments of shared logarithms are taken to be positive.
    pub positive_logarithms: bool,
}

impl Proved {
    /// Equal terms.
    pub(crate) const TERMS: Proved = Proved {
        by: By::TERMS,
        positive_logarithms: false,
    };
}

/// What became of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// Proved.
    Yes(Proved),
    /// The values may differ.
    Differs,
    /// The values agree where both are real; where this need of the reference fails, it may be an infinity, and the
    /// optimized kernel a number.
    Pole(Need),
    /// Something reads values that are no reals, of which canonical forms say nothing.
    Special,
    /// The canonical form is beyond the normaliser's bounds.
    TooLarge,
    /// A side takes the bits of a computed number, of which its term does not say how it was computed.
    Loose,
    /// The values agree where both exist, and this need of the optimized term is open.
    Undefined(Need),
}

/// What a proof failed with, and the goal at which it did.
pub(crate) type Failure = (Proof, TermId, TermId);

/// Proves every goal of an element, by a way to prove one.
pub(crate) fn conjunction(
    pairs: &Pairs,
    mut prove: impl FnMut(TermId, TermId) -> Proof,
) -> Result<Proved, Failure> {
    let mut all = Proved::TERMS;
    let mut failure = None;
    for &(a, b) in pairs {
        match prove(a, b) {
            Proof::Yes(p) => {
                all.by = all.by.max(p.by);
                all.positive_logarithms |= p.positive_logarithms;
            }
            p @ (Proof::Undefined(_) | Proof::Pole(_)) => failure = failure.or(Some((p, a, b))),
            p => return Err((p, a, b)),
        }
    }
    failure.map_or(Ok(all), Err)
}

/// A prover over a frozen store.
pub(crate) struct Prover<'s> {
    pub(super) store: &'s TermStore,
    pub(super) canon: Canon<'s>,
    /// The scratch for the last signs that followed from needs.
    pub(super) under: Option<(Vec<(TermId, Sign)>, Canon<'s>)>,
    pub(super) limits: Limits,
    /// What reads special values; `None` where terms were made without any.
    survey: Option<Survey>,
}

impl<'s> Prover<'s> {
    /// A prover with empty scratch.
    pub(crate) fn new(store: &'s TermStore, limits: Limits) -> Self {
        Prover::bounded(store, limits, None)
    }

    /// The same with a bound on the work of one comparison.
    pub(crate) fn bounded(store: &'s TermStore, limits: Limits, work: Option<u64>) -> Self {
        Prover {
            store,
            canon: Canon::bounded(store, &limits, work),
            under: None,
            limits,
            survey: Some(Survey::default()),
        }
    }

    /// For terms in which nothing reads special values, though they look as if: they were made so.
    pub(crate) fn of_reals(store: &'s TermStore, limits: Limits, work: Option<u64>) -> Self {
        Prover {
            survey: None,
            ..Prover::bounded(store, limits, work)
        }
    }

    /// True if something below one of the terms reads what may be no real.
    pub(super) fn reads_special(&mut self, a: TermId, b: TermId) -> bool {
        let (store, canon) = (self.store, &mut self.canon);
        let mut reads = |s: &mut Survey, t| s.reads(store, t, canon);
        self.survey
            .as_mut()
            .is_some_and(|s| reads(s, a) || reads(s, b))
    }

    /// Whether two terms are one or sums of integers that are defined on all inputs and have one canonical
    /// form, which is found in time that is linear in them.
    pub(crate) fn are_one_sum(&mut self, a: TermId, b: TermId) -> bool {
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

    /// Whether `b` is what `a` is wherever `a` is a number, given that they are equal wherever both are real.
    pub(crate) fn defined(&mut self, by: By, a: TermId, b: TermId) -> Proof {
        if self.reads_special(a, b) {
            return Proof::Special;
        }
        match self.lost_pole(a, b) {
            Some(need) => Proof::Pole(need),
            None => self.has_value(by, a, b),
        }
    }

    /// Whether `b` is real wherever `a` is, given that they are equal wherever both are.
    pub(super) fn has_value(&mut self, by: By, a: TermId, b: TermId) -> Proof {
        let mut proved = Proved {
            by,
            positive_logarithms: false,
        };
        if self.store.is_total(b) {
            return Proof::Yes(proved);
        }
        let given = Given::of(self.store, a);
        let needs = needs::needs(self.store, b, &given);
        proved.positive_logarithms = needs.positive_logarithms;
        let mut open: Vec<Guarded> = needs.open.into_iter().rev().collect();
        let mut split = 0;
        while let Some(n) = open.pop() {
            if self.proved(&n) {
                continue;
            }
            let given = given.under(self.store, &n.guards);
            let met = self.met(n.need, &given);
            if let Some(log) = met.or_else(|| self.met_by_factors(&n, &given)) {
                proved.positive_logarithms |= log;
                continue;
            }
            let Some(branches) = self.branches(&n).filter(|_| split < MOST_SPLIT) else {
                return Proof::Undefined(n.need);
            };
            split += 1;
            open.extend(branches);
        }
        Proof::Yes(proved)
    }

    /// The needs that one of a choice comes down to.
    ///
    /// match `(p ? a : b) != 0` / result `a != 0` where p holds, `b != 0` where it does not; where the branch of the need
    /// says which, that alone.
    fn branches(&self, n: &Guarded) -> Option<SmallVec<[Guarded; 2]>> {
        let (Need::NonZero(x) | Need::NonNegative(x) | Need::Positive(x)) = n.need else {
            return None;
        };
        let Term::Select(p, a, b) = self.store.get(x) else {
            return None;
        };
        let known = guards::parts(self.store, &n.guards).find(|g| g.0 == p);
        let taken = |&(_, value): &(TermId, bool)| known.is_none_or(|g| g.1 == value);
        let branch = |(t, value): (TermId, bool)| {
            let need = match n.need {
                Need::NonZero(_) => Need::NonZero(t),
                Need::NonNegative(_) => Need::NonNegative(t),
                _ => Need::Positive(t),
            };
            let guards = [(p, value)].into_iter().chain(n.guards.iter().copied());
            Guarded {
                need,
                guards: guards.collect(),
            }
        };
        let both = [(a, true), (b, false)].into_iter();
        Some(both.filter(taken).map(branch).collect())
    }

    /// A denominator of `a` at whose zeros `a` may be an infinity and `b` a number.
    ///
    /// None where `b` divides by what is 0 there too, whatever else holds, or where what `a` divides is 0
    /// as well, so that it is not a number. Logarithms of 0 are no poles here: their arguments are taken to be positive.
    pub(super) fn lost_pole(&mut self, a: TermId, b: TermId) -> Option<Need> {
        if self.store.is_total(a) {
            return None;
        }
        let given = Given::of(self.store, b);
        let open = needs::needs(self.store, a, &given).open;
        for n in open {
            let x = match n.need {
                Need::NonZero(x) | Need::Positive(x) => x,
                Need::Never(_) => return Some(n.need),
                Need::NonNegative(_) | Need::Logarithm(_) | Need::NonZeroBits(_) => continue,
            };
            let need = Guarded {
                need: Need::NonZero(x),
                ..n.clone()
            };
            // What is asked of the operand says more, and is what the other direction asks too.
            let given = given.under(self.store, &n.guards);
            let holds = given.contains(&n.need)
                || self.proved(&n)
                || self.met(n.need, &given).is_some()
                || need.need != n.need
                    && (self.proved(&need) || self.met(need.need, &given).is_some())
                || self.numerators_vanish(a, x);
            if !holds {
                return Some(need.need);
            }
        }
        None
    }

    /// Whether all that is divided by a multiple of `x` below a term is 0 where `x` is.
    fn numerators_vanish(&mut self, root: TermId, x: TermId) -> bool {
        for t in needs::partial(self.store, root) {
            let (numerator, operand) = match self.store.get(t) {
                Term::Div(n, d) => (Some(n), d),
                Term::Fun(Fun::Rsqrt, d) => (None, d),
                _ => continue,
            };
            let divides = |p: &Need| matches!(p, Need::NonZero(y) | Need::Positive(y) if *y == x);
            if !needs::parts(self.store, Need::NonZero(operand))
                .iter()
                .any(divides)
            {
                continue;
            }
            let Some(n) = numerator else { return false };
            let factors = needs::parts(self.store, Need::NonZero(n));
            let vanishes = factors.iter().any(|f| match *f {
                Need::NonZero(y) => y == x || self.canon.vanish_together(x, y),
                _ => false,
            });
            if !vanishes && !self.canon.vanishes_with(n, x) {
                return false;
            }
        }
        true
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

    /// Whether needs of the reference imply it factor by factor.
    ///
    /// match `a * b > 0` with `a * b >= 0` proved / needs `a != 0`, `b != 0` / because the reals have no zero divisors.
    fn met_by_factors(&mut self, n: &Guarded, given: &[Need]) -> Option<bool> {
        let Need::Positive(x) = n.need else {
            return None;
        };
        let factors = needs::parts(self.store, Need::NonZero(x));
        if factors == [Need::NonZero(x)] || !self.canon.meets(Need::NonNegative(x)) {
            return None;
        }
        factors.into_iter().try_fold(false, |logarithms, need| {
            let factor = Guarded { need, ..n.clone() };
            if self.proved(&factor) {
                return Some(logarithms);
            }
            Some(self.met(need, given)? || logarithms)
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
                false => {
                    self.canon.same_sign(x, y)
                        // What is never negative has the sign of what is 0 where it is.
                        || self.canon.vanish_together(x, y)
                            && self.canon.meets(Need::NonNegative(x))
                }
            };
            if alike || x == y || self.canon.equal(x, y) {
                return Some(log);
            }
        }
        None
    }
}
