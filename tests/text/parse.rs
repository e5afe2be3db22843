//! The parser on files: every module of the repository is read, printed and read back to the same
//! tree; what `golden/parse` says is wrong is reported where it says; broken text never panics.
//!
//! A line of `golden/parse/fail` ends in `//~ message` for each error on it, or in `//~^ message`
//! for one on the line before; a `.msg` beside a file holds the messages of one that cannot carry
//! comments. Warnings of `golden/parse/pass` are written the same way.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use volta::diag::{Diagnostic, Severity, Source};
use volta::ptx;

/// All files with an extension below a folder of the repository, sorted.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut todo = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    let mut found = Vec::new();
    while let Some(path) = todo.pop() {
        if let Ok(entries) = fs::read_dir(&path) {
            todo.extend(entries.map(|entry| entry.expect("readable folder").path()));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn source(path: &Path) -> Source {
    let bytes = fs::read(path).expect("readable file");
    Source::from_bytes(path.display().to_string(), bytes).expect("text")
}

/// The messages of all errors, each with its source lines.
fn rendered(errors: &[ptx::ParseError], source: &Source) -> String {
    let shown = errors
        .iter()
        .map(|e| Diagnostic::from(e).render(source, false));
    shown.collect::<Vec<_>>().join("\n")
}

/// The tree of a text and that of its printed form, both without spans.
fn there_and_back(source: &Source) -> (ptx::Module, ptx::Module) {
    let mut module =
        ptx::parse(source).unwrap_or_else(|errors| panic!("{}", rendered(&errors, source)));
    let printed = Source::new("printed", ptx::print(&module)).expect("short");
    let mut again =
        ptx::parse(&printed).unwrap_or_else(|errors| panic!("{}", rendered(&errors, &printed)));
    module.erase_spans();
    again.erase_spans();
    (module, again)
}

#[test]
fn every_module_round_trips() {
    let folders = ["kernels", "tests/corpus", "tests/golden/parse/pass"];
    let paths: Vec<PathBuf> = folders.iter().flat_map(|f| files(f, "ptx")).collect();
    assert!(!paths.is_empty());
    for path in paths {
        let (module, again) = there_and_back(&source(&path));
        assert!(
            module == again,
            "{} changes when it is printed",
            path.display()
        );
    }
}

/// The table of forms has no objection to what compilers emit and ptxas accepts.
#[test]
fn accepted_instructions_are_known() {
    for path in ["kernels", "tests/corpus", "tests/golden/parse/pass"]
        .iter()
        .flat_map(|f| files(f, "ptx"))
    {
        let source = source(&path);
        let module =
            ptx::parse(&source).unwrap_or_else(|errors| panic!("{}", rendered(&errors, &source)));
        let warnings = ptx::check(&module);
        let shown = warnings
            .iter()
            .map(|w| Diagnostic::from(w).render(&source, false));
        assert!(
            warnings.is_empty(),
            "{}",
            shown.collect::<Vec<_>>().join("\n")
        );
    }
}

/// Line and message of everything that `//~` comments or a `.msg` file ask for.
fn wanted(path: &Path, source: &Source) -> Vec<(u32, String)> {
    let mut wanted = Vec::new();
    for line in 1..=source.lines() {
        for message in source.line(line).split("//~").skip(1) {
            let above = message.starts_with('^');
            let message = message.trim_start_matches('^').trim();
            wanted.push((line - u32::from(above), message.to_string()));
        }
    }
    if let Ok(list) = fs::read_to_string(path.with_extension("msg")) {
        for line in list.lines() {
            let (number, message) = line.split_once(": ").expect("`line: message`");
            wanted.push((number.parse().expect("a line number"), message.to_string()));
        }
    }
    wanted.sort();
    wanted
}

fn compare(path: &Path, source: &Source, found: &[Diagnostic]) {
    let line = |d: &Diagnostic| d.span().map_or(0, |span| source.position(span.start).line);
    let text = |d: &Diagnostic| match &d.help {
        Some(help) => format!("{}; {help}", d.message),
        None => d.message.clone(),
    };
    let mut found: Vec<_> = found.iter().map(|d| (line(d), text(d))).collect();
    found.sort();
    let wanted = wanted(path, source);
    assert_eq!(found, wanted, "messages of {}", path.display());
}

#[test]
fn broken_files_are_refused_with_the_message() {
    let paths = files("tests/golden/parse/fail", "ptx");
    assert!(!paths.is_empty());
    for path in paths {
        let source = source(&path);
        let errors = ptx::parse(&source).err();
        let errors = errors.unwrap_or_else(|| panic!("{} is accepted", path.display()));
        let found: Vec<_> = errors.iter().map(Diagnostic::from).collect();
        assert!(found.iter().all(|d| d.severity == Severity::Error));
        compare(&path, &source, &found);
    }
}

/// A module that holds every kind of node, to be broken.
fn everything() -> String {
    let paths = files("tests/golden/parse/pass", "ptx");
    paths
        .iter()
        .map(|path| fs::read_to_string(path).expect("text"))
        .collect()
}

/// Reads any text, and prints what was read.
fn survive(text: String) {
    let source = Source::new("mutant", text).expect("short");
    match ptx::parse(&source) {
        Ok(_) => {
            let (module, again) = there_and_back(&source);
            assert!(module == again, "a mutant changes when it is printed");
        }
        Err(errors) => {
            assert!(!errors.is_empty() && errors.len() <= ptx::parse::MAX_ERRORS + 1);
            let shown = rendered(&errors, &source);
            assert!(shown.contains("error"), "{shown}");
        }
    }
}

/// Pieces that break a grammar at its joints.
const PIECES: &[&str] = &[
    ";",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ".",
    ":",
    "::",
    "@",
    "!",
    "|",
    "-",
    "+",
    "/*",
    "*/",
    "//",
    "\"",
    "#",
    "\n",
    " ",
    "_",
    "%",
    "$",
    "0",
    "0x",
    "0f",
    "1e",
    ".f32",
    ".reg ",
    ".entry k",
    ".param ",
    "<",
    ">",
    "=",
    "?",
    "~",
    "é",
    "\0",
    "WARP_SZ",
    "generic(",
    "%r1",
    "bra L;",
    "9999999999999999999999",
    "-1",
    ".loc 1 1 1",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn truncated_text_never_panics(cut in 0.0f64..1.0, keep in 0.0f64..1.0) {
        let text = everything();
        let at = |share: f64| {
            let mut at = (text.len() as f64 * share) as usize;
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let (from, to) = (at(cut), at(keep));
        // A front part alone, and the text with a hole in it.
        survive(text[..from].to_string());
        survive(format!("{}{}", &text[..from.min(to)], &text[from.max(to)..]));
    }

    #[test]
    fn mutated_text_never_panics(edits in prop::collection::vec((0.0f64..1.0, 0..PIECES.len(), 0usize..4), 1..6)) {
        let mut text = everything();
        for (share, piece, removed) in edits {
            let mut from = (text.len() as f64 * share) as usize;
            while !text.is_char_boundary(from) {
                from -= 1;
            }
            let mut to = (from + removed).min(text.len());
            while !text.is_char_boundary(to) {
                to += 1;
            }
            text.replace_range(from..to, PIECES[piece]);
        }
        survive(text);
    }

    #[test]
    fn random_statements_never_panic(pieces in prop::collection::vec(0..PIECES.len(), 0..40)) {
        let body: String = pieces.iter().map(|&i| PIECES[i]).collect();
        survive(format!(".version 9.0\n.target sm_90\n.entry k() {{\n\tadd.s32 {body}\n}}\n"));
        survive(format!(".version 9.0\n.target sm_90\n{body}"));
        survive(body);
    }
}
