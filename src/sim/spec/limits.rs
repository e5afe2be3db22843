//! When to give up: a deadline, a budget of work, an amount of memory, an interrupt.
//!
//! An interrupt, and the memory that the whole process holds, concern the process and not one
//! run: they are kept here once, and every place that looks at its own limits sees them as well.
//! What they end is `unknown` with the kind `limit`, like any other limit.

use std::cell::RefCell;
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rayon::ThreadPoolBuilder;

use crate::work;

use super::Options;

thread_local! {
    /// What ends the check that this thread works for.
    static CANCELLED: RefCell<Option<Cancel>> = const { RefCell::new(None) };
}

/// Ends a check from another thread, at its next look at its limits.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends the checks that have this or a clone of it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Threads whose work it ends.
    pub fn threads(&self) -> ThreadPoolBuilder {
        let own = self.clone();
        ThreadPoolBuilder::new()
            .start_handler(move |_| CANCELLED.with_borrow_mut(|c| *c = Some(own.clone())))
    }
}

fn cancelled() -> bool {
    CANCELLED.with_borrow(|c| c.as_ref().is_some_and(|c| c.0.load(Ordering::Relaxed)))
}

/// What a run may take if nobody says otherwise: an endless loop ends by itself.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// What ends a run that has a budget, as the start of a sentence.
pub const SPENT: &str = work::SPENT_ALL;

const INTERRUPT: &str = "an interrupt came";
const CANCELLATION: &str = "it was cancelled";
const TIME: &str = "the time limit was reached";
const MEMORY: &str = "the memory limit was reached";

/// Whether a reason of the kind `limit` concerns the machine and its user, so that another run may come further.
pub fn is_of_the_machine(message: &str) -> bool {
    [INTERRUPT, CANCELLATION, TIME, MEMORY]
        .iter()
        .any(|what| message.contains(what))
}

/// Whether a reason is that a limit was reached.
pub fn ends_with(why: &str) -> bool {
    why == SPENT || is_of_the_machine(why)
}

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Bytes that the process may hold; 0 is no limit.
static PROCESS: AtomicU64 = AtomicU64::new(0);

/// Bounds on what a run may spend; what exceeds them is `unknown` (`limit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// When to stop.
    pub deadline: Option<Instant>,
    /// Memory in bytes.
    pub memory: Option<u64>,
}

impl Options {
    /// The limits of what began at a moment.
    pub fn limits(&self, start: Instant) -> Limits {
        Limits {
            deadline: self.timeout.and_then(|t| start.checked_add(t)),
            memory: self.memory_limit,
        }
    }
}

impl Limits {
    /// No limit.
    pub const NONE: Limits = Limits {
        deadline: None,
        memory: None,
    };

    /// Whether the time or the budget is over: what is asked often, since it costs no look at the process. A look is
    /// a unit of work, so that no loop that looks at its limits is without end.
    pub fn is_late(&self) -> bool {
        work::spend(1);
        work::is_over() || self.deadline.is_some_and(|d| Instant::now() >= d)
    }

    /// Does a piece of work that ends as soon as these limits, or those of the process, are reached: its result, or what
    /// ended it, as the start of a sentence. Memory is what the process holds, for a pass does not know its own.
    pub fn guarded<T>(&self, work: impl FnOnce() -> T) -> Result<T, &'static str> {
        work::guarded(self.guard(), true, work)
    }

    /// The same of a piece of work that looks at its budget itself, and then keeps what it found.
    pub fn timed<T>(&self, work: impl FnOnce() -> T) -> Result<T, &'static str> {
        work::guarded(self.guard(), false, work)
    }

    fn guard(&self) -> work::Guard {
        work::Guard::new(self.deadline, of_the_machine)
    }

    /// What ends the run now, as the start of a sentence, if anything does; what a run itself holds is for the run to compare.
    pub fn reached(&self) -> Option<&'static str> {
        work::spend(1);
        match work::is_over() {
            true => of_the_process().or(Some(SPENT)),
            false => of_the_machine(self.deadline),
        }
    }
}

/// What ends every run of this process, or all that this thread works for.
fn of_the_process() -> Option<&'static str> {
    match INTERRUPTED.load(Ordering::Relaxed) {
        true => Some(INTERRUPT),
        false => cancelled().then_some(CANCELLATION),
    }
}

/// What ends a run now that has this deadline, its budget apart.
fn of_the_machine(deadline: Option<Instant>) -> Option<&'static str> {
    if let Some(what) = of_the_process() {
        return Some(what);
    }
    if deadline.is_some_and(|d| Instant::now() >= d) {
        return Some(TIME);
    }
    let most = PROCESS.load(Ordering::Relaxed);
    (most > 0 && resident(&"self").is_some_and(|bytes| bytes > most)).then_some(MEMORY)
}

/// True once something that concerns the whole process ends every run.
pub fn stopped() -> bool {
    let own = Limits {
        deadline: None,
        memory: None,
    };
    own.reached().is_some()
}

/// Ends every run at its next look at its limits.
pub fn interrupt() {
    INTERRUPTED.store(true, Ordering::Relaxed);
}

/// True once [`interrupt`] was called.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Limits the memory of the process: to what its user has in mind, else to three quarters of
/// what is available now, so that a kernel that needs more ends in `unknown` before the operating
/// system ends the process.
pub fn limit_process(bytes: Option<u64>) {
    let most = bytes.or_else(usual);
    PROCESS.store(most.map_or(0, |m| m.max(1)), Ordering::Relaxed);
}

/// What the process may hold, where that is limited.
pub fn process() -> Option<u64> {
    Some(PROCESS.load(Ordering::Relaxed)).filter(|&most| most > 0)
}

/// What a process may hold if nobody says otherwise: three quarters of what is available now.
pub fn usual() -> Option<u64> {
    Some(available()? / 4 * 3)
}

/// Bytes that can be had without swapping, and no more than the control group allows:
/// `MemAvailable` of `/proc/meminfo` (proc(5)), `memory.max` of the version 2 hierarchy.
fn available() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse().ok());
    Some(group.unwrap_or(u64::MAX).min(kib.saturating_mul(1024)))
}

/// Bytes of memory that a process holds, where the operating system tells: the second number of
/// `/proc/PROCESS/statm`, in pages of 4 KiB (proc(5)).
pub fn resident(process: &dyn Display) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/statm")).ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(4096)
}
