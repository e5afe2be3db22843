//! Operations on tensor memory: `tcgen05`.
//!
//! Source: PTX ISA 9.0, section 9.7.16. Of `ld` and `st`, register r of a lane L with g = L / 4 and
//! t = L % 4 stands for the cell [`Lanes::cell`] of the accessed rectangle.

use super::effects::{AGENTS, ALL, Effects, Orders, TOGETHER};
use super::field::choices;
use super::table::{operands, operations};
use super::{Addr, Guard, RegId, Space, Src};

/// The data movement shape of `tcgen05.ld` and `tcgen05.st`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// `.32x32b`.
    Rows32,
    /// `.16x64b`.
    Rows16x64,
    /// `.16x128b`.
    Rows16x128,
    /// `.16x256b`.
    Rows16x256,
    /// `.16x32bx2`: the lanes from 16 on access the columns from this offset on.
    Halves(i64),
}

impl Lanes {
    /// Registers of the `.x1` form.
    pub fn registers(self) -> usize {
        match self {
            Lanes::Rows32 | Lanes::Rows16x64 | Lanes::Halves(_) => 1,
            Lanes::Rows16x128 => 2,
            Lanes::Rows16x256 => 4,
        }
    }

    /// Rows of tensor memory that it accesses.
    pub fn rows(self) -> usize {
        match self {
            Lanes::Rows32 => 32,
            _ => 16,
        }
    }

    /// Row and column, from the base address on, of a register of a lane.
    pub fn cell(self, lane: usize, reg: usize) -> (usize, i64) {
        let (g, t) = (lane / 4, lane % 4);
        match self {
            Lanes::Rows32 => (lane, reg as i64),
            Lanes::Rows16x64 => (g + 8 * (lane & 1), (2 * reg + (lane >> 1 & 1)) as i64),
            Lanes::Rows16x128 => (g + 8 * (reg & 1), (4 * (reg >> 1) + t) as i64),
            Lanes::Rows16x256 => (
                g + 8 * (reg >> 1 & 1),
                (8 * (reg >> 2) + 2 * t + (reg & 1)) as i64,
            ),
            Lanes::Halves(half) => {
                let second = if lane >= 16 { half } else { 0 };
                (lane % 16, reg as i64 + second)
            }
        }
    }
}

/// `.kind` of `tcgen05.mma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TensorKind {
    /// f16 and bf16.
    F16,
    /// tf32.
    Tf32,
    /// Floats of eight bits and fewer.
    F8,
    /// The same, of which blocks of 32 along k are scaled.
    Mx8,
    /// Floats of four bits, two in a byte, of which blocks of 32 along k are scaled by powers of two.
    Mx4,
    /// The same with blocks of 16 or 32 and scales of either type.
    Nv4,
    /// Bytes.
    I8,
}

/// The first operand of `tcgen05.mma`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TensorA {
    /// A descriptor of shared memory.
    Shared(Src),
    /// Tensor memory.
    Tensor(Addr),
}

choices!(TensorA { Shared(shared), Tensor(tensor) });

operands! { (l)
/// `tcgen05.mma`.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorMma {
    /// Types.
    pub kind: TensorKind,
    /// A pair of CTAs takes part.
    pub pair: bool,
    /// The accumulator.
    pub d: Addr,
    /// The first factor.
    pub a: TensorA,
    /// Descriptor of the second factor.
    pub b: Src,
    /// The instruction descriptor.
    pub about: Src,
    /// Lanes of the accumulator that are left alone, a bit each.
    pub masked: Vec<Src>,
    /// False in the register: the old accumulator does not count.
    pub keep: Guard,
    /// Where the scales of the factors lie in tensor memory.
    pub scales: Option<[Addr; 2]>,
    /// How many scales a row of a factor has.
    pub chunks: u8,
    /// What becomes of the buffer for the first factor.
    pub collector: Collector,
} = (".{kind}{pair}.{collector} {d}, {a}, {b}, {about}, {{{masked}}}, {keep}{scales}, {chunks}");
}

/// `.collector::a` of `tcgen05.mma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collector {
    /// The buffer holds the first factor from now on.
    Fill,
    /// The first factor comes from the buffer, and stays there.
    Use,
    /// The first factor comes from the buffer, for the last time.
    LastUse,
    /// Nothing is in the buffer afterwards.
    Discard,
}

/// The shape of `tcgen05.cp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorCopy {
    /// `.128x256b`.
    Rows128x256,
    /// `.4x256b`.
    Rows4x256,
    /// `.128x128b`.
    Rows128x128,
    /// `.64x128b.warpx2::02_13`.
    Apart64x128,
    /// `.64x128b.warpx2::01_23`.
    Near64x128,
    /// `.32x128b.warpx4`.
    All32x128,
}

impl TensorCopy {
    /// Rows of the matrix in shared memory, and bytes of a row.
    pub fn extent(self) -> (usize, usize) {
        match self {
            TensorCopy::Rows128x256 => (128, 32),
            TensorCopy::Rows4x256 => (4, 32),
            TensorCopy::Rows128x128 => (128, 16),
            TensorCopy::Apart64x128 | TensorCopy::Near64x128 => (64, 16),
            TensorCopy::All32x128 => (32, 16),
        }
    }

    /// The lanes of tensor memory that a row goes to.
    pub fn lanes(self, row: usize) -> Vec<usize> {
        let (half, own) = (row / 32, row % 32);
        match self {
            TensorCopy::Rows128x256 | TensorCopy::Rows128x128 => vec![row],
            TensorCopy::Rows4x256 => vec![32 * row],
            TensorCopy::Apart64x128 => vec![32 * half + own, 32 * (half + 2) + own],
            TensorCopy::Near64x128 => vec![64 * half + own, 64 * half + 32 + own],
            TensorCopy::All32x128 => (0..4).map(|w| 32 * w + own).collect(),
        }
    }
}

operations! { (l)
/// An operation of section 9.7.16.
#[derive(Clone, Debug, PartialEq)]
pub enum TensorOp {
    /// `tcgen05.alloc`.
    Alloc {
        /// State space of the address.
        space: Space,
        /// Where the address of the columns is stored.
        addr: Addr,
        /// How many.
        columns: Src,
        /// A warp of each CTA of a pair takes part.
        pair: bool,
    } = ["tcgen05.alloc"] (".{space}{pair} {addr}, {columns}"), TOGETHER;
    /// `tcgen05.dealloc`.
    Dealloc {
        /// The address that the allocation gave.
        at: Src,
        /// How many.
        columns: Src,
        /// A warp of each CTA of a pair takes part.
        pair: bool,
    } = ["tcgen05.dealloc"] ("{pair} {at}, {columns}"), TOGETHER;
    /// `tcgen05.relinquish_alloc_permit`; true for that of a pair of CTAs.
    Relinquish(pair: bool) = ["tcgen05.relinquish_alloc_permit"] ("{pair}"), TOGETHER;
    /// `tcgen05.ld`.
    Load {
        /// Which cells.
        lanes: Lanes,
        /// Base address.
        at: Addr,
        /// Destinations.
        dsts: Vec<RegId>,
    } = ["tcgen05.ld"] (".{lanes} {{{dsts}}}, {at}"), TOGETHER;
    /// `tcgen05.st`.
    Store {
        /// Which cells.
        lanes: Lanes,
        /// Base address.
        at: Addr,
        /// Sources.
        srcs: Vec<Src>,
    } = ["tcgen05.st"] (".{lanes} {at}, {{{srcs}}}"), TOGETHER;
    /// `tcgen05.wait::ld`; true for `tcgen05.wait::st`.
    Wait(store: bool) = [if *store { "tcgen05.wait::st" } else { "tcgen05.wait::ld" }] (""), Effects { orders: Orders::Agents, ..TOGETHER };
    /// `tcgen05.mma`.
    Mma(m: Box<TensorMma>) = ["tcgen05.mma"] ("{m}"), ALL;
    /// `tcgen05.cp`.
    Copy {
        /// Where it goes.
        to: Addr,
        /// Descriptor of the matrix in shared memory.
        from: Src,
        /// Which rows go where.
        shape: TensorCopy,
        /// Both CTAs of a pair copy.
        pair: bool,
    } = ["tcgen05.cp"] (".{shape}{pair} {to}, {from}"), ALL;
    /// `tcgen05.commit`.
    Commit {
        /// State space of the object.
        space: Space,
        /// The mbarrier.
        addr: Addr,
        /// The CTAs of the cluster whose mbarriers are meant.
        multicast: Option<Src>,
    } = ["tcgen05.commit"] (".{space} {addr}{multicast}"), AGENTS;
    /// `tcgen05.fence::before_thread_sync`; true for `after_thread_sync`.
    Fence(after: bool) = [if *after { "tcgen05.fence::after_thread_sync" } else { "tcgen05.fence::before_thread_sync" }] (""), AGENTS;
}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each shape gives every register of every lane a cell of its own, and fills a rectangle.
    #[test]
    fn cells_are_distinct() {
        let all = [
            (Lanes::Rows32, 32, 8),
            (Lanes::Rows16x64, 16, 16),
            (Lanes::Rows16x128, 16, 16),
            (Lanes::Rows16x256, 16, 16),
            (Lanes::Halves(8), 16, 16),
        ];
        for (lanes, rows, columns) in all {
            let mut seen = std::collections::BTreeSet::new();
            for lane in 0..32 {
                for reg in 0..8 {
                    let (row, column) = lanes.cell(lane, reg);
                    assert!(row < rows && (0..columns).contains(&column), "{lanes:?}");
                    assert!(seen.insert((row, column)), "{lanes:?}");
                }
            }
            assert_eq!(seen.len(), rows * columns as usize);
            assert_eq!(rows, lanes.rows());
        }
    }
}
