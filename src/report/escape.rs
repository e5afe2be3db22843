//! Text in HTML, and paths in URIs.

use std::fmt::Write;

use crate::diag::is_directional;

/// Text without the characters that HTML forbids and those that turn the direction of what follows: they become the
/// replacement character.
pub fn harmless(text: &str) -> String {
    let shown = |c: char| match c {
        '\t' | '\n' => c,
        c if c.is_control() || is_directional(c) => '\u{fffd}',
        c => c,
    };
    text.chars().map(shown).collect()
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
            // Writing to a string cannot fail.
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
    fn special_characters() {
        assert_eq!(harmless("a\u{1}b\u{202e}\n"), "a\u{fffd}b\u{fffd}\n");
        assert_eq!(uri("a b/c%.ptx"), "a%20b/c%25.ptx");
        assert_eq!(uri("/x/ä"), "file:///x/%C3%A4");
    }
}
