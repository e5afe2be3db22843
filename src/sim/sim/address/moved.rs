//! Bits that an operation moves or changes one by one, and tables of three of them.
//!
//! Source: PTX ISA 9.0, sections 9.7.1 (`bfe`, `bfi`), 9.7.8 (shifts, `lop3`, `shf`) and 9.7.9.7
//! (`prmt`). Only amounts, fields and selectors that no layout changes are followed.

use crate::kernel::{IntOp, IntTy};

use super::image::{Bit, Image, shifted_down};
use super::provenance::low;

/// True if of two bits in one place one is always zero.
pub(super) fn disjoint(a: &Image, b: &Image) -> bool {
    let zero = Bit::Known(false);
    a.iter().zip(b).all(|(x, y)| *x == zero || *y == zero)
}

/// The value of a function of three bits whatever those are that are not known.
pub(super) fn constant_bit(f: impl Fn(bool, bool, bool) -> bool, bits: [Bit; 3]) -> Option<bool> {
    let may = |b: Bit, v: bool| !matches!(b, Bit::Known(k) if k != v);
    let mut seen = [false; 2];
    for i in 0..8u8 {
        let v = [i & 1 == 1, i & 2 == 2, i & 4 == 4];
        if (0..3).all(|j| may(bits[j], v[j])) {
            seen[usize::from(f(v[0], v[1], v[2]))] = true;
        }
    }
    match seen {
        [true, false] => Some(false),
        [false, true] => Some(true),
        _ => None,
    }
}

/// The table of `lop3`, whose highest index bit is the first operand, with the first one lowest.
pub(super) fn lop3_table(t: u8) -> u8 {
    let mut out = 0;
    for i in 0..8u8 {
        let from = (i & 1) << 2 | i & 2 | i >> 2;
        out |= (t >> from & 1) << i;
    }
    out
}

/// Shifts, fields, permutations by constants.
pub(super) fn moved(op: IntOp, ty: IntTy, im: &[Image; 4], k: [Option<u64>; 4]) -> Option<Image> {
    let w = ty.width;
    let zero = Bit::Known(false);
    let amount = |n: Option<u64>| n.map(|n| (n & 0xffff_ffff).min(u64::from(w)) as u8);
    let up = |image: &Image, by: u8| {
        let mut out = [zero; 64];
        for i in by..w {
            out[i as usize] = image[(i - by) as usize];
        }
        out
    };
    let fill = |image: &mut Image, from: u8, top: Bit| {
        let bit = match top {
            Bit::Known(_) => top,
            _ => Bit::Lost,
        };
        image[from as usize..w as usize].fill(bit);
    };
    match op {
        IntOp::Shl => Some(up(&im[0], amount(k[1])?)),
        IntOp::Shr => {
            let by = amount(k[1])?;
            let mut out = shifted_down(&im[0], by, w - by);
            if ty.signed {
                fill(&mut out, w - by, im[0][w as usize - 1]);
            }
            Some(out)
        }
        IntOp::Div if !ty.signed => {
            let n = k[1]? & low(w);
            n.is_power_of_two().then(|| {
                let by = n.trailing_zeros() as u8;
                shifted_down(&im[0], by, w - by)
            })
        }
        IntOp::Rem if !ty.signed => {
            let n = k[1]? & low(w);
            let bits = n.is_power_of_two().then(|| n.trailing_zeros() as u8)?;
            Some(shifted_down(&im[0], 0, bits))
        }
        IntOp::Bfe => {
            let (pos, len) = (k[1]?, k[2]?);
            if pos + len > u64::from(w) || len == 0 {
                return None;
            }
            let mut out = shifted_down(&im[0], pos as u8, len as u8);
            if ty.signed {
                let top = out[len as usize - 1];
                fill(&mut out, len as u8, top);
            }
            Some(out)
        }
        IntOp::Bfi => {
            let (pos, len) = (k[2]?, k[3]?);
            if pos + len > u64::from(w) {
                return None;
            }
            let mut out = im[1];
            for i in 0..len as usize {
                out[pos as usize + i] = im[0][i];
            }
            Some(out)
        }
        IntOp::Prmt => {
            let selector = k[2]?;
            let mut out = [zero; 64];
            for i in 0..4usize {
                let nibble = (selector >> (4 * i) & 15) as usize;
                let (from, byte) = (&im[nibble >> 2 & 1], nibble & 3);
                for j in 0..8 {
                    out[8 * i + j] = match nibble & 8 {
                        0 => from[8 * byte + j],
                        _ => match from[8 * byte + 7] {
                            b @ Bit::Known(_) => b,
                            _ => Bit::Lost,
                        },
                    };
                }
            }
            Some(out)
        }
        IntOp::ShfLClamp | IntOp::ShfLWrap | IntOp::ShfRClamp | IntOp::ShfRWrap => {
            let n = k[2]? & 0xffff_ffff;
            let n = match op {
                IntOp::ShfLClamp | IntOp::ShfRClamp => n.min(32),
                _ => n & 31,
            } as u8;
            let mut both = im[0];
            both[32..].copy_from_slice(&im[1][..32]);
            let from = match op {
                IntOp::ShfLClamp | IntOp::ShfLWrap => 32 - n,
                _ => n,
            };
            Some(shifted_down(&both, from, 32))
        }
        _ => None,
    }
}
