//! Integers of a pair that only one kernel is given.
//!
//! The problem: an integer that one kernel knows and the other does not is nearly always a flag that
//! was forgotten; the pair differs then for every other value, which is no defect of either kernel. So
//! it is an input error. A float that only one kernel is given is what a kernel with a constant
//! folded into it is compared with, and stays possible.

use super::fit::{Bound, Piece, Side};
use super::pairing::{Pair, Part};
use super::{ElemTy, SpecError};

/// An error for the first integer that is bound on one side of a pair only.
pub(super) fn check(
    sides: &[Side],
    pairs: &[Pair],
    bound: &[Vec<Vec<Piece>>],
) -> Result<(), SpecError> {
    for pair in pairs {
        let &[Some(a), Some(b)] = pair else { continue };
        let parts = [a, b];
        let pieces = |side: usize| {
            let part: Part = parts[side];
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

fn error(sides: &[Side], parts: [Part; 2], side: usize, piece: &Piece) -> SpecError {
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
        first: flag(side),
        second: flag(other),
    }
}
