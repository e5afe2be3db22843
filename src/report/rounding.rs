//! The table of what rounding does, for people and as a page.

use std::fmt::{self, Write};

use anstyle::Style;
use maud::{Markup, html};

use super::place::place;
use crate::answer::rounding::{
    Bound, Close, Error, Measured, Rounding, Spread, downwards, upwards,
};
use crate::answer::{CertificateMade, Determinism, Part};
use crate::diag::foreign::{sentence, visible};

const BOLD: Style = Style::new().bold();

/// Instructions that are named.
const SHOWN: usize = 4;

/// Writes the table.
pub(super) fn write(out: &mut String, r: &Rounding) -> fmt::Result {
    let inputs = if r.samples == 1 { "input" } else { "inputs" };
    writeln!(
        out,
        "\n{BOLD}rounding{BOLD:#}: errors against the real value in ulps, the largest and the root of the mean square, on {} {inputs} (seed {})",
        r.samples, r.seed
    )?;
    for o in &r.outputs {
        write_output(out, o)?;
    }
    for (part, d) in r.deterministic.iter() {
        write!(
            out,
            "  same bits for every schedule of the {}: ",
            part.name()
        )?;
        write_answer(out, d)?;
    }
    if let Some(why) = &r.left_out {
        writeln!(out, "  measured: {}", sentence(why))?;
    }
    Ok(())
}

/// Writes where the certificate is, or why there is none.
pub(super) fn write_certificate(out: &mut String, c: &CertificateMade) -> fmt::Result {
    let (file, none) = (c.file.as_deref(), c.none.as_deref());
    match (file, c.regions) {
        (Some(file), Some(regions)) => writeln!(
            out,
            "\n{BOLD}certificate{BOLD:#}: {}, with samples of {regions} regions",
            visible(file)
        ),
        _ => writeln!(
            out,
            "\n{BOLD}certificate{BOLD:#}: none is written: {}",
            sentence(none.unwrap_or("it was not asked for by a file"))
        ),
    }
}

/// Writes whether the bits are the same for every schedule.
pub(super) fn write_determinism(out: &mut String, d: &Determinism) -> fmt::Result {
    write!(out, "\n{BOLD}deterministic{BOLD:#}: ")?;
    write_answer(out, d)
}

fn write_answer(out: &mut String, d: &Determinism) -> fmt::Result {
    writeln!(out, "{}: {}", d.answer.name(), sentence(&d.because))?;
    for s in d.sites.iter().take(SHOWN) {
        writeln!(out, "  {}", place(s))?;
    }
    if d.sites.len() > SHOWN {
        writeln!(out, "  ... and {} more", d.sites.len() - SHOWN)?;
    }
    if let Some(s) = &d.schedules {
        let index: Vec<String> = s.element.iter().map(u64::to_string).collect();
        writeln!(
            out,
            "  {}[{}] is {} with the CTAs in order, {} with {} (input: {})",
            visible(&s.output),
            index.join(","),
            s.first.text,
            s.second.text,
            sentence(&s.order),
            sentence(&s.input)
        )?;
    }
    Ok(())
}

fn write_output(out: &mut String, o: &Measured) -> fmt::Result {
    let title = format!(
        "{} ({}, {} elements)",
        visible(&o.name),
        o.r#type,
        o.elements
    );
    let width = o
        .inputs
        .iter()
        .map(|k| k.name.len() + 2)
        .max()
        .unwrap_or(0)
        .max(title.len());
    let columns: Vec<&str> = o.errors.iter().map(|(part, _)| part.name()).collect();
    write!(out, "  {BOLD}{title:<width$}")?;
    for c in &columns {
        write!(out, "  {c:>22}")?;
    }
    writeln!(out, "  assert_close{BOLD:#}")?;
    for k in &o.inputs {
        write!(out, "    {:<1$}", k.name, width - 2)?;
        for (_, s) in k.errors.iter() {
            write!(out, "  {:>22}", cell(s))?;
        }
        match &k.close {
            Some(c) => writeln!(out, "  {}", close(c))?,
            None => writeln!(out)?,
        }
    }
    for (part, e) in o.errors.iter() {
        write_worst(out, part.name(), e)?;
    }
    Ok(())
}

fn write_worst(out: &mut String, part: &str, e: &Error) -> fmt::Result {
    if let Some(w) = &e.worst {
        let index: Vec<String> = w.element.iter().map(u64::to_string).collect();
        writeln!(
            out,
            "    {part}: at worst {} ulps, at [{}] on {} inputs: {} where the real value is {}",
            digits(e.spread.ulps),
            index.join(","),
            w.input,
            w.value.text,
            w.exact.text
        )?;
    }
    if let Some(b) = &e.bound {
        writeln!(out, "    {part}: {}", bound(b))?;
    }
    for s in e.operations.iter().take(SHOWN) {
        let (file, line) = match &s.site.source {
            Some(source) => source.own(),
            None => (s.site.file.as_str(), s.site.line),
        };
        writeln!(
            out,
            "      {:>3.0}% from {}:{line}: {}",
            100.0 * s.share,
            visible(file),
            visible(&s.site.text)
        )?;
    }
    Ok(())
}

/// What holds for all inputs.
fn bound(b: &Bound) -> String {
    let mut text = format!(
        "for all inputs: {} roundings one after the other",
        b.roundings
    );
    if let Some(part) = b.of_terms {
        let _ = write!(
            text,
            ", an error of at most {} of the sum of the magnitudes of its terms",
            upwards(part)
        );
        if let Some(rest) = b.rest.filter(|r| *r > 0.0) {
            let _ = write!(text, " and {}", upwards(rest));
        }
        if let Some(within) = b.within {
            let _ = write!(
                text,
                ", where no input is above {} in magnitude",
                downwards(within)
            );
        }
    }
    match (b.absolute, &b.left_out) {
        (Some(most), _) => {
            let _ = write!(text, "; in the ranges assumed at most {}", upwards(most));
        }
        (None, Some(why)) => {
            let _ = write!(text, "; in the ranges assumed nothing more: {why}");
        }
        (None, None) => {}
    }
    text
}

/// An error as one cell.
fn cell(s: &Spread) -> String {
    let mut text = format!("{} ({})", digits(s.ulps), digits(s.mean_ulps));
    if s.overflows > 0 {
        let _ = write!(text, ", {} inf", s.overflows);
    }
    if s.underflows > 0 {
        let _ = write!(text, ", {} zero", s.underflows);
    }
    if s.nans > 0 {
        let _ = write!(text, ", {} NaN", s.nans);
    }
    text
}

fn close(c: &Close) -> String {
    let rtol = |x: f64| format!("{x:.1e}");
    match (c.same_bits, c.passes, c.least_rtol, c.least_atol) {
        (true, true, ..) => "passes, the same bits".into(),
        (_, true, Some(least), _) if least > 0.0 => format!("passes, from rtol {} on", rtol(least)),
        (_, true, ..) => "passes".into(),
        (_, _, Some(r), Some(a)) => format!("fails; needs rtol {} or atol {}", rtol(r), rtol(a)),
        (_, _, None, Some(a)) => format!("fails; needs atol {}", rtol(a)),
        _ => "fails: infinite or NaN".into(),
    }
}

/// Two digits or so.
fn digits(x: f64) -> String {
    match x {
        0.0 => "0".into(),
        x if !(0.01..1e6).contains(&x) => format!("{x:.1e}"),
        x if x < 10.0 => format!("{x:.2}"),
        x => format!("{x:.0}"),
    }
}

/// Size of a plot.
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 160.0;

/// The tables and plots of a page.
pub(super) fn page(r: &Rounding) -> Markup {
    html! {
        h2 { "Rounding" }
        p { "Errors against the real value in ulps, the largest and the root of the mean square, on " (r.samples) " inputs." }
        @for o in &r.outputs {
            div.wide { table {
                tr {
                    th { (o.name) " (" (o.r#type) ")" }
                    @for (part, _) in o.errors.iter() { th { (part.name()) } }
                    th { "assert_close" }
                }
                @for k in &o.inputs {
                    tr {
                        td { (k.name) }
                        @for (_, s) in k.errors.iter() { td.m { (cell(s)) } }
                        td { @if let Some(c) = &k.close { (close(c)) } }
                    }
                }
            } }
            @for (part, e) in o.errors.iter() {
                @if let Some(b) = &e.bound { p.dim { (part.name()) ": " (bound(b)) "." } }
            }
            (plot(o))
        }
        @for (part, d) in r.deterministic.iter() {
            p { "Same bits for every schedule of the " (part.name()) ": " (d.answer.name()) ": " (d.because) "." }
        }
        @if let Some(why) = &r.left_out { p.dim { "Measured: " (why) "." } }
    }
}

/// The error of each element, by kernel.
fn plot(o: &Measured) -> Markup {
    let all = || o.by_element.iter().flat_map(|(_, v)| v.iter().copied());
    let top = all().fold(0.0, f64::max);
    let count = o.by_element.iter().map(|(_, v)| v.len()).max().unwrap_or(0);
    if count < 2 || top == 0.0 {
        return html! {};
    }
    let line = |v: &[f64]| {
        let point = |(i, y): (usize, &f64)| {
            let x = WIDTH * i as f64 / (count - 1) as f64;
            format!("{x:.1},{:.1}", HEIGHT * (1.0 - y / top))
        };
        let points: Vec<String> = v.iter().enumerate().map(point).collect();
        points.join(" ")
    };
    let dash = |part: Part| match part {
        Part::Reference => "4 3",
        _ => "none",
    };
    html! {
        p.dim { "Largest error of each element on normal and uniform inputs, up to " (digits(top)) " ulps; the reference dashed." }
        svg width=(WIDTH) height=(HEIGHT) viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) role="img" {
            @for (part, v) in o.by_element.iter() {
                polyline points=(line(v)) fill="none" stroke="currentColor" stroke-dasharray=(dash(part)) {}
            }
        }
    }
}
