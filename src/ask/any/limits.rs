//! Every bound of the search in all launches, in one table.

/// Launches that are run before anything is proved, and after a proof failed.
pub(super) const FIRST_LOOKS: usize = 6;
pub(super) const LAUNCHES: usize = 400;

/// Words that one address is taken apart into.
pub(super) const MAX_PARTS: usize = 2048;

/// Numbers above that of a model that are tried in its place.
pub(super) const NEAR: i64 = 64;

/// Blocks and grids for which models of the facts are asked, beside those with either left free.
pub(super) const MODEL_BLOCKS: [[u32; 3]; 6] = [
    [4, 1, 1],
    [33, 1, 1],
    [64, 1, 1],
    [1, 1, 1],
    [16, 16, 1],
    [256, 1, 1],
];
pub(super) const MODEL_GRIDS: [[u32; 3]; 3] = [[1, 1, 1], [2, 1, 1], [2, 2, 1]];

/// Units of work (`crate::work`) for one launch, and for all that are run after a failed proof.
pub(super) const ONE_LAUNCH: u64 = 4_000_000;
pub(super) const ALL_LAUNCHES: u64 = 12_000_000;

/// Launches on arrays of simple numbers after a failed proof, what the arrays hold, their elements, and the units of work for all.
pub(super) const MAX_LAUNCHES_FILLED: usize = 16;
pub(super) const FILLED: [&str; 3] = ["0", "1", "iota"];
pub(super) const MAX_FILLED: u32 = 8192;
pub(super) const FILLED_LAUNCHES: u64 = 4_000_000;

/// Units of work for launches after a proof that leaves open whether what is read was written.
pub(super) const WRITTEN_LAUNCHES: u64 = 4_000_000;

/// Threads of a launch that is tried.
pub(super) const MAX_TRIED: u64 = 4096;

/// Threads of a grid: the scope that every answer names.
pub(super) const MAX_GRID_THREADS: u64 = (1 << 31) - 1;

/// Instructions, nodes of expressions, accesses and pairs of them of a kernel that is looked at.
pub(super) const MAX_INSTRUCTIONS: usize = 20_000;
pub(super) const MAX_NODES: usize = 400_000;
pub(super) const MAX_ACCESSES: usize = 600;
pub(super) const MAX_PAIRS: usize = 60_000;

/// Pairs that are left open before the others are left out.
pub(super) const MAX_OPEN: usize = 4;

/// Units of work for a proof.
pub(super) const PROOF: u64 = 30_000_000;

/// Times that the body of a loop is read again until the set of its uniform registers is stable.
pub(super) const MAX_ROUNDS: usize = 12;

/// Constraints of one elimination, atoms of one product, and rounds of products.
pub(super) const MAX_CONSTRAINTS: usize = 260;
pub(super) const MAX_DEGREE: usize = 4;
pub(super) const MAX_TERMS: usize = 60;

/// Sweeps over all facts in which bounds of numbers are propagated.
pub(super) const MAX_SWEEPS: usize = 3;

/// Low bits that are followed through loops: an access has 16 bytes, a swizzled row of shared memory 128.
pub(super) const MAX_ZEROS: u8 = 7;

/// Clauses that the solver learns about one question, and gates of it are those of the Boolean back end.
pub(super) const MAX_LEARNT: u64 = 6_000;

/// Numbers of threads in the grid, and functions, of one question that are compared with those of the other thread.
pub(super) const MAX_NUMBERS: usize = 4;

/// Depth to which an equation is taken apart by its strides.
pub(super) const MAX_SPLITS: usize = 6;

/// Elements of a variable that are listed with their initial values, where one of them is read.
pub(super) const MAX_LISTED: u64 = 32;
