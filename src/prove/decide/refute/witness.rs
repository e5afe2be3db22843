//! One candidate on which two sides may differ.
//!
//! In doubles it is seen whether it seems to tell the terms apart; then it is evaluated with known
//! error (`term::eval`), and counts if the values are further apart than what rounded constants, and
//! where the sides use different functions approximate ones, explain of that difference (`error`).
//!
//! Sound: what is returned was evaluated in interval arithmetic at finite inputs on which the
//! reference is defined. Not claimed: that nothing found means equal.

use std::borrow::Cow;
use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::cells::{self, Cell};
use super::error::{Errors, Policy};
use super::links::{self, Links};
use crate::decide::goal::Pairs;
use crate::decide::limits::APART;
use crate::decide::masks;
use crate::spec::Arrays;
use crate::term::approx::Fast;
use crate::term::dyadic::{Dyadic, Interval, Round};
use crate::term::eval::{Cone, Mode, Value};
use crate::term::{ArrayId, Fun, Sort, Term, TermId, TermStore};

/// How many times larger than all scores a finite mask is.
const MASKED: f64 = 16.0;

/// A finite mask of this size stands for minus infinity alone; smaller ones may be bounds that somebody means.
const LARGE_MASK: f64 = 5e8;

/// An input on which the terms differ.
#[derive(Clone, Debug)]
pub(crate) struct DifferingInput {
    /// The cells and their bits; every other byte is zero.
    pub inputs: Vec<(Cell, u64)>,
    /// The reference's value.
    pub reference: Value,
    /// The optimized kernel's value; `Undefined` if it has none.
    pub optimized: Value,
}

/// How two values of one pair compare.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Gap {
    /// Numbers that are apart, and by at least how much.
    Numbers(f64),
    /// Surely different otherwise: other bits, or one is infinite.
    Else,
    /// Only the optimized kernel has no value.
    Undefined,
    /// Equal, too close, or not comparable.
    No,
}

/// One search: what is prepared once.
pub(crate) struct Hunt<'s> {
    store: &'s TermStore,
    pub(crate) cone: Cone,
    constants: Vec<f64>,
    pairs: Vec<(TermId, TermId)>,
    cells: Vec<Cell>,
    links: Option<Links>,
    scratch: Vec<Fast>,
    /// Differences below 2^floor, or 2^-relative of the larger, are none.
    floor: i64,
    relative: i64,
    same_functions: bool,
    /// Functions may be written out as the polynomials of a library.
    expanded: bool,
    /// By position in the cone: whether the reference has the term.
    of_reference: Vec<bool>,
    /// Something is masked with minus infinity.
    masks: bool,
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
        .take(APART.coefficients)
        .count()
        == APART.coefficients
}

/// The result of a rigorous check.
pub(crate) enum Checked {
    /// The pair that is apart, with both values.
    Apart(Box<(usize, Value, Value)>),
    /// Apart by no more than what rounding explains.
    Close,
    No,
}

impl<'s> Hunt<'s> {
    /// Prepares for a search.
    pub(crate) fn new(store: &'s TermStore, pairs: &Pairs, arrays: &Arrays) -> Self {
        let mut roots: Vec<TermId> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        let premises = links::premises(store, &roots);
        roots.extend(&premises);
        let cone = Cone::new(store, &roots);
        let cells = cells::cells(store, &cone, arrays);
        let links = Links::new(store, &cells, &premises);
        let chooses = |t: &TermId| matches!(store.get(*t), Term::Select(..) | Term::BitsSelect(..));
        let same_functions = same_functions(store, pairs);
        let (floor, relative) = match cone.ids().iter().any(chooses) {
            true => (APART.absolute_by_cases, APART.relative),
            false if same_functions => (APART.absolute, APART.relative_same),
            false => (APART.absolute, APART.relative),
        };
        let first = Cone::new(store, &pairs.iter().map(|p| p.0).collect::<Vec<_>>());
        let has = |t| first.ids().binary_search(t).is_ok();
        Hunt {
            of_reference: cone.ids().iter().map(has).collect(),
            masks: (cone.ids().iter()).any(|&t| matches!(store.get(t), Term::Inf { neg: true })),
            floor,
            relative,
            same_functions,
            expanded: has_coefficients(store, &cone),
            store,
            constants: cone.constants(store),
            cone,
            pairs: pairs.to_vec(),
            cells,
            links,
            scratch: Vec::new(),
        }
    }

    /// The cells that the pairs read.
    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The candidate as an input that counts, where there is one.
    fn settled<'v>(&self, values: &'v [u64]) -> Option<Cow<'v, [u64]>> {
        match &self.links {
            None => Some(Cow::Borrowed(values)),
            Some(l) => l.settled(self.store, &self.cells, values).map(Cow::Owned),
        }
    }

    /// What one evaluation in doubles costs.
    pub(crate) fn cost(&self) -> u64 {
        self.cone.size() as u64
    }

    /// Both sides of each pair in doubles; `None` where the candidate is no input that counts.
    pub(crate) fn in_doubles(&mut self, values: &[u64]) -> Option<Vec<Fast>> {
        let values = self.settled(values)?;
        let inputs = cells::inputs(&self.cells, &values);
        let (store, constants) = (self.store, &self.constants);
        Some(
            self.cone
                .approximate(store, constants, &inputs, &mut self.scratch),
        )
    }

    /// How far a pair is apart in doubles, where 1 is the least that counts: more than rounding and
    /// more than a number that is as good as zero.
    pub(crate) fn score(&mut self, values: &[u64]) -> f64 {
        let v = self.in_doubles(values);
        v.map_or(0.0, |v| self.score_of(&v))
    }

    /// The same of what was executed.
    pub(crate) fn score_of(&self, v: &[Fast]) -> f64 {
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

    /// The largest relative difference of a pair in doubles; infinite only where the optimized kernel
    /// has no value, or an infinite one.
    pub(crate) fn difference(&mut self, values: &[u64]) -> f64 {
        let v = self.in_doubles(values);
        v.map_or(0.0, |v| self.difference_of(&v))
    }

    /// The same of what was executed.
    pub(crate) fn difference_of(&self, v: &[Fast]) -> f64 {
        self.differences_of(v).into_iter().fold(0.0, f64::max)
    }

    /// The relative difference of each pair.
    pub(crate) fn differences(&mut self, values: &[u64]) -> Vec<f64> {
        match self.in_doubles(values) {
            Some(v) => self.differences_of(&v),
            None => vec![0.0; self.pairs.len()],
        }
    }

    fn differences_of(&self, v: &[Fast]) -> Vec<f64> {
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
        relative.collect()
    }

    /// The largest difference of what was executed, relative to numbers above 1; `None` where a side is no number.
    pub(crate) fn apart(&self, v: &[Fast]) -> Option<f64> {
        let mut most = 0f64;
        for (&(a, _), sides) in self.pairs.iter().zip(v.chunks(2)) {
            let [x, y] = [sides[0].f, sides[1].f];
            match self.store.sort(a) {
                Sort::Real if x.is_finite() && y.is_finite() => {
                    most = most.max((x - y).abs() / x.abs().max(y.abs()).max(1.0));
                }
                Sort::Real => return None,
                _ if sides[0].b != sides[1].b => return None,
                _ => {}
            }
        }
        Some(most)
    }

    /// How far the numbers of a pair are apart in doubles.
    pub(crate) fn distance(&mut self, pair: usize, values: &[u64]) -> Option<f64> {
        let v = self.in_doubles(values)?;
        let real = matches!(self.store.sort(self.pairs[pair].0), Sort::Real);
        let distance = (v[2 * pair].f - v[2 * pair + 1].f).abs();
        (real && distance.is_finite()).then_some(distance)
    }

    /// Evaluates a candidate with known error.
    pub(crate) fn check(&self, values: &[u64]) -> Checked {
        let Some(values) = self.settled(values) else {
            return Checked::No;
        };
        let inputs = cells::inputs(&self.cells, &values);
        let mode = Mode::exact(APART.precision);
        let values = self.cone.evaluate_all(self.store, &inputs, mode);
        let Some(zeros) = self.fitness(&values) else {
            return Checked::No;
        };
        let mut errors = None;
        let mut checked = Checked::No;
        for i in 0..self.pairs.len() {
            let roots = self.cone.values_of_roots(&values);
            let (x, y) = (roots[2 * i], roots[2 * i + 1]);
            let gap = gap(x, y, (self.floor, self.relative));
            let counts = match gap {
                Gap::No => false,
                Gap::Undefined => *y == Value::Undefined || !zeros,
                Gap::Numbers(_) | Gap::Else => !zeros,
            };
            if !counts {
                continue;
            }
            let policy = Policy {
                functions: !self.same_functions,
                rounding: self.expanded,
            };
            let new = || Errors::new(self.store, &self.cone, &values, policy);
            let errors = errors.get_or_insert_with(new);
            let certain = match gap {
                Gap::Numbers(distance) => distance > errors.of_difference(2 * i, 2 * i + 1),
                _ => errors.is_certain(2 * i) && errors.is_certain(2 * i + 1),
            };
            if certain {
                return Checked::Apart(Box::new((i, x.clone(), y.clone())));
            }
            checked = Checked::Close;
        }
        checked
    }

    /// Whether one of two operands is a finite mask of at least a size that does not lie far below the other, which is none.
    fn drowns_mask(&self, values: &[Value], i: usize, operands: [TermId; 2], least: f64) -> bool {
        let kids = self.cone.kids(i);
        let [x, y] = [kids.len() - 2, kids.len() - 1].map(|k| kids[k] as usize);
        let mask = |t| self.store.as_const(t).filter(|c| masks::is_mask(c));
        [(operands[0], y), (operands[1], x)]
            .into_iter()
            .any(|(t, other)| {
                let Some(size) = mask(t).and_then(|c| c.to_f64()) else {
                    return false;
                };
                let is_known = self.store.as_const(self.cone.ids()[other]).is_some();
                let other = values[other].approx().unwrap_or(0.0);
                let size = size.abs();
                !is_known && other.is_finite() && size >= least && other.abs() >= size / MASKED
            })
    }

    /// Whether an input is fit to be a counterexample, and then whether the optimized kernel alone takes
    /// the logarithm of zero.
    ///
    /// The logarithm of zero is minus infinity, but nobody means that: where only the optimized kernel
    /// takes it, a NaN that comes from something else still counts. Nor does anybody mean scores that a finite mask does
    /// not lie far below, where a side masks with minus infinity or the mask is a large one.
    fn fitness(&self, values: &[Value]) -> Option<bool> {
        let mut zeros = false;
        let least = if self.masks { 0.0 } else { LARGE_MASK };
        for (i, (&t, v)) in self.cone.ids().iter().zip(values).enumerate() {
            match self.store.get(t) {
                // A number that is known, and has an enclosure, is no input.
                Term::Elem {
                    array: ArrayId::CONSTANTS,
                    ..
                } => {}
                // Elements are finite numbers.
                Term::Elem { .. } if !matches!(v, Value::Exact(_)) => return None,
                // A choice may be a bound that somebody means, where nothing is masked with minus infinity.
                Term::Select(_, a, b)
                    if self.masks && self.drowns_mask(values, i, [a, b], least) =>
                {
                    return None;
                }
                Term::Add(a, b) if self.drowns_mask(values, i, [a, b], least) => return None,
                Term::Fun(Fun::Log2, _) if *v == Value::Pole(Some(true)) => {
                    if self.of_reference[i] {
                        return None;
                    }
                    zeros = true;
                }
                _ => {}
            }
        }
        Some(zeros)
    }

    /// A candidate that tells the sides apart, as a counterexample.
    pub(crate) fn found(&self, values: &[u64]) -> Option<DifferingInput> {
        match self.check(values) {
            Checked::Apart(apart) => Some(self.found_at(values, *apart)),
            _ => None,
        }
    }

    /// The same, of what was checked.
    pub(crate) fn found_at(&self, values: &[u64], apart: (usize, Value, Value)) -> DifferingInput {
        let (_, reference, optimized) = apart;
        let values = self.settled(values).unwrap_or(Cow::Borrowed(values));
        let cells = self.cells.iter().copied().zip(values.iter().copied());
        DifferingInput {
            inputs: cells.filter(|(_, v)| *v != 0).collect(),
            reference,
            optimized,
        }
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
    v.interval(APART.precision)
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
            match (x.interval(APART.precision), y.interval(APART.precision)) {
                (Some(x), Some(y)) => apart(&x, &y, limits).map_or(Gap::No, Gap::Numbers),
                _ => Gap::No,
            }
        }
        // Where a number is beyond the largest float, its kernel gives infinity too.
        (x @ (Value::Exact(_) | Value::Interval(_)), y) if not_finite(y) => match is_small(x) {
            true if infinite(y) => Gap::Else,
            true => Gap::Undefined,
            false => Gap::No,
        },
        (x, y @ (Value::Exact(_) | Value::Interval(_))) if infinite(x) && is_small(y) => Gap::Else,
        (Value::PosInf | Value::Pole(Some(false)), Value::NegInf | Value::Pole(Some(true)))
        | (Value::NegInf | Value::Pole(Some(true)), Value::PosInf | Value::Pole(Some(false))) => {
            Gap::Else
        }
        // An infinity that a constant is: what is not a number there is no limit of anything.
        (Value::PosInf | Value::NegInf, Value::Undefined) => Gap::Undefined,
        (Value::Bits(a), Value::Bits(b)) if a != b => Gap::Else,
        (Value::Bool(a), Value::Bool(b)) if a != b => Gap::Else,
        (Value::Bits(_) | Value::Encoded(..), Value::Undefined) => Gap::Undefined,
        _ => Gap::No,
    }
}

/// The distance of intervals that are disjoint by more than 2^-relative of the largest number in them, and
/// by more than 2^floor.
fn apart(x: &Interval, y: &Interval, (floor, relative): (i64, i64)) -> Option<f64> {
    if !x.disjoint(y) {
        return None;
    }
    let precision = APART.precision;
    let between = |lo: &Dyadic, hi: &Dyadic| lo.add(&hi.neg(), precision, Round::Down);
    let distance = between(&x.lo, &y.hi).max(between(&y.lo, &x.hi));
    let size = [&x.lo, &x.hi, &y.lo, &y.hi]
        .into_iter()
        .map(|d| if d.signum() < 0 { d.neg() } else { d.clone() })
        .max()
        .unwrap_or_else(Dyadic::zero);
    let part = |bits: i64| Dyadic::new(BigInt::from(1), -bits);
    let allowed = size.mul(&part(relative), precision, Round::Up);
    let counts = distance > allowed && distance > part(-floor);
    counts.then(|| distance.to_f64())
}
