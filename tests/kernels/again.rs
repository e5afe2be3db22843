//! A run goes on from its state alone.
//!
//! Where `VOLTA_AGAIN` is set, the program makes rounds of each run twice: as it is, and from a copy that has forgotten what
//! is no part of its state. Where the two part, or where their states differ afterwards, it ends with an internal error that
//! names the place. Each commit judges one manifest in [`ONE_IN`], by turns; `VOLTA_ALL` all of them.

use std::path::PathBuf;
use std::process::Command;

use super::layout::included;
use super::{kernels, rotation};

/// One manifest in so many is judged in each commit.
const ONE_IN: usize = 12;

#[test]
fn runs_go_on_from_their_states() {
    let all = std::env::var_os("VOLTA_ALL").is_some();
    let root = kernels().join("volta.toml");
    let turn = rotation::commits().unwrap_or(0) % ONE_IN;
    // The manifest of them all includes the others.
    let manifests = included().into_iter().filter(|path| *path != root);
    let is_chosen = |i: usize| all || i % ONE_IN == turn;
    let chosen = manifests.enumerate().filter(|(i, _)| is_chosen(*i));
    let chosen: Vec<PathBuf> = chosen.map(|(_, path)| path).collect();
    assert!(!chosen.is_empty());
    let judged = chosen.iter().filter_map(|path| {
        let mut volta = Command::new(env!("CARGO_BIN_EXE_volta"));
        let volta = volta.args(["gate", "--no-cache"]).arg(path);
        let out = volta.env("VOLTA_AGAIN", "1").output().expect("the program");
        let error = String::from_utf8_lossy(&out.stderr).into_owned();
        let is_right = matches!(out.status.code(), Some(0 | 1)) && !error.contains("panicked");
        (!is_right).then(|| format!("{}:\n{error}", path.display()))
    });
    let wrong: Vec<String> = judged.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
