//! What is printed with exit status 2.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ErrorKind, Instance, Part, Schema, Site};

/// A usage or input error.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ErrorAnswer {
    /// Version of this shape.
    pub schema: Schema,
    /// Version of volta.
    pub volta: String,
    /// The command; null where none could be read.
    pub command: Option<String>,
    /// What is wrong.
    pub error: Error,
    /// Of a command at several sizes: all instances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<Instance>,
}

/// What is wrong with the input.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Error {
    /// The kind.
    pub kind: ErrorKind,
    /// A sentence: the first error.
    pub message: String,
    /// The places of all errors.
    pub sites: Vec<Site>,
    /// What it is about; null for the command as a whole.
    pub which: Option<Part>,
    /// What the user can do.
    pub hint: Option<String>,
}
