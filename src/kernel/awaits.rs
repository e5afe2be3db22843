//! Loops that do nothing but wait: an access, and ways back to it on which nothing happens.
//!
//! Problem: a thread that spins on a flag reads it as often as the schedule likes. If no way back to the read has an
//! effect, and what the loop leaves in registers matters neither to its next round nor after it, then the number of
//! rounds matters to nobody, and the loop is one step that blocks until the read gives a value that ends it.
//! Source: "VSync" (ASPLOS 2021), await loops.
//!
//! The body of such a loop are the instructions on ways from the access back to it; all of them compute. The
//! condition on registers is one of liveness: none that the loop writes is live before the access. A register that
//! only counts rounds, or the length of a sleep, is not live, because nothing that is live is made of it; one that
//! also ends the loop is, and then the loop is none that waits.
//!
//! The direction that is sound: what is not understood is an effect. Whether a value ends the loop is not asked here;
//! the simulator walks the body with it.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::operands::{Next, defs, next, uses};
use super::{AtomOp, Kernel, Op, Pc, RegId, Space, Special};

/// Instructions of the longest body.
const MAX_BODY: usize = 256;

/// Words of liveness that are kept; kernels that need more have no loops that wait.
const MAX_WORDS: usize = 1 << 24;

/// A loop that waits, by the access that it waits at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Await {
    /// The instructions of its body, the access apart.
    pub body: FxHashSet<u32>,
    /// True if what the access read is of use after the loop.
    pub is_used: bool,
}

/// The loops of a kernel that wait, by their accesses.
pub fn awaits(kernel: &Kernel) -> BTreeMap<Pc, Await> {
    let mut found: Vec<(Pc, FxHashSet<u32>)> = Vec::new();
    for (pc, inst) in (0u32..).zip(&kernel.insts) {
        if inst.guard.is_none()
            && may_wait(&inst.op)
            && let Some(body) = body(kernel, Pc(pc))
        {
            found.push((Pc(pc), body));
        }
    }
    let mut out = BTreeMap::new();
    if found.is_empty() {
        return out;
    }
    let Some(live) = Live::new(kernel) else {
        return out;
    };
    for (pc, body) in found {
        let mut written: FxHashSet<RegId> = FxHashSet::default();
        for at in body.iter().chain([&pc.0]) {
            defs(&kernel.insts[*at as usize].op, |r| {
                written.insert(r);
            });
        }
        if written.iter().any(|r| live.before(pc.0, *r)) {
            continue;
        }
        let is_used = exits(kernel, pc, &body)
            .iter()
            .any(|e| written.iter().any(|r| live.before(*e, *r)));
        out.insert(pc, Await { body, is_used });
    }
    out
}

/// An access that a loop can wait at: one that reads a single word of memory which other threads write.
fn may_wait(op: &Op) -> bool {
    let shared = |s: Space| matches!(s, Space::Generic | Space::Global | Space::Shared);
    match op {
        Op::Ld { access, dsts, .. } => shared(access.space) && !access.nc && dsts.len() == 1,
        Op::Atom {
            access,
            op,
            lanes: 1,
            dsts,
            ..
        } => {
            // Those that can leave memory as it is.
            let idle = match op {
                AtomOp::Cas
                | AtomOp::Exch
                | AtomOp::Or
                | AtomOp::And
                | AtomOp::Add
                | AtomOp::Max
                | AtomOp::Min => true,
                AtomOp::Xor | AtomOp::Inc | AtomOp::Dec => false,
            };
            idle && shared(access.space) && dsts.len() == 1
        }
        _ => false,
    }
}

/// The ways back to an access on which nothing happens; `None` if there is none.
fn body(kernel: &Kernel, pc: Pc) -> Option<FxHashSet<u32>> {
    let mut order: Vec<(u32, Vec<u32>)> = Vec::new();
    let mut seen: FxHashSet<u32> = FxHashSet::default();
    let mut work = vec![pc.0 + 1];
    while let Some(at) = work.pop() {
        if at == pc.0 || !seen.insert(at) {
            continue;
        }
        let inst = kernel.insts.get(at as usize)?;
        if !is_quiet(&inst.op) {
            continue;
        }
        if order.len() == MAX_BODY {
            return None;
        }
        let to = successors(kernel, Pc(at));
        work.extend(&to);
        order.push((at, to));
    }
    let mut inside: FxHashSet<u32> = FxHashSet::default();
    loop {
        let before = inside.len();
        for (at, to) in &order {
            if to.iter().any(|t| *t == pc.0 || inside.contains(t)) {
                inside.insert(*at);
            }
        }
        if inside.len() == before {
            break;
        }
    }
    inside.contains(&(pc.0 + 1)).then_some(inside)
}

/// Where a loop can be left to.
fn exits(kernel: &Kernel, pc: Pc, body: &FxHashSet<u32>) -> Vec<u32> {
    let mut out = Vec::new();
    for &at in body {
        let to = successors(kernel, Pc(at));
        out.extend(to.into_iter().filter(|t| *t != pc.0 && !body.contains(t)));
    }
    out.sort_unstable();
    out.dedup();
    out
}

fn successors(kernel: &Kernel, pc: Pc) -> Vec<u32> {
    match next(kernel, pc) {
        Next::Fall => vec![pc.0 + 1],
        Next::Jump { target, fall } => {
            let mut out = vec![target.0];
            out.extend(fall.then_some(pc.0 + 1));
            out
        }
        Next::Table { targets, fall } => {
            let mut out: Vec<u32> = targets.iter().map(|t| t.0).collect();
            out.extend(fall.then_some(pc.0 + 1));
            out
        }
        Next::End { fall } => fall.then_some(pc.0 + 1).into_iter().collect(),
    }
}

/// True if an instruction changes nothing but registers, or nothing at all.
fn is_quiet(op: &Op) -> bool {
    is_pure(op) || matches!(op, Op::Bra { .. } | Op::Fence { .. } | Op::Nop)
}

/// True if all that an instruction does is to compute its results from its operands.
fn is_pure(op: &Op) -> bool {
    match op {
        Op::Special { special, .. } => *special != Special::Volatile,
        Op::Ld { access, .. } => access.space == Space::Param && !access.volatile,
        op => matches!(
            op,
            Op::Mov { .. }
                | Op::Pack { .. }
                | Op::Unpack { .. }
                | Op::Int { .. }
                | Op::Setp { .. }
                | Op::Set { .. }
                | Op::Selp { .. }
                | Op::Slct { .. }
                | Op::Cvt { .. }
                | Op::Cvta { .. }
                | Op::Lop3Bool { .. }
        ),
    }
}

/// Registers that are live before each instruction, where the operands of a computation are live only if one of
/// its results is.
struct Live {
    words: usize,
    before: Vec<u64>,
}

impl Live {
    fn new(kernel: &Kernel) -> Option<Live> {
        let n = kernel.insts.len();
        let words = kernel.reg_width.len().div_ceil(64);
        if n.checked_mul(words)? > MAX_WORDS {
            return None;
        }
        let mut live = Live {
            words,
            before: vec![0; n * words],
        };
        let to: Vec<Vec<u32>> = (0..n as u32).map(|i| successors(kernel, Pc(i))).collect();
        let mut from: Vec<Vec<u32>> = vec![Vec::new(); n];
        for (i, to) in (0u32..).zip(&to) {
            for t in to.iter().filter(|t| (**t as usize) < n) {
                from[*t as usize].push(i);
            }
        }
        let mut waiting = vec![true; n];
        let mut work: Vec<u32> = (0..n as u32).collect();
        let mut row = vec![0u64; words];
        while let Some(i) = work.pop() {
            waiting[i as usize] = false;
            row.fill(0);
            for t in to[i as usize].iter().filter(|t| (**t as usize) < n) {
                let at = *t as usize * words;
                for (r, b) in row.iter_mut().zip(&live.before[at..at + words]) {
                    *r |= b;
                }
            }
            live.step(kernel, i, &mut row);
            let at = i as usize * words;
            if live.before[at..at + words] != row[..] {
                live.before[at..at + words].copy_from_slice(&row);
                for f in &from[i as usize] {
                    if !std::mem::replace(&mut waiting[*f as usize], true) {
                        work.push(*f);
                    }
                }
            }
        }
        Some(live)
    }

    /// From the registers that are live after an instruction to those before it.
    fn step(&self, kernel: &Kernel, at: u32, row: &mut [u64]) {
        let inst = &kernel.insts[at as usize];
        let has = |row: &[u64], r: RegId| row[r.0 as usize / 64] >> (r.0 % 64) & 1 == 1;
        let mut needed = !is_pure(&inst.op);
        defs(&inst.op, |r| needed |= has(row, r));
        if !needed {
            return;
        }
        if inst.guard.is_none() {
            defs(&inst.op, |r| row[r.0 as usize / 64] &= !(1 << (r.0 % 64)));
        }
        uses(inst, |r| row[r.0 as usize / 64] |= 1 << (r.0 % 64));
    }

    /// True if a register is live before an instruction.
    fn before(&self, at: u32, r: RegId) -> bool {
        let i = at as usize * self.words + r.0 as usize / 64;
        self.before
            .get(i)
            .is_some_and(|w| w >> (r.0 % 64) & 1 == 1)
    }
}
