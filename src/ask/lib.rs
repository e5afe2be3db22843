//! The questions that can be asked about kernels, each an engine from kernels to a report; [`ask`] lists them.
//!
//! * [`check`], [`race`], [`run`], [`dump`], [`lift`], [`rows`], [`classes`], [`slack`]: the drivers, each of which reads as
//!   the pipeline; [`any`]: one kernel in every launch.
//! * [`found`]: how runs and decisions become reports; [`rounding`], [`certificate`], [`sass`]: sections of them.
//! * [`trial`] runs kernels on known data where they depend on it, and [`cases`] once for each content of a few small
//!   integers.
//! * [`input`], [`spec_file`], [`prepared`]: where kernels and settings come from; [`instances`] asks at several sizes,
//!   [`steps`] compares the steps of one operator.

use volta_base::{answer, diag, work};
use volta_prove::{bits, decide, explain, formula, grid, reading};
use volta_ptx::{kernel, ptx};
use volta_sim::{explore, precision, sim, spec};
use volta_term::{norm, number, term};

pub mod alone;
pub mod any;
pub mod ask;
pub mod asked;
pub mod cases;
pub mod certificate;
pub mod check;
pub mod classes;
pub mod dump;
pub mod found;
pub mod init;
pub mod input;
pub mod instances;
pub mod lift;
pub mod prepared;
pub mod race;
pub mod rounding;
pub mod rows;
pub mod run;
pub mod sass;
pub mod slack;
mod source_names;
pub mod spec_file;
pub mod steps;
pub mod trial;
