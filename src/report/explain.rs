//! What the registry says about a kind, and what a verdict or a heading of a report means, for people: `volta explain`.

use std::fmt::Write;

use crate::answer::tables::{AboutRuns, Tables};
use crate::answer::{About, ErrorKind, Failure, Family, kinds, protocols};

use super::identities::page;
use super::words::{self, HEADING, VERDICT, Word};

/// Families in the order in which they are listed.
const FAMILIES: [Family; 5] = [
    Family::Defect,
    Family::Warning,
    Family::Unknown,
    Family::Assumption,
    Family::Error,
];

/// The word of the table of protocol rules.
const PROTOCOLS: &str = "protocols";

/// The word of the table of identities that keep every bit.
const BITS: &str = "bits";

/// The word of the table of reasons to run something again.
const RUNS: &str = "runs";

/// Everything about the verdict, the heading or the kinds that have a word, or the table that has it.
pub fn kind(word: &str, tables: &Tables) -> Result<String, Failure> {
    match word {
        PROTOCOLS => return Ok(rules()),
        BITS => return Ok(page(&tables.identities)),
        RUNS => return Ok(runs(&tables.runs)),
        _ => {}
    }
    let all = kinds::all();
    let said = words::all().filter(|w| w.word == word).map(Shown::from);
    let kinds = all.iter().filter(|k| k.word == word).map(Shown::from);
    let found: Vec<String> = said.chain(kinds).map(Shown::page).collect();
    if !found.is_empty() {
        return Ok(found.join("\n"));
    }
    let words: Vec<&str> = all
        .iter()
        .map(|k| k.word)
        .chain(words::all().map(|w| w.word))
        .chain([PROTOCOLS, BITS, RUNS])
        .collect();
    let near = match kinds::near(word, &words).as_slice() {
        [] => String::new(),
        near => format!(" (near: {})", near.join(", ")),
    };
    let message = format!("`{word}` is not a kind{near}; `volta explain` lists all");
    Err(Failure::new(ErrorKind::Usage, message))
}

/// What the page of a word shows.
struct Shown {
    word: &'static str,
    family: String,
    says: &'static str,
    means: &'static str,
    example: &'static str,
    hint: Option<&'static str>,
}

impl From<&About> for Shown {
    fn from(k: &About) -> Shown {
        Shown {
            word: k.word,
            family: k.family.to_string(),
            says: k.says,
            means: k.means,
            example: k.example,
            hint: k.hint,
        }
    }
}

impl From<Word> for Shown {
    fn from(w: Word) -> Shown {
        Shown {
            word: w.word,
            family: w.family.to_string(),
            says: w.says,
            means: w.means,
            example: w.example,
            hint: Some(w.hint),
        }
    }
}

impl Shown {
    fn page(self) -> String {
        let mut out = format!(
            "{} ({})\n\n{}\n{}\n\nExample:\n",
            self.word, self.family, self.says, self.means
        );
        // Writing to a string cannot fail.
        for line in self.example.lines() {
            let _ = writeln!(out, "    {line}");
        }
        if let Some(hint) = self.hint {
            let _ = writeln!(out, "\nWhat to do: {hint}");
        }
        out
    }
}

/// The rules that pipelines of Hopper and Blackwell keep.
fn rules() -> String {
    let mut out = String::from(
        "Protocol rules of pipelines on Hopper and Blackwell (sections of PTX ISA 9.3)\n",
    );
    for r in protocols::RULES {
        let _ = write!(
            out,
            "\n{} ({})\n  {}\n  found   {}\n  right   {}\n  wrong   {}\n          {}\n",
            r.name, r.sections, r.says, r.finds, r.right.text, r.wrong.text, r.kind
        );
    }
    out
}

/// Why something is run again with more known.
fn runs(all: &[AboutRuns]) -> String {
    let mut out = String::from(
        "What a run leaves open may be settled by another one with more known; `stats.runs` counts these runs\n\n",
    );
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{:<15}{:<10}{:>6}  what is known more",
        "name", "of a", "most"
    );
    for r in all {
        let _ = writeln!(out, "{:<15}{:<10}{:>6}  {}", r.name, r.of, r.most, r.says);
    }
    out
}

/// All words with a sentence for each.
pub fn list() -> String {
    let all = kinds::all();
    let width = all.iter().map(|k| k.word.len()).max().unwrap_or(0);
    let mut out = String::new();
    for family in [VERDICT, HEADING] {
        let _ = writeln!(out, "{family}");
        for w in words::all().filter(|w| w.family == family) {
            let _ = writeln!(out, "  {:<width$}  {}", w.word, w.says);
        }
    }
    for family in FAMILIES {
        let _ = writeln!(out, "{family}");
        for k in all.iter().filter(|k| k.family == family) {
            let _ = writeln!(out, "  {:<width$}  {}", k.word, k.says);
        }
    }
    let _ = writeln!(
        out,
        "table\n  {PROTOCOLS:<width$}  The rules that pipelines of Hopper and Blackwell keep, with examples.\n  {BITS:<width$}  The identities that keep all bits, each with its condition and its reason.\n  {RUNS:<width$}  Why something is run again with more known, and how often at most."
    );
    out
}
