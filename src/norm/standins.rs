//! Sums with stand-ins that are equal.
//!
//! Problem: the variance of n numbers is a sum of n squares, of twice the mean times each, and of the square of the mean; multiplied out
//! it has n^2 / 2 terms, and Welford's recurrence, multiplied out step by step, n^3 / 6. A mean that is shared has a stand-in
//! (`value.rs`), with which each spelling has a number of terms that is linear in n; but spellings then differ.
//!
//! How: two sums with stand-ins are compared where their images agree (`fingerprint.rs`). Their difference is made smaller in
//! two ways, the longest stand-in first. Where its product with a summand of its own is met, so mostly are those with all
//! the others: `s * x1 + s * x2 + ... = s * s`. What is left is unfolded by shorter stand-ins: the sum of k numbers is that of k - 16
//! and of 16 more, so that the steps of a recurrence meet one after the other.
//!
//! Soundness: each step replaces a stand-in by what it stands for, or back; a difference that ends as nothing is zero.
//! What is not claimed: a difference that stays may be zero all the same; the caller multiplies out.

use super::monomial::{Mono, Powers, flag};
use super::poly::{PTerm, PolyId};
use super::rat::Coef;
use super::ring::{Atom, Fail, Ring};

/// Sums with one image that are compared.
const MAX_ALIKE: usize = 4;

/// Products of a stand-in that are folded, and shorter ones that one is unfolded by.
const MAX_FOLDED: usize = 16;
const MAX_PARTS: usize = 1 << 10;

/// Summands beside shorter stand-ins of a sum that is unfolded.
const MAX_REST: usize = 64;

/// The largest power of a stand-in that is unfolded, and terms that it may become.
const MAX_POWER: i32 = 2;
const MAX_TERMS: usize = 1 << 20;

impl Ring {
    /// The first sum made that equals `p`, as far as its stand-ins show it.
    pub(super) fn identify_folded(&mut self, p: PolyId) -> Result<PolyId, Fail> {
        let rewrites = flag::INV | flag::SQRT;
        if self.polys.flags(p) & rewrites != 0 {
            return Ok(p);
        }
        if let Some(&q) = self.same_as.get(&p) {
            return Ok(q);
        }
        let image = self.image_of_poly(p)?;
        let known = self.by_image.get(&image).cloned().unwrap_or_default();
        let mut found = None;
        for q in known.into_iter().take(MAX_ALIKE) {
            let difference = self.add_scaled(p, Coef::MINUS_ONE, q)?;
            if self.vanishes(difference)? {
                found = Some(q);
                break;
            }
        }
        let q = match found {
            Some(q) => q,
            None => {
                self.by_image.entry(image).or_default().push(p);
                p
            }
        };
        self.same_as.insert(p, q);
        Ok(q)
    }

    /// True only if a sum with stand-ins is 0 wherever it is defined.
    fn vanishes(&mut self, p: PolyId) -> Result<bool, Fail> {
        let mut p = p;
        loop {
            if p == PolyId::ZERO {
                return Ok(true);
            }
            let Some((atom, sum)) = self.longest_let(p) else {
                return Ok(false);
            };
            p = self.fold_products(p, atom, sum)?;
            let Some(next) = self.unfold(p, atom, sum)? else {
                return Ok(false);
            };
            p = next;
        }
    }

    /// The stand-in for the longest sum of symbols among the atoms of a sum; first those for anything else.
    fn longest_let(&self, p: PolyId) -> Option<(u32, PolyId)> {
        let mut best: Option<((bool, usize, u32), PolyId)> = None;
        for t in self.polys.get(p) {
            if self.monos.flags(t.mono, &self.atom_flags) & flag::LET == 0 {
                continue;
            }
            for (a, _) in self.monos.powers(t.mono) {
                if let Atom::Let(q) = *self.atom(a) {
                    let key = (!self.is_linear(q), self.polys.len(q), a);
                    if best.is_none_or(|(k, _)| key > k) {
                        best = Some((key, q));
                    }
                }
            }
        }
        best.map(|((_, _, a), q)| (a, q))
    }

    /// True for a sum of atoms with factors that are no stand-ins.
    fn is_linear(&self, p: PolyId) -> bool {
        let terms = self.polys.get(p).iter();
        self.polys.flags(p) & (flag::LET | flag::EXP) == 0
            && terms.take(2).all(|t| t.mono.as_atom().is_some())
    }

    /// Replaces products of a stand-in with the sum that it stands for by its square.
    ///
    /// match `m * s * x1 + m * s * x2 + ...` where s stands for `x1 + x2 + ...`; result `m * s * s`; because that is what it stands for.
    fn fold_products(&mut self, p: PolyId, atom: u32, sum: PolyId) -> Result<PolyId, Fail> {
        let mut p = p;
        let Some(first) = self.polys.get(sum).first().copied() else {
            return Ok(p);
        };
        let (Some(least), Some(over)) = (first.mono.as_atom(), self.coefs.recip(first.coef)) else {
            return Ok(p);
        };
        for _ in 0..MAX_FOLDED {
            let product = self.polys.get(p).iter().find_map(|t| {
                let mut powers = self.monos.powers(t.mono);
                let at = |powers: &Powers, a: u32| powers.iter().position(|e| e.0 == a && e.1 > 0);
                at(&powers, atom)?;
                let i = at(&powers, least)?;
                powers[i].1 -= 1;
                Some((*t, powers))
            });
            let Some((t, powers)) = product else { break };
            let coef = self.coefs.mul(t.coef, over);
            let coef = self.coefs.neg(coef);
            let front = PTerm {
                mono: self.monos.of(&powers, &self.atom_flags),
                coef,
                ..t
            };
            let mut terms = self.polys.get(p).to_vec();
            self.push_scaled(front, sum, &mut terms)?;
            let back = self.monos.atom(atom, &self.atom_flags);
            let back = self.term_mul(front, PTerm::mono(back))?;
            terms.push(PTerm {
                coef: self.coefs.neg(back.coef),
                ..back
            });
            let folded = self.collect(terms)?;
            if self.polys.len(folded) > self.polys.len(p) {
                break;
            }
            p = folded;
        }
        Ok(p)
    }

    /// A sum without one of its stand-ins; `None` if it would become too long.
    fn unfold(&mut self, p: PolyId, atom: u32, sum: PolyId) -> Result<Option<PolyId>, Fail> {
        let parts = match self.is_linear(sum) {
            true => self.by_shorter(sum)?,
            false => sum,
        };
        let each = self.polys.len(parts);
        let mut out = Vec::with_capacity(self.polys.len(p));
        for i in 0..self.polys.len(p) {
            let t = self.polys.term(p, i);
            let mut powers = self.monos.powers(t.mono);
            let Some(at) = powers.iter().position(|e| e.0 == atom) else {
                out.push(t);
                continue;
            };
            let k = powers.remove(at).1;
            let size = each.saturating_pow(k.unsigned_abs());
            if !(1..=MAX_POWER).contains(&k) || out.len().saturating_add(size) > MAX_TERMS {
                return Ok(None);
            }
            let mut power = PolyId::ONE;
            for _ in 0..k {
                power = self.poly_mul(power, parts)?;
            }
            let mono = self.monos.of(&powers, &self.atom_flags);
            self.push_scaled(PTerm { mono, ..t }, power, &mut out)?;
        }
        self.collect(out).map(Some)
    }

    /// A sum of atoms by stand-ins for parts of it, the longest first; itself if too much is left beside them.
    fn by_shorter(&mut self, sum: PolyId) -> Result<PolyId, Fail> {
        let mut lets: Vec<(usize, u32, PolyId)> = Vec::new();
        for &a in &self.lets {
            if let Atom::Let(q) = *self.atom(a)
                && self.is_linear(q)
                && self.polys.len(q) < self.polys.len(sum)
            {
                lets.push((self.polys.len(q), a, q));
            }
        }
        lets.sort_unstable();
        let mut rest = sum;
        let mut parts = Vec::new();
        for &(len, a, q) in lets.iter().rev().take(MAX_PARTS) {
            if len > self.polys.len(rest) {
                continue;
            }
            let Some(k) = self.multiple_in(rest, q) else {
                continue;
            };
            let minus = self.coefs.neg(k);
            rest = self.add_scaled(rest, minus, q)?;
            let mono = self.monos.atom(a, &self.atom_flags);
            parts.push(PTerm {
                coef: k,
                ..PTerm::mono(mono)
            });
            if rest == PolyId::ZERO {
                break;
            }
        }
        if parts.is_empty() || self.polys.len(rest) > MAX_REST {
            return Ok(sum);
        }
        parts.extend_from_slice(self.polys.get(rest));
        self.collect(parts)
    }

    /// The k for which all terms of `k * q` are among those of `p`.
    fn multiple_in(&mut self, p: PolyId, q: PolyId) -> Option<Coef> {
        let coef_of = |ring: &Ring, key: (Mono, super::exp::ExpId)| {
            let terms = ring.polys.get(p);
            let i = terms.binary_search_by_key(&key, PTerm::key).ok()?;
            Some(terms[i].coef)
        };
        let first = self.polys.get(q).first().copied()?;
        let had = coef_of(self, first.key())?;
        let over = self.coefs.recip(first.coef)?;
        let k = self.coefs.mul(had, over);
        for i in 0..self.polys.len(q) {
            let t = self.polys.term(q, i);
            let wanted = self.coefs.mul(t.coef, k);
            if coef_of(self, t.key())? != wanted {
                return None;
            }
        }
        Some(k)
    }
}
