//! What is remembered of the accesses of one cell.

use smallvec::SmallVec;

use super::Access;
use super::entry::{Entry, Extent, List, MAX_PC, plain_read};
use super::tables::{INDEX, LIST, Reader, Tables};
use crate::kernel::Pc;
use crate::sim::clock::{Actor, Tick, lanes};
use crate::sim::race::{AccessKind, By};

/// The accesses of one cell: a plain write, plain reads of a warp, and a link to more. With a
/// record of readers, `r_tick` is the latest of them; with a list, all are in the list and
/// `w_tick` is the latest.
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
    #[inline(always)]
    pub(super) fn read(&mut self, a: &Access, group: u32, tables: &mut Tables) -> bool {
        if !a.gone(self.w_who, self.w_tick) {
            return self.read_rest(a, group, tables);
        }
        if self.link == 0 {
            if a.gone(self.r_base, self.r_tick) {
                self.r_mask = group;
            } else if self.r_tick == a.tick && self.r_base == a.base {
                self.r_mask |= group;
            } else {
                return self.read_rest(a, group, tables);
            }
            self.r_tick = a.tick;
            self.r_base = a.base;
            self.r_pc = a.pc.0;
            return true;
        }
        if self.link & LIST != 0 || a.agent {
            return self.read_rest(a, group, tables);
        }
        let r = tables.reader(self.link, a.warp);
        if r.tick < a.fresh {
            r.mask = group;
        } else if r.tick == a.tick {
            r.mask |= group;
        } else {
            return self.read_rest(a, group, tables);
        }
        r.tick = a.tick;
        r.pc = a.pc.0;
        self.r_tick = self.r_tick.max(a.tick);
        true
    }

    #[inline(never)]
    fn read_rest(&mut self, a: &Access, group: u32, tables: &mut Tables) -> bool {
        if self.link & LIST != 0 && !self.reset(a, tables) {
            return false;
        }
        if self.w_tick != 0 {
            if a.old(self.w_who, self.w_tick) {
                self.w_tick = 0;
            } else if !self.write_known(a, group) {
                return false;
            }
        }
        let old = self.r_tick == 0 || a.all_old(self.r_base, self.r_mask, self.r_tick);
        if self.link == 0 && (old || self.r_base == a.base) {
            let mask = match old {
                true => group,
                false if self.r_tick == a.tick => self.r_mask | group,
                false if self.r_mask & !group != 0 => return false,
                false => group,
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
        if a.agent || (self.link == 0 && self.r_base >> tables.shift >= tables.warps) {
            return false;
        }
        if self.link == 0 {
            self.link = tables.new_record();
            *tables.reader(self.link, self.r_base >> tables.shift) = Reader {
                tick: self.r_tick,
                mask: self.r_mask,
                pc: self.r_pc,
            };
            (self.r_base, self.r_mask) = (0, 0);
        }
        let r = tables.reader(self.link, a.warp);
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
        self.r_tick = self.r_tick.max(a.tick);
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
    #[inline(always)]
    pub(super) fn write(
        &mut self,
        a: &Access,
        group: u32,
        extent: Extent,
        tables: &mut Tables,
    ) -> bool {
        let info = a.pc.0 | u32::from(extent.0) << 25;
        let single = group & (group - 1) == 0 && self.link & LIST == 0;
        if single && a.gone(self.w_who, self.w_tick) && a.gone(self.r_base, self.r_tick) {
            self.w_tick = a.tick;
            self.w_who = a.base + group.trailing_zeros();
            self.w_info = info;
            return true;
        }
        self.write_rest(a, group, info, tables)
    }

    #[inline(never)]
    fn write_rest(&mut self, a: &Access, group: u32, info: u32, tables: &mut Tables) -> bool {
        if self.link & LIST != 0 && !self.reset(a, tables) || group & (group - 1) != 0 {
            return false;
        }
        if self.w_tick != 0
            && !a.old(self.w_who, self.w_tick)
            && ((self.w_info ^ info) >> 25 != 0 || !self.write_known(a, group))
        {
            return false;
        }
        if self.link != 0 {
            if !a.gone(0, self.r_tick) && !self.readers_known(a, group, tables) {
                return false;
            }
        } else if self.r_tick != 0 {
            if a.all_old(self.r_base, self.r_mask, self.r_tick) {
                self.r_tick = 0;
            } else if !known(a, self.r_base, self.r_mask, self.r_tick, group) {
                return false;
            }
        }
        self.w_tick = a.tick;
        self.w_who = a.base + group.trailing_zeros();
        self.w_info = info;
        true
    }

    /// Do the reads of all warps happen before the one lane of the group?
    fn readers_known(&self, a: &Access, group: u32, tables: &mut Tables) -> bool {
        let shift = tables.shift;
        for (w, r) in tables.record(self.link).iter_mut().enumerate() {
            let base = (w as u32) << shift;
            if r.tick == 0 {
                continue;
            }
            if a.all_old(base, r.mask, r.tick) {
                r.tick = 0;
            } else if !known(a, base, r.mask, r.tick, group) {
                return false;
            }
        }
        true
    }

    /// Takes all accesses out as a list.
    pub(super) fn take_list(&mut self, tables: &mut Tables) -> List {
        if self.link & LIST != 0 {
            return std::mem::take(&mut tables.lists[(self.link & INDEX) as usize]);
        }
        let list = self.list(tables);
        if self.link != 0 {
            tables.free_record(self.link);
        }
        *self = Cell::default();
        list
    }

    /// All accesses.
    pub(super) fn list(&self, tables: &Tables) -> List {
        if self.link & LIST != 0 {
            return tables.lists[(self.link & INDEX) as usize].clone();
        }
        let width = 1 << tables.shift;
        let mut list = List::new();
        if self.link == 0 && self.r_tick != 0 {
            list.push(plain_read(self.r_base, self.r_mask, self.r_tick, self.r_pc));
        }
        if self.link != 0 {
            for (w, r) in tables.readers(self.link).iter().enumerate() {
                if r.tick != 0 {
                    list.push(plain_read(w as u32 * width, r.mask, r.tick, r.pc));
                }
            }
        }
        if self.w_tick != 0 {
            let lane = self.w_who % width;
            list.push(Entry {
                base: self.w_who - lane,
                mask: 1 << lane,
                tick: self.w_tick,
                pc: Pc(self.w_info & (MAX_PC - 1)),
                kind: AccessKind::Write,
                conditional: false,
                extent: Extent((self.w_info >> 25) as u8),
                by: By::Lanes,
            });
        }
        list
    }

    /// Puts a list back, into the cell itself if it fits.
    pub(super) fn put_list(&mut self, list: List, tables: &mut Tables) {
        let reads = list.iter().filter(|e| e.kind == AccessKind::Read).count();
        let single = |e: &Entry| e.kind == AccessKind::Read || e.mask & (e.mask - 1) == 0;
        let fits = reads <= 1 && list.len() <= reads + 1;
        if fits && list.iter().all(|e| e.plain() && single(e)) {
            self.drop_list(tables);
            for e in &list {
                if e.kind == AccessKind::Read {
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
        let old = a.regular && self.w_tick < a.fresh;
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
            for e in list.iter_mut().filter(|e| e.kind != AccessKind::Read) {
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
