//! Exponents as linear forms in monomials.
//!
//! Problem: the error bound needs the exponentials of a term to be monomials in variables whose
//! values are independent. An exponent is taken apart into a sum of rational * monomial over atoms;
//! 2^(monomial / 2^k) is such a variable, k the same for all. The value of a monomial as an exponent is drawn for it and has
//! nothing to do with its value elsewhere: an identity between forms is one between numbers all the
//! same.
//!
//! Sums are added up term by term; products of sums are multiplied out within bounds, beyond which
//! a product is an atom. Coefficients that are no dyadic rationals of moderate length are atoms.
//!
//! What is not claimed: exponents that are equal for another reason than this have different forms,
//! and what rests on it is not found equal.

use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};
use rustc_hash::FxHashMap;

use super::field::{Draws, Field, Fields};
use super::size::Extent;

/// A class of terms with one value at all points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Class(pub u32);

/// num * 2^exp, num odd or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dyadic {
    num: i128,
    exp: i32,
}

/// Bits of the numerator of a coefficient, and the largest power of 2.
const MAX_BITS: u32 = 100;
const MAX_EXP: i32 = 4096;

impl Dyadic {
    pub(super) const ZERO: Dyadic = Dyadic { num: 0, exp: 0 };
    pub(super) const ONE: Dyadic = Dyadic { num: 1, exp: 0 };

    fn new(num: i128, exp: i32) -> Option<Dyadic> {
        if num == 0 {
            return Some(Dyadic::ZERO);
        }
        let twos = num.trailing_zeros();
        let (num, exp) = (num >> twos, exp.checked_add(twos as i32)?);
        let fits = num.unsigned_abs().ilog2() < MAX_BITS && exp.abs() <= MAX_EXP;
        fits.then_some(Dyadic { num, exp })
    }

    pub(super) fn of(x: &BigRational) -> Option<Dyadic> {
        let below = x.denom().bits().checked_sub(1)?;
        if *x.denom() != num_bigint::BigInt::one() << below {
            return None;
        }
        // Large powers of 2 stand in the numerator.
        if x.numer().is_zero() {
            return Some(Dyadic::ZERO);
        }
        let twos = x.numer().trailing_zeros().unwrap_or(0);
        let num = (x.numer() >> twos).to_i128()?;
        let exp = i32::try_from(twos).ok()? - i32::try_from(below).ok()?;
        Dyadic::new(num, exp)
    }

    pub(super) fn neg(self) -> Dyadic {
        Dyadic {
            num: -self.num,
            ..self
        }
    }

    pub(super) fn times(self, o: Dyadic) -> Option<Dyadic> {
        Dyadic::new(self.num.checked_mul(o.num)?, self.exp.checked_add(o.exp)?)
    }

    pub(super) fn plus(self, o: Dyadic) -> Option<Dyadic> {
        if self.num == 0 {
            return Some(o);
        }
        if o.num == 0 {
            return Some(self);
        }
        let exp = self.exp.min(o.exp);
        let part = |d: Dyadic| {
            let by = u32::try_from(d.exp.checked_sub(exp)?).ok()?;
            (by < MAX_BITS).then(|| d.num.checked_mul(1i128.checked_shl(by)?))?
        };
        Dyadic::new(part(self)?.checked_add(part(o)?)?, exp)
    }

    /// The integer part towards minus infinity, and the rest.
    pub(super) fn split(self) -> Option<(i128, Dyadic)> {
        if self.exp >= 0 {
            let by = u32::try_from(self.exp).ok()?;
            let whole = (by < 126).then(|| self.num.checked_mul(1i128.checked_shl(by)?))??;
            return Some((whole, Dyadic::ZERO));
        }
        let by = self.exp.unsigned_abs();
        let whole = self.num >> by.min(127);
        let rest = self.plus(Dyadic::new(whole.checked_neg()?, 0)?)?;
        Some((whole, rest))
    }

    /// The magnitude, not rounded down by more than doubles are.
    pub(super) fn magnitude(self) -> f64 {
        self.num.unsigned_abs() as f64 * f64::from(self.exp).exp2()
    }

    /// Bits after the binary point.
    pub(super) fn fraction(self) -> u32 {
        (-self.exp).max(0) as u32
    }

    fn modulo(self, f: &Field) -> Option<u64> {
        let n = f.form(u64::try_from(self.num.unsigned_abs() % (1 << 60)).ok()?);
        let high = f.form(u64::try_from(self.num.unsigned_abs() >> 60).ok()?);
        let n = f.add(n, f.mul(high, f.form(1 << 60)));
        let two = f.pow(f.form(2), u64::from(self.exp.unsigned_abs()));
        let two = if self.exp < 0 { f.inverse(two)? } else { two };
        let n = f.mul(n, two);
        Some(if self.num < 0 { f.neg(n) } else { n })
    }
}

/// A linear form at each point: its value modulo Q, its constant apart.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub value: Vec<u64>,
    pub constant: Dyadic,
    /// Sum of the magnitudes of the coefficients.
    pub weight: f64,
    /// Bits after the binary point of the finest coefficient.
    pub fraction: u32,
}

impl Linear {
    pub(super) fn constant(points: usize, c: Dyadic) -> Linear {
        Linear {
            value: vec![0; points],
            constant: c,
            weight: 0.0,
            fraction: 0,
        }
    }

    pub(super) fn add(&mut self, o: &Linear, fields: &[Fields]) -> Option<()> {
        for ((x, y), f) in self.value.iter_mut().zip(&o.value).zip(fields) {
            *x = f.q.add(*x, *y);
        }
        self.constant = self.constant.plus(o.constant)?;
        self.weight += o.weight;
        self.fraction = self.fraction.max(o.fraction);
        Some(())
    }

    pub(super) fn scaled(&self, c: Dyadic, fields: &[Fields]) -> Option<Linear> {
        let mut out = self.clone();
        for (x, f) in out.value.iter_mut().zip(fields) {
            *x = f.q.mul(*x, c.modulo(&f.q)?);
        }
        out.constant = self.constant.times(c)?;
        out.weight *= c.magnitude();
        if self.weight > 0.0 {
            out.fraction = self.fraction + c.fraction();
        }
        Some(out)
    }

    /// Adds coefficient * monomial.
    pub(super) fn add_monomial(
        &mut self,
        c: Dyadic,
        monomial: Option<Class>,
        classes: &mut Classes,
        fields: &[Fields],
    ) -> Option<()> {
        let Some(m) = monomial else {
            self.constant = self.constant.plus(c)?;
            return Some(());
        };
        let exponents = classes.exponents(m, fields);
        for ((x, y), f) in self.value.iter_mut().zip(exponents).zip(fields) {
            *x = f.q.add(*x, f.q.mul(*y, c.modulo(&f.q)?));
        }
        self.weight += c.magnitude();
        self.fraction = self.fraction.max(c.fraction());
        Some(())
    }
}

/// Classes, by their values at all points, and what they are as exponents.
pub(super) struct Classes {
    points: usize,
    draws: Draws,
    ids: FxHashMap<Box<[u64]>, u32>,
    values: Vec<u64>,
    /// Empty, or the value as an exponent at each point.
    exponents: Vec<Vec<u64>>,
    /// How large its terms are.
    extents: Vec<Extent>,
    /// The largest of these.
    pub worst: Extent,
}

/// The index under which the fraction of a constant is drawn as an exponent.
const UNIT: u64 = u64::MAX;

impl Classes {
    pub(super) fn new(points: usize, draws: Draws) -> Classes {
        Classes {
            points,
            draws,
            ids: FxHashMap::default(),
            values: Vec::new(),
            exponents: Vec::new(),
            extents: Vec::new(),
            worst: Extent::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.exponents.len()
    }

    /// The class of values, of a term with this extent.
    pub(super) fn of(&mut self, values: &[u64], extent: Extent) -> Class {
        self.worst = self.worst.or(extent);
        if let Some(id) = self.ids.get(values) {
            return Class(*id);
        }
        let id = self.exponents.len() as u32;
        self.ids.insert(values.into(), id);
        self.values.extend_from_slice(values);
        self.exponents.push(Vec::new());
        self.extents.push(extent);
        Class(id)
    }

    pub(super) fn values(&self, c: Class) -> &[u64] {
        let at = c.0 as usize * self.points;
        &self.values[at..at + self.points]
    }

    /// The class of a product.
    pub(super) fn product(&mut self, a: Class, b: Class, fields: &[Fields]) -> Class {
        let both = self.values(a).iter().zip(self.values(b)).zip(fields);
        let values: Vec<u64> = both.map(|((x, y), f)| f.p.mul(*x, *y)).collect();
        let (x, y) = (self.extents[a.0 as usize], self.extents[b.0 as usize]);
        self.of(&values, x.times(y))
    }

    fn exponents(&mut self, c: Class, fields: &[Fields]) -> &[u64] {
        let list = &mut self.exponents[c.0 as usize];
        if list.is_empty() {
            let draw = |(i, f)| self.draws.exponent(f, u64::from(c.0), i);
            *list = fields.iter().enumerate().map(draw).collect();
        }
        list
    }

    /// What stands for 1 in the fraction of a constant exponent.
    pub(super) fn unit(&self, fields: &Fields, point: usize) -> u64 {
        self.draws.exponent(fields, UNIT, point)
    }
}

/// Bits of the fraction of a constant exponent that are taken as they are.
const MAX_ROOT: u32 = 16;

/// 2 to a form, and its size.
///
/// A constant exponent k + j / 2^n gives 2^k times a root of 2, which has an image: coefficients are then
/// integers of a field of degree 2^n, and the prime divides their norm. Longer fractions are multiples of a
/// variable.
pub(super) fn exp2(l: &Linear, classes: &Classes, fields: &[Fields]) -> Option<Power> {
    let (whole, rest) = l.constant.split()?;
    let is_root = rest.fraction() <= MAX_ROOT;
    let mut values = Vec::with_capacity(fields.len());
    for (i, (x, f)) in l.value.iter().zip(fields).enumerate() {
        let whole = Dyadic::new(whole, 0)?.modulo(&f.q)?;
        let mut part = rest.modulo(&f.q)?;
        if !is_root {
            part = f.q.mul(part, classes.unit(f, i));
        }
        let e = f.q.add(f.q.add(*x, whole), part);
        values.push(f.exp2(e));
    }
    let (weight, fraction) = match is_root {
        true => (l.weight, l.fraction),
        false => (l.weight + rest.magnitude(), l.fraction.max(rest.fraction())),
    };
    Some(Power {
        values,
        weight,
        whole: whole as f64,
        fraction,
        root: if is_root { rest.fraction() } else { 0 },
    })
}

/// A power of 2 with a linear form as exponent.
pub(super) struct Power {
    pub values: Vec<u64>,
    /// Sum of the magnitudes of the coefficients.
    pub weight: f64,
    /// The constant part, rounded down.
    pub whole: f64,
    /// Bits after the binary point of the finest coefficient.
    pub fraction: u32,
    /// Bits after the binary point of the constant part, if it is a root of 2.
    pub root: u32,
}
