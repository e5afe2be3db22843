//! Maxima: one atom for a set of polynomials.
//!
//! Problem: max, min, relu, abs and clamp in any nesting. Everything is a maximum:
//! min(a, b) = -max(-a, -b) and |x| = max(x, -x). Nested maxima are flattened, duplicates and
//! dominated elements dropped; then what does not belong inside is taken out, so that
//! max(a + c, b + c) and c + max(a, b) are one form, and likewise for positive factors:
//!
//! * for every monomial the least coefficient over all elements is subtracted from all of them; in a large set
//!   with negative ones the most frequent coefficient, the least of several: the absolute values of a row would
//!   otherwise become as many sums of the whole row;
//! * the greatest exponent over all terms is divided out (an exponential is positive);
//! * the last key's least coefficient becomes 1, or -1.
//!
//! Each step undoes exactly the change that adding c, or multiplying by a positive factor, makes.
//!
//! What is not claimed: sets that are equal only by case analysis (max(a, b) + min(a, b) = a + b
//! is found, since min is written with max; distributing products of maxima is not).

use super::exp::ExpId;
use super::monomial::{Mono, flag};
use super::poly::{PTerm, PolyId};
use super::rat::{Coef, Rat};
use super::ring::require;
use super::ring::{Atom, Fail, Ring};
use super::rules::{Rule, rule};
use super::value::Val;

/// Sets up to this size are searched for dominated elements pair by pair.
const PAIRWISE: usize = 12;

/// Sets up to this size are searched whatever the size of their elements: that takes no longer
/// than making them did.
const CLAMPS: usize = 3;

/// Sets up to this size are searched for elements between two others.
const TRIPLES: usize = 6;

impl Ring {
    /// The larger of two values.
    pub(super) fn val_max(&mut self, a: Val, b: Val) -> Result<Val, Fail> {
        match (a.infinite(), b.infinite()) {
            (Some(true), _) => return Ok(b),
            (_, Some(true)) => return Ok(a),
            (Some(false), _) | (_, Some(false)) => return Ok(Val::infinity(false)),
            _ => {}
        }
        self.largest(&[a, b])
    }

    /// match `min(a, b)`; result `-max(-a, -b)`; because negation reverses the order.
    pub(super) fn val_min(&mut self, a: Val, b: Val) -> Result<Val, Fail> {
        require(Rule::MinimumByMaximum)?;
        let a = self.val_times(Coef::MINUS_ONE, a)?;
        let b = self.val_times(Coef::MINUS_ONE, b)?;
        let m = self.val_max(a, b)?;
        self.val_times(Coef::MINUS_ONE, m)
    }

    /// match `|x|`; result `max(x, -x)`; because one of them is not negative.
    pub(super) fn val_abs(&mut self, v: Val) -> Result<Val, Fail> {
        require(Rule::MagnitudeByMaximum)?;
        let n = self.val_times(Coef::MINUS_ONE, v)?;
        self.val_max(v, n)
    }

    /// The polynomial of whose magnitude one is a multiple, and whether that is a negative one.
    ///
    /// match `2k * max(0, q) - k * q` / result `k * |q|` / because it is -kq below 0 and kq above.
    pub(super) fn magnitude(&mut self, p: PolyId) -> Option<(PolyId, bool)> {
        if self.polys.flags(p) & flag::CHOICE == 0 {
            return None;
        }
        let mut rest = self.polys.get(p).to_vec();
        let of = |t: &PTerm| {
            let Atom::Max(set) = self.atom(t.mono.as_atom()?) else {
                return None;
            };
            match set[..] {
                [PolyId::ZERO, q] | [q, PolyId::ZERO] if t.exp == ExpId::ZERO => Some(q),
                _ => None,
            }
        };
        let (i, q) = rest
            .iter()
            .enumerate()
            .find_map(|(i, t)| Some((i, of(t)?)))?;
        let half = self.coefs.of(Rat::Small(-1, 2));
        let k = self.coefs.mul(rest.remove(i).coef, half);
        let rest = self.collect(rest).ok()?;
        let minus = self.add_scaled(PolyId::ZERO, k, q).ok()?;
        (rest == minus).then_some((q, !self.coefs.is_negative(k)))
    }

    /// A maximum atom with a positive rational factor, among the terms of an element.
    pub(super) fn max_term(&self, p: PolyId) -> Option<(usize, Box<[PolyId]>)> {
        if self.polys.flags(p) & flag::CHOICE == 0 {
            return None;
        }
        let terms = self.polys.get(p).iter().enumerate();
        for (i, t) in terms.filter(|(_, t)| t.exp == ExpId::ZERO) {
            if !self.coefs.is_negative(t.coef)
                && let Some(a) = t.mono.as_atom()
                && let Atom::Max(s) = self.atom(a)
            {
                return Some((i, s.clone()));
            }
        }
        None
    }

    /// match `max(c + k * max(S), T)` with k > 0; result `max({c + k * s | s in S}, T)`; because
    /// adding and scaling by a positive number keep the order.
    fn flatten(&mut self, elements: Vec<PolyId>) -> Result<Vec<PolyId>, Fail> {
        let mut stack = elements;
        let mut out = Vec::with_capacity(stack.len());
        while let Some(p) = stack.pop() {
            let Some((i, set)) = self.max_term(p) else {
                out.push(p);
                continue;
            };
            let is_large = stack.len() + out.len() + set.len() > self.limits.max_set;
            if is_large || !rule(Rule::NestedMaxima) {
                out.push(p);
                continue;
            }
            self.charge(set.len())?;
            let mut rest = self.polys.get(p).to_vec();
            let k = rest.remove(i).coef;
            if rest.is_empty() && k == Coef::ONE {
                stack.extend_from_slice(&set);
                continue;
            }
            let rest = self.intern(&rest);
            for s in set {
                let e = self.add_scaled(rest, k, s)?;
                let e = self.identify(e)?;
                stack.push(e);
            }
        }
        Ok(out)
    }

    /// The terms with the least coefficient of each key over all elements, absent ones counting as
    /// zero; only those that are not zero.
    fn least_summands(&mut self, set: &[PolyId]) -> Result<Vec<PTerm>, Fail> {
        let any_negative = set.iter().any(|p| self.polys.flags(*p) & flag::NEG != 0);
        if !any_negative {
            // Only keys of all elements can have a positive least coefficient.
            let Some(first) = set.iter().min_by_key(|p| self.polys.len(**p)) else {
                return Ok(Vec::new());
            };
            let mut least = self.polys.get(*first).to_vec();
            for p in set {
                if least.is_empty() {
                    break;
                }
                let terms = self.polys.get(*p);
                let coefs = &self.coefs;
                least.retain_mut(|t| {
                    let Ok(i) = terms.binary_search_by_key(&t.key(), PTerm::key) else {
                        return false;
                    };
                    if coefs.cmp(terms[i].coef, t.coef).is_lt() {
                        t.coef = terms[i].coef;
                    }
                    true
                });
            }
            return Ok(least);
        }
        let mut all: Vec<PTerm> = Vec::new();
        for p in set {
            all.extend_from_slice(self.polys.get(*p));
        }
        self.charge(all.len())?;
        all.sort_by_key(PTerm::key);
        let mut least: Vec<PTerm> = Vec::new();
        for group in all.chunk_by(|a, b| a.key() == b.key()) {
            if set.len() > PAIRWISE {
                least.extend(self.most_frequent(group, set.len() - group.len()));
                continue;
            }
            let mut t = group[0];
            for u in &group[1..] {
                if self.coefs.cmp(u.coef, t.coef).is_lt() {
                    t.coef = u.coef;
                }
            }
            if group.len() == set.len() || self.coefs.is_negative(t.coef) {
                least.push(t);
            }
        }
        Ok(least)
    }

    /// The most frequent coefficient of terms of one key, which is zero in `absent` elements; the least of
    /// several, and none if it is zero.
    fn most_frequent(&self, group: &[PTerm], absent: usize) -> Option<PTerm> {
        let mut sorted: Vec<PTerm> = group.to_vec();
        sorted.sort_by(|a, b| self.coefs.cmp(a.coef, b.coef));
        let mut best: (usize, Option<PTerm>) = (absent, None);
        for run in sorted.chunk_by(|a, b| a.coef == b.coef) {
            let below = best.1.is_none() && self.coefs.is_negative(run[0].coef);
            if run.len() > best.0 || run.len() == best.0 && below {
                best = (run.len(), Some(run[0]));
            }
        }
        best.1
    }

    /// Subtracts the least summands from all elements.
    fn take_least(&mut self, set: Vec<PolyId>) -> Result<(Vec<PolyId>, PolyId), Fail> {
        let mut set = set;
        let least = self.least_summands(&set)?;
        let mut outside = self.intern(&least);
        if outside != PolyId::ZERO && !rule(Rule::CommonPartOfMaximum) {
            outside = PolyId::ZERO;
        }
        if outside != PolyId::ZERO {
            for p in &mut set {
                *p = self.add_scaled(*p, Coef::MINUS_ONE, outside)?;
            }
        }
        Ok((set, outside))
    }

    /// True if p lies between a and b: p - a and b - p are the same but for a positive factor.
    fn is_between(&mut self, p: PolyId, a: PolyId, b: PolyId) -> Result<bool, Fail> {
        if self.last_difference(p, a) != self.last_difference(b, p) {
            return Ok(false);
        }
        let d = self.add_scaled(p, Coef::MINUS_ONE, a)?;
        let e = self.add_scaled(b, Coef::MINUS_ONE, p)?;
        let (Some(s), Some(t)) = (self.polys.get(d).last(), self.polys.get(e).last()) else {
            return Ok(false);
        };
        let (s, t) = (*s, *t);
        if s.key() != t.key() || self.coefs.is_negative(s.coef) != self.coefs.is_negative(t.coef) {
            return Ok(false);
        }
        let over = self.coefs.recip(t.coef).ok_or(Fail::Undefined)?;
        let ratio = self.coefs.mul(s.coef, over);
        Ok(self.scale(PTerm::constant(ratio), e)? == d)
    }

    /// Drops constants that are not the largest, and in small sets all elements that another one
    /// is never below, or that lie between two others.
    fn drop_dominated(&mut self, set: &mut Vec<PolyId>) -> Result<(), Fail> {
        let mut largest: Option<(PolyId, Coef)> = None;
        for &p in set.iter() {
            if let Some(c) = self.as_constant(p)
                && largest.is_none_or(|(_, l)| self.coefs.cmp(c, l).is_gt())
            {
                largest = Some((p, c));
            }
        }
        if let Some((keep, _)) = largest {
            set.retain(|&p| p == keep || self.as_constant(p).is_none());
        }
        if set.len() > PAIRWISE {
            return Ok(());
        }
        let mut i = 0;
        while i < set.len() {
            let mut dominated = false;
            for j in 0..set.len() {
                if i == j
                    || set.len() > CLAMPS && self.polys.len(set[i]) + self.polys.len(set[j]) > 64
                {
                    continue;
                }
                if self.difference_sign(set[j], set[i]).is_nonneg() {
                    dominated = true;
                    break;
                }
            }
            if !dominated && set.len() <= TRIPLES {
                'search: for j in 0..set.len() {
                    for k in 0..j {
                        if i != j && i != k && self.is_between(set[i], set[j], set[k])? {
                            dominated = true;
                            break 'search;
                        }
                    }
                }
            }
            if dominated {
                set.remove(i);
            } else {
                i += 1;
            }
        }
        Ok(())
    }

    /// The largest of canonical polynomials.
    ///
    /// match `max {f * s | s in S}` with f >= 0; result `f * max(S)`; because a factor that is not negative keeps the order.
    ///
    /// match `max {c + f * s | s in S}` with f > 0; result `c + f * max(S)`; because adding and
    /// scaling by a positive number keep the order.
    pub(super) fn max_of(&mut self, elements: Vec<PolyId>) -> Result<Val, Fail> {
        let mut elements = elements;
        self.join_powers(&mut elements)?;
        if let Some((front, inner)) = self.common_power(&elements)? {
            let inner = self.max_of(inner)?;
            return self.val_mul(Val::term(front), inner);
        }
        // What all share goes first: a shared maximum is not to be spread over the elements.
        let (mut set, before) = self.take_least(elements)?;
        set = self.flatten(set)?;
        self.join_powers(&mut set)?;
        set.sort_unstable();
        set.dedup();
        self.drop_dominated(&mut set)?;
        if let [p] = set[..] {
            let p = self.add_scaled(p, Coef::ONE, before)?;
            return Ok(self.val_of(p));
        }
        if let Some(root) = self.max_of_roots(&set)? {
            let before = self.val_of(before);
            return self.val_add(before, root);
        }
        let (mut set, after) = self.take_least(set)?;
        let outside = self.add_scaled(before, Coef::ONE, after)?;
        let mut front = PTerm::ONE;
        if set.iter().any(|p| self.polys.flags(*p) & flag::EXP != 0) {
            let terms = set.iter().flat_map(|p| self.polys.get(*p));
            front.exp = self.greatest_exp(terms.map(|t| t.exp));
        }
        if front.exp != ExpId::ZERO {
            let inverse = self.term_inverse(front)?;
            for p in &mut set {
                let v = self.val_scaled(inverse, *p)?;
                *p = self.canon(v)?;
            }
        }
        // The last key over all elements; a constant only where there is nothing else.
        let mut last: Option<((Mono, ExpId), Coef)> = None;
        for &p in &set {
            let Some(t) = self.polys.get(p).last() else {
                continue;
            };
            let better = match last {
                None => true,
                Some((k, c)) => t.key() > k || t.key() == k && self.coefs.cmp(t.coef, c).is_lt(),
            };
            if better {
                last = Some((t.key(), t.coef));
            }
        }
        let last = last.map(
            |(_, c)| match self.coefs.is_negative(c) && set.len() > PAIRWISE {
                true => self.coefs.mul(c, Coef::MINUS_ONE),
                false => c,
            },
        );
        if let Some(c) = last
            && c != Coef::ONE
            && !self.coefs.is_negative(c)
            && rule(Rule::CommonPartOfMaximum)
        {
            let inverse = self.coefs.recip(c).ok_or(Fail::Undefined)?;
            for p in &mut set {
                *p = self.scale(PTerm::constant(inverse), *p)?;
            }
            front.coef = c;
        }
        for p in &mut set {
            *p = self.identify(*p)?;
        }
        set.sort_unstable();
        set.dedup();
        let inside = if let [p] = set[..] {
            self.val_of(p)
        } else {
            self.atom_val(Atom::Max(set.into_boxed_slice()))
        };
        let inside = self.val_mul(Val::term(front), inside)?;
        let outside = self.val_of(outside);
        self.val_add(outside, inside)
    }
}
