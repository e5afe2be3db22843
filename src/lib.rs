//! volta: skeleton; the essay is written with the first stages.
pub mod check;
pub mod diag;
pub mod dump;
pub mod equiv;
pub mod gate;
pub mod input;
pub mod kernel;
pub mod ptx;
pub mod race;
pub mod report;
pub mod sim;
pub mod spec;
pub mod term;
