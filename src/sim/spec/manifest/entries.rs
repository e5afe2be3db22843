//! The entries of a manifest, each with an instance for each of its sizes.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use toml::de::DeValue;

use super::Settings;
use crate::spec::TomlError;
use crate::spec::sizes::template;

/// A manifest.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// Manifests whose entries are run as well, each with its own defaults; their paths are
    /// relative to this one.
    pub include: Vec<Spanned<PathBuf>>,
    /// Pairs to check.
    pub check: Vec<Entry>,
    /// Kernels to look at alone.
    pub race: Vec<Entry>,
    /// Kernels to sort by the bits that they leave.
    pub classes: Vec<Entry>,
    /// Kernels whose rows must not depend on their batch.
    pub rows: Vec<Entry>,
}

/// An entry of a manifest.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its instances, at least one: the settings of every entry that does not say otherwise, below its own.
    pub instances: Vec<[Settings; 2]>,
    /// Where it stands in the text.
    pub place: Range<usize>,
}

impl Entry {
    /// What it says of the entry itself.
    pub fn head(&self) -> &Settings {
        &self.instances[0][1]
    }
}

/// What a manifest holds beside settings.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Rest {
    include: Vec<Spanned<PathBuf>>,
}

/// The keys that only an entry of a manifest can hold.
pub const ENTRY_KEYS: [&str; 4] = ["name", "expect", "defects", "denied"];

/// The first key that only an entry of a manifest can hold, and its value.
pub(crate) fn entry_key<'v, 't>(
    settings: &'v DeValue<'t>,
) -> Option<(&'static str, &'v template::Node<'t>)> {
    let table = settings.as_table()?;
    let mut keys = ENTRY_KEYS.into_iter();
    keys.find_map(|key| Some((key, table.get(key)?)))
}

/// Most instances of the entries of one manifest.
const MOST_INSTANCES: usize = 100_000;

impl Manifest {
    /// Reads a manifest; paths in it become relative to `base`.
    pub fn parse(text: &str, base: &Path) -> Result<Manifest, TomlError> {
        let mut table = template::table(text)?;
        let mut take = |key| template::take(table.get_mut(), key);
        let defaults = take("defaults");
        let entries = [take("check"), take("race"), take("classes"), take("rows")];
        let defaults = match defaults {
            Some(node) => node,
            None => Spanned::new(0..0, DeValue::Table(Default::default())),
        };
        if let Some((key, place)) = entry_key(defaults.get_ref()) {
            let message = format!("`{key}` belongs in an entry, not in [defaults]");
            return Err(template::at(message, place));
        }
        let allow = defaults.get_ref().as_table().and_then(|t| t.get("allow"));
        if let Some(place) = allow {
            let message = "`allow` is about one entry, and not about those of [defaults]";
            return Err(template::at(message.to_string(), place));
        }
        let lower = template::lists(defaults.get_ref())?;
        let (mut lists, mut count): ([Vec<Entry>; 4], usize) = Default::default();
        for (entries, out) in entries.into_iter().zip(&mut lists) {
            let Some(entries) = entries else { continue };
            let DeValue::Array(all) = entries.get_ref() else {
                let message = "an entry stands below [[check]], [[race]], [[classes]] or [[rows]]"
                    .to_string();
                return Err(template::at(message, &entries));
            };
            for entry in all.iter() {
                let refuse = |message| template::at(message, entry);
                let lists = template::lists(entry.get_ref())?.over(&lower);
                let sizes = lists.combinations().map_err(refuse)?;
                count += sizes.len();
                if count > MOST_INSTANCES {
                    return Err(refuse(format!("more than {MOST_INSTANCES} instances")));
                }
                let mut instances = Vec::new();
                for sizes in sizes {
                    let mut layers = [&defaults, entry].map(|t| template::filled(t, &sizes));
                    for layer in layers.iter_mut().flatten() {
                        let layer: &mut Settings = layer;
                        layer.rebase(base);
                        layer.sizes = sizes.clone();
                    }
                    let [below, own] = layers;
                    let (mut below, own) = (below?, own?);
                    below.is_default = true;
                    instances.push([below, own]);
                }
                out.push(Entry {
                    instances,
                    place: entry.span(),
                });
            }
        }
        let Rest { include } =
            template::read(Spanned::new(0..0, DeValue::Table(table.into_inner())))?;
        let [check, race, classes, rows] = lists;
        Ok(Manifest {
            include,
            check,
            race,
            classes,
            rows,
        })
    }
}
