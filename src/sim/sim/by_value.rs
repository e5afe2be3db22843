//! Racing reads of which every racing write is made.
//!
//! Problem: each lane of a warp reads its element, the lanes add up by shuffles, and each stores the sum to one place,
//! which is also the element of one of them. Nothing orders that read before the stores of the others, but no value
//! comes out of thin air (PTX ISA 9.0, section 8.10.4): a read cannot see a write whose value is made from what it
//! returned.
//!
//! A run in which all races are of such reads and later writes is run again with an unknown of its own as the value of
//! each racing load. Each plain store of exactly the bytes of such a load, by a thread that does not know of it, must
//! store a value that is made from the unknown; any other write of these bytes, and any other read of them
//! by the threads, undoes the claim.
//!
//! Made from it: the unknown stands below the value on all sides of its selects, no choice stands beside it as a factor,
//! and two contents of it, all else fixed, give two different values, whatever the signs of the inputs. `v - v` is not.
//!
//! Sound: reads are compared with all later writes by their own list, which forgets nothing; what the shadow finds beside
//! them (earlier writes, other accesses) stays a race.

use crate::sim::limits::LIMITS;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::Pc;
use crate::term::TermId;

use super::Tid;
use super::clock::{Clocks, Tick};
use super::region::RegionId;
use super::state::recorded;

mod exec;

/// An element that a thread of interest read.
#[derive(Clone, Copy, Debug, Hash)]
struct Read {
    thread: Tid,
    off: u64,
    size: u32,
    at: Tick,
    /// The unknown that was read.
    serial: Option<u32>,
}

/// What a run keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct ByValue {
    /// The loads that raced, by instruction.
    loads: FxHashMap<Pc, FxHashSet<Tid>>,
    threads: FxHashSet<Tid>,
    /// Reads by region and word.
    reads: FxHashMap<(RegionId, u64), Vec<Read>>,
    listed: usize,
    /// Elements that the current store writes unordered after a read: lane, offset, the unknown that was read.
    waiting: Vec<(usize, u64, u32)>,
    /// Values that were looked at, and what was found.
    tested: FxHashMap<(TermId, u32), bool>,
    failed: bool,
}

recorded!(ByValue { listed, waiting, failed }
    tables { reads }
    beside { loads: "said once", threads: "said once", tested: "of terms" });

impl ByValue {
    /// For loads that raced.
    pub(super) fn new(racing: &FxHashSet<(Pc, Tid)>) -> ByValue {
        let mut out = ByValue::default();
        for &(pc, thread) in racing {
            out.loads.entry(pc).or_default().insert(thread);
            out.threads.insert(thread);
        }
        out
    }

    /// True if loads are looked at.
    #[inline]
    pub(super) fn on(&self) -> bool {
        !self.loads.is_empty()
    }

    /// True if some thread races by this instruction.
    #[inline]
    pub(super) fn has(&self, pc: Pc) -> bool {
        self.loads.contains_key(&pc)
    }

    /// The instructions of the loads.
    pub(super) fn instructions(&self) -> impl Iterator<Item = Pc> {
        self.loads.keys().copied()
    }

    /// True if all went as it must.
    pub(super) fn holds(&self) -> bool {
        !self.failed && self.waiting.is_empty()
    }

    fn list(&mut self, region: RegionId, read: Read) {
        self.listed += 1;
        self.failed |= self.listed > LIMITS.value_reads;
        if self.failed {
            return;
        }
        for word in read.off / 4..(read.off + u64::from(read.size)).div_ceil(4) {
            self.reads.entry((region, word)).or_default().push(read);
        }
    }

    /// A write of an element: every read that does not happen before it must wait for its value.
    fn write(
        &mut self,
        clocks: &Clocks,
        region: RegionId,
        (me, lane): (Tid, usize),
        (off, size): (u64, u32),
        plain: bool,
    ) {
        for word in off / 4..(off + u64::from(size)).div_ceil(4) {
            let Some(reads) = self.reads.get(&(region, word)) else {
                continue;
            };
            for r in reads {
                let apart = r.off + u64::from(r.size) <= off || off + u64::from(size) <= r.off;
                if apart || r.thread == me || clocks.ordered(r.thread.into(), r.at, me) {
                    continue;
                }
                match r.serial {
                    Some(serial) if plain && (r.off, r.size) == (off, size) => {
                        if word == off / 4 {
                            self.waiting.push((lane, off, serial));
                        }
                    }
                    _ => self.failed = true,
                }
            }
        }
    }
}

/// The signs of the inputs at which values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signs {
    Plus,
    Minus,
    Both,
}
