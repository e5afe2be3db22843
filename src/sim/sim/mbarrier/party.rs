//! Who takes part in a phase: arrivals and waits of lanes of a warp, with what they executed before and together.

use crate::sim::machine::Machine;

use super::*;

/// Arrivals or waits of lanes of a warp.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Party {
    pub(super) base: u32,
    pub(super) mask: u32,
    pub(super) at: Tick,
    pub(super) pc: Pc,
    /// How many collectives of warps were over.
    pub(super) step: usize,
    /// How many instructions of warps were over.
    pub(super) when: u64,
    /// Lanes of the warp that executed the instruction together, and when they began to.
    pub(super) with: u32,
    pub(super) began: Tick,
}

impl Party {
    /// Adds it to others, of which the last may be other lanes that did the same.
    pub(super) fn join(self, all: &mut Vec<Party>) {
        match all.last_mut() {
            Some(p) if (p.base, p.at, p.pc, p.step) == (self.base, self.at, self.pc, self.step) => {
                p.mask |= self.mask;
            }
            _ => all.push(self),
        }
    }
}

/// Lanes of a warp that execute an operation on mbarriers together.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Issued {
    /// The number of the instruction among all of them.
    pub(super) when: u64,
    pub(super) exec: u32,
    pub(super) at: Tick,
}

impl Machine<'_> {
    /// Lanes of a warp begin an operation on mbarriers.
    pub(crate) fn issue_together(&mut self, w: usize, exec: u32) {
        self.tasks.objects.issued = Some(Issued {
            when: self.core.threads.stats.warp_instructions,
            exec,
            at: self.sync.order.clocks.stamp(w as u32),
        });
    }

    /// A lane that takes part in a phase by what it executes now.
    pub(super) fn party(&self, w: usize, lane: usize, pc: Pc, at: Tick) -> Party {
        let when = self.core.threads.stats.warp_instructions;
        let own = 1 << lane;
        let issued = self.tasks.objects.issued;
        let now = issued.filter(|i| i.when == when && i.exec & own != 0);
        let (with, began) = now.map_or((own, at), |i| (i.exec, i.at));
        Party {
            base: self.core.threads.warps[w].first,
            mask: own,
            at,
            pc,
            step: self.tasks.objects.met.step(),
            when,
            with,
            began,
        }
    }
}
