//! Bounds of what the machine has for a real, in whatever order it computes.
//!
//! Problem: `1 + exp(x) < 2^-126` is false over the reals, and for the machine too: a sum of numbers that are not below 0
//! is rounded to no less than any of them. Source: rounding is monotone, so that a result lies between the rounded results
//! of the ends of its operands. How this differs from [`bounds`](TermStore::bounds), which are those of the reals: each step is
//! widened by more than any rounding, approximation or contraction changes, and a sum of which the order is not known
//! has no bounds beyond those of its signs.
//!
//! Sound in the direction of "lies between", where the number is one, and none but known numbers underflows.

use rustc_hash::FxHashMap;

use crate::term::overflow::Narrow;
use crate::term::{ArrayId, Fun, Term, TermId, TermStore, pairs, show};

/// Terms that are looked at for one question.
const MAX_TERMS: usize = 1 << 12;

/// More than a step may be off, of its size: the formats have 8 bits or more, approximations are better than that.
const STEP: f64 = 1.0 / 64.0;

/// Exponents between which powers of two are normal in every format of 32 bits and in bf16, and in every format of 16.
const NORMAL: f64 = 120.0;
const NORMAL_HALF: f64 = 12.0;

/// The least and the greatest that a number may be.
pub(super) type Ends = (f64, f64);

const ANY: Ends = (f64::NEG_INFINITY, f64::INFINITY);

/// Bounds moved outwards by a step.
fn widened((lo, hi): Ends) -> Ends {
    match lo.is_nan() || hi.is_nan() {
        true => ANY,
        false => (lo - lo.abs() * STEP, hi + hi.abs() * STEP),
    }
}

fn negated((lo, hi): Ends) -> Ends {
    (-hi, -lo)
}

/// The sum of numbers in any order: where none is below 0 it is no less than each.
fn sum(parts: impl Iterator<Item = Ends>) -> Ends {
    let (mut least, mut most) = (0f64, 0f64);
    let (mut above, mut below) = (true, true);
    for (lo, hi) in parts {
        (above, below) = (above && lo >= 0.0, below && hi <= 0.0);
        (least, most) = (least.max(lo), most.min(hi));
    }
    (
        if above { least } else { f64::NEG_INFINITY },
        if below { most } else { f64::INFINITY },
    )
}

/// The sum of two, which is rounded once.
fn add(a: Ends, b: Ends) -> Ends {
    let (lo, hi) = sum([a, b].into_iter());
    let error = |x: f64, y: f64| (x.abs() + y.abs()) * STEP;
    let (s, t) = (a.0 + b.0 - error(a.0, b.0), a.1 + b.1 + error(a.1, b.1));
    match s.is_nan() || t.is_nan() {
        true => (lo, hi),
        false => (lo.max(s), hi.min(t)),
    }
}

fn mul((a, b): Ends, (c, d): Ends) -> Ends {
    let all = [a * c, a * d, b * c, b * d];
    if all.iter().any(|x| x.is_nan()) {
        return if a >= 0.0 && c >= 0.0 {
            (0.0, f64::INFINITY)
        } else {
            ANY
        };
    }
    let lo = all.into_iter().fold(f64::INFINITY, f64::min);
    let hi = all.into_iter().fold(f64::NEG_INFINITY, f64::max);
    widened((lo, hi))
}

fn fun(f: Fun, (lo, hi): Ends) -> Ends {
    match f {
        Fun::Exp2 => {
            let most = hi.max(-NORMAL).exp2();
            widened((lo.exp2(), most))
        }
        Fun::Abs if lo >= 0.0 => (lo, hi),
        Fun::Abs if hi <= 0.0 => negated((lo, hi)),
        Fun::Abs => (0.0, hi.max(-lo)),
        Fun::Floor => (lo.floor(), hi.floor()),
        Fun::Ceil => (lo.ceil(), hi.ceil()),
        Fun::Trunc => (lo.trunc(), hi.trunc()),
        Fun::RoundEven => (lo.round_ties_even(), hi.round_ties_even()),
        Fun::Sqrt => widened((lo.max(0.0).sqrt(), hi.max(0.0).sqrt())),
        Fun::Rsqrt => widened((1.0 / hi.max(0.0).sqrt(), 1.0 / lo.max(0.0).sqrt())),
        Fun::Log2 if lo > 0.0 => {
            let (lo, hi) = widened((lo.log2(), hi.log2()));
            (lo - STEP, hi + STEP)
        }
        Fun::Log2 => (
            f64::NEG_INFINITY,
            if hi.is_finite() { hi.abs() } else { hi },
        ),
        Fun::Tanh | Fun::Erf if lo >= 0.0 => (0.0, 1.0 + STEP),
        Fun::Tanh | Fun::Erf if hi <= 0.0 => (-1.0 - STEP, 0.0),
        Fun::Tanh | Fun::Erf | Fun::Sin | Fun::Cos => (-1.0 - STEP, 1.0 + STEP),
    }
}

impl TermStore {
    /// Bounds of what the machine has for a real.
    pub(in crate::term) fn machine_ends(&self, root: TermId, narrow: &Narrow) -> Ends {
        let least = (-if narrow.small { NORMAL_HALF } else { NORMAL }).exp2();
        // What is smaller may be rounded to 0.
        let kept = |(lo, hi): Ends| {
            let vanishes = |x: f64| x.abs() < least;
            (
                if lo > 0.0 && vanishes(lo) { 0.0 } else { lo },
                if hi < 0.0 && vanishes(hi) { 0.0 } else { hi },
            )
        };
        let mut known: FxHashMap<TermId, Ends> = FxHashMap::default();
        let ids = self.reachable(&[root]);
        if ids.len() > MAX_TERMS {
            return ANY;
        }
        for t in ids {
            let ends = self.ends_of(t, &known);
            known.insert(
                t,
                match (ends.0.is_nan() || ends.1.is_nan(), self.as_const(t)) {
                    (true, _) => ANY,
                    (false, Some(_)) => ends,
                    (false, None) => kept(ends),
                },
            );
        }
        known.get(&root).copied().unwrap_or(ANY)
    }

    fn ends_of(&self, t: TermId, known: &FxHashMap<TermId, Ends>) -> Ends {
        let of = |t: TermId| known.get(&t).copied().unwrap_or(ANY);
        let product = |a: TermId, b: TermId| match (a == b, mul(of(a), of(b))) {
            (true, (lo, hi)) => (lo.max(0.0), hi),
            (false, ends) => ends,
        };
        // What is not a number is dropped, so that only a number for certain is a bound.
        let certain = |t: TermId| self.as_const(t).is_some();
        match self.get(t) {
            Term::Const(c) => match show::approx(self.constant(c)) {
                Some(v) => (v, v),
                None => ANY,
            },
            Term::Elem {
                array: ArrayId::CONSTANTS,
                ..
            } => (1.4, 1.5),
            Term::Elem { .. } => self.element_ends(t).unwrap_or(ANY),
            Term::OfInt { signed: false, .. } => (0.0, f64::INFINITY),
            Term::Add(a, b) => add(of(a), of(b)),
            Term::Sum(list) => sum(pairs(list).map(|(a, b)| product(a, b))),
            Term::Mul(a, b) => product(a, b),
            Term::Neg(a) => negated(of(a)),
            Term::Div(a, b) => {
                let (x, (lo, hi)) = (of(a), of(b));
                match lo > 0.0 {
                    true => mul(x, (1.0 / hi, 1.0 / lo)),
                    false => ANY,
                }
            }
            Term::Fun(f, a) => fun(f, of(a)),
            Term::Max(a, b) => {
                let ((lo, hi), (low, high)) = (of(a), of(b));
                let mut least = lo.min(low);
                for (t, end) in [(a, lo), (b, low)] {
                    least = if certain(t) { least.max(end) } else { least };
                }
                (least, hi.max(high))
            }
            Term::Min(a, b) => {
                let ((lo, hi), (low, high)) = (of(a), of(b));
                let mut most = hi.max(high);
                for (t, end) in [(a, hi), (b, high)] {
                    most = if certain(t) { most.min(end) } else { most };
                }
                (lo.min(low), most)
            }
            Term::Select(_, a, b) => {
                let ((lo, hi), (low, high)) = (of(a), of(b));
                (lo.min(low), hi.max(high))
            }
            _ => ANY,
        }
    }
}
