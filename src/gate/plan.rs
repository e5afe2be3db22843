//! The entries of a manifest and of the manifests that it includes.
//!
//! A team keeps one manifest beside each family of kernels and one that includes them all. Every
//! included manifest keeps its own `[defaults]`; its paths are relative to itself. Manifests are
//! files of anyone: each is read once, so that a cycle is an error and not a hang, and the number of
//! them is bounded. The names of all entries together are different, so that a name in a report, a
//! filter or a cache means one entry.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::answer::gate::Place;
use crate::answer::{Allow, DefectKind, ErrorKind, Failure, Kind};
use crate::ask::{QUESTIONS, Question};
use crate::diag::{Diagnostic, Source, Span, visible};
use crate::input;
use crate::spec::manifest::denied;
use crate::spec::{Entry, Manifest, Settings};

/// Manifests of one plan.
const MOST: usize = 1000;

/// A manifest and what it includes.
pub(super) struct Plan {
    files: Vec<Read>,
}

struct Read {
    name: String,
    source: Arc<Source>,
    manifest: Manifest,
}

/// One entry.
pub(super) struct Job<'a> {
    /// Its name; no other has it.
    pub name: String,
    /// The verdict that it must get.
    pub expect: &'a str,
    /// The manifest and the line of the entry in it.
    pub place: Place,
    /// What it asks.
    pub question: &'static dyn Question,
    /// What it says itself, for each of its instances.
    pub entry: &'a Entry,
    /// Why it cannot be run.
    pub refused: Option<String>,
}

/// A manifest that is to be read, and the place that names it.
struct Wanted {
    path: PathBuf,
    by: Option<(Arc<Source>, Span)>,
    /// The manifests on the way here.
    way: Vec<PathBuf>,
}

impl Plan {
    /// Reads a manifest and those that it includes: depth first, in the order of their names.
    pub(super) fn read(path: &Path) -> Result<Plan, Failure> {
        let mut files = Vec::new();
        let mut seen: HashMap<PathBuf, String> = HashMap::new();
        let mut wanted = vec![Wanted {
            path: path.to_path_buf(),
            by: None,
            way: Vec::new(),
        }];
        while let Some(next) = wanted.pop() {
            let name = visible(&next.path.display().to_string()).into_owned();
            let refuse = |why: String| match &next.by {
                Some((source, span)) => {
                    let d = Diagnostic::error(ErrorKind::Manifest.name(), why).label(*span, "");
                    Failure::at(ErrorKind::Manifest, source, vec![d])
                }
                None => Failure::new(ErrorKind::Manifest, why),
            };
            let source = match (input::settings_text(&next.path), &next.by) {
                (Ok(source), _) => source,
                (Err(e), None) => return Err(e),
                (Err(e), Some(_)) => return Err(refuse(format!("include: {}", e.message()))),
            };
            // One file has one resolved path, whatever links and dots lead to it.
            let real = std::fs::canonicalize(&next.path).unwrap_or(next.path.clone());
            if next.way.contains(&real) {
                return Err(refuse(format!("include: `{name}` includes itself")));
            }
            if let Some(first) = seen.insert(real.clone(), name.clone()) {
                return Err(refuse(format!(
                    "include: `{name}` is included twice, first as `{first}`"
                )));
            }
            if files.len() == MOST {
                return Err(refuse(format!("include: more than {MOST} manifests")));
            }
            let base = next.path.parent().unwrap_or(Path::new(""));
            let manifest = Manifest::parse(&source.text, base).map_err(|e| e.at(&source))?;
            let mut way = next.way;
            way.push(real);
            // The last of a stack is read first.
            wanted.extend(manifest.include.iter().rev().map(|include| {
                let span = include.span();
                Wanted {
                    path: base.join(include.get_ref()),
                    by: Some((
                        source.clone(),
                        Span::new(span.start as u32, span.end as u32),
                    )),
                    way: way.clone(),
                }
            }));
            files.push(Read {
                name,
                source,
                manifest,
            });
        }
        Ok(Plan { files })
    }

    /// Every entry of every manifest. One that is wrong is refused by itself, so that the others still run.
    pub(super) fn jobs(&self) -> Vec<Job<'_>> {
        let mut out = Vec::new();
        let mut places: HashMap<String, String> = HashMap::new();
        for read in &self.files {
            let name = &read.name;
            for (mut job, place) in jobs(read) {
                let here = format!("{name}: {place}");
                let mut why = job.refused.take();
                if let Some(first) = places.insert(job.name.clone(), here.clone()) {
                    why = Some(format!(
                        "has the name of another entry; give it one of its own, the first is {first}"
                    ));
                }
                job.refused = why.map(|why| format!("{here}: {why}"));
                out.push(job);
            }
        }
        out
    }
}

/// The entries of one manifest, each with the words for its place.
fn jobs(read: &Read) -> Vec<(Job<'_>, String)> {
    let manifest = &read.manifest;
    let asked = QUESTIONS.iter().map(|&q| (q, q.entries(manifest)));
    let asked = asked.flat_map(|(q, entries)| entries.iter().map(move |e| (q, e)));
    let mut out: Vec<(Job<'_>, String)> = Vec::new();
    for (question, all) in asked {
        let command = question.command();
        let entry = all.head();
        let number = 1 + out
            .iter()
            .filter(|(j, _)| j.question.command() == command)
            .count();
        let kind = command.name();
        let name = entry.name.clone().unwrap_or(format!("{kind}-{number}"));
        let name = visible(&name).into_owned();
        let place = format!("[[{kind}]] {number} (`{name}`)");
        let start = u32::try_from(all.place.start).unwrap_or(u32::MAX);
        let by_default = question.verdicts()[0].name();
        let job = Job {
            name,
            expect: entry.expect.as_deref().unwrap_or(by_default),
            place: Place {
                file: read.source.name.clone(),
                line: read.source.position(start).line,
            },
            question,
            refused: problem(question, all),
            entry: all,
        };
        out.push((job, place));
    }
    out
}

/// Why an entry cannot be run.
fn problem(question: &dyn Question, all: &Entry) -> Option<String> {
    let entry = all.head();
    let kind = question.command().name();
    if let Some(key) = question.roles().stray(entry) {
        return Some(format!("`{key}` is not a key of a [[{kind}]]"));
    }
    let verdicts = question.verdicts().iter().map(|v| v.name());
    if let Some(expect) = &entry.expect
        && !verdicts.clone().any(|v| v == expect)
    {
        let list: Vec<&str> = verdicts.collect();
        let list = list.join(", ");
        return Some(format!(
            "a {kind} cannot expect `{expect}`; it is one of {list}"
        ));
    }
    if let Some(word) = entry
        .defects
        .iter()
        .find(|d| DefectKind::parse(d).is_none())
    {
        let words: Vec<&str> = DefectKind::ALL.iter().map(|k| k.name()).collect();
        let words = words.join(", ");
        return Some(format!(
            "`{word}` is not a kind of defect; it is one of {words}"
        ));
    }
    let mut allows = all.instances.iter().flatten().flat_map(|s| &s.allow);
    let is_told = |a: &Allow| a.reason.as_ref().is_some_and(|r| !r.trim().is_empty());
    if let Some(allow) = allows.find(|a| !is_told(a)) {
        let word = allow.kind.name();
        return Some(format!("`allow` of `{word}` needs a `reason`"));
    }
    let layers = all.instances.iter().flatten();
    let denies = layers.flat_map(|s: &Settings| &s.deny);
    let expected = entry.denied.iter();
    let mut words = denies.chain(expected).map(|word| denied(word));
    words.find_map(Result::err).map(|e| e.to_string())
}
