//! Reports for people: the verdict first, then what it covers, then the evidence.
//!
//! The text is always styled; whoever writes it out strips the styles where they are not wanted.

use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use indexmap::IndexMap;

use crate::answer::{
    Bound, Command, Counterexample, Each, Finding, KernelAnswer, Kind, Part, Precision, Report,
    RunCounts, Scope, Site, Verdict, WarningKind,
};
use crate::diag::{Diagnostic, Severity};
use crate::foreign::{sentence, styled, visible, whole};
use crate::sim::store::REAL_EQUAL;
use crate::spec::{Sizes, launch};

use super::gate::{EntryResult, GateReport};
use super::{Answer, AtSize};

/// Findings of one list that are shown in full; the JSON report has all.
const SHOWN: usize = 12;
/// Findings of one cause that are named below its root.
const FOLDED: usize = 6;
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

pub(crate) const BOLD: Style = Style::new().bold();

/// The report as text.
pub fn report(r: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_report(&mut out, r);
    styled(&out)
}

fn write_report(out: &mut String, r: &Report) -> fmt::Result {
    let shade = style(r.verdict);
    write!(out, "{shade}{}{shade:#}: {}", r.verdict.name(), claim(r))?;
    if let (Verdict::Equivalent, Some(chance)) = (r.verdict, &r.probabilistic) {
        write!(
            out,
            "; with a probability of error of at most {}",
            chance.error
        )?;
    }
    writeln!(out)?;
    if !r.denied.is_empty() {
        let red = style(Verdict::Defective);
        let kinds: Vec<&str> = r.denied.iter().map(|k| k.name()).collect();
        writeln!(out, "{red}denied{red:#}: {}", kinds.join(", "))?;
    }
    if let (Verdict::Defective, Some(values)) = (r.verdict, r.values) {
        writeln!(out, "values: {}", values.name())?;
    }
    if let Some(text) = r.formula() {
        let mut lines = text.trim().lines();
        writeln!(out, "  reference  {}", visible(lines.next().unwrap_or("")))?;
        for line in lines.take(FORMULA) {
            writeln!(out, "             {}", visible(line))?;
        }
    }
    for (part, launch, k) in r.kernels() {
        write_kernel(out, (part, launch), k, r.scope.of(part))?;
        let bound = match part {
            Part::Reference => &r.inputs.bindings.reference,
            Part::Optimized => &r.inputs.bindings.optimized,
            Part::Kernel | Part::Pair | Part::Formula => &r.inputs.bindings.kernel,
        };
        let bound = bound.as_ref().map_or(&[][..], Each::as_slice);
        let own = bound.get(launch.unwrap_or(0) as usize);
        write_fields(out, own.map_or(&[], Vec::as_slice))?;
    }
    write_launches(out, &r.scope)?;
    if let Some(c) = &r.counterexample {
        write_counterexample(out, c)?;
    }
    write_outputs(out, r)?;
    write_findings(out, &r.defects, Severity::Error)?;
    write_findings(out, &r.unknown, Severity::Unknown)?;
    write_warnings(out, &r.warnings)?;
    if r.precision.shown {
        write_precision(out, &r.precision)?;
    }
    if let Some(classes) = &r.classes {
        let table = crate::answer::bits::table(classes);
        write!(out, "\n{BOLD}classes{BOLD:#}\n{}", visible_lines(&table))?;
    }
    if let Some(slack) = &r.slack {
        write!(
            out,
            "\n{BOLD}synchronisation{BOLD:#}\n{}",
            visible_lines(&slack.table())
        )?;
    }
    if let Some(d) = &r.determinism {
        super::rounding::write_determinism(out, d)?;
    }
    if let Some(c) = &r.certificate {
        super::rounding::write_certificate(out, c)?;
    }
    if let Some(rounding) = &r.rounding {
        super::rounding::write(out, rounding)?;
    }
    if !r.assumptions.is_empty() {
        writeln!(out, "\n{BOLD}assuming{BOLD:#}")?;
        for a in &r.assumptions {
            writeln!(out, "  - {}", sentence(&a.message))?;
        }
    }
    let t = &r.stats.seconds;
    let show_time = |s: f64| show_time(Duration::try_from_secs_f64(s).unwrap_or_default());
    writeln!(
        out,
        "\ntime: {} (parse {}, simulate {}, decide {})",
        show_time(t.total),
        show_time(t.parse),
        show_time(t.simulate),
        show_time(t.decide)
    )
}

/// Lines of a table, of which names in files may hold anything.
fn visible_lines(text: &str) -> String {
    let lines = text.lines().map(|l| format!("  {}\n", visible(l)));
    lines.collect()
}

/// Instances of one verdict that are named.
const INSTANCES: usize = 8;

/// The report of a command at several sizes: how many instances got which verdict, then the worst one.
pub fn instances(parts: &[AtSize], at: &AtSize, worst: &Answer) -> String {
    let (mut out, style) = (String::new(), style(worst.report.verdict));
    let name = worst.report.verdict.name();
    let count = parts.len();
    let same = |a: &Answer| a.report.verdict == worst.report.verdict;
    let these = parts
        .iter()
        .filter(|p| p.result.as_ref().is_ok_and(same))
        .count();
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{style}{name}{style:#}: {these} of {count} instances");
    let mut by: Vec<(Verdict, Vec<String>)> = Vec::new();
    let mut denied: Vec<String> = Vec::new();
    for part in parts {
        let Ok(answer) = &part.result else { continue };
        let shown = part.sizes.to_string();
        if !answer.report.denied.is_empty() {
            denied.push(shown.clone());
        }
        match by.iter_mut().find(|(v, _)| *v == answer.report.verdict) {
            Some((_, list)) => list.push(shown),
            None => by.push((answer.report.verdict, vec![shown])),
        }
    }
    by.sort_by_key(|(v, _)| std::cmp::Reverse(v.rank()));
    let rows = by.into_iter().map(|(verdict, list)| (verdict.name(), list));
    for (name, mut list) in rows.chain([("denied", denied)]) {
        let count = list.len();
        if count == 0 {
            continue;
        }
        if count > INSTANCES {
            list.truncate(INSTANCES);
            list.push("...".into());
        }
        let _ = writeln!(out, "  {:<14}  {count:>5}  {}", name, list.join("; "));
    }
    let _ = writeln!(out, "\n{BOLD}{}{BOLD:#}", at.sizes);
    out.push_str(&worst.text);
    styled(&out)
}

/// The style of a verdict.
pub fn style(verdict: Verdict) -> Style {
    let colour = match verdict {
        Verdict::Equivalent | Verdict::Clean | Verdict::Ran | Verdict::Lifted => AnsiColor::Green,
        Verdict::NotEquivalent | Verdict::Defective => AnsiColor::Red,
        Verdict::Unknown => AnsiColor::Yellow,
    };
    colour.on_default().bold()
}

/// What the verdict says, in words.
fn claim(r: &Report) -> &'static str {
    match r.verdict {
        Verdict::Equivalent if r.command == Command::Rows => {
            "each row is the same function of its own row of the inputs, in every batch that was run"
        }
        Verdict::NotEquivalent if r.command == Command::Rows => "a row depends on its batch",
        Verdict::Equivalent if r.command == Command::Classes => "all kernels leave the same bits",
        Verdict::NotEquivalent if r.command == Command::Classes => {
            "some kernels leave different bits"
        }
        Verdict::Equivalent if r.formula().is_some() => {
            "the kernel computes what the formula says, without race, deadlock or memory error"
        }
        Verdict::Equivalent if r.inputs.options.bits => {
            "both kernels leave the same bits, by the same operations, without race, deadlock or memory error"
        }
        Verdict::Equivalent => {
            "both kernels compute the same real-valued outputs, without race, deadlock or memory error"
        }
        // Which launches are cancelled is chosen by the schedule that was run.
        Verdict::Clean
            if r.assumptions
                .iter()
                .any(|a| a.message == crate::sim::ONE_SCHEDULE) =>
        {
            "no race, deadlock, barrier misuse or memory error under the schedule that was run"
        }
        Verdict::Clean => "no race, deadlock, barrier misuse or memory error under any schedule",
        Verdict::NotEquivalent if r.formula().is_some() => {
            "the kernel computes something else than the formula says"
        }
        Verdict::NotEquivalent if r.inputs.options.bits => "the kernels leave different bits",
        Verdict::NotEquivalent => "the kernels compute different outputs",
        Verdict::Defective if r.kernels().count() > 1 => "a kernel has a defect",
        Verdict::Defective => "the kernel has a defect",
        Verdict::Ran => {
            "executed on numbers, under one schedule, without race, deadlock or memory error"
        }
        Verdict::Lifted => {
            "the kernel computes these formulas, without race, deadlock or memory error"
        }
        Verdict::Unknown => "nothing is claimed; each reason is below",
    }
}

fn write_kernel(
    out: &mut String,
    (part, launch): (Part, Option<u32>),
    k: &KernelAnswer,
    ctas: &[[u32; 3]],
) -> fmt::Result {
    let grid = launch::show(k.grid);
    let covers = match ctas {
        // A question about every launch may bind the block alone.
        _ if k.grid.contains(&0) => "every grid".to_string(),
        _ if k.whole_grid && k.grid == [1; 3] => "its only CTA".to_string(),
        _ if k.whole_grid => format!("all {} CTAs of the grid {grid}", k.ctas()),
        [] if launch.is_some() => format!("not all CTAs of the grid {grid}"),
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
    let (side, number) = match launch {
        None => (part.name(), String::new()),
        Some(0) => (part.name(), "0: ".to_string()),
        Some(i) => ("", format!("{i}: ")),
    };
    // A question about every launch has no block of its own.
    let launched = match k.block.contains(&0) {
        true => String::new(),
        false => format!(", block {}, {covers}", launch::show(k.block)),
    };
    writeln!(
        out,
        "  {side:<9}  {number}{} `{}`{launched}",
        visible(&k.file),
        visible(k.name()),
    )
}

/// The launches that an answer about every launch speaks of.
fn write_launches(out: &mut String, scope: &Scope) -> fmt::Result {
    let Some(launches) = &scope.launches else {
        return Ok(());
    };
    writeln!(out, "  launches   {}", visible(&launches.text))?;
    for fact in &launches.assumed {
        writeln!(out, "             where {}", visible(fact))?;
    }
    Ok(())
}

/// The type of a field follows from the code, so that people see what it was taken for.
fn write_fields(out: &mut String, bound: &[Bound]) -> fmt::Result {
    for n in bound.iter().filter(|n| n.field) {
        let (name, at, ty) = (visible(&n.name), n.offset, &n.r#type);
        writeln!(out, "             {name}+{at} is {ty}, bytes {}", n.bytes)?;
    }
    Ok(())
}

/// The formulas, as `--formula` takes them.
fn write_formulas(out: &mut String, r: &Report) -> fmt::Result {
    let lifted = r.outputs.lifted();
    if lifted.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{BOLD}formula{BOLD:#}")?;
    for (i, l) in lifted.iter().enumerate() {
        let end = if i + 1 < lifted.len() { ";" } else { "" };
        writeln!(out, "  {}{end}", whole(&l.formula))?;
    }
    if let Some(l) = lifted.iter().find(|l| l.conjectured) {
        let sizes = l.proved_at.iter().map(|s| Sizes(s.clone()).to_string());
        let sizes: Vec<String> = sizes.collect();
        writeln!(out, "  proved at {}, conjectured between", sizes.join("; "))?;
    }
    Ok(())
}

fn write_outputs(out: &mut String, r: &Report) -> fmt::Result {
    write_formulas(out, r)?;
    let outputs = r.outputs.compared();
    if outputs.is_empty() {
        return Ok(());
    }
    let names = outputs.iter().map(|o| visible(&o.name));
    let width = names.map(|name| name.chars().count()).max();
    let width = width.unwrap_or(0).max("output".len());
    writeln!(
        out,
        "\n{BOLD}{:<width$}  {:>10}  {:>10}{BOLD:#}",
        "output", "elements", "proved"
    )?;
    for o in outputs {
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
    for (part, groups) in p.kernels.iter() {
        let none = if groups.is_empty() { "  none" } else { "" };
        writeln!(out, "  {}{none}", part.name())?;
        for g in groups.iter().take(SHOWN) {
            let s = if g.instructions == 1 { "" } else { "s" };
            writeln!(
                out,
                "    {:<5} {}: {} instruction{s}, executed {} times",
                g.format, g.what, g.instructions, g.executions
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
    if p.kernels.iter().count() > 1 {
        let none = match p.differences.is_empty() {
            true => "  in nothing",
            false => "",
        };
        writeln!(out, "  where the optimized kernel narrows more{none}")?;
    }
    for m in &p.differences {
        writeln!(out, "    - {} ({})", sentence(&m.message), place(&m.site))?;
    }
    Ok(())
}

/// A place on one line.
pub(super) fn place(site: &Site) -> String {
    let mut out = format!(
        "{}:{}: {}",
        visible(&site.file),
        site.line,
        visible(&site.text)
    );
    if let Some(source) = &site.source {
        let (file, line) = source.own();
        let _ = write!(out, ", from {}:{line}", visible(file));
    }
    out
}

/// Warnings; the places where threads write what is equal, of a kernel and a kind, are one of them.
fn write_warnings(out: &mut String, warnings: &[Finding<WarningKind>]) -> fmt::Result {
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
fn write_findings<K: Kind>(
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

fn write_counterexample(out: &mut String, c: &Counterexample) -> fmt::Result {
    let message = sentence(&c.message);
    writeln!(out, "\n{BOLD}counterexample{BOLD:#}: {message}")?;
    if let Some(m) = &c.machine {
        writeln!(out, "  {}", sentence(&m.message))?;
    }
    if let Some(d) = &c.difference {
        let [message, reference, optimized] =
            [&d.message, &d.reference, &d.optimized].map(|text| sentence(text));
        writeln!(out, "  {BOLD}difference{BOLD:#}: {message}")?;
        writeln!(out, "    reference  {reference}")?;
        writeln!(out, "    optimized  {optimized}")?;
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
    let inputs = c
        .inputs
        .iter()
        .flat_map(|(name, list)| list.iter().map(move |i| (name, i)));
    let all = inputs.clone().count();
    for (name, i) in inputs.take(INPUTS) {
        let name = indexed(&visible(name), &i.element);
        writeln!(out, "    {name} = {}", i.value.text)?;
    }
    if all > INPUTS {
        let more = all - INPUTS;
        writeln!(out, "    ... and {more} more (`--format json` has all)")?;
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
        let (name, why) = (sentence(&e.name), sentence(why));
        writeln!(out, "\n{red}failed{red:#} {name}: {why}")?;
        match &e.result {
            Ok(r) => {
                for line in r.text.lines() {
                    writeln!(out, "  {line}")?;
                }
            }
            Err(f) => out.push_str(&f.render()),
        }
    }
    for why in &g.ledger {
        let red = style(Verdict::Defective);
        writeln!(out, "\n{red}failed{red:#} {}", sentence(why))?;
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
        let sum = |of: fn(&RunCounts) -> u64| stats.kernels.iter().map(|k| of(k.1)).sum::<u64>();
        let mib = |b: u64| format!("{:.1}", b as f64 / (1 << 20) as f64);
        write!(
            out,
            "  {:>9}  {:>12}  {:>10}  {:>8}  {:>10}  {:>10}",
            e.peak.map_or("-".into(), mib),
            sum(|c| c.thread_instructions),
            sum(|c| c.terms),
            stats.decision.as_ref().map_or(0, |d| d.conditions),
            sum(|c| c.barrier_arrivals),
            sum(|c| c.warp_syncs),
        )?;
    }
    if !e.ok {
        write!(out, "  expected {}", visible(&e.expect))?;
    }
    writeln!(out)
}
