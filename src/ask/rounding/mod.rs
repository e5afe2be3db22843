//! Kernels of a command on the machine: what numbers say beside the claim about reals.
//!
//! A verdict of `check` is about real numbers, and so is silent about overflow, lost digits and the order of sums. Here
//! the kernels are executed on inputs with the machine's arithmetic: a counterexample is confirmed
//! ([`confirm`]), and `--rounding` measures the errors of both kernels beside the real values ([`measure`]).

mod bound;
mod choice;
pub(crate) mod confirm;
mod constants;
mod enclosure;
mod execute;
mod expf;
mod integers;
mod limits;
pub(crate) mod measure;
mod part;
mod products;
pub(crate) mod range;
pub(crate) mod sample;
pub(crate) mod schedules;
pub(crate) mod shadow;
mod shares;
mod step;
mod ties;
pub(crate) mod warn;
