//! Asynchronous copies from global to shared memory.
//!
//! A copy is an agent of its own: it forks from its issuer when it is issued, its reads and writes
//! are checked then, and it joins the issuer where that waits for it. Whatever touches the
//! destination, or writes the source, in between conflicts with it. Completion is visible to the
//! issuing thread only; others need a barrier after its wait.
//!
//! Input data may decide whether a copy happens, or how much of it is read: then its accesses happen under
//! conditions, as those of a store do, and memory holds a select of what may have been written. A
//! copy under way stays so for later accesses, whatever its condition says about them.
//!
//! Source: PTX ISA 9.0, section 9.7.9.25.3; `cp.async` is a weak access of the generic proxy.

use crate::term::TermId;

use super::clock::Actor;
use super::warp::LANES;

mod exec;

/// A number of bytes, and the condition under which it is the one.
type PossibleLength = (TermId, u64);

/// Copies that one instruction of a warp issued and that are not waited for yet.
#[derive(Clone, Copy, Debug, Hash)]
struct Issued {
    agents: Actor,
    mask: u32,
    /// Number of groups that the lanes had committed before.
    group: u32,
}

/// The copies of a warp that are under way.
#[derive(Clone, Debug, Hash)]
pub(super) struct Copies {
    issued: Vec<Issued>,
    committed: [u32; LANES],
}

impl Copies {
    /// The blocks of agents that a lane issued and did not wait for.
    pub(super) fn under_way(&self, lane: usize) -> Vec<Actor> {
        let mine = self.issued.iter().filter(|i| i.mask >> lane & 1 == 1);
        mine.map(|i| i.agents).collect()
    }
}

impl Default for Copies {
    fn default() -> Self {
        Copies {
            issued: Vec::new(),
            committed: [0; LANES],
        }
    }
}
