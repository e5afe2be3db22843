//! The steps of an operator that is optimised.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gate::ManifestCommand;
use super::{GateResult, Schema, Verdict};

/// What `steps` prints.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Steps {
    /// Version of this shape.
    pub schema: Schema,
    /// Version of volta.
    pub volta: String,
    /// Always `steps`.
    pub command: ManifestCommand,
    /// The worst verdict of all comparisons; null where some could not be made.
    pub verdict: Option<Verdict>,
    /// Each step at each size, in the order of the file.
    pub steps: Vec<OneStep>,
}

/// A step at one size.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OneStep {
    /// Its name.
    pub name: String,
    /// Where the file has it, from 1.
    pub line: u32,
    /// What the names of sizes stand for.
    pub sizes: IndexMap<String, i64>,
    /// Wall-clock time of both comparisons.
    pub seconds: f64,
    /// The comparison with the naive kernel.
    pub naive: GateResult,
    /// The comparison with the step before; null for the first step, before which the naive kernel is.
    pub before: Option<GateResult>,
    /// The first wrong step, where this one is wrong in the same way as that one; else null.
    pub inherited: Option<String>,
}
