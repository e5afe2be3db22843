//! volta: skeleton; the essay is written with the first stages.
pub mod diag;
pub mod equiv;
pub mod kernel;
pub mod norm;
pub mod ptx;
pub mod sim;
pub mod spec;
pub mod term;
