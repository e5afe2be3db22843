//! `volta init`: a manifest with one entry for each entry function, to be filled in.

use std::fmt::Write;

use crate::kernel::{Kernel, ParamKind};

use super::fit::show_type;
use super::usage::ParamUses;

/// The text of a manifest for kernels, each with the path of its file.
pub fn manifest(kernels: &[(String, Kernel)]) -> String {
    let mut out = String::from(HEAD);
    for (file, kernel) in kernels {
        // Writing to a string cannot fail.
        let _ = write_race(&mut out, file, kernel);
    }
    if let [(first, a), (second, b), ..] = kernels {
        let _ = write_check(&mut out, (first, a), (second, b));
    }
    out
}

const HEAD: &str = "\
# Checks of GPU kernels, run by `volta gate volta.toml`.
# Paths are relative to this file. Every key can stand in [defaults] or in an entry.

[defaults]
# threads = 128            # or block = [16, 16]; a kernel with .reqntid needs neither
# grid = 1                 # %nctaid; cta = 0 selects the CTA that is run
";

fn write_race(out: &mut String, file: &str, kernel: &Kernel) -> std::fmt::Result {
    writeln!(out, "\n[[race]]")?;
    writeln!(out, "name = {}", quote(&kernel.name))?;
    let (file, entry) = (quote(file), quote(&kernel.name));
    writeln!(out, "kernel = {{ file = {file}, entry = {entry} }}")?;
    write_launch(out, kernel)?;
    write_args(out, kernel)?;
    writeln!(out, "expect = \"clean\"")
}

fn write_check(
    out: &mut String,
    (first, a): (&String, &Kernel),
    (second, b): (&String, &Kernel),
) -> std::fmt::Result {
    writeln!(out, "\n[[check]]")?;
    writeln!(out, "name = {}", quote(&format!("{}-{}", a.name, b.name)))?;
    for (side, file, kernel) in [("reference", first, a), ("optimized", second, b)] {
        let (file, entry) = (quote(file), quote(&kernel.name));
        writeln!(out, "{side} = {{ file = {file}, entry = {entry} }}")?;
    }
    write_launch(out, a)?;
    write_args(out, a)?;
    writeln!(out, "expect = \"equivalent\"")
}

fn write_launch(out: &mut String, kernel: &Kernel) -> std::fmt::Result {
    match kernel.reqntid {
        Some(block) => writeln!(out, "# the block is {block:?}, from .reqntid"),
        None => writeln!(
            out,
            "threads = 128             # the block that it is launched with"
        ),
    }
}

fn write_args(out: &mut String, kernel: &Kernel) -> std::fmt::Result {
    let uses = ParamUses::of(kernel);
    for (i, p) in kernel.params.iter().enumerate() {
        let example = match p.kind {
            ParamKind::Int { pointer: true, .. } => "in:f32[128]",
            _ if uses.is_pointer(i, 0) => "in:f32[128]",
            ParamKind::Float(_) => "1.0",
            _ => "128",
        };
        let ty = show_type(p);
        writeln!(out, "# args.\"{i}\" = \"{example}\"  # {} is {ty}", p.name)?;
    }
    Ok(())
}

/// A string as TOML writes it.
fn quote(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}
