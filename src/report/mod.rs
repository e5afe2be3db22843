//! What a command found, in a form that every output format prints.
//!
//! A [`Report`] holds plain data: no terms, no indices into a kernel. Its order is fixed when it is
//! assembled, so that every byte of an output but the times is the same for any number of threads.

use std::sync::Arc;
use std::time::Duration;

use crate::decide::Chance;
use crate::diag::{Diagnostic, MOST_ERRORS, Source, Span};
use crate::explain::{Counterexample, Counts, Difference, OutputSummary};
use crate::grid::Covered;
use crate::instances::Part;
use crate::kernel::Kernel;
use crate::sim::{self, DefectKind, UnknownKind, WarningKind};
use crate::spec::launch::Selection;
use crate::spec::{Launch, Number, Resolved, SpecError, TomlError, Unbound, Which};

pub mod escape;
pub mod html;
pub mod human;
pub mod json;
pub mod junit;
pub mod precision;
pub mod sarif;
pub mod values;

/// Version of the shape of the JSON output.
pub const SCHEMA: &str = "volta/1";

/// The answer of a check or a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both kernels compute the same.
    Equivalent,
    /// The kernel has no defect.
    Clean,
    /// There is a counterexample.
    NotEquivalent,
    /// A kernel has a defect.
    Defective,
    /// The kernel was executed on numbers.
    Ran,
    /// Nothing could be shown.
    Unknown,
}

impl Verdict {
    /// The word of the contract.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Equivalent => "equivalent",
            Verdict::Clean => "clean",
            Verdict::NotEquivalent => "not-equivalent",
            Verdict::Defective => "defective",
            Verdict::Ran => "ran",
            Verdict::Unknown => "unknown",
        }
    }

    /// The verdict of a word.
    pub fn parse(name: &str) -> Option<Verdict> {
        use Verdict::*;
        let all = [Equivalent, Clean, NotEquivalent, Defective, Ran, Unknown];
        all.into_iter().find(|v| v.name() == name)
    }

    /// The exit status of the contract.
    pub fn exit(self) -> u8 {
        match self {
            Verdict::Equivalent | Verdict::Clean | Verdict::Ran => 0,
            Verdict::NotEquivalent | Verdict::Defective => 1,
            Verdict::Unknown => 3,
        }
    }
}

/// Exit status of a usage or input error.
pub const EXIT_ERROR: u8 = 2;

/// The result of `check` or `race`.
#[derive(Clone, Debug)]
pub struct Report {
    /// `check` or `race`.
    pub command: &'static str,
    /// The answer.
    pub verdict: Verdict,
    /// The formula that is the reference, if it is no kernel.
    pub formula: Option<String>,
    /// The kernels, the reference first.
    pub kernels: Vec<KernelReport>,
    /// Defects.
    pub defects: Vec<Entry>,
    /// Warnings.
    pub warnings: Vec<Entry>,
    /// Reasons for `unknown`.
    pub unknown: Vec<Entry>,
    /// The input that tells the kernels apart.
    pub counterexample: Option<Counterexample>,
    /// The arrays that were compared.
    pub outputs: Vec<OutputSummary>,
    /// What the answer takes for granted.
    pub assumptions: Vec<String>,
    /// Where the kernels round to narrow formats.
    pub precision: precision::Precision,
    /// What proofs by evaluation at random points may be wrong by, where there are any.
    pub chance: Option<Chance>,
    /// Counts of the decision.
    pub counts: Option<Counts>,
    /// Time of each stage.
    pub times: Times,
}

/// A report as it is written: every output format is made from it, and it can be kept.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The verdict.
    pub verdict: Verdict,
    /// The object of the JSON format.
    pub object: serde_json::Value,
    /// The text for people, styled.
    pub text: String,
    /// True if it was not computed now.
    pub cached: bool,
    /// The instances, where the command was run at several sizes.
    pub parts: Vec<Part>,
}

impl From<&Report> for Answer {
    fn from(r: &Report) -> Self {
        Answer {
            verdict: r.verdict,
            object: json::report(r),
            text: human::report(r),
            cached: false,
            parts: Vec::new(),
        }
    }
}

/// What was run of one kernel.
#[derive(Clone, Debug)]
pub struct KernelReport {
    /// Its part in the command.
    pub which: Which,
    /// The file as it was named.
    pub file: String,
    /// The entry function.
    pub entry: String,
    /// The launch.
    pub launch: Launch,
    /// The numbers that its parameters were bound to.
    pub numbers: Vec<Number>,
    /// The CTAs that the answer covers.
    pub ctas: Vec<[u32; 3]>,
    /// True if these are all CTAs of the grid.
    pub whole: bool,
    /// Counts of the run.
    pub stats: sim::Stats,
    /// Number of terms that it built.
    pub terms: u64,
}

/// Wall-clock times.
#[derive(Clone, Copy, Debug, Default)]
pub struct Times {
    /// Reading, parsing and lowering.
    pub parse: Duration,
    /// Running the kernels.
    pub simulate: Duration,
    /// Discharging obligations and comparing.
    pub decide: Duration,
    /// All of it.
    pub total: Duration,
}

/// One finding.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The kernel that it is about; `None` for the pair.
    pub kernel: Option<Which>,
    /// The kind of the contract.
    pub kind: &'static str,
    /// A sentence.
    pub message: String,
    /// How often it was found.
    pub count: u64,
    /// Where.
    pub sites: Vec<SiteReport>,
    /// Where the expressions of the kernels differ, for an element that is undecided.
    pub difference: Option<Difference>,
}

/// A place in a PTX file.
#[derive(Clone, Debug)]
pub struct SiteReport {
    /// The file as it was named.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The line without the space around it.
    pub text: String,
    /// `%tid` of the threads of one example.
    pub threads: Vec<[u32; 3]>,
    /// `%ctaid` of their CTA, where several CTAs were run.
    pub cta: Option<[u32; 3]>,
    /// File and line of the source that the PTX was compiled from.
    pub source: Option<(String, u32)>,
    /// What happened there.
    pub what: String,
    /// What the first thread did before and after, in the schedule that was run.
    pub around: Vec<StepReport>,
    /// Where to draw it.
    pub at: (Arc<Source>, Span),
}

/// An access or a synchronisation of a thread.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// When: instructions of warps before it.
    pub step: u64,
    /// Line of the PTX, from 1.
    pub line: u32,
    /// The line without the space around it.
    pub text: String,
    /// Synchronisation, not an access.
    pub barrier: bool,
}

impl SiteReport {
    /// A place in a source without threads.
    pub fn new(source: &Arc<Source>, span: Span, what: &str) -> SiteReport {
        let position = source.position(span.start);
        SiteReport {
            file: source.name.clone(),
            line: position.line,
            column: position.column,
            text: source.excerpt(span.start).into_owned(),
            threads: Vec::new(),
            cta: None,
            source: None,
            what: what.to_string(),
            around: Vec::new(),
            at: (source.clone(), span),
        }
    }

    fn of(site: &sim::Site, kernel: &Kernel, launch: &Launch) -> SiteReport {
        let mut out = SiteReport::new(&kernel.source, kernel.span(site.pc), &site.text);
        out.threads = site.threads.iter().map(|t| launch.tid(t.0)).collect();
        out.cta = site.cta;
        let step = |s: &sim::Step| {
            let start = kernel.span(s.pc).start;
            StepReport {
                step: s.step,
                line: kernel.source.position(start).line,
                text: kernel.source.excerpt(start).into_owned(),
                barrier: s.barrier,
            }
        };
        out.around = site.around.iter().map(step).collect();
        out.source = kernel.loc(site.pc).map(|l| (l.file.clone(), l.line));
        out
    }
}

/// A kind of finding with its name in the contract.
pub trait Kind: Copy {
    /// The word of the contract.
    fn name(self) -> &'static str;
}

impl Kind for DefectKind {
    fn name(self) -> &'static str {
        match self {
            DefectKind::DataRace => "data-race",
            DefectKind::Deadlock => "deadlock",
            DefectKind::BarrierMisuse => "barrier-misuse",
            DefectKind::OutOfBounds => "out-of-bounds",
            DefectKind::UninitializedRead => "uninitialized-read",
            DefectKind::MisalignedAccess => "misaligned-access",
            DefectKind::Assertion => "assertion",
        }
    }
}

impl Kind for WarningKind {
    fn name(self) -> &'static str {
        match self {
            WarningKind::SameValueWrite => "same-value-write",
            WarningKind::RealEqualWrite | WarningKind::RealEqualRace => "real-equal-write",
            WarningKind::WriteToInput => "write-to-input",
            WarningKind::UninitializedRead => "uninitialized-read",
            WarningKind::UnusedRead => "unused-read",
            WarningKind::MissingFence => "missing-fence",
            WarningKind::OrderedByValue => "ordered-by-value",
            WarningKind::UnknownOpcode => "unknown-opcode",
            WarningKind::Residual => "residual",
            WarningKind::Note => "note",
        }
    }
}

impl Kind for UnknownKind {
    fn name(self) -> &'static str {
        match self {
            UnknownKind::DataDependentBranch => "data-dependent-branch",
            UnknownKind::DataDependentAddress => "data-dependent-address",
            UnknownKind::UnsupportedInstruction => "unsupported-instruction",
            UnknownKind::MissingBinding => "missing-binding",
            UnknownKind::Undecided => "undecided",
            UnknownKind::Undefined => "undefined",
            UnknownKind::NotANumber => "not-a-number",
            UnknownKind::MixedBytes => "mixed-bytes",
            UnknownKind::UnspecifiedLayout => "unspecified-layout",
            UnknownKind::NondeterministicValue => "nondeterministic-value",
            UnknownKind::CallDepth => "call-depth",
            UnknownKind::BitsOfRounded => "bits-of-rounded",
            UnknownKind::NothingToCompare => "nothing-to-compare",
            UnknownKind::Limit => "limit",
        }
    }
}

/// A kernel that was run, for turning findings into entries.
#[derive(Clone, Copy, Debug)]
pub struct Ran<'a> {
    /// Its part in the command.
    pub which: Which,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Its launch.
    pub launch: &'a Launch,
    /// What was bound, and what was not.
    pub resolved: &'a Resolved,
}

impl Ran<'_> {
    /// Says of every integer without a value that it needs one, where a run ended for want of one:
    /// beside those that `known` names.
    pub fn missing(self, known: &[Entry]) -> Vec<Entry> {
        let kind = UnknownKind::MissingBinding.name();
        if !known.iter().any(|e| e.kind == kind) {
            return Vec::new();
        }
        let named = |flag: &str| {
            let flag = format!("with {flag}=VALUE");
            known
                .iter()
                .any(|e| e.kind == kind && e.message.contains(&flag))
        };
        let unbound = self.resolved.unbound.iter();
        let entry = |u: &Unbound| Entry {
            kernel: Some(self.which),
            kind,
            message: format!(
                "parameter {} can decide a branch or an address, and has no value: bind it with {}=VALUE",
                u.name, u.flag
            ),
            count: 1,
            sites: vec![SiteReport::new(
                &self.kernel.source,
                self.kernel.span(u.pc),
                "is read here",
            )],
            difference: None,
        };
        unbound.filter(|u| !named(&u.flag)).map(entry).collect()
    }

    /// Says that an answer speaks of some CTAs of a grid only.
    pub fn partial(self, covered: &Covered) -> Option<Entry> {
        let part = self.resolved.selection == Selection::Given && !covered.whole;
        part.then(|| Entry {
            kernel: Some(self.which),
            kind: "partial-grid",
            message: format!(
                "{} of {} CTAs are looked at, since a flag names one: the others may do anything",
                covered.ctas.len(),
                self.launch.ctas()
            ),
            count: 1,
            sites: Vec::new(),
            difference: None,
        })
    }

    /// Findings of the simulator as entries.
    pub fn entries<K: Kind>(self, findings: &[sim::Finding<K>]) -> Vec<Entry> {
        let entry = |f: &sim::Finding<K>| Entry {
            kernel: Some(self.which),
            kind: f.kind.name(),
            message: f.message.clone(),
            count: f.count,
            sites: f
                .sites
                .iter()
                .map(|s| SiteReport::of(s, self.kernel, self.launch))
                .collect(),
            difference: None,
        };
        findings.iter().map(entry).collect()
    }

    /// What the report says about the kernel itself.
    pub fn describe(self, covered: &Covered) -> KernelReport {
        KernelReport {
            which: self.which,
            file: self.kernel.source.name.clone(),
            entry: self.kernel.name.clone(),
            launch: self.launch.clone(),
            numbers: self.resolved.numbers.clone(),
            ctas: covered.ctas.clone(),
            whole: covered.whole,
            stats: covered.outcome.stats,
            terms: covered.terms,
        }
    }
}

/// A usage or input error.
#[derive(Clone, Debug)]
pub struct Failure {
    /// One or more messages.
    pub diagnostics: Vec<Diagnostic>,
    /// The text that they point into.
    pub source: Option<Arc<Source>>,
    /// The objects of all instances, where the command was run at several sizes.
    pub instances: Vec<serde_json::Value>,
}

impl Failure {
    /// An error without a place.
    pub fn new(code: &'static str, message: impl Into<String>) -> Failure {
        Failure {
            diagnostics: vec![Diagnostic::error(code, message)],
            source: None,
            instances: Vec::new(),
        }
    }

    /// Errors in a text; of very many the first ones, and how many there are.
    pub fn at(source: &Arc<Source>, mut diagnostics: Vec<Diagnostic>) -> Failure {
        if diagnostics.len() > MOST_ERRORS {
            let code = diagnostics[0].code;
            let more = diagnostics.len() - MOST_ERRORS;
            diagnostics.truncate(MOST_ERRORS);
            diagnostics.push(Diagnostic::error(code, format!("{more} more errors")));
        }
        Failure {
            diagnostics,
            source: Some(source.clone()),
            instances: Vec::new(),
        }
    }

    /// An error in a TOML file.
    pub fn toml(source: &Arc<Source>, code: &'static str, e: TomlError) -> Failure {
        let mut d = Diagnostic::error(code, e.message);
        if let Some(span) = e.span {
            d = d.label(span, "");
        }
        Failure::at(source, vec![d])
    }

    /// The message of the first error.
    pub fn message(&self) -> &str {
        self.diagnostics.first().map_or("", |d| &d.message)
    }

    /// The places of all errors.
    pub fn sites(&self) -> Vec<SiteReport> {
        let Some(source) = &self.source else {
            return Vec::new();
        };
        let labels = self.diagnostics.iter().flat_map(|d| &d.labels);
        labels
            .map(|(span, what)| SiteReport::new(source, *span, what))
            .collect()
    }

    /// The errors for people, with the lines that they are about.
    pub fn render(&self) -> String {
        let mut out = String::new();
        for d in &self.diagnostics {
            match &self.source {
                Some(source) if !d.labels.is_empty() => out.push_str(&d.render(source, true)),
                _ => {
                    out.push_str(&d.to_string());
                    if let Some(help) = &d.help {
                        out.push_str("\n  help: ");
                        out.push_str(help);
                    }
                }
            }
            out.push('\n');
        }
        out
    }
}

impl From<SpecError> for Failure {
    fn from(e: SpecError) -> Self {
        let code = match e {
            SpecError::Contents { .. } | SpecError::TwoContents { .. } => "contents",
            SpecError::BadFact { .. } => "fact",
            _ => "",
        };
        Failure::new(code, e.to_string())
    }
}
