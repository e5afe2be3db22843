//! Small launches that are run, in search of one that breaks.
//!
//! A defect is only told of a launch that the simulator ran: blocks of few threads and powers of two, grids of few CTAs,
//! integers about the block and about the constants that people use as tile sizes. Launches that the facts exclude are
//! left out. The order is fixed, the smallest first.

use super::facts::{Size, SizeFact};
use super::limits::{LAUNCHES, MAX_TRIED};
use crate::kernel::{Kernel, Op, Special};
use crate::spec::launch::MAX_THREADS;

/// One launch: what no flag binds has a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Concrete {
    pub block: [u32; 3],
    pub grid: [u32; 3],
    /// Values of the free integers, in their order.
    pub ints: Vec<i64>,
}

/// An integer parameter that no flag binds.
#[derive(Clone, Debug)]
pub(super) struct FreeInt {
    /// As reports name it.
    pub name: String,
    /// The key that binds it.
    pub key: String,
    /// Its byte offset in the parameter space.
    pub offset: u32,
    /// Its size in bytes.
    pub bytes: u32,
    /// The kernel takes it without a sign alone; facts read it so.
    pub unsigned: bool,
    /// It may be where an array begins, or half of that: it reaches an address.
    pub wide: bool,
}

/// What a launch may choose.
#[derive(Clone, Debug)]
pub(super) struct Freedom {
    /// Fixed components of the block and of the grid.
    pub block: [Option<u32>; 3],
    pub grid: [Option<u32>; 3],
    pub ints: Vec<FreeInt>,
    pub facts: Vec<SizeFact>,
    /// `.maxntid`.
    pub most: u64,
}

impl Freedom {
    /// Whether facts read the parameter at an offset without a sign.
    pub(super) fn is_unsigned(&self, at: u32) -> bool {
        self.ints.iter().any(|p| p.offset == at && p.unsigned)
    }

    /// A component of the block or grid that the kernel does not read, and no fact names, is 1: what is written for one
    /// dimension is launched in one.
    pub(super) fn unread(kernel: &Kernel, facts: &[SizeFact], size: Size) -> bool {
        let axis = match size {
            Size::Block(a) | Size::Grid(a) => a,
            Size::Param(_) => return false,
        };
        if axis == 0 || facts.iter().any(|f| f.sizes().any(|s| s == size)) {
            return false;
        }
        let reads = |s: &Special| match (size, s) {
            (Size::Block(a), Special::Tid(b) | Special::Ntid(b)) => a == *b,
            (Size::Grid(a), Special::Ctaid(b) | Special::Nctaid(b)) => a == *b,
            _ => false,
        };
        let mut ops = kernel.insts.iter().map(|i| &i.op);
        !ops.any(|op| matches!(op, Op::Special { special, .. } if reads(special)))
    }

    /// Whether a launch is one of those that the question is about.
    pub(super) fn admits(&self, launch: &Concrete) -> bool {
        let fits = |fixed: &[Option<u32>; 3], v: [u32; 3]| {
            fixed
                .iter()
                .zip(v)
                .all(|(f, v)| v >= 1 && f.is_none_or(|f| f == v))
        };
        let threads: u64 = launch.block.iter().map(|&n| u64::from(n)).product();
        let bounds = launch.block[0] <= 1024 && launch.block[1] <= 1024 && launch.block[2] <= 64;
        let value = |size: Size| match size {
            Size::Block(a) => launch.block.get(a as usize).map(|&v| i128::from(v)),
            Size::Grid(a) => launch.grid.get(a as usize).map(|&v| i128::from(v)),
            Size::Param(at) => {
                let i = self.ints.iter().position(|p| p.offset == at)?;
                launch.ints.get(i).map(|&v| i128::from(v))
            }
        };
        bounds
            && threads <= MAX_THREADS.min(self.most)
            && fits(&self.block, launch.block)
            && fits(&self.grid, launch.grid)
            // A fact about what a flag binds is judged where that is known.
            && self.facts.iter().all(|f| f.holds(&value) != Some(false))
    }

    /// Launches to try, the first ones of all kinds.
    pub(super) fn launches(&self) -> Vec<Concrete> {
        let blocks = choices(&self.block, &BLOCKS);
        let grids = choices(&self.grid, &GRIDS);
        let mut out: Vec<Concrete> = Vec::new();
        // Walks the three lists at different speeds, so that a prefix has some of everything.
        let count = blocks.len() * grids.len() * INTS.len();
        // What is fixed may be larger than what is tried otherwise; the smallest of those launches is still run.
        let mut least: Option<(u64, Concrete)> = None;
        for i in 0..count * 2 {
            let block = blocks[(i * 7 + i / blocks.len()) % blocks.len()];
            let grid = grids[(i + i / (blocks.len() * 3)) % grids.len()];
            let ints = self.ints.iter().enumerate().map(|(k, p)| {
                let base = INTS[(i * 5 + i / INTS.len()) % INTS.len()];
                let value = match (i % 3, k) {
                    // Sizes that fit the launch, sizes that are alike, sizes that differ.
                    (0, _) => {
                        i64::from(block[0]) * i64::from(grid[0])
                            - i64::from(k as u32 % 2 == 1 && i % 2 == 1)
                    }
                    (1, _) => base,
                    (_, k) => INTS[(i * 5 + k * 11 + i / 3) % INTS.len()],
                };
                // A narrow parameter has few values; those that are not negative fit it with and without a sign.
                match p.bytes {
                    4 if p.unsigned => value.rem_euclid(1 << 32),
                    0..4 => value.rem_euclid(1 << (8 * p.bytes.max(1) - 1)),
                    _ => value,
                }
            });
            let launch = Concrete {
                block,
                grid,
                ints: ints.collect(),
            };
            let threads = |v: [u32; 3]| v.iter().map(|&n| u64::from(n)).product::<u64>();
            let cost = threads(block) * threads(grid);
            if cost <= MAX_TRIED && self.admits(&launch) && !out.contains(&launch) {
                out.push(launch);
            } else if least.as_ref().is_none_or(|l| cost < l.0) && self.admits(&launch) {
                least = Some((cost, launch));
            }
            if out.len() >= LAUNCHES {
                break;
            }
        }
        match least {
            Some((_, launch)) if out.is_empty() => vec![launch],
            _ => out,
        }
    }
}

/// Blocks that are tried: those of one dimension first.
const BLOCKS: [[u32; 3]; 26] = [
    [4, 1, 1],
    [33, 1, 1],
    [64, 1, 1],
    [1, 1, 1],
    [16, 16, 1],
    [2, 1, 1],
    [32, 1, 1],
    [3, 1, 1],
    [8, 8, 1],
    [128, 1, 1],
    [5, 1, 1],
    [256, 1, 1],
    [4, 4, 1],
    [48, 1, 1],
    [32, 8, 1],
    [2, 3, 1],
    [96, 1, 1],
    [7, 1, 1],
    [512, 1, 1],
    [32, 32, 1],
    [16, 4, 1],
    [1024, 1, 1],
    [4, 2, 2],
    [8, 1, 1],
    [16, 1, 1],
    [1, 8, 1],
];

const GRIDS: [[u32; 3]; 6] = [
    [2, 1, 1],
    [1, 1, 1],
    [3, 1, 1],
    [2, 2, 1],
    [4, 1, 1],
    [1, 2, 2],
];

const INTS: [i64; 26] = [
    5, 64, 33, 1, 100, 16, 7, 128, 0, 32, 2, 31, 130, 3, 65, 4, 63, 8, 17, 127, 256, 15, -1, 12,
    48, 9,
];

/// The triples of a list with the fixed components in place, each once.
fn choices(fixed: &[Option<u32>; 3], list: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let mut out: Vec<[u32; 3]> = Vec::new();
    for &triple in list {
        let mut t = triple;
        for (v, f) in t.iter_mut().zip(fixed) {
            *v = f.unwrap_or(*v);
        }
        if !out.contains(&t) {
            out.push(t);
        }
    }
    out
}
