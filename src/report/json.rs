//! The JSON object of the command-line contract: what serde writes of the types of [`crate::answer`].

use serde::Serialize;

use super::gate::{EntryResult, GateReport};
use crate::answer::{Error, ErrorAnswer, Gate, GateEntry, GateResult, Schema, schema};
use crate::foreign;

use super::Failure;

/// An answer as text.
pub fn text(answer: &impl Serialize) -> String {
    // Nothing in an answer has keys that are no strings, the only thing that JSON cannot hold.
    let text = serde_json::to_string_pretty(answer).unwrap_or_default();
    foreign::json(&text) + "\n"
}

/// The object of a usage or input error.
pub fn failure(command: Option<&str>, f: &Failure) -> ErrorAnswer {
    ErrorAnswer {
        schema: Schema::V2,
        volta: schema::version(),
        command: command.map(str::to_string),
        error: Error {
            kind: f.kind,
            message: f.message().to_string(),
            sites: f.sites(),
            which: f.which,
            hint: f.hint(),
        },
        instances: f.instances.clone(),
    }
}

/// What was found about an entry.
pub fn result(e: &EntryResult) -> GateResult {
    match &e.result {
        Ok(answer) => GateResult::Report(Box::new(answer.report.clone())),
        Err(f) => GateResult::Error(failure(Some(e.command.name()), f)),
    }
}

/// The object of a gate.
pub fn gate(g: &GateReport) -> Gate {
    let entries = g.entries.iter().map(|e| GateEntry {
        name: e.name.clone(),
        expect: e.expect.clone(),
        ok: e.ok,
        seconds: e.time.as_secs_f64(),
        why: e.why.clone(),
        cached: e.result.as_ref().is_ok_and(|a| a.cached),
        peak_bytes: e.peak,
        result: result(e),
    });
    Gate {
        schema: Schema::V2,
        volta: schema::version(),
        command: g.command,
        passed: g.passed() as u64,
        failed: (g.entries.len() - g.passed()) as u64,
        entries: entries.collect(),
        ledger: g.ledger.clone(),
    }
}
