//! Kernel to Outcome: all threads of a CTA, one schedule that stands for all.
//!
//! The problem: show that a CTA ends without race, deadlock, barrier misuse or memory error under
//! every schedule, and what it writes as terms over the inputs. By confluence one schedule does
//! (the Volta paper, "Equivalence Checking of ML GPU Kernels"), provided that every pair of
//! conflicting accesses is ordered by happens-before, which `order` checks exactly.
//!
//! [`run`](run()) is the driver: `run` schedules, `step` dispatches one instruction of the lanes
//! of a warp that stand at the same pc, `compute`, `float` and `convert` work on registers,
//! `access`, `store`, `atomic` and `memory` on memory, `branch` turns data-dependent branches into selects,
//! `collective` exchanges registers within a warp, `order` keeps clocks, barriers and shadows.
//!
//! Not claimed: anything about a run with findings; the rounding of floats; sizes other than
//! those of the launch.

mod access;
mod accumulate;
mod address;
mod assertion;
mod asynchronous;
mod at;
mod atomic;
mod attribution;
pub mod barrier;
mod barriers;
mod branch;
mod bulk;
mod by_sign;
mod by_value;
mod carries;
mod choices;
mod chosen;
pub mod clock;
mod cluster;
mod collective;
mod compare;
mod compute;
mod convert;
mod copy;
mod cta;
mod dependents;
pub mod descriptor;
mod fences;
mod float;
pub mod footprint;
mod found;
pub mod gather;
pub mod guarded;
pub mod idiom;
pub mod int;
pub mod int_sym;
mod integer_sum;
pub mod join;
mod kept;
mod knowledge;
mod known_atomics;
mod known_collectives;
mod known_lanes;
mod limits;
mod machine;
mod matrix;
mod matrix_moves;
mod matrix_scale;
mod matrix_sparse;
mod mbarrier;
mod memo;
pub mod memory;
mod missing;
mod mma_m8n8k4;
pub mod numbers;
mod omit;
pub mod open;
mod order;
mod outcome;
mod packed;
mod place;
mod plain;
mod program;
mod proxy;
pub mod race;
mod reach;
mod region;
mod residues;
mod rounding;
mod run;
mod runaway;
mod scatter;
pub mod schedule;
mod setup;
pub mod shadow;
pub mod sign;
mod state;
mod step;
mod stop;
pub(crate) mod store;
pub mod strong;
pub mod taken;
mod tcgen05;
mod tensor_about;
mod tensor_box;
mod tensor_commit;
mod tensor_fence;
mod tensor_load;
mod tensor_map;
mod tensor_memory;
mod tensor_pair;
mod tensor_product;
mod trail;
mod tree;
mod uniform;
pub mod unused;
mod unwritten;
mod val;
pub mod value;
pub mod warp;
mod warpgroup;
mod ways;
mod wgmma;
mod wmma;
pub mod wobble;
mod words;
mod written;

pub use compute::operand_width;
pub use cta::Inputs;
pub use footprint::{Change, Footprint, Noting, Seen, Watch};
pub use knowledge::Knowledge;
pub use limits::MAX_TRACE;
pub use outcome::*;
pub use place::NO_ARRAY;
pub use program::Program;
pub use run::{run, run_noting};

/// Rank of a thread in its CTA: x fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tid(pub u32);

/// Which kernel of a pair runs; it tells apart the unknowns that no two reads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The reference.
    Reference,
    /// The optimized kernel.
    Optimized,
}
