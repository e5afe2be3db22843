//! Corner cases worked out from the manual, and properties against a second implementation that
//! follows its pseudo-code bit by bit or in 128-bit arithmetic.

use proptest::prelude::*;

use super::samples::{all_ops, only_32};
use super::*;

const U16: IntTy = ty(16, false);
const S16: IntTy = ty(16, true);
const U32: IntTy = ty(32, false);
const S32: IntTy = ty(32, true);
const U64: IntTy = ty(64, false);
const S64: IntTy = ty(64, true);

const fn ty(width: u8, signed: bool) -> IntTy {
    IntTy { width, signed }
}

fn one(op: IntOp, ty: IntTy, s: [u64; 4]) -> u64 {
    eval(op, ty, s).0
}

#[test]
fn corner_cases() {
    use IntOp::*;
    let min32 = 0x8000_0000;
    let neg1 = 0xffff_ffff;
    let max64 = u64::MAX;
    #[rustfmt::skip]
    let table: &[(IntOp, IntTy, [u64; 4], u64)] = &[
        (Add, U32, [neg1, 1, 0, 0], 0),
        (Add, U32, [0xdead_0000_0001, 0xbeef_0000_0002, 0, 0], 3),
        (Add, U16, [0xffff, 2, 0, 0], 1),
        (Add, U64, [max64, 1, 0, 0], 0),
        (AddSat, S32, [0x7fff_ffff, 1, 0, 0], 0x7fff_ffff),
        (AddSat, S32, [min32, neg1, 0, 0], min32),
        (AddSat, S32, [neg1, 1, 0, 0], 0),
        (Sub, U32, [0, 1, 0, 0], neg1),
        (SubSat, S32, [min32, 1, 0, 0], min32),
        (SubSat, S32, [0x7fff_ffff, neg1, 0, 0], 0x7fff_ffff),
        (MulLo, S32, [neg1, neg1, 0, 0], 1),
        (MulLo, U64, [1 << 63, 2, 0, 0], 0),
        (MulHi, U32, [neg1, neg1, 0, 0], 0xffff_fffe),
        (MulHi, S32, [neg1, neg1, 0, 0], 0),
        (MulHi, S32, [min32, min32, 0, 0], 0x4000_0000),
        (MulHi, S32, [neg1, 1, 0, 0], neg1),
        (MulHi, U64, [max64, max64, 0, 0], max64 - 1),
        (MulHi, S64, [max64, 5, 0, 0], max64),
        (MulHi, U16, [0xffff, 0xffff, 0, 0], 0xfffe),
        (MulWide, U16, [0xffff, 0xffff, 0, 0], 0xfffe_0001),
        (MulWide, S16, [0xffff, 2, 0, 0], 0xffff_fffe),
        (MulWide, U32, [neg1, neg1, 0, 0], 0xffff_fffe_0000_0001),
        (MulWide, S32, [neg1, 7, 0, 0], -7i64 as u64),
        (MadLo, U32, [3, 5, neg1, 0], 14),
        (MadHi, S32, [min32, min32, 1, 0], 0x4000_0001),
        (MadHiSat, S32, [min32, min32, 0x7fff_ffff, 0], 0x7fff_ffff),
        (MadHiSat, S32, [min32, 0x7fff_ffff, min32, 0], min32),
        (MadWide, S32, [neg1, 1, 1, 0], 0),
        (MadWide, U32, [neg1, neg1, max64, 0], 0xffff_fffe_0000_0000),
        (MadWide, U16, [0xffff, 0xffff, 0xffff_ffff, 0], 0xfffe_0000),
        (Mul24Lo, U32, [0xff00_0002, 0xff00_0003, 0, 0], 6),
        (Mul24Lo, S32, [0x00ff_ffff, 3, 0, 0], 0xffff_fffd),
        (Mul24Hi, U32, [0xff_ffff, 0xff_ffff, 0, 0], 0xffff_fe00),
        (Mul24Hi, S32, [0xff_ffff, 1, 0, 0], neg1),
        (Mad24Lo, U32, [2, 3, 4, 0], 10),
        (Mad24Hi, U32, [0x80_0000, 0x80_0000, 1, 0], 0x4000_0001),
        (Mad24HiSat, S32, [0x80_0000, 0x80_0000, 0x7fff_ffff, 0], 0x7fff_ffff),
        (Sad, U32, [1, 3, 10, 0], 12),
        (Sad, U32, [neg1, 1, 10, 0], 8),
        (Sad, S32, [neg1, 1, 10, 0], 12),
        (Sad, S32, [min32, 0x7fff_ffff, 0, 0], neg1),
        (Div, S32, [min32, neg1, 0, 0], min32),
        (Div, S32, [-7i64 as u64, 2, 0, 0], 0xffff_fffd),
        (Div, U32, [-7i64 as u64, 2, 0, 0], 0x7fff_fffc),
        (Div, U32, [7, 0, 0, 0], neg1),
        (Div, S64, [1 << 63, max64, 0, 0], 1 << 63),
        (Rem, S32, [-7i64 as u64, 2, 0, 0], neg1),
        (Rem, S32, [7, -2i64 as u64, 0, 0], 1),
        (Rem, S32, [min32, neg1, 0, 0], 0),
        (Rem, U32, [7, 0x1_0000_0000, 0, 0], neg1),
        (Abs, S32, [neg1, 0, 0, 0], 1),
        (Abs, S32, [min32, 0, 0, 0], min32),
        (Abs, S16, [0xffff_8001, 0, 0, 0], 0x7fff),
        (Neg, S32, [1, 0, 0, 0], neg1),
        (Neg, S32, [min32, 0, 0, 0], min32),
        (Min, S32, [neg1, 1, 0, 0], neg1),
        (Min, U32, [neg1, 1, 0, 0], 1),
        (Min, U32, [0xf_0000_0002, 1, 0, 0], 1),
        (Max, S32, [neg1, 1, 0, 0], 1),
        (Max, U32, [neg1, 1, 0, 0], neg1),
        (Max, S64, [1 << 63, 0, 0, 0], 0),
        (MinRelu, S32, [neg1, 1, 0, 0], 0),
        (MaxRelu, S32, [neg1, min32, 0, 0], 0),
        (MaxRelu, S32, [neg1, 5, 0, 0], 5),
        (And, U32, [0xf0f0, 0xff00, 0, 0], 0xf000),
        (And, ty(1, false), [3, 1, 0, 0], 1),
        (Or, U32, [0xf0, 0x0f, 0, 0], 0xff),
        (Xor, ty(1, false), [1, 1, 0, 0], 0),
        (Not, ty(1, false), [1, 0, 0, 0], 0),
        (Not, U16, [0x00ff, 0, 0, 0], 0xff00),
        (Cnot, U32, [0, 0, 0, 0], 1),
        (Cnot, U32, [0x1_0000_0000, 0, 0, 0], 1),
        (Cnot, U32, [2, 0, 0, 0], 0),
        (Shl, U32, [1, 31, 0, 0], min32),
        (Shl, U32, [neg1, 32, 0, 0], 0),
        (Shl, U32, [neg1, neg1, 0, 0], 0),
        (Shl, U64, [1, 32, 0, 0], 0x1_0000_0000),
        (Shl, U64, [max64, 64, 0, 0], 0),
        (Shl, U16, [1, 16, 0, 0], 0),
        (Shl, U32, [5, 0xf_0000_0001, 0, 0], 10),
        (Shr, U32, [min32, 31, 0, 0], 1),
        (Shr, U32, [neg1, 32, 0, 0], 0),
        (Shr, S32, [min32, 32, 0, 0], neg1),
        (Shr, S32, [min32, neg1, 0, 0], neg1),
        (Shr, S32, [0x7fff_ffff, 40, 0, 0], 0),
        (Shr, S64, [1 << 63, 64, 0, 0], max64),
        (Shr, U64, [1 << 63, 63, 0, 0], 1),
        (Shr, S16, [0x8000, 3, 0, 0], 0xf000),
        (ShfLClamp, U32, [0x8000_0000, 1, 1, 0], 3),
        (ShfLClamp, U32, [7, 1, 32, 0], 7),
        (ShfLClamp, U32, [7, 1, 33, 0], 7),
        (ShfLWrap, U32, [7, 1, 32, 0], 1),
        (ShfLWrap, U32, [0x8000_0000, 1, 33, 0], 3),
        (ShfRClamp, U32, [2, 1, 1, 0], 0x8000_0001),
        (ShfRClamp, U32, [2, 9, 100, 0], 9),
        (ShfRWrap, U32, [2, 9, 32, 0], 2),
        (Lop3(0xf0), U32, [0x123, 0x456, 0x789, 0], 0x123),
        (Lop3(0xcc), U32, [0x123, 0x456, 0x789, 0], 0x456),
        (Lop3(0xaa), U32, [0x123, 0x456, 0x789, 0], 0x789),
        (Lop3(0xf0 & (0xcc ^ 0xaa)), U32, [0x123, 0x456, 0x789, 0], 0x123 & (0x456 ^ 0x789)),
        (Lop3(0x96), U32, [0x123, 0x456, 0x789, 0], 0x123 ^ 0x456 ^ 0x789),
        (Lop3(0x00), U32, [0x123, 0x456, 0x789, 0], 0),
        (Lop3(0xff), U32, [0x123, 0x456, 0x789, 0], neg1),
        (Prmt, U32, [0x0302_0100, 0x0706_0504, 0x7654, 0], 0x0706_0504),
        (Prmt, U32, [0x0302_0100, 0x0706_0504, 0x0123, 0], 0x0001_0203),
        (Prmt, U32, [0x0302_0180, 0x0706_0504, 0x8888, 0], neg1),
        (Prmt, U32, [0x0302_0180, 0x0706_0504, 0x9180, 0], 0x0001_ff80),
        (PrmtMode(super::PrmtMode::F4e), U32, [0x0302_0100, 0x0706_0504, 3, 0], 0x0605_0403),
        (PrmtMode(super::PrmtMode::B4e), U32, [0x0302_0100, 0x0706_0504, 0, 0], 0x0506_0700),
        (PrmtMode(super::PrmtMode::B4e), U32, [0x0302_0100, 0x0706_0504, 3, 0], 0x0001_0203),
        (PrmtMode(super::PrmtMode::Rc8), U32, [0x0302_0100, 0x0706_0504, 6, 0], 0x0202_0202),
        (PrmtMode(super::PrmtMode::Ecl), U32, [0x0302_0100, 0x0706_0504, 2, 0], 0x0302_0202),
        (PrmtMode(super::PrmtMode::Ecr), U32, [0x0302_0100, 0x0706_0504, 1, 0], 0x0101_0100),
        (PrmtMode(super::PrmtMode::Rc16), U32, [0x0302_0100, 0x0706_0504, 3, 0], 0x0302_0302),
        (Bfe, U32, [0xabcd, 4, 8, 0], 0xbc),
        (Bfe, S32, [0xabcd, 4, 8, 0], 0xffff_ffbc),
        (Bfe, S32, [0xabcd, 4, 0, 0], 0),
        (Bfe, S32, [min32, 28, 10, 0], 0xffff_fff8),
        (Bfe, U32, [min32, 28, 10, 0], 8),
        (Bfe, S32, [min32, 40, 1, 0], neg1),
        (Bfe, U32, [neg1, 40, 1, 0], 0),
        (Bfe, S64, [1 << 63, 200, 200, 0], max64),
        (Bfe, U32, [neg1, 0x100, 0x104, 0], 15),
        (Bfi, U32, [0xff, 0x1234_5678, 8, 8, ], 0x1234_ff78),
        (Bfi, U32, [0xff, 0x1234_5678, 8, 0], 0x1234_5678),
        (Bfi, U32, [0xff, 0x1234_5678, 32, 8], 0x1234_5678),
        (Bfi, U32, [0xff, 0x1234_5678, 28, 200], 0xf234_5678),
        (Bfi, U64, [max64, 0, 60, 255], 0xf000_0000_0000_0000),
        (Bfi, U64, [max64, 0, 0, 64], max64),
        (Popc, U32, [0xf_ffff_ffff, 0, 0, 0], 32),
        (Popc, U64, [max64, 0, 0, 0], 64),
        (Clz, U32, [0, 0, 0, 0], 32),
        (Clz, U64, [0, 0, 0, 0], 64),
        (Clz, U32, [0x1_0000_0001, 0, 0, 0], 31),
        (Brev, U32, [1, 0, 0, 0], min32),
        (Brev, U64, [1, 0, 0, 0], 1 << 63),
        (Bfind, U32, [0, 0, 0, 0], neg1),
        (Bfind, U32, [min32, 0, 0, 0], 31),
        (Bfind, S32, [neg1, 0, 0, 0], neg1),
        (Bfind, S32, [0xffff_fff0, 0, 0, 0], 3),
        (Bfind, U64, [1 << 40, 0, 0, 0], 40),
        (BfindShift, U32, [1, 0, 0, 0], 31),
        (BfindShift, S64, [1, 0, 0, 0], 63),
        (BfindShift, U32, [0, 0, 0, 0], neg1),
        (Fns, U32, [0xaaaa_aaaa, 3, 1, 0], 3),
        (Fns, U32, [0xaaaa_aaaa, 3, neg1, 0], 3),
        (Fns, U32, [0xaaaa_aaaa, 2, 1, 0], 3),
        (Fns, U32, [0xaaaa_aaaa, 2, neg1, 0], 1),
        (Fns, U32, [0xaaaa_aaaa, 2, 0, 0], neg1),
        (Fns, U32, [0xaaaa_aaaa, 3, 0, 0], 3),
        (Fns, U32, [0xaaaa_aaaa, 0, 17, 0], neg1),
        (Fns, U32, [neg1, 0, 0x8000_0000, 0], neg1),
        (SzextClamp, S32, [0xff, 8, 0, 0], neg1),
        (SzextClamp, S32, [0xff, 0, 0, 0], 0),
        (SzextClamp, S32, [0x8000_00ff, 32, 0, 0], 0x8000_00ff),
        (SzextWrap, U32, [neg1, 0, 0, 0], 0),
        (SzextWrap, U32, [neg1, 36, 0, 0], 15),
        (SzextWrap, S32, [neg1, 32, 0, 0], 0),
        (BmskWrap, U32, [1, 2, 0, 0], 6),
        (BmskClamp, U32, [32, 4, 0, 0], 0),
        (BmskClamp, U32, [30, 100, 0, 0], 0xc000_0000),
        (BmskClamp, U32, [0, 32, 0, 0], neg1),
        (BmskWrap, U32, [0, 32, 0, 0], 0),
        (BmskWrap, U32, [33, 1, 0, 0], 2),
        (Dp4a(false, false), U32, [0xffff_ffff, 0x0101_0101, 5, 0], 4 * 255 + 5),
        (Dp4a(true, true), S32, [0xffff_ffff, 0x0101_0101, 5, 0], 1),
        (Dp4a(true, false), S32, [0x8000_0000, 0xff00_0000, 0, 0], -(128i64 * 255) as u64 & neg1),
        (Dp2aLo(false, false), U32, [0xffff_0001, 0x0000_0203, 1, 0], 3 + 2 * 0xffff + 1),
        (Dp2aHi(true, true), S32, [0xffff_0001, 0x02ff_0000, 0, 0], 0xffff_fffd),
    ];
    for &(op, ty, s, want) in table {
        assert_eq!(one(op, ty, s), want, "{op:?} {ty:?} {s:x?}");
    }
}

#[test]
fn carries() {
    use IntOp::*;
    let m = 0xffff_ffff;
    for (op, t, s, want) in [
        (AddCarry, U32, [m, 1, 0, 0], (0, true)),
        (AddCarry, U32, [m, 0, 1, 0], (0, true)),
        (AddCarry, U32, [m - 1, 0, 1, 0], (m, false)),
        (AddCarry, U64, [u64::MAX, u64::MAX, 1, 0], (u64::MAX, true)),
        (SubBorrow, U32, [0, 1, 0, 0], (m, true)),
        (SubBorrow, U32, [0, m, 1, 0], (0, true)),
        (SubBorrow, U32, [1, 0, 1, 0], (0, false)),
        (SubBorrow, U64, [0, u64::MAX, 1, 0], (0, true)),
        (MadLoCarry, U32, [m, m, m, 0], (0, true)),
        (MadLoCarry, U32, [m, m, m - 1, 0], (m, false)),
        (MadHiCarry, U32, [m, m, 0, 1], (m, false)),
        (MadHiCarry, U32, [m, m, 1, 1], (0, true)),
        (MadHiCarry, S32, [m, 1, 0, 1], (0, true)),
    ] {
        assert_eq!(eval(op, t, s), want, "{op:?} {s:x?}");
    }
}

#[test]
fn packed_lanes_do_not_carry() {
    let s = [0xffff_ffff, 0x0001_0001, 0, 0];
    assert_eq!(eval_packed(IntOp::Add, U16, 2, s).0, 0);
    let s = [0x8000_7fff, 0x0001_0002, 0, 0];
    assert_eq!(eval_packed(IntOp::Min, S16, 2, s).0, 0x8000_0002);
    assert_eq!(eval_packed(IntOp::MaxRelu, S16, 2, s).0, 0x0001_7fff);
    assert_eq!(eval_packed(IntOp::Add, U32, 1, [1, 2, 0, 0]).0, 3);
}

#[test]
fn conversions() {
    for (from, to, sat, v, dst, want) in [
        (U32, S16, false, 0x18000, 32, 0xffff_8000),
        (S16, U32, false, 0x8000, 32, 0xffff_8000),
        (U16, U32, false, 0xffff_8000, 32, 0x8000),
        (S32, ty(8, true), true, 1000, 16, 127),
        (S32, ty(8, true), true, -1000i64 as u64, 32, 0xffff_ff80),
        (S32, ty(8, false), true, -5i64 as u64, 32, 0),
        (U32, S32, true, 0xffff_ffff, 32, 0x7fff_ffff),
        (S32, U32, true, 0xffff_ffff, 32, 0),
        (S32, S64, false, 0x8000_0000, 64, 0xffff_ffff_8000_0000),
        (U64, ty(8, true), false, 0x1ff, 32, 0xffff_ffff),
        (S64, U64, true, 1 << 63, 64, 0),
        (U64, S64, true, u64::MAX, 64, i64::MAX as u64),
    ] {
        let got = cvt_int(from, to, sat, v, dst);
        assert_eq!(got, want, "{from:?} {to:?} {sat} {v:x}");
    }
}

#[test]
fn comparisons() {
    let (a, b) = (0xf_ffff_ffff, 1);
    assert!(compare(Cmp::Lt, S32, a, b) && !compare(Cmp::Lt, U32, a, b));
    assert!(compare(Cmp::Ge, U32, a, b) && !compare(Cmp::Ge, S32, a, b));
    assert!(compare(Cmp::Eq, U32, 1 << 32, 0) && compare(Cmp::Ne, U64, 1 << 32, 0));
    assert!(compare(Cmp::Le, S32, a, a) && compare(Cmp::Gt, S32, b, a));
    assert!(compare(Cmp::Num, U32, a, b) && !compare(Cmp::Nan, U32, a, b));
}

#[test]
fn atomics() {
    use AtomOp::*;
    let m = 0xffff_ffff;
    for (op, t, old, b, c, want) in [
        (Inc, U32, 5, 5, 0, 0),
        (Inc, U32, 4, 5, 0, 5),
        (Inc, U32, m, m, 0, 0),
        (Dec, U32, 0, 7, 0, 7),
        (Dec, U32, 9, 7, 0, 7),
        (Dec, U32, 7, 7, 0, 6),
        (Cas, U32, 3, 3, 9, 9),
        (Cas, U32, 3, 4, 9, 3),
        (Exch, U32, 3, 4, 0, 4),
        (Add, U32, m, 2, 0, 1),
        (Min, S32, m, 1, 0, m),
        (Max, U32, m, 1, 0, m),
        (And, U32, 12, 10, 0, 8),
        (Or, U32, 12, 10, 0, 14),
        (Xor, U32, 12, 10, 0, 6),
    ] {
        assert_eq!(atom_int(op, t, old, b, c), want, "{op:?} {old:x} {b:x}");
    }
}

/// Values near the corners as often as random ones.
pub(crate) fn word64() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0u64..70,
        (0u32..64).prop_map(|s| 1 << s),
        (0u32..64).prop_map(|s| (1u64 << s).wrapping_sub(1)),
        (0u64..70).prop_map(|x| x.wrapping_neg()),
        any::<u32>().prop_map(|x| x as i32 as i64 as u64),
    ]
}

fn bit(x: u64, i: i64) -> bool {
    (0..64).contains(&i) && x >> i & 1 == 1
}

fn from_bits(w: u8, f: impl Fn(i64) -> bool) -> u64 {
    (0..w as i64).fold(0, |v, i| v | (f(i) as u64) << i)
}

/// The manual's definition in wide arithmetic or bit by bit, where it says something that `eval`
/// computes in another way.
fn reference(op: IntOp, t: IntTy, s: [u64; 4]) -> Option<u64> {
    use IntOp::*;
    let w = t.width;
    let m = ((1u128 << w) - 1) as i128;
    let narrow = |x: u64| (x as i128) & m;
    let val = |x: u64, t: IntTy| {
        let v = (x as i128) & ((1i128 << t.width) - 1);
        if t.signed && v >> (t.width - 1) == 1 {
            v - (1i128 << t.width)
        } else {
            v
        }
    };
    let [a, b, c, _] = s.map(|x| val(x, t));
    let wide = |x: i128| Some((x & ((1i128 << w) - 1)) as u64);
    let small = w <= 32;
    let sat = |x: i128| wide(x.clamp(-(1i128 << (w - 1)), (1i128 << (w - 1)) - 1));
    match op {
        Add => wide(a + b),
        Sub => wide(a - b),
        AddSat if t.signed => sat(a + b),
        SubSat if t.signed => sat(a - b),
        MulLo if small => wide(a * b),
        MulHi if small => wide((a * b) >> w),
        MadHi if small => wide(((a * b) >> w) + c),
        MadHiSat if small && t.signed => sat(((a * b) >> w) + c),
        MulWide if small => Some((a * b) as u64 & mask(2 * w)),
        MadWide if small => Some((a * b + s[2] as i128) as u64 & mask(2 * w)),
        MadLo if small => wide(a * b + c),
        Sad => wide(c + (a - b).abs()),
        Div if b != 0 => wide(a / b),
        Rem if b != 0 => wide(a % b),
        Abs => wide(
            val(
                s[0],
                IntTy {
                    width: w,
                    signed: true,
                },
            )
            .abs(),
        ),
        Neg => wide(-a),
        Min => wide(a.min(b)),
        Max => wide(a.max(b)),
        MinRelu => wide(a.min(b).max(0)),
        MaxRelu => wide(a.max(b).max(0)),
        Shl => {
            let n = (s[1] as u32).min(w as u32);
            wide(narrow(s[0]) << n)
        }
        Shr => wide(a >> (s[1] as u32).min(w as u32)),
        Lop3(table) => Some(from_bits(w, |i| {
            let row = 4 * bit(s[0], i) as i64 + 2 * bit(s[1], i) as i64 + bit(s[2], i) as i64;
            bit(table as u64, row)
        })),
        Bfe => {
            let (pos, len, msb) = (s[1] as i64 & 255, s[2] as i64 & 255, w as i64 - 1);
            let sign = t.signed && len > 0 && bit(s[0], (pos + len - 1).min(msb));
            Some(from_bits(w, |i| {
                if i < len && pos + i <= msb {
                    bit(s[0], pos + i)
                } else {
                    sign
                }
            }))
        }
        Bfi => {
            let (pos, len) = (s[2] as i64 & 255, s[3] as i64 & 255);
            Some(from_bits(w, |i| {
                if i >= pos && i < pos + len {
                    bit(s[0], i - pos)
                } else {
                    bit(s[1], i)
                }
            }))
        }
        Brev => Some(from_bits(w, |i| bit(s[0], w as i64 - 1 - i))),
        Mul24Lo | Mul24Hi | Mad24Lo | Mad24Hi => {
            let f = IntTy {
                width: 24,
                signed: t.signed,
            };
            let p = val(s[0], f) * val(s[1], f);
            match op {
                Mul24Lo => wide(p),
                Mul24Hi => wide(p >> 16),
                Mad24Lo => wide(p + c),
                _ => wide((p >> 16) + c),
            }
        }
        BmskClamp | BmskWrap => {
            let clamp = op == BmskClamp;
            let (x, y) = (s[0] as u32, s[1] as u32);
            let (x, y) = if clamp {
                (x as i64, y as i64)
            } else {
                (x as i64 & 31, y as i64 & 31)
            };
            Some(from_bits(32, |i| i >= x && i < x + y))
        }
        SzextClamp | SzextWrap => {
            let n = s[1] as u32;
            let n = if op == SzextClamp { n.min(32) } else { n & 31 } as i64;
            let sign = t.signed && n > 0 && bit(s[0], n - 1);
            Some(from_bits(32, |i| if i < n { bit(s[0], i) } else { sign }))
        }
        _ => None,
    }
}

proptest! {
    #[test]
    fn agrees_with_the_manual(s in prop::array::uniform4(word64()), k in any::<u8>()) {
        for op in all_ops(k) {
            for t in [U16, S16, U32, S32, U64, S64] {
                if only_32(op) && t.width != 32 {
                    continue;
                }
                let (got, _) = eval(op, t, s);
                prop_assert_eq!(got & !mask(result_width(op, t)), 0, "{:?} {:?} is too wide", op, t);
                if let Some(want) = reference(op, t, s) {
                    prop_assert_eq!(got, want, "{:?} {:?} {:x?}", op, t, s);
                }
                // Bits above the width do not matter.
                let high = !mask(t.width);
                let c_is_wide = matches!(op, IntOp::MadWide);
                let shifts = matches!(op, IntOp::Shl | IntOp::Shr) && t.width < 32;
                if !c_is_wide && !shifts && t.width >= 16 {
                    prop_assert_eq!(eval(op, t, s.map(|x| x | high)).0, got, "{:?} {:?}", op, t);
                }
            }
        }
    }

    #[test]
    fn lanes_agree_with_one(
        seed in prop::collection::vec(word64(), 128),
        old in any::<u64>(),
        k in any::<u8>(),
        mask in prop_oneof![Just(u32::MAX), any::<u32>()],
    ) {
        let column = |j: usize| <[u64; 32]>::try_from(&seed[32 * j..32 * j + 32]).unwrap();
        let seed = [column(0), column(1), column(2), column(3)];
        for op in all_ops(k) {
            for t in [U16, U32, S32, U64, S64] {
                let mut dst = [old; 32];
                let srcs = [&seed[0], &seed[1], &seed[2], &seed[3]];
                let carry = eval_lanes(op, t, mask, srcs, &mut dst);
                for i in 0..32 {
                    let s = [seed[0][i], seed[1][i], seed[2][i], seed[3][i]];
                    let on = mask >> i & 1 == 1;
                    let (v, c) = eval(op, t, s);
                    prop_assert_eq!(dst[i], if on { v } else { old });
                    prop_assert_eq!(carry >> i & 1 == 1, on && c);
                }
            }
        }
    }

    #[test]
    fn carry_chains_add_wide_numbers(a in any::<u128>(), b in any::<u128>()) {
        let (lo, c) = eval(IntOp::AddCarry, U64, [a as u64, b as u64, 0, 0]);
        let (hi, _) = eval(IntOp::AddCarry, U64, [(a >> 64) as u64, (b >> 64) as u64, c as u64, 0]);
        prop_assert_eq!((hi as u128) << 64 | lo as u128, a.wrapping_add(b));
        let (lo, c) = eval(IntOp::SubBorrow, U64, [a as u64, b as u64, 0, 0]);
        let (hi, _) = eval(IntOp::SubBorrow, U64, [(a >> 64) as u64, (b >> 64) as u64, c as u64, 0]);
        prop_assert_eq!((hi as u128) << 64 | lo as u128, a.wrapping_sub(b));
        let p = (a as u64 as u128) * (b as u64 as u128);
        let s = [a as u64, b as u64, (a >> 64) as u64, 0];
        let (lo, c) = eval(IntOp::MadLoCarry, U64, s);
        let (hi, _) = eval(IntOp::MadHiCarry, U64, [s[0], s[1], 0, c as u64]);
        prop_assert_eq!((hi as u128) << 64 | lo as u128, p.wrapping_add(a >> 64));
    }
}
