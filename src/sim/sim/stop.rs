//! Why a run ends before it is over.

use crate::kernel::Pc;
use crate::term::ArrayId;

/// Why a run ended before it could say anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// An array is written whose reads were not followed.
    Untracked(ArrayId),
    /// A run without values was asked for one.
    Values,
    /// The conditions of an instruction have to be decided.
    Fork(Pc),
}

impl Obstacle {
    /// In words, where nothing answers it.
    pub(super) fn says(self) -> &'static str {
        match self {
            Obstacle::Untracked(_) => "reads of an array that is written were not followed",
            Obstacle::Values => "values were asked for in a run without them",
            Obstacle::Fork(_) => "data decide a branch whose ways cannot be merged",
        }
    }
}

/// Why a run ends before its threads do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// A finding that leaves no way on was recorded.
    Finding,
    /// Nothing can be said before something more is known.
    Open(Obstacle),
}
