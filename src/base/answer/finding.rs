//! Findings with their places, and assumptions.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::coverage::Proposal;
use super::{AssumptionKind, Difference, Kind};
use crate::diag::{Source, Span};

/// What a finding or an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The only kernel.
    Kernel,
    /// The reference.
    Reference,
    /// The optimized kernel.
    Optimized,
    /// Both kernels.
    Pair,
    /// The formula that a kernel is compared with.
    Formula,
}

impl Part {
    /// The word of the contract.
    pub fn name(self) -> &'static str {
        match self {
            Part::Kernel => "kernel",
            Part::Reference => "reference",
            Part::Optimized => "optimized",
            Part::Pair => "pair",
            Part::Formula => "formula",
        }
    }

    /// Its name, where a message begins with it: one side of a pair.
    fn side(self) -> Option<&'static str> {
        match self {
            Part::Reference | Part::Optimized | Part::Formula => Some(self.name()),
            Part::Kernel | Part::Pair => None,
        }
    }
}

/// One finding.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Finding<K> {
    /// What it is about.
    pub kernel: Part,
    /// The kind.
    pub kind: K,
    /// A sentence.
    pub message: String,
    /// How often it was found.
    pub count: u64,
    /// Where.
    pub sites: Vec<Site>,
    /// Findings with one root share it.
    pub cause: Option<String>,
    /// What the user can do.
    pub hint: Option<String>,
    /// Where the expressions of the kernels differ, for an element that is undecided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub difference: Option<Difference>,
    /// Sizes that would show what this launch was too small for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<Proposal>,
    /// The user allows it: people are told how many there are, and `--deny` does not see it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allowed: bool,
}

impl<K: Kind> Finding<K> {
    /// A finding without a place.
    pub fn new(kernel: Part, kind: K, message: impl Into<String>) -> Finding<K> {
        Finding {
            kernel,
            kind,
            message: message.into(),
            count: 1,
            sites: Vec::new(),
            cause: None,
            hint: kind.about().hint.map(str::to_string),
            difference: None,
            sizes: Vec::new(),
            allowed: false,
        }
    }

    /// How its message begins: with the side of a pair that it is about, and the launch of a sequence.
    pub fn prefix(&self) -> String {
        let launch = self.sites.first().and_then(|s| s.launch);
        match (self.kernel.side(), launch) {
            (None, None) => String::new(),
            (Some(side), None) => format!("{side}: "),
            (None, Some(launch)) => format!("launch {launch}: "),
            (Some(side), Some(launch)) => format!("{side}, launch {launch}: "),
        }
    }

    /// The same at some places.
    pub fn at(mut self, sites: Vec<Site>) -> Finding<K> {
        self.sites = sites;
        self
    }
}

/// Something that an answer takes for granted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Assumption {
    /// The kind.
    pub kind: AssumptionKind,
    /// A sentence without a full stop.
    pub message: String,
    /// Where it was used, if that is at one place.
    pub sites: Vec<Site>,
}

impl AssumptionKind {
    /// An assumption of this kind.
    pub fn says(self, message: impl Into<String>) -> Assumption {
        Assumption {
            kind: self,
            message: message.into(),
            sites: Vec::new(),
        }
    }
}

impl Assumption {
    /// Adds those that are not there yet.
    pub fn unite(all: &mut Vec<Assumption>, more: impl IntoIterator<Item = Assumption>) {
        for a in more {
            if !all.contains(&a) {
                all.push(a);
            }
        }
    }

    /// The same with the place where it was used, which its sentence names.
    pub fn at(mut self, site: Site) -> Assumption {
        self.sites.push(site);
        self
    }

    fn key(&self) -> (&str, AssumptionKind) {
        (&self.message, self.kind)
    }
}

// People read the sentences: they tell assumptions apart and give them their order.
impl Ord for Assumption {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Assumption {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Assumption {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Assumption {}

impl Hash for Assumption {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// A place in a PTX file.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Site {
    /// Index in a sequence of launches.
    pub launch: Option<u32>,
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
    /// The line of the source that the PTX was compiled from.
    pub source: Option<SourceLine>,
    /// `%ctaid` of their CTA, where several CTAs were run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cta: Option<[u32; 3]>,
    /// What happened there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
    /// What the first thread did before and after, in the schedule that was run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub around: Vec<Step>,
    /// Where to draw it, while the text is at hand.
    #[serde(skip)]
    #[schemars(skip)]
    pub at: Option<(Arc<Source>, Span)>,
}

impl Site {
    /// A place in a source without threads.
    pub fn new(source: &Arc<Source>, span: Span, what: &str) -> Site {
        let position = source.position(span.start);
        Site {
            launch: None,
            file: source.name.clone(),
            line: position.line,
            column: position.column,
            text: source.excerpt(span.start).into_owned(),
            threads: Vec::new(),
            source: None,
            cta: None,
            what: what.to_string(),
            around: Vec::new(),
            at: Some((source.clone(), span)),
        }
    }
}

/// A line of CUDA, or of whatever the PTX was compiled from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceLine {
    /// The file, as `.file` names it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// The calls that the line was inlined from, the nearest first.
    pub inlined_from: Vec<Frame>,
}

/// A call that was inlined.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// The file, as `.file` names it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
}

impl SourceLine {
    /// The line that people want to see: the innermost one of the file that the kernel itself stands in, and not one
    /// of a header that it calls.
    pub fn own(&self) -> (&str, u32) {
        let Some(kernel) = self.inlined_from.last() else {
            return (&self.file, self.line);
        };
        let frames = self.inlined_from.iter().map(|f| (f.file.as_str(), f.line));
        let mut all = std::iter::once((self.file.as_str(), self.line)).chain(frames);
        all.find(|f| f.0 == kernel.file)
            .unwrap_or((&kernel.file, kernel.line))
    }
}

/// An access or a synchronisation of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// When: instructions of warps before it.
    pub step: u64,
    /// Line of the PTX, from 1.
    pub line: u32,
    /// The line without the space around it.
    pub text: String,
    /// Synchronisation, not an access.
    pub barrier: bool,
}
