//! What every part shares, and none of it knows a kernel.
//!
//! * [`scalar`]: the words that instructions and values share: formats, operations, comparisons.
//! * [`answer`]: what was found, as types; [`answer::kinds`] is the registry of every word that an answer can say.
//! * [`diag`]: spans, sources, how a message with its lines is rendered, and text of others as it may be shown.
//! * [`work`]: units of work, which are the same on every machine; [`progress`]: how far the process is.

pub mod answer;
pub mod diag;
pub mod progress;
pub mod scalar;
pub mod work;
