//! `volta dump`: a stage of the pipeline as text for people. The formats are not parsed back,
//! except that the syntax tree is printed as PTX.

use std::fmt::Write;
use std::time::Instant;

use crate::check::limits;
use crate::input::{self, File, Files};
use crate::kernel::Fmt;
use crate::norm::Normalizer;
use crate::ptx;
use crate::report::Failure;
use crate::sim::{self, Outcome, Side};
use crate::spec::{self, Arrays, Layers, Origin, Which};
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
    Ok(out)
}

/// What one CTA writes, in canonical form.
pub fn canon(layers: Layers, files: &Files) -> Result<String, Failure> {
    let (outcome, arrays) = run(layers, files)?;
    let name =
        |a: ArrayId, fmt: Fmt, offset: u64| element(&arrays, a, offset, fmt.bits() as u64 / 8);
    let mut normalizer = Normalizer::new(&outcome.store, Default::default());
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
    Ok(out)
}

fn run(layers: Layers, files: &Files) -> Result<(Outcome, Arrays), Failure> {
    let start = Instant::now();
    let options = layers.options()?;
    let spec = layers.kernel(Which::Kernel)?;
    let lowered = input::lower(files, &spec)?;
    let mut setup = spec::resolve(&[(&lowered.kernel, &spec)], &[])?;
    let resolved = setup.kernels.remove(0);
    let limits = limits(&options, start);
    let outcome = sim::run(
        &lowered.kernel,
        &resolved.launch,
        &resolved.bindings,
        &resolved.arrays,
        Side::Reference,
        &limits,
    );
    Ok((outcome, resolved.arrays))
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
    let info = &arrays[array];
    match info.origin {
        Origin::Scalar if offset == 0 => info.name.clone(),
        _ if bytes > 0 && offset.is_multiple_of(bytes) => {
            format!("{}[{}]", info.name, offset / bytes)
        }
        _ => format!("{}+{offset}", info.name),
    }
}
