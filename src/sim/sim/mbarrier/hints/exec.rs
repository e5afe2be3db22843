//! Arrivals and waits that order less than it seems, as they are noted and told.

use crate::kernel::{Pc, Scoped};
use crate::sim::at::site;
use crate::sim::machine::Machine;
use crate::sim::mbarrier::heads::has_restricted_fence;
use crate::sim::region::{RegionId, SHARED};
use crate::sim::{Site, Tid};

use super::Less;

impl Machine<'_> {
    /// The missing step between what thread `a` did and what thread `b` does, if one of them used an mbarrier that
    /// orders less than it seems to; its place comes to the sites.
    pub(in crate::sim) fn hint_of_patterns(
        &self,
        (region, offset): (RegionId, u64),
        a: u32,
        b: u32,
        sites: &mut Vec<Site>,
    ) -> Option<String> {
        let cta = |t: u32| {
            self.core
                .fixed
                .team
                .number(t as usize / crate::sim::warp::LANES)
        };
        let apart = cta(a) != cta(b);
        let counts = |l: Less| match l {
            Less::Copies | Less::Relaxed => true,
            Less::Scope(reach) => apart && reach != Scoped::Cluster,
        };
        let wait = self.sync.weak.waits.get(&Tid(b));
        // What a scope leaves out matters where the later thread waited at the same mbarrier.
        let met = |x: &&(Pc, u64, Less)| match x.2 {
            Less::Scope(_) => wait.is_some_and(|w| w.1 == x.1),
            Less::Copies | Less::Relaxed => true,
        };
        let arrival = self.sync.weak.arrivals.get(&Tid(a)).filter(|x| counts(x.2));
        let arrival = arrival.filter(met);
        let wait = wait.filter(|x| counts(x.2));
        let (who, (pc, at, less), arrives) = match (arrival, wait) {
            (Some(x), _) => (a, *x, true),
            (None, Some(x)) => (b, *x, false),
            (None, None) => return None,
        };
        let barrier = self.core.place(SHARED, at, 8);
        let (does, word) = match arrives {
            true => ("arrives at", "release"),
            false => ("waits for", "acquire"),
        };
        let (w, l) = (
            who as usize / crate::sim::warp::LANES,
            who as usize % crate::sim::warp::LANES,
        );
        sites.push(site(
            pc,
            w,
            1 << l,
            format!("{does} the mbarrier {barrier}"),
        ));
        let (who, other) = (
            self.core.fixed.team.name(who),
            cta(if arrives { b } else { a }),
        );
        Some(match less {
            Less::Copies => format!(
                "thread {who} publishes its cp.async alone by cp.async.mbarrier.arrive at mbarrier {barrier}: an \
                 mbarrier.arrive after what it stored is missing (count it, or fill by cp.async with a source size of 0)"
            ),
            Less::Relaxed if region != SHARED && has_restricted_fence(self.core.fixed.kernel) => {
                format!(
                    "the fences beside the relaxed operations on mbarrier {barrier} are restricted to shared memory, and {} is \
                 not there",
                    self.core.place(region, offset, 4)
                )
            }
            Less::Relaxed => match arrives {
                true => format!(
                    "the relaxed arrival of thread {who} at mbarrier {barrier} publishes nothing: fence.acq_rel.cluster \
                     before it, or .release.cluster, is missing"
                ),
                false => format!(
                    "the relaxed wait of thread {who} for mbarrier {barrier} takes over nothing: fence.acq_rel.cluster \
                     after it, or .acquire.cluster, is missing"
                ),
            },
            Less::Scope(reach) => {
                let has = match reach {
                    Scoped::Cta => "has the scope .cta",
                    Scoped::Unsaid | Scoped::Cluster => "has no scope, which is .cta",
                };
                let what = if arrives { "arrival" } else { "wait" };
                format!(
                    "the {what} of thread {who} at mbarrier {barrier} {has}, and CTA {other} is outside of it: \
                     .{word}.cluster is missing"
                )
            }
        })
    }
}
