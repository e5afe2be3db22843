//! The numbers of the regions of memory, and where each begins.

use crate::term::ArrayId;

/// Distance of the windows of two regions in the generic address space.
pub(super) const WINDOW_BITS: u32 = 40;

/// Index of a region: 0 is shared memory, 1 local memory, 2 the parameters, then the arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionId(pub u32);

/// Shared memory.
pub(super) const SHARED: RegionId = RegionId(0);
/// Local memory.
pub(super) const LOCAL: RegionId = RegionId(1);
/// The parameter block.
pub(super) const PARAM: RegionId = RegionId(2);
pub(super) const FIRST_ARRAY: u32 = 3;

/// The region of an array.
pub(super) fn region_of(a: ArrayId) -> RegionId {
    RegionId(a.0 + FIRST_ARRAY)
}

/// The generic address of a region's first byte. Offsets up to half a window on either side of
/// it still belong to the region, so that an access before the first element is told as such.
pub(super) fn base(r: RegionId) -> u64 {
    (r.0 as u64 + 1) << WINDOW_BITS
}
