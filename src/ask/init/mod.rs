//! `volta init`: a manifest that runs as it is, with an entry for each kernel, to be corrected where it guesses.
//!
//! A kernel does not say how it is launched or what it is given. [`guess`] fills that in; whatever it guesses is marked in
//! the text, and stands there to be replaced. Of exactly two kernels the first is the reference of a check.
//!
//! Each entry is read back and bound before it is written, so that it can be run: one that cannot be is written as a comment,
//! with the reason. Not claimed: that an entry gets what it expects; that is for `volta gate` to say.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use crate::alone::bound;
use crate::answer::{ErrorKind, Failure};
use crate::diag::foreign::{sentence, toml as quote};
use crate::input::{self, Files};
use crate::kernel::printed;
use crate::spec::{Build, Layers, Manifest, Which};

mod guess;

use guess::{Binding, Guess, position};

const HEAD: &str = "\
# Checks of GPU kernels, run by `volta gate`.
# Paths are relative to this file. Every key can stand in [defaults] or in an entry.
# What is guessed says so: replace it by what the kernels are launched with, and by what they are given.

[defaults]
# threads = N              # or block = [X, Y]; a kernel with .reqntid needs neither
# grid = 1                 # %nctaid: every CTA of it is run; cta = 0 runs that one instead
# dynamic-shared = 49152   # bytes of dynamic shared memory
# deny = [\"narrower\"]     # kinds of warnings that fail an entry; `volta explain` lists them
# timeout = 60             # seconds for an entry; memory-limit = 4_000_000_000 bytes
";

/// The text of a manifest for the kernels of some files.
pub fn manifest(paths: &[PathBuf], files: &Files) -> Result<String, Failure> {
    let mut kernels: Vec<Guess> = Vec::new();
    for path in paths {
        let file = files.open(path, &Build::default())?;
        let all = input::lower_all(&file)?;
        let names: Vec<String> = all.iter().map(|k| source_name(&k.name)).collect();
        for (i, kernel) in all.into_iter().enumerate() {
            // Functions that differ in their parameters alone have one name in the source.
            let is_alone = names.iter().filter(|n| **n == names[i]).count() == 1;
            let entry = match is_alone {
                true => names[i].clone(),
                false => kernel.name.clone(),
            };
            kernels.push(Guess::of(path, entry, kernel, files));
        }
    }
    let mut out = String::from(HEAD);
    let mut names = EntryNames::default();
    for guess in &kernels {
        let name = names.unique(&guess.entry, &guess.path);
        let entry = race(&name, guess);
        out.push_str(&tried(entry, &[Which::Kernel], files));
    }
    if let [a, b, rest @ ..] = &kernels[..] {
        let name = format!("{}-{}", a.entry, b.entry);
        let entry = check(&names.unique(&name, &b.path), a, b);
        out.push_str(
            "\n# Two kernels that must compute the same, the first of them the reference:",
        );
        out.push_str(&match rest {
            [] => match a.apart(b) {
                None => tried(entry, &[Which::Reference, Which::Optimized], files),
                Some(why) => refused(&entry, &why),
            },
            _ => commented(&entry),
        });
    }
    Ok(out)
}

/// The name of a kernel as its source has it.
fn source_name(symbol: &str) -> String {
    printed(symbol).unwrap_or_else(|| symbol.to_string())
}

/// Names of entries, no two of which may be the same.
#[derive(Default)]
struct EntryNames(std::collections::HashSet<String>);

impl EntryNames {
    /// A name, with that of the file and then a number behind it where it is taken.
    fn unique(&mut self, name: &str, file: &Path) -> String {
        let stem = file.file_stem().unwrap_or_default();
        let longer = format!("{name}-{}", stem.to_string_lossy());
        let numbered = (2u64..).map(|n| format!("{longer}-{n}"));
        let mut tries = [name.to_string(), longer.clone()]
            .into_iter()
            .chain(numbered);
        let free = tries.find(|t| !self.0.contains(t)).unwrap_or_default();
        self.0.insert(free.clone());
        free
    }
}

fn race(name: &str, guess: &Guess) -> String {
    let mut out = format!("\n[[race]]\nname = {}\n", quote(name));
    // Writing to a string cannot fail.
    let _ = writeln!(out, "kernel = {{ {} }}", file(guess));
    if let Some(block) = &guess.block {
        let _ = writeln!(out, "{}  # guessed: {}", block.text, block.why);
    }
    write_args(&mut out, guess.args.iter());
    out.push_str("expect = \"clean\"\n");
    out
}

fn check(name: &str, a: &Guess, b: &Guess) -> String {
    let mut out = format!("\n[[check]]\nname = {}\n", quote(name));
    for (side, guess) in [("reference", a), ("optimized", b)] {
        let _ = match &guess.block {
            Some(block) => writeln!(
                out,
                "{side} = {{ {}, {} }}  # guessed: {}",
                file(guess),
                block.text,
                block.why
            ),
            None => writeln!(out, "{side} = {{ {} }}", file(guess)),
        };
    }
    // Parameters are paired by their positions.
    let mut args: IndexMap<&str, Binding> = IndexMap::new();
    for (key, binding) in a.args.iter().chain(&b.args) {
        match args.get_mut(key.as_str()) {
            Some(known) => known.join(binding),
            None => {
                args.insert(key, binding.clone());
            }
        }
    }
    args.sort_by(|a, _, b, _| position(a).cmp(&position(b)));
    write_args(&mut out, args.iter());
    out.push_str("expect = \"equivalent\"\n");
    out
}

fn file(guess: &Guess) -> String {
    let path = guess.path.display().to_string();
    format!("file = {}, entry = {}", quote(&path), quote(&guess.entry))
}

fn write_args<'a, K: AsRef<str> + 'a>(
    out: &mut String,
    args: impl Iterator<Item = (&'a K, &'a Binding)>,
) {
    for (key, binding) in args {
        let line = binding.line();
        let mark = if line.is_active { "" } else { "# " };
        let (key, value, why) = (key.as_ref(), line.value, sentence(&line.why));
        let _ = writeln!(out, "{mark}args.\"{key}\" = \"{value}\"  # {why}");
    }
}

/// An entry, as a comment if it cannot be bound.
fn tried(entry: String, sides: &[Which], files: &Files) -> String {
    match bind(&entry, sides, files) {
        Ok(()) => entry,
        Err(failure) => refused(&entry, &failure.to_string()),
    }
}

/// An entry as a comment, with the reason.
fn refused(entry: &str, why: &str) -> String {
    let why = why.lines().map(|line| format!("# {}\n", sentence(line)));
    let why: String = why.collect();
    format!(
        "\n# This cannot be run as it is:\n{why}{}",
        commented(entry)
    )
}

fn commented(entry: &str) -> String {
    let line = |line: &str| match line.is_empty() || line.starts_with('#') {
        true => format!("{line}\n"),
        false => format!("# {line}\n"),
    };
    entry.lines().map(line).collect()
}

/// Binds what an entry says of its kernels.
fn bind(entry: &str, sides: &[Which], files: &Files) -> Result<(), Failure> {
    let manifest = Manifest::parse(entry, Path::new(""));
    let manifest = manifest.map_err(|e| Failure::new(ErrorKind::Manifest, e.to_string()))?;
    let entries = manifest.race.iter().chain(&manifest.check);
    for [below, own] in entries.flat_map(|e| &e.instances) {
        let layers = [below, own];
        let spec = |&side: &Which| input::launches(Layers(&layers), side, files);
        let specs = sides
            .iter()
            .map(spec)
            .collect::<Result<Vec<_>, _>>()?
            .concat();
        bound(&specs, &[], files)?;
    }
    Ok(())
}
