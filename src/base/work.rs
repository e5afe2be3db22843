//! Work that is counted, for limits that are the same on every machine.
//!
//! A unit is a small piece of work: an instruction of a lane, a term that is made, a step of a tactic, a look at the
//! limits. The thread that works counts its units; nobody else touches the counter. A piece of work that another
//! thread may take has a counter of its own, with a share that is fixed before any of them begins
//! ([`side_by_side`]), and what it came to is added where the piece was given away, in the order of the pieces. So
//! which units are spent, and where a budget ends, depends on neither the number of threads nor their luck.
//!
//! Long passes over code and expressions have no place in their results for "ended early". They are run under a
//! [`guarded`] call: whoever counts units below it looks, every few units, whether the piece of work may go on, and if
//! not, unwinds to that call. A pass of which a part of the answer counts (a simulation with its defects) looks at its
//! limits itself, and is run outside of one.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

use rayon::prelude::*;

thread_local! {
    /// Units that the piece of work at hand has spent.
    static SPENT: Cell<u64> = const { Cell::new(0) };
    /// Runs that it made again.
    static RUNS: Cell<Runs> = const { Cell::new(Runs([0; REASONS])) };
    /// How often it applied each rule.
    static APPLIED: [Cell<u64>; RULES] = const { [const { Cell::new(0) }; RULES] };
    /// Units that it may spend; the largest number is no limit.
    static MOST: Cell<u64> = const { Cell::new(u64::MAX) };
    /// Units after which a guarded piece of work looks again whether it may go on; the largest number is never.
    static LOOK: Cell<u64> = const { Cell::new(u64::MAX) };
    /// What ends a guarded piece of work.
    static GUARD: Cell<Option<Guard>> = const { Cell::new(None) };
}

/// Units between two looks of a guarded piece of work: a look reads a file of the system, which takes microseconds.
const LOOK_EVERY: u64 = 1 << 11;

/// What ends a guarded piece of work.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// When it ends.
    pub deadline: Option<Instant>,
    /// Tells what ends it now, if anything but the budget does.
    pub reached: fn(Option<Instant>) -> Option<&'static str>,
    /// Units that it may spend, in those of the counter at hand; the largest number is no limit.
    most: u64,
}

/// Reasons to run something again are numbers below this one.
pub const REASONS: usize = 16;

/// How often something was run again, by the number of the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs([u32; REASONS]);

impl Runs {
    /// How often it was for one reason.
    pub fn of(&self, reason: usize) -> u32 {
        self.0[reason]
    }

    fn add(&mut self, more: Runs) {
        for (all, more) in self.0.iter_mut().zip(more.0) {
            *all = all.saturating_add(more);
        }
    }
}

/// Rules are numbers below this one.
pub const RULES: usize = 64;

/// How often rules were applied, by the number of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied([u64; RULES]);

impl Default for Applied {
    fn default() -> Self {
        Applied([0; RULES])
    }
}

impl Applied {
    /// How often one was.
    pub fn of(&self, rule: usize) -> u64 {
        self.0[rule]
    }

    /// What the piece of work at hand applied, which then counts from these on.
    fn replace(by: Applied) -> Applied {
        APPLIED.with(|counts| {
            let mut old = Applied::default();
            for ((count, old), by) in counts.iter().zip(&mut old.0).zip(by.0) {
                *old = count.replace(by);
            }
            old
        })
    }

    /// Adds these to what the piece of work at hand applied.
    fn count(&self) {
        APPLIED.with(|counts| {
            for (count, more) in counts.iter().zip(self.0) {
                count.set(count.get().saturating_add(more));
            }
        });
    }
}

/// Counts that a rule is applied.
#[inline]
pub fn apply(rule: usize) {
    APPLIED.with(|counts| counts[rule].set(counts[rule].get().saturating_add(1)));
}

/// What a piece of work came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Its units.
    pub units: u64,
    /// The runs that were made again.
    pub runs: Runs,
    /// The rules that were applied.
    pub applied: Applied,
}

/// Counts what a piece of work came to that had counters of its own.
pub fn count(spent: Spent) {
    count_runs(spent.runs);
    spent.applied.count();
    spend(spent.units);
}

fn count_runs(more: Runs) {
    let mut runs = RUNS.get();
    runs.add(more);
    RUNS.set(runs);
}

/// Counts a run that is made again; false if the piece of work at hand has made more than `most`, with its parts.
pub fn run_again(reason: usize, most: u32) -> bool {
    let mut runs = RUNS.get();
    runs.0[reason] = runs.0[reason].saturating_add(1);
    RUNS.set(runs);
    let all = runs.0.iter().map(|&n| u64::from(n)).sum::<u64>();
    all <= u64::from(most)
}

/// What a guarded piece of work unwinds with.
struct Ended(&'static str);

/// What ends a run that has a budget, as the start of a sentence.
pub const SPENT_ALL: &str = "the budget of work was spent";

/// Counts units. A guarded piece of work that may not go on ends here.
#[inline]
pub fn spend(units: u64) {
    let spent = add(units);
    if spent >= LOOK.get() {
        look(spent);
    }
}

/// Counts units without a look, as of a part whose own end is still to be told.
#[inline]
fn add(units: u64) -> u64 {
    let spent = SPENT.get().saturating_add(units);
    SPENT.set(spent);
    spent
}

/// Counts what a part came to, without a look.
fn add_part(spent: Spent) {
    count_runs(spent.runs);
    spent.applied.count();
    add(spent.units);
}

/// Looks whether a guarded piece of work may go on, and unwinds if not.
#[cold]
fn look(spent: u64) {
    let Some(guard) = GUARD.get() else {
        LOOK.set(u64::MAX);
        return;
    };
    LOOK.set(spent.saturating_add(LOOK_EVERY));
    let why = match spent > guard.most {
        true => Some(SPENT_ALL),
        false => (guard.reached)(guard.deadline),
    };
    if let Some(why) = why
        && !std::thread::panicking()
    {
        resume_unwind(Box::new(Ended(why)));
    }
}

impl Guard {
    /// A guard of the piece of work at hand, which ends with its budget too.
    pub fn new(
        deadline: Option<Instant>,
        reached: fn(Option<Instant>) -> Option<&'static str>,
    ) -> Guard {
        Guard {
            deadline,
            reached,
            most: u64::MAX,
        }
    }

    /// The guard of each of `n` parts of the piece of work at hand, whose counters begin at 0.
    fn of_part(self, n: usize) -> Guard {
        let left = match self.most {
            u64::MAX => u64::MAX,
            most => most.saturating_sub(SPENT.get()) / n.max(1) as u64,
        };
        Guard { most: left, ..self }
    }
}

/// Does a piece of work that ends as soon as it may not go on: its result, or what ended it, as the start of a
/// sentence. What it changed outside of itself may be half done then. Its budget ends it only if it says so: a piece of
/// work that looks at its budget itself keeps what it found.
pub fn guarded<T>(
    guard: Guard,
    by_budget: bool,
    work: impl FnOnce() -> T,
) -> Result<T, &'static str> {
    let _outer = Outer::keep();
    let outer = GUARD.get().map_or(u64::MAX, |outer| outer.most);
    let most = match by_budget {
        true => outer.min(MOST.get()),
        false => outer,
    };
    GUARD.set(Some(Guard { most, ..guard }));
    LOOK.set(SPENT.get());
    let done = catch_unwind(AssertUnwindSafe(|| {
        spend(0);
        work()
    }));
    done.map_err(|why| match why.downcast::<Ended>() {
        Ok(ended) => ended.0,
        Err(panic) => resume_unwind(panic),
    })
}

/// What the piece of work at hand has spent.
pub fn spent() -> u64 {
    SPENT.get()
}

/// Whether the piece of work at hand has nothing left to spend.
#[inline]
pub fn is_over() -> bool {
    SPENT.get() > MOST.get()
}

/// Whether there is a budget at all.
pub fn is_limited() -> bool {
    MOST.get() != u64::MAX
}

/// What the piece of work at hand has left; `None` is no limit.
pub fn left() -> Option<u64> {
    let most = MOST.get();
    (most != u64::MAX).then(|| most.saturating_sub(SPENT.get()))
}

/// What each of `n` pieces may spend of what is left.
pub fn share(n: usize) -> Option<u64> {
    left().map(|left| left / n.max(1) as u64)
}

/// What a step of the piece of work at hand may spend that is bounded by `most` units: no more than a fixed part of what is
/// left, so that the steps after it have some too.
pub fn part(most: u64) -> Option<u64> {
    const PART: u64 = 4;
    Some(left().map_or(most, |left| most.min(left / PART)))
}

/// Sets the counter of this thread back when a piece of work ends, however it ends.
struct Outer {
    /// `None` where the work counts for the outer one.
    spent: Option<Spent>,
    most: u64,
    look: u64,
    guard: Option<Guard>,
}

impl Outer {
    /// The state around a piece of work that counts on.
    fn keep() -> Outer {
        Outer {
            spent: None,
            most: MOST.get(),
            look: LOOK.get(),
            guard: GUARD.get(),
        }
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        if let Some(Spent {
            units,
            runs,
            applied,
        }) = self.spent
        {
            SPENT.set(units);
            RUNS.set(runs);
            Applied::replace(applied);
        }
        MOST.set(self.most);
        LOOK.set(self.look);
        GUARD.set(self.guard);
    }
}

/// The result of a piece of work, or what it unwinds with, and what it came to.
type Counted<T> = (Result<T, Box<dyn Any + Send>>, Spent);

/// Does a piece of work with a counter of its own, under a guard if it is part of a guarded one.
fn counted<T>(most: Option<u64>, guard: Option<Guard>, work: impl FnOnce() -> T) -> Counted<T> {
    let outer = Outer::keep();
    let _outer = Outer {
        spent: Some(Spent {
            units: SPENT.replace(0),
            runs: RUNS.replace(Runs::default()),
            applied: Applied::replace(Applied::default()),
        }),
        ..outer
    };
    MOST.set(most.unwrap_or(u64::MAX));
    GUARD.set(guard);
    LOOK.set(guard.map_or(u64::MAX, |_| LOOK_EVERY));
    let done = match guard {
        // Nothing but a defect of the program unwinds here.
        None => Ok(work()),
        Some(_) => catch_unwind(AssertUnwindSafe(work)),
    };
    let spent = Spent {
        units: SPENT.get(),
        runs: RUNS.get(),
        applied: Applied::replace(Applied::default()),
    };
    (done, spent)
}

/// The result of a piece of work whose units were added to the whole, or its end.
fn or_unwind<T>(done: Result<T, Box<dyn Any + Send>>) -> T {
    done.unwrap_or_else(|why| resume_unwind(why))
}

/// The guard of each of `n` parts of the piece of work at hand.
fn guard_of_part(n: usize) -> Option<Guard> {
    GUARD.get().map(|guard| guard.of_part(n))
}

/// Does a piece of work that may spend `most` units, with a counter of its own: the result, and what it spent. Nothing
/// is added to the piece of work that it is part of, whose guard does not end it.
pub fn apart<T>(most: Option<u64>, work: impl FnOnce() -> T) -> (T, Spent) {
    let (done, spent) = counted(most, None, work);
    (or_unwind(done), spent)
}

/// Does a part of the piece of work at hand, which may spend `most` units and no more than what is left.
pub fn within<T>(most: Option<u64>, work: impl FnOnce() -> T) -> (T, Spent) {
    let most = most.into_iter().chain(left()).min();
    let (done, spent) = counted(most, guard_of_part(1), work);
    add_part(spent);
    (or_unwind(done), spent)
}

/// Does pieces of work side by side, each with the same share of what is left.
pub fn side_by_side<I, R>(pieces: I, work: impl Fn(I::Item) -> R + Sync + Send) -> Vec<R>
where
    I: IndexedParallelIterator,
    R: Send,
{
    let n = pieces.len();
    let (share, guard) = (share(n), guard_of_part(n));
    #[expect(clippy::disallowed_methods, reason = "the counters are apart")]
    let done: Vec<Counted<R>> = pieces
        .map(|piece| counted(share, guard, || work(piece)))
        .collect();
    done.iter().for_each(|(_, spent)| add_part(*spent));
    done.into_iter().map(|(done, _)| or_unwind(done)).collect()
}

/// Does pieces of work side by side that are part of no other: each counts for itself and has no limit but its own. A
/// thread may take one of them while it waits for a piece of another, whose budget is none of its business.
pub fn each<I, R>(pieces: I, work: impl Fn(I::Item) -> R + Sync + Send) -> Vec<R>
where
    I: IndexedParallelIterator,
    R: Send,
{
    #[expect(clippy::disallowed_methods, reason = "the counters are apart")]
    pieces.map(|piece| apart(None, || work(piece)).0).collect()
}

/// Does two pieces of work side by side, each with half of what is left.
pub fn both<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    let (share, guard) = (share(2), guard_of_part(2));
    #[expect(clippy::disallowed_methods, reason = "the counters are apart")]
    let ((a, first), (b, second)) =
        rayon::join(|| counted(share, guard, a), || counted(share, guard, b));
    add_part(first);
    add_part(second);
    (or_unwind(a), or_unwind(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spends until nothing is left, and says how far it came.
    fn greedy() -> u64 {
        let mut steps = 0;
        while !is_over() {
            spend(3);
            steps += 1;
        }
        steps
    }

    #[test]
    fn a_part_spends_of_the_whole() {
        let ((), spent) = apart(Some(100), || {
            spend(10);
            let (steps, part) = within(Some(30), greedy);
            assert_eq!((steps, part.units), (11, 33));
            assert_eq!(left(), Some(57));
            let (_, part) = within(None, greedy);
            assert!(part.units >= 57 && is_over());
        });
        assert!((100..110).contains(&spent.units));
        assert!(!is_limited() && !is_over());
    }

    #[test]
    fn no_budget_ends_nothing() {
        let ((), spent) = apart(None, || {
            spend(u64::MAX);
            assert!(!is_over() && left().is_none() && share(3).is_none());
        });
        assert_eq!(spent.units, u64::MAX);
    }

    /// Pieces of any length, in pools of any size, come equally far and are counted once.
    #[test]
    fn threads_change_nothing() {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("threads").install(|| {
                apart(Some(10_000), || {
                    let pieces: Vec<u64> = (0..40).collect();
                    side_by_side(pieces.par_iter(), |&n| {
                        let inner: Vec<u64> = (0..n).collect();
                        spend(n);
                        apply(n as usize);
                        let steps = side_by_side(inner.par_iter(), |_| greedy());
                        (steps, both(|| (spend(n), apply(0)), left))
                    })
                })
            })
        };
        let one = run(1);
        assert!(one.1.units > 9_000);
        assert_eq!(
            [0, 1, 39, 40].map(|rule| one.1.applied.of(rule)),
            [41, 1, 1, 0]
        );
        for threads in [2, 3, 7] {
            assert_eq!(run(threads), one);
        }
    }

    /// A thread that waits for the pieces of one question takes pieces of another, which does not feel the budget.
    #[test]
    fn questions_do_not_mix() {
        let poor: Vec<u64> = (0..50).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build();
        pool.expect("threads").install(|| {
            apart(Some(90), || {
                spend(100);
                let over = || is_over() && each(poor.par_iter(), |_| is_limited()) == [false; 50];
                let over = over();
                assert!(over && is_over());
            })
        });
    }

    #[test]
    fn a_panic_leaves_the_counter_of_the_thread() {
        apart(Some(5), || {
            spend(1);
            let _ = std::panic::catch_unwind(|| apart(Some(1), || panic!("expected")));
            assert_eq!(left(), Some(4));
        });
    }
}
