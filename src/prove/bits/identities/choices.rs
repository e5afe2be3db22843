//! Identities of comparisons and extrema.

use super::signs::Signs;
use super::{Becomes, KnownBits, chained, is_nan, negation};
use crate::kernel::{Cmp, FloatMods, FloatOp};
use crate::number;
use crate::term::word::{Does, Operation};
use crate::term::{ICmp, Term, TermId};

pub(super) fn compared(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Compare(cmp), &[a, b]) = (o.does, operands) else {
        return None;
    };
    let (to, turned, negated) = match cmp {
        Cmp::Lt | Cmp::Le => return None,
        Cmp::Gt => (Cmp::Lt, true, false),
        Cmp::Ge => (Cmp::Le, true, false),
        Cmp::Ltu => (Cmp::Le, true, true),
        Cmp::Leu => (Cmp::Lt, true, true),
        Cmp::Gtu => (Cmp::Le, false, true),
        Cmp::Geu => (Cmp::Lt, false, true),
        Cmp::Neu => (Cmp::Eq, b < a, true),
        Cmp::Ne => (Cmp::Equ, b < a, true),
        Cmp::Nan => (Cmp::Num, b < a, true),
        Cmp::Eq | Cmp::Equ | Cmp::Num if b < a => (cmp, true, false),
        Cmp::Eq | Cmp::Equ | Cmp::Num => return None,
    };
    let list = if turned { vec![b, a] } else { vec![a, b] };
    let does = Does::Compare(to);
    let operation = Operation { does, ..*o };
    if !negated {
        return Some(Becomes::Operation(operation, list));
    }
    let word = k.simplest(operation, list);
    let one = k.store.bits(1, 1);
    let holds = k.store.icmp(ICmp::Eq, word, one);
    let not = k.store.not(holds);
    Some(Becomes::Term(k.store.of_bool(1, not)))
}

pub(super) fn set(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    if !chained(o) {
        return None;
    }
    let does = match o.does {
        Does::Float(FloatOp::Max3) => Does::Float(FloatOp::Max),
        Does::Float(FloatOp::Min3) => Does::Float(FloatOp::Min),
        does => does,
    };
    let mut operation = Operation { does, ..*o };
    let mut list = operands.to_vec();
    with_sizes(k, &operation, &mut list);
    // Of numbers that are no NaN none is dropped and none kept.
    if o.mods.nan && k.are_never_nan(o.fmt, &list) {
        operation.mods.nan = false;
    }
    let steps = |&t: &TermId| match k.word(t) {
        Some((inner, of)) if inner == operation => of,
        _ => vec![t],
    };
    list = list.iter().flat_map(steps).collect();
    list.sort_unstable();
    list.dedup();
    if let Some(all) = with_least_of_known(k, &operation, &mut list) {
        return Some(Becomes::Term(all));
    }
    match list[..] {
        [only] if !o.mods.ftz => Some(Becomes::Term(only)),
        [only] if k.store.as_bits(only).is_some() => {
            let bits = number::flushed(o.fmt, k.store.as_bits(only)?);
            Some(Becomes::Term(k.store.bits(o.fmt.bits() as u8, bits)))
        }
        _ if operation == *o && list == operands => None,
        _ => Some(Becomes::Operation(operation, list)),
    }
}

/// Of a number and its negation the larger is its size, and the smaller the negation of that.
fn with_sizes(k: &mut KnownBits, o: &Operation, list: &mut Vec<TermId>) {
    let signs = match o.does {
        Does::Float(FloatOp::Max) => Signs::Abs,
        _ => Signs::NegAbs,
    };
    let negated: Vec<(TermId, TermId)> = (list.iter())
        .filter_map(|&t| Some((t, k.under(t, |i| *i == negation(o.fmt))?)))
        .filter(|(_, inner)| list.contains(inner))
        .collect();
    for (t, inner) in negated {
        list.retain(|&x| x != t && x != inner);
        list.push(k.with_signs(o.fmt, signs, inner));
    }
}

/// Leaves one of the known numbers of a set, and none that decides nothing; the whole where a known number decides it.
fn with_least_of_known(k: &mut KnownBits, o: &Operation, list: &mut Vec<TermId>) -> Option<TermId> {
    let (known, mut rest): (Vec<TermId>, Vec<TermId>) =
        list.iter().partition(|&&t| k.store.as_bits(t).is_some());
    let bits: Vec<u64> = known.iter().filter_map(|&t| k.store.as_bits(t)).collect();
    let extreme = |a: u64, &b: &u64| o.apply(&[a, b]);
    let (first, others) = bits.split_first()?;
    let bits = others.iter().try_fold(*first, extreme)?;
    let t = k.store.bits(o.fmt.bits() as u8, bits);
    let is_max = o.does == Does::Float(FloatOp::Max);
    // A NaN is dropped by all steps, or kept by all.
    let (decides, nothing) = match (is_nan(o.fmt, bits), o.mods.nan) {
        (true, nan) => (nan, !nan),
        (false, _) => (
            bits == number::infinity(o.fmt, !is_max),
            bits == number::infinity(o.fmt, is_max),
        ),
    };
    if decides && (is_nan(o.fmt, bits) || !o.mods.nan || k.are_never_nan(o.fmt, &rest)) {
        return Some(t);
    }
    // Without the infinity a set of NaN is a NaN.
    let is_some = |k: &mut KnownBits| rest.iter().any(|&x| k.is_never_nan(o.fmt, x));
    let goes = nothing && !rest.is_empty() && (is_nan(o.fmt, bits) || o.mods.nan || is_some(k));
    if !goes {
        rest.push(t);
        rest.sort_unstable();
    }
    *list = rest;
    None
}

pub(super) fn turned(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let does = match o.does {
        Does::Float(FloatOp::Max) => FloatOp::Min,
        Does::Float(FloatOp::Min) => FloatOp::Max,
        _ => return None,
    };
    let is_turned = |&t: &TermId| k.under(t, |i| *i == negation(o.fmt)).is_some();
    let is_known = |&t: &TermId| k.store.as_bits(t).is_some();
    let all = operands.iter().all(|t| is_turned(t) || is_known(t));
    if !chained(o) || !all || !operands.iter().any(is_turned) {
        return None;
    }
    let list = operands.iter().map(|&t| k.negated(o.fmt, t)).collect();
    let does = Does::Float(does);
    let t = k.simplest(Operation { does, ..*o }, list);
    Some(Becomes::Term(k.negated(o.fmt, t)))
}

pub(super) fn number(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Compare(cmp), &[a, b]) = (o.does, operands) else {
        return None;
    };
    let abs = Operation::new(
        Does::Float(FloatOp::Abs),
        (o.src, o.src),
        FloatMods::default(),
    );
    let x = match cmp {
        Cmp::Eq if a == b => a,
        Cmp::Le if k.is(b, number::infinity(o.src, false)) => k.under(a, |i| *i == abs)?,
        _ => return None,
    };
    let does = Does::Compare(Cmp::Num);
    Some(Becomes::Operation(Operation { does, ..*o }, vec![x, x]))
}

pub(super) fn flushed(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let arithmetic = matches!(
        o.does,
        Does::Float(FloatOp::Add | FloatOp::Mul | FloatOp::Fma)
    );
    if !arithmetic || !o.mods.ftz || o.src != o.fmt {
        return None;
    }
    let mut list = operands.to_vec();
    for t in &mut list {
        let (signs, x, flushes) = k.without_flushed_signs(o.fmt, *t);
        if flushes {
            *t = k.with_signs(o.fmt, signs, x);
        }
    }
    (list != operands).then_some(Becomes::Operation(*o, list))
}

pub(super) fn extremum(k: &mut KnownBits, p: TermId, sides: [TermId; 2]) -> Option<TermId> {
    let (p, [a, b]) = match k.store.get(p) {
        Term::Not(p) => (p, [sides[1], sides[0]]),
        _ => (p, sides),
    };
    let Term::ICmp(ICmp::Eq, x, y) = k.store.get(p) else {
        return None;
    };
    let word = match () {
        () if k.is(y, 1) => x,
        () if k.is(x, 1) => y,
        () => return None,
    };
    let (o, operands) = k.word(word)?;
    let (Does::Compare(cmp), &[less, more]) = (o.does, &operands[..]) else {
        return None;
    };
    // The condition says which of both is returned where it holds: the larger one, or the smaller one.
    let (op, c) = match (less, more) {
        (c, x) if (x, c) == (a, b) => (FloatOp::Max, c),
        (x, c) if (x, c) == (a, b) => (FloatOp::Min, c),
        _ => return None,
    };
    let bits = k.store.as_bits(c)?;
    let is_strict = match cmp {
        Cmp::Lt => true,
        Cmp::Le => false,
        _ => return None,
    };
    // Of a zero and `c` both strict choices are `c`, and the others are not: the extremum is -0 for the least, else +0.
    let other_zero = number::zero(o.src, (op == FloatOp::Max) == is_strict);
    if o.mods != FloatMods::default() || is_nan(o.src, bits) || bits == other_zero {
        return None;
    }
    let extremum = Operation::new(Does::Float(op), (o.src, o.src), FloatMods::default());
    Some(k.simplest(extremum, vec![a, b]))
}
