//! Roundings that are spelled with integers.
//!
//! Problem: `bits(x) & 0xffff0000`, the upper half of x by a shift, by `mov.b32 {_, h}` or by `prmt`, all of them with
//! or without an addition of half a unit before, round an f32 to bf16 as a conversion does. Bits are bits of an
//! f32 where arithmetic, a conversion or a load of that type put them into the register, however they were moved since;
//! the same operations on packed halves lose nothing.
//!
//! Sound in neither way: a warning rests on it alone. Not claimed: cuts of values that came through memory as bits,
//! cuts whose mask is no literal number, and cuts of other formats.

use crate::kernel::operands::uses;
use crate::kernel::{Fmt, IntOp, Kernel, NumTy, Op, RegId, Src};

/// What is known of the registers of a kernel.
pub(super) struct Registers {
    /// Whether each may hold the bits of an f32.
    singles: Vec<bool>,
    /// Whether anything reads it.
    read: Vec<bool>,
    /// The number that its only definition puts there.
    literals: Vec<Option<u64>>,
}

impl Registers {
    /// Looks at all.
    pub(super) fn new(kernel: &Kernel) -> Registers {
        let count = kernel.reg_width.len();
        let mut read = vec![false; count];
        let mut literals = vec![None; count];
        let mut writes = vec![0u8; count];
        for inst in &kernel.insts {
            uses(inst, |r| read[r.0 as usize] = true);
            inst.op
                .defs(&mut |r| writes[r.0 as usize] = writes[r.0 as usize].saturating_add(1));
            if let Op::Mov {
                dst,
                src: Src::Imm(n),
                ..
            } = inst.op
            {
                literals[dst.0 as usize] = Some(n);
            }
        }
        for (literal, writes) in literals.iter_mut().zip(writes) {
            *literal = literal.filter(|_| writes == 1);
        }
        Registers {
            singles: singles(kernel),
            read,
            literals,
        }
    }

    fn single(&self, s: &Src) -> bool {
        matches!(s, Src::Reg(r) if self.singles[r.0 as usize])
    }

    /// The number that an operand is, if it is written out there or in its only definition.
    pub(super) fn literal(&self, s: &Src) -> Option<u64> {
        match s {
            Src::Reg(r) => self.literals[r.0 as usize],
            Src::Imm(n) => Some(*n),
            Src::Global(..) | Src::Var(..) => None,
        }
    }
}

/// By register, whether it may hold the bits of an f32.
fn singles(kernel: &Kernel) -> Vec<bool> {
    let mut found = vec![false; kernel.reg_width.len()];
    loop {
        let mut more = false;
        for inst in &kernel.insts {
            let mut is_single = makes(&inst.op);
            if moves(&inst.op) {
                inst.op.uses(&mut |r| is_single |= found[r.0 as usize]);
            }
            if is_single {
                inst.op.defs(&mut |r| {
                    let wide = kernel.reg_width[r.0 as usize] == 32;
                    more |= wide && !std::mem::replace(&mut found[r.0 as usize], true);
                });
            }
        }
        if !more {
            return found;
        }
    }
}

/// True for an operation that gives an f32.
fn makes(op: &Op) -> bool {
    let single = NumTy::Float(Fmt::F32);
    match op {
        Op::Float { fmt, lanes, .. } => *fmt == Fmt::F32 && *lanes == 1,
        Op::Cvt { from, to, .. } => *to == single && *from != NumTy::Float(Fmt::Bf16),
        Op::Ld { access, .. } => access.ty == single && !access.untyped,
        Op::Mma(m) => m.d_ty == single,
        _ => false,
    }
}

/// True for an operation that passes bits on, but for what is added to round them.
fn moves(op: &Op) -> bool {
    match op {
        Op::Mov { .. } | Op::Selp { .. } | Op::Shfl { .. } => true,
        Op::Int { op, ty, .. } => *op == IntOp::Add && ty.width == 32,
        _ => false,
    }
}

/// The format that an operation cuts f32s to, and how many.
pub(super) fn cut(op: &Op, registers: &Registers) -> Option<(Fmt, usize)> {
    let single = |s: &Src| registers.single(s);
    let literal = |s: &Src| registers.literal(s).map(|n| n as u32);
    let unread = |r: &Option<RegId>| r.is_none_or(|r| !registers.read[r.0 as usize]);
    let once = |fmt: Option<Fmt>| fmt.map(|f| (f, 1));
    match op {
        Op::Int {
            op: IntOp::And,
            ty,
            lanes: 1,
            src: [a, b, ..],
            ..
        } if ty.width == 32 => {
            let mask = match (single(a), single(b)) {
                (true, false) => literal(b)?,
                (false, true) => literal(a)?,
                _ => return None,
            };
            once(kept(mask))
        }
        Op::Int {
            op: IntOp::Shr,
            ty,
            lanes: 1,
            src: [a, b, ..],
            ..
        } if ty.width == 32 && single(a) && literal(b) == Some(16) => once(Some(Fmt::Bf16)),
        Op::Int {
            op: IntOp::Bfe,
            lanes: 1,
            src: [a, b, c, _],
            ..
        } if single(a) && literal(b) == Some(16) && literal(c)? >= 16 => once(Some(Fmt::Bf16)),
        Op::Unpack {
            dsts,
            part: 16,
            src,
            ..
        } if single(src) && matches!(&dsts[..], [low, high] if unread(low) && !unread(high)) => {
            once(Some(Fmt::Bf16))
        }
        Op::Int {
            op: IntOp::Prmt,
            src: [a, b, c, _],
            ..
        } => {
            let selector = literal(c)?;
            let byte = |i: u32| selector >> (4 * i) & 0xf;
            let takes = |low: u32| (0..2).any(|h| byte(2 * h) == low && byte(2 * h + 1) == low + 1);
            let none = |low: u32| (0..4).all(|i| byte(i) != low && byte(i) != low + 1);
            let upper = |s: &Src, at: u32| single(s) && takes(at + 2) && none(at);
            let n = usize::from(upper(a, 0)) + usize::from(upper(b, 4));
            (n > 0).then_some((Fmt::Bf16, n))
        }
        _ => None,
    }
}

/// The format whose bits a mask of an f32 keeps: masks that keep the exponent alone take it apart.
fn kept(mask: u32) -> Option<Fmt> {
    let low = mask.trailing_zeros();
    let whole = mask.leading_ones() + low == 32;
    match low {
        13..=15 if whole => Some(Fmt::Tf32),
        16..=21 if whole => Some(Fmt::Bf16),
        _ => None,
    }
}
