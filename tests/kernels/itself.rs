//! Every kernel of every pair of the manifests against itself, with its own bindings.
//!
//! The two sides of a pair may differ for reasons that only their authors know; a kernel and itself may not. So a kernel against
//! itself is never `not-equivalent`, and the entry that it stands in says more: both kernels of an entry that expects
//! `equivalent` are `equivalent` to themselves, and a kernel against itself is `defective` only where its entry is, since a
//! defect of either kernel ranks above a counterexample and above `unknown`. `unknown` is no failure elsewhere: what is not
//! known of a kernel alone, the address of a store among others, stays unknown of a pair.
//!
//! A run judges one entry in [`ONE_IN`], by a hash of the names, so that a new entry moves no other. `VOLTA_ITSELF=all cargo
//! test --test kernels itself` judges all of them, which takes some minutes.

use std::collections::BTreeSet;
use std::path::Path;

use rayon::prelude::*;

use volta::answer::Verdict;
use volta::check::check;
use volta::input::Files;
use volta::spec::manifest::Side;
use volta::spec::{Layers, Manifest, Settings};
use volta::work;

use super::layout::included;
use super::mutants::stamp;

/// One entry in so many is judged in each run.
const ONE_IN: u64 = 6;

/// Kernels that are judged otherwise than this test demands, and why that is right.
const EXCEPT: [(&str, &str); 3] = [
    (
        "optimized of named-masked",
        "is defined only where its reference is: of a negative index it stores what was never written",
    ),
    (
        "reference of contents-gather-paged",
        "is not launched alike alone: the entry binds the page table, which only the other kernel has",
    ),
    (
        "reference of contents-gather-paged-wrong-page",
        "is not launched alike alone: the entry binds the page table, which only the other kernel has",
    ),
];

/// A kernel twice.
struct Twice {
    what: String,
    /// The verdict of the pair that it is from.
    expect: String,
    /// Of every entry, and its own.
    settings: [Settings; 2],
}

/// Every kernel of the pairs of one manifest, twice; a kernel that several entries launch alike is there once for each verdict.
fn twice(path: &Path, is_chosen: &dyn Fn(&str) -> bool) -> Vec<Twice> {
    let base = path.parent().expect("a folder");
    let text = std::fs::read_to_string(path).expect("a manifest");
    let manifest = Manifest::parse(&text, base).expect("a valid manifest");
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for [defaults, entry] in manifest.check.iter().flat_map(|e| &e.instances) {
        let name = entry.name.clone().unwrap_or_default();
        if !is_chosen(&name) {
            continue;
        }
        for (word, side) in [
            ("reference", &entry.reference),
            ("optimized", &entry.optimized),
        ] {
            let is_kernel = |s: &&Side| s.formula.is_none();
            let Some(side) = side.as_ref().filter(is_kernel) else {
                continue;
            };
            let mut own = entry.clone();
            (own.reference, own.optimized) = (Some(side.clone()), Some(side.clone()));
            // A pairing is one of different kernels, and what an entry denies is no part of a verdict.
            own.map.clear();
            own.name = None;
            if seen.insert(format!("{own:?}")) {
                out.push(Twice {
                    what: format!("{word} of {name}"),
                    expect: entry.expect.clone().unwrap_or("equivalent".into()),
                    settings: [defaults.clone(), own],
                });
            }
        }
    }
    out
}

/// What is wrong with the verdict on a kernel and itself.
fn wrong(pair: &Twice, files: &Files) -> Option<String> {
    let [defaults, own] = &pair.settings;
    let judged = check(Layers(&[defaults, own]), files);
    let (said, is_right) = match &judged {
        Ok(report) => {
            let is_right = match report.verdict {
                Verdict::Equivalent => true,
                Verdict::Unknown => pair.expect != "equivalent",
                Verdict::Defective => pair.expect == "defective",
                _ => false,
            };
            (report.verdict.name(), is_right)
        }
        Err(failure) => (failure.message(), false),
    };
    let except = EXCEPT.iter().find(|e| e.0 == pair.what);
    match (is_right, except) {
        (true, None) | (false, Some(_)) => None,
        (true, Some(_)) => Some(format!("{}: {said}, and needs no exception", pair.what)),
        (false, None) => {
            let sizes = &own.sizes;
            Some(format!("{} {sizes:?}: {said} against itself", pair.what))
        }
    }
}

#[test]
fn each_kernel_equals_itself() {
    let all = std::env::var("VOLTA_ITSELF").is_ok_and(|word| word == "all");
    let is_chosen = |name: &str| all || stamp(name).is_multiple_of(ONE_IN);
    let pairs: Vec<Twice> = included()
        .iter()
        .flat_map(|p| twice(p, &is_chosen))
        .collect();
    assert!(pairs.len() > 100, "{} kernels", pairs.len());
    let files = Files::new();
    let wrong = work::each(pairs.par_iter(), |p| wrong(p, &files));
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    let (count, all) = (wrong.len(), pairs.len());
    assert!(count == 0, "{count} of {all} failed:\n{}", wrong.join("\n"));
}
