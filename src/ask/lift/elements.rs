//! What a launch left in its outputs, as trees.
//!
//! Library functions get their names and constants their readings as in a decision. What is left of the constants
//! stays whole, as a symbol for each number: `x*a + x*b` is not `x*(a + b)` with a number that the kernel does not
//! have, and its formula has the numbers of the kernel. Every name of an index is that of a shape that was bound.

use indexmap::IndexSet;
use num_traits::Signed;
use rustc_hash::FxHashMap;

use super::canon::Importer;
use super::numbers::decimal;
use super::places::Places;
use super::print::is_plain;
use super::tree::{Forest, Id, Q};
use crate::decide::goal;
use crate::kernel::Fmt;
use crate::norm::{self, Normalizer, Sign};
use crate::reading::Reading;
use crate::reading::constants::Readings;
use crate::reading::functions::Idioms;
use crate::sim::Outcome;
use crate::spec::{Arrays, ElemTy, Limits, Role, limits};
use crate::term::rebuild::rebuild;
use crate::term::{ArrayId, Term, TermId, TermStore};

/// Elements of one output that are looked at: beyond that, some of them stand for all.
const SAMPLE: usize = 1 << 10;

/// Elements of one output that are looked at first, if it has many more.
const FEW: usize = 1 << 6;

/// Work of one canonical form.
const WORK: u64 = 1 << 24;

/// How the values of elements become trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// By their canonical forms.
    Canonical,
    /// As the kernel computes them.
    Written,
}

/// Which elements are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    /// Few of many.
    Few,
    /// All of a small output, some of a large one.
    Many,
}

/// Indices of elements with their values.
type Elements = Vec<(Vec<i64>, Id)>;

/// An output of one launch.
pub(super) struct Output {
    /// The array.
    pub array: ArrayId,
    /// The elements that are written.
    pub elements: Elements,
    /// Elements that are not.
    pub absent: Vec<Vec<i64>>,
}

/// Why an output has no trees.
pub(super) type Resisting = Vec<(ArrayId, String)>;

/// The elements of an output as terms.
struct Chosen {
    array: ArrayId,
    written: Vec<(Vec<i64>, TermId)>,
    absent: Vec<Vec<i64>>,
    /// The values of each index at few elements, if there are many.
    few: Option<Vec<Vec<i64>>>,
}

impl Chosen {
    /// Whether an element is one of the sample.
    fn is_in(&self, sample: Sample, at: &[i64]) -> bool {
        match (&self.few, sample) {
            (Some(few), Sample::Few) => at.iter().zip(few).all(|(i, l)| l.contains(i)),
            _ => true,
        }
    }
}

/// What a launch left in its outputs, as terms with names for functions and symbols for numbers.
pub(super) struct Terms {
    store: TermStore,
    outputs: Vec<Chosen>,
    /// Outputs that have no terms, and why.
    pub resisting: Resisting,
}

impl Terms {
    /// The terms of the elements of each output.
    pub(super) fn of(outcome: Outcome, arrays: &Arrays, constants: &mut IndexSet<Q>) -> Terms {
        let Outcome {
            mut store, writes, ..
        } = outcome;
        let (mut outputs, mut resisting) = (Vec::new(), Vec::new());
        for (&array, written) in &writes {
            let info = &arrays[array];
            if !goal::is_compared(info) {
                continue;
            }
            let Some(elem) = info.elem.filter(|_| !info.shape.is_empty()) else {
                let why = "its type and shape are not bound: --arg KEY=out:f32[...]";
                resisting.push((array, why.to_string()));
                continue;
            };
            let mut chosen = Chosen {
                array,
                written: Vec::new(),
                absent: Vec::new(),
                few: few(&info.shape),
            };
            for at in sample(&info.shape) {
                let off = offset(&at, &info.shape) * elem.bytes();
                let bytes = elem.bytes();
                let (bits, mask) = goal::content(&mut store, written, (array, info), off, bytes);
                if mask == 0 && info.role == Some(Role::Out) {
                    chosen.absent.push(at);
                    continue;
                }
                let real = match elem {
                    ElemTy::Float(fmt) => store.of_selected_bits(fmt, bits),
                    ElemTy::Int { signed, .. } => store.of_int(signed, bits),
                };
                chosen.written.push((at, real));
            }
            outputs.push(chosen);
        }
        let elements = outputs.iter().flat_map(|c| c.written.iter());
        let roots: Vec<TermId> = elements.map(|e| e.1).collect();
        let (store, roots) = read(&store, &roots, constants);
        let elements = outputs.iter_mut().flat_map(|c| c.written.iter_mut());
        elements.zip(roots).for_each(|(e, t)| e.1 = t);
        Terms {
            store,
            outputs,
            resisting,
        }
    }

    /// The outputs that have terms.
    pub(super) fn arrays(&self) -> impl Iterator<Item = ArrayId> {
        self.outputs.iter().map(|o| o.array)
    }

    /// True if some outputs have elements beyond a small sample.
    pub(super) fn has_many(&self) -> bool {
        self.outputs.iter().any(|o| o.few.is_some())
    }

    /// The trees of the elements of each output of which `is_open` holds.
    pub(super) fn trees(
        &self,
        (way, sample): (Way, Sample),
        is_open: &dyn Fn(ArrayId) -> bool,
        (arrays, limits): (&Arrays, &Limits),
        forest: &mut Forest,
    ) -> (Vec<Output>, Resisting) {
        let own = norm::Limits {
            deadline: limits.deadline,
            stopped: limits::stopped,
            max_work: WORK,
            ..norm::Limits::default()
        };
        let mut norm = Normalizer::new(&self.store, own);
        for t in 0..self.store.len() as u32 {
            let t = TermId(t);
            if let Term::Elem {
                array: ArrayId::NUMBERS,
                ..
            } = self.store.get(t)
            {
                norm.assume(t, Sign::POS);
            }
        }
        let mut importer = Importer {
            norm,
            store: &self.store,
            forest,
            places: Places(arrays),
            done: FxHashMap::default(),
            bases: FxHashMap::default(),
            roots: FxHashMap::default(),
            limits,
            steps: 0,
        };
        let (mut out, mut resisting) = (Vec::new(), Vec::new());
        for chosen in self.outputs.iter().filter(|c| is_open(c.array)) {
            let array = chosen.array;
            let is_in = |at: &[i64]| chosen.is_in(sample, at);
            let written = chosen.written.iter().filter(|e| is_in(&e.0));
            let written: Vec<(Vec<i64>, TermId)> = written.cloned().collect();
            let absent = chosen.absent.iter().filter(|at| is_in(at));
            let elements = limits.guarded(|| importer.elements(way, &written));
            match elements.unwrap_or_else(|why| Err(why.into())) {
                Ok(elements) => out.push(Output {
                    array,
                    elements,
                    absent: absent.cloned().collect(),
                }),
                Err(why) => resisting.push((array, why)),
            }
        }
        (out, resisting)
    }
}

impl Importer<'_, '_> {
    fn elements(&mut self, way: Way, written: &[(Vec<i64>, TermId)]) -> Result<Elements, String> {
        if way == Way::Canonical {
            let trees = written.iter();
            return trees
                .map(|(at, t)| Ok((at.clone(), self.term(*t)?)))
                .collect();
        }
        let roots: Vec<TermId> = written.iter().map(|e| e.1).collect();
        let made = self.as_written(&roots);
        let tree = |(at, t): &(Vec<i64>, TermId)| match made.get(t) {
            Some(Ok(id)) => Ok((at.clone(), *id)),
            Some(Err(why)) => Err(why.clone()),
            None => Err("an element that was not met".into()),
        };
        written.iter().map(tree).collect()
    }
}

/// Terms with names for functions and symbols for numbers.
fn read(
    store: &TermStore,
    roots: &[TermId],
    constants: &mut IndexSet<Q>,
) -> (TermStore, Vec<TermId>) {
    let idioms = Idioms::of(store, roots, &Limits::NONE);
    let mut named = TermStore::new();
    let roots = idioms.apply(store, roots, &mut named);
    let readings = Readings::of(&named, &roots, &Limits::NONE);
    let mut meant = TermStore::new();
    let roots = readings.apply(&named, &roots, &mut meant);
    let mut out = TermStore::new();
    let roots = rebuild(&meant, &roots, &mut out, |s, t, _| {
        let q = meant.as_const(t).filter(|q| !is_plain(q))?;
        let number = decimal(&q.abs());
        let off = constants.insert_full(number).0 as u64 * 8;
        let symbol = s.elem(ArrayId::NUMBERS, Fmt::F64, off);
        Some(if q.is_negative() {
            s.neg(symbol)
        } else {
            symbol
        })
    });
    (out, roots)
}

fn offset(at: &[i64], shape: &[u64]) -> u64 {
    at.iter().zip(shape).fold(0, |o, (&i, &n)| o * n + i as u64)
}

/// Values of an index: all, or those near the ends and in between.
fn spread(n: u64, most: u64, ends: u64) -> Vec<i64> {
    let step = (n / most.max(1)).max(1);
    let near_end = |i: u64| i < ends || i + ends > n;
    (0..n)
        .filter(|&i| n <= most || near_end(i) || i % step == step / 2)
        .map(|i| i as i64)
        .collect()
}

/// How many values each of some indices has, so that there are so many elements.
fn share(shape: &[u64], elements: usize) -> u64 {
    let total = shape.iter().try_fold(1u64, |a, &b| a.checked_mul(b));
    match total {
        Some(n) if n <= elements as u64 => u64::MAX,
        _ => (elements as f64).powf(1.0 / shape.len() as f64) as u64,
    }
}

/// The values of each index at few elements of those that are looked at, if there are many more.
fn few(shape: &[u64]) -> Option<Vec<Vec<i64>>> {
    let total = shape.iter().fold(1u64, |a, &b| a.saturating_mul(b));
    let most = share(shape, FEW);
    let known = share(shape, SAMPLE);
    let values = |&n: &u64| {
        let all = spread(n, known, 3);
        let few = spread(all.len() as u64, most, 2);
        few.into_iter().map(|i| all[i as usize]).collect()
    };
    (total > 4 * FEW as u64).then(|| shape.iter().map(values).collect())
}

/// Indices of the elements of a shape: all, or those near the ends and in between.
fn sample(shape: &[u64]) -> Vec<Vec<i64>> {
    let most = share(shape, SAMPLE);
    let mut out = vec![Vec::new()];
    for &n in shape {
        let values = spread(n, most, 3);
        out = out
            .into_iter()
            .flat_map(|at: Vec<i64>| {
                values.iter().map(move |&v| {
                    let mut next = at.clone();
                    next.push(v);
                    next
                })
            })
            .collect();
    }
    out
}
