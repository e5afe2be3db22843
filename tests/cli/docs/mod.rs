//! The pages for users do what they say: each command in them is run, and what stands below it is what it prints.
//!
//! The pages are `README.md`, those of `src/docs` and that of the Python package. All commands of a page run in one shell,
//! one after the other, in a folder that holds copies of the families of `kernels/` that the page names. What a block is,
//! the words behind its fence say:
//!
//!     ```sh                        each line is a command; it must exit with 0, or with N where it ends in `# exit N`
//!     ```console                   `$ COMMAND`, then what it prints; a line `...` stands for any lines
//!     ```toml file=volta.toml      a file, which is written where the shell stands then
//!     ```sh needs-network: why     not run, since it needs a network; see `page.rs`
//!     ```text                      not run: `volta COMMAND` with words in capitals, `[...]` or `...` in it is a synopsis
//!
//! In an indented block a line that begins with `volta` or `cargo run --release --` is a command. Of commands that are not
//! run, and of pieces of code in sentences, the command and each flag must be known to `--help`. Times are not compared.
//! `VOLTA_BLESS=1 cargo test --test cli docs` rewrites what commands print.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, thread};

use crate::{folder, root};
use page::{Page, Step};
use synopsis::unknown_words;

mod page;
mod synopsis;

/// Ends of a command in what the shell prints: no report holds this character.
const MARK: char = '\u{1e}';

/// Lines of a page, and the lines that a command prints in their place.
type Printed = (Range<usize>, Vec<String>);

impl Page {
    /// The commands of the page as one shell runs them; what is wrong, and what each printed.
    fn run(&self, name: &str) -> (Vec<String>, Vec<Printed>) {
        let home = folder("docs", name);
        for family in families(&self.steps) {
            copy(
                &root().join("kernels").join(&family),
                &home.join("kernels").join(family),
            );
        }
        let mut script = PREAMBLE.to_string();
        // Writing to a string cannot fail.
        for step in &self.steps {
            let _ = match step {
                Step::File { name, text } => {
                    writeln!(
                        script,
                        "cat > '{name}' <<'END OF A FILE'\n{text}END OF A FILE"
                    )
                }
                Step::Call(c) => writeln!(
                    script,
                    "{{ {}\n}} 2>&1\nprintf '\\n{MARK}%s{MARK}' \"$?\"",
                    c.text
                ),
            };
        }
        let bin = Path::new(env!("CARGO_BIN_EXE_volta"))
            .parent()
            .expect("a folder");
        let path = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(
            [bin.to_path_buf()]
                .into_iter()
                .chain(env::split_paths(&path)),
        );
        let scratch = folder("docs-home", name);
        let output = Command::new("sh")
            .arg("-c")
            .arg(&script)
            .current_dir(&home)
            .env("PATH", path.expect("a path"))
            .env("XDG_CACHE_HOME", scratch.join("cache"))
            .env("XDG_CONFIG_HOME", scratch.join("config"))
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .expect("sh starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut parts = said.split(MARK);
        let mut wrong = Vec::new();
        let mut printed = Vec::new();
        let calls = self.steps.iter().filter_map(|s| match s {
            Step::Call(c) => Some(c),
            Step::File { .. } => None,
        });
        for c in calls {
            let (Some(said), Some(exit)) = (parts.next(), parts.next()) else {
                let stderr = String::from_utf8_lossy(&output.stderr);
                wrong.push(format!(
                    "{}: the shell ended before `{}`: {stderr}",
                    c.line, c.text
                ));
                break;
            };
            if exit != c.exit.to_string() {
                wrong.push(format!(
                    "{}: exit {exit} instead of {}: {}\n{said}",
                    c.line, c.exit, c.text
                ));
            }
            if let Some(shown) = &c.shown {
                let said = said.trim_matches('\n').lines();
                printed.push((
                    shown.clone(),
                    said.map(|l| l.trim_end().to_string()).collect(),
                ));
            }
        }
        (wrong, printed)
    }
}

/// The program under the name that the pages call it by.
const PREAMBLE: &str = "cargo() { shift 3; volta \"$@\"; }\n";

/// The folders of `kernels/` that commands name.
fn families(steps: &[Step]) -> BTreeSet<String> {
    let text = |s: &Step| match s {
        Step::File { text, .. } => text.clone(),
        Step::Call(c) => c.text.clone(),
    };
    let texts: Vec<String> = steps.iter().map(text).collect();
    let after = texts.iter().flat_map(|t| t.split("kernels/").skip(1));
    let word = |t: &str| {
        t.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .next()
            .map(str::to_string)
    };
    let named = after.filter_map(word);
    named
        .filter(|n| root().join("kernels").join(n).is_dir())
        .collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &to),
            false => drop(fs::copy(&path, &to).expect("a copy")),
        }
    }
}

/// A line without its times and the blanks before them.
fn without_times(line: &str) -> String {
    if line.starts_with("time: ") {
        return "time:".to_string();
    }
    let mut words: Vec<&str> = line.split(' ').collect();
    for i in 1..words.len() {
        let is_unit = matches!(words[i].trim_end_matches([',', ';', ')']), "ms" | "s");
        if is_unit && words[i - 1].trim_start_matches('(').parse::<f64>().is_ok() {
            (words[i - 1], words[i]) = ("TIME", "");
        }
    }
    match words.contains(&"TIME") {
        true => words
            .into_iter()
            .filter(|w| !w.is_empty())
            .collect::<Vec<_>>()
            .join(" "),
        false => line.trim_end().to_string(),
    }
}

fn alike(a: &str, b: &str) -> bool {
    without_times(a) == without_times(b)
}

/// The first line that is like one; else the one that begins most like it, where a few letters are the same.
fn place(line: &str, among: &[String]) -> Option<usize> {
    let same = |other: &String| {
        let pairs = line.chars().zip(other.chars());
        pairs.take_while(|(a, b)| a == b).count()
    };
    among.iter().position(|l| alike(l, line)).or_else(|| {
        let near = among.iter().enumerate().rev();
        let (at, best) = near.max_by_key(|(_, l)| same(l))?;
        (same(best) >= 5).then_some(at)
    })
}

/// The lines that a page should show in place of those that it shows: the same, but for what changed.
fn mended(shown: &[&str], printed: &[String]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let chunks: Vec<&[&str]> = shown.split(|l| *l == "...").collect();
    let last = chunks.len() - 1;
    let mut at = 0;
    for (i, chunk) in chunks.iter().enumerate() {
        if i > 0 {
            out.push("...".to_string());
            let rest = &printed[at..];
            at = match chunk.first().and_then(|first| place(first, rest)) {
                Some(skipped) => at + skipped,
                None if i == last => printed.len().saturating_sub(chunk.len()).max(at),
                None => at,
            };
        }
        let end = match i == last {
            true => printed.len(),
            false => (at + chunk.len()).min(printed.len()),
        };
        // Nothing is shown behind a `...` at the end.
        let end = if i == last && i > 0 && chunk.is_empty() {
            at
        } else {
            end
        };
        for (k, line) in printed[at..end].iter().enumerate() {
            let same = chunk.get(k).filter(|s| alike(s, line));
            out.push(same.map_or_else(|| line.clone(), |s| s.to_string()));
        }
        at = end;
    }
    out
}

/// What the test says of a page.
struct Judged {
    page: Page,
    /// What no blessing mends.
    wrong: Vec<String>,
    /// Where commands print something else than the page shows.
    changed: Vec<String>,
    /// The page with what they print.
    mended: String,
}

fn judge(name: &str, text: &str) -> Judged {
    let page = Page::read(text);
    let mut wrong = page.wrong.clone();
    wrong.extend(page.synopses.iter().flat_map(unknown_words));
    let (failed, printed) = page.run(name);
    wrong.extend(failed);
    let lines: Vec<&str> = text.lines().collect();
    let mut out: Vec<String> = Vec::new();
    let mut changed = Vec::new();
    let mut at = 0;
    for (shown, printed) in printed {
        out.extend(lines[at..shown.start].iter().map(|l| l.to_string()));
        let old: Vec<&str> = lines[shown.clone()].to_vec();
        let blanks = old.iter().rev().take_while(|l| l.is_empty()).count();
        let (old, blanks) = old.split_at(old.len() - blanks);
        let new = mended(old, &printed);
        if new != old {
            let (old, new) = (old.join("\n  - "), new.join("\n  + "));
            changed.push(format!(
                "{}: the output is another:\n  - {old}\n  + {new}",
                shown.start + 1
            ));
        }
        out.extend(new);
        out.extend(blanks.iter().map(|l| l.to_string()));
        at = shown.end;
    }
    out.extend(lines[at..].iter().map(|l| l.to_string()));
    Judged {
        page,
        wrong,
        changed,
        mended: out.iter().map(|l| format!("{l}\n")).collect(),
    }
}

/// The pages, by the name of their folders.
fn pages() -> Vec<(String, PathBuf)> {
    let docs = fs::read_dir(root().join("src/docs")).expect("a folder");
    let docs = docs
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "md"));
    let mut all: Vec<PathBuf> = docs
        .chain(["README.md", "src/python/README.md"].map(|p| root().join(p)))
        .collect();
    all.sort();
    let name = |p: &Path| {
        p.strip_prefix(root())
            .expect("below the root")
            .display()
            .to_string()
            .replace('/', "-")
    };
    all.into_iter().map(|p| (name(&p), p)).collect()
}

#[test]
fn each_command_of_the_pages_is_run() {
    let pages = pages();
    let judged: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> = pages
            .iter()
            .map(|(name, path)| {
                scope.spawn(move || judge(name, &fs::read_to_string(path).expect("a page")))
            })
            .collect();
        all.into_iter()
            .map(|t| t.join().expect("a judgement"))
            .collect()
    });
    let mut wrong = Vec::new();
    let mut kept: BTreeMap<String, usize> = BTreeMap::new();
    let mut ran = 0;
    for ((_, path), mut judged) in pages.iter().zip(judged) {
        if env::var_os("VOLTA_BLESS").is_some() && !judged.changed.is_empty() {
            fs::write(path, &judged.mended).expect("writable");
            judged.changed.clear();
        }
        let shown = path.strip_prefix(root()).expect("below the root").display();
        let found = judged.wrong.into_iter().chain(judged.changed);
        wrong.extend(found.map(|w| format!("{shown}:{w}")));
        ran += judged
            .page
            .steps
            .iter()
            .filter(|s| matches!(s, Step::Call(_)))
            .count();
        for (need, n) in judged.page.kept {
            *kept.entry(need).or_default() += n;
        }
    }
    println!("{ran} commands were run; of those that were not: {kept:?}");
    assert!(
        wrong.is_empty(),
        "{} wrong\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(ran > 35, "{ran} commands");
}

#[test]
fn the_readme_fits_a_screen() {
    let text = fs::read_to_string(root().join("README.md")).expect("a page");
    assert!(text.lines().count() <= 90, "{}", text.lines().count());
    let prove = "    cargo run --release -- check kernels/softmax/naive_4.ptx kernels/softmax/online_4.ptx --threads 4\n";
    for command in [prove, "    cargo test\n"] {
        assert!(text.contains(&format!("\n\n{command}\n")), "{command}");
    }
}

/// Each way to be wrong is found, with its line.
#[test]
fn wrong_pages_are_found() {
    let page = "    volta explain no-such-kind\n\
        ```sh\nvolta explain clean > clean.txt\nvolta explain none # exit 2\nvolta explain data-race # exit 1\n```\n\
        ```text\nvolta check REF.ptx OPT.ptx --grid X --gird Y\nvolta explain clean\nvolta chekc REF\n```\n\
        ```sh needs-network: it fetches\nvolta check a b --threds 4\n```\n\
        ```sh needs-network\n```\n```sh needs-luck: none\n```\n\
        ```console\n$ head -n 2 clean.txt\nclean (vedrict)\n\n$ tail -n 1 clean.txt | cut -c 1-4\nWhat\n```\n\
        `volta slack --frist` `--threads` `--thread`\n```python\nvolta race x\n```\n";
    let judged = judge("wrong", page);
    let all = [judged.wrong, judged.changed].concat();
    let lines: Vec<&str> = all.iter().filter_map(|w| w.split(':').next()).collect();
    assert_eq!(
        lines,
        [
            "9", "15", "17", "28", "8", "10", "13", "26", "26", "1", "5", "21"
        ],
        "{all:#?}"
    );
    assert_eq!(judged.page.kept["network"], 1);
}

#[test]
fn shown_lines_are_mended_where_they_changed() {
    let printed = ["a   3.1 s", "b", "c", "d", "time: 2 ms (x)"].map(String::from);
    let shown = ["a 7 ms", "b", "c", "d", "time: 9 s"];
    assert_eq!(mended(&shown, &printed), shown);
    assert_eq!(
        mended(&["a 1 ms", "x", "..."], &printed),
        ["a 1 ms", "b", "..."]
    );
    assert_eq!(
        mended(&["a 1 ms", "...", "c", "..."], &printed),
        ["a 1 ms", "...", "c", "..."]
    );
    assert_eq!(
        mended(&["...", "d", "time: 1 s"], &printed),
        ["...", "d", "time: 1 s"]
    );
    let longer = ["head", "error: a new text", "tail"].map(String::from);
    assert_eq!(
        mended(&["head", "...", "error: an old text", "..."], &longer),
        ["head", "...", "error: a new text", "..."]
    );
    assert_eq!(mended(&["old"], &printed), printed);
    assert_eq!(mended(&[], &[]), Vec::<String>::new());
}

/// Each verdict, heading and table has a page, which the list names.
#[test]
fn verdicts_and_headings_are_explained() {
    let text = |args: &[&str]| {
        let output = crate::volta(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let list = text(&["explain"]);
    let verdicts = [
        "equivalent",
        "clean",
        "ran",
        "lifted",
        "not-equivalent",
        "defective",
        "unknown",
    ];
    let headings = ["values", "assuming", "counterexample", "denied"];
    let families = [
        (verdicts.as_slice(), "verdict"),
        (&headings, "heading of a report"),
    ];
    for (words, family) in families {
        for word in words {
            let page = text(&["explain", word]);
            assert!(page.starts_with(&format!("{word} ({family})\n")), "{page}");
            assert!(
                page.contains("\nExample:\n    ") && page.contains("\nWhat to do: "),
                "{page}"
            );
            let says = page.lines().nth(2).expect("a sentence");
            let is_listed = |l: &str| l.trim_start().starts_with(word) && l.ends_with(says);
            assert!(list.lines().any(is_listed), "{word}");
        }
    }
    assert!(list.starts_with("verdict\n  equivalent "), "{list}");
}
