//! Identities of products and quotients.

use super::{Becomes, Known, is_nearest, small};
use crate::kernel::{FloatOp, Rnd};
use crate::number::{self, Value};
use crate::term::TermId;
use crate::term::word::{Does, Operation};

pub(super) fn factors(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    if o.src != o.fmt || o.mods.approx {
        return None;
    }
    let fused = match (o.does, operands.len()) {
        (Does::Float(FloatOp::Mul), 2) => false,
        (Does::Float(FloatOp::Fma), 3) => true,
        _ => return None,
    };
    let mut list = operands.to_vec();
    let mut flips = 0;
    for t in &mut list[..2] {
        while let Some(inner) = k.unsigned(o.fmt, *t) {
            *t = inner;
            flips += 1;
        }
    }
    let odd = flips % 2 == 1;
    list[..2].sort_unstable();
    let even_rounding = matches!(o.mods.rnd, Rnd::Rn | Rnd::Rz);
    let one_sided = o.mods.sat || o.mods.relu || o.mods.oob;
    if odd && !fused && even_rounding && !one_sided {
        let product = k.store.word(*o, &list);
        return Some(Becomes::Term(k.negated(o.fmt, product)));
    }
    if odd {
        list[0] = k.negated(o.fmt, list[0]);
    }
    (list != operands).then_some(Becomes::Operation(*o, list))
}

pub(super) fn quotient(k: &mut Known, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Float(FloatOp::Div), &[x, d]) = (o.does, operands) else {
        return None;
    };
    if !is_nearest(o) {
        return None;
    }
    let bits = k.store.as_bits(d)?;
    let Value::Finite { mantissa, .. } = number::decode(o.fmt, bits).value else {
        return None;
    };
    if !mantissa.is_power_of_two() || number::is_subnormal(o.fmt, bits) {
        return None;
    }
    let one = small(o.fmt, 1)?;
    let inverse = number::operation(FloatOp::Div, (o.fmt, o.fmt), &o.mods, [one, bits, 0])?;
    if number::is_subnormal(o.fmt, inverse) || number::decode(o.fmt, inverse).exact().is_none() {
        return None;
    }
    let inverse = k.store.bits(o.fmt.bits() as u8, inverse);
    let does = Does::Float(FloatOp::Mul);
    Some(Becomes::Operation(
        Operation { does, ..*o },
        vec![x, inverse],
    ))
}
