//! Where the kernels round to formats narrower than f32, in a form that every output format
//! prints.
//!
//! Problem: an unrolled loop has hundreds of places that say the same. They are put together where
//! format, kind, use and source line are equal; the first of each are shown.
//!
//! What is not claimed stands with the search itself, in [`crate::kernel::precision`].

use indexmap::IndexMap;
use indexmap::map::Entry as Slot;

use crate::kernel::precision::compare::{self, More, Rounded};
use crate::kernel::precision::{Narrowing, Rounding, Use, roundings};
use crate::kernel::{Fmt, IntTy, Kernel, NumTy, Pc};
use crate::sim::{Outcome, WarningKind};
use crate::spec::Which;
use crate::term::Sort;

use super::{Entry, Kind, Ran, SiteReport};

/// Places of a group that are kept.
const SITES: usize = 8;

/// The roundings of a kernel that was run.
pub struct Rounds<'a> {
    which: Which,
    kernel: &'a Kernel,
    roundings: Vec<Rounding>,
    executed: Vec<u64>,
    bytes: u64,
}

impl<'a> Rounds<'a> {
    /// Those of a kernel and its outcome.
    pub fn of(ran: Ran<'a>, outcome: &Outcome) -> Rounds<'a> {
        let pieces = outcome.writes.values().flat_map(|w| w.values());
        let bytes = pieces.map(|t| match outcome.store.sort(*t) {
            Sort::Bits(width) => u64::from(width).div_ceil(8),
            Sort::Real | Sort::Bool => 0,
        });
        Rounds {
            which: ran.which,
            kernel: ran.kernel,
            roundings: roundings(ran.kernel),
            executed: outcome.executed.clone(),
            bytes: bytes.sum(),
        }
    }

    fn rounded(&self) -> Rounded<'_> {
        Rounded {
            roundings: &self.roundings,
            executed: &self.executed,
            bytes: self.bytes,
        }
    }

    fn site(&self, pc: Pc) -> SiteReport {
        let mut site = SiteReport::new(&self.kernel.source, self.kernel.span(pc), "");
        site.source = self.kernel.loc(pc).map(|l| (l.file.clone(), l.line));
        site
    }

    /// Equal roundings put together, the narrowest format first.
    fn groups(&self) -> Vec<Group> {
        let mut all: IndexMap<_, Group> = IndexMap::new();
        for r in &self.roundings {
            let executions = self.rounded().executions(r);
            let line = self.kernel.loc(r.pc);
            let key = (r.fmt, r.kind, r.from, r.then, line);
            let group = match all.entry(key) {
                Slot::Occupied(slot) => slot.into_mut(),
                Slot::Vacant(slot) => slot.insert(Group {
                    fmt: r.fmt,
                    kind: r.kind,
                    from: r.from,
                    then: r.then,
                    instructions: 0,
                    executions: 0,
                    values: 0,
                    sites: Vec::new(),
                }),
            };
            group.instructions += 1;
            group.executions += executions;
            group.values += executions.saturating_mul(u64::from(r.values));
            if group.sites.len() < SITES {
                group.sites.push(self.site(r.pc));
            }
        }
        let mut all: Vec<Group> = all.into_values().collect();
        all.sort_by_key(|g| (g.fmt.precision(), g.fmt));
        all
    }
}

/// Roundings of one source line that are alike.
#[derive(Clone, Debug)]
pub struct Group {
    /// The format.
    pub fmt: Fmt,
    /// What narrows.
    pub kind: Narrowing,
    /// The type that conversions are from.
    pub from: Option<NumTy>,
    /// What becomes of the values.
    pub then: Use,
    /// Number of instructions.
    pub instructions: u64,
    /// How often threads executed them.
    pub executions: u64,
    /// Values that were rounded, at most.
    pub values: u64,
    /// The first of the places.
    pub sites: Vec<SiteReport>,
}

impl Group {
    /// What happens, in words.
    pub fn what(&self) -> String {
        let from = self.from.map(type_name).unwrap_or_default();
        let what = match self.kind {
            Narrowing::Conversion => format!("conversion from {from}"),
            Narrowing::Arithmetic => "arithmetic".into(),
            Narrowing::Accumulator => "sums of products".into(),
            Narrowing::Factor => "factors of products, read from f32".into(),
            Narrowing::Atomic => "atomic sums in memory".into(),
        };
        let then = match (self.kind, self.then) {
            (Narrowing::Accumulator | Narrowing::Atomic | Narrowing::Factor, _) => "",
            (_, Use::Stored) => ", then stored",
            (_, Use::Computed) => ", then computed with",
            (_, Use::Summed) => ", a sum that is added to",
        };
        format!("{what}{then}")
    }
}

/// In what the optimized kernel narrows more.
#[derive(Clone, Debug)]
pub struct Difference {
    /// What it is.
    pub kind: More,
    /// The format.
    pub fmt: Fmt,
    /// A sentence without a full stop.
    pub message: String,
    /// The first place in the optimized kernel.
    pub site: SiteReport,
}

/// The roundings of the kernels of a command.
#[derive(Clone, Debug)]
pub struct Precision {
    /// True if people are to be told all of it.
    pub shown: bool,
    /// By kernel, the reference first.
    pub kernels: Vec<(Which, Vec<Group>)>,
    /// What is between the two of a check.
    pub more: Vec<Difference>,
}

impl Precision {
    /// What is said of one kernel, or of two.
    pub fn new(rounds: &[Rounds], shown: bool) -> Precision {
        let more = match rounds {
            [reference, optimized] => {
                let found = compare::compare(reference.rounded(), optimized.rounded());
                let named = found.into_iter().map(|f| Difference {
                    kind: f.kind,
                    fmt: f.fmt,
                    message: f.message,
                    site: optimized.site(f.at),
                });
                named.collect()
            }
            _ => Vec::new(),
        };
        Precision {
            shown,
            kernels: rounds.iter().map(|r| (r.which, r.groups())).collect(),
            more,
        }
    }

    /// Notes on what nobody should miss: the answer is about real numbers, and says nothing of this.
    pub fn notes(&self) -> Vec<Entry> {
        let grave = self.more.iter().filter(|m| m.kind != More::Often);
        let note = |m: &Difference| Entry {
            kernel: Some(Which::Optimized),
            kind: WarningKind::Note.name(),
            message: format!(
                "{}: over the reals that makes no difference, in floating point it does",
                m.message
            ),
            count: 1,
            sites: vec![m.site.clone()],
            difference: None,
        };
        grave.map(note).collect()
    }
}

/// The PTX name of a type.
pub fn type_name(ty: NumTy) -> String {
    match ty {
        NumTy::Float(f) => f.name().to_string(),
        NumTy::Int(IntTy { width, signed }) => {
            format!("{}{width}", if signed { "s" } else { "u" })
        }
    }
}
