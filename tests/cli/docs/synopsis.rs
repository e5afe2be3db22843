//! Commands that are not run: the command and each flag are known to `--help`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::page::Synopsis;
use crate::volta;

/// Flags of other programs that sentences name.
const FOREIGN: [&str; 4] = ["--locked", "--git", "--path", "--field"];

/// The help of each command, and all of them under no name.
static HELP: LazyLock<BTreeMap<String, BTreeSet<String>>> = LazyLock::new(|| {
    let help = |args: &[&str]| {
        let output = volta(&[args, &["--help"]].concat());
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let flags = |text: &str| -> BTreeSet<String> {
        text.split([' ', '\n', ',']).filter_map(flag).collect()
    };
    let all = help(&[]);
    let commands = all
        .lines()
        .skip_while(|l| !l.starts_with("Commands:"))
        .skip(1);
    let commands = commands.map_while(|l| l.strip_prefix("  ")?.split_whitespace().next());
    let mut out: BTreeMap<String, BTreeSet<String>> = commands
        .map(|c| (c.to_string(), flags(&help(&[c]))))
        .collect();
    let every = out.values().flatten().cloned().chain(flags(&all)).collect();
    out.insert(String::new(), every);
    out
});

/// The flag that a word is.
fn flag(word: &str) -> Option<String> {
    let word = word.trim_start_matches(['[', '\'', '(']);
    let end = word
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '-')
        .unwrap_or(word.len());
    word.starts_with("--")
        .then(|| word[..end].to_string())
        .filter(|w| w.len() > 2)
}

/// Each command of a synopsis and each of its flags is one of the program.
pub(super) fn unknown_words(s: &Synopsis) -> Vec<String> {
    let text = s
        .text
        .strip_prefix("cargo run --release -- ")
        .unwrap_or(&s.text);
    let mut words = text
        .strip_prefix("volta")
        .unwrap_or(text)
        .split_whitespace()
        .peekable();
    let is_command = text.starts_with("volta") || s.text.starts_with("cargo");
    let command = words.peek().copied().unwrap_or("");
    let plain =
        command.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !command.starts_with('-');
    let name = if is_command && plain { command } else { "" };
    let Some(known) = HELP.get(name) else {
        return vec![format!("{}: `volta {name}` is no command", s.line)];
    };
    let flags = words.filter_map(flag);
    let ours = flags.filter(|f| !FOREIGN.contains(&f.as_str()) && !f.starts_with("--volta-"));
    let odd = ours.filter(|f| !known.contains(f) && f != "--help" && f != "--version");
    odd.map(|f| format!("{}: `{f}` is no flag of `volta {name}`", s.line))
        .collect()
}
