//! Addresses: an object and an offset in it, whatever the numbers are.
//!
//! `layout` gives the bases of a launch, `provenance` says how a number depends on them, `image`
//! looks at its bits, `moved` moves them, `pins` makes more of them known, `derive` has a rule for each operation, `compare`
//! for tests, `rounded` has bases that are rounded, `next_multiple` an address that a test rounds, and `carry` follows what
//! registers and memory hold. Where an access goes is decided in `place`.

pub(super) mod carry;
pub(super) mod compare;
pub(super) mod derive;
pub(super) mod image;
pub(super) mod layout;
mod moved;
mod next_multiple;
pub(super) mod pins;
pub(super) mod provenance;
mod rounded;
