//! The command line that was given, with what the answer asks for, to paste.

use std::ffi::OsString;

use volta::answer::{Report, UnknownKind};
use volta::diag::foreign::visible;

/// The command with a value for every integer that the answer needs, if it needs some.
pub(crate) fn with_missing(argv: &[OsString], report: &Report) -> Option<String> {
    let missing = report.unknown.iter();
    let missing = missing.filter(|u| u.kind == UnknownKind::MissingBinding);
    let mut flags: Vec<&str> = Vec::new();
    for hint in missing.filter_map(|u| u.hint.as_deref()) {
        if hint.starts_with("--") && !flags.contains(&hint) {
            flags.push(hint);
        }
    }
    let first = flags.first()?;
    let mut words: Vec<String> = argv.iter().skip(1).map(quoted).collect();
    // Behind `--` nothing is a flag.
    let end = argv.iter().skip(1).position(|word| word == "--");
    let end = end.unwrap_or(words.len());
    words.splice(end..end, flags.iter().map(|flag| flag.to_string()));
    let values = match first.rsplit_once('=') {
        Some((_, value)) if flags.len() > 1 => format!(", here {value} for each"),
        Some((_, value)) => format!(", here {value}"),
        None => String::new(),
    };
    Some(format!(
        "\nto ask again with numbers of your own{values}:\n  volta {}\n",
        words.join(" ")
    ))
}

/// A word as a shell takes it for itself.
fn quoted(word: &OsString) -> String {
    let word = word.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=+:,@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into_owned(),
        false => format!("'{}'", visible(&word).replace('\'', "'\\''")),
    }
}
