//! Asynchronous agents: copies that run beside their issuer until someone observes their end.
//!
//! An agent leaves happens-before only by being joined, so that it happens before whatever the
//! joining event happens before. An agent therefore needs no clock: a join is recorded as a
//! stamp of the joining thread, and asking about the agent is asking about these stamps.

use std::hash::{Hash, Hasher};

use smallvec::SmallVec;

use super::{Actor, Clocks, RankShape, Tick, lanes};
use crate::sim::{Tid, state};

/// Who observed the end of agents of a block.
#[derive(Clone, Copy, Debug, Hash)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId(u32);

impl EventId {
    /// The event of a number, of those that there are.
    pub(super) fn numbered(n: u32) -> EventId {
        EventId(n)
    }
}

impl Hash for EventId {
    fn hash<H: Hasher>(&self, h: &mut H) {
        state::numbered(state::EVENT, self.0, h);
    }
}

/// What an observation of an event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Seen {
    /// That the event has come: an order of execution, not of data.
    Looked,
    /// That agents of the own CTA are over.
    Near,
    /// That all agents are.
    Far,
}

/// Lanes of a warp that observed an event.
#[derive(Clone, Copy, Debug, Hash)]
struct Observed {
    warp: u32,
    mask: u32,
    at: Tick,
    seen: Seen,
}

/// The agents that one instruction of a warp forked, one for each lane.
#[derive(Clone, Debug, Hash)]
struct Block {
    warp: u32,
    joins: SmallVec<[Join; 1]>,
}

/// All agents of the CTA; ids follow those of the lanes of its warps.
#[derive(Clone, Debug)]
pub(super) struct Agents {
    shape: RankShape,
    blocks: Vec<Block>,
    events: Vec<Vec<Observed>>,
}

impl Agents {
    /// Hashes the agents whose accesses may be unordered with what comes, and the events that may end some.
    pub(super) fn record<H: Hasher>(&self, clocks: &Clocks, h: &mut H) {
        let Agents {
            shape,
            blocks,
            events,
        } = self;
        let width = shape.width();
        let all = u32::MAX >> (32 - width);
        for (base, block) in (0..).map(|i| Actor(self.first() + i * width)).zip(blocks) {
            if !clocks.all_settled(base, all, clocks.now()) {
                (base, block).hash(h);
            }
        }
        let events = (0..).map(EventId).zip(events);
        events.for_each(|(event, seen)| (event, seen).hash(h));
    }

    pub(super) fn new(shape: RankShape) -> Agents {
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

    pub(super) fn observe(
        &mut self,
        event: EventId,
        (warp, mask): (u32, u32),
        at: Tick,
        seen: Seen,
    ) {
        if let Some(e) = self.events.get_mut(event.0 as usize) {
            e.push(Observed {
                warp,
                mask,
                at,
                seen,
            });
        }
    }

    /// Does an observation say that an agent of a warp is over?
    fn ends(&self, o: &Observed, agent: u32) -> bool {
        match o.seen {
            Seen::Looked => false,
            Seen::Near => self.shape.cta(o.warp) == self.shape.cta(agent),
            Seen::Far => true,
        }
    }

    /// Who observed an event for more than that it has come, when, and what that says.
    pub(super) fn seen(&self, event: EventId) -> impl Iterator<Item = (Tid, Tick, Seen)> + '_ {
        let all = self.events.get(event.0 as usize).map_or(&[][..], |e| e);
        let shape = self.shape;
        all.iter()
            .filter(|o| o.seen > Seen::Looked)
            .flat_map(move |o| lanes(o.mask).map(move |l| (shape.tid(o.warp, l), o.at, o.seen)))
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
        let Some(b) = self.blocks.get(block) else {
            return false;
        };
        b.joins.iter().any(|j| match *j {
            Join::Event(mask, e) => {
                mask >> lane & 1 != 0
                    && self.events[e.0 as usize]
                        .iter()
                        .any(|o| o.warp == warp && o.mask >> l & 1 != 0 && self.ends(o, b.warp))
            }
            _ => false,
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
                    .filter(move |o| self.ends(o, b.warp))
                    .flat_map(move |o| lanes(o.mask).map(move |l| (shape.tid(o.warp, l), o.at)));
                one.into_iter().chain(many)
            })
        })
    }
}
