//! What `volta lift` says of kernels, as data: each line of a `.cases` file below `tests/lift` is a name and the
//! arguments of `volta lift`, run in the folder `kernels`; what comes out stands beside it in a `.out` file.
//!
//! A formula that is printed is given back to `volta check --formula`, with the same launch, and has to be proved.
//! `VOLTA_BLESS=1 cargo test --test golden lift` rewrites the `.out` files.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use rayon::prelude::*;
use serde_json::Value;
use volta::work;

use super::rotation;

fn volta(args: &[String]) -> Value {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let run = Command::new(env!("CARGO_BIN_EXE_volta"))
        .args(args)
        .arg("--json")
        .current_dir(kernels)
        .output()
        .expect("volta runs");
    let text = String::from_utf8_lossy(&run.stdout);
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{args:?}: {e}: {text}"))
}

/// An argument of a case, in which `~` stands for a space.
fn spaced(argument: &str) -> String {
    argument.replace('~', " ")
}

/// What is said of a case.
fn said(name: &str, args: &[String]) -> String {
    let mut all = vec!["lift".to_string()];
    all.extend_from_slice(args);
    let report = volta(&all);
    let mut out = format!(
        "{name}: {}\n",
        report["verdict"].as_str().unwrap_or("error")
    );
    let unknown = report["unknown"].as_array().into_iter().flatten();
    for message in unknown.filter_map(|u| u["message"].as_str()) {
        let _ = writeln!(out, "    {message}");
    }
    let outputs: Vec<&Value> = report["outputs"].as_array().into_iter().flatten().collect();
    let formulas: Vec<&str> = outputs
        .iter()
        .filter_map(|o| o["formula"].as_str())
        .collect();
    for f in &formulas {
        let _ = writeln!(out, "    {f}");
    }
    if report["verdict"] == "lifted" {
        let mut check = vec![
            "check".to_string(),
            "--formula".to_string(),
            formulas.join("; "),
        ];
        check.extend_from_slice(args);
        let again = volta(&check);
        assert_eq!(
            again["verdict"], "equivalent",
            "{name}: {formulas:?} is printed, and then not proved"
        );
    }
    out
}

/// The answers of a page, each a line and what stands below it.
fn answers(page: &str) -> BTreeSet<String> {
    let mut out: Vec<String> = Vec::new();
    for line in page.lines() {
        match out.last_mut() {
            Some(last) if line.starts_with(' ') => *last += &format!("{line}\n"),
            _ => out.push(format!("{line}\n")),
        }
    }
    out.into_iter().collect()
}

#[test]
fn formulas_of_kernels() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lift");
    let mut count = 0;
    for file in fs::read_dir(&root).expect("a folder") {
        let path = file.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "cases") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("readable cases");
        let cases: Vec<(&str, Vec<String>)> = text
            .lines()
            .filter(|l| !l.is_empty() && !l.starts_with('#'))
            .map(|l| {
                let (name, args) = l.split_once(": ").expect("`name: arguments`");
                (name, args.split_whitespace().map(spaced).collect())
            })
            .collect();
        let bless = std::env::var_os("VOLTA_BLESS").is_some();
        let turn = rotation::part().filter(|_| !bless);
        let cases: Vec<_> = cases
            .into_iter()
            .enumerate()
            .filter(|(i, _)| turn.is_none_or(|part| i % rotation::PARTS == part))
            .map(|(_, case)| case)
            .collect();
        count += cases.len();
        let said: Vec<String> = work::each(cases.par_iter(), |(n, a)| said(n, a));
        let blessed = path.with_extension("out");
        if bless {
            fs::write(&blessed, said.concat()).expect("a writable file");
        }
        let before = fs::read_to_string(&blessed).unwrap_or_default();
        if turn.is_none() {
            assert_eq!(before, said.concat(), "{}", path.display());
        }
        let before = answers(&before);
        for said in said {
            assert!(before.contains(&said), "{}: {said}", path.display());
        }
    }
    assert!(count > 0, "no cases in {}", root.display());
}

/// Each entry of the families of the page has a formula, or a line that says why not.
#[test]
fn each_entry_has_a_formula_or_a_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("benches/measured/lifted.md")).expect("a page");
    let parts: Vec<(&str, &str)> = page
        .split("\n## ")
        .skip(1)
        .map(|part| part.split_once('\n').expect("a part under its head"))
        .collect();
    assert!(parts.len() > 10, "{} families", parts.len());
    for (family, part) in parts {
        let file = root.join("kernels").join(family).join("volta.toml");
        let text = fs::read_to_string(file).expect("a manifest");
        let names = text.lines().filter_map(|l| l.strip_prefix("name = \""));
        for name in names.filter_map(|l| l.strip_suffix('"')) {
            let row = part
                .lines()
                .find_map(|l| l.strip_prefix(&format!("| {name} | ")));
            let said = row.unwrap_or_else(|| panic!("{family}: nothing is said of {name}"));
            let is_said = said.starts_with('`') || said.starts_with("no formula: ");
            assert!(is_said, "{family}: {name}: {said}");
        }
    }
}
