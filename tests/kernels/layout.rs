//! The folder `kernels/`: one folder a family, whose manifest names its own files and is included, and no PTX that nothing
//! asks about.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use toml::{Table, Value};

use super::kernels;

/// No manifest of a gate: what the guide gives to `volta steps`.
const STEPS: &str = "guide/steps.toml";
/// The folder of a family for copies of kernels of other families, each below the name of its own.
const COPIES: &str = "references";
/// What may name a kernel beside the manifests.
const READERS: [&str; 4] = ["tests", "benches", "examples", "src"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files below a folder, with one of some extensions.
pub(crate) fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let (mut out, mut left) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let extension = path.extension().and_then(|e| e.to_str());
            if path.is_dir() {
                left.push(path);
            } else if extension.is_some_and(|e| extensions.contains(&e)) {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn table(path: &Path) -> Table {
    text(path).parse().expect("a manifest in TOML")
}

/// The manifests that `kernels/volta.toml` leads to, itself among them.
pub(crate) fn included() -> BTreeSet<PathBuf> {
    let (mut seen, mut left) = (BTreeSet::new(), vec![kernels().join("volta.toml")]);
    while let Some(path) = left.pop() {
        let includes = table(&path)
            .get("include")
            .and_then(Value::as_array)
            .cloned();
        let names = includes.unwrap_or_default();
        left.extend(
            names
                .iter()
                .filter_map(Value::as_str)
                .map(|n| path.with_file_name(n)),
        );
        assert!(
            seen.insert(path.clone()),
            "{} is included twice",
            path.display()
        );
    }
    seen
}

/// The names of kernels in a manifest, `{NAME}` for each parameter of an entry.
fn named(value: &Value, out: &mut BTreeSet<String>) {
    match value {
        Value::String(s) if s.ends_with(".ptx") => _ = out.insert(s.clone()),
        Value::Array(all) => all.iter().for_each(|v| named(v, out)),
        Value::Table(all) => all.iter().for_each(|(_, v)| named(v, out)),
        _ => {}
    }
}

/// Whether a name is one that a pattern with parameters stands for.
fn stands_for(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('{') else {
        return pattern == name;
    };
    let (_, tail) = rest.split_once('}').expect("the end of a parameter");
    let Some(rest) = name.strip_prefix(head) else {
        return false;
    };
    (1..=rest.len()).any(|n| rest.is_char_boundary(n) && stands_for(tail, &rest[n..]))
}

#[test]
fn every_manifest_is_included() {
    let included = included();
    for path in files(&kernels(), &["toml"]) {
        let is_steps = path == kernels().join(STEPS);
        assert!(
            is_steps || included.contains(&path),
            "{} is not included",
            path.display()
        );
    }
}

#[test]
fn a_manifest_names_files_of_its_own_folder() {
    for path in included() {
        let mut names = BTreeSet::new();
        named(&Value::Table(table(&path)), &mut names);
        for name in names {
            let is_own = Path::new(&name)
                .components()
                .all(|c| matches!(c, Component::Normal(_)));
            assert!(is_own, "{} names {name}", path.display());
        }
    }
}

#[test]
fn every_kernel_is_named_by_a_manifest_or_a_test() {
    let mut of_manifests = BTreeSet::new();
    for path in included()
        .into_iter()
        .chain([root().join("benches/tables.toml"), kernels().join(STEPS)])
    {
        let folder = path.parent().expect("a folder").to_path_buf();
        let mut names = BTreeSet::new();
        named(&Value::Table(table(&path)), &mut names);
        of_manifests.extend(names.into_iter().map(|n| (folder.clone(), n)));
    }
    let here = |path: &Path| {
        of_manifests
            .iter()
            .any(|(folder, name)| match name.strip_prefix("../kernels/") {
                Some(name) => path == kernels().join(name),
                None => path
                    .strip_prefix(folder)
                    .is_ok_and(|p| stands_for(name, p.to_str().expect("a plain name"))),
            })
    };
    let mut unnamed = files(&kernels(), &["ptx"]);
    unnamed.retain(|p| !here(p));
    let readers: Vec<String> = READERS
        .iter()
        .flat_map(|f| files(&root().join(f), &["rs", "py", "cases"]))
        .map(|p| text(&p))
        .collect();
    let names = unnamed
        .iter()
        .map(|p| p.strip_prefix(kernels()).expect("a kernel"));
    let mut names: Vec<&str> = names.map(|p| p.to_str().expect("a plain name")).collect();
    names.retain(|n| !readers.iter().any(|t| t.contains(n)));
    assert!(names.is_empty(), "nothing asks about {names:#?}");
}

#[test]
fn copies_are_what_they_are_copies_of() {
    let mut count = 0;
    for path in files(&kernels(), &["ptx"]) {
        let below = path.strip_prefix(kernels()).expect("a kernel");
        let parts: Vec<_> = below.components().collect();
        if parts.get(1).is_some_and(|p| p.as_os_str() == COPIES) {
            let original: PathBuf = parts[2..].iter().collect();
            assert!(
                text(&path) == text(&kernels().join(&original)),
                "{}",
                below.display()
            );
            count += 1;
        }
    }
    assert!(count > 0, "no copies are held to their originals");
}

#[test]
fn the_page_has_a_line_for_each_family() {
    let page = text(&kernels().join("README.md"));
    for entry in std::fs::read_dir(kernels()).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            let name = path
                .file_name()
                .and_then(|n| n.to_str())
                .expect("a plain name");
            let line = format!("* [{name}]({name}/volta.toml): ");
            assert_eq!(
                page.matches(&line).count(),
                1,
                "{name} has no line in kernels/README.md"
            );
        }
    }
}
