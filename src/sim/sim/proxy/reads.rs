//! Reads before writes through another proxy.
//!
//! The problem: a thread reads bytes that an asynchronous copy then overwrites, or an asynchronous operation that is over
//! has read bytes that a thread then overwrites. Happens-before is what `shadow` asks for. The manual wants the fence for
//! the first too (PTX ISA 9.3, section 8.6), and most pipelines leave it out where an mbarrier or a barrier hands the bytes
//! over: that is an assumption, with its places. Where only program order or order inside a warp lies between the read and
//! the refill, or between the read and the arrival of the lane that hands it over, it is a warning: such code was seen to
//! fail on machines.
//!
//! Sound: each such pair is a warning or a place of the assumption, and no verdict depends on either.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::super::Tid;
use super::super::clock::{Actor, Clocks, Tick};
use super::super::region::{RegionId, SHARED};
use super::super::state::recorded;
use super::super::warp::{LANES, lanes};
use super::{PAGE, Proxies, Written};
use crate::kernel::{AsyncOp, BulkOp, ClusterOp, Kernel, Pc};

/// The last read of a word by lanes of a warp, through the generic proxy.
#[derive(Clone, Copy, Debug, Hash)]
struct Read {
    number: u64,
    warp: u32,
    mask: u32,
    tick: u32,
    pc: u32,
}

type Words = Box<[SmallVec<[Read; 2]>; PAGE as usize]>;

/// A read that an asynchronous write follows without a fence.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Before {
    /// A byte of it.
    pub at: u64,
    /// The thread that reads.
    pub who: Tid,
    /// Where.
    pub pc: Pc,
    /// The thread itself took part in what orders the two.
    pub handed: bool,
}

/// What was read and not written since.
#[derive(Clone, Default)]
pub(super) struct Reads {
    pub(super) on: bool,
    pages: FxHashMap<(RegionId, u64), Words>,
    /// Where words were read through the async proxy: a pc, and 1.
    operands: FxHashMap<(RegionId, u64), Box<[u32; PAGE as usize]>>,
    /// The instructions of two such accesses.
    places: BTreeSet<(Pc, Pc)>,
}

recorded!(Reads { on, places } tables { pages, operands });

impl Reads {
    /// Nothing read; idle in a kernel without asynchronous writes.
    pub(super) fn new(kernel: &Kernel) -> Reads {
        let writes = |op: &AsyncOp| match op {
            AsyncOp::Bulk(op) => matches!(**op, BulkOp::Copy(_)),
            AsyncOp::Cluster(op) => matches!(**op, ClusterOp::Cancel { .. }),
            _ => false,
        };
        Reads {
            on: kernel.any_async(writes),
            ..Reads::default()
        }
    }

    /// A word is written: what was read of it before is covered by what the write needs.
    #[inline]
    pub(super) fn overwritten(&mut self, region: RegionId, word: u64, pc: Pc) {
        let (page, at) = ((region, word / PAGE), (word % PAGE) as usize);
        if let Some(words) = self.pages.get_mut(&page) {
            words[at].clear();
        }
        if let Some(words) = self.operands.get_mut(&page) {
            let read = std::mem::take(&mut words[at]);
            if read != 0 {
                self.places.insert((Pc(read - 1), pc));
            }
        }
    }
}

impl Proxies {
    /// True if it matters who read what.
    #[inline]
    pub(in crate::sim) fn follows_reads(&self) -> bool {
        self.reads.on
    }

    /// Lanes read a region themselves.
    pub(in crate::sim) fn read(
        &mut self,
        clocks: &Clocks,
        region: RegionId,
        (w, mask, pc): (usize, u32, Pc),
        (offs, bytes): (&[u64; LANES], u64),
    ) {
        self.number += 1;
        let new = Read {
            number: self.number,
            warp: w as u32,
            mask: 0,
            tick: clocks.stamp(w as u32).0,
            pc: pc.0,
        };
        for lane in lanes(mask) {
            for word in offs[lane] / 4..(offs[lane] + bytes).div_ceil(4) {
                let page = self.reads.pages.entry((region, word / PAGE));
                let page =
                    page.or_insert_with(|| Box::new(std::array::from_fn(|_| SmallVec::new())));
                let all = &mut page[(word % PAGE) as usize];
                for old in all.iter_mut().filter(|r| r.warp == new.warp) {
                    old.mask &= !(1 << lane);
                }
                all.retain(|r| r.mask != 0);
                match all.iter_mut().find(|r| r.number == new.number) {
                    Some(own) => own.mask |= 1 << lane,
                    None => all.push(Read {
                        mask: 1 << lane,
                        ..new
                    }),
                }
            }
        }
    }

    /// The async proxy reads words.
    pub(super) fn read_by_agent(&mut self, region: RegionId, (from, bytes): (u64, u64), pc: Pc) {
        for word in from / 4..(from + bytes).div_ceil(4) {
            let page = self.reads.operands.entry((region, word / PAGE));
            let page = page.or_insert_with(|| Box::new([0; PAGE as usize]));
            page[(word % PAGE) as usize] = pc.0 + 1;
        }
    }

    /// The reads of words that no fence puts before their refill by a thread, of each instruction one that was handed over
    /// and one that was not. They are forgotten.
    pub(super) fn refilled(
        &mut self,
        clocks: &Clocks,
        writer: Tid,
        region: RegionId,
        (from, bytes): (u64, u64),
    ) -> Vec<Before> {
        let mut out: Vec<Before> = Vec::new();
        if !self.reads.on {
            return out;
        }
        let fences = match region == SHARED {
            true => &self.shared,
            false => &self.global,
        };
        for word in from / 4..(from + bytes).div_ceil(4) {
            let Some(page) = self.reads.pages.get_mut(&(region, word / PAGE)) else {
                continue;
            };
            for read in page[(word % PAGE) as usize].drain(..) {
                for lane in lanes(read.mask) {
                    let (who, tick) = (read.warp * LANES as u32 + lane as u32, Tick(read.tick));
                    // What is not ordered is a race, which the shadow has found.
                    if !clocks.ordered(Actor(who), tick, writer) {
                        continue;
                    }
                    let handed = clocks.handed_over(Tid(who), tick, writer);
                    if out.iter().any(|b| (b.pc.0, b.handed) == (read.pc, handed)) {
                        continue;
                    }
                    let as_written = Written {
                        number: read.number,
                        who,
                        tick: read.tick,
                        ..Written::default()
                    };
                    if !fences.between(clocks, &as_written, writer) {
                        out.push(Before {
                            at: word * 4,
                            who: Tid(who),
                            pc: Pc(read.pc),
                            handed,
                        });
                    }
                }
            }
        }
        out
    }

    /// Two instructions of which the second overwrites what the first read, through another proxy.
    pub(super) fn note_places(&mut self, read: Pc, write: Pc) {
        self.reads.places.insert((read, write));
    }

    /// The places of the assumption, and that there are none from now on.
    pub(super) fn take_places(&mut self) -> BTreeSet<(Pc, Pc)> {
        std::mem::take(&mut self.reads.places)
    }
}
