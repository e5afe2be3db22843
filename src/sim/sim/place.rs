//! Places: where the lanes of an access go, and whether they may.
//!
//! Source: PTX ISA 9.0, sections 5.1 (state spaces) and 6.4.1 (addresses, which are aligned to the
//! size of the access). An address is known, or a select among few known ones; anything else is
//! `unknown`. The common case, all lanes at known places of one region, makes no target for a lane.

use crate::term::TermId;

use super::address::provenance::{BaseId, Prov};
use super::region::RegionId;

mod exec;

/// Where the lanes of one access go: each lane, its condition, region and offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    /// The lane.
    pub lane: usize,
    /// The access happens only if this holds; `None` is always.
    pub cond: Option<TermId>,
    /// The region.
    pub region: RegionId,
    /// Byte offset in it.
    pub off: i64,
    /// The object whose address it is.
    pub base: BaseId,
}

/// An address and its condition, if it can be.
type Case = Option<(Option<TermId>, TermId)>;

/// A known address of a lane: when it is the one, its number, and what it carries.
struct KnownAddress {
    cond: Option<TermId>,
    number: u64,
    prov: Prov,
    certain: bool,
}

/// What is said of an address that is a number and no array's.
pub const NO_ARRAY: &str = "lies in no array";

/// Distance of the local memories of two threads: a multiple of 16, so that alignment is the
/// thread's own.
pub(super) fn local_stride(bytes: u32) -> u64 {
    (bytes as u64).next_multiple_of(16).max(16)
}
