//! One operation in all lanes of a warp.
//!
//! The problem: `run` spends its time in a few operations on f32 and on packed f16, and to ask for each lane which operation
//! it is, in which format and rounding, costs more than the arithmetic. Here the choice stands outside the loop over the
//! lanes, and what is inside has no branch, so that the processor's vectors do it. A multiply-add of f32 is a product of
//! doubles, which is exact, and a sum that is rounded to odd ([`super::half`]): the processor's own is not to be had without
//! knowing which processor it is.
//!
//! Everything else is [`operation`], lane by lane. Not claimed: anything of its own; each loop gives the bits of
//! [`operation`], which the tests compare.

use crate::scalar::{FloatMods, FloatOp, Fmt, Rnd};

use super::half::{Half, sum_to_odd};
use super::operation;

/// The registers of a warp that an operation reads.
pub type Lanes<'a> = [&'a [u64; 32]; 3];

/// Computes an operation on `parts` packed numbers in the lanes `mask`; gives the lanes that have a result. What
/// `out` holds of the other lanes is not specified.
pub fn operation_in_lanes(
    op: FloatOp,
    formats: (Fmt, Fmt),
    parts: u8,
    mods: &FloatMods,
    (mask, given): (u32, Lanes<'_>),
    out: &mut [u64; 32],
) -> u32 {
    if is_plain(formats, mods) && in_loop(op, (formats.0, parts), mods, given, out) {
        return mask;
    }
    let one = |words| operation(op, formats, mods, words);
    each_packed((formats.0, parts), (mask, given), out, one)
}

/// Computes a function of each of the packed numbers in the lanes `mask`; gives the lanes that have a result.
pub fn each_packed(
    how: (Fmt, u8),
    (mask, given): (u32, Lanes<'_>),
    out: &mut [u64; 32],
    mut one: impl FnMut([u64; 3]) -> Option<u64>,
) -> u32 {
    let mut done = 0;
    for lane in (0..32).filter(|l| mask >> l & 1 == 1) {
        if let Some(bits) = by_parts(how, given.map(|w| w[lane]), &mut one) {
            out[lane] = bits;
            done |= 1 << lane;
        }
    }
    done
}

/// An operation on each of the numbers that are packed into words.
pub fn packed(
    op: FloatOp,
    formats: (Fmt, Fmt),
    parts: u8,
    mods: &FloatMods,
    words: [u64; 3],
) -> Option<u64> {
    by_parts((formats.0, parts), words, |w| {
        operation(op, formats, mods, w)
    })
}

/// A function of each of the numbers that are packed into words.
fn by_parts(
    (fmt, parts): (Fmt, u8),
    words: [u64; 3],
    mut one: impl FnMut([u64; 3]) -> Option<u64>,
) -> Option<u64> {
    if parts == 1 {
        return one(words);
    }
    let bits = fmt.bits();
    (0..u32::from(parts)).try_fold(0, |out, i| {
        let part = words.map(|x| x >> (i * bits) & (u64::MAX >> (64 - bits)));
        Some(out | one(part)? << (i * bits))
    })
}

/// True of one format, rounded to nearest, with no modifier but `.ftz` and `.NaN` that changes the result.
fn is_plain((fmt, src): (Fmt, Fmt), mods: &FloatMods) -> bool {
    let changed = mods.sat || mods.relu || mods.oob || mods.abs || mods.xorsign_abs;
    fmt == src && !changed && matches!(mods.rnd, Rnd::None | Rnd::Rn)
}

/// The commonest operations; false for others.
fn in_loop(
    op: FloatOp,
    (fmt, parts): (Fmt, u8),
    mods: &FloatMods,
    given: Lanes<'_>,
    out: &mut [u64; 32],
) -> bool {
    match (fmt, parts) {
        (Fmt::F32, 1) if mods.ftz => singles::<true>(op, mods.nan, given, out),
        (Fmt::F32, 1) => singles::<false>(op, mods.nan, given, out),
        (Fmt::F16 | Fmt::Bf16, 1 | 2) if !mods.ftz => match Half::of(fmt) {
            Some(half) => halves(op, (half, parts), mods.nan, given, out),
            None => false,
        },
        _ => false,
    }
}

/// A subnormal number as a zero of its sign.
#[inline(always)]
fn flushed<const FTZ: bool>(bits: u32) -> u32 {
    match FTZ && bits & 0x7f80_0000 == 0 {
        true => bits & 0x8000_0000,
        false => bits,
    }
}

/// A loop over the lanes for one function of encodings of f32.
#[inline(always)]
fn each<const FTZ: bool>(given: Lanes<'_>, out: &mut [u64; 32], f: impl Fn([u32; 3]) -> u32) {
    let [x, y, z] = given;
    for (i, o) in out.iter_mut().enumerate() {
        let bits = [x[i], y[i], z[i]].map(|b| flushed::<FTZ>(b as u32));
        *o = flushed::<FTZ>(f(bits)).into();
    }
}

/// The encoding of a number, with one NaN for all.
#[inline(always)]
fn encoded(x: f32) -> u32 {
    if x.is_nan() { 0x7fff_ffff } else { x.to_bits() }
}

fn singles<const FTZ: bool>(op: FloatOp, nan: bool, given: Lanes<'_>, out: &mut [u64; 32]) -> bool {
    macro_rules! run {
        ($f:expr) => {
            each::<FTZ>(given, out, |b| encoded($f(b.map(f32::from_bits))))
        };
    }
    match op {
        FloatOp::Add => run!(|[x, y, _]: [f32; 3]| x + y),
        FloatOp::Sub => run!(|[x, y, _]: [f32; 3]| x - y),
        FloatOp::Mul => run!(|[x, y, _]: [f32; 3]| x * y),
        FloatOp::Fma => run!(|[x, y, z]: [f32; 3]| {
            sum_to_odd(f64::from(x) * f64::from(y), f64::from(z)) as f32
        }),
        FloatOp::Div => run!(|[x, y, _]: [f32; 3]| x / y),
        FloatOp::Rcp => run!(|[x, _, _]: [f32; 3]| 1.0 / x),
        FloatOp::Sqrt => run!(|[x, _, _]: [f32; 3]| x.sqrt()),
        FloatOp::Neg => each::<FTZ>(given, out, |[x, _, _]| x ^ 0x8000_0000),
        FloatOp::Abs => each::<FTZ>(given, out, |[x, _, _]| x & 0x7fff_ffff),
        FloatOp::Min | FloatOp::Max => {
            let pick = extremum(0x7f80_0000, 31, op == FloatOp::Min, nan);
            each::<FTZ>(given, out, |[x, y, _]| pick(x, y));
        }
        _ => return false,
    }
    true
}

/// The lesser or the larger of two encodings of a format with this infinity and place of the sign.
///
/// Magnitudes are ordered as encodings are; -0 is below +0. A NaN is dropped, or the result.
#[inline(always)]
fn extremum(infinity: u32, sign: u32, least: bool, keeps_nan: bool) -> impl Fn(u32, u32) -> u32 {
    let magnitude = (1 << sign) - 1;
    move |x, y| {
        let [x_nan, y_nan] = [x, y].map(|b| b & magnitude > infinity);
        let key = |b: u32| match b >> sign & 1 {
            0 => b as i32,
            _ => -1 - (b & magnitude) as i32,
        };
        let first = (key(x) < key(y)) == least;
        let all = magnitude;
        match (x_nan, y_nan) {
            (false, false) => {
                if first {
                    x
                } else {
                    y
                }
            }
            (true, true) => all,
            _ if keeps_nan => all,
            (true, false) => y,
            (false, true) => x,
        }
    }
}

/// A loop over the lanes for one function of encodings of 16 bits, of which a word holds one or two.
#[inline(always)]
fn each_half(parts: u8, given: Lanes<'_>, out: &mut [u64; 32], f: impl Fn(u64, u64, u64) -> u64) {
    let [x, y, z] = given;
    let low = |b: u64| b & 0xffff;
    for (i, o) in out.iter_mut().enumerate() {
        *o = f(low(x[i]), low(y[i]), low(z[i]));
    }
    if parts == 2 {
        let high = |b: u64| b >> 16 & 0xffff;
        for (i, o) in out.iter_mut().enumerate() {
            *o |= f(high(x[i]), high(y[i]), high(z[i])) << 16;
        }
    }
}

fn halves(
    op: FloatOp,
    (half, parts): (Half, u8),
    nan: bool,
    given: Lanes<'_>,
    out: &mut [u64; 32],
) -> bool {
    macro_rules! run {
        ($f:expr) => {
            each_half(parts, given, out, |x, y, z| {
                half.narrowed($f([x, y, z].map(|b| half.widened(b))))
            })
        };
    }
    match op {
        FloatOp::Add => run!(|[x, y, _]: [f64; 3]| sum_to_odd(x, y)),
        FloatOp::Sub => run!(|[x, y, _]: [f64; 3]| sum_to_odd(x, -y)),
        FloatOp::Mul => run!(|[x, y, _]: [f64; 3]| x * y),
        FloatOp::Fma => run!(|[x, y, z]: [f64; 3]| sum_to_odd(x * y, z)),
        FloatOp::Neg => each_half(parts, given, out, |x, _, _| x ^ 0x8000),
        FloatOp::Abs => each_half(parts, given, out, |x, _, _| x & 0x7fff),
        FloatOp::Min | FloatOp::Max => {
            let pick = extremum(half.infinity() as u32, 15, op == FloatOp::Min, nan);
            each_half(parts, given, out, |x, y, _| pick(x as u32, y as u32).into());
        }
        _ => return false,
    }
    true
}
