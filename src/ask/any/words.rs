//! Instructions that only compute, as expressions.
//!
//! Integer, bit and predicate arithmetic is that of PTX at its width. What has no expression here (floats, rare integer
//! operations) is a function of its operands that is named by its instruction: equal operands give equal results, so that
//! what is uniform stays uniform, and nothing else is known of it. An instruction that does more than compute is not
//! looked at here.

use super::addresses::through_window;
use super::expr::{Exprs, Id, Level, Order};
use crate::kernel::{BoolOp, Cmp, Guard, IntOp, IntTy, Kernel, NumTy, Op, Pc, RegId, Src};
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

    fn resized(&mut self, r: RegId, v: Id, sign: bool) -> (RegId, Id) {
        let width = self.kernel.reg_width[r.0 as usize];
        (r, self.e.resize(v, width, sign))
    }

    /// A comparison of two operands, where it has an expression.
    fn compared(&mut self, cmp: Cmp, ty: IntTy, a: Src, b: Src) -> Option<Id> {
        let (a, b) = (self.src(a, ty.width), self.src(b, ty.width));
        self.comparison(cmp, ty.signed, a, b)
    }

    /// What an instruction writes that only computes.
    pub(super) fn compute(&mut self, pc: Pc, op: &Op) -> Vec<(RegId, Id)> {
        let known = match op {
            Op::Mov { dst, src, width } => Some(vec![(*dst, self.src(*src, *width))]),
            Op::Pack { dst, part, srcs } => self.pack(*dst, *part, srcs),
            Op::Unpack { dsts, part, src } => Some(self.unpack(dsts, *part, *src)),
            Op::Int {
                op,
                ty,
                lanes: 1,
                dst: Some(dst),
                dst2: None,
                src,
            } => self.int(*op, *ty, *src).map(|v| vec![(*dst, v)]),
            Op::Setp {
                cmp,
                ty: NumTy::Int(ty),
                lanes: 1,
                combine,
                p,
                q,
                a,
                b,
                ..
            } => self
                .compared(*cmp, *ty, *a, *b)
                .map(|c| self.combined(c, *combine, *p, *q)),
            Op::Setp {
                lanes: 1,
                combine,
                p,
                q,
                ..
            } => {
                let c = self.function(pc, op, 1, 0);
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
            Op::Cvt {
                from: NumTy::Int(from),
                to: NumTy::Int(to),
                sat: false,
                dst,
                src,
                ..
            } => {
                let v = self.src(*src, from.width);
                let v = self.e.resize(v, to.width, from.signed);
                Some(vec![self.resized(*dst, v, to.signed)])
            }
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
            Some(list) => list
                .into_iter()
                .map(|(r, v)| self.resized(r, v, false))
                .collect(),
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
        let mut all = self.e.constant(0, width);
        for (i, s) in srcs.iter().enumerate() {
            let v = self.src(*s, part);
            let v = self.e.resize(v, width, false);
            let by = self.e.constant(i as u64 * u64::from(part), width);
            let v = self.e.word(BitsOp::Shl, v, by);
            all = self.e.or(all, v);
        }
        Some(vec![(dst, all)])
    }

    fn unpack(&mut self, dsts: &[Option<RegId>], part: u8, src: Src) -> Vec<(RegId, Id)> {
        let width = (u32::from(part) * dsts.len() as u32).min(64) as u8;
        let v = self.src(src, width);
        let mut out = Vec::new();
        for (i, dst) in dsts.iter().enumerate() {
            let Some(dst) = dst else { continue };
            let by = self.e.constant(i as u64 * u64::from(part), width);
            let moved = self.e.word(BitsOp::LShr, v, by);
            out.push((*dst, self.e.resize(moved, part, false)));
        }
        out
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

    fn comparison(&mut self, cmp: Cmp, sign: bool, a: Id, b: Id) -> Option<Id> {
        let less = match sign {
            true => Order::Less,
            false => Order::Below,
        };
        Some(match cmp {
            Cmp::Eq => self.e.compare(Order::Equal, a, b),
            Cmp::Ne => {
                let c = self.e.compare(Order::Equal, a, b);
                self.e.not(c)
            }
            Cmp::Lt => self.e.compare(less, a, b),
            Cmp::Gt => self.e.compare(less, b, a),
            Cmp::Ge => {
                let c = self.e.compare(less, a, b);
                self.e.not(c)
            }
            Cmp::Le => {
                let c = self.e.compare(less, b, a);
                self.e.not(c)
            }
            Cmp::Equ
            | Cmp::Neu
            | Cmp::Ltu
            | Cmp::Leu
            | Cmp::Gtu
            | Cmp::Geu
            | Cmp::Num
            | Cmp::Nan => {
                return None;
            }
        })
    }

    /// The value of an integer operation; `None` for one that is left opaque.
    fn int(&mut self, op: IntOp, ty: IntTy, src: [Src; 4]) -> Option<Id> {
        let w = ty.width;
        let wide = w.saturating_mul(2);
        let a = |s: &mut Self| s.src(src[0], w);
        let b = |s: &mut Self| s.src(src[1], w);
        let two = |s: &mut Self, op: BitsOp| {
            let (x, y) = (a(s), b(s));
            Some(s.e.word(op, x, y))
        };
        let (div, rem) = match ty.signed {
            true => (BitsOp::SDiv, BitsOp::SRem),
            false => (BitsOp::UDiv, BitsOp::URem),
        };
        let less = match ty.signed {
            true => Order::Less,
            false => Order::Below,
        };
        match op {
            IntOp::Add => two(self, BitsOp::Add),
            IntOp::And => two(self, BitsOp::And),
            IntOp::Or => two(self, BitsOp::Or),
            IntOp::Xor => two(self, BitsOp::Xor),
            IntOp::MulLo => two(self, BitsOp::Mul),
            IntOp::Div => two(self, div),
            IntOp::Rem => two(self, rem),
            IntOp::Sub => {
                let (x, y) = (a(self), b(self));
                Some(self.e.minus(x, y))
            }
            IntOp::Neg => {
                let (x, zero) = (a(self), self.e.constant(0, w));
                Some(self.e.minus(zero, x))
            }
            IntOp::Not => {
                let x = a(self);
                Some(self.e.not(x))
            }
            IntOp::MadLo => {
                let (x, y, z) = (a(self), b(self), self.src(src[2], w));
                let product = self.e.word(BitsOp::Mul, x, y);
                Some(self.e.add(product, z))
            }
            IntOp::MulWide | IntOp::MadWide if wide <= 64 => {
                let (x, y) = (a(self), b(self));
                let (x, y) = (
                    self.e.resize(x, wide, ty.signed),
                    self.e.resize(y, wide, ty.signed),
                );
                let product = self.e.word(BitsOp::Mul, x, y);
                if op == IntOp::MulWide {
                    return Some(product);
                }
                let z = self.src(src[2], wide);
                Some(self.e.add(product, z))
            }
            IntOp::Shl | IntOp::Shr if w >= 32 => {
                let (x, by) = (a(self), self.src(src[1], 32));
                let by = self.e.resize(by, w, false);
                let op = match (op, ty.signed) {
                    (IntOp::Shl, _) => BitsOp::Shl,
                    (_, true) => BitsOp::AShr,
                    (_, false) => BitsOp::LShr,
                };
                Some(self.e.word(op, x, by))
            }
            IntOp::Min | IntOp::Max => {
                let (x, y) = (a(self), b(self));
                let c = self.e.compare(less, x, y);
                Some(match op {
                    IntOp::Min => self.e.choose(c, x, y),
                    _ => self.e.choose(c, y, x),
                })
            }
            IntOp::Abs => {
                let (x, zero) = (a(self), self.e.constant(0, w));
                let (c, minus) = (self.e.compare(Order::Less, x, zero), self.e.minus(zero, x));
                Some(self.e.choose(c, minus, x))
            }
            IntOp::Bfe if !ty.signed => {
                let x = a(self);
                let (at, len) = match (src[1], src[2]) {
                    (Src::Imm(at), Src::Imm(len)) => (at & 0xff, len & 0xff),
                    _ => return None,
                };
                let by = self.e.constant(at, w);
                let moved = self.e.word(BitsOp::LShr, x, by);
                let ones = match len {
                    0..=63 => (1u64 << len) - 1,
                    _ => u64::MAX,
                };
                let ones = self.e.constant(ones, w);
                Some(self.e.and(moved, ones))
            }
            _ => None,
        }
    }
}

/// A value that nothing is known of.
pub(super) fn unknown(e: &mut Exprs, kernel: &Kernel, r: RegId, of: Option<usize>) -> (RegId, Id) {
    let width = kernel.reg_width[r.0 as usize];
    (r, e.fresh(width, Level::Thread, of))
}
