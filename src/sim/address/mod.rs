//! Addresses: an object and an offset in it, whatever the numbers are.
//!
//! `layout` gives the bases of a launch, `provenance` says how a number depends on them, `image`
//! looks at its bits, `moved` moves them, `derive` has a rule for each operation, `compare` for
//! tests, and `carry` follows what registers and memory hold. Where an access goes is decided in
//! `place`.

pub mod carry;
pub mod compare;
pub mod derive;
pub mod image;
pub mod layout;
mod moved;
pub mod provenance;
