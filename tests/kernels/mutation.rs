//! Changed kernels against the committed table `tests/mutants/table.md`, a sample of it: what it does not
//! list as open must be refuted, and none that an evaluation tells from its reference may be judged
//! equivalent. `examples/mutants.rs` makes the table, and judges all of it under the same budget of work. Every pair that it
//! would mutate must have a row that tells of the text of its kernel now.

use std::path::Path;

use rayon::prelude::*;
use volta::work;

use super::mutants::{self, FAMILIES, FATES, Fate, Listed, Table};

/// One mutant of the table in so many is judged here, of kernels with at most so many lines times
/// threads.
const ONE_IN: usize = 4;
const MOST: usize = 3000;

/// Points at which a mutant that is judged equivalent is evaluated.
const POINTS: u64 = 8;

/// What makes the table, for whoever reads a failure.
const MAKE: &str = "`cargo run --release --example mutants -- --write --missing` judges the pairs that have no row and adds \
                    them; without `--missing` it judges all pairs again, which is needed where the text of a kernel changed";

#[test]
fn changed_kernels_are_judged_as_the_table_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("tests/mutants/table.md")).expect("the table");
    let listed = Listed::read(&text);
    let sets = FAMILIES.map(|f| mutants::pairs(f, mutants::MOST));
    let mut chosen = Vec::new();
    let mut old = String::new();
    for pair in sets.iter().flatten() {
        match listed.count(pair) {
            Some(count) if pair.size <= MOST => {
                chosen.extend(pair.choose(count).into_iter().map(|m| (pair, m)));
            }
            Some(_) => {}
            None if listed.pairs.contains_key(&pair.name) => {
                old += &format!("{}: its kernel has another text now\n", pair.name);
            }
            None => old += &format!("{}: it has no row\n", pair.name),
        }
    }
    assert!(
        old.is_empty(),
        "tests/mutants/table.md is old; {MAKE}:\n{old}"
    );
    let sample: Vec<_> = chosen.into_iter().step_by(ONE_IN).collect();
    assert!(sample.len() > 50, "{} mutants are few", sample.len());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutants");
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    let fates = work::each(sample.par_iter().enumerate(), |(i, (pair, mutant))| {
        let file = folder.join(format!("{i}.ptx"));
        let judged = mutants::judge(pair, mutant, &file, POINTS);
        std::fs::remove_file(&file).ok();
        judged.0
    });
    let mut table = Table::default();
    let mut wrong = String::new();
    for ((pair, mutant), fate) in sample.iter().zip(fates) {
        *table.0.entry((mutant.kind, fate)).or_default() += 1;
        let key = (pair.name.clone(), mutant.to_string());
        let open = matches!(fate, Fate::Unknown | Fate::Equivalent);
        if fate == Fate::Wrong || open && !listed.open.contains(&key) {
            let name = FATES.iter().find(|f| f.0 == fate).map_or("", |f| f.1);
            wrong += &format!("{name}: {}, {}: {mutant}\n", pair.family(), pair.name);
        }
    }
    assert_eq!(table.count(Fate::Wrong), 0, "judged equivalent:\n{wrong}");
    assert!(wrong.is_empty(), "not as listed:\n{wrong}\n{table}");
}
