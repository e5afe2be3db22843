//! Branches whose direction depends on input data.
//!
//! The lanes walk the whole region between such a branch and its join: each way with registers of
//! its own, merged into selects where ways meet. Which way is taken is part of the condition
//! under which memory is accessed. Loops inside a region are walked around for as long as their
//! own branches are known; a region with a barrier or another instruction that needs to know who
//! takes part, or one that does not end, makes the kernel unstructured.
//!
//! Source: King, "Symbolic Execution and Program Testing" (1976), with the states merged at
//! every post-dominator. At most one of the ways that meet was taken, and one of them was if
//! control gets there, so where the condition of one way is false the value is that of the other.
//!
//! Not claimed: that a way can be taken at all; an access on a way that never is counts.

use std::rc::Rc;

use crate::kernel::region::Region;
use crate::kernel::structured::Blocks;
use crate::kernel::{Op, Pc, Src};
use crate::term::TermId;

use super::address::carry::Carried;
use super::stop::Stop;
use super::warp::LANES;

mod exec;

/// The regions of branches that were taken both ways so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Regions {
    blocks: Option<Rc<Blocks>>,
    known: rustc_hash::FxHashMap<u32, Option<Rc<Region>>>,
}

type Conditions = Rc<[TermId; LANES]>;

/// One branch of a way.
#[derive(Clone, Debug)]
struct Literal {
    /// The instruction behind the branch.
    fall: u32,
    /// Serial of the branch in the walk, and whether it was taken.
    branch: u32,
    taken: bool,
    /// The condition of this branch, and of the way up to here.
    cond: Conditions,
    here: Conditions,
}

/// A way through the region up to the start of a block.
#[derive(Debug)]
struct Way {
    /// Rank of the block.
    rank: u32,
    /// Lanes that may go this way.
    mask: u32,
    literals: Vec<Literal>,
    /// The registers that the region writes.
    regs: Vec<Saved>,
}

/// Why a walk ends early.
enum End {
    /// Something was found, or a limit reached.
    Stop(Stop),
    /// The region cannot be walked.
    Unstructured,
    /// A loop of the region ends where data say so, by this branch, which no round shows.
    Endless(Pc),
}

impl From<Stop> for End {
    fn from(s: Stop) -> End {
        End::Stop(s)
    }
}

/// True for an operation that anyone can execute without more coming of it than values in registers.
pub(super) fn is_harmless(pc: Pc, op: &Op) -> bool {
    match op {
        Op::Bra { target, .. } => *target > pc,
        Op::Int { op, ty, src, .. } => {
            let divides = super::int::may_be_undefined(*op, *ty);
            !divides || matches!(src[1], Src::Imm(n) if n != 0)
        }
        Op::Mov { .. } | Op::Cvta { .. } | Op::Special { .. } | Op::Nop => true,
        op => super::uniform::is_lane_wise(op),
    }
}

/// What goes on during a walk.
struct Walk<'a> {
    w: usize,
    region: &'a Region,
    branch: Pc,
    /// It may be walked by whoever comes to it.
    harmless: bool,
    /// Serial of the next branch.
    serial: u32,
    /// Instructions so far.
    steps: u32,
    /// What was spent when it began.
    began: u64,
    pending: Vec<Way>,
}

impl Way {
    /// The condition of the way in each lane; `None` if it is true.
    fn here(&self) -> Option<&[TermId; LANES]> {
        self.literals.last().map(|l| &*l.here)
    }
}

/// A register of a way: lane words, which of them are symbolic, and what they carry.
#[derive(Clone, Debug, PartialEq)]
struct Saved {
    words: [u64; LANES],
    symbolic: u32,
    carried: Carried,
}
