//! Text in XML and HTML, and paths in URIs.

use std::fmt::Write;

/// Text as content or attribute value of XML and HTML. Characters that XML 1.0 cannot hold become
/// the replacement character.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(c),
            c if c < ' ' || matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{7f}'..='\u{9f}') => {
                out.push('\u{fffd}');
            }
            c => out.push(c),
        }
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
        assert_eq!(
            xml("a<b & \"c\"\u{1}"),
            "a&lt;b &amp; &quot;c&quot;\u{fffd}"
        );
        assert_eq!(uri("a b/c%.ptx"), "a%20b/c%25.ptx");
        assert_eq!(uri("/x/ä"), "file:///x/%C3%A4");
    }
}
