//! The code between a branch and its join, for executing both ways of the branch.
//!
//! The problem: a branch on input data is executed both ways, each way with registers of its own,
//! and the ways are merged where they meet. That needs the blocks between the branch and its
//! join in an order in which all that leads to a block comes before it, loops aside, wherever a
//! compiler has laid them out; and which registers somebody still reads at each of them, so that
//! what is dead is not merged.
//!
//! Source: reverse postorder of a depth-first search; the ways out of a loop are searched first, so
//! that the body of a loop comes before what follows it. Liveness is the textbook backward data
//! flow, restricted to the registers that the region writes.
//!
//! Not claimed: that the region is free of barriers or loops; who executes it looks out for them.

use hashbrown::HashMap;

use super::operands;
use super::structured::{Blocks, NONE};
use super::{Kernel, Op, Pc, RegId};

/// Most instructions of a region.
const MAX_INSTRUCTIONS: u32 = 1 << 13;

/// Most blocks of a region in which ways out of loops are told from ways round.
const MAX_ORDERED: usize = 1 << 10;

/// Passes of the data flow after which every register counts as live.
const MAX_PASSES: usize = 100;

/// A set of the registers that a region writes, by their index in [`Region::defs`].
type Set = Vec<u64>;

/// A basic block of a region.
#[derive(Debug)]
pub struct Block {
    /// The first instruction.
    pub start: u32,
    /// The end: one past the last instruction.
    pub end: u32,
    live: Set,
}

/// What lies between a branch and its join.
#[derive(Debug)]
pub struct Region {
    /// The blocks, in reverse postorder.
    pub blocks: Vec<Block>,
    /// The registers that the region writes.
    pub defs: Vec<RegId>,
    /// The join, or [`NONE`] where the region ends with the thread.
    pub join: u32,
    rank: HashMap<u32, u32>,
    live_at_join: Set,
}

impl Region {
    /// The region of the conditional branch at `branch`; `None` if it is too large.
    pub fn new(kernel: &Kernel, blocks: &Blocks, branch: Pc) -> Option<Region> {
        let join = kernel.join[branch.0 as usize];
        let order = order(blocks, branch, join)?;
        let mut defs: Vec<RegId> = Vec::new();
        for &b in &order {
            for pc in blocks.range(b) {
                kernel.insts[pc as usize].op.defs(&mut |r| defs.push(r));
            }
        }
        defs.sort_unstable();
        defs.dedup();
        let live = liveness(kernel, blocks, &defs);
        let rank = (0..)
            .zip(&order)
            .map(|(i, &b)| (blocks.start[b as usize], i));
        let rank = rank.collect();
        let live_at_join = match join {
            NONE => vec![0; defs.len().div_ceil(64)],
            pc => live[blocks.block_of[pc as usize] as usize].clone(),
        };
        let block = |&b: &u32| {
            let range = blocks.range(b);
            Block {
                start: range.start,
                end: range.end,
                live: live[b as usize].clone(),
            }
        };
        Some(Region {
            blocks: order.iter().map(block).collect(),
            defs,
            join,
            rank,
            live_at_join,
        })
    }

    /// The rank of the join: one more than that of any block.
    pub fn end(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// The rank of what starts at a pc: a block, or the join. `None` if neither does.
    pub fn rank(&self, pc: u32) -> Option<u32> {
        if pc == self.join {
            return Some(self.end());
        }
        self.rank.get(&pc).copied()
    }

    /// True if somebody may still read register `defs[i]` as it is where the block or the join of
    /// this rank starts.
    pub fn is_live(&self, rank: u32, i: usize) -> bool {
        let set = match self.blocks.get(rank as usize) {
            Some(b) => &b.live,
            None => &self.live_at_join,
        };
        set[i / 64] >> (i % 64) & 1 == 1
    }
}

/// The blocks that can be reached from a branch without passing its join, in reverse postorder.
fn order(blocks: &Blocks, branch: Pc, join: u32) -> Option<Vec<u32>> {
    let join_block = match join {
        NONE => NONE,
        pc => blocks.block_of[pc as usize],
    };
    let root = blocks.block_of[branch.0 as usize];
    // What is reachable, and how large it is.
    let mut inside: HashMap<u32, u32> = HashMap::new();
    let mut list = Vec::new();
    let mut size = 0;
    let mut stack: Vec<u32> = blocks.successors(root).to_vec();
    while let Some(b) = stack.pop() {
        if b == join_block || inside.contains_key(&b) {
            continue;
        }
        inside.insert(b, list.len() as u32);
        list.push(b);
        size += blocks.range(b).len() as u32;
        if size > MAX_INSTRUCTIONS {
            return None;
        }
        stack.extend(blocks.successors(b));
    }
    let reach = reachability(blocks, &list, &inside);
    let around = |from: u32, to: u32| {
        let (i, j) = (inside[&from] as usize, inside[&to] as usize);
        reach
            .as_ref()
            .is_some_and(|r| r[j][i / 64] >> (i % 64) & 1 == 1)
    };
    // Depth first; a way that leads back to where it leaves is searched last.
    let sorted = |b: u32| {
        let mut next: Vec<u32> = blocks.successors(b).to_vec();
        next.retain(|s| *s != join_block);
        if b != root || inside.contains_key(&root) {
            next.sort_by_key(|&s| around(b, s));
        }
        next
    };
    let mut seen = vec![false; list.len()];
    let mut post = Vec::with_capacity(list.len());
    let mut stack = vec![(NONE, sorted(root), 0usize)];
    while let Some((b, next, at)) = stack.last_mut() {
        match next.get(*at).copied() {
            Some(s) => {
                *at += 1;
                if !std::mem::replace(&mut seen[inside[&s] as usize], true) {
                    stack.push((s, sorted(s), 0));
                }
            }
            None => {
                if *b != NONE {
                    post.push(*b);
                }
                stack.pop();
            }
        }
    }
    post.reverse();
    Some(post)
}

/// For each block the set of blocks that can be reached from it; `None` where the region has no
/// cycle worth telling, or too many blocks.
fn reachability(
    blocks: &Blocks,
    list: &[u32],
    inside: &HashMap<u32, u32>,
) -> Option<Vec<Vec<u64>>> {
    let backward = |b: &u32| blocks.successors(*b).iter().any(|s| s <= b);
    if list.len() > MAX_ORDERED || !list.iter().any(backward) {
        return None;
    }
    let words = list.len().div_ceil(64);
    let mut reach = vec![vec![0u64; words]; list.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (i, b) in list.iter().enumerate() {
            for s in blocks.successors(*b) {
                let Some(&j) = inside.get(s) else { continue };
                let (j, mut new) = (j as usize, std::mem::take(&mut reach[i]));
                let before = new.clone();
                new[j / 64] |= 1 << (j % 64);
                if i != j {
                    for (x, y) in new.iter_mut().zip(&reach[j]) {
                        *x |= y;
                    }
                }
                changed |= new != before;
                reach[i] = new;
            }
        }
    }
    Some(reach)
}

/// For each block of the kernel: which of `defs` are live where it starts.
fn liveness(kernel: &Kernel, blocks: &Blocks, defs: &[RegId]) -> Vec<Set> {
    let words = defs.len().div_ceil(64);
    let index = |r: RegId| defs.binary_search(&r).ok();
    let n = blocks.len();
    // Read before written, and written for certain, in each block.
    let mut read = vec![vec![0u64; words]; n];
    let mut written = vec![vec![0u64; words]; n];
    for b in 0..n {
        for pc in blocks.range(b as u32) {
            let inst = &kernel.insts[pc as usize];
            operands::uses(inst, |r| {
                if let Some(i) = index(r)
                    && written[b][i / 64] >> (i % 64) & 1 == 0
                {
                    read[b][i / 64] |= 1 << (i % 64);
                }
            });
            if inst.guard.is_none() && !matches!(inst.op, Op::Unsupported(_)) {
                inst.op.defs(&mut |r| {
                    if let Some(i) = index(r) {
                        written[b][i / 64] |= 1 << (i % 64);
                    }
                });
            }
        }
    }
    let mut live = read.clone();
    for pass in 0.. {
        if pass == MAX_PASSES {
            return vec![vec![u64::MAX; words]; n];
        }
        let mut changed = false;
        for b in (0..n).rev() {
            for &s in blocks.successors(b as u32) {
                for i in 0..words {
                    let new = live[b][i] | live[s as usize][i] & !written[b][i];
                    changed |= new != live[b][i];
                    live[b][i] = new;
                }
            }
        }
        if !changed {
            break;
        }
    }
    live
}
