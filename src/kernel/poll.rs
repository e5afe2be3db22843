//! Does a loop around a poll do nothing but poll?
//!
//! Problem: `mbarrier.try_wait` may say that a phase is not over, as often as the schedule likes.
//! If every way on from there leads back to it, without any effect on memory and without a
//! register that is read after the loop, then the number of polls matters to nobody, and one
//! run in which the poll succeeds at once stands for all.
//!
//! The walk follows the code from the poll with its result known to be false, through the
//! copies, selects and comparisons that compilers wrap it in; other branches go both ways. What is not
//! understood counts as an effect.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{AsyncOp, Cmp, Kernel, Op, Pc, RegId, Src, operands};

/// What a poll that loops finds again: constants that the loop puts into the operands of the poll,
/// which must be what they are; `None` if the loop does more than poll.
pub type Poll = Option<Vec<(RegId, u64)>>;

/// Looks at the loop around the poll at `pc`.
pub fn poll(kernel: &Kernel, pc: Pc) -> Poll {
    let Op::Async(op) = &kernel.insts[pc.0 as usize].op else {
        return None;
    };
    let AsyncOp::Wait { dst, .. } = &**op else {
        return None;
    };
    let mut walked: FxHashSet<u32> = FxHashSet::default();
    let mut written: FxHashSet<RegId> = FxHashSet::default();
    let mut seen: FxHashSet<(u32, Vec<(RegId, u64)>)> = FxHashSet::default();
    let mut back: Vec<FxHashMap<RegId, u64>> = Vec::new();
    let mut work = vec![(pc.0 + 1, FxHashMap::from_iter([(*dst, 0u64)]))];
    while let Some((at, known)) = work.pop() {
        if at == pc.0 {
            back.push(known);
            continue;
        }
        let mut key: Vec<(RegId, u64)> = known.iter().map(|(r, v)| (*r, *v)).collect();
        key.sort_unstable_by_key(|k| k.0.0);
        if !seen.insert((at, key)) {
            continue;
        }
        if seen.len() > 1 << 10 {
            return None;
        }
        let inst = kernel.insts.get(at as usize)?;
        walked.insert(at);
        let guard = inst.guard.map(|g| {
            let v = known.get(&g.reg);
            v.map(|v| (*v & 1 == 1) != g.negated)
        });
        if let Op::Bra { target, .. } = inst.op {
            if guard != Some(Some(false)) {
                work.push((target.0, known.clone()));
            }
            if matches!(guard, Some(None | Some(false))) {
                work.push((at + 1, known));
            }
            continue;
        }
        if guard == Some(Some(false)) {
            work.push((at + 1, known));
            continue;
        }
        if !quiet(&inst.op) {
            return None;
        }
        let mut known = known;
        let value = match guard {
            Some(None) => None,
            _ => evaluate(&inst.op, &known),
        };
        operands::defs(&inst.op, |r| {
            written.insert(r);
            known.remove(&r);
        });
        if let Some((r, v)) = value {
            known.insert(r, v);
        }
        work.push((at + 1, known));
    }
    // What the loop leaves behind must not be read elsewhere.
    let mut read = false;
    for (at, inst) in kernel.insts.iter().enumerate() {
        if !walked.contains(&(at as u32)) && at as u32 != pc.0 {
            operands::uses(inst, |r| read |= written.contains(&r));
        }
    }
    if read {
        return None;
    }
    let mut again: Vec<(RegId, u64)> = Vec::new();
    let mut lost = false;
    operands::uses(&kernel.insts[pc.0 as usize], |r| {
        if written.contains(&r) {
            for known in &back {
                match known.get(&r) {
                    Some(v) => again.push((r, *v)),
                    None => lost = true,
                }
            }
        }
    });
    (!lost).then_some(again)
}

/// True if an instruction changes nothing but registers.
fn quiet(op: &Op) -> bool {
    matches!(
        op,
        Op::Mov { .. }
            | Op::Special { .. }
            | Op::Int { .. }
            | Op::Setp { .. }
            | Op::Selp { .. }
            | Op::Cvt { .. }
            | Op::Nop
    )
}

/// The value of an instruction whose operands are known, for the few that matter.
fn evaluate(op: &Op, known: &FxHashMap<RegId, u64>) -> Option<(RegId, u64)> {
    let value = |s: Src| match s {
        Src::Imm(v) => Some(v),
        Src::Reg(r) => known.get(&r).copied(),
        Src::Global(..) => None,
    };
    match op {
        Op::Mov { dst, src, .. } => Some((*dst, value(*src)?)),
        Op::Selp { dst, a, b, p, .. } => {
            let yes = (known.get(&p.reg)? & 1 == 1) != p.negated;
            Some((*dst, value(if yes { *a } else { *b })?))
        }
        Op::Setp {
            cmp,
            p: Some(p),
            q: None,
            a,
            b,
            combine: None,
            ..
        } => {
            let (a, b) = (value(*a)?, value(*b)?);
            match cmp {
                Cmp::Eq => Some((*p, u64::from(a == b))),
                Cmp::Ne => Some((*p, u64::from(a != b))),
                _ => None,
            }
        }
        _ => None,
    }
}
