//! Variables of calls as registers.
//!
//! The problem: arguments and results of calls that were expanded go through `.param` variables, which lie in local memory;
//! an analysis that does not follow memory loses what an argument was. Source: PTX ISA 9.0, section 7.1: such a variable
//! whose address is not taken is named by loads and stores alone. Where each of them is of one whole piece, and no
//! two pieces overlap, a piece is a register: a store writes it, a load reads it. Instructions keep their places.
//!
//! Not claimed: pieces that are accessed in two ways, as vectors or by other operations stay in memory.

use std::collections::BTreeMap;

use super::{Addr, Inst, IntTy, Kernel, NumTy, Op, RegId, Space, Src, lies_in_one};

/// A piece of local memory: its first byte and its bits.
type Piece = (u32, u32);

/// The kernel with its `.param` variables in registers.
pub fn promoted(kernel: &Kernel) -> Kernel {
    let mut out = kernel.clone();
    let mut pieces: BTreeMap<u32, (u32, Option<RegId>)> = BTreeMap::new();
    let mut kept: Vec<(i64, i64)> = Vec::new();
    for inst in &kernel.insts {
        match accessed(inst) {
            Some(Ok((at, bits))) => {
                let known = pieces.entry(at).or_insert((bits, None)).0;
                if known != bits {
                    let most = known.max(bits);
                    kept.push((i64::from(at), i64::from(at + most / 8)));
                }
            }
            Some(Err(range)) => kept.push(range),
            None => {}
        }
    }
    let mut before: Option<Piece> = None;
    for (&at, &(bits, _)) in &pieces {
        let end = at + bits / 8;
        if let Some((from, until)) = before.filter(|b| b.1 > at) {
            kept.push((i64::from(from), i64::from(until.max(end))));
        }
        before = Some((at, before.map_or(end, |b| b.1.max(end))));
    }
    let unaddressed = kernel.unaddressed_in_order();
    pieces.retain(|&at, (bits, _)| {
        let (from, end) = (at, at + *bits / 8);
        let apart = |range: &(i64, i64)| i64::from(end) <= range.0 || range.1 <= i64::from(from);
        let piece = (i64::from(from), i64::from(end));
        lies_in_one(&unaddressed, piece) && kept.iter().all(apart)
    });
    for (at, (bits, reg)) in &mut pieces {
        *reg = Some(RegId(out.reg_width.len() as u32));
        out.reg_width.push(*bits as u8);
        out.reg_name.push(format!("%param{at}"));
    }
    for inst in &mut out.insts {
        let Some(Ok((at, _))) = accessed(inst) else {
            continue;
        };
        if let Some((_, Some(reg))) = pieces.get(&at) {
            let widths = &out.reg_width;
            let moved = moved(&inst.op, *reg, widths);
            inst.op = moved.unwrap_or_else(|| inst.op.clone());
        }
    }
    out
}

/// The piece of local memory that an instruction accesses as a whole, or the bytes that it names in another way; `None`
/// for one that names none.
fn accessed(inst: &Inst) -> Option<Result<Piece, (i64, i64)>> {
    let (access, addr, count) = match &inst.op {
        Op::Ld {
            access, dsts, addr, ..
        } => (access, addr, dsts.len()),
        Op::St { access, srcs, addr } => (access, addr, srcs.len()),
        Op::Printf { result: Some(at) } => {
            return Some(Err((i64::from(*at), i64::from(*at) + 4)));
        }
        _ => return None,
    };
    let Addr {
        base: Src::Var(Space::Local, at, plus),
        offset,
    } = addr
    else {
        return None;
    };
    let from = i64::from(*at).wrapping_add(*plus).wrapping_add(*offset);
    let bits = access.ty.bits();
    match u32::try_from(from) {
        Ok(at) if count == 1 && !access.volatile && bits % 8 == 0 && bits <= 64 => {
            Some(Ok((at, bits)))
        }
        _ => Some(Err((
            from,
            from.saturating_add(count as i64 * i64::from(bits) / 8),
        ))),
    }
}

/// An access to a piece as one to a register.
fn moved(op: &Op, piece: RegId, widths: &[u8]) -> Option<Op> {
    let width = widths[piece.0 as usize];
    match op {
        Op::St { srcs, .. } => Some(Op::Mov {
            dst: piece,
            src: (*srcs.first()?)?,
            width,
        }),
        Op::Ld { access, dsts, .. } => {
            let dst = (*dsts.first()?)?;
            let to = widths[dst.0 as usize];
            if to == width {
                let src = Src::Reg(piece);
                return Some(Op::Mov { dst, src, width });
            }
            let signed = matches!(access.ty, NumTy::Int(ty) if ty.signed);
            let ty = |width| NumTy::Int(IntTy { width, signed });
            Some(Op::Cvt {
                from: ty(width),
                to: ty(to),
                rnd: super::Rnd::None,
                sat: false,
                satfinite: false,
                relu: false,
                ftz: false,
                dst,
                src: Src::Reg(piece),
            })
        }
        _ => None,
    }
}
