//! Text of others as it may be shown: names and paths, lines of files, what manifests, compilers and the system say.
//!
//! Problem: whoever writes a kernel, a manifest or a file name writes part of what volta prints. A terminal obeys control
//! characters, a reader is deceived by characters that turn the direction of a line or that cannot be seen (Unicode
//! Standard Annex 9; Technical Report 36), XML 1.0 forbids some, and a CI service takes some lines of a log for its own
//! commands (`::error ...` at the beginning of a line, `##[error]...` and `##vso[...]` in it).
//!
//! A character that does not show as itself is written as `\u{...}`, in every format. There are two nets. Each piece
//! of foreign text is escaped where it is put into a sentence ([`visible`], [`sentence`], [`whole`]), which keeps it on
//! its line; and each output is escaped as a whole before it is written ([`lines`], [`styled`], [`json()`]), so that a
//! piece that was forgotten can end a line, but can neither reach the terminal nor give a command.
//!
//! Not claimed: that different names look different (Latin and Cyrillic letters are alike), and that letters which are
//! written from right to left stand where they would without their neighbours.

use std::borrow::Cow;
use std::fmt::Write;

/// Characters of a name or a line that are shown, and of a message.
pub const SHOWN: usize = 240;
const MESSAGE: usize = 4000;

/// Longest style of a terminal in bytes.
const STYLE: usize = 5;

/// A tab, where columns are counted.
const TAB: &str = "    ";

/// Whether a character shows as itself: no control character, none that changes the direction of text or separates
/// lines, none that is ignored by default (Unicode's `Default_Ignorable_Code_Point`), no noncharacter.
pub fn shows(c: char) -> bool {
    let is_hidden = match c {
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => {
            true
        }
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fdd0}'..='\u{fdef}'
        | '\u{fe00}'..='\u{fe0f}' => true,
        '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        // The last two code points of each plane are noncharacters.
        c => u32::from(c) & 0xfffe == 0xfffe,
    };
    !is_hidden && !c.is_control()
}

/// A name or a line of a file as it may be shown: on one line, of bounded length.
pub fn visible(text: &str) -> Cow<'_, str> {
    bounded(text, SHOWN)
}

/// A sentence as [`visible`] shows a name; sentences are longer.
pub fn sentence(text: &str) -> Cow<'_, str> {
    bounded(text, MESSAGE)
}

/// Text on one line, of any length: what is to be read again.
pub fn whole(text: &str) -> Cow<'_, str> {
    bounded(text, usize::MAX)
}

fn bounded(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most && text.chars().all(shows) && !text.contains("##") {
        return Cow::Borrowed(text);
    }
    let mut out = Shown::default();
    for (count, c) in text.chars().enumerate() {
        match c {
            _ if count >= most => {
                out.text.push_str("...");
                break;
            }
            '\t' => out.push(' '),
            c => out.push(c),
        }
    }
    Cow::Owned(out.text)
}

/// An output without styles before it is written: only its lines are left of control characters, and none of them is
/// a command of a CI service.
pub fn lines(text: &str) -> String {
    net(text, false, TAB)
}

/// A listing, in which tabs stay.
pub fn listing(text: &str) -> String {
    net(text, false, "\t")
}

/// An output with the styles of a terminal, as [`lines`] leaves one without: bold and the like, and the colours of text
/// that are seen on any background.
pub fn styled(text: &str) -> String {
    net(text, true, TAB)
}

fn net(text: &str, has_styles: bool, tab: &str) -> String {
    let mut out = Shown::default();
    // The white space that a line begins with, while it has nothing else but styles; then whether a colon followed.
    let (mut indent, mut is_colon, mut is_indented, mut rest) = (Some(0), false, false, text);
    while let Some(c) = rest.chars().next() {
        if has_styles && let Some(length) = style(rest) {
            out.text.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '\n' => out.keep(c),
            '\t' => out.text.push_str(tab),
            // A further place of a finding is marked by three colons, which no service obeys.
            ':' if is_colon && !(is_indented && rest.starts_with(": ")) => out.escape(c),
            c => out.push(c),
        }
        is_colon = indent.is_some() && c == ':';
        is_indented = indent.unwrap_or(0) > 0;
        indent = match c {
            '\n' => Some(0),
            ' ' | '\t' => indent.map(|n| n + 1),
            c if c.is_whitespace() => indent,
            _ => None,
        };
    }
    out.text
}

/// Text that is written character by character.
#[derive(Default)]
struct Shown {
    text: String,
    bracket: Bracket,
}

impl Shown {
    fn push(&mut self, c: char) {
        match self.bracket.opens(c) || !shows(c) {
            true => self.text.extend(c.escape_unicode()),
            false => self.text.push(c),
        }
    }

    fn keep(&mut self, c: char) {
        self.bracket.opens(c);
        self.text.push(c);
    }

    fn escape(&mut self, c: char) {
        self.bracket.opens(c);
        self.text.extend(c.escape_unicode());
    }
}

/// How much of `##word[` was read; the services look for it anywhere in a line.
#[derive(Default)]
pub(super) enum Bracket {
    #[default]
    None,
    Sign,
    Word,
}

impl Bracket {
    /// Whether a character opens the bracket of a command.
    pub(super) fn opens(&mut self, c: char) -> bool {
        let opens = c == '[' && matches!(self, Bracket::Word);
        *self = match (c, &self) {
            ('#', Bracket::None) => Bracket::Sign,
            ('#', _) => Bracket::Word,
            (c, Bracket::Word) if c.is_ascii_alphabetic() => Bracket::Word,
            _ => Bracket::None,
        };
        opens
    }
}

/// The length of the style that a text begins with: `ESC [ N m`.
fn style(text: &str) -> Option<usize> {
    let parameter = text.strip_prefix("\u{1b}[")?;
    let end = parameter.bytes().take(STYLE).position(|b| b == b'm')?;
    let is_known = match parameter.get(..end)? {
        "" => true,
        word => matches!(word.parse().ok()?, 0..=4 | 31..=37 | 39 | 91..=97),
    };
    is_known.then_some(end + 3)
}

/// JSON as a terminal may print it: what a string holds stays what it is, since the characters that do not show stand
/// in strings alone, where JSON has escapes for them.
pub fn json(text: &str) -> String {
    let (mut out, mut bracket) = (String::with_capacity(text.len()), Bracket::None);
    for c in text.chars() {
        // Line ends stand between strings alone.
        match !bracket.opens(c) && (shows(c) || c == '\n') {
            true => out.push(c),
            false => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out
}

/// A string as TOML writes it, on one line.
pub fn toml(text: &str) -> String {
    let (mut out, mut bracket) = (String::from('"'), Bracket::None);
    for c in text.chars() {
        match (bracket.opens(c), c) {
            (_, '"' | '\\') => out.extend(['\\', c]),
            (false, c) if shows(c) => out.push(c),
            _ => {
                let _ = write!(out, "\\U{:08X}", u32::from(c));
            }
        }
    }
    out.push('"');
    out
}

/// Punctuation that Markdown and its extensions on GitHub (tables, links that nothing marks, mentions, formulas) leave as
/// it is inside of a line.
const PLAIN: &str = "'\",-/;=?%";

/// A name or a sentence as Markdown shows it, on one line of bounded length: it opens no link, no element and no cell of a table.
pub fn markdown(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text).chars() {
        if c.is_ascii_punctuation() && !PLAIN.contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A path as a URI reference (RFC 3986): relative as it is, absolute with the scheme `file`.
pub fn uri(path: &str) -> String {
    let mut out = String::new();
    if path.starts_with('/') {
        out.push_str("file://");
    }
    for &b in path.as_bytes() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                out.push(b as char);
            }
            _ => {
                let _ = write!(out, "%{b:02X}");
            }
        }
    }
    out
}

/// Text without the styles of a terminal.
pub fn plain(styled: &str) -> String {
    anstream::adapter::strip_str(styled).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_is_shown_or_written_as_its_number() {
        for c in (0..=0x10ffff).filter_map(char::from_u32) {
            let text = format!("a{c}b");
            let name = visible(&text);
            assert!(name.chars().all(shows), "{c:?}");
            assert_eq!(visible(&name), name, "{c:?} twice");
            assert!(c == '\t' || shows(c) == (name == text), "{c:?}");
            let is_line = |t: &str| t.chars().all(|c| shows(c) || c == '\n');
            assert!(is_line(&lines(&text)) && is_line(&styled(&text)), "{c:?}");
            if shows(c) && !c.is_ascii() {
                continue;
            }
            let quoted = json(&serde_json::to_string(&text).unwrap_or_default());
            assert!(is_line(&quoted), "{c:?}");
            assert_eq!(serde_json::from_str(&quoted).ok(), Some(text.clone()));
            let table: Option<toml::Table> = format!("k = {}", toml(&text)).parse().ok();
            let read = table.and_then(|t| t["k"].as_str().map(str::to_string));
            assert_eq!(read, Some(text));
        }
    }

    #[test]
    fn only_styles_that_can_be_read_stay() {
        for kept in ["\u{1b}[1m\u{1b}[91merror\u{1b}[0m", "\u{1b}[m", "\u{1b}[4m"] {
            assert_eq!(styled(kept), kept);
        }
        for text in [
            "\u{1b}[8mx",
            "\u{1b}[30mx",
            "\u{1b}[1;31mx",
            "\u{1b}[2Jx",
            "\u{1b}]0;x",
            "\u{1b}[1234567m",
            "\u{1b}[",
        ] {
            assert!(styled(text).chars().all(shows), "{text:?}");
        }
        assert!(lines("\u{1b}[1mx").chars().all(shows));
    }

    #[test]
    fn no_line_is_a_command() {
        let begins = [
            "",
            " ",
            "\t",
            "\u{a0}\u{3000}",
            "x\n",
            "x\n  ",
            "\u{1b}[1m",
            "\u{1b}[1m \u{1b}[0m",
        ];
        let commands = [
            "::error file=x::y",
            "##[error]y",
            ":::error::y",
            "::: error",
            "##vso[task.complete]",
            "###[x",
            "a ##[x",
            ":\u{1b}[1m:error",
            "#\u{1b}[0m#[error]",
        ];
        for text in begins
            .iter()
            .flat_map(|b| commands.map(|c| format!("{b}{c}")))
        {
            let own = serde_json::to_string(&text).unwrap_or_default();
            let piece = format!("a {}", visible(&text));
            for out in [
                lines(&text),
                plain(&styled(&text)),
                json(&own),
                super::toml(&text),
                piece,
            ] {
                let is_command = |l: &str| {
                    let is_place = l.trim_start().starts_with("::: ") && l.starts_with(' ');
                    l.trim_start().starts_with("::") && !is_place
                        || ["##[", "##vso["].iter().any(|c| l.contains(c))
                };
                assert!(!out.lines().any(is_command), "{text:?}: {out:?}");
            }
        }
        for kept in [
            "a::b",
            "//## File a, line 3",
            "## a [b]",
            "#[x]",
            "a\n: b",
            "   ::: k.ptx:3:1",
        ] {
            assert_eq!(lines(kept), kept);
        }
    }

    #[test]
    fn markdown_has_no_meaning() {
        assert_eq!(markdown("a-b/c.ptx:3, 50%"), "a-b/c\\.ptx\\:3, 50%");
        for text in [
            "[x](https://y)",
            "<b>&amp;",
            "a|b",
            "`c`",
            "www.x.org",
            "#1 @x $y$ ~z~ *q* _r_ !",
        ] {
            let shown = markdown(text);
            let marks: Vec<&str> = shown.split('\\').collect();
            let is_plain = |part: &&str| {
                let mut rest = part.chars().skip(1);
                rest.all(|c| !c.is_ascii_punctuation() || PLAIN.contains(c))
            };
            assert!(marks[1..].iter().all(is_plain), "{shown}");
            assert_eq!(shown.replace('\\', ""), text);
        }
        assert!(!markdown("a\nb|\r").contains(['\n', '\r']));
    }

    #[test]
    fn paths_are_uris() {
        assert_eq!(uri("a b/c%.ptx"), "a%20b/c%25.ptx");
        assert_eq!(uri("/x/ä\n"), "file:///x/%C3%A4%0A");
    }
}
