//! Tensor memory: 128 lanes of 512 columns of 32 bits, who holds columns of it, and who touched
//! which cell.
//!
//! Every operation on it is asynchronous but for the allocation, so each is an agent that forks
//! where it is issued; it ends for whoever observes it: `tcgen05.wait` for the loads and stores of
//! a warp, a phase of the mbarrier of a `tcgen05.commit` for the products of a thread. Two
//! operations on one cell, one of which writes, must be ordered that way, but for products with
//! one accumulator and shape from one thread, which the hardware executes in their order.
//!
//! Where a synchronisation of threads orders operations without the [fences](super::tensor_fence) that the manual asks
//! for, as Triton writes them, that is a warning.
//!
//! Products of several threads, and a copy of one and a product of another, are executed in order where fences and a
//! synchronisation order their issue; what the second one's commit then says includes the first.
//!
//! Source: PTX ISA 9.0, sections 9.7.16.1 (tensor memory), 9.7.16.6 (ordering), 9.7.16.7
//! (allocation).
//!
//! Not claimed: which columns an allocation gives: the lowest free ones are assumed.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::kernel::{AsyncOp, Kernel, Op, Pc, TensorKind};
use crate::sim::state::recorded;
use crate::term::TermId;

use super::Tid;
use super::clock::{Actor, Carried, Tick};
use super::tensor_commit::Commits;
use super::tensor_fence::TensorFences;
use super::tensor_load::Fate;
use super::val::Val;

mod exec;

/// Lanes of tensor memory.
pub(super) const ROWS: usize = 128;

/// Columns of tensor memory.
pub(super) const COLUMNS: usize = 512;

/// How an operation touches cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Touch {
    /// `tcgen05.alloc` and `tcgen05.dealloc`.
    Manage,
    /// `tcgen05.ld`.
    Load,
    /// `tcgen05.st`.
    Store,
    /// The accumulator of `tcgen05.mma`.
    Accumulate {
        /// Its address.
        at: u64,
        /// Its shape.
        shape: u64,
        /// The kind of product.
        kind: TensorKind,
        /// Of a pair of CTAs.
        pair: bool,
    },
    /// A factor of `tcgen05.mma`, or its scales.
    Factor {
        /// Of a pair of CTAs.
        pair: bool,
    },
    /// `tcgen05.cp`.
    Copy {
        /// Of a pair of CTAs.
        pair: bool,
    },
}

impl Touch {
    /// The operation, for messages.
    fn name(self) -> &'static str {
        match self {
            Touch::Manage => "its allocation",
            Touch::Load => "tcgen05.ld",
            Touch::Store => "tcgen05.st",
            Touch::Accumulate { .. } | Touch::Factor { .. } => "tcgen05.mma",
            Touch::Copy { .. } => "tcgen05.cp",
        }
    }
}

/// An operation that touched cells.
#[derive(Clone, Copy, Debug, Hash)]
struct Done {
    pc: Pc,
    w: usize,
    mask: u32,
    who: Actor,
    at: Tick,
    touch: Touch,
    /// Its number among operations and fences.
    number: u64,
}

/// Columns that are allocated, or were.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Held {
    /// The number of the CTA.
    cta: usize,
    first: usize,
    columns: usize,
    pc: Pc,
    w: usize,
}

/// An allocation.
#[derive(Clone, Copy, Debug, Hash)]
struct Alloc {
    cta: usize,
    columns: usize,
    pc: Pc,
    w: usize,
    at: Tick,
}

impl Held {
    fn covers(&self, cta: usize, column: usize) -> bool {
        self.cta == cta && (self.first..self.first + self.columns).contains(&column)
    }
}

/// The tensor memory of the CTAs that run, 128 rows for each.
#[derive(Clone, Debug, Default)]
pub(super) struct TensorMemory {
    cells: Vec<Val>,
    written: Vec<u32>,
    read: Vec<SmallVec<[u32; 2]>>,
    done: Vec<Done>,
    number: u64,
    /// What is allocated, and where that was.
    held: Vec<Held>,
    /// The same of what was freed, with where that was.
    freed: Vec<Held>,
    /// Warps that wait in an operation of a pair of CTAs.
    pub(super) half: Vec<super::tensor_pair::Half>,
    /// The first factor that the collector buffer of a CTA holds, by rows.
    pub(super) collected: FxHashMap<usize, Vec<TermId>>,
    /// What the other CTA of a pair may have freed with its own columns.
    freeing: Vec<Held>,
    /// All allocations so far.
    allocs: Vec<Alloc>,
    /// CTAs in which no warp may allocate any more, and where that was said.
    closed: BTreeMap<usize, (Pc, usize)>,
    /// What became of the registers of loads, by their numbers.
    pub(super) fates: FxHashMap<u32, Fate>,
    /// Loads and stores of each warp that were not waited for.
    pub moving: FxHashMap<(usize, bool), Vec<Actor>>,
    /// Products of each thread, and those of others that are over when these are.
    pub products: FxHashMap<Tid, Vec<(Actor, u32)>>,
    /// What each thread knew when it issued its last product.
    pub carried: FxHashMap<Tid, Arc<Carried>>,
    /// What its commits track.
    pub commits: Commits,
    /// Fences.
    pub(super) fences: TensorFences,
}

recorded!(TensorMemory { cells, written, read, done, number, held, freed, half, freeing, allocs, closed, commits, fences } tables { collected, fates, moving, products, carried });

impl TensorMemory {
    /// An empty one; takes no memory where the kernel does not use it.
    pub(super) fn new(kernel: &Kernel, ctas: usize) -> TensorMemory {
        let uses = |op: &Op| matches!(op, Op::Async(a) if matches!(**a, AsyncOp::Tensor(_)));
        let n = match kernel.insts.iter().any(|i| uses(&i.op)) {
            true => ROWS * COLUMNS * ctas,
            false => 0,
        };
        TensorMemory {
            cells: vec![Val::Unset; n],
            written: vec![0; n],
            read: vec![SmallVec::new(); n],
            ..TensorMemory::default()
        }
    }

    /// The content of a cell.
    pub(super) fn get(&self, row: usize, column: usize) -> Val {
        let at = row * COLUMNS + column;
        self.cells.get(at).copied().unwrap_or(Val::Unset)
    }

    /// Sets the content of a cell.
    pub(super) fn set(&mut self, row: usize, column: usize, v: Val) {
        if let Some(cell) = self.cells.get_mut(row * COLUMNS + column) {
            *cell = v;
        }
    }

    /// The first of the lowest free columns of a CTA for an allocation, or the given one if those are free.
    fn room(&self, cta: usize, columns: usize, given: Option<usize>) -> Option<usize> {
        let free = |at: usize| {
            let apart =
                |h: &Held| h.cta != cta || at + columns <= h.first || h.first + h.columns <= at;
            self.held.iter().all(apart)
        };
        (0..COLUMNS / columns)
            .map(|i| i * columns)
            .find(|&at| free(at) && given.is_none_or(|g| g == at))
    }

    /// The number of the last operation that touched cells.
    pub(super) fn last(&self) -> u32 {
        self.done.len() as u32
    }

    /// How many operations there were.
    pub(super) fn count(&self) -> u64 {
        self.number
    }

    fn holds(&self, cta: usize, column: usize) -> bool {
        self.held.iter().any(|h| h.covers(cta, column))
    }
}
