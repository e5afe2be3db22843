//! What the decision asks of the normaliser.
//!
//! Every answer is sound in the direction of `true`.

use crate::norm::{Equality, Limits, NormError, Normalizer, Sign};
use crate::term::{TermId, TermStore};

/// The normaliser's scratch over a frozen store.
pub(super) struct Canon<'s> {
    norm: Normalizer<'s>,
}

impl<'s> Canon<'s> {
    /// An empty scratch.
    pub(super) fn new(store: &'s TermStore) -> Self {
        Canon {
            norm: Normalizer::new(store, Limits::default()),
        }
    }

    /// An empty scratch for the inputs on which these elements have these signs.
    pub(super) fn under(store: &'s TermStore, facts: &[(TermId, Sign)]) -> Self {
        let mut canon = Canon::new(store);
        for &(t, sign) in facts {
            canon.norm.assume(t, sign);
        }
        canon
    }

    /// Whether the terms have one value wherever both are defined; `Err` if there is no canonical
    /// form to compare.
    pub(super) fn compare(&mut self, a: TermId, b: TermId) -> Result<bool, NormError> {
        match self.norm.equal(a, b) {
            Equality::Equal => Ok(true),
            Equality::Different => Ok(false),
            Equality::Unknown(e) => Err(e),
        }
    }

    /// Whether the terms have one value wherever both are defined.
    pub(super) fn equal(&mut self, a: TermId, b: TermId) -> bool {
        self.compare(a, b) == Ok(true)
    }

    /// Whether the term is not 0 wherever it is defined.
    pub(super) fn nonzero(&mut self, t: TermId) -> bool {
        self.norm.prove_nonzero(t)
    }

    /// Whether the term is not below 0 wherever it is defined.
    pub(super) fn nonnegative(&mut self, t: TermId) -> bool {
        self.norm.prove_nonneg(t)
    }

    /// Whether the term is above 0 wherever it is defined.
    pub(super) fn positive(&mut self, t: TermId) -> bool {
        self.norm.prove_positive(t)
    }
}
