//! Reachable code and the point where the two ways of a branch meet again.
//!
//! The problem: a branch on unknown data is executed both ways and merged where the
//! ways meet, so that point must be known for each conditional branch. It is the immediate
//! post-dominator: the first instruction that every path from the branch to the end of the thread
//! goes through.
//!
//! Source: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm" (2001), run on the
//! reversed control-flow graph of basic blocks with one virtual exit. All walks use explicit
//! stacks, because generated code has chains of branches as long as the text allows.
//!
//! Not claimed: code that cannot reach the end of the thread has no post-dominator, and paths that
//! loop for ever are not counted as paths; a caller that executes both ways bounds them itself.
//! Nor is there an answer for irreducible graphs deeper than the work bound below: none is a safe
//! answer, because a caller then does not merge.

use super::operands::{Next, next};
use super::{Kernel, Pc};

/// "No such block" in the tables of this file, and "no join" in the result.
pub const NONE: u32 = u32::MAX;

/// The basic blocks of a kernel and their edges.
#[derive(Debug)]
pub struct Blocks {
    /// First instruction of each block, ascending; block 0 starts at 0.
    pub start: Vec<u32>,
    /// The block of each instruction.
    pub block_of: Vec<u32>,
    /// For each block the range of its successors in `succ`.
    succ_range: Vec<(u32, u32)>,
    succ: Vec<u32>,
    /// True for a block that can end the thread.
    exits: Vec<bool>,
}

impl Blocks {
    /// Splits the code into basic blocks.
    pub fn new(kernel: &Kernel) -> Blocks {
        let n = kernel.insts.len();
        let mut leader = vec![false; n];
        let mut mark = |pc: usize| {
            if let Some(l) = leader.get_mut(pc) {
                *l = true;
            }
        };
        mark(0);
        for pc in 0..n {
            match next(kernel, Pc(pc as u32)) {
                Next::Fall => {}
                Next::Jump { target, .. } => {
                    mark(target.0 as usize);
                    mark(pc + 1);
                }
                Next::Table { targets, .. } => {
                    targets.iter().for_each(|t| mark(t.0 as usize));
                    mark(pc + 1);
                }
                Next::End { .. } => mark(pc + 1),
            }
        }
        let mut start = Vec::new();
        let mut block_of = Vec::with_capacity(n);
        for (pc, is_leader) in leader.iter().enumerate() {
            if *is_leader {
                start.push(pc as u32);
            }
            block_of.push(start.len() as u32 - 1);
        }
        let mut succ = Vec::new();
        let mut succ_range = Vec::with_capacity(start.len());
        let mut exits = Vec::with_capacity(start.len());
        for b in 0..start.len() {
            let last = start.get(b + 1).map_or(n as u32, |s| *s) - 1;
            let from = succ.len() as u32;
            let mut ends = false;
            let falls = match next(kernel, Pc(last)) {
                Next::Fall => true,
                Next::Jump { target, fall } => {
                    succ.extend(block_of.get(target.0 as usize));
                    fall
                }
                Next::Table { targets, fall } => {
                    succ.extend(targets.iter().filter_map(|t| block_of.get(t.0 as usize)));
                    fall
                }
                Next::End { fall } => {
                    ends = true;
                    fall
                }
            };
            if falls {
                succ.extend(block_of.get(last as usize + 1));
            }
            succ_range.push((from, succ.len() as u32));
            exits.push(ends);
        }
        Blocks {
            start,
            block_of,
            succ_range,
            succ,
            exits,
        }
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.start.len()
    }

    /// True of a kernel without instructions.
    pub fn is_empty(&self) -> bool {
        self.start.is_empty()
    }

    /// The instructions of a block.
    pub fn range(&self, block: u32) -> std::ops::Range<u32> {
        let start = self.start[block as usize];
        let end = self.start.get(block as usize + 1);
        start..end.copied().unwrap_or(self.block_of.len() as u32)
    }

    /// Successors of a block.
    pub fn successors(&self, block: u32) -> &[u32] {
        let (from, to) = self.succ_range[block as usize];
        &self.succ[from as usize..to as usize]
    }

    /// True if a thread can end in the block.
    pub fn exits(&self, block: u32) -> bool {
        self.exits[block as usize]
    }
}

/// For each instruction: can it be reached from the start?
pub fn reachable(kernel: &Kernel) -> Vec<bool> {
    let blocks = Blocks::new(kernel);
    let mut seen = vec![false; blocks.len()];
    let mut stack = Vec::new();
    if let Some(first) = seen.first_mut() {
        *first = true;
        stack.push(0);
    }
    while let Some(b) = stack.pop() {
        for &s in blocks.successors(b) {
            if !std::mem::replace(&mut seen[s as usize], true) {
                stack.push(s);
            }
        }
    }
    blocks.block_of.iter().map(|b| seen[*b as usize]).collect()
}

/// For each instruction that is a conditional branch: the first instruction of its immediate
/// post-dominator; [`NONE`] where only the exit is common, and for everything else.
pub fn joins(kernel: &Kernel) -> Vec<u32> {
    let blocks = Blocks::new(kernel);
    let ipdom = post_dominators(&blocks);
    (0..kernel.insts.len())
        .map(|pc| {
            let branches = match next(kernel, Pc(pc as u32)) {
                Next::Jump { fall, .. } => fall,
                Next::Table { .. } => true,
                Next::Fall | Next::End { .. } => false,
            };
            if !branches {
                return NONE;
            }
            let meet = ipdom[blocks.block_of[pc] as usize];
            blocks.start.get(meet as usize).copied().unwrap_or(NONE)
        })
        .collect()
}

/// Immediate post-dominator of each block; [`NONE`] for the virtual exit and for blocks that
/// cannot reach it.
fn post_dominators(blocks: &Blocks) -> Vec<u32> {
    let n = blocks.len();
    let exit = n as u32;
    // Predecessors in the original graph are successors in the reversed one.
    let mut pred_range = vec![0u32; n + 2];
    for b in 0..n as u32 {
        for &s in blocks.successors(b) {
            pred_range[s as usize + 1] += 1;
        }
    }
    for i in 1..pred_range.len() {
        pred_range[i] += pred_range[i - 1];
    }
    let mut preds = vec![0u32; blocks.succ.len()];
    let mut fill = pred_range.clone();
    for b in 0..n as u32 {
        for &s in blocks.successors(b) {
            preds[fill[s as usize] as usize] = b;
            fill[s as usize] += 1;
        }
    }
    let reversed =
        |b: u32| &preds[pred_range[b as usize] as usize..pred_range[b as usize + 1] as usize];
    // Depth-first search of the reversed graph from the virtual exit; `order` is its postorder.
    let mut number = vec![NONE; n + 1];
    let mut order = Vec::with_capacity(n + 1);
    let mut seen = vec![false; n];
    for root in (0..n as u32).filter(|b| blocks.exits(*b)) {
        if std::mem::replace(&mut seen[root as usize], true) {
            continue;
        }
        let mut stack = vec![(root, 0usize)];
        while let Some((b, i)) = stack.last_mut() {
            match reversed(*b).get(*i) {
                Some(&p) => {
                    *i += 1;
                    if !std::mem::replace(&mut seen[p as usize], true) {
                        stack.push((p, 0));
                    }
                }
                None => {
                    number[*b as usize] = order.len() as u32;
                    order.push(*b);
                    stack.pop();
                }
            }
        }
    }
    number[n] = order.len() as u32;
    order.push(exit);
    let mut ipdom = vec![NONE; n + 1];
    ipdom[n] = exit;
    // The number of rounds is bounded by the loop nesting of the graph plus two; code beyond the
    // bound gets no join at all.
    let mut rounds = 0;
    let mut changed = true;
    while changed {
        changed = false;
        rounds += 1;
        if rounds > 1000 {
            ipdom.fill(NONE);
            break;
        }
        for &b in order.iter().rev().skip(1) {
            let mut meet = if blocks.exits(b) { exit } else { NONE };
            for &s in blocks.successors(b) {
                if ipdom[s as usize] == NONE {
                    continue;
                }
                meet = if meet == NONE {
                    s
                } else {
                    intersect(&ipdom, &number, meet, s)
                };
            }
            if ipdom[b as usize] != meet {
                ipdom[b as usize] = meet;
                changed = true;
            }
        }
    }
    ipdom.truncate(n);
    for d in &mut ipdom {
        if *d == exit {
            *d = NONE;
        }
    }
    ipdom
}

/// The nearest common ancestor of two blocks in the tree built so far.
fn intersect(ipdom: &[u32], number: &[u32], mut a: u32, mut b: u32) -> u32 {
    while a != b {
        if number[a as usize] < number[b as usize] {
            a = ipdom[a as usize];
        } else {
            b = ipdom[b as usize];
        }
    }
    a
}
