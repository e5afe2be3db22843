//! One page that holds everything: verdicts, times, the proof of each output, each defect with its
//! places side by side, the counterexample.
//!
//! The page loads nothing and runs nothing: styles stand inside, colours follow the reader's
//! preference, and columns fold into one on a narrow screen. The lines around a place are read from its file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::answer::{
    Answer, Assumption, Counterexample, Failure, Finding, GateReport, KernelAnswer, Kind, Output,
    Part, Precision, Report, Site, Slack, SourceLine, State, Stats, Step, Verdict,
};

use super::human::show_time;
use super::sources::Sources;
use crate::diag::Source;
use crate::diag::foreign::{lines, plain};

/// Lines before and after a place.
const AROUND: u32 = 4;
/// Inputs of a counterexample that are shown.
const INPUTS: usize = 200;
/// Threads of a picture.
const COLUMNS: usize = 4;
/// Findings of one list that are shown.
const FINDINGS: usize = 100;
/// Threads of a place and CTAs of a kernel that are named.
const NAMED: usize = 8;

const STYLE: &str = "\
:root{color-scheme:light dark;--bg:#fff;--fg:#1a1d21;--dim:#5b6470;--line:#d9dee4;--card:#f6f8fa;--good:#116329;--bad:#b3261e;--open:#8a5a00;--mark:#fff1c2}\
@media(prefers-color-scheme:dark){:root{--bg:#0f1318;--fg:#e4e8ec;--dim:#98a2ad;--line:#2b333c;--card:#171d24;--good:#5fd38a;--bad:#ff8a80;--open:#f0c05a;--mark:#4a3c10}}\
*{box-sizing:border-box}\
body{margin:0 auto;padding:1rem;max-width:76rem;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\
h1{font-size:1.4rem;margin:.2rem 0 1rem}h2{font-size:1.1rem;margin:1.4rem 0 .5rem}h3{font-size:1rem;margin:1rem 0 .3rem}\
code,span,a,mark{unicode-bidi:isolate}code,pre,.m{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.85rem}\
.good{color:var(--good)}.bad{color:var(--bad)}.open{color:var(--open)}.dim{color:var(--dim)}\
.v{font-weight:650}\
.wide{overflow-x:auto}\
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}.wide td,.wide th{overflow-wrap:normal}.wide td:not(:first-child),.wide th{white-space:nowrap}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\
.sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:.8rem}\
.site{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.6rem;min-width:0}\
.site pre{margin:.4rem 0 0;overflow-x:auto}.site mark{background:var(--mark);color:inherit;display:block}\
details{border:1px solid var(--line);border-radius:.5rem;margin:.5rem 0;padding:.4rem .8rem}summary{cursor:pointer}\
.finding{border-left:.25rem solid var(--line);padding-left:.8rem;margin:1rem 0}.finding.bad{border-color:var(--bad);color:inherit}.finding.open{border-color:var(--open);color:inherit}\
.time{width:auto;margin:.8rem 0 0}.time td{padding:.1rem .6rem;border-bottom:0;border-left:2px solid var(--line)}.time td.n{border-left:0}.time td.here{background:var(--mark);border-left-color:var(--bad)}.time td.barrier code{color:var(--open)}\
@media(max-width:40rem){.wide td:not(:first-child),.wide th{white-space:normal}.wide td,.wide th{padding:.2rem .3rem}.wide code,.wide .dim{overflow-wrap:anywhere}.time code{font-size:.72rem}.kernels td:nth-child(2){min-width:8.5rem}.kernels,.kernels code{font-size:.8rem}.time td.n{white-space:nowrap}}\
progress{width:6rem;accent-color:var(--good)}";

/// The page of a check or a race.
pub fn report(answer: &Answer) -> String {
    let title = format!(
        "volta {}: {}",
        answer.report.command.name(),
        answer.report.verdict.name()
    );
    let mut files = Files::default();
    page(
        &title,
        html! {
            h1 { (verdict(&answer.report)) }
            (whole(answer, &mut files))
        },
    )
}

/// The page of a usage or input error.
pub fn failure(command: &str, failure: &Failure) -> String {
    page(
        &format!("volta {command}: error"),
        html! {
            h1 { span.v.bad { "error" } }
            pre { (plain(&failure.render())) }
        },
    )
}

/// The page of a manifest.
pub fn gate(g: &GateReport) -> String {
    let failed = g.entries.len() - g.passed();
    let class = if failed == 0 { "good" } else { "bad" };
    let mut files = Files::default();
    page(
        &format!("volta {}", g.command.name()),
        html! {
            h1 { span.v.(class) { (g.passed()) " passed, " (failed) " failed" } }
            div.wide { table {
                tr { th { "entry" } th { "verdict" } th { "expected" } th.n { "time" } }
                @for (i, e) in g.entries.iter().enumerate() {
                    @let verdict = e.result.as_ref().map_or("error", |a| a.report.verdict.name());
                    tr {
                        td { a href={ "#e" (i) } { (e.name) } }
                        td class=(if e.ok { "good" } else { "bad" }) { (verdict) }
                        td { (e.expect) }
                        td.n { (show_time(e.time)) }
                    }
                }
            } }
            @for why in &g.ledger { p.bad { (why) } }
            @for (i, e) in g.entries.iter().enumerate() {
                details id={ "e" (i) } open[!e.ok] {
                    summary {
                        (e.name)
                        @if let Some(why) = &e.why { ": " span.bad { (why) } }
                    }
                    @match &e.result {
                        Ok(answer) => {
                            h2 { (verdict(&answer.report)) }
                            (whole(answer, &mut files))
                        }
                        Err(failure) => { div.wide { pre { (plain(&failure.render())) } } }
                    }
                }
            }
        },
    )
}

fn page(title: &str, body: Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    lines(&page.0) + "\n"
}

fn verdict(r: &Report) -> Markup {
    let class = match r.exit() {
        0 => "good",
        1 => "bad",
        _ => "open",
    };
    html! {
        span.v.(class) { (r.verdict.name()) }
        @if let (Verdict::Equivalent, Some(chance)) = (r.verdict, &r.probabilistic) {
            " " span.dim { "with a probability of error of at most " (chance.error) }
        }
        @if !r.denied.is_empty() {
            " " span.bad { "denied: " @for k in &r.denied { (k.name()) " " } }
        }
        @if let (Verdict::Defective, Some(values)) = (r.verdict, r.values) {
            " " span.dim { "values: " (values.name()) }
        }
    }
}

/// An answer, or that of each of its instances.
fn whole(answer: &Answer, files: &mut Files) -> Markup {
    html! {
        @if answer.parts.is_empty() { (body(&answer.report, files)) }
        @for part in &answer.parts {
            @if let Ok(of) = &part.result {
                details open[of.report.verdict == answer.report.verdict] {
                    summary { (part.sizes) ": " (of.report.verdict.name()) }
                    (body(&of.report, files))
                }
            }
        }
    }
}

/// Everything below the verdict.
fn body(r: &Report, files: &mut Files) -> Markup {
    html! {
        (kernels(r))
        @if let Some(c) = &r.counterexample { (counterexample(c)) }
        @if !r.outputs.compared().is_empty() { (outputs(r.outputs.compared())) }
        (findings(&r.defects, ("Defects", "bad"), files))
        (findings(&r.unknown, ("Open questions", "open"), files))
        @let (allowed, warnings): (Vec<_>, Vec<_>) = r.warnings.iter().cloned().partition(|w| w.allowed);
        (findings(&warnings, ("Warnings", ""), files))
        @if !allowed.is_empty() { p.dim { (allowed.len()) " warnings are allowed." } }
        @if !r.assumptions.is_empty() { (assumptions(&r.assumptions)) }
        (precision(&r.precision))
        @if let Some(d) = &r.determinism { h2 { "Same bits" } p { (d.answer.name()) ": " (d.because) } }
        @if let Some(found) = r.slack() { (slack(found, files)) }
        @if let Some(all) = &r.classes { h2 { "Classes" } div.wide { pre { (crate::answer::bits::table(all)) } } }
        @if let Some(measured) = &r.rounding { (super::rounding::page(measured)) }
        (times(&r.stats))
    }
}

/// Each place of a synchronising operation, marked in its lines.
fn slack(found: Slack, files: &mut Files) -> Markup {
    let class = |state: State| match state {
        State::Needed => "bad",
        State::Spare => "good",
        State::Unjudged => "open",
    };
    html! {
        h2 { "Synchronisation" }
        @for (i, place) in found.sync.iter().enumerate() {
            div.site {
                code { (place.op) } " " span.(class(place.state)) { (place.state.name()) }
                @if found.together.contains(&i) { " " span.dim { "(can go at once with the others that say so)" } }
                @if let Some(breaks) = &place.breaks { p { "without it " (breaks.text()) } }
                @if let Some(why) = place.because() { p { (why) } }
                (files.lines((&place.site.file, place.site.line), &place.site.text))
            }
        }
        p.dim { (found.scope()) }
    }
}

fn assumptions(all: &[Assumption]) -> Markup {
    html! {
        h2 { "Assumptions" }
        ul { @for a in all { li { (a.message) } } }
    }
}

fn kernels(r: &Report) -> Markup {
    let covered = |part: Part, k: &KernelAnswer| {
        let ctas = r.scope.of(part);
        if k.grid.contains(&0) {
            return "every grid".to_string();
        }
        if k.whole_grid {
            return format!("all {}", k.ctas());
        }
        let names: Vec<String> = ctas.iter().take(NAMED).map(triple).collect();
        let more = match ctas.len() > NAMED {
            true => format!(" ... ({} in all)", ctas.len()),
            false => String::new(),
        };
        names.join(" ") + &more
    };
    html! {
        div.wide { table.kernels {
            tr { th {} th { "kernel" } th { "block" } th { "grid" } th { "CTAs covered" } }
            @if let Some(formula) = r.formula() {
                tr { td { "reference" } td { code { (formula) } } td {} td {} td {} }
            }
            @for (part, launch, k) in r.kernels() {
                tr {
                    td { (part.name()) @if let Some(launch) = launch { ", launch " (launch) } }
                    td { code { (k.name()) } " " span.dim { (k.file) } }
                    td { (shape(&k.block)) }
                    td { (shape(&k.grid)) }
                    td { (covered(part, k)) }
                }
            }
        } }
    }
}

fn counterexample(c: &Counterexample) -> Markup {
    let inputs = c
        .inputs
        .iter()
        .flat_map(|(name, list)| list.iter().map(move |i| (name, i)));
    let all = inputs.clone().count();
    let value = |v: &Option<crate::answer::Value>| {
        v.as_ref().map_or("none".to_string(), |v| v.text.clone())
    };
    html! {
        h2 { "Counterexample" }
        @if let Some(w) = &c.writes { p { (super::human::writes(w)) } }
        p { (c.message) }
        @if let Some(d) = &c.difference {
            p { (d.message) }
            div.sides {
                div.site { "reference" pre { (d.reference) } }
                div.site { "optimized" pre { (d.optimized) } }
            }
        }
        div.wide { table {
            tr { th { "output" } th { "reference" } th { "optimized" } }
            tr {
                td.m { (c.output) (index(&c.element)) }
                td.m { (value(&c.reference)) }
                td.m { (value(&c.optimized)) }
            }
        } }
        @if let Some(m) = &c.machine {
            p { (m.message) "." }
        }
        @if all > 0 {
            div.wide { table {
                tr { th { "input" } th { "value" } }
                @for (name, i) in inputs.take(INPUTS) {
                    tr { td.m { (name) (index(&i.element)) } td.m { (i.value.text) } }
                }
            } }
            p.dim { (all.min(INPUTS)) " of " (all) " inputs that are not 0; every other element is 0." }
        }
    }
}

fn index(element: &[u64]) -> String {
    let parts: Vec<String> = element.iter().map(u64::to_string).collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!("[{}]", parts.join(",")),
    }
}

fn outputs(all: &[Output]) -> Markup {
    html! {
        h2 { "Outputs" }
        div.wide { table {
            tr { th { "output" } th.n { "elements" } th.n { "proved" } th {} }
            @for o in all {
                tr {
                    td.m { (o.name) }
                    td.n { (o.elements) }
                    td.n { (o.proved) }
                    td { progress value=(o.proved) max=(o.elements) {} }
                }
            }
        } }
    }
}

/// One list of findings, with its title and class.
fn findings<K: Kind>(
    all: &[Finding<K>],
    (title, class): (&str, &str),
    files: &mut Files,
) -> Markup {
    if all.is_empty() {
        return html! {};
    }
    html! {
        h2 { (title) }
        @for f in all.iter().take(FINDINGS) {
            div.finding.(class) {
                p {
                    span.v.(class) { (f.kind.name()) } " " (f.prefix()) (f.message)
                    @if f.count > 1 { " (" (f.count) " times)" }
                }
                @if let Some(hint) = &f.hint { p.dim { (hint) } }
                div.sides { @for s in &f.sites { (site(s, files)) } }
                (picture(&f.sites))
            }
        }
        @if all.len() > FINDINGS {
            p.dim { "... and " (all.len() - FINDINGS) " more in the JSON report." }
        }
    }
}

/// What one thread did, by row.
struct Column<'v> {
    steps: BTreeMap<i64, &'v Step>,
    /// The row of the place itself.
    here: Option<i64>,
}

impl<'v> Column<'v> {
    /// Rows are steps of the schedule, or counted from the place.
    fn new(site: &'v Site, from_place: bool) -> Column<'v> {
        // The last time that the thread is at the place is the one that is meant.
        let own = site.around.iter().rposition(|e| e.line == site.line);
        let zero = own.unwrap_or(site.around.len()) as i64;
        let row = |(i, e): (usize, &'v Step)| match from_place {
            true => (i as i64 - zero, e),
            false => (e.step as i64, e),
        };
        Column {
            here: own.map(|i| row((i, &site.around[i])).0),
            steps: site.around.iter().enumerate().map(row).collect(),
        }
    }

    /// The cell of a row.
    fn cell(&self, time: i64) -> Markup {
        let Some(e) = self.steps.get(&time) else {
            return html! { td.idle {} };
        };
        let class = match self.here == Some(time) {
            true => "here",
            false if e.barrier => "barrier",
            false => "access",
        };
        html! { td.(class) { code { (e.line) ": " (e.text) } } }
    }
}

/// Threads beside each other, time downwards: the accesses and barriers around each place.
fn picture(sites: &[Site]) -> Markup {
    let shown = sites.iter().filter(|s| !s.around.is_empty());
    let shown: Vec<&Site> = shown.take(COLUMNS).collect();
    let Some(first) = shown.first() else {
        return html! {};
    };
    // Steps are counted in each CTA: those of different ones are set side by side at the places.
    let apart = shown.iter().any(|s| s.cta != first.cta);
    let columns: Vec<Column> = shown.iter().map(|s| Column::new(s, apart)).collect();
    let times: BTreeSet<i64> = columns
        .iter()
        .flat_map(|c| c.steps.keys().copied())
        .collect();
    html! {
        div.wide { table.time {
            tr {
                th.n { @if !apart { "step" } }
                @for s in &shown {
                    th {
                        @if let (true, Some(cta)) = (apart, s.cta) { "CTA (" (triple(&cta)) "), " }
                        "thread (" @if let Some(t) = s.threads.first() { (triple(t)) } ")"
                    }
                }
            }
            @for time in times {
                tr {
                    td.n.dim { @if !apart { (time) } }
                    @for column in &columns { (column.cell(time)) }
                }
            }
        } }
    }
}

/// A place: its line in the source with the lines around it, and the line of the PTX.
fn site(s: &Site, files: &mut Files) -> Markup {
    let threads: Vec<String> = s
        .threads
        .iter()
        .take(NAMED)
        .map(|t| format!("({})", triple(t)))
        .collect();
    html! {
        div.site {
            code { (s.file) ":" (s.line) }
            @if let Some(source) = &s.source { (from(source)) }
            @if let Some(launch) = s.launch { " " span.dim { "launch " (launch) } }
            div {
                @if let Some(cta) = s.cta { "CTA (" (triple(&cta)) ") " }
                @if !threads.is_empty() {
                    "thread" @if s.threads.len() > 1 { "s" } " " (threads.join(" "))
                    @if s.threads.len() > NAMED { " ..." }
                    " "
                }
                span.dim { (s.what) }
            }
            (files.source(s))
            (files.lines((&s.file, s.line), &s.text))
        }
    }
}

fn from(source: &SourceLine) -> Markup {
    let (file, line) = source.own();
    html! {
        " " span.dim {
            "from " (file) ":" (line)
            @if (file, line) != (source.file.as_str(), source.line) {
                ", in " (source.file) ":" (source.line)
            }
        }
    }
}

/// The lines of files that were read, by name.
#[derive(Default)]
struct Files {
    kernels: HashMap<String, Option<Arc<Source>>>,
    sources: Sources,
}

impl Files {
    /// The lines around one of a kernel. A file that has changed since, so that the line is not `own`, says nothing about
    /// the place: then that alone is shown.
    fn lines(&mut self, (file, line): (&str, u32), own: &str) -> Markup {
        let read = |f: &String| {
            // A pipe or a device could hold the reader for ever.
            let is_file = std::fs::metadata(f).is_ok_and(|about| about.is_file());
            let text = is_file.then(|| std::fs::read(f).ok()).flatten()?;
            let source = Source::new(f.clone(), String::from_utf8_lossy(&text));
            source.ok().map(Arc::new)
        };
        let entry = self.kernels.entry(file.to_string());
        let source = entry.or_insert_with_key(read);
        match source.as_ref().filter(|s| s.line(line).trim() == own) {
            Some(source) => around(source, line),
            None => html! { pre { mark { (row(line, own)) } } },
        }
    }

    /// The lines around the place in its source.
    fn source(&mut self, site: &Site) -> Markup {
        let found = self.sources.of(site);
        let line = site.source.as_ref().map_or(0, |s| s.own().1);
        html! { @if let Some((source, _)) = found { (around(&source, line)) } }
    }
}

fn row(line: u32, text: &str) -> String {
    format!("{line:>5}  {text}")
}

fn around(source: &Source, line: u32) -> Markup {
    let first = line.saturating_sub(AROUND).max(1);
    let last = line.saturating_add(AROUND).min(source.lines());
    html! { pre { @for at in first..=last {
        @if at == line { mark { (row(at, source.line(at))) } } @else { (row(at, source.line(at))) "\n" }
    } } }
}

/// Where the kernels round to narrow formats.
fn precision(p: &Precision) -> Markup {
    if p.kernels.iter().all(|(_, groups)| groups.is_empty()) {
        return html! {};
    }
    html! {
        h2 { "Precision" }
        p.dim { "Roundings to less than f32 on the way to an output, which the answer does not see." }
        @if !p.differences.is_empty() {
            ul { @for m in &p.differences { li { (m.message) } } }
        }
        div.wide { table {
            tr {
                th {} th { "format" } th { "kind" } th { "then" } th.n { "executed" }
                th { "first of the places" }
            }
            @for (part, groups) in p.kernels.iter() {
                @for g in groups {
                    tr {
                        td { (part.name()) }
                        td { (g.format) }
                        td { (g.kind) }
                        td { (g.r#use) }
                        td.n { (g.executions) }
                        td { @if let Some(s) = g.sites.first() {
                            code { (s.file) ":" (s.line) " " (s.text) }
                        } }
                    }
                }
            }
        } }
    }
}

fn times(stats: &Stats) -> Markup {
    let t = &stats.seconds;
    let show = |s: f64| show_time(Duration::try_from_secs_f64(s).unwrap_or_default());
    html! {
        p.dim {
            "time: " (show(t.total)) " (parse " (show(t.parse)) ", simulate " (show(t.simulate))
            ", decide " (show(t.decide)) ")"
            @if let Some(runs) = stats.run_again() { "; runs made again: " (runs) }
        }
    }
}

/// A block or a grid, of which a question about every launch may leave components open.
fn shape(of: &[u32; 3]) -> String {
    let words = of.map(|n| {
        if n == 0 {
            "*".to_string()
        } else {
            n.to_string()
        }
    });
    words.join(",")
}

fn triple([x, y, z]: &[u32; 3]) -> String {
    format!("{x},{y},{z}")
}
