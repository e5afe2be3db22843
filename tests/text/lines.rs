//! What ptxas 13.0 says of single instructions, and what volta says of them.
//!
//! `corpus/lines.txt` holds lines of every opcode with the verdict of ptxas when the file was made
//! (`corpus/judge.py`): the target that takes the line, or `rejected` where none does. Each line is
//! put into an entry that declares what it names; volta rejects it with an error or a warning. There
//! is no false rejection; lines that volta takes although ptxas does not are at most 2 % of those
//! that ptxas rejects, and stand in `corpus/README.md`, which is compared with what is found.
//! `VOLTA_BLESS=1` writes that file again.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use volta::diag::Source;
use volta::{kernel, ptx};

fn corpus(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "corpus", name]
        .iter()
        .collect()
}

/// What is wrong with a line; `None` if volta takes it.
fn objection(prologue: &str, target: &str, line: &str) -> Option<String> {
    let text =
        format!(".version 9.0\n.target {target}\n.address_size 64\n{prologue}{line}\nret;\n}}\n");
    let source = Arc::new(Source::new("line", text).expect("short"));
    let module = match ptx::parse(&source) {
        Ok(module) => module,
        Err(errors) => return Some(errors[0].to_string()),
    };
    if let Some(warning) = ptx::check(&module).first() {
        return Some(warning.to_string());
    }
    let entry = kernel::select_entry(&module, Some("k")).expect("the entry");
    match kernel::lower(&module, &source, entry) {
        Ok(lowered) => lowered.warnings.first().map(ToString::to_string),
        Err(errors) => Some(errors[0].to_string()),
    }
}

#[derive(Default)]
struct Family {
    accepted: usize,
    rejected: usize,
    taken: Vec<String>,
    lenient: usize,
}

/// The chapter of the manual that an opcode belongs to.
fn family(section: &str) -> &'static str {
    let chapter = section.split('.').nth(2).unwrap_or_default();
    match chapter {
        "1" => "9.7.1 integer",
        "2" => "9.7.2 extended precision",
        "3" | "4" | "5" => "9.7.3-5 float",
        "6" => "9.7.6-7 comparison",
        "8" => "9.7.8 logic and shifts",
        "9" => "9.7.9 data movement",
        "10" => "9.7.10 textures",
        "11" => "9.7.11 surfaces",
        "12" => "9.7.12 control flow",
        "13" => "9.7.13 synchronisation",
        "14" => "9.7.14 matrices of warps",
        "15" => "9.7.15 matrices of warpgroups",
        "16" => "9.7.16 fifth generation",
        "17" => "9.7.17 stack",
        "18" => "9.7.18 video",
        _ => "9.7.19 miscellaneous",
    }
}

const HEAD: &str = "\
# PTX that ptxas was asked about

`lines.txt` holds instructions, written or drawn by `generate.py` from the table of forms and broken in one
place, with the verdict of ptxas 13.0.88 (PTX ISA 9.0): the first target that takes the line, or `rejected`
where none of `judge.py`'s targets does; `lenient` is what ptxas takes although the manual has no such form: a
word that stands twice or belongs to other opcodes, which ptxas overlooks, and the lines of `lenient.txt`. volta may
warn of those. `tests/text/lines.rs` compares volta with it: an error or a warning is a
rejection. Made by

    tests/corpus/judge.py --ptxas PATH > tests/corpus/lines.txt

`judge.py --check` asks again. The rest of this file is written by `VOLTA_BLESS=1 cargo test --test text lines`.

";

#[test]
fn volta_agrees_with_ptxas() {
    let read = |name| fs::read_to_string(corpus(name)).expect("readable corpus");
    let (prologue, lines) = (read("prologue.txt"), read("lines.txt"));
    let mut families: BTreeMap<(usize, &str), Family> = BTreeMap::new();
    let mut refused = String::new();
    let (mut op, mut counts) = (ptx::Op::Add, [0, 0]);
    let mut lacking = Vec::new();
    let mut close = |op: ptx::Op, counts: [usize; 2]| {
        // What PTX 6.4 took away from every target that ptxas 13.0 has.
        let gone = matches!(op, ptx::Op::Shfl | ptx::Op::Vote);
        if counts.contains(&0) && !gone {
            lacking.push(op.text());
        }
    };
    let mut seen = 0;
    for row in lines.lines() {
        if let Some(text) = row.strip_prefix("# ") {
            if seen > 0 {
                close(op, counts);
            }
            let found = ptx::Op::ALL.iter().find(|op| op.text() == text);
            (op, counts) = (*found.expect("an opcode"), [0, 0]);
            seen += 1;
            continue;
        }
        let (verdict, line) = row.split_once('\t').expect("verdict and line");
        let chapter = op.section().split('.').nth(2).and_then(|c| c.parse().ok());
        let chapter: usize = match chapter.unwrap_or(0) {
            4 | 5 => 3,
            7 => 6,
            chapter => chapter,
        };
        let entry = families.entry((chapter, family(op.section()))).or_default();
        let target = match verdict {
            "rejected" | "lenient" => "sm_100a",
            // `sm_75@6.3` names a version of PTX too.
            target => target.split('@').next().unwrap_or(target),
        };
        let objection = objection(&prologue, target, line);
        if verdict == "rejected" {
            counts[1] += 1;
            entry.rejected += 1;
            if objection.is_none() {
                entry.taken.push(line.to_string());
            }
        } else if verdict == "lenient" {
            entry.lenient += 1;
        } else {
            counts[0] += 1;
            entry.accepted += 1;
            if let Some(why) = objection {
                let _ = writeln!(refused, "{verdict}\t{line}\t{why}");
            }
        }
    }
    close(op, counts);
    assert_eq!(seen, ptx::Op::ALL.len(), "opcodes of the corpus");

    let mut table = String::from(HEAD);
    table.push_str("| family | accepted | of them refused by volta | rejected | of them taken by volta | lenient |\n|---|---|---|---|---|---|\n");
    let mut all = [0; 4];
    for ((_, name), family) in &families {
        let taken = family.taken.len();
        let _ = writeln!(
            table,
            "| {name} | {} | 0 | {} | {taken} | {} |",
            family.accepted, family.rejected, family.lenient
        );
        all = [
            all[0] + family.accepted,
            all[1] + family.rejected,
            all[2] + taken,
            all[3] + family.lenient,
        ];
    }
    let [accepted, rejected, taken, lenient] = all;
    let _ = write!(
        table,
        "| all | {accepted} | 0 | {rejected} | {taken} | {lenient} |\n\n## Taken by volta, rejected by ptxas\n\n"
    );
    for ((_, name), family) in &families {
        for line in &family.taken {
            let _ = writeln!(table, "* {name}: `{line}`");
        }
    }
    if let Some(path) = std::env::var_os("VOLTA_LINES") {
        fs::write(path, format!("{refused}\n\n{table}")).expect("writable");
    }
    assert!(refused.is_empty(), "false rejections:\n{refused}");
    assert!(
        lacking.is_empty(),
        "opcodes without both verdicts: {lacking:?}"
    );
    assert!(
        taken * 50 <= rejected,
        "{taken} of {rejected} rejected lines are taken"
    );
    if std::env::var_os("VOLTA_BLESS").is_some() {
        fs::write(corpus("README.md"), table).expect("writable");
    } else {
        assert!(table == read("README.md"), "corpus/README.md is stale");
    }
}
