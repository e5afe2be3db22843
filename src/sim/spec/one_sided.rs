//! Integers that only one kernel is given, and numbers that one flag gives to parameters of which one
//! is an integer and the other a float.
//!
//! The problem: an integer that one kernel knows and the other does not is nearly always a flag that
//! was forgotten; the pair differs then for every other value, which is no defect of either kernel. So
//! it is an input error, for integers of different widths too, which are not paired but stand in the same
//! place. A float that only one kernel is given is what a kernel with a constant folded into it is
//! compared with, and stays possible. A flag whose key names an integer of one kernel and a float of
//! the other means one of them at most.

use crate::kernel::ParamKind;

use super::binding::ParamKey;
use super::field_type::{agree, readings};
use super::fit::{Bound, Piece, Side, show_type};
use super::pairing::{ByteRange, Pair, Target, find, targets};
use super::{ElemTy, SpecError};

/// An error for the first number that only one of two kernels is given, or that means two things.
pub(super) fn check(
    sides: &[Side],
    pairs: &[Pair],
    bound: &[Vec<Vec<Piece>>],
) -> Result<(), SpecError> {
    let [reference, optimized] = sides else {
        return Ok(());
    };
    named(sides, pairs)?;
    paired(sides, pairs, bound)?;
    widths([reference, optimized], pairs, bound)?;
    meanings([reference, optimized], sides, pairs)
}

/// Names of sources that both kernels know, for parameters that are not paired with each other: a flag that says one
/// would mean another parameter of one of them.
fn named(sides: &[Side], pairs: &[Pair]) -> Result<(), SpecError> {
    let shared = sides.iter().flat_map(|s| &s.spec.args);
    for arg in shared.filter(|arg| !arg.own) {
        let ParamKey::Name(name) = &arg.key.param else {
            continue;
        };
        let [Some(i), Some(j)] = [0, 1].map(|s| find(sides[s].kernel, &arg.key)) else {
            continue;
        };
        let of = [&sides[0].kernel.params[i], &sides[1].kernel.params[j]];
        let is_paired = |p: &Pair| {
            let [a, b] = p.map(|part| part.map(|part| part.param));
            (a, b) == (Some(i), Some(j))
        };
        if of.iter().all(|p| p.symbol != *name) && !pairs.iter().any(is_paired) {
            return Err(SpecError::NamesApart {
                text: arg.text.clone(),
                name: name.clone(),
                first: i,
                second: j,
            });
        }
    }
    Ok(())
}

/// Integers that are paired.
fn paired(sides: &[Side], pairs: &[Pair], bound: &[Vec<Vec<Piece>>]) -> Result<(), SpecError> {
    for pair in pairs {
        let &[Some(a), Some(b)] = pair else { continue };
        let parts = [a, b];
        let pieces = |side: usize| {
            let part: ByteRange = parts[side];
            let all = bound[side][part.param].iter();
            all.filter_map(move |p| p.within(part))
        };
        for side in [0, 1] {
            let integer = |p: &Piece| matches!(p.bound, Bound::Bits(_, ElemTy::Int { .. }));
            for piece in pieces(side).filter(integer) {
                let meets = |p: &Piece| p.offset < piece.end() && piece.offset < p.end();
                let free = |p: &Piece| matches!(p.bound, Bound::Free) && meets(p);
                if pieces(1 - side).any(|p| free(&p)) {
                    return Err(error(sides, parts, side, &piece));
                }
            }
        }
    }
    Ok(())
}

fn error(sides: &[Side], parts: [ByteRange; 2], side: usize, piece: &Piece) -> SpecError {
    let name = |s: usize| {
        let param = &sides[s].kernel.params[parts[s].param];
        match parts[s].start + piece.offset {
            0 if param.bytes == piece.bytes => param.name.clone(),
            at => format!("{}+{at}", param.name),
        }
    };
    let flag = |s: usize| {
        let flag = ["--ref-arg", "--opt-arg"][s];
        let part = parts[s];
        match part.start + piece.offset {
            0 if sides[s].kernel.params[part.param].bytes == piece.bytes => {
                format!("{flag} {}=VALUE", part.param)
            }
            at => format!("{flag} {}+{at}=VALUE", part.param),
        }
    };
    let other = 1 - side;
    SpecError::OneSided {
        bound: sides[side].spec.which.name(),
        param: name(side),
        free: sides[other].spec.which.name(),
        partner: name(other),
        flags: format!("both {} and {}", flag(side), flag(other)),
    }
}

/// Integers of different widths in one place, of which one has no value.
fn widths(sides: [&Side; 2], pairs: &[Pair], bound: &[Vec<Vec<Piece>>]) -> Result<(), SpecError> {
    let [first, second] = bound else {
        return Ok(());
    };
    for (p, pieces) in first.iter().zip(second).enumerate() {
        let alone = |s: usize| {
            let mut parts = pairs.iter().filter(|pair| pair[1 - s].is_none());
            parts.any(|pair| pair[s].is_some_and(|part| part.param == p))
        };
        let integer = |s: usize| {
            let is_integer = matches!(sides[s].kernel.params[p].kind, ParamKind::Int { .. });
            let uses = &sides[s].uses;
            let mut known = uses.at(p, 0).filter(|l| l.param.is_some()).peekable();
            is_integer && known.peek().is_some() && known.all(|l| !l.pointer)
        };
        if ![0, 1].iter().all(|&s| alone(s) && integer(s)) {
            continue;
        }
        let free = |of: &[Piece]| of.iter().any(|b| matches!(b.bound, Bound::Free));
        if free(pieces.0) || free(pieces.1) {
            let [a, b] = sides.map(|s| &s.kernel.params[p]);
            return Err(SpecError::Widths {
                position: p as u32,
                reference: a.name.clone(),
                first: show_type(a),
                optimized: b.name.clone(),
                second: show_type(b),
            });
        }
    }
    Ok(())
}

/// Numbers that are an integer in one kernel and a float in the other.
fn meanings(of: [&Side; 2], sides: &[Side], pairs: &[Pair]) -> Result<(), SpecError> {
    for arg in of[0].spec.args.iter().filter(|arg| !arg.own) {
        let groups = targets(sides, pairs, 0, &arg.key, arg.own);
        let [[a], [b]] = [groups.first(), groups.get(1)].map(|g| g.map_or(&[][..], |g| &g[..]))
        else {
            continue;
        };
        let given_apart = |t: &Target| {
            let mut own = of[t.side].spec.args.iter().filter(|arg| arg.own);
            own.any(|arg| find(of[t.side].kernel, &arg.key) == Some(t.param))
        };
        let float = [a, b].map(|t| is_float(of[t.side], t));
        if let [Some(x), Some(y)] = float
            && x != y
            && ![a, b].iter().any(|t| given_apart(t))
        {
            let [first, second] = [a, b].map(|t| &of[t.side].kernel.params[t.param]);
            return Err(SpecError::TwoMeanings {
                text: arg.text.clone(),
                reference: first.name.clone(),
                first: show_type(first),
                optimized: second.name.clone(),
                second: show_type(second).into(),
            });
        }
    }
    Ok(())
}

/// Is a place of a kernel a float? `None` where neither its type nor its loads tell.
fn is_float(side: &Side, t: &Target) -> Option<bool> {
    let said = readings(side.kernel, &side.uses, t.param, t.offset.unwrap_or(0));
    let ty = agree(&said).ok()?;
    Some(matches!(ty, ElemTy::Float(_)))
}
