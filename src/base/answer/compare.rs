//! What a comparison found.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value for people and for machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Value {
    /// The value as text: exact where it is short, else decimal digits that are all correct.
    pub text: String,
    /// The nearest double; null for what has none.
    pub approx: Option<f64>,
    /// The bits, where the value is an integer or raw bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits: Option<u64>,
}

/// The smallest place at which the expressions of an element differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// What differs, as a sentence without a full stop.
    pub message: String,
    /// The reference's expression around it.
    pub reference: String,
    /// The optimized kernel's expression around it.
    pub optimized: String,
}

/// An input on which an output differs, or an element that only one kernel writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counterexample {
    /// The output array.
    pub output: String,
    /// Index of the element by dimension; the flat index where the shape is not known.
    pub element: Vec<u64>,
    /// The value that the reference computes; null if it writes none.
    pub reference: Option<Value>,
    /// The value that the optimized kernel computes; null if it writes none or it is undefined.
    pub optimized: Option<Value>,
    /// What is wrong, as a sentence.
    pub message: String,
    /// Where the expressions of the two kernels differ; null where only one kernel writes.
    pub difference: Option<Difference>,
    /// The inputs that are not zero by array; every other input is zero.
    pub inputs: IndexMap<String, Vec<InputElement>>,
    /// How many elements each kernel writes, where they write different ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<Writes>,
    /// Of `rows`: which rows these are.
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<super::Rows>,
    /// What both kernels write there when they are executed on the input with the machine's arithmetic; null if they were
    /// not, or the element is not known then.
    #[serde(default)]
    pub machine: Option<Machine>,
}

/// The elements of outputs that two kernels write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Writes {
    /// The elements that the reference writes.
    pub reference: u64,
    /// The elements that the optimized kernel writes.
    pub optimized: u64,
    /// Those that the reference alone writes.
    pub only_reference: u64,
    /// Those that the optimized kernel alone writes.
    pub only_optimized: u64,
}

/// An element of a counterexample on the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// What the reference writes; null if it writes nothing. A formula has its real value.
    pub reference: Option<Value>,
    /// What the optimized kernel writes; null if it writes nothing or ends in a defect.
    pub optimized: Option<Value>,
    /// True if these are not the same number.
    pub differs: bool,
    /// The same as a sentence without a full stop.
    pub message: String,
}

/// One input element of a counterexample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InputElement {
    /// Index by dimension; the flat index where the shape is not known, empty for scalars.
    pub element: Vec<u64>,
    /// Element type: `f32`, `u32`, ...
    pub r#type: String,
    /// Its value.
    pub value: Value,
}

/// The outputs of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Outputs {
    /// Those that a `check` compared.
    Compared(Vec<Output>),
    /// Those that a `run` wrote.
    Written(Vec<Written>),
    /// Those that a `lift` found formulas of.
    Lifted(Vec<Lifted>),
}

impl Outputs {
    /// Those that were compared.
    pub fn compared(&self) -> &[Output] {
        match self {
            Outputs::Compared(all) => all,
            Outputs::Written(_) | Outputs::Lifted(_) => &[],
        }
    }

    /// What a `run` wrote.
    pub fn written(&self) -> &[Written] {
        match self {
            Outputs::Written(all) => all,
            Outputs::Compared(_) | Outputs::Lifted(_) => &[],
        }
    }

    /// Those that have formulas.
    pub fn lifted(&self) -> &[Lifted] {
        match self {
            Outputs::Lifted(all) => all,
            Outputs::Compared(_) | Outputs::Written(_) => &[],
        }
    }
}

/// What an array holds after a `run`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    /// Its name.
    pub name: String,
    /// Type of its elements.
    pub r#type: String,
    /// Dimensions, slowest first.
    pub shape: Vec<u64>,
    /// The elements, flat: numbers; strings for what is none and for integers beyond 2^53; null where nothing was
    /// written.
    pub values: Vec<serde_json::Value>,
}

/// An output with its formula.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lifted {
    /// Its name.
    pub name: String,
    /// What `--formula` accepts and proves.
    pub formula: String,
    /// The sizes at which it is proved; one without names for a launch without `--for`.
    pub proved_at: Vec<IndexMap<String, i64>>,
    /// True if nothing is proved between several sizes, for which the formula was made.
    pub conjectured: bool,
}

/// What was found about one output array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Number of elements that either kernel writes.
    pub elements: u64,
    /// Number of those that were proved equal (not all are tried once one is refuted).
    pub proved: u64,
    /// How many of those each tactic proved.
    pub by: IndexMap<String, u64>,
}

/// What proofs by evaluation at random points may be wrong by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chance {
    /// Number of elements that were proved that way.
    pub elements: u64,
    /// Number of points.
    pub points: u64,
    /// A bound on the chance that any of them differs, as a power of 2.
    pub error: String,
    /// Its binary logarithm.
    pub log2_error: f64,
}
