//! Allocation, release and end of allocation of tensor memory by a pair of CTAs.
//!
//! With `.cta_group::2` one warp of each CTA of the pair performs the operation, both together: the first of the two may
//! be held until the other one comes (PTX ISA 9.0, sections 9.7.16.5 and 9.7.16.7). So a warp whose partner never comes,
