//! Changes one place of a kernel at a time, over all pairs of the manifests, and counts the verdicts.
//!
//!     cargo run --release --example mutants                    counts, for people
//!     cargo run --release --example mutants -- --write         the same into tests/mutants/table.md
//!     cargo run --release --example mutants -- --each 40       so many mutants of each pair, not 16
//!
//! The table counts what became of the mutants by kind of change and by kernel family. Below it
//! stands each pair with a stamp of its text, and each mutant that was not refuted: a mutant that
//! is `equivalent` was evaluated beside its reference at 100 random points with intervals of 160
//! bits, and nothing told them apart. Exit code 1 if one was told apart.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use rayon::prelude::*;

#[path = "../tests/mutants/mod.rs"]
mod mutants;
use mutants::{FATES, Fate, MANIFESTS, Table};

const EACH: usize = 16;
const POINTS: u64 = 100;

/// Lines times threads of the largest kernels that are mutated.
const MOST: usize = 40_000;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let given = args.iter().position(|a| a == "--each");
    let given = given.and_then(|i| args.get(i + 1)?.parse().ok());
    let each = given.unwrap_or(EACH);
    let base = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sets = MANIFESTS.map(|m| mutants::pairs(&base.join("kernels").join(m), MOST));
    let mut work = Vec::new();
    let mut pairs = String::new();
    for set in &sets {
        for pair in set {
            let list = pair.choose(each);
            let _ = writeln!(pairs, "{} {:016x} {}", pair.name, pair.stamp(), list.len());
            work.extend(list.into_iter().map(|m| (pair, m)));
        }
    }
    let folder = std::env::temp_dir().join(format!("volta-mutants-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    let fates: Vec<(Fate, f64)> = work
        .par_iter()
        .enumerate()
        .map(|(i, (pair, mutant))| {
            let file = folder.join(format!("{i}.ptx"));
            let r = mutants::judge(pair, mutant, &file, POINTS);
            std::fs::remove_file(&file).ok();
            r
        })
        .collect();
    std::fs::remove_dir_all(&folder).ok();
    let mut table = Table::default();
    let mut families: BTreeMap<String, BTreeMap<Fate, usize>> = BTreeMap::new();
    let mut open = String::new();
    for ((pair, mutant), (fate, seconds)) in work.iter().zip(&fates) {
        *table.0.entry((mutant.kind, *fate)).or_default() += 1;
        *families
            .entry(pair.family())
            .or_default()
            .entry(*fate)
            .or_default() += 1;
        if matches!(fate, Fate::Unknown | Fate::Equivalent | Fate::Wrong) {
            let name = FATES.iter().find(|f| f.0 == *fate).map_or("", |f| f.1);
            let _ = writeln!(open, "{name}\t{}\t{mutant}", pair.name);
            if *seconds > 5.0 {
                eprintln!("{seconds:.1} s: {}: {mutant}", pair.name);
            }
        }
    }
    let mut out = format!(
        "# What became of changed kernels\n\nMade by `cargo run --release --example mutants -- --write --each {each}`; \
         `examples/mutants.rs` says what it means.\n\n"
    );
    let _ = writeln!(out, "{table}\n| family |{}", head());
    let _ = writeln!(out, "|---|{}", "---:|".repeat(FATES.len()));
    for (family, counts) in &families {
        let _ = write!(out, "| {family} |");
        for (fate, _) in FATES {
            let _ = write!(out, " {} |", counts.get(&fate).copied().unwrap_or(0));
        }
        out.push('\n');
    }
    let _ = write!(out, "\n## Pairs\n\n```\n{pairs}```\n");
    let _ = write!(
        out,
        "\n## Mutants that were not refuted\n\n```\n{open}```\n"
    );
    if args.iter().any(|a| a == "--write") {
        let path = base.join("tests/mutants/table.md");
        std::fs::write(&path, &out).expect("a table");
        println!("{table}");
    } else {
        print!("{out}");
    }
    ExitCode::from(u8::from(table.count(Fate::Wrong) > 0))
}

fn head() -> String {
    FATES.iter().map(|(_, name)| format!(" {name} |")).collect()
}
