//! How wide an output is, and text that is broken to fit it.
//!
//! Widths are columns of a terminal (Unicode Standard Annex 11), not characters. Text is broken at its spaces alone: a name or
//! a path that is longer than a line stays whole, so that it can be copied.

use std::sync::OnceLock;

use console::Term;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::foreign::plain;

/// Columns where neither the user nor a terminal says how many there are.
const USUAL: usize = 100;
/// Fewer columns hold no excerpt with its line numbers, and in more than these nothing is broken.
const LEAST: usize = 40;
const MOST: usize = 1000;

/// Columns of the output: those of `COLUMNS`, else those of the terminal that it goes to.
pub fn columns() -> usize {
    static FOUND: OnceLock<usize> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let said = std::env::var("COLUMNS").ok();
        let said = said.and_then(|n| n.trim().parse().ok()).filter(|n| *n > 0);
        let terminal = || Some(usize::from(Term::stdout().size_checked()?.1));
        said.or_else(terminal).unwrap_or(USUAL).clamp(LEAST, MOST)
    })
}

/// Columns that a text takes, whatever its styles.
pub fn of(text: &str) -> usize {
    match text.contains('\u{1b}') {
        true => plain(text).width(),
        false => text.width(),
    }
}

/// Columns that a character takes.
pub(super) fn of_char(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The lines of a text that begins behind `used` columns, and whose further lines begin behind `hang`.
pub fn lines(text: &str, used: usize, hang: usize) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut at = used;
    // A text that began near the end of the line begins anew below it.
    let mut is_first = used <= hang;
    for word in text.split(' ') {
        let width = of(word);
        // A line that begins with colons may be a command of whoever keeps the log.
        let begins = word.trim_start().chars().next().is_some_and(|c| c != ':');
        if !is_first && begins && at + 1 + width > columns() && hang + width < at + 1 + width {
            out.push(String::new());
            (at, is_first) = (hang, true);
        }
        if let Some(line) = out.last_mut() {
            if !is_first && !line.is_empty() {
                line.push(' ');
                at += 1;
            }
            line.push_str(word);
        }
        at += width;
        is_first = false;
    }
    out
}

/// A text as [`lines`] breaks it, with the white space before each further line.
pub fn hung(text: &str, used: usize, hang: usize) -> String {
    lines(text, used, hang).join(&format!("\n{:hang$}", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_at_spaces_alone() {
        let text = "word ".repeat(60);
        let broken = hung(text.trim_end(), 10, 4);
        assert!(broken.lines().count() > 1);
        assert!(broken.lines().skip(1).all(|l| l.starts_with("    word")));
        let wide = |l: &str| of(l) <= columns();
        assert!(broken.lines().skip(1).all(wide), "{broken}");
        assert_eq!(broken.split_whitespace().count(), 60);
        let long = "x".repeat(2 * MOST);
        assert_eq!(hung(&long, 4, 4), long);
        assert_eq!(hung("", 3, 4), "");
        let commands = "word ::error \u{a0} ::error  ::error ".repeat(40);
        let broken = hung(&commands, 10, 4);
        assert!(!broken.lines().any(|l| l.trim_start().starts_with(':')));
    }

    #[test]
    fn columns_are_those_of_a_terminal() {
        assert_eq!((of("a"), of("語"), of("e\u{301}")), (1, 2, 1));
    }
}
