//! Conditions computed for sizes that were not run.
//!
//! The problem: which size gives a condition its other value. Where the registers that it is made of are each written
//! once, by integer arithmetic on sizes and on where a thread stands, they are computed in the order of the text for
//! the threads at the corners of the block and of the grid. Anything else, the counter of a loop above all, makes the
//! condition one that is not computed.
//!
//! Not claimed: that no other thread has the other value.

use crate::kernel::conditions::{Condition, Seen, Size};
use crate::kernel::{BoolOp, Guard, Inst, Kernel, NumTy, Op, Pc, RegId, Space, Special, Src};
use crate::sim::int;
use crate::spec::Value;

use super::Ran;

/// Instructions that a condition may be made of.
const LONGEST: usize = 256;

/// The instructions that a condition is made of, in their order.
pub(super) struct Dry<'a> {
    ran: Ran<'a>,
    /// Nothing, if it cannot be computed.
    chain: Option<Vec<Pc>>,
    holds: Guard,
    literals: Vec<i128>,
}

/// Where a thread stands in its launch.
struct Stand {
    block: [u32; 3],
    grid: [u32; 3],
    tid: [u32; 3],
    cta: [u32; 3],
}

/// The only writer of each register.
pub(super) fn writers(kernel: &Kernel) -> Vec<Option<Pc>> {
    let mut out = vec![None; kernel.reg_width.len()];
    let mut again = vec![false; out.len()];
    for (pc, inst) in (0u32..).map(Pc).zip(&kernel.insts) {
        inst.op.defs(&mut |r| {
            let first = out[r.0 as usize].replace(pc).is_none();
            again[r.0 as usize] |= !first || inst.guard.is_some();
        });
    }
    for (writer, again) in out.iter_mut().zip(again) {
        *writer = writer.filter(|_| !again);
    }
    out
}

impl<'a> Dry<'a> {
    /// Takes a condition apart.
    pub(super) fn new(ran: Ran<'a>, writers: &[Option<Pc>], c: &Condition) -> Dry<'a> {
        let code = &ran.kernel.insts;
        let mut out = Dry {
            ran,
            chain: None,
            holds: c.holds,
            literals: Vec::new(),
        };
        let mut regs = vec![(c.holds.reg, c.pc)];
        let mut chain: Vec<Pc> = Vec::new();
        if c.seen == Seen::Result && !matches!(code[c.pc.0 as usize].op, Op::Selp { .. }) {
            regs = vec![(c.holds.reg, Pc(c.pc.0 + 1))];
        }
        while let Some((reg, before)) = regs.pop() {
            let Some(pc) = writers[reg.0 as usize].filter(|pc| *pc < before) else {
                return out;
            };
            if chain.contains(&pc) {
                continue;
            }
            chain.push(pc);
            let op = &code[pc.0 as usize].op;
            if let Op::Setp { b: Src::Imm(n), .. } = op {
                out.literals.push(i128::from(*n as i64));
            }
            op.uses(&mut |r| regs.push((r, pc)));
            if chain.len() > LONGEST {
                return out;
            }
        }
        chain.sort_unstable();
        out.chain = Some(chain);
        out
    }

    /// Numbers that the condition compares with.
    pub(super) fn literals(&self) -> &[i128] {
        &self.literals
    }

    /// Whether some thread finds the condition other than `only` where a size has another value.
    pub(super) fn flips(&self, size: Size, value: i128, only: bool) -> Option<bool> {
        let chain = self.chain.as_ref()?;
        let launch = self.ran.launch;
        let (mut block, mut grid) = (launch.block, launch.grid);
        match size {
            Size::Block => block = [u32::try_from(value).ok()?, 1, 1],
            Size::Grid => grid = [u32::try_from(value).ok()?, 1, 1],
            Size::Number(..) => {}
        }
        let corners = |shape: [u32; 3]| [[0; 3], shape.map(|n| n - 1)];
        for tid in corners(block) {
            for cta in corners(grid) {
                let stand = Stand {
                    block,
                    grid,
                    tid,
                    cta,
                };
                if self.value(chain, &stand, (size, value))? != only {
                    return Some(true);
                }
            }
        }
        Some(false)
    }

    fn value(&self, chain: &[Pc], stand: &Stand, other: (Size, i128)) -> Option<bool> {
        let mut regs: Vec<(RegId, u64)> = Vec::with_capacity(chain.len());
        for pc in chain {
            let inst = &self.ran.kernel.insts[pc.0 as usize];
            self.step(inst, stand, other, &mut regs)?;
        }
        let truth = get(&regs, Src::Reg(self.holds.reg))? != 0;
        Some(truth != self.holds.negated)
    }

    /// Computes one instruction.
    fn step(
        &self,
        inst: &Inst,
        stand: &Stand,
        other: (Size, i128),
        regs: &mut Vec<(RegId, u64)>,
    ) -> Option<()> {
        let width = |r: &RegId| self.ran.kernel.reg_width[r.0 as usize];
        let (dst, v) = match &inst.op {
            Op::Mov { dst, src, .. } => (*dst, get(regs, *src)?),
            Op::Special { dst, special } => (*dst, stand.get(*special)?),
            Op::Cvt {
                from: NumTy::Int(from),
                to: NumTy::Int(to),
                sat,
                dst,
                src,
                ..
            } => {
                let v = int::cvt_int(*from, *to, *sat, get(regs, *src)?, width(dst));
                (*dst, v)
            }
            Op::Int {
                op,
                ty,
                lanes: 1,
                dst: Some(dst),
                dst2: None,
                src,
            } => {
                let mut words = [0; 4];
                for (word, s) in words.iter_mut().zip(src) {
                    *word = get(regs, *s)?;
                }
                if int::is_undefined(*op, *ty, words) {
                    return None;
                }
                (*dst, int::eval(*op, *ty, words).0)
            }
            Op::Setp {
                cmp,
                ty: NumTy::Int(ty),
                lanes: 1,
                combine,
                p: Some(p),
                q: None,
                a,
                b,
                ..
            } => {
                let mut v = int::compare(*cmp, *ty, get(regs, *a)?, get(regs, *b)?);
                if let Some((op, g)) = combine {
                    let with = truth(regs, *g)?;
                    v = match op {
                        BoolOp::And => v & with,
                        BoolOp::Or => v | with,
                        BoolOp::Xor => v ^ with,
                    };
                }
                (*p, u64::from(v))
            }
            Op::Selp { dst, a, b, p, .. } => match truth(regs, *p)? {
                true => (*dst, get(regs, *a)?),
                false => (*dst, get(regs, *b)?),
            },
            Op::Ld {
                access, dsts, addr, ..
            } if access.space == Space::Param => {
                let at = addr.base.laid_out()?.wrapping_add_signed(addr.offset);
                let bytes = access.ty.bits() / 8;
                for (at, dst) in (at..).step_by(bytes as usize).zip(dsts) {
                    if let Some(dst) = dst
                        && let Some(v) = self.parameter(at, bytes, other)
                    {
                        regs.push((*dst, v));
                    }
                }
                return Some(());
            }
            _ => return None,
        };
        regs.push((dst, v & int::mask(width(&dst))));
        Some(())
    }

    /// The bits at a place of the parameters, where one of them may have another value.
    fn parameter(&self, at: u64, bytes: u32, (size, value): (Size, i128)) -> Option<u64> {
        let mut fields = self.ran.resolved.bindings.fields.iter();
        let field = fields.find(|f| u64::from(f.offset) == at && f.bytes == bytes)?;
        let param = self.ran.kernel.params.get(field.param as usize)?;
        match (field.value, size) {
            (Value::Bits(_), Size::Number(p, offset))
                if p == field.param && param.offset + offset == field.offset =>
            {
                Some(value as u64)
            }
            (Value::Bits(b), _) => Some(b),
            (Value::Pointer(..) | Value::Map(..) | Value::Symbol(_), _) => None,
        }
    }
}

impl Stand {
    fn get(&self, special: Special) -> Option<u64> {
        let part = |of: &[u32; 3], i: u8| of.get(i as usize).map(|n| u64::from(*n));
        match special {
            Special::Tid(i) => part(&self.tid, i),
            Special::Ntid(i) => part(&self.block, i),
            Special::Ctaid(i) => part(&self.cta, i),
            Special::Nctaid(i) => part(&self.grid, i),
            _ => None,
        }
    }
}

fn get(regs: &[(RegId, u64)], src: Src) -> Option<u64> {
    match src {
        Src::Reg(r) => regs.iter().rev().find(|x| x.0 == r).map(|x| x.1),
        src => src.laid_out(),
    }
}

fn truth(regs: &[(RegId, u64)], g: Guard) -> Option<bool> {
    Some((get(regs, Src::Reg(g.reg))? & 1 == 1) != g.negated)
}
