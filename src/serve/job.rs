//! A request as a worker gets it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::Failure;

use super::kernel::{Launch, Origin};
use super::request::How;
use super::subject::Subject;

/// A request as a worker gets it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    /// Of the client.
    pub id: Value,
    /// `prepare`, or the word of a question.
    pub command: String,
    /// The reference.
    pub reference: Option<Reference>,
    /// The optimized kernel, or the only one.
    pub kernel: Option<Subject>,
    /// Launch and bindings, above those of the reference.
    pub launch: Launch,
    /// How to answer.
    pub how: How,
    /// Handles that are not asked for again.
    pub drop: Vec<String>,
}

/// A reference of a job.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Reference {
    /// Its handle, if it has one.
    pub handle: Option<String>,
    /// Its text, unless the worker holds it.
    pub kernel: Option<Subject>,
    /// What was said when it was prepared.
    pub launch: Launch,
}

impl Reference {
    /// Its text, if it is a formula.
    pub(super) fn formula(&self) -> Result<Option<&str>, Failure> {
        let Some(Subject::One(kernel)) = &self.kernel else {
            return Ok(None);
        };
        let origin = Some(kernel.origin("reference"));
        Ok(match origin.transpose()? {
            Some(Origin::Formula(formula)) => Some(formula),
            Some(Origin::File(_) | Origin::Text(..)) | None => None,
        })
    }
}
