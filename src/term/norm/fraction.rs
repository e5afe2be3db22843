//! Inverses of polynomials, and when sums of fractions are equal.
//!
//! Problem: a quotient of sums has many forms. A denominator is split into content (coefficient,
//! common monomial, common exponential) and a primitive part; the inverse of the content is a
//! term, the inverse of the primitive part an atom. A softmax and a max-subtracted softmax so have
//! the same denominator and the same numerator: the maximum is in the content. Sums of fractions
//! stay sums: over thousands of different denominators nothing is multiplied out. Two such sums
//! are identified when their images agree (`fingerprint.rs`) and cross-multiplication proves it.
//!
//! Source: "Equivalence Checking of ML GPU Kernels", fractions of polynomial-exponential sums.
//! This differs by not using one common denominator.
//!
//! Soundness: cross-multiplication holds wherever all denominators involved are not zero, which
//! definedness demands of both sides. Replacing a polynomial by an equal one made earlier chains
//! such identities; that is sound because a denominator without square roots is not a zero
//! divisor, and only such denominators take part.
//!
//! What is not claimed: sums whose common denominator is too large may stay different although
//! equal.

use super::exp::ExpId;
use super::monomial::{Mono, Powers, flag};
use super::poly::{PTerm, PolyId};
use super::rat::Coef;
use super::ring::{Atom, Fail, Ring};

impl Ring {
    /// Content and primitive part of a canonical polynomial: p = content * primitive, where the
    /// primitive part has no inverses, no common atom, its greatest exponent is 0, its
    /// first coefficient is 1, and its first term has no root of a number.
    ///
    /// The greatest exponent is so in the lexicographic order of coefficients, which does not change
    /// when an exponent is added to all: so p and 2^e * p have the same primitive part. It is mostly
    /// that of what a kernel meets first, which all sums of a running softmax have in common; so
    /// their primitive parts share exponents.
    pub(super) fn primitive(&mut self, p: PolyId) -> Result<(PTerm, PolyId), Fail> {
        if let Some(&r) = self.primitive_of.get(&p) {
            return Ok(r);
        }
        let (inverses, cleared) = self.clear_inverses(p)?;
        let content = self.monos.of(&inverses, &self.atom_flags);
        let mut content = PTerm::mono(content);
        let mut terms = cleared;
        if terms.is_empty() {
            return Err(Fail::Undefined);
        }
        let mut shared: Powers = self.monos.powers(terms[0].mono);
        for t in terms.iter().skip(1) {
            if !shared.is_empty() || t.mono != Mono::ONE {
                shared = self.least_powers(&shared, t.mono);
            }
        }
        let front = PTerm {
            mono: self.monos.of(&shared, &self.atom_flags),
            exp: self.greatest_exp(terms.iter().map(|t| t.exp)),
            coef: Coef::ONE,
        };
        if front != PTerm::ONE {
            let inverse = self.term_inverse(front)?;
            for t in &mut terms {
                *t = self.term_mul(*t, inverse)?;
            }
            content = self.term_mul(content, front)?;
            self.combine(&mut terms);
        }
        let root = self.without_radical(&mut terms)?;
        content = self.term_mul(content, root)?;
        if terms.is_empty() {
            return Err(Fail::Undefined);
        }
        let lead = terms.first().map_or(Coef::ONE, |t| t.coef);
        if lead != Coef::ONE {
            let inverse = self.coefs.recip(lead).ok_or(Fail::Undefined)?;
            for t in &mut terms {
                t.coef = self.coefs.mul(t.coef, inverse);
            }
            content.coef = self.coefs.mul(content.coef, lead);
        }
        let r = (content, self.intern(&terms));
        self.primitive_of.insert(p, r);
        Ok(r)
    }

    /// For each atom the smaller of its powers in `a` and in `m`, 0 where it is absent.
    fn least_powers(&self, a: &Powers, m: Mono) -> Powers {
        let b = self.monos.powers(m);
        let mut out = Powers::new();
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let ka = a.get(i).map_or(u32::MAX, |p| p.0);
            let kb = b.get(j).map_or(u32::MAX, |p| p.0);
            let k = ka.min(kb);
            let (mut p, mut q) = (0, 0);
            if ka == k {
                p = a[i].1;
                i += 1;
            }
            if kb == k {
                q = b[j].1;
                j += 1;
            }
            if p.min(q) != 0 {
                out.push((k, p.min(q)));
            }
        }
        out
    }

    /// The greatest of some exponents; that of 1 if there are none.
    pub(super) fn greatest_exp(&self, exps: impl IntoIterator<Item = ExpId>) -> ExpId {
        let greater = |a: ExpId, b: ExpId| if a != b && self.exp_less(a, b) { b } else { a };
        exps.into_iter().reduce(greater).unwrap_or(ExpId::ZERO)
    }

    /// The order of exponents as coefficient vectors: the first difference decides. Constants
    /// come last: they are kept modulo 1, so adding an exponent to both would change their order.
    pub(super) fn exp_less(&self, a: ExpId, b: ExpId) -> bool {
        let split = |e: ExpId| match self.polys.get(self.exps.poly(e)) {
            [t, rest @ ..] if t.is_constant() => (t.coef, rest),
            terms => (Coef::ZERO, terms),
        };
        let ((c, x), (d, y)) = (split(a), split(b));
        let (mut i, mut j) = (0, 0);
        loop {
            let (s, t) = (x.get(i), y.get(j));
            let (p, q, step) = match (s, t) {
                (None, None) => return self.coefs.cmp(c, d).is_lt(),
                (Some(s), None) => (s.coef, Coef::ZERO, (1, 0)),
                (None, Some(t)) => (Coef::ZERO, t.coef, (0, 1)),
                (Some(s), Some(t)) if s.key() < t.key() => (s.coef, Coef::ZERO, (1, 0)),
                (Some(s), Some(t)) if s.key() > t.key() => (Coef::ZERO, t.coef, (0, 1)),
                (Some(s), Some(t)) => (s.coef, t.coef, (1, 1)),
            };
            match self.coefs.cmp(p, q) {
                std::cmp::Ordering::Equal => {}
                o => return o.is_lt(),
            }
            i += step.0;
            j += step.1;
        }
    }

    /// The inverses of a monomial, and the rest of it.
    fn split_inverses(&self, m: Mono) -> (Powers, Powers) {
        let (mut inv, mut rest) = (Powers::new(), Powers::new());
        for (a, p) in self.monos.powers(m) {
            if self.atom_flags[a as usize] & flag::INV != 0 {
                inv.push((a, p));
            } else {
                rest.push((a, p));
            }
        }
        (inv, rest)
    }

    /// Inverses and terms with p = product of the inverses * sum of the terms, where the terms
    /// hold no inverses.
    fn clear_inverses(&mut self, p: PolyId) -> Result<(Powers, Vec<PTerm>), Fail> {
        let mut terms = self.polys.get(p).to_vec();
        if self.polys.flags(p) & flag::INV == 0 {
            return Ok((Powers::new(), terms));
        }
        let mut total = Powers::new();
        // A rewrite of a square root can bring new inverses, so once may not be enough.
        for _ in 0..4 {
            let mut most = Powers::new();
            let mut parts = Vec::with_capacity(terms.len());
            for t in &terms {
                let (inv, rest) = self.split_inverses(t.mono);
                for &(a, p) in &inv {
                    match most.binary_search_by_key(&a, |e| e.0) {
                        Ok(i) => most[i].1 = most[i].1.max(p),
                        Err(i) => most.insert(i, (a, p)),
                    }
                }
                parts.push((*t, inv, rest));
            }
            if most.is_empty() {
                return Ok((total, terms));
            }
            let mut cost = 0usize;
            for (_, inv, _) in &parts {
                let mut size = 1usize;
                for &(a, p) in &most {
                    let have = inv.iter().find(|e| e.0 == a).map_or(0, |e| e.1);
                    let Atom::Inv(d) = *self.atom(a) else {
                        continue;
                    };
                    for _ in have..p {
                        size = size.saturating_mul(self.polys.len(d));
                    }
                }
                cost = cost.saturating_add(size);
            }
            if cost > self.limits.max_cross {
                return Err(Fail::Limit);
            }
            let mut out = Vec::with_capacity(cost);
            for (t, inv, rest) in parts {
                let mono = self.monos.of(&rest, &self.atom_flags);
                let mut product = PolyId::ONE;
                for &(a, p) in &most {
                    let have = inv.iter().find(|e| e.0 == a).map_or(0, |e| e.1);
                    let Atom::Inv(d) = *self.atom(a) else {
                        continue;
                    };
                    for _ in have..p {
                        product = self.poly_mul(product, d)?;
                    }
                }
                self.charge(self.polys.len(product))?;
                self.push_scaled(PTerm { mono, ..t }, product, &mut out)?;
            }
            let mut out = self.expand(out)?;
            self.combine(&mut out);
            terms = out;
            let (a, b) = (
                self.monos.of(&total, &self.atom_flags),
                self.monos.of(&most, &self.atom_flags),
            );
            let m = self.monos.mul(a, b, &self.atom_flags);
            total = self.monos.powers(m);
        }
        Err(Fail::Limit)
    }

    /// True only if p is 0 wherever its denominators are not.
    pub(super) fn is_zero_fraction(&mut self, p: PolyId) -> Result<bool, Fail> {
        let (_, terms) = self.clear_inverses(p)?;
        Ok(terms.is_empty())
    }

    /// True only if both are the same function wherever their denominators are not 0.
    pub(super) fn equal(&mut self, p: PolyId, q: PolyId) -> Result<bool, Fail> {
        if p == q {
            return Ok(true);
        }
        if p.is_infinite() || q.is_infinite() {
            return Ok(false);
        }
        if (self.polys.flags(p) | self.polys.flags(q)) & flag::INV == 0 {
            return Ok(false);
        }
        let d = self.add_scaled(p, Coef::MINUS_ONE, q)?;
        if d == PolyId::ZERO {
            return Ok(true);
        }
        // The image of a square root is not a root, so it says nothing about such denominators.
        if !self.has_root_below(d) && self.image_of_poly(d)? != 0 {
            return Ok(false);
        }
        self.is_zero_fraction(d)
    }

    /// True if a denominator of p holds a square root.
    fn has_root_below(&self, p: PolyId) -> bool {
        self.polys.get(p).iter().any(|t| {
            self.monos
                .powers(t.mono)
                .iter()
                .any(|&(a, _)| match self.atom(a) {
                    Atom::Inv(d) => self.polys.flags(*d) & flag::SQRT != 0,
                    _ => false,
                })
        })
    }

    /// The first polynomial made that equals p, as far as cross-multiplication shows it.
    ///
    /// match `sum of fractions over d`; result `c`; because its numerators add up to c * d.
    pub(super) fn identify(&mut self, p: PolyId) -> Result<PolyId, Fail> {
        if self.polys.flags(p) & flag::INV == 0 {
            return Ok(p);
        }
        if let Some(&q) = self.same_as.get(&p) {
            return Ok(q);
        }
        // Exponents are identified while cross-multiplying; the bound keeps that from nesting.
        if self.identify_depth >= 4 || self.has_root_below(p) {
            return Ok(p);
        }
        self.identify_depth += 1;
        let r = self.identify_now(p);
        self.identify_depth -= 1;
        let q = match r {
            Ok(q) => q,
            // Too large to compare: it stays a form of its own.
            Err(Fail::Limit) if self.has_time() => p,
            Err(e) => return Err(e),
        };
        self.same_as.insert(p, q);
        Ok(q)
    }

    fn identify_now(&mut self, p: PolyId) -> Result<PolyId, Fail> {
        if self.polys.len(p) > 1
            && let Some(t) = self.divides(p)?
        {
            return Ok(self.single(t));
        }
        let image = self.image_of_poly(p)?;
        if image == 0 && self.is_zero_fraction(p)? {
            return Ok(PolyId::ZERO);
        }
        let known = self.by_image.get(&image).cloned().unwrap_or_default();
        for &q in known.iter().take(4) {
            let difference = self.add_scaled(p, Coef::MINUS_ONE, q)?;
            if difference == PolyId::ZERO || self.is_zero_fraction(difference)? {
                return Ok(q);
            }
        }
        self.by_image.entry(image).or_default().push(p);
        Ok(p)
    }

    /// The term that p equals, if p is a sum over the single denominator d whose numerator is that
    /// term times d.
    fn divides(&mut self, p: PolyId) -> Result<Option<PTerm>, Fail> {
        let (inv, _) = self.split_inverses(self.polys.term(p, 0).mono);
        let [(a, 1)] = inv[..] else { return Ok(None) };
        let Atom::Inv(d) = *self.atom(a) else {
            return Ok(None);
        };
        if self.polys.len(p) < self.polys.len(d) {
            return Ok(None);
        }
        let mut numerator = Vec::with_capacity(self.polys.len(p));
        for i in 0..self.polys.len(p) {
            let t = self.polys.term(p, i);
            let (inv, rest) = self.split_inverses(t.mono);
            if inv[..] != [(a, 1)] {
                return Ok(None);
            }
            let mono = self.monos.of(&rest, &self.atom_flags);
            numerator.push(PTerm { mono, ..t });
        }
        let n = self.collect(numerator)?;
        let (content, primitive) = self.primitive(n)?;
        Ok((primitive == d).then_some(content))
    }
}
