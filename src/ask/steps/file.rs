//! The file of an operator that is optimised step by step, read for each of its sizes.
//!
//! `[naive]` is a side of a check; so is each `[[step]]`, with a name, and the file of the naive kernel where it names none.
//! `[defaults]`, and keys at the top above it, are settings of every check.

use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::DeValue;

use crate::answer::Failure;
use crate::diag::{Source, visible};
use crate::input;
use crate::spec::manifest::Side;
use crate::spec::sizes::template::{self, Node};
use crate::spec::{ENTRY_KEYS, Settings, Sizes, TomlError};

/// What the naive kernel is called among the steps.
pub(super) const NAIVE: &str = "naive";

/// Keys of an entry of a manifest that say which kernels are compared, and how they are paired.
const PAIRING: [&str; 8] = [
    "kernel",
    "kernels",
    "reference",
    "optimized",
    "rows",
    "values",
    "formula",
    "map",
];

/// A file of steps.
pub(super) struct Plan {
    pub source: Arc<Source>,
    /// The naive kernel and the steps, each with the line where it stands.
    pub kernels: Vec<(String, u32)>,
    pub instances: Vec<Instance>,
}

/// All kernels at one size.
pub(super) struct Instance {
    pub sizes: Sizes,
    /// What every check is given, lowest first.
    pub given: [Settings; 2],
    /// The naive kernel and the steps.
    pub sides: Vec<Side>,
}

impl Plan {
    pub(super) fn read(path: &Path) -> Result<Plan, Failure> {
        let source = input::settings_text(path)?;
        let base = path.parent().unwrap_or(Path::new(""));
        parse(&source, base).map_err(|e| e.at(&source))
    }
}

fn parse(source: &Arc<Source>, base: &Path) -> Result<Plan, TomlError> {
    let mut top = template::table(&source.text)?;
    let mut take = |key| template::take(top.get_mut(), key);
    let [naive, steps, defaults] = [NAIVE, "step", "defaults"].map(&mut take);
    let missing = |what: &str| TomlError {
        message: format!("there is no {what}"),
        span: None,
    };
    let naive = naive.ok_or_else(|| missing("[naive]"))?;
    let steps = steps.ok_or_else(|| missing("[[step]]"))?;
    let DeValue::Array(list) = steps.get_ref() else {
        let message = "a step stands below [[step]]".to_string();
        return Err(template::at(message, &steps));
    };
    let empty = || Spanned::new(0..0, DeValue::Table(Default::default()));
    let span = top.span();
    let given = [
        defaults.unwrap_or_else(empty),
        Node::new(span, DeValue::Table(top.into_inner())),
    ];
    let line = |node: &Node| {
        let start = u32::try_from(node.span().start).unwrap_or(u32::MAX);
        source.position(start).line
    };
    let mut kernels = vec![(NAIVE.to_string(), line(&naive))];
    let mut steps: Vec<Node> = Vec::new();
    for step in list.iter() {
        let mut rest = step.clone();
        let name = match rest.get_mut() {
            DeValue::Table(table) => template::take(table, "name"),
            _ => None,
        };
        let Some(name) = name else {
            let message = "a step is a table with a `name`".to_string();
            return Err(template::at(message, step));
        };
        let text: String = template::read(name.clone())?;
        let text = visible(&text).into_owned();
        if let Some((_, first)) = kernels.iter().find(|(other, _)| *other == text) {
            let message = format!("`{text}` is the name of the kernel on line {first} too");
            return Err(template::at(message, &name));
        }
        kernels.push((text, line(step)));
        steps.push(rest);
    }
    if steps.is_empty() {
        return Err(missing("[[step]]"));
    }
    for node in &given {
        let table = node.get_ref().as_table();
        let mut keys = ENTRY_KEYS.into_iter().chain(PAIRING);
        if let Some((key, value)) = keys.find_map(|key| Some((key, table?.get(key)?))) {
            let message = format!(
                "`{key}` cannot be said of all steps: [naive] and [[step]] are the kernels, whose parameters are paired by position, \
                 and each step must be equivalent"
            );
            return Err(template::at(message, value));
        }
    }
    let lists = template::lists(given[1].get_ref())?.over(&template::lists(given[0].get_ref())?);
    let sizes = lists.combinations();
    let sizes = sizes.map_err(|message| TomlError {
        message,
        span: None,
    })?;
    let kernels_of = (&naive, &steps[..]);
    let instance = |sizes: Sizes| instance(sizes, &given, kernels_of, base);
    Ok(Plan {
        source: source.clone(),
        kernels,
        instances: sizes.into_iter().map(instance).collect::<Result<_, _>>()?,
    })
}

/// The naive kernel and the steps at one size, with what every check is given.
fn instance(
    sizes: Sizes,
    given: &[Node; 2],
    (naive, steps): (&Node, &[Node]),
    base: &Path,
) -> Result<Instance, TomlError> {
    let settings = |node: &Node| {
        let mut settings: Settings = template::filled(node, &sizes)?;
        settings.rebase(base);
        Ok::<_, TomlError>(settings)
    };
    let given = [settings(&given[0])?, settings(&given[1])?];
    let naive: Side = template::filled(naive, &sizes)?;
    let file = naive.file.clone();
    let mut sides = vec![naive];
    for step in steps {
        let mut side: Side = template::filled(step, &sizes)?;
        if side.formula.is_some() {
            let message = "a step is a kernel; [naive] may be a formula".to_string();
            return Err(template::at(message, step));
        }
        side.file = side.file.or_else(|| file.clone());
        if side.file.is_none() {
            let message = "a step has a `file` where [naive] has none".to_string();
            return Err(template::at(message, step));
        }
        sides.push(side);
    }
    let mut all = Settings {
        kernels: sides,
        ..Settings::default()
    };
    all.rebase(base);
    Ok(Instance {
        given,
        sides: all.kernels,
        sizes,
    })
}
