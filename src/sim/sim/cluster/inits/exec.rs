//! Initialisations of objects, as they are published to a cluster.

use crate::kernel::Pc;
use crate::sim::machine::{Machine, Synchronisation};
use crate::sim::place::Target;
use crate::sim::race::{AccessKind, SameWrite};
use crate::sim::stop::Stop;

use super::Init;

impl Synchronisation {
    /// Lanes execute `fence.mbarrier_init`.
    pub(crate) fn publish_inits(&mut self, w: usize, exec: u32) {
        if !self.inits.on {
            return;
        }
        let event = self.order.clocks.new_event();
        let (mine, rest): (Vec<Init>, Vec<Init>) = std::mem::take(&mut self.inits.open)
            .into_iter()
            .partition(|i| i.w == w && exec >> i.lane & 1 == 1);
        self.inits.open = rest;
        for i in mine {
            let clocks = &mut self.order.clocks;
            clocks.join_event(i.agents, 1 << i.lane, event);
            self.inits.events.insert(i.at, event);
        }
        let fenced = self.inits.fenced.entry(w).or_default();
        fenced.push((exec, event));
    }
}

impl Machine<'_> {
    /// Lanes make objects at these places.
    pub(crate) fn order_inits(
        &mut self,
        (w, exec, pc): (usize, u32, Pc),
        targets: &[Target],
    ) -> Result<Vec<(usize, SameWrite)>, Stop> {
        if !self.sync.inits.on {
            return self.order_accesses((w, pc), targets, (8, 1), AccessKind::Write, false);
        }
        let agents = self.sync.order.clocks.fork(w as u32);
        self.sync.order.agent = Some(agents);
        let found = self.order_accesses((w, pc), targets, (8, 1), AccessKind::Write, false);
        self.sync.order.agent = None;
        self.sync.order.clocks.join(agents, exec);
        let open = targets.iter().map(|t| Init {
            w,
            lane: t.lane,
            agents,
            at: t.off as u64,
        });
        self.sync.inits.open.extend(open);
        found
    }
}
