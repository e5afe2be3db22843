//! Operations that move fields: `prmt`, `shf`, `bfe`, `bfi`, `szext`, and the dot products of packed
//! bytes.

use crate::kernel::{IntOp, IntTy};
use crate::term::{BitsOp, ICmp, TermId, TermStore};

use super::super::int::{self, mode_selector};
use super::{at, extend};

/// `prmt`, if its control is known. A byte followed by copies of its sign is a sign extension.
pub(super) fn prmt(
    s: &mut TermStore,
    op: IntOp,
    a: TermId,
    b: TermId,
    control: TermId,
) -> Option<TermId> {
    let control = s.as_bits(control)?;
    let selector = match op {
        IntOp::PrmtMode(mode) => mode_selector(mode, control),
        _ => control as u16,
    };
    let source = s.concat(&[a, b]);
    let nibble = |i: u16| selector >> (4 * i) & 15;
    let mut parts: Vec<TermId> = Vec::new();
    let mut i = 0;
    while i < 4 {
        let from = nibble(i) & 7;
        let copies = |first: u16| (first..4).take_while(|&k| nibble(k) == from | 8).count() as u8;
        let byte = s.extract(source, from as u8 * 8, 8);
        if nibble(i) & 8 == 0 {
            let n = copies(i + 1);
            parts.push(s.sign_extend(byte, 8 * (1 + n)));
            i += 1 + n as u16;
        } else {
            let n = copies(i);
            let sign = s.extract(byte, 7, 1);
            parts.push(s.sign_extend(sign, 8 * n));
            i += n as u16;
        }
    }
    Some(s.concat(&parts))
}

/// `shf`: the words {b, a} shifted as one.
pub(super) fn funnel(s: &mut TermStore, op: IntOp, a: TermId, b: TermId, amount: TermId) -> TermId {
    let n = at(s, amount, 32);
    let n = if matches!(op, IntOp::ShfLWrap | IntOp::ShfRWrap) {
        let low = s.extract(n, 0, 5);
        s.zero_extend(low, 64)
    } else {
        let limit = s.bits(32, 32);
        let p = s.icmp(ICmp::ULt, n, limit);
        let n = s.select(p, n, limit);
        s.zero_extend(n, 64)
    };
    let both = s.concat(&[a, b]);
    if matches!(op, IntOp::ShfLClamp | IntOp::ShfLWrap) {
        let r = s.bits_op(BitsOp::Shl, both, n);
        s.extract(r, 32, 32)
    } else {
        let r = s.bits_op(BitsOp::LShr, both, n);
        s.extract(r, 0, 32)
    }
}

/// `bfe`, if its field is known.
pub(super) fn bfe(s: &mut TermStore, a: TermId, field: [TermId; 2], ty: IntTy) -> Option<TermId> {
    let [pos, len] = [s.as_bits(field[0])?, s.as_bits(field[1])?];
    if int::is_undefined(IntOp::Bfe, ty, [0, pos, len, 0]) {
        return None;
    }
    let (w, pos, len) = (ty.width, pos as u8, len as u8);
    if len == 0 || (pos >= w && !ty.signed) {
        return Some(s.bits(w, 0));
    }
    // Past the top bit a signed field consists of copies of it.
    let pos = pos.min(w - 1);
    let field = s.extract(a, pos, len.min(w - pos));
    Some(extend(s, field, ty.signed, w))
}

/// `szext`, if the number of bits is known.
pub(super) fn szext(
    s: &mut TermStore,
    op: IntOp,
    a: TermId,
    n: TermId,
    ty: IntTy,
) -> Option<TermId> {
    let n = s.as_bits(n)?;
    Some(match n & 31 {
        _ if op == IntOp::SzextClamp && n >= 32 => a,
        0 => s.bits(ty.width, 0),
        n => {
            let field = s.extract(a, 0, n as u8);
            extend(s, field, ty.signed, ty.width)
        }
    })
}

/// `bfi`, if its field is known: the low bits of `a` over `b`.
pub(super) fn bfi(
    s: &mut TermStore,
    a: TermId,
    b: TermId,
    field: [TermId; 2],
    ty: IntTy,
) -> Option<TermId> {
    let [pos, len] = [s.as_bits(field[0])?, s.as_bits(field[1])?];
    if int::is_undefined(IntOp::Bfi, ty, [0, 0, pos, len]) {
        return None;
    }
    let (w, pos, len) = (ty.width, pos as u8, len as u8);
    if len == 0 || pos >= w {
        return Some(b);
    }
    let len = len.min(w - pos);
    let mut parts = Vec::new();
    if pos > 0 {
        parts.push(s.extract(b, 0, pos));
    }
    parts.push(s.extract(a, 0, len));
    if pos + len < w {
        parts.push(s.extract(b, pos + len, w - pos - len));
    }
    Some(s.concat(&parts))
}

/// Elements of a word, of a width and signedness and from an index on, as words.
pub fn elements<const N: usize>(
    s: &mut TermStore,
    word: TermId,
    (width, signed): (u8, bool),
    first: u8,
) -> [TermId; N] {
    std::array::from_fn(|i| {
        let element = s.extract(word, (first + i as u8) * width, width);
        extend(s, element, signed, 32)
    })
}

/// `dp4a` and `dp2a`: c plus the products of elements.
pub fn dot<const N: usize>(s: &mut TermStore, a: [TermId; N], b: [TermId; N], c: TermId) -> TermId {
    a.into_iter().zip(b).fold(c, |sum, (x, y)| {
        let p = s.bits_op(BitsOp::Mul, x, y);
        s.bits_op(BitsOp::Add, sum, p)
    })
}
