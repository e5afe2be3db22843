//! What the decision asks of the normaliser.
//!
//! Every answer is sound in the direction of `true`.

use crate::term::{TermId, TermStore};

/// The normaliser's scratch over a frozen store.
pub(super) struct Canon<'s> {
    store: &'s TermStore,
}

impl<'s> Canon<'s> {
    /// An empty scratch.
    pub(super) fn new(store: &'s TermStore) -> Self {
        Canon { store }
    }

    /// Whether the terms have one value wherever both are defined.
    pub(super) fn equal(&mut self, a: TermId, b: TermId) -> bool {
        a == b
    }

    /// Whether the term is not 0 wherever it is defined.
    pub(super) fn nonzero(&mut self, t: TermId) -> bool {
        self.store.as_const(t).is_some() && !self.store.is_zero(t)
    }

    /// Whether the term is not below 0 wherever it is defined.
    pub(super) fn nonnegative(&mut self, t: TermId) -> bool {
        self.store
            .as_const(t)
            .is_some_and(|q| !num_traits::Signed::is_negative(q))
    }

    /// Whether the term is above 0 wherever it is defined.
    pub(super) fn positive(&mut self, t: TermId) -> bool {
        self.store
            .as_const(t)
            .is_some_and(num_traits::Signed::is_positive)
    }
}
