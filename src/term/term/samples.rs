//! Values of terms at a few inputs, with bounds of their errors.
//!
//! Problem: whether two reals come in more than one order is asked for each comparison of a run, and a loop makes
//! thousands. So each term is evaluated once at a few inputs, in doubles with an enclosure, and what differs between
//! two enclosures that do not meet is known for certain. Source: interval arithmetic with outward rounding; sums and
//! products are tested for being exact by error-free transformations (Dekker, Knuth), so that ties are seen.
//!
//! The inputs: all equal, ascending and descending, of one sign, of both, small and large, all 0. Where they do not
//! tell, those that only one of both numbers reads are scaled: they are free of the other number.
//!
//! Sound in the direction of what is found: an order that is missing may still occur.

mod bits;

use num_rational::BigRational;
use rustc_hash::{FxHashMap, FxHashSet};

use super::eval::{Cone, Inputs, Mode, Value};
use super::orders::Orders;
use super::{ArrayId, Class, Fun, RCmp, Sort, Term, TermId, TermStore, encode_exact, pairs};
use crate::number::random::{STEP, scattered};
use crate::work;

/// Inputs at which every term is evaluated.
const POINTS: usize = 9;
/// Terms whose values are kept.
const MAX_KEPT: usize = 1 << 17;
/// Terms of a number that is evaluated at more inputs, and of the other one.
const MAX_SCALED: usize = 1 << 11;
const MAX_OTHER: usize = 1 << 13;
/// Terms of a number that is evaluated exactly, and bits of its enclosures.
const MAX_EXACT: usize = 1 << 10;
const EXACT_BITS: u32 = 256;
/// What inputs of one number alone are multiplied by.
const SCALES: [f64; 6] = [4096.0, -4096.0, -1.0, 1.0 / 4096.0, 0.0, 64.0];

/// Relative error of an operation that is not exact, and of a function.
const UNIT: f64 = 1.0 / (1u64 << 50) as f64;
const OF_FUNCTION: f64 = 1.0 / (1u64 << 40) as f64;
const LEAST: f64 = 1e-290;
/// Magnitudes beyond which nothing is said.
const MOST: f64 = 1e290;
/// Bits of a double.
const PRECISION: u64 = 53;

/// The value of a term at an input.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sample {
    /// A real, or an infinity at both ends.
    Real(f64, f64),
    Truth(bool),
    /// Bits, and those of which nothing is known.
    Bits(u64, u64),
    /// Nothing is known.
    Open,
}

use Sample::{Bits, Open, Real, Truth};

/// Values of the terms of one store.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    kept: FxHashMap<TermId, [Sample; POINTS]>,
}

/// A number of 0 to 2^32 - 1 that belongs to an input at a point.
fn hash(array: ArrayId, off: u64, point: usize) -> u64 {
    let x = u64::from(array.0) << 40 ^ off << 4 ^ point as u64;
    scattered(x.wrapping_add(STEP)) & 0xffff_ffff
}

/// The value of an input at a point.
fn input(array: ArrayId, off: u64, point: usize) -> f64 {
    let h = hash(array, off, point);
    let size = (1 + h % 64) as f64 / 16.0;
    let mixed = if h >> 8 & 1 == 1 { -size } else { size };
    let slope = off as f64 / 65536.0;
    match point {
        0 => 1.0,
        1 => 1.0 + slope,
        2 => 2.0 - slope,
        3 | 4 => mixed,
        5 => -size / 64.0,
        6 => mixed * 256.0,
        7 => size * 1048576.0,
        _ => 0.0,
    }
}

/// The value of an input of a store at a point.
fn value(store: &TermStore, array: ArrayId, off: u64, point: usize) -> f64 {
    allowed(store, array, input(array, off, point))
}

/// A number in place of another that an array may hold, where something is said of its floats.
fn allowed(store: &TermStore, array: ArrayId, v: f64) -> f64 {
    match store.facts.numbers_of(store.array_of(array)) {
        None => v,
        Some(n) => crate::number::to_double(n.fmt, n.near(v)),
    }
}

impl Samples {
    /// The orders in which two reals were found.
    pub fn orders(&mut self, store: &TermStore, a: TermId, b: TermId) -> Orders {
        self.keep(store, a);
        self.keep(store, b);
        let (Some(x), Some(y)) = (self.kept.get(&a), self.kept.get(&b)) else {
            return Orders::NONE;
        };
        let pairs = x.iter().zip(y);
        pairs.fold(Orders::NONE, |all, (x, y)| all.or(order(*x, *y)))
    }

    /// The same by exact evaluation, for numbers of few terms: it sees what is left where others cancel.
    pub fn exact(&mut self, store: &TermStore, a: TermId, b: TermId) -> Orders {
        let mut out = self.orders(store, a, b);
        let (Some(x), Some(y)) = (below(store, a, MAX_EXACT), below(store, b, MAX_EXACT)) else {
            return out;
        };
        work::spend((x.len() + y.len()) as u64);
        let cone = Cone::new(store, &[a, b]);
        for point in 0..POINTS {
            let mut values = Inputs::default();
            let mut fit = true;
            for &t in x.iter().chain(&y) {
                match store.get(t) {
                    Term::Elem { array, fmt, off } if array != ArrayId::CONSTANTS => {
                        let v = BigRational::from_float(value(store, array, off, point));
                        let bits = v.and_then(|v| encode_exact(fmt, &v));
                        fit &= bits.is_some();
                        values.set(array, off, (fmt.bits() / 8) as u8, bits.unwrap_or(0));
                    }
                    Term::Bytes { array, off, width } => {
                        let v = input(array, off, point).abs() as u64;
                        values.set(array, off, width / 8, v);
                    }
                    _ => {}
                }
            }
            if !fit {
                continue;
            }
            let found = cone.evaluate(store, &values, Mode::exact(EXACT_BITS));
            if let [x, y] = &found[..] {
                let ends = |v: &Value| v.interval(EXACT_BITS).map(|i| (i.lo, i.hi));
                out = out.or(match (ends(x), ends(y)) {
                    (Some((_, hi)), Some((low, _))) if hi < low => Orders::LESS,
                    (Some((lo, _)), Some((_, high))) if lo > high => Orders::MORE,
                    (Some(_), Some(_)) if matches!((x, y), (Value::Exact(p), Value::Exact(q)) if p == q) => {
                        Orders::SAME
                    }
                    _ => Orders::NONE,
                });
            }
        }
        out
    }

    /// The same where the inputs that only one of both reads are scaled.
    pub fn scaled(&mut self, store: &TermStore, a: TermId, b: TermId) -> Orders {
        let mut out = self.orders(store, a, b);
        for (one, other, first) in [(a, b, true), (b, a, false)] {
            let (Some(cone), Some(rest)) = (
                below(store, one, MAX_SCALED),
                below(store, other, MAX_OTHER),
            ) else {
                continue;
            };
            let Some(fixed) = self.kept.get(&other).copied() else {
                continue;
            };
            let read: FxHashSet<(ArrayId, u64)> = inputs(store, &rest).collect();
            if inputs(store, &cone).all(|i| read.contains(&i)) {
                continue;
            }
            work::spend(cone.len() as u64);
            for (point, y) in fixed.into_iter().enumerate() {
                for scale in SCALES {
                    let x = at(store, &cone, |array, off| {
                        let v = value(store, array, off, point);
                        if read.contains(&(array, off)) {
                            v
                        } else {
                            allowed(store, array, v * scale)
                        }
                    });
                    out = out.or(if first { order(x, y) } else { order(y, x) });
                }
            }
        }
        out
    }

    /// Evaluates the terms below one that are not yet known.
    fn keep(&mut self, store: &TermStore, root: TermId) {
        if self.kept.contains_key(&root) {
            return;
        }
        if self.kept.len() > MAX_KEPT {
            self.kept.clear();
        }
        let mut new = Vec::new();
        let mut seen = FxHashSet::default();
        let mut stack = vec![root];
        while let Some(t) = stack.pop() {
            if self.kept.contains_key(&t) || !seen.insert(t) {
                continue;
            }
            if new.len() >= MAX_KEPT {
                return;
            }
            new.push(t);
            store.children(t, |c| stack.push(c));
        }
        work::spend(new.len() as u64);
        new.sort_unstable();
        for t in new {
            let values = std::array::from_fn(|point| {
                let kid = |c: TermId| self.kept.get(&c).map_or(Open, |k| k[point]);
                step(store, t, kid, |array, off| value(store, array, off, point))
            });
            self.kept.insert(t, values);
        }
    }
}

/// The terms below one in ascending order; `None` if they are too many.
fn below(store: &TermStore, root: TermId, most: usize) -> Option<Vec<TermId>> {
    let mut seen = FxHashSet::default();
    let mut stack = vec![root];
    while let Some(t) = stack.pop() {
        if seen.insert(t) {
            store.children(t, |c| stack.push(c));
        }
        if seen.len() > most {
            return None;
        }
    }
    let mut all: Vec<TermId> = seen.into_iter().collect();
    all.sort_unstable();
    Some(all)
}

/// The inputs among some terms.
fn inputs<'a>(
    store: &'a TermStore,
    terms: &'a [TermId],
) -> impl Iterator<Item = (ArrayId, u64)> + 'a {
    terms.iter().filter_map(|&t| match store.get(t) {
        Term::Elem { array, off, .. } | Term::Bytes { array, off, .. } => Some((array, off)),
        _ => None,
    })
}

/// The value of the last of some terms at an input.
fn at(store: &TermStore, cone: &[TermId], leaf: impl Fn(ArrayId, u64) -> f64) -> Sample {
    let mut values: FxHashMap<TermId, Sample> = FxHashMap::default();
    let mut last = Open;
    for &t in cone {
        let kid = |c: TermId| values.get(&c).copied().unwrap_or(Open);
        last = step(store, t, kid, &leaf);
        values.insert(t, last);
    }
    last
}

/// The order of two reals, if their enclosures tell.
fn order(a: Sample, b: Sample) -> Orders {
    let (Real(lo, hi), Real(low, high)) = (a, b) else {
        return Orders::NONE;
    };
    if hi < low {
        Orders::LESS
    } else if lo > high {
        Orders::MORE
    } else if lo == hi && low == high {
        Orders::SAME
    } else {
        Orders::NONE
    }
}

/// Bounds of an operation whose ends were found with a relative error.
fn enclosed(lo: f64, hi: f64, error: f64) -> Sample {
    let widen = |x: f64| {
        if x == 0.0 {
            LEAST
        } else {
            x.abs() * error + LEAST
        }
    };
    let (lo, hi) = (lo - widen(lo), hi + widen(hi));
    match lo.abs() < MOST && hi.abs() < MOST {
        true => Real(lo, hi),
        false => Open,
    }
}

fn sum(a: f64, b: f64) -> (f64, bool) {
    let s = a + b;
    let (x, y) = (s - b, s - (s - b));
    (s, x == a && y == b)
}

fn add(a: Sample, b: Sample) -> Sample {
    let (Real(lo, hi), Real(low, high)) = (a, b) else {
        return Open;
    };
    let ((s, exact), (t, also)) = (sum(lo, low), sum(hi, high));
    if s.is_nan() || t.is_nan() {
        Open
    } else if exact && also || s.is_infinite() && t.is_infinite() {
        Real(s, t)
    } else {
        enclosed(s, t, UNIT)
    }
}

fn mul(a: Sample, b: Sample) -> Sample {
    let (Real(lo, hi), Real(low, high)) = (a, b) else {
        return Open;
    };
    let all = [lo * low, lo * high, hi * low, hi * high];
    if all.iter().any(|x| x.is_nan()) {
        return Open;
    }
    let (s, t) = ends(all);
    let product = lo.mul_add(low, -s) == 0.0 && (s == 0.0 || s.abs() > LEAST);
    match lo == hi && low == high && (product || s.is_infinite()) {
        true => Real(s, t),
        false => enclosed(s, t, UNIT),
    }
}

fn ends(all: [f64; 4]) -> (f64, f64) {
    let lo = all.into_iter().fold(f64::INFINITY, f64::min);
    let hi = all.into_iter().fold(f64::NEG_INFINITY, f64::max);
    (lo, hi)
}

fn div(a: Sample, b: Sample) -> Sample {
    let (Real(lo, hi), Real(low, high)) = (a, b) else {
        return Open;
    };
    if low <= 0.0 && high >= 0.0 || [lo, hi, low, high].iter().any(|x| x.is_infinite()) {
        return Open;
    }
    let (s, t) = ends([lo / low, lo / high, hi / low, hi / high]);
    let exact = s.mul_add(low, -lo) == 0.0 && s.abs() > LEAST;
    match lo == hi && low == high && exact {
        true => Real(s, t),
        false => enclosed(s, t, UNIT),
    }
}

fn neg(a: Sample) -> Sample {
    match a {
        Real(lo, hi) => Real(-hi, -lo),
        _ => Open,
    }
}

fn fun(f: Fun, x: Sample) -> Sample {
    let Real(lo, hi) = x else { return Open };
    let finite = lo.is_finite() && hi.is_finite();
    let monotone = |g: fn(f64) -> f64| enclosed(g(lo), g(hi), OF_FUNCTION);
    match f {
        Fun::Abs if lo >= 0.0 => x,
        Fun::Abs if hi <= 0.0 => neg(x),
        Fun::Abs => Real(0.0, hi.max(-lo)),
        Fun::Floor => Real(lo.floor(), hi.floor()),
        Fun::Ceil => Real(lo.ceil(), hi.ceil()),
        Fun::Trunc => Real(lo.trunc(), hi.trunc()),
        Fun::RoundEven => Real(lo.round_ties_even(), hi.round_ties_even()),
        Fun::Exp2 if hi == f64::NEG_INFINITY => Real(0.0, 0.0),
        Fun::Exp2 => match monotone(f64::exp2) {
            Real(low, high) => Real(low.max(0.0), high),
            other => other,
        },
        Fun::Log2 if lo > 0.0 && finite => enclosed(
            lo.log2() - OF_FUNCTION,
            hi.log2() + OF_FUNCTION,
            OF_FUNCTION,
        ),
        Fun::Sqrt if lo >= 0.0 && finite => {
            let root = lo.sqrt();
            match lo == hi && root.mul_add(root, -lo) == 0.0 {
                true => Real(root, root),
                false => enclosed(root, hi.sqrt(), OF_FUNCTION),
            }
        }
        Fun::Rsqrt if lo > 0.0 && finite => enclosed(1.0 / hi.sqrt(), 1.0 / lo.sqrt(), OF_FUNCTION),
        Fun::Tanh if finite => monotone(f64::tanh),
        Fun::Erf if finite => monotone(libm::erf),
        Fun::Sin | Fun::Cos if finite && lo.abs() < 1e6 && hi.abs() < 1e6 => {
            let middle = lo / 2.0 + hi / 2.0;
            let v = if f == Fun::Sin {
                middle.sin()
            } else {
                middle.cos()
            };
            let error = hi - lo + OF_FUNCTION;
            Real(v - error, v + error)
        }
        Fun::Log2 | Fun::Sqrt | Fun::Rsqrt | Fun::Tanh | Fun::Erf | Fun::Sin | Fun::Cos => Open,
    }
}

fn constant(q: &BigRational) -> Sample {
    let Some(v) = super::show::approx(q) else {
        return Open;
    };
    let odd = q.numer().bits() - q.numer().trailing_zeros().unwrap_or(0);
    let dyadic = q.denom().trailing_zeros() == Some(q.denom().bits() - 1);
    match odd <= PRECISION && dyadic && v.abs() < MOST && (v == 0.0 || v.abs() > LEAST) {
        true => Real(v, v),
        false => enclosed(v, v, UNIT),
    }
}

fn compared(op: RCmp, a: Sample, b: Sample) -> Sample {
    let found = order(a, b);
    match found == Orders::NONE {
        true => Open,
        false => Truth(found.answers(op)[0]),
    }
}

/// The value of a term from those of its children and of inputs.
fn step(
    store: &TermStore,
    t: TermId,
    kid: impl Fn(TermId) -> Sample,
    leaf: impl Fn(ArrayId, u64) -> f64,
) -> Sample {
    match store.get(t) {
        Term::Const(c) => constant(store.constant(c)),
        Term::Inf { neg: true } => Real(f64::NEG_INFINITY, f64::NEG_INFINITY),
        Term::Inf { neg: false } => Real(f64::INFINITY, f64::INFINITY),
        Term::Elem {
            array: ArrayId::CONSTANTS,
            ..
        } => enclosed(std::f64::consts::LOG2_E, std::f64::consts::LOG2_E, UNIT),
        Term::Elem { array, off, .. } => {
            let v = leaf(array, off);
            Real(v, v)
        }
        Term::Add(a, b) => add(kid(a), kid(b)),
        Term::Mul(a, b) => mul(kid(a), kid(b)),
        Term::Neg(a) => neg(kid(a)),
        Term::Sum(list) => {
            let products = pairs(list).map(|(a, b)| mul(kid(a), kid(b)));
            products.fold(Real(0.0, 0.0), add)
        }
        Term::Div(a, b) => div(kid(a), kid(b)),
        Term::Fun(f, a) => fun(f, kid(a)),
        Term::Max(a, b) | Term::Min(a, b) => {
            let (Real(lo, hi), Real(low, high)) = (kid(a), kid(b)) else {
                return Open;
            };
            match matches!(store.get(t), Term::Max(..)) {
                true => Real(lo.max(low), hi.max(high)),
                false => Real(lo.min(low), hi.min(high)),
            }
        }
        Term::Select(p, a, b) | Term::BitsSelect(p, a, b) => match kid(p) {
            Truth(true) => kid(a),
            Truth(false) => kid(b),
            _ => Open,
        },
        Term::Made(made) => kid(made.real()),
        Term::OfInt { signed, bits } => match (kid(bits), store.sort(bits)) {
            (Bits(v, unknown), Sort::Bits(w)) => bits::integer(signed, w, v, unknown),
            _ => Open,
        },
        Term::OfBits { fmt, bits } => match kid(bits) {
            Bits(v, unknown) => bits::read(fmt, v, unknown),
            _ => Open,
        },
        Term::OfReal { fmt, real } => match kid(real) {
            Real(lo, hi) => bits::encoded(fmt, lo, hi),
            _ => Open,
        },
        Term::RCmp(op, a, b) => compared(op, kid(a), kid(b)),
        Term::Is(class, a) => match kid(a) {
            Real(lo, hi) if lo == hi && lo.is_infinite() => Truth(
                class
                    == if lo < 0.0 {
                        Class::NegInf
                    } else {
                        Class::PosInf
                    },
            ),
            Real(..) => Truth(false),
            _ => Open,
        },
        Term::Bool(b) => Truth(b),
        Term::Not(a) => logic(kid(a), Truth(true), |a, b| a != b),
        Term::And(a, b) => logic(kid(a), kid(b), |a, b| a && b),
        Term::Or(a, b) => logic(kid(a), kid(b), |a, b| a || b),
        Term::Xor(a, b) => logic(kid(a), kid(b), |a, b| a != b),
        Term::ICmp(..)
        | Term::BitsConst { .. }
        | Term::Bytes { .. }
        | Term::Concat(_)
        | Term::Extract { .. }
        | Term::BitsOp(..)
        | Term::BitsSum(_)
        | Term::OfBool { .. } => bits::step(store, t, kid, leaf).unwrap_or(Open),
        Term::Undefined
        | Term::Overflows(..)
        | Term::Fresh { .. }
        | Term::Word(_)
        | Term::Poison { .. }
        | Term::Clamp { .. } => Open,
    }
}

fn logic(a: Sample, b: Sample, f: impl Fn(bool, bool) -> bool) -> Sample {
    match (a, b) {
        (Truth(a), Truth(b)) => Truth(f(a, b)),
        _ => Open,
    }
}

#[cfg(test)]
mod tests;
