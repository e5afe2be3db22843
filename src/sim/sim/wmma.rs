//! Fragments of `wmma`: matrices spread over the registers of a warp in a layout that the manual
//! leaves open.
//!
//! A fragment is laid out here in a way of our own. That is sound as long as nothing depends on
//! it, so every register of a fragment carries a tag: which fragment, which register of it, and
//! what was done to it since. Elementwise float arithmetic with operands that are the same in
//! all lanes, or with another fragment of the same kind, keeps the tag; a product or a store
//! takes registers that are all of one fragment, in order, with one history. Everything else
//! that reads a tagged register is `unknown`: its result depends on the layout.
//!
//! `--wmma-layout sm_80` assumes how that architecture lays out an accumulator of 16 x 16
//! elements: as two of `mma.sync`, side by side. Such fragments carry no tags then.
//!
//! Source: PTX ISA 9.0, section 9.7.14.4; the layout of sm_80 is what its hardware is seen to do,
//! and in no manual.
//!
//! Not claimed: which lane reads or writes an element in memory, but that it is the same one for a
//! load and a store of one matrix.

use indexmap::IndexSet;
use rustc_hash::FxHashMap;

use crate::kernel::{Fragment, RegId};
use crate::sim::state::recorded;

use super::region::RegionId;
use super::val::Val;

mod exec;

/// What a register of a fragment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Tag {
    what: Fragment,
    /// Which register of the fragment.
    slot: u8,
    /// What was done to it: the same number, the same operations.
    history: u32,
}

/// The tags of all warps.
#[derive(Clone, Debug, Default)]
pub(super) struct Fragments {
    tags: Vec<FxHashMap<RegId, Tag>>,
    histories: Vec<(String, [(u32, Val); 3])>,
    /// Matrices in memory: what they are, by columns or not, their first byte, and the elements between lines; for
    /// one whose lines overlap, which line.
    matrices: IndexSet<(Fragment, bool, RegionId, i64, u64, u32)>,
}

recorded!(Fragments { histories } tables { tags, matrices });

impl Fragments {
    /// No fragments.
    pub(super) fn new(warps: usize) -> Fragments {
        Fragments {
            tags: vec![FxHashMap::default(); warps],
            histories: Vec::new(),
            matrices: IndexSet::new(),
        }
    }

    /// True if a warp holds fragments.
    #[inline]
    pub(super) fn any(&self, w: usize) -> bool {
        !self.tags[w].is_empty()
    }

    fn history(&mut self, what: String, of: [(u32, Val); 3]) -> u32 {
        let step = (what, of);
        match self.histories.iter().position(|h| *h == step) {
            Some(i) => i as u32 + 1,
            None => {
                self.histories.push(step);
                self.histories.len() as u32
            }
        }
    }
}
