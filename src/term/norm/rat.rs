//! Exact rational coefficients.
//!
//! Problem: almost every coefficient of a kernel's sums is a small integer or a dyadic number, and
//! arithmetic on heap-allocated rationals would dominate. A [`Rat`] is a pair of machine integers
//! that overflows into `BigRational`; a [`Coef`] is a 32-bit handle: small integers are written
//! into the handle itself, everything else is an index into a table. So terms of polynomials are
//! plain words that can be sorted, hashed and compared by value.
//!
//! What is not claimed: handles of different tables cannot be compared.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use indexmap::IndexSet;
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};
use rustc_hash::{FxBuildHasher, FxHashMap};

/// Bits of two numbers that are still added or multiplied.
const MAX_BITS: u64 = 1 << 15;

/// Results on long numbers that are kept.
const MAX_KNOWN: usize = 1 << 14;

/// A rational number in lowest terms with a positive denominator.
///
/// `Big` is used only where `Small` cannot hold the value, so derived equality is equality of
/// numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rat {
    /// Numerator (never `i64::MIN`) and positive denominator without common divisor.
    Small(i64, i64),
    /// Anything larger.
    Big(Box<BigRational>),
}

/// By the parts in lowest terms: the hash of a `BigRational` is that of its continued fraction, which takes
/// as long as a greatest common divisor.
impl Hash for Rat {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Rat::Small(n, d) => (n, d).hash(state),
            Rat::Big(b) => (b.numer(), b.denom()).hash(state),
        }
    }
}

impl Rat {
    /// The number 1.
    pub(super) const ONE: Rat = Rat::Small(1, 1);

    /// An integer.
    pub(super) fn int(n: i64) -> Rat {
        Rat::from_wide(n as i128, 1)
    }

    /// A rational of any size.
    pub(super) fn from_big(r: &BigRational) -> Rat {
        match (r.numer().to_i64(), r.denom().to_i64()) {
            (Some(n), Some(d)) if n != i64::MIN => Rat::Small(n, d),
            _ => Rat::Big(Box::new(r.clone())),
        }
    }

    /// n / d, for a positive d.
    fn from_wide(n: i128, d: i128) -> Rat {
        let (n, d) = if d == 1 {
            (n, d)
        } else {
            let g = match (u64::try_from(n.unsigned_abs()), u64::try_from(d)) {
                (Ok(a), Ok(b)) => a.gcd(&b) as i128,
                _ => n.gcd(&d),
            };
            (n / g, d / g)
        };
        match (i64::try_from(n), i64::try_from(d)) {
            (Ok(n), Ok(d)) if n != i64::MIN => Rat::Small(n, d),
            _ => Rat::Big(Box::new(BigRational::new_raw(
                BigInt::from(n),
                BigInt::from(d),
            ))),
        }
    }

    /// Bits of the numerator and the denominator, 0 where both are machine words.
    pub(super) fn bits(&self) -> u64 {
        match self {
            Rat::Small(..) => 0,
            Rat::Big(b) => b.numer().bits() + b.denom().bits(),
        }
    }

    /// The same number as a `BigRational`.
    pub(super) fn to_big(&self) -> BigRational {
        match self {
            Rat::Small(n, d) => BigRational::new_raw(BigInt::from(*n), BigInt::from(*d)),
            Rat::Big(b) => (**b).clone(),
        }
    }

    /// The sum.
    pub(super) fn add(&self, o: &Rat) -> Rat {
        match (self, o) {
            (Rat::Small(a, 1), Rat::Small(b, 1)) => Rat::from_wide(*a as i128 + *b as i128, 1),
            (Rat::Small(a, b), Rat::Small(c, d)) => {
                let (a, b, c, d) = (*a as i128, *b as i128, *c as i128, *d as i128);
                Rat::from_wide(a * d + c * b, b * d)
            }
            _ => Rat::from_big(&(self.to_big() + o.to_big())),
        }
    }

    /// The product.
    pub(super) fn mul(&self, o: &Rat) -> Rat {
        match (self, o) {
            (Rat::Small(a, b), Rat::Small(c, d)) => {
                Rat::from_wide(*a as i128 * *c as i128, *b as i128 * *d as i128)
            }
            _ => Rat::from_big(&(self.to_big() * o.to_big())),
        }
    }

    /// The negation.
    pub(super) fn neg(&self) -> Rat {
        match self {
            Rat::Small(n, d) => Rat::Small(-n, *d),
            Rat::Big(b) => Rat::from_big(&-(**b).clone()),
        }
    }

    /// 1 / self; `None` for zero.
    pub(super) fn recip(&self) -> Option<Rat> {
        match self {
            Rat::Small(0, _) => None,
            Rat::Small(n, d) => Some(Rat::Small(d * n.signum(), n.abs())),
            Rat::Big(b) => Some(Rat::from_big(&b.recip())),
        }
    }

    /// True below 0.
    pub(super) fn is_negative(&self) -> bool {
        match self {
            Rat::Small(n, _) => *n < 0,
            Rat::Big(b) => b.is_negative(),
        }
    }

    /// The absolute value.
    pub(super) fn abs(&self) -> Rat {
        if self.is_negative() {
            self.neg()
        } else {
            self.clone()
        }
    }

    /// The value if it is an integer that fits.
    pub(super) fn as_integer(&self) -> Option<i64> {
        match self {
            Rat::Small(n, 1) => Some(*n),
            _ => None,
        }
    }

    /// The largest integer that is not above, if it fits.
    pub(super) fn floor(&self) -> Option<i64> {
        match self {
            Rat::Small(n, d) => Some(n.div_euclid(*d)),
            Rat::Big(b) => b.floor().to_integer().to_i64(),
        }
    }
}

impl PartialOrd for Rat {
    fn partial_cmp(&self, o: &Rat) -> Option<Ordering> {
        Some(self.cmp(o))
    }
}

impl Ord for Rat {
    fn cmp(&self, o: &Rat) -> Ordering {
        match (self, o) {
            (Rat::Small(a, b), Rat::Small(c, d)) => {
                (*a as i128 * *d as i128).cmp(&(*c as i128 * *b as i128))
            }
            _ => self.to_big().cmp(&o.to_big()),
        }
    }
}

/// A coefficient: a small integer, or the index of a [`Rat`] in a [`Coefs`].
///
/// The low bit tells which. Equal handles of one table are equal numbers and the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Coef(u32);

impl Coef {
    /// The number 0.
    pub(super) const ZERO: Coef = Coef(1);
    /// The number 1.
    pub(super) const ONE: Coef = Coef(3);
    /// The number -1.
    pub(super) const MINUS_ONE: Coef = Coef(u32::MAX);

    fn inline(n: i64) -> Option<Coef> {
        (-(1 << 30)..1 << 30)
            .contains(&n)
            .then_some(Coef((n as i32 as u32) << 1 | 1))
    }

    /// The handle as a word.
    pub(super) fn word(self) -> u32 {
        self.0
    }

    /// The value if it is written in the handle.
    pub(super) fn small(self) -> Option<i64> {
        (self.0 & 1 == 1).then_some((self.0 as i32 >> 1) as i64)
    }
}

/// The coefficients of one scratch.
#[derive(Debug)]
pub(super) struct Coefs {
    table: IndexSet<Rat, FxBuildHasher>,
    /// Sums and (true) products of long numbers: the terms of a polynomial have few coefficients, and each
    /// meets each of another's.
    known: FxHashMap<(bool, Coef, Coef), Coef>,
    /// Work on numbers beyond machine words, in term operations, since it was last asked for.
    pub spent: u64,
    /// Set once a number was too long to compute, or too much was spent on long ones: whatever was
    /// made since means nothing, and whoever owns the scratch must throw it away.
    pub overflow: bool,
    /// What may be spent before that.
    pub allowance: u64,
}

impl Default for Coefs {
    fn default() -> Self {
        Coefs {
            table: IndexSet::default(),
            known: FxHashMap::default(),
            spent: 0,
            overflow: false,
            allowance: u64::MAX,
        }
    }
}

impl Coefs {
    /// The handle of a number.
    pub(super) fn of(&mut self, r: Rat) -> Coef {
        if let Some(n) = r.as_integer()
            && let Some(c) = Coef::inline(n)
        {
            return c;
        }
        Coef((self.table.insert_full(r).0 as u32) << 1)
    }

    /// The number of a handle.
    pub(super) fn get(&self, c: Coef) -> Rat {
        match c.small() {
            Some(n) => Rat::Small(n, 1),
            None => self.table[(c.0 >> 1) as usize].clone(),
        }
    }

    /// The sum.
    pub(super) fn add(&mut self, a: Coef, b: Coef) -> Coef {
        if let (Some(x), Some(y)) = (a.small(), b.small())
            && let Some(c) = Coef::inline(x + y)
        {
            return c;
        }
        self.long(false, a, b)
    }

    /// The product.
    pub(super) fn mul(&mut self, a: Coef, b: Coef) -> Coef {
        if a == Coef::ONE {
            return b;
        }
        if b == Coef::ONE {
            return a;
        }
        if let (Some(x), Some(y)) = (a.small(), b.small())
            && let Some(c) = Coef::inline(x * y)
        {
            return c;
        }
        self.long(true, a, b)
    }

    /// The sum, or the product, of numbers that are not written in their handles.
    fn long(&mut self, product: bool, a: Coef, b: Coef) -> Coef {
        let bits = self.bits(a) + self.bits(b);
        // What is known costs the same, so that limits do not depend on what was done before.
        if !self.affords(bits) {
            return Coef::ONE;
        }
        let key = (product, a.min(b), a.max(b));
        if bits > 0
            && let Some(&known) = self.known.get(&key)
        {
            return known;
        }
        let (x, y) = (self.get(a), self.get(b));
        let c = self.of(if product { x.mul(&y) } else { x.add(&y) });
        if bits > 0 {
            if self.known.len() >= MAX_KNOWN {
                self.known.clear();
            }
            self.known.insert(key, c);
        }
        c
    }

    /// Bits of a number beyond machine words.
    fn bits(&self, c: Coef) -> u64 {
        match c.small() {
            Some(_) => 0,
            None => self.table[(c.0 >> 1) as usize].bits(),
        }
    }

    /// Accounts for an operation on numbers of so many bits; false if it cannot be done. The greatest common
    /// divisor that keeps a number reduced takes time in the square of its length.
    fn affords(&mut self, bits: u64) -> bool {
        if bits > 0 {
            self.spent = self.spent.saturating_add(8 + bits * bits / 512);
            self.overflow |= bits > MAX_BITS || self.spent > self.allowance;
        }
        !self.overflow
    }

    /// The negation.
    pub(super) fn neg(&mut self, a: Coef) -> Coef {
        self.mul(a, Coef::MINUS_ONE)
    }

    /// 1 / a; `None` for zero.
    pub(super) fn recip(&mut self, a: Coef) -> Option<Coef> {
        if a == Coef::ONE || a == Coef::MINUS_ONE {
            return Some(a);
        }
        let r = self.get(a).recip()?;
        Some(self.of(r))
    }

    /// True below 0.
    pub(super) fn is_negative(&self, a: Coef) -> bool {
        match a.small() {
            Some(n) => n < 0,
            None => self.table[(a.0 >> 1) as usize].is_negative(),
        }
    }

    /// The order of the numbers.
    pub(super) fn cmp(&self, a: Coef, b: Coef) -> Ordering {
        match (a.small(), b.small()) {
            (Some(x), Some(y)) => x.cmp(&y),
            _ => self.get(a).cmp(&self.get(b)),
        }
    }

    /// Two to the power `k`.
    pub(super) fn pow2(&mut self, k: i64) -> Coef {
        if (0..30).contains(&k) {
            return Coef::inline(1 << k).unwrap_or(Coef::ONE);
        }
        self.of(Rat::from_big(&crate::term::pow2(k)))
    }

    /// The handle of a rational of any size.
    pub(super) fn of_big(&mut self, r: &BigRational) -> Coef {
        if r.is_zero() {
            return Coef::ZERO;
        }
        self.of(Rat::from_big(r))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = (i64, i64)> {
        let part = prop_oneof![-9i64..10, any::<i64>(), Just(i64::MAX), Just(i64::MIN)];
        (part.clone(), part.prop_filter("denominator", |d| *d != 0))
    }

    fn big((n, d): (i64, i64)) -> BigRational {
        BigRational::new(BigInt::from(n), BigInt::from(d))
    }

    proptest! {
        #[test]
        fn agrees_with_big_rational(a in number(), b in number()) {
            let (x, y) = (big(a), big(b));
            let (r, s) = (Rat::from_big(&x), Rat::from_big(&y));
            prop_assert_eq!(r.add(&s), Rat::from_big(&(&x + &y)));
            prop_assert_eq!(r.mul(&s), Rat::from_big(&(&x * &y)));
            prop_assert_eq!(r.neg(), Rat::from_big(&-&x));
            prop_assert_eq!(r.cmp(&s), x.cmp(&y));
            prop_assert_eq!(r.to_big(), x.clone());
            prop_assert_eq!(r.is_negative(), x.is_negative());
            if !x.is_zero() {
                prop_assert_eq!(r.recip(), Some(Rat::from_big(&x.recip())));
            }
            let mut t = Coefs::default();
            let (c, d) = (t.of(r), t.of(s));
            let sum = t.add(c, d);
            prop_assert_eq!(t.get(sum).to_big(), &x + &y);
            let product = t.mul(c, d);
            prop_assert_eq!(t.get(product).to_big(), &x * &y);
            // Long numbers, and once more what is known of them.
            let square = t.mul(product, product);
            prop_assert_eq!(t.get(square).to_big(), &x * &y * &x * &y);
            let more = t.add(square, product);
            prop_assert_eq!(t.get(more).to_big(), &x * &y * &x * &y + &x * &y);
            prop_assert_eq!((t.mul(product, product), t.add(product, square)), (square, more));
            prop_assert_eq!(t.cmp(c, d), x.cmp(&y));
        }
    }
}
