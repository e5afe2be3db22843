//! What the entries of a manifest, or the comparisons of a file of steps, found: as every format is made from it, and as JSON.

use std::time::Duration;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verdict::{EXIT_ERROR, EXIT_UNKNOWN};
use super::{Answer, Command, ErrorAnswer, Failure, Report, Schema, schema};

/// A line of a manifest.
#[derive(Clone, Debug)]
pub struct Place {
    /// The manifest as it was named.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
}

/// The result of one entry.
#[derive(Clone, Debug)]
pub struct EntryResult {
    /// Its name.
    pub name: String,
    /// Where the manifest has it.
    pub manifest: Place,
    /// A check or a race.
    pub command: Command,
    /// The verdict that it must get.
    pub expect: String,
    /// Whether it did, with the defects that it must find.
    pub ok: bool,
    /// Why not.
    pub why: Option<String>,
    /// Wall-clock time.
    pub time: Duration,
    /// Peak memory of the process during the entry in bytes, where that was measured.
    pub peak: Option<u64>,
    /// What it found.
    pub result: Result<Answer, Failure>,
}

impl EntryResult {
    /// What was found, as it is printed.
    pub fn answer(&self) -> GateResult {
        match &self.result {
            Ok(answer) => GateResult::Report(Box::new(answer.report.clone())),
            Err(f) => GateResult::Error(f.answer(Some(self.command.name()))),
        }
    }
}

/// The results of a manifest.
#[derive(Clone, Debug)]
pub struct GateReport {
    /// What was asked.
    pub command: ManifestCommand,
    /// Entries in order.
    pub entries: Vec<EntryResult>,
    /// What a ledger says of no entry that was run: lines without an entry, the sum of all work. Each is a failure.
    pub ledger: Vec<String>,
    /// Whether each entry was measured alone.
    pub stats: bool,
}

impl GateReport {
    /// Number of entries that got what they must get.
    pub fn passed(&self) -> usize {
        self.entries.iter().filter(|e| e.ok).count()
    }

    /// The object of the contract.
    pub fn answer(&self) -> Gate {
        let entries = self.entries.iter().map(|e| GateEntry {
            name: e.name.clone(),
            expect: e.expect.clone(),
            ok: e.ok,
            seconds: e.time.as_secs_f64(),
            why: e.why.clone(),
            cached: e.result.as_ref().is_ok_and(|a| a.cached),
            peak_bytes: e.peak,
            result: e.answer(),
        });
        Gate {
            schema: Schema::V2,
            volta: schema::version(),
            command: self.command,
            passed: self.passed() as u64,
            failed: (self.entries.len() - self.passed()) as u64,
            entries: entries.collect(),
            ledger: self.ledger.clone(),
        }
    }

    /// The exit status of the contract.
    pub fn exit(&self) -> u8 {
        if self.entries.iter().any(|e| e.result.is_err()) {
            return EXIT_ERROR;
        }
        let is_bad = self.passed() < self.entries.len() || !self.ledger.is_empty();
        let failed = self.entries.iter().filter(|e| !e.ok);
        let mut failed = failed.filter_map(|e| e.result.as_ref().ok());
        let is_steps = self.command == ManifestCommand::Steps;
        if is_bad && is_steps && failed.all(|a| a.exit() == EXIT_UNKNOWN) {
            return EXIT_UNKNOWN;
        }
        u8::from(is_bad)
    }
}

/// What `gate` prints.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Gate {
    /// Version of this shape.
    pub schema: Schema,
    /// Version of volta.
    pub volta: String,
    /// Always `gate`.
    pub command: ManifestCommand,
    /// Entries that got what they must get.
    pub passed: u64,
    /// The others.
    pub failed: u64,
    /// All of them, in the order of the manifest.
    pub entries: Vec<GateEntry>,
    /// What `--ledger` says of no entry that was run (lines without an entry, the sum of all work), a failure each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ledger: Vec<String>,
}

/// A command about a file of comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ManifestCommand {
    /// Does every entry get its verdict?
    Gate,
    /// Is every step of an operator what the naive kernel is?
    Steps,
}

impl ManifestCommand {
    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            ManifestCommand::Gate => "gate",
            ManifestCommand::Steps => "steps",
        }
    }
}

/// One entry.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GateEntry {
    /// Its name.
    pub name: String,
    /// The verdict that it must get.
    pub expect: String,
    /// Whether it did, with the defects that it must find and nothing denied.
    pub ok: bool,
    /// Wall-clock time.
    pub seconds: f64,
    /// Why it is not ok.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// True if the result was known from an earlier run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// Peak memory of the process in bytes, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_bytes: Option<u64>,
    /// What was found.
    pub result: GateResult,
}

/// One instance of a command at several sizes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Instance {
    /// What the names of sizes stand for.
    #[serde(rename = "for")]
    pub sizes: IndexMap<String, i64>,
    /// What was found.
    pub result: GateResult,
}

/// What was found about an entry or an instance.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum GateResult {
    /// It was run.
    Report(Box<Report>),
    /// It could not be run.
    Error(ErrorAnswer),
}
