//! Instructions that only compute, as expressions.
//!
//! Integer, bit and predicate arithmetic is the simulator's ([`crate::sim::int_sym`]). What has no expression here (floats,
//! `fns`) is a function of its operands that is named by its instruction: equal operands give equal results, so that
//! what is uniform stays uniform, and nothing else is known of it. An instruction that does more than compute is not
//! looked at here.

use super::addresses::through_window;
use super::expr::{Exprs, Id, Level, Order};
use crate::kernel::{BoolOp, Cmp, Guard, IntOp, IntTy, Kernel, NumTy, Op, Pc, RegId, Src};
use crate::sim::{int_sym, operand_width};
use crate::term::BitsOp;

/// What reads operands that only the walk knows: addresses of variables.
pub(super) trait Places {
    /// The address of a variable.
    fn place(&mut self, e: &mut Exprs, src: Src, width: u8) -> Id;
}

/// One instruction with the registers before it.
pub(super) struct Reader<'a, P: Places> {
    pub e: &'a mut Exprs,
    pub kernel: &'a Kernel,
    pub regs: &'a [Id],
    pub places: &'a mut P,
}

impl<P: Places> Reader<'_, P> {
    pub(super) fn src(&mut self, src: Src, width: u8) -> Id {
        match src {
            Src::Reg(r) => {
                let v = self.regs[r.0 as usize];
                self.e.resize(v, width, false)
            }
            Src::Imm(n) => self.e.constant(n, width),
            Src::Global(..) | Src::Var(..) => self.places.place(self.e, src, width),
        }
    }

    pub(super) fn guard(&mut self, g: Guard) -> Id {
        let v = self.regs[g.reg.0 as usize];
        match g.negated {
            true => self.e.not(v),
            false => v,
        }
    }

    fn resized(&mut self, r: RegId, v: Id) -> (RegId, Id) {
        let width = self.kernel.reg_width[r.0 as usize];
        (r, self.e.resize(v, width, false))
    }

    /// What an instruction writes that only computes.
    pub(super) fn compute(&mut self, pc: Pc, op: &Op) -> Vec<(RegId, Id)> {
        let known = match op {
            Op::Mov { dst, src, width } => Some(vec![(*dst, self.src(*src, *width))]),
            Op::Pack { dst, part, srcs } => self.pack(*dst, *part, srcs),
            Op::Unpack { dsts, part, src } => self.unpack(dsts, *part, *src),
            Op::Int {
                op,
                ty,
                lanes,
                dst,
                dst2,
                src,
            } => self.int((*op, *ty, *lanes), [*dst, *dst2], *src),
            Op::Setp {
                cmp,
                ty,
                lanes: 1,
                combine,
                p,
                q,
                a,
                b,
                ..
            } => {
                let c = match ty {
                    NumTy::Int(ty) => self.compared(*cmp, *ty, *a, *b),
                    _ => None,
                };
                let c = c.unwrap_or_else(|| self.function(pc, op, 1, 0));
                Some(self.combined(c, *combine, *p, *q))
            }
            Op::Set {
                cmp,
                ty: NumTy::Int(ty),
                dty: NumTy::Int(to),
                lanes: 1,
                combine: None,
                dst,
                a,
                b,
                ..
            } => self.compared(*cmp, *ty, *a, *b).map(|c| {
                let ones = self.e.constant(u64::MAX, to.width);
                let zero = self.e.constant(0, to.width);
                vec![(*dst, self.e.choose(c, ones, zero))]
            }),
            Op::Selp {
                width,
                dst,
                a,
                b,
                p,
            } => {
                let (p, a, b) = (self.guard(*p), self.src(*a, *width), self.src(*b, *width));
                Some(vec![(*dst, self.e.choose(p, a, b))])
            }
            Op::Slct {
                width,
                cty: NumTy::Int(ty),
                dst,
                a,
                b,
                c,
                ..
            } => self.compared(Cmp::Ge, *ty, *c, Src::Imm(0)).map(|p| {
                let (a, b) = (self.src(*a, *width), self.src(*b, *width));
                vec![(*dst, self.e.choose(p, a, b))]
            }),
            Op::Lop3Bool { .. } => self.lop3_bool(op),
            Op::Cvt {
                from: NumTy::Int(from),
                to: NumTy::Int(to),
                sat,
                dst,
                src,
                ..
            } => self.converted((*from, *to, *sat), *dst, *src),
            Op::Cvta {
                dst,
                src,
                width,
                space,
                to,
            } => {
                let v = self.src(*src, *width);
                Some(vec![(*dst, through_window(self.e, v, *space, *to))])
            }
            _ => None,
        };
        match known {
            Some(list) => list.into_iter().map(|(r, v)| self.resized(r, v)).collect(),
            None => self.opaque(pc, op),
        }
    }

    /// Every register that the instruction writes, as a function of those that it reads.
    pub(super) fn opaque(&mut self, pc: Pc, op: &Op) -> Vec<(RegId, Id)> {
        let mut written = Vec::new();
        op.defs(&mut |r| written.push(r));
        let values = written.iter().enumerate().map(|(i, r)| {
            let width = self.kernel.reg_width[r.0 as usize];
            (*r, self.function(pc, op, width, i as u64))
        });
        values.collect()
    }

    fn function(&mut self, pc: Pc, op: &Op, width: u8, part: u64) -> Id {
        let mut of = Vec::new();
        op.uses(&mut |r| of.push(self.regs[r.0 as usize]));
        self.e.function(u64::from(pc.0) << 8 | part, of, width)
    }

    fn pack(&mut self, dst: RegId, part: u8, srcs: &[Src]) -> Option<Vec<(RegId, Id)>> {
        let width = self.kernel.reg_width[dst.0 as usize];
        if usize::from(part) * srcs.len() > usize::from(width) {
            return None;
        }
        let parts: Vec<Id> = srcs.iter().map(|s| self.src(*s, part)).collect();
        let all = self.e.meant(&parts, |s, of| Some(vec![s.concat(of)]))?;
        Some(vec![(dst, all[0])])
    }

    fn unpack(&mut self, dsts: &[Option<RegId>], part: u8, src: Src) -> Option<Vec<(RegId, Id)>> {
        let width = usize::from(part) * dsts.len();
        let width = u8::try_from(width).ok().filter(|w| *w <= 64)?;
        let v = self.src(src, width);
        let parts = self.e.meant(&[v], |s, of| {
            let at = (0..width).step_by(part.into());
            Some(at.map(|low| s.extract(of[0], low, part)).collect())
        })?;
        let written = dsts.iter().zip(parts);
        Some(written.filter_map(|(d, v)| Some(((*d)?, v))).collect())
    }

    fn combined(
        &mut self,
        c: Id,
        combine: Option<(BoolOp, Guard)>,
        p: Option<RegId>,
        q: Option<RegId>,
    ) -> Vec<(RegId, Id)> {
        let not = self.e.not(c);
        let mut out = Vec::new();
        for (r, v) in [(p, c), (q, not)] {
            let Some(r) = r else { continue };
            let v = match combine {
                None => v,
                Some((op, g)) => {
                    let g = self.guard(g);
                    let op = match op {
                        BoolOp::And => BitsOp::And,
                        BoolOp::Or => BitsOp::Or,
                        BoolOp::Xor => BitsOp::Xor,
                    };
                    self.e.word(op, v, g)
                }
            };
            out.push((r, v));
        }
        out
    }

    /// An integer of another type.
    fn converted(
        &mut self,
        (from, to, sat): (IntTy, IntTy, bool),
        dst: RegId,
        src: Src,
    ) -> Option<Vec<(RegId, Id)>> {
        let v = self.src(src, from.width);
        let width = self.kernel.reg_width[dst.0 as usize];
        let v = self.e.meant(&[v], |s, of| {
            let converted = int_sym::cvt_int_sym(s, from, to, sat, of[0], width);
            Some(vec![converted])
        })?;
        Some(vec![(dst, v[0])])
    }

    fn compared(&mut self, cmp: Cmp, ty: IntTy, a: Src, b: Src) -> Option<Id> {
        let operands = [self.src(a, ty.width), self.src(b, ty.width)];
        let c = self.e.meant(&operands, |s, of| {
            Some(vec![int_sym::compare_sym(s, cmp, ty, of[0], of[1])])
        })?;
        Some(c[0])
    }

    /// The results of an integer operation, the carry among them; `None` for one that is left opaque.
    fn int(
        &mut self,
        (op, ty, lanes): (IntOp, IntTy, u8),
        [dst, carry]: [Option<RegId>; 2],
        src: [Src; 4],
    ) -> Option<Vec<(RegId, Id)>> {
        let width = |i| match lanes {
            0 | 1 => operand_width(op, ty, i).min(64),
            n => ty.width.saturating_mul(n).min(64),
        };
        let operands = [0, 1, 2, 3].map(|i| self.src(src[i], width(i)));
        if let (IntOp::Div | IntOp::Rem, 1, Some(dst)) = (op, lanes, dst)
            && self.e.value(operands[1]).is_none_or(|v| v == 0)
        {
            let op = match (op, ty.signed) {
                (IntOp::Div, true) => BitsOp::SDiv,
                (IntOp::Div, false) => BitsOp::UDiv,
                (_, true) => BitsOp::SRem,
                (_, false) => BitsOp::URem,
            };
            return Some(vec![(dst, self.e.word(op, operands[0], operands[1]))]);
        }
        let factors = [operands[0], operands[1]].map(|f| self.e.value(f));
        let is_shift = |f: &Option<u64>| f.is_some_and(|v| v & v.wrapping_sub(1) == 0);
        let is_known = factors.iter().all(Option::is_some) || factors.iter().any(is_shift);
        if takes_upper_half(op) && !is_known {
            return None;
        }
        let values = self.e.meant(&operands, |s, of| {
            let of = [of[0], of[1], of[2], of[3]];
            let mut out = Vec::new();
            if dst.is_some() {
                out.push(int_sym::symbolic_packed(s, op, ty, lanes, of)?);
            }
            if carry.is_some() {
                out.push(int_sym::symbolic_carry(s, op, ty, of)?);
            }
            Some(out)
        })?;
        Some(dst.into_iter().chain(carry).zip(values).collect())
    }

    /// A logic operation of three words, and a condition that its result is not zero.
    fn lop3_bool(&mut self, op: &Op) -> Option<Vec<(RegId, Id)>> {
        let Op::Lop3Bool {
            table,
            op,
            dst,
            p,
            src,
            q,
        } = op
        else {
            return None;
        };
        let operands = src.map(|s| self.src(s, 32));
        let word = self.e.meant(&operands, |s, of| {
            Some(vec![int_sym::lop3(s, *table, of[0], of[1], of[2])])
        })?[0];
        let zero = self.e.constant(0, 32);
        let is_zero = self.e.compare(Order::Equal, word, zero);
        let nonzero = self.e.not(is_zero);
        let mut out = self.combined(nonzero, Some((*op, *q)), Some(*p), None);
        out.extend(dst.map(|d| (d, word)));
        Some(out)
    }
}

/// A value that nothing is known of.
pub(super) fn unknown(e: &mut Exprs, kernel: &Kernel, r: RegId, of: Option<usize>) -> (RegId, Id) {
    let width = kernel.reg_width[r.0 as usize];
    (r, e.fresh(width, Level::Thread, of))
}

/// True for the upper half of a product. By a number that is no power of two it takes a multiplier of gates, which is dear where
/// compilers divide by such numbers and never asked for, so it stays a function of its operands.
fn takes_upper_half(op: IntOp) -> bool {
    use IntOp::*;
    matches!(
        op,
        MulHi | MadHi | MadHiSat | MadHiCarry | Mul24Hi | Mad24Hi | Mad24HiSat
    )
}
