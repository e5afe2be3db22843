//! Answers as lines.

use serde_json::{Map, Value, json};

use crate::answer::{Answer, ErrorKind, Failure, Finding, Report, Schema, UnknownKind};
use crate::ask::Question;
use crate::diag::foreign;
use crate::found;
use crate::report::{self, human};
use crate::spec::Options;

/// An object on one line.
pub(super) fn line(object: &Value) -> String {
    foreign::json(&object.to_string())
}

/// An answer to a request that cannot be understood or carried out.
pub(super) fn refused(id: &Value, failure: &Failure) -> String {
    let object = failure.answer(None);
    line(&json!({"id": id, "ok": false, "error": object.error}))
}

/// An error of a request itself.
pub(super) fn usage(why: impl Into<String>) -> Failure {
    Failure::new(ErrorKind::Usage, why)
}

/// An answer without a verdict to a request that something ended.
pub(super) fn ended_early(id: &Value, why: &str) -> String {
    refused(id, &Failure::new(ErrorKind::Limit, why))
}

/// The answer to `version`.
pub(super) fn version(id: &Value) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let result = json!({"volta": version, "schema": Schema::V2});
    line(&json!({"id": id, "ok": true, "version": version, "result": result}))
}

/// The answer to `explain`.
pub(super) fn explained(id: &Value, kind: Option<&str>) -> Result<String, Failure> {
    let text = match kind {
        Some(word) => report::explain::kind(word, &found::tables())?,
        None => report::explain::list(),
    };
    Ok(line(
        &json!({"id": id, "ok": true, "result": {"text": text}}),
    ))
}

/// An answer with a result, and with the texts that were asked for.
pub(super) fn reported(id: &Value, answer: &Answer, formats: &[String]) -> Result<String, Failure> {
    let mut texts = Map::new();
    for format in formats {
        let text = match format.as_str() {
            "human" => foreign::plain(&human::answer(answer)),
            "json" => report::json::text(&answer.report),
            "sarif" => report::json::text(&report::sarif::report(answer)),
            "junit" => report::junit::report(answer),
            "html" => report::html::report(answer),
            "github" => report::github::report(answer),
            _ => {
                let formats = "human, json, sarif, junit, html or github";
                let why = format!("`{format}` is no format: {formats}");
                return Err(usage(why));
            }
        };
        texts.insert(format.clone(), Value::String(text));
    }
    let mut out = json!({"id": id, "ok": true, "result": answer.report});
    if !texts.is_empty() {
        out["texts"] = Value::Object(texts);
    }
    Ok(line(&out))
}

/// The report of a run that something ended from outside.
pub(super) fn ended(question: &dyn Question, why: String) -> Report {
    let mut report = found::begin(question.command(), Vec::new(), &Options::default());
    let part = question.roles().part();
    report.unknown = vec![Finding::new(part, UnknownKind::Limit, why)];
    report
}

/// True for an answer that carries what was asked for.
pub(super) fn is_ok(line: &str) -> bool {
    let object: Result<Value, _> = serde_json::from_str(line);
    object.is_ok_and(|o| o["ok"] == true)
}
