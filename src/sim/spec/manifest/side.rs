//! What is said about one side of a command: a kernel, a formula, or the launches of a sequence.

use std::fmt;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::{ArgText, Cta, Triple, loose};

/// Launches of one sequence.
const MOST_LAUNCHES: usize = 1 << 10;

/// What is said about one kernel only; a path alone stands for `{ file = path }`.
#[derive(Clone, Debug, Default)]
pub struct Side {
    /// The PTX file.
    pub file: Option<PathBuf>,
    /// The formula that stands in the place of a kernel.
    pub formula: Option<FormulaText>,
    /// The rest.
    pub own: SideSettings,
    /// The launches of a sequence, one after the other; then nothing is said of all of them.
    pub launches: Vec<Side>,
}

/// The keys of a kernel's own table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SideSettings {
    /// The PTX file.
    file: Option<PathBuf>,
    /// The formula that stands in the place of a kernel.
    formula: Option<String>,
    /// Name of the entry function.
    pub entry: Option<String>,
    /// Number of threads.
    #[serde(deserialize_with = "loose::number")]
    pub threads: Option<u32>,
    /// Block.
    pub block: Option<Triple>,
    /// Grid.
    pub grid: Option<Triple>,
    /// CTA.
    pub cta: Option<Cta>,
    /// Bindings.
    pub args: IndexMap<String, ArgText>,
    /// Extent of dynamic shared memory.
    #[serde(alias = "dynamic_shared", deserialize_with = "loose::number")]
    pub dynamic_shared: Option<u64>,
}

/// A formula as it is written, or the file that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormulaText {
    /// The text itself.
    Text(String),
    /// A file.
    File(PathBuf),
}

impl FormulaText {
    /// Reads `TEXT` or `@FILE`.
    pub fn parse(text: &str) -> FormulaText {
        match text.strip_prefix('@') {
            Some(path) => FormulaText::File(PathBuf::from(path)),
            None => FormulaText::Text(text.to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for Side {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Side;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a path, a table with `file`, or a list of these, which are launches of a sequence")
            }
            fn visit_str<E: serde::de::Error>(self, path: &str) -> Result<Side, E> {
                Ok(Side::path(path))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Side, A::Error> {
                let inner = serde::de::value::MapAccessDeserializer::new(map);
                let mut own = SideSettings::deserialize(inner)?;
                let file = own.file.take();
                let formula = own.formula.take();
                if formula.is_some() && (file.is_some() || !own.is_empty()) {
                    return Err(A::Error::custom(
                        "a table with `formula` has no other key: a formula is not launched",
                    ));
                }
                let formula = formula.as_deref().map(FormulaText::parse);
                let launches = Vec::new();
                Ok(Side {
                    file,
                    formula,
                    own,
                    launches,
                })
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<Side, A::Error> {
                let mut launches: Vec<Side> = Vec::new();
                while let Some(next) = list.next_element::<Side>()? {
                    let refuse = |why: &str| {
                        Err(A::Error::custom(format!(
                            "launch {}: {why}",
                            launches.len()
                        )))
                    };
                    if next.formula.is_some() {
                        return refuse("a formula is not launched");
                    }
                    if !next.launches.is_empty() {
                        return refuse("a launch is a path or a table with `file`, not a list");
                    }
                    if launches.len() == MOST_LAUNCHES {
                        return refuse("there are too many launches");
                    }
                    launches.push(next);
                }
                if launches.is_empty() {
                    return Err(A::Error::custom("a sequence has at least one launch"));
                }
                Ok(Side {
                    launches,
                    ..Side::default()
                })
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl SideSettings {
    /// True if nothing is said.
    pub(super) fn is_empty(&self) -> bool {
        let SideSettings {
            file,
            formula,
            entry,
            threads,
            block,
            grid,
            cta,
            args,
            dynamic_shared,
        } = self;
        file.is_none()
            && formula.is_none()
            && entry.is_none()
            && threads.is_none()
            && block.is_none()
            && grid.is_none()
            && cta.is_none()
            && args.is_empty()
            && dynamic_shared.is_none()
    }
}

impl Side {
    /// A side of which only the file is said.
    pub fn path(path: impl Into<PathBuf>) -> Side {
        Side {
            file: Some(path.into()),
            ..Side::default()
        }
    }

    /// A side that is a list of launches.
    pub fn sequence(launches: Vec<Side>) -> Side {
        Side {
            launches,
            ..Side::default()
        }
    }

    /// Makes the paths of kernels and of contents relative to `base`.
    pub(super) fn rebase(&mut self, base: &Path) {
        self.own.args.values_mut().for_each(|arg| arg.rebase(base));
        if let Some(file) = &mut self.file {
            *file = base.join(&file);
        }
        if let Some(FormulaText::File(file)) = &mut self.formula {
            *file = base.join(&file);
        }
        // A list holds no lists.
        self.launches.iter_mut().for_each(|l| l.rebase(base));
    }

    /// What is said of one launch, or of all that the side is.
    pub(super) fn launch(&self, index: usize) -> &Side {
        self.launches.get(index).unwrap_or(self)
    }
}
