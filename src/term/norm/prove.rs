//! Signs of terms: is this denominator nonzero, is this radicand not negative?
//!
//! Problem: definedness obligations. The structure of a term shows what its canonical form hides
//! (a sum of squares that was multiplied out) and the other way round (terms that cancel), so both
//! are asked and their answers intersected.
//!
//! Soundness: a sign is excluded only if no input on which the term is defined gives it.

use num_traits::Signed;

use crate::term::{ArrayId, Fun, Sort, Term, TermId, pairs};

use super::poly::PolyId;
use super::sign::{Reach, Sign};
use super::sweep::{Entry, Normalizer};

impl Normalizer<'_> {
    /// Takes a term to have one of these signs: what is found from then on holds where it has. Of
    /// terms other than input elements only that they are not 0 is used. To be called before
    /// anything is normalised, for elements first.
    pub fn assume(&mut self, t: TermId, sign: Sign) {
        if let Term::Elem { .. } = self.store.get(t) {
            let atom = self.symbol(t);
            self.ring.atom_signs[atom as usize] = sign;
            self.signs.insert(t, Reach::finite(sign));
        } else if !sign.may_be_zero()
            && let Ok(p) = self.canon(t)
            && let Ok((_, primitive)) = self.ring.primitive(p)
        {
            self.ring.nonzero.insert(primitive);
        }
    }

    /// The signs that an input element may have, for all that is said of it.
    pub(super) fn sign_of_element(&self, t: TermId) -> Sign {
        let of = |x: &num_rational::BigRational| match (x.is_positive(), x.is_negative()) {
            (true, _) => Sign::POS,
            (_, true) => Sign::NEG,
            _ => Sign::ZERO,
        };
        match self.store.element_range(t) {
            None => Sign::ALL,
            Some((lo, hi)) => match (of(&lo), of(&hi)) {
                (Sign::POS, _) => Sign::POS,
                (_, Sign::NEG) => Sign::NEG,
                (Sign::ZERO, Sign::ZERO) => Sign::ZERO,
                (Sign::ZERO, _) => Sign::NONNEG,
                (_, Sign::ZERO) => Sign::NONPOS,
                _ => Sign::ALL,
            },
        }
    }

    /// True only if the term is not 0 wherever it is defined.
    pub fn prove_nonzero(&mut self, t: TermId) -> bool {
        self.prove(t, |s| !s.may_be_zero())
    }

    /// True only if two terms are 0 on the same inputs, of those on which both are defined: they are the
    /// same but for factors that are never 0.
    pub fn vanish_together(&mut self, a: TermId, b: TermId) -> bool {
        self.ring.refill();
        let mut zero = |t: TermId| {
            let p = self.canon(t).ok().filter(|p| !p.is_infinite())?;
            self.ring.zero(p).ok()
        };
        let (x, y) = (zero(a), zero(b));
        x.is_some() && x == y && !self.is_spoilt()
    }

    /// True only if `a` is 0 wherever `b` is, on inputs on which both are defined.
    ///
    /// match `b` a sum of products none of which is below 0, and each product of `a` has all those factors of one of them
    /// that may be 0 / because such a sum is 0 only where all its products are, and a product is where one of its
    /// factors is: choices between 0 and what a mask lets through, above all.
    pub fn vanishes_with(&mut self, a: TermId, b: TermId) -> bool {
        self.ring.refill();
        let mut form = |t: TermId| self.canon(t).ok().filter(|p| !p.is_infinite());
        let (Some(p), Some(q)) = (form(a), form(b)) else {
            return false;
        };
        self.ring.poly_vanishes_with(p, q) && !self.is_spoilt()
    }

    /// True only if two terms have one sign on all inputs on which both are defined: they are the same but
    /// for factors that are positive, or negative in both, and for squares of factors that they share; or one is the
    /// root of the other.
    pub fn same_sign(&mut self, a: TermId, b: TermId) -> bool {
        self.ring.refill();
        let mut parts = |t: TermId| {
            let p = self.canon(t).ok().filter(|p| !p.is_infinite())?;
            if p == PolyId::ZERO {
                return None;
            }
            let least = self.ring.sign_part(p, false).ok()?;
            let (content, primitive) = self.ring.primitive(least).ok()?;
            Some((self.ring.sign_shape(content), primitive))
        };
        let (x, y) = (parts(a), parts(b));
        x.is_some() && x == y && !self.is_spoilt()
    }

    /// True only if the term is above 0 wherever it is defined.
    pub fn prove_positive(&mut self, t: TermId) -> bool {
        self.prove(t, Sign::is_positive)
    }

    /// True only if the term is not below 0 wherever it is defined.
    pub fn prove_nonneg(&mut self, t: TermId) -> bool {
        self.prove(t, Sign::is_nonneg)
    }

    /// The signs that a term can have wherever it is defined, by its structure and by its canonical form;
    /// `None` if it may be infinite. The term has been normalised.
    pub(super) fn sign_of(&mut self, t: TermId) -> Option<Sign> {
        let sign = self.finite_sign(t)?;
        match self.known(t) {
            Entry::Real(v) => match self.ring.held(v) {
                Ok(p) if !p.is_infinite() => Some(self.ring.poly_sign(p).and(sign)),
                _ => None,
            },
            _ => None,
        }
    }

    fn prove(&mut self, t: TermId, holds: impl Fn(Sign) -> bool) -> bool {
        if self.store.sort(t) != Sort::Real {
            return false;
        }
        let reach = self.reach_of(t);
        if reach.infinite {
            return false;
        }
        if holds(reach.sign) {
            return true;
        }
        self.ring.refill();
        if holds(self.square_sign(t).and(reach.sign)) {
            return !self.is_spoilt();
        }
        let entry = self.entry(t);
        let proved = match entry {
            Entry::Real(v) => match self.ring.canon(v) {
                Ok(p) if !p.is_infinite() => holds(self.ring.poly_sign(p).and(reach.sign)),
                _ => false,
            },
            _ => false,
        };
        proved && !self.is_spoilt()
    }

    /// The signs of a term, if it is finite wherever it is defined.
    pub(super) fn finite_sign(&mut self, t: TermId) -> Option<Sign> {
        let reach = self.reach_of(t);
        (!reach.infinite).then_some(reach.sign)
    }

    /// The signs that the structure of a term allows.
    fn reach_of(&mut self, root: TermId) -> Reach {
        if let Some(&r) = self.signs.get(&root) {
            return r;
        }
        let order = self.store.met(&[root], usize::MAX, |t, open| {
            let new = self.store.sort(t) == Sort::Real && !self.signs.contains_key(&t);
            if new {
                self.store.children(t, |c| open.push(c));
            }
            new
        });
        for t in order.unwrap_or_default() {
            let r = self.reach_step(t);
            self.signs.insert(t, r);
        }
        self.signs.get(&root).copied().unwrap_or(Reach::ANY)
    }

    fn reach_step(&self, t: TermId) -> Reach {
        let of = |t: TermId| self.signs.get(&t).copied().unwrap_or(Reach::ANY);
        let two = |a: TermId, b: TermId, f: &dyn Fn(Sign, Sign) -> Sign| {
            let (x, y) = (of(a), of(b));
            if x.infinite || y.infinite {
                Reach::ANY
            } else {
                Reach::finite(f(x.sign, y.sign))
            }
        };
        let product = |a: TermId, b: TermId| {
            if a == b {
                two(a, b, &|x, _| x.pow(2))
            } else {
                two(a, b, &Sign::times)
            }
        };
        match self.store.get(t) {
            Term::Const(c) => {
                let c = self.store.constant(c);
                Reach::finite(if c.is_positive() {
                    Sign::POS
                } else if c.is_negative() {
                    Sign::NEG
                } else {
                    Sign::ZERO
                })
            }
            Term::Elem {
                array: ArrayId::CONSTANTS,
                ..
            } => Reach::finite(Sign::POS),
            Term::Elem { .. } => Reach::finite(self.sign_of_element(t)),
            Term::Add(a, b) => two(a, b, &Sign::plus),
            Term::Mul(a, b) => product(a, b),
            Term::Neg(a) => two(a, a, &|x, _| x.negate()),
            Term::Sum(list) => {
                let mut all = Reach::finite(Sign::ZERO);
                for (a, b) in pairs(list) {
                    let p = product(a, b);
                    if p.infinite {
                        return Reach::ANY;
                    }
                    all.sign = all.sign.plus(p.sign);
                }
                all
            }
            Term::Div(a, b) => two(a, b, &|x, y| x.times(y.pow(-1))),
            Term::Fun(f, a) => {
                let x = of(a);
                if x.infinite {
                    return Reach::ANY;
                }
                let s = x.sign;
                Reach::finite(match f {
                    Fun::Sqrt => s.and(Sign::NONNEG),
                    Fun::Rsqrt | Fun::Exp2 => Sign::POS,
                    Fun::Tanh | Fun::Erf => s,
                    Fun::Abs => s.max(s.negate()).and(Sign::NONNEG),
                    Fun::Floor | Fun::Trunc | Fun::RoundEven if s.is_nonneg() => Sign::NONNEG,
                    Fun::Ceil | Fun::Trunc | Fun::RoundEven if s.is_nonpos() => Sign::NONPOS,
                    Fun::Ceil if s.is_positive() => s,
                    Fun::Floor if s.is_negative() => s,
                    _ => Sign::ALL,
                })
            }
            Term::Max(a, b) => two(a, b, &Sign::max),
            Term::Min(a, b) => two(a, b, &|x, y| x.negate().max(y.negate()).negate()),
            Term::Select(_, a, b) => two(a, b, &Sign::or),
            Term::OfInt { signed, .. } => {
                Reach::finite(if signed { Sign::ALL } else { Sign::NONNEG })
            }
            _ => Reach::ANY,
        }
    }
}
