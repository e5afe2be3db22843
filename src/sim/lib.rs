//! One kernel to one outcome.
//!
//! * [`spec`]: what a kernel is launched with.
//! * [`precision`]: where a kernel rounds to narrow formats.
//! * [`explore`]: runs that are made again with more known.
//! * [`sim`]: all threads of a CTA under one schedule, with happens-before tracked exactly, to a [`sim::Outcome`].

use volta_base::{answer, diag, work};
use volta_ptx::kernel;
use volta_term::{number, term};

pub mod explore;
pub mod precision;
pub mod sim;
pub mod spec;
