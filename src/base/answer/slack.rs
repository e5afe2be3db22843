//! Which synchronising operations a kernel needs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diag::foreign::{sentence, visible};

use super::{DefectKind, Finding, Kind, Site, UnknownKind, WarningKind};

/// What a `slack` found, as the report holds it.
#[derive(Clone, Copy, Debug)]
pub struct Slack<'r> {
    /// The places of synchronising operations that the launch executes, in the order of the text.
    pub sync: &'r [Synchronisation],
    /// Some of them that can go at once, by their position in `sync`.
    pub together: &'r [usize],
    /// All of this is said of every launch that the report names, not of one.
    pub every_launch: bool,
}

/// One place of a synchronising operation.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Synchronisation {
    /// Where it stands.
    pub site: Site,
    /// The operation.
    pub op: String,
    /// Whether the kernel needs it.
    pub state: State,
    /// What appears without it.
    pub breaks: Option<Breaks>,
    /// Why nothing is said: what is open without it.
    #[serde(default)]
    pub why: Option<Box<Finding<UnknownKind>>>,
}

/// Whether a kernel needs an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Without it something breaks.
    Needed,
    /// Without it the launch is still clean, and leaves the same values.
    Spare,
    /// Nothing is said.
    Unjudged,
}

impl State {
    /// The word of the contract.
    pub fn name(self) -> &'static str {
        match self {
            State::Needed => "needed",
            State::Spare => "spare",
            State::Unjudged => "unjudged",
        }
    }
}

/// What appears without an operation.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Breaks {
    /// A defect.
    Defect(Box<Finding<DefectKind>>),
    /// A warning of a kind that `--strict` makes a defect.
    Warning(Box<Finding<WarningKind>>),
}

impl Breaks {
    /// The kind and the sentence.
    pub fn text(&self) -> String {
        match self {
            Breaks::Defect(f) => format!("{}: {}", f.kind.name(), f.message),
            Breaks::Warning(f) => format!("{}: {}", f.kind.name(), f.message),
        }
    }
}

impl Synchronisation {
    /// Why nothing is said, as kind and sentence.
    pub fn because(&self) -> Option<String> {
        let why = self.why.as_ref()?;
        Some(format!("{}: {}", why.kind.name(), why.message))
    }
}

impl Slack<'_> {
    /// What people read: each place with its state, and what can go at once.
    pub fn table(&self) -> String {
        let mut out = String::new();
        let line = |s: &Synchronisation| {
            let file = visible(&s.site.file);
            format!("{file}:{}: {}", s.site.line, s.op)
        };
        for s in self.sync {
            out.push_str(&format!("{} is {}", line(s), s.state.name()));
            if let Some(b) = &s.breaks {
                out.push_str(&format!("; without it {}", sentence(&b.text())));
            }
            if let Some(why) = s.because() {
                out.push_str(&format!("; {}", sentence(&why)));
            }
            out.push('\n');
        }
        if self.sync.is_empty() {
            out.push_str("the launch executes no synchronising operation\n");
        }
        if !self.together.is_empty() {
            let all: Vec<String> = self
                .together
                .iter()
                .filter_map(|&i| self.sync.get(i))
                .map(line)
                .collect();
            out.push_str(&format!("these can go at once: {}\n", all.join(", ")));
        }
        out.push_str(self.scope());
        out.push('\n');
        out
    }

    /// Of which launches all of this is said.
    pub fn scope(&self) -> &'static str {
        match self.every_launch {
            true => "all of this is said of every launch that the scope names",
            false => {
                "all of this is said of this launch; another size may need what this one does not"
            }
        }
    }
}
