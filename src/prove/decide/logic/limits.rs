//! Bounds of the Boolean back end. All are counts, so that an answer in time is the same on every machine.

/// Gates of one question.
pub(super) const MAX_GATES: usize = 1 << 18;

/// Nodes of the diagrams of one question, and input bits that they are tried with.
pub(super) const MAX_NODES: usize = 1 << 16;
pub(super) const MAX_DIAGRAM_INPUTS: usize = 512;

/// Clauses that the solver learns about words, and about regions.
pub(super) const MAX_LEARNT: u64 = 5_000;

/// Terms below a question that are looked into.
pub(super) const MAX_TERMS: usize = 20_000;

/// Operands of a sum that are taken apart within another.
pub(super) const MAX_OPERANDS: usize = 128;

/// Bits of a product of two unknown words that is multiplied out before the solver is asked.
pub(super) const MAX_PRODUCT: usize = 20;

/// Regions of one question: as many as have so many terms together, within these bounds.
pub(super) const MAX_REGION_TERMS: usize = 1 << 21;
pub(super) const MIN_REGIONS: usize = 100;
pub(super) const MAX_REGIONS: usize = 1_000;

/// Conditions of a region that are given up one by one, and trials of one question.
pub(super) const MAX_DROPPED: usize = 12;
pub(super) const MAX_TRIALS: usize = 400;

/// Monomials of a form that linear arithmetic looks at.
pub(super) const MAX_MONOMIALS: usize = 64;

/// Choices of indices, terms of one of their predicates, and clauses that the solver learns about one.
pub(super) const MAX_BEST_CHOICES: usize = 1 << 13;
pub(super) const MAX_PREDICATE: usize = 20_000;
pub(super) const MAX_BEST_LEARNT: u64 = 2_000;

/// Choices of indices that are not the best of a set, and choices that together take one of two.
pub(super) const MAX_MISSED: usize = 16;

/// Indices of a choice whose word is that of its predicates to the choices above it.
pub(super) const MAX_SPELLED_OUT: usize = 32;
