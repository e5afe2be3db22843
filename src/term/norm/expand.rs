//! From a value to its canonical polynomial.
//!
//! Problem: values keep factors in front, polynomials keep squares of square roots and stand-ins
//! for shared sums. The canonical polynomial has none of these: the factor is multiplied in, every
//! power that rewrites is rewritten, and what still is not unique because of inverses is replaced
//! by the first equal polynomial (`fraction.rs`).
//!
//! The work list grows only by products of parts that were canonical before, whose nesting is
//! strictly smaller, so it ends; the work limit bounds it.

use super::binary::Split;
use super::exp::ExpId;
use super::monomial::{Powers, flag};
use super::poly::{PTerm, PolyId};
use super::ring::require;
use super::ring::{Atom, Fail, Ring};
use super::rules::Rule;
use super::value::Val;
use crate::term::Fun;

/// A polynomial inside of an atom keeps its stand-ins where it had more terms than this without.
const MAX_SPREAD: u64 = 1 << 21;

/// As many packed monomials cost as much as one that is interned.
const INTERNED: u64 = 32;

impl Ring {
    /// The polynomial of a part of an atom: the canonical one, or where that would be long, one that
    /// keeps its stand-ins. Code for a function often takes a polynomial of high degree near zero, and a
    /// variance is a sum of squares; what they are of may be sums of many terms.
    ///
    /// Such a polynomial has more forms than one, so what is equal may get different atoms; what
    /// gets one atom is equal all the same.
    pub(super) fn held(&mut self, v: Val) -> Result<PolyId, Fail> {
        let mut terms = 0u64;
        for t in self.polys.get(v.poly) {
            terms = terms.saturating_add(self.spread(*t));
        }
        if terms.saturating_mul(self.spread(v.factor)) <= MAX_SPREAD {
            return self.canon(v);
        }
        self.scale(v.factor, v.poly)
    }

    /// At most how many terms a term has once what stands for sums is multiplied out, as far as one
    /// level of them goes, by their cost.
    fn spread(&self, t: PTerm) -> u64 {
        if self.term_flags(t) & flag::LET == 0 {
            return 1;
        }
        let mut terms = 1u64;
        let mut degree = Some(0u32);
        for (a, k) in self.monos.powers(t.mono) {
            let Atom::Let(p) = *self.atom(a) else {
                degree = degree.map(|d| d.saturating_add(k.unsigned_abs()));
                continue;
            };
            // The terms of a sum are mostly alike.
            let each = self.polys.get(p).first();
            let each = each.and_then(|t| t.mono.packed_degree());
            degree = degree.zip(each).map(|(d, e)| {
                let all = e.saturating_mul(k.unsigned_abs());
                d.saturating_add(all)
            });
            // A power k of n terms has as many as there are multisets of k among n.
            let n = self.polys.len(p) as u64;
            let mut power = 1u64;
            for i in 0..u64::from(k.unsigned_abs()) {
                power = power.saturating_mul(n.saturating_add(i)) / (i + 1);
            }
            terms = terms.saturating_mul(power);
        }
        match degree {
            Some(0..=3) => terms,
            _ => terms.saturating_mul(INTERNED),
        }
    }

    /// The canonical polynomial of a value; an infinity is its own.
    pub(super) fn canon(&mut self, v: Val) -> Result<PolyId, Fail> {
        if v.infinite().is_some() || v.is_zero() {
            return Ok(v.poly);
        }
        if let Some(&p) = self.canon_of.get(&v) {
            return Ok(p);
        }
        let flags = self.polys.flags(v.poly) | self.term_flags(v.factor);
        let rewrites = flag::REDUCIBLE | flag::LET | flag::SQRT | flag::INV;
        let p = if flags & rewrites == 0 {
            self.scale(v.factor, v.poly)?
        } else {
            let mut buf = Vec::with_capacity(self.polys.len(v.poly));
            self.charge(self.polys.len(v.poly))?;
            self.push_scaled(v.factor, v.poly, &mut buf)?;
            let buf = self.expand(buf)?;
            let p = self.collect(buf)?;
            self.identify(p)?
        };
        self.canon_of.insert(v, p);
        Ok(p)
    }

    /// Rewrites every power that can be rewritten.
    pub(super) fn expand(&mut self, terms: Vec<PTerm>) -> Result<Vec<PTerm>, Fail> {
        if !self.special {
            return Ok(terms);
        }
        let mut stack = terms;
        let mut out = Vec::with_capacity(stack.len());
        while let Some(t) = stack.pop() {
            let f = self.term_flags(t);
            if f & (flag::REDUCIBLE | flag::LET) == 0 {
                if f & flag::SQRT != 0
                    && let Some(merged) = self.merged_radicals(t)?
                {
                    self.charge(1)?;
                    stack.push(merged);
                    continue;
                }
                match self.split_binary(t, f)? {
                    Split::Kept => out.push(t),
                    Split::Into(a, b) => {
                        self.charge(2)?;
                        stack.extend([a, b]);
                    }
                }
                continue;
            }
            let (base, product) = self.rewrite(t)?;
            if stack.len() + self.polys.len(product) > self.limits.max_terms {
                return Err(Fail::Limit);
            }
            self.charge(self.polys.len(product))?;
            self.push_scaled(base, product, &mut stack)?;
        }
        Ok(out)
    }

    /// Rewrites the powers of one term: a term and a polynomial whose product it is.
    ///
    /// match `sqrt(x)^n`; result `x^(n div 2) * sqrt(x)^(n mod 2)`; because x >= 0 wherever
    /// sqrt(x) is defined (and x != 0 where a negative power of it is).
    ///
    /// match `sin(x)^n`; result `(1 - cos(x)^2)^(n div 2) * sin(x)^(n mod 2)`; because of Pythagoras.
    ///
    /// match `Inv(d)^-n`; result `d^n`; because d is not 0 wherever Inv(d) is defined.
    ///
    /// match `Let(p)^n`; result `p^n`; because that is what it stands for.
    ///
    /// match `2^(e + k/2 * log2(b))`; result `b^(k div 2) * sqrt(b)^(k mod 2) * 2^e`; because log2(b)
    /// is defined only for b > 0.
    ///
    /// match `Inv(d)^n * (c * d)^m`; result the smaller power is cancelled; because d is not 0
    /// wherever Inv(d) is defined.
    pub(super) fn rewrite(&mut self, t: PTerm) -> Result<(PTerm, PolyId), Fail> {
        let mut kept = Powers::new();
        let mut factors: Vec<(PolyId, i32)> = Vec::new();
        for (a, p) in self.monos.powers(t.mono) {
            let (square, by) = match *self.atom(a) {
                Atom::Sqrt(x) => (x, Rule::SquareOfRoot),
                Atom::Fun(Fun::Sin, angle) => (self.square_of_sine(angle)?, Rule::Pythagoras),
                Atom::Let(x) => {
                    factors.push((x, p));
                    continue;
                }
                Atom::Inv(d) if p < 0 => {
                    factors.push((d, -p));
                    continue;
                }
                _ => {
                    kept.push((a, p));
                    continue;
                }
            };
            if p.rem_euclid(2) == 1 {
                kept.push((a, 1));
            }
            if p.div_euclid(2) != 0 {
                require(by)?;
                factors.push((square, p.div_euclid(2)));
            }
        }
        let mut base = PTerm {
            mono: self.monos.of(&kept, &self.atom_flags),
            ..t
        };
        let mut product = PolyId::ONE;
        if self.exps.flags(t.exp) & flag::REDUCIBLE != 0 {
            require(Rule::PowerOfLogarithm)?;
            let (rest, roots) = self.take_logarithms(t.exp, &mut factors)?;
            base.exp = ExpId::ZERO;
            base = self.term_mul(base, rest)?;
            for b in roots {
                let r = self.sqrt(b)?;
                base = self.term_mul(base, r.factor)?;
                product = self.poly_mul(product, r.poly)?;
            }
        }
        for (x, p) in factors {
            let v = self.val_of(x);
            if p < 0 {
                // What is over a denominator has a sum for its inverse.
                let inverse = self.val_inverse(v)?;
                for _ in 0..p.unsigned_abs() {
                    base = self.term_mul(base, inverse.factor)?;
                    product = self.poly_mul(product, inverse.poly)?;
                }
                continue;
            }
            for _ in 0..p {
                let (b, rest) = self.cancel(Val::term(base), v)?;
                base = self.term_mul(b.factor, rest.factor)?;
                product = self.poly_mul(product, rest.poly)?;
            }
        }
        Ok((base, product))
    }
}
