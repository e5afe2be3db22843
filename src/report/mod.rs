//! Answers as text: a formatter for each output format.
//!
//! A formatter reads the types of [`crate::answer`] and nothing else: whatever it prints was put there by whoever found it.

pub mod explain;
pub mod github;
pub mod html;
pub mod human;
mod identities;
pub mod json;
pub mod junit;
mod place;
mod roots;
mod rounding;
pub mod sarif;
mod sources;
pub mod summary;
mod words;
