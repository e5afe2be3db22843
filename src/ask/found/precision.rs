//! Where the kernels round to formats narrower than f32, in a form that every output format
//! prints.
//!
//! Problem: an unrolled loop has hundreds of places that say the same. They are put together where
//! format, kind, use and source line are equal; the first of each are shown.
//!
//! What is not claimed stands with the search itself, in [`crate::precision`].

use indexmap::IndexMap;
use indexmap::map::Entry as Slot;

use crate::answer::precision::{self as shown, Narrower};
use crate::answer::{Finding, Part, Precision, Site, WarningKind};
use crate::grid::sequence::Ended;
use crate::kernel::{Fmt, IntTy, NumTy, Pc};
use crate::precision::compare::{self, More, Rounded};
use crate::precision::{Narrowing, Rounding, Use, roundings};

use super::Ran;
use super::launches::part;

/// Places of a group that are kept.
const SITES: usize = 8;

/// The roundings of the launches of one side, whose instructions are numbered one after the other.
pub struct Rounds<'a> {
    part: Part,
    /// The number of the first instruction of each launch.
    launches: Vec<(u32, Ran<'a>)>,
    roundings: Vec<Rounding>,
    executed: Vec<u64>,
    bytes: u64,
}

impl<'a> Rounds<'a> {
    /// Those of the launches of a side that were run.
    pub fn of(launches: &[Ran<'a>], ended: &Ended) -> Rounds<'a> {
        let mut out = Rounds {
            part: part(launches),
            launches: Vec::new(),
            roundings: Vec::new(),
            executed: Vec::new(),
            bytes: 0,
        };
        for (ran, covered) in launches.iter().zip(&ended.launches) {
            let first = out.executed.len();
            let moved = |r: Rounding| Rounding {
                pc: Pc(r.pc.0 + first as u32),
                ..r
            };
            out.roundings
                .extend(roundings(ran.kernel).into_iter().map(moved));
            out.executed.extend(&covered.outcome.executed);
            out.executed.resize(first + ran.kernel.insts.len(), 0);
            out.launches.push((first as u32, *ran));
            let wrote = covered.wrote.values().flatten();
            out.bytes += wrote.map(|r| r.1 - r.0).sum::<u64>();
        }
        out
    }

    fn rounded(&self) -> Rounded<'_> {
        Rounded {
            roundings: &self.roundings,
            executed: &self.executed,
            bytes: self.bytes,
        }
    }

    /// The launch of an instruction, and its place there.
    fn place(&self, pc: Pc) -> Option<(Ran<'a>, Pc)> {
        let mut before = self.launches.iter().rev();
        let (first, ran) = before.find(|(first, _)| *first <= pc.0)?;
        Some((*ran, Pc(pc.0 - first)))
    }

    fn site(&self, pc: Pc) -> Option<Site> {
        let (ran, pc) = self.place(pc)?;
        let mut site = Site::new(&ran.kernel.source, ran.kernel.span(pc), "");
        site.launch = ran.spec.step;
        site.source = ran.kernel.source_line(pc);
        Some(site)
    }

    /// Equal roundings put together, the narrowest format first.
    fn groups(&self) -> Vec<Group> {
        let mut all: IndexMap<_, Group> = IndexMap::new();
        for r in &self.roundings {
            let executions = self.rounded().executions(r);
            let place = self.place(r.pc);
            let line = place.and_then(|(ran, pc)| {
                let loc = ran.kernel.loc(pc)?;
                Some((ran.spec.step, &loc.file, loc.line))
            });
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
                group.sites.extend(self.site(r.pc));
            }
        }
        let mut all: Vec<Group> = all.into_values().collect();
        all.sort_by_key(|g| (g.fmt.precision(), g.fmt));
        all
    }
}

/// Roundings of one source line that are alike.
struct Group {
    fmt: Fmt,
    kind: Narrowing,
    /// The type that conversions are from.
    from: Option<NumTy>,
    /// What becomes of the values.
    then: Use,
    instructions: u64,
    executions: u64,
    /// Values that were rounded, at most.
    values: u64,
    /// The first of the places.
    sites: Vec<Site>,
}

impl From<Group> for shown::Rounding {
    fn from(g: Group) -> Self {
        shown::Rounding {
            format: g.fmt.name().to_string(),
            kind: g.kind.name().to_string(),
            from: g.from.map(type_name),
            r#use: g.then.name().to_string(),
            instructions: g.instructions,
            executions: g.executions,
            values: g.values,
            what: g.what(),
            sites: g.sites,
        }
    }
}

impl Group {
    /// What happens, in words.
    fn what(&self) -> String {
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

/// What is said of one kernel, or of two; and what nobody should miss, for the answer is about real numbers and says
/// nothing of it.
pub fn precision(rounds: &[Rounds], shown: bool) -> (Precision, Vec<Finding<WarningKind>>) {
    let mut out = Precision {
        shown,
        ..Precision::default()
    };
    for r in rounds {
        let groups = r.groups().into_iter().map(shown::Rounding::from);
        out.kernels.put(r.part, groups.collect());
    }
    let mut warnings = Vec::new();
    let [reference, optimized] = rounds else {
        return (out, warnings);
    };
    for f in compare::compare(reference.rounded(), optimized.rounded()) {
        let Some(site) = optimized.site(f.at) else {
            continue;
        };
        if f.kind != More::Often {
            let message = format!(
                "{}: over the reals that makes no difference, in floating point it does",
                f.message
            );
            let said = Finding::new(Part::Optimized, WarningKind::Narrower, message);
            warnings.push(said.at(vec![site.clone()]));
        }
        out.differences.push(Narrower {
            kind: f.kind.name().to_string(),
            format: f.fmt.name().to_string(),
            message: f.message,
            site,
        });
    }
    (out, warnings)
}

/// The PTX name of a type.
fn type_name(ty: NumTy) -> String {
    match ty {
        NumTy::Float(f) => f.name().to_string(),
        NumTy::Int(IntTy { width, signed }) => {
            format!("{}{width}", if signed { "s" } else { "u" })
        }
    }
}
