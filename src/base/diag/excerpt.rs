//! Lines of sources with carets under the places that a message is about.
//!
//! Each place has a row of its own below its line: the carets, then what happens there, then the line of the machine code
//! where that is another text. Lines that are longer than the output are cut around the place (`...` stands for what is left
//! out), and what is said of a place is broken at words. Only the lines of the places are looked at, so that a message about
//! a module of many megabytes costs as much as one about a small one.

use std::fmt::Write;
use std::ops::Range;

use anstyle::{AnsiColor, Style};

use super::foreign::{Bracket, sentence, shows, visible};
use super::{Diagnostic, Severity, Source, width};

/// Columns that a place and what is said of it keep at least.
const ROOM: usize = 28;
/// Bytes of a line around a place that are looked at.
const LOOKED: usize = 4 * 1024;
/// What stands for text that is left out.
const CUT: &str = "...";
/// Columns of a tab.
const TAB: usize = 4;
/// Lines between two places that are left out; fewer are shown.
const GAP: usize = 2;

const BLUE: Style = AnsiColor::BrightBlue.on_default().bold();
const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// A message with its places, styled.
pub(super) struct Excerpt<'a> {
    diagnostic: &'a Diagnostic,
    /// The source of each place.
    sources: &'a [&'a Source],
    /// Columns of the line numbers.
    gutter: usize,
    out: String,
}

/// A place in a line.
struct Place<'a> {
    index: usize,
    source: &'a Source,
    /// Its line, from 0, and its bytes.
    line: usize,
    bytes: Range<usize>,
}

/// What of a line is looked at, in what it is drawn as: the columns at which each of its bytes begins.
struct Drawn {
    cells: Vec<(usize, usize, String)>,
    width: usize,
    /// Text before and behind is left out already.
    before: bool,
    behind: bool,
}

impl<'a> Excerpt<'a> {
    pub(super) fn render(diagnostic: &'a Diagnostic, sources: &'a [&'a Source]) -> String {
        let mut new = Excerpt {
            diagnostic,
            sources,
            gutter: 1,
            out: String::new(),
        };
        let places = new.places();
        let last = places.iter().map(|p| p.line + 1).max().unwrap_or(1);
        new.gutter = last.to_string().len();
        new.title();
        new.excerpts(&places);
        if let Some(help) = &diagnostic.help {
            new.empty(!places.is_empty());
            new.remark("help", help);
        }
        new.out.truncate(new.out.trim_end().len());
        new.out
    }

    fn title(&mut self) {
        let d = self.diagnostic;
        let (word, colour) = match d.severity {
            Severity::Error => ("error", AnsiColor::BrightRed),
            Severity::Warning => ("warning", AnsiColor::Yellow),
            Severity::Note => ("note", AnsiColor::BrightGreen),
            Severity::Unknown => ("unknown", AnsiColor::BrightGreen),
        };
        let code = match d.code {
            "" => String::new(),
            code => format!("[{code}]"),
        };
        let shade = colour.on_default().bold();
        let used = word.len() + code.len() + 2;
        let message = width::hung(&sentence(&d.message), used, 2);
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.out,
            "{shade}{word}{code}{shade:#}{BOLD}: {message}{BOLD:#}"
        );
    }

    /// The places by their sources, each source where its first place is, and by their lines.
    fn places(&self) -> Vec<Place<'a>> {
        let mut out: Vec<Place> = Vec::new();
        for (index, (span, _)) in self.diagnostic.labels.iter().enumerate() {
            let Some(source) = self.sources.get(index).or(self.sources.last()) else {
                continue;
            };
            let bytes = source.range(*span);
            let line = source.line_index(bytes.start as u32);
            out.push(Place {
                index,
                source,
                line,
                bytes,
            });
        }
        let first = |p: &Place| out.iter().position(|o| std::ptr::eq(o.source, p.source));
        let mut order: Vec<(Option<usize>, usize, usize)> =
            out.iter().map(|p| (first(p), p.line, p.index)).collect();
        order.sort_unstable();
        let mut slots: Vec<Option<Place>> = out.into_iter().map(Some).collect();
        order
            .into_iter()
            .filter_map(|(_, _, index)| slots.get_mut(index)?.take())
            .collect()
    }

    fn excerpts(&mut self, places: &[Place<'a>]) {
        let one = |a: &Place, b: &Place| std::ptr::eq(a.source, b.source);
        for (i, own) in places.chunk_by(one).enumerate() {
            // The place that the message is about first is named.
            let Some(head) = own.iter().min_by_key(|p| p.index) else {
                continue;
            };
            let position = head.source.position(head.bytes.start as u32);
            let name = visible(&head.source.name);
            let arrow = if i == 0 { "-->" } else { ":::" };
            self.empty(i > 0);
            let _ = writeln!(
                self.out,
                "{:w$}{BLUE}{arrow}{BLUE:#} {name}:{position}",
                "",
                w = self.gutter
            );
            self.empty(true);
            let mut shown: Option<usize> = None;
            for line in own.chunk_by(|a, b| a.line == b.line) {
                let at = line[0].line;
                if let Some(shown) = shown {
                    self.between(line[0].source, shown + 1..at);
                }
                self.line(line);
                shown = Some(at);
            }
        }
    }

    /// Lines between those of places.
    fn between(&mut self, source: &Source, lines: Range<usize>) {
        if lines.len() >= GAP {
            let _ = writeln!(self.out, "{BLUE}{CUT}{BLUE:#}");
            return;
        }
        for line in lines {
            let start = source.line_starts[line] as usize;
            let drawn = Drawn::new(source, line, start);
            self.row(Some(line + 1), &drawn.cut(self.room(), 0).0);
        }
    }

    /// A line with its places; it is drawn again for one that is not seen beside those before it.
    fn line(&mut self, places: &[Place]) {
        let mut seen: Option<(Drawn, Range<usize>, usize)> = None;
        for place in places {
            let (source, line) = (place.source, place.line);
            let inside = seen.as_ref().is_some_and(|(drawn, columns, _)| {
                let start = drawn.columns_of(&place.bytes).start;
                drawn.has(place.bytes.start) && columns.contains(&start)
            });
            if !inside {
                let drawn = Drawn::new(source, line, place.bytes.start);
                let end = drawn.columns_of(&place.bytes).end;
                let start = drawn.columns_of(&place.bytes).start;
                let behind = (end - start).min(self.room() / 2);
                let from = match start + behind + CUT.len() > self.room() || drawn.before {
                    true => start.saturating_sub(self.room() / 4),
                    false => 0,
                };
                let (text, columns, shift) = drawn.cut(self.room(), from);
                self.row(Some(line + 1), &text);
                seen = Some((drawn, columns, shift));
            }
            if let Some((drawn, columns, shift)) = &seen {
                let own = drawn.columns_of(&place.bytes);
                let start = own.start.max(columns.start);
                let length = own.end.min(columns.end).saturating_sub(start).max(1);
                self.mark(place.index, start - columns.start + shift, length);
            }
        }
    }

    /// The carets of a place, and what is said of it.
    fn mark(&mut self, index: usize, start: usize, length: usize) {
        let Some((_, text)) = self.diagnostic.labels.get(index) else {
            return;
        };
        let (sign, shade) = match index {
            0 => ("^", self.shade()),
            _ => ("-", BLUE),
        };
        let hang = start.min(self.room().saturating_sub(ROOM));
        let base = self.gutter + 3;
        let used = base + start + length + 1;
        let text = sentence(text);
        let beside = used + width::of(&text).min(ROOM) <= width::columns();
        let used = if beside { used } else { base + hang };
        let mut lines = width::lines(&text, used, base + hang).into_iter();
        let first = lines.next().unwrap_or_default();
        let carets = sign.repeat(length);
        match beside {
            true => {
                let row = format!("{:start$}{shade}{carets} {first}", "");
                self.row(None, &format!("{}{shade:#}", row.trim_end()));
            }
            false => {
                self.row(None, &format!("{:start$}{shade}{carets}{shade:#}", ""));
                self.row(None, &format!("{:hang$}{shade}{first}{shade:#}", ""));
            }
        }
        for line in lines {
            self.row(None, &format!("{:hang$}{shade}{line}{shade:#}", ""));
        }
        if let Some(code) = self
            .diagnostic
            .code_below
            .get(index)
            .filter(|c| !c.is_empty())
        {
            let code = visible(code);
            for line in width::lines(&code, base + hang, base + hang) {
                self.row(None, &format!("{:hang$}{DIM}{line}{DIM:#}", ""));
            }
        }
    }

    fn shade(&self) -> Style {
        let colour = match self.diagnostic.severity {
            Severity::Error => AnsiColor::BrightRed,
            Severity::Warning => AnsiColor::Yellow,
            Severity::Note | Severity::Unknown => AnsiColor::BrightGreen,
        };
        colour.on_default().bold()
    }

    /// Columns behind the line numbers.
    fn room(&self) -> usize {
        width::columns().saturating_sub(self.gutter + 3).max(ROOM)
    }

    fn row(&mut self, number: Option<usize>, text: &str) {
        let number = number.map_or(String::new(), |n| n.to_string());
        let w = self.gutter;
        let row = format!("{BLUE}{number:>w$} |{BLUE:#} {text}");
        let _ = writeln!(self.out, "{}", row.trim_end());
    }

    fn empty(&mut self, is_wanted: bool) {
        if is_wanted {
            let _ = writeln!(self.out, "{:w$} {BLUE}|{BLUE:#}", "", w = self.gutter);
        }
    }

    fn remark(&mut self, word: &str, text: &str) {
        let used = self.gutter + 3 + word.len() + 2;
        let text = width::hung(&sentence(text), used, used);
        let _ = writeln!(
            self.out,
            "{:w$} {BLUE}={BLUE:#} {BOLD}{word}{BOLD:#}: {text}",
            "",
            w = self.gutter
        );
    }
}

impl Drawn {
    /// The bytes of a line around one of them.
    fn new(source: &Source, line: usize, near: usize) -> Drawn {
        let start = source.line_starts[line] as usize;
        let next = source.line_starts.get(line + 1);
        let end = next.map_or(source.text.len(), |&end| end as usize);
        let from = source.floor(start.max(near.saturating_sub(LOOKED)));
        let to = source.floor(end.min(near.saturating_add(LOOKED))).max(from);
        let text = source.text[from..to].trim_end_matches(['\n', '\r']);
        let mut out = Drawn {
            cells: Vec::new(),
            width: 0,
            before: from > start,
            behind: to < end,
        };
        let mut bracket = Bracket::default();
        for (at, c) in text.char_indices() {
            let shown = match (bracket.opens(c), c) {
                (_, '\t') => " ".repeat(TAB),
                (false, c) if shows(c) => c.to_string(),
                _ => c.escape_unicode().to_string(),
            };
            let columns = shown.chars().map(width::of_char).sum::<usize>();
            out.cells.push((from + at, out.width, shown));
            out.width += columns;
        }
        out
    }

    /// Whether a byte of the source is looked at.
    fn has(&self, byte: usize) -> bool {
        let (first, last) = (self.cells.first(), self.cells.last());
        first.is_some_and(|c| c.0 <= byte) && last.is_some_and(|c| byte <= c.0)
    }

    /// The columns of some bytes, on this line.
    fn columns_of(&self, bytes: &Range<usize>) -> Range<usize> {
        let column = |byte: usize| {
            let next = self.cells.partition_point(|c| c.0 < byte);
            self.cells.get(next).map_or(self.width, |c| c.1)
        };
        column(bytes.start)..column(bytes.end).max(column(bytes.start) + 1)
    }

    /// The text from a column on that fits, the columns of the line that it shows, and where it shows the first of them.
    fn cut(&self, room: usize, from: usize) -> (String, Range<usize>, usize) {
        let is_before = from > 0 || self.before;
        let shift = if is_before { CUT.len() } else { 0 };
        let fits = self.width.saturating_sub(from) + shift <= room && !self.behind;
        let most = if fits {
            room
        } else {
            room.saturating_sub(CUT.len())
        };
        let first = self.cells.partition_point(|c| c.1 < from);
        let start = self.cells.get(first).map_or(self.width, |c| c.1);
        let mut text = CUT[..shift].to_string();
        let mut end = start;
        for (i, cell) in self.cells.iter().enumerate().skip(first) {
            let next = self.cells.get(i + 1).map_or(self.width, |c| c.1);
            if next - start + shift > most {
                break;
            }
            text.push_str(&cell.2);
            end = next;
        }
        if !fits {
            text.push_str(CUT);
        }
        (text, start..end.max(start + 1), shift)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Span;
    use super::*;

    fn shown(text: &str, places: &[(usize, usize)]) -> String {
        let source = Source::new("k", text).expect("short");
        let d = Diagnostic::error("x", "m");
        let d = places.iter().fold(d, |d, &(a, b)| {
            d.label(Span::new(a as u32, b as u32), "said of it")
        });
        d.render(&source, false)
    }

    #[test]
    fn long_lines_are_cut_around_each_place() {
        let text = format!(
            "{}abc{}xyz{}\n",
            "- ".repeat(9000),
            " +".repeat(9000),
            "*".repeat(999)
        );
        let (a, b) = (18000, 36003);
        let out = shown(&text, &[(a, a + 3), (b, b + 3), (0, 40000)]);
        assert!(
            out.contains("...") && out.contains("abc") && out.contains("xyz"),
            "{out}"
        );
        for line in out.lines() {
            assert!(width::of(line) <= width::columns(), "{line}");
        }
        let under = |word: &str| {
            let lines: Vec<&str> = out.lines().collect();
            let at = lines.iter().position(|l| l.contains(word)).expect("shown");
            lines[at].find(word) == lines[at + 1].find(['^', '-'])
        };
        assert!(under("abc") && under("xyz"), "{out}");
    }

    #[test]
    fn tabs_wide_and_hidden_characters_keep_carets_in_place() {
        let out = shown("\t語\u{202e}##[x]s[0]\n", &[(12, 16)]);
        let row = "1 |     語\\u{202e}##\\u{5b}x]s[0]";
        let marks = format!("\n  |{}^^^^ said of it", " ".repeat(width::of(row) - 4 - 3));
        assert!(out.contains(row) && out.ends_with(&marks), "{out}");
    }

    #[test]
    fn lines_of_windows_are_drawn() {
        let out = shown("\tret;\r\n}\r", &[(1, 4)]);
        assert!(out.contains("1 |     ret;\n"), "{out}");
    }

    #[test]
    fn thousands_of_places_are_shown() {
        let text = "s[0] = 1;\n".repeat(5000);
        let places: Vec<(usize, usize)> = (0..5000).map(|i| (10 * i, 10 * i + 4)).collect();
        assert_eq!(shown(&text, &places).matches("said of it").count(), 5000);
    }
}
