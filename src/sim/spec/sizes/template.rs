//! Tables of settings in which strings hold `{EXPR}`.
//!
//! The tree of a file is filled for one instance before it is read as settings, so that every key takes
//! part alike, and errors keep their places in the file.

use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::super::TomlError;
use super::{List, Lists, Sizes, fill};
use crate::diag::Span;

/// A value of a file.
pub type Node<'t> = Spanned<DeValue<'t>>;

/// Keys whose strings stay as they are: the lists themselves, and the name, which is one for all instances.
const KEPT: [&str; 2] = ["for", "name"];

/// The table of a file.
pub fn table(text: &str) -> Result<Spanned<DeTable<'_>>, TomlError> {
    DeTable::parse(text).map_err(TomlError::from)
}

/// Takes a key out of a table.
pub fn take<'t>(table: &mut DeTable<'t>, key: &str) -> Option<Node<'t>> {
    table.remove(key)
}

/// The lists that `for` gives in a table of settings.
pub fn lists(settings: &DeValue) -> Result<Lists, TomlError> {
    let table = settings.as_table();
    let Some(given) = table.and_then(|t| t.get("for")) else {
        return Ok(Lists::default());
    };
    let lists: IndexMap<String, List> = read(given.clone())?;
    Lists::new(lists).map_err(|message| at(message, given))
}

/// Reads a value.
pub fn read<T: DeserializeOwned>(node: Node) -> Result<T, TomlError> {
    T::deserialize(ValueDeserializer::from(node)).map_err(TomlError::from)
}

/// An error at a value.
pub fn at(message: String, node: &Node) -> TomlError {
    let place = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let span = node.span();
    TomlError {
        message,
        span: Some(Span {
            start: place(span.start),
            end: place(span.end),
        }),
    }
}

/// The settings of one instance.
pub fn filled<T: DeserializeOwned>(node: &Node, sizes: &Sizes) -> Result<T, TomlError> {
    let mut node = node.clone();
    // The parser bounds how deep values are nested; the list takes the place of a recursion.
    let mut open: Vec<&mut Node> = match sizes.is_empty() {
        true => Vec::new(),
        false => vec![&mut node],
    };
    while let Some(next) = open.pop() {
        let place = Node::new(next.span(), DeValue::Boolean(true));
        match next.get_mut() {
            DeValue::String(text) => {
                let full = fill(text, sizes).map_err(|e| at(e.message, &place))?;
                *text = full.into_owned().into();
            }
            DeValue::Array(list) => open.extend(list.iter_mut()),
            DeValue::Table(table) => {
                let parts = table.iter_mut();
                let parts = parts.filter(|(key, _)| !KEPT.contains(&key.get_ref().as_ref()));
                open.extend(parts.map(|(_, value)| value));
            }
            DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => {}
        }
    }
    read(node)
}
