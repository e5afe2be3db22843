//! The results of a manifest.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ErrorAnswer, Report, Schema};

/// What `gate` prints.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Version of this shape.
    pub schema: Schema,
    /// Version of volta.
    pub volta: String,
    /// Always `gate`.
    pub command: ManifestCommand,
    /// Entries that got what they must get.
    pub passed: u64,
    /// The others.
    pub failed: u64,
    /// All of them, in the order of the manifest.
    pub entries: Vec<GateEntry>,
    /// What `--ledger` says of no entry that was run (lines without an entry, the sum of all work), a failure each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<String>,
}

/// A command about a file of comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ManifestCommand {
    /// Does every entry get its verdict?
    Gate,
    /// Is every step of an operator what the naive kernel is?
    Steps,
}

impl ManifestCommand {
    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            ManifestCommand::Gate => "gate",
            ManifestCommand::Steps => "steps",
        }
    }
}

/// One entry.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GateEntry {
    /// Its name.
    pub name: String,
    /// The verdict that it must get.
    pub expect: String,
    /// Whether it did, with the defects that it must find and nothing denied.
    pub ok: bool,
    /// Wall-clock time.
    pub seconds: f64,
    /// Why it is not ok.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// True if the result was known from an earlier run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// Peak memory of the process in bytes, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// What was found.
    pub result: GateResult,
}

/// One instance of a command at several sizes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Instance {
    /// What the names of sizes stand for.
    #[serde(rename = "for")]
    pub sizes: IndexMap<String, i64>,
    /// What was found.
    pub result: GateResult,
}

/// What was found about an entry or an instance.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum GateResult {
    /// It was run.
    Report(Box<Report>),
    /// It could not be run.
    Error(ErrorAnswer),
}
