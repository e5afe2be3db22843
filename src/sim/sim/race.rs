//! The race rule: which unordered pairs of accesses are races, and what is reported of them.
//!
//! Source: PTX ISA 9.0, sections 8.7 (morally strong, conflict, data race) and 8.2.4 (the
//! elements of a vector access are accesses of their own). Two accesses conflict when they
//! overlap in bytes and one of them writes. Of the conflicting pairs that happens-before does
//! not order,
//!
//! * read-modify-writes of one commutative operation and type whose old values are unused are
//!   nothing: every order gives the same memory;
//! * other pairs of strong accesses of the same bytes are [`Conflict::Strong`]: no data race,
//!   but their order can change results;
//! * two plain writes of exactly the same bytes are handed to the caller as a [`SameWrite`],
//!   who can compare the values;
//! * all others are races, strong ones that overlap in part among them.
//!
//! The direction that is sound: [`Conflict::Race`] is a race in some schedule. A pair with an
//! access under a guard that depends on data, or that only an exit orders, is told apart.

use crate::sim::limits::LIMITS;
use indexmap::IndexMap;
use rustc_hash::FxHashSet;

use super::Tid;
use super::state::recorded;
use crate::kernel::{AtomOp, NumTy, Pc};

/// Which attribution is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// Both: what is accessed by a lane for itself.
    #[default]
    Both,
    /// The lane that gives the address of a row accesses it.
    Giver,
    /// Each lane accesses what it holds of a row.
    Holder,
}

/// Which lanes make an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum By {
    /// Each lane its own.
    #[default]
    Lanes,
    /// One lane of those given, which the manual does not name; the same one at each byte for all
    /// accesses with this number.
    OneOf(u32),
}

/// Which memory a shadow belongs to; given by the caller, named in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(pub u32);

/// What an access does. The scope of a strong one must contain the CTA, which every scope of
/// PTX does; `volatile` counts as plain in kernels without fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// A plain load.
    Read,
    /// A plain store.
    Write,
    /// A load with `.relaxed` or `.acquire`.
    StrongRead,
    /// A store with `.relaxed` or `.release`.
    StrongWrite,
    /// An atomic or reduction.
    Atomic {
        /// The operation.
        op: AtomOp,
        /// Its type.
        ty: NumTy,
        /// True if the old value is used.
        used: bool,
        /// What all lanes give to an exchange, an increment or a decrement, if it is the same and
        /// known: such an operation is one function of memory, and commutes with itself.
        operand: Option<u32>,
    },
}

impl AccessKind {
    /// Does it change memory?
    #[inline]
    pub fn writes(self) -> bool {
        !matches!(self, AccessKind::Read | AccessKind::StrongRead)
    }

    /// Is it strong in the sense of the memory model?
    #[inline]
    pub fn strong(self) -> bool {
        !matches!(self, AccessKind::Read | AccessKind::Write)
    }

    /// A word for reports.
    pub fn name(self) -> &'static str {
        match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::StrongRead => "strong read",
            AccessKind::StrongWrite => "strong write",
            AccessKind::Atomic { .. } => "atomic",
        }
    }

    /// Does the order of these two not matter? `exch`, `inc` and `dec` commute only with themselves
    /// at one operand.
    fn commutes(self, other: AccessKind) -> bool {
        let AccessKind::Atomic {
            op,
            used: false,
            operand,
            ..
        } = self
        else {
            return false;
        };
        let fixed = match op {
            AtomOp::Cas => true,
            AtomOp::Exch | AtomOp::Inc | AtomOp::Dec => operand.is_none(),
            _ => false,
        };
        !fixed && self == other
    }
}

/// What is wrong with an unordered pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Conflict {
    /// A data race.
    Race,
    /// A data race if the guards of both accesses can hold together.
    Conditional,
    /// A data race, or an unordered pair of strong accesses, unless the exit of a thread orders
    /// what others do after a barrier that had to wait for it.
    ByExit,
    /// Two strong accesses in an order that depends on the schedule.
    Strong,
    /// A data race unless the lane that accesses an element of a matrix, which the manual leaves
    /// open, is one that is ordered.
    Layout,
    /// A data race with an asynchronous operation unless no scope is the cluster.
    DefaultScope,
}

/// What the rule says about an unordered pair that overlaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Nothing to report.
    Fine,
    /// Compare the values.
    SameBytes,
    /// To report.
    Bad(Conflict),
}

/// The rule for kinds alone; `same` says that the elements have the same offset and size.
#[inline]
pub fn rule(a: AccessKind, b: AccessKind, same: bool) -> Rule {
    if !a.writes() && !b.writes() {
        Rule::Fine
    } else if a.strong() && b.strong() && same {
        if a.commutes(b) {
            Rule::Fine
        } else {
            Rule::Bad(Conflict::Strong)
        }
    } else if same && a == AccessKind::Write && b == AccessKind::Write {
        Rule::SameBytes
    } else {
        Rule::Bad(Conflict::Race)
    }
}

/// One side of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Party {
    /// The thread, or the issuer of the agent.
    pub thread: Tid,
    /// True if an asynchronous operation made the access.
    pub agent: bool,
    /// True if it happens under a condition that depends on input data.
    pub conditional: bool,
    /// The agent, where the later of two accesses does not know that it ended; true if that does
    /// know of its start.
    pub loose: Option<(super::clock::Actor, bool)>,
    /// The instruction.
    pub pc: Pc,
    /// What it does.
    pub kind: AccessKind,
}

/// All pairs of two instructions with the same trouble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub conflict: Conflict,
    /// Number of pairs seen, where lanes of a warp that met in one access count once.
    pub count: u64,
    /// The region of the example.
    pub region: RegionId,
    /// First byte that both access, in the example.
    pub offset: u64,
    /// The earlier access of the example, in the order of the run.
    pub earlier: Party,
    /// The later one.
    pub later: Party,
}

/// Two unordered plain writes of exactly the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SameWrite {
    /// The region.
    pub region: RegionId,
    /// First byte of the element.
    pub offset: u64,
    /// Size of the element in bytes.
    pub size: u8,
    /// The earlier write.
    pub earlier: Party,
    /// The later write, of the access that was just recorded.
    pub later: Party,
    /// True if both are lanes of one instruction. If not, the value of the earlier one is what
    /// memory held before this instruction, or was already compared with it.
    pub within: bool,
    /// False if memory no longer holds the value of the earlier write, so that comparing with
    /// memory says nothing.
    pub current: bool,
    /// What the pair is if the values differ: a race, or one of the weaker findings.
    pub otherwise: Conflict,
    /// Under which attribution of collectives on matrices it is a pair.
    pub view: View,
}

/// What the shadow has found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    findings: IndexMap<(Conflict, Pc, Pc), Finding>,
    /// The threads of plain reads in races, each with its instruction.
    readers: FxHashSet<(Pc, Tid)>,
    /// Instructions whose reads must not pass for those of another one.
    pub apart: FxHashSet<Pc>,
    /// Pairs counted that are races.
    races: u64,
    /// Pairs of writes to compare, of the last access: the caller drains it.
    pub same: Vec<SameWrite>,
    /// True once conditions may exclude each other: then every pair that data decide about is met, none for others.
    pub each: bool,
    /// True if that stays so however many pairs there are.
    pub always_each: bool,
    /// Pairs that were met so.
    met: u32,
    /// Such pairs of the last access: the caller drains it, and adds those of which both may happen.
    pub possible: Vec<Finding>,
    /// True if two accesses were taken to be ordered because the same unnamed lane makes both.
    pub same_lane: bool,
}

recorded!(Report { same, each, always_each, met }
    tables { apart }
    beside { findings: "found", readers: "found", races: "found", possible: "drained", same_lane: "found" });

impl Report {
    /// Findings in the order in which they were first seen.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.values()
    }

    /// Number of findings.
    #[inline]
    pub fn len(&self) -> usize {
        self.findings.len()
    }

    /// True if nothing was found.
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// Adds a pair. Also for the caller, when the values of a [`SameWrite`] differ.
    pub fn add(
        &mut self,
        conflict: Conflict,
        region: RegionId,
        offset: u64,
        earlier: Party,
        later: Party,
    ) {
        let key = (conflict, earlier.pc, later.pc);
        let entry = self.findings.entry(key).or_insert(Finding {
            conflict,
            count: 0,
            region,
            offset,
            earlier,
            later,
        });
        entry.count += 1;
        self.races += u64::from(conflict == Conflict::Race);
    }

    /// Adds a pair that was met; one that data decide about is for the caller to look at first. True if it was added.
    pub fn meet(
        &mut self,
        conflict: Conflict,
        region: RegionId,
        offset: u64,
        earlier: Party,
        later: Party,
    ) -> bool {
        if !self.each || !earlier.conditional && !later.conditional {
            self.add(conflict, region, offset, earlier, later);
            return true;
        }
        self.met += 1;
        self.possible.push(Finding {
            conflict,
            count: 1,
            region,
            offset,
            earlier,
            later,
        });
        false
    }

    /// Adds a pair of writes, which may have been met for itself.
    pub fn meet_write(&mut self, each: bool, pair: SameWrite) {
        self.met += u32::from(each);
        self.same.push(pair);
    }

    /// True if no more pairs are met for themselves where one may stand for others.
    pub fn is_spent(&self) -> bool {
        !self.always_each && self.met > LIMITS.race_pairs
    }

    /// The threads of plain reads in races, each with its instruction.
    pub fn readers(&self) -> &FxHashSet<(Pc, Tid)> {
        &self.readers
    }

    /// Adds such a read.
    pub fn add_reader(&mut self, pc: Pc, thread: Tid) {
        self.readers.insert((pc, thread));
    }

    /// True if so many races are known that more would say nothing new.
    #[inline]
    pub fn full(&self) -> bool {
        self.races >= LIMITS.races
    }
}
