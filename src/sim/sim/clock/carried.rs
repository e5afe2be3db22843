//! What the end of an asynchronous operation says of what came before its issue.
//!
//! Problem: a producer refills a buffer when the products that read it are over. What the copy into that buffer
//! wrote before has been observed by the thread that issued the products, and by nobody else; so the end of the
//! products must tell the producer that this copy is over too, or every ring of stages would be a race.
//!
//! Source: PTX ISA 9.0, section 8.9.1.1: asynchronous operations are ordered after prior instructions of their thread,
//! and section 8.9.5: causality is transitive.
//!
//! How: with the end of a product come the ends of the agents that its issuer had observed or known when it was issued,
//! and what its issuer had acquired from others. The accesses of the issuer itself do not come with it:
//! nothing released them, so a thread that wants them must wait for something that does. Ends are events;
//! those that an issuer knows are kept in the order in which it learned them, so that a thread that
//! observes many products of one issuer takes each event once.
//!
//! Not claimed: the same for bulk copies, whose completion the manual orders with their own accesses only.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::agent::Seen;
use super::{Clocks, EventId, Heard, Layer, Snapshot, lanes};
use crate::sim::Tid;
use crate::sim::state::recorded;

/// What a thread knew when it issued an operation.
#[derive(Clone, Debug, Hash)]
pub struct Carried {
    issuer: Tid,
    /// How many events it knew, in its own order.
    events: usize,
    snap: Arc<Snapshot>,
    /// The same in each layer of the clocks.
    layers: Vec<Carried>,
}

/// Events that a thread knows, in the order in which it learned them.
#[derive(Clone, Debug, Default, Hash)]
struct Learned {
    known: Vec<(EventId, Seen)>,
    open: Vec<EventId>,
    /// The first event that was not looked at yet.
    next: u32,
}

/// What issuers know, and how much of that others have taken over.
#[derive(Clone, Debug, Default)]
pub(super) struct Heritage {
    of: FxHashMap<Tid, Learned>,
    /// For each observer and issuer.
    taken: FxHashMap<(Tid, Tid), usize>,
}

recorded!(Heritage {} tables { of, taken });

impl Clocks {
    /// A thread issues an operation whose end carries what the thread knows now.
    pub fn carry(&mut self, t: Tid) -> Carried {
        self.settle_exits();
        let mut learned = self.heritage.of.remove(&t).unwrap_or_default();
        let count = self.agents.events();
        learned
            .open
            .extend((learned.next..count).map(EventId::numbered));
        learned.next = count;
        let Learned { known, open, .. } = &mut learned;
        open.retain(|e| {
            let now = self.knows_end(*e, t);
            known.extend(now.map(|seen| (*e, seen)));
            now.is_none()
        });
        let events = known.len();
        self.heritage.of.insert(t, learned);
        let layers = self.layers.iter_mut().map(|(_, c)| c.carry(t)).collect();
        Carried {
            issuer: t,
            events,
            snap: Arc::new(self.snapshot(t)),
            layers,
        }
    }

    /// How much a thread knows of the ends that an event is: all that a thread saw of whom it knows, and of the ends in
    /// one CTA what a thread of its own CTA saw.
    fn knows_end(&self, e: EventId, t: Tid) -> Option<Seen> {
        let cta = |t: Tid| self.shape.cta(self.shape.warp(t));
        self.agents
            .seen(e)
            .filter(|(who, _, seen)| *seen == Seen::Far || cta(*who) == cta(t))
            .filter(|(who, at, _)| *who == t || self.ordered((*who).into(), *at, t))
            .map(|(_, _, seen)| seen)
            .max()
    }

    /// Lanes of a warp observe the end of an operation, as far as they hear it; in a layer alone if one is named.
    pub fn inherit(
        &mut self,
        (warp, mask): (u32, u32),
        from: &Carried,
        heard: Heard,
        only: Option<Layer>,
    ) {
        let only = match (heard, only) {
            (Heard::Exact, only) => only,
            (Heard::ByDefault, None) => Some(Layer::DefaultScope),
            (Heard::ByDefault, Some(_)) | (Heard::No, _) => return,
        };
        if only.is_none() {
            self.inherit_own(warp, mask, from);
        }
        for (i, (layer, c)) in self.layers.iter_mut().enumerate() {
            if let Some(from) = from.layers.get(i)
                && only.is_none_or(|o| o == *layer)
            {
                c.inherit_own(warp, mask, from);
            }
        }
    }

    fn inherit_own(&mut self, warp: u32, mask: u32, from: &Carried) {
        let cta = |c: &Clocks, t: Tid| c.shape.cta(c.shape.warp(t));
        for lane in lanes(mask) {
            let t = self.shape.tid(warp, lane);
            if t == from.issuer {
                continue;
            }
            self.acquire_own(t, &from.snap);
            let taken = self.heritage.taken.entry((t, from.issuer)).or_default();
            let new = *taken..from.events.max(*taken);
            *taken = new.end;
            let Some(all) = self.heritage.of.get(&from.issuer) else {
                continue;
            };
            let here = cta(self, t) == cta(self, from.issuer);
            for (e, seen) in all.known.get(new).unwrap_or_default().to_vec() {
                let counts = seen == Seen::Far || here;
                if counts && self.knows_end(e, t).is_none_or(|s| s < seen) {
                    let at = self.now();
                    self.agents.observe(e, (warp, 1 << lane), at, seen);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::clock::RankShape;

    #[test]
    fn the_end_of_a_product_carries_what_its_issuer_knew_and_not_what_it_did() {
        let mut c = Clocks::new(RankShape::new(128).expect("a CTA"));
        let [issuer, producer, worker] = [Tid(32), Tid(64), Tid(96)];
        let (copy, late) = (c.fork(2), c.fork(2));
        let (over, later) = (c.new_event(), c.new_event());
        c.join_event(copy, 1, over);
        c.join_event(late, 1, later);
        // A worker writes and releases; the issuer acquires, observes the end of the copy, and writes.
        let worked = c.stamp(3);
        let released = c.publish(worker);
        c.acquire(issuer, &released);
        c.observe(over, 1, 1);
        let own = c.stamp(1);
        let carried = c.carry(issuer);
        // What the issuer sees after the issue does not come with the end of the product.
        c.observe(later, 1, 1);
        let start = c.stamp(2);
        assert!(!c.ordered(copy, start, producer) && !c.ordered(worker.into(), worked, producer));
        c.inherit((2, 1), &carried, Heard::Exact, None);
        assert!(c.ordered(copy, start, producer));
        assert!(c.ordered(worker.into(), worked, producer));
        assert!(!c.ordered(issuer.into(), own, producer));
        assert!(!c.ordered(late, start, producer));
        assert!(!c.ordered(copy, start, Tid(65)));
        // The next one carries the rest.
        let carried = c.carry(issuer);
        c.inherit((2, 1), &carried, Heard::Exact, None);
        assert!(c.ordered(late, start, producer));
    }
}
