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
//!
//! A library polls once, and where that fails goes into a loop with a poll of its own, which waits a while
//! now and then. Such a poll of the same phase stands for the first: where it succeeds, the way must lead to
//! where the first one leads when it succeeds.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{AsyncOp, Cmp, IntOp, Kernel, Op, Pc, RegId, Src, operands};

/// Instructions that are followed after a poll that succeeds.
const MOST_ONWARD: usize = 64;

/// What a poll that loops finds again: constants that the loop puts into the operands of the poll,
/// which must be what they are; `None` if the loop does more than poll.
pub type Poll = Option<Vec<(RegId, u64)>>;

/// Where a way stands, whether a poll on it has succeeded, and what is known there.
type PathState = (u32, bool, Vec<(RegId, u64)>);

/// The loop around a poll.
#[derive(Default)]
struct Walked {
    /// Its instructions, the poll apart.
    walked: FxHashSet<u32>,
    /// The registers that they write.
    written: FxHashSet<RegId>,
    /// What is known each time that a way is back at the poll.
    back: Vec<FxHashMap<RegId, u64>>,
    /// One more than the last place of the first poll's way on that a way meets where a later poll succeeds; 0 if none
    /// does.
    met: usize,
    /// True if there is another poll in it.
    others: bool,
}

impl Walked {
    /// The constants that the poll finds again each time; `None` if that is not known, or another poll may ask something else.
    fn again(&self, kernel: &Kernel, pc: Pc) -> Poll {
        let (mut again, mut lost) = (Vec::new(), false);
        operands::uses(&kernel.insts[pc.0 as usize], |r| {
            if self.written.contains(&r) {
                // Another poll asks the same only if nothing writes its operands.
                lost |= self.others;
                for known in &self.back {
                    match known.get(&r) {
                        Some(v) => again.push((r, *v)),
                        None => lost = true,
                    }
                }
            }
        });
        (!lost).then_some(again)
    }
}

/// Looks at the loop around the poll at `pc`.
pub fn poll(kernel: &Kernel, pc: Pc) -> Poll {
    let Op::Async(op) = &kernel.insts[pc.0 as usize].op else {
        return None;
    };
    let AsyncOp::Wait { dst, .. } = &**op else {
        return None;
    };
    let onward = onward(kernel, pc, *dst);
    let mut found = walk(kernel, pc, (op, *dst), &onward)?;
    // From where a later success meets the first one's way on, nothing is of the loop.
    if found.met > 0 {
        let (before, after) = onward.split_at(found.met - 1);
        if after.iter().any(|p| found.walked.contains(p)) {
            return None;
        }
        for p in before {
            kernel.insts.get(*p as usize)?.op.defs(&mut |r| {
                found.written.insert(r);
            });
        }
    }
    // What the loop leaves behind must not be read elsewhere.
    let mut read = false;
    for (at, inst) in kernel.insts.iter().enumerate() {
        if !found.walked.contains(&(at as u32)) && at as u32 != pc.0 {
            operands::uses(inst, |r| read |= found.written.contains(&r));
        }
    }
    if read {
        return None;
    }
    found.again(kernel, pc)
}

/// Follows every way from a poll that fails until it is back; `None` if one does more than poll. `onward` is where the
/// poll leads when it succeeds.
fn walk(kernel: &Kernel, pc: Pc, (poll, dst): (&AsyncOp, RegId), onward: &[u32]) -> Option<Walked> {
    let mut found = Walked::default();
    let mut seen: FxHashSet<PathState> = FxHashSet::default();
    let mut work = vec![(pc.0 + 1, false, FxHashMap::from_iter([(dst, 0u64)]))];
    while let Some((at, over, mut known)) = work.pop() {
        if at == pc.0 {
            found.back.push(known);
            continue;
        }
        if over && let Some(i) = onward.iter().position(|p| *p == at) {
            found.met = found.met.max(i + 1);
            continue;
        }
        let mut key: Vec<(RegId, u64)> = known.iter().map(|(r, v)| (*r, *v)).collect();
        key.sort_unstable_by_key(|k| k.0.0);
        if !seen.insert((at, over, key)) {
            continue;
        }
        if seen.len() > 1 << 10 {
            return None;
        }
        let inst = kernel.insts.get(at as usize)?;
        found.walked.insert(at);
        let guard = inst.guard.map(|g| {
            let v = known.get(&g.reg);
            v.map(|v| (*v & 1 == 1) != g.negated)
        });
        if let Op::Bra { target, .. } = inst.op {
            if guard != Some(Some(false)) {
                work.push((target.0, over, known.clone()));
            }
            if matches!(guard, Some(None | Some(false))) {
                work.push((at + 1, over, known));
            }
            continue;
        }
        if guard == Some(Some(false)) {
            work.push((at + 1, over, known));
            continue;
        }
        if let Some(other) = same_phase(poll, &inst.op) {
            if inst.guard.is_some() {
                return None;
            }
            found.written.insert(other);
            found.others = true;
            for result in [0, 1] {
                let mut known = known.clone();
                known.insert(other, result);
                work.push((at + 1, over || result == 1, known));
            }
            continue;
        }
        if !quiet(&inst.op) {
            return None;
        }
        let value = match guard {
            Some(None) => None,
            _ => evaluate(&inst.op, &known),
        };
        inst.op.defs(&mut |r| {
            found.written.insert(r);
            known.remove(&r);
        });
        if let Some((r, v)) = value {
            known.insert(r, v);
        }
        work.push((at + 1, over, known));
    }
    Some(found)
}

/// Where a poll that succeeds leads: the instructions after it, up to the first that does more than
/// compute or whose branch is open.
fn onward(kernel: &Kernel, pc: Pc, dst: RegId) -> Vec<u32> {
    let mut known = FxHashMap::from_iter([(dst, 1u64)]);
    let (mut at, mut out) = (pc.0 + 1, Vec::new());
    while out.len() < MOST_ONWARD && !out.contains(&at) && at != pc.0 {
        let Some(inst) = kernel.insts.get(at as usize) else {
            break;
        };
        out.push(at);
        let guard = match inst.guard {
            None => true,
            Some(g) => match known.get(&g.reg) {
                Some(v) => (*v & 1 == 1) != g.negated,
                None => break,
            },
        };
        at = match inst.op {
            Op::Bra { target, .. } if guard => target.0,
            Op::Bra { .. } => at + 1,
            _ if !guard => at + 1,
            _ if quiet(&inst.op) => {
                let value = evaluate(&inst.op, &known);
                inst.op.defs(&mut |r| {
                    known.remove(&r);
                });
                known.extend(value);
                at + 1
            }
            _ => break,
        };
    }
    out
}

/// The result of another poll of the same phase of the same object.
fn same_phase(poll: &AsyncOp, other: &Op) -> Option<RegId> {
    let (
        Op::Async(other),
        AsyncOp::Wait {
            space,
            addr,
            until,
            acquire,
            reach,
            ..
        },
    ) = (other, poll)
    else {
        return None;
    };
    match &**other {
        AsyncOp::Wait {
            space: s,
            addr: a,
            until: u,
            acquire: q,
            reach: r,
            dst,
        } if (s, a, u, q, r) == (space, addr, until, acquire, reach) => Some(*dst),
        _ => None,
    }
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
        Src::Global(..) | Src::Var(..) => None,
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
        Op::Int {
            op,
            ty,
            lanes: 1,
            dst: Some(dst),
            dst2: None,
            src: [a, b, ..],
        } => {
            let ones = u64::MAX >> (64 - u32::from(ty.width.clamp(1, 64)));
            let (a, b) = (value(*a).map(|v| v & ones), value(*b).map(|v| v & ones));
            let v = match (op, a, b) {
                (IntOp::Not, Some(a), _) => !a & ones,
                (IntOp::And, Some(a), Some(b)) => a & b,
                (IntOp::And, Some(0), _) | (IntOp::And, _, Some(0)) => 0,
                (IntOp::Or, Some(a), Some(b)) => a | b,
                (IntOp::Or, Some(v), _) | (IntOp::Or, _, Some(v)) if v == ones => ones,
                (IntOp::Xor, Some(a), Some(b)) => a ^ b,
                _ => return None,
            };
            Some((*dst, v))
        }
        _ => None,
    }
}
