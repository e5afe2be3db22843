//! Runs the manifest of `kernels/` with those that it includes: every entry must get its verdict.

mod again;
mod bits;
mod bounds;
mod control_slice;
mod corpus;
mod every_content;
mod itself;
mod joins;
mod knowledge;
mod known_numbers;
mod launched;
mod layout;
mod manifest;
mod moves;
#[path = "../mutants/mod.rs"]
mod mutants;
mod mutation;
mod products;
mod protocols;
mod random_launches;
#[path = "../rotation/mod.rs"]
mod rotation;
mod schedules;
mod small_launches;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use volta::gate::{Ledgers, Request, gate};
use volta::norm::Rule;

/// Rules that no entry applies. A product that underflows has another sign than its factors, so the reals are seldom asked
/// for that of a power.
const NOT_APPLIED: [&str; 1] = ["SignOfPower"];

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels")
}

/// One entry in so many is dear.
const DEAR: usize = 20;

/// The dear entries whose turn it is not: the ledgers know the work of each.
fn not_now() -> BTreeSet<String> {
    let Some(part) = rotation::part() else {
        return BTreeSet::new();
    };
    let mut all: Vec<(u64, String)> = Vec::new();
    for path in layout::included() {
        let text = std::fs::read_to_string(path.with_extension("ledger")).unwrap_or_default();
        all.extend(text.lines().filter_map(|line| {
            let mut fields = line.split('\t');
            let (name, work) = (fields.next()?, fields.nth(3)?);
            Some((work.parse().ok()?, name.to_string()))
        }));
    }
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.truncate(all.len() / DEAR);
    let turns = all.into_iter().enumerate();
    let others = turns.filter(|(i, _)| i % rotation::PARTS != part);
    others.map(|(_, (_, name))| name).collect()
}

/// Each entry gets its verdict, and what it comes to and costs is what the ledger of its manifest says.
#[test]
fn every_entry_gets_its_verdict() {
    let path = kernels().join("volta.toml");
    let request = Request {
        ledgers: Some(Ledgers {
            path: kernels(),
            bless: false,
        }),
        without: not_now(),
        ..Request::default()
    };
    let report = gate(&path, &request, &|_, _, _| {}).expect("a valid manifest");
    let wrong: Vec<String> = report
        .entries
        .iter()
        .filter_map(|e| Some(format!("{}: {}", e.name, e.why.as_ref()?)))
        .collect();
    let ran = report.entries.iter().filter_map(|e| e.result.as_ref().ok());
    let applied: BTreeSet<&str> = ran
        .flat_map(|a| a.report.stats.rules.keys().map(String::as_str))
        .collect();
    let idle: Vec<&str> = Rule::ALL
        .iter()
        .map(|r| r.name())
        .filter(|r| !applied.contains(r))
        .collect();
    let (count, all) = (wrong.len(), report.entries.len());
    println!("{all} entries, {} in other commits", request.without.len());
    assert!(count == 0, "{count} of {all} failed:\n{}", wrong.join("\n"));
    assert!(report.ledger.is_empty(), "{}", report.ledger.join("\n"));
    assert_eq!(idle, NOT_APPLIED, "rules that no entry applies");
}

/// A best rises by a line that a person wrote, and seldom.
#[test]
fn bests_seldom_rise() {
    const MOST: usize = 24;
    let mut resets = Vec::new();
    for path in layout::files(&kernels(), &["ledger"]) {
        let text = std::fs::read_to_string(path).expect("a ledger");
        let all = text.lines().filter(|l| l.starts_with("reset "));
        resets.extend(all.map(str::to_string));
    }
    assert!(resets.len() <= MOST, "{}", resets.join("\n"));
}
