//! Allocation, release and end of allocation of tensor memory by a pair of CTAs.
//!
//! With `.cta_group::2` one warp of each CTA of the pair performs the operation, both together: the first of the two may
//! be held until the other one comes (PTX ISA 9.0, sections 9.7.16.5 and 9.7.16.7). So a warp whose partner never comes,
//! or comes to another operation first, can hang, and here it does. An allocation is one for both CTAs, at one address:
//! whoever knows that it has returned in one of them knows that the columns of the other are allocated too.
//!
//! Sound: the two warps learn nothing else of each other, neither from an allocation, whose store is a weak one of its own
//! CTA, nor from a release, which need not wait.

use super::clock::Actor;

mod exec;

/// A warp that waits for one of the other CTA of its pair.
#[derive(Clone, Debug, Hash)]
pub(super) struct Half {
    w: usize,
    name: &'static str,
    /// The columns that it wants or gives back.
    columns: Option<u64>,
    /// Where those of an allocation begin.
    first: Option<usize>,
    /// The agents of an allocation.
    agents: Option<Actor>,
}
