//! One page that holds everything: verdicts, times, the proof of each output, each defect with its
//! places side by side, the counterexample.
//!
//! The page loads nothing and runs nothing: styles stand inside, colours follow the reader's
//! preference, and columns fold into one on a narrow screen. Made from the JSON object, which
//! cached results have as well; the lines around a place are read from its file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use serde_json::Value;

use crate::gate::GateReport;

use super::escape::{plain, xml};
use super::human::show_time;
use super::{Answer, Failure};

/// Lines before and after a place.
const AROUND: usize = 4;
/// Inputs of a counterexample that are shown.
const INPUTS: usize = 200;
/// Threads of a picture.
const COLUMNS: usize = 4;
/// Findings of one list that are shown.
const FINDINGS: usize = 100;

const STYLE: &str = "\
:root{color-scheme:light dark;--bg:#fff;--fg:#1a1d21;--dim:#5b6470;--line:#d9dee4;--card:#f6f8fa;--good:#116329;--bad:#b3261e;--open:#8a5a00;--mark:#fff1c2}\
@media(prefers-color-scheme:dark){:root{--bg:#0f1318;--fg:#e4e8ec;--dim:#98a2ad;--line:#2b333c;--card:#171d24;--good:#5fd38a;--bad:#ff8a80;--open:#f0c05a;--mark:#4a3c10}}\
*{box-sizing:border-box}\
body{margin:0 auto;padding:1rem;max-width:76rem;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\
h1{font-size:1.4rem;margin:.2rem 0 1rem}h2{font-size:1.1rem;margin:1.4rem 0 .5rem}h3{font-size:1rem;margin:1rem 0 .3rem}\
code,pre,.m{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.85rem}\
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
    let mut page = Page::default();
    let command = text(&answer.object, "command");
    page.answer(answer, "h1");
    page.finish(&format!("volta {command}: {}", answer.verdict.name()))
}

/// The page of a usage or input error.
pub fn failure(command: &str, failure: &Failure) -> String {
    let mut page = Page::default();
    page.add(format_args!(
        "<h1><span class=\"v bad\">error</span></h1><pre>{}</pre>",
        xml(&plain(&failure.render()))
    ));
    page.finish(&format!("volta {command}: error"))
}

/// The page of a manifest.
pub fn gate(g: &GateReport) -> String {
    let mut page = Page::default();
    let failed = g.entries.len() - g.passed();
    let class = if failed == 0 { "good" } else { "bad" };
    page.add(format_args!(
        "<h1><span class=\"v {class}\">{} passed, {failed} failed</span></h1>",
        g.passed()
    ));
    page.add(format_args!(
        "<div class=\"wide\"><table><tr><th>entry</th><th>verdict</th><th>expected</th><th class=\"n\">time</th></tr>"
    ));
    for (i, e) in g.entries.iter().enumerate() {
        let verdict = e.result.as_ref().map_or("error", |a| a.verdict.name());
        page.add(format_args!(
            "<tr><td><a href=\"#e{i}\">{}</a></td><td class=\"{}\">{verdict}</td><td>{}</td><td class=\"n\">{}</td></tr>",
            xml(&e.name),
            if e.ok { "good" } else { "bad" },
            xml(&e.expect),
            show_time(e.time)
        ));
    }
    page.add(format_args!("</table></div>"));
    for (i, e) in g.entries.iter().enumerate() {
        let open = if e.ok { "" } else { " open" };
        let name = xml(&e.name);
        page.add(format_args!("<details id=\"e{i}\"{open}><summary>{name}"));
        if let Some(why) = &e.why {
            page.add(format_args!(": <span class=\"bad\">{}</span>", xml(why)));
        }
        page.add(format_args!("</summary>"));
        match &e.result {
            Ok(answer) => {
                page.answer(answer, "h2");
            }
            Err(failure) => {
                let text = xml(&plain(&failure.render()));
                page.add(format_args!("<div class=\"wide\"><pre>{text}</pre></div>"));
            }
        }
        page.add(format_args!("</details>"));
    }
    page.finish("volta gate")
}

fn text<'v>(v: &'v Value, key: &str) -> &'v str {
    v[key].as_str().unwrap_or("")
}

fn list<'v>(v: &'v Value, key: &str) -> &'v [Value] {
    v[key].as_array().map_or(&[], Vec::as_slice)
}

fn triple(v: &Value) -> String {
    let parts: Vec<String> = v
        .as_array()
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .map(Value::to_string)
        .collect();
    parts.join(",")
}

/// What one thread did, by row.
struct Column<'v> {
    steps: BTreeMap<i64, &'v Value>,
    /// The row of the place itself.
    here: Option<i64>,
}

impl<'v> Column<'v> {
    /// Rows are steps of the schedule, or counted from the place.
    fn new(site: &'v Value, from_place: bool) -> Column<'v> {
        let around = list(site, "around");
        // The last time that the thread is at the place is the one that is meant.
        let own = around.iter().rposition(|e| e["line"] == site["line"]);
        let zero = own.unwrap_or(around.len()) as i64;
        let row = |(i, e): (usize, &'v Value)| match from_place {
            true => Some((i as i64 - zero, e)),
            false => Some((e["step"].as_i64()?, e)),
        };
        let here = own.and_then(|i| row((i, &around[i]))).map(|r| r.0);
        Column {
            steps: around.iter().enumerate().filter_map(row).collect(),
            here,
        }
    }
}

#[derive(Default)]
struct Page {
    out: String,
    files: HashMap<String, Option<Vec<String>>>,
}

impl Page {
    fn add(&mut self, text: std::fmt::Arguments) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "{text}");
    }

    fn finish(self, title: &str) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
            xml(title),
            self.out
        )
    }

    /// An answer, with that of each instance below it.
    fn answer(&mut self, answer: &Answer, tag: &str) {
        self.verdict(answer, tag);
        if answer.parts.is_empty() {
            self.body(&answer.object);
        }
        for part in &answer.parts {
            let Ok(of) = &part.result else { continue };
            let open = if of.verdict == answer.verdict {
                " open"
            } else {
                ""
            };
            let (sizes, name) = (part.sizes.to_string(), of.verdict.name());
            let sizes = xml(&sizes);
            self.add(format_args!(
                "<details{open}><summary>{sizes}: {name}</summary>"
            ));
            self.body(&of.object);
            self.add(format_args!("</details>"));
        }
    }

    fn verdict(&mut self, answer: &Answer, tag: &str) {
        let class = match answer.verdict.exit() {
            0 => "good",
            1 => "bad",
            _ => "open",
        };
        let name = answer.verdict.name();
        let error = match answer.object["probabilistic"]["error"].as_str() {
            Some(error) if answer.verdict == super::Verdict::Equivalent => {
                format!(
                    " <span class=\"dim\">with a probability of error of at most {}</span>",
                    xml(error)
                )
            }
            _ => String::new(),
        };
        self.add(format_args!(
            "<{tag}><span class=\"v {class}\">{name}</span>{error}</{tag}>"
        ));
    }

    /// Everything below the verdict.
    fn body(&mut self, o: &Value) {
        self.kernels(o);
        self.counterexample(&o["counterexample"]);
        self.outputs(list(o, "outputs"));
        self.findings(list(o, "defects"), "Defects", "bad");
        self.findings(list(o, "unknown"), "Open questions", "open");
        self.findings(list(o, "warnings"), "Warnings", "");
        let assumptions = list(o, "assumptions");
        if !assumptions.is_empty() {
            self.add(format_args!("<h2>Assumptions</h2><ul>"));
            for a in assumptions {
                self.add(format_args!("<li>{}</li>", xml(a.as_str().unwrap_or(""))));
            }
            self.add(format_args!("</ul>"));
        }
        self.precision(&o["precision"]);
        self.times(&o["stats"]);
    }

    /// Where the kernels round to narrow formats.
    fn precision(&mut self, p: &Value) {
        let sides = ["kernel", "reference", "optimized"];
        if sides.iter().all(|s| list(p, s).is_empty()) {
            return;
        }
        self.add(format_args!(
            "<h2>Precision</h2><p class=\"dim\">Roundings to less than f32 on the way to an output, which the answer does not see.</p>"
        ));
        let more = list(p, "differences");
        if !more.is_empty() {
            self.add(format_args!("<ul>"));
            for m in more {
                self.add(format_args!("<li>{}</li>", xml(text(m, "message"))));
            }
            self.add(format_args!("</ul>"));
        }
        self.add(format_args!(
            "<div class=\"wide\"><table><tr><th></th><th>format</th><th>kind</th><th>then</th><th class=\"n\">executed</th><th>first of the places</th></tr>"
        ));
        for side in sides {
            for g in list(p, side) {
                let site = &list(g, "sites").first().unwrap_or(&Value::Null);
                self.add(format_args!(
                    "<tr><td>{side}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td><code>{}:{} {}</code></td></tr>",
                    text(g, "format"),
                    text(g, "kind"),
                    text(g, "use"),
                    g["executions"],
                    xml(text(site, "file")),
                    site["line"],
                    xml(text(site, "text"))
                ));
            }
        }
        self.add(format_args!("</table></div>"));
    }

    fn kernels(&mut self, o: &Value) {
        self.add(format_args!(
            "<div class=\"wide\"><table class=\"kernels\"><tr><th></th><th>kernel</th><th>block</th><th>grid</th><th>CTAs covered</th></tr>"
        ));
        let scope = &o["scope"];
        let sides = [
            ("kernel", "ctas"),
            ("reference", "reference_ctas"),
            ("optimized", "optimized_ctas"),
        ];
        for (side, key) in sides {
            let k = &o[side];
            if k.is_null() {
                continue;
            }
            let ctas = list(scope, key);
            let covered = match ctas {
                _ if scope["whole_grid"] == true => format!("all {}", ctas.len()),
                some => {
                    let mut names: Vec<String> = some.iter().take(6).map(triple).collect();
                    if some.len() > 6 {
                        names.push(format!("... ({} in all)", some.len()));
                    }
                    names.join(" ")
                }
            };
            self.add(format_args!(
                "<tr><td>{side}</td><td><code>{}</code> <span class=\"dim\">{}</span></td><td>{}</td><td>{}</td><td>{covered}</td></tr>",
                xml(text(k, "entry")),
                xml(text(k, "file")),
                triple(&k["block"]),
                triple(&k["grid"])
            ));
        }
        self.add(format_args!("</table></div>"));
    }

    fn counterexample(&mut self, c: &Value) {
        if c.is_null() {
            return;
        }
        let message = xml(text(c, "message"));
        self.add(format_args!("<h2>Counterexample</h2><p>{message}</p>"));
        let difference = &c["difference"];
        if !difference.is_null() {
            let why = xml(text(difference, "message"));
            self.add(format_args!("<p>Difference: {why}</p>"));
            self.add(format_args!("<div class=\"wide\"><table>"));
            for side in ["reference", "optimized"] {
                let formula = xml(text(difference, side));
                self.add(format_args!(
                    "<tr><td>{side}</td><td class=\"m\">{formula}</td></tr>"
                ));
            }
            self.add(format_args!("</table></div>"));
        }
        self.add(format_args!(
            "<div class=\"wide\"><table><tr><th></th><th>value</th></tr>"
        ));
        for side in ["reference", "optimized"] {
            let value = match c[side]["text"].as_str() {
                Some(value) => xml(value),
                None => "<span class=\"dim\">none</span>".to_string(),
            };
            self.add(format_args!(
                "<tr><td>{}[{}], {side}</td><td class=\"m\">{value}</td></tr>",
                xml(text(c, "output")),
                triple(&c["element"])
            ));
        }
        let mut shown = 0;
        let inputs = c["inputs"].as_object();
        let all: usize = inputs
            .into_iter()
            .flatten()
            .map(|(_, v)| v.as_array().map_or(0, Vec::len))
            .sum();
        for (name, values) in inputs.into_iter().flatten() {
            for i in values.as_array().into_iter().flatten() {
                if shown == INPUTS {
                    break;
                }
                shown += 1;
                let element = triple(&i["element"]);
                let index = match element.is_empty() {
                    true => String::new(),
                    false => format!("[{element}]"),
                };
                self.add(format_args!(
                    "<tr><td class=\"m\">{}{index}</td><td class=\"m\">{}</td></tr>",
                    xml(name),
                    xml(text(&i["value"], "text"))
                ));
            }
        }
        self.add(format_args!("</table></div>"));
        if all > 0 {
            self.add(format_args!(
                "<p class=\"dim\">{shown} of {all} inputs that are not 0; every other element is 0.</p>"
            ));
        }
    }

    fn outputs(&mut self, outputs: &[Value]) {
        if outputs.is_empty() {
            return;
        }
        self.add(format_args!(
            "<h2>Outputs</h2><div class=\"wide\"><table><tr><th>output</th><th class=\"n\">elements</th><th class=\"n\">proved</th><th></th></tr>"
        ));
        for o in outputs {
            let (all, proved) = (&o["elements"], &o["proved"]);
            self.add(format_args!(
                "<tr><td class=\"m\">{}</td><td class=\"n\">{all}</td><td class=\"n\">{proved}</td><td><progress value=\"{proved}\" max=\"{all}\"></progress></td></tr>",
                xml(text(o, "name"))
            ));
        }
        self.add(format_args!("</table></div>"));
    }

    fn findings(&mut self, findings: &[Value], title: &str, class: &str) {
        if findings.is_empty() {
            return;
        }
        self.add(format_args!("<h2>{title}</h2>"));
        for f in findings.iter().take(FINDINGS) {
            let side = match text(f, "kernel") {
                "" | "kernel" => String::new(),
                side => format!("{side}: "),
            };
            let count = f["count"].as_u64().filter(|n| *n > 1);
            let count = count.map_or(String::new(), |n| format!(" ({n} times)"));
            self.add(format_args!(
                "<div class=\"finding {class}\"><p><span class=\"v {class}\">{}</span> {side}{}{count}</p><div class=\"sides\">",
                xml(text(f, "kind")),
                xml(text(f, "message"))
            ));
            for s in list(f, "sites") {
                self.site(s);
            }
            self.add(format_args!("</div>"));
            self.picture(list(f, "sites"));
            self.add(format_args!("</div>"));
        }
        if findings.len() > FINDINGS {
            let more = findings.len() - FINDINGS;
            self.add(format_args!(
                "<p class=\"dim\">... and {more} more in the JSON report.</p>"
            ));
        }
    }

    /// Threads beside each other, time downwards: the accesses and barriers around each place.
    fn picture(&mut self, sites: &[Value]) {
        let shown: Vec<&Value> = sites
            .iter()
            .filter(|s| !list(s, "around").is_empty())
            .take(COLUMNS)
            .collect();
        if shown.is_empty() {
            return;
        }
        // Steps are counted in each CTA: those of different ones are set side by side at the places.
        let apart = shown.iter().any(|s| s["cta"] != shown[0]["cta"]);
        let columns: Vec<Column> = shown.iter().map(|s| Column::new(s, apart)).collect();
        let times: BTreeSet<i64> = columns
            .iter()
            .flat_map(|c| c.steps.keys().copied())
            .collect();
        let head = if apart { "" } else { "step" };
        self.add(format_args!(
            "<div class=\"wide\"><table class=\"time\"><tr><th class=\"n\">{head}</th>"
        ));
        for s in &shown {
            let thread = list(s, "threads").first().map(triple).unwrap_or_default();
            let cta = match apart {
                true => format!("CTA ({}), ", triple(&s["cta"])),
                false => String::new(),
            };
            self.add(format_args!("<th>{cta}thread ({thread})</th>"));
        }
        self.add(format_args!("</tr>"));
        for time in times {
            let row = if apart {
                String::new()
            } else {
                time.to_string()
            };
            self.add(format_args!("<tr><td class=\"n dim\">{row}</td>"));
            for column in &columns {
                let Some(e) = column.steps.get(&time) else {
                    self.add(format_args!("<td class=\"idle\"></td>"));
                    continue;
                };
                let class = match column.here == Some(time) {
                    true => "here",
                    false if e["barrier"] == true => "barrier",
                    false => "access",
                };
                self.add(format_args!(
                    "<td class=\"{class}\"><code>{}: {}</code></td>",
                    e["line"],
                    xml(text(e, "text"))
                ));
            }
            self.add(format_args!("</tr>"));
        }
        self.add(format_args!("</table></div>"));
    }

    /// A place with the lines around it.
    fn site(&mut self, s: &Value) {
        let file = text(s, "file").to_string();
        let line = s["line"].as_u64().unwrap_or(1) as usize;
        let mut who = String::new();
        if !s["cta"].is_null() {
            who = format!("CTA ({}) ", triple(&s["cta"]));
        }
        let threads = list(s, "threads");
        if !threads.is_empty() {
            let names: Vec<String> = threads
                .iter()
                .take(8)
                .map(|t| format!("({})", triple(t)))
                .collect();
            let more = if threads.len() > 8 { " ..." } else { "" };
            let s = if threads.len() > 1 { "s" } else { "" };
            let _ = write!(who, "thread{s} {}{more}", names.join(" "));
        }
        let mut head = format!("<code>{}:{line}</code>", xml(&file));
        if let (Some(f), Some(l)) = (s["source"]["file"].as_str(), s["source"]["line"].as_u64()) {
            let _ = write!(head, " <span class=\"dim\">from {}:{l}</span>", xml(f));
        }
        let what = xml(text(s, "what"));
        let mut excerpt = String::new();
        let lines = self.files.entry(file).or_insert_with_key(|f| {
            // A pipe or a device could hold the reader for ever.
            let is_file = std::fs::metadata(f).is_ok_and(|about| about.is_file());
            let text = is_file.then(|| std::fs::read(f).ok()).flatten()?;
            let text = String::from_utf8_lossy(&text).into_owned();
            Some(text.lines().map(str::to_string).collect())
        });
        // A file that has changed since says nothing about the place.
        let own = text(s, "text");
        let lines = lines
            .as_ref()
            .filter(|l| l.get(line.wrapping_sub(1)).is_some_and(|l| l.trim() == own));
        match lines {
            Some(lines) => {
                let first = line.saturating_sub(AROUND + 1);
                for (i, l) in lines.iter().enumerate().skip(first).take(2 * AROUND + 1) {
                    let row = format!("{:>5}  {}", i + 1, xml(l));
                    let _ = match i + 1 == line {
                        true => write!(excerpt, "<mark>{row}</mark>"),
                        false => writeln!(excerpt, "{row}"),
                    };
                }
            }
            None => {
                let _ = write!(excerpt, "<mark>{line:>5}  {}</mark>", xml(own));
            }
        }
        self.add(format_args!(
            "<div class=\"site\">{head}<div>{} <span class=\"dim\">{what}</span></div><pre>{excerpt}</pre></div>",
            xml(&who)
        ));
    }

    fn times(&mut self, stats: &Value) {
        let seconds = &stats["seconds"];
        let show = |key: &str| {
            let s = seconds[key].as_f64().unwrap_or(0.0).max(0.0);
            let d = std::time::Duration::try_from_secs_f64(s);
            show_time(d.unwrap_or_default())
        };
        self.add(format_args!(
            "<p class=\"dim\">time: {} (parse {}, simulate {}, decide {})</p>",
            show("total"),
            show("parse"),
            show("simulate"),
            show("decide")
        ));
    }
}
