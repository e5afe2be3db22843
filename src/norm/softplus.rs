//! Logarithms of 1 + 2^|z| and 1 + 2^-|z|.
//!
//! Problem: log(1 + exp(x)) overflows, so losses and recurrences over logarithms are written with
//! log(1 + exp(-|x|)) and the larger of two numbers in front: `max(x, 0) + log1p(exp(-|x|))`,
//! `max(a, b) + log1p(exp(-|a - b|))`. The absolute value is taken out, so that the maximum cancels and
//! both are the logarithm of a sum of exponentials.
//!
//! What is not claimed: sums with more than two terms, or with factors, keep their absolute values.

use super::exp::ExpId;
use super::monomial::{Mono, flag};
use super::poly::{PTerm, PolyId};
use super::rat::{Coef, Rat};
use super::ring::{Atom, Fail, Ring};

/// Absolute values within one another that are taken out of one logarithm.
pub(super) const MAX_NESTED: usize = 8;

/// An exponent that is m * |a - b| for a positive m, or that with a minus.
struct Absolute {
    /// m.
    factor: PTerm,
    negative: bool,
    largest: Mono,
    a: PolyId,
    b: PolyId,
}

impl Ring {
    /// The exponent of 1 + 2^e.
    fn exponent_beside_one(&self, p: PolyId) -> Option<ExpId> {
        let [x, y] = self.polys.get(p) else {
            return None;
        };
        let plain = |t: &PTerm| t.mono == Mono::ONE && t.coef == Coef::ONE;
        match (plain(x) && plain(y), x.exp, y.exp) {
            (true, ExpId::ZERO, e) | (true, e, ExpId::ZERO) => Some(e),
            _ => None,
        }
    }

    /// An exponent as an absolute value: `2 m max(a, b) - m a - m b`, which is `m |a - b|`.
    fn absolute(&mut self, e: ExpId) -> Result<Option<Absolute>, Fail> {
        let p = self.exps.poly(e);
        if self.polys.flags(p) & flag::MAX == 0 {
            return Ok(None);
        }
        let terms = self.polys.get(p).to_vec();
        for (i, t) in terms
            .iter()
            .enumerate()
            .filter(|(_, t)| t.exp == ExpId::ZERO)
        {
            let mut powers = self.monos.powers(t.mono);
            let pair = |r: &Ring, atom: u32| match r.atom(atom) {
                Atom::Max(s) => match s[..] {
                    [a, b] if !a.is_infinite() && !b.is_infinite() => Some((a, b)),
                    _ => None,
                },
                _ => None,
            };
            let found = powers.iter().enumerate().find_map(|(k, &(atom, power))| {
                let ab = pair(self, atom).filter(|_| power == 1)?;
                Some((k, atom, ab))
            });
            let Some((k, atom, (a, b))) = found else {
                continue;
            };
            powers.remove(k);
            let half = self.coefs.of(Rat::Small(1, 2));
            let m = PTerm {
                mono: self.monos.of(&powers, &self.atom_flags),
                coef: self.coefs.mul(t.coef, half),
                exp: ExpId::ZERO,
            };
            let sign = self.term_sign(m);
            if !sign.is_positive() && !sign.is_negative() {
                continue;
            }
            let minus = PTerm {
                coef: self.coefs.neg(m.coef),
                ..m
            };
            let (x, y) = (self.scale(minus, a)?, self.scale(minus, b)?);
            let sum = self.add_scaled(x, Coef::ONE, y)?;
            let mut rest = terms.clone();
            rest.remove(i);
            if self.intern(&rest) != sum {
                continue;
            }
            let negative = sign.is_negative();
            return Ok(Some(Absolute {
                factor: if negative { minus } else { m },
                negative,
                largest: self.monos.atom(atom, &self.atom_flags),
                a,
                b,
            }));
        }
        Ok(None)
    }

    /// A polynomial to add, and one to take the logarithm of instead.
    ///
    /// match `log2(1 + 2^(-m * |a - b|))` with m > 0; result `log2(1 + 2^(m * (a - b))) - m * (max(a, b) - b)`;
    /// because for a >= b it is `log2(1 + 2^(m * (a - b))) - m * (a - b)`, and else the two exponents are one.
    ///
    /// match `log2(1 + 2^(m * |a - b|))`; result `log2(1 + 2^(m * (a - b))) + m * (max(a, b) - a)`; for the
    /// same reason.
    pub(super) fn without_absolute(
        &mut self,
        primitive: PolyId,
    ) -> Result<Option<(PolyId, PolyId)>, Fail> {
        let Some(e) = self.exponent_beside_one(primitive) else {
            return Ok(None);
        };
        let Some(abs) = self.absolute(e)? else {
            return Ok(None);
        };
        let largest = self.single(PTerm::mono(abs.largest));
        let beside = if abs.negative { abs.b } else { abs.a };
        let above = self.add_scaled(largest, Coef::MINUS_ONE, beside)?;
        let mut shift = self.scale(abs.factor, above)?;
        if abs.negative {
            shift = self.negate(shift)?;
        }
        let difference = self.add_scaled(abs.a, Coef::MINUS_ONE, abs.b)?;
        let z = self.scale(abs.factor, difference)?;
        let (exp, carry) = self.exponent(z)?;
        let power = PTerm {
            mono: Mono::ONE,
            exp,
            coef: self.coefs.pow2(carry),
        };
        let sum = self.collect(vec![PTerm::ONE, power])?;
        Ok(Some((shift, sum)))
    }
}
