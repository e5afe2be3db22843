//! Loops that repeat a compare-and-swap until it succeeds, as the one update that they make.
//!
//! Problem: an update that the hardware lacks is written as a loop that computes a new value from what it expects
//! memory to hold, and exchanges until memory holds that. Each of n threads fails as often as others come first, so
//! that a run for each order of the exchanges needs n! of them.
//!
//! Such a loop is one atomic step. A round whose exchange fails changes nothing, and nothing of it is left where all
//! that the loop writes is computed again in the next round or is of no use after it; the round that succeeds found in
//! memory what it had computed from. So what memory held becomes `f` of it, where `f` is the way from the expected to
//! the new value, at one place in the order of all writes of the word; and some execution has no round that fails,
//! so that what failing exchanges acquire orders nothing for certain. Where `f` combines its argument by an operation
//! that PTX has as an atomic with something that no round changes, the loop is that atomic.
//!
//! The loop is changed in place, so that every instruction keeps its number: the combining instruction computes the
//! other operand alone, the exchange is the atomic with what the new value was computed from, and the branch back
//! is none; loads of what it expected, which may be plain and race with the exchanges, are left out with the rounds
//! that they fail. Over the reals this is exact. Numbers and trees of operations tell `fma` from `mul` and `atom.add` from
//! `add`, so that they run the loop as it is.
//!
//! What is not understood is left as it is.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::awaits::Live;
use super::bodies::targets;
use super::rechecked::rechecked;
use super::{
    Access, Addr, AtomOp, Cmp, FloatMods, FloatOp, Inst, IntOp, Kernel, NumTy, Op, Pc, RegId, Sem,
    Src,
};

/// Instructions of the longest loop.
const MAX_ROUND: usize = 128;

/// The kernel with these loops changed; `None` if it has none.
pub fn merged(kernel: &Kernel) -> Option<Kernel> {
    let swaps = |op: &Op| {
        matches!(
            op,
            Op::Atom {
                op: AtomOp::Cas,
                ..
            }
        )
    };
    if !kernel.insts.iter().any(|i| swaps(&i.op)) {
        return None;
    }
    let live = Live::new(kernel, &FxHashSet::default())?;
    let targets = targets(kernel);
    let mut out = kernel.clone();
    let mut ways: Vec<Range<u32>> = Vec::new();
    for pc in (0..kernel.insts.len() as u32).map(Pc) {
        let found = Retry::at(kernel, &targets, pc);
        let Some((retry, changes)) = found.and_then(|r| r.changes(&live).map(|c| (r, c))) else {
            continue;
        };
        ways.push(retry.begin..retry.branch);
        for (at, op) in changes {
            put(&mut out, at, op);
        }
    }
    if ways.is_empty() || !leave_out(kernel, &mut out, &ways) {
        return None;
    }
    Some(out)
}

fn put(kernel: &mut Kernel, at: u32, op: Op) {
    let inst = &mut kernel.insts[at as usize];
    (inst.guard, inst.op) = (None, op);
}

/// Leaves out what nothing depends on any more: on the ways what was computed from what an exchange expected, and loads
/// of that: whatever one read in a race with the updates, it would have been thrown away. False if something depends
/// on such a load, or its bytes may be others.
fn leave_out(kernel: &Kernel, merged: &mut Kernel, ways: &[Range<u32>]) -> bool {
    let Some(live) = Live::new(merged, &FxHashSet::default()) else {
        return false;
    };
    let is_dead = |op: &Op, at: u32| {
        let mut dead = true;
        op.defs(&mut |d| dead &= !live.before(at + 1, d));
        dead
    };
    let on_ways: Vec<u32> = ways.iter().cloned().flatten().collect();
    let place = |at: &u32| match &merged.insts[*at as usize].op {
        Op::Atom { addr, .. } => root(kernel, addr, *at),
        _ => None,
    };
    let places: Vec<(Src, i64)> = on_ways.iter().filter_map(place).collect();
    let kept = rechecked(merged);
    let mut gone: Vec<u32> = Vec::new();
    for pc in rechecked(kernel)
        .into_iter()
        .filter(|pc| !kept.contains(pc))
    {
        let op = &merged.insts[pc.0 as usize].op;
        let Op::Ld { access, addr, .. } = op else {
            return false;
        };
        let same = root(kernel, addr, pc.0).is_some_and(|r| places.contains(&r));
        if !same || !is_dead(op, pc.0) || !orders_nothing(access.sem) {
            return false;
        }
        gone.push(pc.0);
    }
    gone.extend(on_ways.into_iter().filter(|at| {
        let op = &merged.insts[*at as usize].op;
        op.is_pure() && is_dead(op, *at)
    }));
    for at in gone {
        put(merged, at, Op::Nop);
    }
    true
}

/// What an address is a copy of, in its own space or another, where it is computed once and before an instruction.
fn root(kernel: &Kernel, addr: &Addr, mut before: u32) -> Option<(Src, i64)> {
    let mut base = addr.base;
    while let Src::Reg(r) = base {
        let mut makers = (0u32..).zip(&kernel.insts).filter(|(_, i)| i.op.writes(r));
        let (Some((at, maker)), None) = (makers.next(), makers.next()) else {
            return None;
        };
        if at >= before {
            return None;
        }
        before = at;
        base = match maker {
            Inst {
                guard: None,
                op: Op::Mov { src, .. } | Op::Cvta { src, .. },
            } => *src,
            _ => break,
        };
    }
    Some((base, addr.offset))
}

/// A compare-and-swap with the straight way to it and behind it.
struct Retry<'k> {
    kernel: &'k Kernel,
    swap: u32,
    /// What it expects and gives.
    expected: RegId,
    new: RegId,
    /// Where the straight way begins.
    begin: u32,
    /// The branch at its end, and where that goes on when the exchange has succeeded.
    branch: u32,
    passed: u32,
    /// The other instructions of a round that fails.
    back: FxHashSet<u32>,
}

/// What a register holds at a place: what an instruction made, or what it held where the straight way begins.
type Held = (RegId, Option<u32>);

/// A copy of bits from one register to another.
fn copied(op: &Op) -> Option<RegId> {
    match op {
        Op::Mov {
            src: Src::Reg(r), ..
        } => Some(*r),
        _ => None,
    }
}

fn orders_nothing(sem: Sem) -> bool {
    matches!(sem, Sem::Weak | Sem::Relaxed)
}

/// What a round may do on its way: compute, and read memory by loads that acquire nothing.
fn is_quiet(op: &Op) -> bool {
    let loads = matches!(op, Op::Ld { access, .. } if orders_nothing(access.sem));
    op.is_pure() || loads || matches!(op, Op::Nop)
}

impl<'k> Retry<'k> {
    /// A loop around a compare-and-swap of one word that ends exactly if it succeeds.
    fn at(kernel: &'k Kernel, targets: &FxHashSet<u32>, pc: Pc) -> Option<Retry<'k>> {
        let inst = &kernel.insts[pc.0 as usize];
        let Op::Atom {
            op: AtomOp::Cas,
            lanes: 1,
            dsts,
            srcs,
            cas: Some(Src::Reg(new)),
            access,
            ..
        } = &inst.op
        else {
            return None;
        };
        let (1, [Src::Reg(expected)]) = (dsts.len(), &srcs[..]) else {
            return None;
        };
        if inst.guard.is_some() || !matches!(access.ty, NumTy::Int(_)) {
            return None;
        }
        let straight = |at: &u32| {
            let inst = &kernel.insts[*at as usize];
            inst.guard.is_none() && is_quiet(&inst.op)
        };
        let mut begin = pc.0;
        while begin > 0 && !targets.contains(&begin) && straight(&(begin - 1)) {
            begin -= 1;
        }
        let behind = (pc.0 + 1..kernel.insts.len() as u32).take(MAX_ROUND);
        let branch = behind
            .take_while(|at| !targets.contains(at))
            .find(|at| !straight(at))?;
        let mut out = Retry {
            kernel,
            swap: pc.0,
            expected: *expected,
            new: *new,
            begin,
            branch,
            passed: 0,
            back: FxHashSet::default(),
        };
        let failed = out.test()?;
        out.go_back(failed)?;
        Some(out)
    }

    fn op(&self, at: u32) -> &'k Op {
        &self.kernel.insts[at as usize].op
    }

    /// The last instruction before another one on the straight way that writes a register.
    fn maker(&self, r: RegId, before: u32) -> Option<u32> {
        (self.begin..before).rev().find(|at| self.op(*at).writes(r))
    }

    /// What a register holds before an instruction of the straight way.
    fn held(&self, mut r: RegId, mut before: u32) -> Held {
        while let Some(at) = self.maker(r, before) {
            let Some(from) = copied(self.op(at)) else {
                return (r, Some(at));
            };
            (r, before) = (from, at);
        }
        (r, None)
    }

    fn is_expected(&self, s: &Src, before: u32) -> bool {
        matches!(s, Src::Reg(r) if self.held(*r, before) == self.held(self.expected, self.swap))
    }

    fn is_read(&self, s: &Src, before: u32) -> bool {
        matches!(s, Src::Reg(r) if self.held(*r, before).1 == Some(self.swap))
    }

    /// Looks at whether the branch tells if the exchange succeeded; where it leads otherwise.
    fn test(&mut self) -> Option<u32> {
        let inst = &self.kernel.insts[self.branch as usize];
        let (Op::Bra { target, .. }, Some(g)) = (&inst.op, inst.guard) else {
            return None;
        };
        let at = self.maker(g.reg, self.branch)?;
        let Op::Setp {
            cmp,
            ty: NumTy::Int(_),
            lanes: 1,
            combine: None,
            p: Some(p),
            q: None,
            a,
            b,
            ..
        } = self.op(at)
        else {
            return None;
        };
        let differ = match cmp {
            Cmp::Ne => true,
            Cmp::Eq => false,
            _ => return None,
        };
        let both = self.is_read(a, at) && self.is_expected(b, at)
            || self.is_read(b, at) && self.is_expected(a, at);
        if *p != g.reg || !both {
            return None;
        }
        let (fail, pass) = match differ != g.negated {
            true => (target.0, self.branch + 1),
            false => (self.branch + 1, target.0),
        };
        self.passed = pass;
        Some(fail)
    }

    /// Follows the one way from a failed exchange back to where the straight way begins.
    fn go_back(&mut self, failed: u32) -> Option<()> {
        let mut at = failed;
        while at != self.begin {
            let inst = self.kernel.insts.get(at as usize)?;
            if inst.guard.is_some() || self.back.len() > MAX_ROUND || !self.back.insert(at) {
                return None;
            }
            at = match &inst.op {
                Op::Bra { target, .. } => target.0,
                op if is_quiet(op) => at + 1,
                _ => return None,
            };
        }
        Some(())
    }

    /// The instruction that combines what is expected with something else, and what takes its place.
    fn combines(&self) -> Option<(u32, Update)> {
        let at = self.held(self.new, self.swap).1?;
        let update = combining(self.op(at), |s| self.is_expected(s, at))?;
        Some((at, update))
    }

    /// What is changed, if the loop is one update.
    fn changes(&self, live: &Live) -> Option<Vec<(u32, Op)>> {
        let (at, update) = self.combines()?;
        let Op::Atom {
            access, dsts, addr, ..
        } = self.op(self.swap)
        else {
            return None;
        };
        let Update {
            op,
            ty,
            lanes,
            rest,
        } = update;
        if ty.bits() * u32::from(lanes) != access.ty.bits() || !self.is_settled((at, &rest), live) {
            return None;
        }
        let mut access = *access;
        access.ty = ty;
        let atomic = Op::Atom {
            access,
            op,
            lanes,
            dsts: dsts.clone(),
            addr: *addr,
            srcs: vec![Src::Reg(self.new)],
            cas: None,
        };
        let leave = match self.passed == self.branch + 1 {
            true => Op::Nop,
            false => Op::Bra {
                target: Pc(self.passed),
                uni: false,
            },
        };
        Some(vec![(at, rest), (self.swap, atomic), (self.branch, leave)])
    }

    /// True if the address and the other operand are the same in every round, and nothing else that a round writes is
    /// of use after the loop but what the exchange read.
    fn is_settled(&self, (at, rest): (u32, &Op), live: &Live) -> bool {
        let Op::Atom { access, .. } = self.op(self.swap) else {
            return false;
        };
        // A plain load may give another value only after an acquire, that of what is expected in every round.
        let acquires = !matches!(access.sem, Sem::Weak | Sem::Relaxed | Sem::Release);
        let (_, expects) = self.held(self.expected, self.swap);
        // Registers that a round may have left otherwise than the one before it.
        let mut loose: FxHashSet<RegId> = FxHashSet::default();
        for i in self.back.iter().copied().chain(self.begin..self.branch) {
            self.op(i).defs(&mut |d| {
                loose.insert(d);
            });
        }
        for i in self.begin..self.branch {
            let op = self.op(i);
            let strong = |a: &Access| a.volatile || a.sem != Sem::Weak;
            let mut of_it = expects == Some(i)
                || matches!(op, Op::Ld { access, .. } if acquires || strong(access));
            let read = if i == at { rest } else { op };
            read.uses(&mut |r| {
                let given = i == self.swap && (r == self.expected || r == self.new);
                of_it |= loose.contains(&r) && !given;
            });
            if of_it && (i == at || i == self.swap) {
                return false;
            }
            op.defs(&mut |d| match of_it || i == at {
                true => {
                    loose.insert(d);
                }
                false => {
                    loose.remove(&d);
                }
            });
        }
        !loose.iter().any(|r| live.before(self.passed, *r))
    }
}

/// An atomic, and what computes its operand.
struct Update {
    op: AtomOp,
    ty: NumTy,
    lanes: u8,
    rest: Op,
}

/// The atomic that an instruction is of one of its operands, and what computes the other operand.
fn combining(op: &Op, is_expected: impl Fn(&Src) -> bool) -> Option<Update> {
    let other = |a: &Src, b: &Src| match (is_expected(a), is_expected(b)) {
        (true, false) => Some(*b),
        (false, true) => Some(*a),
        _ => None,
    };
    match op {
        Op::Float {
            op: float,
            fmt,
            src_fmt,
            lanes,
            mods,
            dst,
            src,
        } if fmt == src_fmt => {
            let FloatMods {
                sat,
                relu,
                nan,
                xorsign_abs,
                abs,
                oob,
                ..
            } = *mods;
            if sat || relu || nan || xorsign_abs || abs || oob {
                return None;
            }
            let ty = NumTy::Float(*fmt);
            let rest = |rest: Src| Op::Mov {
                dst: *dst,
                src: rest,
                width: (fmt.bits() * u32::from(*lanes)) as u8,
            };
            let (atom, rest) = match float {
                FloatOp::Add => (AtomOp::Add, rest(other(&src[0], &src[1])?)),
                FloatOp::Min if *lanes == 1 => (AtomOp::Min, rest(other(&src[0], &src[1])?)),
                FloatOp::Max if *lanes == 1 => (AtomOp::Max, rest(other(&src[0], &src[1])?)),
                FloatOp::Fma
                    if is_expected(&src[2]) && !is_expected(&src[0]) && !is_expected(&src[1]) =>
                {
                    let product = Op::Float {
                        op: FloatOp::Mul,
                        fmt: *fmt,
                        src_fmt: *src_fmt,
                        lanes: *lanes,
                        mods: *mods,
                        dst: *dst,
                        src: [src[0], src[1], Src::Imm(0)],
                    };
                    (AtomOp::Add, product)
                }
                _ => return None,
            };
            Some(Update {
                op: atom,
                ty,
                lanes: *lanes,
                rest,
            })
        }
        Op::Int {
            op: int,
            ty,
            lanes: 1,
            dst: Some(dst),
            dst2: None,
            src,
        } => {
            let atom = match int {
                IntOp::Add => AtomOp::Add,
                IntOp::Min => AtomOp::Min,
                IntOp::Max => AtomOp::Max,
                IntOp::And => AtomOp::And,
                IntOp::Or => AtomOp::Or,
                IntOp::Xor => AtomOp::Xor,
                _ => return None,
            };
            let rest = Op::Mov {
                dst: *dst,
                src: other(&src[0], &src[1])?,
                width: ty.width,
            };
            Some(Update {
                op: atom,
                ty: NumTy::Int(*ty),
                lanes: 1,
                rest,
            })
        }
        _ => None,
    }
}
