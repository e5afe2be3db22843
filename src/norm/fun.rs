//! Functions of one argument.
//!
//! Problem: square roots, logarithms, exponentials and the rest. What has an algebraic meaning is
//! rewritten into polynomials, exponentials and the atoms `sqrt` and `log2`; the others are opaque
//! functions of a canonical argument.
//!
//! Every rule holds wherever its left side is defined; the obligations of definedness are those of
//! the term (`obligations.rs`), not of what is left of it here.

use super::monomial::Powers;
use super::poly::{PTerm, PolyId};
use super::rat::{Coef, Rat};
use super::ring::{Atom, Fail, Ring};
use super::sign::Sign;
use super::value::Val;
use crate::term::Fun;

/// Primes up to this are taken out of constants under roots and logarithms.
const LARGEST_PRIME: u64 = 1000;

/// n = product of the prime powers * rest, for primes up to a bound.
fn small_factors(n: u64) -> (Vec<(u64, u32)>, u64) {
    let (mut rest, mut out) = (n, Vec::new());
    let mut p = 2;
    while p <= LARGEST_PRIME && p * p <= rest {
        let mut k = 0;
        while rest.is_multiple_of(p) {
            rest /= p;
            k += 1;
        }
        if k > 0 {
            out.push((p, k));
        }
        p += 1;
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
            Fun::Sin
            | Fun::Cos
            | Fun::Erf
            | Fun::Floor
            | Fun::Ceil
            | Fun::Trunc
            | Fun::RoundEven => {
                let p = self.canon(v)?;
                self.opaque(f, p)
            }
        }
    }

    /// match `tanh(x)`; result `1 - 2 / (2^(2 * x * log2(e)) + 1)`; because that is
    /// (e^2x - 1) / (e^2x + 1).
    fn tanh(&mut self, v: Val) -> Result<Val, Fail> {
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
    fn opaque(&mut self, f: Fun, p: PolyId) -> Result<Val, Fail> {
        if f == Fun::Ceil {
            let n = self.negate(p)?;
            let v = self.opaque_floor(n)?;
            return self.val_times(Coef::MINUS_ONE, v);
        }
        let sign = match f {
            Fun::Trunc => self.poly_sign(p),
            _ => Sign::ALL,
        };
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
        let (p, flip) = if self.coefs.is_negative(lead) {
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

    /// The square root of a positive rational as rational * product of roots of primes.
    ///
    /// match `sqrt(n / d)`; result `sqrt(n * d) / d`; and `sqrt(p^2 * q)`: `p * sqrt(q)`.
    fn sqrt_constant(&mut self, c: Coef) -> Result<PTerm, Fail> {
        let r = self.coefs.get(c);
        let atom = |ring: &mut Ring, r: Rat| {
            let k = ring.coefs.of(r);
            let p = ring.single(PTerm::constant(k));
            ring.atom_mono(Atom::Sqrt(p))
        };
        if let Rat::Small(n, d) = r
            && let (Ok(n), Ok(d)) = (u64::try_from(n), u64::try_from(d))
        {
            let mut out = PTerm::ONE;
            for (m, below) in [(n, false), (d, true)] {
                let (mut factors, mut rest) = small_factors(m);
                let root = rest.isqrt();
                if root * root == rest {
                    factors.push((root, 2));
                    rest = 1;
                }
                if rest > 1 {
                    factors.push((rest, 1));
                }
                for (p, k) in factors {
                    let base = self.coefs.of(Rat::int(p as i64));
                    let mut f = PTerm::ONE;
                    for _ in 0..k / 2 {
                        f = self.term_mul(f, PTerm::constant(base))?;
                    }
                    if k % 2 == 1 {
                        let m = atom(self, Rat::int(p as i64));
                        f = self.term_mul(f, PTerm::mono(m))?;
                        if below {
                            // 1 / sqrt(p) is sqrt(p) / p.
                            let i = self.coefs.recip(base).ok_or(Fail::Undefined)?;
                            out = self.term_mul(out, PTerm::constant(i))?;
                            out = self.term_mul(out, PTerm::mono(m))?;
                            f.mono = super::monomial::Mono::ONE;
                        }
                    }
                    if below {
                        f = self.term_inverse(f)?;
                    }
                    out = self.term_mul(out, f)?;
                }
            }
            return Ok(out);
        }
        let m = atom(self, r);
        Ok(PTerm::mono(m))
    }

    /// The square root of a canonical polynomial.
    ///
    /// match `sqrt(c * 2^e * x^2k * p)` with c > 0; result `sqrt(c) * 2^(e/2) * |x|^k * sqrt(p)`;
    /// because c, 2^e and x^2k are not negative, so p is not (or x is 0 and both sides are 0).
    ///
    /// match `sqrt(x * y)` with x > 0 proved; result `sqrt(x) * sqrt(y)`; because then y >= 0.
    ///
    /// match `sqrt(1 / d)` with d > 0 proved; result `1 / sqrt(d)`.
    pub(super) fn sqrt(&mut self, p: PolyId) -> Result<Val, Fail> {
        if p == PolyId::ZERO {
            return Ok(Val::ZERO);
        }
        let (content, primitive) = match self.polys.get(p) {
            [t] => (*t, PolyId::ONE),
            _ => self.primitive(p)?,
        };
        let negative = self.coefs.is_negative(content.coef);
        if negative && primitive == PolyId::ONE && content.is_constant() {
            return Err(Fail::Undefined);
        }
        let magnitude = if negative {
            self.coefs.neg(content.coef)
        } else {
            content.coef
        };
        let half = self.coefs.of(Rat::Small(1, 2));
        let (exp, carry) = self.exp_scale(content.exp, half)?;
        let scale = self.coefs.pow2(carry);
        let mut out = Val::term(PTerm {
            exp,
            coef: scale,
            ..PTerm::ONE
        });
        let root = self.sqrt_constant(magnitude)?;
        out = self.val_mul(out, Val::term(root))?;
        let powers = self.monos.powers(content.mono);
        let odd = powers.iter().filter(|p| p.1 % 2 != 0).count();
        // With everything else not negative, the only odd power is not negative either.
        let sole = primitive == PolyId::ONE && !negative && odd == 1;
        let mut inside = Powers::new();
        for (a, k) in powers {
            let m = self.monos.atom(a, &self.atom_flags);
            let v = Val::term(PTerm::mono(m));
            let sign = self.atom_signs[a as usize];
            if k % 2 != 0 && (sole || sign.is_positive()) {
                let (of, k) = match *self.atom(a) {
                    Atom::Inv(d) => (d, -k),
                    _ => (self.single(PTerm::mono(m)), k),
                };
                let r = self.atom_id(Atom::Sqrt(of));
                let mono = self.monos.of(&[(r, k)], &self.atom_flags);
                out = self.val_mul(out, Val::term(PTerm::mono(mono)))?;
                continue;
            }
            let (times, left) = (k.div_euclid(2), k.rem_euclid(2));
            if times != 0 {
                // An even power of |x| is that of x.
                let mut size = if sign.is_nonneg() || times % 2 == 0 {
                    v
                } else {
                    self.val_abs(v)?
                };
                if times < 0 {
                    size = self.val_inverse(size)?;
                }
                for _ in 0..times.abs() {
                    out = self.val_mul(out, size)?;
                }
            }
            if left != 0 {
                inside.push((a, 1));
            }
        }
        let front = PTerm {
            mono: self.monos.of(&inside, &self.atom_flags),
            coef: if negative { Coef::MINUS_ONE } else { Coef::ONE },
            ..PTerm::ONE
        };
        let rest = self.val_scaled(front, primitive)?;
        let rest = self.held(rest)?;
        if rest == PolyId::ONE {
            return Ok(out);
        }
        let r = self.atom_val(Atom::Sqrt(rest));
        self.val_mul(out, r)
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
        let (content, primitive) = match self.polys.get(p) {
            [t] => (*t, PolyId::ONE),
            _ => self.primitive(p)?,
        };
        let negative = self.coefs.is_negative(content.coef);
        let magnitude = if negative {
            self.coefs.neg(content.coef)
        } else {
            content.coef
        };
        let mut terms = self.log2_constant(magnitude)?;
        terms.extend_from_slice(self.polys.get(self.exps.poly(content.exp)));
        let powers = self.monos.powers(content.mono);
        let sole =
            primitive == PolyId::ONE && !negative && matches!(powers[..], [(_, k)] if k % 2 != 0);
        let mut inside = Powers::new();
        for (a, k) in powers {
            if !sole && !self.atom_signs[a as usize].is_positive() {
                inside.push((a, k));
                continue;
            }
            // match `log2(1 / d)`, `log2(sqrt(d))`; result `-log2(d)`, `log2(d) / 2`; because
            // d > 0.
            let (of, times) = match *self.atom(a) {
                Atom::Inv(d) => (d, Rat::int(-(k as i64))),
                Atom::Sqrt(d) => (d, Rat::int(k as i64).mul(&Rat::Small(1, 2))),
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
