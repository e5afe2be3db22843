//! Square roots.
//!
//! Problem: cosine similarities, norms and optimizers take roots of products, quotients and maxima,
//! before or after these. A root is split into the roots of its factors wherever their signs allow
//! it, so that the order does not matter. What is known of the factors of a term is lost once their
//! product is multiplied out, so a root looks at the term as well as at its canonical form.
//!
//! Every rule holds wherever its left side is defined, and its right side is defined there.
//!
//! What is not claimed: a polynomial that was multiplied out by hand is not factored.

use smallvec::SmallVec;

use super::NormError;
use super::monomial::{Powers, flag};
use super::poly::{PTerm, PolyId};
use super::rat::{Coef, Rat};
use super::ring::require;
use super::ring::{Atom, Fail, Ring};
use super::rules::{Rule, rule};
use super::sign::Sign;
use super::sweep::{Entry, Normalizer, error};
use super::value::Val;
use crate::term::{Term, TermId};

/// Factors of a radicand that are looked at one by one.
const MAX_FACTORS: usize = 16;

/// A factor of a radicand, and whether it stands in the denominator.
type Factor = (TermId, bool);

impl Normalizer<'_> {
    /// The factors of a product or quotient.
    fn factors(&self, t: TermId) -> SmallVec<[Factor; 4]> {
        let mut out = SmallVec::new();
        let mut open: SmallVec<[Factor; 8]> = SmallVec::from_slice(&[(t, false)]);
        while let Some((t, below)) = open.pop() {
            if open.len() + out.len() >= MAX_FACTORS {
                out.push((t, below));
                continue;
            }
            let scaled = |a, b| [a, b].iter().any(|&x| self.store.as_const(x).is_some());
            match self.store.get(t) {
                // A multiple may be a link of a chain, which has no meaning by itself.
                Term::Mul(a, b) if scaled(a, b) => out.push((t, below)),
                Term::Sum([a, b]) if scaled(TermId(*a), TermId(*b)) => out.push((t, below)),
                Term::Mul(a, b) => open.extend([(b, below), (a, below)]),
                Term::Div(a, b) => open.extend([(b, !below), (a, below)]),
                Term::Sum([a, b]) => open.extend([(TermId(*b), below), (TermId(*a), below)]),
                _ => out.push((t, below)),
            }
        }
        out
    }

    /// The square root of a term, by its factors where they have signs.
    ///
    /// match `sqrt(x * y)` with x > 0 proved, or x >= 0 and y >= 0; result `sqrt(x) * sqrt(y)`;
    /// because then y >= 0 wherever the product is.
    ///
    /// match `sqrt(x / y)` likewise; result `sqrt(x) / sqrt(y)`; because y is not 0 where there is a
    /// quotient.
    ///
    /// `None` if there are no such factors.
    pub(super) fn root_of_factors(&mut self, t: TermId) -> Result<Option<Val>, NormError> {
        let factors = self.factors(t);
        if factors.len() < 2 {
            return Ok(None);
        }
        let mut signs: SmallVec<[Sign; 4]> = SmallVec::new();
        for &(x, below) in &factors {
            let sign = match self.sign_of(x) {
                Some(s) if below => s.pow(-1),
                Some(s) => s,
                None => return Ok(None),
            };
            signs.push(sign);
        }
        let all = signs.iter().all(|s| s.is_nonneg());
        let apart = |s: Sign| all || s.is_positive();
        let sums = factors
            .iter()
            .zip(&signs)
            .filter(|((x, _), s)| apart(**s) && self.is_sum(*x));
        if sums.count() == 0 {
            return Ok(None);
        }
        if !rule(Rule::RootOfProduct) {
            return Ok(None);
        }
        let fail = |f: Fail| error(f, t);
        let mut out = Val::constant(Coef::ONE);
        let mut rest = Val::constant(Coef::ONE);
        for (&(x, below), &sign) in factors.iter().zip(&signs) {
            let Entry::Real(mut v) = self.known(x) else {
                return Ok(None);
            };
            if v.infinite().is_some() {
                return Ok(None);
            }
            let alone = apart(sign) && self.is_sum(x);
            if alone {
                let p = self.ring.held(v).map_err(fail)?;
                v = self.ring.sqrt(p).map_err(fail)?;
            }
            if below {
                v = self.ring.val_inverse(v).map_err(fail)?;
            }
            let side = if alone { &mut out } else { &mut rest };
            *side = self.ring.val_mul(*side, v).map_err(fail)?;
        }
        let rest = self.ring.held(rest).map_err(fail)?;
        let rest = self.ring.sqrt(rest).map_err(fail)?;
        self.ring.val_mul(out, rest).map(Some).map_err(fail)
    }

    /// The size of a sum whose square a term is.
    ///
    /// match `sqrt(x * x)` for a sum x; result `|x|`, and `log2(x * x)`: `2 * log2(|x|)`; because the squares of x and -x are one,
    /// and the logarithm has no value where x is 0 on either side.
    pub(super) fn root_of_square(&mut self, t: TermId) -> Result<Option<Val>, NormError> {
        let x = match self.store.get(t) {
            Term::Mul(a, b) if a == b => a,
            Term::Sum([a, b]) if a == b => TermId(*a),
            _ => return Ok(None),
        };
        if !self.is_sum(x) {
            return Ok(None);
        }
        match self.known(x) {
            Entry::Real(v) if v.infinite().is_none() && rule(Rule::RootOfSquaredSum) => {
                self.ring.val_abs(v).map(Some).map_err(|f| error(f, t))
            }
            _ => Ok(None),
        }
    }

    /// True for what multiplies out to more than one term.
    fn is_sum(&mut self, t: TermId) -> bool {
        match self.known(t) {
            Entry::Real(v) => {
                v.as_term().is_none() || self.ring.term_flags(v.factor) & flag::LET != 0
            }
            _ => false,
        }
    }
}

impl Ring {
    /// The square root of a canonical polynomial.
    ///
    /// match `sqrt(c * 2^e * x^2k * p)` with c > 0; result `sqrt(c) * 2^(e/2) * |x|^k * sqrt(p)`;
    /// because c, 2^e and x^2k are not negative, so p is not (or x is 0 and both sides are 0).
    ///
    /// match `sqrt(x * y)` with x > 0 proved, or x >= 0 and y >= 0; result `sqrt(x) * sqrt(y)`; because then y >= 0 in
    /// the first case too.
    ///
    /// match `sqrt(1 / d)` with d > 0 proved; result `1 / sqrt(d)`.
    pub(super) fn sqrt(&mut self, p: PolyId) -> Result<Val, Fail> {
        if p == PolyId::ZERO {
            return Ok(Val::ZERO);
        }
        let (content, primitive) = match self.polys.get(p) {
            [t] => (*t, PolyId::ONE),
            _ => self.primitive(p)?,
        };
        let negative = self.coefs.is_negative(content.coef);
        if negative && primitive == PolyId::ONE && content.is_constant() {
            return Err(Fail::Undefined);
        }
        let magnitude = if negative {
            self.coefs.neg(content.coef)
        } else {
            content.coef
        };
        let half = self.coefs.of(Rat::Small(1, 2));
        let (exp, carry) = self.exp_scale(content.exp, half)?;
        let scale = self.coefs.pow2(carry);
        let mut out = Val::term(PTerm {
            exp,
            coef: scale,
            ..PTerm::ONE
        });
        if magnitude != Coef::ONE {
            require(Rule::RootOfMultiple)?;
        }
        let root = self.sqrt_constant(magnitude);
        out = self.val_mul(out, Val::term(root))?;
        let powers = self.monos.powers(content.mono);
        let odd = powers.iter().filter(|p| p.1 % 2 != 0).count();
        // With everything else not negative, the only odd power is not negative either.
        let sole = primitive == PolyId::ONE && !negative && odd == 1;
        let is_odd = |e: &&(u32, i32)| e.1 % 2 != 0;
        let nonneg = |e: &(u32, i32)| self.atom_signs[e.0 as usize].is_nonneg();
        let all = primitive == PolyId::ONE && !negative && powers.iter().filter(is_odd).all(nonneg);
        let mut inside = Powers::new();
        for (a, k) in powers {
            let m = self.monos.atom(a, &self.atom_flags);
            let v = Val::term(PTerm::mono(m));
            let sign = self.atom_signs[a as usize];
            if k % 2 != 0 && (sole || all || sign.is_positive()) {
                let (of, k) = match *self.atom(a) {
                    Atom::Inv(d) => (d, -k),
                    _ => (self.single(PTerm::mono(m)), k),
                };
                let r = self.atom_id(Atom::Sqrt(of));
                let mono = self.monos.of(&[(r, k)], &self.atom_flags);
                out = self.val_mul(out, Val::term(PTerm::mono(mono)))?;
                continue;
            }
            let (times, left) = (k.div_euclid(2), k.rem_euclid(2));
            if times != 0 && !rule(Rule::RootOfEvenPower) {
                inside.push((a, k));
                continue;
            }
            if times != 0 {
                // An even power of |x| is that of x.
                let mut size = if sign.is_nonneg() || times % 2 == 0 {
                    v
                } else {
                    self.val_abs(v)?
                };
                if times < 0 {
                    size = self.val_inverse(size)?;
                }
                for _ in 0..times.abs() {
                    out = self.val_mul(out, size)?;
                }
            }
            if left != 0 {
                inside.push((a, 1));
            }
        }
        let front = PTerm {
            mono: self.monos.of(&inside, &self.atom_flags),
            coef: if negative { Coef::MINUS_ONE } else { Coef::ONE },
            ..PTerm::ONE
        };
        let rest = self.val_scaled(front, primitive)?;
        let rest = self.held(rest)?;
        if rest == PolyId::ONE {
            return Ok(out);
        }
        let r = self.atom_val(Atom::Sqrt(rest));
        self.val_mul(out, r)
    }

    /// The largest of a few numbers of which one is a root, and none is negative.
    ///
    /// match `max(f_i * sqrt(x_i), c_j)` with f_i, c_j >= 0; result `sqrt(max(f_i^2 * x_i, c_j^2))`; because
    /// squares keep the order of numbers that are not negative, and x_i >= 0 where its root is.
    pub(super) fn max_of_roots(&mut self, set: &[PolyId]) -> Result<Option<Val>, Fail> {
        let mut found = false;
        let mut squares = Vec::with_capacity(set.len());
        if set.iter().all(|&p| self.polys.flags(p) & flag::SQRT == 0) {
            return Ok(None);
        }
        for &p in set {
            let [t] = self.polys.get(p) else {
                // Nothing at all is the number 0.
                if p == PolyId::ZERO {
                    squares.push(p);
                    continue;
                }
                return Ok(None);
            };
            let t = *t;
            if !self.term_sign(t).is_nonneg() {
                return Ok(None);
            }
            let powers = self.monos.powers(t.mono);
            found |= powers.iter().any(|&(a, k)| match self.atom(a) {
                Atom::Sqrt(x) => k == 1 && self.as_constant(*x).is_none(),
                _ => false,
            });
            let square = self.term_mul(t, t)?;
            let square = self.canon(Val::term(square))?;
            // Roots of roots would have to be squared again, and there may be many.
            if self.polys.flags(square) & flag::SQRT != 0 {
                return Ok(None);
            }
            squares.push(square);
        }
        if !found || set.len() < 2 || !rule(Rule::MaximumOfRoots) {
            return Ok(None);
        }
        let m = self.max_of(squares)?;
        let p = self.held(m)?;
        self.sqrt(p).map(Some)
    }
}
