//! What rounding does to the outputs of a pair, measured on inputs (`--rounding`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Determinism, Sides, Site, Value};

/// The measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Rounding {
    /// Inputs on which the kernels were executed.
    pub samples: u64,
    /// The seed of what was drawn.
    pub seed: u64,
    /// Why less was measured than was asked for, or nothing; null if all was.
    pub left_out: Option<String>,
    /// By output of a float type.
    pub outputs: Vec<Measured>,
    /// Whether the bits of the outputs are the same for every schedule, or why not.
    #[serde(default)]
    pub deterministic: Sides<Determinism>,
}

/// One output.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// Type of its elements.
    pub r#type: String,
    /// Elements that were measured.
    pub elements: u64,
    /// Errors of the kernels, in all inputs together.
    pub errors: Sides<Error>,
    /// By kind of input, those that were searched for last.
    pub inputs: Vec<Kind>,
    /// The largest error of each measured element on inputs as tests draw them (normal, uniform), in ulps, in the order
    /// of memory: of at most 256 elements.
    pub by_element: Sides<Vec<f64>>,
}

/// The error of one kernel against the real value of the reference's formula.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The largest error in units in the last place of the output's type at the real value.
    pub ulps: f64,
    /// The root of the mean of the squares of the errors, in the same unit.
    pub mean_ulps: f64,
    /// The largest error by the real value, where that is not 0.
    pub relative: f64,
    /// The largest error.
    pub absolute: f64,
    /// Elements that are infinite where the real value is not beyond the largest number.
    pub overflows: u64,
    /// Elements that are 0 where the real value is not, but so small that an intermediate result underflows; they do not
    /// count in the errors.
    pub underflows: u64,
    /// Elements that are NaN where there is a real value.
    pub nans: u64,
}

/// The error of one kernel with the place of the largest.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Error {
    /// Over all inputs.
    #[serde(flatten)]
    pub spread: Spread,
    /// Where the largest error was, evaluated once more with known error; null where there is none.
    pub worst: Option<Worst>,
    /// Instructions whose rounding moves the outputs, by their share in it, the largest first.
    pub operations: Vec<Share>,
    /// What holds for all inputs; null where nothing was shown.
    #[serde(default)]
    pub bound: Option<Bound>,
}

/// Bounds of the error of every element against the exact value of the operations that make it, in their order, with each
/// constant as its bits say and `expf` as the exponential. A conversion to an integer, `.sat` and `.satfinite` are operations
/// of the exact value too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    /// Roundings one after the other on the longest way from an input to an element.
    pub roundings: u32,
    /// The error as a part of the sum of the magnitudes of the terms of which the element is the sum, beside `rest`; null
    /// where it is not made by sums, differences and products alone, or where nothing below 1 was shown.
    pub of_terms: Option<f64>,
    /// What the error may be beside `of_terms`: what underflow and `.ftz` take; null where that is.
    #[serde(default)]
    pub rest: Option<f64>,
    /// The largest magnitude of inputs for which `of_terms` and `rest` hold, so that nothing overflows or is saturated on
    /// the way; null if they hold for all finite inputs.
    #[serde(default)]
    pub within: Option<f64>,
    /// The error for all inputs in the ranges that --assume gives, underflow included; null where they do not bound it.
    pub absolute: Option<f64>,
    /// Why there is no such bound although ranges are assumed; null if there is one, or none was asked for.
    #[serde(default)]
    pub left_out: Option<String>,
}

/// The largest error.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Worst {
    /// The kind of input.
    pub input: String,
    /// Index of the element by dimension.
    pub element: Vec<u64>,
    /// What the kernel writes.
    pub value: Value,
    /// The real value.
    pub exact: Value,
}

/// An instruction that loses digits.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Its part in the error that all roundings make, from 0 to 1.
    pub share: f64,
    /// Where it is.
    pub site: Site,
}

/// What inputs of one kind show.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Kind {
    /// The kind.
    pub name: String,
    /// Inputs.
    pub samples: u64,
    /// Errors of the kernels.
    pub errors: Sides<Spread>,
    /// The optimized kernel beside the reference, both on the machine; null beside a formula.
    pub close: Option<Close>,
}

/// Whether `torch.testing.assert_close(optimized, reference)` passes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Close {
    /// With the defaults of the type, on every input of the kind.
    pub passes: bool,
    /// The default of rtol.
    pub rtol: f64,
    /// The default of atol.
    pub atol: f64,
    /// The least rtol that passes with that atol; null if none does.
    pub least_rtol: Option<f64>,
    /// The least atol that passes with that rtol; null if none does.
    pub least_atol: Option<f64>,
    /// True if all bits are the same.
    pub same_bits: bool,
}

/// A number of two digits that is no smaller than a positive one: of an upper bound.
pub fn upwards(x: f64) -> String {
    let text = format!("{x:.1e}");
    let is_below = text.parse::<f64>().is_ok_and(|y| y < x);
    match is_below {
        true => format!(
            "{:.1e}",
            x + 0.05 * libm::exp10(libm::floor(libm::log10(x)))
        ),
        false => text,
    }
}

/// A number of two digits that is no larger than a positive one: of a lower bound.
pub fn downwards(x: f64) -> String {
    let text = format!("{x:.1e}");
    let is_above = text.parse::<f64>().is_ok_and(|y| y > x);
    match is_above {
        true => format!(
            "{:.1e}",
            x - 0.05 * libm::exp10(libm::floor(libm::log10(x)))
        ),
        false => text,
    }
}
