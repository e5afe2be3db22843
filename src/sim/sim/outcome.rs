//! What a run of one CTA found out.
//!
//! Only an outcome without defects and without unknowns becomes a [`Clean`], and only a `Clean`
//! can be compared: the confluence argument (one schedule stands for all) needs a run that is free
//! of races and deadlocks.

use std::collections::BTreeMap;

use crate::answer::{self, Assumption};
pub use crate::answer::{DefectKind, UnknownKind};
use crate::kernel::Pc;
use crate::term::left::piece_bytes;
use crate::term::{ArrayId, TermId, TermStore};

use super::Tid;
use super::footprint::union;

/// One place in the code and the threads that were there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The launch of a sequence.
    pub launch: u32,
    /// The CTA, where several were run.
    pub cta: Option<[u32; 3]>,
    /// The instruction.
    pub pc: Pc,
    /// Threads of one example.
    pub threads: Vec<Tid>,
    /// What happened there: "write of s[3]".
    pub text: String,
    /// What the first of the threads did before and after, where that is known.
    pub around: Vec<Step>,
}

impl Site {
    /// What some threads did at an instruction.
    pub fn new(pc: Pc, threads: Vec<Tid>, text: impl Into<String>) -> Site {
        Site {
            launch: 0,
            cta: None,
            pc,
            threads,
            text: text.into(),
            around: Vec::new(),
        }
    }

    /// The same, in a CTA.
    pub fn in_cta(self, cta: [u32; 3]) -> Site {
        Site {
            cta: Some(cta),
            ..self
        }
    }
}

/// An access or a synchronisation of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When, in the schedule that was run.
    pub step: u64,
    /// The instruction.
    pub pc: Pc,
    /// Synchronisation, not an access.
    pub barrier: bool,
}

/// Kinds of warnings of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WarningKind {
    /// Unordered writes of the same bits by the same operations.
    SameValueWrite,
    /// Unordered writes that are equal over the reals, by lanes of one warp that execute one instruction.
    RealEqualWrite,
    /// The same by other threads: a data race, but for what is claimed about real values.
    RealEqualRace,
    /// A write to an array that is bound `in:`.
    WriteToInput,
    /// An uninitialised value was read and never used.
    UninitializedRead,
    /// A racing read whose value reaches nothing.
    UnusedRead,
    /// Tensor memory is used again after a load that nobody waited for, all of whose registers had come.
    MissingWait,
    /// A fence is missing that shipped kernels leave out.
    MissingFence,
    /// An mbarrier that nobody used was made anew without an end.
    MissingInval,
    /// An arrival or a wait without a scope orders what another CTA does.
    DefaultScope,
    /// An arrival that follows copies publishes stores in a kernel without copies.
    CopyArrival,
    /// A thread that only waits for phases can be overtaken by one of them.
    PhaseLag,
    /// An arrival at a named barrier that no thread takes.
    PendingArrival,
    /// A read and an unordered write whose value is made from it.
    OrderedByValue,
    /// An opcode that volta does not know and that was not executed.
    UnknownOpcode,
    /// A correction by the rounding error of a value, which is 0 over the reals.
    Residual,
    /// Anything else worth saying.
    Note,
}

impl WarningKind {
    /// The kind as reports name it.
    pub fn named(self) -> answer::WarningKind {
        match self {
            WarningKind::SameValueWrite => answer::WarningKind::SameValueWrite,
            WarningKind::RealEqualWrite | WarningKind::RealEqualRace => {
                answer::WarningKind::RealEqualWrite
            }
            WarningKind::WriteToInput => answer::WarningKind::WriteToInput,
            WarningKind::UninitializedRead => answer::WarningKind::UninitializedRead,
            WarningKind::UnusedRead => answer::WarningKind::UnusedRead,
            WarningKind::MissingWait => answer::WarningKind::MissingWait,
            WarningKind::MissingFence => answer::WarningKind::MissingFence,
            WarningKind::MissingInval => answer::WarningKind::MissingInval,
            WarningKind::DefaultScope => answer::WarningKind::DefaultScope,
            WarningKind::CopyArrival => answer::WarningKind::CopyArrival,
            WarningKind::PhaseLag => answer::WarningKind::PhaseLag,
            WarningKind::PendingArrival => answer::WarningKind::PendingArrival,
            WarningKind::OrderedByValue => answer::WarningKind::OrderedByValue,
            WarningKind::UnknownOpcode => answer::WarningKind::UnknownOpcode,
            WarningKind::Residual => answer::WarningKind::Residual,
            WarningKind::Note => answer::WarningKind::Note,
        }
    }
}

/// A finding of a kind: the same pair of lines reported once, with a count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding<K> {
    /// What it is.
    pub kind: K,
    /// A sentence for people.
    pub message: String,
    /// How often it happened.
    pub count: u64,
    /// The places, both sides of a conflict.
    pub sites: Vec<Site>,
}

/// Something that the simulator could not settle without the normaliser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obligation {
    /// The two bit terms that must be equal.
    pub equal: (TermId, TermId),
    /// The warning if they are.
    pub warning: Finding<WarningKind>,
    /// What it is if they are not.
    pub otherwise: Otherwise,
}

/// What it is if two values differ that an obligation wants equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Otherwise {
    /// A defect.
    Defect(Finding<DefectKind>),
    /// The result depends on an order that the schedule chooses.
    Open(Finding<UnknownKind>),
}

impl Otherwise {
    /// The sentence, how often, and where.
    pub fn parts(&self) -> (&str, u64, &[Site]) {
        match self {
            Otherwise::Defect(f) => (&f.message, f.count, &f.sites),
            Otherwise::Open(f) => (&f.message, f.count, &f.sites),
        }
    }
}

/// Adds a finding; one of the same kind at the same instructions is counted.
pub fn merge_finding<K: PartialEq>(list: &mut Vec<Finding<K>>, f: Finding<K>) {
    let places = |f: &Finding<K>| f.sites.iter().map(|s| s.pc).collect::<Vec<_>>();
    let same = list
        .iter_mut()
        .find(|g| g.kind == f.kind && places(g) == places(&f));
    match same {
        Some(g) => g.count += f.count,
        None => list.push(f),
    }
}

/// A finding that is a defect if some input satisfies a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conditional {
    /// The condition.
    pub cond: TermId,
    /// Values that are never wrong if no input brings what was never written into them; none if it is more than that.
    pub values: Vec<TermId>,
    /// The defect if there is such an input.
    pub defect: Finding<DefectKind>,
    /// What is said while it is open.
    pub open: Finding<UnknownKind>,
}

pub use crate::term::left::Pieces as Writes;

/// Counts of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Instructions times lanes.
    pub thread_instructions: u64,
    /// Instructions times warps.
    pub warp_instructions: u64,
    /// Arrivals at named barriers, per thread.
    pub barrier_arrivals: u64,
    /// Warp-level synchronisations, per thread.
    pub warp_syncs: u64,
    /// Memory accesses, per thread.
    pub accesses: u64,
}

/// The result of running one CTA.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The terms that everything below refers to.
    pub store: TermStore,
    /// What was written to each array.
    pub writes: BTreeMap<ArrayId, Writes>,
    /// Byte ranges of arrays bound `out:` etc. whose initial content was read are defects; other
    /// initial content is symbols, nothing to record.
    pub defects: Vec<Finding<DefectKind>>,
    /// Warnings.
    pub warnings: Vec<Finding<WarningKind>>,
    /// Why the run is inconclusive.
    pub unknowns: Vec<Finding<UnknownKind>>,
    /// Outputs that depend on the schedule: nothing is proved of them, and a race they are not.
    pub by_schedule: Vec<Finding<UnknownKind>>,
    /// To be discharged by `decide`.
    pub obligations: Vec<Obligation>,
    /// To be settled by `decide` too.
    pub conditionals: Vec<Conditional>,
    /// What was read where data choose.
    pub gathers: Vec<super::gather::Gather>,
    /// What the run took for granted.
    pub assumptions: Vec<Assumption>,
    /// Counts.
    pub stats: Stats,
    /// How often threads executed each instruction other than a plain jump.
    pub executed: Vec<u64>,
    /// Which values the conditions took that a size can change.
    pub taken: super::taken::Taken,
    /// What was touched, where that was asked for.
    pub footprint: super::Footprint,
    /// Accesses to arrays under conditions, where what was touched was asked for and all were remembered.
    pub guards: Option<Vec<super::guarded::Guard>>,
    /// Tensor maps in memory.
    pub opaque: Vec<crate::term::left::Opaque>,
    /// Dependents may have started before this launch had waited for those before it.
    pub waits_late: bool,
    /// What is read of what other CTAs write, and is taken to be of no use, reaches something.
    pub reads_foreign: bool,
    /// Number of fresh symbols, whose serials are consecutive.
    pub fresh: u32,
    /// The first of these serials.
    pub first_fresh: u32,
    /// What was brought to formats that hold less.
    pub narrow: crate::term::overflow::Narrow,
    /// Of a formula: an integer may be beyond the type of its element, which no kernel can write. It stands there as
    /// the nearest one, so that what differs from it differs from the formula, and equality says nothing.
    pub beyond: bool,
    /// Arrays whose reads were tracked, since the kernel writes them.
    pub tracked: rustc_hash::FxHashSet<ArrayId>,
    /// The run made no values: what is written are symbols that equal nothing.
    pub without_values: bool,
    /// On numbers: what the arrays hold now.
    pub memory: Option<super::numbers::Memory>,
    /// What was chosen, where strong accesses were followed.
    pub steps: Option<super::strong::hold::Steps>,
    /// Warp, lanes and instruction of each step in the order of execution, if asked for.
    pub trace: Vec<(u32, u32, Pc)>,
}

impl Stats {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Stats) {
        let Stats {
            thread_instructions,
            warp_instructions,
            barrier_arrivals,
            warp_syncs,
            accesses,
        } = other;
        self.thread_instructions += thread_instructions;
        self.warp_instructions += warp_instructions;
        self.barrier_arrivals += barrier_arrivals;
        self.warp_syncs += warp_syncs;
        self.accesses += accesses;
    }
}

impl<K> Finding<K> {
    /// What happened once, at no place.
    pub fn new(kind: K, message: impl Into<String>) -> Finding<K> {
        Finding {
            kind,
            message: message.into(),
            count: 1,
            sites: Vec::new(),
        }
    }

    /// The same, so often.
    pub fn times(self, count: u64) -> Finding<K> {
        Finding { count, ..self }
    }

    /// The same, at these places.
    pub fn at(self, sites: Vec<Site>) -> Finding<K> {
        Finding { sites, ..self }
    }

    /// The same, of another kind.
    pub fn of<L>(self, kind: L) -> Finding<L> {
        Finding {
            kind,
            message: self.message,
            count: self.count,
            sites: self.sites,
        }
    }

    /// The same, and why it is no more than this.
    pub fn because(mut self, why: &str) -> Finding<K> {
        self.message = format!("{}; {why}", self.message);
        self
    }

    /// Notes the launch of a sequence in which it was found; one without a place says it.
    fn belongs_to(&mut self, launch: u32) {
        if self.sites.is_empty() {
            self.message = format!("launch {launch}: {}", self.message);
        }
        self.sites.iter_mut().for_each(|s| s.launch = launch);
    }
}

/// An outcome whose run was free of defects and unknowns and whose obligations are discharged.
#[derive(Debug)]
pub struct Clean(Outcome);

impl Outcome {
    /// The bytes of each array that were written, as disjoint intervals in order.
    pub fn wrote(&self) -> BTreeMap<ArrayId, Vec<(u64, u64)>> {
        let intervals = |w: &Writes| {
            let all = w.iter();
            union(
                all.map(|(&off, &t)| (off, off + piece_bytes(&self.store, t)))
                    .collect(),
            )
        };
        self.writes
            .iter()
            .map(|(&a, w)| (a, intervals(w)))
            .collect()
    }

    /// True if nothing was found that leaves memory unknown, and nothing is left to be discharged.
    pub fn is_settled(&self) -> bool {
        let open = !self.obligations.is_empty() || !self.conditionals.is_empty();
        self.defects.is_empty() && self.unknowns.is_empty() && !open
    }

    /// Notes the launch of a sequence that it is of.
    pub fn belongs_to(&mut self, launch: u32) {
        self.defects.iter_mut().for_each(|f| f.belongs_to(launch));
        self.warnings.iter_mut().for_each(|f| f.belongs_to(launch));
        self.unknowns.iter_mut().for_each(|f| f.belongs_to(launch));
        self.by_schedule
            .iter_mut()
            .for_each(|f| f.belongs_to(launch));
        self.gathers.iter_mut().for_each(|g| g.site.launch = launch);
        let sites = self.assumptions.iter_mut().flat_map(|a| &mut a.sites);
        sites.for_each(|s| s.launch = Some(launch));
    }

    /// The outcome as a precondition of comparison, if it is one. `discharged` says that every
    /// obligation was proved.
    #[allow(clippy::result_large_err)]
    pub fn into_clean(self, discharged: bool) -> Result<Clean, Outcome> {
        let settled = self.obligations.is_empty() && self.conditionals.is_empty();
        let open = !discharged && !settled;
        let known = self.unknowns.is_empty() && self.by_schedule.is_empty();
        if self.defects.is_empty() && known && !open {
            Ok(Clean(self))
        } else {
            Err(self)
        }
    }
}

impl std::ops::Deref for Clean {
    type Target = Outcome;
    fn deref(&self) -> &Outcome {
        &self.0
    }
}

impl Clean {
    /// The outcome itself.
    pub fn into_inner(self) -> Outcome {
        self.0
    }
}
