//! Tiny programs, and the judge: all interleavings of single threads.
//!
//! A data race is a reachable state in which two threads (or copies that are under way) can make
//! conflicting accesses next; a barrier is misused if an arrival falls into different generations
//! on different ways, or fails on one; a deadlock is a state without a next step. An `arrive`
//! waits for the other lanes of its warp without acquiring from them, so that the judge misses
//! races between these lanes: it is exact where warps have one lane.

use std::collections::{HashMap, HashSet};

use volta::kernel::AtomOp;
use volta::sim::Tid;
use volta::sim::barrier::Form;
use volta::sim::clock::{RankShape, lanes};
use volta::sim::race::AccessKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Access {
        kind: AccessKind,
        offset: u64,
        size: u8,
    },
    /// A copy that writes, as an agent.
    Copy {
        offset: u64,
        size: u8,
    },
    /// Wait for all copies of this thread.
    Wait,
    /// The count is in warps.
    Bar {
        id: u32,
        count: Option<u32>,
        form: Form,
    },
    WarpSync(u32),
}

#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub shape: RankShape,
    pub threads: Vec<Vec<Op>>,
}

/// What a run can show, in the terms of the judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub race: bool,
    pub same: bool,
    pub strong: bool,
    pub deadlock: bool,
    pub pending: bool,
    pub misuse: bool,
}

fn conflict(a: (AccessKind, u64, u8), b: (AccessKind, u64, u8), v: &mut Verdict) {
    let overlap = a.1 < b.1 + u64::from(b.2) && b.1 < a.1 + u64::from(a.2);
    if !overlap || (!a.0.writes() && !b.0.writes()) {
        return;
    }
    let whole = a.1 == b.1 && a.2 == b.2;
    let add = |k| {
        matches!(
            k,
            AccessKind::Atomic {
                op: AtomOp::Add,
                used: false,
                ..
            }
        )
    };
    match (a.0.strong(), b.0.strong()) {
        (true, true) if whole && add(a.0) && add(b.0) => {}
        (true, true) if whole => v.strong = true,
        (false, false) if whole && a.0 == AccessKind::Write && b.0 == AccessKind::Write => {
            v.same = true
        }
        _ => v.race = true,
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Bar {
    /// Lanes (as bits of thread ids) that wait for their warp, with form and count.
    partial: Vec<(u32, u32, Form, Option<u32>)>,
    /// (warp, form), in order of warps.
    arrived: Vec<(u32, Form)>,
    count: Option<u32>,
    generation: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    next: Vec<u8>,
    exited: u32,
    /// Threads blocked at a barrier.
    blocked: u32,
    /// For each thread, its copies under way, by index of the operation.
    copies: Vec<u32>,
    bars: Vec<Bar>,
    /// Arrivals of each warp so far.
    ordinal: Vec<u8>,
}

struct Judge<'a> {
    p: &'a Program,
    seen: HashSet<State>,
    generation: HashMap<(u32, u8), (u32, u8)>,
    verdict: Verdict,
}

impl Judge<'_> {
    fn warp_live(&self, s: &State, w: u32) -> u32 {
        let all = lanes(self.p.shape.members(w)).map(|l| 1 << self.p.shape.tid(w, l).0);
        all.sum::<u32>() & !s.exited
    }

    fn explore(&mut self, first: State) {
        let mut stack = vec![first];
        while let Some(s) = stack.pop() {
            if self.verdict.misuse || !self.seen.insert(s.clone()) {
                continue;
            }
            self.pairs(&s);
            let before = stack.len();
            for t in 0..self.p.threads.len() {
                self.step(&s, t, &mut stack);
                for op in lanes(s.copies[t]) {
                    let mut n = s.clone();
                    n.copies[t] &= !(1 << op);
                    stack.push(n);
                }
            }
            let live = self.p.threads.len() as u32 - s.exited.count_ones();
            if stack.len() == before {
                self.verdict.deadlock |= live > 0;
                self.verdict.pending |= live == 0 && s.bars.iter().any(|b| !b.arrived.is_empty());
            }
        }
    }

    /// Conflicts between accesses that can come next.
    fn pairs(&mut self, s: &State) {
        let mut next = Vec::new();
        for (t, ops) in self.p.threads.iter().enumerate() {
            if s.blocked >> t & 1 == 0
                && let Some(Op::Access { kind, offset, size }) = ops.get(s.next[t] as usize)
            {
                next.push((*kind, *offset, *size));
            }
            for i in lanes(s.copies[t]) {
                if let Op::Copy { offset, size } = ops[i as usize] {
                    next.push((AccessKind::Write, offset, size));
                }
            }
        }
        for i in 0..next.len() {
            for j in 0..i {
                conflict(next[i], next[j], &mut self.verdict);
            }
        }
    }

    fn step(&mut self, s: &State, t: usize, out: &mut Vec<State>) {
        let bit = 1u32 << t;
        if (s.exited | s.blocked) & bit != 0 {
            return;
        }
        let shape = self.p.shape;
        let op = self.p.threads[t].get(s.next[t] as usize).copied();
        let mut n = s.clone();
        n.next[t] += 1;
        match op {
            Some(Op::Access { .. }) => out.push(n),
            Some(Op::Copy { .. }) => {
                n.copies[t] |= 1 << s.next[t];
                out.push(n);
            }
            Some(Op::Wait) => {
                if s.copies[t] == 0 {
                    out.push(n);
                }
            }
            None => {
                n.exited |= bit;
                let w = shape.warp(Tid(t as u32));
                for id in 0..n.bars.len() {
                    self.gather(&mut n, id, w);
                }
                for id in 0..n.bars.len() {
                    self.complete(&mut n, id);
                }
                out.push(n);
            }
            Some(Op::WarpSync(mask)) => {
                let w = shape.warp(Tid(t as u32));
                let who: Vec<usize> = lanes(mask & shape.members(w))
                    .map(|l| shape.tid(w, l).0 as usize)
                    .collect();
                let here = |&u: &usize| {
                    let op = self.p.threads[u].get(s.next[u] as usize);
                    (s.blocked | s.exited) >> u & 1 == 0 && op == Some(&Op::WarpSync(mask))
                };
                if who.iter().all(here) {
                    let mut n = s.clone();
                    for u in who {
                        n.next[u] += 1;
                    }
                    out.push(n);
                }
            }
            Some(Op::Bar { id, count, form }) => {
                let w = shape.warp(Tid(t as u32));
                let b = &mut n.bars[id as usize];
                if b.arrived.iter().any(|a| a.0 == w) {
                    self.verdict.misuse = true;
                    return;
                }
                match b.partial.iter_mut().find(|p| p.0 == w) {
                    Some(p) => {
                        if p.2 != form || self.size(p.3) != self.size(count) {
                            self.verdict.misuse = true;
                            return;
                        }
                        p.1 |= bit;
                        p.3 = p.3.and(count);
                    }
                    None => b.partial.push((w, bit, form, count)),
                }
                b.partial.sort_by_key(|p| p.0);
                n.blocked |= bit;
                self.gather(&mut n, id as usize, w);
                self.complete(&mut n, id as usize);
                out.push(n);
            }
        }
    }

    fn size(&self, count: Option<u32>) -> u32 {
        count.unwrap_or(self.p.shape.warps())
    }

    /// The warp arrives if all its lanes have.
    fn gather(&mut self, n: &mut State, id: usize, w: u32) {
        let live = self.warp_live(n, w);
        let Some(i) = n.bars[id]
            .partial
            .iter()
            .position(|p| p.0 == w && live & !p.1 == 0)
        else {
            return;
        };
        let (_, who, form, count) = n.bars[id].partial.remove(i);
        let size = self.size(count);
        let b = &mut n.bars[id];
        if b.arrived.is_empty() {
            b.count = count;
        } else {
            let red = |f: Form| !matches!(f, Form::Sync | Form::Arrive);
            let first = b.arrived[0].1;
            if self.size(b.count) != size || red(first) != red(form) {
                self.verdict.misuse = true;
            }
            b.count = b.count.and(count);
        }
        b.arrived.push((w, form));
        b.arrived.sort_by_key(|a| a.0);
        if form == Form::Arrive {
            n.blocked &= !who;
        }
        let name = (w, n.ordinal[w as usize]);
        n.ordinal[w as usize] += 1;
        let place = (id as u32, b.generation);
        if *self.generation.entry(name).or_insert(place) != place {
            self.verdict.misuse = true;
        }
    }

    fn complete(&mut self, n: &mut State, id: usize) {
        let b = &n.bars[id];
        let here = |w: u32| b.arrived.iter().any(|a| a.0 == w);
        let full = match b.count {
            Some(c) => b.arrived.len() as u32 >= c,
            None => {
                let mut warps = 0..self.p.shape.warps();
                warps.all(|w| here(w) || self.warp_live(n, w) == 0)
            }
        };
        if b.arrived.is_empty() || !full {
            return;
        }
        for (w, form) in std::mem::take(&mut n.bars[id].arrived) {
            if form != Form::Arrive {
                n.blocked &= !self.warp_live(n, w);
            }
        }
        n.bars[id].generation += 1;
    }
}

pub(crate) fn judge(p: &Program) -> Verdict {
    let n = p.threads.len();
    let mut j = Judge {
        p,
        seen: HashSet::new(),
        generation: HashMap::new(),
        verdict: Verdict::default(),
    };
    j.explore(State {
        next: vec![0; n],
        exited: 0,
        blocked: 0,
        copies: vec![0; n],
        bars: vec![Bar::default(); 2],
        ordinal: vec![0; p.shape.warps() as usize],
    });
    j.verdict
}
