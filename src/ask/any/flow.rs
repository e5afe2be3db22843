//! The order in which blocks are read, and the loops that they form.
//!
//! Problem: predication reads every block once, after all that lead to it, and a loop as one thing. Source: natural
//! loops over dominators (Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", 2001). The blocks of a loop stand
//! together: what a search in depth put between them comes after them, which it may, for nothing outside of a loop leads
//! back but through its header. Not claimed: an order for irreducible code; there is none.

use crate::kernel::structured::{Blocks, NONE};
use crate::work;

/// A natural loop.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub header: u32,
    /// The loop around it.
    pub parent: Option<usize>,
    /// Its blocks are `order[first..end]`, the header first.
    pub first: usize,
    pub end: usize,
}

/// The blocks that can be reached, in order, and their loops.
#[derive(Debug)]
pub(super) struct Flow {
    pub order: Vec<u32>,
    /// Outer loops come before inner ones.
    pub loops: Vec<Loop>,
    /// The innermost loop of each block.
    pub loop_of: Vec<Option<usize>>,
    /// Place of each block in the order; [`NONE`] if it is not reached.
    pub place: Vec<u32>,
}

impl Flow {
    /// The order of some blocks; `None` for irreducible code.
    pub(super) fn new(blocks: &Blocks) -> Option<Flow> {
        let mut order = reverse_postorder(blocks);
        let mut place = places(blocks.len(), &order);
        let predecessors = predecessors(blocks, &order);
        let dominator = dominators(&predecessors, &order, &place);
        let dominates = |a: u32, b: u32| {
            let mut at = b;
            while place[at as usize] > place[a as usize] {
                work::spend(1);
                at = dominator[at as usize];
            }
            at == a
        };
        // Members of the loop of each header.
        let mut members: Vec<(u32, Vec<bool>)> = Vec::new();
        for &b in &order {
            for &s in blocks.successors(b) {
                if place[s as usize] > place[b as usize] {
                    continue;
                }
                if !dominates(s, b) {
                    return None;
                }
                let i = match members.iter().position(|m| m.0 == s) {
                    Some(i) => i,
                    None => {
                        work::spend(blocks.len() as u64);
                        members.push((s, vec![false; blocks.len()]));
                        members.len() - 1
                    }
                };
                let set = &mut members[i].1;
                set[s as usize] = true;
                let mut stack = vec![b];
                while let Some(x) = stack.pop() {
                    work::spend(1);
                    if !std::mem::replace(&mut set[x as usize], true) {
                        stack.extend(&predecessors[x as usize]);
                    }
                }
            }
        }
        members.sort_by_key(|(h, set)| {
            let size = set.iter().filter(|m| **m).count();
            (std::cmp::Reverse(size), place[*h as usize])
        });
        // Outer loops first: what is inside stays together when the next one is moved.
        for (header, set) in &members {
            work::spend(set.len() as u64);
            let first = place[*header as usize] as usize;
            let last = (first..order.len()).rev().find(|&i| set[order[i] as usize]);
            let last = last.unwrap_or(first);
            let span = order[first..=last].to_vec();
            let (inside, outside): (Vec<u32>, Vec<u32>) =
                span.into_iter().partition(|b| set[*b as usize]);
            order.splice(first..=last, inside.into_iter().chain(outside));
            place = places(blocks.len(), &order);
        }
        let mut loops: Vec<Loop> = Vec::new();
        let mut loop_of = vec![None; blocks.len()];
        for (i, (header, set)) in members.iter().enumerate() {
            work::spend(set.len() as u64);
            let first = place[*header as usize] as usize;
            let size = set.iter().filter(|m| **m).count();
            loops.push(Loop {
                header: *header,
                parent: loop_of[*header as usize],
                first,
                end: first + size,
            });
            for (b, inside) in set.iter().enumerate() {
                if *inside {
                    loop_of[b] = Some(i);
                }
            }
        }
        Some(Flow {
            order,
            loops,
            loop_of,
            place,
        })
    }

    /// The loops around a block, the outermost first.
    pub(super) fn around(&self, block: u32) -> Vec<usize> {
        let (mut out, mut at) = (Vec::new(), self.loop_of[block as usize]);
        while let Some(l) = at {
            out.push(l);
            at = self.loops[l].parent;
        }
        out.reverse();
        out
    }

    /// Whether a block is in a loop.
    pub(super) fn inside(&self, l: usize, block: u32) -> bool {
        let at = self.place[block as usize] as usize;
        (self.loops[l].first..self.loops[l].end).contains(&at)
    }
}

fn places(n: usize, order: &[u32]) -> Vec<u32> {
    let mut place = vec![NONE; n];
    for (i, &b) in order.iter().enumerate() {
        place[b as usize] = i as u32;
    }
    place
}

fn reverse_postorder(blocks: &Blocks) -> Vec<u32> {
    let mut seen = vec![false; blocks.len()];
    let mut post = Vec::new();
    if blocks.is_empty() {
        return post;
    }
    seen[0] = true;
    let mut stack = vec![(0u32, 0usize)];
    while let Some((b, i)) = stack.last_mut() {
        match blocks.successors(*b).get(*i) {
            Some(&s) => {
                *i += 1;
                if !std::mem::replace(&mut seen[s as usize], true) {
                    stack.push((s, 0));
                }
            }
            None => {
                post.push(*b);
                stack.pop();
            }
        }
    }
    post.reverse();
    post
}

/// The blocks that lead to each block, of those that are reached.
fn predecessors(blocks: &Blocks, order: &[u32]) -> Vec<Vec<u32>> {
    let mut out: Vec<Vec<u32>> = vec![Vec::new(); blocks.len()];
    for &b in order {
        for &s in blocks.successors(b) {
            out[s as usize].push(b);
        }
    }
    out
}

/// The immediate dominator of each block that is reached; the entry is its own.
fn dominators(predecessors: &[Vec<u32>], order: &[u32], place: &[u32]) -> Vec<u32> {
    let mut dominator = vec![NONE; predecessors.len()];
    if let Some(&entry) = order.first() {
        dominator[entry as usize] = entry;
    }
    let mut changed = true;
    while changed {
        changed = false;
        for &b in order.iter().skip(1) {
            let mut meet = NONE;
            for &p in &predecessors[b as usize] {
                if dominator[p as usize] == NONE {
                    continue;
                }
                let mut other = p;
                if meet == NONE {
                    meet = p;
                    continue;
                }
                while meet != other {
                    work::spend(1);
                    if place[meet as usize] > place[other as usize] {
                        meet = dominator[meet as usize];
                    } else {
                        other = dominator[other as usize];
                    }
                }
            }
            if dominator[b as usize] != meet {
                dominator[b as usize] = meet;
                changed = true;
            }
        }
    }
    dominator
}
