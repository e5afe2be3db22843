//! The steps as a table: what each came to against the naive kernel and against the step before, and what is wrong.

use std::fmt::{self, Write};

use crate::answer::gate::EntryResult;
use crate::answer::{Answer, EXIT_ERROR, Finding, Kind, Verdict};
use crate::diag::foreign::{sentence, styled, visible};
use crate::steps::{Row, StepsReport};

use super::{BOLD, show_time, style};

/// The table of steps, styled.
pub fn steps(s: &StepsReport) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, s);
    styled(&out)
}

fn write(out: &mut String, s: &StepsReport) -> fmt::Result {
    let sizes: Vec<String> = s.rows.iter().map(|r| r.sizes.to_string()).collect();
    let widths = s.kernels[1..].iter().map(|k| k.0.chars().count());
    let name = widths.fold("step".len(), usize::max);
    let size = sizes.iter().map(String::len).fold("size".len(), usize::max);
    writeln!(
        out,
        "{BOLD}      {:<name$}  {:<size$}  {:<14}  {:<14}  {:>9}{BOLD:#}",
        "step", "size", "naive", "step before", "time"
    )?;
    for (row, sizes) in s.rows.iter().zip(&sizes) {
        let naive = &s.checks.entries[row.naive];
        let before = row.before.map(|at| &s.checks.entries[at]);
        let worst = [Some(naive), before]
            .into_iter()
            .flatten()
            .map(|e| match &e.result {
                Ok(answer) => answer.exit(),
                Err(_) => EXIT_ERROR,
            });
        let mark = match worst.min_by_key(|exit| (*exit == 0, *exit)) {
            Some(0) | None => "ok",
            Some(3) => "open",
            Some(_) => "fail",
        };
        write!(
            out,
            "{mark:<4}  {:<name$}  {sizes:<size$}",
            s.kernels[row.step].0
        )?;
        for entry in [Some(naive), before] {
            let (shade, word) = match entry.map(|e| &e.result) {
                Some(Ok(a)) => (style(a.report.verdict), a.report.verdict.name()),
                Some(Err(_)) => (style(Verdict::Defective), "error"),
                None => (Default::default(), "-"),
            };
            write!(out, "  {shade}{word:<14}{shade:#}")?;
        }
        writeln!(out, "  {:>9}", show_time(s.time(row)))?;
        write_faults(out, s, row)?;
    }
    let (all, right) = (s.checks.entries.len(), s.checks.passed());
    writeln!(out, "\n{right} of {all} comparisons are equivalent")
}

/// What is wrong with a step, the same thing once.
fn write_faults(out: &mut String, s: &StepsReport, row: &Row) -> fmt::Result {
    let mut said = String::new();
    for (at, against) in [(Some(row.naive), 0), (row.before, row.step - 1)] {
        let fault = at.and_then(|at| fault(&s.checks.entries[at]));
        if let Some(fault) = fault.filter(|fault| *fault != said) {
            let shown = sentence(&fault);
            writeln!(out, "        against {}: {shown}", s.kernels[against].0)?;
            said = fault;
        }
    }
    if let Some(first) = row.inherited {
        let (name, line) = &s.kernels[first];
        let file = visible(&s.checks.entries[row.naive].manifest.file);
        writeln!(
            out,
            "        the fault is inherited: the first wrong step is `{name}` ({file}:{line})"
        )?;
    }
    Ok(())
}

/// What is wrong in a comparison, on one line.
fn fault(entry: &EntryResult) -> Option<String> {
    let why = entry.why.as_ref()?;
    let r = match &entry.result {
        Ok(Answer { report, .. }) => report,
        Err(failure) => {
            let hint = failure.hint().map(|hint| format!(" ({hint})"));
            return Some(failure.to_string() + &hint.unwrap_or_default());
        }
    };
    let found = match r.verdict {
        Verdict::Defective => r.defects.first().map(finding),
        Verdict::NotEquivalent => r.counterexample.as_ref().map(|c| match &c.difference {
            Some(d) => format!("{}; {}", c.message, d.message),
            None => c.message.clone(),
        }),
        Verdict::Unknown => r.unknown.first().map(finding),
        Verdict::Equivalent | Verdict::Clean | Verdict::Ran | Verdict::Lifted => None,
    };
    Some(found.unwrap_or_else(|| why.clone()))
}

fn finding<K: Kind>(f: &Finding<K>) -> String {
    let place = f.sites.first().map(|s| format!("{}:{}: ", s.file, s.line));
    let place = place.unwrap_or_default();
    format!("{}: {place}{}{}", f.kind.name(), f.prefix(), f.message)
}
