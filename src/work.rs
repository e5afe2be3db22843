//! Work that is counted, for limits that are the same on every machine.
//!
//! A unit is a small piece of work: an instruction of a lane, a term that is made, a step of a tactic, a look at the
//! limits. The thread that works counts its units; nobody else touches the counter. A piece of work that another
//! thread may take has a counter of its own, with a share that is fixed before any of them begins
//! ([`side_by_side`]), and what it came to is added where the piece was given away, in the order of the pieces. So
//! which units are spent, and where a budget ends, depends on neither the number of threads nor their luck.

use std::cell::Cell;

use rayon::prelude::*;

thread_local! {
    /// Units that the piece of work at hand has spent.
    static SPENT: Cell<u64> = const { Cell::new(0) };
    /// Units that it may spend; the largest number is no limit.
    static MOST: Cell<u64> = const { Cell::new(u64::MAX) };
}

/// Counts units.
#[inline]
pub fn spend(units: u64) {
    SPENT.set(SPENT.get().saturating_add(units));
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
    spent: u64,
    most: u64,
}

impl Drop for Outer {
    fn drop(&mut self) {
        SPENT.set(self.spent);
        MOST.set(self.most);
    }
}

/// Does a piece of work that may spend `most` units, with a counter of its own: the result, and what it spent. Nothing
/// is added to the piece of work that it is part of.
pub fn apart<T>(most: Option<u64>, work: impl FnOnce() -> T) -> (T, u64) {
    let _outer = Outer {
        spent: SPENT.replace(0),
        most: MOST.replace(most.unwrap_or(u64::MAX)),
    };
    let done = work();
    (done, SPENT.get())
}

/// Does a part of the piece of work at hand, which may spend `most` units and no more than what is left.
pub fn within<T>(most: Option<u64>, work: impl FnOnce() -> T) -> (T, u64) {
    let most = most.into_iter().chain(left()).min();
    let (done, spent) = apart(most, work);
    spend(spent);
    (done, spent)
}

/// Does pieces of work side by side, each with the same share of what is left.
pub fn side_by_side<I, R>(pieces: I, work: impl Fn(I::Item) -> R + Sync + Send) -> Vec<R>
where
    I: IndexedParallelIterator,
    R: Send,
{
    let share = share(pieces.len());
    #[expect(clippy::disallowed_methods, reason = "the counters are apart")]
    let done: Vec<(R, u64)> = pieces.map(|piece| apart(share, || work(piece))).collect();
    spend(done.iter().map(|(_, spent)| spent).sum());
    done.into_iter().map(|(result, _)| result).collect()
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
    let share = share(2);
    #[expect(clippy::disallowed_methods, reason = "the counters are apart")]
    let ((a, first), (b, second)) = rayon::join(|| apart(share, a), || apart(share, b));
    spend(first.saturating_add(second));
    (a, b)
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
            assert_eq!((steps, part), (11, 33));
            assert_eq!(left(), Some(57));
            let (_, part) = within(None, greedy);
            assert!(part >= 57 && is_over());
        });
        assert!((100..110).contains(&spent));
        assert!(!is_limited() && !is_over());
    }

    #[test]
    fn no_budget_ends_nothing() {
        let ((), spent) = apart(None, || {
            spend(u64::MAX);
            assert!(!is_over() && left().is_none() && share(3).is_none());
        });
        assert_eq!(spent, u64::MAX);
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
                        let steps = side_by_side(inner.par_iter(), |_| greedy());
                        (steps, both(|| spend(n), left))
                    })
                })
            })
        };
        let one = run(1);
        assert!(one.1 > 9_000);
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
