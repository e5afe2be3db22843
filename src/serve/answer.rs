//! Answers as lines.

use serde_json::{Map, Value, json};

use crate::report::precision::Precision;
use crate::report::{self, Answer, Entry, Failure, Kind, Report, SCHEMA, Times, Verdict};
use crate::sim::UnknownKind;

/// An answer to a request that cannot be understood or carried out.
pub fn refused(id: &Value, failure: &Failure) -> String {
    let object = report::json::failure(None, failure);
    json!({"id": id, "ok": false, "error": object["error"]}).to_string()
}

/// An error of a request itself.
pub fn usage(why: impl Into<String>) -> Failure {
    Failure::new("usage", why)
}

/// An answer without a verdict to a request that something ended.
pub fn ended_early(id: &Value, why: &str) -> String {
    let error = json!({"kind": "limit", "message": why, "sites": [], "which": null});
    json!({"id": id, "ok": false, "error": error}).to_string()
}

/// The answer to `version`.
pub fn version(id: &Value) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let result = json!({"volta": version, "schema": SCHEMA});
    json!({"id": id, "ok": true, "version": version, "result": result}).to_string()
}

/// An answer with a result, and with the texts that were asked for.
pub fn reported(id: &Value, answer: &Answer, formats: &[String]) -> Result<String, Failure> {
    let mut texts = Map::new();
    for format in formats {
        let text = match format.as_str() {
            "human" => anstream::adapter::strip_str(&answer.text).to_string(),
            "json" => format!("{:#}\n", answer.object),
            "sarif" => format!("{:#}\n", report::sarif::report(answer)),
            "junit" => report::junit::report(answer),
            "html" => report::html::report(answer),
            _ => {
                let why = format!("`{format}` is no format: human, json, sarif, junit or html");
                return Err(usage(why));
            }
        };
        texts.insert(format.clone(), Value::String(text));
    }
    let mut out = json!({"id": id, "ok": true, "result": answer.object});
    if !texts.is_empty() {
        out["texts"] = Value::Object(texts);
    }
    Ok(out.to_string())
}

/// The report of a run that something ended from outside.
pub fn ended(command: &'static str, why: String) -> Report {
    Report {
        command,
        verdict: Verdict::Unknown,
        formula: None,
        kernels: Vec::new(),
        defects: Vec::new(),
        warnings: Vec::new(),
        unknown: vec![Entry {
            kernel: None,
            kind: UnknownKind::Limit.name(),
            message: why,
            count: 1,
            sites: Vec::new(),
            difference: None,
        }],
        counterexample: None,
        outputs: Vec::new(),
        assumptions: Vec::new(),
        precision: Precision::new(&[], false),
        chance: None,
        counts: None,
        times: Times::default(),
    }
}

/// True for an answer that carries what was asked for.
pub fn is_ok(line: &str) -> bool {
    let object: Result<Value, _> = serde_json::from_str(line);
    object.is_ok_and(|o| o["ok"] == true)
}
