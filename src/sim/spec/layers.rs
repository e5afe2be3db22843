//! The text of a `--spec` file as settings for each instance.

use toml::Spanned;
use toml::de::DeValue;

use super::TomlError;
use super::manifest::{Settings, entry_key};
use super::sizes::template::{self, Node};
use super::sizes::{Lists, Sizes};

/// A `--spec` file apart from its sizes.
#[derive(Debug)]
pub struct Spec<'t> {
    node: Node<'t>,
    /// Files whose settings lie below these, with their places.
    pub include: Vec<Spanned<String>>,
    /// The lists of sizes that it gives.
    pub lists: Lists,
}

impl<'t> Spec<'t> {
    /// Reads a file.
    pub fn parse(text: &'t str) -> Result<Spec<'t>, TomlError> {
        let mut table = template::table(text)?;
        let include = match template::take(table.get_mut(), "include") {
            Some(list) => template::read(list)?,
            None => Vec::new(),
        };
        let span = table.span();
        let node = Node::new(span, DeValue::Table(table.into_inner()));
        if let Some((key, place)) = entry_key(node.get_ref()) {
            return Err(template::at(
                format!("`{key}` belongs in a manifest"),
                place,
            ));
        }
        let lists = template::lists(node.get_ref())?;
        Ok(Spec {
            node,
            include,
            lists,
        })
    }

    /// The settings of one instance.
    pub fn settings(&self, sizes: &Sizes) -> Result<Settings, TomlError> {
        template::filled(&self.node, sizes)
    }
}
