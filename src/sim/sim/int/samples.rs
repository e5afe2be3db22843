//! Every operation on integers, for the properties of all that gives it a meaning.

use crate::kernel::IntOp;

/// Every operation, for properties; tables and flags are varied by `k`.
pub fn all_ops(k: u8) -> Vec<IntOp> {
    use IntOp::*;
    let (x, y) = (k & 1 == 1, k & 2 == 2);
    let mut ops = vec![
        Add, AddSat, Sub, SubSat, MulLo, MulHi, MulWide, MadLo, MadHi, MadHiSat, MadWide, Mul24Lo,
        Mul24Hi, Mad24Lo, Mad24Hi, Mad24HiSat, AddCarry, SubBorrow, MadLoCarry, MadHiCarry, Sad,
        Div, Rem, Abs, Neg, Min, Max, MinRelu, MaxRelu, And, Or, Xor, Not, Cnot, Shl, Shr,
        ShfLClamp, ShfLWrap, ShfRClamp, ShfRWrap, Prmt, Bfe, Bfi, Popc, Clz, Brev, Bfind,
        BfindShift, Fns, SzextClamp, SzextWrap, BmskClamp, BmskWrap,
    ];
    ops.extend([Lop3(k), Dp4a(x, y), Dp2aLo(x, y), Dp2aHi(x, y)]);
    use crate::kernel::PrmtMode::*;
    ops.extend([F4e, B4e, Rc8, Ecl, Ecr, Rc16].map(PrmtMode));
    ops
}

/// Operations that exist at 32 bits only.
pub fn only_32(op: IntOp) -> bool {
    use IntOp::*;
    matches!(
        op,
        Mul24Lo
            | Mul24Hi
            | Mad24Lo
            | Mad24Hi
            | Mad24HiSat
            | ShfLClamp
            | ShfLWrap
            | ShfRClamp
            | ShfRWrap
            | Prmt
            | PrmtMode(_)
            | Fns
            | SzextClamp
            | SzextWrap
            | BmskClamp
            | BmskWrap
            | Dp4a(..)
            | Dp2aLo(..)
            | Dp2aHi(..)
    )
}
