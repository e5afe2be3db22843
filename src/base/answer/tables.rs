//! The tables that `volta explain` shows.

use super::bits::AboutIdentity;

/// All of them.
#[derive(Clone, Debug)]
pub struct Tables {
    /// The identities that keep all bits.
    pub identities: Vec<AboutIdentity>,
    /// Why something is run again with more known.
    pub runs: Vec<AboutRuns>,
}

/// A reason to run something again with more known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AboutRuns {
    /// Its name in `stats.runs`.
    pub name: &'static str,
    /// What is run again.
    pub of: &'static str,
    /// What is known more in each run.
    pub says: &'static str,
    /// Most runs of one of these.
    pub most: u32,
}
