//! The errors of a pair on many inputs.
//!
//! Both kernels are executed on each input with the machine's arithmetic ([`super::execute`]), beside the real value of
//! the reference's formula ([`super::shadow`]). Errors are counted in units in the last place of the output's type at
//! the real value, the largest one evaluated once more with known error before it is believed. What is found worst is
//! changed further. The table is about what was executed: a bound for all inputs it is not.
//!
//! Source of the unit: N. J. Higham, "Accuracy and Stability of Numerical Algorithms", section 2.1; of the test beside
//! it: the documentation of `torch.testing.assert_close`, whose defaults are one row for each type.

use std::collections::BTreeMap;

use crate::answer::rounding::{Close, Error, Kind, Measured, Rounding, Spread, Worst};
use crate::answer::{Part, Sides};
use crate::explain::text;
use crate::grid::Subject;
use crate::kernel::Fmt;
use crate::number;
use crate::number::random::Random;
use crate::spec::{Arrays, ElemTy};
use crate::term::ArrayId;

use super::bound::bounds;
use super::confirm::shown;
use super::constants::{Near, WAYS, constants};
use super::execute::{Ran, bits, execute};
use super::limits::LIMITS;
use super::sample::{LAWS, PLAIN, changed, draw, draw_near};
use super::shadow::{Element, Real, Shadow};
use super::shares::shares;

/// Defaults of `torch.testing.assert_close`: rtol and atol.
fn tolerance(fmt: Fmt) -> (f64, f64) {
    match fmt {
        Fmt::F16 => (1e-3, 1e-5),
        Fmt::Bf16 => (1.6e-2, 1e-5),
        Fmt::F32 | Fmt::Tf32 => (1.3e-6, 1e-5),
        Fmt::F64 => (1e-7, 1e-7),
        Fmt::E4m3 | Fmt::E5m2 | Fmt::E2m3 | Fmt::E3m2 | Fmt::E2m1 | Fmt::Ue8m0 => (0.0, 0.0),
    }
}

/// A unit in the last place of a format at a number.
fn ulp(fmt: Fmt, x: f64) -> f64 {
    let (precision, least) = number::precision(fmt);
    let exponent = match x == 0.0 {
        true => least,
        false => libm::ilogb(x) - precision as i32 + 1,
    };
    libm::exp2(f64::from(exponent.max(least)))
}

/// Real values below which a zero comes from underflow: of the format itself, or of a factor in f32.
fn underflow(fmt: Fmt) -> f64 {
    const FACTOR: i32 = -102;
    let (precision, least) = number::precision(fmt);
    libm::exp2(f64::from((least + precision as i32 - 1).max(FACTOR)))
}

/// What is summed up of one kernel over some inputs.
#[derive(Clone, Debug, Default)]
struct Tally {
    spread: Spread,
    squares: f64,
    count: u64,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        let (a, b) = (&mut self.spread, &other.spread);
        a.ulps = a.ulps.max(b.ulps);
        a.relative = a.relative.max(b.relative);
        a.absolute = a.absolute.max(b.absolute);
        a.overflows += b.overflows;
        a.underflows += b.underflows;
        a.nans += b.nans;
        self.squares += other.squares;
        self.count += other.count;
    }

    fn spread(&self) -> Spread {
        Spread {
            mean_ulps: (self.squares / self.count.max(1) as f64).sqrt(),
            ..self.spread
        }
    }
}

/// The optimized kernel beside the reference.
#[derive(Clone, Copy, Debug)]
struct Beside {
    rtol: f64,
    atol: f64,
    same: bool,
}

/// One output over the inputs of one kind.
#[derive(Clone, Debug)]
struct Row {
    samples: u64,
    tallies: [Tally; 2],
    beside: Beside,
}

impl Default for Row {
    fn default() -> Row {
        Row {
            samples: 0,
            tallies: Default::default(),
            beside: Beside {
                rtol: 0.0,
                atol: 0.0,
                same: true,
            },
        }
    }
}

/// The largest error, with the element and the input that it is at.
struct LargestError {
    error: f64,
    worst: Worst,
    at: Element,
    values: Vec<u64>,
}

/// One output over all inputs.
#[derive(Default)]
struct Output {
    rows: BTreeMap<usize, Row>,
    worst: [Option<LargestError>; 2],
    /// The largest magnitude of a real value.
    largest: f64,
    /// The largest error of each element on plain inputs, by its offset.
    by_element: [BTreeMap<u64, f64>; 2],
}

/// A pair that is measured.
pub(crate) struct Measuring<'a> {
    /// The kernels; the reference is missing beside a formula.
    subjects: &'a [Subject<'a>],
    arrays: &'a Arrays,
    shadow: &'a Shadow,
    outputs: BTreeMap<ArrayId, Output>,
    samples: u64,
    skipped: u64,
    /// Samples beside constants.
    added: u64,
    /// Instructions times lanes of what was executed.
    work: u64,
}

/// The kind of inputs that are searched for, and its row.
pub(super) const SEARCHED: &str = "searched";
const LAST: usize = LAWS.len() + 1;

/// The kind of inputs beside constants of the kernels, and its row.
const BESIDE: &str = "beside constants";
const CONSTANTS: usize = LAWS.len();

fn name(law: usize) -> &'static str {
    match law {
        CONSTANTS => BESIDE,
        law => LAWS.get(law).map_or(SEARCHED, |l| l.name),
    }
}

/// Measures a pair on a number of inputs.
pub(crate) fn measure(
    subjects: &[Subject<'_>],
    shadow: &Shadow,
    (asked, seed): (u64, u64),
) -> Rounding {
    let mut out = Rounding {
        seed,
        ..Rounding::default()
    };
    let Some(first) = subjects.first() else {
        return out;
    };
    if shadow.elements.is_empty() {
        out.left_out = Some("no output holds floats that are computed".into());
        return out;
    }
    let least = LAWS.len() as u64;
    let most = (LIMITS.evaluated / shadow.size().max(1)).max(least);
    let count = asked.min(most);
    let mut m = Measuring {
        subjects,
        arrays: first.arrays,
        shadow,
        outputs: BTreeMap::new(),
        samples: 0,
        skipped: 0,
        added: 0,
        work: 0,
    };
    m.run(first, count, seed);
    let mut why = Vec::new();
    let tried = m.samples - m.added + m.skipped;
    if tried < asked {
        why.push(format!("{tried} of {asked} inputs, since they take long"));
    }
    if shadow.elements.len() < shadow.all {
        why.push(format!(
            "{} of {} elements, evenly spread",
            shadow.elements.len(),
            shadow.all
        ));
    }
    if m.skipped > 0 {
        why.push(format!(
            "{} inputs left out, on which a kernel does not end with known values",
            m.skipped
        ));
    }
    out.left_out = (!why.is_empty()).then(|| why.join("; "));
    out.samples = m.samples;
    out.outputs = m.outputs();
    out
}

impl Measuring<'_> {
    fn run(&mut self, first: &Subject<'_>, count: u64, seed: u64) {
        let facts = &self.shadow.store.facts;
        let mut random = Random(seed);
        let mut best = self.beside_constants(first, seed);
        // A third of the inputs is searched for.
        let drawn = count - count / 3;
        for i in 0..count {
            if first.deciding.limits.reached().is_some() || self.work > LIMITS.work {
                return;
            }
            let cells = &self.shadow.cells;
            let (law, values) = match (&best, i < drawn) {
                (Some((_, values)), false) => (LAST, changed(cells, values, facts, &mut random)),
                _ => {
                    let law = i as usize % LAWS.len();
                    (law, draw(&LAWS[law], cells, facts, &mut random))
                }
            };
            let Some(values) = values else {
                self.skipped += 1;
                continue;
            };
            let Some(error) = self.one(law, &values) else {
                self.skipped += 1;
                continue;
            };
            if best.as_ref().is_none_or(|b| error > b.0) {
                best = Some((error, values));
            }
        }
    }

    /// Executes the kernels beside each constant that they choose by, in addition to the inputs that are asked for; the
    /// worst input.
    fn beside_constants(&mut self, first: &Subject<'_>, seed: u64) -> Option<(f64, Vec<u64>)> {
        let all = constants(self.subjects.iter().map(|s| s.kernel));
        let mut random = Random(seed);
        let mut best: Option<(f64, Vec<u64>)> = None;
        let ways = (0..WAYS).flat_map(|way| all.iter().map(move |c| (*c, way)));
        for (constant, way) in ways {
            if first.deciding.limits.reached().is_some() || self.work > LIMITS.work / 2 {
                break;
            }
            let near = Near::new(constant, way, &mut random);
            let (cells, facts) = (&self.shadow.cells, &self.shadow.store.facts);
            let Some(values) = draw_near(&near, cells, facts, &mut random) else {
                continue;
            };
            let error = self.one(CONSTANTS, &values);
            if let Some(error) = error.filter(|e| best.as_ref().is_none_or(|b| e > &b.0)) {
                best = Some((error, values));
            }
        }
        self.added = self.samples;
        best
    }

    /// Executes the kernels on one input; the largest error of the optimized one.
    fn one(&mut self, law: usize, values: &[u64]) -> Option<f64> {
        let input = bits(&self.shadow.cells, values);
        let ran: Vec<Ran> = self
            .subjects
            .iter()
            .map(|s| execute(s, &input, true))
            .collect::<Option<_>>()?;
        self.work += ran
            .iter()
            .map(|r| r.covered.outcome.stats.thread_instructions)
            .sum::<u64>();
        if !ran.iter().all(Ran::is_known) {
            return None;
        }
        self.samples += 1;
        let inputs = self.shadow.inputs(values);
        let real = self.shadow.values(&inputs);
        // Beside a formula the only kernel is the optimized one.
        let first = 2 - ran.len();
        let mut largest: f64 = 0.0;
        let mut touched: Vec<ArrayId> = Vec::new();
        for (e, real) in self.shadow.elements.iter().zip(&real) {
            let fresh = touched.last() != Some(&e.array);
            let output = self.outputs.entry(e.array).or_default();
            let size = real.near().map_or(0.0, f64::abs);
            output.largest = output.largest.max(size);
            let row = output.rows.entry(law).or_default();
            if fresh {
                touched.push(e.array);
                row.samples += 1;
            }
            let bytes = u64::from(e.fmt.bits()) / 8;
            let words: Vec<Option<u64>> = ran
                .iter()
                .map(|r| r.element(e.array, e.off, bytes))
                .collect();
            for (k, word) in words.iter().enumerate() {
                let side = first + k;
                let Some(error) = one(e.fmt, *word, real, &mut row.tallies[side]) else {
                    continue;
                };
                if law < PLAIN {
                    let at = output.by_element[side].entry(e.off).or_default();
                    *at = at.max(error);
                }
                if side == 1 {
                    largest = largest.max(error);
                }
                let found = &mut output.worst[side];
                let least = found.as_ref().map_or(0.0, |w| w.error);
                if error > least
                    && let Some((error, w)) = self.shadow.worst(e, *word, &inputs)
                    && error > least
                {
                    let element = text::index(self.arrays, e.array, e.off, bytes);
                    let input = name(law).into();
                    *found = Some(LargestError {
                        error,
                        worst: Worst {
                            input,
                            element,
                            ..w
                        },
                        at: *e,
                        values: values.to_vec(),
                    });
                }
            }
            if let [Some(x), Some(y)] = words[..] {
                row.beside.add(e.fmt, x, y);
            }
        }
        Some(largest)
    }

    /// What was found.
    fn outputs(self) -> Vec<Measured> {
        let first = 2 - self.subjects.len();
        let bounds = bounds(self.subjects);
        let parts = [Part::Reference, Part::Optimized];
        let all = self.outputs.into_iter().map(|(array, output)| {
            let elements = self.shadow.elements.iter().filter(|e| e.array == array);
            let fmt = elements.clone().next().map_or(Fmt::F32, |e| e.fmt);
            let mut total = [Tally::default(), Tally::default()];
            let mut inputs = Vec::new();
            for (law, row) in &output.rows {
                let mut errors = Sides::default();
                for side in first..2 {
                    total[side].add(&row.tallies[side]);
                    errors.put(parts[side], row.tallies[side].spread());
                }
                let close = (first == 0).then(|| row.beside.close(fmt));
                let name = name(*law).to_string();
                inputs.push(Kind {
                    name,
                    samples: row.samples,
                    errors,
                    close,
                });
            }
            let mut errors = Sides::default();
            for (side, (total, worst)) in total.iter().zip(output.worst).enumerate().skip(first) {
                let operations = worst.as_ref().map_or_else(Vec::new, |w| {
                    let input = bits(&self.shadow.cells, &w.values);
                    shares(&self.subjects[side - first], &w.at, &input)
                });
                let worst = worst.map(|w| w.worst);
                let spread = total.spread();
                let bound = bounds
                    .get(side - first)
                    .and_then(|b| b.get(&array))
                    .map(|b| b.told(output.largest));
                errors.put(
                    parts[side],
                    Error {
                        spread,
                        worst,
                        operations,
                        bound,
                    },
                );
            }
            let mut by_element = Sides::default();
            for (part, elements) in parts.iter().zip(&output.by_element).skip(first) {
                let all = elements.values().copied();
                by_element.put(*part, all.take(LIMITS.listed).collect());
            }
            Measured {
                name: text::array_name(self.arrays, array),
                r#type: text::type_name(ElemTy::Float(fmt)),
                elements: elements.count() as u64,
                errors,
                inputs,
                by_element,
            }
        });
        all.collect()
    }
}

/// Counts the error of one element; in ulps, where both are numbers.
fn one(fmt: Fmt, word: Option<u64>, real: &Real, tally: &mut Tally) -> Option<f64> {
    let bits = word?;
    let exact = real.near()?;
    match number::decode(fmt, bits).value {
        number::Decoded::Nan => {
            tally.spread.nans += 1;
            return None;
        }
        number::Decoded::Infinite => {
            let largest = number::to_double(fmt, number::largest(fmt, false));
            tally.spread.overflows += u64::from(exact.abs() <= largest);
            return None;
        }
        number::Decoded::Zero if exact != 0.0 && exact.abs() < underflow(fmt) => {
            tally.spread.underflows += 1;
            return None;
        }
        number::Decoded::Zero | number::Decoded::Finite { .. } => {}
    }
    let distance = real.distance(fmt, bits)?;
    let s = &mut tally.spread;
    s.absolute = s.absolute.max(distance);
    // Beside a zero that cancellation leaves, every unit is too small to say anything.
    if exact == 0.0 && distance > 0.0 {
        return None;
    }
    let error = distance / ulp(fmt, exact);
    s.ulps = s.ulps.max(error);
    if exact != 0.0 {
        s.relative = s.relative.max(distance / exact.abs());
    }
    tally.squares += error * error;
    tally.count += 1;
    Some(error)
}

impl Shadow {
    /// The error of an element in ulps with known error, and what to show of it.
    fn worst(
        &self,
        e: &Element,
        word: Option<u64>,
        inputs: &crate::term::eval::Inputs,
    ) -> Option<(f64, Worst)> {
        let bits = word?;
        let (real, value) = self.exactly(e, inputs);
        let distance = real.distance(e.fmt, bits)?;
        let error = distance / ulp(e.fmt, real.near()?);
        let ty = ElemTy::Float(e.fmt);
        let exact = text::value(&value, None)?;
        let worst = Worst {
            input: String::new(),
            element: Vec::new(),
            value: shown(ty, bits),
            exact,
        };
        Some((error, worst))
    }
}

impl Beside {
    /// Adds an element of both kernels: `|y - x| <= atol + rtol * |x|`, with equal infinities close and NaN close to
    /// nothing.
    fn add(&mut self, fmt: Fmt, x: u64, y: u64) {
        self.same &= x == y;
        let (rtol, atol) = tolerance(fmt);
        let [a, b] = [x, y].map(|bits| number::to_double(fmt, bits));
        if a == b {
            return;
        }
        let gap = (b - a).abs();
        if !gap.is_finite() {
            (self.rtol, self.atol) = (f64::INFINITY, f64::INFINITY);
            return;
        }
        let over = (gap - atol).max(0.0);
        let least = if over == 0.0 { 0.0 } else { over / a.abs() };
        self.rtol = self.rtol.max(least);
        self.atol = self.atol.max(gap - rtol * a.abs());
    }

    fn close(&self, fmt: Fmt) -> Close {
        let (rtol, atol) = tolerance(fmt);
        let finite = |x: f64| x.is_finite().then_some(x);
        Close {
            passes: self.rtol <= rtol,
            rtol,
            atol,
            least_rtol: finite(self.rtol),
            least_atol: finite(self.atol),
            same_bits: self.same,
        }
    }
}
