//! Whether the bits of every output are the same for every schedule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Site, Value};

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SameBits {
    /// For every schedule of the launch.
    Yes,
    /// Two schedules were executed that give different bits.
    No,
    /// Neither.
    Unknown,
}

impl SameBits {
    /// The word.
    pub fn name(self) -> &'static str {
        match self {
            SameBits::Yes => "yes",
            SameBits::No => "no",
            SameBits::Unknown => "unknown",
        }
    }
}

/// The answer with its reason.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Determinism {
    /// The answer.
    pub answer: SameBits,
    /// Why, as a sentence without a full stop.
    pub because: String,
    /// The instructions that the order decides about.
    pub sites: Vec<Site>,
    /// An element under two schedules, where they differ.
    pub schedules: Option<Schedules>,
}

/// An element under two schedules.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Schedules {
    /// The array.
    pub output: String,
    /// Index of the element by dimension.
    pub element: Vec<u64>,
    /// The kind of input, drawn from seed 0.
    pub input: String,
    /// What the CTAs leave one after the other, in the order of their ranks, warps taking turns.
    pub first: Value,
    /// What another order leaves.
    pub second: Value,
    /// The other order.
    pub order: String,
}
