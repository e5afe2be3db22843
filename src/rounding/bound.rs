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

use crate::answer::rounding::Bound;
use crate::decide::goal::is_compared;
use crate::grid::{Subject, scope};
use crate::kernel::{FloatMods, FloatOp, FloatTest, Fmt, MatTy, Rnd};
use crate::number;
use crate::sim::Outcome;
use crate::spec::{Arrays, ElemTy, Numbered, Resolved};
use crate::term::facts::Facts;
use crate::term::word::{Does, Family, Operation};
use crate::term::{ArrayId, ICmp, Sort, Term, TermId, TermStore};

use super::choice::{self, Choice};
use super::enclosure::{self, Range, Tie};
use super::limits::LIMITS;
use super::products::Shape;

/// What is known of an operand or result.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Roundings one after the other on the longest way to it.
    longest: u32,
    /// The sum of the unit roundoffs on the longest way, where it is a sum of monomials.
    units: Option<f64>,
    range: Option<Range>,
}

/// Bounds of both kernels, by output; none where a kernel does not run on words.
pub(super) fn bounds(subjects: &[Subject<'_>]) -> Vec<BTreeMap<ArrayId, Bound>> {
    let by_words: Vec<Resolved> = subjects
        .iter()
        .enumerate()
        .map(|(i, s)| {
            let mut resolved = s.resolved.clone();
            resolved.launch.words = Some(Numbered {
                code: i as u32,
                run: None,
                of: subjects.len() as u32,
            });
            resolved.launch.unfolded = true;
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
        chosen: FxHashMap::default(),
        settled: FxHashSet::default(),
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
    /// Choices between floats of a format.
    chosen: FxHashMap<TermId, (Fmt, Known)>,
    /// Terms that are what the reals make of them.
    settled: FxHashSet<TermId>,
}

impl Sweep<'_> {
    /// Visits all words and choices below some terms, operands first.
    fn over(&mut self, roots: &[TermId]) {
        for t in self.store.reachable(roots) {
            let is_settled = match self.store.get(t) {
                _ if self.known.contains_key(&t) => continue,
                Term::Word(word) => {
                    let operation = word.operation(self.store);
                    let operands: Vec<TermId> = word.operands().collect();
                    let found = self.found(&operation, &operands);
                    self.known.insert(t, found);
                    self.is_settled(&operation, &operands)
                }
                Term::BitsSelect(p, a, b) => {
                    if let Some(chosen) = self.choose(p, [a, b]) {
                        self.chosen.insert(t, chosen);
                    }
                    self.all_settled(t)
                }
                _ => self.all_settled(t),
            };
            if is_settled {
                self.settled.insert(t);
            }
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

    /// What is known of a choice between floats, and their format.
    fn choose(&self, p: TermId, branches: [TermId; 2]) -> Option<(Fmt, Known)> {
        let fmt = branches.iter().find_map(|&t| self.format(t))?;
        let [a, b] = branches.map(|t| self.operand(t, fmt));
        let (a, b) = (a?, b?);
        let (choice, flushed) = match self.settled.contains(&p) {
            true => (Choice::Settled, 0.0),
            false => self
                .by_comparison(p, branches)
                .unwrap_or((Choice::Open, 0.0)),
        };
        let range = a.range.zip(b.range).and_then(|(a, b)| choice.of(a, b));
        let range = range.map(|r| {
            Range {
                off: r.off + 2.0 * flushed,
                ..r
            }
            .widened()
        });
        let known = Known {
            longest: a.longest.max(b.longest),
            units: None,
            range,
        };
        Some((fmt, known))
    }

    /// The format of floats by what makes them.
    fn format(&self, t: TermId) -> Option<Fmt> {
        match self.store.get(t) {
            Term::Word(w) => w.operation(self.store).float(),
            Term::BitsSelect(..) => self.chosen.get(&t).map(|c| c.0),
            Term::Bytes { array, .. } => match self.arrays.0.get(array.0 as usize)?.elem? {
                ElemTy::Float(fmt) => Some(fmt),
                ElemTy::Int { .. } => None,
            },
            _ => None,
        }
    }

    /// What a choice by one comparison of floats is that rounding may turn over, and below which it takes both for 0.
    fn by_comparison(&self, p: TermId, [a, b]: [TermId; 2]) -> Option<(Choice, f64)> {
        let Term::ICmp(ICmp::Eq, word, _) = self.store.get(p) else {
            return None;
        };
        let word = self.store.as_word(word)?;
        let operation = word.operation(self.store);
        let (Does::Compare(cmp), &[x, y]) =
            (operation.does, &word.operands().collect::<Vec<_>>()[..])
        else {
            return None;
        };
        let as_it_is = ([a, b] == [x, y]).then_some(false);
        let turned = as_it_is.or(([a, b] == [y, x]).then_some(true));
        if let Some(found) = turned.and_then(|is_turned| choice::extremum(cmp, is_turned)) {
            return Some((found, flushed(&operation)));
        }
        let is_zero = |t| {
            matches!(self.operand(t, operation.src)?.range, Some(r) if r == Range::known(0.0))
                .then_some(())
        };
        let x = match (is_zero(x), is_zero(y)) {
            (None, Some(())) => x,
            (Some(()), None) => y,
            _ => return None,
        };
        let reach = self.operand(x, operation.src)?.range?.off + flushed(&operation);
        let near = Choice::Near(self.near(a, x, reach)?, self.near(b, x, reach)?);
        Some((near, 0.0))
    }

    /// The largest magnitude of a branch where a number is at most so large.
    fn near(&self, branch: TermId, x: TermId, reach: f64) -> Option<f64> {
        if branch == x {
            return Some(reach);
        }
        let fmt = self.format(x)?;
        if let Term::BitsConst { .. } = self.store.get(branch) {
            return Some(self.operand(branch, fmt)?.range?.largest());
        }
        let (_, operands) = self.float(branch, &[FloatOp::Mul, FloatOp::Neg])?;
        let factor = match operands[..] {
            [a] if a == x => 1.0,
            [a, b] if a == x => self.operand(b, fmt)?.range?.largest(),
            [a, b] if b == x => self.operand(a, fmt)?.range?.largest(),
            _ => return None,
        };
        Some(reach * factor)
    }

    /// What is known of an element of a matrix product.
    fn product(&self, operation: &Operation, operands: &[TermId]) -> Option<Known> {
        let Does::Product(family, _, [MatTy::Float(left), MatTy::Float(right)]) = operation.does
        else {
            return None;
        };
        let (&c, factors) = operands.split_first()?;
        let (pairs, []) = factors.as_chunks::<2>() else {
            return None;
        };
        let shape = Shape {
            fmt: operation.fmt,
            factors: [left, right],
            k: pairs.len(),
            is_negated: matches!(family, Family::Wgmma(true) | Family::Tcgen05(true)),
        };
        let c = self.operand(c, operation.src)?;
        let known = |&[a, b]: &[TermId; 2]| Some([self.operand(a, left)?, self.operand(b, right)?]);
        let pairs: Vec<[Known; 2]> = pairs.iter().map(known).collect::<Option<_>>()?;
        let longest = pairs.iter().flatten().map(|k| k.longest).max().unwrap_or(0);
        let of_pair = |[a, b]: &[Known; 2]| Some(a.units? + b.units?);
        let units: Option<Vec<f64>> = pairs.iter().map(of_pair).collect();
        let units = units.zip(c.units).zip(shape.part());
        let ranges: Option<Vec<[Range; 2]>> = pairs
            .iter()
            .map(|[a, b]| Some([a.range?, b.range?]))
            .collect();
        Some(Known {
            longest: longest.max(c.longest) + shape.k as u32,
            units: units.map(|((all, c), part)| all.into_iter().fold(c, f64::max) + part),
            range: c
                .range
                .zip(ranges)
                .and_then(|(c, pairs)| shape.enclosed(c, &pairs)),
        })
    }

    /// What is known of what an operation makes of operands.
    fn found(&self, operation: &Operation, operands: &[TermId]) -> Option<Known> {
        match operation.does {
            Does::OfInt(_) => return self.integer(operation, operands),
            Does::Product(..) => return self.product(operation, operands),
            Does::Float(_) | Does::Convert | Does::ToInt(_) | Does::Compare(_) | Does::Test(_) => {}
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
        let all = operands.iter().map(|&o| self.operand(o, operation.src));
        let all: Vec<Known> = all.collect::<Option<_>>()?;
        let tie = match (operation.does, operands) {
            (Does::Float(FloatOp::Sub), &[a, b]) if self.is_among(a, b) => Tie::NotAbove,
            (Does::Float(FloatOp::Mul | FloatOp::Fma), &[a, b, ..]) if a == b => Tie::Same,
            _ => Tie::None,
        };
        result(operation, &all, tie)
    }

    /// True if a maximum is one of something, or of other maxima of which one is.
    fn is_among(&self, a: TermId, maximum: TermId) -> bool {
        let mut todo = vec![maximum];
        for _ in 0..LIMITS.maxima {
            let Some(t) = todo.pop() else {
                return false;
            };
            if let Some((m, operands)) = self.float(t, &[FloatOp::Max, FloatOp::Max3])
                && !m.abs
                && !m.xorsign_abs
            {
                if operands.contains(&a) {
                    return true;
                }
                todo.extend(operands);
            }
        }
        false
    }

    /// A known integer as a float.
    fn integer(&self, operation: &Operation, operands: &[TermId]) -> Option<Known> {
        let &[n] = operands else {
            return None;
        };
        let Term::BitsConst { value, .. } = self.store.get(n) else {
            return None;
        };
        let x = number::to_double(operation.fmt, operation.apply(&[value])?);
        let (precision, _) = number::precision(operation.fmt);
        let off = x.abs() * f64::exp2(1.0 - f64::from(precision));
        let range = Range::of(&[x - off, x + off], off).widened();
        x.is_finite().then_some(Known {
            longest: 1,
            units: None,
            range: Some(range),
        })
    }

    /// The modifiers and operands of an operation on f32 that is one of some.
    fn float(&self, t: TermId, ops: &[FloatOp]) -> Option<(FloatMods, Vec<TermId>)> {
        let word = self.store.as_word(t)?;
        let operation = word.operation(self.store);
        let Does::Float(op) = operation.does else {
            return None;
        };
        let is_one = ops.contains(&op) && operation.fmt == operation.src;
        is_one.then(|| (operation.mods, word.operands().collect()))
    }

    /// The factor beside a constant.
    fn beside(&self, factors: &[TermId], bits: u64) -> Option<TermId> {
        let is_constant =
            |t: TermId| matches!(self.store.get(t), Term::BitsConst { value, .. } if value == bits);
        match *factors {
            [a, b] if is_constant(b) => Some(a),
            [a, b] if is_constant(a) => Some(b),
            _ => None,
        }
    }

    /// `expf(x)`, if two numbers are the factors that the compilers make it of: `2^(x log2(e) - n)` and the bits of `2^n`.
    ///
    /// With t = fma.rm(sat(x/(252 ln 2) + 1/2), 252, 2^23 + 2^22 + 1), whose low bits are n + 127, and n = t - (2^23 + 2^22 +
    /// 127) exactly, both halves are given to the last constant, and x lies where nothing is limited. The exponent is off by
    /// at most 2^-23 (two roundings of numbers below 1.1), the approximation by 2^-22 of itself, and the product is exact.
    fn exponential(&self, power: TermId, scale: TermId) -> Option<Known> {
        const REACH: f64 = 80.0;
        let Term::Concat(&[low, high]) = self.store.get(scale) else {
            return None;
        };
        let is_shifted = matches!(
            self.store.get(TermId(low)),
            Term::BitsConst {
                value: 0,
                width: 23
            }
        );
        let Term::Extract {
            bits: t,
            low: 0,
            width: 9,
        } = self.store.get(TermId(high))
        else {
            return None;
        };
        let fma = |t: TermId, rnd: Rnd| {
            let (m, operands) = self.float(t, &[FloatOp::Fma])?;
            let &[a, b, c] = &operands[..] else {
                return None;
            };
            (m.rnd == rnd && self.store.sort(t) == Sort::Bits(32)).then_some((m, [a, b], c))
        };
        let (_, factors, big) = fma(t, Rnd::Rm)?;
        let limited = self.beside(&factors, 0x437c_0000)?;
        let inside = match self.store.as_word(limited) {
            Some(w) if w.operation(self.store).does == Does::Convert => {
                let is_limited = w.operation(self.store).mods.sat;
                w.operands().next().filter(|_| is_limited)?
            }
            _ => limited,
        };
        let (m, factors, half) = fma(inside, Rnd::Rn)?;
        let x = self.beside(&factors, 0x3bbb_989d)?;
        let is_limited = inside != limited || m.sat;
        let (m, of_power) = self.float(power, &[FloatOp::Ex2])?;
        let (_, factors, sum) = fma(*of_power.first()?, Rnd::Rn)?;
        let same = self.beside(&factors, 0x32a5_7060)? == x;
        let (_, factors, minus_n) = fma(sum, Rnd::Rn)?;
        let same = same && self.beside(&factors, 0x3fb8_aa3b)? == x;
        let (_, n) = self.float(minus_n, &[FloatOp::Neg])?;
        let (_, summands) = self.float(*n.first()?, &[FloatOp::Add])?;
        let same = same && self.beside(&summands, 0xcb40_007f)? == t;
        let ends = self.beside(&[half, half], 0x3f00_0000).is_some()
            && self.beside(&[big, big], 0x4b40_0001).is_some();
        if !(is_shifted && is_limited && same && ends && m.approx) {
            return None;
        }
        let known = self.operand(x, Fmt::F32)?;
        let range = known.range.filter(|r| r.largest() + r.off <= REACH);
        let range = range.map(|r| {
            let mut e = enclosure::exponential(r);
            e.off += f64::exp2(-21.0) * (e.hi + e.off);
            e.widened()
        });
        Some(Known {
            longest: known.longest + 3,
            units: None,
            range,
        })
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
                (!x.is_nan()).then_some(known(Some(Range::known(x))))
            }
            Term::Bytes { array, off, .. } => {
                if off % u64::from(fmt.bits() / 8) != 0 {
                    return None;
                }
                let own = self.arrays.0.get(array.0 as usize)?.elem;
                (self.store.sort(t) == Sort::Bits(fmt.bits() as u8)).then_some(())?;
                let said = self.facts.numbers_of(array);
                let said = said.filter(|n| n.fmt == fmt && own == Some(ElemTy::Float(fmt)));
                let range = said.map(|n| Range::of(&[n.ends().0, n.ends().1], 0.0).widened());
                Some(known(range))
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

/// The magnitude below which an operation takes numbers for 0.
fn flushed(operation: &Operation) -> f64 {
    let (precision, least) = number::precision(operation.src);
    match operation.mods.ftz {
        true => f64::exp2(f64::from(least + precision as i32 - 1)),
        false => 0.0,
    }
}

/// What is known of a result.
fn result(operation: &Operation, operands: &[Known], tie: Tie) -> Option<Known> {
    let m = &operation.mods;
    if m.xorsign_abs || m.abs {
        return None;
    }
    let longest = operands.iter().map(|k| k.longest).max().unwrap_or(0);
    let (precision, _) = number::precision(operation.fmt);
    let half = f64::exp2(-f64::from(precision));
    let rounds = match operation.does {
        Does::Float(FloatOp::Copysign) => return None,
        Does::ToInt(_) | Does::OfInt(_) | Does::Compare(_) | Does::Test(_) | Does::Product(..) => {
            return None;
        }
        Does::Float(_) | Does::Convert => operation.rounds(),
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
        range: operands
            .iter()
            .map(|k| k.range)
            .collect::<Option<Vec<Range>>>()
            .and_then(|all| enclosure::result(operation, &all, unit, tie)),
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
