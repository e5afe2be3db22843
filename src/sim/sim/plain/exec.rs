//! Straight code, as a warp executes it at once.

use crate::kernel::conditions::Seen;
use crate::kernel::{IntOp, IntTy, NumTy, Op, Pc, RegId, Src};
use crate::sim::address::provenance::Prov;
use crate::sim::at::At;
use crate::sim::int;
use crate::sim::machine::{Core, Machine};
use crate::sim::memory::{RegionKind, extend};
use crate::sim::race::AccessKind;
use crate::sim::step::UNCONDITIONAL;
use crate::sim::stop::Stop;
use crate::sim::val::{Val, open_head, real_head};
use crate::work;

use super::Class;

impl Core<'_> {
    /// Whether all lanes of a group jump, or none does; `None` where they part or data decides.
    #[inline]
    fn all_jump(&self, w: usize, mask: u32, pc: Pc) -> Option<bool> {
        let guard = self.inst(pc).guard?;
        let warp = &self.threads.warps[w];
        if warp.symbolic(guard.reg) & mask != 0 {
            return None;
        }
        if mask.is_power_of_two() {
            let word = warp.words(guard.reg)[mask.trailing_zeros() as usize];
            return Some((word & 1 == 1) != guard.negated);
        }
        match warp.holds(guard) & mask {
            0 => Some(false),
            y if y == mask => Some(true),
            _ => None,
        }
    }

    /// Where straight code goes on after an instruction; `None` where it ends before it.
    #[inline]
    fn next_plain(&mut self, At { w, exec, pc }: At, class: Class) -> Option<Pc> {
        match (class, &self.inst(pc).op) {
            (Class::General, _) => None,
            (Class::Branch, Op::Bra { target, .. }) => {
                let jumps = self.all_jump(w, exec, pc)?;
                self.note_taken(w, exec, pc, Seen::Guard);
                Some(if jumps { *target } else { Pc(pc.0 + 1) })
            }
            (_, Op::Bra { target, .. }) => Some(*target),
            _ => Some(Pc(pc.0 + 1)),
        }
    }

    /// The form in which an instruction is executed, and the base that it moves: what carries a base is followed by the
    /// general form, unless it only moves it.
    #[inline]
    fn follow_bases(&mut self, At { w, exec, pc }: At, class: Class) -> (Class, Prov) {
        match class {
            Class::Int if self.memory.watched[pc.0 as usize] => {
                let op = &self.inst(pc).op;
                let Some(p) = self.moved_base(w, exec, op) else {
                    return (Class::Lanes, Prov::NONE);
                };
                let lane = exec.trailing_zeros() as usize;
                debug_assert!(p.is_none() || self.derives(w, lane, op, p));
                (Class::Int, p)
            }
            Class::Fma | Class::Number if self.memory.watched[pc.0 as usize] => {
                (Class::Lanes, Prov::NONE)
            }
            c => (c, Prov::NONE),
        }
    }

    /// Integer arithmetic in one lane whose operands are known bits.
    #[inline]
    fn int_one(
        &mut self,
        (w, lane): (usize, usize),
        op: IntOp,
        ty: IntTy,
        dst: Option<RegId>,
        src: &[Src; 4],
    ) -> bool {
        let mut words = [0; 4];
        for (word, s) in words.iter_mut().zip(src) {
            match self.src(w, *s, lane) {
                Val::Conc(b) => *word = b,
                _ => return false,
            }
        }
        let (v, _) = int::eval(op, ty, words);
        if let Some(dst) = dst {
            self.threads.warps[w].set(dst, lane, Val::Conc(v));
        }
        true
    }

    /// A multiply-add in one lane, to an open sum.
    #[inline]
    fn fma_one(&mut self, w: usize, lane: usize, op: &Op) -> bool {
        let Op::Float {
            fmt,
            dst,
            src: [Src::Reg(a), Src::Reg(b), Src::Reg(c)],
            ..
        } = op
        else {
            return false;
        };
        let warp = &self.threads.warps[w];
        let symbolic = warp.symbolic(*a) & warp.symbolic(*b) & warp.symbolic(*c);
        let [x, y, sum] = [*a, *b, *c].map(|r| warp.words(r)[lane]);
        let (real, open) = (real_head(*fmt), open_head(*fmt));
        if symbolic >> lane & 1 == 0 || [x >> 48, y >> 48, sum >> 48] != [real, real, open] {
            return false;
        }
        let Some(sum) = self.values.extend_words(sum, x as u32, y as u32) else {
            return false;
        };
        self.threads.warps[w].set(*dst, lane, Val::Open(*fmt, sum));
        true
    }

    /// A number in another format, in one lane.
    #[inline]
    fn number_one(&mut self, w: usize, lane: usize, op: &Op) -> bool {
        let Op::Cvt {
            from: NumTy::Float(from),
            to: NumTy::Float(to),
            rnd,
            dst,
            src,
            ..
        } = op
        else {
            return false;
        };
        let v = self.src(w, *src, lane);
        // Known bits are rounded as the machine does.
        if matches!(v, Val::Unset | Val::Conc(_)) {
            return false;
        }
        let x = self.values.real(v, *from);
        let t = self.values.convert_number((v, *from, x), *rnd, (*to, x));
        let v = self
            .values
            .converted((v, *from), (*rnd, [false; 3]), (*to, t));
        self.threads.warps[w].set(*dst, lane, v);
        true
    }
}

impl Machine<'_> {
    /// Executes straight code from `pc` on, for as long as it is that and below `end`; gives the
    /// instruction to go on with. Leaves the last instruction of a turn or of `left` to the general
    /// step, which looks at limits.
    pub(in crate::sim) fn run_plain(
        &mut self,
        w: usize,
        mask: u32,
        mut pc: Pc,
        end: u32,
        left: &mut u64,
    ) -> Result<Pc, Stop> {
        let watched = self.tasks.products.busy(w)
            || self.tasks.fragments.any(w)
            || self.core.threads.trace.is_some();
        // In lock-step every instruction orders the lanes.
        // On one way of several, accesses are conditional.
        if watched || self.sync.order.in_lock_step() || self.conditions.ways.path.is_some() {
            return Ok(pc);
        }
        let lane = mask.trailing_zeros() as usize;
        let one = mask.is_power_of_two();
        let threads = mask.count_ones() as u64;
        while pc.0 < end && self.core.threads.budget > 1 && *left > 1 && !self.core.values.missed {
            let class = self.core.threads.classes[pc.0 as usize];
            let at = At { w, exec: mask, pc };
            let Some(to) = self.core.next_plain(at, class) else {
                break;
            };
            let inst = self.core.inst(pc);
            self.core.threads.budget -= 1;
            *left -= 1;
            self.core.threads.stats.warp_instructions += 1;
            self.core.threads.stats.thread_instructions += threads;
            work::spend(threads);
            if !matches!(class, Class::Jump | Class::Branch) {
                self.core.threads.executed[pc.0 as usize] += threads;
            }
            let (class, moved) = self.core.follow_bases(at, class);
            match (class, &inst.op) {
                (
                    Class::Int,
                    Op::Int {
                        op, ty, dst, src, ..
                    },
                ) => {
                    if !(one && self.core.int_one((w, lane), *op, *ty, *dst, src)) {
                        self.core.int(at, (*op, *ty, 1), *dst, None, src)?;
                    }
                    if let (Some(dst), false) = (dst, moved.is_none()) {
                        self.core.set_prov(w, *dst, mask, moved);
                    }
                }
                (Class::Fma, Op::Float { .. }) => {
                    if !(one && self.core.fma_one(w, lane, &inst.op)) {
                        self.core.compute_shared(w, mask, pc, &inst.op)?;
                    }
                }
                (Class::Omitted, op) => match self.core.omit_all(w, mask, pc) {
                    true => self.core.note_taken(w, mask, pc, Seen::Result),
                    false => self.core.compute_shared(w, mask, pc, op)?,
                },
                (Class::Number, Op::Cvt { .. }) => {
                    if !(one && self.core.number_one(w, lane, &inst.op)) {
                        self.core.compute_shared(w, mask, pc, &inst.op)?;
                    }
                }
                (
                    Class::Load,
                    Op::Ld {
                        access,
                        dsts,
                        addr,
                        used,
                    },
                ) => {
                    self.begin_access(at)?;
                    if !(one && self.load_lane(w, lane, pc, &inst.op)) {
                        self.load(at, (access, dsts, *addr), *used, &UNCONDITIONAL)?;
                        self.keep_trails();
                    }
                }
                (Class::Store, Op::St { access, srcs, addr }) => {
                    self.begin_access(at)?;
                    self.store(at, access, srcs, *addr, &UNCONDITIONAL)?;
                    self.keep_trails();
                }
                (_, Op::Bra { .. }) => {}
                (_, op) => self.core.compute_shared(w, mask, pc, op)?,
            }
            self.core.may_go_on()?;
            pc = to;
        }
        Ok(pc)
    }

    /// Notes an access before it is made.
    #[inline]
    fn begin_access(&mut self, At { w, exec, pc }: At) -> Result<(), Stop> {
        let now = self.core.threads.stats.warp_instructions;
        self.core.threads.trails.note(w, now, pc, exec);
        if self.tasks.objects.any() {
            self.note_act(w, exec, pc)?;
        }
        Ok(())
    }

    /// A load of one register in one lane, whose order with others nobody has to know.
    #[inline]
    fn load_lane(&mut self, w: usize, lane: usize, pc: Pc, op: &Op) -> bool {
        let Op::Ld {
            access,
            dsts,
            addr,
            used: u32::MAX,
        } = op
        else {
            return false;
        };
        let [Some(dst)] = dsts[..] else { return false };
        let (word, width, p) = match addr.base {
            Src::Reg(r) if self.core.threads.warps[w].symbolic(r) >> lane & 1 == 0 => {
                let p = self.core.threads.warps[w].prov(r, lane);
                (
                    self.core.threads.warps[w].words(r)[lane],
                    self.core.width(r),
                    p,
                )
            }
            _ => return false,
        };
        let size = access.ty.bits() / 8;
        if self.sync.fences.kind(access, false) != AccessKind::Read
            || self.core.memory.footprint.on()
        {
            return false;
        }
        let Some((region, off)) =
            self.core
                .memory
                .place_of((access.space, p), (word, width), addr.offset, size)
        else {
            return false;
        };
        match self.core.memory.regions[region.0 as usize].kind {
            RegionKind::Param => {}
            RegionKind::Array(_) if !self.sync.order.tracks(region) => {
                self.sync.order.note_untracked_read(region);
            }
            _ => return false,
        }
        self.core.threads.stats.accesses += 1;
        let mut v = self.core.load_value((w, lane, pc), region, off, access.ty);
        let width = self.core.width(dst);
        if size * 8 != width as u32 {
            v = extend(&mut self.core.values, v, access.ty, width);
        }
        self.core.threads.warps[w].set(dst, lane, v);
        if self.core.memory.regions[region.0 as usize].has_carried() {
            self.core
                .load_carried(w, dst, lane, (region, off), access.ty);
        }
        true
    }
}
