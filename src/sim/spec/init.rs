//! `volta init`: a manifest with one entry for each entry function, to be filled in.

use std::fmt::Write;

use crate::kernel::usage::param_uses;
use crate::kernel::{Kernel, NumTy, ParamKind};

use crate::diag::foreign::toml as quote;

use super::ElemTy;
use super::fit::show_type;
use super::usage::ParamUses;

/// The text of a manifest for kernels, each with the path of its file.
pub fn manifest(kernels: &[(String, Kernel)]) -> String {
    let mut out = String::from(HEAD);
    let mut names = EntryNames::default();
    for (file, kernel) in kernels {
        let name = names.unique(&kernel.name, file);
        // Writing to a string cannot fail.
        let _ = write_race(&mut out, &name, file, kernel);
    }
    if let [(first, a), (second, b), ..] = kernels {
        let name = names.unique(&format!("{}-{}", a.name, b.name), second);
        let _ = write_check(&mut out, &name, (first, a), (second, b));
    }
    out
}

/// Names of entries, no two of which may be the same.
#[derive(Default)]
struct EntryNames(std::collections::HashSet<String>);

impl EntryNames {
    /// A name, with that of the file and then a number behind it where it is taken.
    fn unique(&mut self, name: &str, file: &str) -> String {
        let stem = std::path::Path::new(file).file_stem();
        let longer = format!("{name}-{}", stem.unwrap_or_default().to_string_lossy());
        let numbered = (2u64..).map(|n| format!("{longer}-{n}"));
        let mut tries = [name.to_string(), longer.clone()]
            .into_iter()
            .chain(numbered);
        let free = tries.find(|t| !self.0.contains(t)).unwrap_or_default();
        self.0.insert(free.clone());
        free
    }
}

const HEAD: &str = "\
# Checks of GPU kernels, run by `volta gate volta.toml`.
# Paths are relative to this file. Every key can stand in [defaults] or in an entry.
# What stands in a comment is a choice: fill it in, or leave it out.

[defaults]
# threads = N              # or block = [X, Y]; a kernel with .reqntid needs neither
# grid = 1                 # %nctaid: every CTA of it is run; cta = 0 runs that one instead
# dynamic-shared = 49152   # bytes of dynamic shared memory
# deny = [\"narrower\"]     # kinds of warnings that fail an entry; `volta explain` lists them
# timeout = 60             # seconds for an entry; memory-limit = 4_000_000_000 bytes
";

fn write_race(out: &mut String, name: &str, file: &str, kernel: &Kernel) -> std::fmt::Result {
    writeln!(out, "\n[[race]]")?;
    writeln!(out, "name = {}", quote(name))?;
    let (file, entry) = (quote(file), quote(&kernel.name));
    writeln!(out, "kernel = {{ file = {file}, entry = {entry} }}")?;
    write_launch(out, kernel)?;
    write_args(out, kernel)?;
    writeln!(out, "expect = \"clean\"")
}

fn write_check(
    out: &mut String,
    name: &str,
    (first, a): (&String, &Kernel),
    (second, b): (&String, &Kernel),
) -> std::fmt::Result {
    writeln!(
        out,
        "\n# Two kernels that must compute the same, one of them the reference:"
    )?;
    writeln!(out, "# [[check]]\n# name = {}", quote(name))?;
    for (side, file, kernel) in [("reference", first, a), ("optimized", second, b)] {
        let (file, entry) = (quote(file), quote(&kernel.name));
        writeln!(out, "# {side} = {{ file = {file}, entry = {entry} }}")?;
    }
    write_launch(out, a)?;
    write_args(out, a)?;
    writeln!(out, "# expect = \"equivalent\"")
}

fn write_launch(out: &mut String, kernel: &Kernel) -> std::fmt::Result {
    match kernel.reqntid {
        Some(block) => writeln!(out, "# the block is {block:?}, from .reqntid"),
        None => {
            let most = kernel.maxntid.map(|n| format!(", at most {n} threads"));
            let most = most.unwrap_or_default();
            writeln!(
                out,
                "# threads = N              # the block that it is launched with{most};"
            )?;
            writeln!(out, "# block = [X, Y]           # or its sizes")
        }
    }
}

fn write_args(out: &mut String, kernel: &Kernel) -> std::fmt::Result {
    let uses = ParamUses::of(kernel);
    for (i, p) in kernel.params.iter().enumerate() {
        let example = match p.kind {
            ParamKind::Int { pointer: true, .. } => array(kernel, i),
            _ if uses.is_pointer(i, 0) => array(kernel, i),
            _ => "VALUE".to_string(),
        };
        let ty = show_type(p);
        writeln!(out, "# args.\"{i}\" = \"{example}\"  # {} is {ty}", p.name)?;
    }
    Ok(())
}

/// The array that a pointer is, as far as its accesses tell: its size is left to fill in.
fn array(kernel: &Kernel, param: usize) -> String {
    let (mut read, mut written, mut ty) = (false, false, None);
    let uses = param_uses(kernel);
    for u in uses.iter().filter(|u| u.param == Some(param as u32)) {
        read |= !u.reads.is_empty();
        written |= !u.writes.is_empty();
        let mut accesses = u.reads.iter().chain(&u.writes);
        ty = ty.or_else(|| accesses.find(|a| !a.untyped).map(|a| a.ty));
    }
    let role = match (read, written) {
        (_, false) => "in",
        (false, true) => "out",
        (true, true) => "inout",
    };
    let elem = match ty {
        Some(NumTy::Float(f)) => ElemTy::Float(f),
        Some(NumTy::Int(t)) => ElemTy::Int {
            width: t.width,
            signed: t.signed,
        },
        None => return format!("{role}:TYPE[N]"),
    };
    // Not every format that an instruction has is one that a binding can name.
    let named = |e: &&(&str, ElemTy)| e.1 == elem;
    let name = ElemTy::NAMES.iter().find(named).map_or("TYPE", |e| e.0);
    format!("{role}:{name}[N]")
}
