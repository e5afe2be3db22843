//! How far the process is, for people who wait.
//!
//! Like an interrupt this concerns the process and not a run: it is kept once, written by the
//! stages and read by whoever draws it. Nothing is decided by it, and of several runs at a time it
//! tells about whichever wrote last.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

static STAGE: AtomicU8 = AtomicU8::new(0);
static DONE: AtomicU64 = AtomicU64::new(0);
static ALL: AtomicU64 = AtomicU64::new(0);

/// What is counted in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reading the kernels; nothing is counted.
    Parse,
    /// Running CTAs.
    Simulate,
    /// Deciding verification conditions.
    Decide,
}

const STAGES: [Stage; 3] = [Stage::Parse, Stage::Simulate, Stage::Decide];

/// A stage begins that has this much to do.
pub fn begin(stage: Stage, all: u64) {
    STAGE.store(stage as u8, Ordering::Relaxed);
    DONE.store(0, Ordering::Relaxed);
    ALL.store(all, Ordering::Relaxed);
}

/// This much more is done.
pub fn add(n: u64) {
    DONE.fetch_add(n, Ordering::Relaxed);
}

/// The line for people.
pub fn line() -> String {
    let stage = STAGES.get(STAGE.load(Ordering::Relaxed) as usize);
    let all = ALL.load(Ordering::Relaxed);
    let done = DONE.load(Ordering::Relaxed).min(all);
    let (verb, unit) = match stage {
        Some(Stage::Simulate) => ("simulate", "CTAs"),
        Some(Stage::Decide) => ("decide", "VCs"),
        _ => ("parse", ""),
    };
    match (done * 100).checked_div(all) {
        Some(percent) => format!("{verb} {percent}% ({done} of {all} {unit})"),
        None => verb.to_string(),
    }
}
