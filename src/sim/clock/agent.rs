//! Asynchronous agents: copies that run beside their issuer until someone observes their end.
//!
//! An agent leaves happens-before only by being joined, so that it happens before whatever the
//! joining event happens before. An agent therefore needs no clock: a join is recorded as a
//! stamp of the joining thread, and asking about the agent is asking about these stamps.

use smallvec::SmallVec;

use super::{Actor, Shape, Tick, lanes};
use crate::sim::Tid;

/// Who observed the end of agents of a block.
#[derive(Clone, Copy, Debug)]
enum Join {
    /// Each lane of the mask that of its own agent.
    Own(u32, Tick),
    /// A thread that of the agent of one lane.
    By(u32, Tid, Tick),
    /// Whoever observes an event that of the agents of the mask.
    Event(u32, EventId),
}

/// Something that ends agents and that many threads may observe: a phase of an mbarrier, a group
/// of products of a warpgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventId(u32);

impl EventId {
    /// The event of a number, of those that there are.
    pub(super) fn numbered(n: u32) -> EventId {
        EventId(n)
    }
}

/// Lanes of a warp that observed an event.
#[derive(Clone, Copy, Debug)]
struct Observed {
    warp: u32,
    mask: u32,
    at: Tick,
}

/// The agents that one instruction of a warp forked, one for each lane.
#[derive(Clone, Debug)]
struct Block {
    warp: u32,
    joins: SmallVec<[Join; 1]>,
}

/// All agents of the CTA; ids follow those of the lanes of its warps.
#[derive(Clone, Debug)]
pub(super) struct Agents {
    shape: Shape,
    blocks: Vec<Block>,
    events: Vec<Vec<Observed>>,
}

impl Agents {
    pub(super) fn new(shape: Shape) -> Agents {
        Agents {
            shape,
            blocks: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Ids from here on are agents.
    #[inline]
    pub(super) fn first(&self) -> u32 {
        self.shape.warps() << self.shape.shift
    }

    #[inline]
    pub(super) fn any(&self) -> bool {
        !self.blocks.is_empty()
    }

    pub(super) fn fork(&mut self, warp: u32) -> Actor {
        let base = self.first() + ((self.blocks.len() as u32) << self.shape.shift);
        self.blocks.push(Block {
            warp,
            joins: SmallVec::new(),
        });
        Actor(base)
    }

    fn split(&self, who: Actor) -> Option<(usize, u32)> {
        let i = who.0.checked_sub(self.first())?;
        Some((
            (i >> self.shape.shift) as usize,
            i & (self.shape.width() - 1),
        ))
    }

    pub(super) fn issuer(&self, who: Actor) -> Option<Tid> {
        let (block, lane) = self.split(who)?;
        Some(self.shape.tid(self.blocks.get(block)?.warp, lane))
    }

    pub(super) fn join_own(&mut self, base: Actor, mask: u32, at: Tick) {
        let Some((block, _)) = self.split(base) else {
            return;
        };
        if let Some(b) = self.blocks.get_mut(block) {
            b.joins.push(Join::Own(mask, at));
        }
    }

    pub(super) fn join_by(&mut self, agent: Actor, by: Tid, at: Tick) {
        let Some((block, lane)) = self.split(agent) else {
            return;
        };
        if let Some(b) = self.blocks.get_mut(block) {
            b.joins.push(Join::By(lane, by, at));
        }
    }

    pub(super) fn new_event(&mut self) -> EventId {
        self.events.push(Vec::new());
        EventId(self.events.len() as u32 - 1)
    }

    /// How many events there are.
    pub(super) fn events(&self) -> u32 {
        self.events.len() as u32
    }

    pub(super) fn join_event(&mut self, base: Actor, mask: u32, event: EventId) {
        let Some((block, _)) = self.split(base) else {
            return;
        };
        if let Some(b) = self.blocks.get_mut(block) {
            b.joins.push(Join::Event(mask, event));
        }
    }

    pub(super) fn observe(&mut self, event: EventId, warp: u32, mask: u32, at: Tick) {
        if let Some(e) = self.events.get_mut(event.0 as usize) {
            e.push(Observed { warp, mask, at });
        }
    }

    /// Who observed an event, and when.
    pub(super) fn observers(&self, event: EventId) -> impl Iterator<Item = (Tid, Tick)> + '_ {
        let all = self.events.get(event.0 as usize).map_or(&[][..], |e| e);
        let shape = self.shape;
        all.iter()
            .flat_map(move |o| lanes(o.mask).map(move |l| (shape.tid(o.warp, l), o.at)))
    }

    /// Did the thread itself observe an event that ends the agent?
    pub(super) fn observed_by(&self, who: Actor, t: Tid) -> bool {
        let Some((block, lane)) = self.split(who) else {
            return false;
        };
        let (warp, l) = (self.shape.warp(t), self.shape.lane(t));
        let joins = self.blocks.get(block).map_or(&[][..], |b| &b.joins[..]);
        joins.iter().any(|j| match *j {
            Join::Event(mask, e) => {
                mask >> lane & 1 != 0
                    && self.events[e.0 as usize]
                        .iter()
                        .any(|o| o.warp == warp && o.mask >> l & 1 != 0)
            }
            _ => false,
        })
    }

    /// True if the agent is over when the event is.
    pub(super) fn ends_with(&self, who: Actor, event: EventId) -> bool {
        let Some((block, lane)) = self.split(who) else {
            return false;
        };
        let joins = self.blocks.get(block).map_or(&[][..], |b| &b.joins[..]);
        joins.iter().any(|j| match *j {
            Join::Event(mask, e) => mask >> lane & 1 != 0 && e == event,
            Join::Own(..) | Join::By(..) => false,
        })
    }

    /// The stamps at which the agent was joined.
    pub(super) fn joins(&self, who: Actor) -> impl Iterator<Item = (Tid, Tick)> + '_ {
        let (block, lane) = self.split(who).unwrap_or((usize::MAX, 0));
        let block = self.blocks.get(block);
        let shape = self.shape;
        block.into_iter().flat_map(move |b| {
            b.joins.iter().flat_map(move |j| {
                let (one, event) = match *j {
                    Join::Own(mask, at) => {
                        let own = (mask >> lane & 1 != 0).then(|| (shape.tid(b.warp, lane), at));
                        (own, &[][..])
                    }
                    Join::By(l, t, at) => ((l == lane).then_some((t, at)), &[][..]),
                    Join::Event(mask, e) if mask >> lane & 1 != 0 => {
                        (None, &self.events[e.0 as usize][..])
                    }
                    Join::Event(..) => (None, &[][..]),
                };
                let many = event
                    .iter()
                    .flat_map(move |o| lanes(o.mask).map(move |l| (shape.tid(o.warp, l), o.at)));
                one.into_iter().chain(many)
            })
        })
    }
}
