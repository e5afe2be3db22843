//! What is remembered of the accesses of one cell.

use smallvec::SmallVec;

use super::Access;
use crate::kernel::Pc;
use crate::sim::clock::{Actor, Clocks, Shape, Tick, lanes};
use crate::sim::race::Kind;

/// Instructions from here on do not fit beside an extent; their cells become lists.
pub(super) const MAX_PC: u32 = 1 << 25;

/// Which part of which element a cell is: log2 of the element's size, and the offset of the cell
/// in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent(u8);

impl Extent {
    pub(super) fn new(elem: u8, into: u8) -> Extent {
        Extent((elem.trailing_zeros() as u8) << 4 | (into & 15))
    }

    /// Offset of the cell in the element.
    pub(super) fn into(self) -> u8 {
        self.0 & 15
    }

    /// That of the cell `by` bytes further on.
    fn later(self, by: u8) -> Extent {
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
    pub(super) kind: Kind,
    pub(super) conditional: bool,
    pub(super) extent: Extent,
}

pub(super) type List = SmallVec<[Entry; 2]>;

impl Entry {
    /// Adds the entry and discards those that it replaces.
    pub(super) fn insert(self, list: &mut List, clocks: &Clocks, warp: u32) {
        let shape = clocks.shape();
        let over = self.kind == Kind::Write && !self.conditional;
        list.retain(|e| {
            let sort = e.kind == self.kind && e.conditional == self.conditional;
            if e.base == self.base && sort && e.extent == self.extent {
                e.mask &= !self.mask;
            }
            // A plain write of the same bytes hides those before it: whatever is unordered with
            // one of them is unordered with it, and reported in the same way.
            let hidden = over && e.kind == Kind::Write && e.extent == self.extent && {
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
    fn plain(&self) -> bool {
        !self.kind.strong() && !self.conditional && self.pc.0 < MAX_PC
    }
}

/// Extents of reads never matter.
fn plain_read(base: u32, mask: u32, tick: u32, pc: u32) -> Entry {
    Entry {
        base,
        mask,
        tick,
        pc: Pc(pc),
        kind: Kind::Read,
        conditional: false,
        extent: Extent(0),
    }
}

/// Plain reads of one warp.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reader {
    tick: u32,
    mask: u32,
    pc: u32,
}

/// Where cells keep what does not fit into them.
pub(super) struct Tables {
    warps: u32,
    shift: u32,
    /// Readers of each warp, `warps` for each record.
    readers: Vec<Reader>,
    free_readers: Vec<u32>,
    lists: Vec<List>,
    free_lists: Vec<u32>,
}

const LIST: u32 = 1 << 31;
const READERS: u32 = 1 << 30;
const INDEX: u32 = READERS - 1;

impl Tables {
    pub(super) fn new(shape: Shape) -> Tables {
        Tables {
            warps: shape.warps(),
            shift: shape.width().trailing_zeros(),
            readers: Vec::new(),
            free_readers: Vec::new(),
            lists: Vec::new(),
            free_lists: Vec::new(),
        }
    }

    #[inline]
    fn record(&mut self, link: u32) -> &mut [Reader] {
        let at = ((link & INDEX) * self.warps) as usize;
        &mut self.readers[at..at + self.warps as usize]
    }

    fn new_record(&mut self) -> u32 {
        let i = self.free_readers.pop().unwrap_or_else(|| {
            let i = self.readers.len() as u32 / self.warps;
            let n = self.readers.len() + self.warps as usize;
            self.readers.resize(n, Reader::default());
            i
        });
        READERS | i
    }

    fn new_list(&mut self) -> u32 {
        self.free_lists.pop().unwrap_or_else(|| {
            self.lists.push(List::new());
            self.lists.len() as u32 - 1
        })
    }

    fn free_record(&mut self, link: u32) {
        self.record(link).fill(Reader::default());
        self.free_readers.push(link & INDEX);
    }
}

/// The accesses of one cell: a plain write, plain reads of a warp, and a link to more. With a
/// list, all are in the list.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
pub(super) struct Cell {
    w_tick: u32,
    w_who: u32,
    w_info: u32,
    r_tick: u32,
    r_base: u32,
    r_mask: u32,
    r_pc: u32,
    link: u32,
}

impl Cell {
    /// Records a plain read if nothing conflicts and it fits.
    #[inline]
    pub(super) fn read(&mut self, a: &Access, group: u32, tables: &mut Tables) -> bool {
        if self.link & LIST != 0 && !self.reset(a, tables) {
            return false;
        }
        if self.w_tick != 0 && !a.old(self.w_who, self.w_tick) && !self.write_known(a, group) {
            return false;
        }
        let old = self.r_tick == 0 || a.all_old(self.r_base, self.r_mask, self.r_tick);
        if self.link == 0 && (old || self.r_base == a.base) {
            let same = !old;
            let mask = match same {
                true if self.r_tick == a.tick => self.r_mask | group,
                true if self.r_mask & !group != 0 => return false,
                _ => group,
            };
            self.r_tick = a.tick;
            self.r_base = a.base;
            self.r_mask = mask;
            self.r_pc = a.pc.0;
            return true;
        }
        self.read_shared(a, group, tables)
    }

    /// A read of a cell that other warps read too.
    fn read_shared(&mut self, a: &Access, group: u32, tables: &mut Tables) -> bool {
        let shift = tables.shift;
        if a.agent || (self.link == 0 && self.r_base >> shift >= tables.warps) {
            return false;
        }
        if self.link == 0 {
            self.link = tables.new_record();
            let old = &mut tables.record(self.link)[(self.r_base >> shift) as usize];
            *old = Reader {
                tick: self.r_tick,
                mask: self.r_mask,
                pc: self.r_pc,
            };
            self.r_tick = 0;
        }
        let r = &mut tables.record(self.link)[a.warp as usize];
        let mask = match r.tick {
            0 => group,
            t if t == a.tick => r.mask | group,
            t if a.all_old(a.base, r.mask, t) => group,
            _ if r.mask & !group != 0 => return false,
            _ => group,
        };
        *r = Reader {
            tick: a.tick,
            mask,
            pc: a.pc.0,
        };
        true
    }

    /// Does the recorded write happen before all lanes of the group?
    fn write_known(&self, a: &Access, group: u32) -> bool {
        lanes(group).all(|l| {
            self.w_who == a.base + l
                || a.clocks
                    .ordered(Actor(self.w_who), Tick(self.w_tick), a.thread(l))
        })
    }

    /// Records a plain write of one lane if nothing conflicts and it fits.
    #[inline]
    pub(super) fn write(
        &mut self,
        a: &Access,
        group: u32,
        extent: Extent,
        tables: &mut Tables,
    ) -> bool {
        if self.link & LIST != 0 && !self.reset(a, tables) || group & (group - 1) != 0 {
            return false;
        }
        let info = a.pc.0 | u32::from(extent.0) << 25;
        if self.w_tick != 0
            && !a.old(self.w_who, self.w_tick)
            && ((self.w_info ^ info) >> 25 != 0 || !self.write_known(a, group))
        {
            return false;
        }
        if self.r_tick != 0 {
            if a.all_old(self.r_base, self.r_mask, self.r_tick) {
                self.r_tick = 0;
            } else if !known(a, self.r_base, self.r_mask, self.r_tick, group) {
                return false;
            }
        }
        if self.link != 0 {
            let shift = tables.shift;
            for (w, r) in tables.record(self.link).iter_mut().enumerate() {
                if r.tick == 0 {
                    continue;
                }
                let base = (w as u32) << shift;
                if a.all_old(base, r.mask, r.tick) {
                    r.tick = 0;
                } else if !known(a, base, r.mask, r.tick, group) {
                    return false;
                }
            }
        }
        self.w_tick = a.tick;
        self.w_who = a.base + group.trailing_zeros();
        self.w_info = info;
        true
    }

    /// Takes all accesses out as a list.
    pub(super) fn take_list(&mut self, tables: &mut Tables) -> List {
        if self.link & LIST != 0 {
            return std::mem::take(&mut tables.lists[(self.link & INDEX) as usize]);
        }
        let width = 1 << tables.shift;
        let mut list = List::new();
        if self.r_tick != 0 {
            list.push(plain_read(self.r_base, self.r_mask, self.r_tick, self.r_pc));
        }
        if self.link != 0 {
            for (w, r) in tables.record(self.link).iter().enumerate() {
                if r.tick != 0 {
                    list.push(plain_read(w as u32 * width, r.mask, r.tick, r.pc));
                }
            }
            tables.free_record(self.link);
        }
        if self.w_tick != 0 {
            let lane = self.w_who % width;
            list.push(Entry {
                base: self.w_who - lane,
                mask: 1 << lane,
                tick: self.w_tick,
                pc: Pc(self.w_info & (MAX_PC - 1)),
                kind: Kind::Write,
                conditional: false,
                extent: Extent((self.w_info >> 25) as u8),
            });
        }
        *self = Cell::default();
        list
    }
    /// Puts a list back, into the cell itself if it fits.
    pub(super) fn put_list(&mut self, list: List, tables: &mut Tables) {
        let reads = list.iter().filter(|e| e.kind == Kind::Read).count();
        let single = |e: &Entry| e.kind == Kind::Read || e.mask & (e.mask - 1) == 0;
        let fits = reads <= 1 && list.len() <= reads + 1;
        if fits && list.iter().all(|e| e.plain() && single(e)) {
            self.drop_list(tables);
            for e in &list {
                if e.kind == Kind::Read {
                    self.r_tick = e.tick;
                    self.r_base = e.base;
                    self.r_mask = e.mask;
                    self.r_pc = e.pc.0;
                } else {
                    self.w_tick = e.tick;
                    self.w_who = e.base + e.mask.trailing_zeros();
                    self.w_info = e.pc.0 | u32::from(e.extent.0) << 25;
                }
            }
            return;
        }
        if self.link & LIST == 0 {
            self.link = LIST | tables.new_list();
        }
        self.w_tick = list.iter().map(|e| e.tick).max().unwrap_or(0);
        tables.lists[(self.link & INDEX) as usize] = list;
    }

    /// Empties a cell with a list if all of it is known to all.
    fn reset(&mut self, a: &Access, tables: &mut Tables) -> bool {
        let old = a.regular && self.w_tick < a.floor;
        if old {
            self.drop_list(tables);
        }
        old
    }

    fn drop_list(&mut self, tables: &mut Tables) {
        if self.link & LIST != 0 {
            let i = self.link & INDEX;
            tables.lists[i as usize].clear();
            tables.free_lists.push(i);
        }
        *self = Cell::default();
    }

    /// A copy for the second half of a cell that is split.
    pub(super) fn duplicate(&self, by: u8, tables: &mut Tables) -> Cell {
        let mut high = *self;
        if self.link & LIST != 0 {
            let mut list = tables.lists[(self.link & INDEX) as usize].clone();
            for e in list.iter_mut().filter(|e| e.kind != Kind::Read) {
                e.extent = e.extent.later(by);
            }
            let i = tables.new_list();
            tables.lists[i as usize] = list;
            high.link = LIST | i;
            return high;
        }
        if self.link != 0 {
            high.link = tables.new_record();
            let copy: SmallVec<[Reader; 32]> = tables.record(self.link).iter().copied().collect();
            tables.record(high.link).copy_from_slice(&copy);
        }
        let extent = Extent((self.w_info >> 25) as u8).later(by);
        high.w_info = self.w_info & (MAX_PC - 1) | u32::from(extent.0) << 25;
        high
    }
}

/// Do the reads of the lanes happen before the one lane of the group?
fn known(a: &Access, base: u32, mask: u32, tick: u32, group: u32) -> bool {
    let others = if base == a.base { mask & !group } else { mask };
    let lane = group.trailing_zeros() & 31;
    let t = a.thread(lane);
    others == 0
        || a.clocks
            .unordered(Actor(base), others, Tick(tick), t)
            .is_none()
}
