//! Comparisons as signs of canonical forms, and canonical forms as linear ones.
//!
//! Problem: a decision about many comparisons wants to know which of them ask for the sign of one number,
//! and what the numbers have to do with one another. A comparison is the sign of a canonical form without its
//! positive factors; of a form and its opposite one stands for both. To linear arithmetic a form is a sum of
//! its monomials, of which some have a sign for certain.

use num_rational::BigRational;

use super::poly::{PTerm, PolyId};
use super::ring::Fail;
use super::select::Pred;
use super::sweep::{Entry, Normalizer};
use super::{CanonId, Sign};
use crate::term::TermId;

/// A part of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Below 0.
    Below,
    /// Above 0.
    Above,
    /// 0.
    Zero,
}

/// A comparison of reals as a question about a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// It holds on all inputs, or on none.
    Known(bool),
    /// The form is there, or with `negated` is not.
    Sign {
        /// The form.
        form: CanonId,
        /// Where it is.
        relation: Relation,
        /// That it is elsewhere.
        negated: bool,
    },
}

/// A monomial with its exponential, by number.
pub type Key = (u64, u32);

/// A form as a sum of multiples of monomials, each with the signs that it can have, and a constant.
#[derive(Clone, Debug)]
pub struct Polynomial {
    /// The monomials.
    pub terms: Vec<(Key, BigRational, Sign)>,
    /// The constant.
    pub constant: BigRational,
}

impl Normalizer<'_> {
    /// A comparison of reals as a sign; the same form for all that ask for one sign.
    pub fn reading(&mut self, p: TermId) -> Option<Reading> {
        self.ring.refill();
        let Entry::Bool(l) = self.entry(p) else {
            return None;
        };
        let (q, relation) = match *self.ring.preds.get(l) {
            Pred::True => return Some(Reading::Known(!l.is_negated())),
            Pred::Negative(q) => (q, Relation::Below),
            Pred::Zero(q) => (q, Relation::Zero),
            _ => return None,
        };
        let opposite = self.ring.negate(q).ok()?;
        let (form, relation) = match relation {
            Relation::Below if opposite < q => (opposite, Relation::Above),
            _ => (q.min(opposite), relation),
        };
        (!self.is_spoilt()).then_some(Reading::Sign {
            form: CanonId(form.0),
            relation,
            negated: l.is_negated(),
        })
    }

    /// What stands for all predicates, or all bit vectors, that have the form of this term.
    pub fn class(&mut self, t: TermId) -> Option<(u8, u32)> {
        self.ring.refill();
        let class = match self.entry(t) {
            Entry::Bool(l) => (0, l.0),
            Entry::Bits(n) => (1, n.0),
            Entry::Real(v) => (2, self.ring.canon(v).ok()?.0),
            Entry::None(_) => return None,
        };
        (!self.is_spoilt()).then_some(class)
    }

    /// The canonical form of a term as a linear one, if it has at most `most` monomials.
    pub fn polynomial(&mut self, t: TermId, most: usize) -> Option<Polynomial> {
        self.ring.refill();
        let p = self.canon(t).ok()?;
        self.spread(p, most).ok().flatten()
    }

    /// The same for a form.
    pub fn polynomial_of(&mut self, form: CanonId, most: usize) -> Option<Polynomial> {
        self.spread(PolyId(form.0), most).ok().flatten()
    }

    /// The same for a number that has the sign of a term wherever it is defined: the canonical form without
    /// factors of known sign.
    pub fn polynomial_of_sign(&mut self, t: TermId, most: usize) -> Option<Polynomial> {
        self.ring.refill();
        let p = self.canon(t).ok()?;
        if p.is_infinite() {
            return None;
        }
        let p = self.ring.sign_part(p, false).ok()?;
        self.spread(p, most).ok().flatten()
    }

    fn spread(&mut self, p: PolyId, most: usize) -> Result<Option<Polynomial>, Fail> {
        if p.is_infinite() || self.ring.polys.len(p) > most || self.is_spoilt() {
            return Ok(None);
        }
        let mut out = Polynomial {
            terms: Vec::new(),
            constant: BigRational::default(),
        };
        for i in 0..self.ring.polys.len(p) {
            let t = self.ring.polys.term(p, i);
            let k = self.ring.coefs.get(t.coef).to_big();
            if t.is_constant() {
                out.constant += k;
                continue;
            }
            let alone = PTerm {
                coef: super::rat::Coef::ONE,
                ..t
            };
            let (mono, exp) = t.key();
            let sign = self.ring.term_sign(alone);
            out.terms.push(((mono.word(), exp.0), k, sign));
        }
        Ok(Some(out))
    }
}
