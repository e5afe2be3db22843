//! The registry of kinds: each word that a report can say, with what it means, an example, and what a user can do.
//!
//! A table is the definition of its enum, so that no finding can have a kind that is not explained: `volta explain`,
//! the rules of SARIF, the hints of reports, the JSON Schema and the words that `--deny` and a manifest take are read
//! from here alone.

use std::fmt;

use crate::diag::edit_distance;

mod assumptions;
mod defects;
mod errors;
mod unknowns;
mod warnings;

pub use assumptions::{AssumptionKind, ONE_SCHEDULE};
pub use defects::DefectKind;
pub use errors::ErrorKind;
pub use unknowns::UnknownKind;
pub use warnings::{REAL_EQUAL, WarningKind};

/// The list that a kind stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// The kernel is wrong.
    Defect,
    /// The user should know.
    Warning,
    /// Why nothing is claimed.
    Unknown,
    /// What an answer takes for granted.
    Assumption,
    /// Why nothing was run.
    Error,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Defect => "defect",
            Family::Warning => "warning",
            Family::Unknown => "reason for `unknown`",
            Family::Assumption => "assumption",
            Family::Error => "input error",
        })
    }
}

/// What the registry knows about a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The word of the contract.
    pub word: &'static str,
    /// The list that it stands in.
    pub family: Family,
    /// One sentence.
    pub says: &'static str,
    /// What it means for the user, in a few sentences.
    pub means: &'static str,
    /// Code or a command line that brings it about.
    pub example: &'static str,
    /// What the user can do, where the message itself does not say it.
    pub hint: Option<&'static str>,
}

/// A kind of finding.
pub trait Kind: Copy + fmt::Debug + 'static {
    /// What the registry says about it.
    fn about(self) -> About;

    /// The word of the contract.
    fn name(self) -> &'static str {
        self.about().word
    }
}

/// Makes an enum of kinds from its table.
macro_rules! kinds {
    ($(#[$doc:meta])* $name:ident of $family:ident {
        $($variant:ident $word:literal {
            $says:literal, $means:literal, $example:literal $(, hint: $hint:literal)?
        })*
    }) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord,
            serde::Serialize, serde::Deserialize, schemars::JsonSchema,
        )]
        pub enum $name {
            $(#[doc = $says] #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// All of them, in the order of the contract.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The kind of a word.
            pub fn parse(word: &str) -> Option<$name> {
                Self::ALL.iter().copied().find(|k| $crate::answer::Kind::name(*k) == word)
            }
        }

        impl $crate::answer::Kind for $name {
            fn about(self) -> $crate::answer::About {
                match self {
                    $($name::$variant => $crate::answer::About {
                        word: $word,
                        family: $crate::answer::Family::$family,
                        says: $says,
                        means: $means,
                        example: $example,
                        hint: None$(.or(Some($hint)))?,
                    },)*
                }
            }
        }
    };
}
pub(crate) use kinds;

/// Every kind of every family.
pub fn all() -> Vec<About> {
    let mut out: Vec<About> = DefectKind::ALL.iter().map(|k| k.about()).collect();
    out.extend(WarningKind::ALL.iter().map(|k| k.about()));
    out.extend(UnknownKind::ALL.iter().map(|k| k.about()));
    out.extend(AssumptionKind::ALL.iter().map(|k| k.about()));
    out.extend(ErrorKind::ALL.iter().map(|k| k.about()));
    out
}

/// Names that one error suggests.
const SUGGESTED: usize = 3;

/// The words nearest to one that is none, for the message about it.
pub fn near<'a>(word: &str, among: &[&'a str]) -> Vec<&'a str> {
    let shared = |w: &str| {
        let mut parts = word.split('-').filter(|p| p.len() > 2);
        parts.any(|p| w.split('-').any(|q| q == p))
    };
    let far = |w: &str| edit_distance(word.as_bytes(), w.as_bytes());
    // A word of which nothing is left is another one.
    let likely = |w: &str| far(w) <= w.len().max(word.len()).div_ceil(3) && far(w) < w.len();
    let close = |w: &&&str| likely(w) || shared(w);
    if word.len() > LONGEST {
        return Vec::new();
    }
    let mut out: Vec<&'a str> = among.iter().filter(close).copied().collect();
    out.sort_by_key(|w| far(w));
    out.dedup();
    out.truncate(SUGGESTED);
    out
}

/// Bytes of a word that is compared with others.
const LONGEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_kind_is_explained_once_in_its_family() {
        let mut seen = HashSet::new();
        for about in all() {
            assert!(seen.insert((about.family, about.word)), "{}", about.word);
            let plain = |c: char| c.is_ascii_lowercase() || c == '-';
            assert!(about.word.chars().all(plain), "{}", about.word);
            for text in [about.says, about.means] {
                assert!(text.ends_with('.'), "{}: {text}", about.word);
            }
            assert!(!about.example.trim().is_empty(), "{}", about.word);
            // Code scanning services cut or refuse longer texts.
            assert!(
                about.says.len() <= 1024 && about.means.len() <= 1024,
                "{}",
                about.word
            );
        }
    }

    #[test]
    fn words_and_serde_agree() {
        for k in WarningKind::ALL {
            assert_eq!(serde_json::json!(k), k.name());
            assert_eq!(WarningKind::parse(k.name()), Some(*k));
        }
        for k in UnknownKind::ALL {
            assert_eq!(serde_json::json!(k), k.name());
        }
    }

    #[test]
    fn near_words_are_slips_or_share_a_part() {
        let words: Vec<&str> = WarningKind::ALL.iter().map(|k| k.name()).collect();
        assert_eq!(near("narower", &words)[0], "narrower");
        assert_eq!(near("same-write", &words)[0], "same-value-write");
        assert!(near("xyzzy", &words).is_empty());
        assert!(near(&"x".repeat(100_000), &words).is_empty());
    }
}
