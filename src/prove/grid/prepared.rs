//! Runs of references that many checks share.
//!
//! Problem: a harness judges thousands of candidates against one reference, and a manifest names one reference beside many
//! kernels. Running the reference again says nothing new.
//!
//! What the launches of a side come to is a function of their kernels, of what each is launched with and given, of the
//! arrays as the pair sees them, and of how obligations are discharged. A run that is held is handed out exactly where all of
//! these are equal, compared whole: a candidate whose parameters make another table of arrays has the reference run for it.
//! So nothing of one check can reach another through here but what the other would have computed.
//!
//! Not held: what a limit cut short, since another check may have more time; sides of which some CTAs are chosen, which
//! depend on the other side; and what is too large. The least recently used goes first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::decide;
use crate::kernel::Kernel;
use crate::sim::{Side, UnknownKind};
use crate::spec::{Array, Arrays, Limits, Resolved};
use crate::work;

use super::Subject;
use super::sequence::{self, Ended};

/// Bytes of terms that are held if nobody says otherwise.
const MOST: u64 = 256 << 20;

/// Runs of references, the least recently used first. Threads may share it.
#[derive(Debug)]
pub struct Runs {
    held: Mutex<VecDeque<Arc<Run>>>,
    /// Bytes of terms that are held at most.
    most: u64,
}

/// A run with all that it depends on.
#[derive(Debug)]
struct Run {
    launches: Vec<Of>,
    arrays: Arrays,
    deciding: decide::Options,
    ended: Ended,
    /// Units that the run had before it, and those that it spent.
    left: Option<u64>,
    spent: work::Spent,
    bytes: u64,
}

/// A launch that was run.
#[derive(Debug)]
struct Of {
    kernel: Kernel,
    resolved: Resolved,
    side: Side,
    without_values: bool,
}

impl Of {
    fn is(&self, s: &Subject) -> bool {
        // An entry of a text is one kernel.
        let texts = [&self.kernel.source, &s.kernel.source];
        let same_text = Arc::ptr_eq(texts[0], texts[1])
            || texts[0].text == texts[1].text && texts[0].name == texts[1].name;
        let same_side = self.side == s.side || is_numbered(s);
        let same_way = same_side && self.without_values == s.without_values;
        same_text
            && same_way
            && self.kernel.name == s.kernel.name
            && self.resolved.is_same(s.resolved)
    }
}

/// True for a run that is told apart by its number, and is the same on either side.
pub(super) fn is_numbered(s: &Subject) -> bool {
    let words = s.resolved.mode.words();
    words.is_some_and(|w| w.run.is_some())
}

/// True for arrays that are the same, apart from what the reference of a pair calls them.
fn are_alike(a: &Arrays, b: &Arrays) -> bool {
    let named = |x: &Array, name: &str| Array {
        name: name.to_string(),
        ..x.clone()
    };
    let mut both = a.0.iter().zip(&b.0);
    a.0.len() == b.0.len() && both.all(|(x, y)| *x == named(y, &x.name))
}

/// How obligations are discharged, apart from the time.
fn asked(deciding: &decide::Options) -> decide::Options {
    decide::Options {
        limits: Limits {
            deadline: None,
            ..deciding.limits
        },
        ..*deciding
    }
}

impl Runs {
    /// Holds runs whose terms take at most so many bytes together.
    pub fn new(most: u64) -> Runs {
        Runs {
            held: Mutex::default(),
            most,
        }
    }

    /// Holds as much as a process may that has so much memory, of which the checks need most.
    pub fn within(memory: Option<u64>) -> Runs {
        Runs::new(memory.map_or(MOST, |m| (m / 8).min(MOST)))
    }

    /// The number of runs that are held.
    pub fn count(&self) -> usize {
        self.held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// What some launches come to, one after the other. Two threads that ask at once both run them, so that no thread waits.
    pub fn run(&self, launches: &[Subject]) -> Ended {
        let Some(first) = launches.first() else {
            return Ended::default();
        };
        // Work that was done for another check counts as if it were done for this one.
        let left = work::left();
        if let Some(run) = self.known(launches, left) {
            work::count(run.spent);
            return run.ended.clone();
        }
        let (ended, spent) = work::within(None, || sequence::run(launches));
        let is_limited = ended
            .outcome
            .unknowns
            .iter()
            .any(|u| u.kind == UnknownKind::Limit);
        let bytes = ended.outcome.store.footprint();
        // A check that finds the run does not look.
        let (reached, _) = work::apart(None, || first.deciding.limits.reached());
        if is_limited || work::is_over() || reached.is_some() || bytes > self.most {
            return ended;
        }
        let of = |s: &Subject| Of {
            kernel: s.kernel.clone(),
            resolved: s.resolved.clone(),
            side: s.side,
            without_values: s.without_values,
        };
        self.keep(Run {
            launches: launches.iter().map(of).collect(),
            arrays: first.arrays.clone(),
            deciding: asked(first.deciding),
            ended: ended.clone(),
            left,
            spent,
            bytes,
        });
        ended
    }

    fn known(&self, launches: &[Subject], left: Option<u64>) -> Option<Arc<Run>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let at = held
            .iter()
            .rposition(|run| run.left == left && run.is_of(launches))?;
        let run = held.remove(at)?;
        held.push_back(run.clone());
        Some(run)
    }

    fn keep(&self, run: Run) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.push_back(Arc::new(run));
        let mut bytes: u64 = held.iter().map(|r| r.bytes).sum();
        while bytes > self.most {
            let Some(dropped) = held.pop_front() else {
                return;
            };
            bytes -= dropped.bytes;
        }
    }
}

impl Run {
    fn is_of(&self, launches: &[Subject]) -> bool {
        let each = self.launches.iter().zip(launches);
        let same_arrays = |s: &Subject| match is_numbered(s) {
            true => are_alike(s.arrays, &self.arrays),
            false => *s.arrays == self.arrays,
        };
        let together = |s: &Subject| asked(s.deciding) == self.deciding && same_arrays(s);
        self.launches.len() == launches.len()
            && each.clone().all(|(of, s)| of.is(s))
            && launches.iter().all(together)
    }
}
