//! A kernel of a request, and what is said of its launch.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answer::Failure;

use super::answer;

/// Keys of a manifest.
pub(super) type Launch = Map<String, Value>;

/// A kernel: a file, or a text with the name that reports give it. A reference may be a formula.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kernel {
    /// A file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
    /// PTX.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// A name for the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// A formula in the place of a kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    formula: Option<String>,
}

/// Where a kernel's text is.
pub(super) enum Origin<'a> {
    /// It is a formula.
    Formula(&'a str),

    /// In a file.
    File(&'a Path),
    /// Here, with its name.
    Text(&'a str, &'a str),
}

impl Kernel {
    /// A text with its name.
    pub(super) fn text(text: String, name: String) -> Kernel {
        Kernel {
            path: None,
            text: Some(text),
            name: Some(name),
            formula: None,
        }
    }

    /// True for a formula.
    pub(super) fn is_formula(&self) -> bool {
        self.formula.is_some()
    }

    /// Where its text is; `role` names a text that has no name.
    pub(super) fn origin<'a>(&'a self, role: &'a str) -> Result<Origin<'a>, Failure> {
        let name = self.name.as_deref();
        let why = match (&self.path, &self.text, &self.formula) {
            (None, None, Some(formula)) if formula.starts_with('@') => {
                "the text of a formula belongs here, not the file that holds it"
            }
            (None, None, Some(formula)) if name.is_none() => return Ok(Origin::Formula(formula)),
            // A name with a NUL is that of a text in a worker, and of no file.
            (Some(path), None, None) if path.as_os_str().as_encoded_bytes().contains(&0) => {
                "no path has a NUL in it"
            }
            (Some(path), None, None) if name.is_none() => return Ok(Origin::File(path)),
            (None, Some(text), None) => return Ok(Origin::Text(text, name.unwrap_or(role))),
            _ => "a kernel is {\"path\": ...} or {\"text\": ..., \"name\": ...}",
        };
        Err(answer::usage(format!("{role}: {why}")))
    }
}
