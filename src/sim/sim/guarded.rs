//! Conditions of the accesses that input data decides about.
//!
//! The problem: an access under a guard that depends on data happens for some inputs only, so that a
//! pair of accesses that nothing orders is a race only if some input makes both happen. What the
//! shadow remembers of an access is thread and instruction; here is the condition under which the
//! latest of them touched an address, and what it wrote.
//!
//! A pair of which no input makes both happen is nothing ([`TermStore::excludes`](crate::term::TermStore::excludes)), whatever
//! access of its threads to that place it is. Another is handed on with the conjunction of its conditions: a data race if an input is found
//! that satisfies it, nothing if none can, `unknown` otherwise. Two writes of one value are compared
//! where both happen.
//!
//! Sound: what is not known for certain (two writes of the same thread, instruction and address that
//! may not have been ordered before the first was looked at; too many) gives no
//! condition, and the pair stays `unknown`.

use crate::sim::limits::LIMITS;
use rustc_hash::FxHashMap;

use crate::kernel::Pc;
use crate::sim::state::recorded;
use crate::term::enumerate::Cases;
use crate::term::{ArrayId, TermId};

use super::Tid;
use super::race::{Finding, Party};
use super::region::RegionId;

mod exec;

/// Bytes of the widest access.
const WIDEST: u64 = 32;

type Key = (Pc, Tid, RegionId, u64);

/// The latest access of a thread to an address by one instruction.
#[derive(Clone, Copy, Debug, Hash)]
struct Seen {
    tick: u32,
    bytes: u32,
    /// `None` if there were several.
    cond: Option<TermId>,
    /// That one of them holds.
    any: TermId,
    /// That one of them holds, or of those before that all know of.
    ever: TermId,
    /// That of the latest.
    latest: TermId,
    /// The bits that it wrote; `None` if there were several, or none.
    value: Option<TermId>,
}

/// Accesses to bytes of an array under a condition, by one instruction of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// The array.
    pub array: ArrayId,
    /// The first byte.
    pub off: u64,
    /// How many there are.
    pub bytes: u32,
    /// True if they are written.
    pub writes: bool,
    /// The condition.
    pub cond: TermId,
}

impl Guard {
    /// True if all of these bytes are accessed.
    pub fn covers(&self, start: u64, end: u64) -> bool {
        self.off <= start && end <= self.off + u64::from(self.bytes)
    }
}

/// What is remembered of accesses under conditions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guarded {
    seen: FxHashMap<Key, Seen>,
    /// Cases that were looked at for conditions that no input satisfies.
    cases: Cases,
    /// True once something was not remembered.
    full: bool,
    /// Of pairs of instructions: the conditions of the example.
    conds: FxHashMap<(Pc, Pc), Option<(TermId, TermId)>>,
    /// Further examples, at other places.
    more: Vec<(Finding, (TermId, TermId))>,
}

recorded!(Guarded { full }
    tables { seen }
    beside { cases: "derived", conds: "of terms", more: "found" });

impl Guarded {
    /// The condition of one side of a pair at a byte; `yes` for an access without one.
    fn cond(&self, p: &Party, region: RegionId, at: u64, yes: TermId) -> Option<TermId> {
        match p.conditional {
            false => Some(yes),
            true => self.find(p, region, at)?.cond,
        }
    }

    /// A condition under which one side of a pair that was just found is unordered with the other. Of several
    /// accesses of a thread the latest is: were it ordered before the other side, all of them would be.
    /// Copies may end in another order.
    fn witness(&self, p: &Party, region: RegionId, at: u64, yes: TermId) -> Option<TermId> {
        match p.conditional && !p.agent {
            false => self.cond(p, region, at, yes),
            true => Some(self.find(p, region, at)?.latest),
        }
    }

    fn find(&self, p: &Party, region: RegionId, at: u64) -> Option<&Seen> {
        if self.full {
            return None;
        }
        let covers = |d: u64| {
            let seen = self.seen.get(&(p.pc, p.thread, region, at - d))?;
            (d < seen.bytes as u64).then_some(seen)
        };
        let mut found = (0..WIDEST.min(at + 1)).filter_map(covers);
        // Accesses of one instruction that overlap in part are not told apart.
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }

    /// Keeps a further example of a pair of instructions, if it is at another place than those before.
    fn keep(&mut self, f: Finding, conds: (TermId, TermId)) {
        let key = |f: &Finding| (f.earlier.pc, f.later.pc);
        let same = self.more.iter().filter(|m| key(&m.0) == key(&f));
        let known = same.clone().any(|m| m.0.offset == f.offset);
        if !known && same.count() < LIMITS.guarded_examples {
            self.more.push((f, conds));
        }
    }

    /// Further examples, each with its conditions.
    pub(crate) fn take_more(&mut self) -> Vec<(Finding, (TermId, TermId))> {
        std::mem::take(&mut self.more)
    }

    /// The conditions of the example of a finding, as they were when it was found.
    pub(crate) fn of(&self, f: &Finding) -> Option<(TermId, TermId)> {
        self.conds
            .get(&(f.earlier.pc, f.later.pc))
            .copied()
            .flatten()
    }
}
