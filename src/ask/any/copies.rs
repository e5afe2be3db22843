//! Accesses that a thread orders and does not make: rows of matrices, and copies that go on behind its back.
//!
//! `ldmatrix` and `stmatrix`: a lane gives the address of a row, and any lanes of its warp read or write parts of it. All of
//! them come to the instruction, which is asked as of any collective; so a barrier between a row and another access of the
//! lane that gives its address stands between that access and all lanes. What differs is that the lane's own accesses are another thread's: the
//! two threads of a question need not differ, but for two rows of one instruction, whose bytes no lane shares.
//!
//! `cp.async`: the copy reads and writes at any time from its instruction until its thread has waited for it, and a barrier
//! orders it before others only after that. It is an access that ends at the wait: one for every copy, or for all groups once the
//! copy was made part of one, in the same iteration of the same loops, to which the thread comes whenever it came to the copy.
//! A wait that leaves groups under way, or stands elsewhere, is not followed. Accesses of the thread itself in between are
//! asked for alone.
//!
//! Source: PTX ISA 9.0, sections 9.7.14.5.15, 9.7.14.5.16 and 9.7.9.25.3.

use super::apart::conflict;
use super::expr::{Id, Order};
use super::gates::{Holds, together};
use super::prover::Prover;
use super::radix::meets;
use super::state::{Accessed, By, Does, Wait, Waits, Walk};
use crate::answer::UnknownKind;
use crate::kernel::{Addr, Op, Pc, RegId, Space};

/// Bytes of a row of a matrix.
const ROW: u32 = 16;

impl Walk<'_> {
    /// An instruction whose accesses are not the thread's own, or one that waits for such.
    pub(super) fn behind(&mut self, pc: Pc, op: &Op, when: Id, regs: &[Id]) -> Vec<(RegId, Id)> {
        let rows = match op {
            Op::Ldmatrix {
                dsts,
                form,
                space,
                addr,
                ..
            } => Some((form.rows(dsts.len()), Does::Reads, *space, addr)),
            Op::Stmatrix {
                srcs,
                form,
                space,
                addr,
            } => Some((form.rows(srcs.len()), Does::Writes, *space, addr)),
            _ => None,
        };
        if let Some((count, does, space, addr)) = rows {
            self.rows(pc, (count, does), (space, addr), when, regs);
        }
        let what = match op {
            Op::CpAsyncCommit => Some(Waits::Commits),
            Op::CpAsyncWait { pending: None } => Some(Waits::All),
            Op::CpAsyncWait { pending: Some(0) } => Some(Waits::Groups),
            Op::CpAsyncWait { .. } => Some(Waits::Older),
            _ => None,
        };
        if let Some(what) = what {
            self.wait(what, when);
        }
        self.copy(pc, op, when, regs);
        self.unknowns(op)
    }

    /// Rows of matrices, one for each of the first lanes.
    pub(super) fn rows(
        &mut self,
        pc: Pc,
        (count, does): (usize, Does),
        (space, addr): (Space, &Addr),
        when: Id,
        regs: &[Id],
    ) {
        let all = self.e.constant(0xffff_ffff, 32);
        self.collective(pc, Some(all), when, false);
        let lane = self.special(crate::kernel::Special::LaneId);
        let count = self.e.constant(count as u64, 32);
        let gives = self.e.compare(Order::Below, lane, count);
        let when = self.e.and(when, gives);
        self.by(By::Warp, |w| {
            w.access((pc, space), (addr, 0), ROW, (does, None), when, regs);
        });
        self.aligned(pc, space, (addr, ROW), when, regs);
    }

    /// A copy from global to shared memory, which is under way until it is waited for.
    pub(super) fn copy(&mut self, pc: Pc, op: &Op, when: Id, regs: &[Id]) {
        let Op::CpAsync {
            bytes,
            read,
            ignore,
            to,
            from,
        } = op
        else {
            return;
        };
        let size = u32::from(*bytes);
        let mut reads = when;
        if let Some(read) = read {
            let n = self.reader(regs, |r| r.src(*read, 32));
            let (zero, most) = (self.e.constant(0, 32), self.e.constant(u64::from(size), 32));
            let none = self.e.compare(Order::Equal, n, zero);
            let some = self.e.not(none);
            reads = self.e.and(reads, some);
            let above = self.e.compare(Order::Below, most, n);
            let holds = self.e.not(above);
            self.duty(pc, when, holds, "a copy may read more than it writes");
        }
        if let Some(guard) = ignore {
            let v = regs[guard.reg.0 as usize];
            let ignored = if guard.negated {
                self.e.complement(v)
            } else {
                v
            };
            let not = self.e.complement(ignored);
            reads = self.e.and(reads, not);
        }
        // Until a wait is found, it never ends.
        self.by(By::Agent(usize::MAX), |w| {
            let (source, target) = ((Does::Reads, None), (Does::Writes, None));
            w.access((pc, Space::Global), (from, 0), size, source, reads, regs);
            w.access((pc, Space::Shared), (to, 0), size, target, when, regs);
        });
        self.aligned(pc, Space::Global, (from, size), reads, regs);
        self.aligned(pc, Space::Shared, (to, size), when, regs);
    }

    /// Records accesses as somebody else's.
    fn by(&mut self, by: By, record: impl FnOnce(&mut Self)) {
        let before = self.out.accesses.len();
        record(self);
        for a in &mut self.out.accesses[before..] {
            a.by = by;
        }
    }

    /// A wait for copies, or what makes a group of them.
    pub(super) fn wait(&mut self, what: Waits, when: Id) {
        let (at, loops) = (self.tick(), self.around());
        self.out.waits.push(Wait {
            at,
            guard: when,
            loops,
            what,
        });
    }

    /// Ends each copy at the first wait for all copies that its thread comes to whenever it came to the copy.
    pub(super) fn end_copies(&mut self) {
        for i in 0..self.out.accesses.len() {
            let a = &self.out.accesses[i];
            if a.by != By::Agent(usize::MAX) {
                continue;
            }
            let given = self.e.literals(a.guard);
            let comes = |w: &Wait| {
                let mut all = self.e.literals(w.guard).into_iter();
                w.loops == a.loops && all.all(|c| given.contains(&c) || self.e.value(c) == Some(1))
            };
            let later: Vec<&Wait> = self.out.waits.iter().filter(|w| w.at > a.at).collect();
            let mut committed = false;
            let end = later.into_iter().filter(|w| comes(w)).find(|w| {
                committed |= w.what == Waits::Commits;
                w.what == Waits::All || w.what == Waits::Groups && committed
            });
            match end.map(|w| w.at) {
                Some(end) => self.out.accesses[i].by = By::Agent(end),
                None => {
                    let what = "a copy that is not waited for alone, in the iteration that begins it, is not followed in all launches";
                    let pc = a.pc;
                    self.gap(UnknownKind::UnsupportedInstruction, pc, what);
                }
            }
        }
    }
}

/// Accesses of a thread itself while a copy of its own is under way.
pub(super) fn copies(p: &mut Prover) {
    let all = p.w.out.accesses.clone();
    for a in all.iter().filter(|a| matches!(a.by, By::Agent(_))) {
        let inside = |b: &&Accessed| {
            b.object == a.object && conflict(a.does, b.does) && a.at < b.at && b.at < a.done()
        };
        for b in all.iter().filter(inside) {
            let width = p.w.e.width(a.offset);
            let there = p.w.e.resize(b.offset, width, false);
            let (x, y) = ((a.offset, u64::from(a.bytes)), (there, u64::from(b.bytes)));
            let overlap = meets(&mut p.w.e, x, y);
            let mut all = vec![a.guard, b.guard, overlap];
            all.extend(p.implications(&all.clone()));
            all.extend(&p.w.plain);
            if let Holds::Perhaps(model) = together(&p.w.e, &all, true, p.subject.limits) {
                let what = "a thread may access bytes that its own copy has not been waited for";
                let at = [a.pc, b.pc];
                p.leave_open(UnknownKind::Undecided, what, &at, model.as_ref());
                return;
            }
        }
    }
}
