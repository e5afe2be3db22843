//! The bodies of loops that may wait.

use rustc_hash::FxHashSet;

use super::operands::{Next, next};
use super::{AtomOp, BarKind, Kernel, Op, Pc, Space};

/// Instructions of the longest body.
pub(super) const MAX_BODY: usize = 256;

/// Instructions that a jump leads to.
pub(crate) fn targets(kernel: &Kernel) -> FxHashSet<u32> {
    let mut out = FxHashSet::default();
    for pc in 0..kernel.insts.len() as u32 {
        match next(kernel, Pc(pc)) {
            Next::Jump { target, .. } => {
                out.insert(target.0);
            }
            Next::Table { targets, .. } => out.extend(targets.iter().map(|t| t.0)),
            Next::Fall | Next::End { .. } => {}
        }
    }
    out
}

/// An access that a loop can wait at: one that reads a single word of memory which other threads write.
pub(super) fn may_wait(op: &Op) -> bool {
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

/// The ways from an access to one of the polls on which nothing happens; `None` if there is none.
pub(super) fn body(
    kernel: &Kernel,
    pc: Pc,
    (polls, inner): (&FxHashSet<u32>, &FxHashSet<u32>),
) -> Option<FxHashSet<u32>> {
    let mut order: Vec<(u32, Vec<u32>)> = Vec::new();
    let mut seen: FxHashSet<u32> = FxHashSet::default();
    let mut work = vec![pc.0 + 1];
    while let Some(at) = work.pop() {
        if polls.contains(&at) || !seen.insert(at) {
            continue;
        }
        let inst = kernel.insts.get(at as usize)?;
        if !is_quiet(&inst.op) && !inner.contains(&at) {
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
            if to.iter().any(|t| polls.contains(t) || inside.contains(t)) {
                inside.insert(*at);
            }
        }
        if inside.len() == before {
            break;
        }
    }
    inside.contains(&(pc.0 + 1)).then_some(inside)
}

/// The instructions that may come after one.
pub fn successors(kernel: &Kernel, pc: Pc) -> Vec<u32> {
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
    // Threads that only vote whether all may go on wait with the one that looks.
    let votes = matches!(
        op,
        Op::Bar {
            kind: BarKind::RedBool { .. },
            count: None,
            ..
        }
    );
    computes(op) || votes || matches!(op, Op::Fence { .. })
}

/// True if an instruction writes registers alone, of which a clock is one, or leads elsewhere.
pub(super) fn computes(op: &Op) -> bool {
    op.is_pure() || matches!(op, Op::Special { .. } | Op::Bra { .. } | Op::Nop)
}
