//! Spans, labels and rendering of diagnostics.

/// Byte offsets into a source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A named text.
#[derive(Debug)]
pub struct Source {
    /// Name for messages, usually a path.
    pub name: String,
    /// The text.
    pub text: String,
}
