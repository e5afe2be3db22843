//! What a command found, as types: every output format is made from them, and the JSON of the contract is what serde
//! writes of them.
//!
//! An answer holds plain data, no terms and no indices into a kernel, so that it can be kept in a cache and read
//! back. Its order is fixed when it is assembled: every byte but the times is the same for any number of threads.
//! [`kinds`] is the registry of every word that an answer can say; [`schema`] describes the rest.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub mod allow;
pub mod bits;
pub mod certificate;
mod claim;
pub mod compare;
pub mod coverage;
pub mod determinism;
pub mod failure;
pub mod finding;
pub mod gate;
pub mod instances;
pub mod kernel;
pub mod kinds;
pub mod precision;
pub mod protocols;
pub mod rounding;
pub mod schema;
pub mod slack;
pub mod steps;
pub mod tables;
pub mod verdict;

pub use allow::Allow;
pub use bits::{Class, RowLaunch, Rows, Sass};
pub use certificate::CertificateMade;
pub use compare::{
    Chance, Counterexample, Difference, InputElement, Lifted, Machine, Output, Outputs, Value,
    Writes, Written,
};
pub use determinism::{Determinism, SameBits};
pub use failure::{Error, ErrorAnswer, Failure};
pub use finding::{Assumption, Finding, Part, Site, SourceLine, Step};
pub use gate::{EntryResult, Gate, GateEntry, GateReport, GateResult, Instance};
pub use instances::{Answer, AtSize, Sizes};
pub use kernel::{Bound, Each, Inputs, KernelAnswer, Launched, Launches, Scope, Sides, Subject};
pub use kinds::{
    About, AssumptionKind, DefectKind, ErrorKind, Family, Kind, UnknownKind, WarningKind,
};
pub use precision::Precision;
pub use rounding::Rounding;
pub use schema::Schema;
pub use slack::{Breaks, Slack, State, Synchronisation};
pub use steps::{OneStep, Steps};
pub use verdict::{EXIT_ERROR, EXIT_UNKNOWN, Values, Verdict};

/// The command that an answer is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Are two kernels equivalent?
    Check,
    /// Is one kernel free of defects?
    Race,
    /// What does a kernel compute of some numbers?
    Run,
    /// Which synchronising operations does a kernel need?
    Slack,
    /// Which of several kernels leave the same bits?
    Classes,
    /// Does a row depend on the batch that it is in?
    Rows,
    /// What does a kernel compute, as formulas?
    Lift,
}

impl Command {
    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Command::Check => "check",
            Command::Race => "race",
            Command::Run => "run",
            Command::Slack => "slack",
            Command::Classes => "classes",
            Command::Rows => "rows",
            Command::Lift => "lift",
        }
    }
}

/// The result of `check` or `race`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Version of this shape.
    pub schema: Schema,
    /// Version of volta.
    pub volta: String,
    /// The command.
    pub command: Command,
    /// The answer.
    pub verdict: Verdict,
    /// Of a `check`: whether the values agree, also where a kernel is defective only in ways that leave them known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Values>,
    /// Of a command at several sizes: those of the instance that the rest is about.
    #[serde(default, rename = "for", skip_serializing_if = "IndexMap::is_empty")]
    pub sizes: IndexMap<String, i64>,
    /// Of a command at several sizes: all instances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instances: Vec<Instance>,
    /// What the answer speaks of.
    pub scope: Scope,
    /// Of the only kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Subject>,
    /// Of the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<Subject>,
    /// Of the optimized kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimized: Option<Subject>,
    /// What they were run with.
    pub inputs: Inputs,
    /// The places of synchronising operations that the launch executes, in the order of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Synchronisation>")]
    pub sync: Option<Vec<Synchronisation>>,
    /// Some of them that can go at once, by their position in `sync`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<usize>")]
    pub together: Option<Vec<usize>>,
    /// All of this is said of every launch that the report names, not of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub every_launch: Option<bool>,
    /// Of `classes`: the kernels by what bits they leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<Class>>,
    /// Of a `check` of bits: what the assembler joins, where that was asked for and could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sass: Option<Sass>,
    /// What is wrong.
    pub defects: Vec<Finding<DefectKind>>,
    /// What the user should know.
    pub warnings: Vec<Finding<WarningKind>>,
    /// Kinds of warnings that were found and that `--deny` names.
    pub denied: Vec<WarningKind>,
    /// Why nothing is claimed.
    pub unknown: Vec<Finding<UnknownKind>>,
    /// The input that tells the kernels apart.
    pub counterexample: Option<Counterexample>,
    /// The arrays that were compared, or what they hold after a `run`.
    pub outputs: Outputs,
    /// What proofs by evaluation at random points may be wrong by, where there are any.
    pub probabilistic: Option<Chance>,
    /// What the answer takes for granted.
    pub assumptions: Vec<Assumption>,
    /// Where the kernels round to narrow formats.
    pub precision: Precision,
    /// Of a `race`: whether the bits of every output are the same for every schedule, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deterministic: Option<SameBits>,
    /// The same with its reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub determinism: Option<Determinism>,
    /// What rounding does to the outputs, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounding: Option<Rounding>,
    /// The certificate, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateMade>,
    /// Counts and times.
    pub stats: Stats,
    /// The conditions that the runs came to, while the report is being made.
    #[serde(skip)]
    #[schemars(skip)]
    pub looked: Vec<coverage::Looked>,
}

impl AsMut<Report> for Report {
    fn as_mut(&mut self) -> &mut Report {
        self
    }
}

impl Stats {
    /// What was run again so often that it costs time, in words.
    pub fn run_again(&self) -> Option<String> {
        const FEW: u64 = 8;
        let of = |(name, n): (&String, &u64)| format!("{n} for {name}");
        let all: Vec<String> = self.runs.iter().map(of).collect();
        (self.runs.values().sum::<u64>() > FEW).then(|| all.join(", "))
    }
}

/// Counts of an answer, and its times.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// Of the only kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<RunCounts>,
    /// Of the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<RunCounts>,
    /// Of the optimized kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimized: Option<RunCounts>,
    /// What the decision did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<DecisionCounts>,
    /// Units of work that the answer took: the same on every machine and for any number of threads.
    #[serde(default)]
    pub work: u64,
    /// How often something was run again with more known, by the reason that `volta explain runs` tells.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub runs: IndexMap<String, u64>,
    /// How often rules of the normaliser were applied, by their names.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub rules: IndexMap<String, u64>,
    /// Wall-clock times in seconds.
    pub seconds: Seconds,
}

impl Stats {
    /// What the runs did, by kernel.
    pub fn kernels(&self) -> Sides<&RunCounts> {
        Sides {
            kernel: self.kernel.as_ref(),
            reference: self.reference.as_ref(),
            optimized: self.optimized.as_ref(),
        }
    }
}

/// Counts of the runs of one kernel.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct RunCounts {
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
    /// Terms that were built.
    pub terms: u64,
}

/// Counts of one decision.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct DecisionCounts {
    /// Verification conditions.
    pub conditions: u64,
    /// How many of them each tactic proved.
    pub by: IndexMap<String, u64>,
    /// Terms of both kernels together.
    pub terms: u64,
    /// Inputs that were tried in search of a witness.
    pub candidates: u64,
}

/// Wall-clock times in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Seconds {
    /// Reading, parsing and lowering.
    pub parse: f64,
    /// Running the kernels.
    pub simulate: f64,
    /// Discharging obligations and comparing.
    pub decide: f64,
    /// All of it.
    pub total: f64,
}

impl Report {
    /// The kernels, or the formula that is the reference.
    pub fn subjects(&self) -> Sides<&Subject> {
        Sides {
            kernel: self.kernel.as_ref(),
            reference: self.reference.as_ref(),
            optimized: self.optimized.as_ref(),
        }
    }

    /// Of a `slack`: which synchronising operations the kernel needs.
    pub fn slack(&self) -> Option<Slack<'_>> {
        Some(Slack {
            sync: self.sync.as_deref()?,
            together: self.together.as_deref()?,
            every_launch: self.every_launch?,
        })
    }

    /// The kernels, those of the reference first, each with its place in a sequence.
    pub fn kernels(&self) -> impl Iterator<Item = (Part, Option<u32>, &KernelAnswer)> {
        self.subjects().into_iter().flat_map(|(part, s)| {
            let (kernels, is_sequence) = match s {
                Subject::Kernel(k) => (std::slice::from_ref(k), false),
                Subject::Sequence { launches } => (&launches[..], true),
                Subject::Formula { .. } => (&[][..], false),
            };
            let place = move |i: u32| is_sequence.then_some(i);
            (0..).zip(kernels).map(move |(i, k)| (part, place(i), k))
        })
    }

    /// The formula that is the reference.
    pub fn formula(&self) -> Option<&str> {
        self.subjects().into_iter().find_map(|(_, s)| match s {
            Subject::Kernel(_) | Subject::Sequence { .. } => None,
            Subject::Formula { formula } => Some(formula.as_str()),
        })
    }

    /// The exit status of the contract.
    pub fn exit(&self) -> u8 {
        match self.verdict.exit() {
            1 => 1,
            _ if !self.denied.is_empty() => 1,
            status => status,
        }
    }

    /// Marks the warnings that the user allows.
    pub fn allow(&mut self, allowed: &[Allow]) {
        let Report {
            warnings,
            precision: rounded,
            ..
        } = self;
        let at = |s: &Site| (s.launch, s.file.clone(), s.line, s.column);
        for w in warnings {
            let told = |d: &&precision::Narrower| w.sites.iter().any(|s| at(s) == at(&d.site));
            let formats = rounded.differences.iter().filter(told);
            let formats: Vec<&str> = formats.map(|d| d.format.as_str()).collect();
            let all = rounded.kernels.optimized.iter().flatten();
            let narrowing = all.filter(|r| formats.contains(&r.format.as_str()));
            let narrowing: Vec<&precision::Rounding> = narrowing.collect();
            w.allowed = allowed.iter().any(|a| a.is_of(w, &narrowing));
        }
    }

    /// Notes which of the kinds that the user denies were found, of what is not allowed.
    pub fn deny(&mut self, kinds: &[WarningKind]) {
        let found = self.warnings.iter().filter(|w| !w.allowed);
        let found = found.map(|w| w.kind);
        let mut denied: Vec<WarningKind> = found.filter(|k| kinds.contains(k)).collect();
        denied.sort_unstable();
        denied.dedup();
        self.denied = denied;
    }
}
