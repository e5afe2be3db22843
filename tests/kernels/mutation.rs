//! Changed kernels against the committed table `tests/mutants/table.md`, a sample of it: what it does not
//! list as open must be refuted, and none that an evaluation tells from its reference may be judged
//! equivalent. `examples/mutants.rs` makes the table, and judges all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use rayon::prelude::*;

use super::mutants::{self, FATES, Fate, MANIFESTS, Table};

/// One mutant of the table in so many is judged here, of kernels with at most so many lines times
/// threads.
const ONE_IN: usize = 4;
const MOST: usize = 3000;

/// Seconds after which `unknown` may be for want of time.
const SLOW: f64 = 8.0;

/// Points at which a mutant that is judged equivalent is evaluated.
const POINTS: u64 = 8;

/// What the table says: the stamp and the number of mutants of each pair, and the mutants that were
/// not refuted.
struct Listed {
    pairs: BTreeMap<String, (String, usize)>,
    open: BTreeSet<(String, String)>,
}

fn listed() -> Listed {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mutants/table.md");
    let text = std::fs::read_to_string(path).expect("the table");
    let blocks: Vec<&str> = text.split("```\n").collect();
    let pair = |line: &str| {
        let mut words = line.split(' ');
        let (name, stamp) = (words.next()?.to_string(), words.next()?.to_string());
        Some((name, (stamp, words.next()?.parse().ok()?)))
    };
    let open = |line: &str| {
        let mut fields = line.splitn(3, '\t').skip(1);
        Some((fields.next()?.to_string(), fields.next()?.to_string()))
    };
    Listed {
        pairs: blocks[1].lines().filter_map(pair).collect(),
        open: blocks[3].lines().filter_map(open).collect(),
    }
}

#[test]
fn changed_kernels_are_judged_as_the_table_says() {
    let listed = listed();
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let sets = MANIFESTS.map(|m| mutants::pairs(&base.join(m), MOST));
    let mut work = Vec::new();
    for set in &sets {
        for pair in set {
            // A kernel that has changed since has no row here.
            let Some((stamp, count)) = listed.pairs.get(&pair.name) else {
                continue;
            };
            if *stamp == format!("{:016x}", pair.stamp()) {
                work.extend(pair.choose(*count).into_iter().map(|m| (pair, m)));
            }
        }
    }
    let sample: Vec<_> = work.into_iter().step_by(ONE_IN).collect();
    assert!(sample.len() > 50, "few mutants: the table is old");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutants");
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    let fates: Vec<(Fate, f64)> = sample
        .par_iter()
        .enumerate()
        .map(|(i, (pair, mutant))| {
            let file = folder.join(format!("{i}.ptx"));
            let judged = mutants::judge(pair, mutant, &file, POINTS);
            std::fs::remove_file(&file).ok();
            judged
        })
        .collect();
    let mut table = Table::default();
    let mut wrong = String::new();
    for ((pair, mutant), (fate, seconds)) in sample.iter().zip(fates) {
        *table.0.entry((mutant.kind, fate)).or_default() += 1;
        let key = (pair.name.clone(), mutant.to_string());
        // What a busy machine does not finish is no verdict.
        let late = fate == Fate::Unknown && seconds > SLOW;
        let open = matches!(fate, Fate::Unknown | Fate::Equivalent) && !late;
        if fate == Fate::Wrong || open && !listed.open.contains(&key) {
            let name = FATES.iter().find(|f| f.0 == fate).map_or("", |f| f.1);
            wrong += &format!("{name}: {}, {}: {mutant}\n", pair.family(), pair.name);
        }
    }
    assert_eq!(table.count(Fate::Wrong), 0, "judged equivalent:\n{wrong}");
    assert!(wrong.is_empty(), "not as listed:\n{wrong}\n{table}");
}
