//! Findings, with the lines that they are about: one root above those that share its cause, and places of equal writes together.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use indexmap::IndexMap;

use crate::answer::kinds::REAL_EQUAL;
use crate::answer::{Finding, Kind, Site, WarningKind};
use crate::diag::foreign::{sentence, visible};
use crate::diag::{Diagnostic, Severity};

use super::SHOWN;

/// Findings of one cause that are named below its root.
const FOLDED: usize = 6;
/// Groups of threads of one place that are named.
const GROUPS: usize = 4;

/// Warnings; the places where threads write what is equal, of a kernel and a kind, are one of them.
pub(super) fn write_warnings(out: &mut String, warnings: &[Finding<WarningKind>]) -> fmt::Result {
    let mut equal: IndexMap<(String, WarningKind), Vec<&Finding<WarningKind>>> = IndexMap::new();
    for w in warnings.iter().filter(|w| w.kind.is_of_equal_writes()) {
        equal.entry((w.prefix(), w.kind)).or_default().push(w);
    }
    equal.retain(|_, all| all.len() > 1);
    let is_one = |w: &&Finding<WarningKind>| !equal.contains_key(&(w.prefix(), w.kind));
    let rest: Vec<Finding<WarningKind>> = warnings.iter().filter(is_one).cloned().collect();
    write_findings(out, &rest, Severity::Warning)?;
    for ((prefix, kind), all) in &equal {
        let times: u64 = all.iter().map(|w| w.count).sum();
        let sites = all.iter().flat_map(|w| &w.sites);
        let lines: BTreeSet<(String, u32)> = sites
            .map(|s| match &s.source {
                Some(source) => {
                    let (file, line) = source.own();
                    (visible(file).into_owned(), line)
                }
                None => (visible(&s.file).into_owned(), s.line),
            })
            .collect();
        let named: Vec<String> = lines
            .iter()
            .take(FOLDED)
            .map(|(file, line)| format!("{file}:{line}"))
            .collect();
        let more = match lines.len().saturating_sub(FOLDED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let how = match kind {
            WarningKind::SameValueWrite => "the same value",
            _ => REAL_EQUAL,
        };
        let message = format!(
            "{prefix}{} places are written by threads that nothing orders, with {how} ({times} times), {}{more}",
            all.len(),
            named.join(", "),
        );
        let d = Diagnostic::new(Severity::Warning, kind.name(), message);
        writeln!(out, "\n{d}")?;
    }
    Ok(())
}

/// Findings, each root with the others of its cause below it.
pub(super) fn write_findings<K: Kind>(
    out: &mut String,
    findings: &[Finding<K>],
    severity: Severity,
) -> fmt::Result {
    let mut causes: IndexMap<&str, Vec<&Finding<K>>> = IndexMap::new();
    for f in findings {
        if let Some(cause) = &f.cause {
            causes.entry(cause).or_default().push(f);
        }
    }
    let is_root = |f: &&Finding<K>| match &f.cause {
        Some(cause) => std::ptr::eq(causes[cause.as_str()][0], *f),
        None => true,
    };
    let roots: Vec<&Finding<K>> = findings.iter().filter(is_root).collect();
    for f in roots.iter().take(SHOWN) {
        writeln!(out, "\n{}", finding(f, severity))?;
        let folded = f
            .cause
            .as_ref()
            .map_or(&[][..], |c| &causes[c.as_str()][1..]);
        write_folded(out, folded)?;
    }
    if roots.len() > SHOWN {
        let more = roots.len() - SHOWN;
        writeln!(out, "\n... and {more} more (`--format json` has all)")?;
    }
    Ok(())
}

/// Findings that share the cause of the one above them.
fn write_folded<K: Kind>(out: &mut String, folded: &[&Finding<K>]) -> fmt::Result {
    if folded.is_empty() {
        return Ok(());
    }
    writeln!(out, "  of the same cause:")?;
    for f in folded.iter().take(FOLDED) {
        let lines = f.sites.iter().map(|s| s.line.to_string());
        let lines: Vec<String> = lines.collect();
        let lines = match lines.is_empty() {
            true => String::new(),
            false => format!(", lines {}", lines.join(" and ")),
        };
        writeln!(
            out,
            "  - {}: {}{lines}",
            f.kind.name(),
            sentence(&f.message)
        )?;
    }
    if folded.len() > FOLDED {
        let more = folded.len() - FOLDED;
        writeln!(out, "  - ... and {more} more (`--format json` has all)")?;
    }
    Ok(())
}

/// A finding with the lines that it is about.
fn finding<K: Kind>(e: &Finding<K>, severity: Severity) -> String {
    let mut message = format!("{}{}", e.prefix(), e.message);
    if e.count > 1 {
        let _ = write!(message, " ({} times)", e.count);
    }
    let mut d = Diagnostic::new(severity, e.kind.name(), message);
    let drawn = e.sites.iter().filter_map(|s| Some((s, s.at.as_ref()?)));
    for (site, at) in drawn.clone() {
        d = d.label(at.1, label(site));
    }
    if let Some(hint) = &e.hint {
        d = d.help(hint);
    }
    match drawn.clone().next() {
        Some((_, (source, _))) => d.render(source, true),
        None => {
            let mut text = d.to_string();
            if let Some(help) = &d.help {
                let _ = write!(text, "\n  help: {}", sentence(help));
            }
            text
        }
    }
}

/// Which threads did what at a place, and the source line.
fn label(site: &Site) -> String {
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
    if let Some(source) = &site.source {
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
