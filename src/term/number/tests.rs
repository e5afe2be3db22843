//! Every operation against an independent implementation, in every format and rounding that both have.

use rustc_apfloat::ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Single};
use rustc_apfloat::{Float as _, FloatConvert, Round};

use super::*;
use crate::scalar::{Cmp, FloatMods, FloatOp, IntTy};

const ROUNDINGS: [(Rnd, Round); 5] = [
    (Rnd::Rn, Round::NearestTiesToEven),
    (Rnd::Rz, Round::TowardZero),
    (Rnd::Rp, Round::TowardPositive),
    (Rnd::Rm, Round::TowardNegative),
    (Rnd::Rna, Round::NearestTiesToAway),
];

/// Encodings: special ones, neighbours of each other, and any.
struct Encodings(u64);

impl Encodings {
    fn word(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        self.0 ^ self.0 >> 29
    }

    fn next(&mut self, fmt: Fmt) -> u64 {
        let l = Layout::of(fmt).expect("a format with signs");
        let n = self.word();
        let sign = n >> 63 == 1;
        let special = [
            0,
            1,
            l.mask(),
            l.largest(),
            l.largest() + u64::from(l.top == Top::Special),
            1 << l.fraction,
            (1 << l.fraction) - 1,
            (l.bias() as u64) << l.fraction,
            ((l.bias() as u64) << l.fraction) + 1,
        ];
        let magnitude = match n % 5 {
            0 => special[(n >> 8) as usize % special.len()],
            // Exponents near 1, so that sums cancel and overlap.
            1 | 2 => {
                let e = (l.bias() as u64 + (n >> 8) % 7).saturating_sub(3);
                e << l.fraction | self.word() & ((1 << l.fraction) - 1)
            }
            _ => self.word(),
        };
        l.place(sign, magnitude & l.mask())
    }
}

/// The bits that an independent result has; any NaN is one.
fn bits<F: rustc_apfloat::Float>(fmt: Fmt, x: F) -> u64 {
    if x.is_nan() {
        nan(fmt)
    } else {
        x.to_bits() as u64
    }
}

fn arithmetic<F: rustc_apfloat::Float>(fmt: Fmt, count: usize) {
    let mut draw = Encodings(fmt.bits().into());
    for i in 0..count {
        let (rnd, round) = ROUNDINGS[i % ROUNDINGS.len()];
        let given = [0; 3].map(|_| draw.next(fmt));
        let [x, y, z] = given.map(|b| F::from_bits(b.into()));
        let mods = FloatMods {
            rnd,
            ..FloatMods::default()
        };
        let cases = [
            (FloatOp::Add, x.add_r(y, round).value),
            (FloatOp::Sub, x.sub_r(y, round).value),
            (FloatOp::Mul, x.mul_r(y, round).value),
            (FloatOp::Div, x.div_r(y, round).value),
            (FloatOp::Fma, x.mul_add_r(y, z, round).value),
        ];
        for (op, wanted) in cases {
            let found = operation(op, (fmt, fmt), &mods, given);
            let wanted = bits(fmt, wanted);
            assert_eq!(
                found,
                Some(wanted),
                "{op:?} {fmt:?} {rnd:?} {given:x?}, not {wanted:x}"
            );
        }
        for (cmp, wanted) in [
            (Cmp::Lt, x < y),
            (Cmp::Le, x <= y),
            (Cmp::Eq, x == y),
            (
                Cmp::Geu,
                !matches!(x.partial_cmp(&y), Some(std::cmp::Ordering::Less)),
            ),
            (Cmp::Nan, x.is_nan() || y.is_nan()),
        ] {
            assert_eq!(
                compare(cmp, fmt, given[0], given[1]),
                wanted,
                "{cmp:?} {given:x?}"
            );
        }
    }
}

#[test]
fn arithmetic_is_that_of_ieee() {
    arithmetic::<Half>(Fmt::F16, 20_000);
    arithmetic::<BFloat>(Fmt::Bf16, 20_000);
    arithmetic::<Single>(Fmt::F32, 20_000);
    arithmetic::<Double>(Fmt::F64, 20_000);
}

fn conversion<F, G>(from: Fmt, to: Fmt, count: usize)
where
    F: rustc_apfloat::Float + FloatConvert<G>,
    G: rustc_apfloat::Float,
{
    let mut draw = Encodings(from.bits() as u64 * 64 + u64::from(to.bits()));
    let saturates = Layout::of(to).is_some_and(|l| l.top != Top::Special);
    for i in 0..count {
        let (rnd, round) = ROUNDINGS[i % ROUNDINGS.len()];
        let b = draw.next(from);
        let x = F::from_bits(b.into());
        let how = Narrowing {
            rnd,
            ..Narrowing::default()
        };
        let mut loses = false;
        let wanted: G = x.convert_r(round, &mut loses).value;
        let found = float_to_float(from, to, &how, b);
        // A format without infinities saturates, and the other implementation gives NaN.
        if saturates && (wanted.is_nan() || wanted.is_infinite()) && !x.is_nan() {
            assert_eq!(found, Some(largest(to, x.is_negative())), "{b:x}");
            continue;
        }
        assert_eq!(
            found,
            Some(bits(to, wanted)),
            "{from:?} {to:?} {rnd:?} {b:x}"
        );
    }
}

#[test]
fn conversions_are_those_of_ieee() {
    conversion::<Double, Single>(Fmt::F64, Fmt::F32, 5_000);
    conversion::<Single, Double>(Fmt::F32, Fmt::F64, 5_000);
    conversion::<Single, Half>(Fmt::F32, Fmt::F16, 5_000);
    conversion::<Single, BFloat>(Fmt::F32, Fmt::Bf16, 5_000);
    conversion::<Half, Single>(Fmt::F16, Fmt::F32, 5_000);
    conversion::<BFloat, Single>(Fmt::Bf16, Fmt::F32, 5_000);
    conversion::<Single, Float8E5M2>(Fmt::F32, Fmt::E5m2, 5_000);
    conversion::<Half, Float8E4M3FN>(Fmt::F16, Fmt::E4m3, 5_000);
    conversion::<Float8E4M3FN, Half>(Fmt::E4m3, Fmt::F16, 1_000);
    conversion::<Float8E5M2, Half>(Fmt::E5m2, Fmt::F16, 1_000);
}

#[test]
fn integers_are_those_of_ieee() {
    let mut draw = Encodings(7);
    let types = [8u8, 16, 32, 64]
        .into_iter()
        .flat_map(|width| [false, true].map(|signed| IntTy { width, signed }));
    for ty in types {
        for i in 0..4_000 {
            let (rnd, round) = ROUNDINGS[i % 4];
            let how = Narrowing {
                rnd,
                ..Narrowing::default()
            };
            let n = draw.word() >> (draw.word() % 60);
            let n = n & (u64::MAX >> (64 - ty.width));
            let unused = 64 - u32::from(ty.width);
            let exact = match ty.signed {
                true => i128::from((n << unused) as i64 >> unused),
                false => i128::from(n),
            };
            let wanted = Single::from_i128_r(exact, round).value;
            assert_eq!(
                int_to_float(ty, Fmt::F32, &how, n),
                Some(bits(Fmt::F32, wanted))
            );
            let wanted = Double::from_i128_r(exact, round).value;
            assert_eq!(
                int_to_float(ty, Fmt::F64, &how, n),
                Some(bits(Fmt::F64, wanted))
            );
            let b = draw.next(Fmt::F32);
            let x = Single::from_bits(b.into());
            let found = float_to_int(Fmt::F32, ty, &how, b);
            let mut is_exact = false;
            let wanted = match (x.is_nan(), ty.signed) {
                (true, _) if ty.width == 64 => 1 << 63,
                (true, _) => 0,
                (_, true) => x.to_i128_r(ty.width.into(), round, &mut is_exact).value as u64,
                (_, false) => x.to_u128_r(ty.width.into(), round, &mut is_exact).value as u64,
            };
            let wanted = wanted & (u64::MAX >> unused);
            assert_eq!(found, wanted, "{ty:?} {rnd:?} {b:x}");
        }
    }
}

/// Roots are checked by their squares, which are exact.
#[test]
fn roots_are_rounded_correctly() {
    let mut draw = Encodings(11);
    for (fmt, count) in [
        (Fmt::F16, 3_000),
        (Fmt::Bf16, 3_000),
        (Fmt::F32, 3_000),
        (Fmt::F64, 3_000),
    ] {
        for i in 0..count {
            let (rnd, _) = ROUNDINGS[i % 4];
            let b = draw.next(fmt) & (u64::MAX >> (65 - fmt.bits()));
            let Ok(x) = crate::term::decode(fmt, b) else {
                continue;
            };
            if b == 0 {
                continue;
            }
            let mods = FloatMods {
                rnd,
                ..FloatMods::default()
            };
            let wanted = |q: &num_rational::BigRational| {
                let r = crate::term::root(fmt, q)?;
                let r = crate::term::round(fmt, rnd, &r)?;
                crate::term::encode_exact(fmt, &r)
            };
            let found = operation(FloatOp::Sqrt, (fmt, fmt), &mods, [b, 0, 0]);
            assert_eq!(found, wanted(&x), "{fmt:?} {rnd:?} {b:x}");
            if let Some(inverse) = wanted(&x.recip()) {
                let found = operation(FloatOp::Rsqrt, (fmt, fmt), &mods, [b, 0, 0]);
                assert_eq!(found, Some(inverse), "inverse {fmt:?} {rnd:?} {b:x}");
            }
        }
    }
}

/// Functions against their series, to many more bits than the fast way has.
#[test]
fn functions_are_rounded_correctly() {
    let mut draw = Encodings(13);
    let ops = [
        FloatOp::Ex2,
        FloatOp::Lg2,
        FloatOp::Sin,
        FloatOp::Cos,
        FloatOp::Tanh,
    ];
    for (op, fmt) in ops
        .into_iter()
        .flat_map(|op| [Fmt::F16, Fmt::Bf16, Fmt::F32].map(|f| (op, f)))
    {
        for _ in 0..150 {
            let b = draw.next(fmt);
            let x = decode(fmt, b);
            let Some(e) = x.exact() else { continue };
            if op == FloatOp::Lg2 && e.negative || op == FloatOp::Ex2 && e.top() > 9 {
                continue;
            }
            let Some(ends) =
                crate::term::enclosed(op, e.negative, e.mantissa as u64, e.exponent, 300)
            else {
                continue;
            };
            let [low, high] = ends.map(|(negative, m, exponent)| {
                let x = function::scaled(negative, &m, exponent);
                x.map_or(Some(0), |x| x.round(fmt, Rnd::Rn))
            });
            if low != high {
                continue;
            }
            let found = operation(op, (fmt, fmt), &FloatMods::default(), [b, 0, 0]);
            assert_eq!(found, low, "{op:?} {fmt:?} {b:x}");
        }
    }
}

#[test]
fn sums_of_products_are_exact() {
    let f = |x: f32| decode(Fmt::F32, x.to_bits().into());
    let sum = |c: f32, p: &[(f32, f32)]| {
        let p: Vec<_> = p.iter().map(|&(x, y)| (f(x), f(y))).collect();
        total(Fmt::F32, f(c), &p).map(|b| f32::from_bits(b as u32))
    };
    assert_eq!(
        sum(1e30, &[(-1e15, 1e15)]).map(|x| x.abs() < 1e23),
        Some(true)
    );
    // What would be lost in any order of roundings.
    assert_eq!(sum(1.0, &[(1e20, 1e-5), (-1e20, 1e-5)]), Some(1.0));
    assert_eq!(
        sum(0.0, &[(1e38, 1e38), (-1e38, 1e38), (1e-30, 1e-10)]),
        Some(1e-30 * 1e-10)
    );
    assert!(sum(f32::INFINITY, &[(f32::INFINITY, -1.0)]).is_some_and(f32::is_nan));
    assert_eq!(sum(1.0, &[(f32::INFINITY, -1.0)]), Some(f32::NEG_INFINITY));
    let d = |x: f64| decode(Fmt::F64, x.to_bits());
    // In double precision each product is rounded in.
    let chain = total(Fmt::F64, d(1e16), &[(d(1.0), d(1.0)), (d(-1e16), d(1.0))]);
    assert_eq!(chain.map(f64::from_bits), Some(0.0));
}

/// Every operation in all lanes of a warp against the one that takes numbers apart.
#[test]
fn lanes_are_computed_as_numbers_taken_apart() {
    use FloatOp::*;
    let ops = [
        Add, Sub, Mul, Fma, Div, Rcp, Sqrt, Rsqrt, Ex2, Lg2, Sin, Cos, Tanh, Neg, Abs, Min, Max,
        Min3, Max3, Copysign,
    ];
    let formats = [
        (Fmt::F16, 1),
        (Fmt::F16, 2),
        (Fmt::Bf16, 1),
        (Fmt::Bf16, 2),
        (Fmt::F32, 1),
    ];
    let mut draw = Encodings(17);
    for (op, (fmt, parts)) in ops.into_iter().flat_map(|op| formats.map(|f| (op, f))) {
        for how in 0..8 {
            let mods = FloatMods {
                ftz: how & 1 == 1,
                nan: how & 2 == 2,
                sat: how == 4,
                rnd: if how == 5 { Rnd::Rz } else { Rnd::Rn },
                approx: true,
                ..FloatMods::default()
            };
            let mut word = || {
                let bits = fmt.bits();
                (0..u32::from(parts)).fold(0, |w, i| w | draw.next(fmt) << (i * bits))
            };
            let given: [[u64; 32]; 3] = [0; 3].map(|_| [0; 32].map(|_| word()));
            let mut out = [0; 32];
            let mask = if how == 7 { 0x0f0f_3001 } else { u32::MAX };
            let all = (mask, given.each_ref());
            let done = operation_in_lanes(op, (fmt, fmt), parts, &mods, all, &mut out);
            for lane in (0..32).filter(|l| mask >> l & 1 == 1) {
                let words = given.map(|w| w[lane]);
                for i in 0..u32::from(parts) {
                    let low = |w: u64| w >> (i * fmt.bits()) & (u64::MAX >> (64 - fmt.bits()));
                    let wanted = arithmetic::taken_apart(op, (fmt, fmt), &mods, words.map(low));
                    let found = (done >> lane & 1 == 1).then(|| low(out[lane]));
                    assert_eq!(found, wanted, "{op:?} {fmt:?} {mods:?} {words:x?}");
                }
            }
        }
    }
}

/// Sums by doubles against exact ones, where products cancel and where they differ in size.
#[test]
fn sums_by_doubles_are_exact() {
    let mut draw = Encodings(19);
    let mut by_doubles = 0;
    for i in 0..4_000 {
        let (fmt, from) = [
            (Fmt::F32, Fmt::F16),
            (Fmt::F16, Fmt::F16),
            (Fmt::F32, Fmt::Bf16),
            (Fmt::F32, Fmt::Tf32),
            (Fmt::F32, Fmt::E5m2),
        ][i % 5];
        let c = decode(fmt, draw.next(fmt));
        let mut products: Vec<(Float, Float)> = (0..16)
            .map(|_| (decode(from, draw.next(from)), decode(from, draw.next(from))))
            .collect();
        if i % 3 == 0 {
            let flip = |(x, y): &(Float, Float)| {
                (
                    Float {
                        negative: !x.negative,
                        ..*x
                    },
                    *y,
                )
            };
            let back: Vec<_> = products.iter().rev().map(flip).collect();
            products.extend(back);
        }
        let doubles: Option<Vec<(f64, f64)>> = products
            .iter()
            .map(|(x, y)| Some((x.to_double()?, y.to_double()?)))
            .collect();
        let (Some(start), Some(doubles)) = (c.to_double(), doubles) else {
            continue;
        };
        if let Some(found) = total_of_doubles(fmt, start, doubles.into_iter()) {
            by_doubles += 1;
            assert_eq!(Some(found), total(fmt, c, &products), "{c:?} {products:?}");
        }
    }
    assert!(by_doubles > 200, "{by_doubles}");
}
