//! From text to kernels through the library: what is accepted, refused and covered; and the pages of the repository.

mod covered;
mod lines;
mod pages;
mod parse;
