//! Classes of the same bits, rows of a batch, and the identities that keep every bit.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diag::foreign::sentence;

use super::{Counterexample, Site};

/// Kernels that leave the same bits.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Class {
    /// Their positions among the kernels that were asked about.
    pub members: Vec<usize>,
    /// By the position of each other class, an input on which they differ; null where none was shown.
    pub differs: IndexMap<String, Option<Counterexample>>,
}

impl Class {
    /// A class of one.
    pub fn of(member: usize) -> Class {
        Class {
            members: vec![member],
            differs: IndexMap::new(),
        }
    }
}

/// What the assembler joins in the code that it builds of both kernels.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Sass {
    /// The assembler.
    pub tool: String,
    /// What it builds for.
    pub target: String,
    /// Products and sums that are one operation there.
    pub contracted: u64,
    /// The sums.
    pub pairs: Vec<Site>,
}

/// The two rows of a counterexample.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Rows {
    /// The row that differs, of the instance with these sizes.
    pub row: u64,
    /// The row of the smallest instance that it was compared with.
    pub other: u64,
    /// The sizes of the instance.
    pub sizes: IndexMap<String, i64>,
    /// How the kernel was launched there.
    pub launch: RowLaunch,
    /// Where the first operation stands that differs, if one does.
    pub site: Option<Site>,
}

impl PartialEq for Rows {
    fn eq(&self, other: &Self) -> bool {
        let key = |r: &Rows| {
            (
                r.row,
                r.other,
                r.launch,
                r.site.as_ref().map(|s| (s.line, s.column)),
            )
        };
        key(self) == key(other) && self.sizes == other.sizes
    }
}

/// A launch, as far as a batch decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RowLaunch {
    /// `%ntid`.
    pub block: [u32; 3],
    /// `%nctaid`.
    pub grid: [u32; 3],
}

/// What `explain` says of an identity that keeps every bit.
#[derive(Clone, Copy, Debug)]
pub struct AboutIdentity {
    /// Its name.
    pub name: &'static str,
    /// Where it holds.
    pub holds: &'static str,
    /// Why every bit is the same.
    pub because: &'static str,
}

/// What people read of classes: each with how it differs from those before it.
pub fn table(classes: &[Class]) -> String {
    let mut out = String::new();
    for (i, class) in classes.iter().enumerate() {
        let members: Vec<String> = class.members.iter().map(usize::to_string).collect();
        let kernels = if members.len() == 1 {
            "kernel"
        } else {
            "kernels"
        };
        out.push_str(&format!("class {i}: {kernels} {}\n", members.join(", ")));
        let earlier =
            (class.differs.iter()).filter(|(j, _)| j.parse::<usize>().is_ok_and(|j| j < i));
        for (other, example) in earlier {
            let why = match example {
                Some(e) => sentence(&e.message),
                None => "whether it differs is open".into(),
            };
            out.push_str(&format!("  from class {other}: {why}\n"));
        }
    }
    out
}
