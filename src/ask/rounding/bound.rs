//! A bound of the error of an element for all inputs, by the operations that make it in their order.
//!
//! The problem: measured errors are those of the inputs that were tried. The way: both kernels run on *words*
//! ([`crate::term::word`]), which keep every operation with its operands in order; one sweep over them follows two things.
//! The *units*: an element that only sums, differences and products make is the sum of its monomials, each with a relative
//! error of at most g/(1-g), g the sum of the unit roundoffs on the longest way to it (N. J. Higham, "Accuracy and Stability
//! of Numerical Algorithms", section 3.1). The *range*: where `--assume` says in which range inputs lie, the interval of the real
//! value and a bound of the distance of the machine's number from it follow from those of the operands.
//!
//! Sound: each result is enclosed from its operands ([`super::enclosure`]); where an operation is not in the list, nothing is
//! bounded. A product and a sum that the assembler joins round less than apart. Two things are seen of more than one
//! operation: `a - max(.., a, ..)` is not positive, and the two halves of the compilers' exponential, each of which alone
//! jumps, are one exponential (`exponential`).
//!
//! Choices by comparisons, which rounding may turn over, are enclosed by [`super::choice`], and matrix instructions for all
//! devices by [`super::products`].
//!
//! Not claimed: that the bound is near the largest error.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::answer::rounding::{Bound, upwards};
use crate::decide::goal::is_compared;
use crate::grid::{Subject, scope};
use crate::kernel::{FloatMods, FloatOp, FloatTest, Fmt, MatTy};
use crate::number;
use crate::sim::Outcome;
use crate::spec::{Arrays, Domain, ElemTy, Numbered, Resolved};
use crate::term::facts::Facts;
use crate::term::word::{Does, Operation};
use crate::term::{ArrayId, Sort, Term, TermId, TermStore};

use super::choice;
use super::enclosure::{self, Range, Tie};
use super::limits::LIMITS;
use super::part::MonomialSum;
use super::products::ProductShape;
use super::step::{self, Roundoff};

/// What is known of an operand or result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Enclosed {
    /// Roundings one after the other on the longest way to it.
    pub longest: u32,
    /// Its error as a part, where it is a sum of monomials.
    pub part: Option<MonomialSum>,
    /// Where it lies.
    pub range: Option<Range>,
}

/// What holds of the elements of an output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    roundings: u32,
    /// For all inputs, or for those of at most a magnitude.
    part: Option<(MonomialSum, Option<f64>)>,
    /// In the ranges that are assumed, with the largest magnitude of the real values there.
    assumed: Option<Range>,
    /// Why nothing is known of all inputs in those ranges, if some are assumed.
    open: Option<Open>,
}

/// Why nothing is known.
#[derive(Clone, Copy, Debug)]
enum Open {
    /// Some input has no range.
    Input,
    /// An operation on numbers with ranges has none.
    Operation(Operation),
    /// Something else that no range is known of.
    Choice,
}

impl Bounds {
    /// What is told beside samples whose real values are at most so large: a bound that no value reaches says nothing.
    pub(super) fn told(&self, sampled: f64) -> Bound {
        let largest = self.assumed.map_or(0.0, |r| r.largest().min(sampled));
        let says = |r: &Range| r.off == 0.0 || r.off < largest;
        let left_out = match (self.assumed, self.open) {
            (Some(r), _) if !says(&r) => Some(format!(
                "the bound {} is not below the largest value {largest:.1e}",
                upwards(r.off)
            )),
            (None, Some(Open::Operation(operation))) => Some(format!(
                "a result of `{}` is not enclosed: it may leave its format or domain, or its error has no bound",
                operation.name()
            )),
            (None, Some(Open::Input)) => Some("some input has no range".into()),
            (None, Some(Open::Choice)) => {
                Some("what is chosen or put together of bits is not enclosed".into())
            }
            _ => None,
        };
        let share = self.part.map(|(p, _)| p);
        Bound {
            roundings: self.roundings,
            of_terms: share.map(MonomialSum::share),
            rest: share.map(|p| p.rest),
            within: self.part.and_then(|(_, within)| within),
            absolute: self.assumed.filter(says).map(|r| r.off),
            left_out,
        }
    }
}

/// Of which inputs something is shown.
#[derive(Clone, Copy, Debug)]
enum Inputs {
    /// Those in the ranges that are assumed.
    Assumed,
    /// Those of at most a magnitude.
    Within(f64),
}

/// Bounds of both kernels, by output; none where a kernel does not run on words.
pub(super) fn bounds(subjects: &[Subject<'_>]) -> Vec<BTreeMap<ArrayId, Bounds>> {
    let by_words: Vec<Resolved> = subjects
        .iter()
        .enumerate()
        .map(|(i, s)| {
            let mut resolved = s.resolved.clone();
            resolved.mode.domain = Domain::Words {
                numbered: Numbered {
                    code: i as u32,
                    run: None,
                    of: subjects.len() as u32,
                },
                unfolded: true,
            };
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
fn bounded(outcome: &Outcome, arrays: &Arrays, facts: &Facts) -> BTreeMap<ArrayId, Bounds> {
    let mut out = BTreeMap::new();
    if !outcome.defects.is_empty() || !outcome.unknowns.is_empty() {
        return out;
    }
    let store = &outcome.store;
    for (&array, writes) in &outcome.writes {
        let Some(ElemTy::Float(fmt)) = arrays[array].elem else {
            continue;
        };
        if !is_compared(&arrays[array]) {
            continue;
        }
        let roots: Vec<TermId> = writes.values().flat_map(|&t| pieces(store, t)).collect();
        let output = Output {
            store,
            arrays,
            facts,
            order: store.reachable(&roots),
            roots,
            fmt,
        };
        if let Some(bounds) = output.bounds() {
            out.insert(array, bounds);
        }
    }
    out
}

/// An output of a kernel.
struct Output<'a> {
    store: &'a TermStore,
    arrays: &'a Arrays,
    facts: &'a Facts,
    roots: Vec<TermId>,
    /// All terms below them, operands first.
    order: Vec<TermId>,
    fmt: Fmt,
}

impl Output<'_> {
    /// What is known of the elements; `None` if nothing is of one of them.
    fn swept(&self, inputs: Inputs) -> (Option<Vec<Enclosed>>, Open) {
        let mut sweep = Sweep {
            store: self.store,
            arrays: self.arrays,
            facts: self.facts,
            inputs,
            known: FxHashMap::default(),
            chosen: FxHashMap::default(),
            settled: FxHashSet::default(),
            open: Open::Choice,
        };
        sweep.over(&self.order);
        let all = self.roots.iter().map(|&t| sweep.operand(t, self.fmt));
        (all.collect(), sweep.open)
    }

    /// The bounds of all elements.
    fn bounds(&self) -> Option<Bounds> {
        let (all, open) = self.swept(Inputs::Assumed);
        let all = all.filter(|all| !all.is_empty())?;
        let assumed = all.iter().map(|k| k.range).reduce(|a, b| {
            let (a, b) = (a?, b?);
            Some(Range::of(&[a.lo, a.hi, b.lo, b.hi], a.off.max(b.off)))
        });
        Some(Bounds {
            roundings: all.iter().map(|k| k.longest).max().unwrap_or(0),
            part: self.widest(),
            assumed: assumed.flatten().filter(|r| r.off.is_finite()),
            open: (!self.facts.numbers().is_empty()).then_some(open),
        })
    }

    /// The part that the elements are off, for all inputs or for those up to the largest magnitude that is found: one that
    /// some of the elements allow is tried for all.
    fn widest(&self) -> Option<(MonomialSum, Option<f64>)> {
        let mut within = self.some().reach()?;
        let found = (0..LIMITS.narrowed).find_map(|_| {
            let tried = within;
            within = (within / 16.0).max(LIMITS.least_reach);
            Some((self.part(tried)?, tried))
        });
        let (part, within) = found?;
        // A rest that no sum of terms reaches says nothing.
        let says = part.rest < part.size || part.rest == 0.0;
        says.then_some((part, (within < f64::MAX).then_some(within)))
    }

    /// The part that the elements are off for inputs of at most a magnitude.
    fn part(&self, within: f64) -> Option<MonomialSum> {
        let all = self.swept(Inputs::Within(within)).0?;
        all.into_iter().map(|k| k.part).reduce(|a, b| {
            let (a, b) = (a?, b?);
            Some(MonomialSum {
                units: a.units.max(b.units),
                rest: a.rest.max(b.rest),
                size: a.size.max(b.size),
            })
        })?
    }

    /// Some of the elements, evenly spread.
    fn some(&self) -> Output<'_> {
        let step = self.roots.len().div_ceil(LIMITS.spread).max(1);
        let roots: Vec<TermId> = self.roots.iter().copied().step_by(step).collect();
        Output {
            order: self.store.reachable(&roots),
            roots,
            ..*self
        }
    }

    /// The largest magnitude of inputs that the elements have a part for.
    fn reach(&self) -> Option<f64> {
        // Positive doubles are in the order of their bits; eight steps to each power of two are told apart.
        const STEP: u32 = 49;
        let magnitude = |n: u64| f64::from_bits(n << STEP);
        let key = |x: f64| x.to_bits() >> STEP;
        self.part(LIMITS.least_reach)?;
        if self.part(f64::MAX).is_some() {
            return Some(f64::MAX);
        }
        let (mut fits, mut fails) = (key(LIMITS.least_reach), key(f64::MAX));
        while fits + 1 < fails {
            let middle = fits.midpoint(fails);
            match self.part(magnitude(middle)) {
                Some(_) => fits = middle,
                None => fails = middle,
            }
        }
        Some(magnitude(fits))
    }
}

/// The elements that a piece of memory is put together from.
fn pieces(store: &TermStore, t: TermId) -> Vec<TermId> {
    match store.get(t) {
        Term::Concat(list) => list.iter().map(|&i| TermId(i)).collect(),
        _ => vec![t],
    }
}

/// The sweep over the operations.
pub(super) struct Sweep<'a> {
    pub store: &'a TermStore,
    pub arrays: &'a Arrays,
    facts: &'a Facts,
    inputs: Inputs,
    /// By word; `None` is one of which nothing is known.
    pub known: FxHashMap<TermId, Option<Enclosed>>,
    /// Choices between floats of a format.
    pub chosen: FxHashMap<TermId, (Fmt, Enclosed)>,
    /// Terms that are what the reals make of them.
    pub settled: FxHashSet<TermId>,
    /// Why nothing may be known of a result: the first operation of operands with known ranges whose result has none, or
    /// else an input without one.
    open: Open,
}

impl Sweep<'_> {
    /// Visits words and choices, operands first.
    fn over(&mut self, order: &[TermId]) {
        for &t in order {
            let is_settled = match self.store.get(t) {
                Term::Word(word) => {
                    let operation = word.operation(self.store);
                    let operands: Vec<TermId> = word.operands().collect();
                    let found = self.found(&operation, &operands);
                    self.note(&operation, &operands, found);
                    self.known.insert(t, found);
                    self.is_settled(&operation, &operands)
                }
                Term::BitsSelect(p, a, b) => {
                    if let Some(chosen) = self.choose(p, [a, b]) {
                        self.chosen.insert(t, chosen);
                    }
                    self.all_settled(t)
                }
                Term::Bytes { array, .. } => {
                    let is_number = matches!(
                        self.arrays.0.get(array.0 as usize).and_then(|a| a.elem),
                        Some(ElemTy::Float(_))
                    );
                    let is_open = is_number && self.facts.numbers_of(array).is_none();
                    if is_open && matches!(self.open, Open::Choice) {
                        self.open = Open::Input;
                    }
                    true
                }
                _ => self.all_settled(t),
            };
            if is_settled {
                self.settled.insert(t);
            }
        }
    }

    /// Notes where ranges end.
    fn note(&mut self, operation: &Operation, operands: &[TermId], found: Option<Enclosed>) {
        let is_float = operation.float().is_some() || matches!(operation.does, Does::ToInt(_));
        if matches!(self.open, Open::Operation(_))
            || !is_float
            || found.is_some_and(|k| k.range.is_some())
        {
            return;
        }
        let is_ranged = |(i, &t): (usize, &TermId)| {
            let known = self.operand(t, step::format(operation, i));
            known.is_some_and(|k| k.range.is_some())
        };
        if operands.iter().enumerate().all(is_ranged) {
            self.open = Open::Operation(*operation);
        }
    }

    /// True if a term is made of nothing that rounding may change.
    fn all_settled(&self, t: TermId) -> bool {
        let mut all = true;
        self.store.children(t, |c| all &= self.settled.contains(&c));
        all
    }

    /// True if a comparison or test of the machine is that of the reals.
    fn is_settled(&self, operation: &Operation, operands: &[TermId]) -> bool {
        let range = |&t: &TermId| self.operand(t, operation.src).and_then(|k| k.range);
        let all: Option<Vec<Range>> = operands.iter().map(range).collect();
        match (operation.does, all.as_deref()) {
            (Does::Compare(_), Some(&[x, y])) => choice::is_settled(x, y, flushed(operation)),
            // Whatever is enclosed is a finite number.
            (Does::Test(FloatTest::Normal | FloatTest::Subnormal), Some([x])) => x.off == 0.0,
            (Does::Test(_), Some([x])) => x.largest().is_finite(),
            // Bits of a float that is made here, its sign at 0 among them, are not looked at.
            _ => false,
        }
    }

    /// What is known of an element of a matrix product.
    fn product(&self, operation: &Operation, operands: &[TermId]) -> Option<Enclosed> {
        let Does::Product(product) = operation.does else {
            return None;
        };
        let [MatTy::Float(left), MatTy::Float(right)] = product.factors else {
            return None;
        };
        let (&c, factors) = operands.split_first()?;
        let (pairs, []) = factors.as_chunks::<2>() else {
            return None;
        };
        let shape = ProductShape {
            fmt: operation.fmt,
            factors: [left, right],
            k: pairs.len(),
            is_negated: product.family.negates(),
        };
        let c = self.operand(c, operation.src)?;
        let known = |&[a, b]: &[TermId; 2]| Some([self.operand(a, left)?, self.operand(b, right)?]);
        let pairs: Vec<[Enclosed; 2]> = pairs.iter().map(known).collect::<Option<_>>()?;
        let longest = pairs.iter().flatten().map(|k| k.longest).max().unwrap_or(0);
        let parts: Option<Vec<[MonomialSum; 2]>> = pairs
            .iter()
            .map(|[a, b]| Some([a.part?, b.part?]))
            .collect();
        let ranges: Option<Vec<[Range; 2]>> = pairs
            .iter()
            .map(|[a, b]| Some([a.range?, b.range?]))
            .collect();
        Some(Enclosed {
            longest: longest.max(c.longest) + shape.k as u32,
            part: c
                .part
                .zip(parts)
                .and_then(|(c, pairs)| shape.part_of(c, &pairs)),
            range: c
                .range
                .zip(ranges)
                .and_then(|(c, pairs)| shape.enclosed(c, &pairs)),
        })
    }

    /// What is known of what an operation makes of operands.
    fn found(&self, operation: &Operation, operands: &[TermId]) -> Option<Enclosed> {
        match operation.does {
            Does::OfInt(ty) => return self.integer(operation, operands, ty),
            Does::ToInt(ty) => return self.to_integer(operation, operands, ty),
            Does::Product(..) => return self.product(operation, operands),
            Does::Float(_) | Does::Convert | Does::Compare(_) | Does::Test(_) => {}
        }
        if let &[a, b, ref rest @ ..] = operands
            && let Does::Float(FloatOp::Mul | FloatOp::Fma) = operation.does
            && let Some(product) = self.exponential(a, b).or_else(|| self.exponential(b, a))
        {
            let Some(&c) = rest.first() else {
                return Some(product);
            };
            let does = Does::Float(FloatOp::Add);
            let sum = Operation { does, ..*operation };
            return result(&sum, &[product, self.operand(c, operation.fmt)?], Tie::None);
        }
        let operand = |(k, &o): (usize, &TermId)| self.operand(o, step::format(operation, k));
        let all = operands.iter().enumerate().map(operand);
        let all: Vec<Enclosed> = all.collect::<Option<_>>()?;
        result(operation, &all, self.tie(operation, operands))
    }

    /// The modifiers and operands of an operation on f32 that is one of some.
    pub(super) fn float(&self, t: TermId, ops: &[FloatOp]) -> Option<(FloatMods, Vec<TermId>)> {
        let word = self.store.as_word(t)?;
        let operation = word.operation(self.store);
        let Does::Float(op) = operation.does else {
            return None;
        };
        let is_one = ops.contains(&op) && operation.fmt == operation.src;
        is_one.then(|| (operation.mods, word.operands().collect()))
    }

    /// What is known of bits that are read in a format.
    pub(super) fn operand(&self, t: TermId, fmt: Fmt) -> Option<Enclosed> {
        match self.store.get(t) {
            Term::BitsConst { value, width } => {
                let x = number::to_double(fmt, value);
                (!x.is_nan() && u32::from(width) == fmt.bits()).then_some(Enclosed {
                    longest: 0,
                    part: MonomialSum::exact(x.abs()),
                    range: Some(Range::known(x)),
                })
            }
            Term::Bytes { array, off, .. } => {
                if off % u64::from(fmt.bits() / 8) != 0 {
                    return None;
                }
                let own = self.arrays.0.get(array.0 as usize)?.elem;
                (self.store.sort(t) == Sort::Bits(fmt.bits() as u8)).then_some(())?;
                let (part, range) = match self.inputs {
                    Inputs::Assumed => {
                        let said = self.facts.numbers_of(array);
                        let said = said.filter(|n| n.fmt == fmt && own == Some(ElemTy::Float(fmt)));
                        let of = |(lo, hi): (f64, f64)| Range::of(&[lo, hi], 0.0).widened();
                        (None, said.map(|n| of(n.ends())))
                    }
                    Inputs::Within(most) => {
                        let largest = number::to_double(fmt, number::largest(fmt, false));
                        (MonomialSum::exact(most.min(largest)), None)
                    }
                };
                Some(Enclosed {
                    longest: 0,
                    part,
                    range,
                })
            }
            // A bf16 above 16 zeros is that number.
            Term::Concat(&[low, high]) if fmt == Fmt::F32 => {
                let zeros = Term::BitsConst {
                    value: 0,
                    width: 16,
                };
                let is_wide = self.store.get(TermId(low)) == zeros;
                self.operand(TermId(high), Fmt::Bf16)
                    .filter(|_| is_wide && self.store.sort(TermId(high)) == Sort::Bits(16))
            }
            Term::Word(w) if w.operation(self.store).float() == Some(fmt) => *self.known.get(&t)?,
            Term::BitsSelect(..) => {
                let &(own, known) = self.chosen.get(&t)?;
                (own == fmt).then_some(known)
            }
            _ => None,
        }
    }
}

/// The magnitude below which a comparison takes numbers for 0.
pub(super) fn flushed(operation: &Operation) -> f64 {
    step::flushed(operation, 0)
}

/// What is known of a result.
fn result(operation: &Operation, operands: &[Enclosed], tie: Tie) -> Option<Enclosed> {
    let m = &operation.mods;
    let is_bounded = match operation.does {
        Does::Float(op) => op != FloatOp::Copysign,
        Does::Convert => true,
        Does::ToInt(_) | Does::OfInt(_) | Does::Compare(_) | Does::Test(_) | Does::Product(..) => {
            false
        }
    };
    if m.xorsign_abs || m.abs || !is_bounded {
        return None;
    }
    let step = Roundoff::of(operation)?;
    let longest = operands.iter().map(|k| k.longest).max().unwrap_or(0);
    let ranges: Option<Vec<Range>> = operands.iter().map(|k| k.range).collect();
    Some(Enclosed {
        longest: longest + u32::from(step.unit > 0.0),
        part: part(operation, operands, &step),
        range: ranges.and_then(|all| enclosure::result(operation, &all, tie)),
    })
}

/// The part that a result is off, where it is a sum of monomials.
fn part(operation: &Operation, operands: &[Enclosed], step: &Roundoff) -> Option<MonomialSum> {
    let m = &operation.mods;
    let of = operands.iter().enumerate().map(|(k, known)| {
        let flushed = step::flushed(operation, k);
        known.part.map(|p| p.less(flushed))
    });
    let of: Option<Vec<MonomialSum>> = of.collect();
    let exact = match (operation.does, of?.as_slice()) {
        (Does::Float(FloatOp::Add | FloatOp::Sub), &[a, b]) => Some(a.add(b)),
        (Does::Float(FloatOp::Mul), &[a, b]) => a.mul(b),
        (Does::Float(FloatOp::Fma), &[a, b, c]) => Some(a.mul(b)?.add(c)),
        (Does::Float(FloatOp::Neg), &[a]) => Some(a),
        // An exact number becomes an integer as the real one does; another one may become the next.
        (Does::Convert, &[a]) => {
            let is_exact = a.units == 0.0 && a.rest == 0.0;
            let whole = || MonomialSum::exact(a.size.ceil()).filter(|_| is_exact);
            step.whole.map_or(Some(a), |_| whole())
        }
        _ => None,
    };
    exact
        .filter(|_| !(m.sat || m.relu || m.approx))?
        .rounded(step)
}
