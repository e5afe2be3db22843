//! `volta dump`: a stage of the pipeline as text for people. The formats are not parsed back,
//! except that the syntax tree is printed as PTX.

use std::fmt::Write;
use std::time::Instant;

use crate::alone::Alone;
use crate::answer::{Failure, Kind};
use crate::input::{self, File, Files, Lowered};
use crate::norm::{self, Normalizer};
use crate::ptx;
use crate::sim::{self, Outcome, Side};
use crate::spec::{self, Arrays, Layers, Origin};
use crate::term::show::{Bounds, show};
use crate::term::{ArrayId, Sort, Term, TermId};

/// The syntax tree of a file, as PTX.
pub fn ast(file: &File) -> String {
    ptx::print(&file.module)
}

/// The executable form of one entry, or of all.
pub fn kernel(file: &File, entry: Option<&str>) -> Result<String, Failure> {
    let kernels = match entry {
        Some(_) => vec![input::lower_entry(file, entry)?.kernel],
        None => input::lower_all(file)?,
    };
    let listings: Vec<String> = kernels.iter().map(|k| k.listing().to_string()).collect();
    Ok(listings.join("\n"))
}

/// What one CTA writes as formulas, and below it the terms that these are made of, children first.
pub fn terms(layers: Layers, files: &Files) -> Result<String, Failure> {
    let (outcome, arrays) = run(layers, files)?;
    let name = |a: ArrayId, offset: u64, bytes: u64| element(&arrays, a, offset, bytes);
    let mut out = String::new();
    // Writing to a string cannot fail.
    for (place, term) in writes(&outcome, &arrays) {
        let formula = show(&outcome.store, term, &name, Bounds::default());
        let _ = writeln!(out, "{place} = t{}  {formula}", term.0);
    }
    for i in 0..outcome.store.len() {
        let term = outcome.store.get(TermId(i as u32));
        let _ = writeln!(out, "t{i} = {term:?}");
    }
    write_findings(&mut out, &outcome);
    Ok(out)
}

/// What one CTA writes, in canonical form.
pub fn canon(layers: Layers, files: &Files) -> Result<String, Failure> {
    let start = Instant::now();
    let limits = norm::Limits {
        deadline: layers.options()?.limits(start).deadline,
        stopped: spec::limits::stopped,
        ..norm::Limits::default()
    };
    let (outcome, arrays) = run(layers, files)?;
    let name = |a: ArrayId, offset: u64, bytes: u64| element(&arrays, a, offset, bytes);
    let mut normalizer = Normalizer::new(&outcome.store, limits);
    let mut out = String::new();
    for (place, term) in writes(&outcome, &arrays) {
        let text = match outcome.store.get(term) {
            Term::OfReal { real, .. } => match normalizer.real(real) {
                Ok(form) => normalizer.display(form, &name),
                Err(e) => format!("({e})"),
            },
            _ => "(bits, not a float)".to_string(),
        };
        let _ = writeln!(out, "{place} = {text}");
    }
    write_findings(&mut out, &outcome);
    Ok(out)
}

/// The steps of one CTA in the order of execution: the warp, its lanes as a mask, the program
/// counter and the instruction. What the run found stands at the end.
pub fn trace(layers: Layers, files: &Files) -> Result<String, Failure> {
    let noting = sim::Noting {
        trace: true,
        ..sim::Noting::default()
    };
    let (outcome, _, lowered) = run_noting(layers, files, &noting)?;
    let listing = lowered.kernel.listing();
    let mut out = String::new();
    // Writing to a string cannot fail.
    for &(warp, mask, pc) in &outcome.trace {
        let text = listing.text(pc);
        let _ = writeln!(
            out,
            "warp {warp:<2} {mask:08x} {:>5}  {}",
            pc.0,
            text.trim()
        );
    }
    if outcome.trace.len() == sim::MAX_TRACE {
        let _ = writeln!(out, "... the trace is cut after {} steps", sim::MAX_TRACE);
    }
    write_findings(&mut out, &outcome);
    Ok(out)
}

/// What a run found, which may have ended it.
fn write_findings(out: &mut String, outcome: &Outcome) {
    let defects = outcome.defects.iter().map(|f| (f.kind.name(), &f.message));
    let unknown = outcome.unknowns.iter().map(|f| (f.kind.name(), &f.message));
    for (kind, message) in defects.chain(unknown) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{kind}: {message}");
    }
}

fn run(layers: Layers, files: &Files) -> Result<(Outcome, Arrays), Failure> {
    let (outcome, arrays, _) = run_noting(layers, files, &sim::Noting::default())?;
    Ok((outcome, arrays))
}

fn run_noting(
    layers: Layers,
    files: &Files,
    noting: &sim::Noting,
) -> Result<(Outcome, Arrays, Lowered), Failure> {
    let start = Instant::now();
    let options = layers.options()?;
    let Alone {
        lowered, mut setup, ..
    } = Alone::read(layers, None, files)?;
    let resolved = setup.kernels.remove(0);
    let limits = options.limits(start);
    let inputs = sim::Inputs {
        kernel: &lowered.kernel,
        launch: &resolved.launch,
        mode: resolved.mode,
        bindings: &resolved.bindings,
        arrays: &resolved.arrays,
        side: Side::Reference,
        limits: &limits,
    };
    let outcome = sim::run_noting(&inputs, noting);
    Ok((outcome, resolved.arrays, lowered))
}

/// The name of each place that was written, with its term.
fn writes(outcome: &Outcome, arrays: &Arrays) -> Vec<(String, TermId)> {
    let all = outcome.writes.iter();
    let each = all.flat_map(|(&array, writes)| {
        writes.iter().map(move |(&offset, &term)| {
            let bytes = match outcome.store.sort(term) {
                Sort::Bits(width) => u64::from(width) / 8,
                _ => 1,
            };
            (element(arrays, array, offset, bytes), term)
        })
    });
    each.collect()
}

fn element(arrays: &Arrays, array: ArrayId, offset: u64, bytes: u64) -> String {
    let Some(info) = arrays.0.get(array.0 as usize) else {
        return format!("place{}+{offset}", array.0);
    };
    match info.origin {
        Origin::Scalar if offset == 0 => info.name.clone(),
        _ if bytes > 0 && offset.is_multiple_of(bytes) => {
            format!("{}[{}]", info.name, offset / bytes)
        }
        _ => format!("{}+{offset}", info.name),
    }
}
