//! What all four warps of a warpgroup must execute alike: products, and the number of their registers.
//!
//! Source: PTX ISA 9.0, sections 9.7.15 and 9.7.19.5: an `.aligned` instruction of a warpgroup is the same in all its
//! warps. Products are told apart by their place; a number of registers may be set in several.
//!
//! Registers: the pool of a CTA is what it was launched with. `setmaxnreg.dec` gives registers to it, `.inc` waits until
//! there are enough. Where directives say what a thread starts with, that is followed; a number that is computed from them
//! bounds what the launch gives from above. A wait is a deadlock where the warps that have not exited want or own more
//! than the pool; else the order in which they get registers decides. Setting what is owned already does nothing.
//!
//! Sound: no synchronisation is read out of a wait for registers.

use rustc_hash::FxHashMap;

use crate::kernel::Pc;
use crate::sim::state::recorded;

use super::clock::Tick;

mod exec;

/// An instruction that all warps of a warpgroup execute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alike {
    pub pc: Pc,
    /// The registers that it sets; products are told apart by their place.
    pub registers: Option<(u32, bool)>,
}

recorded!(Alike { pc, registers });

/// Registers of the warps, which a launch gives to each thread alike and `setmaxnreg` moves between warps.
#[derive(Clone, Debug, Default)]
pub(super) struct Registers {
    /// Those of a thread of each warp.
    owned: Vec<u32>,
    /// When and where each warp changed that.
    done: Vec<Vec<(Tick, Pc)>>,
    /// Registers of each CTA that no warp owns.
    free: FxHashMap<usize, u64>,
    waiting: Vec<Waiting>,
}

recorded!(Registers { owned, done, waiting } tables { free });

/// A warp that waits for registers.
#[derive(Clone, Copy, Debug, Hash)]
struct Waiting {
    w: usize,
    /// The number of its CTA.
    team: usize,
    /// How many it wants for each thread.
    count: u32,
}

impl Registers {
    /// So many for each thread of so many warps.
    pub(super) fn new(count: u32, warps: usize) -> Registers {
        Registers {
            owned: vec![count; warps],
            done: vec![Vec::new(); warps],
            ..Registers::default()
        }
    }
}

impl PartialEq for Alike {
    fn eq(&self, other: &Alike) -> bool {
        self.registers == other.registers && (self.registers.is_some() || self.pc == other.pc)
    }
}
