//! From text to kernels through the library: what is accepted, refused and covered.

mod covered;
mod lines;
mod pages;
mod parse;
