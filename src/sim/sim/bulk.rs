//! Bulk copies: runs of bytes and boxes of tensors between global and shared memory.
//!
//! A copy is an agent of its own, as in `copy`, of the async proxy. One that fills shared memory
//! ends with the phase of the mbarrier that counts its bytes; one to global memory with the group
//! that its thread commits, in two steps: its reads first, then its writes. The copy is made when
//! it is issued, which is one of its schedules; whoever touches either side before its end has
//! been observed conflicts with it.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.25.4, 9.7.9.25.5 and 9.7.9.25.6; 8.6 for the proxies.
//!
//! Not claimed: that shared memory outlives the last thread for a copy
//! that still reads it (one that still writes it is `unknown`).

use crate::kernel::{AtomOp, NumTy, Pc};

use super::address::provenance::BaseId;
use super::clock::Actor;
use super::region::RegionId;
use super::tensor_box::Chunk;
use super::warp::LANES;

mod exec;

/// A copy to global memory that is not waited for yet.
#[derive(Clone, Copy, Debug, Hash)]
struct Issued {
    reads: Actor,
    writes: Actor,
    lane: usize,
    group: u32,
    read: bool,
}

/// The copies of a warp to global memory.
#[derive(Clone, Debug, Hash)]
pub(super) struct Bulk {
    issued: Vec<Issued>,
    committed: [u32; LANES],
}

impl Default for Bulk {
    fn default() -> Self {
        Bulk {
            issued: Vec::new(),
            committed: [0; LANES],
        }
    }
}

/// What one lane copies.
struct Job {
    chunks: Vec<Chunk>,
    /// The object in shared memory.
    near: BaseId,
    /// Region, offset and object of the other side.
    far: (RegionId, i64, BaseId),
    bytes: u64,
    /// Type of the elements of a tensor.
    element: Option<NumTy>,
}

/// How a lane copies.
struct How {
    w: usize,
    lane: usize,
    pc: Pc,
    reads: Actor,
    writes: Actor,
    fill: bool,
    reduce: Option<(AtomOp, NumTy)>,
}
