//! Values about which nothing is known, and where they get to.
//!
//! Problem: lanes beyond the end of the data compute with a constant what others compute with data, and store nothing.
//! What has no model there (the bits of a number that machines round in ways of their own, a sum that rounds, a library
//! function that is not recognised) is of no matter. Neither is what a racing read gives that nobody uses.
//!
//! Such a value is an unknown of its own. A reason why one is open is told if the unknown is found below an output, an
//! address, a guard of a write or another condition of the run, and in a run that ended early, which it may be the cause of.
//!
//! Sound: an unknown stands for every value, and what is derived of it keeps it below: terms drop an operand only where any
//! number there gives the same, and a float whose bits are unknown may be no number ([`TermStore::is_total`]). A branch
//! or an operand that needs a value to go on ends the run.
//!
//! [`TermStore::is_total`]: crate::term::TermStore::is_total

use rustc_hash::FxHashMap;

use crate::kernel::Pc;
use crate::term::TermId;

use super::{Outcome, Site, UnknownKind};

mod exec;

/// What is open, and the unknowns that stand for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Doubts {
    reasons: Vec<(UnknownKind, Site, &'static str)>,
    known: FxHashMap<(Pc, &'static str), usize>,
    /// The reason of each serial.
    serials: FxHashMap<u32, usize>,
}

impl Doubts {
    /// True if nothing is open.
    pub(super) fn is_empty(&self) -> bool {
        self.serials.is_empty()
    }
}

/// The terms of what a run leaves: outputs, addresses, conditions.
pub(super) fn roots(out: &Outcome) -> Vec<TermId> {
    let written = out.writes.values().flat_map(|w| w.values().copied());
    let equal = out.obligations.iter().flat_map(|o| [o.equal.0, o.equal.1]);
    let decided = out.conditionals.iter();
    let decided = decided.flat_map(|c| c.values.iter().copied().chain([c.cond]));
    let places = out.gathers.iter().flat_map(|g| g.terms());
    let maps = out.opaque.iter().flat_map(|o| o.words.iter().copied());
    let guards = out.guards.iter().flatten().filter(|g| g.writes);
    let all = written
        .chain(equal)
        .chain(decided)
        .chain(places)
        .chain(maps);
    all.chain(guards.map(|g| g.cond)).collect()
}
