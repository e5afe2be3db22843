//! What differs between the sides of a condition, for people.
//!
//! Both terms are copied into a store of their own, with rounded constants and functions that a
//! compiler expanded read as what they stand for (`constants`, `idioms`), and the canonical forms
//! are compared part by part (`norm::Normalizer::difference`). Where that says nothing, the terms
//! are compared as they are, and what has no canonical form is followed down while one operand of
//! one operation differs.
//!
//! What is not claimed: anything that a verdict rests on. The readings that are used here are no
//! assumptions of the answer.

use super::text;
use super::types::Difference;
use crate::decide::Options;
use crate::norm::{self, Normalizer};
use crate::reading::Reading;
use crate::reading::constants::Readings;
use crate::reading::functions::Idioms;
use crate::spec::{Arrays, limits};
use crate::term::rebuild::rebuild;
use crate::term::show::Bounds;
use crate::term::{ArrayId, Term, TermId, TermStore};

/// Terms below a pair beyond which it is only followed down.
const MAX_TERMS: usize = 1 << 20;

/// What the normaliser may spend here: some tenths of a second, since what is wrong is known already.
const MAX_WORK: u64 = 1 << 21;
const MAX_HELD: usize = 1 << 24;

const BOUNDS: Bounds = Bounds {
    depth: 6,
    chars: 120,
};

/// Characters of a formula that a sentence quotes.
const SHORT: usize = 60;

/// Where two terms differ.
pub(crate) fn between(
    store: &TermStore,
    arrays: &Arrays,
    options: &Options,
    pair: (TermId, TermId),
) -> Difference {
    let roots = [pair.0, pair.1];
    let late = options.limits.reached().is_some();
    let formal = || {
        if late || store.cone_size(roots) > MAX_TERMS {
            return None;
        }
        let read = match options.exact_constants {
            true => None,
            false => as_read(store, arrays, options, &roots),
        };
        if let Some(d) = read.as_ref().filter(|d| d.specific) {
            return Some(shown(d));
        }
        let mut copy = TermStore::new();
        let roots = rebuild(store, &roots, &mut copy, |_, _, _| None);
        let plain = of_forms(&copy, arrays, options, &roots);
        match (plain, read) {
            (Some(d), _) if d.specific => Some(shown(&d)),
            (_, Some(d)) | (Some(d), None) => Some(shown(&d)),
            (None, None) => None,
        }
    };
    formal().unwrap_or_else(|| followed(store, arrays, pair))
}

fn shown(d: &norm::Difference) -> Difference {
    Difference {
        message: d.message.clone(),
        reference: d.reference.clone(),
        optimized: d.optimized.clone(),
    }
}

/// The difference where constants and expanded functions are what they stand for.
fn as_read(
    store: &TermStore,
    arrays: &Arrays,
    options: &Options,
    roots: &[TermId],
) -> Option<norm::Difference> {
    let idioms = Idioms::of(store, roots, &options.limits);
    let mut named = TermStore::new();
    let roots = idioms.apply(store, roots, &mut named);
    let readings = Readings::of(&named, &roots, &options.limits);
    if readings.is_empty() && idioms.is_empty() {
        return None;
    }
    let mut read = TermStore::new();
    let roots = readings.apply(&named, &roots, &mut read);
    of_forms(&read, arrays, options, &roots)
}

fn of_forms(
    store: &TermStore,
    arrays: &Arrays,
    options: &Options,
    roots: &[TermId],
) -> Option<norm::Difference> {
    let limits = norm::Limits {
        deadline: options.limits.deadline,
        stopped: limits::stopped,
        max_work: MAX_WORK,
        max_held: MAX_HELD,
        ..norm::Limits::default()
    };
    let names = |a: ArrayId, off: u64, bytes: u64| {
        let chosen = text::chosen(store, arrays, (a, off, bytes), &short, BOUNDS);
        chosen.unwrap_or_else(|| short(&text::element(arrays, a, off, bytes)))
    };
    Normalizer::new(store, limits).difference(roots[0], roots[1], &names)
}

/// `param_3[0]` for `kernel_name_param_3[0]`, as compilers name parameters: formulas are long enough without the kernel's
/// name.
fn short(name: &str) -> String {
    let compiler = name.rsplit_once("_param_");
    match compiler.filter(|(_, rest)| rest.starts_with(|c: char| c.is_ascii_digit())) {
        Some((_, rest)) => format!("param_{rest}"),
        None => name.to_owned(),
    }
}

/// The smallest terms that differ, without their canonical forms.
fn followed(store: &TermStore, arrays: &Arrays, pair: (TermId, TermId)) -> Difference {
    let (a, b) = smallest(store, pair.0, pair.1);
    let [reference, optimized] = [a, b].map(|t| text::formula(store, arrays, t, BOUNDS));
    let message = match reference != optimized && reference.len().max(optimized.len()) <= SHORT {
        true => format!("the optimized kernel has `{optimized}` instead of `{reference}`"),
        false => "the expressions differ".to_string(),
    };
    Difference {
        message,
        reference,
        optimized,
    }
}

/// Follows both terms down while they are the same operation and differ in one operand only.
pub(crate) fn smallest(store: &TermStore, mut a: TermId, mut b: TermId) -> (TermId, TermId) {
    loop {
        if !same_operation(store, a, b) {
            return (a, b);
        }
        let (mut x, mut y) = (Vec::new(), Vec::new());
        store.children(a, |c| x.push(c));
        store.children(b, |c| y.push(c));
        if x.len() != y.len() || x.len() > 3 {
            return (a, b);
        }
        // Operands stand in the order of their ids, so that common ones may be shifted.
        let only = |x: &[TermId], y: &[TermId]| -> Vec<TermId> {
            x.iter().copied().filter(|t| !y.contains(t)).collect()
        };
        match (&only(&x, &y)[..], &only(&y, &x)[..]) {
            ([p], [q]) => (a, b) = (*p, *q),
            _ => return (a, b),
        }
    }
}

fn same_operation(store: &TermStore, a: TermId, b: TermId) -> bool {
    match (store.get(a), store.get(b)) {
        (Term::Fun(f, _), Term::Fun(g, _)) => f == g,
        (Term::BitsOp(f, ..), Term::BitsOp(g, ..)) => f == g,
        (Term::OfReal { fmt: f, .. }, Term::OfReal { fmt: g, .. }) => f == g,
        (Term::Add(..), Term::Add(..))
        | (Term::Mul(..), Term::Mul(..))
        | (Term::Div(..), Term::Div(..))
        | (Term::Neg(_), Term::Neg(_))
        | (Term::Max(..), Term::Max(..))
        | (Term::Min(..), Term::Min(..))
        | (Term::Select(..), Term::Select(..)) => true,
        _ => false,
    }
}
