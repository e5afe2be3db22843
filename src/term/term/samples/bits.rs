//! The bits of terms at the sample inputs, as far as the enclosures of reals tell them.
//!
//! Problem: an expanded logarithm takes the exponent of a float from its bits, and adds and masks it as an integer.
//! The number is known with an error, so its last bits are not: each value is one with a mask of bits of which
//! nothing is known. Sums keep the bits that the least and the greatest value share (as in LLVM's known bits).
//!
//! Sound in the direction of what is known.

use super::Sample::Bits;
use super::{Open, Real, Sample, Truth, constant};
use crate::scalar::Fmt;
use crate::term::{
    ArrayId, BitsOp, ICmp, Sort, Term, TermId, TermStore, decode, fold_bits, fold_compare, pairs,
    sext,
};

/// Integers beyond which a double is not exact.
const MOST: f64 = 1e15;

/// The encodings of the numbers between two: the bits that both ends share, from the highest on.
pub(super) fn encoded(fmt: Fmt, lo: f64, hi: f64) -> Sample {
    let (low, high) = match fmt {
        Fmt::F64 => (lo.to_bits(), hi.to_bits()),
        Fmt::F32 => (
            u64::from((lo as f32).to_bits()),
            u64::from((hi as f32).to_bits()),
        ),
        _ => return Open,
    };
    // A rounding may go to either side.
    let exact = lo == hi && (fmt == Fmt::F64 || f64::from(lo as f32) == lo);
    let differ = (low ^ high) | (u64::from(!exact) * 3);
    Bits(low, from_highest(differ))
}

/// All bits from the highest that is set on.
fn from_highest(bits: u64) -> u64 {
    if bits == 0 {
        0
    } else {
        u64::MAX >> bits.leading_zeros()
    }
}

/// The numbers that bits may be, some of which are not known.
pub(super) fn read(fmt: Fmt, bits: u64, unknown: u64) -> Sample {
    let ends = [bits & !unknown, bits | unknown].map(|b| decode(fmt, b).map(|q| constant(&q)));
    match ends {
        [Ok(Real(lo, hi)), Ok(Real(low, high))] => Real(lo.min(low), hi.max(high)),
        _ => Open,
    }
}

/// The integers that bits may be.
pub(super) fn integer(signed: bool, w: u8, v: u64, unknown: u64) -> Sample {
    let Some((lo, hi)) = ends(signed, w, (v, unknown)) else {
        return Open;
    };
    let (lo, hi) = (lo as f64, hi as f64);
    match lo.abs() < MOST && hi.abs() < MOST {
        true => Real(lo, hi),
        false => Open,
    }
}

fn keep(v: u64, w: u8) -> u64 {
    v & (u64::MAX >> (64 - u32::from(w)))
}

/// The least and the greatest integer; `None` where the sign of one is not known.
fn ends(signed: bool, w: u8, (v, unknown): (u64, u64)) -> Option<(i128, i128)> {
    let (lo, hi) = (v & !unknown, keep(v | unknown, w));
    match signed {
        false => Some((i128::from(lo), i128::from(hi))),
        true if unknown >> (w - 1) & 1 == 1 => None,
        true => Some((i128::from(sext(lo, w)), i128::from(sext(hi, w)))),
    }
}

/// What all integers between two share modulo a power of two.
fn shared(w: u8, lo: i128, hi: i128) -> Option<(u64, u64)> {
    let size = 1i128 << w;
    if lo.div_euclid(size) != hi.div_euclid(size) {
        return None;
    }
    let (low, high) = (lo.rem_euclid(size) as u64, hi.rem_euclid(size) as u64);
    Some((low, from_highest(low ^ high)))
}

fn operation(op: BitsOp, w: u8, a: (u64, u64), b: (u64, u64)) -> Option<(u64, u64)> {
    let ((x, p), (y, q)) = (a, b);
    if p | q == 0 {
        return Some((keep(fold_bits(op, w, x, y)?, w), 0));
    }
    let (x, y) = (x & !p, y & !q);
    match op {
        BitsOp::And => Some((x & y, p & (y | q) | q & (x | p))),
        BitsOp::Or => Some((x | y, p & !y | q & !x)),
        BitsOp::Xor => Some(((x ^ y) & !(p | q), p | q)),
        BitsOp::Add => {
            let ((lo, hi), (low, high)) = (ends(false, w, a)?, ends(false, w, b)?);
            shared(w, lo + low, hi + high)
        }
        BitsOp::Mul => {
            // A factor of -1, of two's complement, and small ones.
            let ((lo, hi), k) = match (p, q) {
                (0, _) => (ends(false, w, b)?, sext(x, w)),
                (_, 0) => (ends(false, w, a)?, sext(y, w)),
                _ => return None,
            };
            let k = i128::from(k);
            match k.unsigned_abs() < 1 << 32 {
                true => shared(w, (lo * k).min(hi * k), (lo * k).max(hi * k)),
                false => None,
            }
        }
        BitsOp::Shl if q == 0 && y < u64::from(w) => Some((keep(x << y, w), keep(p << y, w))),
        BitsOp::LShr if q == 0 && y < u64::from(w) => Some((x >> y, p >> y)),
        BitsOp::AShr if q == 0 => {
            let (lo, hi) = ends(true, w, a)?;
            let by = y.min(u64::from(w) - 1);
            let (low, high) = (keep((lo >> by) as u64, w), keep((hi >> by) as u64, w));
            Some((low, from_highest(low ^ high)))
        }
        BitsOp::Shl
        | BitsOp::LShr
        | BitsOp::AShr
        | BitsOp::UDiv
        | BitsOp::URem
        | BitsOp::SDiv
        | BitsOp::SRem => None,
    }
}

fn compare(op: ICmp, w: u8, a: (u64, u64), b: (u64, u64)) -> Option<bool> {
    if a.1 | b.1 == 0 {
        return Some(fold_compare(op, w, a.0, b.0));
    }
    let signed = matches!(op, ICmp::SLt | ICmp::SLe);
    let ((lo, hi), (low, high)) = (ends(signed, w, a)?, ends(signed, w, b)?);
    match op {
        ICmp::Eq => ((a.0 ^ b.0) & !(a.1 | b.1) != 0).then_some(false),
        _ if hi < low => Some(true),
        _ if lo > high => Some(false),
        _ => None,
    }
}

/// The value of bits, or of a comparison of bits, from those of children and of inputs.
pub(super) fn step(
    store: &TermStore,
    t: TermId,
    kid: impl Fn(TermId) -> Sample,
    leaf: impl Fn(ArrayId, u64) -> f64,
) -> Option<Sample> {
    let width = |t| match store.sort(t) {
        Sort::Bits(w) => w,
        _ => 1,
    };
    let of = |t| match kid(t) {
        Bits(v, unknown) => Some((v, unknown)),
        _ => None,
    };
    let (v, unknown) = match store.get(t) {
        Term::ICmp(op, a, b) => return compare(op, width(a), of(a)?, of(b)?).map(Truth),
        Term::BitsConst { value, .. } => (value, 0),
        // Integers are small more often than not.
        Term::Bytes { array, off, width } => (keep(leaf(array, off).abs() as u64, width), 0),
        // What is known and what is not are moved alike.
        Term::Concat(_) | Term::Extract { .. } => (
            store.fold_word(t, |_, c| Some(of(c)?.0))?,
            store.fold_word(t, |_, c| Some(of(c)?.1))?,
        ),
        Term::BitsOp(op, a, b) => operation(op, width(t), of(a)?, of(b)?)?,
        Term::BitsSum(list) => {
            let w = width(t);
            let mut sum = (0, 0);
            for (a, b) in pairs(list) {
                let product = operation(BitsOp::Mul, w, of(a)?, of(b)?)?;
                sum = operation(BitsOp::Add, w, sum, product)?;
            }
            sum
        }
        Term::OfBool { p, .. } => match kid(p) {
            Truth(b) => (u64::from(b), 0),
            _ => return None,
        },
        _ => return None,
    };
    Some(Bits(v & !unknown, unknown))
}
