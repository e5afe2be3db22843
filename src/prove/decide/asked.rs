//! Conditions on two outcomes that are proved together.

use super::limits::NamedSums;
use super::options::Options;
use crate::term::TermStore;

/// A store with both kernels, and how to decide.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub store: &'a TermStore,
    pub options: &'a Options,
    /// A bound on the work of a comparison of forms.
    pub work: Option<u64>,
    /// The terms were made without special values.
    pub of_reals: bool,
    /// Bounds from which on sums of both kernels get symbols.
    pub names: Option<&'a NamedSums>,
}
