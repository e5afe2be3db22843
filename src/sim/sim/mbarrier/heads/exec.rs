//! Fences, as they acquire and release.

use crate::kernel::{Restricted, Scope, Sem};
use crate::sim::clock::Layer;
use crate::sim::machine::Machine;

impl Machine<'_> {
    /// Lanes of a warp execute a fence.
    pub(crate) fn pattern_fence(
        &mut self,
        w: usize,
        exec: u32,
        (sem, scope, only): (Sem, Scope, Option<Restricted>),
    ) {
        let (cta, ctas) = (
            self.core.fixed.team.number(w) as u32,
            self.core.fixed.team.len() as u32,
        );
        let own = only.map(|_| Layer::SharedOf(cta));
        let takes: Vec<_> = match (sem, only) {
            (Sem::Release, _) => Vec::new(),
            (_, Some(Restricted::Cluster)) => (0..ctas).map(|c| Some(Layer::SharedOf(c))).collect(),
            (_, Some(Restricted::Own) | None) => vec![own],
        };
        let gives = (sem != Sem::Acquire).then_some(own);
        let lanes = (w as u32, exec, cta);
        let clocks = &mut self.sync.order.clocks;
        self.sync
            .patterns
            .fence(clocks, lanes, scope.into(), &takes, gives);
    }
}
