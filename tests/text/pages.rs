//! The pages of the repository: what they link to, and which files they name, is there.
//!
//! Every relative link of every `.md` file leads to a file, and its `#anchor` to a heading of that file. In the pages for
//! engineers, `src/docs` and `.github`, each piece of code that is a path with an ending is one of the repository, or below
//! `src` or one of its members; a word in capitals stands for any name. Links inside of code are none. Not claimed: anything about links to other hosts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The folders with pages, and the pages at the top.
const PAGES: [&str; 7] = [
    "README.md",
    ".github",
    "benches",
    "examples",
    "kernels",
    "src",
    "tests",
];

/// Pages that name files of the repository in their code.
const NAMING: [&str; 2] = ["src/docs", ".github"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pages below a path, which may be one itself. Folders that builds fill hold none of ours.
fn collect(path: &Path, pages: &mut Vec<PathBuf>) {
    if path.is_file() {
        if path.extension().is_some_and(|e| e == "md") {
            pages.push(path.to_path_buf());
        }
        return;
    }
    let is_ours = |p: &PathBuf| {
        let name = p.file_name().unwrap_or_default().to_string_lossy();
        !name.starts_with('.') && name != "target" && name != "__pycache__"
    };
    for entry in fs::read_dir(path).into_iter().flatten() {
        let inside = entry.expect("readable").path();
        if is_ours(&inside) {
            collect(&inside, pages);
        }
    }
}

/// A page, by lines: the text outside of code, and the pieces of code in it. Blocks of code are left out.
fn lines(page: &str) -> Vec<(usize, String, Vec<String>)> {
    let mut out = Vec::new();
    let (mut is_fenced, mut is_blank, mut is_indented, mut in_list) = (false, true, false, false);
    for (i, line) in page.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            continue;
        }
        // An indented block begins after an empty line; inside of a list such lines are text.
        let is_deep = line.starts_with("    ") || line.starts_with('\t');
        is_indented = is_deep && !in_list && (is_indented || is_blank);
        if !is_deep && !line.trim().is_empty() {
            let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
            let is_number = digits.len() < line.len() && digits.starts_with(". ");
            let goes_on = in_list && line.starts_with(' ');
            in_list = line.starts_with("* ") || line.starts_with("- ") || is_number || goes_on;
        }
        is_blank = line.trim().is_empty();
        if is_fenced || is_indented {
            continue;
        }
        let parts: Vec<&str> = line.split('`').collect();
        let text: Vec<&str> = parts.iter().step_by(2).copied().collect();
        let code = parts.iter().skip(1).step_by(2).map(|c| c.to_string());
        out.push((i + 1, text.join("`"), code.collect()));
    }
    out
}

/// Where the links of a line lead.
fn links(text: &str) -> Vec<&str> {
    let ends = text.match_indices("](").map(|(at, _)| &text[at + 2..]);
    ends.filter_map(|rest| rest.split_once(')')?.0.split(' ').next())
        .collect()
}

/// The anchors of a page: its headings in small letters, without signs, with hyphens for blanks.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut out = BTreeSet::new();
    let mut is_fenced = false;
    for line in page.lines() {
        is_fenced ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        if is_fenced || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let kept = title.trim().chars().filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            _ if c.is_alphanumeric() => Some(c),
            _ => None,
        });
        let anchor: String = kept.flat_map(char::to_lowercase).collect();
        let n = seen.entry(anchor.clone()).or_default();
        out.insert(match *n {
            0 => anchor,
            n => format!("{anchor}-{n}"),
        });
        *n += 1;
    }
    out
}

/// A path without `.` and `..`; none if it leaves the repository.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                if !out.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    Some(out)
}

/// What is wrong with a link of a page.
fn broken(root: &Path, page: &Path, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = match link.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (link, None),
    };
    let target = match file {
        "" => Some(page.to_path_buf()),
        _ => page.parent().and_then(|p| plain(&p.join(file))),
    };
    let Some(target) = target.filter(|t| root.join(t).exists()) else {
        return Some(format!("`{link}` leads to no file"));
    };
    let anchor = anchor?;
    let text = fs::read_to_string(root.join(target)).unwrap_or_default();
    match anchors(&text).contains(anchor) {
        true => None,
        false => Some(format!("`{link}` leads to no heading")),
    }
}

/// Whether a part of a path stands for any name: a word in capitals.
fn is_open(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part);
    stem.len() > 1 && stem != "README" && stem.chars().all(|c| c.is_ascii_uppercase())
}

/// Whether a piece of code is the path of a file: words with slashes between them, and an ending.
fn is_path(code: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let name = code.rsplit('/').next().unwrap_or(code);
    let ending = name.rsplit_once('.').map_or("", |(_, e)| e);
    code.contains('/')
        && code.chars().all(is_word)
        && !code.starts_with('/')
        && !code.split('/').any(is_open)
        && (name.is_empty() || (!ending.is_empty() && ending.chars().all(char::is_alphabetic)))
}

/// A file that a page names and that is not there.
fn missing(root: &Path, code: &str) -> Option<String> {
    let members = fs::read_dir(root.join("src")).into_iter().flatten();
    let members = members.filter_map(|entry| Some(entry.ok()?.path()));
    let mut roots = [root.to_path_buf(), root.join("src")]
        .into_iter()
        .chain(members);
    let is_there = roots.any(|r| r.join(code).exists());
    (is_path(code) && !is_there).then(|| format!("`{code}` is no file"))
}

/// What is wrong with the pages of a repository.
fn wrong(root: &Path, pages: &[PathBuf]) -> Vec<String> {
    let mut out = Vec::new();
    for path in pages {
        let page = path.strip_prefix(root).expect("below the root");
        let names = NAMING.iter().any(|n| page.starts_with(n));
        let text = fs::read_to_string(path).expect("a page");
        for (line, text, code) in lines(&text) {
            let of_links = links(&text)
                .into_iter()
                .filter_map(|l| broken(root, page, l));
            let of_code = code
                .iter()
                .filter_map(|c| missing(root, c).filter(|_| names));
            let found = of_links.chain(of_code);
            out.extend(found.map(|what| format!("{}:{line}: {what}", page.display())));
        }
    }
    out
}

#[test]
fn what_pages_name_is_there() {
    let mut pages = Vec::new();
    for top in PAGES {
        collect(&root().join(top), &mut pages);
    }
    pages.sort();
    assert!(pages.len() > 20, "{}", pages.len());
    let wrong = wrong(root(), &pages);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_command_for_all_tests_is_that_of_the_checks() {
    let read = |file: &str| fs::read_to_string(root().join(file)).expect("a file");
    let checks = read(".ci/run");
    for page in ["README.md", ".github/CONTRIBUTING.md"] {
        let lines = read(page);
        let mut commands = lines.lines().map(str::trim);
        assert!(commands.any(|l| l == "cargo test"), "{page}");
    }
    assert!(checks.contains("  cargo test 2>&1"), "{checks}");
}

#[test]
fn wrong_links_are_found() {
    let dir = std::env::temp_dir().join(format!("volta-pages-{}", std::process::id()));
    let docs = dir.join("src/docs");
    fs::create_dir_all(&docs).expect("a folder");
    let page = docs.join("page.md");
    let text = "# A page: of `two` words\n\n## Twice\n\n## Twice\n\n\
        [a](page.md) [b](#twice-1) [c](page.md#a-page-of-two-words) [d](https://host/x.md) `[e](none.md)`\n\n    \
        [f](none.md)\n\n```\n[g](none.md)\n```\n* [h](none.md)\n    [i](#none)\n`docs/page.md` `docs/none.rs` `a/b` `docs/STEM.rs`\n\
        [j](../../../out.md)\n";
    fs::write(&page, text).expect("writable");
    let found = wrong(&dir, &[page]);
    fs::remove_dir_all(&dir).expect("removable");
    let at = |line: usize, what: &str| format!("src/docs/page.md:{line}: {what}");
    let expected = [
        at(14, "`none.md` leads to no file"),
        at(15, "`#none` leads to no heading"),
        at(16, "`docs/none.rs` is no file"),
        at(17, "`../../../out.md` leads to no file"),
    ];
    assert_eq!(found, expected);
}
