//! `volta dump`: a stage of the pipeline as text for people. The formats are not parsed back,
//! except that the syntax tree is printed as PTX.

use std::fmt::Write;
use std::time::Instant;

use crate::check::limits;
use crate::input::{self, File, Files};
use crate::ptx;
use crate::report::Failure;
use crate::sim::{self, Side};
use crate::spec::{self, Layers, Resolved, Which};

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

/// Every byte range that one CTA writes, with its term, and below them the terms that these are
/// made of, children first.
pub fn terms(layers: Layers, files: &Files) -> Result<String, Failure> {
    let start = Instant::now();
    let options = layers.options()?;
    let spec = layers.kernel(Which::Kernel)?;
    let lowered = input::lower(files, &spec)?;
    let setup = spec::resolve(&[(&lowered.kernel, &spec)], &[])?;
    let Resolved {
        launch,
        bindings,
        arrays,
    } = &setup.kernels[0];
    let limits = limits(&options, start);
    let side = Side::Reference;
    let outcome = sim::run(&lowered.kernel, launch, bindings, arrays, side, &limits);
    let mut out = String::new();
    // Writing to a string cannot fail.
    for (array, writes) in &outcome.writes {
        for (offset, term) in writes {
            let _ = writeln!(out, "{}+{offset} = t{}", arrays[*array].name, term.0);
        }
    }
    for i in 0..outcome.store.len() {
        let id = crate::term::TermId(i as u32);
        let _ = writeln!(out, "t{i} = {:?}", outcome.store.get(id));
    }
    Ok(out)
}
