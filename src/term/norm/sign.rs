//! Which signs a canonical polynomial can have.
//!
//! Problem: rules such as log(a * b) = log a + log b, and obligations such as d != 0, hold under a
//! condition on a sign. A [`Sign`] is the set of signs that are possible wherever the value is
//! defined; sums and products combine sets term by term.
//!
//! Soundness: the set may be too large, never too small. What is not claimed: cancellation between
//! terms is not seen but in quadratic polynomials (`quadratic.rs`); `prove.rs` looks at terms before they
//! are multiplied out.

use std::cmp::Ordering;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::exp::ExpId;
use super::monomial::{Mono, flag};
use super::poly::{PTerm, PolyId};
use super::rat::{Coef, Rat};
use super::ring::{Atom, Ring};
use crate::term::Fun;

/// Elements of such a maximum.
const FEW: usize = 8;

/// Products of several factors, of each of which a product is looked for in a sum.
const MOST_PRODUCTS: usize = 64;

/// Terms of a polynomial in which maxima are replaced by means.
const LARGEST_MEAN: usize = 48;

/// A set of signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sign(u8);

impl Sign {
    /// Below zero.
    pub const NEG: Sign = Sign(1);
    /// Zero.
    pub const ZERO: Sign = Sign(2);
    /// Above zero.
    pub const POS: Sign = Sign(4);
    /// Zero or above.
    pub const NONNEG: Sign = Sign(6);
    /// Zero or below.
    pub const NONPOS: Sign = Sign(3);
    /// Anything.
    pub const ALL: Sign = Sign(7);

    /// True if no sign but plus is possible.
    pub fn is_positive(self) -> bool {
        self == Sign::POS
    }

    /// True if no sign but minus is possible.
    pub fn is_negative(self) -> bool {
        self == Sign::NEG
    }

    /// True if minus is not possible.
    pub fn is_nonneg(self) -> bool {
        self.0 & 1 == 0
    }

    /// True if plus is not possible.
    pub fn is_nonpos(self) -> bool {
        self.0 & 4 == 0
    }

    /// True if zero is possible.
    pub fn may_be_zero(self) -> bool {
        self.0 & 2 != 0
    }

    /// The sign of a factor, which is not 0.
    pub(super) fn of_factor(k: &Rat) -> Sign {
        match k.is_negative() {
            true => Sign::NEG,
            false => Sign::POS,
        }
    }

    /// Either.
    pub fn or(self, o: Sign) -> Sign {
        Sign(self.0 | o.0)
    }

    /// Both hold.
    pub fn and(self, o: Sign) -> Sign {
        Sign(self.0 & o.0)
    }

    /// The signs of -x.
    pub fn negate(self) -> Sign {
        Sign(self.0 & 2 | self.0 >> 2 | (self.0 & 1) << 2)
    }

    /// The signs of x + y.
    pub fn plus(self, o: Sign) -> Sign {
        let (a, b) = (self.0, o.0);
        let mut s = a & b & 2;
        for bit in [1, 4] {
            if a & bit != 0 && b & (bit | 2) != 0 || b & bit != 0 && a & (bit | 2) != 0 {
                s |= bit;
            }
        }
        if a & 1 != 0 && b & 4 != 0 || a & 4 != 0 && b & 1 != 0 {
            s = 7;
        }
        Sign(s)
    }

    /// The signs of x * y.
    pub fn times(self, o: Sign) -> Sign {
        let (a, b) = (self.0, o.0);
        let mut s = 0;
        if a == 0 || b == 0 {
            return Sign(0);
        }
        if (a | b) & 2 != 0 {
            s |= 2;
        }
        if a & 4 != 0 && b & 4 != 0 || a & 1 != 0 && b & 1 != 0 {
            s |= 4;
        }
        if a & 4 != 0 && b & 1 != 0 || a & 1 != 0 && b & 4 != 0 {
            s |= 1;
        }
        Sign(s)
    }

    /// The signs of x^n; of 1 / x^-n for negative n, where x is not 0.
    pub fn pow(self, n: i32) -> Sign {
        let base = if n < 0 { Sign(self.0 & 5) } else { self };
        if n % 2 == 0 {
            let mut s = base.0 & 2;
            if base.0 & 5 != 0 {
                s |= 4;
            }
            Sign(s)
        } else {
            base
        }
    }

    /// The signs of max(x, y).
    pub fn max(self, o: Sign) -> Sign {
        let (a, b) = (self.0, o.0);
        if a == 0 || b == 0 {
            return Sign(0);
        }
        let mut s = (a | b) & 4;
        if a & 2 != 0 && b & 3 != 0 || b & 2 != 0 && a & 3 != 0 {
            s |= 2;
        }
        if a & 1 != 0 && b & 1 != 0 {
            s |= 1;
        }
        Sign(s)
    }
}

/// Signs of a real term, and whether it may be infinite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) sign: Sign,
    pub(super) infinite: bool,
}

impl Reach {
    pub(super) const ANY: Reach = Reach {
        sign: Sign::ALL,
        infinite: true,
    };

    pub(super) fn finite(sign: Sign) -> Reach {
        Reach {
            sign,
            infinite: false,
        }
    }
}

impl Ring {
    /// The signs of an atom, from its parts.
    pub(super) fn sign_of_atom(&self, atom: &Atom) -> Sign {
        match atom {
            Atom::Log2E => Sign::POS,
            Atom::Let(p) => self.poly_sign(*p),
            Atom::Inv(p) => self.poly_sign(*p).pow(-1),
            Atom::Sqrt(p) => self.poly_sign(*p).and(Sign::NONNEG),
            Atom::Fun(f, p) => match f {
                Fun::Trunc | Fun::RoundEven | Fun::Floor if self.poly_sign(*p).is_nonneg() => {
                    Sign::NONNEG
                }
                Fun::Trunc | Fun::RoundEven | Fun::Ceil if self.poly_sign(*p).is_nonpos() => {
                    Sign::NONPOS
                }
                Fun::Ceil if self.poly_sign(*p).is_positive() => Sign::POS,
                Fun::Floor if self.poly_sign(*p).is_negative() => Sign::NEG,
                _ => Sign::ALL,
            },
            Atom::Max(s) => {
                let mut all = Sign::NEG;
                for (i, p) in s.iter().enumerate() {
                    let one = self.poly_sign(*p);
                    all = if i == 0 { one } else { all.max(one) };
                }
                all
            }
            Atom::Select(_, a, b) => self.poly_sign(*a).or(self.poly_sign(*b)),
            Atom::OfInt(false, _) => Sign::NONNEG,
            Atom::Symbol(_) | Atom::Log2(_) | Atom::OfInt(..) | Atom::OfBits(..) => Sign::ALL,
        }
    }

    /// The signs of a term.
    pub(super) fn term_sign(&self, t: PTerm) -> Sign {
        let mut s = if self.coefs.is_negative(t.coef) {
            Sign::NEG
        } else {
            Sign::POS
        };
        for (a, p) in self.monos.powers(t.mono) {
            s = s.times(self.atom_signs[a as usize].pow(p));
        }
        s
    }

    /// The atoms of a term of which one is 0 wherever the term is; sorted.
    fn zeros(&self, t: PTerm) -> SmallVec<[u32; 2]> {
        let powers = self.monos.powers(t.mono);
        let may_be_zero = |&(a, p): &(u32, i32)| p > 0 && self.atom_signs[a as usize].may_be_zero();
        powers
            .into_iter()
            .filter(may_be_zero)
            .map(|f| f.0)
            .collect()
    }

    /// True only if each term of `p` is 0 wherever `q` is, whose terms all have one sign or are 0.
    pub(super) fn poly_vanishes_with(&self, p: PolyId, q: PolyId) -> bool {
        let (p, q) = (self.polys.get(p), self.polys.get(q));
        let signs = |holds: fn(Sign) -> bool| q.iter().all(|&t| holds(self.term_sign(t)));
        if !signs(Sign::is_nonneg) && !signs(Sign::is_nonpos) {
            return false;
        }
        let (mut single, mut several) = (FxHashSet::default(), FxHashSet::default());
        for &t in q {
            match self.zeros(t)[..] {
                // Never 0, and so is the sum.
                [] => return true,
                [a] => single.insert(a),
                ref all => several.insert(SmallVec::<[u32; 2]>::from_slice(all)),
            };
        }
        if several.len() > MOST_PRODUCTS {
            return false;
        }
        p.iter().all(|&t| {
            let own = self.zeros(t);
            own.iter().any(|a| single.contains(a))
                || several
                    .iter()
                    .any(|all| all.iter().all(|a| own.contains(a)))
        })
    }

    /// What the sign of a term depends on: whether its known factors make it negative, and the atoms whose sign is
    /// not known, each with whether its power is odd. Terms with one shape have one sign wherever both are defined.
    pub(super) fn sign_shape(&self, t: PTerm) -> (bool, Vec<(u32, bool)>) {
        let mut negative = self.coefs.is_negative(t.coef);
        let mut open = Vec::new();
        for (a, p) in self.monos.powers(t.mono) {
            let (sign, odd) = (self.atom_signs[a as usize], p % 2 != 0);
            match () {
                () if sign.is_positive() => {}
                () if sign.is_negative() => negative ^= odd,
                () => open.push((a, odd)),
            }
        }
        (negative, open)
    }

    /// The signs of `p - q`, without building the difference.
    pub(super) fn difference_sign(&self, p: PolyId, q: PolyId) -> Sign {
        if p == q {
            return Sign::ZERO;
        }
        if [p, q]
            .iter()
            .any(|&x| x == PolyId::POS_INF || x == PolyId::NEG_INF)
        {
            return Sign::ALL;
        }
        let (a, b) = (self.polys.get(p), self.polys.get(q));
        let (mut i, mut j) = (0, 0);
        let mut s = Sign::ZERO;
        while (i < a.len() || j < b.len()) && s != Sign::ALL {
            let order = match (a.get(i), b.get(j)) {
                (Some(x), Some(y)) => x.key().cmp(&y.key()),
                (Some(_), None) => Ordering::Less,
                _ => Ordering::Greater,
            };
            match order {
                Ordering::Less => {
                    s = s.plus(self.term_sign(a[i]));
                    i += 1;
                }
                Ordering::Greater => {
                    s = s.plus(self.term_sign(b[j]).negate());
                    j += 1;
                }
                Ordering::Equal => {
                    let one = PTerm {
                        coef: Coef::ONE,
                        ..a[i]
                    };
                    let larger = match self.coefs.cmp(a[i].coef, b[j].coef) {
                        Ordering::Less => Sign::NEG,
                        Ordering::Equal => Sign::ZERO,
                        Ordering::Greater => Sign::POS,
                    };
                    if larger != Sign::ZERO {
                        s = s.plus(larger.times(self.term_sign(one)));
                    }
                    i += 1;
                    j += 1;
                }
            }
        }
        if s == Sign::ALL {
            return self.quadratic_sign(a, b);
        }
        s
    }

    /// The largest key whose terms differ in two polynomials, and whether its coefficient is
    /// less in the first.
    pub(super) fn last_difference(&self, p: PolyId, q: PolyId) -> Option<((Mono, ExpId), bool)> {
        let (a, b) = (self.polys.get(p), self.polys.get(q));
        let (mut i, mut j) = (a.len(), b.len());
        while i > 0 && j > 0 && a[i - 1].key() == b[j - 1].key() {
            let order = self.coefs.cmp(a[i - 1].coef, b[j - 1].coef);
            if order.is_ne() {
                return Some((a[i - 1].key(), order.is_lt()));
            }
            i -= 1;
            j -= 1;
        }
        match (a[..i].last(), b[..j].last()) {
            (Some(x), y) if y.is_none_or(|y| x.key() > y.key()) => {
                Some((x.key(), self.coefs.is_negative(x.coef)))
            }
            (_, Some(y)) => Some((y.key(), !self.coefs.is_negative(y.coef))),
            _ => None,
        }
    }

    /// The signs of a polynomial.
    pub(super) fn poly_sign(&self, p: PolyId) -> Sign {
        if p == PolyId::POS_INF {
            return Sign::POS;
        }
        if p == PolyId::NEG_INF {
            return Sign::NEG;
        }
        let mut s = Sign::ZERO;
        for t in self.polys.get(p) {
            s = s.plus(self.term_sign(*t));
            if s == Sign::ALL {
                break;
            }
        }
        if s == Sign::ALL {
            s = self.quadratic_sign(self.polys.get(p), &[]);
        }
        if s == Sign::ALL && self.polys.flags(p) & flag::CHOICE != 0 {
            return self.sign_by_means(p);
        }
        s
    }

    /// The signs of a polynomial with maxima of a few among its terms.
    ///
    /// match `r + k * max(S)` with k > 0; result at least 0 if `r + k * (the mean of S)` is;
    /// because a maximum is not below the mean. So |x| + 1 = 1 - x + 2 * max(0, x) is positive.
    /// With k < 0 it is at most 0 if the other is.
    fn sign_by_means(&self, p: PolyId) -> Sign {
        let below = self.mean_sign(p, false);
        if below.is_nonneg() {
            return below.or(Sign::POS);
        }
        let above = self.mean_sign(p, true);
        if above.is_nonpos() {
            return above.or(Sign::NEG);
        }
        Sign::ALL
    }

    /// The signs of a polynomial with means in place of its maxima of a few, those with a negative
    /// factor or those with a positive one.
    fn mean_sign(&self, p: PolyId, negative: bool) -> Sign {
        let terms = self.polys.get(p);
        let mut all: Vec<((Mono, ExpId), Rat)> = Vec::new();
        for t in terms {
            let k = self.coefs.get(t.coef);
            match self.largest_of_few(t) {
                Some(set) if k.is_negative() == negative => {
                    let part = k.mul(&Rat::Small(1, set.len() as i64));
                    for q in set {
                        let terms = self.polys.get(*q).iter();
                        all.extend(terms.map(|t| (t.key(), self.coefs.get(t.coef).mul(&part))));
                    }
                }
                _ => all.push((t.key(), k)),
            }
            if all.len() > LARGEST_MEAN {
                return Sign::ALL;
            }
        }
        all.sort_by_key(|t| t.0);
        let mut s = Sign::ZERO;
        for group in all.chunk_by(|x, y| x.0 == y.0) {
            let k = group.iter().fold(Rat::int(0), |s, t| s.add(&t.1));
            let (mono, exp) = group[0].0;
            let one = PTerm {
                mono,
                exp,
                coef: Coef::ONE,
            };
            let k = match (k.is_negative(), k == Rat::int(0)) {
                (_, true) => continue,
                (true, _) => Sign::NEG,
                _ => Sign::POS,
            };
            s = s.plus(k.times(self.term_sign(one)));
        }
        s
    }

    /// The elements of a maximum of a few finite polynomials that has only a rational factor.
    fn largest_of_few(&self, t: &PTerm) -> Option<&[PolyId]> {
        if t.exp != ExpId::ZERO {
            return None;
        }
        match self.atom(t.mono.as_atom()?) {
            Atom::Max(s) if s.len() <= FEW && !s.iter().any(|p| p.is_infinite()) => Some(s),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::term::TermId;

    fn of(x: i32) -> Sign {
        match x.signum() {
            -1 => Sign::NEG,
            0 => Sign::ZERO,
            _ => Sign::POS,
        }
    }

    /// Every operation on sets gives exactly the signs that members give.
    #[test]
    fn sets_are_exact() {
        let members = |s: Sign| (-2..=2).filter(move |x| of(*x).0 & s.0 != 0);
        for a in 0..8 {
            for b in 0..8 {
                let (a, b) = (Sign(a), Sign(b));
                let all = |f: &dyn Fn(i32, i32) -> i32| {
                    let mut s = 0;
                    for x in members(a) {
                        for y in members(b) {
                            s |= of(f(x, y)).0;
                        }
                    }
                    Sign(s)
                };
                assert_eq!(a.plus(b), all(&|x, y| x + y), "{a:?} + {b:?}");
                assert_eq!(a.times(b), all(&|x, y| x * y), "{a:?} * {b:?}");
                assert_eq!(a.max(b), all(&|x, y| x.max(y)), "max {a:?} {b:?}");
            }
            for n in -3i32..4 {
                let a = Sign(a);
                if n == 0 {
                    continue;
                }
                let mut s = 0;
                for x in members(a).filter(|x| *x != 0 || n > 0) {
                    s |= of(x.pow(n.unsigned_abs())).0;
                }
                assert_eq!(a.pow(n), Sign(s));
            }
        }
    }
    proptest! {
        #[test]
        fn a_difference_is_looked_at_without_being_built(
            p in proptest::collection::vec((0usize..12, -2i64..3), 0..8),
            q in proptest::collection::vec((0usize..12, -2i64..3), 0..8),
        ) {
            let mut r = Ring::new(Default::default());
            // Monomials of all kinds of signs: x, x^2, a positive number, and products of them.
            let x = r.atom_mono(Atom::Symbol(TermId(0)));
            let n = r.atom_mono(Atom::Log2E);
            let flags = r.atom_flags.clone();
            let mut monos = vec![Mono::ONE, x, n];
            for i in 0..9 {
                let m = r.monos.mul(monos[i], if i % 2 == 0 { x } else { n }, &flags);
                monos.push(m);
            }
            let mut build = |list: &[(usize, i64)]| {
                let mut sum = PolyId::ZERO;
                for (m, c) in list {
                    let coef = r.coefs.of(Rat::int(*c));
                    let one = r.intern(&[PTerm::mono(monos[*m])]);
                    sum = r.add_scaled(sum, coef, one).unwrap();
                }
                sum
            };
            let (p, q) = (build(&p), build(&q));
            let d = r.add_scaled(p, Coef::MINUS_ONE, q).unwrap();
            prop_assert_eq!(r.difference_sign(p, q), r.poly_sign(d));
            let last = r.polys.get(d).last();
            let last = last.map(|t| (t.key(), r.coefs.is_negative(t.coef)));
            prop_assert_eq!(r.last_difference(p, q), last);
        }
    }
}
