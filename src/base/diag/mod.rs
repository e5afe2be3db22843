//! Spans, sources and the rendering of diagnostics.
//!
//! Every stage reports with an error type of its own (kind and spans) that converts into a
//! [`Diagnostic`]; a diagnostic together with the [`Source`] it points into renders as the message,
//! the lines concerned with carets under them, and what to do about it. Not claimed: that one
//! diagnostic can point into two sources; a report about two kernels holds one for each.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use thiserror::Error;

use foreign::{SHOWN, drawn};
pub use foreign::{sentence, visible};

pub mod foreign;

/// Byte offsets into a source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of the bytes `start..end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The smallest span that holds both.
    pub fn to(self, other: Span) -> Self {
        Self::new(self.start.min(other.start), self.end.max(other.end))
    }

    /// Number of bytes.
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// Whether the span holds no byte.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

/// A place as people count it: line and column, both from 1; a column is a character, not a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Character in the line, from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a file cannot be a [`Source`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SourceError {
    /// Offsets are 32 bits wide.
    #[error(
        "{}: {bytes} bytes are too many; split the module into files below 2 GiB",
        visible(name)
    )]
    TooLong {
        /// Name of the file.
        name: String,
        /// Its size.
        bytes: usize,
    },
    /// PTX is ASCII; other bytes are tolerated only where they form UTF-8.
    #[error(
        "{}: not a text file (byte {offset} is not UTF-8); give PTX text, not a cubin or a fatbin",
        visible(name)
    )]
    NotText {
        /// Name of the file.
        name: String,
        /// Offset of the first byte that is not text.
        offset: usize,
    },
}

/// Bytes of the lines that are shown together with carets; longer ones are cut.
const WINDOW: usize = 4096;

/// Errors of one text that are shown.
pub const MOST_ERRORS: usize = 64;

/// Longest text that is accepted, in bytes: offsets and counts of tokens fit in 32 bits.
pub const MAX_SOURCE_BYTES: usize = 1 << 31;

/// A named text with its line starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Name for messages, usually a path.
    pub name: String,
    /// The text.
    pub text: String,
    /// Byte offset of the start of each line; the first is 0.
    line_starts: Vec<u32>,
}

impl Source {
    /// A source from text. Fails if the text is longer than [`MAX_SOURCE_BYTES`].
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Result<Self, SourceError> {
        let (name, text) = (name.into(), text.into());
        if text.len() > MAX_SOURCE_BYTES {
            let bytes = text.len();
            return Err(SourceError::TooLong { name, bytes });
        }
        let mut line_starts = Vec::with_capacity(text.len() / 24 + 1);
        line_starts.push(0);
        let newline = |(at, byte)| (byte == b'\n').then_some(at as u32 + 1);
        line_starts.extend(text.bytes().enumerate().filter_map(newline));
        Ok(Self {
            name,
            text,
            line_starts,
        })
    }

    /// A source from the bytes of a file. Fails if they are not UTF-8.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, SourceError> {
        let name = name.into();
        match String::from_utf8(bytes) {
            Ok(text) => Self::new(name, text),
            Err(error) => {
                let offset = error.utf8_error().valid_up_to();
                Err(SourceError::NotText { name, offset })
            }
        }
    }

    /// Number of lines; a text without a newline has one.
    pub fn lines(&self) -> u32 {
        self.line_starts.len() as u32
    }

    /// Line (from 0) that holds the byte `offset`.
    fn line_index(&self, offset: u32) -> usize {
        self.line_starts.partition_point(|&start| start <= offset) - 1
    }

    /// Line and column of a byte offset; an offset past the end is the end.
    pub fn position(&self, offset: u32) -> Position {
        let offset = self.floor(offset as usize);
        let line = self.line_index(offset as u32);
        let start = self.line_starts[line] as usize;
        let column = self.text[start..offset].chars().count();
        Position {
            line: line as u32 + 1,
            column: column as u32 + 1,
        }
    }

    /// The line that holds a byte offset as it may be shown: a long one is cut to what stands around the offset.
    pub fn excerpt(&self, offset: u32) -> Cow<'_, str> {
        let offset = self.floor(offset as usize);
        let index = self.line_index(offset as u32);
        let start = self.line_starts[index] as usize;
        let next = self.line_starts.get(index + 1);
        let end = next.map_or(self.text.len(), |&end| end as usize);
        let around = match end - start > SHOWN {
            true => self.floor(start.max(offset.saturating_sub(SHOWN / 4)))..end,
            false => start..end,
        };
        visible(self.text[around].trim())
    }

    /// The text of a line (from 1), without its line end; empty if there is no such line.
    pub fn line(&self, line: u32) -> &str {
        let Some(index) = (line as usize).checked_sub(1) else {
            return "";
        };
        let Some(&start) = self.line_starts.get(index) else {
            return "";
        };
        let next = self.line_starts.get(index + 1);
        let end = next.map_or(self.text.len(), |&end| end as usize);
        self.text[start as usize..end].trim_end_matches(['\n', '\r'])
    }

    /// The text of a line (from 1) without the blanks around it, as a span; `None` if there is no such line.
    pub fn line_span(&self, line: u32) -> Option<Span> {
        let &start = self.line_starts.get((line as usize).checked_sub(1)?)?;
        let text = self.line(line);
        let indent = text.len() - text.trim_start().len();
        let start = start + indent as u32;
        Some(Span::new(start, start + text.trim().len() as u32))
    }

    /// The text under a span, cut to the source.
    pub fn slice(&self, span: Span) -> &str {
        &self.text[self.range(span)]
    }

    /// Length of the lines of a window.
    fn bytes_of(&self, window: &Window) -> usize {
        let next = self.line_starts.get(window.last + 1);
        let end = next.map_or(self.text.len(), |&end| end as usize);
        end - self.line_starts[window.first] as usize
    }

    /// The nearest character boundary at or before `offset`.
    fn floor(&self, offset: usize) -> usize {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }

    /// A span as a range that is valid in the text whatever the span says.
    fn range(&self, span: Span) -> Range<usize> {
        let start = self.floor(span.start as usize);
        start..self.floor(span.end as usize).max(start)
    }
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// The input is refused.
    Error,
    /// The input is accepted, and the user should know.
    Warning,
    /// Something that explains another message.
    Note,
    /// Why nothing is claimed.
    Unknown,
}

/// A message about places in one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Stable name of the kind, e.g. `unknown-opcode`; empty for none.
    pub code: &'static str,
    /// The message: one sentence without a full stop.
    pub message: String,
    /// The places, the most important one first, each with a short text (which may be empty).
    pub labels: Vec<(Span, String)>,
    /// What the user can do.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error without labels.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    /// A warning without labels.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// A note without labels.
    pub fn note(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    /// A message without labels.
    pub fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        // What several lines say is one sentence here; a name in it cannot begin a line.
        let message = message.into().replace('\n', " ");
        Self {
            severity,
            code,
            message: sentence(&message).into_owned(),
            labels: Vec::new(),
            help: None,
        }
    }

    /// The same with one more place.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push((span, text.into()));
        self
    }

    /// The same with advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The place of the first label.
    pub fn span(&self) -> Option<Span> {
        self.labels.first().map(|label| label.0)
    }

    /// The message with the source lines and carets, as text for a terminal or a file.
    pub fn render(&self, source: &Source, colour: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
            Severity::Unknown => Level::NOTE.with_name("unknown"),
        };
        let mut title = level.primary_title(sentence(&self.message));
        if !self.code.is_empty() {
            title = title.id(self.code);
        }
        let mut group = Group::with_title(title);
        for window in self.windows(source) {
            match source.bytes_of(&window) {
                0..=WINDOW => group = group.element(self.snippet(source, window)),
                // Carets under lines of many kilobytes help nobody.
                _ => {
                    for (span, text) in window.labels.iter().map(|&i| &self.labels[i]) {
                        let (place, line) =
                            (source.position(span.start), source.excerpt(span.start));
                        let (name, text) = (visible(&source.name), sentence(text));
                        let note = format!("{name}:{place}: {text} in `{line}`");
                        group = group.element(Level::NOTE.message(note));
                    }
                }
            }
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(sentence(help)));
        }
        let renderer = if colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        renderer.render(&[group])
    }

    /// A value that displays as [`Diagnostic::render`] without colour.
    pub fn display<'a>(&'a self, source: &'a Source) -> impl fmt::Display + 'a {
        Rendered {
            diagnostic: self,
            source,
        }
    }

    /// Groups of labels (by index) that stand close together, each with its range of lines (from
    /// 0, both ends included). Only those lines are handed to the renderer, so that a message about
    /// a module of many megabytes costs as much as one about a small one.
    fn windows(&self, source: &Source) -> Vec<Window> {
        const GAP: usize = 8;
        let mut windows: Vec<Window> = Vec::new();
        for (index, (span, _)) in self.labels.iter().enumerate() {
            let range = source.range(*span);
            let first = source.line_index(range.start as u32);
            let last = source.line_index(range.end.max(range.start + 1) as u32 - 1);
            let near = |w: &&mut Window| first <= w.last + GAP && w.first <= last + GAP;
            match windows.iter_mut().find(near) {
                Some(window) => {
                    window.first = window.first.min(first);
                    window.last = window.last.max(last);
                    window.labels.push(index);
                }
                None => windows.push(Window {
                    first,
                    last,
                    labels: vec![index],
                }),
            }
        }
        windows
    }

    /// The lines of one window with its labels.
    fn snippet<'a>(
        &'a self,
        source: &'a Source,
        window: Window,
    ) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        let start = source.line_starts[window.first] as usize;
        let next = source.line_starts.get(window.last + 1);
        let end = next.map_or(source.text.len(), |&end| end as usize);
        let text = &source.text[start..end];
        // Where a byte of the text stands among those that are drawn.
        let moved = |to: usize| drawn(&text[..to - start]).len();
        let mut snippet = Snippet::source(drawn(text))
            .path(visible(&source.name))
            .line_start(window.first + 1);
        for index in window.labels {
            let (span, label) = &self.labels[index];
            let range = source.range(*span);
            let kind = if index == 0 {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            let mut annotation = kind.span(moved(range.start)..moved(range.end));
            if !label.is_empty() {
                annotation = annotation.label(sentence(label));
            }
            snippet = snippet.annotation(annotation);
        }
        snippet
    }
}

/// Lines of a source that are shown together.
struct Window {
    first: usize,
    last: usize,
    labels: Vec<usize>,
}

struct Rendered<'a> {
    diagnostic: &'a Diagnostic,
    source: &'a Source,
}

impl fmt::Display for Rendered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.diagnostic.render(self.source, false))
    }
}

/// The message on one line, without the source: `error[code]: message`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
            Severity::Unknown => "unknown",
        };
        let message = sentence(&self.message);
        match self.code {
            "" => write!(f, "{level}: {message}"),
            code => write!(f, "{level}[{code}]: {message}"),
        }
    }
}

/// The candidate nearest to `name` by edit distance (with swaps of neighbours), if it is near
/// enough to be a slip: at most a third of the longer name's length. The first of equals wins.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody misspells a longer name; the bound keeps hostile input from costing quadratic time.
    const LONGEST: usize = 64;
    if name.is_empty() || name.len() > LONGEST {
        return None;
    }
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate.len() > LONGEST {
            continue;
        }
        let limit = name.len().max(candidate.len()).div_ceil(3);
        let limit = best.map_or(limit, |(distance, _)| limit.min(distance - 1));
        if name.len().abs_diff(candidate.len()) > limit {
            continue;
        }
        let distance = edit_distance(name.as_bytes(), candidate.as_bytes());
        if distance <= limit {
            best = Some((distance, candidate));
            if distance == 0 {
                break;
            }
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
pub(crate) fn edit_distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, &x) in a.iter().enumerate() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for (j, &y) in b.iter().enumerate() {
            let replaced = above[j] + usize::from(x != y);
            let mut cost = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && x == b[j - 1] && a[i - 1] == y {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_one() {
        let source = Source::new("a.ptx", "ab\ncdé\n\nx").expect("short");
        assert_eq!(source.position(0).to_string(), "1:1");
        assert_eq!(source.position(4).to_string(), "2:2");
        assert_eq!(source.position(7).to_string(), "2:4");
        assert_eq!(source.position(8).to_string(), "3:1");
        assert_eq!(source.position(99).to_string(), "4:2");
        assert_eq!(source.line(2), "cdé");
        assert_eq!(source.line(3), "");
        assert_eq!(source.line(0), "");
        assert_eq!(source.line(9), "");
        assert_eq!(source.lines(), 4);
    }

    #[test]
    fn empty_text_has_one_line() {
        let source = Source::new("e", "").expect("short");
        assert_eq!(source.position(0).to_string(), "1:1");
        let text = Diagnostic::error("x", "nothing here")
            .label(Span::new(0, 0), "end")
            .render(&source, false);
        assert!(text.contains("nothing here"), "{text}");
    }

    #[test]
    fn renders_caret_label_and_help() {
        let source = Source::new("k.ptx", "\tret;\n\tfoo.f32 %f1, %f2;\n").expect("short");
        let text = Diagnostic::warning("unknown-opcode", "unknown opcode `foo`")
            .label(Span::new(7, 14), "this one")
            .help("did you mean `fma`?")
            .display(&source)
            .to_string();
        assert!(
            text.starts_with("warning[unknown-opcode]: unknown opcode `foo`"),
            "{text}"
        );
        assert!(text.contains("k.ptx:2:2"), "{text}");
        assert!(text.contains("^^^^^^^ this one"), "{text}");
        assert!(text.contains("help: did you mean `fma`?"), "{text}");
    }

    #[test]
    fn far_labels_do_not_print_what_lies_between() {
        let text: String = (0..5000).map(|i| format!("line {i}\n")).collect();
        let source = Source::new("long", text).expect("short");
        let end = source.text.len() as u32;
        let shown = Diagnostic::error("", "two ends")
            .label(Span::new(end - 3, end - 1), "last")
            .label(Span::new(0, 4), "first")
            .render(&source, false);
        assert!(
            shown.contains("line 0") && shown.contains("line 4999"),
            "{shown}"
        );
        assert!(shown.lines().count() < 16, "{shown}");
    }

    #[test]
    fn hostile_spans_are_cut() {
        let source = Source::new("u", "é").expect("short");
        for (start, end) in [(0, 9), (1, 1), (9, 3), (u32::MAX, u32::MAX), (1, 2)] {
            let d = Diagnostic::note("", "n").label(Span::new(start, end), "l");
            assert!(d.render(&source, true).contains('n'));
        }
    }

    #[test]
    fn nearest_finds_slips_only() {
        let names = ["add", "fma", "ld", "mad", "membar", "setp"];
        assert_eq!(nearest("membra", names), Some("membar"));
        assert_eq!(nearest("step", names), Some("setp"));
        assert_eq!(nearest("fma", names), Some("fma"));
        assert_eq!(nearest("xyzzy", names), None);
        assert_eq!(nearest("", names), None);
    }

    #[test]
    fn bytes_that_are_not_text_are_refused() {
        let error = Source::from_bytes("x.cubin", vec![b'a', 0xff]).expect_err("not text");
        assert!(error.to_string().contains("byte 1"), "{error}");
    }
}
