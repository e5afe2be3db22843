//! One instruction of an arbitrary thread: what it writes into registers, with what else it does recorded.

use super::expr::{Id, Level, Symbol};
use super::memory::Named;
use super::state::{Barrier, Does, Duty, Ticket, Walk};
use super::words::{Reader, unknown};
use crate::answer::UnknownKind;
use crate::kernel::{
    Access as Modifiers, Addr, AtomOp, BarKind, IntOp, NumTy, Op, Pc, RegId, Sem, Space, Special,
    Src,
};
use crate::term::BitsOp;

impl Walk<'_> {
    pub(super) fn reader<T>(
        &mut self,
        regs: &[Id],
        f: impl FnOnce(&mut Reader<'_, Named<'_>>) -> T,
    ) -> T {
        let mut places = Named {
            kernel: self.kernel,
            resolved: self.resolved,
            objects: &mut self.out.objects,
        };
        f(&mut Reader {
            e: &mut self.e,
            kernel: self.kernel,
            regs,
            places: &mut places,
        })
    }

    /// What an instruction writes into registers, with what else it does recorded.
    pub(super) fn execute(&mut self, pc: Pc, op: &Op, when: Id, regs: &[Id]) -> Vec<(RegId, Id)> {
        if self.e.value(when) == Some(0) {
            return Vec::new();
        }
        match op {
            Op::Mov { .. }
            | Op::Pack { .. }
            | Op::Unpack { .. }
            | Op::Float { .. }
            | Op::Setp { .. }
            | Op::Set { .. }
            | Op::Selp { .. }
            | Op::Slct { .. }
            | Op::Lop3Bool { .. }
            | Op::Testp { .. }
            | Op::Cvt { .. }
            | Op::CvtNarrow { .. }
            | Op::CvtUnpack2 { .. }
            | Op::CvtPackSat { .. }
            | Op::Cvta { .. }
            | Op::IsSpace { .. } => self.reader(regs, |r| r.compute(pc, op)),
            Op::Int {
                op: int, ty, src, ..
            } => {
                if matches!(int, IntOp::Div | IntOp::Rem) {
                    let d = self.reader(regs, |r| r.src(src[1], ty.width));
                    self.nonzero(pc, d, when);
                }
                self.reader(regs, |r| r.compute(pc, op))
            }
            Op::Special { dst, special } => vec![(*dst, self.special(*special))],
            Op::Ld {
                access, dsts, addr, ..
            } => self.load(pc, (access, addr), dsts, when, regs),
            Op::St { access, srcs, addr } => {
                self.store(pc, (access, addr), srcs, when, regs);
                Vec::new()
            }
            Op::Atom { .. } => self.atomic(pc, op, when, regs),
            Op::Bar {
                kind, id, count, ..
            } => self.barrier(pc, kind, (*id, *count), when),
            Op::WarpSync { mask } => {
                let mask = self.reader(regs, |r| r.src(*mask, 32));
                self.collective(pc, Some(mask), when, true);
                Vec::new()
            }
            Op::Shfl { mask, a, dst, .. } => {
                let mask = mask.map(|m| self.reader(regs, |r| r.src(m, 32)));
                self.collective(pc, mask, when, false);
                let word = self.reader(regs, |r| r.src(*a, 32));
                self.shuffle(op, word, *dst)
            }
            Op::Vote { mask, .. } => {
                let mask = mask.map(|m| self.reader(regs, |r| r.src(m, 32)));
                self.collective(pc, mask, when, false);
                self.unknowns(op)
            }
            Op::Match { mask, .. } | Op::Redux { mask, .. } | Op::Elect { mask, .. } => {
                let given = *mask;
                let mask = self.reader(regs, |r| r.src(given, 32));
                self.collective(pc, Some(mask), when, false);
                let results = self.unknowns(op);
                for (_, result) in &results {
                    self.exchanged(op, mask, *result);
                }
                results
            }
            Op::Mma(_) | Op::Movmatrix { .. } => {
                let all = self.e.constant(0xffff_ffff, 32);
                self.collective(pc, Some(all), when, false);
                self.unknowns(op)
            }
            Op::ActiveMask { .. } | Op::Printf { .. } => self.unknowns(op),
            Op::Fence { .. } | Op::GridWait | Op::GridLaunch | Op::Nop => Vec::new(),
            Op::Trap | Op::Brkpt | Op::AssertFail => {
                let no = self.e.truth(false);
                self.duty(pc, when, no, "an assertion may fail, or a trap be reached");
                Vec::new()
            }
            Op::Ldmatrix { .. }
            | Op::Stmatrix { .. }
            | Op::CpAsync { .. }
            | Op::CpAsyncCommit
            | Op::CpAsyncWait { .. } => self.behind(pc, op, when, regs),
            Op::Async(_) => self.unmodelled(pc, op, "an asynchronous operation"),
            Op::CallDepth => {
                let what = "calls nest too deep".to_string();
                self.unreached(pc, when, UnknownKind::CallDepth, what);
                Vec::new()
            }
            Op::Unsupported(text) => {
                let text = self.kernel.texts.get(*text as usize);
                let what = format!("`{}` is not modelled", text.map_or("", String::as_str));
                self.unreached(pc, when, UnknownKind::UnsupportedInstruction, what);
                Vec::new()
            }
            Op::Bra { .. } | Op::Brx { .. } | Op::Exit => Vec::new(),
        }
    }

    /// Asks that a divisor is not zero.
    fn nonzero(&mut self, pc: Pc, divisor: Id, when: Id) {
        let zero = self.e.constant(0, self.e.width(divisor));
        let is = self.e.compare(super::expr::Order::Equal, divisor, zero);
        let holds = self.e.not(is);
        self.duty(pc, when, holds, "an integer may be divided by zero");
    }

    /// The results of a shuffle of a word, of which that in `dst` is what another lane has.
    fn shuffle(&mut self, op: &Op, word: Id, dst: RegId) -> Vec<(RegId, Id)> {
        let there = self.shuffled(op, word);
        let mut results = self.unknowns(op);
        for (_, result) in results.iter_mut().filter(|x| x.0 == dst) {
            *result = there.unwrap_or(*result);
            self.exchanged(op, word, *result);
        }
        results
    }

    fn store(
        &mut self,
        pc: Pc,
        (access, addr): (&Modifiers, &Addr),
        srcs: &[Option<Src>],
        when: Id,
        regs: &[Id],
    ) {
        let bytes = access.ty.bits() / 8;
        for (i, src) in srcs.iter().enumerate() {
            let Some(src) = src else { continue };
            let value = self.reader(regs, |r| r.src(*src, access.ty.bits().min(64) as u8));
            self.weak(pc, access);
            let at = (addr, i as i64 * i64::from(bytes));
            let does = (Does::Writes, Some(value));
            self.access((pc, access.space), at, bytes, does, when, regs);
        }
        let whole = bytes * srcs.len() as u32;
        self.aligned(pc, access.space, (addr, whole), when, regs);
    }

    fn atomic(&mut self, pc: Pc, op: &Op, when: Id, regs: &[Id]) -> Vec<(RegId, Id)> {
        let Op::Atom {
            access,
            op: what,
            addr,
            srcs,
            lanes,
            ..
        } = op
        else {
            return Vec::new();
        };
        let bytes = access.ty.bits() / 8;
        let simple = access.scope >= crate::kernel::Scope::Gpu || access.space == Space::Shared;
        // The old value is any value, and what the atomic orders is dropped: both only let more conflicts be found.
        if !simple {
            let smaller =
                "an atomic of a smaller scope than the device is not followed in all launches";
            self.gap(UnknownKind::NondeterministicValue, pc, smaller);
        }
        for i in 0..srcs.len().max(1) {
            let at = (addr, i as i64 * i64::from(bytes));
            let does = Does::Updates(access.ty.bits() as u8);
            self.access((pc, access.space), at, bytes, (does, None), when, regs);
        }
        let at = self.out.clock;
        let whole = bytes * srcs.len().max(1) as u32;
        self.aligned(pc, access.space, (addr, whole), when, regs);
        let mut results = self.unknowns(op);
        if let (AtomOp::Add, NumTy::Int(ty), [src], [(_, old)], 1) =
            (what, access.ty, &srcs[..], &mut results[..], lanes)
        {
            let step = self.reader(regs, |r| r.src(*src, ty.width));
            let step = self.e.value(step).filter(|v| *v != 0);
            if let Some(step) = step.filter(|_| self.e.width(*old) == ty.width) {
                // Where a counter begins is a matter of data.
                *old = self.e.symbol(Symbol {
                    data: true,
                    ..Symbol::any(ty.width, self.open.last().map(|o| o.index))
                });
                let symbol = *old;
                self.out.tickets.push(Ticket { symbol, at, step });
            }
        }
        results
    }

    pub(super) fn unmodelled(&mut self, pc: Pc, op: &Op, what: &str) -> Vec<(RegId, Id)> {
        self.gap(
            UnknownKind::UnsupportedInstruction,
            pc,
            format!("{what} is not modelled for all launches"),
        );
        self.unknowns(op)
    }

    pub(super) fn unknowns(&mut self, op: &Op) -> Vec<(RegId, Id)> {
        let of = self.open.last().map(|o| o.index);
        let mut written = Vec::new();
        op.defs(&mut |r| written.push(r));
        written
            .into_iter()
            .map(|r| unknown(&mut self.e, self.kernel, r, of))
            .collect()
    }

    pub(super) fn duty(&mut self, pc: Pc, guard: Id, holds: Id, what: &'static str) {
        if self.e.value(holds) != Some(1) {
            self.out.duties.push(Duty {
                pc,
                guard,
                holds,
                kind: UnknownKind::Undefined,
                what: what.into(),
            });
        }
    }

    /// What is not followed if a thread comes there.
    fn unreached(&mut self, pc: Pc, guard: Id, kind: UnknownKind, what: String) {
        let holds = self.e.truth(false);
        self.out.duties.push(Duty {
            pc,
            guard,
            holds,
            kind,
            what: what.into(),
        });
    }

    /// Only weak accesses are followed.
    pub(super) fn weak(&mut self, pc: Pc, access: &Modifiers) {
        if access.sem != Sem::Weak {
            self.gap(
                UnknownKind::UnsupportedInstruction,
                pc,
                "a strong access (a flag, a lock or a ticket) is not followed in all launches",
            );
        }
    }

    pub(super) fn special(&mut self, special: Special) -> Id {
        let s = self.sizes;
        let at = |list: [Id; 3], c: u8| list[usize::from(c).min(2)];
        match special {
            Special::Tid(c) => at(s.tid, c),
            Special::Ntid(c) => at(s.ntid, c),
            Special::Ctaid(c) => at(s.ctaid, c),
            Special::Nctaid(c) => at(s.nctaid, c),
            Special::LaneId => {
                let (rank, low) = (s.rank(&mut self.e), self.e.constant(31, 32));
                self.e.and(rank, low)
            }
            Special::WarpId => {
                let (rank, five) = (s.rank(&mut self.e), self.e.constant(5, 32));
                self.e.word(BitsOp::LShr, rank, five)
            }
            Special::LaneMaskEq
            | Special::LaneMaskLe
            | Special::LaneMaskLt
            | Special::LaneMaskGe
            | Special::LaneMaskGt => {
                let lane = self.special(Special::LaneId);
                let (one, ones) = (self.e.constant(1, 32), self.e.constant(u64::MAX, 32));
                let own = self.e.word(BitsOp::Shl, one, lane);
                let below = self.e.add(own, ones);
                let with_own = self.e.or(below, own);
                match special {
                    Special::LaneMaskEq => own,
                    Special::LaneMaskLt => below,
                    Special::LaneMaskLe => with_own,
                    Special::LaneMaskGt => self.e.not(with_own),
                    _ => self.e.not(below),
                }
            }
            Special::NwarpId
            | Special::TotalSmem
            | Special::AggrSmem
            | Special::DynamicSmem
            | Special::ClusterId(_)
            | Special::NclusterId(_)
            | Special::ClusterCtaid(_)
            | Special::ClusterNctaid(_)
            | Special::ClusterCtarank
            | Special::ClusterNctarank
            | Special::Volatile => {
                let of = self.open.last().map(|o| o.index);
                self.e.fresh(32, Level::Thread, of)
            }
            Special::IsExplicitCluster => self.e.fresh(1, Level::Thread, None),
        }
    }

    pub(super) fn barrier(
        &mut self,
        pc: Pc,
        kind: &BarKind,
        (id, count): (Src, Option<Src>),
        when: Id,
    ) -> Vec<(RegId, Id)> {
        let plain = matches!(id, Src::Imm(_)) && count.is_none();
        if !plain || matches!(kind, BarKind::Arrive) {
            self.gap(
                UnknownKind::UnsupportedInstruction,
                pc,
                "a named barrier of some of the threads is not followed in all launches",
            );
        }
        let (at, loops) = (self.tick(), self.around());
        self.out.barriers.push(Barrier {
            at,
            pc,
            guard: when,
            loops,
            warp: false,
            mask: None,
            orders: plain,
        });
        match kind {
            BarKind::Sync | BarKind::Arrive => Vec::new(),
            // All threads get one result.
            BarKind::RedPopc { dst, .. } | BarKind::RedBool { dst, .. } => {
                let of = self.open.last().map(|o| o.index);
                let width = self.kernel.reg_width[dst.0 as usize];
                vec![(*dst, self.e.fresh(width, Level::Cta, of))]
            }
        }
    }

    /// An operation of the lanes of a warp that a mask names.
    pub(super) fn collective(&mut self, pc: Pc, mask: Option<Id>, when: Id, orders: bool) {
        let Some(mask) = mask else {
            let what =
                "an operation of the lanes that happen to be there is not followed in all launches";
            self.gap(UnknownKind::UnsupportedInstruction, pc, what);
            return;
        };
        let all = self.e.value(mask) == Some(0xffff_ffff);
        if !all {
            let lane = self.special(Special::LaneId);
            let one = self.names_lane(mask, lane);
            self.duty(
                pc,
                when,
                one,
                "a lane executes an operation whose mask leaves it out",
            );
        }
        let (at, loops) = (self.tick(), self.around());
        self.out.barriers.push(Barrier {
            at,
            pc,
            guard: when,
            loops,
            warp: true,
            mask: (!all).then_some(mask),
            // One of some lanes orders those alone, which is not used.
            orders: orders && all,
        });
    }

    /// Whether a mask has the bit of a lane.
    pub(super) fn names_lane(&mut self, mask: Id, lane: Id) -> Id {
        let moved = self.e.word(BitsOp::LShr, mask, lane);
        self.e.resize(moved, 1, false)
    }
}
