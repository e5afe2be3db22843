//! The order of accesses: clocks, shadows of the regions, named barriers.
//!
//! A thin layer that turns what the clock, shadow and barrier machinery finds into findings of
//! the run. It also decides whose reads are tracked: an array that is only read needs no shadow,
//! so reads of an array are tracked only from the start of a run in which that array is known to
//! be written; the first run that writes an array after untracked reads of it is started again.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::{Inst, Kernel, Op, Pc};
use crate::sim::at::At;
use crate::term::ArrayId;

use super::Tid;
use super::attribution::{Held, Rows};
use super::by_value::ByValue;
use super::clock::{Clocks, RankShape};
use super::proxy::Through;
use super::race::{self, AccessKind, By, Report, SameWrite, View};
use super::region::{RegionId, SHARED, region_of};
use super::shadow::{Shadow, WarpAccess};
use super::state::Unordered;
use super::warp::{LANES, lanes};

mod exec;

/// Who accessed what, and what happens before what.
#[derive(Clone)]
pub(super) struct Order {
    /// Happens-before.
    pub clocks: Clocks,
    shadows: Vec<Option<Shadow>>,
    /// Findings and pairs of writes to compare.
    pub report: Report,
    tracked: Vec<bool>,
    read_untracked: Vec<bool>,
    warp_sync: bool,
    /// The agents of the lanes, while an asynchronous operation makes its accesses.
    pub agent: Option<super::clock::Actor>,
    /// Which operation makes its accesses.
    pub through: Through,
    /// Memory through the generic and the async proxy.
    pub proxies: super::proxy::Proxies,
    /// Words that `ld.global.nc` read, with one reader.
    nc_reads: FxHashMap<(RegionId, u64), (Pc, Tid)>,
    /// Words of tracked arrays that were written, with one writer.
    nc_writes: FxHashMap<(RegionId, u64), (Pc, Tid)>,
    nc_pairs: Vec<NcPair>,
    has_nc: bool,
    /// Under which attribution the accesses of a collective on matrices are made.
    pub view: View,
    /// Whether accesses are each lane's own.
    pub by: By,
    /// Shared memory under the other attribution.
    pub held: Option<Held>,
    /// Rows of matrices that were loaded and stored.
    pub rows: Rows,
    /// Racing loads of which the racing writes may be made.
    pub by_value: ByValue,
}

/// A word that is written and read through the non-coherent cache: writer, reader.
#[derive(Clone)]
struct NcPair {
    region: RegionId,
    off: u64,
    write: (Pc, Tid),
    read: (Pc, Tid),
}

/// What lanes of a warp access at once, all in one region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch<'a> {
    /// The region.
    pub region: RegionId,
    /// The first byte of each lane.
    pub offs: &'a [u64; LANES],
    /// Bytes of an element, and how many elements each lane accesses.
    pub elems: (u32, u32),
    /// What is done.
    pub kind: AccessKind,
    /// Data decide whether it is.
    pub cond: bool,
    /// It is read through the non-coherent cache.
    pub nc: bool,
}

impl<'a> Batch<'a> {
    /// Accesses that are made whatever data are, through memory.
    pub(super) fn of(
        region: RegionId,
        offs: &'a [u64; LANES],
        elems: (u32, u32),
        kind: AccessKind,
    ) -> Batch<'a> {
        Batch {
            region,
            offs,
            elems,
            kind,
            cond: false,
            nc: false,
        }
    }

    /// The bytes of each lane.
    fn bytes(&self) -> u64 {
        u64::from(self.elems.0 * self.elems.1)
    }
}

impl Hash for Order {
    fn hash<H: Hasher>(&self, h: &mut H) {
        let Order {
            clocks,
            shadows,
            report,
            tracked,
            read_untracked,
            warp_sync: _, // Said once, before the run.
            agent,
            through,
            proxies,
            nc_reads,
            nc_writes,
            nc_pairs: _, // Beside: found.
            has_nc: _,   // Said once, before the run.
            view,
            by,
            held,
            rows,
            by_value,
        } = self;
        clocks.hash(h);
        for (region, shadow) in (0..).map(RegionId).zip(shadows) {
            if let Some(shadow) = shadow {
                region.hash(h);
                shadow.record(clocks, h);
            }
        }
        report.hash(h);
        (tracked, read_untracked, agent, through).hash(h);
        proxies.hash(h);
        nc_reads.unordered(h);
        nc_writes.unordered(h);
        (view, by).hash(h);
        held.iter().for_each(|held| held.record(clocks, h));
        (rows, by_value).hash(h);
    }
}

impl Order {
    /// Nothing has been accessed.
    pub(super) fn new(
        kernel: &Kernel,
        shape: RankShape,
        regions: usize,
        warp_sync: bool,
        tracked: &FxHashSet<ArrayId>,
    ) -> Self {
        let has_nc = |i: &Inst| matches!(&i.op, Op::Ld { access, .. } if access.nc);
        let mut t = vec![false; regions];
        t[SHARED.0 as usize] = true;
        for a in tracked {
            t[region_of(*a).0 as usize] = true;
        }
        let layers = super::mbarrier::heads::layers(kernel, shape.ctas());
        let mut clocks = Clocks::with_layers(shape, layers);
        let proxies = super::proxy::Proxies::new(kernel);
        if proxies.follows_reads() {
            clocks.keep_apart();
        }
        Order {
            held: Held::new(kernel, &clocks),
            rows: Rows::new(kernel),
            by_value: ByValue::default(),
            clocks,
            shadows: (0..regions).map(|_| None).collect(),
            report: Report::default(),
            tracked: t,
            read_untracked: vec![false; regions],
            warp_sync,
            agent: None,
            through: Through::Thread,
            proxies,
            nc_reads: FxHashMap::default(),
            nc_writes: FxHashMap::default(),
            nc_pairs: Vec::new(),
            has_nc: kernel.insts.iter().any(has_nc),
            view: View::Both,
            by: By::Lanes,
        }
    }

    /// True if reads of a region are tracked.
    #[inline]
    pub(super) fn tracks(&self, r: RegionId) -> bool {
        self.tracked[r.0 as usize]
    }

    /// A region is about to be written; an error if reads of it went untracked.
    #[inline]
    pub(super) fn note_write(&mut self, r: RegionId) -> Result<(), ()> {
        if !self.tracked[r.0 as usize] {
            if self.read_untracked[r.0 as usize] {
                return Err(());
            }
            self.tracked[r.0 as usize] = true;
        }
        Ok(())
    }

    /// A region that is not tracked is read.
    #[inline]
    pub(super) fn note_untracked_read(&mut self, r: RegionId) {
        self.read_untracked[r.0 as usize] = true;
    }

    /// `bar.warp.sync` completed.
    pub(super) fn warp_sync(&mut self, w: usize, members: u32) {
        self.clocks.warp_sync(w as u32, members);
    }

    /// Lanes of a warp go to their next instruction together: with lock-step warps that orders
    /// them. Which side of a branch goes first, nothing says.
    pub(super) fn step(&mut self, w: usize, together: u32) {
        let live = self.clocks.live(w as u32);
        self.clocks.warp_sync(w as u32, live & together);
    }

    /// True if warps run in lock-step.
    #[inline]
    pub(super) fn in_lock_step(&self) -> bool {
        self.warp_sync
    }

    /// Does something with what was found, under each attribution.
    pub(super) fn each_report(&mut self, mut f: impl FnMut(&mut Report)) {
        f(&mut self.report);
        if let Some(held) = &mut self.held {
            f(&mut held.report);
        }
    }

    /// True if no pair of accesses was found wrong.
    pub(super) fn finds_nothing(&self) -> bool {
        let held = self.held.as_ref();
        self.report.is_empty() && held.is_none_or(|h| h.report.is_empty())
    }

    /// The lanes of a warp access one region; returns the unordered writes to compare.
    pub(super) fn access(&mut self, at: At, batch: &Batch) -> Vec<SameWrite> {
        let At { w, exec: mask, pc } = at;
        let Batch {
            region,
            offs,
            elems: (elem, count),
            kind,
            cond: conditional,
            nc: _,
        } = *batch;
        if self.has_nc && region != SHARED {
            self.non_coherent(at, batch);
        }
        let place = (offs, batch.bytes());
        if kind.writes() {
            let by = (self.through, self.agent, conditional);
            let who = (w, mask, pc);
            self.proxies.written(&self.clocks, region, who, place, by);
        }
        if !kind.writes() && self.agent.is_none() && self.proxies.follows_reads() {
            self.proxies
                .read(&self.clocks, region, (w, mask, pc), place);
        }
        if self.report.full() || self.held.as_ref().is_some_and(|h| h.report.full()) {
            return Vec::new();
        }
        let Order {
            clocks,
            shadows,
            report,
            agent,
            held,
            ..
        } = self;
        let shadow = shadows[region.0 as usize]
            .get_or_insert_with(|| Shadow::new(race::RegionId(region.0), clocks));
        let access = WarpAccess {
            warp: w as u32,
            agent: *agent,
            mask,
            pc,
            offsets: offs,
            elem: elem as u8,
            count: count as u8,
            kind,
            conditional,
            by: self.by,
        };
        if self.view != View::Holder {
            shadow.access(clocks, &access, report);
        }
        let same = std::mem::take(&mut report.same);
        match held {
            Some(held) if region == SHARED && self.view != View::Giver => {
                held.access(clocks, &access, self.view, same)
            }
            _ => same,
        }
    }

    /// Updates of some bytes come before the write that follows, because its thread observed them.
    pub(super) fn forget_updates(&mut self, region: RegionId, off: u64, bytes: u64) {
        if let Some(shadow) = &mut self.shadows[region.0 as usize] {
            shadow.forget_updates(off, bytes);
        }
    }

    /// What `ld.global.nc` reads must not be written while the kernel runs, in any order.
    fn non_coherent(&mut self, At { w, exec: mask, pc }: At, batch: &Batch) {
        let Batch {
            region,
            offs,
            kind,
            nc,
            ..
        } = *batch;
        if !nc && !kind.writes() {
            return;
        }
        for lane in lanes(mask) {
            let me = (pc, Tid((w * LANES + lane) as u32));
            for word in offs[lane] / 4..(offs[lane] + batch.bytes()).div_ceil(4) {
                let key = (region, word);
                let (mine, theirs) = if nc {
                    (&mut self.nc_reads, &self.nc_writes)
                } else {
                    (&mut self.nc_writes, &self.nc_reads)
                };
                mine.entry(key).or_insert(me);
                if let Some(&other) = theirs.get(&key) {
                    let (write, read) = if nc { (other, me) } else { (me, other) };
                    if !self
                        .nc_pairs
                        .iter()
                        .any(|p| p.region == region && p.write.0 == write.0 && p.read.0 == read.0)
                    {
                        self.nc_pairs.push(NcPair {
                            region,
                            off: word * 4,
                            write,
                            read,
                        });
                    }
                }
            }
        }
    }
}
