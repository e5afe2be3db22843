//! Are two clean outcomes equal?
//!
//! The functions of this stage will be
//! `decide(reference: Clean, optimized: Clean, arrays: &Arrays, options: &Options) -> Decision` and
//! `discharge(outcome: &mut Outcome, arrays: &Arrays, options: &Options)`, which turns every
//! [`crate::sim::Obligation`] into a warning, a defect or an unknown.

mod types;

pub use types::*;
