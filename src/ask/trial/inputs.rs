//! Inputs for a run of both kernels on known data, and what such a run tells.
//!
//! The problem: a kernel whose addresses or branches depend on input data has no outcome over
//! symbols, and there is nothing to compare. On one input everything is known. That proves nothing,
//! but it can refute: a wrong lane or a branch that was turned round shows on almost any input.
//! `crate::trial` runs the kernels; here is which inputs are worth it, and when a difference counts.
//!
//! Sound: both kernels were run on the input, and the reference has a value there. Since constants
//! were folded with the data, nothing widens them any more by what their rounding explains; so a
//! difference counts only where it is far larger than that.
//!
//! Not claimed: anything where no difference is found.

use crate::decide::refute::cells::{self, Cell};
use crate::decide::refute::links::within_facts;
use crate::decide::refute::patterns::{self, Pattern};
use crate::explain::{Counterexample, InputValue, Shown, text};
use crate::number::random::Random;
use crate::spec::{Arrays, ElemTy, Given, Origin, Role};
use crate::term::eval::{Cone, Mode, Value, evaluate};
use crate::term::{ArrayId, Fun, Term, TermId, TermStore};

/// Terms beyond which no trial is made.
const MAX_TERMS: usize = 1 << 20;

/// Integers that are given.
const MAX_CELLS: u64 = 1 << 14;

/// Differences below 2^-8 of the larger number, or below 2^-10, do not count.
const RELATIVE: f64 = 1.0 / 256.0;
const ABSOLUTE: f64 = 1.0 / 1024.0;

/// What is tried, the most readable first. Powers of two and small integers keep sums, products and
/// quotients exact, so that their bits are known.
const PATTERNS: [Pattern; 8] = [
    Pattern::All(1.0),
    Pattern::Cycle(1),
    Pattern::Positive(3),
    Pattern::Integers(2),
    Pattern::All(-2.0),
    Pattern::Fractions(1),
    Pattern::Integers(8),
    Pattern::Scaled(6),
];

/// One input.
#[derive(Clone, Debug)]
pub(super) struct Input {
    cells: Vec<(Cell, u64)>,
}

/// The inputs to try on kernels of which these are the terms; the content of an array that is written
/// stays unknown.
pub(super) fn inputs(
    stores: [&TermStore; 2],
    written: impl Fn(ArrayId) -> bool,
    arrays: &Arrays,
    seed: u64,
) -> Vec<Input> {
    if stores.iter().map(|s| s.len()).sum::<usize>() > MAX_TERMS {
        return Vec::new();
    }
    let mut store = stores[0].clone();
    store.import(stores[1]);
    let all: Vec<TermId> = (0..store.len() as u32).map(TermId).collect();
    // A maximum or a select of a value that is far inside depends on it: the thresholds of all.
    let cone = Cone::new(&store, &all);
    let near = patterns::thresholds(&store, &cone);
    let mut cells = cells::cells(&store, &cone, arrays);
    cells.retain(|c| !c.array.is_place() && !written(c.array));
    let mut random = Random(seed);
    let near_by = (0..near.len().min(4)).map(Pattern::Near);
    let patterns = PATTERNS.into_iter().chain(near_by);
    let inputs = patterns.filter_map(|p| {
        let mut values = patterns::candidate(&cells, p, &near, &mut random);
        within_facts(&store.facts, &cells, &mut values).then(|| Input {
            cells: cells.iter().copied().zip(values).collect(),
        })
    });
    if cells.is_empty() {
        return Vec::new();
    }
    inputs.collect()
}

/// Inputs for one kernel: integers that are zeros, small numbers, or a permutation; floats that are zeros or ones,
/// and those of one array zeros and of the others ones.
pub(super) fn plain(store: &TermStore, arrays: &Arrays) -> Vec<Input> {
    if store.len() > MAX_TERMS {
        return Vec::new();
    }
    // Whole arrays, so that what is read later is known too; integers first, which decide most often.
    let (integers, floats) = (given(arrays, false), given(arrays, true));
    let floats: Vec<Cell> = match (integers.len() + floats.len()) as u64 <= MAX_CELLS {
        true => floats,
        false => Vec::new(),
    };
    let first = floats.first().map(|c| c.array);
    let several = floats.iter().any(|c| Some(c.array) != first);
    let keep = |c: &Cell, v: u64| v & (u64::MAX >> (64 - 8 * u32::from(c.bytes)));
    // An array of integers by the index of its element, one of floats by whether it is the first.
    type Fill = (fn(u64) -> u64, fn(bool) -> bool);
    let patterns: [Fill; 7] = [
        (|_| 0, |_| false),
        (|i| i, |_| false),
        (|_| 1, |_| false),
        (|i| i ^ 1, |_| false),
        (|i| i / 2, |_| false),
        (|_| 0, |_| true),
        (|_| 0, |first| !first),
    ];
    let worth = |&(i, _): &(usize, Fill)| match i {
        0 => !integers.is_empty() || !floats.is_empty(),
        1..5 => !integers.is_empty(),
        5 => !floats.is_empty(),
        _ => several,
    };
    let inputs = patterns.into_iter().enumerate().filter(worth);
    let inputs = inputs.filter_map(|(_, (integer, is_one))| {
        let own = integers
            .iter()
            .map(|c| keep(c, integer(c.off / u64::from(c.bytes))));
        let bits = floats.iter().map(|c| match c.ty {
            ElemTy::Float(_) if is_one(Some(c.array) == first) => cells::encode(c.ty, 1.0),
            _ => 0,
        });
        let cells: Vec<Cell> = integers.iter().chain(&floats).copied().collect();
        let mut values: Vec<u64> = own.chain(bits).collect();
        within_facts(&store.facts, &cells, &mut values).then(|| Input {
            cells: cells.into_iter().zip(values).collect(),
        })
    });
    inputs.collect()
}

/// The elements of the arrays of integers, or of floats, that a kernel is given, without contents.
fn given(arrays: &Arrays, floats: bool) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for (i, a) in arrays.0.iter().enumerate() {
        let (ty, bits) = match a.elem {
            Some(ty @ ElemTy::Int { width, .. }) if !floats => (ty, width),
            Some(ty @ ElemTy::Float(f)) if floats => (ty, f.bits() as u8),
            _ => continue,
        };
        let bytes = bits / 8;
        let count = a.extent.unwrap_or(0).checked_div(u64::from(bytes));
        // What others may write while the kernel runs is no input.
        let plain = a.origin == Origin::Pointer && a.role == Some(Role::In);
        let Some(count) = count.filter(|n| cells.len() as u64 + n <= MAX_CELLS) else {
            continue;
        };
        if !plain || a.initial.is_some() {
            continue;
        }
        let array = ArrayId(i as u32);
        cells.extend((0..count).map(|k| Cell {
            array,
            off: k * u64::from(bytes),
            bytes,
            ty,
        }));
    }
    cells
}

impl Input {
    /// The content of the arrays.
    pub(super) fn given(&self) -> Vec<Given> {
        let given = |&(c, value): &(Cell, u64)| Given {
            array: c.array,
            off: c.off,
            bytes: c.bytes,
            value,
        };
        self.cells.iter().map(given).collect()
    }

    /// The elements that are not zero, for people.
    pub(super) fn shown(&self, arrays: &Arrays) -> Vec<InputValue> {
        let shown = |&(cell, bits): &(Cell, u64)| InputValue {
            array: cell.array,
            name: text::array_name(arrays, cell.array),
            element: text::index(arrays, cell.array, cell.off, cell.bytes as u64),
            offset: cell.off,
            ty: text::type_name(cell.ty),
            value: text::bits(bits, Some(cell.ty)),
        };
        let named = self.cells.iter().filter(|(_, v)| *v != 0);
        named.map(shown).collect()
    }
}

/// True if what a run on known data wrote has a value everywhere.
pub(super) fn has_values(store: &TermStore, written: &[TermId]) -> bool {
    let mode = Mode::exact(96);
    let values = evaluate(store, written, &Default::default(), mode);
    let lacks = |v: &Value| {
        matches!(
            v,
            Value::Undefined | Value::NotFinite | Value::PosInf | Value::NegInf | Value::Pole(_)
        )
    };
    !values.iter().any(lacks)
}

/// True if terms round to integers: a number near a tie may then go either way.
pub(super) fn rounds(store: &TermStore) -> bool {
    let rounding = |t: Term<'_>| {
        matches!(
            t,
            Term::Clamp { .. } | Term::Fun(Fun::Floor | Fun::Ceil | Fun::Trunc | Fun::RoundEven, _)
        )
    };
    (0..store.len() as u32).any(|i| rounding(store.get(TermId(i))))
}

/// True if the values of a counterexample are so far apart that no rounding explains it. `rounds`
/// says that integers may come from rounding.
pub(super) fn counts(example: &Counterexample, rounds: bool) -> bool {
    let (Some(x), Some(y)) = (&example.reference, &example.optimized) else {
        return true;
    };
    let float = |s: &Shown| s.approx.filter(|_| s.bits.is_none() || !rounds);
    match (float(x), float(y)) {
        (Some(x), Some(y)) => {
            let (gap, size) = ((x - y).abs(), x.abs().max(y.abs()));
            gap > ABSOLUTE && gap > RELATIVE * size
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Fmt;
    use crate::spec::{Array, Origin};

    fn number(v: f64, bits: Option<u64>) -> Option<Shown> {
        Some(Shown {
            text: v.to_string(),
            approx: Some(v),
            bits,
        })
    }

    #[test]
    fn only_large_differences_count() {
        let example = |reference, optimized| Counterexample {
            array: ArrayId(0),
            output: String::new(),
            element: Vec::new(),
            offset: 0,
            elem: None,
            reference,
            optimized,
            message: String::new(),
            difference: None,
            inputs: Vec::new(),
            writes: None,
        };
        for (x, y, large) in [
            (1.0, 1.01, true),
            (1.0, 1.001, false),
            (1e-4, 2e-4, false),
            (0.0, 0.5, true),
            (1e6, 1.001e6, false),
        ] {
            let e = example(number(x, None), number(y, None));
            assert_eq!(counts(&e, false), large, "{x} {y}");
        }
        // Only one kernel writes, or the optimized one has no value.
        assert!(counts(&example(number(1.0, None), None), true));
        // An integer that was rounded may be off by one.
        let e = example(number(1.0, Some(1)), number(2.0, Some(2)));
        assert!(counts(&e, false) && !counts(&e, true));
    }

    #[test]
    fn inputs_leave_out_what_is_written() {
        let mut s = TermStore::new();
        let x = s.elem(ArrayId(0), Fmt::F32, 4);
        let y = s.elem(ArrayId(1), Fmt::F32, 0);
        s.add(x, y);
        let array = |name: &str| Array {
            name: name.to_string(),
            origin: Origin::Pointer,
            role: None,
            elem: None,
            shape: Vec::new(),
            extent: None,
            initial: None,
            only: None,
            align: None,
            pointers: None,
            handed_on: false,
        };
        let arrays = Arrays(vec![array("a"), array("b")]);
        let all = inputs([&s, &TermStore::new()], |a| a.0 == 1, &arrays, 1);
        assert_eq!(all.len(), PATTERNS.len());
        let one = Given {
            array: ArrayId(0),
            off: 4,
            bytes: 4,
            value: 1f32.to_bits() as u64,
        };
        assert_eq!(all[0].given(), [one]);
        assert_eq!(all[0].shown(&arrays)[0].value.text, "1");
        assert!(inputs([&s, &TermStore::new()], |_| true, &arrays, 1).is_empty());
    }

    #[test]
    fn a_quotient_by_zero_is_no_value() {
        let mut s = TermStore::new();
        let (one, zero) = (s.integer(1), s.integer(0));
        let bad = s.div(one, zero);
        assert!(has_values(&s, &[one]));
        assert!(!has_values(&s, &[one, bad]));
    }
}
