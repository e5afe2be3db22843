//! When to give up: a deadline, an amount of memory, an interrupt.
//!
//! An interrupt, and the memory that the whole process holds, concern the process and not one
//! run: they are kept here once, and every place that looks at its own limits sees them as well.
//! What they end is `unknown` with the kind `limit`, like any other limit.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Bytes that the process may hold; 0 is no limit.
static PROCESS: AtomicU64 = AtomicU64::new(0);

/// Bounds on what a run may spend; what exceeds them is `unknown` (`limit`).
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// When to stop.
    pub deadline: Option<Instant>,
    /// Memory in bytes.
    pub memory: Option<u64>,
}

impl Limits {
    /// What ends the run now, as the start of a sentence, if anything does; what a run itself holds is for the run to compare.
    pub fn reached(&self) -> Option<&'static str> {
        if INTERRUPTED.load(Ordering::Relaxed) {
            return Some("an interrupt came");
        }
        if self.deadline.is_some_and(|d| Instant::now() >= d) {
            return Some("the time limit was reached");
        }
        let most = PROCESS.load(Ordering::Relaxed);
        if most > 0 && resident().is_some_and(|bytes| bytes > most) {
            return Some("the memory limit was reached");
        }
        None
    }
}

/// Ends every run at its next look at its limits.
pub fn interrupt() {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// True once [`interrupt`] was called.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Limits the memory of the process: for a command that does one thing, where that is the memory
/// that its user has in mind.
pub fn limit_process(bytes: u64) {
    PROCESS.store(bytes.max(1), Ordering::Relaxed);
}

/// Bytes of memory that the process holds, where the operating system tells: the second number of
/// `/proc/self/statm`, in pages of 4 KiB (proc(5)).
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(4096)
}
