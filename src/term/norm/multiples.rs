//! Maxima of multiples of one thing, and of powers of two.
//!
//! Problem: `max(|x| * y, |x| * z)` is `|x| * max(y, z)`, and `max(exp(x), exp(y))` is `exp(max(x, y))`: what is never
//! negative comes out of a maximum, and what grows goes around it. A factor is seen while it still stands in front of
//! what it multiplies, before the product is multiplied out.
//!
//! What is not claimed: factors that only a factorisation would show.

use super::monomial::{Mono, Powers, flag};
use super::poly::{PTerm, PolyId};
use super::rat::{Coef, Rat};
use super::ring::{Fail, Ring};
use super::rules::{Rule, rule};
use super::value::Val;

/// Exponents of exponents whose maximum is taken.
const MAX_DEPTH: u32 = 3;

impl Ring {
    /// The largest of some finite values.
    ///
    /// match `max {f * s | s in S}` with f >= 0 a sum; result `f * max(S)`; because a factor that is not negative keeps the order,
    /// and where it is 0 both sides are.
    pub(super) fn largest(&mut self, values: &[Val]) -> Result<Val, Fail> {
        let Some(sum) = self.common_sum_of(values) else {
            return self.largest_multiplied(values);
        };
        let without = |v: &Val| Val {
            poly: if v.is_zero() { v.poly } else { PolyId::ONE },
            ..*v
        };
        let inner: Vec<Val> = values.iter().map(without).collect();
        let inner = self.largest_multiplied(&inner)?;
        let sum = self.val_of(sum);
        self.val_mul(sum, inner)
    }

    fn largest_multiplied(&mut self, values: &[Val]) -> Result<Val, Fail> {
        let mut set = Vec::with_capacity(values.len());
        for &v in values {
            set.push(self.canon(v)?);
        }
        // Long chains repeat few operands.
        set.sort_unstable();
        set.dedup();
        self.max_of(set)
    }

    /// A sum that is never negative and stands in all values. Zero is a multiple of everything.
    fn common_sum_of(&self, values: &[Val]) -> Option<PolyId> {
        let mut others = values.iter().filter(|v| !v.is_zero());
        let sum = others.next()?.poly;
        let shared = sum != PolyId::ONE && values.len() > 1 && others.all(|v| v.poly == sum);
        let found = shared && self.poly_sign(sum).is_nonneg() && rule(Rule::CommonFactorOfMaximum);
        found.then_some(sum)
    }

    /// The d for which a sum is `|d|`.
    ///
    /// match `c * (2 * max(u, v) - u - v)` with c > 0; result `|c * (u - v)|`; because the larger less the smaller is the size of the
    /// difference.
    pub(super) fn size_of(&mut self, p: PolyId) -> Result<Option<PolyId>, Fail> {
        let Some((i, set)) = self.max_term(p) else {
            return Ok(None);
        };
        let (&[u, v], twice) = (&*set, self.polys.term(p, i)) else {
            return Ok(None);
        };
        if u.is_infinite() || v.is_infinite() {
            return Ok(None);
        }
        let half = self.coefs.of(Rat::Small(1, 2));
        let c = self.coefs.mul(twice.coef, half);
        let minus = self.coefs.neg(c);
        let mut rest = self.polys.get(p).to_vec();
        rest.remove(i);
        self.push_scaled(PTerm::constant(c), u, &mut rest)?;
        self.push_scaled(PTerm::constant(c), v, &mut rest)?;
        if self.collect(rest)? != PolyId::ZERO {
            return Ok(None);
        }
        let mut difference = Vec::new();
        self.push_scaled(PTerm::constant(c), u, &mut difference)?;
        self.push_scaled(PTerm::constant(minus), v, &mut difference)?;
        self.collect(difference).map(Some)
    }

    /// The product of the powers of atoms that all terms of all elements have and that is never negative, and the elements
    /// without it.
    pub(super) fn common_power(
        &mut self,
        set: &[PolyId],
    ) -> Result<Option<(PTerm, Vec<PolyId>)>, Fail> {
        let mut terms = set.iter().flat_map(|p| self.polys.get(*p));
        let Some(first) = terms.next().filter(|_| set.len() > 1) else {
            return Ok(None);
        };
        let mut shared: Powers = self.monos.powers(first.mono);
        shared.retain(|e| self.keep_sign(e));
        for t in terms {
            if shared.is_empty() {
                break;
            }
            let powers = self.monos.powers(t.mono);
            shared.retain(|e| {
                let found = powers.iter().find(|q| q.0 == e.0);
                e.1 = e.1.min(found.map_or(0, |q| q.1));
                self.keep_sign(e)
            });
        }
        if shared.is_empty() || !rule(Rule::CommonFactorOfMaximum) {
            return Ok(None);
        }
        let front = PTerm::mono(self.monos.of(&shared, &self.atom_flags));
        let inverse = self.term_inverse(front)?;
        let mut inner = Vec::with_capacity(set.len());
        for &p in set {
            inner.push(self.scale(inverse, p)?);
        }
        Ok(Some((front, inner)))
    }

    /// Lowers a power of an atom to one that is never negative; false if only the power 0 is left.
    fn keep_sign(&self, e: &mut (u32, i32)) -> bool {
        if !self.atom_signs[e.0 as usize].is_nonneg() {
            e.1 -= e.1.rem_euclid(2);
        }
        e.1 > 0
    }

    /// Replaces the powers of two in a set by the largest of them.
    ///
    /// match `max(c * 2^a, c * 2^b)` with c > 0; result `c * 2^max(a, b)`, and `c * 2^min(a, b)` with c < 0; because 2^x grows
    /// with x.
    pub(super) fn join_powers(&mut self, set: &mut Vec<PolyId>) -> Result<(), Fail> {
        if self.fold_depth >= MAX_DEPTH
            || !set.iter().any(|p| self.polys.flags(*p) & flag::EXP != 0)
        {
            return Ok(());
        }
        // The exponents for each kind of coefficient: those whose ratio is a power of two are one kind.
        let mut kinds: Vec<(Coef, Vec<PolyId>)> = Vec::new();
        let mut rest = Vec::new();
        for &p in set.iter() {
            let power = match self.polys.get(p) {
                [t] if t.mono == Mono::ONE => Some(*t),
                _ => None,
            };
            let Some(t) = power else {
                rest.push(p);
                continue;
            };
            let above = self.exps.poly(t.exp);
            let mut found = None;
            for (i, &(c, _)) in kinds.iter().enumerate() {
                let k = match c == t.coef {
                    true => Some(Coef::ZERO),
                    false => self.power_between(t.coef, c),
                };
                if let Some(k) = k {
                    found = Some((i, k));
                    break;
                }
            }
            match found {
                None => kinds.push((t.coef, vec![above])),
                Some((i, k)) => {
                    let above = self.add_scaled(above, k, PolyId::ONE)?;
                    kinds[i].1.push(above);
                }
            }
        }
        let alone = kinds.iter().all(|(_, exponents)| exponents.len() < 2);
        if alone || !rule(Rule::MaximumOfPowers) {
            return Ok(());
        }
        for (coef, exponents) in kinds {
            let largest = self.extreme(exponents, self.coefs.is_negative(coef))?;
            let power = self.exp2(largest)?;
            let v = self.val_times(coef, power)?;
            rest.push(self.canon(v)?);
        }
        *set = rest;
        Ok(())
    }

    /// The largest or the least of some exponents.
    fn extreme(&mut self, exponents: Vec<PolyId>, least: bool) -> Result<PolyId, Fail> {
        if let [p] = exponents[..] {
            return Ok(p);
        }
        let mut exponents = exponents;
        if least {
            for p in &mut exponents {
                *p = self.negate(*p)?;
            }
        }
        self.fold_depth += 1;
        let m = self.max_of(exponents);
        self.fold_depth -= 1;
        let m = self.canon(m?)?;
        match least {
            true => self.negate(m),
            false => Ok(m),
        }
    }
}
