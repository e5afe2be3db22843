//! The summary of a step of a GitHub workflow, in Markdown: the verdict with its scope, and a row for each entry or instance.
//!
//! GitHub drops the whole summary of a step above one mebibyte; rows that do not fit are counted, those of failures come first.

use std::fmt::Write;

use super::roots::reason;
use crate::answer::kernel::show;
use crate::answer::{Answer, Failure, GateReport, Kind, Report};
use crate::diag::foreign::{lines, markdown};

/// Bytes of the rows.
const MOST: usize = 500_000;

/// The summary of a command.
pub fn report(answer: &Answer) -> String {
    let report = &answer.report;
    let scope = markdown(&scope(report));
    let verdict = format!("**{}**: {}", report.verdict.name(), report.claim());
    let mut rows: Vec<Row> = Vec::new();
    if answer.parts.is_empty() {
        rows.push(Row::of("", "", report.exit() == 0, &Ok(answer)));
    }
    for part in &answer.parts {
        let result = part.result.as_ref();
        let is_ok = result.is_ok_and(|a| a.exit() == 0);
        rows.push(Row::of(&part.sizes.to_string(), "", is_ok, &result));
    }
    text(report.command.name(), &format!("{verdict}. {scope}"), rows)
}

/// The summary of a manifest.
pub fn gate(g: &GateReport) -> String {
    let rows = g.entries.iter().map(|e| Row {
        seconds: e.time.as_secs_f64(),
        ..Row::of(&e.name, &e.expect, e.ok, &e.result.as_ref())
    });
    let failed = g.entries.len() - g.passed();
    let mut verdict = format!("**{} passed, {failed} failed**", g.passed());
    for why in &g.ledger {
        let _ = write!(verdict, "\n\nledger: {}", markdown(why));
    }
    text(g.command.name(), &verdict, rows.collect())
}

/// The summary of a usage or input error.
pub fn failure(command: &str, failure: &Failure) -> String {
    let what = markdown(&failure.to_string());
    let verdict = format!("**{} error**: {what}", failure.kind.name());
    text(command, &verdict, Vec::new())
}

/// A row of the table.
struct Row {
    name: String,
    verdict: &'static str,
    expect: String,
    is_ok: bool,
    seconds: f64,
    cause: String,
}

impl Row {
    /// What one result came to; without a name it is that of its kernels.
    fn of(name: &str, expect: &str, is_ok: bool, result: &Result<&Answer, &Failure>) -> Row {
        let (verdict, seconds, cause) = match result {
            Ok(answer) => {
                let r = &answer.report;
                let cause = reason(r).map(|root| root.told(r)).unwrap_or_default();
                (r.verdict.name(), r.stats.seconds.total, cause)
            }
            Err(failure) => ("error", 0.0, failure.to_string()),
        };
        let kernels = || {
            let kernels = result.iter().flat_map(|a| a.report.kernels());
            let names: Vec<&str> = kernels.map(|(_, _, k)| k.name()).collect();
            names.join(" / ")
        };
        Row {
            name: match name {
                "" => kernels(),
                name => name.to_string(),
            },
            verdict,
            expect: expect.to_string(),
            is_ok,
            seconds,
            cause,
        }
    }

    fn text(&self) -> String {
        format!(
            "| {} | {} | {} | {} | {:.1} | {} |\n",
            if self.is_ok { "ok" } else { "**fail**" },
            markdown(&self.name),
            self.verdict,
            markdown(&self.expect),
            self.seconds,
            markdown(&self.cause),
        )
    }
}

/// The launches that the verdict speaks of.
fn scope(report: &Report) -> String {
    if let Some(launches) = &report.scope.launches {
        return launches.text.clone();
    }
    let kernels = report.kernels().map(|(part, _, k)| {
        let ctas = match k.whole_grid {
            true => "all CTAs".to_string(),
            false => format!("{} of {} CTAs", report.scope.of(part).len(), k.ctas()),
        };
        let (block, grid) = (show(k.block), show(k.grid));
        format!("{}: block {block}, grid {grid}, {ctas}", k.name())
    });
    let kernels: Vec<String> = kernels.collect();
    kernels.join("; ")
}

fn text(command: &str, verdict: &str, mut rows: Vec<Row>) -> String {
    let mut out = format!("### volta {command}\n\n{verdict}\n");
    if !rows.is_empty() {
        out.push_str("\n| | entry | verdict | expected | seconds | first cause |\n");
        out.push_str("|---|---|---|---|---:|---|\n");
    }
    rows.sort_by_key(|row| row.is_ok);
    let mut left_out = 0;
    for row in rows.iter().map(Row::text) {
        match out.len() + row.len() <= MOST {
            true => out.push_str(&row),
            false => left_out += 1,
        }
    }
    if left_out > 0 {
        let _ = writeln!(out, "\n{left_out} more rows");
    }
    out.push('\n');
    lines(&out)
}
