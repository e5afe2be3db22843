//! The JSON object of the command-line contract: what serde writes of the types of [`crate::answer`].

use serde::Serialize;

use crate::diag::foreign;

/// An answer as text.
pub fn text(answer: &impl Serialize) -> String {
    // Nothing in an answer has keys that are no strings, the only thing that JSON cannot hold.
    let text = serde_json::to_string_pretty(answer).unwrap_or_default();
    foreign::json(&text) + "\n"
}
