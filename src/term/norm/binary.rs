//! Inverses of two-term sums with a constant: 1 / (c + w * T).
//!
//! Problem: T / (1 + T), 1 - 1 / (1 + T) and 1 / (1 + 1 / T) are one function; sigmoid, silu and
//! tanh are written in all three ways. With I = 1 / (c + w * T), every power of T beside I is
//! rewritten until what is left has a degree in T from 0 up to but not including 1. The degree is
//! the coefficient of the first summand of T's exponent, or the power of its first atom, divided
//! by T's own.
//!
//! match `T * I`; result `1 / w - c / w * I`; because (c + w * T) * I = 1.
//!
//! match `I / T`; result `1 / (c * T) - w / c * I`; for the same reason.
//!
//! What is not claimed: longer denominators are not treated so; a softmax would grow by its
//! length. Products of inverses over the same T have several forms.

use super::exp::ExpId;
use super::monomial::{Mono, Powers, flag};
use super::poly::{PTerm, PolyId};
use super::rat::{Coef, Rat};
use super::ring::{Fail, Ring};
use super::rules::{Rule, rule};

/// Degrees beyond this stay as they are.
const MAX_DEGREE: i64 = 32;

/// c + w * T.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binary {
    constant: Coef,
    weight: Coef,
    unit: PTerm,
}

/// What becomes of a term.
pub(super) enum Split {
    /// It stays.
    Kept,
    /// Their sum replaces it.
    Into(PTerm, PTerm),
}

impl Ring {
    /// The shape of a primitive polynomial, if it is a constant and one more term.
    pub(super) fn binary_shape(&self, d: PolyId) -> Option<Binary> {
        let [a, b] = self.polys.get(d) else {
            return None;
        };
        a.is_constant().then_some(Binary {
            constant: a.coef,
            weight: b.coef,
            unit: PTerm {
                coef: Coef::ONE,
                ..*b
            },
        })
    }

    /// The degree of `t` in T, rounded down.
    fn binary_degree(&self, b: &Binary, t: PTerm) -> Option<i64> {
        if b.unit.exp != ExpId::ZERO {
            let own = *self.polys.get(self.exps.poly(b.unit.exp)).first()?;
            let terms = self.polys.get(self.exps.poly(t.exp));
            let Ok(i) = terms.binary_search_by_key(&own.key(), PTerm::key) else {
                return Some(0);
            };
            let (x, y) = (self.coefs.get(terms[i].coef), self.coefs.get(own.coef));
            return x.mul(&y.recip()?).floor();
        }
        let (atom, own) = *self.monos.powers(b.unit.mono).first()?;
        let power = self.monos.powers(t.mono);
        let p = power.iter().find(|e| e.0 == atom).map_or(0, |e| e.1);
        Rat::int(p as i64)
            .mul(&Rat::int(own as i64).recip()?)
            .floor()
    }

    /// One step towards degree 0 for the first inverse that needs one; `flags` are the term's.
    pub(super) fn split_binary(&mut self, t: PTerm, flags: u8) -> Result<Split, Fail> {
        if flags & flag::INV == 0 || self.binaries.is_empty() || t.mono == Mono::ONE {
            return Ok(Split::Kept);
        }
        let powers = self.monos.powers(t.mono);
        for &(a, p) in powers.iter().filter(|e| e.1 > 0) {
            let Some(&b) = self.binaries.get(&a) else {
                continue;
            };
            let degree = self.binary_degree(&b, t).unwrap_or(0);
            if degree == 0 || degree.abs() > MAX_DEGREE || !rule(Rule::PartialFraction) {
                continue;
            }
            let less: Powers = powers
                .iter()
                .map(|&(x, q)| (x, if x == a { p - 1 } else { q }))
                .collect();
            let without = PTerm {
                mono: self.monos.of(&less, &self.atom_flags),
                ..t
            };
            let inverse = self.term_inverse(b.unit)?;
            let (mut first, mut second, over, times) = if degree > 0 {
                let first = self.term_mul(without, inverse)?;
                let second = self.term_mul(t, inverse)?;
                (first, second, b.weight, b.constant)
            } else {
                let second = self.term_mul(t, b.unit)?;
                (without, second, b.constant, b.weight)
            };
            let over = self.coefs.recip(over).ok_or(Fail::Undefined)?;
            let times = self.coefs.mul(times, over);
            let times = self.coefs.neg(times);
            first.coef = self.coefs.mul(first.coef, over);
            second.coef = self.coefs.mul(second.coef, times);
            return Ok(Split::Into(first, second));
        }
        Ok(Split::Kept)
    }
}
