//! What the decision asks of the normaliser.
//!
//! Every answer is sound in the direction of `true`.

use super::needs::Need;
use crate::norm::{CanonId, Equality, Limits, NormError, Normalizer, Polynomial, Reading, Sign};
use crate::spec::{self, limits};
use crate::term::{TermId, TermStore};

/// Work of a question about one sign, where many are asked.
pub(crate) const SIGN_WORK: u64 = 1 << 18;

impl crate::special::Signs for Canon<'_> {
    fn nonzero(&mut self, t: TermId) -> bool {
        Canon::nonzero(self, t)
    }

    fn nonnegative(&mut self, t: TermId) -> bool {
        Canon::nonnegative(self, t)
    }

    fn positive(&mut self, t: TermId) -> bool {
        Canon::positive(self, t)
    }
}

/// The normaliser's scratch over a frozen store.
pub(crate) struct Canon<'s> {
    norm: Normalizer<'s>,
    store: &'s TermStore,
    limits: Limits,
    facts: Vec<(TermId, Sign)>,
}

impl<'s> Canon<'s> {
    /// An empty scratch.
    pub(crate) fn new(store: &'s TermStore, limits: &spec::Limits) -> Self {
        Canon::bounded(store, limits, None)
    }

    /// The same with a bound on the work of one question.
    pub(crate) fn bounded(store: &'s TermStore, limits: &spec::Limits, work: Option<u64>) -> Self {
        let limits = Canon::limits(limits, work);
        Canon {
            norm: Normalizer::new(store, limits),
            store,
            limits,
            facts: Vec::new(),
        }
    }

    /// The normaliser's limits, with a bound on the work of one question.
    pub(crate) fn limits(limits: &spec::Limits, work: Option<u64>) -> Limits {
        let own = Limits::default();
        Limits {
            deadline: limits.deadline,
            stopped: limits::stopped,
            max_work: work.unwrap_or(own.max_work),
            ..own
        }
    }

    /// Whether a term is seen to be a sum of squares before anything is multiplied out.
    pub(crate) fn is_sum_of_squares(&mut self, t: TermId) -> bool {
        self.fresh().is_sum_of_squares(t)
    }

    /// An empty scratch for the inputs on which these terms have these signs, elements first.
    pub(crate) fn under(
        store: &'s TermStore,
        facts: &[(TermId, Sign)],
        limits: &spec::Limits,
        work: Option<u64>,
    ) -> Self {
        let mut canon = Canon::bounded(store, limits, work);
        canon.facts = facts.to_vec();
        canon.assume();
        canon
    }

    fn assume(&mut self) {
        for &(t, sign) in &self.facts {
            self.norm.assume(t, sign);
        }
    }

    /// The scratch, a new one if the last question spoilt it, so that no answer depends on what was
    /// asked before.
    fn fresh(&mut self) -> &mut Normalizer<'s> {
        if self.norm.is_spoilt() {
            self.norm = Normalizer::new(self.store, self.limits);
            self.assume();
        }
        &mut self.norm
    }

    /// Whether the terms have one value wherever both are defined; `Err` if there is no canonical
    /// form to compare.
    pub(crate) fn compare(&mut self, a: TermId, b: TermId) -> Result<bool, NormError> {
        match self.fresh().equal(a, b) {
            Equality::Equal => Ok(true),
            Equality::Different => Ok(false),
            Equality::Unknown(e) => Err(e),
        }
    }

    /// Whether the terms have one value wherever both are defined.
    pub(crate) fn equal(&mut self, a: TermId, b: TermId) -> bool {
        self.compare(a, b) == Ok(true)
    }

    /// Whether a need holds on all inputs, by the sign of its operand.
    pub(crate) fn meets(&mut self, need: Need) -> bool {
        match need {
            Need::NonZero(x) => self.nonzero(x),
            Need::NonNegative(x) => self.nonnegative(x),
            Need::Positive(x) | Need::Logarithm(x) => self.positive(x),
            Need::NonZeroBits(_) | Need::Never(_) => false,
        }
    }

    /// Whether the term is not 0 wherever it is defined.
    pub(crate) fn nonzero(&mut self, t: TermId) -> bool {
        self.fresh().prove_nonzero(t)
    }

    /// Whether two terms are 0 on the same inputs, of those on which both are defined.
    pub(crate) fn vanish_together(&mut self, a: TermId, b: TermId) -> bool {
        self.fresh().vanish_together(a, b)
    }

    /// Whether `a` is 0 wherever `b` is, of the inputs on which both are defined.
    pub(crate) fn vanishes_with(&mut self, a: TermId, b: TermId) -> bool {
        self.fresh().vanishes_with(a, b)
    }

    /// Whether two terms have one sign on all inputs on which both are defined.
    pub(crate) fn same_sign(&mut self, a: TermId, b: TermId) -> bool {
        self.fresh().same_sign(a, b)
    }

    /// Whether the term is not below 0 wherever it is defined.
    pub(crate) fn nonnegative(&mut self, t: TermId) -> bool {
        self.fresh().prove_nonneg(t)
    }

    /// Whether the term is above 0 wherever it is defined.
    pub(crate) fn positive(&mut self, t: TermId) -> bool {
        self.fresh().prove_positive(t)
    }

    /// A comparison of reals as a question about the sign of a canonical form.
    pub(super) fn reading(&mut self, p: TermId) -> Option<Reading> {
        // Forms of a scratch that was thrown away mean nothing in another.
        if self.norm.is_spoilt() {
            return None;
        }
        self.norm.reading(p)
    }

    /// A number that all terms of one canonical form share, as long as this scratch is not spoilt.
    pub(super) fn class(&mut self, t: TermId) -> Option<(u8, u32)> {
        if self.norm.is_spoilt() {
            return None;
        }
        self.norm.class(t)
    }

    /// The canonical form of a term as a sum of multiples of monomials, if it has few.
    pub(super) fn polynomial(&mut self, t: TermId, most: usize) -> Option<Polynomial> {
        if self.norm.is_spoilt() {
            return None;
        }
        self.norm.polynomial(t, most)
    }

    /// The same for a form that a reading gave.
    pub(super) fn polynomial_of(&mut self, form: CanonId, most: usize) -> Option<Polynomial> {
        if self.norm.is_spoilt() {
            return None;
        }
        self.norm.polynomial_of(form, most)
    }

    /// The same for a number that has the sign of a term.
    pub(super) fn polynomial_of_sign(&mut self, t: TermId, most: usize) -> Option<Polynomial> {
        if self.norm.is_spoilt() {
            return None;
        }
        self.norm.polynomial_of_sign(t, most)
    }
}
