//! Through which operations what is in a register reaches another register, or memory.
//!
//! Problem: a register that a load is still writing has come by the time at which an access to memory is over that took
//! it as data or address. It need not have come for a computation whose result is the same whatever the register holds.
//! So of each operation it is said which operands its results depend on: an operand is followed through an operation
//! unless the operation gives one result for all values of that operand, the others being what they are.
//!
//! Integer operations are tried on values of the operand, where the bits that count are known on those bits alone.
//!
//! Sound: an operand that is not followed is one that is said to be of no use, so every doubt is "not followed".

use crate::kernel::{
    AsyncOp, Cmp, FloatOp, Fmt, IntOp, IntTy, NumTy, Op, RegId, Space, Src, TensorOp,
};

use super::int;

/// What is known of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperandValue {
    /// Its bits.
    Bits(u64),
    /// That it is a finite constant, and whether that is zero.
    Finite {
        /// It is zero.
        zero: bool,
    },
    /// Nothing.
    Open,
}

/// Bits of a register that depend on something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Extent {
    /// These many bits from the first one on.
    At(u8, u8),
    /// Some of them.
    Some,
}

impl Extent {
    /// The bits as a mask; none where they are not known.
    fn mask(self) -> Option<u64> {
        match self {
            Extent::At(_, 0) => Some(0),
            Extent::At(at, n) => Some(int::mask(n.min(64)) << (at & 63)),
            Extent::Some => None,
        }
    }

    /// All parts of so many bits each in which any of it is.
    fn in_parts(self, n: u8) -> Option<Extent> {
        match self {
            Extent::At(lo, len) if len > 0 && n > 0 => {
                let (from, to) = (lo / n * n, (lo + len).div_ceil(n) * n);
                Some(Extent::At(from, to - from))
            }
            Extent::At(..) | Extent::Some => None,
        }
    }

    /// True if the low bits of this number hold any of it.
    pub(super) fn meets(self, low: u8) -> bool {
        match self {
            Extent::At(at, n) => n > 0 && at < low,
            Extent::Some => true,
        }
    }
}

/// How an operand reaches a result.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way<'a> {
    /// With all its bits where they are.
    Keep,
    /// As bits of a larger result: the first, and how many.
    Into(u8, u8),
    /// Bits of it become the result: the first, and how many.
    From(u8, u8),
    /// Into the same part of the result as that of the operand, of so many bits each; false if an operand that is there
    /// twice may cancel.
    Parts(u8, bool),
    /// Into any bits, from a whole operand of so many bits; false if an operand that is there twice may cancel.
    Mix(u8, bool),
    /// As operand of this number of an integer operation, which is tried.
    Int(IntOp, IntTy, u8, &'a [Src; 4], usize),
    /// As an operand of a comparison.
    Compare(Cmp, IntTy, Src, bool),
    /// The value of another lane.
    Shuffle,
}

impl Way<'_> {
    /// True if an operand that stands there twice may cancel.
    pub(super) fn cancels(&self) -> bool {
        match self {
            Way::Keep | Way::Into(..) | Way::From(..) | Way::Shuffle => false,
            Way::Parts(_, safe) | Way::Mix(_, safe) => !safe,
            Way::Int(op, ..) => !matches!(
                op,
                IntOp::And
                    | IntOp::Or
                    | IntOp::Min
                    | IntOp::Max
                    | IntOp::MulLo
                    | IntOp::MulHi
                    | IntOp::MulWide
            ),
            Way::Compare(..) => true,
        }
    }

    /// Which bits of the result depend on bits of the operand; none if no bit does.
    pub(super) fn through(
        &self,
        from: Extent,
        known: impl Fn(Src) -> OperandValue,
    ) -> Option<Extent> {
        match *self {
            Way::Keep | Way::Shuffle => Some(from),
            Way::Into(at, n) => match from {
                Extent::At(_, 0) => None,
                Extent::At(lo, len) if lo < n => Some(Extent::At(at + lo, len.min(n - lo))),
                Extent::At(..) => None,
                Extent::Some => Some(Extent::At(at, n)),
            },
            Way::From(at, n) => match from {
                Extent::At(lo, len) => {
                    let (from, to) = (lo.max(at), (lo + len).min(at + n));
                    (from < to).then(|| Extent::At(from - at, to - from))
                }
                Extent::Some => None,
            },
            Way::Parts(n, _) => from.in_parts(n),
            Way::Mix(width, _) => match from {
                Extent::At(lo, len) => (lo == 0 && len >= width).then_some(Extent::Some),
                Extent::Some => Some(Extent::Some),
            },
            Way::Int(op, ty, packed, srcs, i) => {
                let Some(bits) = from.mask() else {
                    return (!selects_bits(op) && packed <= 1).then_some(Extent::Some);
                };
                let width = match op {
                    IntOp::Shl | IntOp::Shr if i == 1 => 32,
                    _ => (ty.width * packed.max(1)).min(64),
                };
                let varies = tried(op, ty, packed, srcs, i, bits & int::mask(width), known);
                match (varies, packed > 1, from) {
                    (false, ..) => None,
                    (true, false, _) => Some(Extent::Some),
                    (true, true, from) => from.in_parts(ty.width),
                }
            }
            Way::Compare(cmp, ty, other, left) => {
                let bits = from.mask().unwrap_or(u64::MAX) & int::mask(ty.width);
                let others = samples(known(other));
                let varies = others.iter().any(|&o| {
                    let compared = TRIED.map(|v| {
                        let v = v & bits;
                        let (a, b) = if left { (v, o) } else { (o, v) };
                        int::compare(cmp, ty, a, b)
                    });
                    compared.iter().any(|c| *c != compared[0])
                });
                varies.then_some(Extent::Some)
            }
        }
    }
}

/// The type that bits have where an operation tells none.
const U32: IntTy = IntTy {
    width: 32,
    signed: false,
};

/// Values of an operand with which an operation is tried.
const TRIED: [u64; 5] = [0, u64::MAX, 0x9e37_79b9_7f4a_7c15, 0x1657_a5c3_6b2d_94e8, 1];

/// What an operand may be, of which little is known.
fn samples(known: OperandValue) -> Vec<u64> {
    match known {
        OperandValue::Bits(n) => vec![n],
        OperandValue::Finite { .. } | OperandValue::Open => {
            vec![0x5bd1_e995_c2b2_ae35, 0x27d4_eb2f_1656_67b1]
        }
    }
}

/// Whether the result of an operation changes with bits of one operand.
fn tried(
    op: IntOp,
    ty: IntTy,
    packed: u8,
    srcs: &[Src; 4],
    i: usize,
    bits: u64,
    known: impl Fn(Src) -> OperandValue,
) -> bool {
    let all: Vec<Vec<u64>> = srcs.iter().map(|s| samples(known(*s))).collect();
    (0..2).any(|round| {
        let mut s: [u64; 4] = std::array::from_fn(|k| all[k][round.min(all[k].len() - 1)]);
        let rest = s[i] & !bits;
        let mut first = None;
        TRIED.iter().any(|&v| {
            s[i] = rest | v & bits;
            if int::is_undefined(op, ty, s) {
                return false;
            }
            let got = int::eval_packed(op, ty, packed, s);
            *first.get_or_insert(got) != got
        })
    })
}

/// True for operations that can take some bits of an operand and leave the others.
fn selects_bits(op: IntOp) -> bool {
    use IntOp::*;
    match op {
        And | Or | Xor | Shl | Shr | ShfLClamp | ShfLWrap | ShfRClamp | ShfRWrap | Lop3(_)
        | Prmt | PrmtMode(_) | Bfe | Bfi | MulHi | MulWide | MulLo | MadLo | MadHi | MadWide
        | Mul24Lo | Mul24Hi | Mad24Lo | Mad24Hi | MadHiSat | Mad24HiSat | MadLoCarry
        | MadHiCarry | Dp4a(..) | Dp2aLo(..) | Dp2aHi(..) | Rem | Div | SzextClamp | SzextWrap
        | BmskClamp | BmskWrap | Fns => true,
        Add | AddSat | Sub | SubSat | AddCarry | SubBorrow | Sad | Abs | Neg | Min | Max
        | MinRelu | MaxRelu | Not | Cnot | Popc | Clz | Brev | Bfind | BfindShift => false,
    }
}

/// True if a known number makes one result of every other operand: infinities and what is no number, and zero as a factor.
fn absorbs(fmt: Fmt, known: OperandValue, factor: bool) -> bool {
    let (bits, infinite) = match (fmt, known) {
        (_, OperandValue::Open) => return false,
        (_, OperandValue::Finite { zero }) => return zero && factor,
        (Fmt::F16, OperandValue::Bits(n)) => (n & 0x7fff, 0x7c00),
        (Fmt::Bf16, OperandValue::Bits(n)) => (n & 0x7fff, 0x7f80),
        (Fmt::F32 | Fmt::Tf32, OperandValue::Bits(n)) => (n & 0x7fff_ffff, 0x7f80_0000),
        (Fmt::F64, OperandValue::Bits(n)) => (n & !(1 << 63), 0x7ff0 << 48),
        (_, OperandValue::Bits(_)) => return true,
    };
    bits >= infinite || factor && bits == 0
}

/// The same of packed numbers.
fn absorbs_any(fmt: Fmt, lanes: u8, known: OperandValue, factor: bool) -> bool {
    match known {
        OperandValue::Bits(n) if lanes > 1 => (0..u32::from(lanes)).any(|l| {
            let part = n.checked_shr(l * fmt.bits()).unwrap_or(0) & int::mask(fmt.bits() as u8);
            absorbs(fmt, OperandValue::Bits(part), factor)
        }),
        known => absorbs(fmt, known, factor),
    }
}

/// Calls `f` with each result of an operation, each operand that it may depend on, and how it gets there.
pub(super) fn carried(
    op: &Op,
    known: &impl Fn(Src) -> OperandValue,
    f: &mut impl FnMut(RegId, RegId, Way<'_>),
) {
    let mut give = |dst: RegId, src: Src, way: Way<'_>| {
        if let Src::Reg(r) = src {
            f(dst, r, way);
        }
    };
    match op {
        Op::Mov { .. }
        | Op::Pack { .. }
        | Op::Unpack { .. }
        | Op::Selp { .. }
        | Op::Slct { .. }
        | Op::Cvt { .. }
        | Op::CvtNarrow { .. }
        | Op::Shfl { .. } => moved(op, &mut give),
        Op::Int { .. }
        | Op::Lop3Bool { .. }
        | Op::Float { .. }
        | Op::Setp { .. }
        | Op::Set { .. } => computed(op, known, &mut give),
        // Nothing is said of these, nor of what has no result.
        Op::Special { .. }
        | Op::Testp { .. }
        | Op::CvtUnpack2 { .. }
        | Op::CvtPackSat { .. }
        | Op::Cvta { .. }
        | Op::IsSpace { .. }
        | Op::Ld { .. }
        | Op::St { .. }
        | Op::Atom { .. }
        | Op::Fence { .. }
        | Op::Bar { .. }
        | Op::WarpSync { .. }
        | Op::Vote { .. }
        | Op::Match { .. }
        | Op::Redux { .. }
        | Op::Elect { .. }
        | Op::ActiveMask { .. }
        | Op::Bra { .. }
        | Op::Brx { .. }
        | Op::Exit
        | Op::Trap
        | Op::Brkpt
        | Op::AssertFail
        | Op::Printf { .. }
        | Op::Mma(_)
        | Op::Ldmatrix { .. }
        | Op::Stmatrix { .. }
        | Op::Movmatrix { .. }
        | Op::CpAsync { .. }
        | Op::CpAsyncCommit
        | Op::CpAsyncWait { .. }
        | Op::Async(_)
        | Op::GridWait
        | Op::GridLaunch
        | Op::Nop
        | Op::CallDepth
        | Op::Unsupported(_) => {}
    }
}

/// Gives the operands of operations that copy, choose or convert values.
fn moved(op: &Op, give: &mut impl FnMut(RegId, Src, Way<'_>)) {
    match op {
        Op::Mov { dst, src, .. } => give(*dst, *src, Way::Keep),
        Op::Pack { dst, part, srcs } => {
            for (i, s) in srcs.iter().enumerate() {
                give(*dst, *s, Way::Into(i as u8 * part, *part));
            }
        }
        Op::Unpack { dsts, part, src } => {
            for (i, d) in dsts.iter().enumerate() {
                if let Some(d) = d {
                    give(*d, *src, Way::From(i as u8 * part, *part));
                }
            }
        }
        Op::Selp { dst, a, b, p, .. } => {
            give(*dst, *a, Way::Keep);
            give(*dst, *b, Way::Keep);
            if a != b {
                give(*dst, Src::Reg(p.reg), Way::Mix(1, true));
            }
        }
        Op::Slct { dst, a, b, .. } => {
            give(*dst, *a, Way::Keep);
            give(*dst, *b, Way::Keep);
        }
        Op::Cvt { dst, src, from, .. } => {
            give(*dst, *src, Way::Mix(from.bits().min(64) as u8, true));
        }
        Op::CvtNarrow {
            dst,
            parts,
            from,
            to,
            ..
        } => {
            let n = to.bits() as u8;
            for (i, s) in parts.iter().enumerate() {
                let way = match to {
                    Fmt::E2m1 => Way::Mix(from.bits() as u8, true),
                    _ => Way::Into(i as u8 * n, n),
                };
                give(*dst, *s, way);
            }
        }
        Op::Shfl { dst, a, .. } => give(*dst, *a, Way::Shuffle),
        _ => {}
    }
}

/// Gives the operands of arithmetic and of comparisons.
fn computed(
    op: &Op,
    known: &impl Fn(Src) -> OperandValue,
    give: &mut impl FnMut(RegId, Src, Way<'_>),
) {
    match op {
        Op::Int {
            op,
            ty,
            lanes,
            dst: Some(dst),
            src,
            ..
        } => {
            for i in 0..op.arity() {
                give(*dst, src[i], Way::Int(*op, *ty, *lanes, src, i));
            }
        }
        Op::Lop3Bool {
            table,
            dst: Some(dst),
            src,
            ..
        } => {
            let all = [src[0], src[1], src[2], Src::Imm(0)];
            for (i, s) in src.iter().enumerate() {
                give(*dst, *s, Way::Int(IntOp::Lop3(*table), U32, 1, &all, i));
            }
        }
        Op::Float {
            op,
            fmt,
            src_fmt,
            lanes,
            dst,
            src,
            ..
        } => {
            let give = |src: Src, way: Way<'_>| give(*dst, src, way);
            floats(*op, (*src_fmt, *fmt, *lanes), src, known, give);
        }
        Op::Setp {
            cmp,
            ty,
            p,
            q,
            a,
            b,
            ..
        } => {
            for dst in [p, q].into_iter().flatten() {
                compared(*dst, (*cmp, *ty), (*a, *b), known, give);
            }
        }
        Op::Set {
            cmp, ty, dst, a, b, ..
        } => compared(*dst, (*cmp, *ty), (*a, *b), known, give),
        _ => {}
    }
}

/// Gives the operands of arithmetic on floats of one format, whose result may have another.
fn floats(
    op: FloatOp,
    (src_fmt, fmt, lanes): (Fmt, Fmt, u8),
    src: &[Src],
    known: &impl Fn(Src) -> OperandValue,
    mut give: impl FnMut(Src, Way<'_>),
) {
    let safe = matches!(op, FloatOp::Mul | FloatOp::Min | FloatOp::Max);
    let way = match lanes {
        0 | 1 => Way::Mix(src_fmt.bits().min(fmt.bits()) as u8, safe),
        _ => Way::Parts(fmt.bits() as u8, safe),
    };
    let n = op.arity();
    for i in 0..n {
        let dead = (0..n).filter(|k| *k != i).any(|k| {
            let factor = match op {
                FloatOp::Mul | FloatOp::Div => true,
                FloatOp::Fma => i < 2 && k < 2,
                FloatOp::Add
                | FloatOp::Sub
                | FloatOp::Rcp
                | FloatOp::Sqrt
                | FloatOp::Rsqrt
                | FloatOp::Ex2
                | FloatOp::Lg2
                | FloatOp::Sin
                | FloatOp::Cos
                | FloatOp::Tanh
                | FloatOp::Neg
                | FloatOp::Abs
                | FloatOp::Min
                | FloatOp::Max
                | FloatOp::Min3
                | FloatOp::Max3
                | FloatOp::Copysign => false,
            };
            absorbs_any(fmt, lanes, known(src[k]), factor)
        });
        if !dead {
            give(src[i], way);
        }
    }
}

/// The operands of a comparison.
fn compared(
    dst: RegId,
    (cmp, ty): (Cmp, NumTy),
    (a, b): (Src, Src),
    known: &impl Fn(Src) -> OperandValue,
    give: &mut impl FnMut(RegId, Src, Way<'_>),
) {
    match ty {
        NumTy::Int(ty) => {
            give(dst, a, Way::Compare(cmp, ty, b, true));
            give(dst, b, Way::Compare(cmp, ty, a, false));
        }
        NumTy::Float(fmt) => {
            for (s, other) in [(a, b), (b, a)] {
                if !absorbs(fmt, known(other), false) {
                    give(dst, s, Way::Mix(fmt.bits() as u8, false));
                }
            }
        }
    }
}

/// Calls `f` with each register that an access to memory takes as data, with how many bits, or as an address. Those that
/// are not over when their instruction is are left out.
pub(super) fn accessed(op: &Op, f: &mut impl FnMut(RegId, u8)) {
    let mut give = |src: Src, bits: u8| {
        if let Src::Reg(r) = src {
            f(r, bits);
        }
    };
    match op {
        Op::St { access, srcs, addr } => {
            for s in srcs.iter().flatten() {
                give(*s, access.ty.bits().min(64) as u8);
            }
            give(addr.base, 64);
        }
        Op::Ld { access, addr, .. } => {
            if access.space != Space::Param {
                give(addr.base, 64);
            }
        }
        Op::Atom {
            access,
            addr,
            srcs,
            cas,
            ..
        } => {
            for s in srcs.iter().chain(cas) {
                give(*s, access.ty.bits().min(64) as u8);
            }
            give(addr.base, 64);
        }
        Op::Stmatrix { srcs, addr, .. } => {
            for s in srcs {
                give(*s, 32);
            }
            give(addr.base, 64);
        }
        Op::Ldmatrix { addr, .. } => give(addr.base, 64),
        Op::Mov { .. }
        | Op::Special { .. }
        | Op::Pack { .. }
        | Op::Unpack { .. }
        | Op::Int { .. }
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
        | Op::IsSpace { .. }
        | Op::Fence { .. }
        | Op::Bar { .. }
        | Op::WarpSync { .. }
        | Op::Shfl { .. }
        | Op::Vote { .. }
        | Op::Match { .. }
        | Op::Redux { .. }
        | Op::Elect { .. }
        | Op::ActiveMask { .. }
        | Op::Bra { .. }
        | Op::Brx { .. }
        | Op::Exit
        | Op::Trap
        | Op::Brkpt
        | Op::AssertFail
        | Op::Printf { .. }
        | Op::Mma(_)
        | Op::Movmatrix { .. }
        | Op::CpAsync { .. }
        | Op::CpAsyncCommit
        | Op::CpAsyncWait { .. }
        | Op::GridWait
        | Op::GridLaunch
        | Op::Nop
        | Op::CallDepth
        | Op::Unsupported(_) => {}
        Op::Async(op) => none_at_once(op),
    }
}

/// An asynchronous operation gives [`accessed`] no registers: it is not over when its instruction is. The match has all
/// of them, so that a new one does not compile before it is known to be so.
fn none_at_once(op: &AsyncOp) {
    match op {
        AsyncOp::Tensor(op) => match &**op {
            // Its registers count from its wait.
            TensorOp::Store { .. }
            | TensorOp::Alloc { .. }
            | TensorOp::Dealloc { .. }
            | TensorOp::Relinquish(_)
            | TensorOp::Load { .. }
            | TensorOp::Wait(_)
            | TensorOp::Mma(_)
            | TensorOp::Copy { .. }
            | TensorOp::Commit { .. }
            | TensorOp::Fence(_) => {}
        },
        AsyncOp::Init { .. }
        | AsyncOp::Inval { .. }
        | AsyncOp::Arrive { .. }
        | AsyncOp::Bytes { .. }
        | AsyncOp::Wait { .. }
        | AsyncOp::CopyArrive { .. }
        | AsyncOp::ProxyFence { .. }
        | AsyncOp::InitFence
        | AsyncOp::Wgmma(_)
        | AsyncOp::WmmaLoad { .. }
        | AsyncOp::WmmaStore { .. }
        | AsyncOp::WmmaMma(_)
        | AsyncOp::Bulk(_)
        | AsyncOp::Cluster(_)
        | AsyncOp::Registers { .. }
        | AsyncOp::WgmmaFence
        | AsyncOp::WgmmaCommit
        | AsyncOp::WgmmaWait { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(op: IntOp, i: usize, other: OperandValue, from: Extent) -> Option<Extent> {
        let srcs = [
            Src::Reg(RegId(0)),
            Src::Reg(RegId(1)),
            Src::Imm(0),
            Src::Imm(0),
        ];
        let known = |s: Src| match s {
            Src::Imm(n) => OperandValue::Bits(n),
            Src::Reg(r) if r.0 as usize == i => OperandValue::Open,
            _ => other,
        };
        Way::Int(op, U32, 1, &srcs, i).through(from, known)
    }

    #[test]
    fn an_operand_that_makes_no_difference_is_not_followed() {
        let whole = Extent::At(0, 32);
        for (op, other, followed) in [
            (IntOp::And, OperandValue::Bits(0), false),
            (IntOp::And, OperandValue::Bits(1), true),
            (IntOp::And, OperandValue::Open, true),
            (IntOp::Or, OperandValue::Bits(0xffff_ffff), false),
            (IntOp::MulLo, OperandValue::Bits(0), false),
            (IntOp::Add, OperandValue::Bits(7), true),
            (IntOp::Shl, OperandValue::Bits(32), false),
            (IntOp::Shr, OperandValue::Bits(31), true),
            (IntOp::Min, OperandValue::Bits(0), false),
            (IntOp::Rem, OperandValue::Bits(1), false),
        ] {
            assert_eq!(
                of(op, 0, other, whole).is_some(),
                followed,
                "{op:?} {other:?}"
            );
        }
        // The upper half is shifted out.
        assert_eq!(
            of(IntOp::Shl, 0, OperandValue::Bits(16), Extent::At(16, 16)),
            None
        );
        assert!(of(IntOp::Shr, 0, OperandValue::Bits(16), Extent::At(16, 16)).is_some());
        let half = Way::From(0, 16).through(Extent::At(16, 16), |_| OperandValue::Open);
        assert_eq!(half, None);
        let packed = Way::Into(16, 16).through(Extent::Some, |_| OperandValue::Open);
        assert_eq!(packed, Some(Extent::At(16, 16)));
        assert!(absorbs(Fmt::F32, OperandValue::Bits(0x8000_0000), true));
        assert!(!absorbs(Fmt::F32, OperandValue::Bits(0x8000_0000), false));
    }
}
