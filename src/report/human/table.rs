//! The entries of a manifest as a table, its failures below.

use std::fmt::{self, Write};

use indexmap::IndexMap;

use crate::answer::{EntryResult, GateReport, RunCounts, Verdict};
use crate::diag::foreign::{sentence, styled, visible};

use super::{BOLD, show_time, style};

/// The table of a manifest, its failures below.
pub fn gate(g: &GateReport) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_gate(&mut out, g);
    styled(&out)
}

fn write_gate(out: &mut String, g: &GateReport) -> fmt::Result {
    let names = g.entries.iter().map(|e| sentence(&e.name));
    let widths = names.map(|name| name.chars().count());
    let width = widths.max().unwrap_or(0).max("entry".len());
    write!(
        out,
        "{BOLD}      {:<width$}  {:<14}  {:>9}",
        "entry", "verdict", "time"
    )?;
    if g.stats {
        write!(
            out,
            "  {:>9}  {:>12}  {:>10}  {:>8}  {:>10}  {:>10}  {:>6}",
            "peak MiB", "instructions", "terms", "VCs", "barriers", "warp syncs", "again"
        )?;
    }
    writeln!(out, "{BOLD:#}")?;
    for e in &g.entries {
        write_row(out, e, width, g.stats)?;
    }
    for e in g.entries.iter().filter(|e| !e.ok) {
        let (red, why) = (style(Verdict::Defective), e.why.as_deref().unwrap_or(""));
        let (name, why) = (sentence(&e.name), sentence(why));
        writeln!(out, "\n{red}failed{red:#} {name}: {why}")?;
        match &e.result {
            Ok(r) => out.push_str(&super::answer(r)),
            Err(f) => out.push_str(&f.render()),
        }
    }
    for why in &g.ledger {
        let red = style(Verdict::Defective);
        writeln!(out, "\n{red}failed{red:#} {}", sentence(why))?;
    }
    if g.stats {
        write_rules(out, g)?;
    }
    let failed = g.entries.len() - g.passed();
    let cached = g.entries.iter().filter_map(|e| e.result.as_ref().ok());
    let cached = match cached.filter(|a| a.cached).count() {
        0 => String::new(),
        n => format!(" ({n} from the cache)"),
    };
    writeln!(out, "\n{} passed, {failed} failed{cached}", g.passed())
}

/// How often the entries applied each rule of the normaliser.
fn write_rules(out: &mut String, g: &GateReport) -> fmt::Result {
    let mut all: IndexMap<&str, u64> = IndexMap::new();
    for answer in g.entries.iter().filter_map(|e| e.result.as_ref().ok()) {
        for (name, n) in &answer.report.stats.rules {
            *all.entry(name).or_default() += n;
        }
    }
    all.sort_unstable_keys();
    if !all.is_empty() {
        writeln!(out, "\n{BOLD}rules applied{BOLD:#}")?;
    }
    for (name, n) in all {
        writeln!(out, "  {n:>12}  {name}")?;
    }
    Ok(())
}

fn write_row(out: &mut String, e: &EntryResult, width: usize, stats: bool) -> fmt::Result {
    let verdict = match &e.result {
        Ok(r) => r.report.verdict.name(),
        Err(_) => "error",
    };
    let shade = style(if e.ok {
        Verdict::Clean
    } else {
        Verdict::Defective
    });
    // A line that begins with a name could say what it likes to whoever reads the log.
    let mark = if e.ok { "ok" } else { "fail" };
    write!(
        out,
        "{mark:<4}  {:<width$}  {shade}{verdict:<14}{shade:#}  {:>9}",
        sentence(&e.name),
        show_time(e.time)
    )?;
    if stats && let Ok(r) = &e.result {
        let stats = &r.report.stats;
        let sum =
            |of: fn(&RunCounts) -> u64| stats.kernels().into_iter().map(|k| of(k.1)).sum::<u64>();
        let mib = |b: u64| format!("{:.1}", b as f64 / (1 << 20) as f64);
        write!(
            out,
            "  {:>9}  {:>12}  {:>10}  {:>8}  {:>10}  {:>10}  {:>6}",
            e.peak.map_or("-".into(), mib),
            sum(|c| c.thread_instructions),
            sum(|c| c.terms),
            stats.decision.as_ref().map_or(0, |d| d.conditions),
            sum(|c| c.barrier_arrivals),
            sum(|c| c.warp_syncs),
            stats.runs.values().sum::<u64>(),
        )?;
    }
    if !e.ok {
        write!(out, "  expected {}", visible(&e.expect))?;
    }
    writeln!(out)
}
