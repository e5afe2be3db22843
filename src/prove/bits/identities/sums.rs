//! Identities of sums.

use super::{Becomes, KnownBits, is_nearest, is_plain, small};
use crate::kernel::{FloatMods, FloatOp, Rnd};
use crate::number;
use crate::term::TermId;
use crate::term::word::{Does, Operation};

pub(super) fn unrounded(_: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let rounds = matches!(
        o.does,
        Does::Float(FloatOp::Add | FloatOp::Sub | FloatOp::Mul | FloatOp::Fma)
    );
    if !rounds || o.mods.rnd != Rnd::None || o.place != 0 {
        return None;
    }
    let mods = FloatMods {
        rnd: Rnd::Rn,
        ..o.mods
    };
    Some(Becomes::Operation(
        Operation { mods, ..*o },
        operands.to_vec(),
    ))
}

pub(super) fn difference(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Float(FloatOp::Sub), &[a, b]) = (o.does, operands) else {
        return None;
    };
    if o.src != o.fmt {
        return None;
    }
    let b = k.negated(o.fmt, b);
    let does = Does::Float(FloatOp::Add);
    Some(Becomes::Operation(Operation { does, ..*o }, vec![a, b]))
}

pub(super) fn commuted(_: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Float(FloatOp::Add), &[a, b]) = (o.does, operands) else {
        return None;
    };
    (o.src == o.fmt && b < a).then(|| Becomes::Operation(*o, vec![b, a]))
}

/// The other operand of a sum without modifiers of which one is a number.
fn other(k: &KnownBits, operands: &[TermId], bits: u64) -> Option<TermId> {
    match *operands {
        [a, b] if k.is(b, bits) => Some(a),
        [a, b] if k.is(a, bits) => Some(b),
        _ => None,
    }
}

pub(super) fn minus_zero(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let plain = [Rnd::Rn, Rnd::Rz, Rnd::Rp].iter().any(|&r| is_plain(o, r));
    if o.does != Does::Float(FloatOp::Add) || !plain || o.place != 0 {
        return None;
    }
    other(k, operands, number::zero(o.fmt, true)).map(Becomes::Term)
}

pub(super) fn zero(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let plain = [Rnd::Rn, Rnd::Rm].iter().any(|&r| is_plain(o, r));
    if o.does != Does::Float(FloatOp::Add) || !plain || o.place != 0 {
        return None;
    }
    let x = other(k, operands, number::zero(o.fmt, false))?;
    let never = o.mods.rnd == Rnd::Rm || k.is_never_minus_zero(o.fmt, x);
    never.then_some(Becomes::Term(x))
}

pub(super) fn vanishing(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Float(FloatOp::Add), &[a, b]) = (o.does, operands) else {
        return None;
    };
    let mods = FloatMods {
        rnd: o.mods.rnd,
        ftz: o.mods.ftz,
        ..FloatMods::default()
    };
    let rounds = matches!(o.mods.rnd, Rnd::Rn | Rnd::Rz | Rnd::Rm | Rnd::Rp);
    if o.src != o.fmt || o.mods != mods || !rounds || o.place != 0 {
        return None;
    }
    if k.negated(o.fmt, a) != b || !k.is_finite(o.fmt, a) {
        return None;
    }
    let zero = number::zero(o.fmt, o.mods.rnd == Rnd::Rm);
    Some(Becomes::Term(k.store.bits(o.fmt.bits() as u8, zero)))
}

pub(super) fn size(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Float(FloatOp::Abs), &[x]) = (o.does, operands) else {
        return None;
    };
    let (sum, list) = k.word(x)?;
    let alike = is_nearest(&sum) || is_plain(&sum, Rnd::Rz);
    let is_sum = sum.does == Does::Float(FloatOp::Add) && sum.place == 0 && sum.fmt == o.fmt;
    if !is_sum || !alike || o.src != o.fmt {
        return None;
    }
    let turned = turned(k, &sum, list);
    let (same, list) = k.word(turned).filter(|(i, _)| *i == sum).unzip();
    let back = same.and(list).map(|list| self::turned(k, &sum, list));
    // Either stands for both; what does not come back became simpler.
    let is_first = back == Some(x) && x < turned;
    (!is_first).then(|| Becomes::Operation(*o, vec![turned]))
}

/// A sum with the other sign.
fn turned(k: &mut KnownBits, sum: &Operation, list: Vec<TermId>) -> TermId {
    let list = list.into_iter().map(|t| k.negated(sum.fmt, t)).collect();
    k.simplest(*sum, list)
}

pub(super) fn repeated(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Float(FloatOp::Add), &[a, b]) = (o.does, operands) else {
        return None;
    };
    if !is_nearest(o) || o.place != 0 {
        return None;
    }
    let product = Operation {
        does: Does::Float(FloatOp::Mul),
        ..*o
    };
    let width = o.fmt.bits() as u8;
    if a == b {
        let two = k.store.bits(width, small(o.fmt, 2)?);
        return Some(Becomes::Operation(product, vec![a, two]));
    }
    for (sum, x) in [(a, b), (b, a)] {
        let Some((inner, list)) = k.word(sum) else {
            continue;
        };
        if inner != product || !list.contains(&x) {
            continue;
        }
        for n in 2..5 {
            if list
                .iter()
                .any(|&t| t != x && k.is(t, small(o.fmt, n).unwrap_or(0)))
            {
                let next = k.store.bits(width, small(o.fmt, n + 1)?);
                return Some(Becomes::Operation(product, vec![x, next]));
            }
        }
    }
    None
}

/// The summand of a sum with +0, rounded and flushed alike.
fn summand(k: &KnownBits, o: &Operation, t: TermId) -> Option<TermId> {
    let (inner, list) = k.word(t)?;
    let x = other(k, &list, number::zero(o.fmt, false))?;
    (inner == *o).then_some(x)
}

pub(super) fn onto_zero(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Float(FloatOp::Add), &[s, t]) = (o.does, operands) else {
        return None;
    };
    if !is_nearest(o) || o.place != 0 {
        return None;
    }
    let (a, b) = match (summand(k, o, s), summand(k, o, t)) {
        (Some(a), None) => (a, t),
        (None, Some(a)) => (a, s),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    // A zero of b is +0, so that the one below changes nothing.
    if is_plain(o, Rnd::Rn) && k.is_never_minus_zero(o.fmt, b) {
        return Some(Becomes::Operation(*o, vec![a, b]));
    }
    // Onto what is never -0 a zero of either sign is nothing: both summands look the same.
    let zero = k.store.bits(o.fmt.bits() as u8, number::zero(o.fmt, false));
    let [a, b] = [a, b].map(|x| k.simplest(*o, vec![zero, x]));
    let mut both = vec![a, b];
    both.sort_unstable();
    (both != operands).then_some(Becomes::Operation(*o, both))
}
