//! Readings: what a kernel's text stands for, where it is not what the text says to the last bit.
//!
//! A rounded constant is read as the number that was rounded ([`constants`]), the code of a library
//! function as the function ([`functions`]). A reading holds for the whole pair, and each that was used
//! is an assumption of the answer.

use crate::answer::Assumption;
use crate::spec::Limits;
use crate::term::{TermId, TermStore};

pub mod constants;
pub mod functions;

/// What some terms are read as.
pub trait Reading: Sized {
    /// The readings of what stands below some terms; none of them if the limits end the search.
    fn of(store: &TermStore, roots: &[TermId], limits: &Limits) -> Self;

    /// True if nothing is read.
    fn is_empty(&self) -> bool;

    /// The terms as they are read, in another store.
    fn apply(&self, from: &TermStore, roots: &[TermId], into: &mut TermStore) -> Vec<TermId>;

    /// What the readings take for granted.
    fn assumptions(&self) -> Vec<Assumption>;
}
