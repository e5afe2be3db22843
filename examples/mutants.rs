//! Changes one place of a kernel at a time, over all pairs of the manifests, and counts the verdicts.
//!
//!     cargo run --release --example mutants -- [number of mutants] [seed]
//!
//! Prints what became of them as a table, and every mutant that was judged `equivalent` although an
//! evaluation tells it from the reference. Exit code 1 if there is one.

use std::path::Path;
use std::process::ExitCode;

use rayon::prelude::*;

#[path = "../tests/mutants/mod.rs"]
mod mutants;
use mutants::{Fate, Random, Table};

fn main() -> ExitCode {
    let mut args = std::env::args()
        .skip(1)
        .filter_map(|a| a.parse::<u64>().ok());
    let count = args.next().unwrap_or(2000) as usize;
    let mut random = Random(args.next().unwrap_or(1));
    let verbose = std::env::args().any(|a| a == "--unknown");
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let sets: Vec<_> = ["volta.toml", "nn.toml"]
        .iter()
        .map(|m| mutants::pairs(&base.join(m), 40_000))
        .collect();
    let all: Vec<_> = sets
        .iter()
        .flat_map(|(defaults, pairs)| pairs.iter().map(move |p| (defaults, p)))
        .collect();
    // Each pair gets its share.
    let mut work = Vec::new();
    for i in 0..count {
        let (defaults, pair) = all[i % all.len()];
        let list = mutants::mutants(&pair.text, &mut random);
        if !list.is_empty() {
            let mutant = list[random.below(list.len())].clone();
            work.push((i, defaults, pair, mutant));
        }
    }
    let folder = std::env::temp_dir().join(format!("volta-mutants-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    let fates: Vec<_> = work
        .par_iter()
        .map(|(i, defaults, pair, mutant)| {
            let file = folder.join(format!("{i}.ptx"));
            let r = mutants::judge(defaults, pair, mutant, &file);
            std::fs::remove_file(&file).ok();
            r
        })
        .collect();
    std::fs::remove_dir_all(&folder).ok();
    let mut table = Table::default();
    for ((_, _, pair, mutant), (fate, seconds)) in work.iter().zip(&fates) {
        *table.0.entry((mutant.kind, *fate)).or_default() += 1;
        let shown = *fate == Fate::Wrong || verbose && *fate == Fate::Unknown;
        if shown {
            println!("{fate:?} ({seconds:.1} s): {}: {mutant}", pair.name);
        }
    }
    print!("{table}");
    ExitCode::from(u8::from(table.count(Fate::Wrong) > 0))
}
