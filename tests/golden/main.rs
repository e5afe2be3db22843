//! Tests as data: every `.ptx` file below `tests/golden` says in its leading comments how volta is
//! called and what it must answer, and the text of the answer stands beside it in a `.out` file.
//!
//!     // volta: race kernel.ptx --threads 32
//!     // expect: defective data-race          the verdict, then every kind that is reported
//!     // exit: 2                              instead, where there is no verdict
//!     // columns: 80                          how wide the terminal is
//!
//! A file may hold several such pairs; they run in the directory of the file. The kinds are those of
//! the defects, the warnings and the reasons of `unknown` together, each once and in any order; a
//! kind that is reported and not listed fails like one that is listed and not reported, so that a
//! finding that is new, or wrong, is never blessed with the rest of the text. The folders `pass`,
//! `fail` and `unknown` say which exit statuses are possible in them, so that a refutation can
//! never pass as an unknown. `golden/parse` has messages in its lines and a runner of its own,
//! `tests/text/parse.rs`. `VOLTA_BLESS=1 cargo test --test golden` rewrites the `.out` files.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rayon::prelude::*;
use serde_json::Value;
use volta::work;

mod lift;
#[path = "../rotation/mod.rs"]
mod rotation;

/// One call and what it must answer.
struct Case {
    args: Vec<String>,
    verdict: Option<String>,
    kinds: Vec<String>,
    exit: Option<i32>,
    columns: Option<String>,
}

#[test]
fn golden() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let inputs: BTreeSet<PathBuf> = with_extension(&files, "ptx");
    assert!(!inputs.is_empty(), "no golden tests in {}", root.display());
    let inputs_in_order: Vec<&PathBuf> = inputs.iter().collect();
    let results = work::each(inputs_in_order.par_iter(), |f| run(f));
    let mut failures: Vec<String> = results.into_iter().filter_map(Result::err).collect();
    for out in with_extension(&files, "out") {
        if !inputs.contains(&out.with_extension("ptx")) {
            failures.push(format!("{}: there is no .ptx for it", out.display()));
        }
    }
    let count = failures.len();
    assert!(count == 0, "{count} failed\n{}", failures.join("\n"));
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(dir).expect("a readable directory");
    for entry in entries {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            if !path.ends_with("golden/parse") {
                collect(&path, files);
            }
        } else {
            files.push(path);
        }
    }
}

fn with_extension(files: &[PathBuf], extension: &str) -> BTreeSet<PathBuf> {
    let fits = |f: &&PathBuf| f.extension().is_some_and(|e| e == extension);
    files.iter().filter(fits).cloned().collect()
}

/// Runs the cases of one file and compares the answers.
fn run(file: &Path) -> Result<(), String> {
    let fail = |why: String| format!("{}: {why}", file.display());
    let text = fs::read_to_string(file).map_err(|e| fail(e.to_string()))?;
    let folder = file
        .parent()
        .and_then(Path::file_name)
        .and_then(|n| n.to_str());
    let possible: &[i32] = match folder {
        Some("pass") => &[0],
        Some("fail") => &[1, 2],
        Some("unknown") => &[3],
        _ => return Err(fail("is not in pass, fail or unknown".into())),
    };
    let cases = cases(&text).map_err(fail)?;
    let mut said = String::new();
    for case in &cases {
        let line = case.args.join(" ");
        let (exit, human) = call(file, &case.args, case.columns.as_deref())?;
        let _ = writeln!(said, "$ volta {line}\n{human}[exit {exit}]\n");
        if !possible.contains(&exit) || case.exit.is_some_and(|e| e != exit) {
            return Err(fail(format!("`volta {line}` exits with {exit}:\n{human}")));
        }
        if let Some(verdict) = &case.verdict {
            judge(file, case, verdict).map_err(|why| fail(format!("`volta {line}`: {why}")))?;
        }
    }
    let blessed = file.with_extension("out");
    if std::env::var_os("VOLTA_BLESS").is_some() {
        return fs::write(&blessed, said).map_err(|e| fail(e.to_string()));
    }
    let before = fs::read_to_string(&blessed).unwrap_or_default();
    match before == said {
        true => Ok(()),
        false => Err(fail(differences(&before, &said))),
    }
}

/// The directives of a file.
fn cases(text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    let comments = text.lines().map_while(|l| l.strip_prefix("//"));
    for line in comments {
        let Some((key, rest)) = line.split_once(':') else {
            continue;
        };
        let mut words = rest.split_whitespace().map(str::to_string);
        let last = cases
            .last_mut()
            .ok_or("the first directive must be `volta:`");
        match key.trim() {
            "volta" => cases.push(Case {
                args: words.collect(),
                verdict: None,
                kinds: Vec::new(),
                exit: None,
                columns: None,
            }),
            "expect" => {
                let case = last?;
                case.verdict = words.next();
                case.kinds = words.collect();
            }
            "exit" => {
                let code = words.next().and_then(|w| w.parse().ok());
                last?.exit = Some(code.ok_or("`exit:` needs a number")?);
            }
            "columns" => last?.columns = words.next(),
            other => return Err(format!("`{other}:` is not a directive")),
        }
    }
    if cases.is_empty() {
        return Err("there is no `// volta:` line".into());
    }
    match cases
        .iter()
        .all(|c| c.verdict.is_some() || c.exit.is_some())
    {
        true => Ok(cases),
        false => Err("a `volta:` line needs `expect:` or `exit:`".into()),
    }
}

/// Runs volta in the directory of `file`: exit status and what it says, without times.
fn call(file: &Path, args: &[String], columns: Option<&str>) -> Result<(i32, String), String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_volta"));
    match columns {
        Some(columns) => command.env("COLUMNS", columns),
        None => command.env_remove("COLUMNS"),
    };
    let output = command
        .args(args)
        .current_dir(file.parent().unwrap_or(Path::new(".")))
        .output()
        .map_err(|e| e.to_string())?;
    let exit = output.status.code().unwrap_or(-1);
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    let kept = said.lines().filter(|l| !l.starts_with("time: "));
    Ok((exit, kept.map(|l| without_times(l) + "\n").collect()))
}

/// A row of the table of a manifest without the column of times.
fn without_times(line: &str) -> String {
    let is_time = |cell: &&str| {
        let number = cell
            .trim()
            .strip_suffix("ms")
            .or(cell.trim().strip_suffix('s'));
        number.is_some_and(|n| n.trim().parse::<f64>().is_ok())
    };
    match line.split("  ").any(|cell| is_time(&cell)) {
        true => {
            let cells = line.split("  ").filter(|cell| !is_time(cell));
            let cells = cells.map(str::trim).filter(|cell| !cell.is_empty());
            cells.collect::<Vec<_>>().join("  ")
        }
        false => line.to_string(),
    }
}

/// Compares the verdict and the kinds of findings of the JSON report, in which no other kind may stand.
fn judge(file: &Path, case: &Case, verdict: &str) -> Result<(), String> {
    let mut args = case.args.clone();
    args.extend(["--format".to_string(), "json".to_string()]);
    let (_, text) = call(file, &args, None)?;
    let report: Value = serde_json::from_str(&text).map_err(|e| format!("{e}:\n{text}"))?;
    if report["verdict"] != verdict {
        return Err(format!(
            "{} instead of {verdict}:\n{text}",
            report["verdict"]
        ));
    }
    let lists = ["defects", "warnings", "unknown"].map(|key| report[key].as_array());
    let findings = lists.into_iter().flatten().flatten();
    let reported: BTreeSet<&str> = findings.filter_map(|e| e["kind"].as_str()).collect();
    let listed: BTreeSet<&str> = case.kinds.iter().map(String::as_str).collect();
    let missing = listed.difference(&reported);
    let missing = missing.map(|kind| format!("{kind} is listed and not reported\n"));
    let stray = reported.difference(&listed);
    let stray = stray.map(|kind| format!("{kind} is reported and not listed in `expect:`\n"));
    let wrong: String = missing.chain(stray).collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("{wrong}{text}")),
    }
}

/// The first lines that differ.
fn differences(before: &str, now: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let part = |lines: &[&str], mark: char| {
        let lines = lines.iter().skip(same).take(12);
        lines.map(|l| format!("  {mark} {l}\n")).collect::<String>()
    };
    let (old, new) = (part(&old, '-'), part(&new, '+'));
    format!("the answer changed at line {}:\n{old}{new}", same + 1)
}
