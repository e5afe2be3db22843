//! Changes one place of a kernel at a time, over all pairs of the manifests, and counts the verdicts.
//!
//!     cargo run --release --example mutants                        counts, for people
//!     cargo run --release --example mutants -- --write             the same into tests/mutants/table.md
//!     cargo run --release --example mutants -- --write --missing   adds the pairs that have no row there, and judges no others
//!     cargo run --release --example mutants -- --each 40           so many mutants of each pair, not 16
//!     cargo run --release --example mutants -- --most 3000         kernels of so many lines times threads at most, not 40,000
//!
//! The table counts what became of the mutants by kind of change and by kernel family. Below it
//! stands each pair with a stamp of its text, and each mutant that was not refuted: a mutant that
//! is `equivalent` was evaluated beside its reference at 100 random points with intervals of 160
//! bits, and nothing told them apart. Every mutant is judged under the budget of work of the test,
//! `BUDGET` of `tests/mutants/mod.rs`, so that the table is the same from every machine; which
//! mutants spend much of it is said beside the table, and which are open that the table of before
//! does not list. Exit code 1 if one was told apart, or if `--missing` finds a pair whose kernel has
//! another text than its row: the counts hold what became of the old text, so that all has to be
//! judged again.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use rayon::prelude::*;

#[path = "../tests/mutants/mod.rs"]
mod mutants;
use mutants::{BUDGET, FAMILIES, FATES, Fate, KINDS, Listed, MOST, Mutant, Pair, Table};

const EACH: usize = 16;
const POINTS: u64 = 100;

/// What became of mutants, by all that the table says.
#[derive(Default)]
struct Counts {
    table: Table,
    families: BTreeMap<String, BTreeMap<Fate, usize>>,
    /// A line for each pair, and for each mutant that was not refuted.
    pairs: String,
    open: String,
}

impl Counts {
    /// What the text of a table says.
    fn read(text: &str) -> Counts {
        let mut out = Counts::default();
        for line in text.lines().filter(|l| l.starts_with('|')) {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let [_, name, numbers @ .., _] = &cells[..] else {
                continue;
            };
            let kind = KINDS.iter().find(|k| k.1 == *name);
            for ((fate, _), n) in FATES.iter().zip(numbers) {
                // The heads, and the sums that follow from the rest.
                let (Ok(n), true) = (n.parse::<usize>(), *name != "all") else {
                    continue;
                };
                match kind {
                    Some(&(kind, _)) => out.table.0.insert((kind, *fate), n),
                    None => {
                        let family = out.families.entry(name.to_string());
                        family.or_default().insert(*fate, n)
                    }
                };
            }
        }
        let mut blocks = text.split("```\n").skip(1).step_by(2);
        let mut block = || blocks.next().unwrap_or_default().to_string();
        (out.pairs, out.open) = (block(), block());
        out
    }

    fn add(&mut self, pair: &Pair, mutant: &Mutant, fate: Fate) {
        *self.table.0.entry((mutant.kind, fate)).or_default() += 1;
        let family = self.families.entry(pair.family()).or_default();
        *family.entry(fate).or_default() += 1;
        if is_open(fate) {
            let name = FATES.iter().find(|f| f.0 == fate).map_or("", |f| f.1);
            let _ = writeln!(self.open, "{name}\t{}\t{mutant}", pair.name);
        }
    }

    fn text(&self, each: usize) -> String {
        let mut out = format!(
            "# What became of changed kernels\n\nMade by `cargo run --release --example mutants -- --write --each {each}`; \
             `examples/mutants.rs` says what it means.\n\n"
        );
        let _ = writeln!(out, "{}\n| family |{}", self.table, head());
        let _ = writeln!(out, "|---|{}", "---:|".repeat(FATES.len()));
        for (family, counts) in &self.families {
            let _ = write!(out, "| {family} |");
            for (fate, _) in FATES {
                let _ = write!(out, " {} |", counts.get(&fate).copied().unwrap_or(0));
            }
            out.push('\n');
        }
        let _ = write!(out, "\n## Pairs\n\n```\n{}```\n", self.pairs);
        let _ = write!(
            out,
            "\n## Mutants that were not refuted\n\n```\n{}```\n",
            self.open
        );
        out
    }
}

fn is_open(fate: Fate) -> bool {
    matches!(fate, Fate::Unknown | Fate::Equivalent | Fate::Wrong)
}

/// The number after a flag.
fn number(args: &[String], flag: &str, usual: usize) -> usize {
    let at = args.iter().position(|a| a == flag);
    at.and_then(|i| args.get(i + 1)?.parse().ok())
        .unwrap_or(usual)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let each = number(&args, "--each", EACH);
    let most = number(&args, "--most", MOST);
    let has = |flag: &str| args.iter().any(|a| a == flag);
    let base = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = base.join("tests/mutants/table.md");
    let before = std::fs::read_to_string(&path).expect("a table");
    let listed = Listed::read(&before);
    let mut counts = match has("--missing") {
        true => Counts::read(&before),
        false => Counts::default(),
    };
    let sets = FAMILIES.map(|f| mutants::pairs(f, MOST));
    let mut work = Vec::new();
    for pair in sets.iter().flatten().filter(|p| p.size <= most) {
        if has("--missing") && listed.pairs.contains_key(&pair.name) {
            if listed.count(pair).is_none() {
                eprintln!("{}: the kernel has another text than its row", pair.name);
                return ExitCode::FAILURE;
            }
            continue;
        }
        let list = pair.choose(each);
        let (name, stamp) = (&pair.name, pair.stamp());
        let _ = writeln!(counts.pairs, "{name} {stamp:016x} {}", list.len());
        work.extend(list.into_iter().map(|m| (pair, m)));
    }
    let folder = std::env::temp_dir().join(format!("volta-mutants-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    let judge = |(i, (pair, mutant)): (usize, &(&Pair, Mutant))| {
        let file = folder.join(format!("{i}.ptx"));
        let judged = mutants::judge(pair, mutant, &file, POINTS);
        std::fs::remove_file(&file).ok();
        judged
    };
    let fates: Vec<(Fate, u64)> = volta::work::each(work.par_iter().enumerate(), judge);
    std::fs::remove_dir_all(&folder).ok();
    let mut dearest = 0;
    for ((pair, mutant), &(fate, units)) in work.iter().zip(&fates) {
        counts.add(pair, mutant, fate);
        let what = format!("{}: {mutant}", pair.name);
        if units > BUDGET / 4 {
            eprintln!("{units} units, {fate:?}: {what}");
        }
        if !is_open(fate) {
            dearest = dearest.max(units);
        } else if listed.count(pair).is_some()
            && !listed
                .open
                .contains(&(pair.name.clone(), mutant.to_string()))
        {
            eprintln!("open now, {fate:?}: {what}");
        }
    }
    eprintln!("a refutation took {dearest} of {BUDGET} units at most");
    let out = counts.text(each);
    if has("--write") {
        std::fs::write(&path, &out).expect("a table");
        println!("{}", counts.table);
    } else {
        print!("{out}");
    }
    ExitCode::from(u8::from(counts.table.count(Fate::Wrong) > 0))
}

fn head() -> String {
    FATES.iter().map(|(_, name)| format!(" {name} |")).collect()
}
