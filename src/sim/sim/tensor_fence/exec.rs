//! Fences of tensor memory, as instructions make them.

use std::sync::Arc;

use crate::kernel::Scoped;
use crate::sim::Tid;
use crate::sim::clock::Layer;
use crate::sim::machine::Machine;
use crate::sim::warp::lanes;

use super::{After, Before};

impl Machine<'_> {
    /// `tcgen05.fence`.
    pub(in crate::sim) fn tensor_fence(&mut self, w: usize, mask: u32, after: bool) {
        let number = self.tasks.tensor.count();
        let cta = self.core.fixed.team.number(w) as u32;
        let clocks = &mut self.sync.order.clocks;
        let layer = Some(Layer::TensorMemory);
        let (takes, gives) = match after {
            true => (&[layer][..], None),
            false => (&[][..], Some(layer)),
        };
        // What is heard is heard before the fence, and what is told is told behind it.
        let beside = (w as u32, mask, cta);
        self.sync
            .patterns
            .fence(clocks, beside, Scoped::Cluster, takes, None);
        let at = clocks.mark();
        self.sync
            .patterns
            .fence(clocks, beside, Scoped::Cluster, &[], gives);
        let clocks = clocks.seen_in(Layer::TensorMemory);
        for lane in lanes(mask) {
            let t = Tid(self.core.threads.warps[w].first + lane as u32);
            let fences = &mut self.tasks.tensor.fences;
            if !after {
                let all = fences.before.entry(t).or_default();
                // With nothing between, the earlier fence says more.
                if all.last().is_none_or(|f| f.number <= number) {
                    let number = number + 1;
                    all.push(Before { number, at });
                }
                continue;
            }
            let snap = Arc::new(clocks.snapshot(t));
            fences.after.insert(t, After { at, snap });
        }
    }
}
