//! What the identities call the same is the same on every number.

use proptest::prelude::*;

mod order;

use super::canon::{Canon, Reader};
use super::identities::IDENTITIES;
use super::value::{Inputs, evaluate, quiet};
use crate::kernel::{Cmp, FloatMods, FloatOp, Fmt, IntTy, Rnd};
use crate::term::word::{Does, Operation};
use crate::term::{ArrayId, BitsOp, ICmp, TermId, TermStore};

/// One number of a format with so many bytes in each place, made of one f16.
struct One(u64, u64);

/// The array whose elements are finite.
const FINITE: ArrayId = ArrayId(1);

/// Places from this one on hold sixteen bits.
const SHORT: u64 = 4;

impl Inputs for One {
    fn read(&mut self, array: ArrayId, off: u64, bytes: u8) -> u64 {
        // Several inputs: each another permutation of all encodings.
        let k = off / 8;
        let mut bits = (self.0.wrapping_mul(2 * k + 1).wrapping_add(k * 0x1234)) & 0xffff;
        if array == FINITE && (bits >> 7 & 0xff == 0xff || bits >> 10 & 0x1f == 0x1f) {
            bits ^= 0x4000;
        }
        let rest = match bits & 3 {
            3 => 0,
            _ => bits.wrapping_mul(0x9e37_79b9_7f4b) >> 3,
        };
        // A wider format has a fraction that the narrow one cannot hold, or none.
        let all = match self.1 {
            2 => bits,
            _ if k >= SHORT => bits,
            4 => bits << 16 | rest & 0xffff,
            _ => bits << 48 | rest & 0xffff_ffff_ffff,
        };
        all >> (8 * (off % 8)) & (u64::MAX >> (64 - 8 * u64::from(bytes)))
    }
}

/// A step of a program: an operation, its modifiers, and which values it reads.
type Step = (u8, u8, [u8; 3]);

const NUMBERS: [u64; 12] = [
    0, 0x8000, 0x3c00, 0xbc00, 0x4000, 0x3800, 0x4200, 0x4400, 0x4500, 0x1400, 0x7c00, 0x3555,
];

fn fmt_one(fmt: Fmt) -> u64 {
    let one = crate::number::Exact::new(false, 1, 0);
    one.round(fmt, Rnd::Rn).unwrap_or(0)
}

/// The values of a program over one format, each with its format.
fn program(s: &mut TermStore, fmt: Fmt, steps: &[Step]) -> Vec<(TermId, Fmt)> {
    let bytes = fmt.bits() as u8 / 8;
    let mut all: Vec<(TermId, Fmt)> = [(ArrayId(0), 0), (ArrayId(0), 8), (FINITE, 16)]
        .map(|(array, off)| (s.bytes(array, off, bytes * 8), fmt))
        .to_vec();
    for f16 in NUMBERS {
        let f16_to = Operation::new(Does::Convert, (fmt, Fmt::F16), FloatMods::default());
        let exact = match fmt {
            Fmt::F16 => Some(f16),
            _ => Operation {
                mods: FloatMods {
                    rnd: Rnd::Rn,
                    ..FloatMods::default()
                },
                ..f16_to
            }
            .apply(&[f16]),
        };
        let t = s.bits(fmt.bits() as u8, exact.unwrap_or(0));
        all.push((t, fmt));
    }
    for &(op, mods, reads) in steps {
        let pick = |i: u8, f: Fmt| {
            let of: Vec<TermId> = all.iter().filter(|v| v.1 == f).map(|v| v.0).collect();
            // New values are read more often than old ones.
            let i = usize::from(i);
            of[match i % 3 {
                0 => i % of.len(),
                _ => of.len() - 1 - (i / 3) % of.len().min(5),
            }]
        };
        let rnd = [
            Rnd::None,
            Rnd::Rn,
            Rnd::Rn,
            Rnd::Rn,
            Rnd::Rz,
            Rnd::Rm,
            Rnd::Rp,
        ][usize::from(mods % 7)];
        let flags = FloatMods {
            rnd,
            ftz: mods & 0x30 == 0x30,
            ..FloatMods::default()
        };
        let [a, b, c] = reads.map(|r| pick(r, fmt));
        let word = |s: &mut TermStore, op, mods, list: &[TermId]| {
            s.word(Operation::new(Does::Float(op), (fmt, fmt), mods), list)
        };
        let plain = FloatMods::default();
        let nearest = FloatMods {
            rnd: Rnd::Rn,
            ftz: flags.ftz,
            ..plain
        };
        let extremum = FloatMods {
            nan: mods & 8 != 0,
            ftz: flags.ftz,
            ..plain
        };
        let t = match op % 23 {
            0 | 1 => word(s, FloatOp::Add, flags, &[a, b]),
            2 => word(s, FloatOp::Sub, flags, &[a, b]),
            3 | 4 => word(s, FloatOp::Mul, flags, &[a, b]),
            5 => word(s, FloatOp::Fma, flags, &[a, b, c]),
            6 | 7 => word(s, FloatOp::Neg, plain, &[a]),
            8 if mods & 1 == 0 => {
                for t in twice(s, fmt, mods, [a, b]) {
                    all.push((t, fmt));
                }
                continue;
            }
            8 => word(s, FloatOp::Abs, plain, &[a]),
            9 | 10 => word(s, FloatOp::Max, extremum, &[a, b]),
            11 => word(s, FloatOp::Min, extremum, &[a, b]),
            12 if mods & 8 != 0 && matches!(fmt, Fmt::F32 | Fmt::F64) => {
                let one = s.bits(fmt.bits() as u8, fmt_one(fmt));
                let quotient = word(s, FloatOp::Div, nearest, &[one, a]);
                all.push((quotient, fmt));
                word(s, FloatOp::Rcp, nearest, &[a])
            }
            12 => word(s, FloatOp::Div, nearest, &[a, b]),
            13 => {
                let cmps = [Cmp::Lt, Cmp::Gt, Cmp::Geu, Cmp::Neu, Cmp::Ne, Cmp::Ltu];
                let cmp = cmps[usize::from(mods) % cmps.len()];
                let mods = FloatMods {
                    ftz: flags.ftz,
                    ..plain
                };
                let bit = s.word(
                    Operation::new(Does::Compare(cmp), (fmt, fmt), mods),
                    &[a, b],
                );
                let one = s.bits(1, 1);
                let p = s.icmp(ICmp::Eq, bit, one);
                s.select(p, b, c)
            }
            14 if mods & 4 == 0 => word(s, FloatOp::Add, nearest, &[a, a]),
            // Two summands onto a zero, one of which may have had its own.
            14 => {
                let zero = s.bits(fmt.bits() as u8, 0);
                let [x, y] = [a, b].map(|t| word(s, FloatOp::Add, nearest, &[zero, t]));
                let second = if mods & 8 == 0 { b } else { y };
                word(s, FloatOp::Add, nearest, &[x, second])
            }
            16 => {
                let [x, y] = exact_product(s, (wider(fmt), fmt), [a, b], mods);
                all.push((x, fmt));
                y
            }
            17 if fmt == Fmt::F32 => {
                let rounded = FloatMods {
                    ftz: false,
                    ..flags
                };
                let cut = |s: &mut TermStore, src, t| {
                    let half = s.word(
                        Operation::new(Does::Convert, (Fmt::F16, src), rounded),
                        &[t],
                    );
                    s.word(
                        Operation::new(Does::Convert, (fmt, Fmt::F16), plain),
                        &[half],
                    )
                };
                let wide = s.word(Operation::new(Does::Convert, (Fmt::F64, fmt), plain), &[a]);
                let (x, y) = (cut(s, Fmt::F64, wide), cut(s, fmt, a));
                all.push((x, fmt));
                y
            }
            17 | 18 => {
                let (short, zeros) = (
                    s.bytes(ArrayId(0), 8 * (SHORT + u64::from(mods & 1)), 16),
                    s.bits(16, 0),
                );
                let long = s.concat(&[short, zeros]);
                for (signed, width) in [(true, 32), (false, 32), (false, 16)] {
                    let does = Does::OfInt(IntTy { width, signed });
                    let of = if width == 16 { short } else { long };
                    let t = s.word(Operation::new(does, (fmt, fmt), nearest), &[of]);
                    all.push((t, fmt));
                }
                continue;
            }
            20 => {
                let finite = s.bytes(FINITE, 16, bytes * 8);
                for t in [a, finite] {
                    all.extend(spelled(s, fmt, mods, t, b).map(|t| (t, fmt)));
                }
                continue;
            }
            21 => {
                all.extend(turned(s, fmt, [a, b], extremum).map(|t| (t, fmt)));
                continue;
            }
            22 => {
                let [x, y] = by_masks(s, fmt, [a, b, c]);
                all.push((x, fmt));
                y
            }
            19 => {
                all.extend(bitwise(s, fmt, a).map(|t| (t, fmt)));
                if fmt == Fmt::F32 {
                    // A bf16 above sixteen zeros, as it is and with another sign.
                    let short = s.bytes(ArrayId(0), 8 * (SHORT + u64::from(mods & 1)), 16);
                    let zeros = s.bits(16, 0);
                    let widening = Operation::new(Does::Convert, (fmt, Fmt::Bf16), plain);
                    let long = s.concat(&[zeros, short]);
                    let widened = s.word(widening, &[short]);
                    let negated = s.word(
                        Operation::new(Does::Float(FloatOp::Neg), (Fmt::Bf16, Fmt::Bf16), plain),
                        &[short],
                    );
                    let inside = s.word(widening, &[negated]);
                    all.extend(bitwise(s, fmt, long).map(|t| (t, fmt)));
                    all.extend([long, widened, inside].map(|t| (t, fmt)));
                }
                let [x, y] = numbers(s, fmt, a).map(|p| s.select(p, b, c));
                all.push((x, fmt));
                y
            }
            // An operation in the next wider format.
            _ => {
                let wide = wider(fmt);
                // A widening is exact, whatever rounding it names.
                let how = FloatMods {
                    rnd: if mods & 8 != 0 { Rnd::Rn } else { Rnd::None },
                    ..plain
                };
                let [x, y] =
                    [a, b].map(|t| s.word(Operation::new(Does::Convert, (wide, fmt), how), &[t]));
                if mods & 0x40 != 0 {
                    let nearest = FloatMods {
                        rnd: Rnd::Rn,
                        ..plain
                    };
                    let back = Operation::new(Does::Convert, (fmt, wide), nearest);
                    let t = s.word(back, &[x]);
                    all.push((t, fmt));
                    continue;
                }
                let ops = [
                    FloatOp::Add,
                    FloatOp::Mul,
                    FloatOp::Sub,
                    FloatOp::Fma,
                    FloatOp::Div,
                    FloatOp::Sqrt,
                ];
                let op = ops[usize::from(mods) % ops.len()];
                let list = match op {
                    FloatOp::Fma => vec![x, y, x],
                    FloatOp::Sqrt => vec![x],
                    _ => vec![x, y],
                };
                if matches!(op, FloatOp::Div | FloatOp::Sqrt) {
                    let list = &[a, b][..list.len()];
                    all.push((
                        word(
                            s,
                            op,
                            FloatMods {
                                ftz: false,
                                ..nearest
                            },
                            list,
                        ),
                        fmt,
                    ));
                }
                let exact = FloatMods {
                    rnd: Rnd::Rn,
                    ..plain
                };
                let sum = s.word(Operation::new(Does::Float(op), (wide, wide), exact), &list);
                s.word(Operation::new(Does::Convert, (fmt, wide), exact), &[sum])
            }
        };
        all.push((t, fmt));
    }
    all
}

/// The next wider format.
fn wider(fmt: Fmt) -> Fmt {
    match fmt {
        Fmt::F16 | Fmt::Bf16 => Fmt::F32,
        _ => Fmt::F64,
    }
}

/// A product of two widened numbers, added to a wide one: fused, and apart as a compiler may join it or not.
fn exact_product(
    s: &mut TermStore,
    (wide, fmt): (Fmt, Fmt),
    factors: [TermId; 2],
    mods: u8,
) -> [TermId; 2] {
    let nearest = FloatMods {
        rnd: Rnd::Rn,
        ..FloatMods::default()
    };
    let widening = Operation::new(Does::Convert, (wide, fmt), FloatMods::default());
    let [x, y] = factors.map(|t| s.word(widening, &[t]));
    let tenth = match wide {
        Fmt::F32 => s.bits(32, 0x3dcc_cccd),
        _ => s.bits(64, 0x3fb9_9999_9999_999a),
    };
    let of = |op, mods| Operation::new(Does::Float(op), (wide, wide), mods);
    let z = s.word(of(FloatOp::Mul, nearest), &[x, tenth]);
    let fused = s.word(of(FloatOp::Fma, nearest), &[x, y, z]);
    let (how, place) = match mods & 4 {
        0 => (nearest, 0),
        _ => (FloatMods::default(), 7),
    };
    let product = s.word(of(FloatOp::Mul, how), &[x, y]);
    let sum = Operation {
        place,
        ..of(FloatOp::Add, how)
    };
    let apart = s.word(sum, &[product, z]);
    [fused, apart].map(|t| s.word(Operation::new(Does::Convert, (fmt, wide), nearest), &[t]))
}

/// Pairs of spellings of one number: the size of a difference, a sum that is cut off, one of a flushed number, and the
/// larger and the smaller of a number and a known one.
fn twice(s: &mut TermStore, fmt: Fmt, mods: u8, [a, b]: [TermId; 2]) -> Vec<TermId> {
    let plain = FloatMods::default();
    let of = |does, mods| Operation::new(does, (fmt, fmt), mods);
    let rnd = [Rnd::Rn, Rnd::Rz, Rnd::Rm, Rnd::Rp][usize::from(mods >> 1 & 3)];
    let rounded = FloatMods { rnd, ..plain };
    let mut out = Vec::new();
    for list in [[a, b], [b, a]] {
        let difference = s.word(of(Does::Float(FloatOp::Sub), rounded), &list);
        out.push(s.word(of(Does::Float(FloatOp::Abs), plain), &[difference]));
    }
    let [cut, flushing] =
        [(true, false), (false, true)].map(|(sat, ftz)| FloatMods { sat, ftz, ..plain });
    let op = [FloatOp::Add, FloatOp::Mul][usize::from(mods >> 3 & 1)];
    out.push(s.word(of(Does::Float(op), FloatMods { rnd, ..cut }), &[a, b]));
    let sum = s.word(of(Does::Float(op), rounded), &[a, b]);
    out.push(s.word(of(Does::Convert, cut), &[sum]));
    let sign = [FloatOp::Neg, FloatOp::Abs][usize::from(mods >> 4 & 1)];
    for how in [plain, flushing] {
        let x = s.word(of(Does::Float(sign), how), &[a]);
        let sum = of(Does::Float(op), FloatMods { rnd, ..flushing });
        out.push(s.word(sum, &[x, b]));
    }
    let one = s.bits(1, 1);
    for c in [0, 1 << (fmt.bits() - 1), fmt_one(fmt)] {
        let c = s.bits(fmt.bits() as u8, c);
        for op in [FloatOp::Max, FloatOp::Min] {
            out.push(s.word(of(Does::Float(op), plain), &[a, c]));
        }
        for cmp in [Cmp::Gt, Cmp::Ge, Cmp::Lt, Cmp::Le, Cmp::Gtu, Cmp::Ltu] {
            let bit = s.word(of(Does::Compare(cmp), plain), &[a, c]);
            let p = s.icmp(ICmp::Eq, bit, one);
            out.push(s.select(p, a, c));
            out.push(s.select(p, c, a));
        }
    }
    out
}

/// A number with another sign, by operations on its bits.
fn bitwise(s: &mut TermStore, fmt: Fmt, x: TermId) -> [TermId; 3] {
    let width = fmt.bits() as u8;
    let top = s.bits(width, 1 << (width - 1));
    let digits = s.bits(width, (1 << (width - 1)) - 1);
    [(BitsOp::And, digits), (BitsOp::Xor, top), (BitsOp::Or, top)]
        .map(|(op, mask)| s.bits_op(op, x, mask))
}

/// What leaves a number as it is, or another way to zero, for all numbers or for finite ones; a sign that is copied; signs of
/// conversions; a widened bf16.
fn spelled(s: &mut TermStore, fmt: Fmt, mods: u8, x: TermId, y: TermId) -> [TermId; 21] {
    let plain = FloatMods::default();
    let rnd = [Rnd::Rn, Rnd::Rz, Rnd::Rm, Rnd::Rp][usize::from(mods & 3)];
    let rounded = FloatMods { rnd, ..plain };
    let nan = FloatMods { nan: true, ..plain };
    let of = |op, mods| Operation::new(Does::Float(op), (fmt, fmt), mods);
    let width = fmt.bits() as u8;
    let zeros = [false, true].map(|n| s.bits(width, crate::number::zero(fmt, n)));
    let infinities = [false, true].map(|n| s.bits(width, crate::number::infinity(fmt, n)));
    let [one, minus_one] = [0, 1 << (width - 1)].map(|top| s.bits(width, fmt_one(fmt) | top));
    let not_a_number = s.bits(width, crate::number::nan(fmt));
    let negated = s.word(of(FloatOp::Neg, plain), &[x]);
    let top = s.bits(width, 1 << (width - 1));
    let digits = s.bits(width, (1 << (width - 1)) - 1);
    let (sign, low) = (
        s.bits_op(BitsOp::And, y, top),
        s.bits_op(BitsOp::And, x, digits),
    );
    let wide = Operation::new(Does::Convert, (wider(fmt), fmt), plain);
    let back = Operation::new(Does::Convert, (fmt, wider(fmt)), rounded);
    let inside = s.word(wide, &[negated]);
    let outside = s.word(wide, &[x]);
    let outside = s.word(
        Operation::new(Does::Float(FloatOp::Neg), (wide.fmt, wide.fmt), plain),
        &[outside],
    );
    let nearest = FloatMods {
        rnd: Rnd::Rn,
        ..plain
    };
    let double = s.word(of(FloatOp::Add, nearest), &[x, x]);
    [
        s.word(of(FloatOp::Add, nearest), &[double, double]),
        s.word(of(FloatOp::Add, rounded), &[x, zeros[0]]),
        s.word(of(FloatOp::Add, rounded), &[x, zeros[1]]),
        s.word(of(FloatOp::Add, rounded), &[x, negated]),
        s.word(of(FloatOp::Sub, rounded), &[x, x]),
        s.word(of(FloatOp::Mul, rounded), &[x, minus_one]),
        s.word(of(FloatOp::Mul, rounded), &[x, zeros[0]]),
        s.word(of(FloatOp::Max, plain), &[x, infinities[1]]),
        s.word(of(FloatOp::Max, nan), &[infinities[1], x]),
        s.word(of(FloatOp::Max, plain), &[x, infinities[0]]),
        s.word(of(FloatOp::Max, nan), &[x, infinities[0]]),
        s.word(of(FloatOp::Min, plain), &[infinities[0], x]),
        s.word(of(FloatOp::Max, plain), &[x, not_a_number]),
        s.word(of(FloatOp::Max, plain), &[x, negated]),
        s.word(of(FloatOp::Min, nan), &[x, negated]),
        s.word(of(FloatOp::Fma, rounded), &[one, x, zeros[1]]),
        s.bits_op(BitsOp::Or, sign, low),
        s.word(of(FloatOp::Copysign, plain), &[y, negated]),
        s.word(of(FloatOp::Copysign, plain), &[top, x]),
        s.word(back, &[inside]),
        s.word(back, &[outside]),
    ]
}

/// The largest of negations, and the negation of the least.
fn turned(s: &mut TermStore, fmt: Fmt, of: [TermId; 2], mods: FloatMods) -> [TermId; 2] {
    let word = |op, mods| Operation::new(Does::Float(op), (fmt, fmt), mods);
    let neg = word(FloatOp::Neg, FloatMods::default());
    let negated = of.map(|t| s.word(neg, &[t]));
    let least = s.word(word(FloatOp::Min, mods), &of);
    [
        s.word(word(FloatOp::Max, mods), &negated),
        s.word(neg, &[least]),
    ]
}

/// A choice between two numbers by masks of bits, in two ways.
fn by_masks(s: &mut TermStore, fmt: Fmt, [a, b, c]: [TermId; 3]) -> [TermId; 2] {
    let width = fmt.bits() as u8;
    let less = Operation::new(Does::Compare(Cmp::Lt), (fmt, fmt), FloatMods::default());
    let (bit, one) = (s.word(less, &[a, b]), s.bits(1, 1));
    let p = s.icmp(ICmp::Eq, bit, one);
    let (ones, none) = (s.bits(width, u64::MAX), s.bits(width, 0));
    let (mask, other) = (s.select(p, ones, none), s.select(p, none, ones));
    let (x, y) = (
        s.bits_op(BitsOp::And, b, mask),
        s.bits_op(BitsOp::And, c, other),
    );
    let both = s.bits_op(BitsOp::Xor, b, c);
    let through = s.bits_op(BitsOp::And, both, mask);
    [
        s.bits_op(BitsOp::Or, x, y),
        s.bits_op(BitsOp::Xor, through, c),
    ]
}

/// Whether a value is a number, in two ways.
fn numbers(s: &mut TermStore, fmt: Fmt, x: TermId) -> [TermId; 2] {
    let plain = FloatMods::default();
    let abs = s.word(
        Operation::new(Does::Float(FloatOp::Abs), (fmt, fmt), plain),
        &[x],
    );
    let infinity = s.bits(fmt.bits() as u8, crate::number::infinity(fmt, false));
    let one = s.bits(1, 1);
    [(Cmp::Eq, [x, x]), (Cmp::Le, [abs, infinity])].map(|(cmp, of)| {
        let bit = s.word(Operation::new(Does::Compare(cmp), (fmt, fmt), plain), &of);
        s.icmp(ICmp::Eq, bit, one)
    })
}

/// An empty store for programs over a format.
fn canon(fmt: Fmt) -> Canon {
    let mut canon = Canon::default();
    canon.identities.finite = vec![None, Some(fmt)];
    canon
}

/// Values of a program that are the same up to the identities, for readers of floats.
fn classes(s: &TermStore, all: &[(TermId, Fmt)]) -> (Vec<Vec<TermId>>, Vec<u64>) {
    let mut canon = canon(all[0].1);
    let roots: Vec<(TermId, Reader)> = all.iter().map(|v| (v.0, Reader::of(v.1))).collect();
    let images = canon.add(s, &roots);
    let mut classes: indexmap::IndexMap<TermId, Vec<TermId>> = Default::default();
    for &(t, fmt) in all {
        let class = classes.entry(images.get(t, Reader::of(fmt))).or_default();
        if !class.contains(&t) {
            class.push(t);
        }
    }
    let several = classes.into_values().filter(|c| c.len() > 1).collect();
    (several, canon.identities.used)
}

fn check(fmt: Fmt, steps: &[Step], inputs: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut s = TermStore::new();
    let all = program(&mut s, fmt, steps);
    let (classes, used) = classes(&s, &all);
    if classes.is_empty() {
        return used;
    }
    let roots: Vec<TermId> = classes.iter().flatten().copied().collect();
    let cone = s.reachable(&roots);
    for x in inputs {
        let values = evaluate(&s, &cone, &mut One(x, u64::from(fmt.bits()) / 8));
        for class in &classes {
            let of = |&t: &TermId| values.get(t, Some(fmt)).first().map(|&v| quiet(fmt, v));
            // Of what reads the bits of a NaN nothing is known.
            let known: Vec<&TermId> = class.iter().filter(|t| of(t).is_some()).collect();
            for t in known.iter().skip(1) {
                assert_eq!(
                    of(known[0]),
                    of(t),
                    "{fmt:?} on {x:#x}: {} against {}",
                    shown(&s, *known[0]),
                    shown(&s, **t)
                );
            }
        }
    }
    used
}

fn shown(s: &TermStore, t: TermId) -> String {
    let name = |_: ArrayId, off: u64, _: u64| format!("x{}", off / 8);
    let bounds = crate::term::show::Bounds {
        depth: 20,
        chars: 1500,
    };
    crate::term::show::show(s, t, &name, bounds)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    proptest::collection::vec((any::<u8>(), any::<u8>(), any::<[u8; 3]>()), 40..160)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Programs of sixteen bits, on a part of all inputs; [`every_identity_keeps_every_bit`] takes all of them.
    #[test]
    fn same_operations_have_same_bits(steps in steps(), fmt in 0usize..4) {
        let fmt = [Fmt::F16, Fmt::Bf16, Fmt::F32, Fmt::F64][fmt];
        check(fmt, &steps, (0..0x10000u64).step_by(257));
    }
}

/// Long programs that use every identity, on all 65,536 values of an input.
#[test]
fn every_identity_keeps_every_bit() {
    let mut used = vec![0; IDENTITIES.len()];
    let mut seed = 7u64;
    // Each format has its share, and then as many as it takes.
    for n in 0..96 {
        if n >= 24 && !used.contains(&0) {
            break;
        }
        let fmt = [Fmt::F16, Fmt::Bf16, Fmt::F32][n % 3];
        let steps: Vec<Step> = (0..120)
            .map(|_| {
                seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let b = (seed >> 16).to_le_bytes();
                (b[0], b[1], [b[2], b[3], b[4]])
            })
            .collect();
        let stride = if n == 0 || n == 3 { 1 } else { 509 };
        let of = check(fmt, &steps, (0..0x10000).step_by(stride));
        used.iter_mut().zip(of).for_each(|(all, n)| *all += n);
    }
    for (identity, n) in IDENTITIES.iter().zip(used) {
        assert!(n > 0, "no program used `{}`", identity.name);
    }
}
