//! Identities of conversions between formats.

use super::{Becomes, KnownBits, is_plain};
use crate::kernel::{FloatMods, FloatOp, Fmt, IntTy, Rnd};
use crate::number;
use crate::term::word::{Does, Operation};
use crate::term::{Sort, Term, TermId, embeds};

/// True for a conversion that is exact and does nothing else.
pub(super) fn widens(o: &Operation) -> bool {
    let m = &o.mods;
    let whole = matches!(m.rnd, Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi | Rnd::Rs);
    let bare = !(m.sat || m.relu || m.oob || whole);
    // A subnormal f16 is a normal f32.
    let flushes = m.ftz && (o.src, o.fmt) != (Fmt::F16, Fmt::F32);
    o.does == Does::Convert && bare && !flushes && o.src != o.fmt && embeds(o.src, o.fmt)
}

pub(super) fn narrowed(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Convert, &[x]) = (o.does, operands) else {
        return None;
    };
    let m = &o.mods;
    let whole = matches!(m.rnd, Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi | Rnd::Rs);
    let flushes = m.ftz && (o.fmt, o.src) != (Fmt::F16, Fmt::F32);
    if m.sat || m.relu || m.oob || whole || flushes {
        return None;
    }
    let widening = |i: &Operation| widens(i) && (i.src, i.fmt) == (o.fmt, o.src);
    let (signs, x) = k.without_signs(o.src, x);
    let narrow = match (k.under(x, widening), o.fmt, o.src) {
        (Some(inner), ..) => inner,
        (None, Fmt::Bf16, Fmt::F32) => upper_half(k, x)?,
        (None, ..) => return None,
    };
    Some(Becomes::Term(k.with_signs(o.fmt, signs, narrow)))
}

/// The bf16 whose bits stand above sixteen zeros.
fn upper_half(k: &KnownBits, t: TermId) -> Option<TermId> {
    match k.store.get(t) {
        Term::Concat(&[low, high]) if k.is(TermId(low), 0) => {
            let high = TermId(high);
            let halves =
                k.store.sort(high) == Sort::Bits(16) && k.store.sort(TermId(low)) == Sort::Bits(16);
            halves.then_some(high)
        }
        _ => None,
    }
}

pub(super) fn widened(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let &[x] = operands else { return None };
    if !widens(o) {
        return None;
    }
    if (o.src, o.fmt) == (Fmt::Bf16, Fmt::F32) {
        let zeros = k.store.bits(16, 0);
        return Some(Becomes::Term(k.store.concat(&[zeros, x])));
    }
    let (inner, operand) = match k.word(x) {
        Some((inner, operands)) if widens(&inner) && inner.fmt == o.src => {
            (inner, *operands.first()?)
        }
        _ => return None,
    };
    // What was flushed before or between is not flushed at once.
    if o.mods.ftz || inner.mods.ftz {
        return None;
    }
    let src = inner.src;
    Some(Becomes::Operation(Operation { src, ..*o }, vec![operand]))
}

pub(super) fn double(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Convert, &[x]) = (o.does, operands) else {
        return None;
    };
    // Of these the wide format has 2p + 2 bits. A subnormal sum is exact; a product of two numbers of p bits has 2p bits, and
    // where the wide format cuts some off, it is below the middle between zero and the least number of the narrow one.
    // A quotient that is not the middle between two numbers of p bits is further from it than the wide format rounds, since
    // its product with the divisor has 2p + 1 bits; no root is subnormal.
    let pair = matches!(
        (o.fmt, o.src),
        (Fmt::F32, Fmt::F64) | (Fmt::F16 | Fmt::Bf16, Fmt::F32)
    );
    let nearest = FloatMods {
        rnd: Rnd::Rn,
        ..FloatMods::default()
    };
    if !pair || o.mods != nearest {
        return None;
    }
    let (inner, list) = k.word(x)?;
    let once = matches!(
        inner.does,
        Does::Float(FloatOp::Add | FloatOp::Mul | FloatOp::Div | FloatOp::Sqrt)
    );
    if !once || inner.fmt != o.src || !is_plain(&inner, Rnd::Rn) || inner.place != 0 {
        return None;
    }
    let wide = |i: &Operation| widens(i) && (i.src, i.fmt) == (o.fmt, o.src) && !i.mods.ftz;
    let exact = FloatMods {
        rnd: Rnd::Rn,
        ..FloatMods::default()
    };
    let mut narrow = Vec::new();
    for t in list {
        // A sign is that of the narrow number; a known one may be of the narrow format.
        let (signs, plain) = k.without_signs(o.src, t);
        let n = match k.store.as_bits(plain) {
            Some(bits) => {
                let cut = number::float_to_float(o.src, o.fmt, &narrowing(&exact), bits)?;
                let back = number::float_to_float(o.fmt, o.src, &narrowing(&exact), cut)?;
                (back == bits).then(|| k.store.bits(o.fmt.bits() as u8, cut))?
            }
            None if o.fmt == Fmt::Bf16 => upper_half(k, plain)?,
            None => k.under(plain, wide)?,
        };
        narrow.push(k.with_signs(o.fmt, signs, n));
    }
    let operation = Operation::new(inner.does, (o.fmt, o.fmt), nearest);
    Some(Becomes::Operation(operation, narrow))
}

pub(super) fn from_wider(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Convert, &[x]) = (o.does, operands) else {
        return None;
    };
    let mods = FloatMods {
        rnd: o.mods.rnd,
        ..FloatMods::default()
    };
    let rounds = matches!(o.mods.rnd, Rnd::Rn | Rnd::Rz | Rnd::Rm | Rnd::Rp);
    if o.mods != mods || !rounds || o.src != Fmt::F64 {
        return None;
    }
    let (signs, x) = k.without_signs(o.src, x);
    let (inner, list) = k.word(x)?;
    let is_widening = widens(&inner) && !inner.mods.ftz && inner.src == Fmt::F32;
    if !is_widening || inner.fmt != o.src || o.fmt == inner.src {
        return None;
    }
    let src = inner.src;
    let list = list.into_iter().map(|t| k.with_signs(src, signs, t));
    Some(Becomes::Operation(Operation { src, ..*o }, list.collect()))
}

pub(super) fn of_natural(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::OfInt(ty), &[x]) = (o.does, operands) else {
        return None;
    };
    let Term::Concat(parts) = k.store.get(x) else {
        return None;
    };
    let (&top, below) = parts.split_last()?;
    let below: Vec<TermId> = below.iter().map(|&i| TermId(i)).collect();
    if !k.is(TermId(top), 0) {
        return None;
    }
    let width: u8 = below.iter().map(|&t| k.store.width(t)).sum();
    let held = [8, 16, 32, 64].into_iter().find(|w| *w >= width)?;
    if (held, false) == (ty.width, ty.signed) || held > ty.width {
        return None;
    }
    let mut parts = below;
    if held > width {
        parts.push(k.store.bits(held - width, 0));
    }
    let natural = k.store.concat(&parts);
    let ty = IntTy {
        width: held,
        signed: false,
    };
    let does = Does::OfInt(ty);
    Some(Becomes::Operation(Operation { does, ..*o }, vec![natural]))
}

fn narrowing(m: &FloatMods) -> number::Narrowing {
    number::Narrowing {
        rnd: m.rnd,
        ..number::Narrowing::default()
    }
}

pub(super) fn exact(_: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    if !widens(o) || o.mods == FloatMods::default() {
        return None;
    }
    let mods = FloatMods::default();
    Some(Becomes::Operation(
        Operation { mods, ..*o },
        operands.to_vec(),
    ))
}

pub(super) fn saturated(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Convert, &[x]) = (o.does, operands) else {
        return None;
    };
    let only = FloatMods {
        sat: true,
        ..FloatMods::default()
    };
    if o.src != o.fmt || o.mods != only {
        return None;
    }
    let (inner, list) = k.word(x)?;
    let saturates = matches!(
        inner.does,
        Does::Float(FloatOp::Add | FloatOp::Mul | FloatOp::Fma)
    );
    let rounded = FloatMods {
        rnd: inner.mods.rnd,
        ..FloatMods::default()
    };
    if !saturates || inner.place != 0 || inner.fmt != o.fmt || inner.mods != rounded {
        return None;
    }
    let mods = FloatMods {
        sat: true,
        ..rounded
    };
    Some(Becomes::Operation(Operation { mods, ..inner }, list))
}
