//! Sections 9.7.1 to 9.7.8: arithmetic, comparison, selection, logic and shifts.

use super::Row;
use crate::ptx::opcode::Op;

pub(super) const ROWS: &[Row] = &[
    // 9.7.1 to 9.7.5
    (
        Op::Add,
        &[
            "$int : d,r,r",
            "sat s32 : d,r,r",
            "u16x2|s16x2 : d,r,r",
            "cc $int32 : d,r,r",
            "$frnd? ftz? sat? f32 : d,r,r",
            "$frnd? ftz? f32x2 : d,r,r",
            "$frnd? f64 : d,r,r",
            "rn? ftz? sat? f16|f16x2 : d,r,r",
            "rn? bf16|bf16x2 : d,r,r",
            "$frnd? sat? f32 f16|bf16 : d,r,r",
        ],
    ),
    (
        Op::Sub,
        &[
            "$int : d,r,r",
            "sat s32 : d,r,r",
            "cc $int32 : d,r,r",
            "$frnd? ftz? sat? f32 : d,r,r",
            "$frnd? ftz? f32x2 : d,r,r",
            "$frnd? f64 : d,r,r",
            "rn? ftz? sat? f16|f16x2 : d,r,r",
            "rn? bf16|bf16x2 : d,r,r",
            "$frnd? sat? f32 f16|bf16 : d,r,r",
        ],
    ),
    (
        Op::Mul,
        &[
            "hi|lo $int : d,r,r",
            "wide u16|u32|s16|s32 : d,r,r",
            "$frnd? ftz? sat? f32 : d,r,r",
            "$frnd? ftz? f32x2 : d,r,r",
            "$frnd? f64 : d,r,r",
            "rn? ftz? sat? f16|f16x2 : d,r,r",
            "rn? bf16|bf16x2 : d,r,r",
        ],
    ),
    (
        Op::Mad,
        &[
            "hi|lo $int : d,r,r,r",
            "wide u16|u32|s16|s32 : d,r,r,r",
            "hi sat s32 : d,r,r,r",
            "hi|lo cc $int32 : d,r,r,r",
            "$frnd ftz? sat? f32 : d,r,r,r",
            "$frnd f64 : d,r,r,r",
        ],
    ),
    (Op::Mul24, &["hi|lo u32|s32 : d,r,r"]),
    (
        Op::Mad24,
        &["hi|lo u32|s32 : d,r,r,r", "hi sat s32 : d,r,r,r"],
    ),
    (Op::Sad, &["$int : d,r,r,r"]),
    (
        Op::Div,
        &[
            "$int : d,r,r",
            "approx|full|$frnd ftz? f32 : d,r,r",
            "$frnd f64 : d,r,r",
        ],
    ),
    (Op::Rem, &["$int : d,r,r"]),
    (
        Op::Abs,
        &[
            "s16|s32|s64|f64|bf16|bf16x2 : d,r",
            "ftz? f32|f16|f16x2 : d,r",
        ],
    ),
    (
        Op::Neg,
        &[
            "s16|s32|s64|f64|bf16|bf16x2 : d,r",
            "ftz? f32|f16|f16x2 : d,r",
        ],
    ),
    (Op::Min, EXTREME),
    (Op::Max, EXTREME),
    (Op::Popc, &["b32|b64 : d,r"]),
    (Op::Clz, &["b32|b64 : d,r"]),
    (Op::Bfind, &["shiftamt? $int32 : d,r"]),
    (Op::Fns, &["b32 : d,r,r,r"]),
    (Op::Brev, &["b32|b64 : d,r"]),
    (Op::Bfe, &["$int32 : d,r,r,r"]),
    (Op::Bfi, &["b32|b64 : d,r,r,r,r"]),
    (Op::Szext, &["clamp|wrap u32|s32 : d,r,r"]),
    (Op::Bmsk, &["clamp|wrap b32 : d,r,r"]),
    (Op::Dp4a, &["u32|s32 u32|s32 : d,r,r,r"]),
    (Op::Dp2a, &["lo|hi u32|s32 u32|s32 : d,r,r,r"]),
    (Op::Addc, &["cc? $int32 : d,r,r"]),
    (Op::Subc, &["cc? $int32 : d,r,r"]),
    (Op::Madc, &["hi|lo cc? $int32 : d,r,r,r"]),
    (
        Op::Testp,
        &["finite|infinite|number|notanumber|normal|subnormal f32|f64 : d,r"],
    ),
    (Op::Copysign, &["f32|f64 : d,r,r"]),
    (
        Op::Fma,
        &[
            "$frnd ftz? sat? f32 : d,r,r,r",
            "$frnd ftz? f32x2 : d,r,r,r",
            "$frnd f64 : d,r,r,r",
            "rn ftz? sat|relu? f16|f16x2 : d,r,r,r",
            "rn relu? bf16|bf16x2 : d,r,r,r",
            "rn oob relu? f16|f16x2|bf16|bf16x2 : d,r,r,r",
            "$frnd sat? f32 f16|bf16 : d,r,r,r",
        ],
    ),
    (
        Op::Rcp,
        &[
            "approx|$frnd ftz? f32 : d,r",
            "$frnd f64 : d,r",
            "approx ftz f64 : d,r",
        ],
    ),
    (
        Op::Sqrt,
        &["approx|$frnd ftz? f32 : d,r", "$frnd f64 : d,r"],
    ),
    (Op::Rsqrt, &["approx ftz? f32|f64 : d,r"]),
    (Op::Sin, &["approx ftz? f32 : d,r"]),
    (Op::Cos, &["approx ftz? f32 : d,r"]),
    (Op::Lg2, &["approx ftz? f32 : d,r"]),
    (
        Op::Ex2,
        &[
            "approx ftz? f32|f16|f16x2 : d,r",
            "approx ftz bf16|bf16x2 : d,r",
        ],
    ),
    (Op::Tanh, &["approx f32|f16|f16x2|bf16|bf16x2 : d,r"]),
    // 9.7.6 and 9.7.7
    (
        Op::Set,
        &[
            "$icmp $bool? u32|s32|f32 u16|u32|u64 : d,r,r,p?",
            "$vcmp $bool? u32|s32|f32 s16|s32|s64 : d,r,r,p?",
            "eq|ne $bool? u32|s32|f32 $bits : d,r,r,p?",
            "$fcmp $bool? ftz? u32|s32|f32 f32|f64 : d,r,r,p?",
            "$fcmp $bool? ftz? f16|u16|s16|u32|s32 f16 : d,r,r,p?",
            "$fcmp $bool? ftz? f16x2|u32|s32 f16x2 : d,r,r,p?",
            "$fcmp $bool? bf16|u16|s16|u32|s32 bf16 : d,r,r,p?",
            "$fcmp $bool? bf16x2|u32|s32 bf16x2 : d,r,r,p?",
            "$icmp $bool? f16|bf16 u16|u32|u64 : d,r,r,p?",
            "$vcmp $bool? f16|bf16 s16|s32|s64 : d,r,r,p?",
            "eq|ne $bool? f16|bf16 $bits : d,r,r,p?",
            "$fcmp $bool? f16|bf16 f32|f64 : d,r,r,p?",
        ],
    ),
    (
        Op::Setp,
        &[
            "$icmp $bool? u16|u32|u64 : q,r,r,p?",
            "$vcmp $bool? s16|s32|s64 : q,r,r,p?",
            "eq|ne $bool? $bits : q,r,r,p?",
            "$fcmp $bool? ftz? f32|f16|f16x2 : q,r,r,p?",
            "$fcmp $bool? f64|bf16|bf16x2 : q,r,r,p?",
        ],
    ),
    (Op::Selp, &["$bits|$int|f32|f64 : d,r,r,p"]),
    (
        Op::Slct,
        &[
            "$bits|$int|f32|f64 s32 : d,r,r,r",
            "ftz? $bits|$int|f32|f64 f32 : d,r,r,r",
        ],
    ),
    // 9.7.8
    (Op::And, &["$bits : d,r,r", "pred : d,p,p"]),
    (Op::Or, &["$bits : d,r,r", "pred : d,p,p"]),
    (Op::Xor, &["$bits : d,r,r", "pred : d,p,p"]),
    (Op::Not, &["$bits : d,r", "pred : d,p"]),
    (Op::Cnot, &["$bits : d,r"]),
    (Op::Lop3, &["b32 : d,r,r,r,i", "or|and b32 : q,r,r,r,i,p"]),
    (Op::Shf, &["l|r clamp|wrap b32 : d,r,r,r"]),
    (Op::Shl, &["$bits : d,r,r"]),
    (Op::Shr, &["$bits|$int : d,r,r"]),
];

/// `min` and `max`.
const EXTREME: &[&str] = &[
    "$int|u16x2|f64 : d,r,r",
    "relu? s32|s16x2 : d,r,r",
    "ftz? NaN? f32 : d,r,r",
    "ftz? NaN? xorsign abs f32 : d,r,r",
    "ftz? NaN? abs? f32 : d,r,r,r",
    "ftz? NaN? f16|f16x2 : d,r,r",
    "ftz? NaN? xorsign abs f16|f16x2 : d,r,r",
    "NaN? bf16|bf16x2 : d,r,r",
    "NaN? xorsign abs bf16|bf16x2 : d,r,r",
];
