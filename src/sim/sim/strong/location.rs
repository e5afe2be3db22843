//! One word that strong accesses touch: its writes in the order of the run, and who observed which.
//!
//! The order of the run is one order of the writes. An access that nothing orders against another stands at a place
//! that the schedule chose; it is excused only where every place gives the same:
//!
//! * read-modify-writes of one commutative operation whose old values are unused;
//! * steps that the driver makes in each order ([`super::hold`]);
//! * a loop that waits, and the writes before it: it learns what every write gives that it may have observed.
//!
//! A loop that waits may observe a write that does not happen before it, or the last one that does, if that value
//! ends it. If the writes that do not happen before it are in one order among each other, these are the ends of that
//! order; if they are additions in any order, all sums of a part of them.

use crate::kernel::{Pc, Scope};

use super::super::race::AccessKind;
use super::super::region::RegionId;
use super::super::val::Val;
use super::update::Snapshot;
use super::{At, Head, join};

mod exec;

/// A word: the region, the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The region.
    pub region: RegionId,
    /// Its first byte.
    pub off: u64,
}

/// A strong write.
#[derive(Clone, Debug, Hash)]
pub struct Write {
    /// Who wrote, and when.
    pub by: At,
    /// The instruction.
    pub pc: Pc,
    /// What it did.
    pub kind: AccessKind,
    /// What it gave to memory, if that is known.
    pub operand: Option<u64>,
    /// What the word held before it, as a number.
    pub before: Option<u64>,
    /// The same, whatever it is.
    pub held: Val,
    /// In which scope.
    pub scope: Scope,
    /// What a reader of it learns.
    pub heads: Vec<Head>,
    /// What the `fence.sc` before it know.
    pub sequential: Vec<Head>,
    /// How many `fence.sc` its thread had executed.
    pub fences: u32,
    /// The driver chose its place among others.
    pub chosen: bool,
    /// The write before it happens before it.
    pub follows: bool,
    /// Every earlier write comes before it for certain.
    pub last: bool,
}

/// A read, or the reading half of a read-modify-write.
#[derive(Clone, Debug, Hash)]
pub struct Read {
    /// Who read, and when.
    pub by: At,
    /// The instruction.
    pub pc: Pc,
    /// In which scope.
    pub scope: Scope,
    /// Number of writes before it.
    pub after: usize,
    /// It ended a loop that waits.
    pub waited: bool,
    /// The driver chose its place among others.
    pub chosen: bool,
    /// What that loop depends on, if only the end of it matters.
    pub ends: Option<Snapshot>,
}

/// A word that strong accesses touch.
#[derive(Clone, Debug, Default, Hash)]
pub struct Location {
    /// Its size in bytes.
    pub bytes: u32,
    /// The writes so far.
    pub writes: Vec<Write>,
    /// The reads so far.
    pub reads: Vec<Read>,
}

/// What a loop that waits may have observed.
#[derive(Debug)]
pub enum Observed {
    /// For each value that ends it and that is of use after it, or for all together: the value, and the write from
    /// whose heads it learns; `None` is what the word held at first.
    Writes(Vec<(Option<u64>, Option<usize>)>),
    /// Several values end it, and which of them it learns from is not known.
    Open(usize),
}

/// Adds what a release publishes to what a word carries on.
pub fn add_head(heads: &mut Vec<Head>, h: Head) {
    // In the scope of the device it is of no matter who releases.
    let alike = |o: &&mut Head| o.scope == h.scope && (o.from == h.from || h.scope >= Scope::Gpu);
    match heads.iter_mut().find(alike) {
        Some(o) => o.known = join(&o.known, &h.known),
        None => heads.push(h),
    }
}
