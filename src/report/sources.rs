//! The files that PTX was compiled from, for excerpts in reports. [`origin`] says which of them are read.

use std::collections::HashMap;
use std::sync::Arc;

use crate::answer::{Site, SourceLine};
use crate::diag::{Source, Span, origin};

/// Sources by the file of the kernel and the name in it, each read once.
#[derive(Default)]
pub(super) struct Sources(HashMap<(String, String), Option<Arc<Source>>>);

impl Sources {
    /// The line of a place in its source, with the text of the line; `None` if it cannot be read or is empty.
    pub(super) fn of(&mut self, site: &Site) -> Option<(Arc<Source>, Span)> {
        let (file, line) = site.source.as_ref().map(SourceLine::own)?;
        let source = self.get(&site.file, file)?;
        let text = source.line(line);
        let comments: &[&str] = match file.ends_with(".py") {
            true => &["#"],
            false => &["//", "/*"],
        };
        let end = comments.iter().filter_map(|c| text.find(c)).min();
        let code = end.map_or(text, |end| &text[..end]);
        let indent = code.len() - code.trim_start().len();
        let start = source.start_of(line)? + indent as u32;
        let length = code.trim().len() as u32;
        (length > 0).then(|| (source, Span::new(start, start + length)))
    }

    /// The source that a kernel names.
    pub(super) fn get(&mut self, kernel: &str, file: &str) -> Option<Arc<Source>> {
        let key = (kernel.to_string(), file.to_string());
        let read = |(kernel, file): &(String, String)| origin::read(kernel, file).map(Arc::new);
        self.0.entry(key).or_insert_with_key(read).clone()
    }
}
