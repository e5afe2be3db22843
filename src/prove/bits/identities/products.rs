//! Identities of products and quotients.

use super::{Becomes, KnownBits, is_nearest, is_plain, small};
use crate::kernel::{FloatMods, FloatOp, Fmt, Rnd};
use crate::number::{self, Decoded};
use crate::term::TermId;
use crate::term::word::{Does, Operation};

pub(super) fn factors(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
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
        let product = k.simplest(*o, list);
        return Some(Becomes::Term(k.negated(o.fmt, product)));
    }
    // Which of two factors comes first says nothing: the sign is that of one that is not known, else of one that is not 1.
    if odd {
        let one = small(o.fmt, 1);
        let key = |t: TermId| {
            (
                k.store.as_bits(t).is_some(),
                k.store.as_bits(t) == one,
                k.store.as_bits(t),
            )
        };
        let i = usize::from(key(list[1]) < key(list[0]));
        list[i] = k.negated(o.fmt, list[i]);
    }
    (list != operands).then_some(Becomes::Operation(*o, list))
}

pub(super) fn quotient(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Float(FloatOp::Div), &[x, d]) = (o.does, operands) else {
        return None;
    };
    if !is_nearest(o) {
        return None;
    }
    let bits = k.store.as_bits(d)?;
    let Decoded::Finite { mantissa, .. } = number::decode(o.fmt, bits).value else {
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

/// True for an operation of one format that rounds, and may flush, but does nothing else.
fn only_rounds(o: &Operation) -> bool {
    let mods = FloatMods {
        rnd: o.mods.rnd,
        ftz: o.mods.ftz,
        ..FloatMods::default()
    };
    o.src == o.fmt && o.mods == mods
}

pub(super) fn one(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    if !only_rounds(o) {
        return None;
    }
    let (a, b) = match (o.does, operands) {
        (Does::Float(FloatOp::Mul), &[a, b]) if !o.mods.ftz => (a, b),
        (Does::Float(FloatOp::Fma), &[a, b, _]) => (a, b),
        _ => return None,
    };
    let one = small(o.fmt, 1)?;
    let x = match (k.is(a, one), k.is(b, one)) {
        (true, _) => b,
        (_, true) => a,
        (false, false) => return None,
    };
    let &[_, _, c] = operands else {
        return Some(Becomes::Term(x));
    };
    let does = Does::Float(FloatOp::Add);
    Some(Becomes::Operation(Operation { does, ..*o }, vec![x, c]))
}

pub(super) fn onto_minus_zero(
    k: &mut KnownBits,
    o: &Operation,
    operands: &[TermId],
) -> Option<Becomes> {
    let (Does::Float(FloatOp::Fma), &[a, b, c]) = (o.does, operands) else {
        return None;
    };
    if !is_plain(o, Rnd::Rn) || !k.is(c, number::zero(o.fmt, true)) {
        return None;
    }
    let does = Does::Float(FloatOp::Mul);
    Some(Becomes::Operation(Operation { does, ..*o }, vec![a, b]))
}

pub(super) fn reciprocal(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let (Does::Float(FloatOp::Rcp), &[x]) = (o.does, operands) else {
        return None;
    };
    if !only_rounds(o) {
        return None;
    }
    let one = k.store.bits(o.fmt.bits() as u8, small(o.fmt, 1)?);
    let does = Does::Float(FloatOp::Div);
    Some(Becomes::Operation(Operation { does, ..*o }, vec![one, x]))
}

/// The operands of an operation that is or ends in a product with both factors widened from so narrow a format that it is exact.
fn exact_factors(k: &KnownBits, o: &Operation, operands: &[TermId]) -> Option<[TermId; 2]> {
    let &[a, b, ..] = operands else { return None };
    let is_narrow = |t: TermId| is_of_half(k, o.fmt, t);
    (o.src == o.fmt && is_narrow(a) && is_narrow(b)).then_some([a, b])
}

/// True for a number of a format with at most half of the digits and of the exponents of another: widened, with
/// any sign, or known.
fn is_of_half(k: &KnownBits, fmt: Fmt, mut t: TermId) -> bool {
    let halves: &[Fmt] = match fmt {
        Fmt::F32 => &[Fmt::F16, Fmt::E4m3, Fmt::E5m2],
        Fmt::F64 => &[Fmt::F32, Fmt::F16, Fmt::E4m3, Fmt::E5m2],
        _ => return false,
    };
    if let Some(bits) = k.store.as_bits(t) {
        return halves.iter().any(|&half| {
            let how = number::Narrowing {
                rnd: Rnd::Rn,
                ..number::Narrowing::default()
            };
            let cut = number::float_to_float(fmt, half, &how, bits);
            let back = cut.and_then(|c| number::float_to_float(half, fmt, &how, c));
            back == Some(bits)
        });
    }
    let is_sign = |o: &Operation| {
        let sign = matches!(o.does, Does::Float(FloatOp::Neg | FloatOp::Abs));
        sign && o.mods == FloatMods::default() && (o.fmt, o.src) == (fmt, fmt)
    };
    // Children are older than their parents, so that this ends.
    while let Some(inner) = k.under(t, is_sign) {
        t = inner;
    }
    k.under(t, |o| {
        let mods = FloatMods::default();
        o.does == Does::Convert && o.fmt == fmt && halves.contains(&o.src) && o.mods == mods
    })
    .is_some()
}

/// True for a term that is an exact product, with any sign: a sum with it is the same joined and apart.
pub(super) fn is_exact(k: &KnownBits, fmt: Fmt, mut t: TermId) -> bool {
    while let Some(inner) = k.under(t, |o| *o == super::negation(fmt)) {
        t = inner;
    }
    let Some((o, operands)) = k.word(t) else {
        return false;
    };
    o.does == Does::Float(FloatOp::Mul)
        && is_plain(&o, Rnd::Rn)
        && o.fmt == fmt
        && exact_factors(k, &o, &operands).is_some()
}

pub(super) fn exact(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    let mods = FloatMods {
        rnd: o.mods.rnd,
        ftz: o.mods.ftz,
        sat: o.mods.sat,
        ..FloatMods::default()
    };
    if o.mods != mods || o.place != 0 {
        return None;
    }
    let plain = FloatMods {
        rnd: Rnd::Rn,
        ..FloatMods::default()
    };
    let product = Operation {
        does: Does::Float(FloatOp::Mul),
        mods: plain,
        ..*o
    };
    match o.does {
        // A product that is 0 is 0 in every rounding, and no other is subnormal.
        Does::Float(FloatOp::Mul) if o.mods != plain && !o.mods.sat => {
            let factors = exact_factors(k, o, operands)?;
            Some(Becomes::Operation(product, factors.to_vec()))
        }
        Does::Float(FloatOp::Fma) => {
            let [a, b] = exact_factors(k, o, operands)?;
            let &[_, _, c] = operands else { return None };
            let product = k.simplest(product, vec![a, b]);
            let does = Does::Float(FloatOp::Add);
            Some(Becomes::Operation(
                Operation { does, ..*o },
                vec![product, c],
            ))
        }
        _ => None,
    }
}

/// The other operand of a product with a power of two that is 1 or more, and the power.
fn scaled(k: &KnownBits, o: &Operation, operands: &[TermId]) -> Option<(TermId, u64)> {
    let &[a, b] = operands else { return None };
    let power = |t: TermId| {
        let bits = k.store.as_bits(t)?;
        let Decoded::Finite { mantissa, .. } = number::decode(o.fmt, bits).value else {
            return None;
        };
        // Encodings of positive numbers are in their order, and those of negative ones follow.
        let up = small(o.fmt, 1)?..number::zero(o.fmt, true);
        (mantissa.is_power_of_two() && up.contains(&bits)).then_some(bits)
    };
    match (power(a), power(b)) {
        (Some(n), _) => Some((b, n)),
        (None, Some(n)) => Some((a, n)),
        (None, None) => None,
    }
}

pub(super) fn powers(k: &mut KnownBits, o: &Operation, operands: &[TermId]) -> Option<Becomes> {
    if o.does != Does::Float(FloatOp::Mul) || !is_nearest(o) {
        return None;
    }
    let (inner, n) = scaled(k, o, operands)?;
    let (below, list) = k.word(inner)?;
    let (x, m) = scaled(k, o, &list).filter(|_| below == *o)?;
    let both = number::operation(FloatOp::Mul, (o.fmt, o.fmt), &o.mods, [n, m, 0])?;
    number::decode(o.fmt, both).exact()?;
    let both = k.store.bits(o.fmt.bits() as u8, both);
    Some(Becomes::Operation(*o, vec![x, both]))
}
