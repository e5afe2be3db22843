//! What happens before what, and the objects that threads meet at.

use rustc_hash::FxHashSet;

use crate::spec::Launch;
use crate::term::{ArrayId, TermId};

use super::super::barrier::Barriers;
use super::super::clock::RankShape;
use super::super::cluster::barrier::ClusterBarrier;
use super::super::cluster::inits::Inits;
use super::super::cluster::{self, Lifetimes, Requests, Team};
use super::super::collective::PendingCollective;
use super::super::dependents::Dependents;
use super::super::fences::Fences;
use super::super::mbarrier::heads::Patterns;
use super::super::mbarrier::hints::Weak;
use super::super::order::Order;
use super::super::strong::Strong;

use crate::kernel::Kernel;

/// The order of accesses, and what makes it.
#[derive(Clone)]
pub(in crate::sim) struct Synchronisation {
    /// Accesses and their order.
    pub order: Order,
    /// What fences and flags have published.
    pub fences: Fences,
    /// The same among CTAs that run together.
    pub strong: Strong,
    /// The named barriers of each CTA.
    pub barriers: Vec<Barriers>,
    /// Predicates of lanes that wait in a barrier reduction: warp, lane, predicate.
    pub votes: Vec<(usize, usize, TermId)>,
    /// Warp collectives under way, by warp.
    pub collectives: Vec<PendingCollective>,
    /// The barrier of each cluster.
    pub cluster_barriers: Vec<ClusterBarrier>,
    /// Objects that were made and may be published by a fence of their own.
    pub inits: Inits,
    /// Accesses of the shared memory of other CTAs.
    pub lifetimes: Lifetimes,
    /// Requests to cancel the launch of other clusters.
    pub requests: Requests,
    /// What is known of launches before that may still run.
    pub dependents: Dependents,
    /// Fences beside relaxed operations on mbarriers and barriers of the cluster.
    pub patterns: Patterns,
    /// Operations on mbarriers that order less than they seem to, for messages.
    pub weak: Weak,
}

impl Synchronisation {
    /// Nothing ordered and nobody waiting, with memory of a number of regions, of which arrays are tracked.
    pub(super) fn new(
        (kernel, launch): (&Kernel, &Launch),
        (team, shape): (&Team, RankShape),
        regions: usize,
        tracked: &FxHashSet<ArrayId>,
    ) -> Synchronisation {
        let warps = shape.warps() as usize;
        let mut order = Order::new(kernel, shape, regions, launch.warp_sync, tracked);
        Synchronisation {
            dependents: Dependents::new(kernel, &mut order.clocks),
            order,
            fences: Fences::new(kernel),
            strong: Strong::default(),
            barriers: (0..team.len() as u32).map(Barriers::of).collect(),
            votes: Vec::new(),
            collectives: (0..warps).map(|_| PendingCollective::default()).collect(),
            cluster_barriers: cluster::barriers(team, warps),
            inits: Inits::new(kernel),
            lifetimes: Lifetimes::new(warps),
            requests: Requests::default(),
            patterns: Patterns::new(kernel),
            weak: Weak::default(),
        }
    }
}
