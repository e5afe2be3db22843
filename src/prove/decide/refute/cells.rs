//! The input elements that a condition reads, and values for them.
//!
//! Every cell is one element of its type and every value a finite number of it, so that a
//! counterexample is something that a kernel can be given.

use std::collections::BTreeMap;

use crate::kernel::Fmt;
use crate::number::half;
use crate::spec::{Arrays, ElemTy};
use crate::term::eval::{Cone, Inputs};
use crate::term::{ArrayId, BitsOp, ICmp, Term, TermStore, decode};

/// One input element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
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
pub fn cells(store: &TermStore, cone: &Cone, arrays: &Arrays) -> Vec<Cell> {
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
    let bound = |a: ArrayId| {
        let array = arrays.0.get(store.array_of(a).0 as usize);
        array.and_then(|a| a.elem)
    };
    let mut out = Vec::new();
    let mut group: Vec<(u64, Read)> = Vec::new();
    let mut at: Option<(ArrayId, u64)> = None;
    for ((array, off), list) in reads {
        for r in list {
            match at {
                Some((a, end)) if a == array && off < end => at = Some((a, end.max(r.0))),
                _ => {
                    if let Some((a, _)) = at {
                        split((a, bound(a)), &group, signed, &mut out);
                    }
                    group.clear();
                    at = Some((array, r.0));
                }
            }
            group.push((off, r));
        }
    }
    if let Some((a, _)) = at {
        split((a, bound(a)), &group, signed, &mut out);
    }
    out
}

/// The cells of overlapping reads: the bound elements, else the elements that are read as floats,
/// else the widest read, and single bytes for what remains.
fn split(
    (array, bound): (ArrayId, Option<ElemTy>),
    group: &[(u64, Read)],
    signed: bool,
    out: &mut Vec<Cell>,
) {
    let start = group.iter().map(|g| g.0).min().unwrap_or(0);
    let end = group.iter().map(|g| g.1.0).max().unwrap_or(0);
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
pub fn encode(ty: ElemTy, v: f64) -> u64 {
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
            // Fewer bits where the number has too many, the largest number where it is too big.
            let v = v.clamp(-65504.0, 65504.0);
            let short = f64::from_bits(v.to_bits() & !((1 << 42) - 1));
            half::exactly(Fmt::F16, short).unwrap_or(0x3c00)
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
pub fn inputs(cells: &[Cell], values: &[u64]) -> Inputs {
    let mut out = Inputs::default();
    for (c, &v) in cells.iter().zip(values) {
        if v != 0 {
            out.set(c.array, c.off, c.bytes, v);
        }
    }
    out
}

/// The values of some cells among those of all; 0 for what is read there in another way.
pub(crate) fn some(own: &[Cell], all: &[Cell], values: &[u64]) -> Vec<u64> {
    let inputs = inputs(all, values);
    let value = |c: &Cell| inputs.read(c.array, c.off, c.bytes);
    own.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use num_rational::BigRational;

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
