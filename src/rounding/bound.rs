//! A bound of the error of an element for all inputs, by the operations that make it in their order.
//!
//! The problem: measured errors are those of the inputs that were tried. The way: both kernels run on *words*
//! ([`crate::term::word`]), which keep every operation with its operands in order; one sweep over them follows two things.
//! The *units*: an element that only sums, differences and products make is the sum of its monomials, each with a relative
//! error of at most g/(1-g), g the sum of the unit roundoffs on the longest way to it (N. J. Higham, "Accuracy and Stability
//! of Numerical Algorithms", section 3.1). The *range*: where `--assume` says in which range inputs lie, the interval of the real
//! value and a bound of the distance of the machine's number from it follow from those of the operands.
//!
//! Sound: every rounding adds its unit of the largest magnitude that the operands allow, and what underflow loses;
//! approximations have the errors of the manual; the doubles in which this is computed are widened after each operation.
//! Where an operation may overflow, divides by what may be 0, or is not in the list, nothing is bounded. A product and a sum
//! that the assembler joins round less than apart.
//!
//! Not claimed: that the bound is near the largest error. Choices by comparisons are not followed (rounding may turn them
//! over), nor matrix instructions (their sums differ between devices).

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::answer::rounding::Bound;
use crate::decide::goal::is_compared;
use crate::grid::{Subject, scope};
use crate::kernel::{FloatOp, Fmt, Rnd};
use crate::number;
use crate::sim::Outcome;
use crate::spec::{Arrays, ElemTy, Resolved};
use crate::term::facts::Facts;
use crate::term::word::{Does, Operation};
use crate::term::{ArrayId, Sort, Term, TermId, TermStore};

/// What the doubles of this analysis may be off after an operation, as a part of the result.
const OWN: f64 = 1e-12;

/// A real value and the machine's number for it.
#[derive(Clone, Copy, Debug)]
struct Range {
    lo: f64,
    hi: f64,
    /// The distance of the machine's number from the real value.
    off: f64,
}

/// What is known of an operand or result.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Roundings one after the other on the longest way to it.
    longest: u32,
    /// The sum of the unit roundoffs on the longest way, where it is a sum of monomials.
    units: Option<f64>,
    range: Option<Range>,
}

impl Range {
    fn largest(self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }

    /// The least magnitude of the real value.
    fn least(self) -> f64 {
        match self.lo <= 0.0 && self.hi >= 0.0 {
            true => 0.0,
            false => self.lo.abs().min(self.hi.abs()),
        }
    }

    /// The same, no narrower than exact arithmetic would have it.
    fn widened(self) -> Range {
        let more = |x: f64| x.abs() * OWN + f64::MIN_POSITIVE;
        Range {
            lo: self.lo - more(self.lo),
            hi: self.hi + more(self.hi),
            off: if self.off == 0.0 {
                0.0
            } else {
                self.off + more(self.off)
            },
        }
    }

    /// A hull of values, at most so far off.
    fn of(values: &[f64], off: f64) -> Range {
        let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Range { lo, hi, off }
    }
}

/// Bounds of both kernels, by output; none where a kernel does not run on words.
pub(super) fn bounds(subjects: &[Subject<'_>]) -> Vec<BTreeMap<ArrayId, Bound>> {
    let by_words: Vec<Resolved> = subjects
        .iter()
        .enumerate()
        .map(|(i, s)| {
            let mut resolved = s.resolved.clone();
            resolved.launch.words = Some(i as u32);
            resolved
        })
        .collect();
    let subjects: Vec<Subject> = subjects
        .iter()
        .zip(&by_words)
        .map(|(s, resolved)| Subject { resolved, ..*s })
        .collect();
    let (Some(first), Some(last)) = (subjects.first(), subjects.last()) else {
        return Vec::new();
    };
    let ended = scope::run([&[*first], &[*last]], None).kernels;
    let mut of = ended.iter().zip([first, last]);
    let all = of.by_ref().take(subjects.len());
    all.map(|(e, s)| bounded(&e.outcome, s.arrays, &s.resolved.bindings.facts))
        .collect()
}

/// The bounds of one kernel.
fn bounded(outcome: &Outcome, arrays: &Arrays, facts: &Facts) -> BTreeMap<ArrayId, Bound> {
    let mut out = BTreeMap::new();
    if !outcome.defects.is_empty() || !outcome.unknowns.is_empty() {
        return out;
    }
    let store = &outcome.store;
    let mut sweep = Sweep {
        store,
        arrays,
        facts,
        known: FxHashMap::default(),
    };
    for (&array, writes) in &outcome.writes {
        let Some(ElemTy::Float(fmt)) = arrays[array].elem else {
            continue;
        };
        if !is_compared(&arrays[array]) {
            continue;
        }
        let roots: Vec<TermId> = writes.values().flat_map(|&t| pieces(store, t)).collect();
        sweep.over(&roots);
        let all = roots.iter().map(|&t| sweep.operand(t, fmt));
        let all: Option<Vec<Known>> = all.collect();
        if let Some(all) = all.filter(|all| !all.is_empty()) {
            out.insert(array, summed_up(&all));
        }
    }
    out
}

/// The elements that a piece of memory is put together from.
fn pieces(store: &TermStore, t: TermId) -> Vec<TermId> {
    match store.get(t) {
        Term::Concat(list) => list.iter().map(|&i| TermId(i)).collect(),
        _ => vec![t],
    }
}

/// The bound of all elements of an output.
fn summed_up(all: &[Known]) -> Bound {
    let most = |f: fn(&Known) -> Option<f64>| {
        let each: Option<Vec<f64>> = all.iter().map(f).collect();
        each.map(|v| v.into_iter().fold(0.0, f64::max))
    };
    let units = most(|k| k.units).filter(|g| *g < 0.5);
    let absolute = most(|k| k.range.map(|r| r.off));
    Bound {
        roundings: all.iter().map(|k| k.longest).max().unwrap_or(0),
        of_terms: units.map(|g| g / (1.0 - g)),
        absolute: absolute.filter(|a| a.is_finite()),
    }
}

/// The sweep over the operations.
struct Sweep<'a> {
    store: &'a TermStore,
    arrays: &'a Arrays,
    facts: &'a Facts,
    /// By word; `None` is one of which nothing is known.
    known: FxHashMap<TermId, Option<Known>>,
}

impl Sweep<'_> {
    /// Visits all words below some terms, operands first.
    fn over(&mut self, roots: &[TermId]) {
        for t in self.store.reachable(roots) {
            let Some(word) = self.store.as_word(t) else {
                continue;
            };
            if self.known.contains_key(&t) {
                continue;
            }
            let operation = word.operation(self.store);
            let operands = word.operands().map(|o| self.operand(o, operation.src));
            let operands: Option<Vec<Known>> = operands.collect();
            let found = operands.and_then(|o| result(&operation, &o));
            self.known.insert(t, found);
        }
    }

    /// What is known of bits that are read in a format.
    fn operand(&self, t: TermId, fmt: Fmt) -> Option<Known> {
        let known = |range| Known {
            longest: 0,
            units: Some(0.0),
            range,
        };
        match self.store.get(t) {
            Term::BitsConst { value, .. } => {
                let x = number::to_double(fmt, value);
                let exact = Range {
                    lo: x,
                    hi: x,
                    off: 0.0,
                };
                x.is_finite().then_some(known(Some(exact)))
            }
            Term::Bytes { array, .. } => {
                let own = self.arrays.0.get(array.0 as usize)?.elem;
                (self.store.sort(t) == Sort::Bits(fmt.bits() as u8)).then_some(())?;
                let said = self
                    .facts
                    .numbers_of(array)
                    .map(|n| n.ends())
                    .filter(|_| own == Some(ElemTy::Float(fmt)));
                let range = said.map(|(lo, hi)| Range { lo, hi, off: 0.0 }.widened());
                Some(known(range))
            }
            Term::Word(w) if w.operation(self.store).float() == Some(fmt) => *self.known.get(&t)?,
            _ => None,
        }
    }
}

/// What is known of a result.
fn result(operation: &Operation, operands: &[Known]) -> Option<Known> {
    let m = &operation.mods;
    if m.xorsign_abs || m.abs {
        return None;
    }
    let longest = operands.iter().map(|k| k.longest).max().unwrap_or(0);
    let (precision, _) = number::precision(operation.fmt);
    let half = f64::exp2(-f64::from(precision));
    let rounds = match operation.does {
        Does::Float(
            FloatOp::Neg
            | FloatOp::Abs
            | FloatOp::Min
            | FloatOp::Max
            | FloatOp::Min3
            | FloatOp::Max3,
        ) => false,
        Does::Float(FloatOp::Copysign) => return None,
        Does::Convert => number::precision(operation.src).0 > precision,
        Does::Float(_) => true,
        Does::ToInt(_) | Does::OfInt(_) | Does::Compare(_) | Does::Test(_) | Does::Product(..) => {
            return None;
        }
    };
    let unit = match m.rnd {
        _ if !rounds => 0.0,
        Rnd::None | Rnd::Rn | Rnd::Rna => half,
        Rnd::Rz | Rnd::Rm | Rnd::Rp | Rnd::Rs => 2.0 * half,
        Rnd::Rni | Rnd::Rzi | Rnd::Rmi | Rnd::Rpi => return None,
    };
    let clamps = m.sat || m.relu;
    let units = units(operation, operands)
        .map(|g| g + unit)
        .filter(|_| !clamps && !m.approx);
    Some(Known {
        longest: longest + u32::from(rounds),
        units,
        range: range(operation, operands, unit),
    })
}

/// The units that the operands bring along, where the result is a sum of monomials.
fn units(operation: &Operation, operands: &[Known]) -> Option<f64> {
    let of: Option<Vec<f64>> = operands.iter().map(|k| k.units).collect();
    match (operation.does, of?.as_slice()) {
        (Does::Float(FloatOp::Add | FloatOp::Sub), &[a, b]) => Some(a.max(b)),
        (Does::Float(FloatOp::Mul), &[a, b]) => Some(a + b),
        (Does::Float(FloatOp::Fma), &[a, b, c]) => Some((a + b).max(c)),
        (Does::Float(FloatOp::Neg) | Does::Convert, &[a]) => Some(a),
        _ => None,
    }
}

/// The range of a result: what the exact operation makes of the operands, and one rounding.
fn range(operation: &Operation, operands: &[Known], unit: f64) -> Option<Range> {
    let all: Option<Vec<Range>> = operands.iter().map(|k| k.range).collect();
    let mut all = all?;
    let m = &operation.mods;
    let (precision, least) = number::precision(operation.fmt);
    let normal = f64::exp2(f64::from(least + precision as i32 - 1));
    if m.ftz {
        all.iter_mut().for_each(|r| r.off += normal);
    }
    let exact = match operation.does {
        Does::Convert => all[0],
        Does::Float(op) => exact(op, &all)?,
        _ => return None,
    }
    .widened();
    let (part, flat) = match operation.does {
        Does::Float(op) if m.approx => approximate(op, &exact)?,
        _ => (unit, 0.0),
    };
    let lost = match (m.ftz, unit > 0.0) {
        (true, _) => normal,
        (false, true) => f64::exp2(f64::from(least)),
        (false, false) => 0.0,
    };
    let reach = exact.largest() + exact.off;
    let off = exact.off + part * reach + flat + lost;
    let largest = number::to_double(operation.fmt, number::largest(operation.fmt, false));
    if !(reach + off < largest) {
        return None;
    }
    let clamp = |x: f64| match (m.sat, m.relu) {
        (true, _) => x.clamp(0.0, 1.0),
        (_, true) => x.max(0.0),
        _ => x,
    };
    let clamped = Range {
        lo: clamp(exact.lo),
        hi: clamp(exact.hi),
        off,
    };
    Some(clamped.widened())
}

/// The relative and the absolute error of an approximation by the manual, for results of this range.
fn approximate(op: FloatOp, exact: &Range) -> Option<(f64, f64)> {
    let part = |bits: i32| f64::exp2(f64::from(-bits));
    match op {
        FloatOp::Rcp | FloatOp::Sqrt | FloatOp::Rsqrt | FloatOp::Ex2 | FloatOp::Div => {
            Some((part(22), 0.0))
        }
        FloatOp::Lg2 => Some((part(22), part(22))),
        FloatOp::Tanh => Some((part(10), 0.0)),
        // The manual bounds them near 0 only, which the range of the result does not show.
        FloatOp::Sin | FloatOp::Cos => None,
        FloatOp::Add | FloatOp::Sub | FloatOp::Mul | FloatOp::Fma | FloatOp::Neg | FloatOp::Abs => {
            None
        }
        FloatOp::Min | FloatOp::Max | FloatOp::Min3 | FloatOp::Max3 | FloatOp::Copysign => None,
    }
    .filter(|_| exact.off.is_finite())
}

/// What an operation without rounding makes of operands that are off.
fn exact(op: FloatOp, all: &[Range]) -> Option<Range> {
    let add = |a: Range, b: Range| Range {
        lo: a.lo + b.lo,
        hi: a.hi + b.hi,
        off: a.off + b.off,
    };
    let neg = |a: Range| Range {
        lo: -a.hi,
        hi: -a.lo,
        off: a.off,
    };
    let mul = |a: Range, b: Range| {
        let corners = [a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi];
        Range::of(
            &corners,
            a.off * b.largest() + b.off * a.largest() + a.off * b.off,
        )
    };
    let div = |a: Range, b: Range| {
        let least = b.least() - b.off;
        if !(least > 0.0) {
            return None;
        }
        let corners = [a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi];
        let quotient = Range::of(&corners, 0.0);
        let off = (a.off + quotient.largest() * b.off) / least;
        Some(Range { off, ..quotient })
    };
    let root = |a: Range| {
        let inside = a.lo - a.off >= 0.0;
        let slope = a.off / a.lo.sqrt();
        let off = if slope.is_finite() {
            slope.min(a.off.sqrt())
        } else {
            a.off.sqrt()
        };
        inside.then(|| Range::of(&[a.lo.sqrt(), a.hi.sqrt()], off))
    };
    let one = Range {
        lo: 1.0,
        hi: 1.0,
        off: 0.0,
    };
    match (op, all) {
        (FloatOp::Add, &[a, b]) => Some(add(a, b)),
        (FloatOp::Sub, &[a, b]) => Some(add(a, neg(b))),
        (FloatOp::Mul, &[a, b]) => Some(mul(a, b)),
        (FloatOp::Fma, &[a, b, c]) => Some(add(mul(a, b).widened(), c)),
        (FloatOp::Div, &[a, b]) => div(a, b),
        (FloatOp::Rcp, &[a]) => div(one, a),
        (FloatOp::Sqrt, &[a]) => root(a),
        (FloatOp::Rsqrt, &[a]) => div(one, root(a)?.widened()),
        (FloatOp::Neg, &[a]) => Some(neg(a)),
        (FloatOp::Abs, &[a]) => Some(Range {
            lo: a.least(),
            hi: a.largest(),
            off: a.off,
        }),
        (FloatOp::Min | FloatOp::Max | FloatOp::Min3 | FloatOp::Max3, all) => {
            let is_max = matches!(op, FloatOp::Max | FloatOp::Max3);
            let pick = |x: f64, y: f64| if is_max { x.max(y) } else { x.min(y) };
            let both = |a: Range, b: Range| Range {
                lo: pick(a.lo, b.lo),
                hi: pick(a.hi, b.hi),
                off: a.off.max(b.off),
            };
            all.iter().copied().reduce(both)
        }
        (FloatOp::Ex2, &[a]) => {
            let top = libm::exp2(a.hi);
            Some(Range::of(
                &[libm::exp2(a.lo), top],
                top * libm::exp2(a.off) - top,
            ))
        }
        (FloatOp::Lg2, &[a]) if a.lo - a.off > 0.0 => {
            let off = a.off / (a.lo - a.off) / std::f64::consts::LN_2;
            Some(Range::of(&[libm::log2(a.lo), libm::log2(a.hi)], off))
        }
        (FloatOp::Sin | FloatOp::Cos, &[a]) => Some(Range::of(&[-1.0, 1.0], a.off)),
        (FloatOp::Tanh, &[a]) => Some(Range::of(&[libm::tanh(a.lo), libm::tanh(a.hi)], a.off)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(lo: f64, hi: f64, off: f64) -> Range {
        Range { lo, hi, off }
    }

    /// The distance that operands may be off, at the ends of their ranges, is within the bound of the result.
    #[test]
    fn what_operands_are_off_reaches_the_result() {
        let apply = |op: FloatOp, x: &[f64]| match op {
            FloatOp::Add => x[0] + x[1],
            FloatOp::Sub => x[0] - x[1],
            FloatOp::Mul => x[0] * x[1],
            FloatOp::Fma => x[0] * x[1] + x[2],
            FloatOp::Div => x[0] / x[1],
            FloatOp::Rcp => 1.0 / x[0],
            FloatOp::Sqrt => x[0].sqrt(),
            FloatOp::Rsqrt => 1.0 / x[0].sqrt(),
            FloatOp::Neg => -x[0],
            FloatOp::Abs => x[0].abs(),
            FloatOp::Min | FloatOp::Min3 => x.iter().copied().fold(f64::INFINITY, f64::min),
            FloatOp::Max | FloatOp::Max3 => x.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            FloatOp::Ex2 => x[0].exp2(),
            FloatOp::Lg2 => x[0].log2(),
            FloatOp::Sin => x[0].sin(),
            FloatOp::Cos => x[0].cos(),
            FloatOp::Tanh => x[0].tanh(),
            FloatOp::Copysign => x[1].copysign(x[0]),
        };
        let all = [
            FloatOp::Add,
            FloatOp::Sub,
            FloatOp::Mul,
            FloatOp::Fma,
            FloatOp::Div,
            FloatOp::Rcp,
            FloatOp::Sqrt,
            FloatOp::Rsqrt,
            FloatOp::Neg,
            FloatOp::Abs,
            FloatOp::Min,
            FloatOp::Max3,
            FloatOp::Ex2,
            FloatOp::Lg2,
            FloatOp::Sin,
            FloatOp::Cos,
            FloatOp::Tanh,
        ];
        let ranges = [
            range(0.5, 3.0, 1e-3),
            range(1.0, 1.5, 1e-2),
            range(-2.0, 0.25, 1e-3),
        ];
        let mut bounded = 0;
        for op in all {
            for first in 0..ranges.len() {
                let own: Vec<Range> = (0..op.arity()).map(|k| ranges[(first + k) % 3]).collect();
                let Some(bound) = exact(op, &own) else {
                    continue;
                };
                bounded += 1;
                // Each operand at five places of its range, as it is and off either way.
                for choice in 0..15usize.pow(op.arity() as u32) {
                    let part = |k: usize| choice / 15usize.pow(k as u32) % 15;
                    let real =
                        |k: usize| own[k].lo + (own[k].hi - own[k].lo) * (part(k) % 5) as f64 / 4.0;
                    let moved = |k: usize| real(k) + own[k].off * (part(k) / 5) as f64 - own[k].off;
                    let of = |f: &dyn Fn(usize) -> f64| {
                        apply(op, &(0..op.arity()).map(f).collect::<Vec<f64>>())
                    };
                    let (x, y) = (of(&real), of(&moved));
                    let slack = 1e-12;
                    assert!(
                        bound.lo - slack <= x && x <= bound.hi + slack,
                        "{op:?} {x} {bound:?}"
                    );
                    assert!(
                        (x - y).abs() <= bound.off + slack,
                        "{op:?} {x} {y} {bound:?}"
                    );
                }
            }
        }
        assert!(bounded > 35, "{bounded}");
    }
}
