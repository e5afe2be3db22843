//! Every bound of the decision, in one table.
//!
//! A bound orders work or ends it in `unknown`; none of them changes what is true. Work is counted in
//! terms and edges of terms, so that a verdict is the same on every machine.

/// The first look at a few inputs, over all elements at once.
pub(crate) struct Screen {
    /// Terms and edges that may be evaluated in doubles.
    pub steps: u64,
    /// Inputs that are tried whatever they cost.
    pub least: usize,
    /// Candidates that are evaluated with known error before the look ends without an answer.
    pub checks: usize,
    /// Those of one element, and elements that are looked at on one input beside the one that is furthest apart.
    pub element_checks: usize,
    pub spread: usize,
    /// Terms and edges that may be evaluated with known error.
    pub check_steps: u64,
    /// The least relative difference in doubles that makes a candidate.
    pub seen: f64,
    /// The least one that rounding hardly explains, and how many of the first inputs are ordinary numbers.
    pub suspect: f64,
    pub ordinary: usize,
    /// Searches of elements that are so far apart there, and the terms and edges that each may evaluate in doubles.
    pub searches: usize,
    pub search_steps: u64,
}

pub(crate) const SCREEN: Screen = Screen {
    steps: 6_000_000,
    least: 2,
    checks: 6,
    element_checks: 2,
    spread: 2,
    check_steps: 1_000_000,
    seen: 1.0 / (1 << 17) as f64,
    suspect: 0.03,
    ordinary: 3,
    searches: 3,
    search_steps: 500_000,
};

/// Searches for inputs that tell one element apart.
pub(crate) struct Searches {
    /// Terms and edges that a quick search and a thorough one may evaluate in doubles.
    pub quick: u64,
    pub thorough: u64,
    /// Thorough searches.
    pub searches: usize,
    /// Elements of a chunk that stay open after a search before the others are given up.
    pub failures: usize,
    /// Chunks of the searches.
    pub chunks: usize,
    /// Candidates that are evaluated with known error before a search gives up.
    pub checks: usize,
    /// Candidates of which each is evaluated; after them only those that are further apart than what
    /// rounding has explained.
    pub eager: usize,
    /// Of those, candidates on which the optimized kernel alone seems to have no value: most often that
    /// says nothing of what its machine computes, and one such input is as good as another.
    pub undefined: usize,
    /// Relative differences in doubles from which on a candidate is evaluated with known error, and
    /// below which a difference is that of the doubles.
    pub seen: f64,
    pub noise: f64,
}

pub(crate) const SEARCHES: Searches = Searches {
    quick: 2_000_000,
    thorough: 50_000_000,
    searches: 2,
    failures: 8,
    chunks: 8,
    checks: 24,
    eager: 8,
    undefined: 6,
    seen: 1e-6,
    noise: 1e-11,
};

/// What two values must be apart by to count as different.
pub(crate) struct Apart {
    /// Bits of the evaluation.
    pub precision: u32,
    /// Values that differ by less than 2^-bits of the larger are not apart: in general, and where both
    /// sides use the same functions and choose between no cases.
    pub relative: i64,
    pub relative_same: i64,
    /// Values that differ by less than this power of two are not apart: below the smallest normal float
    /// of 32 bits; and, where a term chooses between cases, below what the last bits of an
    /// approximation by cases (a saturating tanh) explain.
    pub absolute: i64,
    pub absolute_by_cases: i64,
    /// Constants with all the digits of their format from which on a term has polynomials in it.
    pub coefficients: usize,
}

pub(crate) const APART: Apart = Apart {
    precision: 160,
    relative: 16,
    relative_same: 20,
    absolute: -126,
    absolute_by_cases: -18,
    coefficients: 6,
};

/// Hill climbing from a small difference to a larger one.
pub(crate) struct Climb {
    /// Candidates that are climbed from.
    pub starts: usize,
    /// Scores below this are those of rounded constants: nothing to climb from.
    pub least: f64,
    /// Rounds over all inputs.
    pub rounds: usize,
    /// Evaluations with known error from one start.
    pub checks: usize,
    /// How much more a score must be before the candidate is checked again.
    pub step: f64,
}

pub(crate) const CLIMB: Climb = Climb {
    starts: 3,
    least: 0.02,
    rounds: 12,
    checks: 6,
    step: 1.5,
};

/// Making a counterexample readable.
pub(crate) struct Minimise {
    /// Terms and edges that may be evaluated in doubles.
    pub steps: u64,
    /// What an evaluation with known error costs, in evaluations in doubles.
    pub rigorous: u64,
    /// The relative difference in doubles that is kept.
    pub margin: f64,
    /// Inputs that are rounded one by one.
    pub rounded: usize,
}

pub(crate) const MINIMISE: Minimise = Minimise {
    steps: 20_000_000,
    rigorous: 40,
    margin: 1e-4,
    rounded: 64,
};

/// Rounds of tactics over all elements.
pub(crate) struct Rounds {
    /// Terms and edges that are worth a chunk of their own, the largest number of chunks that work, rather
    /// than the number of elements, asks for (enough for many cores), and the largest chunk.
    pub chunk_work: usize,
    pub chunks: usize,
    pub chunk: usize,
    /// Terms of a pair in which functions are looked for before the first round.
    pub named_terms: usize,
    /// Work of a comparison whose terms have functions in them that a compiler has expanded, before and
    /// after they stand by their names.
    pub expanded_work: u64,
    pub named_work: u64,
    /// Work of a comparison by forms before evaluation at random points is tried, and the elements that
    /// share a scratch after it.
    pub before_points: u64,
    pub points_chunk: usize,
}

pub(crate) const ROUNDS: Rounds = Rounds {
    chunk_work: 25_000,
    chunks: 48,
    chunk: 1024,
    named_terms: 200_000,
    expanded_work: 1 << 18,
    named_work: 1 << 22,
    before_points: 1 << 18,
    points_chunk: 64,
};

/// Single tactics.
pub(crate) struct Tactics {
    /// Terms of a store beyond which needs are not used as facts: each set of facts has a scratch as
    /// large as the store.
    pub facts_terms: usize,
    /// Terms of a goal whose integers are taken one number after the other, or whose conditions are, and cases of it.
    pub index_terms: usize,
    pub index_cases: usize,
    /// Conditions that both sides choose by, of which each is taken apart.
    pub index_conditions: usize,
    /// Denominators of the reference that are taken not to be 0.
    pub denominators: usize,
    /// Additions and multiples of one sum that is taken apart, and terms below all its summands, counted
    /// for each.
    pub summands: usize,
    pub summand_terms: usize,
    /// Selects that are searched for a zero with a sign.
    pub selects: usize,
    /// Comparisons that are looked at for their thresholds.
    pub thresholds: usize,
}

pub(crate) const TACTICS: Tactics = Tactics {
    facts_terms: 100_000,
    index_terms: 1 << 12,
    index_cases: 256,
    index_conditions: 4,
    denominators: 16,
    summands: 1 << 16,
    summand_terms: 1 << 20,
    selects: 1 << 12,
    thresholds: 256,
};

/// Symbols for sums that both kernels compute.
#[derive(Debug)]
pub(crate) struct NamedSums {
    /// Factors and summands of a sum that has a symbol.
    pub size: u64,
    /// Those of all sums, shared ones counted for each use, from which on symbols are looked for.
    pub worth: u64,
    /// Terms of a cube or higher power of a sum, multiplied out, from which on they are looked for too.
    pub power: u64,
    /// Symbols.
    pub symbols: u64,
    /// Passes that put groups of sums in order.
    pub rounds: usize,
    /// Partial operands of a sum.
    pub partial: usize,
    /// Work of a comparison of two sums.
    pub work: u64,
}

pub(crate) const NAMES: NamedSums = NamedSums {
    size: 24,
    worth: 1 << 15,
    power: 1 << 12,
    symbols: 1 << 10,
    rounds: 8,
    partial: 4,
    work: 1 << 22,
};

/// Elements that are others with their inputs renamed.
pub(crate) struct Renaming {
    /// Fewer elements than this are decided one by one, and classes with fewer members.
    pub elements: usize,
    pub members: usize,
    /// Pairs of terms that one walk may visit.
    pub visits: usize,
    /// Parts of the elements that are walked side by side, and the least size of one.
    pub chunks: usize,
    pub chunk: usize,
    /// Members of a class that the next one is compared with.
    pub recent: usize,
}

pub(crate) const RENAMING: Renaming = Renaming {
    elements: 16,
    members: 4,
    visits: 1 << 22,
    chunks: 64,
    chunk: 16,
    recent: 4,
};
