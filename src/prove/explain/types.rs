//! The answer about a pair, in plain types that the reports print.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use crate::answer::{self, Assumption};
pub use crate::answer::{Difference, Value as Shown, Writes};
use crate::decide::Chance;
use crate::sim::{UnknownKind, WarningKind};
use crate::spec::ElemTy;
use crate::term::ArrayId;

/// The answer about a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every compared element was proved.
    Equivalent,
    /// A counterexample was found.
    NotEquivalent,
    /// Neither.
    Unknown,
}

/// One input element of a counterexample.
#[derive(Clone, Debug, PartialEq)]
pub struct InputValue {
    /// The array.
    pub array: ArrayId,
    /// Its name.
    pub name: String,
    /// Index of the element by dimension; the flat index where the shape is not known, empty for
    /// scalars.
    pub element: Vec<u64>,
    /// Byte offset of the element.
    pub offset: u64,
    /// Element type: `f32`, `u32`, ...
    pub ty: String,
    /// Its value.
    pub value: Shown,
}

/// An input on which an output differs, or an element that only one kernel writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Counterexample {
    /// The output array.
    pub array: ArrayId,
    /// Its name.
    pub output: String,
    /// Index of the element by dimension; the flat index where the shape is not known.
    pub element: Vec<u64>,
    /// Byte offset of the element.
    pub offset: u64,
    /// Its type, where one is known.
    pub elem: Option<ElemTy>,
    /// The value that the reference computes; `None` if it writes none.
    pub reference: Option<Shown>,
    /// The value that the optimized kernel computes; `None` if it writes none or it is undefined.
    pub optimized: Option<Shown>,
    /// What is wrong, as a sentence.
    pub message: String,
    /// Where the expressions of the two kernels differ; `None` where only one kernel writes.
    pub difference: Option<Difference>,
    /// The inputs that are not zero, in array and offset order; every other input is zero.
    pub inputs: Vec<InputValue>,
    /// How many elements each kernel writes, where they write different ones.
    pub writes: Option<Writes>,
}

/// A reason for `unknown`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// Its kind.
    pub kind: UnknownKind,
    /// A sentence that names the element, and what differs.
    pub message: String,
    /// Number of elements of which this is said.
    pub count: u64,
    /// Where the expressions of the named element differ.
    pub difference: Option<Difference>,
}

/// What was found about one output array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSummary {
    /// The array.
    pub array: ArrayId,
    /// Its name.
    pub name: String,
    /// Number of elements that either kernel writes.
    pub elements: u64,
    /// Number of those that were proved equal (not all are tried once one is refuted).
    pub proved: u64,
    /// How many of those each tactic proved, and how many are others with their inputs renamed.
    pub by: BTreeMap<&'static str, u64>,
}

/// Counts of one decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Verification conditions.
    pub conditions: u64,
    /// How many of them each tactic proved, and how many are others with their inputs renamed.
    pub by: BTreeMap<&'static str, u64>,
    /// Terms of both kernels together.
    pub terms: u64,
    /// Inputs that were tried in search of a witness.
    pub candidates: u64,
}

/// The answer about a pair, with everything that a report needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The verdict.
    pub verdict: Verdict,
    /// By output array, in array order.
    pub outputs: Vec<OutputSummary>,
    /// The witness of `NotEquivalent`.
    pub counterexample: Option<Counterexample>,
    /// Reasons for `Unknown`.
    pub unknowns: Vec<Unresolved>,
    /// Rounding or bits of computed numbers are why every open element is open, and there is one.
    pub by_rounding: bool,
    /// Warnings, as sentences by kind.
    pub warnings: Vec<(WarningKind, String)>,
    /// What the proof took for granted.
    pub assumptions: Vec<Assumption>,
    /// The error of proofs by evaluation, where there are any.
    pub chance: Option<Chance>,
    /// Counts.
    pub counts: Counts,
}

impl From<&OutputSummary> for answer::Output {
    fn from(o: &OutputSummary) -> Self {
        answer::Output {
            name: o.name.clone(),
            elements: o.elements,
            proved: o.proved,
            by: o.by.iter().map(|(t, n)| (t.to_string(), *n)).collect(),
        }
    }
}

impl From<Counterexample> for answer::Counterexample {
    fn from(c: Counterexample) -> Self {
        let mut inputs: IndexMap<String, Vec<answer::InputElement>> = Default::default();
        for i in c.inputs {
            inputs
                .entry(i.name)
                .or_default()
                .push(answer::InputElement {
                    element: i.element,
                    r#type: i.ty,
                    value: i.value,
                });
        }
        answer::Counterexample {
            output: c.output,
            element: c.element,
            reference: c.reference,
            optimized: c.optimized,
            message: c.message,
            difference: c.difference,
            inputs,
            writes: c.writes,
            rows: None,
            machine: None,
        }
    }
}

impl From<&Counts> for answer::DecisionCounts {
    fn from(c: &Counts) -> Self {
        answer::DecisionCounts {
            conditions: c.conditions,
            by: c.by.iter().map(|(t, n)| (t.to_string(), *n)).collect(),
            terms: c.terms,
            candidates: c.candidates,
        }
    }
}
