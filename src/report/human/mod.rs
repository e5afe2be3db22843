//! Reports for people: the verdict first, then what it covers, then the evidence.
//!
//! The text is always styled; whoever writes it out strips the styles where they are not wanted.

use std::fmt::{self, Write};
use std::time::Duration;

use anstyle::{AnsiColor, Style};

use crate::answer::kernel::show;
use crate::answer::{
    Answer, AtSize, Bound, Command, Counterexample, Each, KernelAnswer, Kind, Part, Precision,
    Report, Scope, Sizes, Subject, Verdict, Writes,
};
use crate::diag::foreign::{sentence, styled, visible, whole};
use crate::diag::{Severity, width};

mod findings;
mod steps;
mod table;
mod values;

pub use steps::steps;
pub use table::gate;

use super::place::place;
use super::sources::Sources;
use findings::{write_findings, write_warnings};
use values::values;

/// Entries of one list that are shown in full; the JSON report has all.
const SHOWN: usize = 12;
/// Input elements of a counterexample that are shown.
const INPUTS: usize = 24;
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
    let formulas: Vec<String> = r
        .outputs
        .lifted()
        .iter()
        .map(|l| whole(&l.formula).into_owned())
        .collect();
    let is_formula = |line: &str| {
        formulas
            .iter()
            .any(|f| line.trim().trim_end_matches(';') == f)
    };
    let mut out = styled(&fit(&out, is_formula));
    if r.command == Command::Run {
        for array in r.outputs.written() {
            out.push('\n');
            out.push_str(&values(array));
        }
    }
    out
}

/// The text with the lines that are too long broken at words. Rows of tables and formulas, which are to be read again, stay
/// whole; excerpts fit already.
fn fit(text: &str, is_whole: impl Fn(&str) -> bool) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let body = line.trim_start();
        let is_row = body.contains("   ");
        match width::of(line) > width::columns() && !is_row && !is_whole(line) {
            true => {
                let (indent, body) = line.split_at(line.len() - body.len());
                let hung = width::hung(body, indent.len(), indent.len() + 4);
                out.push_str(&format!("{indent}{hung}"));
            }
            false => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// The text of an answer: as it was written before, where it was kept.
pub fn answer(a: &Answer) -> String {
    match (&a.text, Answer::worst(&a.parts)) {
        (Some(text), _) => text.clone(),
        (None, Some((at, worst))) => instances(&a.parts, at, worst) + &of_other_sizes(worst),
        (None, None) => report(&a.report),
    }
}

fn write_report(out: &mut String, r: &Report) -> fmt::Result {
    let shade = style(r.verdict);
    let every = match r.is_of_every_launch() {
        true => " for every launch",
        false => "",
    };
    let claim = r.claim();
    write!(
        out,
        "{shade}{}{shade:#}{every}: {}",
        r.verdict.name(),
        visible(&claim)
    )?;
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
    let mut sources = Sources::default();
    write_findings(out, &r.defects, Severity::Error, &mut sources)?;
    write_findings(out, &r.unknown, Severity::Unknown, &mut sources)?;
    write_warnings(out, r, &mut sources)?;
    if r.precision.shown {
        write_precision(out, &r.precision)?;
    }
    if let Some(classes) = &r.classes {
        let table = crate::answer::bits::table(classes);
        write!(out, "\n{BOLD}classes{BOLD:#}\n{}", visible_lines(&table))?;
    }
    if let Some(slack) = r.slack() {
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
        "\ntime: {} (read {}, simulate {}, decide {})",
        show_time(t.total),
        show_time(t.parse),
        show_time(t.simulate),
        show_time(t.decide)
    )?;
    match r.stats.run_again() {
        Some(runs) => writeln!(out, "runs made again: {runs} (volta explain runs)"),
        None => Ok(()),
    }
}

/// Lines of a table, of which names in files may hold anything.
fn visible_lines(text: &str) -> String {
    let lines = text.lines().map(|l| format!("  {}\n", visible(l)));
    lines.collect()
}

/// Instances of one verdict that are named.
const INSTANCES: usize = 8;

/// The report of a command at several sizes: how many instances got which verdict, then the worst one.
fn instances(parts: &[AtSize], at: &AtSize, worst: &Answer) -> String {
    let (mut out, style) = (String::new(), style(worst.report.verdict));
    let name = worst.report.verdict.name();
    let count = parts.len();
    let same = |a: &Answer| a.report.verdict == worst.report.verdict;
    let these = parts
        .iter()
        .filter(|p| p.result.as_ref().is_ok_and(same))
        .count();
    // Writing to a string cannot fail.
    let shown = parts.iter().filter(|p| p.result.as_ref().is_ok_and(same));
    let mut shown: Vec<String> = shown.take(INSTANCES).map(|p| p.sizes.to_string()).collect();
    if these > INSTANCES {
        shown.push("...".into());
    }
    let _ = writeln!(
        out,
        "{style}{name}{style:#}: {these} of {count} instances ({})",
        shown.join("; ")
    );
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
    out.push_str(&answer(worst));
    styled(&out)
}

/// What can be asked of the sizes that were not run, once those that were are proved: whether one of the kernels races.
fn of_other_sizes(worst: &Answer) -> String {
    if worst.report.verdict != Verdict::Equivalent {
        return String::new();
    }
    let sides = [&worst.report.reference, &worst.report.optimized];
    let kernels = sides.into_iter().flatten().filter_map(|s| match s {
        Subject::Kernel(k) => {
            // PTX that a CUDA file was compiled to is no file: the command takes that one.
            let cuda = k.file.strip_suffix(".ptx").filter(|f| f.ends_with(".cu"));
            let file = cuda.unwrap_or(&k.file);
            Some(format!(" {} --entry {}", visible(file), visible(&k.entry)))
        }
        Subject::Sequence { .. } | Subject::Formula { .. } => None,
    });
    let commands: String = kernels
        .map(|k| format!("  volta race --any{k}\n"))
        .collect();
    match commands.is_empty() {
        true => commands,
        false => format!("\nof races at every other size these tell:\n{commands}"),
    }
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

fn write_kernel(
    out: &mut String,
    (part, launch): (Part, Option<u32>),
    k: &KernelAnswer,
    ctas: &[[u32; 3]],
) -> fmt::Result {
    let grid = show(k.grid);
    let covers = match ctas {
        // A question about every launch may bind the block alone.
        _ if k.grid.contains(&0) => "every grid".to_string(),
        _ if k.whole_grid && k.grid == [1; 3] => "its only CTA".to_string(),
        _ if k.whole_grid => format!("all {} CTAs of the grid {grid}", k.ctas()),
        [] if launch.is_some() => format!("not all CTAs of the grid {grid}"),
        [] => format!("no CTA of the grid {grid}"),
        &[one] => format!("CTA {} of the grid {grid}", show(one)),
        some => {
            let mut list: Vec<String> = some.iter().take(CTAS).map(|&c| show(c)).collect();
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
        false => format!(", block {}, {covers}", show(k.block)),
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

/// What kernels that write different elements are asked, in words.
pub(crate) fn writes(w: &Writes) -> String {
    let only = |n: u64| match n {
        0 => String::new(),
        n => format!(" ({n} of them alone)"),
    };
    format!(
        "the kernels write different elements: the reference {}{}, the optimized kernel {}{}; is the launch right? --ref-grid, --opt-grid",
        w.reference,
        only(w.only_reference),
        w.optimized,
        only(w.only_optimized)
    )
}

fn write_counterexample(out: &mut String, c: &Counterexample) -> fmt::Result {
    if let Some(w) = &c.writes {
        writeln!(out, "\n{}", writes(w))?;
    }
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
