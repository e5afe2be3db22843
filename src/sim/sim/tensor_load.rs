//! Loads from tensor memory that were not waited for: their registers, and what shows that they are over.
//!
//! Problem: `tcgen05.ld` writes its registers later. A read of one is a true dependency, which is respected without any
//! wait (PTX ISA 9.0, section 9.7.16.6.4.5); whatever else needs `tcgen05.wait::ld`: a write of the register, and a use of
//! the memory. So a register is *late* in each lane until the lane reads it or the warp waits, and a write of a late one is
//! a data race.
//!
//! A read is no wait for memory. Where all registers of all lanes have reached accesses to memory that are over before that
//! memory is touched again, the load was over too, of which the manual promises nothing: the warning `missing-wait`. For
//! that, every register of a load that is not waited for carries a label, which goes with its value through
//! [the operations that keep it](super::carries), from lane to lane by a shuffle, until an access takes it.
//!
//! Sound: the warning needs, for each register of each lane, an access whose end happens before the next use of the
//! memory. Labels are lost wherever it is not certain that they come along, so the warning is given too rarely, and the
//! data race stands otherwise.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::kernel::{Pc, RegId};

use super::carries::Extent;
use super::clock::{Actor, Tick};

mod exec;

/// A register that a load is writing.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Late {
    pc: Pc,
    /// Lanes in which nobody has read it or waited for it.
    lanes: u32,
}

/// Bits of a register that depend on a register of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Label {
    /// The load, by its number among operations on tensor memory.
    load: u32,
    part: u16,
    /// The lane whose register it is.
    lane: u8,
    extent: Extent,
}

/// Labels of the registers of a warp, by lane.
pub(super) type Labels = FxHashMap<(RegId, u8), SmallVec<[Label; 1]>>;

/// A register in a lane, and its labels.
type Labelled = ((RegId, u8), SmallVec<[Label; 1]>);

/// An access that took a register of a load, or something made of it.
#[derive(Clone, Copy, Debug, Hash)]
struct Use {
    part: u16,
    lane: u8,
    who: Actor,
    at: Tick,
}

/// What became of the registers of a load.
#[derive(Clone, Debug, Hash)]
pub(super) struct Fate {
    w: usize,
    regs: Vec<RegId>,
    /// Lanes of each register that an access has taken which is over when its instruction is.
    taken: Vec<u32>,
    uses: Vec<Use>,
}
