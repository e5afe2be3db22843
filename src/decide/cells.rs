//! The input elements that a condition reads, and values for them.
//!
//! Every cell is one element of its type and every value a finite number of it, so that a
//! counterexample is something that a kernel can be given.

use std::collections::BTreeMap;

use num_rational::BigRational;

use crate::kernel::Fmt;
use crate::spec::{Arrays, ElemTy};
use crate::term::eval::{Cone, Inputs};
use crate::term::{ArrayId, BitsOp, ICmp, Term, TermId, TermStore, decode, encode_exact};

/// One input element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    /// The array.
    pub array: ArrayId,
    /// Byte offset.
    pub off: u64,
    /// Size in bytes.
    pub bytes: u8,
    /// How it is read.
    pub ty: ElemTy,
}

/// Whether integers of unbound arrays are signed: as the typed arithmetic that they meet says, and
/// signed where nothing says it, so that negative numbers are tried.
///
/// The type only says how candidates are chosen and shown; any bits are a value of either.
fn signed_integers(store: &TermStore, cone: &Cone) -> bool {
    let (mut signed, mut unsigned) = (false, false);
    for &t in cone.ids() {
        match store.get(t) {
            Term::OfInt { signed: s, .. } | Term::Clamp { signed: s, .. } => {
                signed |= s;
                unsigned |= !s;
            }
            Term::ICmp(ICmp::SLt | ICmp::SLe, ..)
            | Term::BitsOp(BitsOp::AShr | BitsOp::SDiv | BitsOp::SRem, ..) => signed = true,
            Term::ICmp(ICmp::ULt | ICmp::ULe, ..)
            | Term::BitsOp(BitsOp::LShr | BitsOp::UDiv | BitsOp::URem, ..) => unsigned = true,
            _ => {}
        }
    }
    signed || !unsigned
}

/// How one place is read: end of the bytes, the float format if it is read as one.
type Read = (u64, Option<Fmt>);

/// The cells that a cone reads, in array and offset order.
pub(super) fn cells(store: &TermStore, cone: &Cone, arrays: &Arrays) -> Vec<Cell> {
    let mut reads: BTreeMap<(ArrayId, u64), Vec<Read>> = BTreeMap::new();
    for &t in cone.ids() {
        let (array, off, bytes, fmt) = match store.get(t) {
            // Known numbers are no inputs.
            Term::Elem {
                array: ArrayId::CONSTANTS,
                ..
            } => continue,
            Term::Elem { array, fmt, off } => (array, off, fmt.bits() as u64 / 8, Some(fmt)),
            Term::Bytes { array, off, width } => (array, off, width as u64 / 8, None),
            _ => continue,
        };
        reads
            .entry((array, off))
            .or_default()
            .push((off + bytes, fmt));
    }
    let signed = signed_integers(store, cone);
    let mut out = Vec::new();
    let mut group: Vec<(u64, Read)> = Vec::new();
    let mut at: Option<(ArrayId, u64)> = None;
    for ((array, off), list) in reads {
        for r in list {
            match at {
                Some((a, end)) if a == array && off < end => at = Some((a, end.max(r.0))),
                _ => {
                    if let Some((a, _)) = at {
                        split(a, &group, arrays, signed, &mut out);
                    }
                    group.clear();
                    at = Some((array, r.0));
                }
            }
            group.push((off, r));
        }
    }
    if let Some((a, _)) = at {
        split(a, &group, arrays, signed, &mut out);
    }
    out
}

/// The cells of overlapping reads: the bound elements, else the elements that are read as floats,
/// else the widest read, and single bytes for what remains.
fn split(
    array: ArrayId,
    group: &[(u64, Read)],
    arrays: &Arrays,
    signed: bool,
    out: &mut Vec<Cell>,
) {
    let start = group.iter().map(|g| g.0).min().unwrap_or(0);
    let end = group.iter().map(|g| g.1.0).max().unwrap_or(0);
    let bound = arrays.0.get(array.0 as usize).and_then(|a| a.elem);
    if let Some(ty) = bound {
        // A float that the user bound as an integer is still read as that float.
        let n = ty.bytes().clamp(1, 8);
        let float = |off: u64| {
            group
                .iter()
                .find(|(o, (e, f))| *o == off && *e == off + n && f.is_some())
                .and_then(|(_, (_, f))| *f)
                .map_or(ty, ElemTy::Float)
        };
        for i in start / n..end.div_ceil(n) {
            out.push(Cell {
                array,
                off: i * n,
                bytes: n as u8,
                ty: float(i * n),
            });
        }
        return;
    }
    let mut at = start;
    while at < end {
        let best = group
            .iter()
            .filter(|(o, _)| *o == at)
            .max_by_key(|(_, (e, f))| (f.is_some(), *e));
        let (stop, ty) = match best {
            Some((_, (e, Some(f)))) => (*e, ElemTy::Float(*f)),
            Some((_, (e, None))) => {
                // Do not swallow a float that starts inside.
                let inner = group
                    .iter()
                    .filter(|(o, (_, f))| *o > at && o < e && f.is_some())
                    .map(|(o, _)| *o)
                    .min();
                let stop = inner.unwrap_or(*e).min(at + 8);
                let width = ((stop - at) * 8) as u8;
                (stop, ElemTy::Int { width, signed })
            }
            None => (
                at + 1,
                ElemTy::Int {
                    width: 8,
                    signed: false,
                },
            ),
        };
        out.push(Cell {
            array,
            off: at,
            bytes: (stop - at) as u8,
            ty,
        });
        at = stop;
    }
}

/// The bits of the number of the type that is near `v`; exact for small integers and halves in
/// every format that has them.
pub(super) fn encode(ty: ElemTy, v: f64) -> u64 {
    match ty {
        ElemTy::Int { width, signed } => {
            let i = v as i64;
            let i = if signed { i } else { i.abs() };
            let keep = u64::MAX >> (64 - width.clamp(1, 64) as u32);
            if signed {
                let h = 1i64 << (width.clamp(2, 63) - 1);
                (i.clamp(-h, h - 1) as u64) & keep
            } else {
                (i as u64).min(keep)
            }
        }
        ElemTy::Float(_) if v == 0.0 => 0,
        ElemTy::Float(Fmt::F64) => v.to_bits(),
        ElemTy::Float(Fmt::F32) => ((v as f32).clamp(f32::MIN, f32::MAX)).to_bits() as u64,
        ElemTy::Float(Fmt::Tf32) => ((v as f32).to_bits() & !0x1fff) as u64,
        ElemTy::Float(Fmt::Bf16) => ((v as f32).clamp(f32::MIN, f32::MAX).to_bits() >> 16) as u64,
        ElemTy::Float(Fmt::F16) => {
            let q = |v: f64| BigRational::from_float(v);
            // Fewer bits where the number has too many, the largest number where it is too big.
            let v = v.clamp(-65504.0, 65504.0);
            let short = f64::from_bits(v.to_bits() & !((1 << 42) - 1));
            q(v).and_then(|q| encode_exact(Fmt::F16, &q))
                .or_else(|| q(short).and_then(|q| encode_exact(Fmt::F16, &q)))
                .unwrap_or(0x3c00)
        }
        ElemTy::Float(fmt) => {
            let distance = |code: u64| {
                let q = decode(fmt, code).ok()?;
                Some((num_traits::ToPrimitive::to_f64(&q)? - v).abs())
            };
            let codes = match fmt {
                Fmt::E2m1 => 16,
                Fmt::E2m3 | Fmt::E3m2 => 64,
                _ => 256,
            };
            (0..codes)
                .filter_map(|c| Some((distance(c)?, c)))
                .min_by(|a, b| a.0.total_cmp(&b.0))
                .map_or(0, |(_, c)| c)
        }
    }
}

/// The inputs that give each cell its value.
pub(super) fn inputs(cells: &[Cell], values: &[u64]) -> Inputs {
    let mut out = Inputs::default();
    for (c, &v) in cells.iter().zip(values) {
        if v != 0 {
            out.set(c.array, c.off, c.bytes, v);
        }
    }
    out
}

/// A small generator of pseudo-random numbers (splitmix64): the same for every run.
#[derive(Clone, Debug)]
pub(super) struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
}

/// How the values of a candidate are chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pattern {
    /// The same everywhere.
    All(f64),
    /// One cell has a value, the others another.
    OneHot(usize, f64, f64),
    /// Small integers in a fixed order.
    Cycle(u64),
    /// Random integers from -k to k.
    Integers(u64),
    /// Random positive integers up to k.
    Positive(u64),
    /// Random multiples of 1/2^k up to 4.
    Fractions(u32),
    /// Random multiples of 2^k with a few bits.
    Scaled(i32),
    /// Numbers of very different sizes.
    Wild,
    /// Integers of any size; other numbers as in [`Pattern::Wild`].
    Bits,
    /// Integers at the ends of their ranges and of those of shorter ones; other numbers as in [`Pattern::Wild`].
    Ends,
    /// Numbers at and between those that the terms compare with, in turn from the k-th on.
    Near(usize),
}

/// The patterns to try, the most readable first.
///
/// `near` is the number of thresholds.
pub(super) fn patterns(all: &[Cell], near: usize) -> Vec<Pattern> {
    let cells = all.len();
    let integers = all.iter().any(|c| matches!(c.ty, ElemTy::Int { .. }));
    let mut out = vec![Pattern::All(0.0), Pattern::All(1.0), Pattern::All(-1.0)];
    let hot = cells.min(24);
    // The first cells, and some spread over all of them to the last.
    let spread = |k: usize| match k < 12 || cells <= 24 {
        true => k,
        false => 12 + (k - 12) * (cells - 13) / 11,
    };
    out.extend((0..hot).map(|k| Pattern::OneHot(spread(k), 1.0, 0.0)));
    out.extend([Pattern::Cycle(1), Pattern::Cycle(2), Pattern::Cycle(3)]);
    out.extend([
        Pattern::Integers(1),
        Pattern::Integers(2),
        Pattern::Integers(3),
    ]);
    out.extend([Pattern::Positive(3), Pattern::Positive(8)]);
    out.extend([Pattern::Integers(8); 3]);
    out.extend((0..near.min(24)).map(Pattern::Near));
    if integers {
        out.extend([Pattern::Ends; 6]);
        out.extend([Pattern::Bits; 3]);
    }
    out.extend((0..hot).map(|k| Pattern::OneHot(spread(k), -2.0, 1.0)));
    out.extend([
        Pattern::Fractions(1),
        Pattern::Fractions(2),
        Pattern::Fractions(6),
    ]);
    for k in [-4, -8, -12, 4, 6, 9] {
        out.extend([Pattern::Scaled(k); 2]);
    }
    out.extend([
        Pattern::Integers(100),
        Pattern::Wild,
        Pattern::Wild,
        Pattern::Wild,
    ]);
    out.extend((0..hot).map(|k| Pattern::OneHot(spread(k), 16.0, 0.0)));
    for _ in 0..8 {
        out.extend([
            Pattern::Integers(4),
            Pattern::Fractions(8),
            Pattern::Positive(16),
            Pattern::Wild,
        ]);
    }
    if integers {
        out.extend([Pattern::Bits; 12]);
        out.extend([Pattern::Ends; 6]);
    }
    out
}

/// A number at an end of the range of a type of this width or of a shorter one, or one beside it.
fn end(width: u8, random: &mut Random) -> u64 {
    let keep = u64::MAX >> (64 - width.clamp(1, 64) as u32);
    let bits = [width as u64, width as u64, 8, 16][random.below(4) as usize].clamp(1, 64);
    let ones = u64::MAX >> (64 - bits);
    // The largest unsigned and signed numbers, the least signed one, and 0; of the word, those of
    // shorter types are extended either way.
    let v = [ones, ones >> 1, !(ones >> 1), 0][random.below(4) as usize];
    v.wrapping_add(random.below(3)).wrapping_sub(1) & keep
}

/// Numbers at which a comparison with a constant, a maximum or a minimum may change its mind, those
/// halfway between them, and all of them with the other sign: what tells two kernels apart whose
/// limits differ a little.
pub(super) fn thresholds(store: &TermStore, cone: &Cone) -> Vec<f64> {
    let number = |t: TermId| {
        let q = store.as_const(t)?;
        num_traits::ToPrimitive::to_f64(q).filter(|v| v.is_finite())
    };
    let mut found: Vec<f64> = Vec::new();
    for &t in cone.ids() {
        if let Term::RCmp(_, a, b) | Term::Max(a, b) | Term::Min(a, b) = store.get(t) {
            found.extend([a, b].into_iter().filter_map(number).map(f64::abs));
        }
        if found.len() > MAX_THRESHOLDS {
            break;
        }
    }
    found.sort_unstable_by(f64::total_cmp);
    found.dedup();
    let between: Vec<f64> = found.windows(2).map(|w| (w[0] + w[1]) / 2.0).collect();
    found.extend(between);
    found.extend(found.clone().iter().map(|v| -v));
    found
}

/// Comparisons that are looked at.
const MAX_THRESHOLDS: usize = 256;

/// The values of a candidate.
pub(super) fn candidate(
    cells: &[Cell],
    pattern: Pattern,
    near: &[f64],
    random: &mut Random,
) -> Vec<u64> {
    cells
        .iter()
        .enumerate()
        .map(|(i, c)| {
            if let (Pattern::Bits, ElemTy::Int { width, .. }) = (pattern, c.ty) {
                return random.next() >> (64 - width.clamp(1, 64) as u32);
            }
            if let (Pattern::Ends, ElemTy::Int { width, .. }) = (pattern, c.ty) {
                return end(width, random);
            }
            let v = match pattern {
                Pattern::All(v) => v,
                Pattern::OneHot(k, hot, rest) => {
                    if i == k {
                        hot
                    } else {
                        rest
                    }
                }
                Pattern::Cycle(k) => ((i as u64 * 7 * k + k) % 5) as f64 - 1.0,
                Pattern::Integers(k) => random.below(2 * k + 1) as f64 - k as f64,
                Pattern::Positive(k) => 1.0 + random.below(k) as f64,
                Pattern::Fractions(k) => {
                    let n = 8u64 << k;
                    (random.below(n + 1) as f64 - (n / 2) as f64) / (1u64 << k) as f64
                }
                Pattern::Scaled(k) => (random.below(31) as f64 - 15.0) * 2f64.powi(k),
                Pattern::Wild | Pattern::Bits | Pattern::Ends => {
                    let m = random.below(15) as f64 - 7.0;
                    m * 2f64.powi(random.below(21) as i32 - 10)
                }
                Pattern::Near(k) if near.is_empty() => k as f64,
                Pattern::Near(k) => near[(i + k) % near.len()],
            };
            encode(c.ty, v)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_are_exact_in_every_format() {
        for fmt in [
            Fmt::F16,
            Fmt::Bf16,
            Fmt::F32,
            Fmt::F64,
            Fmt::Tf32,
            Fmt::E4m3,
            Fmt::E5m2,
        ] {
            for v in [1.0, -1.0, 2.0, -3.0, 0.5, 1.5] {
                let bits = encode(ElemTy::Float(fmt), v);
                let q = decode(fmt, bits).expect("finite");
                assert_eq!(
                    q,
                    BigRational::from_float(v).expect("finite"),
                    "{fmt:?} {v}"
                );
            }
        }
        for v in [1e300, -1e300, 1e-300, 70000.0, 0.1] {
            for fmt in Fmt::ALL {
                assert!(decode(fmt, encode(ElemTy::Float(fmt), v)).is_ok() || fmt == Fmt::Tf32);
            }
        }
    }

    #[test]
    fn overlapping_reads_become_cells() {
        let mut s = TermStore::new();
        let (a, lo) = (ArrayId(0), 4);
        let wide = s.bytes(a, lo, 32);
        let x = s.elem(a, Fmt::F16, lo);
        let y = s.of_real(Fmt::F32, x);
        let z = s.concat(&[wide, y]);
        let cone = Cone::new(&s, &[z]);
        let got = cells(&s, &cone, &Arrays::default());
        let shape: Vec<(u64, u8)> = got.iter().map(|c| (c.off, c.bytes)).collect();
        assert_eq!(shape, [(4, 2), (6, 1), (7, 1)]);
    }
}
