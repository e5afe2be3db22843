//! One kind of access of some lanes of a warp, as the general case remembers it.

use std::hash::{Hash, Hasher};

use smallvec::SmallVec;

use crate::kernel::Pc;
use crate::sim::clock::{Actor, Clocks, Tick};
use crate::sim::race::{AccessKind, By};

/// Instructions from here on do not fit beside an extent; their cells become lists.
pub(super) const MAX_PC: u32 = 1 << 25;

/// Which part of which element a cell is: log2 of the element's size, and the offset of the cell
/// in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Extent(pub(super) u8);

impl Extent {
    pub(super) fn new(elem: u8, into: u8) -> Extent {
        Extent((elem.trailing_zeros() as u8) << 4 | (into & 15))
    }

    /// Offset of the cell in the element.
    pub(super) fn into(self) -> u8 {
        self.0 & 15
    }

    /// That of the cell `by` bytes further on.
    pub(super) fn later(self, by: u8) -> Extent {
        Extent(self.0 & !15 | ((self.0 + by) & 15))
    }
}

/// Accesses of some lanes of one warp, or of their agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) base: u32,
    pub(super) mask: u32,
    pub(super) tick: u32,
    pub(super) pc: Pc,
    pub(super) kind: AccessKind,
    pub(super) conditional: bool,
    pub(super) extent: Extent,
    pub(super) by: By,
}

pub(super) type List = SmallVec<[Entry; 2]>;

impl Hash for Entry {
    fn hash<H: Hasher>(&self, h: &mut H) {
        let Entry {
            base,
            mask,
            tick,
            pc,
            kind,
            conditional,
            extent,
            by,
        } = self;
        (Actor(*base), mask, Tick(*tick), pc).hash(h);
        (kind, conditional, extent, by).hash(h);
    }
}

impl Entry {
    /// Adds the entry and discards those that it replaces.
    pub(super) fn insert(self, list: &mut List, clocks: &Clocks, warp: u32) {
        let shape = clocks.shape();
        // A lane that is not named may be one that knows less than others.
        let over = self.kind == AccessKind::Write && !self.conditional && self.by == By::Lanes;
        list.retain(|e| {
            let sort = (e.kind, e.conditional, e.by) == (self.kind, self.conditional, self.by);
            // Accesses of two instructions under conditions do not happen for the same inputs.
            let sort = sort && (!e.conditional || e.pc == self.pc);
            if e.base == self.base && sort && e.extent == self.extent {
                e.mask &= !self.mask;
            }
            // A plain write of the same bytes hides those before it: whatever is unordered with
            // one of them is unordered with it, and reported in the same way.
            let hidden = over && e.kind == AccessKind::Write && e.extent == self.extent && {
                let t = shape.tid(warp, self.mask.trailing_zeros() & 31);
                clocks
                    .unordered(Actor(e.base), e.mask, Tick(e.tick), t)
                    .is_none()
            };
            e.mask != 0 && !hidden
        });
        // Writes stay in the order in which they happened.
        let order = self.kind.writes();
        let from = if order {
            list.len().saturating_sub(1)
        } else {
            0
        };
        let twin = |e: &&mut Entry| Entry { mask: 0, ..**e } == Entry { mask: 0, ..self };
        match list[from..].iter_mut().find(twin) {
            Some(e) => e.mask |= self.mask,
            None => list.push(self),
        }
    }

    /// A plain unconditional access.
    pub(super) fn plain(&self) -> bool {
        !self.kind.strong() && !self.conditional && self.pc.0 < MAX_PC && self.by == By::Lanes
    }
}

/// Extents of reads never matter.
pub(super) fn plain_read(base: u32, mask: u32, tick: u32, pc: u32) -> Entry {
    Entry {
        base,
        mask,
        tick,
        pc: Pc(pc),
        kind: AccessKind::Read,
        conditional: false,
        extent: Extent(0),
        by: By::Lanes,
    }
}
