//! What the work on numbers may cost, in one table.
//!
//! A bound ends this work early, and the report says how much of it was done; none of them changes a verdict.

/// The bounds.
pub(crate) struct Table {
    /// Instructions times lanes of one kernel, above which a counterexample is not executed.
    pub confirm: u64,
    /// The same, above which it is not executed on large inputs.
    pub range: u64,
    /// Bytes of an array that numbers are drawn for; with a larger one a launch is not executed on large inputs.
    pub drawn_bytes: u64,
    /// Bytes of an array that is filled.
    pub array_bytes: u64,
    /// Instructions times lanes of all executions of a measurement.
    pub work: u64,
    /// Terms and edges of the measured elements; of more elements some are measured, evenly spread.
    pub terms: usize,
    /// The same where the format is f64 and every element is evaluated with known error.
    pub wide_terms: usize,
    /// Terms and edges that are evaluated in doubles for all inputs.
    pub evaluated: u64,
    /// Elements of an input that are evaluated with known error because doubles overflow.
    pub beyond_doubles: usize,
    /// Maxima, or sums, that are looked through for what a difference, or a share, is taken of.
    pub maxima: usize,
    /// The least magnitude of inputs up to which a bound is told.
    pub least_reach: f64,
    /// Elements that are asked for that magnitude, and tries of smaller ones for all.
    pub spread: usize,
    pub narrowed: usize,
    /// Constants beside which inputs are drawn.
    pub constants: usize,
    /// Elements that are listed one by one.
    pub listed: usize,
}

pub(crate) const LIMITS: Table = Table {
    confirm: 4_000_000,
    range: 100_000,
    drawn_bytes: 1 << 18,
    array_bytes: 1 << 28,
    work: 200_000_000,
    terms: 1 << 20,
    wide_terms: 1 << 13,
    evaluated: 1 << 26,
    beyond_doubles: 16,
    maxima: 1 << 10,
    least_reach: 1.0 / 1024.0,
    spread: 16,
    narrowed: 8,
    constants: 24,
    listed: 256,
};

/// Precision in bits of an evaluation with known error.
pub(crate) const PRECISION: u32 = 192;
