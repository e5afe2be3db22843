//! Exponentials: 2^e for a canonical polynomial e.
//!
//! Problem: exp(a) * exp(b) must be exp(a + b), and 2^(a + k) must be 2^k * 2^a for an integer k.
//! Exponents are interned polynomials; their constant term, if any, lies in [0, 1), and what a sum
//! carries beyond goes into the coefficient. Base 2 is the only base: the store has no other.
//!
//! Source: "Equivalence Checking of ML GPU Kernels": exponentials of distinct polynomials without
//! constant term are linearly independent over the polynomials. Constants in [0, 1) are added
//! here: the powers 2^f of distinct rationals f in [0, 1) are linearly independent over the
//! rationals, because x^n - 2 is irreducible.
//!
//! What is not claimed: exponents that hold inverses are equal only as far as `fraction.rs` can
//! identify them.

use num_integer::Integer;
use num_traits::ToPrimitive;
use rustc_hash::FxHashMap;

use super::monomial::flag;
use super::poly::{PTerm, PolyId};
use super::rat::{Coef, Rat};
use super::ring::require;
use super::ring::{Atom, Fail, Ring};
use super::rules::{Rule, rule};
use super::value::Val;

/// An interned exponent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ExpId(pub(super) u32);

impl ExpId {
    /// The exponent 0.
    pub(super) const ZERO: ExpId = ExpId(0);
}

/// The exponents of one scratch.
#[derive(Debug)]
pub(super) struct Exps {
    list: Vec<(PolyId, u8)>,
    of: FxHashMap<PolyId, u32>,
    sums: FxHashMap<(u32, u32), (ExpId, i64)>,
    /// Images under the homomorphism of `fingerprint.rs`, 0 where not computed yet.
    pub(super) images: Vec<u64>,
}

impl Default for Exps {
    fn default() -> Self {
        Exps {
            list: vec![(PolyId::ZERO, 0)],
            of: FxHashMap::from_iter([(PolyId::ZERO, 0)]),
            sums: FxHashMap::default(),
            images: vec![1],
        }
    }
}

impl Exps {
    /// The polynomial of an exponent.
    pub(super) fn poly(&self, e: ExpId) -> PolyId {
        self.list[e.0 as usize].0
    }

    /// `flag::PARTIAL` if the exponent is not defined for all inputs, `flag::CHOICE` if it holds a maximum
    /// or a choice, `flag::REDUCIBLE` if it holds half of a logarithm or a whole one.
    pub(super) fn flags(&self, e: ExpId) -> u8 {
        self.list[e.0 as usize].1
    }

    fn intern(&mut self, p: PolyId, flags: u8) -> ExpId {
        let list = &mut self.list;
        let images = &mut self.images;
        ExpId(*self.of.entry(p).or_insert_with(|| {
            list.push((p, flags));
            images.push(0);
            list.len() as u32 - 1
        }))
    }
}

/// The largest power of two that is written out as a coefficient.
const MAX_POW2: i64 = 16_384;

/// A larger power of two keeps a multiple of this in its exponent.
const LAST_POW2: i64 = 1024;

/// The largest power of a polynomial that an exponent of a logarithm is turned into.
const MAX_POWER: i64 = 64;

impl Ring {
    /// Splits 2^p into 2^k * 2^e with the constant term of e in [0, 1), or with that and a multiple of
    /// [`LAST_POW2`] where the power is larger than [`MAX_POW2`] or smaller than its reciprocal.
    pub(super) fn exponent(&mut self, p: PolyId) -> Result<(ExpId, i64), Fail> {
        let mut p = p;
        let mut carry = 0;
        if let Some(t) = self.polys.get(p).first()
            && t.is_constant()
        {
            // Of a power with too many digits only the last part is a coefficient.
            let c = self.coefs.get(t.coef);
            carry = match c.floor() {
                Some(floor) if floor.abs() <= MAX_POW2 => floor,
                Some(floor) => floor.rem_euclid(LAST_POW2),
                None => {
                    let floor = c.to_big().floor().to_integer();
                    let last = floor.mod_floor(&LAST_POW2.into());
                    last.to_i64().ok_or(Fail::Limit)?
                }
            };
            if carry != 0 && !rule(Rule::WholePartOfExponent) {
                carry = 0;
            }
            if carry != 0 {
                let k = self.coefs.of(Rat::int(-carry));
                let mut buf = self.polys.get(p).to_vec();
                buf[0].coef = self.coefs.add(buf[0].coef, k);
                p = self.collect(buf)?;
            }
        }
        let p = self.identify(p)?;
        let mut flags = self.polys.flags(p) & (flag::PARTIAL | flag::CHOICE);
        if self.special {
            let terms = self.polys.get(p);
            if terms.iter().any(|t| self.halves_of_logarithm(t).is_some()) {
                flags |= flag::REDUCIBLE;
            }
        }
        Ok((self.exps.intern(p, flags), carry))
    }

    /// The b and k of k/2 * log2(b), for a small integer k.
    fn halves_of_logarithm(&self, t: &PTerm) -> Option<(PolyId, i64)> {
        if t.exp != ExpId::ZERO {
            return None;
        }
        let Atom::Log2(b) = *self.atom(t.mono.as_atom()?) else {
            return None;
        };
        let k = self.coefs.get(t.coef).mul(&Rat::Small(2, 1)).as_integer()?;
        (k.abs() <= MAX_POWER).then_some((b, k))
    }

    /// Splits 2^e into the powers of the b in its logarithms log2(b), roots of such, and the rest.
    pub(super) fn take_logarithms(
        &mut self,
        e: ExpId,
        powers: &mut Vec<(PolyId, i32)>,
    ) -> Result<(PTerm, Vec<PolyId>), Fail> {
        let p = self.exps.poly(e);
        let mut rest = Vec::with_capacity(self.polys.len(p));
        let mut roots = Vec::new();
        for i in 0..self.polys.len(p) {
            let t = self.polys.term(p, i);
            match self.halves_of_logarithm(&t) {
                Some((b, k)) => {
                    if k.rem_euclid(2) == 1 {
                        roots.push(b);
                    }
                    self.power_of_argument(b, k.div_euclid(2) as i32, powers)?;
                }
                None => rest.push(t),
            }
        }
        let p = self.collect(rest)?;
        let (exp, carry) = self.exponent(p)?;
        let coef = self.coefs.pow2(carry);
        let rest = PTerm {
            exp,
            coef,
            ..PTerm::ONE
        };
        Ok((rest, roots))
    }

    /// match `2^(2n * log2(|d|))`; result `d^2n`; because an even power of a size is that of the number.
    fn power_of_argument(
        &mut self,
        b: PolyId,
        k: i32,
        powers: &mut Vec<(PolyId, i32)>,
    ) -> Result<(), Fail> {
        let even = k - k.rem_euclid(2);
        if k != 0
            && k != -1
            && even != 0
            && let Some(d) = self.size_of(b)?
            && rule(Rule::EvenPowerOfMagnitude)
        {
            powers.push((d, even));
            if k != even {
                powers.push((b, 1));
            }
        } else if k != 0 {
            powers.push((b, k));
        }
        Ok(())
    }

    /// match `2^a * 2^b`; result `2^k * 2^e`; because a + b = k + e.
    pub(super) fn exp_add(&mut self, a: ExpId, b: ExpId) -> Result<(ExpId, i64), Fail> {
        require(Rule::ProductOfPowers)?;
        let key = (a.0.min(b.0), a.0.max(b.0));
        if let Some(&r) = self.exps.sums.get(&key) {
            return Ok(r);
        }
        let (p, q) = (self.exps.poly(a), self.exps.poly(b));
        let sum = self.add_scaled(p, Coef::ONE, q)?;
        let r = self.exponent(sum)?;
        self.exps.sums.insert(key, r);
        Ok(r)
    }

    /// match `(2^a)^k`; result `2^j * 2^e`; because k * a = j + e and 2^a > 0.
    pub(super) fn exp_scale(&mut self, a: ExpId, k: Coef) -> Result<(ExpId, i64), Fail> {
        if a == ExpId::ZERO {
            return Ok((a, 0));
        }
        require(Rule::PowerOfPower)?;
        let p = self.scale(PTerm::constant(k), self.exps.poly(a))?;
        self.exponent(p)
    }

    /// 2^p of a canonical polynomial.
    ///
    /// match `2^(e + k)`, k an integer; result `2^k * 2^e`.
    pub(super) fn exp2(&mut self, p: PolyId) -> Result<Val, Fail> {
        let (exp, carry) = self.exponent(p)?;
        let coef = self.coefs.pow2(carry);
        self.settle(Val::term(PTerm {
            exp,
            coef,
            ..PTerm::ONE
        }))
    }
}
