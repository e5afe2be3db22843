//! Which release reaches which acquire, where arrivals and waits have scopes, or are `.relaxed` with fences beside them.
//!
//! Problem: an arrival with `.release` publishes what its thread knows; a wait with `.acquire` takes it over, if each is in
//! the scope of the other. An arrival with `.relaxed` publishes what the thread knew at a fence before it, and a wait with
//! `.relaxed` lets a fence after it take over what the phase published. What was executed before what, which decides the
//! phases themselves, depends on none of this.
//!
//! Source: PTX ISA 9.3, sections 8.5 (scope), 8.8 (release and acquire patterns), 8.9.4 (base causality order),
//! 9.7.14.4 (`.sync_restrict`), 9.7.17.6.3 (`tcgen05.fence`).
//!
//! How: a phase keeps heads: what a release knew, whose it is, how far it reaches, and the layer of the clocks for which it
//! counts if not for all. A fence of a thread is kept until a later one covers it; so is each phase that the thread saw
//! by a relaxed wait.
//!
//! Sound: an edge is made for release, arrival, end of the phase, wait, and acquire in that order, with the least of their
//! scopes. Edges of restricted fences stay in the layers of what they are restricted to.
//!
//! Not claimed: a restricted release for the shared memory of another CTA, which the manual gives only where a thread
//! of that CTA makes it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::kernel::{AsyncOp, ClusterOp, Kernel, Op, Scoped, TensorOp};
use crate::sim::Tid;
use crate::sim::clock::{Carried, Clocks, EventId, Heard, Layer, Snapshot, lanes};
use crate::sim::state::recorded;

mod exec;

/// What a release published.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Head {
    pub(crate) snap: Arc<Snapshot>,
    /// The number of the CTA of the thread.
    pub(crate) cta: u32,
    pub(crate) reach: Scoped,
    /// For which questions it counts, if not for all.
    pub(crate) only: Option<Layer>,
}

impl Head {
    /// A thread of a CTA acquires it, as far as it hears it; in a layer alone if one is named.
    pub(crate) fn heard_by(
        &self,
        clocks: &mut Clocks,
        (t, cta): (Tid, u32),
        reach: Scoped,
        only: Option<Layer>,
    ) {
        let heard = heard(self.reach, reach, self.cta == cta);
        match (self.only, only) {
            (Some(a), Some(b)) if a != b => {}
            (a, b) => clocks.acquire_heard(t, &self.snap, heard, a.or(b)),
        }
    }
}

/// What a phase published, to those who see its end.
#[derive(Clone, Debug, Hash)]
pub(super) struct Published {
    pub(super) heads: Vec<Head>,
    pub(super) event: EventId,
    pub(super) carried: Vec<(u32, Arc<Carried>)>,
}

/// Whether operations of two CTAs reach each other.
fn heard(release: Scoped, acquire: Scoped, same: bool) -> Heard {
    match release.min(acquire) {
        _ if same => Heard::Exact,
        Scoped::Cta => Heard::No,
        Scoped::Unsaid => Heard::ByDefault,
        Scoped::Cluster => Heard::Exact,
    }
}

/// One head for all that reach alike, where the clocks can say so.
pub(super) fn merged(clocks: &Clocks, heads: Vec<Head>) -> Vec<Head> {
    type Alike = (u32, Scoped, Option<Layer>);
    let mut groups: Vec<(Alike, Vec<Arc<Snapshot>>)> = Vec::new();
    for h in heads {
        let key = (h.cta, h.reach, h.only);
        match groups.iter_mut().find(|(k, _)| *k == key) {
            Some((_, all)) => all.push(h.snap),
            None => groups.push((key, vec![h.snap])),
        }
    }
    let one = |((cta, reach, only), all): (_, Vec<Arc<Snapshot>>)| {
        let snaps = clocks.merged(&all).map_or(all, |s| vec![s]);
        snaps.into_iter().map(move |snap| Head {
            snap,
            cta,
            reach,
            only,
        })
    };
    groups.into_iter().flat_map(one).collect()
}

/// Does one of the heads know an access?
pub(super) fn know(clocks: &Clocks, heads: &[Head], who: Tid, at: crate::sim::clock::Tick) -> bool {
    heads
        .iter()
        .any(|h| clocks.known_in(std::slice::from_ref(&h.snap), who, at))
}

/// A thread of a CTA acquires what a phase published; in a layer alone if one is named.
pub(super) fn acquire(
    clocks: &mut Clocks,
    (t, cta): (Tid, u32),
    from: &Published,
    reach: Scoped,
    only: Option<Layer>,
) {
    let shape = clocks.shape();
    let (warp, mask) = (shape.warp(t), 1 << shape.lane(t));
    for h in &from.heads {
        h.heard_by(clocks, (t, cta), reach, only);
    }
    let far = heard(Scoped::Cluster, reach, false);
    clocks.observe_heard(from.event, (warp, mask), far, only);
    for (issuer, c) in &from.carried {
        let heard = heard(Scoped::Cluster, reach, *issuer == cta);
        clocks.inherit((warp, mask), c, heard, only);
    }
}

/// A fence that releases: how far, for which layer, and what its thread knew.
type Fenced = (Scoped, Option<Layer>, Arc<Snapshot>);

/// Fences and relaxed waits of threads, in a kernel that has relaxed arrivals or waits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patterns {
    on: bool,
    /// The kernel has `cp.async`, which `cp.async.mbarrier.arrive` follows.
    pub(super) copies: bool,
    /// The last fences of each thread that release.
    fenced: FxHashMap<Tid, Vec<Fenced>>,
    /// Phases that a thread saw by relaxed waits, and how far these reach.
    seen: FxHashMap<Tid, Vec<(Arc<Published>, Scoped)>>,
}

recorded!(Patterns { on, copies } tables { fenced, seen });

fn relaxed(op: &AsyncOp) -> bool {
    match op {
        AsyncOp::Arrive { release, .. } => !release,
        AsyncOp::Wait { acquire, .. } => !acquire,
        AsyncOp::Cluster(op) => matches!(**op, ClusterOp::Arrive { release: false, .. }),
        _ => false,
    }
}

/// The layers that a kernel needs where so many CTAs run together.
pub(crate) fn layers(kernel: &Kernel, ctas: u32) -> Vec<Layer> {
    let mut out = Vec::new();
    let narrow = |op: &AsyncOp| match op {
        AsyncOp::Arrive { reach, .. } | AsyncOp::Wait { reach, .. } => *reach != Scoped::Cluster,
        _ => false,
    };
    if ctas > 1 && kernel.any_async(narrow) {
        out.push(Layer::DefaultScope);
    }
    if !kernel.any_async(relaxed) {
        return out;
    }
    let tensor = |op: &AsyncOp| match op {
        AsyncOp::Tensor(op) => matches!(**op, TensorOp::Fence(_)),
        _ => false,
    };
    if kernel.any_async(tensor) {
        out.push(Layer::TensorMemory);
    }
    if has_restricted_fence(kernel) {
        out.extend((0..ctas).map(Layer::SharedOf));
    }
    out
}

/// True if a fence of a kernel is restricted to shared memory.
pub(super) fn has_restricted_fence(kernel: &Kernel) -> bool {
    let restricted = |op: &Op| matches!(op, Op::Fence { only: Some(_), .. });
    kernel.insts.iter().any(|i| restricted(&i.op))
}

impl Patterns {
    /// None yet.
    pub(crate) fn new(kernel: &Kernel) -> Patterns {
        Patterns {
            on: kernel.any_async(relaxed),
            copies: kernel
                .insts
                .iter()
                .any(|i| matches!(i.op, Op::CpAsync { .. })),
            ..Patterns::default()
        }
    }

    /// Threads of a CTA execute a fence: it acquires in these layers, and releases in one, each time in all if none is
    /// named.
    pub(crate) fn fence(
        &mut self,
        clocks: &mut Clocks,
        (warp, exec, cta): (u32, u32, u32),
        reach: Scoped,
        takes: &[Option<Layer>],
        gives: Option<Option<Layer>>,
    ) {
        if !self.on {
            return;
        }
        let shape = clocks.shape();
        for t in lanes(exec).map(|l| shape.tid(warp, l)) {
            if !takes.is_empty() {
                self.take(clocks, (t, cta), reach, takes);
            }
            if let Some(only) = gives {
                self.give(clocks, t, reach, only);
            }
        }
    }

    fn take(
        &mut self,
        clocks: &mut Clocks,
        (t, cta): (Tid, u32),
        reach: Scoped,
        into: &[Option<Layer>],
    ) {
        let Some(seen) = self.seen.get_mut(&t) else {
            return;
        };
        for (phase, wait) in seen.iter() {
            for only in into {
                acquire(clocks, (t, cta), phase, reach.min(*wait), *only);
            }
        }
        if reach == Scoped::Cluster && into == [None] {
            seen.clear();
        }
    }

    fn give(&mut self, clocks: &mut Clocks, t: Tid, reach: Scoped, only: Option<Layer>) {
        let snap = clocks.publish(t);
        let own = self.fenced.entry(t).or_default();
        // What a later fence of the same kind knows covers the earlier one.
        own.retain(|(r, o, _)| *r > reach || *o != only);
        own.push((reach, only, snap));
    }

    /// What an arrival with `.relaxed` publishes.
    pub(crate) fn released(
        &self,
        t: Tid,
        cta: u32,
        own: Scoped,
    ) -> impl Iterator<Item = Head> + '_ {
        let fences = self.fenced.get(&t).into_iter().flatten();
        fences.map(move |(reach, only, snap)| Head {
            snap: snap.clone(),
            cta,
            reach: own.min(*reach),
            only: *only,
        })
    }

    /// A thread saw the end of a phase by a wait with `.relaxed`.
    pub(super) fn saw(&mut self, t: Tid, phase: Arc<Published>, reach: Scoped) {
        self.seen.entry(t).or_default().push((phase, reach));
    }
}
