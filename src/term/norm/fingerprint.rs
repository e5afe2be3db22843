//! Images of polynomials under a homomorphism into a prime field.
//!
//! Problem: whether two sums of fractions are worth cross-multiplying. Every atom gets a
//! pseudo-random value modulo the safe prime P = 2Q + 1 near 2^61; inverses are inverted, sums and
//! products computed. P is 7 modulo 8, so 2 has the prime order Q, and 2^e maps to 2 to the image
//! of e modulo Q: exponents need their own images, modulo Q. Equal forms have equal images, and
//! different ones agree with a probability of about their degree / 2^60.
//!
//! What is not claimed: images order the work; they never decide. Square roots, maxima and
//! exponentials inside exponents get values of their own, so some equal forms have different
//! images.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::number::random::{STEP, scattered};

use super::exp::ExpId;
use super::poly::{PTerm, PolyId};
use super::rat::{Coef, Rat};
use super::ring::{Atom, Fail, Ring};
use super::value::Val;

const P: u64 = 2_305_843_009_213_690_799;
const Q: u64 = (P - 1) / 2;

/// Values modulo P and modulo Q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Image(u64, u64);

/// The product of two values below `m`, a prime such as [`P`] and [`Q`] that is a little less than a power
/// of two, so that what stands above that power counts as the small difference for each.
#[inline]
pub(super) fn mul(a: u64, b: u64, m: u64) -> u64 {
    let bits = u64::BITS - m.leading_zeros();
    let (low, rest) = ((1 << bits) - 1, (1 << bits) - m);
    let x = a as u128 * b as u128;
    let y = (x >> bits) * rest as u128 + (x & low as u128);
    let z = (y >> bits) as u64 * rest + (y as u64 & low);
    if z >= m { z - m } else { z }
}

/// The sum of two values below `m`.
#[inline]
pub(super) fn add(a: u64, b: u64, m: u64) -> u64 {
    let s = a + b;
    if s >= m { s - m } else { s }
}

/// A power of a value below `m`.
pub(super) fn pow(base: u64, exp: u64, m: u64) -> u64 {
    let (mut b, mut e, mut r) = (base, exp, 1);
    while e > 0 {
        if e & 1 == 1 {
            r = mul(r, b, m);
        }
        b = mul(b, b, m);
        e >>= 1;
    }
    r
}

/// The inverse, or 1 for 0.
fn inverse(a: u64, m: u64) -> u64 {
    if a == 0 { 1 } else { pow(a, m - 2, m) }
}

/// A fixed bijection that scatters its argument.
fn scatter(x: u64) -> u64 {
    scattered(x.wrapping_mul(STEP).wrapping_add(0x243f_6a88_85a3_08d3))
}

impl Ring {
    /// The image of a new atom.
    pub(super) fn image_of_atom(&mut self, id: u32, atom: &Atom) -> Image {
        if let Atom::Inv(d) = atom {
            let image = self.image_below(*d);
            return Image(inverse(image.0, P), inverse(image.1, Q));
        }
        if let Atom::Let(p) = atom {
            return self.image_below(*p);
        }
        Image(
            scatter(id as u64 * 2 + 1) % P,
            scatter(id as u64 * 2 + (1 << 40)) % Q,
        )
    }

    fn image_of_coef(&mut self, c: Coef) -> Image {
        if let Some(n) = c.small() {
            return Image(n.rem_euclid(P as i64) as u64, n.rem_euclid(Q as i64) as u64);
        }
        if let Some(&i) = self.coef_images.get(&c.word()) {
            return i;
        }
        let part = |n: &BigInt, m: u64| {
            let m = BigInt::from(m);
            (((n % &m) + &m) % &m).to_u64().unwrap_or(0)
        };
        let r = match self.coefs.get(c) {
            Rat::Big(b) => *b,
            small => small.to_big(),
        };
        let image = Image(
            mul(part(r.numer(), P), inverse(part(r.denom(), P), P), P),
            mul(part(r.numer(), Q), inverse(part(r.denom(), Q), Q), Q),
        );
        self.coef_images.insert(c.word(), image);
        image
    }

    fn image_of_exp(&mut self, e: ExpId) -> Image {
        let known = self.exps.images[e.0 as usize];
        let own = scatter(e.0 as u64 + (1 << 50)) % Q;
        if known != 0 {
            return Image(known, own);
        }
        let p = self.exps.poly(e);
        let mut sum = 0;
        for i in 0..self.polys.len(p) {
            let t = self.polys.term(p, i);
            let mut x = self.image_of_coef(t.coef).1;
            for (a, k) in self.monos.powers(t.mono) {
                x = mul(x, self.atom_power(a, k).1, Q);
            }
            if t.exp != ExpId::ZERO {
                x = mul(x, scatter(t.exp.0 as u64 + (1 << 50)) % Q, Q);
            }
            sum = add(sum, x, Q);
        }
        let image = pow(2, sum, P);
        self.exps.images[e.0 as usize] = image;
        Image(image, own)
    }

    fn atom_power(&self, a: u32, k: i32) -> Image {
        let i = self.atom_images[a as usize];
        if k == 1 {
            return i;
        }
        let n = k.unsigned_abs() as u64;
        let (x, y) = (pow(i.0, n, P), pow(i.1, n, Q));
        if k > 0 {
            Image(x, y)
        } else {
            Image(inverse(x, P), inverse(y, Q))
        }
    }

    fn image_below(&mut self, p: PolyId) -> Image {
        let (mut s, mut u) = (0, 0);
        for i in 0..self.polys.len(p) {
            let t = self.polys.term(p, i);
            let Image(x, y) = self.image_of_term(t);
            (s, u) = (add(s, x, P), add(u, y, Q));
        }
        Image(s, u)
    }

    fn image_of_term(&mut self, t: PTerm) -> Image {
        let Image(mut x, mut y) = self.image_of_coef(t.coef);
        for (a, k) in self.monos.powers(t.mono) {
            let v = self.atom_power(a, k);
            (x, y) = (mul(x, v.0, P), mul(y, v.1, Q));
        }
        if t.exp != ExpId::ZERO {
            let v = self.image_of_exp(t.exp);
            (x, y) = (mul(x, v.0, P), mul(y, v.1, Q));
        }
        Image(x, y)
    }

    /// The image of a finite value modulo P.
    pub(super) fn image_of_val(&mut self, v: Val) -> Result<u64, Fail> {
        let factor = self.image_of_term(v.factor).0;
        Ok(mul(factor, self.image_of_poly(v.poly)?, P))
    }

    /// The image of a polynomial modulo P.
    pub(super) fn image_of_poly(&mut self, p: PolyId) -> Result<u64, Fail> {
        self.charge(self.polys.len(p))?;
        Ok(self.image_below(p).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_and_sums_are_those_of_the_integers() {
        for m in [P, Q] {
            let edges = [0, 1, 2, 3, m / 2, m / 2 + 1, m - 2, m - 1];
            let values = (0..100).map(|i| scatter(i) % m).chain(edges);
            let values: Vec<u64> = values.collect();
            for (&a, &b) in values
                .iter()
                .flat_map(|a| values.iter().map(move |b| (a, b)))
            {
                let (x, y) = (a as u128, b as u128);
                assert_eq!(mul(a, b, m) as u128, x * y % m as u128);
                assert_eq!(add(a, b, m) as u128, (x + y) % m as u128);
            }
        }
    }

    #[test]
    fn two_has_order_q() {
        assert_eq!(pow(2, Q, P), 1);
        assert_ne!(pow(2, 2, P), 1);
        // Fermat for both moduli, to a few bases.
        for b in [2, 3, 5, 7, 11] {
            assert_eq!(pow(b, P - 1, P), 1);
            assert_eq!(pow(b, Q - 1, Q), 1);
        }
    }
}
