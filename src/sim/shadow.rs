//! Shadow memory of one region: who accessed each byte last, and which accesses conflict.
//!
//! Problem: for each access of a warp, find every earlier access of the same bytes that does not
//! happen before it. Source: FastTrack (PLDI 2009), which keeps the last write and the reads
//! since. How this differs: an access is that of a warp, and what is recorded is warp and lane
//! mask; bytes are exact, because a page splits its cells as far as its accesses need; and an
//! ordered write does not discard earlier reads, since a later write of the same value is no
//! race with that write but still one with the reads. Discarded is only what every live thread
//! knows, what a later access of the same lane of the same sort replaces, and a write that a
//! plain write of exactly the same bytes follows.
//!
//! A cell holds one plain write and the plain reads of one warp, or of all warps in a table
//! beside it. Everything else (atomics, strong accesses, guarded accesses, unordered writes,
//! lanes of one warp with different stamps) moves the cell to a list of entries.
//!
//! Not claimed: that every pair is reported once a cell has a race; at least one pair of each
//! racing access is.

use rustc_hash::FxHashMap;

use super::Tid;
use super::clock::{Actor, Clocks, Tick, lanes};
use super::race::{Conflict, Kind, Party, RegionId, Report, Rule, SameWrite, rule};
use crate::kernel::Pc;

mod cell;
mod page;

use cell::{Cell, Entry, Extent, Tables};
use page::{PAGE_BITS, Page};

/// One memory instruction of a warp. An agent's access names the agents of the lanes, and the
/// warp that issues it; it is checked with the issuers' clocks of the moment.
#[derive(Clone, Copy, Debug)]
pub struct WarpAccess<'a> {
    /// The warp.
    pub warp: u32,
    /// For an asynchronous operation what [`Clocks::fork`] returned.
    pub agent: Option<Actor>,
    /// The lanes that access.
    pub mask: u32,
    /// The instruction.
    pub pc: Pc,
    /// Byte offset in the region for each lane; those outside the mask are ignored.
    pub offsets: &'a [u64],
    /// Size in bytes of an element: 1, 2, 4, 8 or 16.
    pub elem: u8,
    /// Number of consecutive elements of a lane.
    pub count: u8,
    /// What is done.
    pub kind: Kind,
    /// True if it happens under a guard that depends on input data.
    pub conditional: bool,
}

/// The shadow of one region.
pub struct Shadow {
    region: RegionId,
    near: Vec<Option<Box<Page>>>,
    far: FxHashMap<u64, Box<Page>>,
    tables: Tables,
}

/// Pages below this index are in a vector, the others in a hash table.
const NEAR: u64 = 1 << 16;

/// What all lanes of the access share.
struct Access<'a> {
    clocks: &'a Clocks,
    floor: u32,
    /// Stamps below the floor are known to all without a look at who made them.
    regular: bool,
    tick: u32,
    base: u32,
    warp: u32,
    pc: Pc,
    kind: Kind,
    conditional: bool,
    /// A plain unconditional access, which a cell can hold.
    plain: bool,
    agent: bool,
    elem: u8,
    offsets: &'a [u64],
    mask: u32,
    bytes: u64,
    region: RegionId,
}

impl Shadow {
    /// An empty shadow.
    pub fn new(region: RegionId, clocks: &Clocks) -> Shadow {
        Shadow {
            region,
            near: Vec::new(),
            far: FxHashMap::default(),
            tables: Tables::new(clocks.shape()),
        }
    }

    /// Records the access of a warp and reports every conflict with earlier ones, and among its
    /// lanes. Pairs of writes whose values the caller must compare are in `report.same`, to be
    /// taken before the store takes effect.
    pub fn access(&mut self, clocks: &Clocks, a: &WarpAccess, report: &mut Report) {
        let bytes = u64::from(a.elem) * u64::from(a.count);
        let ctx = Access {
            clocks,
            floor: clocks.floor().0,
            regular: !clocks.irregular(),
            tick: clocks.stamp(a.warp).0,
            base: a.agent.map_or(clocks.shape().tid(a.warp, 0).0, |b| b.0),
            warp: a.warp,
            pc: a.pc,
            kind: a.kind,
            conditional: a.conditional,
            plain: !a.kind.strong() && !a.conditional && a.pc.0 < cell::MAX_PC,
            agent: a.agent.is_some(),
            elem: a.elem,
            offsets: a.offsets,
            mask: a.mask,
            bytes,
            region: self.region,
        };
        let mut rest = a.mask;
        while rest != 0 {
            let lane = rest.trailing_zeros();
            let Some(&start) = a.offsets.get(lane as usize) else {
                return;
            };
            let mut group = 1 << lane;
            rest &= rest - 1;
            // Neighbouring lanes with one address are one step.
            while rest != 0 {
                let next = rest.trailing_zeros();
                if a.offsets.get(next as usize) != Some(&start) {
                    break;
                }
                group |= 1 << next;
                rest &= rest - 1;
            }
            self.group(&ctx, start, group, report);
        }
    }

    /// The lanes of `group` access the same bytes.
    fn group(&mut self, a: &Access, start: u64, group: u32, report: &mut Report) {
        // No region reaches this far: the caller has reported the access as out of bounds.
        if start > u64::MAX >> 1 {
            return;
        }
        let end = start + a.bytes;
        let grain = start.trailing_zeros().min(a.elem.trailing_zeros()).min(2);
        let mut at = start;
        while at < end {
            let index = at >> PAGE_BITS;
            let stop = end.min((index + 1) << PAGE_BITS);
            let Shadow {
                near, far, tables, ..
            } = self;
            let page = if index < NEAR {
                let i = index as usize;
                if near.len() <= i {
                    near.resize_with(i + 1, || None);
                }
                near[i].get_or_insert_with(Page::new)
            } else {
                far.entry(index).or_insert_with(Page::new)
            };
            page.refine(grain, tables);
            let shift = page.shift();
            while at < stop {
                let cell = page.cell(at);
                let done = a.plain
                    && match a.kind {
                        Kind::Read => cell.read(a, group, tables),
                        _ => cell.write(a, group, a.extent(at, start), tables),
                    };
                if !done {
                    slow(a, cell, tables, at, start, group, report);
                }
                at += 1 << shift;
            }
        }
    }
}

impl Access<'_> {
    fn extent(&self, at: u64, start: u64) -> Extent {
        let into = (at - start) & (u64::from(self.elem) - 1);
        Extent::new(self.elem, into as u8)
    }

    fn thread(&self, lane: u32) -> Tid {
        self.clocks.shape().tid(self.warp, lane)
    }

    /// Is the access known to all?
    #[inline]
    fn old(&self, who: u32, tick: u32) -> bool {
        tick < self.floor && (self.regular || self.clocks.settled(Actor(who), Tick(tick)))
    }

    /// Are the accesses of all the lanes known to all?
    #[inline]
    fn all_old(&self, base: u32, mask: u32, tick: u32) -> bool {
        tick < self.floor
            && (self.regular || self.clocks.all_settled(Actor(base), mask, Tick(tick)))
    }

    fn party(&self, lane: u32) -> Party {
        Party {
            thread: self.thread(lane),
            agent: self.agent,
            pc: self.pc,
            kind: self.kind,
        }
    }
}

/// The general case: compares with each entry of the cell, then adds one.
fn slow(
    a: &Access,
    cell: &mut Cell,
    tables: &mut Tables,
    at: u64,
    start: u64,
    group: u32,
    report: &mut Report,
) {
    let extent = a.extent(at, start);
    let mut list = cell.take_list(tables);
    list.retain(|e| !a.all_old(e.base, e.mask, e.tick));
    for i in 0..list.len() {
        compare(a, &list, i, at, extent, group, report);
    }
    among(a, at, extent, group, report);
    let extent = match a.kind {
        Kind::Read => Extent::new(1, 0),
        _ => extent,
    };
    let new = Entry {
        base: a.base,
        mask: group,
        tick: a.tick,
        pc: a.pc,
        kind: a.kind,
        conditional: a.conditional,
        extent,
    };
    new.insert(&mut list, a.clocks, a.warp);
    cell.put_list(list, tables);
}

/// Compares the lanes of the group with one earlier entry.
fn compare(
    a: &Access,
    list: &[Entry],
    i: usize,
    at: u64,
    extent: Extent,
    group: u32,
    report: &mut Report,
) {
    let e = &list[i];
    let verdict = rule(e.kind, a.kind, e.extent == extent);
    if verdict == Rule::Fine {
        return;
    }
    let base = Actor(e.base);
    for lane in lanes(group) {
        let own = if e.base == a.base {
            e.mask & !(1 << lane)
        } else {
            e.mask
        };
        let t = a.thread(lane);
        let Some(mut other) = a.clocks.unordered(base, own, Tick(e.tick), t) else {
            continue;
        };
        // An example that not even an exit orders is the stronger one.
        let free = |l: &u32| !a.clocks.exit_ordered(Actor(e.base + l), Tick(e.tick), t);
        let by_exit = match lanes(own).find(free) {
            Some(l) => {
                other = l;
                false
            }
            None => true,
        };
        let who = Actor(e.base + other);
        let earlier = Party {
            thread: a.clocks.thread_of(who),
            agent: a.clocks.is_agent(who),
            pc: e.pc,
            kind: e.kind,
        };
        let weak = |c: Conflict| match c {
            Conflict::Race | Conflict::Strong if by_exit => Conflict::ByExit,
            Conflict::Race if a.conditional || e.conditional => Conflict::Conditional,
            c => c,
        };
        match verdict {
            Rule::Fine => {}
            Rule::Bad(c) => report.add(weak(c), a.region, at, earlier, a.party(lane)),
            Rule::SameBytes if extent.into() != 0 => {}
            Rule::SameBytes => report.same.push(SameWrite {
                region: a.region,
                offset: at,
                size: a.elem,
                earlier,
                later: a.party(lane),
                within: e.base == a.base && e.pc == a.pc && a.touches(other, at),
                current: list[i + 1..].iter().all(|l| {
                    !l.kind.writes()
                        || (l.kind == Kind::Write && l.extent == extent && !l.conditional)
                }),
                otherwise: weak(Conflict::Race),
            }),
        }
    }
}

/// Lanes of one instruction that access the same bytes are unordered.
fn among(a: &Access, at: u64, extent: Extent, group: u32, report: &mut Report) {
    let mut rest = lanes(group);
    let Some(first) = rest.next() else { return };
    let verdict = rule(a.kind, a.kind, true);
    for lane in rest {
        let otherwise = if a.conditional {
            Conflict::Conditional
        } else {
            Conflict::Race
        };
        match verdict {
            Rule::Fine => {}
            Rule::Bad(c) => report.add(c, a.region, at, a.party(first), a.party(lane)),
            Rule::SameBytes if extent.into() != 0 => {}
            Rule::SameBytes => report.same.push(SameWrite {
                region: a.region,
                offset: at,
                size: a.elem,
                earlier: a.party(first),
                later: a.party(lane),
                within: true,
                current: true,
                otherwise,
            }),
        }
    }
}

impl Access<'_> {
    /// Does another lane of this instruction access the byte?
    fn touches(&self, lane: u32, at: u64) -> bool {
        self.mask >> lane & 1 != 0
            && self
                .offsets
                .get(lane as usize)
                .is_some_and(|&o| at.wrapping_sub(o) < self.bytes)
    }
}
