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

use crate::decide::canon::Canon;
use crate::decide::prove::Prover;
use crate::decide::tactic::{Attempt, Tactic};
use crate::term::rebuild::rebuild;
use crate::term::{BitsOp, Term, TermId, TermStore};

pub(crate) struct Residues;

impl Tactic for Residues {
    fn name(&self) -> &'static str {
        "residues"
    }

    fn applies(&self, prover: &Prover<'_>, a: TermId, b: TermId) -> bool {
        sums(prover.store, a) && sums(prover.store, b)
    }

    fn run(&self, prover: &mut Prover<'_>, a: TermId, b: TermId) -> Attempt {
        let mut scratch = TermStore::new();
        let roots = rebuild(prover.store, &[a, b], &mut scratch, |_, _, _| None);
        let [x, y] = [roots[0], roots[1]].map(|t| scratch.residue(t));
        let (Some(x), Some(y)) = (x, y) else {
            return Attempt::Stuck;
        };
        match x == y || Canon::new(&scratch, &prover.limits).equal(x, y) {
            true => Attempt::Equal,
            false => Attempt::Stuck,
        }
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
