//! The shape of what runs together, a CTA or several alike, and sets of lanes.

use super::{Lanes, MAX_WARPS};
use crate::sim::Tid;

/// Warps of a warpgroup.
const GROUP: u32 = 4;
/// Most warps that run together.
const MOST: u32 = 1 << 11;

/// How thread ranks split into warps and lanes. Each CTA of several begins with a warpgroup, so that of
/// the ranks some stand for no thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankShape {
    /// Ranks, of all CTAs.
    pub(super) threads: u32,
    pub(super) shift: u32,
    /// Threads of one CTA.
    own: u32,
    /// Warps from one CTA to the next.
    stride: u32,
}

impl RankShape {
    /// A CTA of 1 to 1024 threads in warps of 32; `None` for other sizes.
    pub fn new(threads: u32) -> Option<RankShape> {
        RankShape::with_width(threads, 32)
    }

    /// A CTA whose warps have `width` lanes, a power of two up to 32; at most 32 warps. PTX has
    /// only 32; small widths make small programs, which tests can enumerate.
    pub fn with_width(threads: u32, width: u32) -> Option<RankShape> {
        let ok = width.is_power_of_two() && width <= 32 && threads > 0;
        (ok && threads.div_ceil(width) <= MAX_WARPS as u32).then(|| RankShape {
            threads,
            shift: width.trailing_zeros(),
            own: threads,
            stride: threads.div_ceil(width),
        })
    }

    /// Several CTAs of so many threads each; `None` where there are too many.
    pub fn several(threads: u32, ctas: u32) -> Option<RankShape> {
        let one = RankShape::new(threads)?;
        if ctas <= 1 {
            return Some(one);
        }
        let stride = one.stride.next_multiple_of(GROUP);
        let warps = stride.checked_mul(ctas).filter(|n| *n <= MOST)?;
        Some(RankShape {
            threads: warps * one.width(),
            stride,
            ..one
        })
    }

    /// Warps from the first of one CTA to the first of the next.
    pub fn stride(self) -> u32 {
        self.stride
    }

    /// The warps of a CTA, by its number.
    pub fn warps_of(self, cta: u32) -> std::ops::Range<u32> {
        let first = cta * self.stride;
        first..first + self.own.div_ceil(self.width())
    }

    /// The number of the CTA of a warp.
    #[inline]
    pub fn cta(self, warp: u32) -> u32 {
        warp / self.stride
    }

    /// How many CTAs run together.
    pub fn ctas(self) -> u32 {
        self.warps().div_ceil(self.stride)
    }

    /// The threads of one CTA.
    pub fn own(self) -> u32 {
        self.own
    }

    /// Zero for each warp.
    pub fn none(self) -> Lanes {
        smallvec::smallvec![0; self.warps() as usize]
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
        let first = (warp % self.stride) << self.shift;
        let n = self.own.saturating_sub(first).min(self.width());
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
