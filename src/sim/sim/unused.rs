//! Racing reads whose value reaches nothing.
//!
//! Problem: a compiler lets spare threads load what others load too, and predicates only their stores off. Where
//! the others store in place, such a load races with the store, and nothing depends on what it reads.
//!
//! A run that found races with plain loads only is run again, with an unknown of its own as the value of each load of
//! a racing thread, and that load is no access. If no race, nor any other defect, is left and no unknown is found
//! below an output, an address or a condition, and nothing else is open that was not, the loads reach nothing: every
//! schedule gives what this run gives. What a load that counts no longer has hidden is found in the next run.
//!
//! Loads whose unknowns are found there are of use, and the others are tried again without these. The races of loads of
//! use stay, unless the stores are made of what these read ([`ByValue`]), which one more run looks at: there the loads of no
//! use are unknowns too. What else data decide is left as it is: the new run says it too.
//!
//! Loads of what other CTAs write are named by the caller ([`Foreign`]), who looks at what is left between CTAs.
//!
//! Where a limit ends that run before anything is seen to depend on what is read, the races are open.
//!
//! Sound: an unknown stands for every value that the race may give, at each execution of the load; what is derived
//! of it keeps it below.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::kernel::Pc;
use crate::term::ArrayId;

use super::Tid;

pub(super) mod trial;

mod exec;

/// The loads whose values are unknowns, by their serials.
pub(super) type Serials = FxHashMap<u32, (Pc, Tid)>;

/// Ranges of bytes, ends excluded, each with the rank of a CTA.
pub(crate) type Written = Vec<(u64, u64, u64)>;

/// Loads of what other CTAs of the launch write, which are tried as of no use.
#[derive(Clone, Debug, Default)]
pub struct Foreign {
    /// The instructions.
    pub loads: FxHashSet<Pc>,
    /// Bytes of arrays that CTAs write, each with the rank of one of them; a list is in order, and its ranges are disjoint.
    pub writes: BTreeMap<ArrayId, Vec<Written>>,
}

impl Foreign {
    /// True for bytes that a CTA of another rank writes.
    fn writes(&self, array: ArrayId, (start, end): (u64, u64), own: u64) -> bool {
        let lists = self.writes.get(&array);
        lists.into_iter().flatten().any(|list| {
            let from = list.partition_point(|w| w.1 <= start);
            let mut met = list[from..].iter().take_while(|w| w.0 < end);
            met.any(|w| w.2 != own)
        })
    }
}

/// Loads of threads that are taken to be of no use.
#[derive(Clone, Debug, Default)]
pub(super) struct Unused {
    /// The threads, by instruction.
    loads: FxHashMap<Pc, FxHashSet<Tid>>,
    /// The loads of what other CTAs write.
    foreign: Option<Arc<Foreign>>,
}

impl Unused {
    /// True if some thread executes an instruction for nothing.
    #[inline]
    pub(super) fn has(&self, pc: Pc) -> bool {
        let foreign = self.foreign.as_ref();
        self.loads.contains_key(&pc) || foreign.is_some_and(|f| f.loads.contains(&pc))
    }

    /// The same of one thread.
    fn of(&self, pc: Pc, thread: Tid) -> bool {
        self.loads.get(&pc).is_some_and(|t| t.contains(&thread))
    }
}

/// What is needed of a run that ended.
#[derive(Default)]
pub(super) struct Ended {
    /// The loads that raced; `None` if there are other races, whatever data are.
    racing: Option<FxHashSet<(Pc, Tid)>>,
    /// Serials of the values of what was taken to be of no use, each with its load.
    pub unknowns: Serials,
    /// The instructions of each pair that is a race if data have it so.
    pairs: Vec<[Pc; 2]>,
    /// True if every race is of a load and a later store.
    before: bool,
    /// How many they are.
    races: usize,
    /// True if every store that races with an earlier load is made of what that read.
    made: bool,
}
