//! Two prime fields with a homomorphism between them, and numbers to draw points from.
//!
//! Problem: 2^e needs an image for which 2^(a + b) is 2^a times 2^b. For a safe prime P = 2Q + 1
//! with P = 7 modulo 8, 2 has the prime order Q modulo P, so that e may be taken modulo Q. The
//! primes are drawn at random from those of 61 bits: of a fixed one, kernels could hold a multiple.
//!
//! Source: P. L. Montgomery, "Modular multiplication without trial division" (1985), for products;
//! G. L. Miller and M. O. Rabin for primality, with the bases that decide it below 2^64 (Sorenson
//! and Webster, 2015). Numbers are drawn from SHA-256 in counter mode under a seed that the
//! expressions give, so that answers do not change from run to run.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::ToPrimitive;
use sha2::{Digest, Sha256};

/// Bits of the primes P.
const BITS: u32 = 61;

/// Binary logarithm of what every field here has more elements than.
pub(super) const FIELD_BITS: f64 = 59.0;

/// Binary logarithm of the number of primes that are drawn from, rounded down: by the estimate of
/// Hardy and Littlewood there are 2^48.6 safe primes P = 7 modulo 8 of 61 bits.
pub(super) const PRIME_CHOICES: f64 = 48.0;

/// Draws that are made in search of a prime.
const MAX_DRAWS: u64 = 1 << 16;

/// Numbers modulo an odd prime below 2^62, in Montgomery's form, fully reduced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    modulus: u64,
    /// -1 / modulus, modulo 2^64.
    inverse: u64,
    /// 2^128 modulo the modulus.
    square: u64,
    /// The form of 1.
    pub one: u64,
}

impl Field {
    fn new(modulus: u64) -> Field {
        // Newton's iteration doubles the correct bits, of which an odd number starts with three.
        let mut x = modulus;
        for _ in 0..5 {
            x = x.wrapping_mul(2u64.wrapping_sub(modulus.wrapping_mul(x)));
        }
        let rest = (1u128 << 64) % u128::from(modulus);
        Field {
            modulus,
            inverse: x.wrapping_neg(),
            square: (rest * rest % u128::from(modulus)) as u64,
            one: rest as u64,
        }
    }

    pub(super) fn mul(&self, a: u64, b: u64) -> u64 {
        let t = u128::from(a) * u128::from(b);
        let m = (t as u64).wrapping_mul(self.inverse);
        let u = ((t + u128::from(m) * u128::from(self.modulus)) >> 64) as u64;
        if u >= self.modulus {
            u - self.modulus
        } else {
            u
        }
    }

    pub(super) fn add(&self, a: u64, b: u64) -> u64 {
        let s = a + b;
        if s >= self.modulus {
            s - self.modulus
        } else {
            s
        }
    }

    pub(super) fn neg(&self, a: u64) -> u64 {
        if a == 0 { 0 } else { self.modulus - a }
    }

    /// a to the power of a plain number.
    pub(super) fn pow(&self, a: u64, mut e: u64) -> u64 {
        let (mut base, mut out) = (a, self.one);
        while e > 0 {
            if e & 1 == 1 {
                out = self.mul(out, base);
            }
            base = self.mul(base, base);
            e >>= 1;
        }
        out
    }

    /// The inverse of what is not 0.
    pub(super) fn inverse(&self, a: u64) -> Option<u64> {
        (a != 0).then(|| self.pow(a, self.modulus - 2))
    }

    /// The form of a plain number.
    pub(super) fn form(&self, plain: u64) -> u64 {
        self.mul(plain % self.modulus, self.square)
    }

    /// The plain number of a form.
    pub(super) fn plain(&self, form: u64) -> u64 {
        self.mul(form, 1)
    }

    /// The form of an integer.
    pub(super) fn integer(&self, n: &BigInt) -> u64 {
        let m = BigInt::from(self.modulus);
        let r = ((n % &m) + &m) % &m;
        self.form(r.to_u64().unwrap_or(0))
    }

    /// The form of a rational, unless the modulus divides its denominator.
    pub(super) fn rational(&self, x: &BigRational) -> Option<u64> {
        let below = self.inverse(self.integer(x.denom()))?;
        Some(self.mul(self.integer(x.numer()), below))
    }
}

/// A pair of fields: values modulo P, exponents modulo Q.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    pub p: Field,
    pub q: Field,
    two: u64,
}

impl Fields {
    fn new(p: u64) -> Fields {
        let p_field = Field::new(p);
        Fields {
            p: p_field,
            q: Field::new(p / 2),
            two: p_field.form(2),
        }
    }

    /// 2 to an exponent modulo Q, modulo P.
    pub(super) fn exp2(&self, e: u64) -> u64 {
        self.p.pow(self.two, self.q.plain(e))
    }
}

/// What a drawn number is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Draw {
    Prime,
    Value,
    Exponent,
}

/// A source of numbers.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    seed: [u8; 32],
}

impl Draws {
    pub(super) fn new(seed: [u8; 32]) -> Draws {
        Draws { seed }
    }

    fn word(&self, draw: Draw, index: u64, point: usize, count: u64) -> u64 {
        let mut hash = Sha256::new();
        hash.update(self.seed);
        for part in [draw as u64, index, point as u64, count] {
            hash.update(part.to_le_bytes());
        }
        let digest = hash.finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        u64::from_le_bytes(first)
    }

    /// A number below the modulus, each as likely as any other, as a form.
    fn below(&self, field: &Field, draw: Draw, index: u64, point: usize) -> u64 {
        let mask = u64::MAX >> field.modulus.leading_zeros();
        // Every draw misses with a chance of less than a half.
        for count in 0.. {
            let word = self.word(draw, index, point, count) & mask;
            if word < field.modulus {
                return field.form(word);
            }
        }
        0
    }

    /// The value of an atom.
    pub(super) fn value(&self, fields: &Fields, atom: u64, point: usize) -> u64 {
        self.below(&fields.p, Draw::Value, atom, point)
    }

    /// The value of an atom of exponents.
    pub(super) fn exponent(&self, fields: &Fields, atom: u64, point: usize) -> u64 {
        self.below(&fields.q, Draw::Exponent, atom, point)
    }

    /// The fields of a point.
    pub(super) fn fields(&self, point: usize) -> Option<Fields> {
        (0..MAX_DRAWS).find_map(|count| {
            let word = self.word(Draw::Prime, 0, point, count);
            // Between 2^60 and 2^61; 23 modulo 24, as P and Q are no multiples of 3 and P = 7
            // modulo 8.
            let p = (word >> (65 - BITS)) | 1 << (BITS - 1);
            let p = p - p % 24 + 23;
            let fits = p >> BITS == 0 && is_prime(p / 2) && is_prime(p);
            fits.then(|| Fields::new(p))
        })
    }
}

/// Is an odd number below 2^62 prime?
fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    for b in BASES {
        if n.is_multiple_of(b) {
            return n == b;
        }
    }
    let f = Field::new(n);
    let minus_one = f.neg(f.one);
    let twos = (n - 1).trailing_zeros();
    BASES.iter().all(|&b| {
        let mut x = f.pow(f.form(b), (n - 1) >> twos);
        if x == f.one || x == minus_one {
            return true;
        }
        for _ in 1..twos {
            x = f.mul(x, x);
            if x == minus_one {
                return true;
            }
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_fields() {
        let draws = Draws::new([7; 32]);
        for point in 0..4 {
            let f = draws.fields(point).expect("a prime");
            let (p, q) = (f.p.modulus, f.q.modulus);
            assert_eq!(p, 2 * q + 1);
            assert_eq!((p % 8, p >> 60), (7, 1));
            assert_eq!(f.p.plain(f.p.pow(f.two, q)), 1);
            for n in [1u64, 2, 3, 1 << 40, p - 1] {
                let x = f.p.form(n);
                assert_eq!(f.p.plain(x), n % p);
                assert_eq!(f.p.mul(x, f.p.inverse(x).expect("not 0")), f.p.one);
                assert_eq!(f.p.add(x, f.p.neg(x)), 0);
            }
            let (a, b) = (draws.exponent(&f, 1, point), draws.exponent(&f, 2, point));
            assert_eq!(f.exp2(f.q.add(a, b)), f.p.mul(f.exp2(a), f.exp2(b)));
            assert_eq!(f.exp2(f.q.form(5)), f.p.form(32));
        }
    }

    #[test]
    fn primes() {
        let small: Vec<u64> = (3..100).step_by(2).filter(|n| is_prime(*n)).collect();
        assert_eq!(small.len(), 24);
        assert!(is_prime((1 << 61) - 1));
        assert!(!is_prime(3_215_031_751));
        assert!(!is_prime(1_000_003 * 1_000_033));
    }
}
