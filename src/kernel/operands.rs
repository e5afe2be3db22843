//! Which registers an instruction reads and writes, and where control goes after it.
//!
//! The problem: last uses, flow analyses and listings each need the operands of every
//! instruction, whatever its family. One visitor serves all of them, so a new variant of [`Op`]
//! is described once. The match is exhaustive on purpose: a variant that is added without its
//! operands does not compile.
//!
//! Not claimed: the operands of [`Op::Unsupported`] are not known, so an analysis must treat it as
//! an end of what it can say.

use super::{Addr, BarKind, Guard, Inst, Kernel, Op, Pc, RegId, Src};

/// Calls `f` with each register that `inst` reads, its guard included, in operand order. A
/// register that is read twice is reported twice.
pub fn uses(inst: &Inst, mut f: impl FnMut(RegId)) {
    if let Some(guard) = inst.guard {
        f(guard.reg);
    }
    op_uses(&inst.op, &mut f);
}

/// Calls `f` with each register that `op` reads, the guard of its instruction not included.
pub fn op_uses(op: &Op, f: &mut impl FnMut(RegId)) {
    fn src(s: &Src, f: &mut impl FnMut(RegId)) {
        if let Src::Reg(r) = s {
            f(*r);
        }
    }
    fn all(list: &[Src], f: &mut impl FnMut(RegId)) {
        for s in list {
            src(s, f);
        }
    }
    fn addr(a: &Addr, f: &mut impl FnMut(RegId)) {
        src(&a.base, f);
    }
    fn pred(g: &Guard, f: &mut impl FnMut(RegId)) {
        f(g.reg);
    }
    match op {
        Op::Mov { src: s, .. }
        | Op::Unpack { src: s, .. }
        | Op::Cvt { src: s, .. }
        | Op::CvtUnpack2 { src: s, .. }
        | Op::Cvta { src: s, .. }
        | Op::Testp { a: s, .. }
        | Op::IsSpace { a: s, .. }
        | Op::Brx { index: s, .. }
        | Op::WarpSync { mask: s }
        | Op::Elect { mask: s, .. } => src(s, f),
        Op::Pack { srcs, .. } => all(srcs, f),
        Op::Int { src: s, .. } => all(s, f),
        Op::Float { src: s, .. } | Op::CvtPackSat { src: s, .. } => all(s, f),
        Op::Setp { combine, a, b, .. } | Op::Set { combine, a, b, .. } => {
            src(a, f);
            src(b, f);
            if let Some((_, g)) = combine {
                pred(g, f);
            }
        }
        Op::Selp { a, b, p, .. } => {
            src(a, f);
            src(b, f);
            pred(p, f);
        }
        Op::Slct { a, b, c, .. } => all(&[*a, *b, *c], f),
        Op::Lop3Bool { src: s, q, .. } => {
            all(s, f);
            pred(q, f);
        }
        Op::CvtNarrow { parts, .. } => all(parts, f),
        Op::Ld { addr: a, .. } => addr(a, f),
        Op::St { srcs, addr: a, .. } => {
            addr(a, f);
            for s in srcs.iter().flatten() {
                src(s, f);
            }
        }
        Op::Atom {
            addr: a, srcs, cas, ..
        } => {
            addr(a, f);
            all(srcs, f);
            if let Some(s) = cas {
                src(s, f);
            }
        }
        Op::Bar {
            kind, id, count, ..
        } => {
            src(id, f);
            if let Some(s) = count {
                src(s, f);
            }
            match kind {
                BarKind::Sync | BarKind::Arrive => {}
                BarKind::RedPopc { src, .. } | BarKind::RedBool { src, .. } => pred(src, f),
            }
        }
        Op::Shfl { a, b, c, mask, .. } => {
            all(&[*a, *b, *c], f);
            if let Some(m) = mask {
                src(m, f);
            }
        }
        Op::Vote { a, mask, .. } => {
            pred(a, f);
            if let Some(m) = mask {
                src(m, f);
            }
        }
        Op::Match { a, mask, .. } | Op::Redux { a, mask, .. } => all(&[*a, *mask], f),
        Op::Mma(m) => {
            all(&m.a, f);
            all(&m.b, f);
            all(&m.c, f);
            if let Some(s) = &m.scale {
                for d in [s.a, s.b] {
                    [d.data, d.byte, d.thread].iter().for_each(|s| src(s, f));
                }
            }
            if let Some(s) = &m.sparse {
                src(&s.metadata, f);
            }
        }
        Op::Ldmatrix { addr: a, .. } => addr(a, f),
        Op::Stmatrix { srcs, addr: a, .. } => {
            addr(a, f);
            all(srcs, f);
        }
        Op::Movmatrix { src: s, .. } => src(s, f),
        Op::CpAsync {
            read,
            ignore,
            to,
            from,
            ..
        } => {
            addr(to, f);
            addr(from, f);
            if let Some(s) = read {
                src(s, f);
            }
            if let Some(g) = ignore {
                pred(g, f);
            }
        }
        Op::Async(op) => op.uses(f),
        Op::Special { .. }
        | Op::CpAsyncCommit
        | Op::CpAsyncWait { .. }
        | Op::Fence { .. }
        | Op::ActiveMask { .. }
        | Op::Bra { .. }
        | Op::Exit
        | Op::Trap
        | Op::Brkpt
        | Op::AssertFail
        | Op::Printf { .. }
        | Op::Nop
        | Op::CallDepth
        | Op::Unsupported(_) => {}
    }
}

/// Calls `f` with each register that `op` writes, in operand order.
pub fn defs(op: &Op, mut f: impl FnMut(RegId)) {
    match op {
        Op::Mov { dst, .. }
        | Op::Special { dst, .. }
        | Op::Pack { dst, .. }
        | Op::Float { dst, .. }
        | Op::Set { dst, .. }
        | Op::Selp { dst, .. }
        | Op::Slct { dst, .. }
        | Op::Cvt { dst, .. }
        | Op::CvtNarrow { dst, .. }
        | Op::CvtUnpack2 { dst, .. }
        | Op::CvtPackSat { dst, .. }
        | Op::Cvta { dst, .. }
        | Op::Vote { dst, .. }
        | Op::Redux { dst, .. }
        | Op::ActiveMask { dst } => f(*dst),
        Op::Testp { p, .. } | Op::IsSpace { p, .. } => f(*p),
        Op::Unpack { dsts, .. } | Op::Ld { dsts, .. } => dsts.iter().flatten().for_each(|r| f(*r)),
        Op::Int { dst, dst2, .. } => dst.iter().chain(dst2).for_each(|r| f(*r)),
        Op::Setp { p, q, .. } => p.iter().chain(q).for_each(|r| f(*r)),
        Op::Lop3Bool { dst, p, .. } => {
            dst.iter().for_each(|r| f(*r));
            f(*p);
        }
        Op::Atom { dsts, .. } => dsts.iter().for_each(|r| f(*r)),
        Op::Bar { kind, .. } => match kind {
            BarKind::Sync | BarKind::Arrive => {}
            BarKind::RedPopc { dst, .. } | BarKind::RedBool { dst, .. } => f(*dst),
        },
        Op::Shfl { dst, p, .. } | Op::Match { dst, p, .. } => {
            f(*dst);
            p.iter().for_each(|r| f(*r));
        }
        Op::Elect { dst, p, .. } => {
            dst.iter().for_each(|r| f(*r));
            f(*p);
        }
        Op::Mma(m) => m.d.iter().for_each(|r| f(*r)),
        Op::Ldmatrix { dsts, .. } => dsts.iter().for_each(|r| f(*r)),
        Op::Movmatrix { dst, .. } => f(*dst),
        Op::Async(op) => op.defs(&mut f),
        Op::St { .. }
        | Op::Stmatrix { .. }
        | Op::CpAsync { .. }
        | Op::CpAsyncCommit
        | Op::CpAsyncWait { .. }
        | Op::Fence { .. }
        | Op::WarpSync { .. }
        | Op::Bra { .. }
        | Op::Brx { .. }
        | Op::Exit
        | Op::Trap
        | Op::Brkpt
        | Op::AssertFail
        | Op::Printf { .. }
        | Op::Nop
        | Op::CallDepth
        | Op::Unsupported(_) => {}
    }
}

/// Where control can go after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// Only to the next instruction.
    Fall,
    /// To the target; if `fall`, also to the next instruction.
    Jump {
        /// The branch target.
        target: Pc,
        /// True if a guard can leave it untaken.
        fall: bool,
    },
    /// To any target of the table; if `fall`, also to the next instruction.
    Table {
        /// The branch targets.
        targets: &'a [Pc],
        /// True if a guard can leave it untaken.
        fall: bool,
    },
    /// The thread ends; if `fall`, it may also go on.
    End {
        /// True if a guard can leave it unexecuted.
        fall: bool,
    },
}

/// Where control can go after the instruction at `pc`.
pub fn next(kernel: &Kernel, pc: Pc) -> Next<'_> {
    let inst = &kernel.insts[pc.0 as usize];
    let fall = inst.guard.is_some();
    match &inst.op {
        Op::Bra { target, .. } => Next::Jump {
            target: *target,
            fall,
        },
        Op::Brx { table, .. } => Next::Table {
            targets: kernel
                .tables
                .get(*table as usize)
                .map_or(&[], |t| t.as_slice()),
            fall,
        },
        Op::Exit | Op::Trap | Op::Brkpt | Op::CallDepth => Next::End { fall },
        _ => Next::Fall,
    }
}
