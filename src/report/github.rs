//! Commands of a GitHub workflow that mark lines of a pull request (GitHub's documentation, "Workflow commands").
//!
//! One annotation a root: what makes the command fail is an error, anything else a warning, and what an entry of a manifest
//! must find is none. The same kind at one line, found by several entries or at several sizes, is one annotation that names
//! them. GitHub shows ten errors and ten warnings of a step, so no more are written, the worst first, and the end says how
//! many more there are.
//!
//! The commands are lines of a log that GitHub obeys: a text of others is one line before it is put into one, and its
//! characters that end a value are escaped as GitHub's own toolkit escapes them (`packages/core/src/command.ts`).

use std::fmt::Write;

use indexmap::IndexMap;

use super::place::{Spot, place};
use super::roots::{Root, Told, roots};
use crate::answer::{Answer, EXIT_UNKNOWN, Failure, Family, GateReport, Kind, Report};
use crate::diag::foreign::{lines, sentence, whole};

/// Annotations of one level that GitHub shows of a step.
const SHOWN: usize = 10;
/// Findings of one cause, and places, that a message names.
const NAMED: usize = 6;

/// The annotations of a command.
pub fn report(answer: &Answer) -> String {
    let mut all = Annotations::default();
    all.add_answer(None, answer);
    let report = &answer.report;
    all.text(&format!("{}: {}", report.verdict.name(), report.claim()))
}

/// Those of a manifest.
pub fn gate(g: &GateReport) -> String {
    let mut all = Annotations::default();
    for e in g.entries.iter().filter(|e| !e.ok) {
        let (name, here) = (
            Some(e.name.as_str()),
            Spot::line(&e.manifest.file, e.manifest.line),
        );
        let before = all.errors();
        match &e.result {
            Ok(answer) => all.add_answer(name, answer),
            Err(failure) => all.add_failure(name, failure, Some(here)),
        }
        // An entry that fails without a finding, or for want of one, fails at its own line.
        let lacks = |a: &Answer| a.report.verdict.name() == e.expect && a.report.denied.is_empty();
        if all.errors() == before || e.result.as_ref().is_ok_and(lacks) {
            let why = e.why.as_deref().unwrap_or("");
            all.add(Level::Error, "unexpected-verdict", Some(here), name, why);
        }
    }
    for why in &g.ledger {
        all.add(Level::Error, "ledger", None, None, why);
    }
    let failed = g.entries.len() - g.passed();
    all.text(&format!("{} passed, {failed} failed", g.passed()))
}

/// Those of a usage or input error.
pub fn failure(failure: &Failure) -> String {
    let mut all = Annotations::default();
    all.add_failure(None, failure, None);
    all.text("nothing was judged")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Level {
    Error,
    Warning,
}

/// What tells annotations apart: the level, the kind, and the line, or the message of what is about none.
type Key = (Level, &'static str, Result<(String, u32), String>);

/// An annotation but for its key.
struct Annotation {
    columns: Option<(u32, usize)>,
    message: String,
    /// Whose it is.
    by: Option<String>,
    /// What else there is of the kind at the line, and who else found it.
    more: Vec<String>,
    also: Vec<String>,
}

#[derive(Default)]
struct Annotations {
    all: IndexMap<Key, Annotation>,
}

impl Annotations {
    /// Number of errors, those among them that several entries found counted for each.
    fn errors(&self) -> usize {
        let errors = self.all.iter().filter(|(key, _)| key.0 == Level::Error);
        errors.map(|(_, a)| 1 + a.also.len() + a.more.len()).sum()
    }

    /// The findings of an answer, those of each of its instances by its sizes.
    fn add_answer(&mut self, name: Option<&str>, answer: &Answer) {
        if answer.parts.is_empty() {
            self.add_report(name, &answer.report);
        }
        for part in &answer.parts {
            let name = match name {
                Some(name) => format!("{name}, {}", part.sizes),
                None => part.sizes.to_string(),
            };
            match &part.result {
                Ok(answer) => self.add_report(Some(&name), &answer.report),
                Err(failure) => self.add_failure(Some(&name), failure, None),
            }
        }
    }

    fn add_report(&mut self, name: Option<&str>, report: &Report) {
        let is_unknown = report.verdict.exit() == EXIT_UNKNOWN;
        for root in roots(report) {
            let kind = root.head.kind;
            let fails = match root.family {
                Family::Defect => true,
                Family::Unknown => is_unknown,
                Family::Warning => report.denied.iter().any(|k| k.name() == kind),
                Family::Assumption | Family::Error => false,
            };
            let level = match fails {
                true => Level::Error,
                false => Level::Warning,
            };
            self.add(level, kind, root.spot(report), name, &message(&root));
        }
    }

    /// An error, at its own place or the one that is given.
    fn add_failure(&mut self, name: Option<&str>, failure: &Failure, here: Option<Spot>) {
        let sites = failure.sites();
        let at = sites.first().map(Spot::ptx).or(here);
        let mut text = failure.to_string();
        if let Some(hint) = failure.hint() {
            let _ = write!(text, "\nhelp: {hint}");
        }
        self.add(Level::Error, failure.kind.name(), at, name, &text);
    }

    fn add(
        &mut self,
        level: Level,
        kind: &'static str,
        at: Option<Spot>,
        by: Option<&str>,
        message: &str,
    ) {
        // The standard input is no file.
        let at = at.filter(|at| at.file != "-");
        let line = at.map(|at| (at.path(), at.line));
        let key = (level, kind, line.ok_or_else(|| message.to_string()));
        let (by, message) = (by.map(str::to_string), message.to_string());
        match (self.all.get_mut(&key), by) {
            (Some(known), by) if known.by == by => known.more.push(message),
            (Some(known), Some(by)) if known.also.last() != Some(&by) => known.also.push(by),
            (Some(_), _) => {}
            (None, by) => {
                let annotation = Annotation {
                    columns: at.and_then(|at| at.columns),
                    message,
                    by,
                    more: Vec::new(),
                    also: Vec::new(),
                };
                self.all.insert(key, annotation);
            }
        }
    }

    /// The commands, the verdict, and how many more there are.
    fn text(mut self, verdict: &str) -> String {
        self.all.sort_by(|a, _, b, _| a.0.cmp(&b.0));
        let mut out = String::new();
        let mut left_out = Vec::new();
        for (level, word) in [(Level::Error, "error"), (Level::Warning, "warning")] {
            let all = || self.all.iter().filter(|(key, _)| key.0 == level);
            all()
                .take(SHOWN)
                .for_each(|(key, a)| write_command(&mut out, word, key, a));
            match all().count().saturating_sub(SHOWN) {
                0 => {}
                1 => left_out.push(format!("1 more {word}")),
                more => left_out.push(format!("{more} more {word}s")),
            }
        }
        out.push_str(&lines(&sentence(verdict)));
        out.push('\n');
        if !left_out.is_empty() {
            let more = left_out.join(" and ");
            let _ = writeln!(
                out,
                "::notice title=volta::{more}: the other formats have all"
            );
        }
        out
    }
}

/// The sentence of a root, its places, what goes away with it, and what the user can do.
fn message(root: &Root) -> String {
    let mut out = root.head.text.clone();
    let places = root.head.sites.iter().filter(|s| !s.text.is_empty());
    for site in places.take(NAMED) {
        let _ = write!(out, "\n{}", place(site));
    }
    if !root.rest.is_empty() {
        out.push_str("\nof the same cause:");
    }
    for told in root.rest.iter().take(NAMED) {
        let _ = write!(out, "\n- {}", of_the_same_cause(told));
    }
    if root.rest.len() > NAMED {
        let _ = write!(out, "\n- {} more", root.rest.len() - NAMED);
    }
    if let Some(hint) = root.head.hint {
        let _ = write!(out, "\nhelp: {hint}");
    }
    out
}

fn of_the_same_cause(told: &Told) -> String {
    let at = told.spot().map(|at| at.shown() + ": ").unwrap_or_default();
    format!("{at}{}: {}", told.kind, told.text)
}

fn write_command(out: &mut String, word: &str, (_, kind, at): &Key, a: &Annotation) {
    let _ = write!(out, "::{word} ");
    if let Ok((file, line)) = at {
        let _ = write!(out, "file={},line={line},", property(file));
        if let Some((first, count)) = a.columns {
            let last = u64::from(first) + count as u64 - 1;
            let _ = write!(out, "col={first},endColumn={last},");
        }
    }
    let mut text = match &a.by {
        Some(by) => format!("{by}: {}", a.message),
        None => a.message.clone(),
    };
    let lists = [
        ("\nand here:\n- ", &a.more, "\n- "),
        ("\nalso in ", &a.also, "; "),
    ];
    for (head, list, mark) in lists.into_iter().filter(|l| !l.1.is_empty()) {
        let first = |one: &String| one.lines().next().unwrap_or("").to_string();
        let mut named: Vec<String> = list.iter().take(NAMED).map(first).collect();
        if list.len() > NAMED {
            named.push(format!("{} more", list.len() - NAMED));
        }
        let _ = write!(text, "{head}{}", named.join(mark));
    }
    let title = property(&format!("volta: {kind}"));
    let _ = writeln!(out, "title={title}::{}", data(&text));
}

/// A text as the data of a command: each of its lines shows, and is escaped.
fn data(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| sentence(line).replace('%', "%25"))
        .collect();
    lines.join("%0A")
}

/// A text as the value of a property.
fn property(text: &str) -> String {
    let text = whole(text).replace('%', "%25");
    text.replace(':', "%3A").replace(',', "%2C")
}
