//! Asynchronous agents: copies that run beside their issuer until someone observes their end.
//!
//! An agent leaves happens-before only by being joined, so that it happens before whatever the
//! joining event happens before. An agent therefore needs no clock: a join is recorded as a
//! stamp of the joining thread, and asking about the agent is asking about these stamps.

use smallvec::SmallVec;

use super::{Actor, Shape, Tick};
use crate::sim::Tid;

/// Who observed the end of agents of a block.
#[derive(Clone, Copy, Debug)]
enum Join {
    /// Each lane of the mask that of its own agent.
    Own(u32, Tick),
    /// A thread that of the agent of one lane.
    By(u32, Tid, Tick),
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
}

impl Agents {
    pub(super) fn new(shape: Shape) -> Agents {
        Agents {
            shape,
            blocks: Vec::new(),
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

    /// The stamps at which the agent was joined.
    pub(super) fn joins(&self, who: Actor) -> impl Iterator<Item = (Tid, Tick)> + '_ {
        let (block, lane) = self.split(who).unwrap_or((usize::MAX, 0));
        let block = self.blocks.get(block);
        let shape = self.shape;
        block.into_iter().flat_map(move |b| {
            b.joins.iter().filter_map(move |j| match *j {
                Join::Own(mask, at) => {
                    (mask >> lane & 1 != 0).then(|| (shape.tid(b.warp, lane), at))
                }
                Join::By(l, t, at) => (l == lane).then_some((t, at)),
            })
        })
    }
}
