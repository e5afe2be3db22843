//! How large the polynomials of a term are, for the error bound.
//!
//! Problem: a value at a random point says that two fractions N / D are equal unless a polynomial
//! that is not zero vanishes there, whose chance grows with its degree, and unless the prime divides
//! all its coefficients, whose chance grows with their length. Both are bounded here on the way up, without the
//! polynomials. Monomials of exponentials have exponents of either sign and count with the sum
//! of their magnitudes, in units that are known only at the end: the finest fraction in any
//! exponent.
//!
//! Denominators are products of numerators that were divided by, held as powers of those, so that
//! sums over one denominator do not multiply it.
//!
//! Sound: what is returned is at least what there is, but for the rounding of doubles, which the
//! caller allows for.

use rustc_hash::FxHashMap;

/// Factors of a denominator beyond which nothing is said.
const MAX_FACTORS: usize = 1024;

/// Degree, weight of exponents, and binary logarithm of the sum of the magnitudes of the
/// coefficients, which are integers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    pub degree: f64,
    pub weight: f64,
    pub height: f64,
}

impl Extent {
    pub(super) fn times(self, o: Extent) -> Extent {
        Extent {
            degree: self.degree + o.degree,
            weight: self.weight + o.weight,
            height: self.height + o.height,
        }
    }

    /// The larger of both in each respect.
    pub(super) fn or(self, o: Extent) -> Extent {
        let larger = |a: f64, b: f64| if a >= b { a } else { b };
        Extent {
            degree: larger(self.degree, o.degree),
            weight: larger(self.weight, o.weight),
            height: larger(self.height, o.height),
        }
    }

    fn power(self, n: u32) -> Extent {
        let n = f64::from(n);
        Extent {
            degree: self.degree * n,
            weight: self.weight * n,
            height: self.height * n,
        }
    }

    fn plus(self, o: Extent) -> Extent {
        let (a, b) = (self.height.max(o.height), self.height.min(o.height));
        if !a.is_finite() {
            return ENDLESS;
        }
        Extent {
            degree: self.degree.max(o.degree),
            weight: self.weight.max(o.weight),
            height: a + (b - a).exp2().ln_1p() / std::f64::consts::LN_2,
        }
    }
}

/// Nothing is known.
const ENDLESS: Extent = Extent {
    degree: f64::INFINITY,
    weight: f64::INFINITY,
    height: f64::INFINITY,
};

/// A denominator of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DenId(u32);

/// N / (2^shift D).
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub num: Extent,
    pub shift: f64,
    pub den: DenId,
}

impl Size {
    /// An integer of so many bits, divided by this power of 2.
    pub(super) fn number(bits: f64, shift: f64) -> Size {
        Size {
            num: Extent {
                height: bits,
                ..Extent::default()
            },
            shift,
            den: DenId(0),
        }
    }

    /// A variable.
    pub(super) fn variable() -> Size {
        Size {
            num: Extent {
                degree: 1.0,
                ..Extent::default()
            },
            ..Size::number(0.0, 0.0)
        }
    }

    /// A monomial of exponentials, times 2 to this power and less than 1 more.
    pub(super) fn exponential(weight: f64, power: f64) -> Size {
        let mut size = Size::number(power.max(0.0) + 1.0, (-power).max(0.0));
        size.num.weight = weight;
        size
    }
}

/// The denominators.
pub(super) struct Sizes {
    factors: Vec<Extent>,
    dens: Vec<(Vec<(u32, u32)>, Extent)>,
    ids: FxHashMap<Vec<(u32, u32)>, u32>,
    common: FxHashMap<(u32, u32), u32>,
    products: FxHashMap<(u32, u32), u32>,
}

impl Sizes {
    pub(super) fn new() -> Sizes {
        Sizes {
            factors: Vec::new(),
            dens: vec![(Vec::new(), Extent::default())],
            ids: FxHashMap::from_iter([(Vec::new(), 0)]),
            common: FxHashMap::default(),
            products: FxHashMap::default(),
        }
    }

    fn intern(&mut self, list: Vec<(u32, u32)>) -> DenId {
        if let Some(id) = self.ids.get(&list) {
            return DenId(*id);
        }
        let endless = list.len() > MAX_FACTORS || list.iter().any(|e| e.0 == u32::MAX);
        let extent = match endless {
            true => ENDLESS,
            false => list.iter().fold(Extent::default(), |all, &(f, n)| {
                all.times(self.factors[f as usize].power(n))
            }),
        };
        // What is endless stays so whatever its factors.
        let list = match extent.height.is_finite() {
            true => list,
            false => vec![(u32::MAX, 1)],
        };
        let next = self.dens.len() as u32;
        let id = *self.ids.entry(list.clone()).or_insert(next);
        if id == next {
            self.dens.push((list, extent));
        }
        DenId(id)
    }

    /// Merges two lists of powers.
    fn merge(&mut self, a: DenId, b: DenId, f: impl Fn(u32, u32) -> u32) -> DenId {
        let (x, y) = (&self.dens[a.0 as usize].0, &self.dens[b.0 as usize].0);
        let mut out = Vec::with_capacity(x.len() + y.len());
        let (mut i, mut j) = (0, 0);
        while i < x.len() || j < y.len() {
            let (p, q) = (x.get(i), y.get(j));
            let first = p.map_or(u32::MAX, |e| e.0).min(q.map_or(u32::MAX, |e| e.0));
            let power = |e: Option<&(u32, u32)>| e.filter(|e| e.0 == first).map_or(0, |e| e.1);
            let (m, n) = (power(p), power(q));
            i += usize::from(m > 0);
            j += usize::from(n > 0);
            out.push((first, f(m, n)));
        }
        self.intern(out)
    }

    fn common(&mut self, a: DenId, b: DenId) -> DenId {
        if a == b || b.0 == 0 {
            return a;
        }
        if a.0 == 0 {
            return b;
        }
        let key = (a.0.min(b.0), a.0.max(b.0));
        if let Some(id) = self.common.get(&key) {
            return DenId(*id);
        }
        let id = self.merge(a, b, u32::max);
        self.common.insert(key, id.0);
        id
    }

    fn product(&mut self, a: DenId, b: DenId) -> DenId {
        if b.0 == 0 {
            return a;
        }
        if a.0 == 0 {
            return b;
        }
        let key = (a.0.min(b.0), a.0.max(b.0));
        if let Some(id) = self.products.get(&key) {
            return DenId(*id);
        }
        let id = self.merge(a, b, u32::saturating_add);
        self.products.insert(key, id.0);
        id
    }

    /// The extent of a denominator.
    fn extent(&self, d: DenId) -> Extent {
        self.dens[d.0 as usize].1
    }

    /// The numerator of a size over a multiple of its denominator.
    fn over(&self, s: Size, den: DenId, shift: f64) -> Extent {
        if s.den == den {
            let mut num = s.num;
            num.height += shift - s.shift;
            return num;
        }
        let (all, own) = (self.extent(den), self.extent(s.den));
        if !all.height.is_finite() {
            return ENDLESS;
        }
        Extent {
            degree: s.num.degree + all.degree - own.degree,
            weight: s.num.weight + all.weight - own.weight,
            height: s.num.height + all.height - own.height + shift - s.shift,
        }
    }

    pub(super) fn sum(&mut self, a: Size, b: Size) -> Size {
        let den = self.common(a.den, b.den);
        let shift = a.shift.max(b.shift);
        let (x, y) = (self.over(a, den, shift), self.over(b, den, shift));
        Size {
            num: x.plus(y),
            shift,
            den,
        }
    }

    pub(super) fn mul(&mut self, a: Size, b: Size) -> Size {
        Size {
            num: a.num.times(b.num),
            shift: a.shift + b.shift,
            den: self.product(a.den, b.den),
        }
    }

    /// 1 / s, whose numerator becomes a factor of denominators.
    pub(super) fn inverse(&mut self, s: Size) -> Size {
        let factor = self.factors.len() as u32;
        self.factors.push(s.num);
        let mut num = self.extent(s.den);
        num.height += s.shift;
        Size {
            num,
            shift: 0.0,
            den: self.intern(vec![(factor, 1)]),
        }
    }

    /// Numerator and denominator together, and the length of all coefficients.
    pub(super) fn total(&self, s: Size) -> Extent {
        let mut all = s.num.times(self.extent(s.den));
        all.height += s.shift;
        all
    }
}
