//! More knowledge never decides less: what is decided of all data is decided of the data that a further fact leaves.
//!
//! Each pair that is `equivalent` is judged again with a range for each array of numbers that its entry binds: floats lie
//! between two numbers, integers where integers of their width lie. The ranges hold of data that the first verdict speaks
//! of as well, so the second one may be no `unknown`. A run judges one entry in [`ONE_IN`], by a hash of the names;
//! `VOLTA_KNOWLEDGE=all cargo test --test kernels knowledge` judges all.

use std::path::Path;

use rayon::prelude::*;

use volta::answer::Verdict;
use volta::check::check;
use volta::input::Files;
use volta::spec::{Layers, Manifest, Settings};
use volta::work;

use super::layout::included;
use super::mutants::stamp;

/// One entry in so many is judged in each run.
const ONE_IN: u64 = 8;

/// Pairs that are not `equivalent` with the ranges, and why that is right.
const EXCEPT: [(&str, &str); 4] = [
    ("library-double-sigmoid-quotient", OVERFLOWS),
    ("library-double-mixed-sigmoid-quotient", OVERFLOWS),
    ("library-double-tangent-quotient", OVERFLOWS),
    ("library-double-mixed-tangent-quotient", OVERFLOWS),
];
const OVERFLOWS: &str =
    "the exponential of 864 is beyond its format, which the machine has and the reals do not";

/// The range of what an array of a type may hold, where a fact can say one.
fn range(text: &str) -> Option<&'static str> {
    let (role, rest) = text.split_once(':')?;
    let kind = rest.split(['[', '=', '@']).next()?;
    if role == "out" || rest.contains('=') {
        return None;
    }
    match kind {
        "f32" | "f64" | "f16" | "bf16" => Some("-1000..1000"),
        "s32" | "i32" => Some("-2147483648..2147483648"),
        "s8" | "i8" => Some("-128..128"),
        _ => None,
    }
}

/// The pairs of one manifest that are `equivalent`, with what is known besides.
fn pairs(path: &Path, is_chosen: &dyn Fn(&str) -> bool) -> Vec<[Settings; 2]> {
    let base = path.parent().expect("a folder");
    let text = std::fs::read_to_string(path).expect("a manifest");
    let manifest = Manifest::parse(&text, base).expect("a valid manifest");
    let mut out = Vec::new();
    for [defaults, entry] in manifest.check.iter().flat_map(|e| &e.instances) {
        let name = entry.name.clone().unwrap_or_default();
        let is_equivalent = entry.expect.as_ref().is_none_or(|e| e == "equivalent");
        if !is_chosen(&name) || !is_equivalent {
            continue;
        }
        let mut own = entry.clone();
        let bound = defaults.args.iter().chain(&entry.args);
        let facts = bound.filter_map(|(key, value)| {
            let is_named = own.assume.iter().all(|f| !f.contains(key.as_str()));
            let range = range(&value.0).filter(|_| is_named)?;
            Some(format!("{key} in {range}"))
        });
        let facts: Vec<String> = facts.collect();
        if facts.is_empty() {
            continue;
        }
        own.assume.extend(facts);
        out.push([defaults.clone(), own]);
    }
    out
}

/// What is wrong with the verdict on a pair of which more is known.
fn wrong([defaults, own]: &[Settings; 2], files: &Files) -> Option<String> {
    let name = own.name.clone().unwrap_or_default();
    let said = match check(Layers(&[defaults, own]), files) {
        Ok(report) if report.verdict == Verdict::Equivalent => None,
        Ok(report) => Some(report.verdict.name().to_string()),
        Err(failure) => Some(failure.message().to_string()),
    };
    let except = EXCEPT.iter().any(|e| e.0 == name);
    match (said, except) {
        (None, false) | (Some(_), true) => None,
        (None, true) => Some(format!("{name} needs no exception")),
        (Some(said), false) => Some(format!("{name} with {:?}: {said}", own.assume)),
    }
}

#[test]
fn more_knowledge_never_decides_less() {
    let all = std::env::var("VOLTA_KNOWLEDGE").is_ok_and(|word| word == "all");
    let is_chosen = |name: &str| all || (stamp(name) / 7).is_multiple_of(ONE_IN);
    let pairs: Vec<[Settings; 2]> = included()
        .iter()
        .flat_map(|p| pairs(p, &is_chosen))
        .collect();
    assert!(pairs.len() > 50, "{} pairs", pairs.len());
    let files = Files::new();
    let wrong = work::each(pairs.par_iter(), |p| wrong(p, &files));
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    let (count, all) = (wrong.len(), pairs.len());
    assert!(count == 0, "{count} of {all} failed:\n{}", wrong.join("\n"));
}
