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

/// Work of one canonical form.
const WORK: u64 = 1 << 24;

/// An output of one launch.
pub(super) struct Output {
    /// The array.
    pub array: ArrayId,
    /// Indices of elements with their values.
    pub elements: Vec<(Vec<i64>, Id)>,
}

/// Why an output has no trees.
pub(super) type Resisting = Vec<(ArrayId, String)>;

/// The trees of the elements of each output.
pub(super) fn outputs(
    outcome: Outcome,
    arrays: &Arrays,
    limits: &Limits,
    (forest, constants): (&mut Forest, &mut IndexSet<Q>),
) -> (Vec<Output>, Resisting) {
    let Outcome {
        mut store, writes, ..
    } = outcome;
    let (mut chosen, mut resisting) = (Vec::new(), Vec::new());
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
        let mut elements = Vec::new();
        let mut whole = true;
        for at in sample(&info.shape) {
            let off = offset(&at, &info.shape) * elem.bytes();
            let bytes = elem.bytes();
            let (bits, mask) = goal::content(&mut store, written, (array, info), off, bytes);
            whole &= mask != 0 || info.role != Some(Role::Out);
            let real = match elem {
                ElemTy::Float(fmt) => store.of_selected_bits(fmt, bits),
                ElemTy::Int { signed, .. } => store.of_int(signed, bits),
            };
            elements.push((at, real));
        }
        match whole {
            true => chosen.push((array, elements)),
            false => resisting.push((array, "some of its elements are not written".into())),
        }
    }
    let roots: Vec<TermId> = chosen
        .iter()
        .flat_map(|c| c.1.iter().map(|e| e.1))
        .collect();
    let (store, roots) = read(&store, &roots, constants);
    let mut roots = roots.into_iter();
    let own = norm::Limits {
        deadline: limits.deadline,
        stopped: limits::stopped,
        max_work: WORK,
        ..norm::Limits::default()
    };
    let mut norm = Normalizer::new(&store, own);
    for t in 0..store.len() as u32 {
        let t = TermId(t);
        if let Term::Elem {
            array: ArrayId::NUMBERS,
            ..
        } = store.get(t)
        {
            norm.assume(t, Sign::POS);
        }
    }
    let mut importer = Importer {
        norm,
        store: &store,
        forest,
        places: Places(arrays),
        done: FxHashMap::default(),
        bases: FxHashMap::default(),
        roots: FxHashMap::default(),
        limits,
        steps: 0,
    };
    let mut out = Vec::new();
    for (array, elements) in chosen {
        let terms: Vec<(Vec<i64>, TermId)> = elements
            .into_iter()
            .zip(roots.by_ref())
            .map(|((at, _), t)| (at, t))
            .collect();
        let trees = terms.into_iter().map(|(at, t)| Ok((at, importer.term(t)?)));
        match trees.collect::<Result<Vec<_>, String>>() {
            Ok(elements) => out.push(Output { array, elements }),
            Err(why) => resisting.push((array, why)),
        }
    }
    (out, resisting)
}

/// Terms with names for functions and symbols for numbers.
fn read(
    store: &TermStore,
    roots: &[TermId],
    constants: &mut IndexSet<Q>,
) -> (TermStore, Vec<TermId>) {
    let idioms = Idioms::of(store, roots);
    let mut named = TermStore::new();
    let roots = idioms.apply(store, roots, &mut named);
    let readings = Readings::of(&named, &roots);
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

/// Indices of the elements of a shape: all, or those near the ends and in between.
fn sample(shape: &[u64]) -> Vec<Vec<i64>> {
    let total = shape.iter().try_fold(1u64, |a, &b| a.checked_mul(b));
    let near = |n: u64, most: u64| -> Vec<i64> {
        let step = (n / most.max(1)).max(1);
        let near_end = |i: u64| i < 3 || i + 3 > n;
        (0..n)
            .filter(|&i| n <= most || near_end(i) || i % step == step / 2)
            .map(|i| i as i64)
            .collect()
    };
    let most = match total {
        Some(n) if n <= SAMPLE as u64 => u64::MAX,
        _ => (SAMPLE as f64).powf(1.0 / shape.len() as f64) as u64,
    };
    let mut out = vec![Vec::new()];
    for &n in shape {
        let values = near(n, most);
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
