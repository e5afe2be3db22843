//! Where kernels round to formats narrower than f32.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Sides, Site};

/// The roundings of the kernels of a command.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Precision {
    /// By kernel.
    #[serde(flatten)]
    pub kernels: Sides<Vec<Rounding>>,
    /// In what the optimized kernel narrows more.
    pub differences: Vec<Narrower>,
    /// True if people are to be told all of it.
    #[serde(skip)]
    #[schemars(skip)]
    pub shown: bool,
}

/// Roundings of one source line that are alike.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Rounding {
    /// The format.
    pub format: String,
    /// What narrows.
    pub kind: String,
    /// The type that conversions are from.
    pub from: Option<String>,
    /// What becomes of the values.
    pub r#use: String,
    /// Number of instructions.
    pub instructions: u64,
    /// How often threads executed them.
    pub executions: u64,
    /// Values that were rounded, at most.
    pub values: u64,
    /// The first of the places.
    pub sites: Vec<Site>,
    /// What happens, in words.
    #[serde(skip)]
    #[schemars(skip)]
    pub what: String,
}

/// In what the optimized kernel narrows more.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Narrower {
    /// What it is.
    pub kind: String,
    /// The format.
    pub format: String,
    /// A sentence without a full stop.
    pub message: String,
    /// The first place in the optimized kernel.
    pub site: Site,
}
