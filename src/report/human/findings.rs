//! Findings, with the lines that they are about: one root above those that share its cause, and places of equal writes together.

use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::sync::Arc;

use indexmap::IndexMap;

use crate::answer::kinds::REAL_EQUAL;
use crate::answer::{Finding, Kind, Report, Site, WarningKind, coverage};
use crate::diag::foreign::{sentence, visible};
use crate::diag::{Diagnostic, Severity, Source};

use super::SHOWN;
use crate::report::sources::Sources;

/// Sizes of thin coverage that are proposed.
const PROPOSALS: usize = 3;
/// Findings of one cause, and places of one list, that are named.
const FOLDED: usize = 8;
/// Groups of threads of one place that are named.
const GROUPS: usize = 4;

/// Warnings that the user does not allow: what one launch was too small to show is one of them, and the places where threads
/// write what is equal, of a kernel and a kind, are one.
pub(super) fn write_warnings(out: &mut String, r: &Report, sources: &mut Sources) -> fmt::Result {
    let (allowed, shown): (Vec<_>, Vec<_>) = r.warnings.iter().cloned().partition(|w| w.allowed);
    let (thin, shown): (Vec<_>, Vec<_>) = shown
        .into_iter()
        .partition(|w| w.kind == WarningKind::ThinCoverage);
    let mut equal: IndexMap<(String, WarningKind), Vec<Finding<WarningKind>>> = IndexMap::new();
    for w in shown.iter().filter(|w| w.kind.is_of_equal_writes()) {
        let all = equal.entry((w.prefix(), w.kind)).or_default();
        all.push(w.clone());
    }
    equal.retain(|_, all| all.len() > 1);
    let is_one = |w: &&Finding<WarningKind>| !equal.contains_key(&(w.prefix(), w.kind));
    let rest: Vec<Finding<WarningKind>> = shown.iter().filter(is_one).cloned().collect();
    write_findings(out, &rest, Severity::Warning, sources)?;
    for ((prefix, kind), all) in &equal {
        let times: u64 = all.iter().map(|w| w.count).sum();
        let how = match kind {
            WarningKind::SameValueWrite => "the same value",
            _ => REAL_EQUAL,
        };
        let message = format!(
            "{prefix}{} places are written by threads that nothing orders, with {how} ({times} times), {}",
            all.len(),
            places(all.iter().flat_map(|w| &w.sites)),
        );
        write_line(out, *kind, message)?;
    }
    if !thin.is_empty() {
        let what = match thin.len() {
            1 => "1 guard or loop".to_string(),
            n => format!("{n} guards and loops"),
        };
        let proposals = coverage::proposals(r).into_iter().take(PROPOSALS);
        let proposals: Vec<String> = proposals.map(|p| p.text()).collect();
        let message = format!(
            "{what} took one way only at this size ({}); try: {}",
            places(thin.iter().flat_map(|w| w.sites.first())),
            proposals.join(" or "),
        );
        write_line(out, WarningKind::ThinCoverage, message)?;
    }
    match allowed.len() {
        0 => Ok(()),
        1 => writeln!(out, "\n1 warning is allowed"),
        n => writeln!(out, "\n{n} warnings are allowed"),
    }
}

/// A warning without an excerpt.
fn write_line(out: &mut String, kind: WarningKind, message: String) -> fmt::Result {
    let d = Diagnostic::new(Severity::Warning, kind.name(), message);
    writeln!(out, "\n{}", d.render_in(&[], true))
}

/// Places by their files, of what the PTX was compiled from where that is known: `a.cu:3, 5, b.cu:9`.
fn places<'s>(sites: impl Iterator<Item = &'s Site>) -> String {
    let place = |s: &'s Site| match &s.source {
        Some(source) => source.own(),
        None => (s.file.as_str(), s.line),
    };
    let all: BTreeSet<(&str, u32)> = sites.map(place).collect();
    let mut last = None;
    let mut named: Vec<String> = Vec::new();
    for &(file, line) in all.iter().take(FOLDED) {
        named.push(match last.replace(file) == Some(file) {
            true => line.to_string(),
            false => format!("{}:{line}", visible(file)),
        });
    }
    let more = match all.len().saturating_sub(FOLDED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    named.join(", ") + &more
}

/// What findings that are shown together have in common.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Group {
    /// Their cause.
    Cause(String),
    /// What is wrong, whatever the numbers in it.
    Reason(String),
    /// Nothing: it is the finding at this position.
    Alone(usize),
}

fn group<K: Kind>((i, f): (usize, &Finding<K>), severity: Severity) -> Group {
    match (&f.cause, severity) {
        (Some(cause), _) => Group::Cause(cause.clone()),
        (None, Severity::Error) if !f.sites.is_empty() => Group::Reason(format!(
            "{}{}: {}",
            f.prefix(),
            f.kind.name(),
            without_numbers(&f.message)
        )),
        (None, _) => Group::Alone(i),
    }
}

/// A message without the numbers that are no part of a name.
fn without_numbers(text: &str) -> String {
    let mut before = ' ';
    let mut is_number = false;
    let mut out = String::new();
    for c in text.chars() {
        is_number =
            c.is_ascii_digit() && (is_number || !(before.is_alphanumeric() || before == '_'));
        if !is_number {
            out.push(c);
        }
        before = c;
    }
    out
}

/// Findings, each root with the others of its cause, or of its reason, below it.
pub(super) fn write_findings<K: Kind>(
    out: &mut String,
    findings: &[Finding<K>],
    severity: Severity,
    sources: &mut Sources,
) -> fmt::Result {
    let mut groups: IndexMap<Group, Vec<&Finding<K>>> = IndexMap::new();
    for (i, f) in findings.iter().enumerate() {
        groups.entry(group((i, f), severity)).or_default().push(f);
    }
    for (group, all) in groups.iter().take(SHOWN) {
        writeln!(out, "\n{}", finding(all[0], severity, sources))?;
        match (&all[1..], group) {
            ([], _) => {}
            (rest, Group::Reason(_)) => {
                let sites = rest.iter().flat_map(|f| f.sites.first());
                writeln!(out, "  and {} more like it: {}", rest.len(), places(sites))?;
            }
            (rest, Group::Cause(_) | Group::Alone(_)) => write_folded(out, rest)?,
        }
    }
    if groups.len() > SHOWN {
        let more = groups.len() - SHOWN;
        writeln!(out, "\n... and {more} more (`--format json` has all)")?;
    }
    Ok(())
}

/// Findings that share the cause of the one above them.
fn write_folded<K: Kind>(out: &mut String, folded: &[&Finding<K>]) -> fmt::Result {
    writeln!(out, "  of the same cause:")?;
    for f in folded.iter().take(FOLDED) {
        writeln!(
            out,
            "  - {}: {}, {}",
            f.kind.name(),
            sentence(&f.message),
            places(f.sites.iter())
        )?;
    }
    if folded.len() > FOLDED {
        let more = folded.len() - FOLDED;
        writeln!(out, "  - ... and {more} more (`--format json` has all)")?;
    }
    Ok(())
}

/// A finding with the lines that it is about: of the source where it can be read, with those of the PTX below them.
fn finding<K: Kind>(e: &Finding<K>, severity: Severity, files: &mut Sources) -> String {
    let mut message = format!("{}{}", e.prefix(), e.message);
    if e.count > 1 {
        let _ = write!(message, " ({} times)", e.count);
    }
    let mut d = Diagnostic::new(severity, e.kind.name(), message);
    let mut sources: Vec<Arc<Source>> = Vec::new();
    for site in &e.sites {
        let (source, span, code) = match (files.of(site), &site.at) {
            (Some((source, span)), _) => {
                let code = format!("{}:{}: {}", site.file, site.line, site.text);
                (source, span, code)
            }
            (None, Some((source, span))) => (source.clone(), *span, String::new()),
            (None, None) => continue,
        };
        d = d.label(span, label(site, code.is_empty()));
        d.code_below.push(code);
        sources.push(source);
    }
    if let Some(hint) = &e.hint {
        d = d.help(hint);
    }
    let sources: Vec<&Source> = sources.iter().map(Arc::as_ref).collect();
    d.render_in(&sources, true)
}

/// Which threads did what at a place, and the line of the source where that is not drawn.
fn label(site: &Site, is_code: bool) -> String {
    let groups = groups(&site.threads);
    let mut threads: Vec<String> = groups.iter().take(GROUPS).cloned().collect();
    if groups.len() > GROUPS {
        threads.push("...".into());
    }
    let threads = match site.threads.len() {
        0 => String::new(),
        1 => format!("thread {}", threads.join(" ")),
        _ => format!("threads {}", threads.join(" ")),
    };
    let threads = match site.cta {
        Some([x, y, z]) if threads.is_empty() => format!("CTA ({x},{y},{z})"),
        Some([x, y, z]) => format!("CTA ({x},{y},{z}) {threads}"),
        None => threads,
    };
    let mut out = match (threads.is_empty(), site.what.is_empty()) {
        (false, false) => format!("{threads}: {}", site.what),
        _ => threads + &site.what,
    };
    if let Some(source) = site.source.as_ref().filter(|_| is_code) {
        let (file, line) = source.own();
        let comma = if out.is_empty() { "" } else { ", " };
        let _ = write!(out, "{comma}{file}:{line}");
    }
    out
}

/// Threads as `(x,y,z)`, neighbours in x together as `(0-31,y,z)`.
fn groups(threads: &[[u32; 3]]) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = threads;
    while let Some(&[x, y, z]) = rest.first() {
        let next = |i: usize| [x.saturating_add(i as u32), y, z];
        let run = rest.iter().enumerate().take_while(|&(i, &t)| t == next(i));
        let run = run.count().max(1);
        let [last, ..] = rest[run - 1];
        rest = &rest[run..];
        out.push(if run > 1 {
            format!("({x}-{last},{y},{z})")
        } else {
            format!("({x},{y},{z})")
        });
    }
    out
}
