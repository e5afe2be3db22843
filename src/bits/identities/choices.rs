//! Identities of signs, comparisons and extrema.

use super::{Becomes, Known, chained, negation};
use crate::kernel::{Cmp, FloatMods, FloatOp};
use crate::number;
use crate::term::word::{Does, Operation};
use crate::term::{ICmp, TermId};

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
