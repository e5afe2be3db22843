//! What was run: kernels, launches, what their parameters were bound to.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Part, WarningKind};

/// Something about the one kernel of a command, or about both of a pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sides<T> {
    /// Of the only kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<T>,
    /// Of the reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<T>,
    /// Of the optimized kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optimized: Option<T>,
}

impl<T> Default for Sides<T> {
    fn default() -> Self {
        Sides {
            kernel: None,
            reference: None,
            optimized: None,
        }
    }
}

impl<T> Sides<T> {
    /// What there is, the reference first.
    pub fn iter(&self) -> impl Iterator<Item = (Part, &T)> {
        let all = [
            (Part::Kernel, &self.kernel),
            (Part::Reference, &self.reference),
            (Part::Optimized, &self.optimized),
        ];
        all.into_iter().filter_map(|(p, t)| Some((p, t.as_ref()?)))
    }

    /// Puts something in its place; a pair or a formula has none.
    pub fn put(&mut self, part: Part, value: T) {
        match part {
            Part::Kernel => self.kernel = Some(value),
            Part::Reference => self.reference = Some(value),
            Part::Optimized => self.optimized = Some(value),
            Part::Pair | Part::Formula => {}
        }
    }

    /// The same of what each is made into.
    pub fn map<U>(&self, f: impl Fn(&T) -> U) -> Sides<U> {
        Sides {
            kernel: self.kernel.as_ref().map(&f),
            reference: self.reference.as_ref().map(&f),
            optimized: self.optimized.as_ref().map(&f),
        }
    }
}

impl<T> IntoIterator for Sides<T> {
    type Item = (Part, T);
    type IntoIter = std::iter::Flatten<std::array::IntoIter<Option<(Part, T)>, 3>>;

    /// What there is, the reference first.
    fn into_iter(self) -> Self::IntoIter {
        let all = [
            self.kernel.map(|t| (Part::Kernel, t)),
            self.reference.map(|t| (Part::Reference, t)),
            self.optimized.map(|t| (Part::Optimized, t)),
        ];
        all.into_iter().flatten()
    }
}

impl<T> FromIterator<(Part, T)> for Sides<T> {
    fn from_iter<I: IntoIterator<Item = (Part, T)>>(list: I) -> Self {
        let mut out = Sides::default();
        for (part, value) in list {
            out.put(part, value);
        }
        out
    }
}

/// The CTAs that an answer covers.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Scope {
    /// Of the only kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ctas: Option<Vec<[u32; 3]>>,
    /// Of the reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_ctas: Option<Vec<[u32; 3]>>,
    /// Of the optimized kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimized_ctas: Option<Vec<[u32; 3]>>,
    /// True if these are all CTAs of each grid.
    pub whole_grid: bool,
    /// Of `race --any`: the launches that the answer covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<Launches>,
}

/// The launches that an answer covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Launches {
    /// In words.
    pub text: String,
    /// What is taken for granted of them, each as a fact of --assume.
    pub assumed: Vec<String>,
}

impl Scope {
    /// The CTAs of one kernel.
    pub fn of(&self, part: Part) -> &[[u32; 3]] {
        let list = match part {
            Part::Kernel => &self.ctas,
            Part::Reference => &self.reference_ctas,
            Part::Optimized => &self.optimized_ctas,
            Part::Pair | Part::Formula => return &[],
        };
        list.as_deref().unwrap_or_default()
    }
}

/// One side of a command.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Subject {
    /// A kernel.
    Kernel(KernelAnswer),
    /// Launches, one after the other.
    Sequence {
        /// Each of them.
        launches: Vec<KernelAnswer>,
    },
    /// A formula.
    Formula {
        /// Its text.
        formula: String,
    },
}

/// A kernel that was run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct KernelAnswer {
    /// The file as it was named.
    pub file: String,
    /// The entry function, as the file names it.
    pub entry: String,
    /// The same as its source names it, where the name is one of C++.
    pub demangled: Option<String>,
    /// Line of the file that declares it.
    pub line: u32,
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of the grid.
    pub grid: [u32; 3],
    /// Extent of dynamic shared memory in bytes; null for as much as is used.
    pub dynamic_shared: Option<u64>,
    /// True if all CTAs of the grid were run.
    pub whole_grid: bool,
}

impl KernelAnswer {
    /// The number of CTAs of the grid.
    pub fn ctas(&self) -> u64 {
        self.grid
            .iter()
            .fold(1, |n: u64, &d| n.saturating_mul(u64::from(d)))
    }

    /// The name that people know it by.
    pub fn name(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.entry)
    }
}

/// `[x, y, z]` as the command line writes it.
pub fn show([x, y, z]: [u32; 3]) -> String {
    format!("{x},{y},{z}")
}

/// Something of a kernel, or of each launch of a sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Each<T> {
    /// Of a kernel.
    One(T),
    /// Of launches, in order.
    All(Vec<T>),
}

impl<T> Each<T> {
    /// Of launches: of the only one, unless it is of a sequence.
    pub fn of(mut all: Vec<T>, is_sequence: bool) -> Each<T> {
        match (is_sequence, all.pop()) {
            (false, Some(one)) => Each::One(one),
            (_, last) => {
                all.extend(last);
                Each::All(all)
            }
        }
    }

    /// That of each launch.
    pub fn as_slice(&self) -> &[T] {
        match self {
            Each::One(one) => std::slice::from_ref(one),
            Each::All(all) => all,
        }
    }

    /// The same, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        match self {
            Each::One(one) => std::slice::from_mut(one),
            Each::All(all) => all,
        }
    }
}

/// Everything that an answer depends on, beside the version of volta.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Inputs {
    /// SHA-256 of each file that was judged, in hexadecimal digits.
    pub files: IndexMap<String, String>,
    /// How each kernel was launched.
    pub launch: Sides<Each<Launched>>,
    /// What the parameters of each kernel were bound to, number by number.
    pub bindings: Sides<Each<Vec<Bound>>>,
    /// What was asked of both.
    pub options: Options,
}

/// How a kernel was launched.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Launched {
    /// The one CTA that was asked for; null for all of the grid.
    pub cta: Option<[u32; 3]>,
    /// The lanes of a warp are taken to run in lock step.
    pub warp_sync: bool,
    /// Bindings as they were given.
    pub args: Vec<String>,
    /// Parameters that are the same array.
    pub alias: Vec<String>,
}

/// What was asked for beside launch and bindings.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Options {
    /// Pairs of parameters whose positions differ.
    pub map: Vec<String>,
    /// Kinds of warnings that are denied.
    pub deny: Vec<WarningKind>,
    /// Some warnings are defects.
    pub strict: bool,
    /// Constants are taken as they are written.
    pub exact_constants: bool,
    /// Finite masks stand for minus infinity.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub masks_are_infinite: bool,
    /// Proofs at random points are accepted.
    pub probabilistic: bool,
    /// What was compared are bits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bits: bool,
    /// Seconds; none where a budget takes their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<f64>,
    /// Units of work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
    /// Bytes.
    pub memory_limit: Option<u64>,
}

/// A number that some bytes of a parameter were bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    /// Position of the parameter.
    pub parameter: u32,
    /// Its name.
    pub name: String,
    /// Byte offset in it.
    pub offset: u32,
    /// The type that the number was written as.
    pub r#type: String,
    /// The bytes in the order of memory, as hexadecimal digits.
    pub bytes: String,
    /// True for a field of a structure.
    #[serde(default)]
    pub field: bool,
}
