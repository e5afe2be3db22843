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

use std::hash::{Hash, Hasher};

use rustc_hash::FxHashMap;

use super::Tid;
use super::clock::{Actor, Clocks, Lanes, Layer, Tick, lanes};
use super::race::View;
use super::race::{AccessKind, By, Conflict, Party, RegionId, Report, Rule, SameWrite, rule};
use crate::kernel::Pc;

mod cell;
mod entry;
mod one_of;
mod page;
mod tables;

use cell::Cell;
use entry::{Entry, Extent};
use page::{PAGE_BITS, Page};
use tables::Tables;

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
    pub kind: AccessKind,
    /// True if it happens under a guard that depends on input data.
    pub conditional: bool,
    /// Whether it is each lane's own.
    pub by: By,
}

/// The shadow of one region.
#[derive(Clone)]
pub struct Shadow {
    region: RegionId,
    pages: Pages,
    tables: Tables,
    /// Lanes of each warp that ever made an access here.
    touched: Lanes,
    /// Number of exited threads when `quiet` was found out.
    exited: u32,
    /// No exited thread ever made an access here.
    quiet: bool,
}

/// The pages, made when they are first touched.
#[derive(Clone, Default)]
struct Pages {
    near: Vec<Option<Box<Page>>>,
    far: FxHashMap<u64, Box<Page>>,
}

impl Pages {
    #[inline]
    fn get(&mut self, index: u64) -> &mut Page {
        if index >= NEAR {
            return self.far.entry(index).or_insert_with(Page::new);
        }
        let i = index as usize;
        if self.near.len() <= i {
            self.near.resize_with(i + 1, || None);
        }
        self.near[i].get_or_insert_with(Page::new)
    }
}

/// Pages below this index are in a vector, the others in a hash table.
const NEAR: u64 = 1 << 16;

/// What all lanes of the access share.
struct Access<'a> {
    clocks: &'a Clocks,
    /// Stamps below this are below the floor.
    fresh: u32,
    /// For actors below this such a stamp is known to all.
    trusted: u32,
    /// So it is for all actors.
    regular: bool,
    tick: u32,
    base: u32,
    warp: u32,
    pc: Pc,
    kind: AccessKind,
    conditional: bool,
    /// A plain unconditional access, which a cell can hold.
    plain: bool,
    by: By,
    agent: bool,
    elem: u8,
    offsets: &'a [u64],
    mask: u32,
    bytes: u64,
    region: RegionId,
}

impl Shadow {
    /// Hashes the accesses with which one that comes may be unordered.
    pub fn record<H: Hasher>(&self, clocks: &Clocks, h: &mut H) {
        let Shadow {
            region: _, // Said once.
            pages: Pages { near, far },
            tables,
            touched,
            exited: _, // Derived.
            quiet: _,
        } = self;
        touched.hash(h);
        let mut far: Vec<(u64, &Page)> = far.iter().map(|(at, page)| (*at, &**page)).collect();
        far.sort_unstable_by_key(|page| page.0);
        let near = (0..)
            .zip(near)
            .filter_map(|(at, page)| Some((at, page.as_deref()?)));
        for (at, page) in near.chain(far) {
            for (i, cell) in (0u64..).zip(page.cells()) {
                let mut list = cell.list(tables);
                list.retain(|e| !clocks.all_settled(Actor(e.base), e.mask, Tick(e.tick)));
                if !list.is_empty() {
                    let byte = (at << PAGE_BITS) + (i << page.shift());
                    (byte, page.shift(), list).hash(h);
                }
            }
        }
    }

    /// An empty shadow.
    pub fn new(region: RegionId, clocks: &Clocks) -> Shadow {
        Shadow {
            region,
            pages: Pages::default(),
            tables: Tables::new(clocks.shape()),
            touched: clocks.shape().none(),
            exited: 0,
            quiet: true,
        }
    }

    /// Records the access of a warp and reports every conflict with earlier ones, and among its
    /// lanes. Pairs of writes whose values the caller must compare are in `report.same`, to be
    /// taken before the store takes effect.
    pub fn access(&mut self, clocks: &Clocks, a: &WarpAccess, report: &mut Report) {
        self.look_for_exits(clocks);
        self.touched[a.warp as usize] |= a.mask;
        let agents = clocks.first_agent();
        let ctx = Access {
            clocks,
            fresh: clocks.floor().0.max(1),
            trusted: if self.quiet { agents } else { 0 },
            regular: self.quiet && !clocks.has_agents(),
            tick: clocks.stamp(a.warp).0,
            base: a.agent.map_or(clocks.shape().tid(a.warp, 0).0, |b| b.0),
            warp: a.warp,
            pc: a.pc,
            kind: a.kind,
            conditional: a.conditional,
            plain: !a.kind.strong()
                && !a.conditional
                && a.pc.0 < entry::MAX_PC
                && a.by == By::Lanes
                && (report.apart.is_empty() || !report.apart.contains(&a.pc)),
            by: a.by,
            agent: a.agent.is_some(),
            elem: a.elem,
            offsets: a.offsets,
            mask: a.mask,
            bytes: u64::from(a.elem) * u64::from(a.count),
            region: self.region,
        };
        let mut rest = a.mask;
        while let Some((start, group)) = next_group(a.offsets, &mut rest) {
            match ctx.plain && ctx.elem >= 4 && start & 3 == 0 {
                true => self.words(&ctx, start, group, &mut rest, report),
                false => self.group(&ctx, start, group, report),
            }
        }
    }

    /// Forgets the strong writes of some bytes: a write that comes after all of them stands for them.
    pub fn forget_updates(&mut self, at: u64, bytes: u64) {
        let grain = at.trailing_zeros().min(bytes.trailing_zeros()).min(2);
        let mut next = at;
        while next < at + bytes {
            let tables = &mut self.tables;
            let page = self.pages.get(next >> PAGE_BITS);
            page.refine(grain, tables);
            let step = 1 << page.shift();
            let cell = page.cell(next);
            let mut list = cell.take_list(tables);
            list.retain(|e| !(e.kind.strong() && e.kind.writes()));
            cell.put_list(list, tables);
            next += step;
        }
    }

    /// Exited threads are rare where it matters: most of them made no access to this region.
    fn look_for_exits(&mut self, clocks: &Clocks) {
        if self.exited != clocks.exited() {
            self.exited = clocks.exited();
            let mut warps = 0..clocks.shape().warps();
            self.quiet = warps.all(|w| self.touched[w as usize] & !clocks.live(w) == 0);
        }
    }

    /// Plain accesses to whole words: the given group, and those after it while they stay
    /// inside one page.
    #[inline]
    fn words(
        &mut self,
        a: &Access,
        mut start: u64,
        mut group: u32,
        rest: &mut u32,
        report: &mut Report,
    ) {
        const INSIDE: u64 = (1 << PAGE_BITS) - 1;
        let index = start >> PAGE_BITS;
        let n = (a.bytes >> 2) as usize;
        let Some(cells) = self.pages.get(index).words() else {
            return self.group(a, start, group, report);
        };
        loop {
            let first = ((start & INSIDE) >> 2) as usize;
            let Some(cells) = cells.get_mut(first..first + n) else {
                return self.group(a, start, group, report);
            };
            for (i, cell) in cells.iter_mut().enumerate() {
                let at = start + 4 * i as u64;
                let done = match a.kind {
                    AccessKind::Read => cell.read(a, group, &mut self.tables),
                    _ => cell.write(a, group, a.extent(at, start), &mut self.tables),
                };
                if !done {
                    slow(a, cell, &mut self.tables, at, start, group, report);
                }
            }
            let before = *rest;
            match next_group(a.offsets, rest) {
                Some((s, g)) if s >> PAGE_BITS == index && s & 3 == 0 => (start, group) = (s, g),
                _ => {
                    *rest = before;
                    return;
                }
            }
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
            let tables = &mut self.tables;
            let page = self.pages.get(index);
            page.refine(grain, tables);
            let shift = page.shift();
            while at < stop {
                let cell = page.cell(at);
                let done = a.plain
                    && match a.kind {
                        AccessKind::Read => cell.read(a, group, tables),
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

/// Takes the next lanes out of the mask: neighbours with one address are one step.
#[inline]
fn next_group(offsets: &[u64], rest: &mut u32) -> Option<(u64, u32)> {
    if *rest == 0 {
        return None;
    }
    let start = *offsets.get(rest.trailing_zeros() as usize)?;
    let mut group = *rest & rest.wrapping_neg();
    *rest &= *rest - 1;
    while *rest != 0 && offsets.get(rest.trailing_zeros() as usize) == Some(&start) {
        group |= *rest & rest.wrapping_neg();
        *rest &= *rest - 1;
    }
    Some((start, group))
}

impl Access<'_> {
    #[inline]
    fn extent(&self, at: u64, start: u64) -> Extent {
        let into = (at - start) & (u64::from(self.elem) - 1);
        Extent::new(self.elem, into as u8)
    }

    fn thread(&self, lane: u32) -> Tid {
        self.clocks.shape().tid(self.warp, lane)
    }

    /// Is the access, if any, known to all, as far as can be told at a glance?
    #[inline]
    fn gone(&self, who: u32, tick: u32) -> bool {
        tick < self.fresh && who < self.trusted
    }

    /// Is the access known to all?
    #[inline]
    fn old(&self, who: u32, tick: u32) -> bool {
        tick < self.fresh && (who < self.trusted || self.clocks.settled(Actor(who), Tick(tick)))
    }

    /// Are the accesses of all the lanes known to all?
    #[inline]
    fn all_old(&self, base: u32, mask: u32, tick: u32) -> bool {
        tick < self.fresh
            && (base < self.trusted || self.clocks.all_settled(Actor(base), mask, Tick(tick)))
    }

    /// Of lanes of an earlier access, those that no layer for this place orders before a thread; true if they are ordered
    /// where no scope is the cluster. Lanes that not even that orders come alone.
    fn beside_layers(&self, e: &Entry, own: u32, at: u64, t: Tid) -> (u32, bool) {
        if !self.clocks.has_layers() {
            return (own, false);
        }
        let cta = (at >> crate::sim::cluster::SLOT_BITS) as u32;
        let in_shared = self.region.0 == crate::sim::region::SHARED.0;
        let near = in_shared.then_some(Layer::SharedOf(cta));
        let (who, tick) = (|l: u32| Actor(e.base + l), Tick(e.tick));
        let within = |layer, l| self.clocks.seen_in(layer).ordered(who(l), tick, t);
        let open = lanes(own)
            .filter(|l| !self.clocks.ordered(who(*l), tick, t))
            .filter(|l| !near.is_some_and(|n| within(n, *l)));
        let (mut free, mut by_default) = (0u32, 0u32);
        for l in open {
            match within(Layer::DefaultScope, l) {
                true => by_default |= 1 << l,
                false => free |= 1 << l,
            }
        }
        match free {
            0 => (by_default, true),
            _ => (free, false),
        }
    }

    /// Of lanes of an earlier access, those that nothing orders before a thread, if there are any.
    #[inline]
    fn unordered(&self, e: &Entry, own: u32, at: u64, t: Tid) -> Option<Unordered> {
        let (base, tick) = (Actor(e.base), Tick(e.tick));
        let mut other = self.clocks.unordered(base, own, tick, t)?;
        let (own, by_default) = self.beside_layers(e, own, at, t);
        if own & (1 << other) == 0 {
            other = lanes(own).next()?;
        }
        // An example that not even an exit orders is the stronger one.
        let free = lanes(own).find(|l| !self.clocks.exit_ordered(Actor(e.base + l), tick, t));
        Some(Unordered {
            own,
            other: free.unwrap_or(other),
            by_default,
            by_exit: free.is_none(),
        })
    }

    /// The party of an earlier access, as a thread sees it.
    #[inline]
    fn earlier(&self, e: &Entry, who: Actor, t: Tid) -> Party {
        let (thread, agent) = (self.clocks.thread_of(who), self.clocks.is_agent(who));
        Party {
            thread,
            agent,
            conditional: e.conditional,
            loose: agent.then(|| {
                let ordered = self.clocks.ordered(thread.into(), Tick(e.tick), t);
                (who, ordered)
            }),
            pc: e.pc,
            kind: e.kind,
        }
    }

    fn party(&self, lane: u32) -> Party {
        Party {
            thread: self.thread(lane),
            agent: self.agent,
            conditional: self.conditional,
            loose: None,
            pc: self.pc,
            kind: self.kind,
        }
    }
}

/// Lanes of an earlier access that nothing orders before a thread.
struct Unordered {
    /// All of them, a bit each.
    own: u32,
    /// The lane that stands for them.
    other: u32,
    /// True if they are ordered where no scope is the cluster.
    by_default: bool,
    /// True if the exit of its thread orders each of them.
    by_exit: bool,
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
        AccessKind::Read => Extent::new(1, 0),
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
        by: a.by,
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
    report.same_lane |= a.by_same_lane(e, group);
    // One lane of the entry stands for all of them; where data decide, each is for itself.
    let each = report.each && (a.conditional || e.conditional);
    let pairs = lanes(group).flat_map(|lane| {
        let own = a.others(e, lane);
        let one_by_one = lanes(if each { own } else { 0 }).map(move |l| (lane, 1 << l));
        one_by_one.chain((!each).then_some((lane, own)))
    });
    for (lane, own) in pairs {
        let t = a.thread(lane);
        let Some(unordered) = a.unordered(e, own, at, t) else {
            continue;
        };
        let (own, other) = (unordered.own, unordered.other);
        let earlier = a.earlier(e, Actor(e.base + other), t);
        // An asynchronous operation that no scope orders, as compilers have it: the end of one that another CTA started,
        // or one over what was read.
        let copies = earlier.agent || !e.kind.writes() && a.agent;
        let weak = |c: Conflict| match c {
            Conflict::Race if unordered.by_default && copies => Conflict::DefaultScope,
            Conflict::Race | Conflict::Strong if unordered.by_exit => Conflict::ByExit,
            Conflict::Race if !a.certain(e, group) => Conflict::Layout,
            Conflict::Race if a.conditional || e.conditional => Conflict::Conditional,
            c => c,
        };
        match verdict {
            Rule::Fine => {}
            Rule::Bad(c) => {
                let added = report.meet(weak(c), a.region, at, earlier, a.party(lane));
                if added && a.kind == AccessKind::Read {
                    report.add_reader(a.pc, t);
                }
                if added && e.kind == AccessKind::Read {
                    let races =
                        |l: &u32| a.clocks.unordered(base, 1 << l, Tick(e.tick), t).is_some();
                    for l in lanes(own).filter(races) {
                        report.add_reader(e.pc, a.clocks.thread_of(Actor(e.base + l)));
                    }
                }
            }
            Rule::SameBytes if extent.into() != 0 => {}
            Rule::SameBytes => report.meet_write(
                each,
                SameWrite {
                    region: a.region,
                    offset: at,
                    size: a.elem,
                    earlier,
                    later: a.party(lane),
                    within: e.base == a.base
                        && e.pc == a.pc
                        && other < group.trailing_zeros()
                        && a.touches(other, at),
                    current: list[i + 1..].iter().all(|l| {
                        !l.kind.writes()
                            || (l.kind == AccessKind::Write && l.extent == extent && !l.conditional)
                    }),
                    otherwise: weak(Conflict::Race),
                    view: View::Both,
                },
            ),
        }
        if a.by != By::Lanes && !each {
            return;
        }
    }
}

/// Lanes of one instruction that access the same bytes are unordered.
fn among(a: &Access, at: u64, extent: Extent, group: u32, report: &mut Report) {
    if a.by != By::Lanes {
        return;
    }
    let first = group.trailing_zeros();
    let verdict = rule(a.kind, a.kind, true);
    // One lane stands for all of them; where data decide, each is for itself.
    let each = report.each && a.conditional;
    let pairs = lanes(group).flat_map(|lane| {
        let before = group & ((1u32 << lane) - 1);
        let all = lanes(if each { before } else { 0 }).map(move |l| (l, lane));
        all.chain((!each && lane != first).then_some((first, lane)))
    });
    for (first, lane) in pairs {
        let otherwise = if a.conditional {
            Conflict::Conditional
        } else {
            Conflict::Race
        };
        match verdict {
            Rule::Fine => {}
            Rule::Bad(c) => {
                report.meet(c, a.region, at, a.party(first), a.party(lane));
            }
            Rule::SameBytes if extent.into() != 0 => {}
            Rule::SameBytes => report.meet_write(
                each,
                SameWrite {
                    region: a.region,
                    offset: at,
                    size: a.elem,
                    earlier: a.party(first),
                    later: a.party(lane),
                    within: true,
                    current: true,
                    otherwise,
                    view: View::Both,
                },
            ),
        }
    }
}

impl Access<'_> {
    /// Does the lane access the byte in this instruction?
    fn touches(&self, lane: u32, at: u64) -> bool {
        self.mask >> lane & 1 != 0
            && self
                .offsets
                .get(lane as usize)
                .is_some_and(|&o| at.wrapping_sub(o) < self.bytes)
    }
}
