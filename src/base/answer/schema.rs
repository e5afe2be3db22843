//! The JSON Schema of everything that `--format json` prints, from the types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ErrorAnswer, Gate, Report, Steps};

/// Version of the shape of the JSON output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Schema {
    /// Version 2.
    #[default]
    #[serde(rename = "volta/2")]
    V2,
}

impl Schema {
    /// The version as it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Schema::V2 => "volta/2",
        }
    }
}

/// Version of volta.
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_string()
}

/// One object of the JSON output.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(
    title = "volta/2",
    description = "One object of volta's --format json."
)]
#[allow(dead_code)] // Read by the derived schema alone.
enum Object {
    Report(Box<Report>),
    Gate(Gate),
    Steps(Steps),
    Error(ErrorAnswer),
}

/// The schema as text.
pub fn text() -> String {
    let schema = schemars::schema_for!(Object);
    format!("{:#}\n", schema.to_value())
}
