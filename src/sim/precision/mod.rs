//! Where a kernel rounds to a format narrower than f32.
//!
//! Problem: the proof is over the reals, so a kernel that adds in f16 what its reference adds in f32
//! is equivalent to it, and its user should hear of it all the same. The places are the
//! instructions that narrow a value (conversions, arithmetic in the format, sums and factors of
//! matrix products) and whose results can come to an output, by a backward slice ([`ways`]). What
//! becomes of a narrowed value says how much it matters: it is stored and that is all, further
//! results are computed from it, or it is a sum that goes on to be added to.
//!
//! Sound: a place that is left out reaches no output, and decides no branch, by instructions that are
//! modelled. A place that is listed may reach none: ways are those of the code, not of a run.
//!
//! Not claimed: how large an error is; which values the way of a value through shared memory
//! against the order of the code makes use of ([`Use`] follows the code); roundings by other integer
//! arithmetic than [`cuts`] know; formats of 32 bits and more; the format of an accumulator in tensor memory where its
//! descriptor is no constant; what is lost when a product is added inside of a tensor core to f32.

use crate::kernel::operands::uses;
use crate::kernel::{
    AsyncOp, AtomOp, BulkOp, FloatOp, Fmt, IntOp, Kernel, MatTy, NumTy, Op, Pc, RegId, Rnd, Space,
    Src, TensorKind, TensorOp,
};
use crate::number;

pub mod compare;
mod cuts;
pub mod residual;
mod ways;

use cuts::Registers;
use ways::{Order, Reads, Seed, Ways};

/// What narrows a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Narrowing {
    /// A conversion from a wider type.
    Conversion,
    /// Arithmetic whose result has the format.
    Arithmetic,
    /// A sum of products whose accumulator has the format.
    Accumulator,
    /// A product of matrices that reads f32 as tf32.
    Factor,
    /// An atomic addition to memory that holds the format.
    Atomic,
}

impl Narrowing {
    /// The word that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Narrowing::Conversion => "conversion",
            Narrowing::Arithmetic => "arithmetic",
            Narrowing::Accumulator => "accumulator",
            Narrowing::Factor => "factor",
            Narrowing::Atomic => "atomic",
        }
    }
}

/// What becomes of a narrowed value, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Use {
    /// It is stored, moved or compared.
    Stored,
    /// Something is computed from it.
    Computed,
    /// It is a sum that is added to.
    Summed,
}

impl Use {
    /// The word that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Use::Stored => "stored",
            Use::Computed => "computed",
            Use::Summed => "summed",
        }
    }
}

/// An instruction that narrows values on their way to an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounding {
    /// The instruction.
    pub pc: Pc,
    /// The format.
    pub fmt: Fmt,
    /// What narrows.
    pub kind: Narrowing,
    /// The type that a conversion is from.
    pub from: Option<NumTy>,
    /// Values that one thread's execution rounds, at most.
    pub values: u32,
    /// What becomes of them.
    pub then: Use,
}

/// The roundings of a kernel that can reach an output, in the order of its code.
pub fn roundings(kernel: &Kernel) -> Vec<Rounding> {
    let mut found: Vec<Rounding> = Vec::new();
    let registers = Registers::new(kernel);
    for (pc, inst) in (0u32..).map(Pc).zip(&kernel.insts) {
        let out = &mut found;
        narrows(&inst.op, &registers, &mut RoundingsOf { pc, out });
        if let Some((fmt, values)) = cuts::cut(&inst.op, &registers) {
            found.push(Rounding {
                pc,
                fmt,
                kind: Narrowing::Conversion,
                from: Some(NumTy::Float(Fmt::F32)),
                values: values as u32,
                then: Use::Stored,
            });
        }
    }
    if found.is_empty() {
        return found;
    }
    let ways = Ways::new(kernel);
    let slice = slice(kernel, &ways);
    found.retain(|r| slice[r.pc.0 as usize] || leaves(&kernel.insts[r.pc.0 as usize].op));
    uses_of(kernel, &ways, &slice, &mut found);
    found
}

/// The instructions whose results can come to an output or decide what is executed.
fn slice(kernel: &Kernel, ways: &Ways) -> Vec<bool> {
    let whole = |pc: Pc| {
        let mut reads = Reads {
            memory: true,
            ..Reads::default()
        };
        uses(&kernel.insts[pc.0 as usize], |r| reads.registers.push(r));
        reads
    };
    let mut seeds = Vec::new();
    for (i, inst) in kernel.insts.iter().enumerate() {
        let pc = Pc(i as u32);
        let decides = matches!(
            inst.op,
            Op::Bra { .. } | Op::Brx { .. } | Op::Exit | Op::Trap | Op::Brkpt | Op::AssertFail
        );
        if decides || leaves(&inst.op) {
            uses(inst, |r| seeds.push(Seed::Register(r, pc)));
            if matches!(inst.op, Op::Async(_)) {
                seeds.push(Seed::Memory(pc));
            }
        }
    }
    ways.closure(&seeds, Order::Threads, whole)
}

/// Can an operation write memory that other CTAs or the host see?
fn leaves(op: &Op) -> bool {
    let seen = |s: Space| matches!(s, Space::Global | Space::Generic);
    match op {
        Op::St { access, .. } | Op::Atom { access, .. } => seen(access.space),
        Op::Async(op) => match &**op {
            AsyncOp::WmmaStore { to, .. } => seen(to.space),
            AsyncOp::Bulk(op) => matches!(&**op, BulkOp::Copy(c) if !c.fill),
            _ => false,
        },
        _ => false,
    }
}

/// True for formats whose roundings are listed.
fn narrow(f: Fmt) -> bool {
    f.precision() < Fmt::F32.precision()
}

/// The format of a float.
fn float(ty: NumTy) -> Option<Fmt> {
    match ty {
        NumTy::Float(f) => Some(f),
        NumTy::Int(_) => None,
    }
}

/// Collects the roundings of one instruction.
struct RoundingsOf<'o> {
    pc: Pc,
    out: &'o mut Vec<Rounding>,
}

impl RoundingsOf<'_> {
    fn add(&mut self, fmt: Fmt, kind: Narrowing, from: Option<NumTy>, values: usize) {
        self.out.push(Rounding {
            pc: self.pc,
            fmt,
            kind,
            from,
            values: values as u32,
            then: Use::Stored,
        });
    }

    /// Adds what a product of matrices rounds: its factors, so many, and its sums in registers, if they are floats.
    fn product(&mut self, (a, factors): (MatTy, usize), (d, registers): (Option<Fmt>, usize)) {
        if a == MatTy::Float(Fmt::Tf32) {
            self.add(Fmt::Tf32, Narrowing::Factor, None, factors);
        }
        if let Some(f) = d.filter(|f| narrow(*f)) {
            self.add(f, Narrowing::Accumulator, None, 2 * registers);
        }
    }
}

/// Adds what an instruction rounds.
fn narrows(op: &Op, registers: &Registers, out: &mut RoundingsOf<'_>) {
    match op {
        Op::Cvt {
            from,
            to: NumTy::Float(to),
            src,
            ..
        } if !keeps(registers, src, *from, *to) => {
            let wide = match from {
                NumTy::Float(f) => f.precision(),
                NumTy::Int(t) => u32::from(t.width) - u32::from(t.signed),
            };
            if narrow(*to) && to.precision() < wide {
                out.add(*to, Narrowing::Conversion, Some(*from), 1);
            }
        }
        Op::CvtNarrow {
            from, to, parts, ..
        } if narrow(*to) && to.precision() < from.precision() => {
            let from = NumTy::Float(*from);
            let rounded = parts.iter().filter(|p| !keeps(registers, p, from, *to));
            match rounded.count() {
                0 => {}
                n => out.add(*to, Narrowing::Conversion, Some(from), n),
            }
        }
        Op::Float { op, fmt, lanes, .. } if narrow(*fmt) && !exact(*op) => {
            out.add(*fmt, Narrowing::Arithmetic, None, *lanes as usize);
        }
        Op::Atom {
            access,
            op: AtomOp::Add,
            lanes,
            srcs,
            ..
        } => match access.ty {
            NumTy::Float(f) if narrow(f) => {
                out.add(f, Narrowing::Atomic, None, srcs.len() * *lanes as usize);
            }
            _ => {}
        },
        Op::Mma(m) => {
            out.product((m.a_ty, m.a.len() + m.b.len()), (float(m.d_ty), m.d.len()));
        }
        Op::Async(op) => narrows_later(op, registers, out),
        _ => {}
    }
}

/// Adds what an asynchronous operation rounds.
fn narrows_later(op: &AsyncOp, registers: &Registers, out: &mut RoundingsOf<'_>) {
    match op {
        AsyncOp::Wgmma(m) => {
            let all = m.k as usize * (64 + m.n as usize);
            out.product((m.a_ty, all.div_ceil(128)), (float(m.d_ty), m.d.len()));
        }
        AsyncOp::WmmaMma(m) => {
            let factors = m.srcs[0].len() + m.srcs[1].len();
            let d = match m.d.ty {
                MatTy::Float(f) => Some(f),
                _ => None,
            };
            out.product((m.a.ty, factors), (d, m.dsts.len()));
        }
        AsyncOp::Tensor(op) => {
            if let TensorOp::Mma(m) = &**op {
                let (kind, about) = (&m.kind, &m.about);
                if *kind == TensorKind::Tf32 {
                    out.add(Fmt::Tf32, Narrowing::Factor, None, 1);
                }
                // Bits 4 and 5 of the instruction descriptor: 0 is f16.
                let halves = matches!(kind, TensorKind::F16 | TensorKind::F8);
                if halves && registers.literal(about).is_some_and(|d| d >> 4 & 3 == 0) {
                    out.add(Fmt::F16, Narrowing::Accumulator, None, 1);
                }
            }
        }
        AsyncOp::Bulk(op) => {
            if let BulkOp::Copy(copy) = &**op
                && let Some((AtomOp::Add, Some(NumTy::Float(f)))) = copy.reduce
                && narrow(f)
            {
                out.add(f, Narrowing::Atomic, None, 1);
            }
        }
        _ => {}
    }
}

/// Is an operand a number that a format holds as it is?
fn keeps(registers: &Registers, src: &Src, from: NumTy, to: Fmt) -> bool {
    let Some(bits) = registers.literal(src) else {
        return false;
    };
    let value = match from {
        NumTy::Float(f) => number::to_double(f, bits),
        NumTy::Int(ty) => match i32::try_from(crate::term::sext(bits, ty.width)) {
            Ok(v) if ty.signed || v >= 0 => f64::from(v),
            _ => return false,
        },
    };
    let exact = number::decode(Fmt::F64, value.to_bits());
    let rounded = exact.encode(to, Rnd::Rn);
    rounded.is_some_and(|r| number::to_double(to, r).to_bits() == value.to_bits())
}

/// Does an operation give one of its operands, or one with another sign?
fn exact(op: FloatOp) -> bool {
    use FloatOp::*;
    matches!(op, Neg | Abs | Min | Max | Min3 | Max3 | Copysign)
}

/// Finds what becomes of narrowed values.
fn uses_of(kernel: &Kernel, ways: &Ways, slice: &[bool], found: &mut [Rounding]) {
    let op = |pc: Pc| &kernel.insts[pc.0 as usize].op;
    let copies = |pc: Pc| copied(op(pc));
    let all = || (0..kernel.insts.len()).map(|i| Pc(i as u32));
    let in_use = |pc: Pc| slice[pc.0 as usize] || leaves(op(pc));
    // Everything from which something is computed that matters.
    let mut seeds = Vec::new();
    for pc in all().filter(|pc| in_use(*pc) && computes(op(*pc))) {
        op(pc).uses(&mut |r| seeds.push(Seed::Register(r, pc)));
        seeds.push(Seed::Memory(pc));
    }
    let computed = ways.closure(&seeds, Order::Program, copies);
    for r in found.iter_mut() {
        if computed[r.pc.0 as usize] || r.kind == Narrowing::Factor {
            r.then = Use::Computed;
        }
    }
    let mut formats: Vec<Fmt> = found.iter().map(|r| r.fmt).collect();
    formats.sort_unstable();
    formats.dedup();
    for fmt in formats {
        // Sums in the format: an addition whose result another addition in it adds to.
        let sums = |r: &Rounding| {
            r.fmt == fmt && r.kind == Narrowing::Arithmetic && !addends(op(r.pc)).is_empty()
        };
        let mut seeds = Vec::new();
        for r in found.iter().filter(|r| sums(r)) {
            seeds.extend(addends(op(r.pc)).iter().map(|a| Seed::Register(*a, r.pc)));
        }
        let added = ways.closure(&seeds, Order::Program, copies);
        for r in found.iter_mut() {
            let carried = sums(r) && added[r.pc.0 as usize];
            let own = matches!(r.kind, Narrowing::Accumulator | Narrowing::Atomic);
            if carried || own {
                r.then = Use::Summed;
            }
        }
        // Sums in a wider format that are rounded to this one between additions: what is added to
        // comes from a conversion of a sum, and the result goes to a conversion.
        let converts = |r: &Rounding| r.fmt == fmt && r.kind == Narrowing::Conversion;
        let mut seeds = Vec::new();
        for r in found.iter().filter(|r| converts(r)) {
            op(r.pc).uses(&mut |a| seeds.push(Seed::Register(a, r.pc)));
        }
        let converted = ways.closure(&seeds, Order::Program, copies);
        let mut seeds = Vec::new();
        for pc in all().filter(|pc| converted[pc.0 as usize]) {
            let addends = addends(op(pc));
            seeds.extend(addends.iter().map(|a| Seed::Register(*a, pc)));
        }
        let added = ways.closure(&seeds, Order::Program, copies);
        for r in found.iter_mut() {
            if converts(r) && added[r.pc.0 as usize] && of_sum(kernel, ways, r.pc) {
                r.then = Use::Summed;
            }
        }
    }
}

/// Does an instruction convert the result of an addition?
fn of_sum(kernel: &Kernel, ways: &Ways, pc: Pc) -> bool {
    let op = |pc: Pc| &kernel.insts[pc.0 as usize].op;
    let mut seeds = Vec::new();
    op(pc).uses(&mut |a| seeds.push(Seed::Register(a, pc)));
    let from = ways.closure(&seeds, Order::Program, |pc| match op(pc) {
        // Sums come in registers.
        Op::Ld { .. } => Reads::default(),
        other => copied(other),
    });
    let marked = from.iter().zip(&kernel.insts).filter(|(m, _)| **m);
    marked.map(|(_, i)| &i.op).any(|op| !addends(op).is_empty())
}

/// The operands to which an operation adds.
fn addends(op: &Op) -> Vec<RegId> {
    let mut out = Vec::new();
    let mut src = |s: &Src| {
        if let Src::Reg(r) = s {
            out.push(*r);
        }
    };
    match op {
        Op::Float {
            op: FloatOp::Add | FloatOp::Sub,
            src: [a, b, _],
            ..
        } => [a, b].into_iter().for_each(src),
        Op::Float {
            op: FloatOp::Fma,
            src: [_, _, c],
            ..
        } => src(c),
        Op::Mma(m) => m.c.iter().for_each(src),
        Op::Async(op) => match &**op {
            AsyncOp::Wgmma(m) => out.extend(m.d.iter()),
            AsyncOp::WmmaMma(m) => out.extend(m.srcs[2].iter()),
            _ => {}
        },
        _ => {}
    }
    out
}

/// Does an operation compute with the values of its operands, rather than move or order them?
fn computes(op: &Op) -> bool {
    match op {
        Op::Float { op, .. } => !exact(*op),
        Op::Cvt {
            from: NumTy::Float(_),
            to: NumTy::Int(_),
            ..
        }
        | Op::Mma(_) => true,
        Op::Atom { op, .. } => *op == AtomOp::Add,
        Op::Async(op) => {
            matches!(**op, AsyncOp::Wgmma(_) | AsyncOp::WmmaMma(_))
                || matches!(&**op, AsyncOp::Tensor(t) if matches!(**t, TensorOp::Mma(_)))
        }
        _ => false,
    }
}

/// What of an operation's operands it passes on as they are, in this format or another.
fn copied(op: &Op) -> Reads {
    let mut reads = Reads::default();
    let mut src = |s: &Src| {
        if let Src::Reg(r) = s {
            reads.registers.push(*r);
        }
    };
    match op {
        Op::Ld { .. } | Op::Ldmatrix { .. } | Op::CpAsync { .. } => reads.memory = true,
        Op::St { srcs, .. } => srcs.iter().flatten().for_each(src),
        Op::Stmatrix { srcs, .. } => srcs.iter().for_each(src),
        Op::Selp { a, b, .. } | Op::Slct { a, b, .. } => [a, b].into_iter().for_each(src),
        Op::Shfl { a, .. } => src(a),
        Op::Mov { .. }
        | Op::Pack { .. }
        | Op::Unpack { .. }
        | Op::Movmatrix { .. }
        | Op::CvtNarrow { .. }
        | Op::CvtUnpack2 { .. }
        | Op::Cvt {
            from: NumTy::Float(_),
            to: NumTy::Float(_),
            ..
        } => op.uses(&mut |r| reads.registers.push(r)),
        Op::Float { op: f, .. } if exact(*f) => op.uses(&mut |r| reads.registers.push(r)),
        Op::Int { op: f, .. } if moves_bits(*f) => op.uses(&mut |r| reads.registers.push(r)),
        Op::Async(a) => match &**a {
            AsyncOp::WmmaLoad { .. } => reads.memory = true,
            AsyncOp::WmmaStore { srcs, .. } => reads.registers.extend(srcs.iter()),
            AsyncOp::Tensor(t) => match &**t {
                TensorOp::Load { .. } => reads.memory = true,
                TensorOp::Store { srcs, .. } => srcs.iter().for_each(src),
                _ => {}
            },
            _ => {}
        },
        _ => {}
    }
    reads
}

/// Integer operations that pack, unpack and mask.
fn moves_bits(op: IntOp) -> bool {
    use IntOp::*;
    matches!(
        op,
        And | Or
            | Xor
            | Shl
            | Shr
            | ShfLClamp
            | ShfLWrap
            | ShfRClamp
            | ShfRWrap
            | Lop3(_)
            | Prmt
            | PrmtMode(_)
            | Bfe
            | Bfi
    )
}

#[cfg(test)]
pub(crate) mod tests;
