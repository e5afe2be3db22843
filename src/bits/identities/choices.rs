//! Identities of signs, comparisons and extrema.

use super::{Becomes, Known, chained, is_nan, negation};
use crate::kernel::{Cmp, FloatMods, FloatOp};
use crate::number;
use crate::term::word::{Does, Operation};
use crate::term::{ICmp, Term, TermId};

pub(super) fn signs(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let &[x] = operands else { return None };
    if o.mods != FloatMods::default() || o.src != o.fmt {
        return None;
    }
    match o.does {
        Does::Float(FloatOp::Neg) if k.store.as_bits(x).is_some() => {
            Some(Becomes::Term(k.negated(o.fmt, x)))
        }
        Does::Float(FloatOp::Neg) => k.under(x, |i| *i == *o).map(Becomes::Term),
        Does::Float(FloatOp::Abs) => {
            let inner = k.under(x, |i| *i == negation(o.fmt) || *i == *o)?;
            Some(Becomes::Operation(*o, vec![inner]))
        }
        _ => None,
    }
}

pub(super) fn compared(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
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
    let word = k.store.word(operation, &list);
    let one = k.store.bits(1, 1);
    let holds = k.store.icmp(ICmp::Eq, word, one);
    let not = k.store.not(holds);
    Some(Becomes::Term(k.store.of_bool(1, not)))
}

pub(super) fn set(_: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    if !chained(o) {
        return None;
    }
    let does = match o.does {
        Does::Float(FloatOp::Max3) => Does::Float(FloatOp::Max),
        Does::Float(FloatOp::Min3) => Does::Float(FloatOp::Min),
        does => does,
    };
    let mut list = operands.to_vec();
    list.sort_unstable();
    list.dedup();
    let operation = Operation { does, ..*o };
    match list[..] {
        [only] if !o.mods.ftz => Some(Becomes::Term(only)),
        _ if operation == *o && list == operands => None,
        _ => Some(Becomes::Operation(operation, list)),
    }
}

pub(super) fn number(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
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

pub(super) fn flushed(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let arithmetic = matches!(
        o.does,
        Does::Float(FloatOp::Add | FloatOp::Mul | FloatOp::Fma)
    );
    if !arithmetic || !o.mods.ftz || o.src != o.fmt {
        return None;
    }
    let mods = FloatMods {
        ftz: true,
        ..FloatMods::default()
    };
    let of = |op| Operation::new(Does::Float(op), (o.fmt, o.fmt), mods);
    let mut list = operands.to_vec();
    for t in &mut list {
        for op in [FloatOp::Neg, FloatOp::Abs] {
            if let Some(x) = k.under(*t, |i| *i == of(op)) {
                let plain = Operation {
                    mods: FloatMods::default(),
                    ..of(op)
                };
                *t = k.simplest(plain, vec![x]);
            }
        }
    }
    (list != operands).then_some(Becomes::Operation(*o, list))
}

pub(super) fn extremum(k: &mut Known, p: TermId, sides: [TermId; 2]) -> Option<TermId> {
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
