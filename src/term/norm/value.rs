//! Values: a factor in front of a polynomial, multiplied out only on demand.
//!
//! Problem: alpha * sum, exp(-m) * sum and sum / d occur at every step of a kernel; multiplying
//! the factor into each term at each step would make an online softmax of n steps cost n^2 new
//! exponents. A value is `factor * polynomial` with the factor a single term; products multiply
//! factors, sums pull out what all operands share. `expand.rs` makes the canonical polynomial.
//!
//! What is not claimed: different values may be equal; only canonical polynomials are compared.

use super::exp::ExpId;
use super::monomial::{Mono, Powers, flag};
use super::poly::{PTerm, PolyId};
use super::rat::Coef;
use super::ring::{Atom, Fail, Ring};

/// Shared sums of at least this many terms get a stand-in.
const MIN_LET: usize = 16;

/// Terms of a product of two sums from which on it is not expanded before it has to be.
const MIN_PRODUCT: usize = 1 << 10;

/// factor * polynomial, or an infinity.
///
/// The polynomial is 1, or has at least two terms, or is 0 or infinite with factor 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Val {
    pub(super) factor: PTerm,
    pub(super) poly: PolyId,
}

impl Val {
    pub(super) const ZERO: Val = Val {
        factor: PTerm::ONE,
        poly: PolyId::ZERO,
    };

    pub(super) fn term(t: PTerm) -> Val {
        if t.coef == Coef::ZERO {
            return Val::ZERO;
        }
        Val {
            factor: t,
            poly: PolyId::ONE,
        }
    }

    pub(super) fn constant(c: Coef) -> Val {
        Val::term(PTerm::constant(c))
    }

    pub(super) fn infinity(neg: bool) -> Val {
        Val {
            factor: PTerm::ONE,
            poly: if neg {
                PolyId::NEG_INF
            } else {
                PolyId::POS_INF
            },
        }
    }

    /// The sign of an infinity, true for minus.
    pub(super) fn infinite(self) -> Option<bool> {
        self.poly
            .is_infinite()
            .then_some(self.poly == PolyId::NEG_INF)
    }

    /// The term, if it is no more than that.
    pub(super) fn as_term(self) -> Option<PTerm> {
        (self.poly == PolyId::ONE).then_some(self.factor)
    }

    pub(super) fn is_zero(self) -> bool {
        self.poly == PolyId::ZERO
    }
}

impl Ring {
    /// The value of a polynomial.
    pub(super) fn val_of(&self, p: PolyId) -> Val {
        match self.polys.get(p) {
            [t] => Val::term(*t),
            _ => Val {
                factor: PTerm::ONE,
                poly: p,
            },
        }
    }

    /// factor * p.
    pub(super) fn val_scaled(&mut self, factor: PTerm, p: PolyId) -> Result<Val, Fail> {
        if factor.coef == Coef::ZERO || p == PolyId::ZERO {
            return Ok(Val::ZERO);
        }
        match self.polys.get(p) {
            [t] => {
                let t = *t;
                Ok(Val::term(self.term_mul(factor, t)?))
            }
            _ => Ok(Val { factor, poly: p }),
        }
    }

    /// c * v.
    pub(super) fn val_times(&mut self, c: Coef, v: Val) -> Result<Val, Fail> {
        if let Some(neg) = v.infinite() {
            if c == Coef::ZERO {
                return Err(Fail::Undefined);
            }
            return Ok(Val::infinity(neg != self.coefs.is_negative(c)));
        }
        if c == Coef::ZERO || v.is_zero() {
            return Ok(Val::ZERO);
        }
        let mut v = v;
        v.factor.coef = self.coefs.mul(v.factor.coef, c);
        Ok(v)
    }

    /// a * b.
    ///
    /// match `inf * x`; result `inf` or `-inf`; because x > 0 or x < 0 is proved.
    pub(super) fn val_mul(&mut self, a: Val, b: Val) -> Result<Val, Fail> {
        match (a.infinite(), b.infinite()) {
            (Some(x), Some(y)) => return Ok(Val::infinity(x != y)),
            (Some(neg), None) | (None, Some(neg)) => {
                let finite = if a.infinite().is_some() { b } else { a };
                let p = self.canon(finite)?;
                let s = self.poly_sign(p);
                return if s.is_positive() {
                    Ok(Val::infinity(neg))
                } else if s.is_negative() {
                    Ok(Val::infinity(!neg))
                } else if p == PolyId::ZERO {
                    Err(Fail::Undefined)
                } else {
                    Err(Fail::Infinite)
                };
            }
            _ => {}
        }
        if a.is_zero() || b.is_zero() {
            return Ok(Val::ZERO);
        }
        let (a, b) = self.cancel(a, b)?;
        let (b, a) = self.cancel(b, a)?;
        let factor = self.term_mul(a.factor, b.factor)?;
        if self.is_long_product(a.poly, b.poly) {
            let x = self.stand_in(a.poly)?;
            let y = self.stand_in(b.poly)?;
            let product = self.term_mul(x, y)?;
            return Ok(Val::term(self.term_mul(factor, product)?));
        }
        let p = self.poly_mul(a.poly, b.poly)?;
        let v = self.val_scaled(factor, p)?;
        self.settle(v)
    }

    /// Whether the product of two sums has so many terms that it is left until it is needed: most
    /// pairs that multiply such sums multiply the same ones, and compare equal by the factors.
    fn is_long_product(&self, a: PolyId, b: PolyId) -> bool {
        let (n, m) = (self.polys.len(a), self.polys.len(b));
        let rewrites = flag::REDUCIBLE | flag::LET | flag::SQRT | flag::INV;
        n.min(m) >= MIN_LET
            && n.saturating_mul(m) >= MIN_PRODUCT
            && (self.polys.flags(a) | self.polys.flags(b)) & rewrites == 0
    }

    /// A term with one atom in the place of a canonical polynomial; multiples of one polynomial
    /// have one atom.
    fn stand_in(&mut self, p: PolyId) -> Result<PTerm, Fail> {
        let (content, primitive) = self.primitive(p)?;
        let mono = self.atom_mono(Atom::Let(primitive));
        self.term_mul(content, PTerm::mono(mono))
    }

    /// True if two values surely have different forms, found without expanding what stands for a
    /// polynomial. Says nothing where there are no stand-ins, or where a root or a logarithm was
    /// made, whose image does not follow its powers.
    pub(super) fn surely_differ(&mut self, v: Val, w: Val) -> Result<bool, Fail> {
        if self.rooted || v.infinite().is_some() || w.infinite().is_some() {
            return Ok(false);
        }
        let mut flags = 0;
        for x in [v, w] {
            flags |= self.term_flags(x.factor) | self.polys.flags(x.poly);
        }
        if flags & flag::LET == 0 {
            return Ok(false);
        }
        Ok(self.image_of_val(v)? != self.image_of_val(w)?)
    }

    /// Rewrites powers in the factor that can be rewritten, so that they meet what they cancel.
    pub(super) fn settle(&mut self, v: Val) -> Result<Val, Fail> {
        let mut v = v;
        loop {
            let f = self.term_flags(v.factor);
            if f & flag::REDUCIBLE == 0 || f & flag::LET != 0 {
                return Ok(v);
            }
            let (base, product) = self.rewrite(v.factor)?;
            let p = self.poly_mul(product, v.poly)?;
            v = self.val_scaled(base, p)?;
        }
    }

    /// match `(x / d) * (c * d)`; result `x * (c)`; because d is a denominator of a defined value.
    pub(super) fn cancel(&mut self, a: Val, b: Val) -> Result<(Val, Val), Fail> {
        let f = self.monos.flags(a.factor.mono, &self.atom_flags);
        if f & flag::INV == 0 || b.poly == PolyId::ONE {
            return Ok((a, b));
        }
        if self.polys.flags(b.poly) & flag::REDUCIBLE != 0 {
            return Ok((a, b));
        }
        let (content, primitive) = match self.primitive(b.poly) {
            Ok(r) => r,
            // Too large to clear of inverses, so no denominator was made of it.
            Err(Fail::Limit) if self.has_time() => return Ok((a, b)),
            Err(e) => return Err(e),
        };
        let Some(inv) = self.find_atom(&Atom::Inv(primitive)) else {
            return Ok((a, b));
        };
        let powers = self.monos.powers(a.factor.mono);
        if !powers.iter().any(|p| p.0 == inv && p.1 > 0) {
            return Ok((a, b));
        }
        let mut rest = a;
        let left: Powers = powers
            .iter()
            .map(|&(x, p)| (x, p - (x == inv) as i32))
            .collect();
        rest.factor.mono = self.monos.of(&left, &self.atom_flags);
        let factor = self.term_mul(b.factor, content)?;
        Ok((rest, Val::term(factor)))
    }

    /// 1 / t for a term with a coefficient other than 0.
    pub(super) fn term_inverse(&mut self, t: PTerm) -> Result<PTerm, Fail> {
        let mono = self.monos.inverse(t.mono, &self.atom_flags);
        let mut coef = self.coefs.recip(t.coef).ok_or(Fail::Undefined)?;
        let (exp, carry) = self.exp_scale(t.exp, Coef::MINUS_ONE)?;
        if carry != 0 {
            let k = self.coefs.pow2(carry);
            coef = self.coefs.mul(coef, k);
        }
        Ok(PTerm { mono, exp, coef })
    }

    /// 1 / v. A formally zero v is undefined.
    ///
    /// match `1 / (t * p)`; result `t^-1 * Inv(p)`; because the value is asked for only where v is
    /// not zero, which is an obligation of its own.
    pub(super) fn val_inverse(&mut self, v: Val) -> Result<Val, Fail> {
        if v.infinite().is_some() {
            return Ok(Val::ZERO);
        }
        let mut v = v;
        let f = self.term_flags(v.factor) | self.polys.flags(v.poly);
        if f & (flag::LET | flag::REDUCIBLE) != 0 {
            let p = self.held(v)?;
            v = self.val_of(p);
        }
        let p = self.held(Val {
            factor: PTerm::ONE,
            poly: v.poly,
        })?;
        if p == PolyId::ZERO {
            return Err(Fail::Undefined);
        }
        let front = self.term_inverse(v.factor)?;
        if let [t] = self.polys.get(p) {
            let t = *t;
            let t = self.term_inverse(t)?;
            let t = self.term_mul(front, t)?;
            return self.settle(Val::term(t));
        }
        let (content, primitive) = self.primitive(p)?;
        let content = self.term_inverse(content)?;
        let front = self.term_mul(front, content)?;
        if primitive == PolyId::ONE {
            return self.settle(Val::term(front));
        }
        let inv = self.atom_mono(Atom::Inv(primitive));
        let t = self.term_mul(front, PTerm::mono(inv))?;
        self.settle(Val::term(t))
    }

    /// What two terms share: the monomial of common powers, the exponential of common summands.
    fn term_common(&mut self, a: PTerm, b: PTerm) -> Result<PTerm, Fail> {
        let mono = if a.mono == b.mono {
            a.mono
        } else if a.mono == Mono::ONE || b.mono == Mono::ONE {
            Mono::ONE
        } else {
            let (x, y) = (self.monos.powers(a.mono), self.monos.powers(b.mono));
            let mut both = Powers::new();
            for &(atom, p) in &x {
                if let Ok(i) = y.binary_search_by_key(&atom, |e| e.0) {
                    let q = y[i].1;
                    if (p > 0) == (q > 0) {
                        both.push((atom, if p.abs() < q.abs() { p } else { q }));
                    }
                }
            }
            self.monos.of(&both, &self.atom_flags)
        };
        Ok(PTerm {
            mono,
            exp: self.exp_common(a.exp, b.exp)?,
            coef: Coef::ONE,
        })
    }

    /// The summands that two exponents share, with the coefficient nearer to zero.
    fn exp_common(&mut self, a: ExpId, b: ExpId) -> Result<ExpId, Fail> {
        if a == b || a == ExpId::ZERO {
            return Ok(a);
        }
        if b == ExpId::ZERO {
            return Ok(b);
        }
        let key = (a.0.min(b.0), a.0.max(b.0));
        if let Some(&e) = self.commons.get(&key) {
            return Ok(e);
        }
        let (p, q) = (self.exps.poly(a), self.exps.poly(b));
        let (x, y) = (self.polys.get(p), self.polys.get(q));
        let mut both = Vec::new();
        let mut j = 0;
        for s in x.iter().filter(|s| !s.is_constant()) {
            while j < y.len() && y[j].key() < s.key() {
                j += 1;
            }
            let Some(t) = y.get(j).filter(|t| t.key() == s.key()) else {
                continue;
            };
            let neg = self.coefs.is_negative(s.coef);
            if neg == self.coefs.is_negative(t.coef) {
                let less = self.coefs.cmp(s.coef, t.coef).is_lt();
                both.push(if less != neg { *s } else { *t });
            }
        }
        let shared = self.collect(both)?;
        let (e, _) = self.exponent(shared)?;
        self.commons.insert(key, e);
        Ok(e)
    }

    /// The sum of terms and of values; what all of them share stays in front.
    pub(super) fn val_sum(&mut self, flat: Vec<PTerm>, parts: Vec<Val>) -> Result<Val, Fail> {
        let mut flat = flat;
        if flat.is_empty() && parts.len() == 1 {
            return Ok(parts[0]);
        }
        let mut common = match parts.first() {
            Some(v) => PTerm {
                coef: Coef::ONE,
                ..v.factor
            },
            None => PTerm::ONE,
        };
        for v in parts.iter().skip(1) {
            if common == PTerm::ONE {
                break;
            }
            common = self.term_common(common, v.factor)?;
        }
        for t in &flat {
            if common == PTerm::ONE {
                break;
            }
            common = self.term_common(common, *t)?;
        }
        let inverse = if common == PTerm::ONE {
            common
        } else {
            self.term_inverse(common)?
        };
        if common != PTerm::ONE {
            for t in &mut flat {
                *t = self.term_mul(*t, inverse)?;
            }
        }
        for v in &parts {
            let f = self.term_mul(v.factor, inverse)?;
            self.charge(self.polys.len(v.poly))?;
            self.push_scaled(f, v.poly, &mut flat)?;
        }
        let p = self.collect(flat)?;
        self.val_scaled(common, p)
    }

    /// a + b.
    pub(super) fn val_add(&mut self, a: Val, b: Val) -> Result<Val, Fail> {
        match (a.infinite(), b.infinite()) {
            (Some(x), Some(y)) if x != y => return Err(Fail::Undefined),
            (Some(_), _) => return Ok(a),
            (_, Some(_)) => return Ok(b),
            _ => {}
        }
        let mut flat = Vec::new();
        let mut parts = Vec::new();
        for v in [a, b] {
            self.add_operand(v, &mut flat, &mut parts)?;
        }
        self.val_sum(flat, parts)
    }

    /// a - b.
    pub(super) fn val_sub(&mut self, a: Val, b: Val) -> Result<Val, Fail> {
        let b = self.val_times(Coef::MINUS_ONE, b)?;
        self.val_add(a, b)
    }

    /// A stand-in for the polynomial of a value, if it is long.
    ///
    /// Sums that are shared, such as a mean, are often multiplied with themselves and with much
    /// else before most of it cancels; as one atom they cost one term until the end.
    pub(super) fn val_let(&mut self, v: Val) -> Result<Val, Fail> {
        if self.polys.len(v.poly) < MIN_LET {
            return Ok(v);
        }
        let p = self.canon(Val {
            factor: PTerm::ONE,
            poly: v.poly,
        })?;
        if self.polys.len(p) < MIN_LET {
            return self.val_scaled(v.factor, p);
        }
        let mono = self.atom_mono(Atom::Let(p));
        Ok(Val::term(self.term_mul(v.factor, PTerm::mono(mono))?))
    }

    /// Sorts a finite operand of a sum into terms and values with a factor.
    pub(super) fn add_operand(
        &mut self,
        v: Val,
        flat: &mut Vec<PTerm>,
        parts: &mut Vec<Val>,
    ) -> Result<(), Fail> {
        if let Some(t) = v.as_term() {
            flat.push(t);
        } else if v.factor.is_constant() {
            self.charge(self.polys.len(v.poly))?;
            self.push_scaled(v.factor, v.poly, flat)?;
        } else {
            parts.push(v);
        }
        Ok(())
    }
}
