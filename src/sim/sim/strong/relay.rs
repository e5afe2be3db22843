//! What a thread that looks for its whole CTA tells the others, and whether they go round with it.
//!
//! A loop of [`crate::kernel::relays`] is one step that blocks only if a round that does not end it has no effect: all
//! other threads of the CTA stand at barriers of the loop, none of them looks too, and each comes back to the access by
//! the value that it is told. Each walks its part of the body with that value, and what it wrote is put back.

use super::super::val::Val;
use super::location::Key;

mod exec;

/// What was told in a round.
#[derive(Clone, Copy, Debug)]
pub(super) enum Told {
    /// A shared word, its size, and what was written there.
    Word(Key, u32, Val),
    /// To the lanes of a warp, and what.
    Lanes(usize, Val),
}
