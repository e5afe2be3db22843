//! A sample of changed kernels: none that an evaluation tells from its reference may be judged
//! equivalent. `examples/mutants.rs` does the same with as many as one likes.

use std::path::Path;

use rayon::prelude::*;

mod mutants;
use mutants::{Fate, Kind, Random, Table};

/// Mutants of this sample, and lines times threads of the largest kernels that it takes.
const COUNT: usize = 900;
const MOST: usize = 3000;

#[test]
fn no_visible_change_is_equivalent() {
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let sets: Vec<_> = ["volta.toml", "nn.toml"]
        .iter()
        .map(|m| mutants::pairs(&base.join(m), MOST))
        .collect();
    let all: Vec<_> = sets
        .iter()
        .flat_map(|(defaults, pairs)| pairs.iter().map(move |p| (defaults, p)))
        .collect();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutants");
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    let results: Vec<(String, Kind, Fate)> = (0..COUNT)
        .into_par_iter()
        .filter_map(|i| {
            let mut random = Random(i as u64);
            let (defaults, pair) = all[random.below(all.len())];
            let list = mutants::mutants(&pair.text, &mut random);
            let mutant = list.get(random.below(list.len()))?;
            let file = folder.join(format!("{i}.ptx"));
            let (fate, _) = mutants::judge(defaults, pair, mutant, &file);
            std::fs::remove_file(&file).ok();
            Some((format!("{}: {mutant}", pair.name), mutant.kind, fate))
        })
        .collect();
    let mut table = Table::default();
    for (_, kind, fate) in &results {
        *table.0.entry((*kind, *fate)).or_default() += 1;
    }
    let wrong: Vec<&str> = results
        .iter()
        .filter(|r| r.2 == Fate::Wrong)
        .map(|r| r.0.as_str())
        .collect();
    assert!(wrong.is_empty(), "judged equivalent:\n{}", wrong.join("\n"));
    // The mutations are not all harmless, and most are told.
    let told = table.count(Fate::NotEquivalent) + table.count(Fate::Defective);
    assert!(told * 2 > results.len(), "few were refuted:\n{table}");
}
