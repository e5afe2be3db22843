//! The answer in one word.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Exit status of a usage or input error.
pub const EXIT_ERROR: u8 = 2;

/// Exit status where nothing is claimed.
pub const EXIT_UNKNOWN: u8 = 3;

/// The answer of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Both kernels compute the same.
    Equivalent,
    /// The kernel has no defect.
    Clean,
    /// There is a counterexample.
    NotEquivalent,
    /// A kernel has a defect.
    Defective,
    /// The kernel was executed on numbers.
    Ran,
    /// Each output has a formula, which is proved.
    Lifted,
    /// Nothing could be shown.
    Unknown,
}

impl Verdict {
    /// The word of the contract.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Equivalent => "equivalent",
            Verdict::Clean => "clean",
            Verdict::NotEquivalent => "not-equivalent",
            Verdict::Defective => "defective",
            Verdict::Ran => "ran",
            Verdict::Lifted => "lifted",
            Verdict::Unknown => "unknown",
        }
    }

    /// The exit status of the contract.
    pub fn exit(self) -> u8 {
        match self {
            Verdict::Equivalent | Verdict::Clean | Verdict::Ran | Verdict::Lifted => 0,
            Verdict::NotEquivalent | Verdict::Defective => 1,
            Verdict::Unknown => EXIT_UNKNOWN,
        }
    }

    /// The precedence: the highest of several is that of all.
    pub fn rank(self) -> u8 {
        match self {
            Verdict::Defective => 3,
            Verdict::NotEquivalent => 2,
            Verdict::Unknown => 1,
            Verdict::Equivalent | Verdict::Clean | Verdict::Ran | Verdict::Lifted => 0,
        }
    }
}

/// Whether the values of two kernels agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Values {
    /// Each compared element was proved.
    Equal,
    /// An input tells them apart.
    Different,
    /// Neither.
    Unknown,
}

impl Values {
    /// The word of the contract.
    pub fn name(self) -> &'static str {
        match self {
            Values::Equal => "equal",
            Values::Different => "different",
            Values::Unknown => "unknown",
        }
    }
}
