//! Logarithms of sums that are scaled by the larger of two numbers.
//!
//! Problem: log(2^a + 2^b) overflows, so losses and recurrences over logarithms are written with the larger
//! of both in front: `max(a, b) + log2(1 + 2^-|a - b|)`, `max(x, 0) + log1p(exp(-|x|))`. Whichever of a and
//! b is the larger one, max(a, b) and a + b - max(a, b) are the two of them in some order; so a sum in
//! which both stand alike is a sum of powers of a and of b, and the maximum cancels.
//!
//! What is not claimed: maxima of more than two numbers are not looked for here. Where all summands are
//! scaled by one maximum it is a factor of the sum, and `log2` takes it out as any other.

use super::exp::ExpId;
use super::monomial::{Mono, flag};
use super::poly::{PTerm, PolyId};
use super::rat::{Coef, Rat};
use super::ring::{Atom, Fail, Ring};
use super::rules::{Rule, rule};

/// Maxima within one another that are taken out of one logarithm.
pub(super) const MAX_NESTED: usize = 8;

/// Terms of a sum that is looked into, and maxima of its exponents that are tried.
const MAX_TERMS: usize = 1024;
const MAX_TRIED: usize = 4;

/// A term of an exponent: a multiple of the larger of two numbers.
struct Larger {
    /// The monomial of the term.
    mono: Mono,
    /// What the maximum is multiplied with there.
    factor: Mono,
    a: PolyId,
    b: PolyId,
}

impl Ring {
    /// The multiples of maxima of two numbers in an exponent.
    fn larger_of_two(&mut self, e: ExpId) -> Vec<Larger> {
        let p = self.exps.poly(e);
        let mut out = Vec::new();
        if self.polys.flags(p) & flag::CHOICE == 0 {
            return out;
        }
        for i in 0..self.polys.len(p) {
            let t = self.polys.term(p, i);
            let mut powers = self.monos.powers(t.mono);
            let found = powers.iter().position(|&(atom, power)| {
                let two = match self.atom(atom) {
                    Atom::Max(s) => s.len() == 2 && !s.iter().any(|p| p.is_infinite()),
                    _ => false,
                };
                two && power == 1 && t.exp == ExpId::ZERO
            });
            let Some(k) = found else { continue };
            let Atom::Max(set) = self.atom(powers[k].0) else {
                continue;
            };
            let (a, b) = (set[0], set[1]);
            powers.remove(k);
            out.push(Larger {
                mono: t.mono,
                factor: self.monos.of(&powers, &self.atom_flags),
                a,
                b,
            });
            if out.len() == MAX_TRIED {
                break;
            }
        }
        out
    }

    /// 2^(coef * mono * p) as a term.
    fn power_of(&mut self, coef: Coef, mono: Mono, p: PolyId) -> Result<PTerm, Fail> {
        let scaled = self.scale(
            PTerm {
                coef,
                ..PTerm::mono(mono)
            },
            p,
        )?;
        let (exp, carry) = self.exponent(scaled)?;
        Ok(PTerm {
            mono: Mono::ONE,
            exp,
            coef: self.coefs.pow2(carry),
        })
    }

    /// The canonical sum of the products of some terms with others.
    fn products(&mut self, terms: &[PTerm], factors: &[PTerm]) -> Result<PolyId, Fail> {
        let mut out = Vec::with_capacity(terms.len() * factors.len());
        for &t in terms {
            for &f in factors {
                out.push(self.term_mul(t, f)?);
            }
        }
        self.charge(out.len())?;
        let out = self.expand(out)?;
        let p = self.collect(out)?;
        self.identify(p)
    }

    /// The coefficient of a monomial in the exponent of a term.
    fn coefficient_above(&self, t: PTerm, mono: Mono) -> Coef {
        let terms = self.polys.get(self.exps.poly(t.exp)).iter();
        let mut found = terms.filter(|u| u.mono == mono && u.exp == ExpId::ZERO);
        found.next().map_or(Coef::ZERO, |u| u.coef)
    }

    /// A polynomial to add, and one to take the logarithm of instead.
    ///
    /// match `log2(2^(c M) P + 2^(d M) P 2^(k (a + b)))` with `M = m max(a, b)`, k = m (c - d) / 2; result
    /// `(c + d) / 2 M + log2(P (2^(k a) + 2^(k b)))`; because max(a, b) and a + b - max(a, b) are a and b in
    /// some order, so that `2^(k max(a, b)) + 2^(k (a + b - max(a, b)))` is `2^(k a) + 2^(k b)`.
    pub(super) fn without_larger(&mut self, sum: PolyId) -> Result<Option<(PolyId, PolyId)>, Fail> {
        let terms = self.polys.get(sum);
        if terms.len() < 2 || terms.len() > MAX_TERMS {
            return Ok(None);
        }
        let terms = terms.to_vec();
        let ends = [terms[0], terms[terms.len() - 1]];
        for t in ends {
            for larger in self.larger_of_two(t.exp) {
                if let Some(found) = self.without(&terms, &larger)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    fn without(
        &mut self,
        terms: &[PTerm],
        larger: &Larger,
    ) -> Result<Option<(PolyId, PolyId)>, Fail> {
        let c = self.coefficient_above(terms[0], larger.mono);
        let mut d = None;
        let mut parts = [Vec::new(), Vec::new()];
        for &t in terms {
            let k = self.coefficient_above(t, larger.mono);
            match k == c {
                true => parts[0].push(t),
                false if *d.get_or_insert(k) == k => parts[1].push(t),
                false => return Ok(None),
            }
        }
        let Some(d) = d else { return Ok(None) };
        let maximum = self.single(PTerm::mono(larger.mono));
        let mut plain = [PolyId::ZERO; 2];
        for ((part, plain), k) in parts.iter().zip(&mut plain).zip([c, d]) {
            let minus = self.coefs.neg(k);
            let without = self.power_of(minus, Mono::ONE, maximum)?;
            *plain = self.products(part, &[without])?;
        }
        let half = self.coefs.of(Rat::Small(1, 2));
        let minus = self.coefs.neg(d);
        let k = self.coefs.add(c, minus);
        let k = self.coefs.mul(k, half);
        let first = self.polys.get(plain[0]).to_vec();
        let a = self.power_of(k, larger.factor, larger.a)?;
        let b = self.power_of(k, larger.factor, larger.b)?;
        let both = self.term_mul(a, b)?;
        if self.products(&first, &[both])? != plain[1] {
            return Ok(None);
        }
        let mean = self.coefs.add(c, d);
        let mean = self.coefs.mul(mean, half);
        let shift = self.scale(PTerm::constant(mean), maximum)?;
        let rest = self.products(&first, &[a, b])?;
        let found = rest != PolyId::ZERO && rule(Rule::LogSumExp);
        Ok(found.then_some((shift, rest)))
    }
}
