//! The shape of a CTA, and sets of lanes.

use super::MAX_WARPS;
use crate::sim::Tid;

/// The shape of a CTA: how thread ranks split into warps and lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub(super) threads: u32,
    pub(super) shift: u32,
}

impl Shape {
    /// A CTA of 1 to 1024 threads in warps of 32; `None` for other sizes.
    pub fn new(threads: u32) -> Option<Shape> {
        Shape::with_width(threads, 32)
    }

    /// A CTA whose warps have `width` lanes, a power of two up to 32; at most 32 warps. PTX has
    /// only 32; small widths make small programs, which tests can enumerate.
    pub fn with_width(threads: u32, width: u32) -> Option<Shape> {
        let ok = width.is_power_of_two() && width <= 32 && threads > 0;
        (ok && threads.div_ceil(width) <= MAX_WARPS as u32).then(|| Shape {
            threads,
            shift: width.trailing_zeros(),
        })
    }

    /// Number of threads.
    pub fn threads(self) -> u32 {
        self.threads
    }

    /// Lanes of a warp.
    pub fn width(self) -> u32 {
        1 << self.shift
    }

    /// Number of warps.
    pub fn warps(self) -> u32 {
        self.threads.div_ceil(self.width())
    }

    /// The warp of a thread.
    #[inline]
    pub fn warp(self, t: Tid) -> u32 {
        t.0 >> self.shift
    }

    /// The lane of a thread.
    #[inline]
    pub fn lane(self, t: Tid) -> u32 {
        t.0 & (self.width() - 1)
    }

    /// The thread of a lane.
    #[inline]
    pub fn tid(self, warp: u32, lane: u32) -> Tid {
        Tid((warp << self.shift) | lane)
    }

    /// The lanes that exist in a warp.
    pub fn members(self, warp: u32) -> u32 {
        let first = warp << self.shift;
        let n = self.threads.saturating_sub(first).min(self.width());
        if n == 32 { u32::MAX } else { (1 << n) - 1 }
    }
}

/// The lanes of a mask, lowest first.
pub fn lanes(mask: u32) -> impl Iterator<Item = u32> + Clone {
    let mut rest = mask;
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let lane = rest.trailing_zeros();
        rest &= rest - 1;
        Some(lane)
    })
}
