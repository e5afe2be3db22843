//! SARIF 2.1.0 (OASIS standard), as code scanning services read it.
//!
//! Each defect, counterexample, reason of `unknown` and warning is one result; the first place is
//! its location, the others are related. A finding that an entry of a manifest must have is
//! suppressed, so that only what is unexpected stands out. Made from the JSON object, which
//! cached results have as well.

use serde_json::{Map, Value, json};

use crate::gate::GateReport;

use super::escape::uri;
use super::{Answer, EXIT_ERROR, Failure};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// The log of a check or a race.
pub fn report(answer: &Answer) -> Value {
    let mut results = Vec::new();
    add_answer(&mut results, answer, None, false);
    log(results, answer.verdict.exit())
}

/// The log of a usage or input error: a notification, for nothing was looked at.
pub fn failure(failure: &Failure) -> Value {
    let notes = failure.diagnostics.iter().map(|d| {
        let labels = d.labels.iter().filter_map(|(span, _)| {
            let source = failure.source.as_ref()?;
            let at = source.position(span.start);
            Some(place(&source.name, at.line, at.column))
        });
        let places: Vec<Value> = labels.collect();
        json!({"level": "error", "message": {"text": d.message}, "locations": places})
    });
    let notes: Vec<Value> = notes.collect();
    let mut log = log(Vec::new(), EXIT_ERROR);
    log["runs"][0]["invocations"][0]["toolConfigurationNotifications"] = json!(notes);
    log
}

/// The log of a manifest.
pub fn gate(g: &GateReport) -> Value {
    let mut results = Vec::new();
    for e in &g.entries {
        match &e.result {
            Ok(answer) => add_answer(&mut results, answer, Some(&e.name), e.ok),
            Err(failure) => {
                let sites = failure.sites();
                let places = sites.iter().map(|s| place(&s.file, s.line, s.column));
                results.push(result(
                    "input-error",
                    "error",
                    &format!("{}: {}", e.name, failure.message()),
                    places.collect(),
                    false,
                ));
            }
        }
        if let (Some(why), Ok(_)) = (&e.why, &e.result) {
            let text = format!("{}: {why}", e.name);
            results.push(result("unexpected-verdict", "error", &text, vec![], false));
        }
    }
    log(results, g.exit())
}

fn log(results: Vec<Value>, exit: u8) -> Value {
    let mut rules: Vec<String> = results
        .iter()
        .filter_map(|r| r["ruleId"].as_str().map(str::to_string))
        .collect();
    rules.sort();
    rules.dedup();
    let rules: Vec<Value> = rules
        .iter()
        .map(|id| json!({"id": id, "shortDescription": {"text": describe(id)}}))
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "volta",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{"executionSuccessful": exit != EXIT_ERROR, "exitCode": exit}],
            "results": results,
        }],
    })
}

/// Adds the findings of an answer, those of each of its instances by its sizes.
fn add_answer(out: &mut Vec<Value>, answer: &Answer, entry: Option<&str>, expected: bool) {
    if answer.parts.is_empty() {
        add(out, &answer.object, entry, expected);
    }
    for part in &answer.parts {
        let Ok(answer) = &part.result else { continue };
        let name = match entry {
            Some(entry) => format!("{entry}: {}", part.sizes),
            None => part.sizes.to_string(),
        };
        add(out, &answer.object, Some(&name), expected);
    }
}

/// Adds the findings of one object.
fn add(out: &mut Vec<Value>, object: &Value, entry: Option<&str>, expected: bool) {
    let name = |text: &str| match entry {
        Some(entry) => format!("{entry}: {text}"),
        None => text.to_string(),
    };
    let lists = [
        ("defects", "error"),
        ("unknown", "warning"),
        ("warnings", "note"),
    ];
    for (list, level) in lists {
        for f in object[list].as_array().into_iter().flatten() {
            let mut text = f["message"].as_str().unwrap_or("").to_string();
            if let Some(side @ ("reference" | "optimized")) = f["kernel"].as_str() {
                text = format!("{side}: {text}");
            }
            let places = f["sites"].as_array().into_iter().flatten().map(|s| {
                let number = |key: &str| s[key].as_u64().unwrap_or(1) as u32;
                let file = s["file"].as_str().unwrap_or("");
                place(file, number("line"), number("column"))
            });
            let kind = f["kind"].as_str().unwrap_or("finding");
            let places: Vec<Value> = places.collect();
            out.push(result(kind, level, &name(&text), places, expected));
        }
    }
    if let Some(text) = object["counterexample"]["message"].as_str() {
        let text = match object["counterexample"]["difference"]["message"].as_str() {
            Some(why) => format!("{text}: {why}"),
            None => text.to_string(),
        };
        let file = object["optimized"]["file"].as_str().unwrap_or("");
        let places = vec![place(file, 1, 1)];
        out.push(result(
            "not-equivalent",
            "error",
            &name(&text),
            places,
            expected,
        ));
    }
}

fn place(file: &str, line: u32, column: u32) -> Value {
    json!({"physicalLocation": {
        "artifactLocation": {"uri": uri(file)},
        "region": {"startLine": line.max(1), "startColumn": column.max(1)},
    }})
}

fn result(rule: &str, level: &str, text: &str, mut places: Vec<Value>, expected: bool) -> Value {
    let mut out = Map::new();
    out.insert("ruleId".into(), json!(rule));
    out.insert("level".into(), json!(level));
    out.insert("message".into(), json!({"text": text}));
    let related = places.split_off(places.len().min(1));
    out.insert("locations".into(), json!(places));
    if !related.is_empty() {
        out.insert("relatedLocations".into(), json!(related));
    }
    if expected {
        let why = json!([{"kind": "external", "justification": "the manifest expects it"}]);
        out.insert("suppressions".into(), why);
    }
    Value::Object(out)
}

fn describe(rule: &str) -> String {
    let text = match rule {
        "data-race" => "Two accesses that conflict and that nothing orders.",
        "deadlock" => "No thread can go on, and some have not returned.",
        "barrier-misuse" => "A barrier or a warp collective is used wrongly.",
        "out-of-bounds" => "An access lies outside of its array.",
        "uninitialized-read" => "A value that was never written is read.",
        "misaligned-access" => "An address is not a multiple of the size of the access.",
        "assertion" => "An assertion or a trap is reached.",
        "not-equivalent" => "An output of the kernels differs.",
        "unexpected-verdict" => {
            "An entry of the manifest did not get the verdict that it must get."
        }
        "input-error" => "An entry could not be run.",
        "real-equal-write" => {
            "Threads that nothing orders write values that are equal over the reals only."
        }
        "missing-fence" => "A fence is missing that shipped kernels leave out.",
        "ordered-by-value" => {
            "A read and a write race, and what is written is made from what is read."
        }
        "unused-read" => "A read races with a write, and what is read reaches nothing.",
        "same-value-write" => "Threads that nothing orders write the same value.",
        "write-to-input" => "An array that is bound as an input is written.",
        other => return format!("Reported as {other}."),
    };
    text.to_string()
}
