//! Refutation: inputs on which two sides differ.
//!
//! `screen` looks at a few inputs for all elements at once, `witness` searches for one element. Both
//! sift candidates in doubles (`cells`), and what seems to tell the sides apart is evaluated with
//! known error and a bound on the error of that difference (`error`). `climb` makes a small
//! difference larger, `minimise` makes the input readable.

pub mod cells;
mod climb;
mod error;
pub mod links;
mod minimise;
pub mod patterns;
mod screen;
mod search;
mod witness;

pub(crate) use minimise::minimise;
pub(crate) use screen::screen;
pub(crate) use search::{Budget, Search, Seen, search};
pub(crate) use witness::DifferingInput;
