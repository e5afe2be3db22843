//! Functions of one argument.
//!
//! Problem: square roots, logarithms, exponentials and the rest. What has an algebraic meaning is
//! rewritten into polynomials, exponentials and the atoms `sqrt` and `log2`; the others are opaque
//! functions of a canonical argument.
//!
//! Every rule holds wherever its left side is defined; the obligations of definedness are those of
//! the term (`decide/needs.rs`), not of what is left of it here.

use num_integer::Integer;

use super::exp::ExpId;
use super::monomial::Powers;
use super::poly::{PTerm, PolyId};
use super::rat::{Coef, Rat};
use super::ring::require;
use super::ring::{Atom, Fail, Ring};
use super::rules::{Rule, rule};
use super::sign::Sign;
use super::softplus::MAX_NESTED;
use super::value::Val;
use crate::term::Fun;

/// Primes up to this are taken out of constants under roots and logarithms.
const LARGEST_PRIME: u64 = 1000;

/// n = product of the prime powers * rest, for a positive n and primes up to a bound. A prime up to the
/// bound is in the rest only if it is the rest.
pub(super) fn small_factors<N: Integer + From<u64>>(n: N) -> (Vec<(u64, u32)>, N) {
    let (mut rest, mut out) = (n, Vec::new());
    let mut p = 2;
    while p <= LARGEST_PRIME && N::from(p * p) <= rest {
        let mut k = 0;
        while rest.is_multiple_of(&N::from(p)) {
            rest = rest / N::from(p);
            k += 1;
        }
        if k > 0 {
            out.push((p, k));
        }
        p += 1 + p % 2;
    }
    (out, rest)
}

impl Ring {
    /// A function of a value.
    pub(super) fn val_fun(&mut self, f: Fun, v: Val) -> Result<Val, Fail> {
        if let Some(neg) = v.infinite() {
            return match (f, neg) {
                (Fun::Exp2, true) | (Fun::Rsqrt, false) => Ok(Val::ZERO),
                (Fun::Exp2 | Fun::Log2 | Fun::Sqrt | Fun::Abs, false) => Ok(v),
                (Fun::Abs, true) => Ok(Val::infinity(false)),
                (Fun::Tanh | Fun::Erf, n) => {
                    Ok(Val::constant(if n { Coef::MINUS_ONE } else { Coef::ONE }))
                }
                (Fun::Floor | Fun::Ceil | Fun::Trunc | Fun::RoundEven, _) => Ok(v),
                _ => Err(Fail::Undefined),
            };
        }
        match f {
            Fun::Sqrt => {
                let p = self.held(v)?;
                self.sqrt(p)
            }
            // match `rsqrt(x)`; result `1 / sqrt(x)`; because that is its definition.
            Fun::Rsqrt => {
                let p = self.held(v)?;
                let r = self.sqrt(p)?;
                self.val_inverse(r)
            }
            Fun::Exp2 => {
                let p = self.canon(v)?;
                self.exp2(p)
            }
            Fun::Log2 => {
                let p = self.canon(v)?;
                self.log2(p)
            }
            Fun::Abs => self.val_abs(v),
            Fun::Tanh => self.tanh(v),
            Fun::Sin | Fun::Cos => {
                let p = self.canon(v)?;
                self.angle(f, p)
            }
            Fun::Erf | Fun::Floor | Fun::Ceil | Fun::Trunc | Fun::RoundEven => {
                let p = self.canon(v)?;
                self.opaque(f, p)
            }
        }
    }

    /// match `tanh(x)`; result `1 - 2 / (2^(2 * x * log2(e)) + 1)`; because that is
    /// (e^2x - 1) / (e^2x + 1).
    fn tanh(&mut self, v: Val) -> Result<Val, Fail> {
        require(Rule::HyperbolicTangent)?;
        let m = self.atom_mono(Atom::Log2E);
        let two = self.coefs.of(Rat::int(2));
        let k = PTerm {
            coef: two,
            ..PTerm::mono(m)
        };
        let arg = self.val_mul(Val::term(k), v)?;
        let p = self.canon(arg)?;
        let e = self.exp2(p)?;
        let one = Val::constant(Coef::ONE);
        let d = self.val_add(e, one)?;
        let inverse = self.val_inverse(d)?;
        let twice = self.val_times(two, inverse)?;
        self.val_sub(one, twice)
    }

    /// match `sin(0), floor(c), ...`; result the exact value; because the argument is that
    /// constant.
    ///
    /// match `sin(-x)`; result `-sin(x)`; `cos(-x)`: `cos(x)`; `erf`, `trunc`, `round` are odd;
    /// `ceil(x)`: `-floor(-x)`; because that holds for all reals. The sign that is kept is that of
    /// the first coefficient.
    ///
    /// match `trunc(x)` for x of known sign; result `floor(x)` or `-floor(-x)`; because that is what
    /// rounding towards 0 is on each side of it.
    ///
    /// match `floor(x + n)`; result `floor(x) + n` for an integer n; likewise `ceil`.
    pub(super) fn opaque(&mut self, f: Fun, p: PolyId) -> Result<Val, Fail> {
        if f == Fun::Ceil {
            require(Rule::CeilingByFloor)?;
            let n = self.negate(p)?;
            let v = self.opaque_floor(n)?;
            return self.val_times(Coef::MINUS_ONE, v);
        }
        let mut sign = match f {
            Fun::Trunc => self.poly_sign(p),
            _ => Sign::ALL,
        };
        let is_known = sign.is_nonneg() || sign.is_nonpos();
        if is_known && !rule(Rule::TruncationOfKnownSign) {
            sign = Sign::ALL;
        }
        if f == Fun::Floor || sign.is_nonneg() {
            return self.opaque_floor(p);
        }
        if sign.is_nonpos() {
            let n = self.negate(p)?;
            let v = self.opaque_floor(n)?;
            return self.val_times(Coef::MINUS_ONE, v);
        }
        if let Some(c) = self.as_constant(p)
            && let Some(v) = self.constant_fun(f, c)
        {
            return Ok(Val::constant(v));
        }
        let lead = self.polys.get(p).last().map_or(Coef::ONE, |t| t.coef);
        let by = match f {
            Fun::Cos => Rule::EvenFunction,
            _ => Rule::OddFunction,
        };
        let (p, flip) = if self.coefs.is_negative(lead) && rule(by) {
            (self.negate(p)?, f != Fun::Cos)
        } else {
            (p, false)
        };
        let p = self.identify(p)?;
        let v = self.atom_val(Atom::Fun(f, p));
        if flip {
            self.val_times(Coef::MINUS_ONE, v)
        } else {
            Ok(v)
        }
    }

    fn opaque_floor(&mut self, p: PolyId) -> Result<Val, Fail> {
        let mut p = p;
        let mut whole = Coef::ZERO;
        if let Some(t) = self.polys.get(p).first()
            && t.is_constant()
            && let Some(n) = self.coefs.get(t.coef).floor()
            && n != 0
            && rule(Rule::WholePartOfFloor)
        {
            whole = self.coefs.of(Rat::int(n));
            let k = self.coefs.neg(whole);
            p = self.add_scaled(p, k, PolyId::ONE)?;
        }
        if let Some(c) = self.as_constant(p) {
            // What is left of a constant lies in [0, 1).
            if c == Coef::ZERO || self.coefs.get(c).floor() == Some(0) {
                return Ok(Val::constant(whole));
            }
        }
        let p = self.identify(p)?;
        let v = self.atom_val(Atom::Fun(Fun::Floor, p));
        self.val_add(v, Val::constant(whole))
    }

    fn constant_fun(&mut self, f: Fun, c: Coef) -> Option<Coef> {
        match f {
            Fun::Sin | Fun::Erf if c == Coef::ZERO => Some(Coef::ZERO),
            Fun::Cos if c == Coef::ZERO => Some(Coef::ONE),
            Fun::Trunc => {
                let b = self.coefs.get(c).to_big().trunc();
                Some(self.coefs.of_big(&b))
            }
            _ => None,
        }
    }

    /// The logarithm of a positive rational: the power of two, plus multiples of the logarithms of
    /// odd primes.
    fn log2_constant(&mut self, c: Coef) -> Result<Vec<PTerm>, Fail> {
        let mut out = Vec::new();
        let atom = |ring: &mut Ring, r: Rat, times: i64| {
            let k = ring.coefs.of(r);
            let p = ring.single(PTerm::constant(k));
            let mono = ring.atom_mono(Atom::Log2(p));
            let coef = ring.coefs.of(Rat::int(times));
            PTerm {
                coef,
                ..PTerm::mono(mono)
            }
        };
        let r = self.coefs.get(c);
        if let Rat::Small(n, d) = r
            && let (Ok(n), Ok(d)) = (u64::try_from(n), u64::try_from(d))
        {
            for (m, sign) in [(n, 1), (d, -1)] {
                let (mut factors, rest) = small_factors(m);
                if rest > 1 {
                    factors.push((rest, 1));
                }
                for (p, k) in factors {
                    let times = sign * k as i64;
                    if p == 2 {
                        let k = self.coefs.of(Rat::int(times));
                        out.push(PTerm::constant(k));
                    } else {
                        out.push(atom(self, Rat::int(p as i64), times));
                    }
                }
            }
            return Ok(out);
        }
        out.push(atom(self, r, 1));
        Ok(out)
    }

    /// The base-2 logarithm of a canonical polynomial.
    ///
    /// match `log2(c * 2^e * x^k * p)` with c > 0 and x > 0 proved; result
    /// `log2(c) + e + k * log2(x) + log2(p)`; because then p > 0 wherever the left is defined.
    pub(super) fn log2(&mut self, p: PolyId) -> Result<Val, Fail> {
        if p == PolyId::ZERO {
            return Ok(Val::infinity(true));
        }
        let (mut p, mut out) = (p, Val::ZERO);
        for _ in 0..MAX_NESTED {
            let (content, primitive) = match self.polys.get(p) {
                [t] => (*t, PolyId::ONE),
                _ => self.primitive(p)?,
            };
            let Some((shift, rest)) = self.without_larger(primitive)? else {
                let last = self.log2_of_parts(content, primitive)?;
                return self.val_add(out, last);
            };
            // What is left is above 0, so the content is where the whole is.
            let front = self.log2_of_parts(content, PolyId::ONE)?;
            let shift = self.val_of(shift);
            out = self.val_add(out, front)?;
            out = self.val_add(out, shift)?;
            p = rest;
        }
        Err(Fail::Limit)
    }

    /// Adds the base-2 logarithm of an even power of an atom.
    ///
    /// match `log2(x^2k)`; result `2k * log2(|x|)`; because x is not 0 where there is a logarithm.
    fn log2_of_size(&mut self, a: u32, k: i32, terms: &mut Vec<PTerm>) -> Result<(), Fail> {
        let mono = self.monos.atom(a, &self.atom_flags);
        let size = self.val_abs(Val::term(PTerm::mono(mono)))?;
        let size = self.canon(size)?;
        let log = self.log2(size)?;
        let log = self.canon(log)?;
        let k = self.coefs.of(Rat::int(i64::from(k)));
        self.push_scaled(PTerm::constant(k), log, terms)
    }

    /// The base-2 logarithm of the product of a content and a primitive part.
    fn log2_of_parts(&mut self, content: PTerm, primitive: PolyId) -> Result<Val, Fail> {
        let negative = self.coefs.is_negative(content.coef);
        let magnitude = if negative {
            self.coefs.neg(content.coef)
        } else {
            content.coef
        };
        if magnitude != Coef::ONE {
            require(Rule::LogarithmOfMultiple)?;
        }
        if content.exp != ExpId::ZERO {
            require(Rule::LogarithmOfPower)?;
        }
        let mut terms = self.log2_constant(magnitude)?;
        terms.extend_from_slice(self.polys.get(self.exps.poly(content.exp)));
        let powers = self.monos.powers(content.mono);
        let sole =
            primitive == PolyId::ONE && !negative && matches!(powers[..], [(_, k)] if k % 2 != 0);
        let mut inside = Powers::new();
        for (a, k) in powers {
            if !sole && !self.atom_signs[a as usize].is_positive() {
                let mut odd = k.rem_euclid(2);
                if k != odd && !rule(Rule::LogarithmOfSquare) {
                    odd = k;
                }
                if odd != 0 {
                    inside.push((a, odd));
                }
                if k != odd {
                    self.log2_of_size(a, k - odd, &mut terms)?;
                }
                continue;
            }
            if let Atom::Sqrt(d) = *self.atom(a)
                && let Some(c) = self.as_constant(d)
            {
                let half = self.coefs.of(Rat::int(k as i64).mul(&Rat::Small(1, 2)));
                for mut t in self.log2_constant(c)? {
                    t.coef = self.coefs.mul(t.coef, half);
                    terms.push(t);
                }
                continue;
            }
            // match `log2(1 / d)`, `log2(sqrt(d))`; result `-log2(d)`, `log2(d) / 2`; because
            // d > 0.
            let (of, times) = match *self.atom(a) {
                Atom::Inv(d) if rule(Rule::LogarithmOfRationalPower) => (d, Rat::int(-(k as i64))),
                Atom::Sqrt(d) if rule(Rule::LogarithmOfRationalPower) => {
                    (d, Rat::int(k as i64).mul(&Rat::Small(1, 2)))
                }
                _ => {
                    let m = self.monos.atom(a, &self.atom_flags);
                    (self.single(PTerm::mono(m)), Rat::int(k as i64))
                }
            };
            let mono = self.atom_mono(Atom::Log2(of));
            let coef = self.coefs.of(times);
            terms.push(PTerm {
                coef,
                ..PTerm::mono(mono)
            });
        }
        let front = PTerm {
            mono: self.monos.of(&inside, &self.atom_flags),
            coef: if negative { Coef::MINUS_ONE } else { Coef::ONE },
            ..PTerm::ONE
        };
        let rest = self.val_scaled(front, primitive)?;
        let rest = self.canon(rest)?;
        if self.as_constant(rest) == Some(Coef::MINUS_ONE) {
            return Err(Fail::Undefined);
        }
        if rest != PolyId::ONE {
            let mono = self.atom_mono(Atom::Log2(rest));
            terms.push(PTerm::mono(mono));
        }
        let p = self.collect(terms)?;
        let p = self.identify(p)?;
        Ok(self.val_of(p))
    }
}
