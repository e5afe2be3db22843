//! What is dear is judged by turns, where nothing has changed that could change it.
//!
//! A twentieth of the entries of the gate takes three quarters of its work. Each commit judges a quarter of them, fixed by
//! its place in the history, and four commits all of them. A commit that changes how kernels are read, run or decided, or a
//! kernel, judges everything; so does a run without a history, and one with `VOLTA_ALL`. A landing of several commits says by
//! `VOLTA_BASE` where it began; else it is the last commit, with what is not committed.

use std::process::Command;

/// In so many commits everything is judged once.
pub(crate) const PARTS: usize = 4;

/// Folders of `src` that no verdict depends on.
const BESIDE: [&str; 4] = ["src/docs/", "src/python/", "src/report/", "src/serve/"];
/// What verdicts depend on beside `src`.
const ALSO: [&str; 3] = ["kernels/", "tests/lift/", "Cargo.lock"];

/// What git says, if it can.
fn git(args: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    let git = git.current_dir(env!("CARGO_MANIFEST_DIR")).args(args);
    let said = git.output().ok().filter(|o| o.status.success())?;
    String::from_utf8(said.stdout).ok()
}

fn decides(path: &str) -> bool {
    let is_below = |folder: &&str| path.starts_with(*folder);
    let is_code = path.starts_with("src/") && !BESIDE.iter().any(is_below);
    is_code || ALSO.iter().any(is_below)
}

/// How many commits there are, which says whose turn it is.
pub(crate) fn commits() -> Option<usize> {
    let count = git(&["rev-list", "--count", "HEAD"])?;
    count.trim().parse().ok()
}

/// The part of what is dear that is judged now, below [`PARTS`]; none if all of it is.
pub(crate) fn part() -> Option<usize> {
    if std::env::var_os("VOLTA_ALL").is_some() {
        return None;
    }
    let base = std::env::var("VOLTA_BASE");
    let base = base.as_deref().unwrap_or("HEAD~1");
    let changed = git(&["diff", "--name-only", base])?;
    let is_whole = git(&["rev-parse", "--is-shallow-repository"])?.trim() == "false";
    if !is_whole || changed.lines().any(decides) {
        return None;
    }
    Some(commits()? % PARTS)
}
