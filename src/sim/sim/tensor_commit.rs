//! `tcgen05.commit`, and what becomes of arrivals that nobody waits for.
//!
//! Source: PTX ISA 9.0, section 9.7.16.12: the mbarrier counts an arrival when all operations of the
//! thread so far are over.
//!
//! Compilers commit to several mbarriers one after the other, wait on one of them, and invalidate
//! all. By the letter of the manual the arrival on another may come after that. There is nothing left
//! that it could wait for: the operations are the same, and they are over. So where an mbarrier is
//! invalidated, the commits of a thread between two of its products count as one, which the report
//! says; for anything else they do not.

use rustc_hash::FxHashMap;

use super::Tid;
use super::clock::Actor;
use crate::sim::state::recorded;

mod exec;

/// Commits that track the same operations.
#[derive(Clone, Debug, Default)]
pub(super) struct Commits {
    /// Those of each thread since its last product.
    since: FxHashMap<Tid, Vec<Actor>>,
    /// For each mbarrier the commits to it, each with those before it that track the same.
    to: FxHashMap<u64, Vec<(Actor, Vec<Actor>)>>,
}

recorded!(Commits {  } tables { since, to });

impl Commits {
    /// A thread issued a product: its commits so far track less than those that follow.
    pub(super) fn product(&mut self, by: Tid) {
        self.since.remove(&by);
    }

    fn commit(&mut self, by: Tid, at: u64, agent: Actor) {
        let since = self.since.entry(by).or_default();
        if !since.is_empty() {
            self.to.entry(at).or_default().push((agent, since.clone()));
        }
        since.push(agent);
    }
}
