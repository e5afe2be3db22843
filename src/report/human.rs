//! Reports for people: the verdict first, then what it covers, then the evidence.
//!
//! The text is always styled; whoever writes it out strips the styles where they are not wanted.

use std::fmt::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};

use crate::diag::{Diagnostic, Severity, sentence, visible};
use crate::explain::Counterexample;
use crate::gate::{EntryResult, GateReport};
use crate::instances::{Part, rank};
use crate::spec::{Which, launch};

use super::precision::Precision;
use super::{Answer, Entry, KernelReport, Report, SiteReport, Verdict};

/// Findings of one list that are shown in full; the JSON report has all.
const SHOWN: usize = 12;
/// Input elements of a counterexample that are shown.
const INPUTS: usize = 24;
/// Groups of threads of one place that are named.
const GROUPS: usize = 4;
/// CTAs that are named.
const CTAS: usize = 6;

/// Lines of a formula that are shown behind its first.
const FORMULA: usize = 20;

/// Places of one kind of rounding that are shown.
const PLACES: usize = 3;

const BOLD: Style = Style::new().bold();

/// The report as text.
pub fn report(r: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_report(&mut out, r);
    out
}

fn write_report(out: &mut String, r: &Report) -> fmt::Result {
    let style = style(r.verdict);
    write!(out, "{style}{}{style:#}: {}", r.verdict.name(), claim(r))?;
    if let (Verdict::Equivalent, Some(chance)) = (r.verdict, &r.chance) {
        write!(
            out,
            "; with a probability of error of at most {}",
            chance.bound()
        )?;
    }
    writeln!(out)?;
    if let Some(text) = &r.formula {
        let mut lines = text.trim().lines();
        writeln!(out, "  reference  {}", visible(lines.next().unwrap_or("")))?;
        for line in lines.take(FORMULA) {
            writeln!(out, "             {}", visible(line))?;
        }
    }
    for k in &r.kernels {
        write_kernel(out, k)?;
    }
    if let Some(c) = &r.counterexample {
        write_counterexample(out, c)?;
    }
    write_outputs(out, r)?;
    write_entries(out, &r.defects, Severity::Error)?;
    write_entries(out, &r.unknown, Severity::Unknown)?;
    write_entries(out, &r.warnings, Severity::Warning)?;
    if r.precision.shown {
        write_precision(out, &r.precision)?;
    }
    if !r.assumptions.is_empty() {
        writeln!(out, "\n{BOLD}assuming{BOLD:#}")?;
        for a in &r.assumptions {
            writeln!(out, "  - {}", sentence(a))?;
        }
    }
    let t = &r.times;
    writeln!(
        out,
        "\ntime: {} (parse {}, simulate {}, decide {})",
        show_time(t.total),
        show_time(t.parse),
        show_time(t.simulate),
        show_time(t.decide)
    )
}

/// Instances of one verdict that are named.
const INSTANCES: usize = 8;

/// The report of a command at several sizes: how many instances got which verdict, then the worst one.
pub fn instances(parts: &[Part], at: &Part, worst: &Answer) -> String {
    let (mut out, style) = (String::new(), style(worst.verdict));
    let name = worst.verdict.name();
    let count = parts.len();
    let same = |a: &Answer| a.verdict == worst.verdict;
    let these = parts
        .iter()
        .filter(|p| p.result.as_ref().is_ok_and(same))
        .count();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{style}{name}{style:#}: {these} of {count} instances");
    let mut by: Vec<(Verdict, Vec<String>)> = Vec::new();
    for part in parts {
        let Ok(answer) = &part.result else { continue };
        let shown = part.sizes.to_string();
        match by.iter_mut().find(|(v, _)| *v == answer.verdict) {
            Some((_, list)) => list.push(shown),
            None => by.push((answer.verdict, vec![shown])),
        }
    }
    by.sort_by_key(|(v, _)| std::cmp::Reverse(rank(*v)));
    for (verdict, mut list) in by {
        let count = list.len();
        if count > INSTANCES {
            list.truncate(INSTANCES);
            list.push("...".into());
        }
        let _ = writeln!(
            out,
            "  {:<14}  {count:>5}  {}",
            verdict.name(),
            list.join("; ")
        );
    }
    let _ = writeln!(out, "\n{BOLD}{}{BOLD:#}", at.sizes);
    out.push_str(&worst.text);
    out
}

/// The style of a verdict.
pub fn style(verdict: Verdict) -> Style {
    let colour = match verdict {
        Verdict::Equivalent | Verdict::Clean | Verdict::Ran => AnsiColor::Green,
        Verdict::NotEquivalent | Verdict::Defective => AnsiColor::Red,
        Verdict::Unknown => AnsiColor::Yellow,
    };
    colour.on_default().bold()
}

/// What the verdict says, in words.
fn claim(r: &Report) -> &'static str {
    match r.verdict {
        Verdict::Equivalent if r.formula.is_some() => {
            "the kernel computes what the formula says, without race, deadlock or memory error"
        }
        Verdict::Equivalent => {
            "both kernels compute the same real-valued outputs, without race, deadlock or memory error"
        }
        Verdict::Clean => "no race, deadlock, barrier misuse or memory error under any schedule",
        Verdict::NotEquivalent if r.formula.is_some() => {
            "the kernel computes something else than the formula says"
        }
        Verdict::NotEquivalent => "the kernels compute different outputs",
        Verdict::Defective if r.kernels.len() > 1 => "a kernel has a defect",
        Verdict::Defective => "the kernel has a defect",
        Verdict::Ran => {
            "executed on numbers, under one schedule, without race, deadlock or memory error"
        }
        Verdict::Unknown => "nothing is claimed; each reason is below",
    }
}

fn write_kernel(out: &mut String, k: &KernelReport) -> fmt::Result {
    let l = &k.launch;
    let grid = launch::show(l.grid);
    let covers = match k.ctas.as_slice() {
        _ if k.whole && l.grid == [1; 3] => "its only CTA".to_string(),
        all if k.whole => format!("all {} CTAs of the grid {grid}", all.len()),
        [] => format!("no CTA of the grid {grid}"),
        &[one] => format!("CTA {} of the grid {grid}", launch::show(one)),
        some => {
            let mut list: Vec<String> = some.iter().take(CTAS).map(|&c| launch::show(c)).collect();
            if some.len() > CTAS {
                list.push("...".into());
            }
            let list = list.join(" ");
            format!("{} CTAs of the grid {grid} ({list})", some.len())
        }
    };
    writeln!(
        out,
        "  {:<9}  {} `{}`, block {}, {covers}",
        k.which.name(),
        k.file,
        visible(&k.entry),
        launch::show(l.block),
    )?;
    // The type of a field follows from the code, so that people see what it was taken for.
    for n in k.numbers.iter().filter(|n| n.field) {
        let (name, ty) = (visible(&n.label), n.ty.name());
        writeln!(out, "             {name} is {ty}, bytes {}", n.hex())?;
    }
    Ok(())
}

fn write_outputs(out: &mut String, r: &Report) -> fmt::Result {
    if r.outputs.is_empty() {
        return Ok(());
    }
    let names = r.outputs.iter().map(|o| visible(&o.name));
    let width = names.map(|name| name.chars().count()).max();
    let width = width.unwrap_or(0).max("output".len());
    writeln!(
        out,
        "\n{BOLD}{:<width$}  {:>10}  {:>10}{BOLD:#}",
        "output", "elements", "proved"
    )?;
    for o in &r.outputs {
        writeln!(
            out,
            "{:<width$}  {:>10}  {:>10}",
            visible(&o.name),
            o.elements,
            o.proved
        )?;
    }
    Ok(())
}

fn write_precision(out: &mut String, p: &Precision) -> fmt::Result {
    writeln!(
        out,
        "\n{BOLD}precision{BOLD:#}: roundings to less than f32 on the way to an output, which the answer does not see"
    )?;
    for (which, groups) in &p.kernels {
        let none = if groups.is_empty() { "  none" } else { "" };
        writeln!(out, "  {}{none}", which.name())?;
        for g in groups.iter().take(SHOWN) {
            let s = if g.instructions == 1 { "" } else { "s" };
            writeln!(
                out,
                "    {:<5} {}: {} instruction{s}, executed {} times",
                g.fmt.name(),
                g.what(),
                g.instructions,
                g.executions
            )?;
            for site in g.sites.iter().take(PLACES) {
                writeln!(out, "          {}", place(site))?;
            }
            let more = g.instructions.saturating_sub(PLACES as u64);
            if more > 0 {
                writeln!(out, "          ... and {more} more")?;
            }
        }
        if groups.len() > SHOWN {
            let more = groups.len() - SHOWN;
            writeln!(out, "    ... and {more} more (`--format json` has all)")?;
        }
    }
    if p.kernels.len() > 1 {
        let none = match p.more.is_empty() {
            true => "  in nothing",
            false => "",
        };
        writeln!(out, "  where the optimized kernel narrows more{none}")?;
    }
    for m in &p.more {
        writeln!(out, "    - {} ({})", m.message, place(&m.site))?;
    }
    Ok(())
}

/// A place on one line.
fn place(site: &SiteReport) -> String {
    let mut out = format!("{}:{}: {}", site.file, site.line, site.text);
    if let Some((file, line)) = &site.source {
        let _ = write!(out, ", from {file}:{line}");
    }
    out
}

fn write_entries(out: &mut String, entries: &[Entry], severity: Severity) -> fmt::Result {
    for e in entries.iter().take(SHOWN) {
        out.push('\n');
        out.push_str(&entry(e, severity));
        out.push('\n');
    }
    if entries.len() > SHOWN {
        writeln!(
            out,
            "\n... and {} more (`--format json` has all)",
            entries.len() - SHOWN
        )?;
    }
    Ok(())
}

/// A finding with the lines that it is about.
fn entry(e: &Entry, severity: Severity) -> String {
    let mut message = e.message.clone();
    if let Some(which @ (Which::Reference | Which::Optimized)) = e.kernel {
        message = format!("{}: {message}", which.name());
    }
    if e.count > 1 {
        let _ = write!(message, " ({} times)", e.count);
    }
    let mut d = Diagnostic::new(severity, e.kind, message);
    for site in &e.sites {
        d = d.label(site.at.1, label(site));
    }
    if let Some(help) = advice(e.kind) {
        d = d.help(help);
    }
    match e.sites.first() {
        Some(site) => d.render(&site.at.0, true),
        None => {
            let mut text = d.to_string();
            if let Some(help) = &d.help {
                let _ = write!(text, "\n  help: {help}");
            }
            text
        }
    }
}

/// Which threads did what at a place, and the source line.
fn label(site: &SiteReport) -> String {
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
    if let Some((file, line)) = &site.source {
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

/// What a user can do about a kind of finding; where the message itself says it, nothing.
fn advice(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "data-dependent-branch" | "data-dependent-address" => {
            "bind integer parameters with --arg, or compare kernels whose control flow and addresses do not depend on the data"
        }
        "nothing-to-compare" => {
            "check that both kernels write an array that is not bound `scratch:`"
        }
        "limit" => "give more with --timeout or --memory-limit, or check a smaller instance",
        "same-value-write" | "real-equal-write" => "--strict counts this as a data race",
        _ => return None,
    })
}

fn write_counterexample(out: &mut String, c: &Counterexample) -> fmt::Result {
    writeln!(out, "\n{BOLD}counterexample{BOLD:#}: {}", c.message)?;
    if let Some(d) = &c.difference {
        writeln!(out, "  {BOLD}difference{BOLD:#}: {}", d.message)?;
        writeln!(out, "    reference  {}", d.reference)?;
        writeln!(out, "    optimized  {}", d.optimized)?;
    }
    if c.inputs.is_empty() {
        return match c.difference {
            Some(_) => writeln!(out, "  for inputs that are 0 everywhere"),
            None => Ok(()),
        };
    }
    writeln!(
        out,
        "  for the input (every element that is not named is 0)"
    )?;
    for i in c.inputs.iter().take(INPUTS) {
        writeln!(
            out,
            "    {} = {}",
            indexed(&i.name, &i.element),
            i.value.text
        )?;
    }
    if c.inputs.len() > INPUTS {
        writeln!(
            out,
            "    ... and {} more (`--format json` has all)",
            c.inputs.len() - INPUTS
        )?;
    }
    Ok(())
}

fn indexed(name: &str, element: &[u64]) -> String {
    if element.is_empty() {
        return name.to_string();
    }
    let index: Vec<String> = element.iter().map(u64::to_string).collect();
    format!("{name}[{}]", index.join(", "))
}

/// A duration with three digits or so.
pub fn show_time(t: Duration) -> String {
    let s = t.as_secs_f64();
    if s >= 1.0 {
        format!("{s:.2} s")
    } else {
        format!("{:.1} ms", s * 1e3)
    }
}

/// The table of a gate, its failures below.
pub fn gate(g: &GateReport) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_gate(&mut out, g);
    out
}

fn write_gate(out: &mut String, g: &GateReport) -> fmt::Result {
    let widths = g.entries.iter().map(|e| e.name.chars().count());
    let width = widths.max().unwrap_or(0).max("entry".len());
    write!(
        out,
        "{BOLD}      {:<width$}  {:<14}  {:>9}",
        "entry", "verdict", "time"
    )?;
    if g.stats {
        write!(
            out,
            "  {:>9}  {:>12}  {:>10}  {:>8}  {:>10}  {:>10}",
            "peak MiB", "instructions", "terms", "VCs", "barriers", "warp syncs"
        )?;
    }
    writeln!(out, "{BOLD:#}")?;
    for e in &g.entries {
        write_row(out, e, width, g.stats)?;
    }
    for e in g.entries.iter().filter(|e| !e.ok) {
        let (red, why) = (style(Verdict::Defective), e.why.as_deref().unwrap_or(""));
        writeln!(out, "\n{red}failed{red:#} {}: {why}", e.name)?;
        match &e.result {
            Ok(r) => {
                for line in r.text.lines() {
                    writeln!(out, "  {line}")?;
                }
            }
            Err(f) => out.push_str(&f.render()),
        }
    }
    let failed = g.entries.len() - g.passed();
    let cached = g.entries.iter().filter_map(|e| e.result.as_ref().ok());
    let cached = match cached.filter(|a| a.cached).count() {
        0 => String::new(),
        n => format!(" ({n} from the cache)"),
    };
    writeln!(out, "\n{} passed, {failed} failed{cached}", g.passed())
}

fn write_row(out: &mut String, e: &EntryResult, width: usize, stats: bool) -> fmt::Result {
    let verdict = match &e.result {
        Ok(r) => r.verdict.name(),
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
        e.name,
        show_time(e.time)
    )?;
    if stats && let Ok(r) = &e.result {
        let stats = &r.object["stats"];
        let sum = |key: &str| {
            let sides = ["kernel", "reference", "optimized"];
            let counts = sides.iter().filter_map(|s| stats[*s][key].as_u64());
            counts.sum::<u64>()
        };
        let mib = |b: u64| format!("{:.1}", b as f64 / (1 << 20) as f64);
        write!(
            out,
            "  {:>9}  {:>12}  {:>10}  {:>8}  {:>10}  {:>10}",
            e.peak.map_or("-".into(), mib),
            sum("thread_instructions"),
            sum("terms"),
            stats["decision"]["conditions"].as_u64().unwrap_or(0),
            sum("barrier_arrivals"),
            sum("warp_syncs"),
        )?;
    }
    if !e.ok {
        write!(out, "  expected {}", e.expect)?;
    }
    writeln!(out)
}
