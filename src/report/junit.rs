//! JUnit XML, as continuous-integration services read it.
//!
//! An entry of a manifest is a test case that fails unless it gets its verdict. A check or a race
//! alone is one case: refuted is a failure, `unknown` an error.

use std::fmt::Write;

use crate::gate::GateReport;

use super::escape::{plain, xml};
use super::{Answer, Failure};

/// The suite of a command: one case, or one for each instance.
pub fn report(answer: &Answer) -> String {
    let command = answer.object["command"].as_str().unwrap_or("");
    let own = [(None, answer)];
    let parts = answer.parts.iter();
    let parts = parts.filter_map(|p| Some((Some(p.sizes.to_string()), p.result.as_ref().ok()?)));
    let all: Vec<(Option<String>, &Answer)> = match answer.parts.is_empty() {
        true => own.into(),
        false => parts.collect(),
    };
    let mut cases = String::new();
    let (mut failed, mut open, mut total) = (0, 0, 0.0);
    for (sizes, answer) in &all {
        let o = &answer.object;
        let sides = ["kernel", "reference", "optimized"];
        let names = sides.iter().filter_map(|s| o[*s]["entry"].as_str());
        let mut name = names.collect::<Vec<&str>>().join(" / ");
        if let Some(sizes) = sizes {
            name = format!("{name} ({sizes})");
        }
        let problem = match answer.verdict.exit() {
            0 => None,
            1 => Some("failure"),
            _ => Some("error"),
        };
        failed += usize::from(problem == Some("failure"));
        open += usize::from(problem == Some("error"));
        let (text, verdict) = (plain(&answer.text), answer.verdict.name());
        let problem = problem.map(|tag| (tag, verdict, verdict, &*text));
        let seconds = o["stats"]["seconds"]["total"].as_f64().unwrap_or(0.0);
        total += seconds;
        case(&mut cases, command, &name, seconds, problem);
    }
    suite(command, all.len(), failed, open, total, &cases)
}

/// The suite of a usage or input error.
pub fn failure(command: &str, failure: &Failure) -> String {
    let text = plain(&failure.render());
    let mut cases = String::new();
    let problem = Some(("error", failure.message(), "input", &*text));
    case(&mut cases, command, command, 0.0, problem);
    suite(command, 1, 0, 1, 0.0, &cases)
}

/// The suite of a manifest.
pub fn gate(g: &GateReport) -> String {
    let mut cases = String::new();
    let (mut failures, mut errors, mut seconds) = (0, 0, 0.0);
    for e in &g.entries {
        let time = e.time.as_secs_f64();
        seconds += time;
        let why = e.why.as_deref().unwrap_or("");
        match &e.result {
            Ok(answer) => {
                let text = plain(&answer.text);
                let name = answer.verdict.name();
                let problem = (!e.ok).then_some(("failure", why, name, &*text));
                failures += usize::from(!e.ok);
                case(&mut cases, "gate", &e.name, time, problem);
            }
            Err(failure) => {
                let text = plain(&failure.render());
                errors += 1;
                let problem = Some(("error", why, "input", &*text));
                case(&mut cases, "gate", &e.name, time, problem);
            }
        }
    }
    suite("gate", g.entries.len(), failures, errors, seconds, &cases)
}

fn suite(
    name: &str,
    tests: usize,
    failures: usize,
    errors: usize,
    seconds: f64,
    cases: &str,
) -> String {
    let counts = format!(
        "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" time=\"{seconds:.3}\""
    );
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"volta\" {counts}>\n  \
         <testsuite name=\"{}\" {counts}>\n{cases}  </testsuite>\n</testsuites>\n",
        xml(name)
    )
}

/// Adds a case; a problem is its element, message, type and text.
fn case(
    out: &mut String,
    class: &str,
    name: &str,
    seconds: f64,
    problem: Option<(&str, &str, &str, &str)>,
) {
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "    <testcase classname=\"volta.{}\" name=\"{}\" time=\"{seconds:.3}\"",
        xml(class),
        xml(name)
    );
    match problem {
        None => out.push_str("/>\n"),
        Some((tag, message, kind, text)) => {
            let _ = write!(
                out,
                ">\n      <{tag} message=\"{}\" type=\"{}\">{}</{tag}>\n    </testcase>\n",
                xml(message),
                xml(kind),
                xml(text)
            );
        }
    }
}
