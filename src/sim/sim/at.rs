//! Who executes an instruction.

use crate::kernel::Pc;

use super::warp::{LANES, lanes};
use super::{Site, Tid};

/// Lanes of a warp at an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    /// The warp.
    pub w: usize,
    /// The lanes, a bit each.
    pub exec: u32,
    /// The instruction.
    pub pc: Pc,
}

/// One lane of a warp at an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneAt {
    /// The warp.
    pub w: usize,
    /// The lane.
    pub lane: usize,
    /// The instruction.
    pub pc: Pc,
}

impl LaneAt {
    /// The lane as the only one that executes the instruction.
    pub(super) fn alone(self) -> At {
        let LaneAt { w, lane, pc } = self;
        let exec = 1 << lane;
        At { w, exec, pc }
    }
}

/// Threads of the lanes of a warp.
pub(super) fn tids(w: usize, mask: u32) -> Vec<Tid> {
    lanes(mask).map(|l| Tid((w * LANES + l) as u32)).collect()
}

/// A site of lanes of a warp.
pub(super) fn site(pc: Pc, w: usize, mask: u32, text: impl Into<String>) -> Site {
    Site::new(pc, tids(w, mask), text)
}
