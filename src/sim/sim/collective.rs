//! Warp collectives: `shfl`, `vote`, `match`, `redux`, `elect`, `bar.warp.sync`.
//!
//! The lanes of a member mask meet: each waits, at its own instruction, until every lane of the
//! mask that has not exited waits with the same mask and the same kind of operation; then values
//! are exchanged and all go on. Only `bar.warp.sync` orders memory.
//!
//! Source: PTX ISA 9.0, sections 9.7.9.6 (`shfl.sync`), 9.7.13.1 to 9.7.13.13.

use crate::kernel::ShflMode;

use super::warp::LANES;

mod exec;

/// The lanes of a warp that wait in a collective.
#[derive(Clone, Debug, Hash)]
pub(super) struct PendingCollective {
    keys: [Option<Key>; LANES],
}

impl Default for PendingCollective {
    fn default() -> Self {
        PendingCollective {
            keys: [None; LANES],
        }
    }
}

/// What lanes must agree on to meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    mask: u32,
    kind: u32,
}

/// The source lane of a shuffle and whether it is in range.
pub(super) fn source_lane(mode: ShflMode, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (bv, clamp, seg) = (b & 31, c & 31, c >> 8 & 31);
    let max = (lane & seg) | (clamp & !seg);
    let min = lane & seg;
    let (j, ok) = match mode {
        ShflMode::Up => {
            let j = lane as i32 - bv as i32;
            (j, j >= max as i32)
        }
        ShflMode::Down => {
            let j = lane + bv;
            (j as i32, j <= max)
        }
        ShflMode::Bfly => {
            let j = lane ^ bv;
            (j as i32, j <= max)
        }
        ShflMode::Idx => {
            let j = min | (bv & !seg);
            (j as i32, j <= max)
        }
    };
    if ok { (j as u32, true) } else { (lane, false) }
}
