//! What the registry says about a kind, for people: `volta explain`.

use std::fmt::Write;

use crate::answer::{About, ErrorKind, Family, kinds};

use super::Failure;

/// Families in the order in which they are listed.
const FAMILIES: [Family; 5] = [
    Family::Defect,
    Family::Warning,
    Family::Unknown,
    Family::Assumption,
    Family::Error,
];

/// Everything about the kinds that have a word.
pub fn kind(word: &str) -> Result<String, Failure> {
    let all = kinds::all();
    let found: Vec<String> = all.iter().filter(|k| k.word == word).map(show).collect();
    if !found.is_empty() {
        return Ok(found.join("\n"));
    }
    let words: Vec<&str> = all.iter().map(|k| k.word).collect();
    let near = match kinds::near(word, &words).as_slice() {
        [] => String::new(),
        near => format!(" (near: {})", near.join(", ")),
    };
    let message = format!("`{word}` is not a kind{near}; `volta explain` lists all");
    Err(Failure::new(ErrorKind::Usage, message))
}

fn show(k: &About) -> String {
    let mut out = format!(
        "{} ({})\n\n{}\n{}\n\nExample:\n",
        k.word, k.family, k.says, k.means
    );
    // Writing to a string cannot fail.
    for line in k.example.lines() {
        let _ = writeln!(out, "    {line}");
    }
    if let Some(hint) = k.hint {
        let _ = writeln!(out, "\nWhat to do: {hint}");
    }
    out
}

/// All words with a sentence for each.
pub fn list() -> String {
    let all = kinds::all();
    let width = all.iter().map(|k| k.word.len()).max().unwrap_or(0);
    let mut out = String::new();
    for family in FAMILIES {
        let _ = writeln!(out, "{family}");
        for k in all.iter().filter(|k| k.family == family) {
            let _ = writeln!(out, "  {:<width$}  {}", k.word, k.says);
        }
    }
    out
}
