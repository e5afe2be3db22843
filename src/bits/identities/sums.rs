//! Identities of sums.

use super::{Becomes, Known, is_nearest, is_plain, small};
use crate::kernel::{FloatMods, FloatOp, Rnd};
use crate::number;
use crate::term::TermId;
use crate::term::word::{Does, Operation};

pub(super) fn unrounded(_: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
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

pub(super) fn difference(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
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

pub(super) fn commuted(_: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Float(FloatOp::Add), &[a, b]) = (o.does, operands) else {
        return None;
    };
    (o.src == o.fmt && b < a).then(|| Becomes::Operation(*o, vec![b, a]))
}

/// The other operand of a sum without modifiers of which one is a number.
fn other(k: &Known, operands: &[TermId], bits: u64) -> Option<TermId> {
    match *operands {
        [a, b] if k.is(b, bits) => Some(a),
        [a, b] if k.is(a, bits) => Some(b),
        _ => None,
    }
}

pub(super) fn minus_zero(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let plain = [Rnd::Rn, Rnd::Rz, Rnd::Rp].iter().any(|&r| is_plain(o, r));
    if o.does != Does::Float(FloatOp::Add) || !plain || o.place != 0 {
        return None;
    }
    other(k, operands, number::zero(o.fmt, true)).map(Becomes::Term)
}

pub(super) fn zero(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    if o.does != Does::Float(FloatOp::Add) || !is_plain(o, Rnd::Rn) || o.place != 0 {
        return None;
    }
    let x = other(k, operands, number::zero(o.fmt, false))?;
    let never = k.is_never_minus_zero(o, x);
    never.then_some(Becomes::Term(x))
}

pub(super) fn size(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Float(FloatOp::Abs), &[x]) = (o.does, operands) else {
        return None;
    };
    let (sum, list) = k.word(x)?;
    let alike = is_nearest(&sum) || is_plain(&sum, Rnd::Rz);
    let is_sum = sum.does == Does::Float(FloatOp::Add) && sum.place == 0 && sum.fmt == o.fmt;
    if !is_sum || !alike || o.src != o.fmt {
        return None;
    }
    let turned = list.into_iter().map(|t| k.negated(o.fmt, t)).collect();
    let turned = k.simplest(sum, turned);
    // Either stands for both.
    (turned < x).then(|| Becomes::Operation(*o, vec![turned]))
}

pub(super) fn repeated(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
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
fn summand(k: &Known, o: &Operation, t: TermId) -> Option<TermId> {
    let (inner, list) = k.word(t)?;
    let x = other(k, &list, number::zero(o.fmt, false))?;
    (inner == *o).then_some(x)
}

pub(super) fn onto_zero(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Float(FloatOp::Add), &[s, t]) = (o.does, operands) else {
        return None;
    };
    if !is_nearest(o) || o.place != 0 {
        return None;
    }
    let (a, b) = match (summand(k, o, s), summand(k, o, t)) {
        (Some(a), None) => (a, t),
        (None, Some(a)) => (a, s),
        // Onto what is never -0 a zero of either sign is nothing.
        (Some(a), Some(b)) => (a.max(b), a.min(b)),
        (None, None) => return None,
    };
    // A zero of b is +0, so that the one below changes nothing.
    if is_plain(o, Rnd::Rn) && k.is_never_minus_zero(o, b) {
        return Some(Becomes::Operation(*o, vec![a, b]));
    }
    if a <= b {
        return None;
    }
    let zero = k.store.bits(o.fmt.bits() as u8, number::zero(o.fmt, false));
    let mut first = [zero, b];
    first.sort_unstable();
    let first = k.store.word(*o, &first);
    k.never_minus_zero.insert(first);
    let mut both = vec![first, a];
    both.sort_unstable();
    Some(Becomes::Operation(*o, both))
}
