//! Pairs that must be equal, pairs that must not, and random terms against an evaluator.

mod derivatives;
mod eval;
mod joint;
mod kernels;
mod notation;
mod random;
mod rules;

use super::{Equality, Limits, Normalizer};
use crate::scalar::Fmt;
use crate::term::{ArrayId, Fun, TermId, TermStore};

/// A store with the vocabulary of the tests.
#[derive(Default)]
pub(super) struct Build {
    pub(super) s: TermStore,
}

impl Build {
    pub(super) fn x(&mut self, array: u32, i: u64) -> TermId {
        self.s.elem(ArrayId(array), Fmt::F32, 4 * i)
    }

    pub(super) fn q(&mut self, n: i64, d: i64) -> TermId {
        self.s
            .rational(num_rational::BigRational::new(n.into(), d.into()))
    }

    pub(super) fn add(&mut self, a: TermId, b: TermId) -> TermId {
        self.s.add(a, b)
    }

    pub(super) fn sub(&mut self, a: TermId, b: TermId) -> TermId {
        self.s.sub(a, b)
    }

    pub(super) fn mul(&mut self, a: TermId, b: TermId) -> TermId {
        self.s.mul(a, b)
    }

    pub(super) fn div(&mut self, a: TermId, b: TermId) -> TermId {
        self.s.div(a, b)
    }

    pub(super) fn max(&mut self, a: TermId, b: TermId) -> TermId {
        self.s.max(a, b)
    }

    pub(super) fn fun(&mut self, f: Fun, a: TermId) -> TermId {
        self.s.fun(f, a)
    }

    /// x^2 + 1, which is positive.
    pub(super) fn square_plus_one(&mut self, x: TermId) -> TermId {
        let (one, p) = (self.q(1, 1), self.mul(x, x));
        self.add(p, one)
    }

    /// 2^x.
    pub(super) fn pow2(&mut self, x: TermId) -> TermId {
        self.fun(Fun::Exp2, x)
    }

    /// exp(x) as kernels compute it: 2^(x * c).
    pub(super) fn exp(&mut self, a: TermId) -> TermId {
        let c = self.q(12_102_203, 8_388_608);
        let a = self.s.mul(a, c);
        self.s.fun(Fun::Exp2, a)
    }

    pub(super) fn total(&mut self, terms: &[TermId]) -> TermId {
        let zero = self.q(0, 1);
        terms.iter().fold(zero, |a, b| self.s.add(a, *b))
    }

    pub(super) fn equal(&self, a: TermId, b: TermId) -> Equality {
        Normalizer::new(&self.s, Limits::default()).equal(a, b)
    }

    #[track_caller]
    pub(super) fn same(&self, a: TermId, b: TermId) {
        let mut n = Normalizer::new(&self.s, Limits::default());
        let e = n.equal(a, b);
        if e != Equality::Equal {
            let names = |a: ArrayId, off: u64, _: u64| format!("a{}[{}]", a.0, off / 4);
            let show = |n: &mut Normalizer, t| match n.real(t) {
                Ok(c) => n.display(c, &names),
                Err(e) => e.to_string(),
            };
            let (x, y) = (show(&mut n, a), show(&mut n, b));
            panic!("{e:?}:\n  {x}\n  {y}");
        }
        assert_eq!(self.equal(b, a), Equality::Equal);
    }

    #[track_caller]
    pub(super) fn differ(&self, a: TermId, b: TermId) {
        assert_eq!(self.equal(a, b), Equality::Different);
        assert_eq!(self.equal(b, a), Equality::Different);
    }
}
