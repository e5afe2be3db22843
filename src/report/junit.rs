//! JUnit XML, as continuous-integration services read it.
//!
//! An entry of a manifest is a test case that fails unless it gets its verdict. A check or a race
//! alone is one case: refuted or denied is a failure, `unknown` an error.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report as Suites, TestCase, TestCaseStatus, TestSuite};

use super::human;
use super::place::Spot;
use super::roots::reason;
use crate::answer::{Answer, Failure, GateReport, Kind, Report};
use crate::diag::foreign::{lines, plain, sentence};

/// The suite of a command: one case, or one for each instance.
pub fn report(answer: &Answer) -> String {
    let parts = answer.parts.iter();
    let parts = parts.filter_map(|p| Some((Some(p.sizes.to_string()), p.result.as_ref().ok()?)));
    let own = answer.parts.is_empty().then_some((None, answer));
    let cases = parts.chain(own).map(|(sizes, answer)| case(sizes, answer));
    suite(answer.report.command.name(), cases)
}

/// The name of a case, its time, and what is wrong.
fn case(sizes: Option<String>, answer: &Answer) -> (String, Duration, Option<Problem>) {
    let r = &answer.report;
    let names: Vec<&str> = r.kernels().map(|(_, _, k)| k.entry.as_str()).collect();
    let name = match sizes {
        Some(sizes) => format!("{} ({sizes})", names.join(" / ")),
        None => names.join(" / "),
    };
    let kind = match r.exit() {
        0 => None,
        1 => Some(NonSuccessKind::Failure),
        _ => Some(NonSuccessKind::Error),
    };
    let problem = kind.map(|kind| Problem {
        kind,
        message: message(r),
        r#type: r.verdict.name(),
        text: plain(&human::answer(answer)),
    });
    let time = Duration::try_from_secs_f64(r.stats.seconds.total).unwrap_or_default();
    (name, time, problem)
}

/// The verdict, and where and what the reason of it is.
fn message(report: &Report) -> String {
    let verdict = report.verdict.name();
    match reason(report) {
        Some(root) => format!("{verdict}: {}", root.told(report)),
        None => verdict.to_string(),
    }
}

/// The suite of a usage or input error.
pub fn failure(command: &str, failure: &Failure) -> String {
    let problem = Problem::input(failure);
    suite(
        command,
        [(command.to_string(), Duration::ZERO, Some(problem))],
    )
}

/// The suite of a manifest.
pub fn gate(g: &GateReport) -> String {
    let cases = g.entries.iter().map(|e| {
        let why = e.why.as_deref().unwrap_or("");
        let here = Spot::line(&e.manifest.file, e.manifest.line).shown();
        let problem = match &e.result {
            Ok(_) if e.ok => None,
            Ok(answer) => Some(Problem {
                kind: NonSuccessKind::Failure,
                message: format!("{}; {here}: {why}", message(&answer.report)),
                r#type: answer.report.verdict.name(),
                text: plain(&human::answer(answer)),
            }),
            Err(failure) => Some(Problem::input(failure)),
        };
        (e.name.clone(), e.time, problem)
    });
    let ledger = g.ledger.iter().map(|why| {
        let problem = Problem {
            kind: NonSuccessKind::Failure,
            message: why.clone(),
            r#type: "ledger",
            text: why.clone(),
        };
        ("ledger".to_string(), Duration::ZERO, Some(problem))
    });
    suite(g.command.name(), cases.chain(ledger))
}

/// Why a case is not a success.
struct Problem {
    kind: NonSuccessKind,
    message: String,
    r#type: &'static str,
    text: String,
}

impl Problem {
    fn input(failure: &Failure) -> Problem {
        let sites = failure.sites();
        let at = sites.first().map(|site| Spot::ptx(site).shown() + ": ");
        let (at, kind) = (at.unwrap_or_default(), failure.kind.name());
        Problem {
            kind: NonSuccessKind::Error,
            message: format!("error: {at}{kind}: {}", failure.message()),
            r#type: "input",
            text: plain(&failure.render()),
        }
    }
}

/// Cases by name, each with its time and what is wrong.
fn suite(
    command: &str,
    cases: impl IntoIterator<Item = (String, Duration, Option<Problem>)>,
) -> String {
    let mut suite = TestSuite::new(command);
    let mut total = Duration::ZERO;
    for (name, time, problem) in cases {
        total += time;
        let mut status = match &problem {
            Some(p) => TestCaseStatus::non_success(p.kind),
            None => TestCaseStatus::success(),
        };
        if let Some(p) = problem {
            status.set_message(sentence(&p.message));
            status.set_type(p.r#type);
            status.set_description(lines(&p.text));
        }
        let mut case = TestCase::new(sentence(&name), status);
        case.set_classname(format!("volta.{command}"));
        case.set_time(time);
        suite.add_test_case(case);
    }
    suite.set_time(total);
    let mut all = Suites::new("volta");
    all.set_time(total);
    all.add_test_suite(suite);
    // Writing to a string cannot fail.
    lines(&without_disabled(&all.to_string().unwrap_or_default()))
}

/// The attribute `disabled` of suites, which quick-junit always writes and the schema of Jenkins lacks, is left out.
/// A tag is a line of its own, in whose attributes a quotation mark is an entity.
fn without_disabled(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
        let tag = line.trim_start();
        match tag.starts_with("<testsuites ") || tag.starts_with("<testsuite ") {
            true => line.replace(" disabled=\"0\"", ""),
            false => line.to_string(),
        }
    });
    lines.collect()
}
