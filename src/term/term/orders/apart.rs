//! On which side of 0 a real is, and whether the machine finds it there.
//!
//! Problem: a guard against 0 (`x == 0`, `x < 2^-126` in an expanded logarithm) asks whether x has vanished. For
//! exp(x), 1 + exp(x) and 1 - 1 / (1 + exp(x)) the reals say that it has not, and that no number but 0 is rounded to 0
//! is an assumption that is listed. For (x + 1) - 1 - x, which is 0, they say nothing about what the machine has.
//!
//! Two properties are found bottom-up, each term once. An interval over the reals with open ends, by interval arithmetic with
//! outward rounding: it does not see that terms cancel, so that (x + 1) - x has none. And whether a term is *plain*:
//! no numbers of two signs are added below it, so that the machine has 0, a positive or a negative number exactly where the
//! real is one, if nothing underflows.
//!
//! Sound in the direction of "apart" and of "plain".

use num_rational::BigRational;
use num_traits::Signed;
use rustc_hash::FxHashMap;

use crate::term::{ArrayId, Fun, Term, TermId, TermStore, pairs, show};

/// Terms that are kept, and those that are looked at for one question.
const MAX_KEPT: usize = 1 << 17;

/// Bounds of the magnitudes of constants that bring no number near the ends of its format.
const MODERATE: f64 = (1u64 << 63) as f64;

/// One end of an interval: the number, and whether it belongs to it.
type End = (f64, bool);

/// What is known of a real.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RealBounds {
    lo: End,
    hi: End,
    /// The machine's number has the sign of the real.
    plain: bool,
    /// No constant below it is large or small.
    moderate: bool,
}

/// What is known of the reals of one store.
#[derive(Clone, Debug, Default)]
pub struct Apart {
    kept: FxHashMap<TermId, RealBounds>,
}

const INF: f64 = f64::INFINITY;
const NOTHING: RealBounds = RealBounds {
    lo: (-INF, true),
    hi: (INF, true),
    plain: false,
    moderate: false,
};

impl Apart {
    /// True if the machine's answer to a comparison with 0, or with what is hardly more, is that of the reals, unless a
    /// number is rounded to 0.
    pub fn has_sign(&mut self, store: &TermStore, t: TermId) -> bool {
        let known = self.known(store, t);
        known.plain || known.is_positive() || known.negated().is_positive()
    }

    /// True if a number is large only where inputs are.
    pub fn is_moderate(&mut self, store: &TermStore, t: TermId) -> bool {
        self.known(store, t).moderate
    }

    fn known(&mut self, store: &TermStore, root: TermId) -> RealBounds {
        if let Some(&known) = self.kept.get(&root) {
            return known;
        }
        if self.kept.len() > MAX_KEPT {
            self.kept.clear();
        }
        // A term is left when what is below it is known.
        let mut stack = vec![root];
        let mut steps = 0;
        while let Some(&t) = stack.last() {
            steps += 1;
            if steps > MAX_KEPT {
                return NOTHING;
            }
            let waiting = stack.len();
            if !self.kept.contains_key(&t) {
                store.children(t, |c| {
                    if !self.kept.contains_key(&c) {
                        stack.push(c);
                    }
                });
            }
            if stack.len() == waiting {
                stack.pop();
                if !self.kept.contains_key(&t) {
                    let known = self.step(store, t);
                    self.kept.insert(t, known);
                }
            }
        }
        self.kept.get(&root).copied().unwrap_or(NOTHING)
    }

    /// What is known of a term from its children.
    fn step(&self, store: &TermStore, t: TermId) -> RealBounds {
        let of = |t: TermId| self.kept.get(&t).copied().unwrap_or(NOTHING);
        let product = |a: TermId, b: TermId| match a == b {
            true => of(a).square(),
            false => of(a).mul(of(b)),
        };
        // What is not a number is dropped by a maximum, so that only a number for certain is a bound.
        let certain = |t: TermId| store.as_const(t).is_some();
        match store.get(t) {
            Term::Const(c) => RealBounds::constant(store.constant(c)),
            Term::Inf { neg } => {
                let end = (if neg { -INF } else { INF }, true);
                RealBounds {
                    lo: end,
                    hi: end,
                    plain: true,
                    moderate: true,
                }
            }
            Term::Elem {
                array: ArrayId::CONSTANTS,
                ..
            } => RealBounds::between((1.4, false), (1.5, false)),
            Term::Elem { .. } if store.numbers(t).is_some() => {
                let (lo, hi) = store.numbers(t).map_or((-INF, INF), |n| n.ends());
                RealBounds::between((lo, true), (hi, true))
            }
            Term::Elem { .. } | Term::OfInt { signed: true, .. } => {
                RealBounds::between((-INF, false), (INF, false))
            }
            Term::OfInt { signed: false, .. } => RealBounds::between((0.0, true), (INF, false)),
            Term::Add(a, b) => of(a).add(of(b)),
            Term::Sum(list) => {
                let products = pairs(list).map(|(a, b)| product(a, b));
                products.reduce(RealBounds::add).unwrap_or(NOTHING)
            }
            Term::Neg(a) => of(a).negated(),
            Term::Mul(a, b) => product(a, b),
            Term::Div(a, b) => of(a).mul(of(b).reciprocal()),
            Term::Fun(f, a) => of(a).fun(f),
            Term::Select(_, a, b) => of(a).or(of(b)),
            Term::Max(a, b) => of(a).max(of(b), certain(a), certain(b)),
            Term::Min(a, b) => {
                let (x, y) = (of(a).negated(), of(b).negated());
                x.max(y, certain(a), certain(b)).negated()
            }
            Term::Made(made) => of(made.real()),
            _ => NOTHING,
        }
    }
}

/// A lower end that was rounded, moved down.
fn below(x: f64, exact: bool) -> f64 {
    match exact || x.is_infinite() {
        true => x,
        false => x - x.abs() * f64::EPSILON * 4.0 - f64::MIN_POSITIVE,
    }
}

/// The larger of two lower ends.
fn inner((a, p): End, (b, q): End) -> End {
    match a.total_cmp(&b) {
        _ if a == b => (a, p && q),
        std::cmp::Ordering::Less => (b, q),
        _ => (a, p),
    }
}

/// The lower of two lower ends.
fn outer((a, p): End, (b, q): End) -> End {
    match a.total_cmp(&b) {
        _ if a == b => (a, p || q),
        std::cmp::Ordering::Less => (a, p),
        _ => (b, q),
    }
}

/// The sum of two lower ends.
fn lower_sum((a, p): End, (b, q): End) -> End {
    let s = a + b;
    if s.is_nan() || s == -INF {
        return (-INF, a == -INF && p || b == -INF && q);
    }
    let exact = s - b == a && s - (s - b) == b;
    (below(s, exact), p && q)
}

/// The product of two lower ends that are not below 0.
fn lower_product((a, p): End, (b, q): End) -> End {
    let vanishes = a == 0.0 && p || b == 0.0 && q;
    let s = a * b;
    if s.is_nan() || s < f64::MIN_POSITIVE {
        return (0.0, vanishes);
    }
    (below(s, a == 1.0 || b == 1.0).max(0.0), p && q)
}

/// The product of two upper ends that are not below 0.
fn upper_product((a, p): End, (b, q): End) -> End {
    let s = a * b;
    match s.is_nan() || s == INF {
        true => (INF, a == INF && p || b == INF && q),
        false => (-below(-s, a == 1.0 || b == 1.0), p && q),
    }
}

impl RealBounds {
    /// A number with its own sign in the machine too.
    fn between(lo: End, hi: End) -> RealBounds {
        RealBounds {
            lo,
            hi,
            plain: true,
            moderate: true,
        }
    }

    fn constant(c: &BigRational) -> RealBounds {
        let Some(v) = show::approx(c) else {
            return RealBounds {
                plain: true,
                ..NOTHING
            };
        };
        let exact = BigRational::from_float(v).is_some_and(|q| q == *c);
        let (mut lo, mut hi) = ((below(v, exact), true), (-below(-v, exact), true));
        if c.is_positive() && lo.0 <= 0.0 {
            lo = (0.0, false);
        }
        if c.is_negative() && hi.0 >= 0.0 {
            hi = (0.0, false);
        }
        let size = v.abs();
        RealBounds {
            moderate: v == 0.0 && exact || size < MODERATE && size > 1.0 / MODERATE,
            ..RealBounds::between(lo, hi)
        }
    }

    fn is_positive(self) -> bool {
        self.lo.0 > 0.0 || self.lo == (0.0, false)
    }

    /// True if it may be an infinity.
    fn is_infinite(self) -> bool {
        self.lo == (-INF, true) || self.hi == (INF, true)
    }

    fn is_nonnegative(self) -> bool {
        self.lo.0 >= 0.0
    }

    fn is_nonpositive(self) -> bool {
        self.hi.0 <= 0.0
    }

    fn has_zero(self) -> bool {
        !self.is_positive() && !self.negated().is_positive()
    }

    fn negated(self) -> RealBounds {
        RealBounds {
            lo: (-self.hi.0, self.hi.1),
            hi: (-self.lo.0, self.lo.1),
            ..self
        }
    }

    /// The same of what also depends on another.
    fn with(self, other: RealBounds) -> RealBounds {
        RealBounds {
            plain: self.plain && other.plain,
            moderate: self.moderate && other.moderate,
            ..self
        }
    }

    fn or(self, other: RealBounds) -> RealBounds {
        let hi = outer(self.negated().lo, other.negated().lo);
        RealBounds {
            lo: outer(self.lo, other.lo),
            hi: (-hi.0, hi.1),
            ..self.with(other)
        }
    }

    fn max(self, other: RealBounds, certain: bool, also: bool) -> RealBounds {
        let mut out = self.or(other);
        for (of, is) in [(self, certain), (other, also)] {
            if is {
                out.lo = inner(out.lo, of.lo);
            }
        }
        out
    }

    fn add(self, other: RealBounds) -> RealBounds {
        let hi = lower_sum(self.negated().lo, other.negated().lo);
        let one_side = self.is_nonnegative() && other.is_nonnegative()
            || self.is_nonpositive() && other.is_nonpositive();
        let both = self.with(other);
        RealBounds {
            lo: lower_sum(self.lo, other.lo),
            hi: (-hi.0, hi.1),
            plain: both.plain && one_side,
            ..both
        }
    }

    fn mul(self, other: RealBounds) -> RealBounds {
        if self.is_nonpositive() && !self.is_nonnegative() {
            return self.negated().mul(other).negated();
        }
        if !self.is_nonnegative() {
            let infinite = self.is_infinite() || other.is_infinite();
            return match other.is_nonnegative() || other.is_nonpositive() {
                true => other.mul(self),
                false => RealBounds {
                    lo: (-INF, infinite),
                    hi: (INF, infinite),
                    ..self.with(other)
                },
            };
        }
        let hi = upper_product(self.hi, other.hi);
        if other.is_nonnegative() {
            return RealBounds {
                lo: lower_product(self.lo, other.lo),
                hi,
                ..self.with(other)
            };
        }
        if other.is_nonpositive() {
            return self.mul(other.negated()).negated();
        }
        let low = upper_product(self.hi, other.negated().hi);
        RealBounds {
            lo: (-low.0, low.1),
            hi,
            ..self.with(other)
        }
    }

    fn square(self) -> RealBounds {
        if self.is_nonnegative() || self.is_nonpositive() {
            return self.mul(self);
        }
        RealBounds {
            lo: (0.0, true),
            hi: (INF, self.is_infinite()),
            ..self
        }
    }

    /// 1 / x; of what may have two signs nothing but that it is not 0 where x is finite.
    fn reciprocal(self) -> RealBounds {
        if self.negated().is_nonnegative() && !self.is_nonnegative() {
            return self.negated().reciprocal().negated();
        }
        if !self.is_nonnegative() {
            return RealBounds {
                lo: (-INF, true),
                hi: (INF, true),
                ..self
            };
        }
        let one = |x: f64| if x == 0.0 { INF } else { 1.0 / x };
        let lo = match self.hi.0 == INF {
            true => (0.0, self.hi.1),
            false => (below(one(self.hi.0), self.hi.0 == 1.0).max(0.0), self.hi.1),
        };
        RealBounds {
            lo,
            hi: (-below(-one(self.lo.0), self.lo.0 == 1.0), self.lo.1),
            ..self
        }
    }

    /// The image under an increasing function, of which `exact` says where it is computed without error.
    fn image(self, f: fn(f64) -> f64, exact: fn(f64) -> bool) -> RealBounds {
        let (lo, hi) = (f(self.lo.0), f(self.hi.0));
        let wide = |x: f64, exact: bool| match exact || x.is_infinite() {
            true => x,
            false => x - x.abs() * 1e-9 - 1e-300,
        };
        RealBounds {
            lo: (wide(lo, exact(self.lo.0)), self.lo.1),
            hi: (-wide(-hi, exact(self.hi.0)), self.hi.1),
            ..self
        }
    }

    fn fun(self, f: Fun) -> RealBounds {
        match f {
            Fun::Exp2 => {
                let whole = |x: f64| x.fract() == 0.0 && x.abs() < 1000.0;
                let image = self.image(f64::exp2, whole);
                // Only minus infinity has the power 0.
                let zero = (0.0, self.lo == (-INF, true));
                // An exponent of any sign makes a positive number.
                RealBounds {
                    lo: if image.lo.0 > 0.0 { image.lo } else { zero },
                    plain: true,
                    ..image
                }
            }
            Fun::Abs if self.is_nonnegative() => self,
            Fun::Abs if self.is_nonpositive() => self.negated(),
            Fun::Abs => RealBounds {
                lo: (0.0, self.has_zero()),
                hi: (INF, self.is_infinite()),
                ..self
            },
            Fun::Sqrt | Fun::Rsqrt => {
                let from = RealBounds {
                    lo: inner(self.lo, (0.0, true)),
                    hi: if self.hi.0 > 0.0 {
                        self.hi
                    } else {
                        (0.0, true)
                    },
                    ..self
                };
                let root = from.image(f64::sqrt, |x| x == 0.0 || x == 1.0);
                let root = RealBounds {
                    lo: match root.lo.0 > 0.0 {
                        true => root.lo,
                        false => (0.0, from.lo == (0.0, true)),
                    },
                    ..root
                };
                match f {
                    Fun::Sqrt => root,
                    _ => root.reciprocal(),
                }
            }
            Fun::Log2 if self.is_nonnegative() => RealBounds {
                plain: false,
                ..self.image(f64::log2, |x| x == 1.0)
            },
            Fun::Tanh | Fun::Erf => RealBounds {
                lo: (if self.lo.0 < 0.0 { -1.0 } else { 0.0 }, self.lo.1),
                hi: (if self.hi.0 > 0.0 { 1.0 } else { 0.0 }, self.hi.1),
                ..self
            },
            Fun::Sin | Fun::Cos => RealBounds {
                lo: (-1.0, true),
                hi: (1.0, true),
                plain: false,
                ..self
            },
            Fun::Floor | Fun::Ceil | Fun::Trunc | Fun::RoundEven => RealBounds {
                lo: (self.lo.0.floor(), self.lo.0.is_finite() || self.lo.1),
                hi: (self.hi.0.ceil(), self.hi.0.is_finite() || self.hi.1),
                plain: false,
                ..self
            },
            Fun::Log2 => RealBounds {
                moderate: self.moderate,
                ..NOTHING
            },
        }
    }
}

#[cfg(test)]
mod tests;
