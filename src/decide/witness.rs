//! The search for an input on which two terms differ.
//!
//! Candidates are sifted in doubles; one that seems to tell the terms apart is evaluated twice with
//! known error (`term::eval`): exactly, where the values must be apart, and with every rounded
//! constant, and where the sides use different functions every approximate one, widened, where they must still be apart, so that a kernel is
//! not refuted for the last bit of its log2(e).
//!
//! Sound: what is returned was evaluated in interval arithmetic at finite inputs on which the
//! reference is defined. Not claimed: that nothing found means equal.

use std::collections::BTreeMap;

use num_bigint::BigInt;

use super::cells::{self, Cell, Random};
use super::climb;
use super::elements::Pairs;
use crate::spec::{Arrays, Limits};
use crate::term::approx::Fast;
use crate::term::eval::{Cone, Inputs, Mode, Value};
use crate::term::interval::{Dyadic, Interval, Round};
use crate::term::{ArrayId, Fun, Sort, Term, TermId, TermStore};

/// Precision of the exact evaluation and of the tolerant one.
const PRECISION: u32 = 160;
const TOLERANT: u32 = 96;

/// Values that differ by less than 2^-16 of the larger are not apart; 2^-20 where both sides use the
/// same functions and choose between no cases.
const RELATIVE: i64 = 16;
const RELATIVE_SAME: i64 = 20;

/// Values that differ by less than this power of two are not apart: below the smallest normal float
/// of 32 bits; and, where a term chooses between cases, below what the last bits of an
/// approximation by cases (a saturating tanh) explain.
const ABSOLUTE: i64 = -126;
const ABSOLUTE_BY_CASES: i64 = -18;

/// Relative differences in doubles from which on a candidate is evaluated with known error, and
/// below which a difference is that of the doubles.
pub(super) const SEEN: f64 = 1e-6;
const NOISE: f64 = 1e-11;

/// Candidates that are evaluated with intervals before the search gives up.
const MAX_RIGOROUS: usize = 24;

/// Candidates of which each is evaluated; after them only those that are further apart than what rounding
/// has explained.
const EAGER: usize = 8;

/// Of those that are evaluated, candidates on which the optimized kernel alone seems to have no value: most often that
/// says nothing of what its machine computes, and one such input is as good as another.
const MAX_UNDEFINED: usize = 6;

/// What may be spent on one search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget {
    /// Terms and edges evaluated in doubles.
    pub steps: u64,
    /// When to stop.
    pub deadline: Option<std::time::Instant>,
    /// Make small differences larger: worth it for what nothing else decides.
    pub climb: bool,
}

/// An input on which the terms differ.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The cells and their bits; every other byte is zero.
    pub inputs: Vec<(Cell, u64)>,
    /// The reference's value.
    pub reference: Value,
    /// The optimized kernel's value; `Undefined` if it has none.
    pub optimized: Value,
}

/// What a search found.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    /// A counterexample.
    pub found: Option<Found>,
    /// Candidates tried.
    pub tried: u64,
    /// On some input the values seem to differ, but by no more than rounding explains.
    pub within_rounding: bool,
}

/// How two values of one pair compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gap {
    /// Surely different.
    Apart,
    /// Only the optimized kernel has no value.
    Undefined,
    /// Equal, too close, or not comparable.
    No,
}

/// One search: what is prepared once.
pub(super) struct Hunt<'s> {
    store: &'s TermStore,
    cone: Cone,
    constants: Vec<f64>,
    pairs: Vec<(TermId, TermId)>,
    cells: Vec<Cell>,
    scratch: Vec<Fast>,
    /// Differences below 2^floor, or 2^-relative of the larger, are none.
    floor: i64,
    relative: i64,
    same_functions: bool,
    /// Functions may be written out as the polynomials of a library.
    expanded: bool,
    /// By position in the cone: whether the reference has the term.
    of_reference: Vec<bool>,
}

/// True if both sides evaluate as many terms of each function: then none stands for another, and
/// the error of an approximate function, which is that of the same instruction on both sides,
/// explains no difference.
fn same_functions(store: &TermStore, pairs: &Pairs) -> bool {
    let count = |roots: Vec<TermId>| {
        let mut counts: BTreeMap<u8, usize> = BTreeMap::new();
        for t in store.reachable(&roots) {
            let kind = match store.get(t) {
                Term::Fun(f, _) => f as u8,
                Term::Div(..) => u8::MAX,
                _ => continue,
            };
            *counts.entry(kind).or_default() += 1;
        }
        counts
    };
    let (a, b) = pairs.iter().copied().unzip();
    count(a) == count(b)
}

/// Constants with all the digits of their format from which on a term has polynomials in it.
const MANY_COEFFICIENTS: usize = 6;

/// True if functions may be written out below the terms: there are many constants with the digits of an
/// approximation.
///
/// Two approximations of erf differ in the last bit, and 1 + erf(-4) is nothing but that bit. So what such terms
/// are apart counts only if it is more than the operations of their kernels round off.
fn has_coefficients(store: &TermStore, cone: &Cone) -> bool {
    let long = |q: &num_rational::BigRational| {
        let odd = q.numer().bits() - q.numer().trailing_zeros().unwrap_or(0);
        odd >= 20
    };
    let constants = cone.ids().iter().filter_map(|t| store.as_const(*t));
    constants
        .filter(|q| long(q))
        .take(MANY_COEFFICIENTS)
        .count()
        == MANY_COEFFICIENTS
}

/// Searches for an input that tells some pair apart.
pub(super) fn search(
    store: &TermStore,
    pairs: &Pairs,
    arrays: &Arrays,
    seed: u64,
    budget: Budget,
) -> Search {
    let mut out = Search::default();
    let mut hunt = Hunt::new(store, pairs, arrays);
    let near = cells::thresholds(store, &hunt.cone);
    let mut random = Random(seed);
    let mut left = budget.steps;
    let (mut rigorous, mut undefined, mut first) = (0, 0, true);
    let mut close = 0f64;
    let mut starts: Vec<(f64, Vec<u64>)> = Vec::new();
    for pattern in cells::patterns(&hunt.cells, near.len()) {
        let cost = hunt.cone.size() as u64;
        let limits = Limits {
            deadline: budget.deadline,
            memory: None,
        };
        let late = limits.reached().is_some();
        if (left < cost && !first) || late || rigorous >= MAX_RIGOROUS {
            break;
        }
        first = false;
        left = left.saturating_sub(cost);
        let values = cells::candidate(&hunt.cells, pattern, &near, &mut random);
        out.tried += 1;
        let difference = hunt.difference(&values);
        if budget.climb {
            let score = hunt.score(&values);
            if score >= climb::LEAST && score.is_finite() {
                starts.push((score, values.clone()));
                starts.sort_by(|a, b| b.0.total_cmp(&a.0));
                starts.truncate(climb::STARTS);
            }
        }
        if difference < SEEN {
            out.within_rounding |= difference > NOISE;
            continue;
        }
        if difference == f64::INFINITY {
            undefined += 1;
            if undefined > MAX_UNDEFINED {
                continue;
            }
        }
        // What rounding explained once explains what is closer, most likely.
        if rigorous >= EAGER && difference <= close {
            out.within_rounding = true;
            continue;
        }
        rigorous += 1;
        match hunt.check(&values) {
            Checked::Apart(_) => {
                out.found = hunt.found(&values);
                if out.found.is_some() {
                    return out;
                }
            }
            Checked::Close => {
                out.within_rounding = true;
                close = close.max(difference);
            }
            Checked::No => {}
        }
    }
    let limits = Limits {
        deadline: budget.deadline,
        memory: None,
    };
    for (_, values) in starts {
        out.found = climb::climb(&mut hunt, values, &mut random, &mut left, limits);
        if out.found.is_some() {
            break;
        }
    }
    out
}

/// The result of a rigorous check.
pub(super) enum Checked {
    /// The pair that is apart, with both values.
    Apart(Box<(usize, Value, Value)>),
    /// Apart only if constants are taken to the last bit.
    Close,
    No,
}

impl<'s> Hunt<'s> {
    /// Prepares for a search.
    pub(super) fn new(store: &'s TermStore, pairs: &Pairs, arrays: &Arrays) -> Self {
        let roots: Vec<TermId> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        let cone = Cone::new(store, &roots);
        let cells = cells::cells(store, &cone, arrays);
        let chooses = |t: &TermId| matches!(store.get(*t), Term::Select(..) | Term::BitsSelect(..));
        let same_functions = same_functions(store, pairs);
        let (floor, relative) = match cone.ids().iter().any(chooses) {
            true => (ABSOLUTE_BY_CASES, RELATIVE),
            false if same_functions => (ABSOLUTE, RELATIVE_SAME),
            false => (ABSOLUTE, RELATIVE),
        };
        let first = Cone::new(store, &pairs.iter().map(|p| p.0).collect::<Vec<_>>());
        let has = |t| first.ids().binary_search(t).is_ok();
        Hunt {
            of_reference: cone.ids().iter().map(has).collect(),
            floor,
            relative,
            same_functions,
            expanded: has_coefficients(store, &cone),
            store,
            constants: cone.constants(store),
            cone,
            pairs: pairs.to_vec(),
            cells,
            scratch: Vec::new(),
        }
    }

    /// The cells that the pairs read.
    pub(super) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// What one evaluation in doubles costs.
    pub(super) fn cost(&self) -> u64 {
        self.cone.size() as u64
    }

    /// How far a pair is apart in doubles, where 1 is the least that counts: more than rounding and
    /// more than a number that is as good as zero.
    pub(super) fn score(&mut self, values: &[u64]) -> f64 {
        let inputs = cells::inputs(&self.cells, values);
        let v = self
            .cone
            .approximate(self.store, &self.constants, &inputs, &mut self.scratch);
        let (least, part) = (
            2f64.powi(self.floor as i32),
            2f64.powi(-self.relative as i32),
        );
        let pairs = self.pairs.iter().enumerate();
        let scores = pairs.map(|(i, &(a, _))| {
            let (x, y) = (v[2 * i].f, v[2 * i + 1].f);
            let known = matches!(self.store.sort(a), Sort::Real) && x.is_finite() && y.is_finite();
            let allowed = least.max(part * x.abs().max(y.abs()));
            if known { (x - y).abs() / allowed } else { 0.0 }
        });
        scores.fold(0.0, f64::max)
    }

    /// The largest relative difference of a pair in doubles; infinite where only one of them is a number, or
    /// they are different infinities.
    pub(super) fn difference(&mut self, values: &[u64]) -> f64 {
        let inputs = cells::inputs(&self.cells, values);
        let v = self
            .cone
            .approximate(self.store, &self.constants, &inputs, &mut self.scratch);
        let pairs = self.pairs.iter().enumerate();
        let relative = pairs.map(|(i, &(a, _))| {
            let (x, y) = (v[2 * i], v[2 * i + 1]);
            match self.store.sort(a) {
                // A reference that is not a number refutes nothing, an optimized one does.
                Sort::Real if x.f.is_nan() || x.f == y.f => 0.0,
                Sort::Real if !x.f.is_finite() || !y.f.is_finite() => f64::INFINITY,
                Sort::Real => (x.f - y.f).abs() / x.f.abs().max(y.f.abs()),
                _ if x.b == y.b => 0.0,
                _ => f64::MAX,
            }
        });
        relative.fold(0.0, f64::max)
    }

    /// Evaluates a candidate with known error.
    pub(super) fn check(&self, values: &[u64]) -> Checked {
        let inputs = cells::inputs(&self.cells, values);
        let exact = Mode::exact(PRECISION);
        let Some((i, x, y, gap)) = self.evaluate(&inputs, exact) else {
            return Checked::No;
        };
        let tolerant = Mode {
            prec: TOLERANT,
            tolerant: true,
            approximate: !self.same_functions,
            rounded: false,
            strict: false,
        };
        let modes = [
            tolerant,
            Mode {
                rounded: true,
                ..tolerant
            },
        ];
        let modes = &modes[..1 + self.expanded as usize];
        let apart = modes.iter().all(|m| {
            let found = self.evaluate(&inputs, *m);
            found.is_some_and(|(j, _, _, g)| i == j && g == gap)
        });
        match apart {
            true => Checked::Apart(Box::new((i, x, y))),
            false => Checked::Close,
        }
    }

    /// The first pair that is apart at an input, if the input is fit to be a counterexample.
    fn evaluate(&self, inputs: &Inputs, mode: Mode) -> Option<(usize, Value, Value, Gap)> {
        let values = self.cone.evaluate_all(self.store, inputs, mode);
        let mut zeros = false;
        let fit = self
            .cone
            .ids()
            .iter()
            .zip(&values)
            .enumerate()
            .all(|(i, (&t, v))| {
                match self.store.get(t) {
                    // A number that is known, and has an enclosure, is no input.
                    Term::Elem {
                        array: ArrayId::CONSTANTS,
                        ..
                    } => true,
                    // Elements are finite numbers.
                    Term::Elem { .. } => matches!(v, Value::Exact(_)),
                    // The logarithm of zero is minus infinity, but nobody means that: where only the
                    // optimized kernel takes it, a NaN that comes from something else still counts.
                    Term::Fun(Fun::Log2, _) if *v == Value::NegInf => {
                        zeros = true;
                        !self.of_reference[i]
                    }
                    _ => true,
                }
            });
        if !fit {
            return None;
        }
        let roots = self.cone.values_of_roots(&values);
        self.pairs.iter().enumerate().find_map(|(i, _)| {
            let (x, y) = (roots[2 * i], roots[2 * i + 1]);
            match gap(x, y, (self.floor, self.relative)) {
                Gap::No => None,
                g @ Gap::Undefined => Some((i, x.clone(), y.clone(), g)),
                _ if zeros => None,
                g => Some((i, x.clone(), y.clone(), g)),
            }
        })
    }

    pub(super) fn found(&self, values: &[u64]) -> Option<Found> {
        let Checked::Apart(apart) = self.check(values) else {
            return None;
        };
        let (_, reference, optimized) = *apart;
        let inputs = self
            .cells
            .iter()
            .copied()
            .zip(values.iter().copied())
            .filter(|(_, v)| *v != 0)
            .collect();
        Some(Found {
            inputs,
            reference,
            optimized,
        })
    }
}

/// True for what surely is an infinity or not a number.
fn not_finite(v: &Value) -> bool {
    infinite(v) || matches!(v, Value::Undefined | Value::NotFinite)
}

fn infinite(v: &Value) -> bool {
    matches!(v, Value::PosInf | Value::NegInf | Value::Pole(_))
}

/// True for a number within the range of floats of 32 bits.
fn is_small(v: &Value) -> bool {
    let large = Dyadic::new(BigInt::from(1), 127);
    v.interval(PRECISION)
        .is_some_and(|x| x.hi < large && x.lo > large.neg())
}

/// How two values compare. Of a reference that is not a number nothing is claimed.
fn gap(x: &Value, y: &Value, limits: (i64, i64)) -> Gap {
    match (x, y) {
        (Value::Encoded(f, x), Value::Encoded(g, y)) if f == g => gap(x, y, limits),
        (Value::Encoded(f, x), Value::Bits(b)) => match crate::term::decode(*f, *b) {
            Ok(q) => gap(x, &Value::Exact(q), limits),
            Err(_) => Gap::No,
        },
        (Value::Bits(b), Value::Encoded(f, y)) => match crate::term::decode(*f, *b) {
            Ok(q) => gap(&Value::Exact(q), y, limits),
            Err(_) => Gap::No,
        },
        (Value::Exact(_) | Value::Interval(_), Value::Exact(_) | Value::Interval(_)) => {
            match (x.interval(PRECISION), y.interval(PRECISION)) {
                (Some(x), Some(y)) if apart(&x, &y, limits) => Gap::Apart,
                _ => Gap::No,
            }
        }
        // Where a number is beyond the largest float, its kernel gives infinity too.
        (x @ (Value::Exact(_) | Value::Interval(_)), y) if not_finite(y) => match is_small(x) {
            true if infinite(y) => Gap::Apart,
            true => Gap::Undefined,
            false => Gap::No,
        },
        (x, y @ (Value::Exact(_) | Value::Interval(_))) if infinite(x) && is_small(y) => Gap::Apart,
        (Value::PosInf | Value::Pole(Some(false)), Value::NegInf | Value::Pole(Some(true)))
        | (Value::NegInf | Value::Pole(Some(true)), Value::PosInf | Value::Pole(Some(false))) => {
            Gap::Apart
        }
        // An infinity that a constant is: what is not a number there is no limit of anything.
        (Value::PosInf | Value::NegInf, Value::Undefined) => Gap::Undefined,
        (Value::Bits(a), Value::Bits(b)) if a != b => Gap::Apart,
        (Value::Bool(a), Value::Bool(b)) if a != b => Gap::Apart,
        (Value::Bits(_) | Value::Encoded(..), Value::Undefined) => Gap::Undefined,
        _ => Gap::No,
    }
}

/// Whether the intervals are disjoint by more than 2^-relative of the largest number in them, and by
/// more than 2^floor.
fn apart(x: &Interval, y: &Interval, (floor, relative): (i64, i64)) -> bool {
    if !x.disjoint(y) {
        return false;
    }
    let between = |lo: &Dyadic, hi: &Dyadic| lo.add(&hi.neg(), PRECISION, Round::Down);
    let distance = between(&x.lo, &y.hi).max(between(&y.lo, &x.hi));
    let size = [&x.lo, &x.hi, &y.lo, &y.hi]
        .into_iter()
        .map(|d| if d.signum() < 0 { d.neg() } else { d.clone() })
        .max()
        .unwrap_or_else(Dyadic::zero);
    let allowed = size.mul(
        &Dyadic::new(BigInt::from(1), -relative),
        PRECISION,
        Round::Up,
    );
    distance > allowed && distance > Dyadic::new(BigInt::from(1), floor)
}
