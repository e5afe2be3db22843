//! SARIF 2.1.0 (OASIS standard), as code scanning services read it.
//!
//! Each defect, counterexample, reason of `unknown` and warning is one result. Its location is the line of the source
//! that the PTX was compiled from where the PTX names it, else the PTX line; all other places are related. Each result
//! has a location, without which services refuse the whole log. A finding that an entry of a manifest must have is
//! suppressed, so that only what is unexpected stands out.

use serde_json::{Map, Value, json};

use crate::answer::{
    About, Answer, EXIT_ERROR, ErrorKind, Failure, Finding, GateReport, Kind, Report, Site, kinds,
};
use crate::diag::foreign::{lines, sentence, uri};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Results of a log, beyond which services refuse it.
const MOST_RESULTS: usize = 5000;

/// Places of a result beside its location.
const MOST_PLACES: usize = 100;

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
    let places: Vec<Value> = failure.sites().iter().map(ptx).collect();
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
        let here = place(&e.manifest.file, (e.manifest.line, 1), 1);
        match &e.result {
            Ok(answer) => add_answer(&mut results, answer, Some(&e.name), e.ok),
            Err(failure) => {
                let sites = failure.sites();
                let mut places: Vec<Value> = sites.iter().map(ptx).collect();
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

/// Adds the findings of a report.
fn add(out: &mut Vec<Value>, report: &Report, entry: Option<&str>, expected: bool) {
    let name = |text: &str| match entry {
        Some(entry) => format!("{entry}: {text}"),
        None => text.to_string(),
    };
    let mut scribe = Scribe {
        out,
        report,
        name: &name,
        expected,
    };
    scribe.findings(&report.defects, "error");
    scribe.findings(&report.unknown, "warning");
    scribe.findings(&report.warnings, "note");
    if let Some(example) = &report.counterexample {
        let text = match &example.difference {
            Some(d) => format!("{}: {}", example.message, d.message),
            None => example.message.clone(),
        };
        let places = entries(report);
        let differs = result(DIFFERS, "error", &name(&text), places, expected);
        out.push(differs);
    }
}

/// Where results of one report go.
struct Scribe<'a> {
    out: &'a mut Vec<Value>,
    report: &'a Report,
    name: &'a dyn Fn(&str) -> String,
    expected: bool,
}

impl Scribe<'_> {
    fn findings<K: Kind>(&mut self, findings: &[Finding<K>], level: &str) {
        for f in findings {
            let text = format!("{}{}", f.prefix(), f.message);
            let mut places: Vec<Value> = f.sites.iter().map(source).collect();
            // The PTX lines come after all lines of the source, and not twice.
            let lines = f.sites.iter().filter(|s| s.source.is_some());
            places.extend(lines.map(ptx));
            if places.is_empty() {
                places = entries(self.report);
            }
            let text = (self.name)(&text);
            let result = result(f.kind.name(), level, &text, places, self.expected);
            self.out.push(result);
        }
    }
}

/// The kernels of a report, the optimized one first: the place of what is about no line.
fn entries(report: &Report) -> Vec<Value> {
    let mut all: Vec<Value> = report
        .kernels()
        .map(|(_, _, k)| place(&k.file, (k.line, 1), 1))
        .collect();
    all.reverse();
    all
}

/// The line of the source, or of the PTX where there is none.
fn source(s: &Site) -> Value {
    match &s.source {
        Some(source) => {
            let (file, line) = source.own();
            place(file, (line, 1), 1)
        }
        None => ptx(s),
    }
}

fn ptx(s: &Site) -> Value {
    place(&s.file, (s.line, s.column), s.text.chars().count())
}

/// A line and column of a file, and how many characters are meant.
fn place(file: &str, (line, column): (u32, u32), length: usize) -> Value {
    let (line, start) = (line.max(1), u64::from(column.max(1)));
    json!({"physicalLocation": {
        "artifactLocation": {"uri": uri(&below_here(file))},
        "region": {
            "startLine": line,
            "startColumn": start,
            "endLine": line,
            "endColumn": start + length.max(1) as u64,
        },
    }})
}

/// A path below the working directory relative to it, as services find files; any other as it is.
fn below_here(file: &str) -> String {
    let here = std::env::current_dir().ok();
    let inside =
        here.and_then(|h| Some(std::path::Path::new(file).strip_prefix(h).ok()?.to_owned()));
    match inside.as_deref().and_then(|p| p.to_str()) {
        Some(path) if !path.is_empty() => path.to_string(),
        _ => file.to_string(),
    }
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
