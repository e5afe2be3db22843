//! SARIF 2.1.0 (OASIS standard), as code scanning services read it.
//!
//! Each root of a report is one result: a defect, a counterexample, a reason of `unknown` or a warning, with the findings of
//! the same cause, to which its message links (3.11.6). Its location is the line of the source that the PTX was compiled
//! from where the PTX names it, else the PTX line; all other places are related. Each result has a location, without which
//! services refuse the whole log. A finding that an entry of a manifest must have is suppressed, so that only what is
//! unexpected stands out.
//!
//! A result is known again by its rule, its file and its message without the numbers in it, and by which of those that are
//! alike in this it is, so that an edit above it makes no new alert of it.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::place::Spot;
use super::roots::{Root, roots};
use crate::answer::{
    About, Answer, EXIT_ERROR, ErrorKind, Failure, Family, GateReport, Kind, Report, kinds,
};
use crate::diag::foreign::{lines, sentence, uri};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Results of a log, beyond which services refuse it.
const MOST_RESULTS: usize = 5000;

/// Places of a result beside its location, and those among them that its message links to.
const MOST_PLACES: usize = 100;
const LINKED: usize = 12;

/// Rules that are no kinds of findings.
const DIFFERS: &str = "not-equivalent";
const UNMET: &str = "unexpected-verdict";
const INPUT: &str = "input-error";

/// The log of a check or a race.
pub fn report(answer: &Answer) -> Value {
    let mut results = Vec::new();
    add_answer(&mut results, answer, None, false);
    log(results, answer.exit(), &[])
}

/// The log of a usage or input error: a notification, for nothing was looked at.
pub fn failure(failure: &Failure) -> Value {
    let sites = failure.sites();
    let places: Vec<Value> = sites.iter().map(Spot::ptx).map(place).collect();
    let note = |message: &str, places: &[Value]| json!({"level": "error", "message": {"text": lines(&sentence(message))}, "locations": places});
    let notes: Vec<Value> = match failure.diagnostics.as_slice() {
        [one] => vec![note(&one.message, &places)],
        all => all.iter().map(|d| note(&d.message, &[])).collect(),
    };
    log(Vec::new(), EXIT_ERROR, &notes)
}

/// The log of a manifest.
pub fn gate(g: &GateReport) -> Value {
    let mut results = Vec::new();
    for e in &g.entries {
        let here = place(Spot::line(&e.manifest.file, e.manifest.line));
        match &e.result {
            Ok(answer) => add_answer(&mut results, answer, Some(&e.name), e.ok),
            Err(failure) => {
                let sites = failure.sites();
                let mut places: Vec<Value> = sites.iter().map(Spot::ptx).map(place).collect();
                places.push(here.clone());
                let text = format!("{}: {}", e.name, failure.message());
                results.push(result(INPUT, "error", &text, places, false));
            }
        }
        if let (Some(why), Ok(_)) = (&e.why, &e.result) {
            let text = format!("{}: {why}", e.name);
            results.push(result(UNMET, "error", &text, vec![here], false));
        }
    }
    for why in &g.ledger {
        results.push(result(UNMET, "error", why, Vec::new(), false));
    }
    log(results, g.exit(), &[])
}

fn log(mut results: Vec<Value>, exit: u8, notes: &[Value]) -> Value {
    results.truncate(MOST_RESULTS);
    add_fingerprints(&mut results);
    let mut ids: Vec<&str> = results
        .iter()
        .filter_map(|r| r["ruleId"].as_str())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    let rules: Vec<Value> = ids.into_iter().map(rule).collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "volta",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": exit != EXIT_ERROR,
                "exitCode": exit,
                "toolConfigurationNotifications": notes,
            }],
            "results": results,
        }],
    })
}

/// Adds the findings of an answer, those of each of its instances by its sizes.
fn add_answer(out: &mut Vec<Value>, answer: &Answer, entry: Option<&str>, expected: bool) {
    if answer.parts.is_empty() {
        add(out, &answer.report, entry, expected);
    }
    for part in &answer.parts {
        let Ok(answer) = &part.result else { continue };
        let name = match entry {
            Some(entry) => format!("{entry}: {}", part.sizes),
            None => part.sizes.to_string(),
        };
        add(out, &answer.report, Some(&name), expected);
    }
}

/// Adds the roots of a report.
fn add(out: &mut Vec<Value>, report: &Report, entry: Option<&str>, expected: bool) {
    for root in roots(report) {
        let level = match root.family {
            Family::Defect | Family::Error => "error",
            Family::Unknown => "warning",
            Family::Warning | Family::Assumption => "note",
        };
        let mut text = match entry {
            Some(entry) => format!("{entry}: {}", root.head.text),
            None => root.head.text.clone(),
        };
        // What looks like a link was none.
        text = text.replace("](", "] (");
        let linked = linked(&root, &mut text);
        let places: Vec<Value> = match root.head.sites {
            [] => Spot::kernels(report).into_iter().map(place).collect(),
            [first, ..] => {
                let sites = root.head.sites.iter().filter(|s| s.source.is_some());
                let lines = sites.map(Spot::ptx).map(place);
                let first = [place(Spot::source(first))];
                first.into_iter().chain(linked).chain(lines).collect()
            }
        };
        out.push(result(root.head.kind, level, &text, places, expected));
    }
}

/// The other places of a root and the findings of the same cause as related places, to which its text gets links.
fn linked(root: &Root, text: &mut String) -> Vec<Value> {
    let head = root.head.sites.first();
    // The line of the root itself tells nothing more: the PTX does.
    let spot = |site| {
        let at = Spot::source(site);
        match head.map(Spot::source) {
            Some(head) if (head.file, head.line) == (at.file, at.line) => Spot::ptx(site),
            _ => at,
        }
    };
    let others = root.head.sites.iter().skip(1);
    let others = others.map(|site| ("; with ", String::new(), site.what.as_str(), spot(site)));
    let rest = root
        .rest
        .iter()
        .filter_map(|told| Some((told, told.sites.first()?)));
    let rest = rest.map(|(told, site)| {
        let kind = format!("{} at ", told.kind);
        (
            "; of the same cause: ",
            kind,
            told.text.as_str(),
            spot(site),
        )
    });
    let (mut out, mut before) = (Vec::new(), "");
    for (id, (list, kind, message, at)) in (1..=LINKED).zip(others.chain(rest)) {
        text.push_str(if list == before { ", " } else { list });
        before = list;
        let mut name = format!("{kind}{}", at.shown());
        for mark in ["\\", "[", "]"] {
            name = name.replace(mark, &format!("\\{mark}"));
        }
        text.push_str(&format!("[{name}]({id})"));
        let mut place = place(at);
        place["id"] = json!(id);
        if !message.is_empty() {
            place["message"] = json!({"text": lines(&sentence(message))});
        }
        out.push(place);
    }
    out
}

/// A line of a file, with its columns where they are known.
fn place(at: Spot) -> Value {
    let (start, length) = at.columns.unwrap_or((1, 1));
    json!({"physicalLocation": {
        "artifactLocation": {"uri": uri(&at.path())},
        "region": {
            "startLine": at.line,
            "startColumn": start,
            "endLine": at.line,
            "endColumn": u64::from(start) + length as u64,
        },
    }})
}

fn result(rule: &str, level: &str, text: &str, mut places: Vec<Value>, expected: bool) -> Value {
    let mut out = Map::new();
    out.insert("ruleId".into(), json!(rule));
    out.insert("level".into(), json!(level));
    out.insert("message".into(), json!({"text": lines(&sentence(text))}));
    let mut related = places.split_off(places.len().min(1));
    related.truncate(MOST_PLACES);
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

/// Gives each result what it is known by in the next log.
fn add_fingerprints(results: &mut [Value]) {
    let mut seen: HashMap<String, u32> = HashMap::new();
    for result in results {
        let place = &result["locations"][0]["physicalLocation"]["artifactLocation"];
        let text = result["message"]["text"].as_str().unwrap_or("");
        let text = text.replace(|c: char| c.is_ascii_digit(), "");
        let alike = format!("{}\n{}\n{text}", result["ruleId"], place["uri"]);
        let count = seen.entry(alike.clone()).or_default();
        let digest = Sha256::digest(format!("{alike}\n{count}"));
        *count += 1;
        let hash: String = digest.iter().take(16).map(|b| format!("{b:02x}")).collect();
        result["partialFingerprints"] = json!({"voltaRoot/v1": hash});
    }
}

/// The rule of a kind, with everything that services ask of one.
fn rule(id: &str) -> Value {
    let (says, means, example, family) = match kinds::all().into_iter().find(|k| k.word == id) {
        Some(About {
            says,
            means,
            example,
            family,
            ..
        }) => (says, means, example, family.to_string()),
        None => {
            let (says, means) = other_rule(id);
            (says, means, "volta gate volta.toml", "verdict".to_string())
        }
    };
    json!({
        "id": id,
        "name": id,
        "shortDescription": {"text": says},
        "fullDescription": {"text": means},
        "help": {
            "text": format!("{means}\n\nExample:\n{example}"),
            "markdown": format!("{means}\n\n```\n{example}\n```"),
        },
        "properties": {"tags": [family]},
    })
}

fn other_rule(id: &str) -> (&'static str, &'static str) {
    match id {
        DIFFERS => (
            "An output of the kernels differs.",
            "An input is shown on which the optimized kernel computes another value than the reference.",
        ),
        UNMET => (
            "An entry of the manifest did not get the verdict that it must get.",
            "The entry's `expect`, `defects` or `denied` say what must come out.",
        ),
        _ => {
            let about = ErrorKind::Manifest.about();
            ("An entry could not be run.", about.means)
        }
    }
}
