//! Equality of integers modulo a power of two.
//!
//! Problem: two kernels add the same products of integers in different orders, and the sums are
//! outputs themselves (a product of int8 matrices with int32 results). Their bits have no
//! canonical form of their own. Each is given the integer expression that it is congruent to
//! modulo 2^width, as a real (`term/integer.rs`): if these are the same polynomial, they have the
//! same value for every input, hence the bits are the same.
//!
//! Sound in this direction only: integers that differ by a multiple of 2^width have the same bits,
//! so that different polynomials refute nothing. The proof says nothing about definedness, which
//! the caller shows for the bits.

use super::canon::Canon;
use crate::spec::Limits;
use crate::term::rebuild::rebuild;
use crate::term::{BitsOp, Term, TermId, TermStore};

/// True only if two bit vectors have the same value on all inputs on which both are defined.
pub(super) fn equal(store: &TermStore, a: TermId, b: TermId, limits: &Limits) -> bool {
    if !sums(store, a) || !sums(store, b) {
        return false;
    }
    let mut scratch = TermStore::new();
    let roots = rebuild(store, &[a, b], &mut scratch, |_, _, _| None);
    let residues = [roots[0], roots[1]].map(|t| scratch.residue(t));
    match residues {
        [Some(x), Some(y)] => x == y || Canon::new(&scratch, limits).equal(x, y),
        _ => false,
    }
}

/// Whether integer arithmetic decides the value. A constant is the sum of nothing.
fn sums(store: &TermStore, t: TermId) -> bool {
    matches!(
        store.get(t),
        Term::BitsOp(BitsOp::Add | BitsOp::Mul | BitsOp::AShr, ..)
            | Term::BitsSum(_)
            | Term::BitsSelect(..)
            | Term::Concat(_)
            | Term::Extract { .. }
            | Term::BitsConst { .. }
    )
}
