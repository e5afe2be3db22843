//! Outcomes to rulings.
//!
//! * [`grid`]: several CTAs of one launch as one outcome, and what they do to each other; launches one after the other.
//! * [`formula`]: a line of mathematics to the same outcome as a run.
//! * [`reading`]: what constants and expanded library functions stand for, as listed assumptions.
//! * [`decide`]: two clean outcomes to rulings: a few inputs first, then tactics, cheapest first.
//! * [`explain`]: rulings to an [`explain::Decision`] with its sentences, and what differs.
//! * [`bits`]: whether two runs leave the same bits.

use volta_base::{answer, diag, progress, work};
use volta_ptx::{kernel, ptx};
use volta_sim::{explore, sim, spec};
use volta_term::{norm, number, special, term};

pub mod bits;
pub mod decide;
pub mod explain;
pub mod formula;
pub mod grid;
pub mod reading;
